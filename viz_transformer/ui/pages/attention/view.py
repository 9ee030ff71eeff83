"""Parts of the Attention page: kinds and switches, all heads as thumbnails, lines and text, and the heads' scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from viz_transformer.analysis.attention.head_scores import Score, head_scores, key_shares
from viz_transformer.analysis.attention.maps import (
    attention_kinds,
    describe_spread,
    explain_recomputation,
    head_view,
    layer_count,
    layer_weights,
    sides,
    step_row,
    unseen_layers,
    valid_mask,
)
from viz_transformer.analysis.attention.picture import Meta, Picture
from viz_transformer.analysis.attention.sharing import describe_heads, find_sharing_heads, sharing
from viz_transformer.analysis.attention.specials import special_positions
from viz_transformer.figures import labels
from viz_transformer.figures.components.grid import GridScore, HeadMaps, grid_payload, open_thumbnails, thumbnails
from viz_transformer.figures.theme import MAX_HEADS
from viz_transformer.model.hooked_model import Heads
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.numerals import percent
from viz_transformer.sentences import capitalised
from viz_transformer.ui.components.pictures import grid, lines, shading
from viz_transformer.ui.frame import controls, maps, pictures, text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.questions import EVEN, open_cells, place_of, there, token_at, where
from viz_transformer.ui.pages.attention import words
from viz_transformer.ui.pages.attention.fields import FIELDS
from viz_transformer.ui.session import state
from viz_transformer.ui.session.fields import OPTIONS
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView


def choices(both: Runs) -> None:
    """Draw the controls: kind of attention, layer, head, and how the map is shown."""
    chosen, spec = state.SHARED.now(), both.main.trace.spec
    with st.container(horizontal=True, key="choices", vertical_alignment="bottom"):
        controls.kind(attention_kinds(both.main.trace), key="attention_kind")
        kind = KINDS[chosen.kind]
        here = spec.attentions.get(kind.site(chosen.layer))  # None if that layer was not recorded
        heads = max(each.query for each in spec.attentions.values()) if here is None else here.query
        controls.layer_and_head(kind.layers(spec), heads, page="attention", words=(*controls.TOGETHER,))
        with st.popover(words.options(len(chosen.options)), key="switches_box"):
            for option, (label, explained) in words.SWITCHES.items():
                controls.switch(label, option, "options", OPTIONS, key=f"attention_{option}", help=explained)
            controls.rows(both, key="attention_rows")


def head_grid(shown: RunView, of: str = "") -> None:
    """Draw all heads of the kind as thumbnails, sortable by score, with the table of scores.

    of: the run's letter, where there are two. Draws nothing if no layer was recorded; `not_seen` says why.
    """
    kind = state.SHARED.now().kind
    if len(unseen_layers(shown.trace, kind)) == layer_count(shown.trace, kind):
        return
    asked = pictures.table(
        lambda: score_table(_scores(shown, kind)),
        note=f"{_caption(shown, words.HEAD_SCORES, kind)}. {words.TABLE_OF_SCORES}",
        name=labels.file_name(shown.summary.name, "scores", kind),
        key="attention_grid",
    )
    grid(_pack_grid(shown, kind, of), key="attention_grid", on_table=asked)


@dataclass(frozen=True, eq=False)
class _Heads:
    """All heads of a kind: their scores, and thumbnails [H, q, k] of each layer's weights, mask and valid cells."""

    scores: tuple[Score, ...]
    weights: tuple[NDArray[np.float32], ...]
    mask: tuple[NDArray[np.bool_], ...]
    there: tuple[NDArray[np.bool_], ...]


