"""Parts of the Tensors page: the tree of points, a point's numbers, its picture, and the table of all points."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from viz_transformer import numerals
from viz_transformer.analysis.attention.picture import ATTENTION_WEIGHT, Meta
from viz_transformer.analysis.tensors import points
from viz_transformer.analysis.tensors.pictures import in_blocks, slice_picture
from viz_transformer.figures import labels
from viz_transformer.figures.tensors import value_histogram
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.numerals import significant
from viz_transformer.running.trace import Trace
from viz_transformer.sentences import capitalised
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.components.pictures import Asked, matrix
from viz_transformer.ui.components.reveal import reveal
from viz_transformer.ui.components.twins import twins
from viz_transformer.ui.frame import controls, frame, pictures, projector, text
from viz_transformer.ui.frame.number_columns import number_column
from viz_transformer.ui.pages.tensors import words
from viz_transformer.ui.pages.tensors.fields import FIELDS
from viz_transformer.ui.pages.tensors.question import left_out
from viz_transformer.ui.pages.tensors.tensor_sources import Looked, file_is_shown, file_name
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.waiting import waiting

MAX_LISTED = 200
TREE_HEIGHT = 330
SCENES = ("tensors_picture", "tensors_facts")
PROJECTED, TALL, HIGHEST = 1.55, 410, 900  # on a projector letters of 13 pixels have 20
LOW = int(projector.ROOM_OF_CHART / PROJECTED)  # there it fits
BESIDE = ("A", "B")
_SITE = "tensors_site"
_ATTENTION = re.compile(r"(encoder|decoder)\.(\d+)\.(self|cross)\.(\w+)")


# --- the tree


def selected_point(looked: Looked, listed: Sequence[points.Entry]) -> str:
    """The selected point; where there is none of its name, another and a remark.

    A point of an attention and the selection's kind and layer are one thing: where these were changed on another page
    the point follows, else they follow the point. An opened file has layers of its own and leaves them alone.
    """
    chosen, memory = state.SHARED.now(), st.session_state
    site = (chosen.kind, chosen.layer)
    wanted = FIELDS.now().point
    if not wanted or (not looked.is_file and memory.get(_SITE, site) != site):
        wanted = _moved(wanted or "decoder.0.cross.weights", *site)
    if wanted not in {entry.name for entry in listed}:
        instead = next((entry.name for entry in listed if entry.short.endswith(".weights")), listed[0].name)
        if FIELDS.now().point:
            lacking = words.HERE if looked.second is None else words.of_one_shape(looked.name, looked.second_name)
            missing = looked.trace.spec.missing.get(wanted)
            why = "" if missing is None else capitalised(missing)
            state.remark(words.no_point(wanted[:80], lacking, instead, why))
        wanted = instead
    elif not looked.is_file:
        state.clamp(**({"point": wanted} if FIELDS.now().point else {}), **_implied(wanted))
    if not looked.is_file:
        now = state.SHARED.now()
        memory[_SITE] = (now.kind, now.layer)
    return wanted


def _moved(name: str, kind: KindName, layer: int) -> str:
    """The same point of the attention of this kind and layer; a point of no attention stays."""
    return _ATTENTION.sub(rf"{KINDS[kind].site(layer)}.\4", name)


def _implied(name: str) -> dict[str, Any]:
    """Kind and layer of an attention's point."""
    found = _ATTENTION.fullmatch(name)
    if found is None:
        return {}
    kind = next(kind for kind in KINDS.values() if (kind.stack, kind.attention) == (found[1], found[3]))
    return {"kind": kind.name, "layer": int(found[2])}


def _select(name: str | None) -> None:
    """Take over a point that a person chose, and with one of an attention its kind and layer."""
    if name is not None:
        state.select(point=name, **({} if file_is_shown() else _implied(name)))


