"""The Positions page of a model whose positions act in self-attention: a rotation, or something added to the scores."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.analysis.attention.picture import Meta, Picture
from viz_transformer.analysis.positions.in_attention import (
    BiasRule,
    Float32,
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
from viz_transformer.model.kinds import KINDS, SIDE_OF, StackName
from viz_transformer.numerals import scientific, significant
from viz_transformer.ui.components.pictures import matrix
from viz_transformer.ui.frame import controls, frame, pictures, text
from viz_transformer.ui.pages.positions import orders_view, words
from viz_transformer.ui.pages.positions.view import HIGHEST, STACK, chart, height, short
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

ROUNDING = 1e-5
"""The error of a product, as a share of the largest: float32 adds in another order."""


@dataclass(frozen=True, eq=False)
class ChosenCell:
    """What is shown: one head of a self-attention, with a query and a key."""

    shown: RunView
    stack: StackName
    site: str
    head: int
    query: int
    key: int

    @property
    def words(self) -> str:
        """What a projector's caption says of it."""
        layer = self.site.split(".")[1]
        return words.attention_scene(KINDS[self.stack].words, layer, self.head, self.query, self.key)


def is_needed(shown: RunView) -> bool:
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


def draw(shown: RunView) -> tuple[ChosenCell, list[str]]:
    """Controls, pictures and what is below them; returns what is shown, and what applies to this model and how to read
    it, in sentences."""
    if recorded := _recorded(shown):
        return _draw_recorded(shown, recorded)
    encoding = shown.trace.config.encoding
    with st.container(horizontal=True, key="pos_tools", vertical_alignment="center"):
        stack = STACK.draw(shown)
        layer, head = _layer_and_head(shown, stack)
        query, key = (_position(shown, stack, which) for which in (0, 1))
    drawn: Mapping[str, Callable[[ChosenCell], None]] = {"rotation": _rotation, "slopes": _slopes, "bias": _bias}
    at = ChosenCell(shown, stack, f"{stack}.{layer}.self", head, query, key)
    drawn.get(encoding.picture, _nothing)(at)
    with st.container(key="pos_orders"):
        text.section(words.TOPICS["orders"])
        orders_view.orders(shown)
    has = words.has_no_table(shown.summary.name, encoding.noun, encoding.sentence)
    return at, [has, words.HOW_IN_ATTENTION.get(encoding.picture, "")]


def _draw_recorded(shown: RunView, what: str) -> tuple[ChosenCell, list[str]]:
    """The same for a model that is not ours, from what its run recorded and the lists that it holds."""
    with st.container(horizontal=True, key="pos_tools", vertical_alignment="center"):
        stack = STACK.draw(shown)
        layer, head = _layer_and_head(shown, stack)
        query, key = (_position(shown, stack, which) for which in (0, 1))
    at = ChosenCell(shown, stack, f"{stack}.{layer}.self", head, query, key)
    if what == "rotation":
        with frame.optional_section(words.TURNS):
            _rotation(at)
    else:
        _bias_and_rule(at)
    for sentence in reach(shown.trace, at.site):
        text.paragraph(sentence)
    acts = shown.trace.spec.missing.get(f"{stack}.embed.position")
    return at, [words.acts_on(shown.summary.name, acts) if acts else "", words.HOW_IN_ATTENTION[what]]


def _nothing(at: ChosenCell) -> None:
    with st.container(key="pos_picture"):
        text.paragraph(words.NO_PICTURE)


def _layer_and_head(shown: RunView, stack: StackName) -> tuple[int, int]:
    spec, chosen = shown.trace.spec, state.SHARED.now()
    layers = SIDE_OF[stack].layers(spec)
    layer = min(chosen.layer, layers - 1)
    if layer != chosen.layer:
        state.remark(words.fewer_layers(stack, layers, layer))
    heads = chosen.heads
    count = spec.attentions[f"{stack}.{layer}.self"].query
    head = 0 if isinstance(heads, str) else min(heads[0], count - 1)
    controls.layer_and_head(layers, count, page="pos", shown=(layer, head))
    return layer, head


