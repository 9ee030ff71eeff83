"""The middle lines of a ladder: from query and key to the weight, by products, divisor, mask and softmax."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from viz_transformer.analysis.weight.ladder_record import CellRecord, by_key
from viz_transformer.analysis.weight.weight_numbers import Cell, Check, Line, Numbers
from viz_transformer.model.attention import attention_scores
from viz_transformer.model.kinds import KINDS, Side
from viz_transformer.model.masks import PADDING_MASKS, causal_mask
from viz_transformer.model.positions import alibi_slopes
from viz_transformer.running.record import Trace


def products_line(of: CellRecord) -> Line:
    """q times k, dimension by dimension, and the sum."""
    k = of.keys[of.cell.key]
    products = of.q * k
    vectors = (
        Numbers("q", "query", of.q, "dimension"),
        Numbers("k", "key", k, "dimension"),
        Numbers("q\\odot k", "products", products, "dimension"),
        Numbers("\\Sigma", "added up so far", np.cumsum(products), "dimension"),
    )
    return Line("products", vectors, {"dot": float(of.dots[of.cell.key])})


def divisor_line(of: CellRecord) -> Line:
    """The score, beside what the model's own function makes of the recorded query and key."""
    cell, place = of.cell, (slice(None), slice(cell_head := of.cell.head, cell_head + 1))
    query = of.trace[f"{of.site}.query"][place][:, :, cell.query : cell.query + 1]
    key = of.trace[f"{of.site}.key"][place]
    bias = None if of.bias is None else of.trace[f"{of.site}.bias"][place][:, :, cell.query : cell.query + 1]
    recorded = np.asarray(attention_scores(query, key, of.divisor, bias)[0, 0, 0].double().numpy())
    largest = float(np.abs(of.q * of.keys).sum(axis=1).max() / of.divisor)
    at = f"{of.site}.scores[0, {cell.head}, {cell.query}"
    score = float(of.scores[cell.key])
    checks = (
        Check("score", np.asarray(score), recorded[cell.key], f"{at}, {cell.key}], derived", largest),
        Check("scores of the row", of.scores, recorded, f"{at}], derived", largest),
    )
    scalars = {"dot": float(of.dots[cell.key]), "divisor": of.divisor, "s": score}
    if of.bias is None:
        return Line("divisor", (by_key(of, "s", "score", of.scores),), scalars, checks)
    slope = alibi_slopes(of.config.n_heads)[cell.head]
    scalars |= {"bias": float(of.bias[cell.key]), "slope": slope, "distance": float(_distance(of)[cell.key])}
    index = f"{of.site}.bias[0, {cell.head}, {cell.query}]"
    ruled = Check("bias of the row", -slope * _distance(of), of.bias, index)
    vectors = (by_key(of, "b", "bias", of.bias), by_key(of, "s", "score", of.scores))
    return Line("divisor", vectors, scalars, (*checks, ruled))


def _distance(of: CellRecord) -> NDArray[np.float64]:
    """From the query back to each key [K]; to both sides in an encoder, 0 for keys after a decoder's query."""
    back = of.cell.query - np.arange(len(of.keys), dtype=np.float64)
    return np.abs(back) if of.cell.kind == "encoder" else np.maximum(back, 0.0)


def mask_line(of: CellRecord) -> Line:
    """What may be read, by the rules of the config, beside the mask that was recorded."""
    cell = of.cell
    ruled = mask_row(of.trace, cell)
    check = Check(
        "mask of the row",
        ruled.astype(np.float64),
        of.mask.astype(np.float64),
        f"{of.site}.mask[0, 0, {cell.query}]",
    )
    scalars = {"open": float(of.mask[cell.key]), "allowed": float(of.mask.sum()), "keys": float(of.mask.size)}
    scalars |= {"s": float(of.scores[cell.key]), "seen": float(of.seen[cell.key])}
    return Line("mask", (by_key(of, "m", "may attend", of.mask.astype(np.float64)),), scalars, (check,), _reasons(of))


def _reasons(of: CellRecord) -> tuple[str, ...]:
    """Why the cell is masked, as far as the config's rules say it."""
    cell, config = of.cell, of.config
    if of.mask[cell.key]:
        return ()
    reasons = []
    if KINDS[cell.kind].causal and cell.key > cell.query:
        reasons.append("The key comes after the query.")
    swapped = cell.kind == "cross" and config.padding_mask == "key-or-query-swapped-cross"
    if swapped:
        reasons.append(
            "This model's mask of cross-attention has its two sides swapped: a slip that it was trained with."
        )
    elif _is_padding(of.trace, KINDS[cell.kind].keys, cell.key):
        reasons.append("The key is padding.")
    if not swapped and config.padding_mask != "key" and _is_padding(of.trace, KINDS[cell.kind].queries, cell.query):
        reasons.append("The query is padding.")
    return tuple(reasons)


def softmax_line(of: CellRecord) -> Line:
    """The whole row: a weight depends on every score in it."""
    with np.errstate(invalid="ignore"):
        below = of.seen - of.seen.max()
        exponentials = np.exp(below) if of.mask.any() or of.config.mask_fill != "zero-rows" else 0 * of.scores
    vectors = (
        by_key(of, "s-\\max s", "below the largest", below),
        by_key(of, "e", "exponentials", exponentials),
        by_key(of, "w", "weights", of.weights),
    )
    scalars = {"max": float(of.seen.max()), "total": float(exponentials.sum()), "sum": float(of.weights.sum())}
    cell = of.cell
    check = Check(
        "weights of the row",
        of.weights,
        of.row.weights.astype(np.float64),
        f"{of.site}.weights[0, {cell.head}, {cell.query}]",
    )
    return Line("softmax", vectors, scalars, (check,))


def weight_line(of: CellRecord) -> Line:
    cell = of.cell
    w = float(of.weights[cell.key])
    with np.errstate(invalid="ignore"):
        rank = 1 + int((of.weights > of.weights[cell.key]).sum())
    scalars = {
        "w": w,
        "even": 1 / allowed if (allowed := int(of.mask.sum())) else math.nan,
        "rank": float(rank),
        "s": float(of.scores[cell.key]),
    }
    check = of.check("weight", w, f"{of.site}.weights", cell.head, cell.query, cell.key)
    return Line("weight", (by_key(of, "w", "weights", of.weights),), scalars, (check,))


def mask_row(trace: Trace, cell: Cell) -> NDArray[np.bool_]:
    """[K]: what the query may attend to by the config's rules for padding and by causality, worked out from the ids."""
    config = trace.config
    source, target = (
        torch.ones(1, len(side), dtype=torch.bool) if pad is None else torch.tensor([[i != pad for i in side.ids]])
        for side, pad in ((trace.src, config.source_pad), (trace.tgt, config.target_pad))
    )
    rules = PADDING_MASKS[config.padding_mask]
    kind = KINDS[cell.kind]
    queries, keys = kind.sides(source, target)
    mask = (rules.cross_attention if kind.attention == "cross" else rules.self_attention)(queries, keys)
    if kind.causal:
        mask = mask & causal_mask(queries.size(1), keys.size(1))
    return np.asarray(mask[0, 0, cell.query].numpy())


def _is_padding(trace: Trace, side: Side, place: int) -> bool:
    return side.of(trace.src, trace.tgt).ids[place] == side.pad(trace.config)
