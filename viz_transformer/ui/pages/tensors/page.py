"""The Tensors page: a tree of points, a picture of a slice of the chosen one, and its statistics."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from viz_transformer.analysis.attention.picture import ATTENTION_WEIGHT, Meta
from viz_transformer.analysis.tensors import points
from viz_transformer.analysis.tensors.pictures import in_blocks, slice_picture
from viz_transformer.figures import labels
from viz_transformer.figures.tensors import value_histogram
from viz_transformer.figures.theme import Theme
from viz_transformer.numerals import significant
from viz_transformer.ui.components.pictures import matrix
from viz_transformer.ui.components.twins import twins
from viz_transformer.ui.frame import controls, frame, projector, text
from viz_transformer.ui.frame.drawn import Chart, Columns, Component, Drawn, Group, Markup, Numbers, Text, Widget
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen, Page, SharedChoice, View
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.tensors import tensor_sources, words
from viz_transformer.ui.pages.tensors.point_list import draw_points, percent, select_point, show_tree, shown_point
from viz_transformer.ui.pages.tensors.tensor_sources import Looked, file_name, looked_at
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize

PROJECTED, TALL, HIGHEST = 1.55, 410, 900  # on a projector letters of 13 pixels have 20
LOW = int(projector.ROOM_OF_CHART / PROJECTED)  # there it fits
BESIDE = ("A", "B")


# ---- what can be chosen


def _draw_tools(both: Runs) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="tensors_tools"):
        boxes = st.container(horizontal=True, vertical_alignment="center", key="tensors_controls")
        st.space("stretch")
        tensor_sources.training_controls()
        save = tensor_sources.file_controls()
    tensor_sources.choice_controls()
    looked = looked_at(both)
    with save:
        tensor_sources.save_button(looked)
    if looked.entries:
        name = select_point(looked)
        with suppress(ValueError), boxes:  # which the panel says
            for axis in viewed(looked, name)[0].leading:
                _draw_box(axis, own_heads=looked.is_file)
            controls.buttons(words.PICTURE, words.CHARTS, "chart", key="tensors_chart", hidden=True)


def _is_of_heads(axis: points.Axis, own_heads: bool) -> bool:
    """Whether an axis is the selection's heads. own_heads: the point is of another model, whose heads are others."""
    return axis.letter == "H" and not own_heads


def _place(axis: points.Axis, own_heads: bool) -> int:
    """The place on an axis that is not drawn; the selected head on that of heads."""
    if not _is_of_heads(axis, own_heads):
        return min(int(st.session_state.get(_key(axis), 0)), axis.size - 1)
    heads = state.SHARED.now().heads
    return min(0 if isinstance(heads, str) else heads[0], axis.size - 1)


def _key(axis: points.Axis) -> str:
    return f"tensors_own_{axis.letter.lower() or 'i'}"


def _draw_box(axis: points.Axis, *, own_heads: bool) -> None:
    letter, last = axis.letter.lower() or "i", axis.size - 1
    if not last:
        only = words.only_place(letter, words.ALL_HEADS if letter == "1" else axis.name)
        text.paragraph(only, style="vt-note vt-inline")
        return
    at = _place(axis, own_heads)
    bound: dict[str, Any] = {"key": _key(axis)}
    if _is_of_heads(axis, own_heads):
        bound = state.widget_args("heads", key="tensors_head", value=at, taken=lambda new: (new,))
    else:
        st.session_state[bound["key"]] = at
    st.number_input(words.place_box(letter, axis.name, last), 0, last, step=1, width=220, **bound)


# ---- the picture


@dataclass(frozen=True, eq=False)
class Slice:
    """What is drawn of a point: a slice of it, and the statistics of the whole."""

    looked: Looked
    view: points.PointView
    shown: points.Slice
    whole: points.Statistics


def _find_second(other: Looked, name: str, at: Sequence[int]) -> Slice | str:
    """The same slice of the same point of the run beside, or the sentence that says why there is none."""
    if name not in other.trace:
        return words.has_none(other.name, name, other.trace.spec.missing.get(name))
    try:
        view, whole = viewed(other, name)
    except ValueError as error:
        return words.cannot_be_shown(other.name, error)
    for place, axis in zip(at, view.leading, strict=True):
        if place >= axis.size:
            return words.no_place(other.name, axis.name, place, axis.size - 1)
    return Slice(other, view, points.shown_slice(view, at), whole)