@memoize(64)
def _heads(shown: RunView, kind: KindName) -> _Heads:
    """The heads, computed one layer at a time, so that only one layer's derived weights are in memory."""
    there = valid_mask(shown.trace, kind)
    small: list[_Small] = []
    some = np.True_ if there is None else open_thumbnails(there)

    unseen = unseen_layers(shown.trace, kind)
    queries, keys = map(len, sides(shown.trace, kind))
    blank = thumbnails(np.zeros((1, queries, keys), dtype=np.float32))

    def weighed() -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
        for layer in range(layer_count(shown.trace, kind)):
            if layer in unseen:
                small.append((blank, np.ones(blank.shape, dtype=bool), np.zeros(blank.shape, dtype=bool)))
                continue
            weights, mask = layer_weights(shown.trace, kind, layer)
            yield weights, mask
            if describe_spread(shown.trace, KINDS[kind].site(layer)) == "signed":
                weights = np.abs(weights)
            one = np.ascontiguousarray(mask[:1]) if not mask.strides[0] else mask
            opened = open_thumbnails(one)
            made = thumbnails(weights, there)
            small.append((made, np.broadcast_to(opened, made.shape), np.broadcast_to(some, made.shape)))

    scores = head_scores(shown.trace, kind, **_specials(shown), weighed=weighed())
    return _Heads(scores, *zip(*_pad_heads(small), strict=True))


@memoize(32)
def _pack_grid(shown: RunView, kind: KindName, of: str) -> bytes:
    """The payload of the grid."""
    found = _heads(shown, kind)
    queries, keys = sides(shown.trace, kind)
    unseen, own = unseen_layers(shown.trace, kind), shown.trace.spec
    seen = [KINDS[kind].site(layer) for layer in range(len(found.weights)) if layer not in unseen]
    signed = any(describe_spread(shown.trace, site) == "signed" for site in seen)
    heads = HeadMaps(
        kind,
        found.weights,
        mask=np.stack(found.mask),
        valid=np.stack(found.there),
        key_heads=_key_heads([own.attentions[site] for site in seen]),
        tokens=(len(queries), len(keys)),
    )
    meta = Meta(
        words.all_heads(KINDS[kind].words, of),
        _caption(shown, words.ALL_HEADS, kind),
        labels.file_name(shown.summary.name, "heads", kind),
        unit=words.SIZE_OF_WEIGHT if signed else words.ATTENTION_WEIGHT,
    )
    scores = [GridScore(score.name, score.values, score.baseline, score.n, score.formula) for score in found.scores]
    return grid_payload(heads, meta, scores, compact=True)


def _key_heads(layers: Sequence[Heads]) -> int | None:
    """The number of key heads per layer; None if layers differ."""
    found = {(each.query, each.key) for each in layers}
    return layers[0].key if len(found) == 1 else None


def shared_keys(shown: RunView) -> None:
    """Say which heads of the layer share keys and values, with a button for those of the chosen head."""
    chosen = state.SHARED.now()
    heads = shown.trace.spec.attentions.get(KINDS[chosen.kind].site(chosen.layer))
    said = None if heads is None else sharing(heads)
    if heads is None or said is None:
        return
    keys = len(KINDS[chosen.kind].sides(shown.trace.src, shown.trace.tgt)[1])
    text.paragraph(words.key_heads(said, keys, heads.size))
    if not isinstance(chosen.heads, str):
        group = find_sharing_heads(heads, chosen.heads[0], MAX_HEADS)
        if group != chosen.heads and len(group) > 1:
            label = words.beside_each_other(describe_heads(range(group[0], group[-1] + 1)))
            st.button(label, type="tertiary", key="attention_shared", on_click=state.select, kwargs={"heads": group})


def not_seen(shown: RunView) -> None:
    """Say why the rows of unrecorded layers are blank, except for the chosen layer, whose map says so."""
    chosen = state.SHARED.now()
    for layer, why in unseen_layers(shown.trace, chosen.kind).items():
        if layer != chosen.layer:
            text.paragraph(capitalised(f"{why}."))


_Small = tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]]
"""Thumbnails [H, q, k] of a layer: weights, mask, and valid cells."""


