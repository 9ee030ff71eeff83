"""The first lines of a ladder: from two tokens through the stream and its norm to the query and the key of one head."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from viz_transformer.analysis.weight.ladder_record import CellRecord, length
from viz_transformer.analysis.weight.weight_numbers import Check, Floats, Line, Map, Numbers, Parameters, Shape
from viz_transformer.numerals import significant


def token_line(of: CellRecord) -> Line:
    """Embedding and position of both tokens."""
    vectors, checks = [], []
    for name, stack, place in (
        ("query", of.cell.stack, of.cell.query),
        ("key", of.cell.key_stack, of.cell.key),
    ):
        token = of.point(f"{stack}.embed.token")[place]
        vectors.append(Numbers("e", f"{name}'s token, scaled", token, "feature"))
        total = token
        if f"{stack}.embed.position" in of.trace:
            position = of.point(f"{stack}.embed.position")[place]
            vectors.append(Numbers("p", f"{name}'s position", position, "feature"))
            total = token + position
        vectors.append(Numbers("x", f"{name}'s input", total, "feature"))
        checks.append(of.check(f"input of the {name}", total, f"{stack}.embed.out", place))
    scales = {stack: of.trace.scalars[f"{stack}.embed.scale"] for stack in (of.cell.stack, of.cell.key_stack)}
    facts = tuple(
        f"The {stack} multiplies its embeddings by {significant(scale, 6)}." for stack, scale in scales.items()
    )
    return Line("token", tuple(vectors), checks=tuple(checks), facts=facts)


def stream_line(of: CellRecord, learned: Parameters) -> Line:
    """What has become of both tokens before this sub-layer."""
    cell = of.cell
    x = of.point(of.stream_point)[cell.query]
    vectors = [Numbers("x", "query's stream", x, "feature")]
    checks = [_stream_check(of)]
    if cell.kind == "cross":
        memory = of.point("encoder.out")
        vectors.append(Numbers("m", "key's memory", memory[cell.key], "feature"))
        last = of.point(f"encoder.{of.config.encoder_layers - 1}.residual_out")
        norm = learned.memory_norm
        checks.append(of.check("memory", (last if norm is None else norm(last))[cell.key], "encoder.out", cell.key))
    else:
        vectors.append(Numbers("x", "key's stream", of.point(of.stream_point)[cell.key], "feature"))
    return Line("stream", tuple(vectors), checks=tuple(checks))


def _stream_check(of: CellRecord) -> Check:
    cell, before = of.cell, f"{of.cell.stack}.{of.cell.layer - 1}.residual_out"
    layer = f"{cell.stack}.{cell.layer}"
    if cell.kind == "cross":
        total = of.point(f"{layer}.residual_in")[cell.query] + of.point(f"{layer}.self.out")[cell.query]
        point = "residual_after_self" if of.config.norm == "pre" else "residual_after_self_sum"
        return of.check("stream + self-attention", total, f"{layer}.{point}", cell.query)
    came = of.point(f"{cell.stack}.embed.out" if cell.layer == 0 else before)[cell.query]
    name = "the input" if cell.layer == 0 else f"what layer {cell.layer - 1} left"
    return of.check(name, came, of.stream_point, cell.query)


def norm_line(of: CellRecord, learned: Parameters) -> Line:
    """The norm in front of a pre-norm sub-layer; a post-norm sub-layer reads the stream."""
    cell, stream = of.cell, of.point(of.stream_point)
    if of.config.norm == "post":
        checks = (of.check("what the sub-layer reads", stream[cell.query], f"{of.site}.in", cell.query),)
        return Line("norm", (Numbers("n", "read", stream[cell.query], "feature"),), checks=checks)
    return norm_of_row(of, learned, "norm", stream, cell.query, f"{of.site}.in")


def norm_of_row(of: CellRecord, learned: Parameters, name: str, stream: Floats, place: int, point: str) -> Line:
    """One row of a norm of the stream, and also the key's where keys are made of the same rows."""
    norm = learned.norm
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
        of.check("mean", float(mean[own, 0]), f"{of.site}.norm_mean", own, 0, scale=largest),
        of.check("scale", float(scale[own, 0]), f"{of.site}.norm_scale", own, 0, scale=largest),
        of.check("after the norm, query", normed[place], point, place),
    ]
    if of.cell.kind != "cross" and name == "norm":
        checks.append(of.check("after the norm, key", normed[of.cell.key], point, of.cell.key))
    scalars = {"mu": float(mean[own, 0]), "sigma": float(scale[own, 0])}
    return Line(name, vectors, scalars, tuple(checks))


def maps_line(of: CellRecord, learned: Parameters) -> Line:
    """This head's rows of W_Q and W_K, and one dimension of both worked out in full."""
    cell = of.cell
    terms = np.abs(of.q * of.keys[cell.key])
    dimension = int(np.nanargmax(terms)) if np.isfinite(terms).any() else 0
    row = of.rows.start + dimension
    vectors, checks, scalars = [], [], {"d": float(dimension), "row": float(row)}
    for letter, name, projection, read, place in (
        ("q", "query", learned.query, of.point(f"{of.site}.in")[cell.query], cell.query),
        ("k", "key", learned.key, of.point(of.read_point)[cell.key], cell.key),
    ):
        products = projection.weight[row] * read
        bias = 0.0 if projection.bias is None else float(projection.bias[row])
        value = float(products.sum()) + bias
        scalars |= {f"{letter}_sum": float(products.sum()), f"{letter}_bias": bias, f"{letter}_d": value}
        large = letter.upper()
        vectors += [
            Numbers(
                f"W_{large}",
                f"W_{large}, rows {of.rows.start} to {of.rows.stop - 1}",
                projection.weight[of.rows],
                "feature",
                picked=dimension,
            ),
            Numbers(letter, f"row {row} × what it reads", products, "feature"),
        ]
        largest = float(np.abs(products).sum())
        at = (cell.head, place, dimension)
        checks.append(of.check(f"{letter}, dimension {dimension}", value, of.made_point(name), *at, scale=largest))
    return Line("maps", tuple(vectors), scalars, tuple(checks))