def point_tree(listed: Sequence[points.Entry], selected: str) -> None:
    """All points: a part of the model, then its points in the order in which a run makes them; or those of a filter."""
    derived = sum(entry.derived for entry in listed)
    typed = st.text_input(
        words.filter_label(len(listed), derived),
        key="tensors_filter",
        placeholder=words.filter_hint(len(listed), derived),
        autocomplete="off",
        label_visibility="collapsed",
    )
    if typed.strip():
        found = points.matching(listed, typed)
        if not found:
            wanted = " ".join(map(labels.visible, typed.split()))
            text.paragraph(words.none_contains(labels.shorten(wanted, 60)))
            return
        if len(found) > MAX_LISTED:
            text.paragraph(words.first_listed(MAX_LISTED, len(found)))
        _points(found[:MAX_LISTED], selected, whole_names=True)
        return
    parts = list(dict.fromkeys(entry.part for entry in listed))
    here = next(entry for entry in listed if entry.name == selected)
    st.session_state["tensors_part"] = here.part
    st.selectbox(
        words.PART,
        parts,
        key="tensors_part",
        on_change=_take_part,
        args=(listed, here.short),
        label_visibility="collapsed",
    )
    _points([entry for entry in listed if entry.part == here.part], selected, whole_names=False)


def _take_part(listed: Sequence[points.Entry], short: str) -> None:
    """The point of the same name in the other part, or that part's first."""
    inside = [entry for entry in listed if entry.part == st.session_state["tensors_part"]]
    _select(next((entry.name for entry in inside if entry.short == short), inside[0].name))


def _points(shown: Sequence[points.Entry], selected: str, *, whole_names: bool) -> None:
    said = {entry.name: words.listed(entry.name if whole_names else entry.short, entry.derived) for entry in shown}
    key = "tensors_point"
    st.session_state[key] = selected if selected in said else None
    groups = [entry.part if whole_names else entry.short.rpartition(".")[0] for entry in shown]
    starts = [place for place in range(2, len(groups) + 1) if groups[place - 1] != groups[place - 2]]
    apart = ", ".join(f".st-key-tensors_tree [role=radiogroup] > :nth-child({place})" for place in starts)
    with st.container(height=TREE_HEIGHT, border=False, key="tensors_tree"):
        if apart:
            st.html(f"<style>{apart} {{ margin-top: 8px; }}</style>")
        st.radio(
            words.POINT,
            [*said],
            index=None,
            format_func=said.__getitem__,
            key=key,
            on_change=lambda: _select(st.session_state[key]),
            label_visibility="collapsed",
            width="stretch",
        )
    reveal("tensors_tree", selected)


# --- a point's numbers


def point_panel(looked: Looked, other: Looked | None, name: str, boxes: DeltaGenerator, status: DeltaGenerator) -> None:
    """One point: in `boxes` what chooses its picture, then the picture, and below it its facts; of two runs the same
    point of `other` beside it, where that has it.

    Raises ValueError if it cannot be shown.
    """
    view, whole = viewed(looked, name)
    with boxes:
        shown = points.shown_slice(view, index_boxes(view, own_heads=looked.is_file))
        chart = chart_control()
    drawn = Drawn(looked, view, shown, whole)
    second = None if other is None else _second(other, name, shown.at)
    with st.container(key="tensors_picture"):
        if chart == "points":
            all_points(looked, status)
            if other is not None:
                text.paragraph(words.POINTS_OF_A)
        elif second is None:
            (heatmap if chart == "heatmap" else bars)(drawn)
        else:
            _beside(drawn, second, chart)
    with st.container(key="tensors_facts"):
        point_facts(drawn, *(second,) if isinstance(second, Drawn) else ())


@dataclass(frozen=True, eq=False)
class Drawn:
    """What is drawn of a point: a slice of it, and the statistics of the whole."""

    looked: Looked
    view: points.PointView
    shown: points.Slice
    whole: points.Statistics


def _second(other: Looked, name: str, at: Sequence[int]) -> Drawn | str:
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
    return Drawn(other, view, points.shown_slice(view, at), whole)


