"""What a view of a page draws, as values, and how each is put on the page.

A `Picture` is a map of cells; `Map` says how one is drawn where that is not as cells at their usual size. `Chart`,
`Table`, `Text` and `Heading` are what one reads, `Component` is a picture of another kind, `Button` and `CellLinks`
lead on, and `Widget` is what has no value of its own: a bar of controls, an editor. `Group` and `Columns` hold others.
A `Control` stands where it is among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
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

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from viz_transformer.ui.session.runs import RunView

HEIGHT, MARGIN = 360, (60, 16, 40, 36)
"""The height of a chart and its margins left, right, above and below, in pixels."""
SIZE = frame.ChartSize(grows=1.5)
"""A chart is drawn so many times larger on a projector, where there is room."""


@dataclass(frozen=True, kw_only=True)
class Map:
    """A picture, and how it is drawn."""

    picture: Picture
    key: str = ""
    """The key of its component; "" for the view's key and its number in it."""
    drawn_as: Literal["cells", "lines", "text"] = "cells"
    follows: bool = False
    """Whether it is the page's own map: a key that nobody chose is the one with most weight in the chosen row."""
    title: str = ""
    """The title of lines, where it is another one."""
    grows: bool = False
    """Whether what is after the chosen row is drawn as not written yet."""


@dataclass(frozen=True, kw_only=True)
class Maps:
    """The maps of several heads beside each other, in one scale; the first is the page's own."""

    pictures: Sequence[Picture]
    titles: Sequence[str]
    """The title of each where there are more than two."""
    key: str


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of a picture, for its table and its CSV file."""

    frame: Callable[[], pd.DataFrame]
    note: str
    name: str
    """The name of the file."""


@dataclass(frozen=True, kw_only=True)
class Component:
    """A picture of another kind: what draws it (`ui/components/pictures.py`), and what that gets."""

    draw: Callable[..., None]
    data: bytes
    key: str
    numbers: Numbers | None = None


@dataclass(frozen=True, kw_only=True)
class Chart:
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


@dataclass(frozen=True, kw_only=True)
class Table:
    """A small table that is read as it stands; its numbers are texts already."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    """The first cell of a row is its name."""
    style: str = "vt-facts vt-numbers"
    attributes: Sequence[Mapping[str, str]] = ()
    """The attributes of each row, as `text.table` has them."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """A sentence, never read as markup."""

    said: str
    tone: text.Tone = "plain"
    style: str = "vt-note"
    lead: str = ""
    screen: str = ""
    """What comes first and last, as `text.paragraph` has them."""


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A heading inside a view."""

    said: str


@dataclass(frozen=True, kw_only=True)
class Button:
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


@dataclass(frozen=True, kw_only=True)
class CellLinks:
    """Why the chosen cell has its number, and what else could have been written in its row, as links."""

    decoding: bool = True
    """Whether anything is written."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link to a page with the same selection, except for these fields."""

    page: str
    label: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Widget:
    """What has no value of its own and puts itself on the page."""

    put: Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class TableButton:
    """A button that opens a table that is of no picture."""

    numbers: Numbers
    key: str


@dataclass(frozen=True, kw_only=True)
class Markup:
    """What is drawn as HTML: marks in a text, a grid of cells."""

    html: text.Html
    width: Literal["content", "stretch"] = "stretch"


