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
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, cast

import streamlit as st

from viz_transformer import extensions
from viz_transformer.extensions import Broken
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import KINDS, kinds_of
from viz_transformer.sentences import quote
from viz_transformer.ui.frame import controls, frame, projector, questions, text, tour, words
from viz_transformer.ui.frame import drawn as drawing
from viz_transformer.ui.frame.controls import Control
from viz_transformer.ui.frame.drawn import Chart, Drawn, Group, Table, Text
from viz_transformer.ui.frame.frame import Rows, Runs
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.session import state

if TYPE_CHECKING:
    from viz_transformer.figures.components.model_maps import Looks
    from viz_transformer.ui.compat import DeltaGenerator
    from viz_transformer.ui.session.runs import RunView

__all__ = ["HEAD", "KIND", "LAYER", "Chart", "Chosen", "Drawn", "Page", "Table", "Text", "View", "begin", "show_page"]

Chosen = Mapping[str, Any]
"""What is chosen, by the names of fields: the page's controls, and the selection within the bounds of the run."""
Column = Literal["", "left", "right"]
"""A place of a view: over the whole width, or in one of two columns."""


@dataclass(frozen=True)
class SharedChoice:
    """A choice that all pages share, as part of the one selection."""

    field: str
    widget: Callable[[Runs], object]


Choice = Control[Any] | SharedChoice
"""What a page lets choose: a field of its own, or what pages share."""


@dataclass(frozen=True, kw_only=True)
class View:
    """A part of a page, and one scene of it on a projector. Either `draw` or `draw_runs` draws it."""

    key: str
    """The key of its container, unique on the page; its pictures and charts have it, with their number, too."""
    draw: Callable[[RunView, Chosen], Drawn | Iterable[Drawn]] | None = None
    """Draws of a run. Raises ValueError with a sentence without its full stop for what cannot be shown."""
    draw_beside: Callable[[RunView, Chosen], Drawn | Iterable[Drawn]] | None = None
    """The same where A and B stand side by side, if that is another picture."""
    draw_runs: Callable[[Runs, Chosen], Drawn | Iterable[Drawn]] | None = None
    """Draws of the runs that are shown, where A and B are not compared map by map."""
    below: Callable[[Runs, Chosen], Iterable[Drawn]] | None = None
    """What is said once, below what is drawn of A and of B."""
    title: str = ""
    """The heading above it; "" for none."""
    needs: str = ""
    """What it asks of a model, "its norms", for the sentence that one gets which does not tell it; "" for its title."""
    column: Column | Callable[[Runs], Column] = ""
    """Its place. Views in columns are side by side until one is over the whole width again."""
    controls: tuple[Choice, ...] = ()
    """What can be chosen of it alone, above it."""
    is_there: Callable[[Runs, Chosen], bool] | None = None
    """Whether the page has it; None for always."""
    widths: tuple[int, int] | None = None
    """Begins new columns, which are so wide in proportion; None for those that are there, or as wide as the page's."""
    gap: Literal["small", "medium"] = "medium"
    """The gap between what is drawn of A and of B beside each other."""
    is_scene: bool = True
    scene: int = 0
    """Scenes of a larger number come later, whichever of two is above the other on the page."""
    scenes: tuple[str, ...] = ()
    """The keys of the groups in it that are scenes; () for itself."""
    comes_later: bool = False
    """Whether the browser paints what is above before it is made."""
    is_open: Callable[[Runs, Chosen], bool] | None = None
    """Whether it is drawn, of a page with tabs; None for always. One that is not drawn is a scene all the same."""
    always: bool = False
    """Whether it is drawn also where the page could not prepare what the others draw from: it can be changed."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page. Its title is a noun."""

    title: str
    asks: str = ""
    """The question that it answers; "" for a page of the app, whose file says it in its first line."""
    how: str
    """How to read it."""
    not_to_conclude: str
    views: tuple[View, ...]
    controls: tuple[Choice, ...] = ()
    fields: type | None = None
    """A frozen dataclass of the fields that its controls keep in the address (`session/url_fields.py`)."""
    ask: Callable[[RunView, Chosen], Question | None] | None = None
    """The question of this run with its answer, below the title."""
    ask_runs: Callable[[Runs, Chosen], Question | None] | None = None
    """The same of the runs that are shown, where it is not about one alone."""
    at_stop: Callable[[Runs, Chosen], Sequence[str]] | None = None
    """The sentences at its stop of the tour."""
    ask_last: Callable[[Runs, Chosen], Question | None] | None = None
    """The same where the answer is what its views compute: it is asked for after them."""
    ringed: tuple[str, ...] | Callable[[Runs, Chosen], tuple[str, ...]] = ()
    """What these are about, as `tour.tell` has it."""
    caption: Callable[[Runs, Chosen], str | None] | None = None
    """What a projector's caption says of the selection; None for kind, layer, heads and position."""
    explain: Callable[[Runs, Chosen], tuple[str, str]] | None = None
    """How to read it and what not to conclude, where that depends on the run."""
    plays: bool | Literal["projected"] = False
    """Whether its pictures move with the steps, so that the strip has the button that plays them; or only on a
    projector, where the page has one of its own."""
    looks: Looks = ""
    """Where in the model it looks, for the map in the sidebar."""
    rows: Rows = "last"
    """Which decoder rows it shows, as `frame.runs` has it."""
    recording: str | None = None
    """Why it shows nothing of a recording; None where it shows one."""
    columns: tuple[int, int] = (3, 2)
    """How wide left and right are, in proportion."""
    layout: Callable[[Runs, Chosen], Group | None] | None = None
    """Groups and columns of the keys of views that are neither below each other nor left and right."""
    bar: Callable[[], object] | None = None
    """Puts controls in the place between strip and messages, also where there is no run; `begin` has its key."""
    without_run: Callable[[], Iterable[Drawn]] | None = None
    """What is drawn where there is no run."""
    refuse: Callable[[Runs], str | None] | None = None
    """Why it shows nothing of these runs; None where it shows them."""
    remarks: Callable[[RunView], Sequence[str]] | None = None
    """Remarks on the run, after those on the selection."""
    messages: Callable[[Runs, Chosen], tuple[Sequence[str], str | None]] | None = None
    """What is said above it of what is chosen, after the remarks, and what is wrong there, if anything."""
    prepare: Callable[[Runs, Chosen], Chosen] | None = None
    """What its views draw from, made once before them: it joins what is chosen. Raises ValueError with a sentence
    without its full stop."""
    problem_in: Literal["messages", "place"] = "messages"
    """Where that sentence is said: among the messages, or in the place of the views."""
    needs: str = ""
    """What it asks of a model on the whole, as `View` has it; "" where its controls say themselves what is wrong."""

    def ask_of(self, both: Runs, chosen: Chosen) -> Question | None:
        """The question of the runs that are shown, with its answer."""
        if self.ask_runs is not None:
            return self.ask_runs(both, chosen)
        return None if self.ask is None else self.ask(both.main, chosen)