def _beside(a: Drawn, b: Drawn | str, chart: Literal["heatmap", "histogram"]) -> None:
    """Both slices on one scale, or A's and why there is none of B; below them why they cannot be subtracted."""
    draw = heatmap if chart == "heatmap" else bars
    left, right = st.columns(2, gap="small")
    with left:
        draw(a, beside=None if isinstance(b, str) else b)
    with right:
        if isinstance(b, str):
            text.paragraph(b)
            return
        draw(b, beside=a)
    if chart == "histogram":
        twins("tensors_histogram", "tensors_histogram_b")
    if a.view.values.shape != b.view.values.shape:
        text.paragraph(words.needs_one_shape(a.view.sizes, b.view.sizes))


def viewed(looked: Looked, name: str) -> tuple[points.PointView, points.Statistics]:
    """A point of the shown trace, and its statistics."""
    return _viewed(looked.key, name, looked.vocabulary is not None, looked)


@memoize(2)
def _viewed(key: str, name: str, with_vocabulary: bool, _looked: Looked) -> tuple[points.PointView, points.Statistics]:
    """A point and its statistics; kept, since a derived point of a long text takes seconds and its heads are shown
    one after the other."""
    view = _looked.view(name)
    return view, points.statistics(view.values)


def point_facts(*drawn: Drawn) -> None:
    """Name, meaning, and a row of statistics for the whole point and for what is drawn of it; of two runs for both."""
    view = drawn[0].view
    origin = {"recorded": words.RECORDED, "derived": words.DERIVED, "difference": drawn[0].looked.minus}
    st.html(
        f'<h2 class="vt-point">{html.escape(view.name)} <span>{origin[view.origin]}</span></h2>'
        f'<p class="vt-note">{html.escape(view.meaning)}</p>'
    )
    rows = []
    for each in drawn:
        of = each.looked.name if len(drawn) > 1 else ""
        part = points.statistics(each.shown.values)
        rows.append((words.with_run(words.WHOLE, of), each.view.letters, each.view.sizes, each.whole))
        if part.count < each.whole.count:
            rows.append((words.with_run(words.IN_PICTURE, of), each.shown.letters, each.shown.sizes, part))
    columns = _MASK_COLUMNS if view.scale == "mask" else _COLUMNS
    body = [
        (
            name,
            text.Html(f"<i>{html.escape(letters)}</i>{html.escape(sizes)}"),
            view.type,
            *(value(numbers) for value in columns.values()),
        )
        for name, letters, sizes, numbers in rows
    ]
    table = text.table(body, head=(*words.SHAPE_HEAD, *columns), style="vt-facts")
    st.html(f'<div class="vt-wide">{table}</div>')
    for each in drawn:
        if each.whole.finite < each.whole.count:
            of = each.looked.name if len(drawn) > 1 else ""
            text.paragraph(words.leaves_out(words.with_run(left_out(each.whole), of)))


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


def percent(part: int, whole: int) -> str:
    """A share with one decimal; nothing of nothing is 0 %."""
    return numerals.percent(part / whole if whole else 0)


# --- the picture


def index_boxes(view: points.PointView, *, own_heads: bool) -> tuple[int, ...]:
    """Draw a box for each axis before the two drawn ones, of which the heads' is the selection's; return the places.

    own_heads: the point is of another model, whose heads are not the selection's.
    """
    at = []
    for axis in view.leading:
        letter, last = axis.letter.lower() or "i", axis.size - 1
        if not last:
            text.paragraph(
                words.only_place(letter, words.ALL_HEADS if letter == "1" else axis.name), style="vt-note vt-inline"
            )
            at.append(0)
            continue
        heads = state.SHARED.now().heads
        head = min(0 if isinstance(heads, str) else heads[0], last)
        bound = state.widget_args("heads", key="tensors_head", value=head, taken=lambda new: (new,))
        if own_heads or axis.letter != "H":
            bound = {"key": f"tensors_own_{letter}"}
            st.session_state[bound["key"]] = min(st.session_state.get(bound["key"], 0), last)
        at.append(int(st.number_input(words.place_box(letter, axis.name, last), 0, last, step=1, width=220, **bound)))
    return tuple(at)


