"""The run that a page shows, with what belongs to it: its model, its special tokens, and words for a caption."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import streamlit as st

from viz_transformer.analysis.attention.picture import RunNames
from viz_transformer.analysis.attention.specials import special_positions
from viz_transformer.checkpoint.grading import graded
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.figures import labels
from viz_transformer.numerals import binary_size
from viz_transformer.ui.session import cached, state
from viz_transformer.ui.session.generation_config import GenerationConfig
from viz_transformer.ui.session.waiting import waiting

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.checkpoint.contents import Summary
    from viz_transformer.running.decoding import Run
    from viz_transformer.running.trace import Trace
    from viz_transformer.ui.compat import DeltaGenerator

Name = Literal["A", "B"]
QUOTED = 60
RUNNING, MUCH = "Running the model ...", 2**26
"""What is waited for, and bytes of a recording of which it is said how many they are."""


@dataclass(frozen=True, eq=False)
class RunView:
    """A finished run of a loaded model. `name` is A for the selected run, B for the pinned one.

    `own`: its decoder rows are each step's own (`Run.per_step_rows`), not those of the last pass.
    `target` is the answer that was given to the model; None if it wrote its own, as `how` says.
    """

    name: Name
    summary: Summary
    text: str
    ckpt: Checkpoint
    run: Run
    target: str | None = None
    how: GenerationConfig = cached.GREEDILY
    own: bool = False

    @property
    def recorded(self) -> bool:
        """Whether it is a recording of one call, and no run of a model that is here."""
        return isinstance(self.summary, RecordingSummary)

    @property
    def trace(self) -> Trace:
        return self.run.per_step_rows if self.own else self.run.trace

    @property
    def source_special(self) -> frozenset[int]:
        """The positions of the source's special tokens; unknown text is not special."""
        return _places(special_positions(self.trace.src, self.ckpt.source_codec))

    @property
    def target_special(self) -> frozenset[int]:
        return _places(special_positions(self.trace.tgt, self.ckpt.target_codec))

    @property
    def first_position(self) -> int:
        """The position of the source to begin with: the first mask, else the first token that is no start token."""
        codec = self.ckpt.source_codec
        mask = None if codec is None else codec.mask
        if mask in self.trace.src_ids:
            return self.trace.src_ids.index(mask)
        return 1 if 0 in self.source_special and len(self.trace.src) > 1 else 0

    @property
    def called(self) -> str:
        """The model's name, and how well it is known that it is read right, as captions have them."""
        return graded(self.summary.name, self.summary.card)

    @property
    def names(self) -> RunNames:
        """What pictures of it say: its names, its text, and which of its tokens are special."""
        codec = self.ckpt.target_codec
        return replace(
            self._names,
            special={"source": self.source_special, "target": self.target_special},
            special_ids=frozenset() if codec is None else codec.special_ids - {codec.unknown},
        )

    @property
    def _names(self) -> RunNames:
        return RunNames(self.summary.name, self.called, self.words(), self.row_source)

    def caption(self, what: str, *, rows: bool = False) -> str:
        """What a saved picture says below itself: model, text, selection, version; of decoder `rows` also whose."""
        return self._names.caption(what, rows=rows)

    @property
    def row_source(self) -> str:
        """Which forward pass its decoder rows come from, where that has to be said."""
        return self.trace.row_source

    def words(self) -> str:
        """The text between quotation marks, and the target if it was given, or how the answer was written."""
        source, target = (
            f"“{labels.isolate(labels.shorten(labels.sentence(text), QUOTED))}”"
            for text in (self.text, self.target or "")
        )
        if self.target is not None:
            return ", ".join([f"{source} with the given target {target}", *self.how.changes()])
        return ", ".join(filter(None, (source, self.written_words)))

    @property
    def written_words(self) -> str:
        """How the answer was written; "" for greedy decoding without anything else."""
        codec = self.ckpt.target_codec
        return self.how.words(None if codec is None else codec.beam_settings)


