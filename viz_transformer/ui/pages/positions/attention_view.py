"""The Positions page of a model whose positions act in self-attention: a rotation, or something added to the scores."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.analysis.attention.picture import Meta, Picture
from viz_transformer.analysis.positions.in_attention import (
    BiasRule,
    Rotated,
    Turning,
    bias_rule,
    biases,
    make_own_rotation,
    read_bias,
    rotate,
    turning,
)
from viz_transformer.analysis.positions.table import encoding_of
from viz_transformer.analysis.run.remarks import reach
from viz_transformer.figures import labels
from viz_transformer.figures.distances import rotated_products, wavelength_curves
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import KINDS, SIDE_OF
from viz_transformer.numerals import scientific, significant
from viz_transformer.ui.components.pictures import matrix
from viz_transformer.ui.frame import frame, text
from viz_transformer.ui.frame.drawn import Chart, Component, Drawn, Heading, Numbers, Table, Text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen, Column, View
from viz_transformer.ui.pages.positions import orders_view, words
from viz_transformer.ui.pages.positions.choices import HIGHEST, SIZE, STACK, ChosenCell, height, read_cell, short
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

ROUNDING = 1e-5
"""The error of a product, as a share of the largest: float32 adds in another order."""


def acts_in_attention(shown: RunView) -> bool:
    """Whether this model's positions act in its self-attention, and there is no table."""
    return bool(_recorded(shown)) or encoding_of(shown.trace.spec).in_attention


def _recorded(shown: RunView) -> str:
    """What a run of another model than ours recorded of positions in self-attention: "rotation", "bias", or ""."""
    spec = shown.trace.spec
    if spec.config is not None:
        return ""
    site = next((site for site in spec.attentions if site.endswith(".self")), "")
    if f"{site}.query_unrotated" in shown.trace and f"{site}.key_unrotated" in shown.trace:
        return "rotation"
    return "bias" if f"{site}.bias" in shown.trace else ""


def _turning(shown: RunView, site: str) -> Turning:
    """How this attention turns its queries and keys. Raises Unavailable without a list of the model's frequencies."""
    if shown.trace.spec.config is not None:
        return make_own_rotation(shown.trace.spec.attentions[site].size)
    if shown.trace[f"{site}.query"].size(-2) < 2:
        raise Unavailable("this text is one token, and at position 0 nothing is turned: a longer text shows it")
    if not any(bool(shown.trace[f"{site}.{part}_unrotated"].any()) for part in ("query", "key")):
        raise Unavailable(
            "all queries and keys of this text are zeros, which no turning changes: another text shows it"
        )
    found = _turning_tried(shown, site)
    if found is None:
        raise Unavailable("no list of frequencies that it holds makes the recorded queries and keys of those before")
    return found


@memoize(32)
def _turning_tried(shown: RunView, site: str) -> Turning | None:
    """The turning of a model that is not ours, found out on all of a run's queries and keys; None is kept too."""
    lists = {name: numbers.numpy() for name, numbers in shown.ckpt.hooked_model.frequencies().items()}
    return turning(shown.trace, site, lists)


@memoize(64)
def _rotated(shown: RunView, site: str, head: int, query: int, key: int) -> Rotated:
    """The rotation of a query and a key. Raises Unavailable as `_turning` does."""
    return rotate(shown.trace, site, head, query, key, _turning(shown, site))


@memoize(128)
def _bias_rule(shown: RunView, site: str, head: int) -> BiasRule:
    """What the biases of a head follow, found out on all pairs of a run's positions."""
    return bias_rule(shown.trace, site, head)


# ---- how to read it


def _acts(shown: RunView) -> str:
    """What is drawn of this model: "rotation", "slopes", "bias", a recorded "rule" that the bias follows, or "none"
    for nothing; "" where positions do not act in self-attention."""
    if recorded := _recorded(shown):
        return "rule" if recorded == "bias" else recorded
    if not acts_in_attention(shown):
        return ""
    picture = shown.trace.config.encoding.picture
    return picture if picture in DRAWN else "none"


