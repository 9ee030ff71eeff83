"""What pages make of runs and models, kept for all sessions by what it was made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
import streamlit as st

from viz_transformer.analysis.models.untrained import UntrainedSummary
from viz_transformer.checkpoint.devices import computed_in_the_app
from viz_transformer.checkpoint.files import CARD
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.huggingface.folder import HuggingFaceSummary

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.checkpoint.contents import Summary
    from viz_transformer.running.trace import Trace
    from viz_transformer.ui.session.runs import RunView

P = ParamSpec("P")
R = TypeVar("R")


def memoize(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keeps the last `most` results of a function; they are read, never changed.

    A model, a trace and a run among the arguments are told apart by what names them, not by their numbers, an array by
    all of its numbers. An argument whose name begins with an underscore does not count.
    """
    return st.cache_resource(max_entries=most, show_spinner=False, hash_funcs=_NAMES)


def memoize_figure(make: Callable[P, R]) -> Callable[P, R]:
    """Keeps the last figures that a function made: plotly takes longer to make one than to show it."""
    return memoize(12)(make)


def summary_key(summary: Summary) -> tuple[str | float, ...]:
    """The folder, and when its card was written: a model that was trained anew is loaded anew. So
    is a recording, by its file, and a folder of transformers', by all of its files, and by how it is computed.

    Of a new model, which has no folder of its own, the name, which says all that it is made of.
    """
    if isinstance(summary, RecordingSummary):
        return str(summary.path), summary.path.stat().st_mtime
    if isinstance(summary, HuggingFaceSummary):
        return str(summary.path), summary.written, *astuple(computed_in_the_app())
    where = summary.name if isinstance(summary, UntrainedSummary) else str(summary.path)
    return where, (summary.path / CARD).stat().st_mtime


def _of_model(ckpt: Checkpoint) -> tuple[str, ...]:
    return ckpt.name, ckpt.weights_sha256, ckpt.spec.precision, repr(ckpt.spec.config)


def _of_trace(trace: Trace) -> tuple[str, ...]:
    return trace.id, str(trace.info.get("kind"))


def _of_array(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """All of its bytes: of a large one, Streamlit itself would look at some."""
    return array.shape, array.dtype.str, blake2b(np.ascontiguousarray(array).data, digest_size=16).digest()


def _of_run(shown: RunView) -> tuple[Any, ...]:
    """What was run, and how, and by a model of which reading; whether it is A or B does not count."""
    written = (shown.called, shown.text, shown.target, shown.how.text(), shown.own)
    return _of_model(shown.ckpt), _of_trace(shown.trace), written


_NAMES: dict[str | type[Any], Callable[[Any], Any]] = {
    np.ndarray: _of_array,
    "viz_transformer.checkpoint.contents.Summary": summary_key,
    "viz_transformer.analysis.models.untrained.UntrainedSummary": summary_key,
    "viz_transformer.checkpoint.saved_traces.RecordingSummary": summary_key,
    "viz_transformer.huggingface.folder.HuggingFaceSummary": summary_key,
    "viz_transformer.checkpoint.store.Checkpoint": _of_model,
    "viz_transformer.running.trace.Trace": _of_trace,
    "viz_transformer.ui.session.runs.RunView": _of_run,
}
