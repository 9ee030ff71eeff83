"""Scores of what a head attends to, each with the baseline of even attention and the number of rows averaged."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from viz_transformer import declared, extensions
from viz_transformer.analysis.attention.maps import (
    added_padding,
    layer_count,
    layer_weights,
    sides,
    unseen_layers,
    value_lengths,
)
from viz_transformer.given import TEXT, Accepted, instance, optional, takes
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.running.trace import Tokens, Trace

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Score:
    """One score of all heads of one kind of attention; NaN where no row of the run can have it.

    values: [layers, heads], the mean over n rows, or Kendall's tau of their order. baseline: [layers, heads], what
    attention spread evenly over the allowed keys gives in the same rows. n: [layers, heads], the number of rows.
    formula: a sentence. bounds: the least and the largest value that weights which sum to 1 can have.
    """

    name: str
    values: Floats
    baseline: Floats
    n: NDArray[np.int64]
    formula: str
    bounds: tuple[float, float]

    @property
    def excess(self) -> Floats:
        """Value less baseline: [layers, heads]."""
        return self.values - self.baseline


_SPECIALS = optional(
    Accepted(
        lambda value: (
            isinstance(value, Sequence | np.ndarray) and all(isinstance(each, bool | np.bool_) for each in value)
        ),
        "a list of True and False, one for each token: special_positions makes it",
    )
)


@takes(
    trace=instance("a trace: that of a run, or what vt.trace returns", Trace),
    kind=TEXT,
    source_special=_SPECIALS,
    target_special=_SPECIALS,
)
def head_scores(
    trace: Trace,
    kind: KindName,
    *,
    source_special: Sequence[bool] | None = None,
    target_special: Sequence[bool] | None = None,
    weighed: Iterable[tuple[NDArray[np.float32], Booleans]] | None = None,
) -> tuple[Score, ...]:
    """The scores of all heads of one kind of attention: "entropy", "distance", "diagonal", "previous token", "first
    token", "end token", for cross-attention "monotonicity", and "contribution / weight"; first those that other
    packages add (`extensions.py`). Of one text they are noise: `n` says how many rows. A layer with fewer heads than
    another has NaN and 0 rows in the places of the others, and so has one that was not seen.

    A row counts if it is no padding that the run added and may attend to something. Masked cells are no keys. Weights
    are taken as recorded: a row that no longer sums to 1 after an edit or dropout is not renormalised. Weights of NaN
    give NaN. Where contributions are undefined (`contribution_norms` says when), no row has "contribution / weight".
    source_special, target_special: True at start, end and padding tokens, which a trace does not know
    (`special_positions` does). Each kind needs those of the sides that it reads.
    weighed: weights and mask of each recorded layer, as `layer_weights` returns them, where the caller has them
    already. Raises ValueError for a kind that the model lacks, and for specials that are missing or do not fit.
    """
    layers = layer_count(trace, kind)
    unseen = unseen_layers(trace, kind)
    heads = max(trace.spec.heads(kind, layer).query for layer in range(layers) if layer not in unseen)
    layout = _layout(trace, kind, source_special, target_special)
    lengths = [_lengths(trace, kind, layer) for layer in range(layers)]
    measures = _list_measures(layout, max((float(each.max()) for each in lengths if each is not None), default=0.0))
    values, baseline = ({name: np.full((layers, heads), np.nan) for name in measures} for _ in range(2))
    n = {name: np.zeros((layers, heads), dtype=np.int64) for name in measures}
    failed: dict[str, str] = {}
    seen = [layer for layer in range(layers) if layer not in unseen]
    weighed = (layer_weights(trace, kind, layer) for layer in seen) if weighed is None else weighed
    for layer, (weights, mask) in zip(seen, weighed, strict=True):  # [H, Q, K]
        own, opened = lengths[layer], None
        for head in range(len(weights)):
            if opened is None or mask.strides[0]:  # a mask shared by all heads is analysed once
                opened = _Open.of(mask[head], layout)
            rows = _Rows.of(weights[head], opened, layout, None if own is None else own[head])
            for name, measure in measures.items():
                try:
                    found = measure.of(rows)
                except _ScoreFailed as error:
                    found, failed[name] = _NO_VALUE, str(error)
                values[name][layer, head], baseline[name][layer, head], n[name][layer, head] = found
    return tuple(
        Score(name, values[name], baseline[name], n[name], failed.get(name, measure.formula), measure.bounds)
        for name, measure in measures.items()
    )


@dataclass(frozen=True, eq=False)
class _Layout:
    """The token positions and flags that the scores of one kind of attention need."""

    kind: KindName
    counted: Booleans  # [Q]: no padding
    distance: Floats  # [Q, K]
    query_words: Booleans  # [Q]: neither special nor padding
    key_words: Booleans  # [K]
    end: int | None  # the end token among the keys
    farthest: float


@dataclass(frozen=True, eq=False)
class _Open:
    """The R rows of a head that count, and which keys they may read."""

    queries: NDArray[np.int64]  # [R]: their positions
    allowed: Booleans  # [R, K]
    each: Floats  # [R, K]: 1 where allowed, else 0
    share: Floats  # [R]: 1 / allowed keys
    distance: Floats  # [R, K]
    even_distance: Floats  # [R]: the mean over the allowed keys

    @property
    def even(self) -> Floats:
        """[R, K]: weight spread evenly over the allowed keys."""
        return self.each * self.share[:, None]

    @classmethod
    def of(cls, mask: Booleans, layout: _Layout) -> _Open:
        queries = np.flatnonzero(layout.counted & mask.any(axis=-1))
        allowed, distance = _select_rows(mask, queries), _select_rows(layout.distance, queries)
        each = allowed.astype(np.float64)
        share = 1 / each.sum(axis=-1)
        return cls(queries, allowed, each, share, distance, np.einsum("qk,qk->q", each, distance) * share)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The R rows of one head that count."""

    weights: Floats  # [R, K]; 0 in masked cells
    open: _Open
    layout: _Layout
    lengths: Floats | None  # [K]: what a weight of 1 on the key adds; None where that is undefined

    @classmethod
    def of(cls, weights: NDArray[np.float32], opened: _Open, layout: _Layout, lengths: Floats | None) -> _Rows:
        counted = _select_rows(weights, opened.queries).astype(np.float64)
        np.copyto(counted, 0.0, where=~opened.allowed)
        return cls(counted, opened, layout, lengths)

    @property
    def allowed(self) -> Booleans:
        return self.open.allowed

    @property
    def share(self) -> Floats:
        return self.open.share

    @property
    def queries(self) -> NDArray[np.int64]:
        return self.open.queries


