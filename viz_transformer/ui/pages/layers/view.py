"""Parts of the Layers page: the rail, what a sub-layer did by token, its norm, and the stream along the depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from viz_transformer.analysis.layers import sublayers
from viz_transformer.figures import labels
from viz_transformer.figures.components.model_maps import rail_data
from viz_transformer.figures.layers import Marked, Panel, Size, gain_chart, stream_chart
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import KINDS, StackName, stacks_of
from viz_transformer.model.layout import PART_NAMES
from viz_transformer.numerals import significant
from viz_transformer.ui.components.pictures import rail
from viz_transformer.ui.frame import frame, pictures, projector, text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.pages.layers import words
from viz_transformer.ui.pages.layers.fields import FIELDS
from viz_transformer.ui.pages.layers.layers_tables import (
    chosen_token,
    flow_table,
    heading,
    stream_table,
    token_name,
    token_table,
)
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize, memoize_figure
from viz_transformer.ui.session.runs import RunView

_stream_chart = memoize_figure(stream_chart)
_gain_chart = memoize_figure(gain_chart)

PROJECTED = 1.4
"""By how much letters grow on a projector."""


# --- what is selected


def chosen_stack() -> StackName:
    """The stack of the selected kind of attention."""
    return KINDS[state.SHARED.now().kind].stack


def chosen_place(shown: RunView) -> sublayers.SubLayer | None:
    """The selected sub-layer, or None for the stack's final norm; where there is none, a remark and another."""
    chosen = state.SHARED.now()
    spec = shown.trace.spec
    if FIELDS.now().part == "final" and not spec.final_norm:
        state.remark(words.no_final_norm(shown.summary.name))
        state.clamp(part="attention")
    return sublayers.place_of(spec, chosen.kind, chosen.layer, FIELDS.now().part)


# --- numbers of a run, kept


@memoize(16)
def flows_of(shown: RunView, stack: StackName) -> tuple[sublayers.Flow, ...]:
    """What each sub-layer of a stack did in this run."""
    return sublayers.flows(shown.trace, stack)


def not_told(shown: RunView) -> str | None:
    """Why the model does not tell what each sub-layer did, if it does not."""
    try:
        for stack in stacks_of(shown.trace.spec):
            flows_of(shown, stack)
    except Unavailable as error:
        return str(error)
    return None


# --- the rail


def model_rail(shown: RunView) -> None:
    """The sub-layers of the model; one can be picked."""
    spec = shown.trace.spec
    found = [flow for stack in stacks_of(spec) for flow in flows_of(shown, stack)]
    rail(rail_data(spec, {flow.place.site: mean(flow, flow.share) for flow in found}), key="layers_rail")
    text.paragraph(words.GREY_BAR)


def mean(flow: sublayers.Flow, values: Any) -> float:
    """The mean over the tokens that count: padding does not, nor does what a vector of zeros has no number for. NaN
    where one of the others is not a number."""
    own = np.asarray(values)[flow.counted]
    known = np.isfinite(flow.came + flow.added + flow.left)[flow.counted]
    if not np.isfinite(own[~known]).all():
        return float("nan")
    own = own[np.isfinite(own)]
    return float(own.mean()) if own.size else float("nan")


# --- one sub-layer


def sublayer(both: Runs, place: sublayers.SubLayer) -> None:
    """What the selected sub-layer read, added and left, a row for each token."""
    shown = both.main
    flow = next(each for each in flows_of(shown, place.stack) if each.place == place)
    active = sublayers.activity(shown.trace, place) if place.part == "ffn" else None
    text.section(heading(place.title, both))
    pre_norm = shown.trace.spec.norm == "pre"
    text.paragraph(words.joins(PART_NAMES[place.part], pre_norm=pre_norm, reads_memory=place.part == "cross"))
    columns = _flow_columns(flow, active, post=shown.trace.spec.norm == "post")
    foot = [(words.MEAN, [labels.number(mean(flow, values), digits) for _, values, digits in columns])]
    if flow.pairs:
        blank = [labels.number(flow.baseline, 3) if name == words.COSINE else "" for name, _, _ in columns]
        foot.append((words.BASELINE, blank))
    token_table(shown, place.stack, [(name, values, digits) for name, values, digits in columns], foot=foot)
    pictures.table_button(
        lambda: flow_table(shown, place.stack, [(name, values) for name, values, _ in columns]),
        note=words.lengths_note(shown.caption(place.title, rows=place.stack == "decoder")),
        name=labels.file_name(shown.summary.name, place.short, "flow"),
        key="layers_flow",
    )
    if flow.pairs:
        text.paragraph(words.baseline(flow.pairs))
    if active is not None:
        text.paragraph(words.active_units(active.units, active.never, active.always))


def _flow_columns(flow: sublayers.Flow, active: sublayers.Activity | None, *, post: bool) -> list[tuple[str, Any, int]]:
    """Names, values by token and digits; a post-norm sub-layer reads the stream itself, after a pre-norm the sum is the
    stream."""
    columns: list[tuple[str, Any, int]] = [(words.BEFORE, flow.came, 2)]
    if not post:
        columns.append((words.AFTER_NORM, flow.read, 2))
    columns += [(words.ADDED, flow.added, 2), (words.SHARE, flow.share, 3)]
    if post:
        columns.append((words.SUM, flow.total, 2))
    columns += [(words.AFTER, flow.left, 2), (words.COSINE, flow.cosine, 3)]
    if active is not None:
        columns.append((words.ACTIVE, active.share, 3))
    return columns


