"""The axes of a picture of numbers: the texts along them, their positions, and what a row reads and writes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import pandas as pd

from viz_transformer import declared
from viz_transformer.analysis.attention.words import Words
from viz_transformer.model.kinds import KINDS, KindName, SideName
from viz_transformer.text.visible import shorten, visible

LONGEST_TEXT = 200
"""Columns of a token on a picture and in a table."""


@dataclass(frozen=True)
class Texts:
    """The texts along one axis."""

    tokens: Sequence[str]
    """The tokens that the model reads, or writes."""
    originals: Sequence[str] | None = None
    """The typed text of each token; None: the tokens themselves."""
    special: Collection[int] = ()
    """The places of special tokens."""
    padding: Collection[int] = ()
    """The places of padding that a run appended to the given tokens."""
    numbered: bool = False
    """Whether places have numbers only and no text, as dimensions do."""

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def typed(self) -> tuple[str, ...]:
        """The typed texts; for padding the token itself."""
        return tuple(self.tokens if self.originals is None else self.originals)

    def data(self) -> list[dict[str, Any]]:
        """A dict for each place: text, `note` with the typed text if the model reads something else, special.

        Texts are made visible: symbols for white space, code points for characters without a glyph, cut at 200 columns.
        A difference in case alone gives no note.
        """
        made = []
        for place, (token, typed) in enumerate(zip(self.tokens, self.typed, strict=True)):
            each: dict[str, Any] = {"text": shorten(visible(token), LONGEST_TEXT)}
            if typed.lower() != token.lower():
                each["note"] = shorten(visible(typed), LONGEST_TEXT)
            if place in self.special:
                each["special"] = True
            made.append(each)
        return made

    def names(self) -> list[str]:
        """The typed texts, made visible."""
        return [str(each.get("note", each["text"])) for each in self.data()]

    def name(self, place: int) -> str:
        """The typed text of one place, made visible."""
        return self.at((place,)).names()[0]

    def at(self, places: Sequence[int]) -> Texts:
        """The texts of the given places."""
        special, padding = (
            frozenset(new for new, old in enumerate(places) if old in each) for each in (self.special, self.padding)
        )
        tokens = tuple(self.tokens[place] for place in places)
        typed = None if self.originals is None else tuple(self.originals[place] for place in places)
        return Texts(tokens, typed, special, padding, self.numbered)


def numbered(count: int) -> Texts:
    """The places of an axis that has numbers only, such as dimensions."""
    return Texts(tuple(map(str, range(count))), numbered=True)


@dataclass(frozen=True)
class Span:
    """A highlighted range of places on an axis, from `start` up to but not including `end`."""

    start: int
    end: int
    look: Literal["bar", "hatched", "mark"]
    """A bar along them, hatching over their cells, or a short mark above columns."""
    text: str = ""
    """Its text in the legend; "" for none."""
    ink: str = "muted"
    """The name of its colour."""


@dataclass(frozen=True)
class Axis:
    """One axis of a map, with the text of each of its places."""

    field: Literal["i", "j", "t", "u", "row", "column", ""]
    """The selection's field for a place on it, "row" and "column" in a notebook alone; "" if it has none and only the
    picture keeps what is chosen."""
    role: str
    """The role of a place in the map: "query", "key"."""
    title: str
    side: SideName | None
    """The text its tokens are from, which sets the colour of its labels. None for features and the like."""
    reads: Texts
    """The token that the model reads at each place."""
    starts: tuple[int, ...] = ()
    """The first position of each place in the run, where places are words or some positions are left out."""
    ends: tuple[int, ...] = ()
    """The position after the last of each place, where it has `starts`."""
    writes: Texts | None = None
    """The token that the model writes at each place, for the rows of a decoder."""
    reach: int | None = None
    """How many places, from the first, the selection can choose, such as the positions of a run; None: all."""
    blocks: bool = False
    """Whether each place is several positions drawn as one, from its start to its end."""
    spans: tuple[Span, ...] = ()

    def __len__(self) -> int:
        return len(self.reads)

    @property
    def positions(self) -> Sequence[int]:
        """The first position of each place in the run."""
        return self.starts or range(len(self))

    def names(self) -> list[str]:
        """The name of each place: its position, and its typed text if any."""
        if self.reads.numbered:
            return [str(position) for position in self.positions]
        return [f"{position} {name}" for position, name in zip(self.positions, self.reads.names(), strict=True)]

    def data(self, *, with_tokens: bool = True) -> dict[str, Any]:
        """The data of the axis for every component; the number of places alone if it has no texts, or without
        tokens."""
        numbered = self.reads.numbered
        with_tokens = with_tokens and not numbered
        data: dict[str, Any] = {
            "field": self.field,
            "role": self.role,
            "axis": self.title,
            "ink": "muted" if self.side is None else f"{self.side}-ink",
            "tokens": self.reads.data() if with_tokens else [],
            "starts": self.starts or None,
            "ends": self.ends or None,
        }
        if not with_tokens:
            data["count"] = len(self)
        if numbered:
            data["numbered"] = True
        if self.blocks:
            data["blocks"] = True
        if self.reach is not None:
            data["reach"] = self.reach
        if self.spans:
            data["spans"] = [asdict(span) for span in self.spans]
        return data

    def written(self, called: str) -> list[dict[str, Any]] | None:
        """The tokens that the places write, as components get them; None if they write nothing. Raises ValueError if
        their number does not fit; `called` names the places in that message."""
        if self.writes is None:
            return None
        declared.same_count(**{"written tokens": len(self.writes), called: len(self)})
        return self.writes.data()

    def index(self) -> pd.Index[Any]:
        """The index of a table; places without names are numbers."""
        if self.reads.numbered and not self.starts:
            return pd.RangeIndex(len(self))
        return pd.Index(self.names())

    def at(self, places: Sequence[int]) -> Axis:
        """The axis with these places only; they keep their positions in the run."""
        starts = tuple(self.positions[place] for place in places)
        ends = tuple(self.ends[place] for place in places) if self.ends else tuple(start + 1 for start in starts)
        writes = None if self.writes is None else self.writes.at(places)
        return replace(self, reads=self.reads.at(places), starts=starts, ends=ends, writes=writes)

    def by_word(self, words: Words) -> Axis:
        """The axis with a place for each word; word positions are places of this axis."""
        behind = self.ends or tuple(position + 1 for position in self.positions)
        special = frozenset(word for word, places in enumerate(words.positions) if places[0] in self.reads.special)
        writes = None if self.writes is None else [each["text"] for each in self.writes.data()]
        return replace(
            self,
            reads=Texts(words.labels, special=special),
            starts=tuple(self.positions[places[0]] for places in words.positions),
            ends=tuple(behind[places[-1]] for places in words.positions),
            writes=None if writes is None else Texts(words.joined(writes)),
        )


Axes = tuple[Axis, Axis]
"""Rows and columns."""


def attention_axes(kind: KindName, queries: Texts, keys: Texts, writes: Texts | None = None) -> Axes:
    """The two axes of a kind of attention; `writes`: the token that each decoder row writes."""
    known = KINDS[kind]
    row, column = known.fields
    return (
        Axis(row, "query", "reads" if known.writes else "queries", known.queries.name, queries, writes=writes),
        Axis(column, "key", f"keys, {known.keys.name}", known.keys.name, keys),
    )
