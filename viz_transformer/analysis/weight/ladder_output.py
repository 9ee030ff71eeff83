"""The last lines of a ladder: from weight and value to what the residual stream becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from viz_transformer.analysis.attention.maps import sides
from viz_transformer.analysis.weight.ladder_inputs import norm_of_row
from viz_transformer.analysis.weight.ladder_record import CellRecord, length
from viz_transformer.analysis.weight.weight_numbers import Floats, Line, Numbers, Parameters


def value_line(of: CellRecord, learned: Parameters) -> Line:
    """What the key offers, and what the weight lets through."""
    cell = of.cell
    read, projection = of.point(of.read_point)[cell.key], learned.value
    made = projection(read, of.rows)
    recorded = of.values[cell.key]
    part = of.weights[cell.key] * recorded
    largest = float((np.abs(projection.weight[of.rows]) @ np.abs(read)).max())
    check = of.check("value", made, f"{of.site}.value", cell.head, cell.key, scale=largest)
    vectors = (Numbers("v", "value", recorded, "dimension"), Numbers("w\\,v", "weight × value", part, "dimension"))
    return Line("value", vectors, {"v_norm": length(recorded), "part_norm": length(part)}, (check,))


def head_out(of: CellRecord) -> Floats:
    """[E]: the sum of all weighted values of the row."""
    return np.asarray((of.weights[:, None] * of.values).sum(axis=0))


def head_line(of: CellRecord) -> Line:
    cell = of.cell
    part = of.weights[cell.key] * of.values[cell.key]
    total = head_out(of)
    check = of.check("head_out", total, f"{of.site}.head_out", cell.head, cell.query)
    vectors = (
        Numbers("w\\,v", "from this key", part, "dimension"),
        Numbers("\\Sigma", "from all other keys", total - part, "dimension"),
        Numbers("o", "head_out", total, "dimension"),
    )
    return Line("head", vectors, {"norm": length(total), "part_norm": length(part)}, (check,))


def landing(of: CellRecord) -> tuple[int, int]:
    """The row of the output, and the slot of head_dim features in it, where this head's query lands."""
    heads, cell = of.config.n_heads, of.cell
    if of.config.merge == "raw-reshape":
        return divmod(cell.head * len(sides(of.trace, cell.kind)[0]) + cell.query, heads)
    return cell.query, cell.head


def merged(of: CellRecord) -> Floats:
    """[D]: the row of the merged heads that this head's query lands in, from recorded numbers."""
    head_out = of.point(f"{of.site}.head_out")  # [H, Q, E]
    if of.config.merge == "raw-reshape":
        return np.asarray(head_out.reshape(-1, of.config.d_model)[landing(of)[0]])
    return head_out[:, of.cell.query].reshape(-1)


def merge_line(of: CellRecord) -> Line:
    """Where the head's output lands, and what stands beside it there; no point records it."""
    size, (row, slot) = of.config.head_dim, landing(of)
    span = (slot * size, (slot + 1) * size)
    vectors = (Numbers("c", "merged row", merged(of), "feature", span=span),)
    facts: tuple[str, ...] = ()
    if of.config.merge == "raw-reshape":
        length = len(sides(of.trace, of.cell.kind)[0])
        first = row * of.config.n_heads
        places = [divmod(first + s, length) for s in range(of.config.n_heads)]
        facts = (f"The row holds {_several(places)}.",)
    return Line("merge", vectors, {"row": float(row), "slot": float(slot)}, facts=facts)


def output_line(of: CellRecord, learned: Parameters) -> Line:
    """The merged row through W_O; what this key and this head add to it."""
    row, slot = landing(of)
    columns = slice(slot * of.config.head_dim, (slot + 1) * of.config.head_dim)
    w_o = learned.out.weight
    part = w_o[:, columns] @ (of.weights[of.cell.key] * of.values[of.cell.key])
    from_head = w_o[:, columns] @ head_out(of)
    out = learned.out(merged(of))
    largest = float((np.abs(w_o) @ np.abs(merged(of))).max())
    check = of.check("out", out, f"{of.site}.out", row, scale=largest)
    vectors = [
        Numbers("W_O\\,w\\,v", "from this key", part, "feature"),
        Numbers("W_O\\,o", "from this head", from_head, "feature"),
    ]
    if learned.out.bias is not None:
        vectors.append(Numbers("b_O", "bias", learned.out.bias, "feature"))
    vectors.append(Numbers("y", "out", out, "feature"))
    scalars = {"part_norm": length(part), "head_norm": length(from_head), "norm": length(out), "row": float(row)}
    return Line("output", tuple(vectors), scalars, (check,))


def residual_line(of: CellRecord, learned: Parameters) -> Line:
    """The stream plus the sub-layer's output, and the norm behind the sum of a post-norm model."""
    row, cell = landing(of)[0], of.cell
    x, out = of.point(of.stream_point)[row], of.point(f"{of.site}.out")[row]
    total = x + out
    after = f"{cell.stack}.{cell.layer}.residual_after_{of.site.rpartition('.')[2]}"
    vectors: tuple[Numbers, ...] = (
        Numbers("x", "stream before", x, "feature"),
        Numbers("y", "out", out, "feature"),
        Numbers("x+y", "sum", total, "feature"),
    )
    scalars = {"x_norm": length(x), "y_norm": length(out), "sum_norm": length(total), "row": float(row)}
    if of.config.norm == "pre":
        return Line("residual", vectors, scalars, (of.check("stream after", total, after, row),))
    normed = norm_of_row(of, learned, "residual", of.point(f"{after}_sum"), row, after)
    vectors += (replace(normed.vectors[-1], name="after the norm"),)
    checks = (of.check("sum", total, f"{after}_sum", row), *normed.checks)
    checks = tuple(replace(c, name="after the norm") if c.name == "after the norm, query" else c for c in checks)
    return Line("residual", vectors, {**scalars, **normed.scalars}, checks)


def _several(places: Sequence[tuple[int, int]]) -> str:
    """Heads and query positions in words: "queries 3 to 6 of head 1, then 0 and 1 of head 2"."""
    parts = []
    for head in dict.fromkeys(head for head, _ in places):
        found = [query for of, query in places if of == head]
        which = f"queries {found[0]} to {found[-1]}" if len(found) > 1 else f"query {found[0]}"
        parts.append(f"{which} of head {head}")
    return ", then ".join(parts)
