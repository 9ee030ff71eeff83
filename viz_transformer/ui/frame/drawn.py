"""What a view of a page draws, as values: each knows how it is put on the page.

A `Picture` is a map of cells; `Map` says how one is drawn where that is not as cells at their usual size. `Chart`,
`Table`, `Text` and others are what one reads, `Component` is a picture of another kind, `Button`, `Link` and others
lead on, `Group`, `Columns` and `Awaited` say where and when others are drawn, a `Control` or an `Entry` is one where it
stands, and `Widget` is what has no value of its own: an editor, a tree of buttons.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import streamlit as st

from viz_transformer.analysis.attention.picture import Picture
from viz_transformer.figures import labels
from viz_transformer.figures.template import dressed
from viz_transformer.figures.theme import Theme
from viz_transformer.ui.components.pictures import Asked, lines, shading
from viz_transformer.ui.frame import frame, links, pictures, text, words
from viz_transformer.ui.frame.controls import Control
from viz_transformer.ui.session import state
from viz_transformer.ui.session.waiting import waiting

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from viz_transformer.ui.session.runs import RunView

HEIGHT, MARGIN = 360, (60, 16, 40, 36)
"""The height of a chart and its margins left, right, above and below, in pixels."""
SIZE = frame.ChartSize(grows=1.5)
"""A chart is drawn so many times larger on a projector, where there is room."""


@dataclass(frozen=True, kw_only=True)
class Part(ABC):
    """What a view draws."""

    @abstractmethod
    def show(self, shown: RunView | None, key: str, own: str) -> None:
        """Put it on the page. shown: the run that it is of; key: of what has none; own: ends the keys of B's, where A's
        is beside it."""


@dataclass(frozen=True, kw_only=True)
class Map(Part):
    """A picture, and how it is drawn."""

    picture: Picture
    key: str = ""
    """The key of its component; "" for the view's key and its number in it."""
    drawn_as: Literal["cells", "lines", "text"] = "cells"
    follows: bool = False
    """Whether it is the page's own map: a key that nobody chose is the one with most weight in the chosen row."""
    grows: bool = False
    """Whether what is after the chosen row is drawn as not written yet."""
    title: str = ""
    """The title of lines, where it is another one."""

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        key = f"{self.key or key}{own}"
        if self.drawn_as == "lines":
            lines(self.picture.pack_lines(title=self.title), key=key)
        elif self.drawn_as == "text":
            shading(self.picture.pack_text(grows=self.grows), key=key)
        else:
            pictures.matrix_of(self.picture, key=key, grows=self.grows, follows=self.follows)


@dataclass(frozen=True, kw_only=True)
class Maps(Part):
    """The maps of several heads beside each other, in one scale; the first is the page's own."""

    pictures: Sequence[Picture]
    titles: Sequence[str]
    """The title of each where there are more than two."""
    key: str

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        pictures.heads_apart(self.pictures, self.titles, key=f"{self.key}{own}")


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of a picture, for its table and its CSV file."""

    frame: Callable[[], pd.DataFrame]
    note: str
    name: str
    """The name of the file."""
    key: str = ""
    """The key of the table, where several pictures have the same one; "" for the picture's own."""
    csv: Callable[[], bytes] | None = None
    """The file, where it is not made of the frame."""

    def on_table(self, key: str) -> Asked:
        """What a picture's component calls when its table is asked for."""
        return pictures.table(self.frame, note=self.note, name=self.name, key=self.key or key, csv=self.csv)


@dataclass(frozen=True, kw_only=True)
class Component(Part):
    """A picture of another kind: what draws it (`ui/components/pictures.py`), and what that gets."""

    draw: Callable[..., None]
    data: bytes | Mapping[str, Any]
    key: str
    numbers: Numbers | None = None

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        key = f"{self.key}{own}"
        asked = {} if self.numbers is None else {"on_table": self.numbers.on_table(key)}
        self.draw(self.data, key=key, **asked)


@dataclass(frozen=True, kw_only=True)
class Chart(Part):
    """A chart: read as a curve or as bars, not cell by cell."""

    figure: Callable[[Theme], Figure]
    """Makes it in the colours of the theme. One without a height gets the look and the title that charts have here."""
    alt: str
    """What it shows: its title, the name of its file, and its words for whoever cannot see it."""
    numbers: Callable[[], pd.DataFrame] | Numbers | None = None
    """Its numbers, for the table and the CSV file; None where it has none of its own."""
    key: str = ""
    """The key of its container; "" for the view's key and its number in it."""
    size: frame.ChartSize = SIZE
    caption: str = ""
    """What it is of, where it is saved; "" for the run and its text."""
    rows: str = ""
    """The pass that its rows are of, for the same place; "" where that is not said."""

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        key, numbers = f"{self.key or key}{own}", self.numbers
        if numbers is not None and not isinstance(numbers, Numbers):
            assert shown is not None, self.alt
            name = labels.file_name(shown.summary.name, self.alt)
            numbers = Numbers(frame=numbers, note=f"{shown.caption(self.alt)}.", name=name)
        asked = None if numbers is None else numbers.on_table(key)
        figure = self.figure(frame.theme())
        if figure.layout.height is None:
            dressed(figure, frame.theme(), title=self.alt, height=HEIGHT, margin=MARGIN).update_xaxes(automargin=True)
        of = self.caption if shown is None or self.caption else words.run_and_text(shown.called, shown.words())
        frame.chart(figure, key=key, alt=self.alt, size=self.size, caption=of, rows=self.rows, on_table=asked)


