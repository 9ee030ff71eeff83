"""Token chips: what a run reads and what it writes, with each written token's probability as an underline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from viz_transformer import numerals
from viz_transformer.figures import labels
from viz_transformer.model.kinds import SideName

SURE = 0.5
LONGEST = 40
MAX_MARKED = 0.15
"""If more than this share of a row's tokens is unsure, none is marked: a mark shows the exception."""
MANY = 40
"""From this many letters on, a row of letters is drawn as one text."""


@dataclass(frozen=True, kw_only=True)
class Chip:
    """One token."""

    token: str
    original: str
    """The text that was typed."""
    side: SideName
    position: int | None
    """None for a label, which belongs to the whole text."""
    special: bool = False
    unknown: bool = False
    masked: bool = False
    """Whether the model reads a mask in its place."""
    differs: bool = False
    """Whether it differs from another run's token."""
    probability: float | None = None
    """None for a token that was read."""
    of: str = ""
    """The token that a label is for."""

    def data(self) -> dict[str, Any]:
        """The chip's data for the browser, which sets every text as text."""
        data: dict[str, Any] = {
            "text": labels.shorten(labels.visible(self.token), LONGEST),
            "title": self.title,
            "ink": self.side,
            "special": self.special,
            "unknown": self.unknown or self.masked,
        }
        if (self.unknown or self.masked) and self.original != self.token:
            data["note"] = labels.shorten(labels.visible(self.original), LONGEST)
        if self.of:
            data["note"] = labels.shorten(labels.visible(self.of), LONGEST)
        if self.differs:
            data["differs"] = True
        if self.probability is not None:
            known = self.probability == self.probability  # else it is not a number, which JSON has not
            data |= {"share": self.probability if known else None, "sure": not self.probability < SURE}
        return data

    @property
    def title(self) -> str:
        """The tooltip: position, token, and what is special about it."""
        written = self.probability is not None and self.side == "target"
        where = ""
        if self.position is not None:
            where = f"step {numerals.nth(self.position)}: " if written else f"position {self.position}: "
        parts = [f"{where}{labels.visible(self.token)}"]
        parts += [f"for {labels.visible(self.of)}"] if self.of else []
        if self.masked and self.original != self.token:
            parts.append(f"replaces {labels.visible(self.original)}, which is masked")
        elif self.unknown and self.original != self.token:
            parts.append(f"replaces {labels.visible(self.original)}, which is not in the vocabulary")
        if self.probability is not None:
            parts.append(f"probability {labels.share(self.probability)}")
            if self.probability < SURE:
                parts.append(f"unsure: below {SURE}")
        if self.differs:
            parts.append("differs from the other run")
        return ", ".join(parts)


@dataclass(frozen=True, kw_only=True)
class Editing:
    """How a row is edited in place."""

    field: Literal["text", "target"]
    """The field that gets the text."""
    text: str
    """The text now."""
    said: str
    """The name of the box."""


@dataclass(frozen=True)
class RowMark:
    """The verdict on an answer, in a word and a sentence."""

    kind: Literal["right", "wrong", "doubtful"]
    said: str


@dataclass(frozen=True, kw_only=True)
class ChipRow:
    """A labelled row of chips."""

    label: str
    chips: Sequence[Chip]
    side: SideName = "source"
    """The side of its tokens."""
    at: int = 0
    """The position of its first token as a key of attention."""
    field: Literal["i", "t"] | None = None
    """The selection's field that picking a chip sets; None: chips cannot be picked."""
    first: int = 0
    """The position of the first chip in that field."""
    letters: bool = False
    """Whether each chip is a character, so that many of them are drawn as one."""
    edit: Editing | None = None
    """How the row is edited; None: it cannot be."""
    apart: bool = False
    """Whether it is from another run than the page's map, whose weights do not tint it."""
    mark: RowMark | None = None
    """The verdict on its answer."""

    def data(self) -> dict[str, Any]:
        chips = [chip.data() for chip in self.chips]
        data: dict[str, Any] = {"label": self.label, "chips": chips, "side": self.side, "at": self.at}
        unsure = [chip for chip in chips if chip.get("sure") is False]
        if len(unsure) <= MAX_MARKED * len(self.chips) or len(unsure) == 1:
            for chip in unsure:
                chip["mark"] = True
        if self.field is not None:
            data |= {"field": self.field, "first": self.first}
        if self.letters and len(self.chips) >= MANY:
            data["joined"] = True
        if self.edit is not None:
            data["edit"] = asdict(self.edit)
        if self.apart:
            data["apart"] = True
        if self.mark is not None:
            data["mark"] = asdict(self.mark)
        return data