def norm_panel(both: Runs, place: sublayers.SubLayer | None, stack: StackName) -> None:
    """Draw mean and variance before and after the selected norm, by token, and its gain and offset by feature.

    A final norm is beside the rail, where there is room for one thing below the other; so it is on a projector.
    """
    shown = both.main
    trace, model = shown.trace, shown.ckpt.model
    view = sublayers.final_norm_view(trace, model, stack) if place is None else sublayers.norm_view(trace, model, place)
    text.section(heading(view.title, both))
    text.paragraph(words.norm_formula(view.formula, significant(view.epsilon, 6)))
    beside = place is not None and not projector.is_on()
    left, right = st.columns([5, 4], gap="medium") if beside else (st.container(), st.container())
    with left:
        columns = norm_columns(view)
        token_table(shown, stack, [(name, values, 3) for name, values in columns])
        pictures.table_button(
            lambda: flow_table(shown, stack, columns),
            note=words.norm_note(shown.caption(view.title, rows=stack == "decoder"), view.reads, view.gives),
            name=labels.file_name(shown.summary.name, view.title),
            key="layers_norm",
        )
    with right:
        figure = _gain_chart(view.gain, view.offset, title=words.GAIN_AND_OFFSET, theme=frame.theme())
        alt, caption = words.gain_alt(view.title), words.gain_caption(shown.called, view.title)
        frame.chart(figure, key="layers_gain", alt=alt, caption=caption, size=frame.ChartSize(grows=PROJECTED))
    if view.whole_text:
        text.paragraph(words.whole_text_norm(*(labels.number(float(each[0])) for each in (view.mean, view.scale))))
    text.paragraph(words.norm_checked(f"{view.gap:.1e}"))


def norm_columns(view: sublayers.NormView) -> list[tuple[str, Any]]:
    """Mean and variance of each token before the norm, between, and after it."""
    stages = zip(words.NORM_STAGES, (view.before, view.between, view.after), strict=True)
    return [
        (words.norm_column(name, stage), values)
        for stage, moments in stages
        for name, values in zip(words.MOMENTS, moments, strict=True)
    ]


# --- along the stream


def along_the_stream(both: Runs, place: sublayers.SubLayer | None) -> None:
    """Length, share added and cosine at every sub-layer of the stack, for the selected token and all others."""
    shown, stack = both.main, chosen_stack()
    found = flows_of(shown, stack)
    other = _other_flows(both, found, stack)
    counted, token = found[0].counted, chosen_token(stack)
    memoize = np.flatnonzero(counted | (np.arange(len(counted)) == token))  # no padding, except for the selected token
    nothing = np.full(len(memoize), np.nan), np.nan

    def panel(title: str, name: str, first: Any, least_most: tuple[int, int | None], baseline: Any = None) -> Panel:
        """first: the values before the first sub-layer, of each token and as the mean of the other run."""
        values = np.vstack([first[0], *(getattr(flow, name)[memoize] for flow in found)])
        means = None if other is None else [first[1], *(mean(flow, getattr(flow, name)) for flow in other)]
        return Panel(title, values, least_most, baseline, means)

    came = found[0].came[memoize], np.nan if other is None else mean(other[0], other[0].came)
    random = [np.nan, *(flow.baseline for flow in found)]
    panels = [
        panel(words.STREAM_LENGTH, "total", came, (0, None)),
        panel(words.SHARE, "share", nothing, (0, 1)),
        panel(words.VECTOR_TURNED, "cosine", nothing, (0, 1), random),
    ]
    stations = [(words.INPUT, ""), *((words.layer(flow.place.layer), flow.place.part) for flow in found)]
    figure = _stream_chart(
        panels,
        stations,
        Marked(
            token=int(np.flatnonzero(memoize == token)[0]),
            token_name=words.token_at(token, token_name(shown, stack, token)),
            station=None if place is None else 1 + [flow.place for flow in found].index(place),
        ),
        title=words.stream_title(stack),
        size=Size(letters=PROJECTED, height=projector.ROOM) if projector.is_on() else Size(),
        names=(words.MEAN, words.MEAN) if other is None else (words.mean_of(both.main.name), words.mean_of("B")),
        theme=frame.theme(),
    )
    asked = pictures.table(
        lambda: stream_table(shown, stack, found),
        note=words.stream_note(shown.caption(words.the_stream(stack), rows=stack == "decoder")),
        name=labels.file_name(shown.summary.name, stack, "stream"),
        key="layers_stream",
    )
    rows = shown.row_source if stack == "decoder" else ""
    frame.chart(figure, key="layers_stream", alt=words.stream_alt(stack), rows=rows, on_table=asked)
    if shown.trace.spec.norm == "post":
        own = shown.trace.spec.config
        over_positions = own is not None and own.norm_kind == "positions-and-features"
        text.paragraph(words.POST_NORM_OVER_POSITIONS if over_positions else words.POST_NORM)


def _other_flows(both: Runs, found: Sequence[sublayers.Flow], stack: StackName) -> tuple[sublayers.Flow, ...] | None:
    """The flows of B if both are shown and both models have the same sub-layers; else a remark says why not."""
    if not both.compared or both.b is None:
        return None
    if stack in stacks_of(both.b.trace.spec) and not both.b.recorded:
        other = flows_of(both.b, stack)
        if [flow.place.site for flow in other] == [flow.place.site for flow in found]:
            text.paragraph(words.BOTH_MEANS)
            return other
    text.paragraph(words.other_sub_layers(stack))
    return None