def _pad_heads(layers: Sequence[_Small]) -> list[_Small]:
    """The layers padded to the largest number of heads; padded heads are invalid everywhere."""
    heads = max(len(weights) for weights, _, _ in layers)
    found = []
    for weights, mask, cells in layers:
        lacking = [(0, heads - len(weights)), (0, 0), (0, 0)]
        found.append((np.pad(weights, lacking), np.pad(mask, lacking), np.pad(cells, lacking)))
    return found


def _caption(shown: RunView, what: str, kind: KindName) -> str:
    return shown.caption(words.of_kind(what, KINDS[kind].words), rows=KINDS[kind].writes)


def score_table(scored: Sequence[Score]) -> pd.DataFrame:
    """The scores of all heads, each with its baseline and number of rows."""
    layers, heads = scored[0].values.shape
    places = pd.MultiIndex.from_product([range(layers), range(heads)], names=[words.LAYER, words.HEAD])
    columns: dict[str, Any] = {}
    for score in scored:
        columns[score.name] = score.values.ravel()
        columns[words.column_if_even(score.name)] = score.baseline.ravel()
        columns[words.column_of_rows(score.name)] = score.n.ravel()
    return pd.DataFrame(columns, index=places)


def _scores(shown: RunView, kind: KindName) -> tuple[Score, ...]:
    """The scores of all heads of a kind in this run."""
    return _heads(shown, kind).scores


def _specials(shown: RunView) -> dict[str, tuple[bool, ...]]:
    """Masks of special tokens, as arguments for the scores."""
    return {
        "source_special": special_positions(shown.trace.src, shown.ckpt.source_codec),
        "target_special": special_positions(shown.trace.tgt, shown.ckpt.target_codec),
    }


def origin(both: Runs) -> None:
    """Say how the weights were computed, if the run itself did not."""
    looked_at = (both.a, both.b) if both.compared else (both.main,)
    kind = state.SHARED.now().kind
    made = {each.name: found for each in looked_at if each and (found := explain_recomputation(each.trace, kind))}
    if made:
        text.paragraph(words.computed_from(next(iter(made.values())), [*made] if both.b is not None else []))


def panel(both: Runs, picture: Picture) -> None:
    """Draw the same map as lines or as shaded text, or contributions beside weights and vice versa."""
    names = words.panels(maps.CONTRIBUTION in state.SHARED.now().options)
    controls.buttons(words.BESIDE_THE_MAP, names, "panel", key="attention_panel", hidden=True)
    if FIELDS.now().panel == "contribution":
        _draw_other_map(both)
    elif picture.meta.quantity == "weight" and picture.meta.signed:
        text.paragraph(words.NEGATIVE_WEIGHTS)
    elif picture.meta.signed:
        text.paragraph(words.NO_DIFFERENCE)
    elif picture.meta.quantity != "weight":
        text.paragraph(words.NO_CONTRIBUTIONS)
    elif FIELDS.now().panel == "lines":
        several = picture.heads if picture.meta.scale != "derived" else None
        drawn = replace(picture, heads=several).with_meta(name=f"{picture.meta.name}-lines")
        lines(drawn.pack_lines(title=words.LINES), key="attention_lines")
    else:
        drawn = picture.with_meta(title=words.TEXT, name=f"{picture.meta.name}-text")
        shading(drawn.pack_text(), key="attention_text")


def _draw_other_map(both: Runs) -> None:
    """Draw contributions beside weights, or weights beside contributions, of the same selection."""
    chosen = state.SHARED.now()
    if chosen.heads == "rollout":
        text.paragraph(words.ROLLOUT_HAS_NONE)
        return
    switched = tuple({*chosen.options} ^ {maps.CONTRIBUTION})
    try:
        other = pictures.select_picture(both, switched)
    except ValueError as error:
        text.paragraph(f"{error}.", tone="bad")
        return
    title = words.CONTRIBUTION if maps.CONTRIBUTION in switched else words.WEIGHT
    derived = other.meta.scale == "derived"
    # in words that a narrow picture has room for
    unit = words.map_unit(other.meta.quantity, derived)
    other = other.with_meta(title=words.map_title(title, other.meta.signed), unit=unit)
    pictures.matrix_of(other, key="attention_beside")