def _select_rows(values: NDArray[Any], queries: NDArray[np.int64]) -> NDArray[Any]:
    """The selected rows; the array itself, not a copy, if all are selected."""
    return values if len(queries) == len(values) else values[queries]


CONTRIBUTION = "contribution / weight"

_Result = tuple[float, float, int]  # value, baseline, number of rows
_NO_VALUE: _Result = (np.nan, np.nan, 0)


class _ScoreFailed(Exception):
    """A sentence on the score of another package."""


class _Measure(NamedTuple):
    """One score: its function of a head's rows, its formula in words, and its bounds."""

    of: Callable[[_Rows], _Result]
    formula: str
    bounds: tuple[float, float]


def _list_measures(layout: _Layout, longest: float) -> dict[str, _Measure]:
    """The measures for this kind of attention, by score name. longest: the largest length of all heads."""
    cross = layout.kind == "cross"
    distance = "|i/T - j/S|, T and S the numbers of target and source tokens without padding" if cross else "|i - j|"
    same = "the source position with the query's own number" if cross else "the query's own position"
    before = "the source position one before the query's number" if cross else "the position before the query's"
    measures = {
        "entropy": _Measure(
            _entropy,
            "-sum_j w_ij ln w_ij over the allowed keys, divided by ln(number of allowed keys): 0 = one key, 1 = even;"
            " rows with two or more allowed keys",
            (0.0, 1.0),
        ),
        "distance": _Measure(
            _mean_distance, f"sum_j w_ij d_ij with d_ij = {distance}; all rows", (0.0, layout.farthest)
        ),
        "diagonal": _make_mass_measure(lambda rows: rows.queries, same),
        "previous token": _make_mass_measure(lambda rows: rows.queries - 1, before),
        "first token": _make_mass_measure(lambda rows: np.zeros_like(rows.queries), "position 0"),
        "end token": _make_mass_measure(
            lambda rows: np.full_like(rows.queries, -1 if layout.end is None else layout.end), "the end token"
        ),
    }
    if cross:
        measures["monotonicity"] = _Measure(
            _monotonicity,
            "Kendall's tau-b of the query position i and the mean source position sum_j j w_ij / sum_j w_ij, special"
            " tokens left out on both sides: 1 = reads on and on, -1 = backwards; baseline 0, no order",
            (-1.0, 1.0),
        )
    measures[CONTRIBUTION] = _Measure(
        _contribution,
        "sum_j c_ij / sum_j w_ij over the allowed keys, c_ij = |w_ij v_j W_O| the contribution of key j: the length"
        " that a weight of 1 adds where this head puts it, on average; baseline the mean |v_j W_O|; rows with weight",
        (0.0, longest),
    )
    for name in extensions.list_extensions(extensions.SCORES):
        if name in measures:
            listed, taken = extensions.refuse_taken_name(extensions.SCORES, name)
            measures[listed] = _make_empty_measure(taken)
        else:
            measures[name] = _make_extension_measure(name)
    return measures