def _layers(both: Runs) -> None:
    controls.layer(KINDS[state.SHARED.now().kind].layers(both.main.trace.spec), page="view")


def _heads(both: Runs) -> None:
    now = state.SHARED.now()
    heads = both.main.trace.spec.attentions.get(KINDS[now.kind].site(now.layer))
    controls.head(1 if heads is None else heads.query, page="view")


KIND = SharedChoice("kind", lambda both: controls.kind(kinds_of(both.main.trace.spec), key="view_kind"))
LAYER = SharedChoice("layer", _layers)
HEAD = SharedChoice("heads", _heads)
"""Kind of attention, layer and head, as every page chooses them."""


@dataclass
class _Begun:
    """A page of which title, places and runs are there, before its folder is imported."""

    asked: DeltaGenerator
    strip: DeltaGenerator
    bar: DeltaGenerator | None
    messages: DeltaGenerator
    both: Runs | None
    by_step: bool = False

    def take_runs(self) -> Runs | None:
        """The runs, which this no longer holds: a page's file would keep them until garbage is collected."""
        both, self.both = self.both, None
        return both


def begin(
    title: str,
    *,
    rows: Rows = "last",
    recording: str | None = None,
    steps: bool = False,
    bar: str = "",
    waits: bool = False,
) -> _Begun:
    """Begin the page of this title: its places, and the selected runs.

    rows, recording: as `Page` has them; steps: the page is about steps, as `frame.runs` has it; bar: the key of the
    place of the page's bar, "" for none; waits: what is waited for has a place of its own, as the page makes something
    without a run too, while the messages say why there is none.
    """
    frame.title(title)
    asked, strip = questions.place(), frame.place("strip")
    own, messages = frame.place(bar) if bar else None, frame.status()
    if waits:
        frame.set_waiting_place(st.empty())
    both = frame.runs(messages, rows=rows, recording=recording, steps=steps)
    return _Begun(asked, strip, own, messages, both, by_step=steps)