def _position(shown: RunView, stack: StackName, which: int) -> int:
    """The selected query (0) or key (1)."""
    field, read = KINDS[stack].fields[which], len(SIDE_OF[stack].of(shown.trace.src, shown.trace.tgt))
    return controls.Control[int](
        field=field,
        label=(words.QUERY, words.KEY)[which],
        options=lambda shown: range(read),
        unset=0,
        box=True,
        width=190,
        key=f"pos_{field}_in_attention",
    ).draw(shown)


# --- a rotation


def _rotation(at: ChosenCell) -> None:
    shown, stack, site, head, query, key = at.shown, at.stack, at.site, at.head, at.query, at.key
    found = _rotated(shown, site, head, query, key)
    left, right = st.columns([5, 3], gap="medium")
    with left, st.container(key="pos_picture"):
        figure = rotated_products(
            found.distance,
            found.product,
            query - key,
            found.recorded,
            title=words.rotated_title(site, head, query, key),
            theme=frame.theme(),
            height=height(460),
        )
        asked = pictures.table(
            lambda: _products_frame(found),
            note=words.rotated_note(shown.caption(words.by_distance(site, head, query, key))),
            name=labels.file_name(shown.summary.name, site, "rotated products"),
            key="pos_rotated",
        )
        chart(figure, key="pos_rotated", alt=words.rotated_alt(query, key), on_table=asked)
    with right, st.container(key="pos_curves"):
        length = max(2, len(SIDE_OF[stack].of(shown.trace.src, shown.trace.tgt)))
        figure = wavelength_curves(
            {words.ROTARY: 2 * math.pi / found.frequency},
            length,
            shown=words.ROTARY,
            title=words.WAVELENGTHS_OF_PAIRS,
            whose=words.THIS_RUN,
            pairs=bool(found.how.named),
            theme=frame.theme(),
            height=height(460),
        )
        chart(figure, key="pos_turns", alt=words.WAVELENGTHS_ALT)
    with st.container(key="pos_below"):
        text.paragraph(
            words.rotated_curve(_gap(found.error)),
            tone=_tone(found.error, abs(found.product).max(), _step(found)),
        )
        for sentence in turning_in_words(found.how):
            text.paragraph(sentence)
        st.html(rotation_html(found))
        text.paragraph(
            words.turned_here(_gap(found.turned_error)),
            tone=_tone(found.turned_error, max(abs(found.query).max(), abs(found.key).max()), _step(found)),
        )


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


def _products_frame(found: Rotated) -> pd.DataFrame:
    return pd.DataFrame({words.PRODUCT: found.product}, index=pd.Index(found.distance, name=words.DISTANCE))


def rotation_html(found: Rotated) -> str:
    """A row for each pair of dimensions: frequency, both angles, both pairs before and as recorded after it."""
    i, j = found.positions

    def both(values: Sequence[float]) -> str:
        return "<br>".join(html.escape(significant(float(value), 6)) for value in values)

    body = ""
    for pair, frequency in zip(found.how.pairs.tolist(), found.frequency.tolist(), strict=True):
        at = np.array(pair)
        cells = (
            f"{pair[0]}, {pair[1]}",
            html.escape(short(frequency)),
            html.escape(short(2 * math.pi / frequency)),
            html.escape(short(i * frequency)),
            both(found.query[at].tolist()),
            both(found.turned_query[at].tolist()),
            html.escape(short(j * frequency)),
            both(found.key[at].tolist()),
            both(found.turned_key[at].tolist()),
        )
        body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    for feature in found.how.unturned.tolist():
        made = (both([values[feature]]) for values in (found.query, found.turned_query, found.key, found.turned_key))
        query, turned_query, key, turned_key = made
        cells = (f"{feature}", words.NOT_TURNED, "", "", query, turned_query, "", key, turned_key)
        body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    names = "".join(f"<th>{html.escape(name)}</th>" for name in words.pair_head(i, j))
    return f'<table class="vt-steps vt-rotation"><tr>{names}</tr>{body}</table>'


# --- what is added to the scores


def _bias(at: ChosenCell) -> None:
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
    with st.container(key="pos_picture"):
        asked = pictures.table(
            lambda: _bias_frame(bias),
            note=words.bias_note(shown.caption(words.bias_of(site, head))),
            name=labels.file_name(shown.summary.name, site, "bias"),
            key="pos_bias",
        )
        matrix(picture.pack(height=HIGHEST, exact=True, why=()), key="pos_bias", on_table=asked)


