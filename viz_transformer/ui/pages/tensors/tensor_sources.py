"""Which traces the Tensors page looks at: the run, also in training mode, a file that was opened, or a difference."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from viz_transformer.analysis.tensors.points import (
    Entry,
    PointView,
    difference_view,
    entries,
    point_view,
    shared_entries,
)
from viz_transformer.analysis.tensors.trace_files import LARGEST_FILE, TOO_LARGE, open_trace, pack_trace
from viz_transformer.figures import labels
from viz_transformer.running.trace import Trace
from viz_transformer.running.training_mode import training_trace
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.frame import text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.pages.tensors import words
from viz_transformer.ui.pages.tensors.fields import FIELDS
from viz_transformer.ui.session import cached, passes, state
from viz_transformer.ui.session.runs import RunView

RUN, FILE, DIFFERENCE = "run", "file", "difference"
LARGEST_SEED = 999_999_999
_FILE, _OPENED, _PROBLEM = "tensors_file", "tensors_opened", "tensors_problem"
_CHOICE, _SEED = "tensors_choice", "tensors_last_seed"


@dataclass(frozen=True, eq=False)
class Looked:
    """What the page looks at: one trace, or the first minus the second.

    name, second_name: what they are called. vocabulary: the names of the logits' columns, where they are known.
    key: names the numbers, equal for equal ones; what a file says of itself has no part in it.
    """

    trace: Trace
    name: str
    key: str
    vocabulary: Sequence[str] | None
    second: Trace | None = None
    second_name: str = ""

    @property
    def is_file(self) -> bool:
        return self.name == FILE

    @property
    def of(self) -> str:
        """What its numbers are of: "the run", "the file", or the difference of two."""
        return (
            self.minus if self.second is not None else words.the(self.name) if self.name in (RUN, FILE) else self.name
        )

    @property
    def traces(self) -> tuple[Trace, ...]:
        return (self.trace,) if self.second is None else (self.trace, self.second)

    @property
    def minus(self) -> str:
        """What a difference is called: "A − B"."""
        return words.minus(self.name, self.second_name)

    @property
    def cited(self) -> str:
        """The checkpoint and id of the shown traces."""
        return " − ".join(map(_cited, self.traces))

    @property
    def caption(self) -> str | None:
        """Whose numbers a saved picture has, by checkpoint and id; None for those of the run that the page shows."""
        if self.name == RUN and self.second is None and training_seed(self.trace) is None:
            return None
        return self.cited

    def rows_of(self, name: str) -> str:
        """The pass that the rows of a point are from, "" if that goes without saying."""
        found = dict.fromkeys(trace.row_source for trace in self.traces)
        return " − ".join(filter(None, found)) if self.trace.spec.grows(name) != "never" else ""

    @property
    def passes(self) -> tuple[str, ...]:
        """Sentences on the passes that the decoder's rows are from."""
        return tuple(filter(None, dict.fromkeys(map(passes.sentence, self.traces))))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Its points; of a difference those that both traces have in one shape."""
        return entries(self.trace) if self.second is None else shared_entries(self.trace, self.second)

    def view(self, name: str) -> PointView:
        """A point. Raises ValueError if it cannot be shown."""
        if self.second is None:
            return point_view(self.trace, name, vocabulary=self.vocabulary)
        return difference_view(self.trace, self.second, name, vocabulary=self.vocabulary)


def training_controls() -> None:
    """The switch to training mode, and the seed of its dropout, in a box that says whether it is on."""
    seed = FIELDS.now().seed
    st.session_state["tensors_training"] = seed is not None
    st.session_state.setdefault(_SEED, 0)
    bound = state.widget_args("seed", key="tensors_seed", value=st.session_state[_SEED] if seed is None else seed)
    with st.popover(words.training(seed), key="tensors_mode"):
        st.toggle(words.TRAINING, key="tensors_training", on_change=_take_training)
        st.number_input(words.DROPOUT_SEED, 0, LARGEST_SEED, step=1, disabled=seed is None, **bound)


def _take_training() -> None:
    seed = FIELDS.now().seed
    if seed is not None:
        st.session_state[_SEED] = seed
    state.select(seed=st.session_state[_SEED] if st.session_state["tensors_training"] else None)


def looked_at(both: Runs) -> Looked:
    """The run, the opened file, or the difference that is chosen; raises ValueError with one sentence."""
    seed, choice = FIELDS.now().seed, st.session_state.get(_CHOICE, RUN)
    trace_file = opened_trace()
    if trace_file is not None and choice == FILE:
        return Looked(trace_file, FILE, _file_key(), _vocabulary(both, trace_file))
    main, key = _of_run(both.main, seed)
    vocabulary = _vocabulary(both, main)
    if trace_file is not None and choice == DIFFERENCE:
        return Looked(main, RUN, f"{key}-{_file_key()}", vocabulary, trace_file, FILE)
    if both.difference and both.b is not None:
        second, second_key = _of_run(both.b, seed)
        return Looked(main, "A", f"{key}-{second_key}", vocabulary, second, "B")
    return Looked(main, "A" if both.beside else RUN, key, vocabulary)


def beside(both: Runs, looked: Looked) -> Looked | None:
    """B's trace, if both are shown side by side; None if one trace is shown."""
    if both.b is None or not both.beside or looked.name != "A" or looked.second is not None:
        return None
    trace, key = _of_run(both.b, FIELDS.now().seed)
    return Looked(trace, "B", key, _vocabulary(both, trace))