def _places(marks: Iterable[bool]) -> frozenset[int]:
    return frozenset(place for place, marked in enumerate(marks) if marked)


def load(
    name: Name, summary: Summary, text: str, target: str | None, how: GenerationConfig, place: DeltaGenerator
) -> RunView:
    """The model's run of the text, written so, or with the target if one is given; a recording has a text of its own,
    and a model that writes nothing reads.

    `place` says what is waited for.

    Raises ValueError with one sentence.
    """
    if isinstance(summary, RecordingSummary):
        text, target, how = summary.text, None, cached.GREEDILY
    elif not summary.spec.writes:
        target, how = None, GenerationConfig(masked=how.masked, read=how.read)
    with waiting("Loading the model ...", place):
        ckpt = cached.read_as(summary, how)
    said = RUNNING if isinstance(summary, RecordingSummary) else running(ckpt, text, target)
    with waiting(said, place), ProgressBar() as progress:
        run = cached.run(summary, text, target, how, progress)
    if not run.trace.is_kept_whole:
        state.remark(_kept_in_part(name, run.trace))
    return RunView(name, summary, text, ckpt, run, target, how)


def _kept_in_part(name: Name, trace: Trace) -> str:
    """The remark on a run that is too large to be kept whole."""
    whole = binary_size(trace.spec.whole_bytes(source=len(trace.src), target=len(trace.tgt)))
    return (
        f"{'' if name == 'A' else 'B: '}The recording of this run is up to {whole}: what does not fit is"
        " recorded again when you open it, which takes as long as a pass."
    )


def running(ckpt: Checkpoint, text: str, target: str | None) -> str:
    """What is said before a run: how much memory its recording takes at most, if that is much."""
    spec = ckpt.spec
    if spec.recorded_bytes(source=spec.max_source, target=spec.max_target, written=True) < MUCH:
        return RUNNING
    try:
        read = len(ckpt.codec("source" if spec.has_encoder else "target").encode(text))
        given = spec.max_target if target is None else len(ckpt.codec("target").encode(target))
    except ValueError:  # the run itself says why
        return RUNNING
    source, most = (read, given) if spec.has_encoder else (0, given if spec.writes else read)
    taken = spec.recorded_bytes(
        source=min(source, spec.max_source), target=min(most, spec.max_target), written=spec.writes
    )
    return RUNNING if taken < MUCH else f"Running the model; its recording takes up to {binary_size(taken)} ..."


class ProgressBar:
    """Shows the progress of a decode that takes long, with a button that stops it unless it is not `stoppable`, or of
    other work, in words of its own.

    Every call also lets Streamlit end the script: somebody chose something else, or closed or reloaded the page.
    """

    PATIENCE, EVERY = 0.5, 0.1  # seconds

    def __init__(self, *, stoppable: bool = True, words: str = "{done:,} of at most {most:,} steps") -> None:
        self._stoppable, self._words = stoppable, words
        self._begun = self._last = time.monotonic()
        self._bar: DeltaGenerator | None = None
        self._stop: DeltaGenerator | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *raised: object) -> None:
        """Take both away one by one. To empty the place around them does not do: where it is filled again at once, the
        browser never hears that it was empty, and keeps of what stood there whatever is not written over."""
        for shown in (self._stop, self._bar):
            if shown is not None:
                shown.empty()

    def __call__(self, done: int, most: int) -> None:
        st.session_state.get("run_watched")  # Streamlit asks here whether to end
        now = time.monotonic()
        if now - self._begun < self.PATIENCE or now - self._last < self.EVERY:
            return
        self._last = now
        if self._bar is None:
            if self._stoppable:
                self._stop = st.empty()
                self._stop.button("Stop", key=f"stop_{id(self)}", on_click=state.stop)
            self._bar = st.empty()
        self._bar.progress(min(1.0, done / most), text=self._words.format(done=done, most=most))
