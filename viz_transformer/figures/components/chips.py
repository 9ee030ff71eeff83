"""Token chips: what a run reads and what it writes, with each written token's probability as an underline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from viz_transformer.figures import labels
from viz_transformer.model.kinds import SideName

SURE = 0.5
LONGEST = 40


@dataclass(frozen=True, kw_only=True)
class Chip:
    """One token. `original` is what stood in the text, `probability` None for a token that was read."""

    token: str
    original: str
    side: SideName
    position: int
    special: bool = False
    unknown: bool = False
    probability: float | None = None

    def data(self) -> dict[str, Any]:
        """What the browser draws; every text is set as text there."""
        data: dict[str, Any] = {
            "text": labels.shorten(labels.visible(self.token), LONGEST),
            "title": self.title,
            "ink": self.side,
            "special": self.special,
            "unknown": self.unknown,
        }
        if self.unknown and self.original != self.token:
            data["note"] = labels.shorten(labels.visible(self.original), LONGEST)
        if self.probability is not None:
            data |= {"share": self.probability, "sure": self.probability >= SURE}
        return data

    @property
    def title(self) -> str:
        """The tooltip: position, token, and what is special about it."""
        parts = [
            f"{'step' if self.probability is not None else 'position'} {self.position}: {labels.visible(self.token)}"
        ]
        if self.unknown and self.original != self.token:
            parts.append(f"stands for {labels.visible(self.original)}, which is not in the vocabulary")
        if self.probability is not None:
            parts.append(f"probability {labels.share(self.probability)}")
            if self.probability < SURE:
                parts.append(f"unsure: below {SURE}")
        return ", ".join(parts)


@dataclass(frozen=True, kw_only=True)
class ChipRow:
    """A labelled row of chips. With a `field` they can be picked: the first is position `first` of that field."""

    label: str
    chips: Sequence[Chip]
    field: Literal["i", "t"] | None = None
    first: int = 0

    def data(self) -> dict[str, Any]:
        picked = {} if self.field is None else {"field": self.field, "first": self.first}
        return {"label": self.label, "chips": [chip.data() for chip in self.chips], **picked}
