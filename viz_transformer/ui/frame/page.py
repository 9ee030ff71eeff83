"""A page as a list of views: what it asks, what can be chosen on it, and what each view draws of a run.

    def draw(shown, chosen):
        weights = shown.trace[f"decoder.{chosen['layer']}.self.weights"]
        ...
        return Chart(figure, alt="Entropy of each row")

    PAGE = Page(
        title="Row entropy",
        asks="how sure is each row?",
        how="...",
        not_to_conclude="...",
        controls=(KIND, LAYER, HEAD),
        views=(View(key="row_entropy", draw=draw),),
    )

`show_page` does what is alike on all pages: the runs A and B, A | B and A - B, what a model cannot tell, the scenes of
a projector, tables, menus, captions, names of files, and how to read it. A page of another package is an entry point
(`viz_transformer/extensions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import streamlit as st

from viz_transformer import extensions
from viz_transformer.analysis.attention.picture import Picture
from viz_transformer.extensions import Broken
from viz_transformer.figures import labels
from viz_transformer.figures.template import dressed
from viz_transformer.figures.theme import Theme
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import KINDS, kinds_of
from viz_transformer.sentences import quote
from viz_transformer.ui.frame import controls, frame, pictures, questions, text, words
from viz_transformer.ui.frame.frame import Rows, Runs
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.session import state

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from viz_transformer.figures.components.model_maps import Looks
    from viz_transformer.ui.session.runs import RunView

HEIGHT, MARGIN = 360, (60, 16, 40, 36)
"""The height of a chart and its margins left, right, above and below, in pixels."""
GROWS = 1.5
"""How many times larger a chart is drawn on a projector, where there is room."""
Chosen = Mapping[str, Any]
"""What is chosen, by the names of fields: the page's controls, and the selection within the bounds of the run."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart: read as a curve or as bars, not cell by cell."""

    figure: Callable[[Theme], Figure]
    """Makes it in the colours of the theme. One without a height gets the look and the title that charts have here."""
    alt: str
    """What it shows: its title, the name of its file, and its words for whoever cannot see it."""
    numbers: Callable[[], pd.DataFrame] | None = None
    """Its numbers, for the table and the CSV file; None where it has none of its own."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A small table that is read as it stands; its numbers are texts already."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    """The first cell of a row is its name."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """A sentence, never read as markup."""

    said: str
    tone: text.Tone = "plain"


Drawn = Picture | Chart | Table | Text


@dataclass(frozen=True, kw_only=True)
class View:
    """A part of a page, and one scene of it on a projector."""

    key: str
    """The key of its container, unique on the page; its pictures and charts have it, with their number, too."""
    draw: Callable[[RunView, Chosen], Drawn | Iterable[Drawn]]
    """Draws of a run. Raises ValueError with a sentence without its full stop for what cannot be shown."""
    title: str = ""
    """The heading above it; "" for none."""
    needs: str = ""
    """What it asks of a model, "its norms", for the sentence that one gets which does not tell it; "" for its title."""
    column: Literal["", "left", "right"] = ""
    """Its place: "" over the whole width. Views in columns are side by side until one is as wide again."""


class Choice(Protocol):
    """What a page lets choose: `controls.Control`, or what pages share."""

    @property
    def field(self) -> str: ...

    def draw(self, shown: RunView) -> Any:
        """Puts the widget on the page, and returns what is chosen."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page. Its title is a noun; `asks` is the question that it answers, as a link to it says it."""

    title: str
    asks: str
    how: str
    """How to read it."""
    not_to_conclude: str
    views: tuple[View, ...]
    controls: tuple[Choice, ...] = ()
    fields: type | None = None
    """A frozen dataclass of the fields that its controls keep in the address (`session/url_fields.py`)."""
    ask: Callable[[RunView, Chosen], Question | None] | None = None
    """The question of this run with its answer, below the title."""
    looks: Looks = ""
    """Where in the model it looks, for the map in the sidebar."""
    rows: Rows = "last"
    """Which decoder rows it shows, as `frame.runs` has it."""
    recording: str | None = None
    """Why it shows nothing of a recording; None where it shows one."""
    columns: tuple[int, int] = (3, 2)
    """How wide left and right are, in proportion."""