def draw_panel(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The chosen slice as a picture, and its facts; of two runs the same point of B beside it, where that has it."""
    looked, name = looked_at(both), shown_point()
    try:
        view, whole = viewed(looked, name)
        at = tuple(_place(axis, looked.is_file) for axis in view.leading)
        of = Slice(looked, view, points.shown_slice(view, at), whole)
        other = tensor_sources.beside(both, looked)
        second = None if other is None else _find_second(other, name, of.shown.at)
        picture = [*_draw_picture(of, second, chosen["chart"])]
        facts = [*draw_facts(of, *(second,) if isinstance(second, Slice) else ())]
    except ValueError as error:
        yield Text(said=str(error), tone="bad")
        return
    yield Group(key="tensors_picture", parts=picture)
    yield Group(key="tensors_facts", parts=facts)


def _draw_picture(a: Slice, b: Slice | str | None, chart: str) -> Iterator[Drawn]:
    """The slice, or all points; of two both slices on one scale, or A's and why there is none of B, and below them why
    they cannot be subtracted."""
    if chart == "points":
        yield from draw_points(a.looked)
        if b is not None:
            yield Text(said=words.POINTS_OF_A)
        return
    draw = draw_heatmap if chart == "heatmap" else draw_histogram
    if not isinstance(b, Slice):
        drawn = draw(a)
        yield drawn if b is None else Columns(parts=((drawn,), (Text(said=b),)), gap="small")
        return
    yield Columns(parts=((draw(a, beside=b),), (draw(b, beside=a),)), gap="small")
    if chart == "histogram":
        yield Widget(put=partial(twins, "tensors_histogram", "tensors_histogram_b"))
    if a.view.values.shape != b.view.values.shape:
        yield Text(said=words.needs_one_shape(a.view.sizes, b.view.sizes))


def viewed(looked: Looked, name: str) -> tuple[points.PointView, points.Statistics]:
    """A point of the shown trace, and its statistics."""
    return _viewed(looked.key, name, looked.vocabulary is not None, looked)


@memoize(2)
def _viewed(key: str, name: str, with_vocabulary: bool, _looked: Looked) -> tuple[points.PointView, points.Statistics]:
    """A point and its statistics; kept, since a derived point of a long text takes seconds and its heads are shown
    one after the other."""
    view = _looked.view(name)
    return view, points.statistics(view.values)


def draw_heatmap(of: Slice, *, beside: Slice | None = None) -> Component:
    """The slice on the scale of the whole point, so that heads can be compared; of two runs, on one scale."""
    looked, view, shown = of.looked, of.view, of.shown
    alone, title = _alone(of), _title(of)
    caption, name = frame.saved_as(title, of=looked.caption, rows=_rows(of))
    unit = looked.minus if view.origin == "difference" else ATTENTION_WEIGHT if alone else words.WEIGHT
    most = max(each.whole.largest for each in (of, beside) if each is not None)
    meta = Meta(title, caption, name, unit=unit, most=most, paired=not alone)
    data = _packed(looked.key, view.name, shown.at, looked.vocabulary is not None, meta, of)
    return Component(draw=matrix, data=data, key=_key_of(of, "tensors_heatmap"), numbers=_numbers(of))


@memoize(12)
def _packed(key: str, name: str, at: tuple[int, ...], with_vocabulary: bool, meta: Meta, _of: Slice) -> bytes:
    """What the browser gets of a slice; kept, since the names of a large vocabulary take longer than its numbers."""
    picture = slice_picture(_of.view, _of.shown, meta, selects=not _of.looked.is_file)
    return in_blocks(picture).pack(height=HIGHEST, exact=True, why=())


def draw_histogram(of: Slice, *, beside: Slice | None = None) -> Chart:
    """How often which values occur in the slice; between the same ends as in the one beside it."""
    view, shown = of.view, of.shown
    counted = points.histogram(shown.values)

    def figure(theme: Theme) -> Figure:
        made = value_histogram(
            counted.counts,
            counted.edges,
            left_out=counted.left_out,
            names=(words.FALSE, words.TRUE) if view.scale == "mask" else None,
            title=_title(of),
            kind=view.kind,
            derived=view.origin != "recorded",
            theme=theme,
            height=LOW if projector.is_on() else TALL,
        )
        if beside is not None:
            other = points.histogram(beside.shown.values)
            edges = [float(edge) for each in (counted, other) for edge in (each.edges[0], each.edges[-1])]
            most = max(int(each.counts.max(initial=0)) for each in (counted, other))
            made.update_xaxes(range=[min(edges), max(edges)]).update_yaxes(range=[0, 1.05 * max(1, most)])
        return made

    return Chart(
        figure=figure,
        alt=words.histogram_alt(view.name),
        numbers=_numbers(of),
        key=_key_of(of, "tensors_histogram"),
        size=frame.ChartSize(grows=PROJECTED, fills=True, room=projector.ROOM_OF_CHART),
        caption=of.looked.caption or "",
        rows=_rows(of),
    )


def _numbers(of: Slice) -> Numbers:
    """The numbers of the slice."""
    shown = of.shown
    return Numbers(
        frame=lambda: slice_table(shown),
        note=words.slice_note(of.looked.cited, _title(of), shown.rows.title, shown.columns.title),
        name=file_name("-".join([of.view.name, *map(str, shown.at)])),
        csv=lambda: points.slice_csv(shown).encode("utf-8", "backslashreplace"),  # half an emoji, which UTF-8 lacks
    )


def slice_table(shown: points.Slice) -> pd.DataFrame:
    """The numbers of a slice, its rows and columns named by position and token."""

    def named(axis: points.Axis) -> list[str]:
        tokens = [""] * axis.size if axis.labels is None else map(labels.visible, axis.labels)
        return [f"{place} {token}".rstrip() for place, token in enumerate(tokens)]

    return pd.DataFrame(shown.values, index=named(shown.rows), columns=named(shown.columns))


def _alone(of: Slice) -> bool:
    """Whether it is not one of two that are shown side by side."""
    return of.looked.name not in BESIDE or of.looked.second is not None


def _key_of(of: Slice, key: str) -> str:
    """The key of a picture, with its own for that of B beside A's."""
    return key if _alone(of) or of.looked.name == "A" else f"{key}_b"


def _rows(of: Slice) -> str:
    """What a caption adds: the point, where the title is too short to say it, and of which pass its rows are."""
    looked, name = of.looked, of.view.name
    return ", ".join(filter(None, ("" if _alone(of) else name, looked.rows_of(name))))


def _title(of: Slice) -> str:
    looked, name = of.looked, of.view.name
    if of.view.origin == "difference":
        name = words.title_of_difference(looked.minus, name)
    elif not _alone(of):
        name = words.title_beside(looked.name, name.split(".", 2)[-1])
    return f"{name}[{', '.join([*map(str, of.shown.at), ':', ':'])}]"


# ---- its facts


def draw_facts(*slices: Slice) -> Iterator[Drawn]:
    """Name, meaning, and a row of statistics for the whole point and for what is drawn of it; of two runs for both."""
    view = slices[0].view
    origin = {"recorded": words.RECORDED, "derived": words.DERIVED, "difference": slices[0].looked.minus}
    name, meaning = html.escape(view.name), html.escape(view.meaning)
    yield Markup(
        html=text.Html(
            f'<h2 class="vt-point">{name} <span>{origin[view.origin]}</span></h2><p class="vt-note">{meaning}</p>'
        )
    )
    columns = _MASK_COLUMNS if view.scale == "mask" else _COLUMNS
    rows = []
    for each in slices:
        of, part = each.looked.name if len(slices) > 1 else "", points.statistics(each.shown.values)
        compared: list[tuple[str, points.PointView | points.Slice, points.Statistics]]
        compared = [(words.WHOLE, each.view, each.whole), (words.IN_PICTURE, each.shown, part)]
        for what, shape, numbers in compared[: 1 + (part.count < each.whole.count)]:
            sizes = text.Html(f"<i>{html.escape(shape.letters)}</i>{html.escape(shape.sizes)}")
            said = (value(numbers) for value in columns.values())
            rows.append((words.with_run(what, of), sizes, view.type, *said))
    table = text.table(rows, head=(*words.SHAPE_HEAD, *columns), style="vt-facts")
    yield Markup(html=text.Html(f'<div class="vt-wide">{table}</div>'))
    for each in slices:
        if each.whole.finite < each.whole.count:
            of = each.looked.name if len(slices) > 1 else ""
            yield Text(said=words.leaves_out(words.with_run(left_out(each.whole), of)))


_COLUMNS: dict[str, Callable[[points.Statistics], str]] = {
    words.MIN: lambda found: number(found.minimum),
    words.MEAN: lambda found: number(found.mean),
    words.MAX: lambda found: number(found.maximum),
    words.VARIANCE: lambda found: number(found.variance),
    words.NAN: lambda found: f"{found.not_a_number:,}",
    words.INF: lambda found: f"{found.infinite:,}",
    words.ZEROS: lambda found: percent(found.zeros, found.count),
}
_MASK_COLUMNS: dict[str, Callable[[points.Statistics], str]] = {
    words.TRUE: lambda found: f"{found.count - found.zeros:,}",
    words.FALSE: lambda found: f"{found.zeros:,}",
    words.SHARE_OF_TRUE: lambda found: percent(found.count - found.zeros, found.count),
}


def number(value: float) -> str:
    """Four digits; "–" where there is no number."""
    return "–" if value != value else significant(value)


# ---- the question, and what is known of the run


def left_out(found: points.Statistics) -> str:
    """How many of these values are not a number, and how many infinite."""
    return words.left_out(found.count, found.not_a_number, found.infinite)


def ask_of_point(view: points.PointView, whole: points.Statistics, whose: str) -> Question:
    """How many numbers the point has and between which ends; whose they are, where that is not the run's own."""
    asks = words.asks(view.name)
    if view.scale == "mask":
        return Question(asks, words.open_cells(whole.count, whole.count - whole.zeros))
    if not whole.finite:
        return Question(asks, words.none_is(whole.count, whole.not_a_number, whole.infinite))
    of, ends = "" if whose == "the run" else whose, (whole.minimum, whole.maximum)
    if whole.finite < whole.count:
        return Question(asks, words.other_values(left_out(whole), whole.finite, of, ends, whole.mean))
    return Question(asks, words.values(whole.count, of, ends, whole.mean))


def ask(both: Runs, chosen: Chosen) -> Question | None:
    """What is in the chosen point; None where it cannot be shown, which the panel says."""
    looked = looked_at(both)
    if looked.entries:
        with suppress(ValueError):
            return ask_of_point(*viewed(looked, shown_point()), looked.of)
    return None


def list_messages(both: Runs, chosen: Chosen) -> tuple[Sequence[str], str | None]:
    """What training mode means for the numbers, and of which passes they are; what is wrong with a given file."""
    looked = looked_at(both)
    return [*filter(None, (_describe_training(looked), *looked.passes))], tensor_sources.take_problem()


def _describe_training(looked: Looked) -> str | None:
    seed = tensor_sources.training_seed(looked.trace)
    if seed is None or looked.is_file:
        return None
    config = looked.trace.config
    if not config.dropout:
        return words.no_dropout(looked.trace.checkpoint)
    return words.training_mode(significant(config.dropout, 6), seed, bool(config.attention_dropout))


def has_points(both: Runs, chosen: Chosen) -> bool:
    """Whether there is a point to choose: two runs may share none."""
    return bool(looked_at(both).entries)


def draw_tree(both: Runs, chosen: Chosen) -> Widget:
    """The points to choose from."""
    return Widget(put=partial(show_tree, looked_at(both).entries, shown_point()))


PAGE = Page(
    title="Tensors",
    how=words.HOW,
    not_to_conclude=words.NOT,
    controls=(SharedChoice("point", _draw_tools),),
    views=(
        View(
            key="tensors_panel",
            draw_runs=draw_panel,
            column="right",
            is_there=has_points,
            scenes=("tensors_picture", "tensors_facts"),
        ),
        View(
            key="tensors_listed",
            draw_runs=draw_tree,
            column="left",
            is_there=has_points,
            is_scene=False,
            comes_later=True,
        ),
        View(
            key="tensors_none",
            draw_runs=lambda both, chosen: draw_points(looked_at(both)),
            column="right",
            is_there=lambda both, chosen: not has_points(both, chosen),
            is_scene=False,
        ),
    ),
    ask_runs=ask,
    caption=lambda both, chosen: words.of_the_run(shown_point()),
    messages=list_messages,
    looks="point",
    columns=(3, 7),
)