def explain(shown: RunView) -> str:
    """What applies to this model, and how to read what is drawn of it."""
    acts, name = _acts(shown), shown.summary.name
    if _recorded(shown):
        said = shown.trace.spec.missing.get(f"{STACK.value(shown)}.embed.position")
        has = words.acts_on(name, said) if said else ""
    else:
        encoding = shown.trace.config.encoding
        has = words.has_no_table(name, encoding.noun, encoding.sentence)
    return " ".join(filter(None, (has, words.HOW_IN_ATTENTION.get("bias" if acts == "rule" else acts, ""))))


def say_caption(shown: RunView) -> str:
    """What a projector's caption says of the chosen cell."""
    at = read_cell(shown)
    return words.attention_scene(KINDS[at.stack].words, at.site.split(".")[1], at.head, at.query, at.key)


# ---- a rotation


def _is_turned(shown: RunView) -> bool:
    """Whether a rotation is to be drawn, and it is known by how much."""
    if _acts(shown) != "rotation":
        return False
    with suppress(Unavailable):
        return bool(_turning(shown, read_cell(shown).site))
    return False


def _rotation_of(at: ChosenCell) -> Rotated:
    return _rotated(at.shown, at.site, at.head, at.query, at.key)


def draw_products(at: ChosenCell) -> Chart:
    """The product of the query and the key, as if they were at other distances."""
    found = _rotation_of(at)
    numbers = Numbers(
        frame=lambda: pd.DataFrame({words.PRODUCT: found.product}, pd.Index(found.distance, name=words.DISTANCE)),
        note=words.rotated_note(at.shown.caption(words.by_distance(at.site, at.head, at.query, at.key))),
        name=labels.file_name(at.shown.summary.name, at.site, "rotated products"),
    )
    return Chart(
        figure=lambda theme: rotated_products(
            found.distance,
            found.product,
            at.query - at.key,
            found.recorded,
            title=words.rotated_title(at.site, at.head, at.query, at.key),
            theme=theme,
            height=height(460),
        ),
        alt=words.rotated_alt(at.query, at.key),
        numbers=numbers,
        key="pos_rotated",
        size=SIZE,
    )


def draw_wavelengths(at: ChosenCell) -> Chart:
    """The wavelength of each pair that is turned."""
    found, trace = _rotation_of(at), at.shown.trace
    return Chart(
        figure=lambda theme: wavelength_curves(
            {words.ROTARY: 2 * math.pi / found.frequency},
            max(2, len(SIDE_OF[at.stack].of(trace.src, trace.tgt))),
            shown=words.ROTARY,
            title=words.WAVELENGTHS_OF_PAIRS,
            whose=words.THIS_RUN,
            pairs=bool(found.how.named),
            theme=theme,
            height=height(460),
        ),
        alt=words.WAVELENGTHS_ALT,
        key="pos_turns",
        size=SIZE,
    )


def draw_turned(at: ChosenCell) -> Iterator[Drawn]:
    """How the products compare with the recorded ones, and the turned pairs."""
    found = _rotation_of(at)
    yield Text(
        said=words.rotated_curve(_gap(found.error)), tone=_tone(found.error, abs(found.product).max(), _step(found))
    )
    for sentence in turning_in_words(found.how):
        yield Text(said=sentence)
    yield tabulate_turning(found)
    largest = max(abs(found.query).max(), abs(found.key).max())
    yield Text(said=words.turned_here(_gap(found.turned_error)), tone=_tone(found.turned_error, largest, _step(found)))


def turning_in_words(how: Turning) -> list[str]:
    """Where another model's frequencies come from, whose powers they are, and what is not turned; none of ours."""
    if not how.named:
        return []
    base = None if how.base is None else significant(how.base, 6)
    said = [words.frequencies(len(how.frequency), how.named, base, int(how.pairs[0, 1] - how.pairs[0, 0]))]
    if (rest := how.unturned).size:
        said.append(words.unturned(rest[0], rest[-1], how.size))
    if how.factor != 1:
        said.append(words.multiplied(significant(how.factor, 6)))
    return said


def _step(found: Rotated) -> float:
    """How far the type of this run lets its angles and turned numbers be off: a product has two of these."""
    return found.how.step * len(found.distance) + 2 * found.how.rounding