def scores(shown: RunView, of: str = "") -> None:
    """Draw the selected head's scores, each with its baseline and number of rows; `of` as above."""
    chosen = state.SHARED.now()
    heads, layer = chosen.heads, chosen.layer
    if layer in unseen_layers(shown.trace, chosen.kind):
        return  # the panel beside the heads says why
    if isinstance(heads, str):
        text.paragraph(words.SCORES_NEED_A_HEAD)
        return
    head = heads[0]
    rows = []
    for score in _scores(shown, chosen.kind):
        value, baseline, n = score.values[layer, head], score.baseline[layer, head], int(score.n[layer, head])
        numbers = [labels.number(float(each), 3) if n else words.NO_SCORE for each in (value, baseline)]
        rows.append((score.name, *numbers, str(n)))
    text.section(words.scores_of(layer, head, of))
    st.html(text.table(rows, head=words.SCORE_HEAD, style="vt-facts vt-numbers"))
    text.paragraph(words.ABOUT_SCORES)
    unknown = np.isnan(head_view(shown.trace, chosen.kind, layer, head).weights)
    there = valid_mask(shown.trace, chosen.kind)
    if lost := int((unknown if there is None else unknown & there).any(axis=-1).sum()):
        text.paragraph(words.not_numbers(lost, len(unknown)))
    _draw_special_tokens(shown, chosen.kind, layer, head)


def _draw_special_tokens(shown: RunView, kind: KindName, layer: int, head: int) -> None:
    """Draw the contributions of the first and the end token, if one has more than an even share of the weight."""
    try:
        found = key_shares(shown.trace, kind, layer, head, **_specials(shown))
    except ValueError:
        return  # contributions are undefined here, which the panel beside the map says
    rows = [
        (each.name, labels.share(each.weight, 3), labels.share(each.contribution, 3), str(each.n))
        for each in found
        if each.weight > each.even
    ]
    if rows:
        text.section(words.key_shares_of([name for name, *_ in rows]))
        st.html(text.table(rows, head=words.KEY_HEAD, style="vt-facts vt-numbers"))
        text.paragraph(words.ABOUT_KEYS)


def at_stop(
    shown: RunView, picture: Picture, kind: KindName, layer: int, heads: tuple[int, ...] | str, position: int
) -> tuple[str, ...]:
    """The sentences at the tour's stop: the key with most of the chosen row's weight, and the next one; for any other
    map than one head's weights, the page's question and answer."""
    row = place_of(picture.rows, position)
    if row is None:
        return (words.LEFT_OUT,)
    values = picture.values[row].astype(np.float64)
    free = open_cells(picture, row)
    strange = there(picture, row) & ~np.isfinite(values)
    meta = picture.meta
    plain = meta.quantity == "weight" and meta.bounded and meta.adds_up and not meta.signed
    if isinstance(heads, str) or len(heads) > 1 or not plain or strange.any() or not (values[free] > 0).any():
        found = where(shown, picture, position, heads)
        return () if found is None else (f"{found.asks} {found.answer}",)
    step = position - step_row(shown.run, 0)
    when = words.reading(token_at(picture.rows.reads, row))
    if picture.rows.writes is not None and 0 <= step < len(shown.run.steps) and not shown.run.steps[step].forced:
        when = words.writing(token_at(picture.rows.writes, row))
    who = words.a_head(heads[0], KINDS[kind].stack, layer)
    best, *others = np.argsort(np.where(free, -values, np.inf), kind="stable")[: max(1, int(free.sum()))]
    key, share = token_at(picture.columns.reads, int(best)), float(values[best])
    if not others:
        return (words.looked_at_one(when, who, key, percent(share)),)
    said = words.looked(when, who, key, percent(share))
    if free.sum() > 2 and share < EVEN / free.sum():
        said = words.looked_evenly(when, who, int(free.sum()), key, percent(share))
    following = int(others[0])
    return said, words.next_came(token_at(picture.columns.reads, following), percent(float(values[following])))
