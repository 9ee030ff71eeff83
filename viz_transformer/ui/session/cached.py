"""What is expensive and shared between sessions: loaded models, finished runs, answers to the example pairs.

All of it is read, never changed. Everything is bounded, and the keys are texts, so a session holds no tensor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING

import streamlit as st

import viz_transformer as vt
from viz_transformer import analysis, huggingface
from viz_transformer.analysis.models.untrained import UntrainedSummary, is_new, make_untrained, summarize_untrained
from viz_transformer.checkpoint import describe, list_checkpoints
from viz_transformer.checkpoint.own import own_checkpoints
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.huggingface.folder import HuggingFaceSummary, recognised
from viz_transformer.text.codec import AS_USUAL
from viz_transformer.ui.session.generation_config import GenerationConfig
from viz_transformer.ui.session.memoize import memoize, summary_key
from viz_transformer.ui.session.memory import freeze_imports
from viz_transformer.ui.session.store import Store, default_max_bytes

if TYPE_CHECKING:
    from viz_transformer.analysis.models.answers import PairAnswer
    from viz_transformer.analysis.models.counting import TokenCounts
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.checkpoint.contents import Summary, Unreadable
    from viz_transformer.running.decoding import Run
    from viz_transformer.running.search import Progress

GREEDILY = GenerationConfig()
MAX_NEW = 4
"""New models that stay in the list beside the selected and the pinned one."""

_NEW = "new_models"
_MODEL_FIELDS = ("checkpoint", "pin_checkpoint")


def summaries() -> tuple[Summary | Unreadable, ...]:
    """The person's own checkpoints, the bundled ones and the session's new models; reads small JSON files only."""
    bundled = list_checkpoints()
    own = recognised(own_checkpoints({each.name for each in bundled}))
    return (*own, *bundled, *new_models((*own, *bundled)))


def new_models(bundled: Sequence[Summary | Unreadable]) -> tuple[Summary | Unreadable, ...]:
    """The new models of a session, the newest last: those that are selected, pinned, asked for by the address, or were
    opened before. What names none is left out.

    A session keeps their names only; a name is a recipe, so a link to a new model works in any browser and any server.
    """
    memory = st.session_state
    asked = [
        chosen.get(field) for chosen in (st.query_params, memory.get("selection") or {}) for field in _MODEL_FIELDS
    ]
    needed = [name for name in asked if isinstance(name, str) and is_new(name)]
    before = memory.get(_NEW, ())
    if not needed and not before:
        return ()
    bases = {summary.name: summary for summary in bundled}
    found = {name: summarize_untrained(name, bases) for name in dict.fromkeys((*before, *needed))}
    known = {name: summary for name, summary in found.items() if summary is not None}
    old = [name for name in known if name not in needed][:-MAX_NEW]
    staying = {name: summary for name, summary in known.items() if name not in old}
    memory[_NEW] = tuple(staying)
    return tuple(staying.values())


def is_warm() -> bool:
    """Whether what a run needs has been imported in this process."""
    return "viz_transformer.running.decoding" in sys.modules


def warm_up(summary: Summary | None = None) -> None:
    """Import what a run needs, on one thread of torch, and what this model needs; the first call takes seconds."""
    import torch

    import viz_transformer.running.recorded_model  # noqa: F401  # and with it what decodes

    if isinstance(summary, HuggingFaceSummary) and not huggingface.lacking():
        _ = huggingface.open_folder  # which is imported now, with transformers
    torch.set_num_threads(1)
    freeze_imports()


@st.cache_resource(show_spinner=False)
def store() -> Store:
    """The models and runs of all sessions."""
    return Store(default_max_bytes())


def checkpoint(summary: Summary) -> Checkpoint:
    """The model, loaded. Raises CheckpointError with one sentence if it cannot be."""
    warm_up(summary)
    if isinstance(summary, RecordingSummary):
        return vt.running.recorded_model.stand_in(summary.path.name, _recording(summary))
    return store().model(summary_key(summary), lambda: _load(summary))


def describe_unused(summary: Summary) -> tuple[str, str] | None:
    """What a folder's files have that takes no part in a run, in a few words and in full; None where there is nothing,
    and before the model was loaded, which is when it is found out."""
    if not isinstance(summary, HuggingFaceSummary) or (ckpt := store().loaded(summary_key(summary))) is None:
        return None
    return describe.describe_unused(ckpt.card)


def _load(summary: Summary) -> Checkpoint:
    if isinstance(summary, UntrainedSummary):
        return make_untrained(summary.recipe, vt.load(summary.path))
    if isinstance(summary, HuggingFaceSummary):
        return huggingface.load_in_the_app(summary.path)
    return vt.load(summary.path)


def read_as(summary: Summary, how: GenerationConfig) -> Checkpoint:
    """The model, whose texts are read so. Raises CheckpointError as `checkpoint`, ValueError for a choice that it does
    not offer."""
    ckpt = checkpoint(summary)
    return ckpt if how.read == AS_USUAL else ckpt.read_as(**asdict(how.read))


def _recording(summary: RecordingSummary) -> Run:
    """The one run of a recording."""
    warm_up()
    key = ("recording", *summary_key(summary))
    if (found := store().run(key)) is None:
        found = vt.running.recorded_model.open_recording(summary.path)[1]
        store().put_run(key, found)
    return found


def run(
    summary: Summary,
    text: str,
    target: str | None = None,
    how: GenerationConfig = GREEDILY,
    progress: Progress | None = None,
) -> Run:
    """The model's run on a text, written so, or the one in which it is given the target; of a recording its only one.
    A model that writes nothing reads the text, with the tokens masked that `how` names.

    `progress` hears of each step; a run that it ends by raising something is not kept. Raises ValueError with one
    sentence for what cannot be read, or cannot be written so.
    """
    if isinstance(summary, RecordingSummary):
        return _recording(summary)
    key = (summary_key(summary), text, target, how, date.today() if how.read.chat else None)  # a template may write it
    if (found := store().run(key)) is None:
        ckpt = read_as(summary, how)
        edits = tuple(vt.edits.RemovePositions(stack) for stack in how.off)
        if not ckpt.spec.writes:
            found = vt.read(ckpt, text, masked=how.masked, edits=edits)
        elif target is not None:
            found = vt.decode(ckpt, text, target=target, edits=edits, progress=progress)
        else:
            found = vt.decode(
                ckpt,
                text,
                strategy=how.value(None if (codec := ckpt.target_codec) is None else codec.beam_settings),
                prefix=how.prefix or None,
                force=dict(how.force),
                ban=how.ban,
                edits=edits,
                progress=progress,
            )
        store().put_run(key, found)
    return found


def cache_derived_run(found: Run, by: tuple[Hashable, ...], make: Callable[[], Run]) -> Run:
    """A run that is made of this one, kept among all runs; `by` is all else that it depends on."""
    trace = found.trace
    key = ("made of", trace.id, trace.checkpoint, trace.weights_sha256, trace.spec.precision, *by)
    if (other := store().run(key)) is None:
        other = make()
        store().put_run(key, other)
    return other


@memoize(16)
def example_answers(summary: Summary, count: int) -> tuple[PairAnswer, ...]:
    """What the model writes for the first `count` of its example pairs."""
    return analysis.greedy_answers(checkpoint(summary), summary.examples()[:count])


@memoize(16)
def example_counts(summary: Summary, count: int) -> TokenCounts:
    """The same answers counted in several ways. Raises ValueError for targets that the model cannot read."""
    from viz_transformer.analysis.models.counting import token_counts

    return token_counts(checkpoint(summary), example_answers(summary, count))