@dataclass(frozen=True)
class _Shared:
    """A choice that all pages share, as part of the one selection."""

    field: str
    widget: Callable[[RunView], None]

    def draw(self, shown: RunView) -> Any:
        self.widget(shown)
        return state.selection()[self.field]


def _layers(shown: RunView) -> None:
    controls.layer(KINDS[state.SHARED.now().kind].layers(shown.trace.spec), page="view")


def _heads(shown: RunView) -> None:
    now = state.SHARED.now()
    heads = shown.trace.spec.attentions.get(KINDS[now.kind].site(now.layer))
    controls.head(1 if heads is None else heads.query, page="view")


KIND = _Shared("kind", lambda shown: controls.kind(kinds_of(shown.trace.spec), key="view_kind"))
LAYER = _Shared("layer", _layers)
HEAD = _Shared("heads", _heads)
"""Kind of attention, layer and head, as every page chooses them."""


def show_page(page: Page) -> None:
    """Draw the page of the selected run, or of the two that are shown."""
    frame.title(page.title)
    asked, strip, messages = questions.place(), frame.place("strip"), frame.status()
    both = frame.runs(messages, rows=page.rows, recording=page.recording)
    if both is not None:
        with strip:
            frame.token_strip(both)
        chosen: dict[str, Any] = {}
        if page.controls:
            with st.container(horizontal=True, key="choices", vertical_alignment="bottom"):
                chosen = {each.field: each.draw(both.main) for each in page.controls}
        for view, place in zip(page.views, _list_places(page), strict=True):
            with place, st.container(key=view.key), frame.optional_section(view.needs or view.title or page.title):
                _show_view(view, both, chosen)
        if page.ask is not None:
            with frame.optional_section(page.title):
                questions.show_question(asked, page.ask(both.main, _chosen_of(both.main, chosen)))
        frame.show_messages(messages, *state.remarks())
        frame.set_scenes(both, [view.key for view in page.views])
    text.explain(page.how, page.not_to_conclude)


def _list_places(page: Page) -> Iterable[Any]:
    """A place for each view: over the whole width, or one of the two columns."""
    left = right = None
    for view in page.views:
        if not view.column:
            left = right = None
            yield st.container()
            continue
        if left is None:
            left, right = st.columns(page.columns, gap="medium")
        yield left if view.column == "left" else right


def _chosen_of(shown: RunView, chosen: Chosen) -> Chosen:
    return {**frame.clamp_to_run(shown), **chosen}


def _draw(view: View, shown: RunView, chosen: Chosen) -> list[Drawn]:
    """What the view draws of one run. Raises ValueError as it does, or with what else goes wrong in it."""
    try:
        drawn = view.draw(shown, _chosen_of(shown, chosen))
        return [drawn] if isinstance(drawn, Picture | Chart | Table | Text) else [*drawn]
    except (ValueError, Unavailable):
        raise
    except Exception as error:  # whatever a page of another package does
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _show_view(view: View, both: Runs, chosen: Chosen) -> None:
    if view.title:
        text.section(view.title)
    if not both.compared or both.b is None:
        _show_run(view, both.main, chosen)
    elif both.beside:
        _show_beside(view, both.a, both.b, chosen)
    else:
        _show_difference(view, both.a, both.b, chosen)


def _show_run(view: View, shown: RunView, chosen: Chosen) -> None:
    try:
        drawn = _draw(view, shown, chosen)
    except ValueError as error:
        text.paragraph(f"{error}.", tone="bad")
        return
    for number, each in enumerate(drawn):
        _show(each, shown, f"{view.key}_{number}")


def _show_beside(view: View, a: RunView, b: RunView, chosen: Chosen) -> None:
    """What is drawn of A and of B in two columns; pictures in the same place have one scale."""
    found = []
    for shown in (a, b):
        try:
            found.append([_named(each, shown.name) for each in _draw(view, shown, chosen)])
        except ValueError as error:
            found.append([Text(said=f"{words.cannot_be_shown(shown.name, error)}.", tone="bad")])
    alike = [_on_one_scale(*pair) for pair in zip(*found, strict=False)]
    for at, (shown, place) in enumerate(zip((a, b), st.columns(2, gap="medium"), strict=True)):
        drawn = [pair[at] for pair in alike] + found[at][len(alike) :]
        with place:
            for number, each in enumerate(drawn):
                _show(each, shown, f"{view.key}_{number}{'_b' * at}")


