"""The run overview, at any of its levels; A above B."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pandas as pd

from viz_transformer.analysis.attention.maps import sides, step_row
from viz_transformer.analysis.run.attention import AttentionDetail, attention_of
from viz_transformer.analysis.run.layer import layer_of
from viz_transformer.analysis.run.whole import whole_run
from viz_transformer.figures import details, labels
from viz_transformer.figures.components.scrubber import steps_of
from viz_transformer.figures.components.whole import Names, RunText, whole_payload
from viz_transformer.model.kinds import KINDS, SIDE_OF, KindName, StackName, stacks_of
from viz_transformer.model.layout import PART_NAMES
from viz_transformer.running.trace import Trace
from viz_transformer.ui.components.ahead import whole_details
from viz_transformer.ui.components.pictures import whole as whole_picture
from viz_transformer.ui.frame import frame
from viz_transformer.ui.frame.drawn import Component, Drawn, Numbers, Text, Widget
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.pages.run import level_tables, site, words
from viz_transformer.ui.pages.run.fields import FIELDS, Level
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

AHEAD = 64
"""The most tokens a side for which the chosen layer and all heads of its attention are sent at every level."""
EAGER = 256
"""The most layers times tokens for which all layers are sent, so that entering one needs no wait."""
ANSWER = 400_000
"""The most bytes in a reply when the browser requests other layers and heads."""


def draw_whole_run(both: Runs) -> Iterator[Drawn]:
    """The picture of the shown run, of both where they are compared, with the data of its deeper levels; a sentence on
    what is missing for one that does not have all the data it takes."""
    found, along = [], together(both)
    for number, each in enumerate(both.shown):
        try:
            place = _place(each, along)
            title = each.name if len(both.shown) > 1 else ""
            yield _draw_picture(each, place, along, key=f"run_whole_{number}", title=title)
            if place.there:
                found += _pack_inside(each, place)
        except ValueError as error:
            yield Text(said=words.not_in_one_picture(str(error)))
    yield Widget(put=partial(whole_details, found, answering([each.run.trace for each in both.shown])))


@dataclass(frozen=True)
class Along:
    """Two runs whose pictures move together."""

    first_row: int
    """The row of A's first step."""
    steps: int
    """The steps of the longer run."""
    reads: bool
    """Whether any of them reads a text before its first step."""

    @property
    def rows(self) -> tuple[int, int]:
        """The first and the last row with a step, in the selection's numbering."""
        return self.first_row, self.first_row + self.steps - 1


def together(both: Runs) -> Along | None:
    """How the two shown runs move together; None for a single one, or if one of them writes nothing."""
    if both.b is None or not both.compared or not (both.a.run.steps and both.b.run.steps):
        return None
    pair = both.a, both.b
    return Along(
        step_row(both.a.run, 0),
        max(len(each.run.steps) for each in pair),
        any(each.trace.spec.has_encoder for each in pair),
    )


def scenes(both: Runs) -> tuple[str, ...]:
    """The scenes of a projector: each of two runs."""
    return ("run_whole_0", "run_whole_1") if both.compared else ("run_whole",)


def answering(traces: Sequence[Trace]) -> Callable[[Sequence[Mapping[str, Any]]], bytes]:
    """A function that answers requests for details of these runs while the store has them: no page keeps a run."""
    known = {details.run_id(trace): weakref.ref(trace) for trace in traces}

    def answer(places: Sequence[Mapping[str, Any]]) -> bytes:
        there = {name: trace for name, ref in known.items() if (trace := ref()) is not None}
        return details.answer(details.pack_details(there, places, most=ANSWER))

    return answer


def ahead(shown: RunView) -> tuple[bytes, list[bytes]]:
    """The payload of the picture ahead of the page, and the details of its level. Raises ValueError where it cannot be
    drawn."""
    place = _place(shown)
    head = site.head_of(shown.trace.spec, state.selection())
    return pack_whole_run(shown, head, ""), [] if place.level == "run" else _pack_inside(shown, place)


@dataclass(frozen=True)
class _Place:
    """The place that the picture shows: its level, the chosen attention, and the positions on its two axes."""

    level: Level
    there: bool
    """Whether the run has this attention; if not, the whole run is shown."""
    kind: KindName
    layer: int
    head: int
    query: int
    key: int

    @property
    def stack(self) -> StackName:
        return KINDS[self.kind].stack

    @property
    def attention(self) -> str:
        """The attention in words, without the level of the whole run: "decoder layer 1, cross-attention, head 3"."""
        return words.attention(self.stack, self.layer, PART_NAMES[KINDS[self.kind].attention], self.head)


def _place(shown: RunView, along: Along | None = None) -> _Place:
    """The chosen place. With no head or several, the first head is shown; positions are clamped to a shorter text of B,
    and if B lacks this attention, its whole run is shown."""
    chosen, kind = clamp_to_run(shown, along), KINDS[state.SHARED.now().kind]
    heads, layer, spec = chosen["heads"], chosen["layer"], shown.run.trace.spec
    head = site.only_head(heads)
    there = layer < kind.layers(spec) and head < spec.heads(kind.name, layer).query
    query, key = (chosen[field] for field in kind.fields)
    return _Place(FIELDS.now().level if there else "run", there, kind.name, layer, head, query, key)