def _of_run(shown: RunView, seed: int | None) -> tuple[Trace, str]:
    """The trace of a run, in training mode if there is a seed; and a key for its numbers."""
    trace = shown.trace
    if seed is None:
        return trace, f"{trace.id}-{trace.info['kind']}"
    return _training(shown, seed), f"{trace.id}-{seed}"


def _training(shown: RunView, seed: int) -> Trace:
    """The run again, token by token, in training mode."""
    store, key = cached.store(), ("training mode", shown.trace.id, shown.trace.weights_sha256, seed)
    if (found := store.trace(key)) is None:
        read = shown.trace.tgt_ids
        if shown.trace.spec.kind == "encoder-decoder":
            found = training_trace(shown.ckpt, shown.text, read, seed)
        else:
            found = training_trace(shown.ckpt, read, None, seed)
        store.put_trace(key, found)
    return found


def _vocabulary(both: Runs, trace: Trace) -> Sequence[str] | None:
    """The target vocabulary of the run whose weights the trace has; None if there is none."""
    for shown in (both.main, both.a, both.b):
        codec = None if shown is None else shown.ckpt.target_codec
        if shown is not None and codec is not None and shown.trace.weights_sha256 == trace.weights_sha256:
            return codec.names
    return None


def save_button(looked: Looked) -> None:
    """Draw the button that saves the shown trace, of a difference the first; the file is made on request."""
    trace = looked.trace
    if not trace.is_kept_whole:
        text.paragraph(TOO_LARGE)
        return
    parts = [trace.checkpoint, trace.id, *(["seed", str(seed)] if (seed := training_seed(trace)) is not None else [])]
    name = f"{file_name('-'.join(parts))}.safetensors"
    st.download_button(words.SAVE, partial(pack_trace, trace), name, key="tensors_save", on_click="ignore")


def file_controls() -> DeltaGenerator:
    """The box that opens a trace, and in it the place of the button that saves one."""
    with st.popover(words.TRACE, key="tensors_open"):
        save = st.empty()
        st.file_uploader(
            words.OPEN,
            type="safetensors",
            key=_FILE,
            on_change=_take_file,
            max_upload_size=LARGEST_FILE // 2**20,  # megabytes
        )
    return save


def choice_controls() -> None:
    """Draw the choice between the run, the opened file and their difference."""
    trace_file = st.session_state.get(_OPENED)
    if trace_file is None:
        return
    st.session_state.setdefault(_CHOICE, FILE)
    with st.container(horizontal=True, vertical_alignment="center", key="tensors_files"):
        st.segmented_control(
            words.SHOWN,
            [*words.SOURCES],
            required=True,
            format_func=words.SOURCES.__getitem__,
            key=_CHOICE,
            label_visibility="collapsed",
        )
        text.paragraph(words.file_line(labels.shorten(labels.visible(trace_file[0]), 60), _described(opened_trace())))
        st.button(words.CLOSE, key="tensors_close", on_click=_close)


def _take_file() -> None:
    """Open what was uploaded, in a callback: the file goes when the page changes, the trace stays."""
    file = st.session_state[_FILE]
    if file is None:
        _close()
        return
    data = file.getvalue()
    name, digest = str(file.name), hashlib.sha256(data).hexdigest()
    try:
        cached.store().put_trace(("opened", digest), open_trace(data, name))
    except ValueError as error:
        _close()
        st.session_state[_PROBLEM] = str(error)
    else:
        st.session_state.update({_OPENED: (name, digest), _CHOICE: FILE})


def _close() -> None:
    for key in (_OPENED, _CHOICE):
        st.session_state.pop(key, None)


def _file_key() -> str:
    return str(st.session_state[_OPENED][1])


def opened_trace() -> Trace | None:
    """The opened file's trace; None without one, or where it is no longer kept, which is then said."""
    kept = st.session_state.get(_OPENED)
    if kept is None:
        return None
    name, digest = kept
    if (found := cached.store().trace(("opened", digest))) is None:
        _close()
        st.session_state[_PROBLEM] = words.no_longer_kept(name)
    return found


def take_problem() -> str | None:
    """What is wrong with the file that was given last, which is then forgotten."""
    found: str | None = st.session_state.pop(_PROBLEM, None)
    return found


def _described(trace: Trace | None) -> str:
    if trace is None:
        return ""
    read = " ".join(labels.visible(token) for token in (trace.src_tokens or trace.tgt_tokens))
    name = labels.shorten(labels.visible(trace.checkpoint), 40)
    return words.described(name, labels.shorten(read, 40), training_seed(trace))


def file_is_shown() -> bool:
    """Whether the opened file itself was shown last."""
    return bool(st.session_state.get(_CHOICE) == FILE)


def _cited(trace: Trace) -> str:
    standing = None if trace.standing is None else trace.standing.words
    name = labels.shorten(labels.sentence(trace.checkpoint), 60)
    return words.cited(name, standing, trace.id, training_seed(trace))


def training_seed(trace: Trace) -> int | None:
    """The seed of a run in training mode."""
    seed = trace.info.get("seed")
    return seed if isinstance(seed, int) else None


def file_name(of: str) -> str:
    """What it is of, as a name for a file."""
    return re.sub(r"[^\w.-]+", "-", of, flags=re.ASCII).strip("-.")[:120] or "trace"
