"""One weight: the way from two tokens through one cell of one head to the residual stream, line by line in float64.

Each line is worked out from what the run recorded and from the model's parameters, and is set beside what the run
recorded for it. From query and key to the head's output the float64 numbers go on from line to line; every other line
starts from recorded float32 numbers, so that rounding does not add up. Written out with numpy; the model's own
functions give only the rules of the mask, and the float32 scores, which no run records. Source of the formulas: Vaswani
et al. (2017), equation 1 and section 3.2.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from viz_transformer.analysis.attention import layer_count, sides
from viz_transformer.analysis.weight_numbers import (
    Cell,
    Check,
    Floats,
    Line,
    Map,
    Numbers,
    Parameters,
    Row,
    Shape,
    masked_softmax,
)
from viz_transformer.config import ModelConfig
from viz_transformer.model.attention import attention_scores
from viz_transformer.model.masks import PADDING_MASKS, causal_mask
from viz_transformer.record import Trace

LINES = (
    *("token", "stream", "norm", "maps", "shapes", "query", "key", "products", "divisor", "mask", "softmax"),
    *("weight", "value", "head", "merge", "output", "residual"),
)
"""The names of the lines, from the tokens on."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """All lines of one cell, and the row that it stands in."""

    cell: Cell
    lines: Mapping[str, Line]
    row: Row

    @property
    def weight(self) -> float:
        """The weight, worked out in float64."""
        return self.lines["weight"].scalars["w"]

    @property
    def agrees(self) -> bool:
        return all(line.agrees for line in self.lines.values())


def ladder(trace: Trace, learned: Parameters, cell: Cell) -> Ladder:
    """Every line of one cell. `learned`: the parameters of the cell's attention in the model that made the trace.

    Raises ValueError for a kind, layer, head or position that the trace does not have.
    """
    check_cell(trace, cell)
    made = _Maker(trace, learned, cell)
    lines = {name: getattr(made, f"line_{name}")() for name in LINES}
    return Ladder(cell, lines, made.row)


def check_cell(trace: Trace, cell: Cell) -> None:
    """Raise ValueError for a cell that the trace does not have."""
    counts = [("layer", cell.layer, layer_count(trace, cell.kind)), ("head", cell.head, trace.config.n_heads)]
    counts += [
        (f"{name} position", place, len(side))
        for (name, place), side in zip((("query", cell.query), ("key", cell.key)), sides(trace, cell.kind), strict=True)
    ]
    for name, given, count in counts:
        if not 0 <= given < count:
            raise ValueError(f"there is no {name} {given}: {name}s go from 0 to {count - 1}")


def mask_row(trace: Trace, cell: Cell) -> NDArray[np.bool_]:
    """[K]: what the query may attend to by the config's rules for padding and by causality, worked out from the ids."""
    config = trace.config
    source, target = (
        torch.ones(1, len(side), dtype=torch.bool) if pad is None else torch.tensor([[i != pad for i in side.ids]])
        for side, pad in ((trace.src, config.source_pad), (trace.tgt, config.target_pad))
    )
    rules = PADDING_MASKS[config.padding_mask]
    if cell.kind == "encoder":
        mask = rules.self_attention(source, source)
    elif cell.kind == "cross":
        mask = rules.cross_attention(target, source)
    else:
        mask = rules.self_attention(target, target) & causal_mask(len(trace.tgt), len(trace.tgt))
    return np.asarray(mask[0, 0, cell.query].numpy())


