"""Saved recordings in place of a run: the trace of a watched module, and a stand-in for its model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from torch import Tensor

from viz_transformer.checkpoint import Checkpoint, files
from viz_transformer.checkpoint.saved_traces import NO_MODEL
from viz_transformer.model.hooked_model import ModelSpec, Unavailable
from viz_transformer.running.decoding import Run
from viz_transformer.running.trace import Tokens, Trace, is_watched
from viz_transformer.text.codec import AS_USUAL, Encoded, TokenizerOptions, check_choices
from viz_transformer.text.rules import BeamSettings, TokenRule

OTHER_TEXT = "a recording of one call cannot read another text"


def open_recording(path: Path) -> tuple[Checkpoint, Run]:
    """The stand-in checkpoint and the run, without steps, of a recording.

    The digest is computed from the file, so that two files are never confused. Raises ValueError if it is not the trace
    of a watched module, or if weights are infinite.
    """
    trace = Trace.load(path)
    if not is_watched(trace):
        raise ValueError(f"{path} is a run of a model, not a watched module: open it on Tensors")
    for name in (f"{site}.weights" for site in trace.spec.attentions):
        if bool(trace[name].isinf().any()):
            raise ValueError(f"{path} cannot be shown: some weights in {name} are infinite, which a map cannot show")
    trace = replace(trace, weights_sha256=files.sha256(path))
    run = Run("", (), trace, "end token")
    return stand_in(path.name, run), run


def stand_in(name: str, run: Run) -> Checkpoint:
    """Stand-in checkpoint of a recording: its spec and texts, without weights."""
    source, target = (RecordedText(side) if len(side) else None for side in (run.trace.src, run.trace.tgt))
    return Checkpoint(name, None, RecordedModel(run.trace.spec), source, target, {}, run.trace.weights_sha256)


@dataclass(frozen=True)
class RecordedModel:
    """A model that has a spec but cannot be run."""

    spec: ModelSpec

    def _untold(self, *_: object, **__: object) -> NoReturn:
        raise Unavailable(NO_MODEL)

    begin = whole = read_out = parameters_of = table = _untold

    @property
    def parameter_count(self) -> int:
        raise Unavailable(NO_MODEL)

    def scalars(self) -> Mapping[str, float]:
        return {}

    def frequencies(self) -> Mapping[str, Tensor]:
        return {}


@dataclass(frozen=True)
class RecordedText:
    """Text side of a recording: token names, with positions as ids."""

    side: Tokens
    special_ids = frozenset[int]()
    start: int | None = None
    forced_start: tuple[int, ...] = ()
    ends = banned = frozenset[int]()
    rules: tuple[TokenRule, ...] = ()
    beam_settings: BeamSettings | None = None
    padding: int | None = None
    unknown: int | None = None
    mask: int | None = None
    adds_end = False
    splits_characters = False
    reads_pairs = False
    choices: tuple[str, ...] = ()
    how_read = AS_USUAL

    @property
    def languages(self) -> Mapping[str, int]:
        return {}

    def read_as(self, how: TokenizerOptions) -> RecordedText:
        """Itself. Raises ValueError for any option."""
        check_choices(how, ())
        return self

    def second(self, ids: Sequence[int]) -> int | None:
        return None

    def continuation(self, id: int) -> str | None:
        return None

    @property
    def names(self) -> tuple[str, ...]:
        return self.side.tokens

    def encode(self, text: str) -> Encoded:
        """Raises ValueError: nothing reads it."""
        raise ValueError(OTHER_TEXT)

    def encode_ids(self, ids: Iterable[int]) -> Encoded:
        """Raises ValueError: a recording encodes nothing."""
        raise ValueError(OTHER_TEXT)

    def decode(self, ids: Iterable[int]) -> str:
        """The token names, joined by spaces."""
        return " ".join(self.names[i] for i in ids)