def _gap(value: float) -> str:
    return "0" if value == 0 else scientific(value)


def _tone(error: float, largest: float, step: float = 0.0) -> text.Tone:
    return "ok" if error <= (ROUNDING + step) * max(1.0, float(largest)) else "bad"


def tabulate_turning(found: Rotated) -> Table:
    """A row for each pair of dimensions: frequency, both angles, both pairs before and as recorded after it."""
    i, j = found.positions

    def numbers(values: Any, at: Sequence[int]) -> text.Html:
        return text.Html("<br>".join(html.escape(significant(float(values[each]), 6)) for each in at))

    rows = [
        (
            f"{pair[0]}, {pair[1]}",
            short(frequency),
            short(2 * math.pi / frequency),
            short(i * frequency),
            numbers(found.query, pair),
            numbers(found.turned_query, pair),
            short(j * frequency),
            numbers(found.key, pair),
            numbers(found.turned_key, pair),
        )
        for pair, frequency in zip(found.how.pairs.tolist(), found.frequency.tolist(), strict=True)
    ]
    for feature in found.how.unturned.tolist():
        vectors = (found.query, found.turned_query, found.key, found.turned_key)
        query, turned_query, key, turned_key = (numbers(values, [feature]) for values in vectors)
        rows.append((f"{feature}", words.NOT_TURNED, "", "", query, turned_query, "", key, turned_key))
    return Table(head=words.pair_head(i, j), rows=rows, style="vt-steps vt-rotation", first="td")


# --- what is added to the scores


def draw_bias(at: ChosenCell) -> Component:
    """The recorded biases of the head."""
    shown, site, head, side = at.shown, at.site, at.head, SIDE_OF[at.stack]
    bias = read_bias(shown.trace, site, head)
    tokens = Texts(side.of(shown.trace.src_tokens, shown.trace.tgt_tokens))
    row, column = KINDS[at.stack].fields
    axes = (
        Axis(row, words.QUERY_ROW, words.queries(side.name), side.name, tokens),
        Axis(column, words.KEY_COLUMN, words.keys(side.name), side.name, tokens),
    )
    title = words.bias_title(site, head)
    meta = Meta(
        title, *frame.saved_as(title), scale="diverging", unit="value", quantity="value", bounded=False, digits=9
    )
    picture = Picture(bias, axes, np.ones(bias.shape, dtype=bool), meta)
    numbers = Numbers(
        frame=lambda: pd.DataFrame(bias, pd.RangeIndex(len(bias), name=words.QUERY_ROW), range(len(bias))),
        note=words.bias_note(shown.caption(words.bias_of(site, head))),
        name=labels.file_name(shown.summary.name, site, "bias"),
    )
    data = picture.pack(height=HIGHEST, exact=True, why=())
    return Component(draw=matrix, data=data, key="pos_bias", numbers=numbers)


def draw_slopes(at: ChosenCell) -> Iterator[Drawn]:
    """The slopes of all heads that the biases follow: ALiBi. A row for each head, with how far away a weight is halved
    by the bias alone."""
    slopes = biases(at.shown.trace, at.site, at.head).slopes
    yield Heading(said=words.SLOPES)
    rows = [(f"{head}", significant(slope, 6), short(math.log(2) / slope)) for head, slope in enumerate(slopes)]
    yield Table(head=words.SLOPES_HEAD, rows=rows, style="vt-steps", here=at.head)
    yield Text(said=words.LAST_COLUMN)


def draw_rule(at: ChosenCell) -> Iterator[Drawn]:
    """What recorded biases follow: one number for each distance, or one for each head."""
    found = _bias_rule(at.shown, at.site, at.head)
    if found.follows == "distance":
        yield Heading(said=words.BIASES)
        yield tabulate_biases(found, at.query - at.key)
    elif found.follows != "nothing":
        yield Heading(said=words.SLOPES_OF_ALL)
        heads = range(at.shown.trace.spec.attentions[at.site].query)
        slopes = [_bias_rule(at.shown, at.site, head).slope for head in heads]
        rows = [
            (f"{head}", words.NOT_LINEAR if slope is None else significant(slope, 6))
            for head, slope in enumerate(slopes)
        ]
        yield Table(head=words.PLACE_SLOPES_HEAD, rows=rows, style="vt-steps", here=at.head)


