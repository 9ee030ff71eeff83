"""The recorded run of the opening view: drawn before torch is loaded, and compared with the live run afterwards.

The recording holds the components' payloads, byte by byte. Reading it needs numpy and safetensors only; `recording.py`
records it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from safetensors import safe_open
from safetensors.numpy import save_file

from viz_transformer import payload
from viz_transformer.model.kinds import KINDS
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.session import state
from viz_transformer.ui.session.fields import POSITIONS

if TYPE_CHECKING:
    from viz_transformer.checkpoint.contents import Summary

FILE = Path(__file__).with_name("recorded.safetensors")
PARTS = ("chips", "matrix", "scrubber", "whole", "questions")


@dataclass(frozen=True)
class Recording:
    """A run as payloads of the Run page's components. `weights_sha256`: of the weights that wrote it."""

    checkpoint: str
    weights_sha256: str
    text: str
    answer: str
    chips: bytes
    matrix: bytes
    scrubber: bytes
    whole: bytes
    questions: bytes

    def question(self, position: int) -> Question | None:
        """The page's question at a decoder row, with its answer."""
        asked: list[tuple[str, str] | None] = orjson.loads(self.questions)
        found = asked[position] if 0 <= position < len(asked) else None
        return None if found is None else Question(*found)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of chips."""
        rows: list[dict[str, Any]] = orjson.loads(self.chips)
        return rows

    @property
    def first_row(self) -> int:
        """The decoder row that writes the first token."""
        header, _ = payload.unpack(self.scrubber)
        return int(header["first_row"])

    def strongest_key(self, position: int) -> int | None:
        """The key with most weight in a decoder row of the map; None for a row that it lacks."""
        values = payload.unpack(self.matrix)[1]["values"]
        return int(values[position].argmax()) if 0 <= position < len(values) and values[position].any() else None

    def difference(self, other: Recording) -> float:
        """The largest difference of a drawn number; infinity if anything else differs.

        0 means that both are drawn from the same bytes.
        """
        if self == other:
            return 0.0
        if (self.text, self.answer) != (other.text, other.answer):
            return float("inf")
        return max(
            _largest_gap(payload.unpack(getattr(self, part)), payload.unpack(getattr(other, part)))
            for part in ("matrix", "scrubber", "whole")
        )

    def save(self, path: Path) -> None:
        """Write one safetensors file."""
        parts = {part: np.frombuffer(getattr(self, part), np.uint8) for part in PARTS}
        about = {name: getattr(self, name) for name in ("checkpoint", "weights_sha256", "text", "answer")}
        save_file(parts, path, metadata=about)

    @classmethod
    def load(cls, path: Path) -> Recording:
        with safe_open(path, framework="numpy") as file:
            return cls(**file.metadata(), **{part: file.get_tensor(part).tobytes() for part in PARTS})


def recording_of(summary: Summary, chosen: Mapping[str, Any]) -> Recording | None:
    """The recording, if it shows this selection and was made with the weights of this model.

    Fields of other pages are ignored; so are the marked row and column, which are drawn on top."""
    if any(chosen[name] != state.DEFAULTS[name] for name in state.SHARED.names if name not in POSITIONS):
        return None
    found = _load_bundled()
    digests = summary.card.get("sha256")
    digest = digests.get("model.safetensors") if isinstance(digests, Mapping) else None
    return found if summary.name == found.checkpoint and digest == found.weights_sha256 else None


def follow(recording: Recording) -> None:
    """Choose the first step's row, if none is chosen, and its key with most weight, if nobody chose one: as
    `frame.follow` does for a live run."""
    state.start_at(recording.first_row)
    kind = KINDS[state.SHARED.now().kind]
    strongest = recording.strongest_key(state.selection()[kind.queries.field])
    if strongest is not None and kind.keys.field in state.auto_fields():
        state.clamp(**{kind.keys.field: strongest})


@cache
def _load_bundled() -> Recording:
    return Recording.load(FILE)


def _largest_gap(one: tuple[Any, Any], other: tuple[Any, Any]) -> float:
    (header, arrays), (header_too, arrays_too) = one, other
    if header != header_too or {n: a.shape for n, a in arrays.items()} != {n: a.shape for n, a in arrays_too.items()}:
        return float("inf")
    gaps = [np.abs(np.asarray(arrays[n], np.float64) - np.asarray(arrays_too[n], np.float64)) for n in arrays]
    return max(float(np.nanmax(gap)) if gap.size else 0.0 for gap in gaps)
