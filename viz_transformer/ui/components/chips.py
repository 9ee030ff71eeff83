"""Token chips: what a run reads and what it writes, with each written token's probability as an underline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import streamlit as st

from viz_transformer.figures import labels

_FILES = files(__package__)
_chips = st.components.v2.component(
    "viz_transformer_chips",
    css=_FILES.joinpath("chips.css").read_text(encoding="utf-8"),
    js=_FILES.joinpath("chips.js").read_text(encoding="utf-8"),
)
SURE = 0.5
LONGEST = 40


@dataclass(frozen=True, kw_only=True)
class Chip:
    """One token. `original` is what stood in the text, `probability` None for a token that was read."""

    token: str
    original: str
    side: Literal["source", "target"]
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


def chip_rows(
    rows: Sequence[tuple[str, Sequence[Chip]]],
    *,
    key: str,
    picks: int | None = None,
    selected: int | None = None,
    on_pick: Callable[[int], None] | None = None,
) -> None:
    """Draw labelled rows of chips; those of row `picks` can be picked, and `on_pick` gets the number of the chip."""
    data: dict[str, Any] = {"rows": [{"label": label, "chips": [chip.data() for chip in row]} for label, row in rows]}
    if picks is not None:
        data |= {"picks": picks, "selected": selected}

    def picked() -> None:
        number = st.session_state[key].pick
        if on_pick is not None and number is not None:
            on_pick(int(number))

    _chips(key=key, data=data, on_pick_change=picked)