def _slopes(at: ChosenCell) -> None:
    """The biases, and the slopes of all heads that they follow: ALiBi."""
    stack, head, found = at.stack, at.head, biases(at.shown.trace, at.site, at.head)
    left, right = st.columns([5, 3], gap="medium")
    with left:
        _bias(at)
    with right, st.container(key="pos_curves"):
        text.section(words.SLOPES)
        st.html(slopes_html(found.slopes, head))
        text.paragraph(words.LAST_COLUMN)
    with st.container(key="pos_below"):
        slope = significant(found.slopes[head], 6)
        text.paragraph(words.slope_of(head, slope, stack, _gap(found.error)), tone=_tone(found.error, 1.0))


def _bias_and_rule(at: ChosenCell) -> None:
    """The recorded biases, what they follow, and one number for each distance or place."""
    found = _bias_rule(at.shown, at.site, at.head)
    left, right = st.columns([5, 3], gap="medium")
    with left:
        _bias(at)
    with right, st.container(key="pos_curves"):
        if found.follows == "distance":
            text.section(words.BIASES)
            st.html(steps_html(found, at.query - at.key))
        elif found.follows != "nothing":
            text.section(words.SLOPES_OF_ALL)
            st.html(place_slopes_html([_bias_rule(at.shown, at.site, head).slope for head in _heads(at)], at.head))
    with st.container(key="pos_below"):
        text.paragraph(bias_in_words(found, at.head))


def _heads(at: ChosenCell) -> range:
    return range(at.shown.trace.spec.attentions[at.site].query)


def bias_in_words(found: BiasRule, head: int) -> str:
    """What the biases of this head follow, over all pairs of positions of this run that may attend."""
    if found.follows == "nothing":
        return words.follows_nothing(head)
    if found.follows == "distance":
        shared = sum(each.last > each.first for each in found.steps)
        return words.follows_distance(head, len(found.steps), int(found.at[0]), int(found.at[-1]), shared)
    return words.follows_key(head, None if found.slope is None else significant(found.slope, 6))


def steps_html(found: BiasRule, distance: int) -> str:
    """The HTML of a row for each range of distances with one bias; the row of the chosen query and key is marked."""
    body = "".join(
        f"<tr{' class=vt-here' if each.first <= distance <= each.last else ''}><th>{_span(each.first, each.last)}</th>"
        f"<td>{html.escape(significant(each.bias, 6))}</td></tr>"
        for each in reversed(found.steps)
    )
    return _headed(words.BIASES_HEAD, body)


def _span(first: int, last: int) -> str:
    return f"{first}" if first == last else words.span(f"{first}", f"{last}")


def place_slopes_html(slopes: Sequence[float | None], head: int) -> str:
    """A row for each head: by how much the bias grows from a key to the next."""
    body = "".join(
        f"<tr{' class=vt-here' if at == head else ''}><th>{at}</th>"
        f"<td>{html.escape(words.NOT_LINEAR if slope is None else significant(slope, 6))}</td></tr>"
        for at, slope in enumerate(slopes)
    )
    return _headed(words.PLACE_SLOPES_HEAD, body)


def _bias_frame(bias: Float32) -> pd.DataFrame:
    return pd.DataFrame(bias, index=pd.RangeIndex(len(bias), name=words.QUERY_ROW), columns=range(len(bias)))


def slopes_html(slopes: Sequence[float], head: int) -> str:
    """A row for each head: its slope, and how far away a weight is halved by the bias alone."""
    body = "".join(
        f"<tr{' class=vt-here' if at == head else ''}><th>{at}</th><td>{html.escape(significant(slope, 6))}</td>"
        f"<td>{html.escape(short(math.log(2) / slope))}</td></tr>"
        for at, slope in enumerate(slopes)
    )
    return _headed(words.SLOPES_HEAD, body)


def _headed(head: Sequence[str], body: str) -> str:
    """A table of these rows below their heads."""
    names = "".join(f"<th>{name}</th>" for name in head)
    return f'<table class="vt-steps"><tr>{names}</tr>{body}</table>'