@dataclass(frozen=True, kw_only=True)
class Table(Part):
    """A small table that is read as it stands; its numbers are texts already."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    """The first cell of a row is its name."""
    style: str = "vt-facts vt-numbers"
    caption: str = ""
    first: str = "th"
    """The tag of the first cell of each row."""
    here: int | None = None
    """The row of what is chosen, if it is marked."""
    attributes: Sequence[Mapping[str, str]] = ()
    """The attributes of each row, as `text.table` has them."""

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        of_rows = self.attributes or [{"class": "vt-here" * (at == self.here)} for at in range(len(self.rows))]
        given: dict[str, Any] = {"caption": self.caption, "first": self.first, "attributes": of_rows}
        st.html(text.table(self.rows, head=self.head, style=self.style, **given))


@dataclass(frozen=True, kw_only=True)
class Text(Part):
    """A sentence, never read as markup."""

    said: str
    tone: text.Tone = "plain"
    style: str = "vt-note"
    lead: str = ""
    screen: str = ""
    """What comes first and last, as `text.paragraph` has them."""
    detail: str = ""
    """What a pointer over it is told."""

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        more = {"lead": self.lead, "screen": self.screen, "detail": self.detail}
        text.paragraph(self.said, style=self.style, tone=self.tone, **more)


@dataclass(frozen=True, kw_only=True)
class Heading(Part):
    """A heading inside a view."""

    said: str

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        text.section(self.said)


@dataclass(frozen=True, kw_only=True)
class Markup(Part):
    """What is drawn as HTML: marks in a text, a grid of cells."""

    html: text.Html
    width: Literal["content", "stretch"] = "stretch"

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        st.html(self.html, width=self.width)


@dataclass(frozen=True, kw_only=True)
class Formula(Part):
    """A formula in a line of its own, in LaTeX."""

    latex: str

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        st.latex(self.latex, width="stretch")


@dataclass(frozen=True, kw_only=True)
class Code(Part):
    """A listing that is scrolled, and can be copied."""

    listing: str
    language: str | None = None
    """None for none: what a program prints."""
    height: int = 420

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        st.code(self.listing, language=self.language, height=self.height)


@dataclass(frozen=True, kw_only=True)
class Grid(Part):
    """A table that can be sorted, and is scrolled where it is long."""

    numbers: pd.DataFrame
    key: str
    columns: Mapping[str, Any]
    """How its columns are set, as `st.dataframe` has it."""
    height: int | Literal["content"] = "content"

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        st.dataframe(self.numbers, height=self.height, key=f"{self.key}{own}", column_config=self.columns)


# ---- what leads on


@dataclass(frozen=True, kw_only=True)
class Button(Part):
    """A button that changes fields of the selection, or does more than that."""

    label: str
    """Read as markup, as `text.literal` has it."""
    key: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    does: Callable[[], None] | None = None
    """What it does instead of changing fields."""
    help: str | None = None
    disabled: bool = False
    kind: Literal["tertiary", "secondary"] = "tertiary"
    width: Literal["content", "stretch"] = "content"

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        look: dict[str, Any] = {"help": self.help, "disabled": self.disabled, "width": self.width}
        does = self.does or partial(state.select, **self.fields)
        st.button(self.label, type=self.kind, key=f"{self.key}{own}", on_click=does, **look)


@dataclass(frozen=True, kw_only=True)
class TableButton(Part):
    """A button that opens a table that is of no picture."""

    numbers: Numbers
    key: str

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        given = self.numbers
        pictures.table_button(given.frame, note=given.note, name=given.name, key=f"{self.key}{own}")


@dataclass(frozen=True, kw_only=True)
class Download(Part):
    """A button that saves a file, which may be made only then."""

    label: str
    data: Callable[[], bytes] | str
    name: str
    """The name of the file."""
    media_type: str
    key: str

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        key = f"{self.key}{own}"
        st.download_button(self.label, self.data, self.name, self.media_type, key=key, on_click="ignore")


@dataclass(frozen=True, kw_only=True)
class CellLinks(Part):
    """Why the chosen cell has its number, and what else could have been written in its row, as links."""

    decoding: bool = True
    """Whether anything is written."""
    level: str = "run"
    """The level of the whole run, as `links.link_from_cell` has it."""

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        links.link_from_cell(decoding=self.decoding, level=self.level)


@dataclass(frozen=True, kw_only=True)
class Link(Part):
    """A link to a page with the same selection, except for these fields."""

    page: str
    label: str
    fields: Mapping[str, str] = field(default_factory=dict)

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        links.link_to(self.page, self.label, **self.fields)


@dataclass(frozen=True, kw_only=True)
class Widget(Part):
    """What has no value of its own and puts itself on the page."""

    put: Callable[[], object]

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        self.put()


@dataclass(frozen=True, kw_only=True)
class Entry(Part):
    """A widget that keeps what is entered into it, which is in no address."""

    put: Callable[..., object]
    """Puts it on the page: gets its value and its key."""
    key: str
    unset: Any
    """Its value where nobody entered any."""

    def value(self) -> Any:
        """What is entered; known before the widget is drawn."""
        return st.session_state.get(self.key, self.unset)

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        self.put(value=self.unset, key=self.key)


# ---- where and when others are drawn


@dataclass(frozen=True, kw_only=True)
class Group(Part):
    """What belongs together, below each other, or in one line where it is `aligned`."""

    parts: Sequence[Any]
    """What is drawn; in the layout of a page keys of views."""
    key: str
    aligned: Literal["", "top", "center", "bottom"] = ""

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        numbers = count()
        lay_out(self, lambda part: show(part, shown, f"{key}_{next(numbers)}", own))


@dataclass(frozen=True, kw_only=True)
class Columns(Part):
    """Columns beside each other, each with its parts, as `Group` has them."""

    parts: Sequence[Sequence[Any]]
    widths: Sequence[float] = ()
    """Their widths, in proportion; () for equal ones."""
    gap: Literal["small", "medium"] = "medium"
    key: str = ""
    """The key of a container around them; "" for none."""

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        numbers = count()
        lay_out(self, lambda part: show(part, shown, f"{key}_{next(numbers)}", own))


@dataclass(frozen=True, kw_only=True)
class Awaited(Part):
    """What takes seconds to make: that is done in its place, which says meanwhile what is waited for."""

    said: str
    make: Callable[[], Iterable[Drawn]]

    def show(self, shown: RunView | None, key: str, own: str) -> None:
        with waiting(self.said, st.empty()):
            made = [*self.make()]
        for number, each in enumerate(made):
            show(each, shown, f"{key}_{number}", own)


Drawn = Picture | Part | Control[Any]


def show(drawn: Drawn, shown: RunView | None, key: str, own: str = "") -> None:
    """Put it on the page, as `Part.show` does."""
    if isinstance(drawn, Picture):
        pictures.matrix_of(drawn, key=f"{key}{own}")
    elif isinstance(drawn, Part):
        drawn.show(shown, key, own)
    else:
        assert shown is not None, key
        drawn.draw(shown)


def lay_out(drawn: Any, put: Callable[[Any], object]) -> None:
    """Make the containers of groups and columns, and `put` in them what these hold, in its order."""
    if isinstance(drawn, Columns):
        with st.container(key=drawn.key) if drawn.key else nullcontext():
            places = st.columns(drawn.widths or len(drawn.parts), gap=drawn.gap)
        for column, parts in zip(places, drawn.parts, strict=True):
            with column:
                for part in parts:
                    lay_out(part, put)
    elif isinstance(drawn, Group):
        in_line = bool(drawn.aligned)
        with st.container(key=drawn.key, horizontal=in_line, vertical_alignment=drawn.aligned or "top"):
            for part in drawn.parts:
                lay_out(part, put)
    else:
        put(drawn)


# ---- A and B


def subtract(a: Drawn, b: Drawn | None) -> Drawn:
    """A less B, cell by cell; of anything but maps what is drawn of A. Raises ValueError for maps of two sizes."""
    if isinstance(a, Picture) and isinstance(b, Picture):
        return a - b
    if isinstance(a, Map) and isinstance(b, Map):
        return replace(a, picture=a.picture - b.picture)
    if isinstance(a, Maps) and isinstance(b, Maps):
        return replace(a, pictures=[one - other for one, other in zip(a.pictures, b.pictures, strict=True)])
    return of_run(a, "A")


def of_run(drawn: Drawn, run: str) -> Drawn:
    """The same, with the letter of the run that it is of."""
    if isinstance(drawn, Picture):
        return drawn.with_meta(title=words.of_run(run, drawn.meta.title))
    if isinstance(drawn, Map):
        return replace(drawn, picture=drawn.picture.with_meta(title=words.of_run(run, drawn.picture.meta.title)))
    if isinstance(drawn, Chart):
        return replace(drawn, alt=words.of_run(run, drawn.alt))
    return replace(drawn, said=words.of_run(run, drawn.said)) if isinstance(drawn, Text) else drawn


def on_one_scale(a: Drawn, b: Drawn) -> tuple[Drawn, Drawn]:
    """Two pictures on the scale of the larger numbers, anything else as it is; the first may be the page's own map."""
    if isinstance(b, Map):
        b = replace(b, follows=False)
    if isinstance(a, Map) and isinstance(b, Map):
        one, other = _scaled_alike(a.picture, b.picture)
        return replace(a, picture=one), replace(b, picture=other)
    if isinstance(a, Picture) and isinstance(b, Picture):
        a, b = _scaled_alike(a, b)
    return a, b


def _scaled_alike(*made: Picture) -> list[Picture]:
    most = max(float(np.nanmax(np.abs(each.values), initial=0)) for each in made)
    return [each.with_meta(most=most or None) for each in made]
