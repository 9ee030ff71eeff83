"""The Layers page: the rail, what a sub-layer did by token, its norm, and the stream along the depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from viz_transformer.analysis.layers import sublayers
from viz_transformer.figures import labels
from viz_transformer.figures.components.model_maps import rail_data
from viz_transformer.figures.layers import Marked, Panel, Size, gain_chart, stream_chart
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import KINDS, SIDE_OF, StackName, stacks_of
from viz_transformer.model.layout import PART_NAMES
from viz_transformer.numerals import significant
from viz_transformer.ui.components.pictures import rail
from viz_transformer.ui.frame import frame, projector
from viz_transformer.ui.frame import words as of_frame
from viz_transformer.ui.frame.drawn import Chart, Columns, Component, Drawn, Heading, Numbers, Text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen, Page, View
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.layers import lens_view, question, whole_layers_view, words
from viz_transformer.ui.pages.layers.experts_view import draw_router, has_experts
from viz_transformer.ui.pages.layers.layers_tables import draw_tokens, heading, stream_table, token_name
from viz_transformer.ui.pages.layers.lens_view import draw_lens
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize, memoize_figure
from viz_transformer.ui.session.runs import RunView

_stream_chart = memoize_figure(stream_chart)
_gain_chart = memoize_figure(gain_chart)

PROJECTED = 1.4
"""By how much letters grow on a projector."""


# ---- what is selected


def prepare(both: Runs, chosen: Chosen) -> Chosen:
    """The stack and its position, the sub-layer or None for the stack's final norm, and why only whole layers are
    shown, if so; where there is no final norm, a remark and another sub-layer."""
    shown, kind, part = both.main, chosen["kind"], chosen["part"]
    stack = KINDS[kind].stack
    found = {"stack": stack, "token": chosen[SIDE_OF[stack].field]}
    if shown.recorded:
        return {**found, "place": None, "why": words.ONLY_WHOLE}
    spec = shown.trace.spec
    if part == "final" and not spec.final_norm:
        state.remark(words.no_final_norm(shown.summary.name))
        part = "attention"
        state.clamp(part=part)
    why = not_told(shown)
    return {
        **found,
        "place": sublayers.place_of(spec, kind, chosen["layer"], part),
        "why": None if why is None else words.only_whole_layers(why),
    }


# ---- numbers of a run, kept


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


# ---- the rail, and one sub-layer beside it


def draw_top(both: Runs, chosen: Chosen) -> Iterator[Drawn] | Drawn:
    """The sub-layers of the model, of which one can be picked, and what that did; or a whole layer."""
    if chosen["why"] is not None:
        return whole_layers_view.draw_layer(both, chosen)
    spec = both.main.trace.spec
    found = [flow for stack in stacks_of(spec) for flow in flows_of(both.main, stack)]
    data = rail_data(spec, {flow.place.site: mean(flow, flow.share) for flow in found})
    left: list[Drawn] = [Component(draw=rail, data=data, key="layers_rail"), Text(said=words.GREY_BAR)]
    return Columns(parts=[left, _draw_chosen(both, chosen)], widths=(3, 7))


def _draw_chosen(both: Runs, chosen: Chosen) -> list[Drawn]:
    if chosen["place"] is not None:
        return [*draw_sublayer(both, chosen)]
    try:
        return [*draw_norm(both, chosen)]
    except Unavailable as error:
        return [Text(said=of_frame.not_told(words.NEEDS_NORMS, error))]


def mean(flow: sublayers.Flow, values: Any) -> float:
    """The mean over the tokens that count: padding does not, nor does what a vector of zeros has no number for. NaN
    where one of the others is not a number."""
    own = np.asarray(values)[flow.counted]
    known = np.isfinite(flow.came + flow.added + flow.left)[flow.counted]
    if not np.isfinite(own[~known]).all():
        return float("nan")
    own = own[np.isfinite(own)]
    return float(own.mean()) if own.size else float("nan")


def draw_sublayer(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """What the selected sub-layer read, added and left, a row for each token."""
    shown, place, spec = both.main, chosen["place"], both.main.trace.spec
    flow = next(each for each in flows_of(shown, place.stack) if each.place == place)
    active = sublayers.activity(shown.trace, place) if place.part == "ffn" else None
    yield Heading(said=heading(place.title, both))
    joins = words.joins(PART_NAMES[place.part], pre_norm=spec.norm == "pre", reads_memory=place.part == "cross")
    yield Text(said=joins)
    columns = _flow_columns(flow, active, post=spec.norm == "post")
    foot = [(words.MEAN, [labels.number(mean(flow, values), digits) for _, values, digits in columns])]
    if flow.pairs:
        blank = [labels.number(flow.baseline, 3) if name == words.COSINE else "" for name, _, _ in columns]
        foot.append((words.BASELINE, blank))
    note = words.lengths_note(shown.caption(place.title, rows=place.stack == "decoder"))
    name = labels.file_name(shown.summary.name, place.short, "flow")
    yield from draw_tokens(shown, chosen, columns, foot=foot, note=note, name=name, key="layers_flow")
    if flow.pairs:
        yield Text(said=words.baseline(flow.pairs))
    if active is not None:
        yield Text(said=words.active_units(active.units, active.never, active.always))


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


# ---- its norm


def draw_norm(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """Mean and variance before and after the selected norm, by token, and its gain and offset by feature.

    A final norm is beside the rail, where there is room for one thing below the other; so it is on a projector.
    """
    shown, place, stack = both.main, chosen["place"], chosen["stack"]
    trace, model = shown.trace, shown.ckpt.model
    view = sublayers.final_norm_view(trace, model, stack) if place is None else sublayers.norm_view(trace, model, place)
    yield Heading(said=heading(view.title, both))
    yield Text(said=words.norm_formula(view.formula, significant(view.epsilon, 6)))
    note = words.norm_note(shown.caption(view.title, rows=stack == "decoder"), view.reads, view.gives)
    name = labels.file_name(shown.summary.name, view.title)
    table = [*draw_tokens(shown, chosen, norm_columns(view), note=note, name=name, key="layers_norm")]
    chart = Chart(
        figure=lambda theme: _gain_chart(view.gain, view.offset, title=words.GAIN_AND_OFFSET, theme=theme),
        alt=words.gain_alt(view.title),
        key="layers_gain",
        size=frame.ChartSize(grows=PROJECTED),
        caption=words.gain_caption(shown.called, view.title),
    )
    if place is not None and not projector.is_on():
        yield Columns(parts=[table, [chart]], widths=(5, 4))
    else:
        yield from (*table, chart)
    if view.whole_text:
        yield Text(said=words.whole_text_norm(*(labels.number(float(each[0])) for each in (view.mean, view.scale))))
    yield Text(said=words.norm_checked(f"{view.gap:.1e}"))


def norm_columns(view: sublayers.NormView) -> list[tuple[str, Any, int]]:
    """Mean and variance of each token before the norm, between, and after it, with their digits."""
    stages = zip(words.NORM_STAGES, (view.before, view.between, view.after), strict=True)
    return [
        (words.norm_column(name, stage), values, 3)
        for stage, moments in stages
        for name, values in zip(words.MOMENTS, moments, strict=True)
    ]


# ---- along the stream


def draw_depth(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """Length, share added and cosine at every sub-layer of the stack, for the selected token and all others; or what
    whole layers did."""
    if chosen["why"] is not None:
        yield from whole_layers_view.draw_layers(both, chosen)
        return
    shown, stack, token, place = both.main, chosen["stack"], chosen["token"], chosen["place"]
    found = flows_of(shown, stack)
    other, said = _other_flows(both, found, stack)
    yield from said
    counted = found[0].counted
    drawn = np.flatnonzero(counted | (np.arange(len(counted)) == token))  # no padding, except for the selected token
    nothing = np.full(len(drawn), np.nan), np.nan

    def panel(title: str, name: str, first: Any, least_most: tuple[int, int | None], baseline: Any = None) -> Panel:
        """first: the values before the first sub-layer, of each token and as the mean of the other run."""
        values = np.vstack([first[0], *(getattr(flow, name)[drawn] for flow in found)])
        means = None if other is None else [first[1], *(mean(flow, getattr(flow, name)) for flow in other)]
        return Panel(title, values, least_most, baseline, means)

    came = found[0].came[drawn], np.nan if other is None else mean(other[0], other[0].came)
    random = [np.nan, *(flow.baseline for flow in found)]
    panels = [
        panel(words.STREAM_LENGTH, "total", came, (0, None)),
        panel(words.SHARE, "share", nothing, (0, 1)),
        panel(words.VECTOR_TURNED, "cosine", nothing, (0, 1), random),
    ]
    stations = [(words.INPUT, ""), *((words.layer(flow.place.layer), flow.place.part) for flow in found)]
    marked = Marked(
        token=int(np.flatnonzero(drawn == token)[0]),
        token_name=words.token_at(token, token_name(shown, stack, token)),
        station=None if place is None else 1 + [flow.place for flow in found].index(place),
    )
    yield Chart(
        figure=lambda theme: _stream_chart(
            panels,
            stations,
            marked,
            title=words.stream_title(stack),
            size=Size(letters=PROJECTED, height=projector.ROOM) if projector.is_on() else Size(),
            names=(words.MEAN, words.MEAN) if other is None else (words.mean_of(shown.name), words.mean_of("B")),
            theme=theme,
        ),
        alt=words.stream_alt(stack),
        numbers=Numbers(
            frame=lambda: stream_table(shown, stack, found),
            note=words.stream_note(shown.caption(words.the_stream(stack), rows=stack == "decoder")),
            name=labels.file_name(shown.summary.name, stack, "stream"),
        ),
        key="layers_stream",
        size=frame.ChartSize(),
        rows=shown.row_source if stack == "decoder" else "",
    )
    if shown.trace.spec.norm == "post":
        own = shown.trace.spec.config
        over_positions = own is not None and own.norm_kind == "positions-and-features"
        yield Text(said=words.POST_NORM_OVER_POSITIONS if over_positions else words.POST_NORM)


def _other_flows(
    both: Runs, found: Sequence[sublayers.Flow], stack: StackName
) -> tuple[tuple[sublayers.Flow, ...] | None, list[Text]]:
    """The flows of B if both are shown and both models have the same sub-layers; else why not."""
    if not both.compared or both.b is None:
        return None, []
    if stack in stacks_of(both.b.trace.spec) and not both.b.recorded:
        other = flows_of(both.b, stack)
        if [flow.place.site for flow in other] == [flow.place.site for flow in found]:
            return other, [Text(said=words.BOTH_MEANS)]
    return None, [Text(said=words.other_sub_layers(stack))]


# ---- the question, and the stop of the tour


def ask(shown: RunView, chosen: Chosen) -> Question | None:
    """From which layer on the token is settled; of a stack without a lens, what changed it most."""
    if shown.recorded:
        return whole_layers_view.ask(shown, chosen)
    stack, token = chosen["stack"], chosen["token"]
    found = lens_view.lens_of(shown, stack, token)
    settled = None if found is None else question.settled(shown, found, token)
    if settled is not None:
        return settled
    try:
        return question.changed_most(shown, flows_of(shown, stack), token)
    except Unavailable:  # the page says it where the numbers would be
        return None


def at_stop(both: Runs, chosen: Chosen) -> tuple[str, ...]:
    """Which sub-layer added most at the chosen token, and what the lens reads there."""
    shown, stack, token = both.main, chosen["stack"], chosen["token"]
    return question.at_stop(shown, flows_of(shown, stack), lens_view.lens_of(shown, stack, token), token)


def ringed(both: Runs, chosen: Chosen) -> tuple[str, ...]:
    """Where the tour puts its ring: the sub-layer that added most, on the rail; else the rail."""
    told = chosen["why"] is None
    most = question.most_added(flows_of(both.main, chosen["stack"]), chosen["token"]) if told else None
    part = () if most is None else (f'.st-key-layers_top >>> .rail [title^="{most.place.title}"]',)
    return (*part, ".st-key-layers_top >>> .rail", ".st-key-question")


PAGE = Page(
    title="Layers",
    how=words.HOW,
    not_to_conclude=words.NOT,
    prepare=prepare,
    problem_in="place",
    views=(
        View(key="layers_top", draw_runs=draw_top),
        View(key="layers_router", draw_runs=draw_router, is_there=has_experts, scene=1),
        View(key="layers_depth", draw_runs=draw_depth, comes_later=True),
        View(key="layers_lens", draw_runs=draw_lens, is_there=lambda both, chosen: not both.main.recorded),
        View(
            key="layers_norm",
            draw_runs=draw_norm,
            needs=words.NEEDS_NORMS,
            is_there=lambda both, chosen: chosen["place"] is not None,
            scene=1,
        ),
    ),
    ask=ask,
    at_stop=at_stop,
    ringed=ringed,
    looks="part",
)
