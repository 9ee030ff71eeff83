"""The points of a run: a tree to choose one from, and a table of them all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.tensors import points
from viz_transformer.figures import labels
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.running.trace import Trace
from viz_transformer.sentences import capitalised
from viz_transformer.ui.components.reveal import reveal
from viz_transformer.ui.frame import text
from viz_transformer.ui.frame.drawn import Awaited, Drawn, Text, Widget
from viz_transformer.ui.frame.number_columns import number_column
from viz_transformer.ui.pages.tensors import words
from viz_transformer.ui.pages.tensors.fields import FIELDS
from viz_transformer.ui.pages.tensors.tensor_sources import Looked, file_is_shown
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize

MAX_LISTED = 200
TREE_HEIGHT = 330
_SITE, _SHOWN = "tensors_site", "tensors_shown"
_ATTENTION = re.compile(r"(encoder|decoder)\.(\d+)\.(self|cross)\.(\w+)")


# ---- the tree


def shown_point() -> str:
    """The point that `select_point` found."""
    return str(st.session_state.get(_SHOWN, ""))


def select_point(looked: Looked) -> str:
    """The selected point; where there is none of its name, another and a remark.

    A point of an attention and the selection's kind and layer are one thing: where these were changed on another page
    the point follows, else they follow the point. An opened file has layers of its own and leaves them alone.
    """
    chosen, memory, listed = state.SHARED.now(), st.session_state, looked.entries
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
    memory[_SHOWN] = wanted
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


def show_tree(listed: Sequence[points.Entry], selected: str) -> None:
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


# ---- the table


def draw_points(looked: Looked) -> Iterator[Drawn]:
    """A table of every recorded point, or of the largest difference of each; a row selects its point."""
    if looked.second is None:
        yield Awaited(said=words.ADDING_UP, make=lambda: [_table(_every_point(looked.key, looked.trace))])
        yield Text(said=words.NOT_IN_THE_TABLE)
        return
    found = _compared(looked.key, looked.trace, looked.second)
    names, differences = [name for name, _ in found.differences], [gap for _, gap in found.differences]
    if names:
        yield _table({words.POINT_COLUMN: names, words.largest(looked.minus): differences})
    else:
        yield Text(said=words.NONE_SHARED)
    for missing, where in ((found.only_first, looked.name), (found.only_second, looked.second_name)):
        if missing:
            yield Text(said=words.only_in(where, missing))
    if found.reshaped:
        yield Text(said=words.two_shapes(found.reshaped))


def _table(columns: dict[str, list[Any]]) -> Widget:
    return Widget(put=partial(_show_table, columns))


def _show_table(columns: dict[str, list[Any]]) -> None:
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


def percent(part: int, whole: int) -> str:
    """A share with one decimal; nothing of nothing is 0 %."""
    return numerals.percent(part / whole if whole else 0)