def _make_empty_measure(why: extensions.Broken) -> _Measure:
    return _Measure(lambda rows: _NO_VALUE, why.why, (-math.inf, math.inf))


def _make_extension_measure(name: str) -> _Measure:
    """The measure of another package; one that raises has no value, and its formula says why.

    Its function gets weights [R, K], 0 in masked cells, and which keys each row may read, and returns a number for each
    row; the baseline is its value for even weights.
    """
    score = extensions.load_extension(extensions.SCORES, name)
    if not callable(score):
        return _make_empty_measure(extensions.as_broken(score, extensions.SCORES, name, "a function"))

    def of(rows: _Rows) -> _Result:
        try:
            found = [np.asarray(score(each, rows.allowed), np.float64) for each in (rows.weights, rows.open.even)]
        except Exception as error:  # whatever a function of another package does
            raise _ScoreFailed(f"The score {name!r} fails: {type(error).__name__}: {error}") from error
        if any(each.shape != rows.queries.shape for each in found):
            raise _ScoreFailed(f"The score {name!r} does not return one number for each of {len(rows.queries)} rows.")
        return _mean(*found)

    return _Measure(of, (inspect.getdoc(score) or name).splitlines()[0], (-math.inf, math.inf))


def _make_mass_measure(keys: Callable[[_Rows], NDArray[np.int64]], name: str) -> _Measure:
    """The measure of the weight on one key of each row."""
    there = "rows in which that key is there and allowed"
    formula = f"weight on {name}; baseline 1 / number of allowed keys; {there}"
    return _Measure(lambda rows: _mass(rows, keys(rows)), formula, (0.0, 1.0))


def _entropy(rows: _Rows) -> _Result:
    """Entropy divided by its maximum; zero weights count as 0, the limit of p log p. Source: Shannon (1948)."""
    several = rows.share < 1
    weights = _select_rows(rows.weights, np.flatnonzero(several))
    terms = np.zeros_like(weights)
    with np.errstate(invalid="ignore"):
        np.log(weights, out=terms, where=weights != 0)
    return _mean(0.0 - np.einsum("qk,qk->q", weights, terms) / -np.log(rows.share[several]), np.ones(len(weights)))


def _mean_distance(rows: _Rows) -> _Result:
    return _mean(np.einsum("qk,qk->q", rows.weights, rows.open.distance), rows.open.even_distance)


def _mass(rows: _Rows, keys: NDArray[np.int64]) -> _Result:
    """The weight on one key of each row, keys: [R], where there is such a key and it is allowed."""
    there = np.flatnonzero((keys >= 0) & (keys < rows.weights.shape[1]))
    there = there[rows.allowed[there, keys[there]]]
    return _mean(rows.weights[there, keys[there]], rows.share[there])


def _monotonicity(rows: _Rows) -> _Result:
    """Kendall's tau of each query's mean key position, over words only; an offset of the positions changes nothing."""
    words = rows.weights[rows.layout.query_words[rows.queries]][:, rows.layout.key_words]
    total = words.sum(axis=-1)
    words, total = words[total != 0], total[total != 0]
    positions = (words * np.flatnonzero(rows.layout.key_words)).sum(axis=-1) / total
    return kendall_tau(positions), 0.0 if len(positions) > 1 else np.nan, len(positions)


def _contribution(rows: _Rows) -> _Result:
    """Length added by a head's weights, relative to even weights. Source: Kobayashi et al. (2020)."""
    if rows.lengths is None:
        return _mean(np.empty(0), np.empty(0))
    total = rows.weights.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = rows.weights @ rows.lengths / total
    even = rows.open.each @ rows.lengths * rows.share
    return _mean(values[total != 0], even[total != 0])


def _lengths(trace: Trace, kind: KindName, layer: int) -> Floats | None:
    """Length of the vector that a weight of 1 on each key adds, per head, [H, K]; None if undefined or not recorded."""
    try:
        return value_lengths(trace, kind, layer)
    except ValueError:
        return None


