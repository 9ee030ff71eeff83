"""What is expensive and shared between sessions: loaded models, finished runs, answers to the example pairs.

All of it is read, never changed. Everything is bounded, and the keys are texts, so a session holds no tensor.
A checkpoint's key has the time at which its card was written: a model that was trained anew is loaded anew.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import streamlit as st

from viz_transformer.checkpoint import list_checkpoints
from viz_transformer.checkpoint.files import CARD

if TYPE_CHECKING:
    from viz_transformer.analysis.answers import Answer
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.checkpoint.contents import Summary, Unreadable
    from viz_transformer.decoding import Run


def summaries() -> tuple[Summary | Unreadable, ...]:
    """The bundled checkpoints, without their weights; reads small JSON files only."""
    return list_checkpoints()


def is_warm() -> bool:
    """Whether what a run needs has been imported in this process."""
    return "viz_transformer.decoding" in sys.modules


def warm_up() -> None:
    """Import what a run needs, on one thread of torch; the first call takes seconds."""
    import torch

    import viz_transformer.decoding  # noqa: F401
    from viz_transformer.memory import leave_imports_alone

    torch.set_num_threads(1)
    leave_imports_alone()


def checkpoint(summary: Summary) -> Checkpoint:
    """The model, loaded. Raises CheckpointError with one sentence if it cannot be."""
    return _checkpoint(str(summary.path), _written(summary))


def run(summary: Summary, text: str, target: str | None = None) -> Run:
    """The model's greedy run on a text, or the one in which it is given the target.

    Raises ValueError with one sentence if it cannot read one of them.
    """
    return _run(str(summary.path), _written(summary), text, target)


def example_answers(summary: Summary, count: int) -> tuple[Answer, ...]:
    """What the model writes for the first `count` of its example pairs."""
    return _example_answers(str(summary.path), _written(summary), count)


def _written(summary: Summary) -> float:
    return (summary.path / CARD).stat().st_mtime


@st.cache_resource(max_entries=4, show_spinner=False)
def _checkpoint(path: str, written: float) -> Checkpoint:
    warm_up()
    from viz_transformer.checkpoint import load

    return load(path)


@st.cache_resource(max_entries=16, show_spinner=False)
def _run(path: str, written: float, text: str, target: str | None) -> Run:
    from viz_transformer.decoding import decode

    return decode(_checkpoint(path, written), text, target=target)


@st.cache_resource(max_entries=16, show_spinner=False)
def _example_answers(path: str, written: float, count: int) -> tuple[Answer, ...]:
    from viz_transformer.analysis.answers import greedy_answers

    ckpt = _checkpoint(path, written)
    return greedy_answers(ckpt, ckpt.examples()[:count])