def _on_one_scale(a: Drawn, b: Drawn) -> tuple[Drawn, Drawn]:
    if not isinstance(a, Picture) or not isinstance(b, Picture):
        return a, b
    most = max(float(np.nanmax(np.abs(each.values), initial=0)) for each in (a, b))
    return a.with_meta(most=most or None), b.with_meta(most=most or None)


def _show_difference(view: View, a: RunView, b: RunView, chosen: Chosen) -> None:
    """Pictures of A less those of B, cell by cell; of what has no difference what is drawn of A."""
    try:
        of_a, of_b = (_draw(view, shown, chosen) for shown in (a, b))
        drawn = [
            one - other if isinstance(one, Picture) and isinstance(other, Picture) else _named(one, "A")
            for one, other in zip_longest(of_a, of_b[: len(of_a)])
        ]
    except ValueError as error:
        text.paragraph(words.refused(error, difference=True), tone="bad")
        return
    for number, each in enumerate(drawn):
        _show(each, a, f"{view.key}_{number}")


def _named(drawn: Drawn, run: str) -> Drawn:
    """The same, with the letter of the run that it is of."""
    if isinstance(drawn, Picture):
        return drawn.with_meta(title=words.of_run(run, drawn.meta.title))
    if isinstance(drawn, Chart):
        return replace(drawn, alt=words.of_run(run, drawn.alt))
    return replace(drawn, said=words.of_run(run, drawn.said)) if isinstance(drawn, Text) else drawn


def _show(drawn: Drawn, shown: RunView, key: str) -> None:
    if isinstance(drawn, Picture):
        pictures.matrix_of(drawn, key=key)
    elif isinstance(drawn, Chart):
        _show_chart(drawn, shown, key)
    elif isinstance(drawn, Table):
        st.html(text.table(drawn.rows, head=drawn.head, style="vt-facts vt-numbers"))
    else:
        text.paragraph(drawn.said, tone=drawn.tone)


def _show_chart(drawn: Chart, shown: RunView, key: str) -> None:
    asked = None
    if drawn.numbers is not None:
        name = labels.file_name(shown.summary.name, drawn.alt)
        asked = pictures.table(drawn.numbers, note=f"{shown.caption(drawn.alt)}.", name=name, key=key)
    figure = drawn.figure(frame.theme())
    if figure.layout.height is None:
        dressed(figure, frame.theme(), title=drawn.alt, height=HEIGHT, margin=MARGIN).update_xaxes(automargin=True)
    of = words.run_and_text(shown.called, shown.words())
    frame.chart(figure, key=key, alt=drawn.alt, size=frame.ChartSize(grows=GROWS), caption=of, on_table=asked)


# ---- pages of other packages


@cache
def list_extension_pages() -> Mapping[str, Page | Broken]:
    """The pages that other packages add, by their titles; their fields are known from now on."""
    found: dict[str, Page | Broken] = {}
    for name in extensions.list_extensions(extensions.PAGES):
        page = extensions.load_extension(extensions.PAGES, name)
        if isinstance(page, Page) and page.title == name:
            found[name] = _with_known_fields(page)
        else:
            found[name] = extensions.as_broken(page, extensions.PAGES, name, words.page_called(quote(name)))
    return found


def _with_known_fields(page: Page) -> Page | Broken:
    try:
        if page.fields is not None:
            state.declare(page.fields)
    except (ValueError, TypeError, KeyError) as error:
        return Broken(words.fields_refused(quote(page.title), error))
    return page


def show_extension(title: str, refused: Broken | None = None) -> None:
    """Draw the page of another package, or the sentence that says why it cannot be drawn, or is `refused`."""
    page = refused or list_extension_pages()[title]
    if isinstance(page, Broken):
        text.paragraph(page.why, tone="bad")
    else:
        show_page(page)