@dataclass(frozen=True)
class KeyShares:
    """One key's share of a head's attention: means over the n rows in which it is allowed and anything is added.

    weight: share of the weight. even: the share under even attention. contribution: share of the summed contribution
    lengths of all allowed keys.
    """

    name: str
    position: int
    weight: float
    even: float
    contribution: float
    n: int


def key_shares(
    trace: Trace,
    kind: KindName,
    layer: int,
    head: int,
    *,
    source_special: Sequence[bool] | None = None,
    target_special: Sequence[bool] | None = None,
) -> tuple[KeyShares, ...]:
    """The key shares of the first token and of the end token, if there is one among the keys.

    Much weight alone does not say that a head does nothing: what it reads there may be long, or next to nothing.
    Arguments and rows as in `head_scores`. Raises ValueError as `contribution_norms` does, and for specials that are
    missing or do not fit.
    """
    lengths = value_lengths(trace, kind, layer)
    layout = _layout(trace, kind, source_special, target_special)
    weights, mask = layer_weights(trace, kind, layer)
    declared.place("head", head, len(weights))
    rows = _Rows.of(weights[head], _Open.of(mask[head], layout), layout, lengths[head])
    added = rows.weights * lengths[head]
    found = []
    for name, key in (("first token", 0), ("end token", layout.end)):
        if key is None:
            continue
        counted = rows.allowed[:, key] & (added.sum(axis=-1) != 0)
        if n := int(counted.sum()):
            share = added[counted, key] / added[counted].sum(axis=-1)
            weight, even = rows.weights[counted, key].mean(), rows.share[counted].mean()
            found.append(KeyShares(name, key, float(weight), float(even), float(share.mean()), n))
    return tuple(found)


def kendall_tau(values: Floats) -> float:
    """Kendall's tau-b of the values [n] with their own order: 1 = they rise, -1 = they fall; NaN if all are equal.

    Pairs of equal values count for neither side and shrink the denominator: (C - D) / sqrt(P (P - E)) for P pairs, of
    which C rise, D fall and E are equal. Source: Kendall (1945), "The treatment of ties in ranking problems".
    """
    signs = np.triu(np.sign(values[None, :] - values[:, None]))
    pairs, different = len(values) * (len(values) - 1) // 2, np.count_nonzero(signs)
    return float(signs.sum() / np.sqrt(pairs * different)) if different else np.nan


def _mean(values: Floats, baseline: Floats) -> _Result:
    return (float(values.mean()), float(baseline.mean()), len(values)) if len(values) else (np.nan, np.nan, 0)


def _layout(
    trace: Trace, kind: KindName, source_special: Sequence[bool] | None, target_special: Sequence[bool] | None
) -> _Layout:
    queries, keys = sides(trace, kind)
    facts, given = KINDS[kind], KINDS[kind].sides(source_special, target_special)
    query_special, key_special = (
        _special(given[0], queries, facts.queries.name),
        _special(given[1], keys, facts.keys.name),
    )
    i, j = np.arange(len(queries))[:, None], np.arange(len(keys))[None, :]
    if kind == "cross":
        read = len(keys) - int(np.count_nonzero(added_padding(keys)))
        distance = np.abs(i / (len(queries) - np.count_nonzero(added_padding(queries))) - j / read)
        farthest = max(1.0, (len(keys) - 1) / read)  # padding, where it may be attended to, lies beyond the end
    else:
        distance, farthest = np.abs(i - j).astype(np.float64), float(len(keys) - 1)
    return _Layout(
        kind=kind,
        counted=~added_padding(queries),
        distance=distance,
        query_words=~(query_special | added_padding(queries)),
        key_words=~(key_special | added_padding(keys)),
        end=_end_position(keys, key_special, facts.keys.pad(trace.spec)),
        farthest=farthest,
    )


def _special(given: Sequence[bool] | None, side: Tokens, name: str) -> Booleans:
    if given is None or len(given) != len(side):
        what = "is missing" if given is None else f"has {len(given)} entries"
        raise ValueError(f"{name}_special {what}: give True or False for each of the {len(side)} {name} tokens")
    return np.array(given, dtype=bool)


def _end_position(side: Tokens, special: Booleans, pad: int | None) -> int | None:
    """Position of the end token, the last before the padding; None if that is a word or the only token."""
    tokens = [i for i, typed in enumerate(side.originals) if typed != "" and side.ids[i] != pad]
    return tokens[-1] if tokens and tokens[-1] > 0 and special[tokens[-1]] else None