def chart_control() -> Literal["heatmap", "histogram", "points"]:
    """Which picture is drawn."""
    chosen: Literal["heatmap", "histogram", "points"] = FIELDS.now().chart
    controls.buttons(words.PICTURE, words.CHARTS, "chart", key="tensors_chart", hidden=True)
    return chosen


def slice_asked(drawn: Drawn, key: str) -> Asked:
    """What opens the slice that is drawn as a table."""
    view, shown = drawn.view, drawn.shown
    note = words.slice_note(drawn.looked.cited, _title(drawn), shown.rows.title, shown.columns.title)
    return pictures.table(
        lambda: slice_table(shown),
        note=note,
        name=file_name("-".join([view.name, *map(str, shown.at)])),
        key=key,
        csv=lambda: points.slice_csv(shown).encode("utf-8", "backslashreplace"),  # half an emoji, which UTF-8 lacks
    )


def slice_table(shown: points.Slice) -> pd.DataFrame:
    """The numbers of a slice, its rows and columns named by position and token."""

    def named(axis: points.Axis) -> list[str]:
        tokens = [""] * axis.size if axis.labels is None else map(labels.visible, axis.labels)
        return [f"{place} {token}".rstrip() for place, token in enumerate(tokens)]

    return pd.DataFrame(shown.values, index=named(shown.rows), columns=named(shown.columns))


def heatmap(drawn: Drawn, *, beside: Drawn | None = None) -> None:
    """Draw the slice on the scale of the whole point, so that heads can be compared; of two runs, on one scale."""
    looked, view, shown = drawn.looked, drawn.view, drawn.shown
    alone, title = _alone(drawn), _title(drawn)
    caption, name = frame.saved_as(title, of=looked.caption, rows=_rows(drawn))
    unit = looked.minus if view.origin == "difference" else ATTENTION_WEIGHT if alone else words.WEIGHT
    most = max(each.whole.largest for each in (drawn, beside) if each is not None)
    meta = Meta(title, caption, name, unit=unit, most=most, paired=not alone)
    place = _place(drawn, "tensors_heatmap")
    data = _packed(looked.key, view.name, shown.at, looked.vocabulary is not None, meta, drawn)
    matrix(data, key=place, on_table=slice_asked(drawn, place))


@memoize(12)
def _packed(key: str, name: str, at: tuple[int, ...], with_vocabulary: bool, meta: Meta, _drawn: Drawn) -> bytes:
    """What the browser gets of a slice; kept, since the names of a large vocabulary take longer than its numbers."""
    picture = slice_picture(_drawn.view, _drawn.shown, meta, selects=not _drawn.looked.is_file)
    return in_blocks(picture).pack(height=HIGHEST, exact=True, why=())


def bars(drawn: Drawn, *, beside: Drawn | None = None) -> None:
    """How often which values occur in the slice; between the same ends as in the one beside it."""
    view, shown = drawn.view, drawn.shown
    counted = points.histogram(shown.values)
    figure = value_histogram(
        counted.counts,
        counted.edges,
        left_out=counted.left_out,
        names=(words.FALSE, words.TRUE) if view.scale == "mask" else None,
        title=_title(drawn),
        kind=view.kind,
        derived=view.origin != "recorded",
        theme=frame.theme(),
        height=LOW if projector.is_on() else TALL,
    )
    if beside is not None:
        other = points.histogram(beside.shown.values)
        edges = [float(edge) for each in (counted, other) for edge in (each.edges[0], each.edges[-1])]
        most = max(int(each.counts.max(initial=0)) for each in (counted, other))
        figure.update_xaxes(range=[min(edges), max(edges)]).update_yaxes(range=[0, 1.05 * max(1, most)])
    _chart(drawn, figure, key="tensors_histogram", alt=words.histogram_alt(view.name))