class _Maker:
    """Makes the lines one after the other; what a later line needs is kept."""

    def __init__(self, trace: Trace, learned: Parameters, cell: Cell) -> None:
        self.trace, self.learned, self.cell = trace, learned, cell
        self.config: ModelConfig = trace.config
        self.site, size = cell.site, trace.config.head_dim
        self.rows = slice(cell.head * size, (cell.head + 1) * size)  # of W_Q, W_K and W_V, and columns of W_O
        query, key, value = (self.point(f"{self.site}.{part}")[cell.head] for part in ("query", "key", "value"))
        self.q, self.keys, self.values = query[cell.query], key, value
        self.dots: Floats = (self.keys * self.q).sum(axis=1)
        self.divisor = trace.scalars[f"{self.site}.divisor"]
        self.scores: Floats = self.dots / self.divisor
        heads, queries = trace.config.n_heads, len(sides(trace, cell.kind)[0])
        mask = trace[f"{self.site}.mask"].expand(1, heads, queries, len(key))[0, cell.head, cell.query]
        self.mask = np.asarray(mask.numpy())
        self.seen, self.weights = masked_softmax(self.scores, self.mask, trace.config.mask_fill)
        self.row = Row(self.q, self.keys, self.scores, self.recorded_weights(), self.mask)

    def point(self, name: str) -> Floats:
        """A point of the one text in the batch, in float64."""
        return np.asarray(self.trace[name][0].double().numpy())

    def recorded_weights(self) -> NDArray[np.float32]:
        return np.asarray(self.trace[f"{self.site}.weights"][0, self.cell.head, self.cell.query].numpy())

    def check(self, name: str, derived: Floats | float, point: str, *at: int, scale: float = 0.0) -> Check:
        """Beside this point at these indices behind the batch's."""
        recorded = np.asarray(self.point(point)[at])
        index = ", ".join(map(str, (0, *at)))
        return Check(name, np.asarray(derived, dtype=np.float64), recorded, f"{point}[{index}]", scale)

    @property
    def stream_point(self) -> str:
        """What enters the sub-layer."""
        layer = f"{self.cell.stack}.{self.cell.layer}"
        return f"{layer}.residual_after_self" if self.cell.kind == "cross" else f"{layer}.residual_in"

    @property
    def read_point(self) -> str:
        """What keys and values are made of."""
        return "encoder.out" if self.cell.kind == "cross" else f"{self.site}.in"

    # ---- from the tokens to what the sub-layer reads

    def line_token(self) -> Line:
        """Embedding and position of both tokens."""
        vectors, checks = [], []
        for name, stack, place in (
            ("query", self.cell.stack, self.cell.query),
            ("key", self.cell.key_stack, self.cell.key),
        ):
            token = self.point(f"{stack}.embed.token")[place]
            vectors.append(Numbers("e", f"{name}'s token, scaled", token, "feature"))
            total = token
            if f"{stack}.embed.position" in self.trace:
                position = self.point(f"{stack}.embed.position")[place]
                vectors.append(Numbers("p", f"{name}'s position", position, "feature"))
                total = token + position
            vectors.append(Numbers("x", f"{name}'s input", total, "feature"))
            checks.append(self.check(f"input of the {name}", total, f"{stack}.embed.out", place))
        scales = {stack: self.trace.scalars[f"{stack}.embed.scale"] for stack in (self.cell.stack, self.cell.key_stack)}
        facts = tuple(f"The {stack} multiplies its embeddings by {scale:.6g}." for stack, scale in scales.items())
        return Line("token", tuple(vectors), checks=tuple(checks), facts=facts)

    def line_stream(self) -> Line:
        """What has become of both tokens before this sub-layer."""
        cell = self.cell
        x = self.point(self.stream_point)[cell.query]
        vectors = [Numbers("x", "query's stream", x, "feature")]
        checks = [self._stream_check()]
        if cell.kind == "cross":
            memory = self.point("encoder.out")
            vectors.append(Numbers("m", "key's memory", memory[cell.key], "feature"))
            last = self.point(f"encoder.{self.config.encoder_layers - 1}.residual_out")
            norm = self.learned.memory_norm
            checks.append(
                self.check("memory", (last if norm is None else norm(last))[cell.key], "encoder.out", cell.key)
            )
        else:
            vectors.append(Numbers("x", "key's stream", self.point(self.stream_point)[cell.key], "feature"))
        return Line("stream", tuple(vectors), checks=tuple(checks))

    def _stream_check(self) -> Check:
        cell, before = self.cell, f"{self.cell.stack}.{self.cell.layer - 1}.residual_out"
        layer = f"{cell.stack}.{cell.layer}"
        if cell.kind == "cross":
            total = self.point(f"{layer}.residual_in")[cell.query] + self.point(f"{layer}.self.out")[cell.query]
            point = "residual_after_self" if self.config.norm == "pre" else "residual_after_self_sum"
            return self.check("stream + self-attention", total, f"{layer}.{point}", cell.query)
        came = self.point(f"{cell.stack}.embed.out" if cell.layer == 0 else before)[cell.query]
        name = "the input" if cell.layer == 0 else f"what layer {cell.layer - 1} left"
        return self.check(name, came, self.stream_point, cell.query)

    def line_norm(self) -> Line:
        """The norm in front of a pre-norm sub-layer; a post-norm sub-layer reads the stream."""
        cell, stream = self.cell, self.point(self.stream_point)
        if self.config.norm == "post":
            checks = (self.check("what the sub-layer reads", stream[cell.query], f"{self.site}.in", cell.query),)
            return Line("norm", (Numbers("n", "read", stream[cell.query], "feature"),), checks=checks)
        return self._normed("norm", stream, cell.query, f"{self.site}.in")

    def _normed(self, name: str, stream: Floats, place: int, point: str) -> Line:
        """One row of a norm of the stream, and also the key's where keys are made of the same rows."""
        norm = self.learned.norm
        mean, scale = norm.mean_and_scale(stream)
        own = place if len(mean) > 1 or len(stream) == 1 else 0
        unit = (stream[place] - mean[own]) / scale[own]
        normed = norm(stream)
        vectors = (
            Numbers("x", "before", stream[place], "feature"),
            Numbers("(x-\\mu)/\\sigma", "centred, scaled", unit, "feature"),
            Numbers("g", "gain", norm.gain, "feature"),
            Numbers("b", "offset", norm.offset, "feature"),
            Numbers("n", "after", normed[place], "feature"),
        )
        largest = float(np.abs(stream).max())
        checks = [
            self.check("mean", float(mean[own, 0]), f"{self.site}.norm_mean", own, 0, scale=largest),
            self.check("scale", float(scale[own, 0]), f"{self.site}.norm_scale", own, 0, scale=largest),
            self.check("after the norm, query", normed[place], point, place),
        ]
        if self.cell.kind != "cross" and name == "norm":
            checks.append(self.check("after the norm, key", normed[self.cell.key], point, self.cell.key))
        scalars = {"mu": float(mean[own, 0]), "sigma": float(scale[own, 0])}
        return Line(name, vectors, scalars, tuple(checks))

    # ---- query and key

    def line_maps(self) -> Line:
        """This head's rows of W_Q and W_K, and one dimension of both worked out in full."""
        cell = self.cell
        terms = np.abs(self.q * self.keys[cell.key])
        dimension = int(np.nanargmax(terms)) if np.isfinite(terms).any() else 0
        row = self.rows.start + dimension
        vectors, checks, scalars = [], [], {"d": float(dimension), "row": float(row)}
        for letter, name, projection, read, place in (
            ("q", "query", self.learned.query, self.point(f"{self.site}.in")[cell.query], cell.query),
            ("k", "key", self.learned.key, self.point(self.read_point)[cell.key], cell.key),
        ):
            products = projection.weight[row] * read
            bias = 0.0 if projection.bias is None else float(projection.bias[row])
            value = float(products.sum()) + bias
            scalars |= {f"{letter}_sum": float(products.sum()), f"{letter}_bias": bias, f"{letter}_d": value}
            large = letter.upper()
            vectors += [
                Numbers(
                    f"W_{large}",
                    f"W_{large}, rows {self.rows.start} to {self.rows.stop - 1}",
                    projection.weight[self.rows],
                    "feature",
                    picked=dimension,
                ),
                Numbers(letter, f"row {row} × what it reads", products, "feature"),
            ]
            largest = float(np.abs(products).sum())
            at = (cell.head, place, dimension)
            checks.append(
                self.check(f"{letter}, dimension {dimension}", value, f"{self.site}.{name}", *at, scale=largest)
            )
        return Line("maps", tuple(vectors), scalars, tuple(checks))

    def line_shapes(self) -> Line:
        """The three maps as one, cut into heads in both usual orders, with all numbers of query, key and value."""
        config = self.config
        heads, size, d_model = config.n_heads, config.head_dim, config.d_model
        reads, read = self.point(f"{self.site}.in"), self.point(self.read_point)
        parts = {"query": self.learned.query, "key": self.learned.key, "value": self.learned.value}
        fused = ("key", "value") if self.cell.kind == "cross" else ("query", "key", "value")
        count = len(fused)
        joined = _joined([parts[name] for name in fused])(read)  # [T, nD]
        found = dict(zip(fused, joined.reshape(len(read), count, heads, size).transpose(1, 2, 0, 3), strict=True))
        if self.cell.kind == "cross":
            found["query"] = parts["query"](reads).reshape(len(reads), heads, size).transpose(1, 0, 2)
        by_head = _joined([_rows(parts[name], slice(h * size, (h + 1) * size)) for h in range(heads) for name in fused])
        other = by_head(read).reshape(len(read), heads, count, size).transpose(2, 1, 0, 3)
        largest = float(np.abs(read).max()) * math.sqrt(d_model)
        checks = [self.check(name, found[name], f"{self.site}.{name}", scale=largest) for name in parts]
        checks += [
            self.check(f"{name}, head by head", numbers, f"{self.site}.{name}", scale=largest)
            for name, numbers in zip(fused, other, strict=True)
        ]
        return Line("shapes", checks=tuple(checks), shapes=self._trail(len(reads), len(read), count))

    def _trail(self, queries: int, keys: int, count: int) -> tuple[Shape, ...]:
        config = self.config
        heads, size, d_model = config.n_heads, config.head_dim, config.d_model
        cross = self.cell.kind == "cross"
        letter = "S" if cross or self.cell.kind == "encoder" else "T"
        query_letter = "T" if cross else letter
        steps: list[tuple[str, str, tuple[int, ...]]] = [("reads", f"[B, {query_letter}, D]", (queries, d_model))]
        if cross:
            steps += [
                ("query, one map", f"[B, {query_letter}, D]", (queries, d_model)),
                ("memory", f"[B, {letter}, D]", (keys, d_model)),
            ]
        what = "key, value" if cross else "query, key, value"
        steps += [
            (f"{what} as one map", f"[B, {letter}, {count}D]", (keys, count * d_model)),
            ("cut into maps, then heads", f"[B, {letter}, {count}, H, E]", (keys, count, heads, size)),
            ("or: into heads, then maps", f"[B, {letter}, H, {count}E]", (keys, heads, count * size)),
            ("permuted: query", f"[B, H, {query_letter}, E]", (heads, queries, size)),
            ("permuted: key, value", f"[B, H, {letter}, E]", (heads, keys, size)),
            ("scores, weights", f"[B, H, {query_letter}, {letter}]", (heads, queries, keys)),
            ("head_out", f"[B, H, {query_letter}, E]", (heads, queries, size)),
            ("merged", f"[B, {query_letter}, D]", (queries, d_model)),
            ("out", f"[B, {query_letter}, D]", (queries, d_model)),
        ]
        return tuple(Shape(name, letters, f"[{', '.join(map(str, (1, *sizes)))}]") for name, letters, sizes in steps)

    def line_query(self) -> Line:
        return self._projected("query", "q", self.learned.query, f"{self.site}.in", self.cell.query)

    def line_key(self) -> Line:
        return self._projected("key", "k", self.learned.key, self.read_point, self.cell.key)

    def _projected(self, name: str, letter: str, projection: Map, point: str, place: int) -> Line:
        read = self.point(point)[place]
        rows = projection.weight[self.rows]
        made = projection(read, self.rows)
        symbol = "m" if point == "encoder.out" else "n"
        vectors = [Numbers(symbol, "read", read, "feature"), Numbers(f"W_{letter.upper()}", "map", rows, "feature")]
        if projection.bias is not None:
            vectors.append(Numbers(f"b_{letter.upper()}", "bias", projection.bias[self.rows], "dimension"))
        vectors.append(Numbers(letter, name, made, "dimension"))
        largest = float((np.abs(rows) @ np.abs(read)).max())
        check = self.check(name, made, f"{self.site}.{name}", self.cell.head, place, scale=largest)
        return Line(name, tuple(vectors), {"norm": _length(made)}, (check,))

    # ---- score, mask, weight

    def line_products(self) -> Line:
        """q times k, dimension by dimension, and the sum."""
        k = self.keys[self.cell.key]
        products = self.q * k
        vectors = (
            Numbers("q", "query", self.q, "dimension"),
            Numbers("k", "key", k, "dimension"),
            Numbers("q\\odot k", "products", products, "dimension"),
            Numbers("\\Sigma", "added up so far", np.cumsum(products), "dimension"),
        )
        return Line("products", vectors, {"dot": float(self.dots[self.cell.key])})

    def line_divisor(self) -> Line:
        """The score, beside what the model's own function makes of the recorded query and key."""
        cell, place = self.cell, (slice(None), slice(cell_head := self.cell.head, cell_head + 1))
        query = self.trace[f"{self.site}.query"][place][:, :, cell.query : cell.query + 1]
        key = self.trace[f"{self.site}.key"][place]
        recorded = np.asarray(attention_scores(query, key, self.divisor)[0, 0, 0].double().numpy())
        largest = float(np.abs(self.q * self.keys).sum(axis=1).max() / self.divisor)
        at = f"{self.site}.scores[0, {cell.head}, {cell.query}"
        score = float(self.scores[cell.key])
        checks = (
            Check("score", np.asarray(score), recorded[cell.key], f"{at}, {cell.key}], derived", largest),
            Check("scores of the row", self.scores, recorded, f"{at}], derived", largest),
        )
        scalars = {"dot": float(self.dots[cell.key]), "divisor": self.divisor, "s": score}
        return Line("divisor", (self._by_key("s", "score", self.scores),), scalars, checks)

    def line_mask(self) -> Line:
        """What may be read, by the rules of the config, beside the mask that was recorded."""
        cell = self.cell
        ruled = mask_row(self.trace, cell)
        check = Check(
            "mask of the row",
            ruled.astype(np.float64),
            self.mask.astype(np.float64),
            f"{self.site}.mask[0, 0, {cell.query}]",
        )
        scalars = {"open": float(self.mask[cell.key]), "allowed": float(self.mask.sum()), "keys": float(self.mask.size)}
        scalars["seen"] = float(self.seen[cell.key])
        return Line(
            "mask", (self._by_key("m", "may attend", self.mask.astype(np.float64)),), scalars, (check,), self._reasons()
        )

    def _reasons(self) -> tuple[str, ...]:
        """Why the cell is masked, as far as the config's rules say it."""
        cell, config = self.cell, self.config
        if self.mask[cell.key]:
            return ()
        reasons = []
        if cell.kind == "decoder" and cell.key > cell.query:
            reasons.append("The key comes after the query.")
        swapped = cell.kind == "cross" and config.padding_mask == "key-or-query-swapped-cross"
        if swapped:
            reasons.append(
                "This model's mask of cross-attention has its two sides swapped: a slip that it was trained with."
            )
        elif _is_padding(self.trace, cell.key_stack, cell.key):
            reasons.append("The key is padding.")
        if not swapped and config.padding_mask != "key" and _is_padding(self.trace, cell.stack, cell.query):
            reasons.append("The query is padding.")
        return tuple(reasons)

    def line_softmax(self) -> Line:
        """The whole row: a weight depends on every score in it."""
        with np.errstate(invalid="ignore"):
            below = self.seen - self.seen.max()
            exponentials = np.exp(below) if self.mask.any() or self.config.mask_fill != "zero-rows" else 0 * self.scores
        vectors = (
            self._by_key("s-\\max s", "below the largest", below),
            self._by_key("e", "exponentials", exponentials),
            self._by_key("w", "weights", self.weights),
        )
        scalars = {"max": float(self.seen.max()), "total": float(exponentials.sum()), "sum": float(self.weights.sum())}
        cell = self.cell
        check = Check(
            "weights of the row",
            self.weights,
            self.row.weights.astype(np.float64),
            f"{self.site}.weights[0, {cell.head}, {cell.query}]",
        )
        return Line("softmax", vectors, scalars, (check,))

    def line_weight(self) -> Line:
        cell = self.cell
        w = float(self.weights[cell.key])
        with np.errstate(invalid="ignore"):
            rank = 1 + int((self.weights > self.weights[cell.key]).sum())
        scalars = {
            "w": w,
            "even": 1 / allowed if (allowed := int(self.mask.sum())) else math.nan,
            "rank": float(rank),
            "s": float(self.scores[cell.key]),
        }
        check = self.check("weight", w, f"{self.site}.weights", cell.head, cell.query, cell.key)
        return Line("weight", (self._by_key("w", "weights", self.weights),), scalars, (check,))

    # ---- value, head, output, stream

    def line_value(self) -> Line:
        """What the key offers, and what the weight lets through."""
        cell = self.cell
        read, projection = self.point(self.read_point)[cell.key], self.learned.value
        made = projection(read, self.rows)
        recorded = self.values[cell.key]
        part = self.weights[cell.key] * recorded
        largest = float((np.abs(projection.weight[self.rows]) @ np.abs(read)).max())
        check = self.check("value", made, f"{self.site}.value", cell.head, cell.key, scale=largest)
        vectors = (Numbers("v", "value", recorded, "dimension"), Numbers("w\\,v", "weight × value", part, "dimension"))
        return Line("value", vectors, {"v_norm": _length(recorded), "part_norm": _length(part)}, (check,))

    @property
    def head_out(self) -> Floats:
        """[E]: the sum of all weighted values of the row."""
        return np.asarray((self.weights[:, None] * self.values).sum(axis=0))

    def line_head(self) -> Line:
        cell = self.cell
        part = self.weights[cell.key] * self.values[cell.key]
        total = self.head_out
        check = self.check("head_out", total, f"{self.site}.head_out", cell.head, cell.query)
        vectors = (
            Numbers("w\\,v", "from this key", part, "dimension"),
            Numbers("\\Sigma", "from all other keys", total - part, "dimension"),
            Numbers("o", "head_out", total, "dimension"),
        )
        return Line("head", vectors, {"norm": _length(total), "part_norm": _length(part)}, (check,))

    @property
    def landing(self) -> tuple[int, int]:
        """The row of the output, and the slot of head_dim features in it, where this head's query lands."""
        heads, cell = self.config.n_heads, self.cell
        if self.config.merge == "raw-reshape":
            return divmod(cell.head * len(sides(self.trace, cell.kind)[0]) + cell.query, heads)
        return cell.query, cell.head

    @property
    def merged(self) -> Floats:
        """[D]: the row of the merged heads that this head's query lands in, from recorded numbers."""
        head_out = self.point(f"{self.site}.head_out")  # [H, Q, E]
        if self.config.merge == "raw-reshape":
            return np.asarray(head_out.reshape(-1, self.config.d_model)[self.landing[0]])
        return head_out[:, self.cell.query].reshape(-1)

    def line_merge(self) -> Line:
        """Where the head's output lands, and what stands beside it there; no point records it."""
        size, (row, slot) = self.config.head_dim, self.landing
        span = (slot * size, (slot + 1) * size)
        vectors = (Numbers("c", "merged row", self.merged, "feature", span=span),)
        facts: tuple[str, ...] = ()
        if self.config.merge == "raw-reshape":
            length = len(sides(self.trace, self.cell.kind)[0])
            first = row * self.config.n_heads
            places = [divmod(first + s, length) for s in range(self.config.n_heads)]
            facts = (f"The row holds {_several(places)}.",)
        return Line("merge", vectors, {"row": float(row), "slot": float(slot)}, facts=facts)

    def line_output(self) -> Line:
        """The merged row through W_O; what this key and this head add to it."""
        row, slot = self.landing
        columns = slice(slot * self.config.head_dim, (slot + 1) * self.config.head_dim)
        w_o = self.learned.out.weight
        part = w_o[:, columns] @ (self.weights[self.cell.key] * self.values[self.cell.key])
        from_head = w_o[:, columns] @ self.head_out
        out = self.learned.out(self.merged)
        largest = float((np.abs(w_o) @ np.abs(self.merged)).max())
        check = self.check("out", out, f"{self.site}.out", row, scale=largest)
        vectors = [
            Numbers("W_O\\,w\\,v", "from this key", part, "feature"),
            Numbers("W_O\\,o", "from this head", from_head, "feature"),
        ]
        if self.learned.out.bias is not None:
            vectors.append(Numbers("b_O", "bias", self.learned.out.bias, "feature"))
        vectors.append(Numbers("y", "out", out, "feature"))
        scalars = {"part_norm": _length(part), "head_norm": _length(from_head), "norm": _length(out), "row": float(row)}
        return Line("output", tuple(vectors), scalars, (check,))

    def line_residual(self) -> Line:
        """The stream plus the sub-layer's output, and the norm behind the sum of a post-norm model."""
        row, cell = self.landing[0], self.cell
        x, out = self.point(self.stream_point)[row], self.point(f"{self.site}.out")[row]
        total = x + out
        after = f"{cell.stack}.{cell.layer}.residual_after_{self.site.rpartition('.')[2]}"
        vectors: tuple[Numbers, ...] = (
            Numbers("x", "stream before", x, "feature"),
            Numbers("y", "out", out, "feature"),
            Numbers("x+y", "sum", total, "feature"),
        )
        scalars = {"x_norm": _length(x), "y_norm": _length(out), "sum_norm": _length(total), "row": float(row)}
        if self.config.norm == "pre":
            return Line("residual", vectors, scalars, (self.check("stream after", total, after, row),))
        normed = self._normed("residual", self.point(f"{after}_sum"), row, after)
        vectors += (replace(normed.vectors[-1], name="after the norm"),)
        checks = (self.check("sum", total, f"{after}_sum", row), *normed.checks)
        checks = tuple(replace(c, name="after the norm") if c.name == "after the norm, query" else c for c in checks)
        return Line("residual", vectors, {**scalars, **normed.scalars}, checks)

    def _by_key(self, symbol: str, name: str, values: Floats) -> Numbers:
        return Numbers(symbol, name, values, "key", picked=self.cell.key)


def _joined(maps: Sequence[Map]) -> Map:
    """Several maps of the same vector as one, their rows one behind the other."""
    biases = [each.bias for each in maps if each.bias is not None]
    return Map(np.concatenate([each.weight for each in maps]), np.concatenate(biases) if biases else None)


def _rows(whole: Map, rows: slice) -> Map:
    return Map(whole.weight[rows], None if whole.bias is None else whole.bias[rows])


def _is_padding(trace: Trace, stack: str, place: int) -> bool:
    side, pad = (trace.src, trace.config.source_pad) if stack == "encoder" else (trace.tgt, trace.config.target_pad)
    return side.ids[place] == pad


def _length(vector: Floats) -> float:
    """The Euclidean norm."""
    return float(np.sqrt((vector * vector).sum()))


def _several(places: Sequence[tuple[int, int]]) -> str:
    """Heads and query positions in words: "queries 3 to 6 of head 1, then 0 and 1 of head 2"."""
    parts = []
    for head in dict.fromkeys(head for head, _ in places):
        found = [query for of, query in places if of == head]
        which = f"queries {found[0]} to {found[-1]}" if len(found) > 1 else f"query {found[0]}"
        parts.append(f"{which} of head {head}")
    return ", then ".join(parts)
