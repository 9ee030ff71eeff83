"""Attention as lines from each query at the left to each key at the right, as opaque as the weight."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer import numerals
from viz_transformer.figures import labels, legend
from viz_transformer.figures import theme as themes
from viz_transformer.figures.theme import MOST_HEADS, Theme
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.numerals import significant

MOST_TOKENS = 256
"""More tokens a side than this cannot be told apart as lines."""
MOST_LINES = 20_000
"""The strongest lines are drawn, up to this many."""
OPACITIES = 12
"""Steps of opacity: plotly draws lines of one look in one go."""

_FAINTEST, _GAMMA = 0.06, 0.7  # so that faint lines can be seen
_TOP, _LABEL_COLUMNS, _LARGEST_ROW, _SMALL = 92, 12, 40, 11  # pixels, but for the second
_GOLDEN = (3 - math.sqrt(5)) / 2  # how far along a line its tooltip lies: no two lines cross there


def attention_lines(
    weights: ArrayLike,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    title: str,
    heads: Sequence[str] = (),
    mask: ArrayLike | None = None,
    threshold: float = 0.0,
    kind: KindName = "cross",
    theme: Theme = "light",
    query_writes: Sequence[str] | None = None,
    query_originals: Sequence[str] | None = None,
    key_originals: Sequence[str] | None = None,
    derived: bool = False,
    scale_name: str = "attention weight",
    height: int = 540,
) -> go.Figure:
    """Lines of one head in its kind's colour, grey if derived, or of two to six heads in a colour each.

    weights: [Q, K], or [N, Q, K] with the names of the N maps in `heads`; at least 0 or NaN. mask: [Q, K] or [N, Q, K],
    True = may attend; masked pairs have no line. threshold: lines of smaller weights are hidden. What is not seen is
    said under the title, with the share of the weight that it holds. A weight w is as opaque as 0.06 + 0.94 w^0.7, in
    twelve steps; tooltips have it in full: on a line, and on a token for its strongest line.
    query_writes, query_originals, key_originals, scale_name: as `attention_heatmap` takes them.
    Raises ValueError for shapes, names and tokens that do not fit, more than six maps, several derived ones, more than
    256 tokens a side, and weights below 0 or infinite.
    """
    maps = np.asarray(weights, dtype=np.float32)
    maps = maps[None] if maps.ndim == 2 else maps
    _check(maps, query_tokens, key_tokens, heads, mask, derived)
    allowed = np.broadcast_to(np.asarray(True if mask is None else mask, dtype=bool), maps.shape)
    queries = _Side.of(query_tokens, query_originals, query_writes)
    keys = _Side.of(key_tokens, key_originals)
    lines = _Lines.of(maps, allowed, threshold)
    bottom = legend.space(1)
    place = _Place.of(queries, keys, len(maps), height - _TOP - bottom)
    colors = themes.palette(theme)
    ramp = themes.colorscale(kind, theme, derived=derived)
    inks = list(colors.heads[: len(maps)]) if len(maps) > 1 else [str(ramp[5][1])]
    figure = go.Figure(list(_traces(lines, place, inks, heads)))
    figure.add_traces([_line_tips(lines, place, queries, keys, heads), _token_tips(lines, place, queries, keys, heads)])
    subtitle = {"text": labels.escape(lines.hidden), "font": {"size": 13, "color": colors.muted}}
    figure.update_layout(
        **themes.base_layout(theme),
        title={**themes.title(labels.escape(title), theme), "subtitle": subtitle},
        height=height,
        margin={"l": queries.margin, "r": keys.margin, "t": _TOP, "b": bottom, "pad": 0},
        hovermode="closest",
    )
    _draw_axes(figure, queries, keys, place, kind, theme)
    swatches = [
        f'<span style="color:{ink}">■</span> {labels.escape(name)}' for ink, name in zip(inks, heads, strict=False)
    ]
    opacity = f"opacity: {labels.escape(scale_name)} from 0 to 1"
    legend.draw(figure, [" · ".join([*(swatches if len(maps) > 1 else ()), opacity])], theme)
    return figure


@dataclass(frozen=True)
class _Side:
    """The tokens of one side, what was typed for them, and for queries of a decoder what they write."""

    tokens: tuple[str, ...]
    originals: tuple[str, ...]
    writes: tuple[str, ...] | None

    @classmethod
    def of(cls, tokens: Sequence[str], originals: Sequence[str] | None, writes: Sequence[str] | None = None) -> _Side:
        read = tuple(tokens if originals is None else originals)
        for what, others in (("typed", read), ("written", writes)):
            if others is not None and len(others) != len(tokens):
                raise ValueError(f"{len(others)} {what} tokens do not fit {len(tokens)} tokens")
        return cls(tuple(tokens), read, None if writes is None else tuple(writes))

    def replaced(self, i: int) -> bool:
        """Whether the model reads something else than what was typed; another case of it is the same."""
        return self.originals[i].lower() != self.tokens[i].lower()

    def tick(self, i: int) -> str:
        """What was typed, in small what the model reads where that is something else, and what it writes."""
        parts = [labels.tick(self.originals[i] if self.replaced(i) else self.tokens[i], _LABEL_COLUMNS)]
        parts += [_small(labels.tick(self.tokens[i], _LABEL_COLUMNS))] if self.replaced(i) else []
        parts += [_small(f"→ {labels.tick(self.writes[i], _LABEL_COLUMNS)}")] if self.writes is not None else []
        return f" {' '.join(parts)} "

    def named(self, i: int) -> str:
        """The token in full, for a tooltip."""
        text = _quoted(self.tokens[i])
        if self.originals[i] != self.tokens[i]:
            text += f", typed {_quoted(self.originals[i])}"
        return text if self.writes is None else f"reads {text}, writes {_quoted(self.writes[i])}"

    @property
    def margin(self) -> int:
        """What the widest label needs, in pixels."""
        return 16 + math.ceil(max(legend.CHARACTER * self._width(i) for i in range(len(self.tokens))))

    def _width(self, i: int) -> float:
        """The label in pixels, if characters were as wide as high."""
        wide = 14.0 * max(_columns(self.originals[i] if self.replaced(i) else self.tokens[i]), 4)
        wide += _SMALL * (1 + _columns(self.tokens[i])) if self.replaced(i) else 0
        return wide + (_SMALL * (3 + _columns(self.writes[i])) if self.writes is not None else 0)


def _columns(token: str) -> int:
    return min(_LABEL_COLUMNS, labels.width(labels.visible(token)))


def _small(text: str) -> str:
    return f'<span style="font-size:{_SMALL}px">{text}</span>'


def _quoted(token: str) -> str:
    return f"“{labels.escape(labels.isolated(labels.shorten(labels.visible(token), 200)))}”"


@dataclass(frozen=True, eq=False)
class _Lines:
    """Which pairs [N, Q, K] have a line, and in words what is not seen."""

    weights: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    shown: NDArray[np.bool_]
    hidden: str

    @classmethod
    def of(cls, weights: NDArray[np.float32], allowed: NDArray[np.bool_], threshold: float) -> _Lines:
        finite = np.isfinite(weights)
        lines = finite & allowed
        above = lines & (weights > 0) & (weights >= np.float32(threshold))
        shown = above
        if np.count_nonzero(above) > MOST_LINES:
            order = np.argsort(np.where(above, weights, -1), axis=None, kind="stable")[-MOST_LINES:]
            shown = np.zeros_like(above)
            shown.flat[order] = True
        exact = weights.astype(np.float64)
        drawn, unseen, masked = (exact[where].sum() for where in (shown, lines & ~shown, finite & ~allowed))
        total = drawn + unseen + masked
        few, all_lines = int(np.count_nonzero(shown)), int(np.count_nonzero(lines))
        said = [
            f"threshold {significant(threshold, 6)}: {all_lines - few:,} of {all_lines:,} lines hidden,"
            f" {_percent(unseen, total)} of the weight"
        ]
        if shown is not above:
            said.append(f"only the strongest {MOST_LINES:,} are drawn")
        if masked:
            said.append(f"masked pairs, without a line, hold {_percent(masked, total)}")
        if unknown := int(np.count_nonzero(~finite)):
            said.append(f"{unknown:,} weights are not a number and have no line")
        return cls(weights, allowed, shown, "; ".join(said))

    def value(self, n: int, q: int, k: int) -> str:
        """The weight of a pair in one map, in words."""
        weight = f"weight {labels.escape(labels.share(float(self.weights[n, q, k])))}"
        return weight if self.allowed[n, q, k] else f"masked, {weight}"


def _percent(part: float, whole: float) -> str:
    """Part of a whole, which may be nothing, in percent."""
    return numerals.percent(part / whole if whole else 0)


@dataclass(frozen=True, eq=False)
class _Place:
    """Heights in pixels from the top: of queries, of keys, and how much lower the lines of each map lie."""

    queries: NDArray[np.float32]
    keys: NDArray[np.float32]
    shifts: NDArray[np.float32]
    row: float
    height: float
    thick: float

    @classmethod
    def of(cls, queries: _Side, keys: _Side, maps: int, height: float) -> _Place:
        rows = [min(height / len(side.tokens), _LARGEST_ROW) for side in (queries, keys)]
        heights = [
            ((np.arange(len(side.tokens)) + 0.5) * row).astype(np.float32)
            for side, row in zip((queries, keys), rows, strict=True)
        ]
        narrow = min(rows)
        gap = min(3.0, 0.7 * narrow / maps) if maps > 1 else 0.0
        shifts = ((np.arange(maps) - (maps - 1) / 2) * gap).astype(np.float32)
        thick = 1 if narrow < 6 else 1.4 if narrow < 14 else 2
        return cls(heights[0], heights[1], shifts, narrow, height, thick)


def _traces(lines: _Lines, place: _Place, inks: Sequence[str], heads: Sequence[str]) -> Iterator[go.Scatter]:
    """The lines of each map and each step of opacity as one line with gaps, the faintest first."""
    strength = np.clip(np.nan_to_num(lines.weights), 0, 1) ** _GAMMA
    steps = np.minimum((strength * OPACITIES).astype(int), OPACITIES - 1)
    for step in range(OPACITIES):
        opacity = _FAINTEST + (1 - _FAINTEST) * (step + 0.5) / OPACITIES
        for n, ink in enumerate(inks):
            q, k = np.nonzero(lines.shown[n] & (steps[n] == step))
            if not len(q):
                continue
            gap = np.full(len(q), np.nan, dtype=np.float32)
            left, right = (side + place.shifts[n] for side in (place.queries[q], place.keys[k]))
            yield go.Scatter(
                x=np.stack([np.zeros_like(gap), np.ones_like(gap), gap], axis=-1).ravel(),
                y=np.stack([left, right, gap], axis=-1).ravel(),
                name=labels.escape(heads[n]) if heads else None,
                mode="lines",
                line={"color": ink, "width": place.thick},
                opacity=opacity,
                hoverinfo="skip",
            )


def _line_tips(lines: _Lines, place: _Place, queries: _Side, keys: _Side, heads: Sequence[str]) -> go.Scatter:
    """Unseen points on the lines, one for each pair of tokens: both in full, and the weight in each map."""
    pairs = np.argwhere(lines.shown.any(axis=0))
    return _tips(
        np.full(len(pairs), _GOLDEN, dtype=np.float32),
        place.queries[pairs[:, 0]] * np.float32(1 - _GOLDEN) + place.keys[pairs[:, 1]] * np.float32(_GOLDEN),
        [
            "<br>".join(
                [
                    f"query {q}: {queries.named(q)}",
                    f"key {k}: {keys.named(k)}",
                    *(_of(heads, n, lines.value(n, q, k)) for n in range(len(lines.weights))),
                ]
            )
            for q, k in pairs.tolist()
        ],
    )


def _token_tips(lines: _Lines, place: _Place, queries: _Side, keys: _Side, heads: Sequence[str]) -> go.Scatter:
    """Unseen points at the tokens: the token in full, and in each map its strongest line."""
    weights = np.where(lines.shown, lines.weights, 0)
    texts = []
    for noun, side, other, name, axis in (
        ("query", queries, keys, "key", 2),
        ("key", keys, queries, "query", 1),
    ):
        best = weights.argmax(axis=axis)
        for i in range(len(side.tokens)):
            said = [f"{noun} {i}: {side.named(i)}"]
            for n in range(len(weights)):
                j = int(best[n, i])
                q, k = (i, j) if axis == 2 else (j, i)
                verb = "reads most" if axis == 2 else "most read by"
                line = f"{verb}: {name} {j} {_quoted(other.tokens[j])}, {lines.value(n, q, k)}"
                said.append(_of(heads, n, line if weights[n, q, k] > 0 else "no line"))
            texts.append("<br>".join(said))
    x = np.repeat(np.array([0, 1], np.float32), [len(queries.tokens), len(keys.tokens)])
    return _tips(x, np.concatenate([place.queries, place.keys]), texts)


def _tips(x: NDArray[np.float32], y: NDArray[np.float32], texts: list[str]) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=y,
        mode="markers",
        marker={"size": 12, "opacity": 0},
        customdata=texts,
        hovertemplate="%{customdata}<extra></extra>",
    )


def _of(heads: Sequence[str], n: int, words: str) -> str:
    return f"{labels.escape(heads[n])}: {words}" if len(heads) > 1 else words


def _check(
    maps: NDArray[np.float32],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    heads: Sequence[str],
    mask: ArrayLike | None,
    derived: bool,
) -> None:
    if maps.ndim != 3 or 0 in maps.shape:
        raise ValueError(f"weights have the shape {maps.shape}, lines need [queries, keys] or [heads, queries, keys]")
    if maps.shape[1:] != (len(query_tokens), len(key_tokens)):
        raise ValueError(f"weights {maps.shape} do not fit {len(query_tokens)} query and {len(key_tokens)} key tokens")
    if (heads or len(maps) > 1) and len(heads) != len(maps):
        raise ValueError(f"{len(heads)} names of heads do not fit {len(maps)} maps")
    if len(maps) > MOST_HEADS:
        raise ValueError(f"colours tell at most {MOST_HEADS} heads apart, {len(maps)} were given: choose fewer")
    if derived and len(maps) > 1:
        raise ValueError(f"a derived map is drawn alone, in grey, but {len(maps)} were given: choose one")
    if max(maps.shape[1:]) > MOST_TOKENS:
        raise ValueError(f"lines are drawn for at most {MOST_TOKENS} tokens a side: attention_heatmap shows more")
    if np.any(maps < 0) or np.any(np.isinf(maps)):
        raise ValueError("only finite weights from 0 on can be drawn as lines: some are below 0 or infinite")
    if mask is not None and np.shape(mask) not in (maps.shape, maps.shape[1:]):
        raise ValueError(f"mask {np.shape(mask)} does not have the shape of the weights {maps.shape}")


def _draw_axes(figure: go.Figure, queries: _Side, keys: _Side, place: _Place, kind: KindName, theme: Theme) -> None:
    """Tokens at their heights on both sides, and over them what they are."""
    plain = {"zeroline": False, "showgrid": False, "fixedrange": True, "ticks": "", "tickmode": "array"}
    size = max(8.0, min(14.0, place.row * 0.82))
    inks, nouns = themes.inks(kind, theme), KINDS[kind].sides("source", "target")
    figure.update_xaxes(**plain, tickvals=[], range=[-0.015, 1.015])
    for name, side, middles, ink in (
        ("yaxis", queries, place.queries, inks[0]),
        ("yaxis2", keys, place.keys, inks[1]),
    ):
        every = max(1, math.ceil((size + 1) / (float(middles[0]) * 2)))
        shown = range(0, len(side.tokens), every)
        axis: dict[str, Any] = {
            **plain,
            "range": [place.height, 0],
            "tickvals": [float(middles[i]) for i in shown],
            "ticktext": [side.tick(i) for i in shown],
            "tickfont": {"family": themes.MONO_STACK, "size": size, "color": ink},
        }
        figure.update_layout({name: axis if name == "yaxis" else {**axis, "overlaying": "y", "side": "right"}})
    figure.add_trace(go.Scatter(x=[None], y=[None], yaxis="y2", hoverinfo="skip"))  # an axis needs a trace
    above = {"xref": "paper", "yref": "paper", "y": 1, "yanchor": "bottom", "yshift": 6, "showarrow": False}
    font = {"size": 13, "color": themes.palette(theme).muted}
    left = f"queries: {nouns[0]} tokens" if queries.writes is None else f"queries: {nouns[0]} tokens read → written"
    for text, x, side in (
        (left, 0, queries),
        (f"keys: {nouns[1]} tokens", 1, keys),
    ):
        shift = -side.margin + 4 if x == 0 else side.margin - 4
        figure.add_annotation(text=text, x=x, xanchor="left" if x == 0 else "right", xshift=shift, font=font, **above)