def show_page(page: Page, begun: _Begun | None = None) -> None:
    """Draw the page of the selected run, or of the two that are shown; `begun`: where it has been begun already."""
    if begun is None:
        begun = begin(page.title, rows=page.rows, recording=page.recording)
    both = begun.take_runs()
    explained: tuple[str, str] | tuple[()] = (page.how, page.not_to_conclude)
    refused = None if both is None or page.refuse is None else page.refuse(both)
    if page.bar is not None and begun.bar is not None and refused is None:
        with begun.bar:
            page.bar()
    if both is not None:
        with begun.strip:
            plays = projector.is_on() if page.plays == "projected" else page.plays
            frame.token_strip(both, by_step=begun.by_step, plays=plays)
        if refused is not None:
            frame.show_messages(begun.messages, *state.remarks(), refused)
        else:
            explained = _show_run(page, begun, both)
    elif page.without_run is not None:
        for number, each in enumerate(page.without_run()):
            drawing.show(each, None, f"without_run_{number}")
    if explained:
        text.explain(*explained)


def _show_run(page: Page, begun: _Begun, both: Runs) -> tuple[str, str] | tuple[()]:
    """Draw what the page has of a run; returns how to read it and what not to conclude, nothing where there is nothing
    to read."""
    scenes, caption, explained = _list_scenes(page.views), None, (page.how, page.not_to_conclude)
    said: Sequence[str] = () if page.remarks is None else page.remarks(both.main)
    error, unprepared = None, None
    with frame.optional_section(page.needs or page.title):
        try:
            own = _draw_controls(page.controls, both, key="choices")
        except ValueError as wrong:  # there is nothing to show of what is chosen
            if page.needs and isinstance(wrong, Unavailable):
                raise
            frame.show_messages(begun.messages, *state.remarks(), error=str(wrong))
            return ()
        prepared, error = _prepare(page, both, own)
        unprepared = error
        own = {**own, **(prepared or {})}
        chosen = _chosen_of(both.main, own)
        if prepared is not None:
            _ask(page, begun, both, chosen)
        views = [view for view in page.views if view.is_there is None or view.is_there(both, chosen)]
        scenes = _list_scenes(views)
        drawn = [view for view in views if view.is_open is None or view.is_open(both, chosen)]
        drawn = [view for view in drawn if view.always or prepared is not None]
        for view, place in zip(drawn, _list_places(page, drawn, both, chosen), strict=True):
            if view.comes_later:
                frame.paint_first(page.title)
            with place, st.container(key=view.key), frame.optional_section(view.needs or view.title or page.title):
                show_view(view, both, own)
        if page.ask_last is not None:
            questions.show_question(begun.asked, page.ask_last(both, chosen))
        caption = None if page.caption is None else page.caption(both, chosen)
        explained = explained if page.explain is None else page.explain(both, chosen)
        if page.messages is not None:
            more, wrong_there = page.messages(both, chosen)
            said, error = (*said, *more), error or wrong_there
    frame.show_messages(begun.messages, *state.remarks(), *said, error=error)
    if scenes and unprepared is None:
        frame.set_scenes(both, scenes, caption)
    return explained


def _list_scenes(views: Iterable[View]) -> list[str]:
    ordered = sorted((view for view in views if view.is_scene), key=lambda view: view.scene)
    return [*dict.fromkeys(key for view in ordered for key in view.scenes or (view.key,))]


def _ask(page: Page, begun: _Begun, both: Runs, chosen: Chosen) -> None:
    """The question, and what is said at the page's stop of the tour."""
    with frame.optional_section(page.title):
        questions.show_question(begun.asked, page.ask_of(both, chosen))
    if page.at_stop is not None:
        ringed = page.ringed(both, chosen) if callable(page.ringed) else page.ringed
        tour.tell(partial(page.at_stop, both, chosen), *ringed)


def _prepare(page: Page, both: Runs, own: Chosen) -> tuple[Chosen | None, str | None]:
    """What the views draw from, None where there is nothing, and the sentence for the messages on what went wrong, if
    anything did."""
    if page.prepare is None:
        return {}, None
    try:
        return page.prepare(both, _chosen_of(both.main, own)), None
    except Unavailable as error:
        tour.tell(partial(tour.untold, error), *(() if callable(page.ringed) else page.ringed))
        text.paragraph(words.not_told(page.needs or page.title, error))
    except ValueError as error:
        if page.problem_in == "messages":
            return None, f"{error}."
        text.paragraph(f"{error}.", tone="bad")
    return None, None


def _draw_controls(controls: Sequence[Choice], both: Runs, *, key: str) -> Chosen:
    """The controls in a bar; what is chosen, by the names of their fields."""
    bar = nullcontext() if len(controls) < 2 else st.container(horizontal=True, key=key, vertical_alignment="bottom")
    with bar:
        return {each.field: _draw_control(each, both) for each in controls}


def _draw_control(control: Choice, both: Runs) -> Any:
    if isinstance(control, Control):
        return control.draw(both.main)
    control.widget(both)
    return state.selection()[control.field]