def shapes_line(of: CellRecord, learned: Parameters) -> Line:
    """The three maps as one, cut into heads in both usual orders, with all numbers of query, key and value."""
    config = of.config
    heads, size, d_model = config.n_heads, config.head_dim, config.d_model
    reads, read = of.point(f"{of.site}.in"), of.point(of.read_point)
    parts = {"query": learned.query, "key": learned.key, "value": learned.value}
    fused = ("key", "value") if of.cell.kind == "cross" else ("query", "key", "value")
    count = len(fused)
    joined = _joined([parts[name] for name in fused])(read)  # [T, nD]
    found = dict(zip(fused, joined.reshape(len(read), count, heads, size).transpose(1, 2, 0, 3), strict=True))
    if of.cell.kind == "cross":
        found["query"] = parts["query"](reads).reshape(len(reads), heads, size).transpose(1, 0, 2)
    by_head = _joined([_rows(parts[name], slice(h * size, (h + 1) * size)) for h in range(heads) for name in fused])
    other = by_head(read).reshape(len(read), heads, count, size).transpose(2, 1, 0, 3)
    largest = float(np.abs(read).max()) * math.sqrt(d_model)
    checks = [of.check(name, found[name], of.made_point(name), scale=largest) for name in parts]
    checks += [
        of.check(f"{name}, head by head", numbers, of.made_point(name), scale=largest)
        for name, numbers in zip(fused, other, strict=True)
    ]
    return Line("shapes", checks=tuple(checks), shapes=_trail(of, len(reads), len(read), count))


def _trail(of: CellRecord, queries: int, keys: int, count: int) -> tuple[Shape, ...]:
    config = of.config
    heads, size, d_model = config.n_heads, config.head_dim, config.d_model
    cross = of.cell.kind == "cross"
    letter = "S" if cross or of.cell.kind == "encoder" else "T"
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


def query_line(of: CellRecord, learned: Parameters) -> Line:
    return _projected(of, "query", "q", learned.query, f"{of.site}.in", of.cell.query)


def key_line(of: CellRecord, learned: Parameters) -> Line:
    return _projected(of, "key", "k", learned.key, of.read_point, of.cell.key)


def _projected(of: CellRecord, name: str, letter: str, projection: Map, point: str, place: int) -> Line:
    read = of.point(point)[place]
    rows = projection.weight[of.rows]
    made = projection(read, of.rows)
    symbol = "m" if point == "encoder.out" else "n"
    vectors = [Numbers(symbol, "read", read, "feature"), Numbers(f"W_{letter.upper()}", "map", rows, "feature")]
    if projection.bias is not None:
        vectors.append(Numbers(f"b_{letter.upper()}", "bias", projection.bias[of.rows], "dimension"))
    largest = float((np.abs(rows) @ np.abs(read)).max())
    if not of.is_turned:
        vectors.append(Numbers(letter, name, made, "dimension"))
        check = of.check(name, made, f"{of.site}.{name}", of.cell.head, place, scale=largest)
        return Line(name, tuple(vectors), {"norm": length(made)}, (check,))
    angle, at_place = rotation_angles(len(made), place), turned(made, place)
    vectors.append(Numbers(f"{letter}'", f"{name} before the rotation", made, "dimension"))
    vectors.append(Numbers("\\theta", "angle of each dimension's pair", np.repeat(angle, 2), "dimension"))
    vectors.append(Numbers(letter, name, at_place, "dimension"))
    checks = (
        of.check(f"{name} before the rotation", made, of.made_point(name), of.cell.head, place, scale=largest),
        of.check(name, at_place, f"{of.site}.{name}", of.cell.head, place, scale=largest),
    )
    return Line(name, tuple(vectors), {"norm": length(at_place), "place": float(place)}, checks)


def rotation_angles(size: int, place: int) -> Floats:
    """By how much a position turns each pair of dimensions, in radians: [E/2] (Su et al. 2021, equation 15)."""
    return np.asarray(place / 10_000.0 ** (np.arange(0, size, 2) / size))


def turned(vector: Floats, place: int) -> Floats:
    """Dimensions 2i and 2i+1 turned counter-clockwise by their angle at this position: [E]."""
    angle, even, odd = rotation_angles(len(vector), place), vector[0::2], vector[1::2]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=1).reshape(-1)


def _joined(maps: Sequence[Map]) -> Map:
    """Several maps of the same vector as one, their rows one behind the other."""
    biases = [each.bias for each in maps if each.bias is not None]
    return Map(np.concatenate([each.weight for each in maps]), np.concatenate(biases) if biases else None)


def _rows(whole: Map, rows: slice) -> Map:
    return Map(whole.weight[rows], None if whole.bias is None else whole.bias[rows])