def tabulate_biases(found: BiasRule, distance: int) -> Table:
    """A row for each range of distances with one bias; the row of the chosen query and key is marked."""
    steps = [*reversed(found.steps)]
    rows = [(_span(each.first, each.last), significant(each.bias, 6)) for each in steps]
    here = next((at for at, each in enumerate(steps) if each.first <= distance <= each.last), None)
    return Table(head=words.BIASES_HEAD, rows=rows, style="vt-steps", here=here)


def draw_slope(at: ChosenCell) -> Text:
    """How the biases compare with slope times distance."""
    found = biases(at.shown.trace, at.site, at.head)
    slope = significant(found.slopes[at.head], 6)
    return Text(said=words.slope_of(at.head, slope, at.stack, _gap(found.error)), tone=_tone(found.error, 1.0))


def describe_bias(at: ChosenCell) -> Text:
    """What the biases of this head follow, over all pairs of positions of this run that may attend."""
    found, head = _bias_rule(at.shown, at.site, at.head), at.head
    if found.follows == "nothing":
        return Text(said=words.follows_nothing(head))
    if found.follows == "distance":
        shared = sum(each.last > each.first for each in found.steps)
        ends = int(found.at[0]), int(found.at[-1])
        return Text(said=words.follows_distance(head, len(found.steps), *ends, shared))
    return Text(said=words.follows_key(head, None if found.slope is None else significant(found.slope, 6)))


def _span(first: int, last: int) -> str:
    return f"{first}" if first == last else words.span(f"{first}", f"{last}")


# ---- as views

Draw = Callable[[ChosenCell], Drawn | Iterable[Drawn]]
DRAWN: Mapping[str, tuple[Draw, Draw | None, Draw | None]] = {
    "rotation": (draw_products, draw_wavelengths, draw_turned),
    "slopes": (draw_bias, draw_slopes, draw_slope),
    "bias": (draw_bias, None, None),
    "rule": (draw_bias, draw_rule, describe_bias),
    "none": (lambda at: Text(said=words.NO_PICTURE), None, None),
}
"""The picture, what is beside it, and what is below it, by what is drawn of a model."""


def _view(key: str, part: int, **more: Any) -> View:
    """One of the three parts."""

    def draw(both: Runs, chosen: Chosen) -> Drawn | Iterable[Drawn]:
        made = DRAWN[_acts(both.main)][part]
        return () if made is None else made(read_cell(both.main))

    def is_there(both: Runs, chosen: Chosen) -> bool:
        return bool(acts := _acts(both.main)) and (acts != "rotation" or _is_turned(both.main))

    return View(key=key, draw_runs=draw, is_there=is_there, **more)


def _place(both: Runs) -> Column:
    return "left" if DRAWN[_acts(both.main)][1] is not None else ""


VIEWS = (
    View(
        key="pos_untold",
        draw_runs=lambda both, chosen: draw_products(read_cell(both.main)),  # raises Unavailable
        is_there=lambda both, chosen: _acts(both.main) == "rotation" and not _is_turned(both.main),
        needs=words.TURNS,
        is_scene=False,
    ),
    _view("pos_picture", 0, column=_place),
    _view("pos_curves", 1, column=lambda both: "right" if _place(both) else ""),
    _view("pos_below", 2),
    View(
        key="pos_reach",
        draw_runs=lambda both, chosen: [
            Text(said=sentence) for sentence in reach(both.main.trace, read_cell(both.main).site)
        ],
        is_there=lambda both, chosen: bool(_recorded(both.main)),
        is_scene=False,
    ),
    View(
        key="pos_orders",
        title=words.TOPICS["orders"],
        draw_runs=lambda both, chosen: orders_view.draw_orders(both.main),
        is_there=lambda both, chosen: acts_in_attention(both.main) and not _recorded(both.main),
        is_scene=False,
    ),
)
