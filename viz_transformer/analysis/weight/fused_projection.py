"""The maps of query, key and value as one, cut into heads in both usual orders, and the trail of their shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from viz_transformer.analysis.weight.weight_numbers import Cell, Check, Floats, Shape
from viz_transformer.model.config import ModelConfig
from viz_transformer.running.trace import Trace

_Map = tuple[Floats, Floats]  # weight [N, D] and bias [N]


def check_fused(trace: Trace, cell: Cell, at: Any) -> tuple[Check, ...]:
    """All numbers of query, key and value, made by one map. at: the `Values` of the derivation, with w_q, b_q, ..."""
    heads, size = trace.config.n_heads, trace.config.head_dim
    reads, read = at.own("in"), at.point(cell.read_point)
    maps: dict[str, _Map] = {"query": (at.w_q, at.b_q), "key": (at.w_k, at.b_k), "value": (at.w_v, at.b_v)}
    fused = ("key", "value") if cell.kind == "cross" else ("query", "key", "value")
    by_map = _apply_maps([maps[part] for part in fused], read).reshape(len(read), len(fused), heads, size)
    found = dict(zip(fused, by_map.transpose(1, 2, 0, 3), strict=True))
    if cell.kind == "cross":
        found["query"] = _apply_maps([maps["query"]], reads).reshape(len(reads), heads, size).transpose(1, 0, 2)
    cut = [slice(head * size, (head + 1) * size) for head in range(heads)]
    rows = [(weight[rows], bias[rows]) for rows in cut for weight, bias in (maps[part] for part in fused)]
    by_head = _apply_maps(rows, read).reshape(len(read), heads, len(fused), size).transpose(2, 1, 0, 3)
    made = [(part, part, found[part]) for part in maps]
    made += [(part, f"{part}, head by head", numbers) for part, numbers in zip(fused, by_head, strict=True)]
    largest = float(np.abs(read).max()) * math.sqrt(trace.spec.d_model)
    unplaced = cell.unplaced(trace.config)
    points = {part: f"{cell.site}.{part}{unplaced if part != 'value' else ''}" for part in maps}
    return tuple(Check(name, each, at.point(points[part]), f"{points[part]}[0]", largest) for part, name, each in made)


def _apply_maps(maps: Sequence[_Map], read: Floats) -> Floats:
    """The output of several maps of the same rows [T, D], applied as one: [T, nD]."""
    return np.asarray(read @ np.concatenate([w for w, _ in maps]).T + np.concatenate([bias for _, bias in maps]))


def trail(config: ModelConfig, cell: Cell, queries: int, keys: int) -> tuple[Shape, ...]:
    """The shapes from the sub-layer's input to its output, step by step."""
    heads, size, d_model = config.n_heads, config.head_dim, config.d_model
    cross = cell.kind == "cross"
    count = 2 if cross else 3
    letter = "S" if cross or cell.kind == "encoder" else "T"
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