def _alone(drawn: Drawn) -> bool:
    """Whether it is not one of two that are shown side by side."""
    return drawn.looked.name not in BESIDE or drawn.looked.second is not None


def _chart(drawn: Drawn, figure: Figure, *, key: str, alt: str) -> None:
    """A figure in its place, enlarged on a projector."""
    looked, place = drawn.looked, _place(drawn, key)
    frame.chart(
        figure,
        key=place,
        alt=alt,
        caption=looked.caption,
        rows=_rows(drawn),
        size=frame.ChartSize(grows=PROJECTED, fills=True, room=projector.ROOM_OF_CHART),
        on_table=slice_asked(drawn, place),
    )


def _place(drawn: Drawn, key: str) -> str:
    """The key of a picture, with its own for that of B beside A's."""
    return key if _alone(drawn) or drawn.looked.name == "A" else f"{key}_b"


def _rows(drawn: Drawn) -> str:
    """What a caption adds: the point, where the title is too short to say it, and of which pass its rows are."""
    looked, name = drawn.looked, drawn.view.name
    return ", ".join(filter(None, ("" if _alone(drawn) else name, looked.rows_of(name))))


def _title(drawn: Drawn) -> str:
    looked, name = drawn.looked, drawn.view.name
    if drawn.view.origin == "difference":
        name = words.title_of_difference(looked.minus, name)
    elif not _alone(drawn):
        name = words.title_beside(looked.name, name.split(".", 2)[-1])
    return f"{name}[{', '.join([*map(str, drawn.shown.at), ':', ':'])}]"


# --- all points


def all_points(looked: Looked, place: DeltaGenerator) -> None:
    """A table of every recorded point; a row selects its point."""
    if looked.second is not None:
        _differences(looked, _compared(looked.key, looked.trace, looked.second))
        return
    with waiting(words.ADDING_UP, place):
        table = _every_point(looked.key, looked.trace)
    _table(table)
    text.paragraph(words.NOT_IN_THE_TABLE)


def _differences(looked: Looked, found: points.Comparison) -> None:
    names, differences = [name for name, _ in found.differences], [gap for _, gap in found.differences]
    if names:
        _table({words.POINT_COLUMN: names, words.largest(looked.minus): differences})
    else:
        text.paragraph(words.NONE_SHARED)
    for missing, where in ((found.only_first, looked.name), (found.only_second, looked.second_name)):
        if missing:
            text.paragraph(words.only_in(where, missing))
    if found.reshaped:
        text.paragraph(words.two_shapes(found.reshaped))


def _table(columns: dict[str, list[Any]]) -> None:
    def taken() -> None:
        if rows := st.session_state["tensors_table"].selection.rows:
            _select(columns[words.POINT_COLUMN][rows[0]])

    numbers = [name for name, values in columns.items() if values and isinstance(values[0], float)]
    st.dataframe(
        columns,
        hide_index=True,
        height=520,
        key="tensors_table",
        on_select=taken,
        selection_mode="single-row",
        column_config={name: number_column(columns[name], 4) for name in numbers},
        alt=words.TABLE_ALT,
    )


@memoize(8)
def _every_point(key: str, _trace: Trace) -> dict[str, list[Any]]:
    views = [points.point_view(_trace, name) for name in _trace.points()]
    found = [points.statistics(view.values) for view in views]
    fields = {words.MIN: "minimum", words.MEAN: "mean", words.MAX: "maximum", words.VARIANCE: "variance"}
    fields |= {words.NAN: "not_a_number", words.INF: "infinite"}
    return {
        words.POINT_COLUMN: [view.name for view in views],
        words.SHAPE_COLUMN: [view.sizes for view in views],
        **{title: [getattr(numbers, field) for numbers in found] for title, field in fields.items()},
        words.ZEROS: [percent(numbers.zeros, numbers.count) for numbers in found],
    }


@memoize(8)
def _compared(key: str, _first: Trace, _second: Trace) -> points.Comparison:
    return points.compare(_first, _second)