def _list_places(
    page: Page, views: Iterable[View], both: Runs, chosen: Chosen
) -> Iterable[AbstractContextManager[Any]]:
    """A place for each view: its place in the layout, the whole width, or one of the two columns."""
    columns: dict[str, DeltaGenerator] = {}
    laid_out: dict[str, DeltaGenerator] = {}
    if page.layout is not None and (layout := page.layout(both, chosen)) is not None:
        drawing.lay_out(layout, lambda key: laid_out.update({key: st.container()}))
    for view in views:
        column, whole = view.column, cast("AbstractContextManager[Any]", laid_out.get(view.key, nullcontext()))
        if not isinstance(column, str):
            column = column(both)
            whole = whole if columns else st.container()  # also where it stays empty: what follows keeps its place
        if not column:
            columns = {}
            yield whole
            continue
        if not columns or view.widths is not None:
            begun = st.columns(view.widths or page.columns, gap="medium")
            columns = dict(zip(("left", "right"), begun, strict=True))
        yield columns[column]


def _chosen_of(shown: RunView, chosen: Chosen) -> Chosen:
    return {**frame.clamp_to_run(shown), **chosen}


def show_view(view: View, both: Runs, own: Chosen) -> None:
    """Draw a view of the runs that are shown; own: what is chosen by the controls of the page."""
    if view.title:
        text.section(view.title)
    own = {**own, **_draw_controls(view.controls, both, key=f"{view.key}_choices")}
    if view.draw is not None and both.beside and both.b is not None:
        _show_beside(view, both.a, both.b, own)
    else:
        try:
            drawn = _draw_view(view, both, own)
        except Unavailable:
            raise  # the section says what the model does not tell
        except ValueError as error:
            text.paragraph(words.refused(error, difference=both.difference), tone="bad")
            return
        for number, each in enumerate(drawn):
            drawing.show(each, both.main, f"{view.key}_{number}")
    if view.below is not None:
        for each in view.below(both, _chosen_of(both.main, own)):
            drawing.show(each, both.main, view.key)


def _draw_view(view: View, both: Runs, own: Chosen) -> list[Drawn]:
    """What is drawn of one run, or of the difference of two."""
    if view.draw_runs is not None:
        return _listed(view.draw_runs(both, _chosen_of(both.main, own)))
    if both.difference and both.b is not None:
        return _draw_difference(view, both.a, both.b, own)
    return _draw_of(view, both.main, own)


def _draw_of(view: View, shown: RunView, own: Chosen, *, beside: bool = False) -> list[Drawn]:
    draw = view.draw_beside if beside and view.draw_beside is not None else view.draw
    assert draw is not None, view.key
    return _listed(draw(shown, _chosen_of(shown, own)))


def _listed(drawn: Drawn | Iterable[Drawn]) -> list[Drawn]:
    return [*drawn] if isinstance(drawn, Iterable) else [drawn]


def _draw_difference(view: View, a: RunView, b: RunView, own: Chosen) -> list[Drawn]:
    """Pictures of A less those of B, cell by cell; of what has no difference what is drawn of A."""
    found = []
    for shown in (a, b):
        try:
            found.append(_draw_of(view, shown, own))
        except ValueError as error:
            raise ValueError(words.cannot_be_shown(shown.name, error)) from None
    of_a, of_b = found
    return [drawing.subtract(one, other) for one, other in zip_longest(of_a, of_b[: len(of_a)])]


def _show_beside(view: View, a: RunView, b: RunView, own: Chosen) -> None:
    """What is drawn of A and of B in two columns; pictures in the same place have one scale."""
    found: list[list[Drawn]] = []
    for shown in (a, b):
        try:
            drawn = _draw_of(view, shown, own, beside=True)
            found.append([drawing.of_run(each, shown.name) for each in drawn])
        except ValueError as error:
            found.append([Text(said=f"{words.cannot_be_shown(shown.name, error)}.", tone="bad")])
    alike = [drawing.on_one_scale(*pair) for pair in zip(*found, strict=False)]
    for at, (shown, place) in enumerate(zip((a, b), st.columns(2, gap=view.gap), strict=True)):
        drawn = [pair[at] for pair in alike] + found[at][len(alike) :]
        with place:
            for number, each in enumerate(drawn):
                drawing.show(each, shown, f"{view.key}_{number}", "_b" * at)


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
        show_page(replace(page, views=tuple(map(_guard, page.views))))


def _guard(view: View) -> View:
    """The same view, whose every failure is a sentence in its place: it is of another package."""

    def draw(run: RunView, chosen: Chosen) -> list[Drawn]:
        try:
            return _draw_of(view, run, chosen)
        except (ValueError, Unavailable):
            raise
        except Exception as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error

    return replace(view, draw=draw) if view.draw is not None else view