def _draw_picture(shown: RunView, place: _Place, along: Along | None, *, key: str, title: str) -> Component:
    head = site.head_of(shown.trace.spec, state.selection())
    row = _row(shown, along)
    make, level, what = _table(shown, place, head, row)
    numbers = Numbers(
        frame=make,
        note=words.picture_note(shown.caption(words.whole_of(level), rows=True), what),
        name=labels.file_name(shown.summary.name, words.IN_WHOLE, level, _position(place, row)),
    )
    return Component(draw=whole_picture, data=pack_whole_run(shown, head, title, along), key=key, numbers=numbers)


@memoize(8)
def pack_whole_run(shown: RunView, head: int | None, title: str, along: Along | None = None) -> bytes:
    """The payload of a run's picture: of the selection inside the run it depends on the head only; along: the runs that
    move together."""
    run = shown.run
    return whole_payload(
        whole_run(run.trace, head=head),
        RunText(
            steps=steps_of(run),
            first_row=step_row(run, 0),
            vocabulary=run.trace.spec.target_vocab_size or 0,
            typed=shown.text,
            answer=run.text,
        ),
        Names(
            title=title,
            caption=shown.caption(words.IN_WHOLE, rows=True),
            file=labels.file_name(shown.summary.name, words.IN_WHOLE),
        ),
        of=details.run_id(run.trace),
        along=None if along is None else asdict(along),
    )


def _pack_inside(shown: RunView, place: _Place) -> list[bytes]:
    """The details of the chosen place for the deeper levels, and of all layers of a small run; for a longer text only
    those of its level. None for an intermediate run of the slider."""
    if place.level == "run" and state.passes_through():
        return []
    spec = shown.run.trace.spec
    longest = max(map(len, sides(shown.run.trace, place.kind)))
    if longest * sum(SIDE_OF[stack].layers(spec) for stack in stacks_of(spec)) <= EAGER:
        return [_heads(shown, place.kind, place.layer), _layers(shown)]
    if longest <= AHEAD:
        return [_pack_detail(shown, place.kind, place.layer, None), _heads(shown, place.kind, place.layer)]
    if place.level == "run":
        return []
    return [_pack_detail(shown, place.kind, place.layer, None if place.level == "layer" else place.head)]


@memoize(8)
def _heads(shown: RunView, kind: KindName, layer: int) -> bytes:
    """The details of all heads of an attention."""
    trace = shown.run.trace
    heads = range(trace.spec.heads(kind, layer).query)
    return details.together([details.pack_attention(trace, kind, layer, head) for head in heads])


@memoize(8)
def _layers(shown: RunView) -> bytes:
    """The details of all layers."""
    trace = shown.run.trace
    places = [(stack, layer) for stack in stacks_of(trace.spec) for layer in range(SIDE_OF[stack].layers(trace.spec))]
    return details.together([details.pack_layer(trace, stack, layer) for stack, layer in places])


@memoize(8)
def _pack_detail(shown: RunView, kind: KindName, layer: int, head: int | None) -> bytes:
    """The detail of the layer, or of a head of an attention in it."""
    trace = shown.run.trace
    if head is None:
        return details.together([details.pack_layer(trace, KINDS[kind].stack, layer)])
    return details.together([details.pack_attention(trace, kind, layer, head)])


def clamp_to_run(shown: RunView, along: Along | None) -> dict[str, Any]:
    """The selection clamped to the positions of this run: the last step for any after it."""
    return frame.clamp_to_run(shown, None if along is None else along.first_row)


def _row(shown: RunView, along: Along | None) -> int:
    """The row of the last stack that the picture highlights."""
    first = step_row(shown.run, 0)
    chosen: int = clamp_to_run(shown, along)["t"]
    return max(first, min(chosen, first + len(shown.run.steps) - 1))


def _position(place: _Place, row: int) -> str:
    """The table's position in the texts, for its file name."""
    if place.level == "run":
        return words.in_file_name(row)
    return words.in_file_name(place.query, place.key if place.level == "weight" else None)


def _table(shown: RunView, place: _Place, head: int | None, row: int) -> tuple[Callable[[], pd.DataFrame], str, str]:
    """The table of the level: the function that makes it, the level in words, and the table's name; row: the row that
    the whole run highlights."""
    trace, kind = shown.run.trace, KINDS[place.kind]
    queries, keys = sides(trace, place.kind)
    if place.level == "run":
        several = any(each.query > 1 for each in trace.spec.attentions.values())
        whose = words.MEAN_OF_HEADS if head is None and several else words.head(head or 0)
        return (
            lambda: level_tables.tabulate_run(whole_run(trace, head=head), row),
            "",
            words.run_table(whose),
        )
    token = words.token_at(labels.sentence(queries.tokens[place.query]), place.query)
    if place.level == "layer":
        return (
            lambda: level_tables.tabulate_layer(layer_of(trace, place.stack, place.layer), place.query),
            words.layer(place.stack, place.layer),
            words.layer_table(token),
        )

    def detail() -> AttentionDetail:
        return attention_of(trace, place.kind, place.layer, place.head)

    if place.level == "attention":
        return (
            lambda: level_tables.tabulate_attention(detail(), place.query, keys.tokens),
            place.attention,
            words.keys_table(token),
        )
    other = words.token_at(labels.sentence(keys.tokens[place.key]), place.key)
    return (
        lambda: level_tables.tabulate_weight(detail(), place.query, place.key),
        words.one_weight(place.attention),
        words.weight_table(kind.words, token, other),
    )