@dataclass(frozen=True, kw_only=True)
class Group:
    """What belongs together, below each other, or in one line where it is `aligned`."""

    parts: Sequence[Any]
    """What is drawn; in the layout of a page keys of views."""
    key: str
    aligned: Literal["", "top", "center", "bottom"] = ""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Columns beside each other, each with its parts, as `Group` has them."""

    parts: Sequence[Sequence[Any]]
    widths: Sequence[float]
    """Their widths, in proportion."""
    gap: Literal["small", "medium"] = "medium"


Drawn = (
    Picture
    | Map
    | Maps
    | Component
    | Chart
    | Table
    | Text
    | Heading
    | Button
    | CellLinks
    | Widget
    | TableButton
    | Markup
    | Group
    | Columns
    | Control[Any]
    | Link
)


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
    """Two pictures on the scale of the larger numbers; anything else as it is."""
    if isinstance(a, Map) and isinstance(b, Map):
        one, other = _scaled_alike(a.picture, b.picture)
        return replace(a, picture=one), replace(b, picture=other, follows=False)
    if isinstance(a, Picture) and isinstance(b, Picture):
        a, b = _scaled_alike(a, b)
    return a, b


def _scaled_alike(*made: Picture) -> list[Picture]:
    most = max(float(np.nanmax(np.abs(each.values), initial=0)) for each in made)
    return [each.with_meta(most=most or None) for each in made]


# ---- on the page


def show(drawn: Drawn, shown: RunView | None, key: str, own: str = "") -> None:
    """Put it on the page. shown: the run that it is of; key: of what has none; own: ends the keys of B's, where A's is
    beside it."""
    if isinstance(drawn, Picture):
        pictures.matrix_of(drawn, key=f"{key}{own}")
    elif isinstance(drawn, Map):
        _show_map(drawn, f"{drawn.key or key}{own}")
    elif isinstance(drawn, Maps):
        pictures.heads_apart(drawn.pictures, drawn.titles, key=f"{drawn.key}{own}")
    elif isinstance(drawn, Component):
        asked = {} if drawn.numbers is None else {"on_table": _table(drawn.numbers, f"{drawn.key}{own}")}
        drawn.draw(drawn.data, key=f"{drawn.key}{own}", **asked)
    elif isinstance(drawn, Chart):
        _show_chart(drawn, shown, f"{drawn.key or key}{own}")
    elif isinstance(drawn, Table):
        st.html(text.table(drawn.rows, head=drawn.head, style=drawn.style, attributes=drawn.attributes))
    elif isinstance(drawn, Text):
        text.paragraph(drawn.said, style=drawn.style, tone=drawn.tone, lead=drawn.lead, screen=drawn.screen)
    elif isinstance(drawn, Heading):
        text.section(drawn.said)
    elif isinstance(drawn, Button):
        _show_button(drawn, f"{drawn.key}{own}")
    elif isinstance(drawn, CellLinks):
        links.link_from_cell(decoding=drawn.decoding)
    elif isinstance(drawn, TableButton):
        given = drawn.numbers
        pictures.table_button(given.frame, note=given.note, name=given.name, key=f"{drawn.key}{own}")
    elif isinstance(drawn, Markup):
        st.html(drawn.html, width=drawn.width)
    elif isinstance(drawn, Widget):
        drawn.put()
    elif isinstance(drawn, Link):
        links.link_to(drawn.page, drawn.label, **drawn.fields)
    elif isinstance(drawn, Control):
        assert shown is not None, key
        drawn.draw(shown)
    else:
        lay_out(drawn, lambda part: show(part, shown, key, own))


def lay_out(drawn: Any, put: Callable[[Any], object]) -> None:
    """Make the containers of groups and columns, and `put` in them what these hold, in its order."""
    if isinstance(drawn, Columns):
        for column, parts in zip(st.columns(drawn.widths, gap=drawn.gap), drawn.parts, strict=True):
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


def _show_button(drawn: Button, key: str) -> None:
    does = drawn.does or partial(state.select, **drawn.fields)
    st.button(
        drawn.label,
        type=drawn.kind,
        key=key,
        help=drawn.help,
        disabled=drawn.disabled,
        width=drawn.width,
        on_click=does,
    )


def _show_map(drawn: Map, key: str) -> None:
    if drawn.drawn_as == "lines":
        lines(drawn.picture.pack_lines(title=drawn.title), key=key)
    elif drawn.drawn_as == "text":
        shading(drawn.picture.pack_text(grows=drawn.grows), key=key)
    else:
        pictures.matrix_of(drawn.picture, key=key, grows=drawn.grows, follows=drawn.follows)


def _table(numbers: Numbers, key: str) -> Asked:
    return pictures.table(numbers.frame, note=numbers.note, name=numbers.name, key=key)


def _show_chart(drawn: Chart, shown: RunView | None, key: str) -> None:
    assert shown is not None, key
    numbers = drawn.numbers
    if numbers is not None and not isinstance(numbers, Numbers):
        name = labels.file_name(shown.summary.name, drawn.alt)
        numbers = Numbers(frame=numbers, note=f"{shown.caption(drawn.alt)}.", name=name)
    asked = None if numbers is None else _table(numbers, key)
    figure = drawn.figure(frame.theme())
    if figure.layout.height is None:
        dressed(figure, frame.theme(), title=drawn.alt, height=HEIGHT, margin=MARGIN).update_xaxes(automargin=True)
    of = words.run_and_text(shown.called, shown.words())
    frame.chart(figure, key=key, alt=drawn.alt, size=drawn.size, caption=of, on_table=asked)
