"""The last lines of a ladder: from weight and value to what the residual stream becomes."""

from __future__ import annotations

from string import Template

from viz_transformer.analysis.weight.told import Told, Vector, by_axis
from viz_transformer.analysis.weight.told_inputs import MEAN_AND_SCALE, key_row
from viz_transformer.analysis.weight.weight_numbers import Cell
from viz_transformer.model.config import ModelConfig

_VALUE = Template("""
line("value")
made = $read @ w_v[rows].T + b_v[rows]
part = weights[key] * values[key]
show("v", values[key])
show("weight x v", part)
show("length of v", length(values[key]))
show("length of weight x v", length(part))
compare(made, values[key], (np.abs(w_v[rows]) @ np.abs($read)).max())
""")


def value(cell: Cell) -> Told:
    """What the key offers, and what the weight lets through."""
    return Told(
        _VALUE.substitute(read=key_row(cell)),
        by_axis("dimension", {"value": "values[key]", "weight × value": "part"}),
        {"v_norm": "shown('length of v')", "part_norm": "shown('length of weight x v')"},
        (("value", "{site}.value[0, {head}, {key}]"),),
    )


HEAD = Told(
    """
line("head")
head_out = (weights[:, None] * values).sum(axis=0)
show("from this key", part)
show("from all other keys", head_out - part)
show("head_out", head_out)
show("length", length(head_out))
compare(head_out, point(f"{site}.head_out")[head, query])
""",
    by_axis(
        "dimension",
        {"from this key": "part", "from all other keys": "shown('from all other keys')", "head_out": "head_out"},
    ),
    {"norm": "shown('length')", "part_norm": "length(part)"},
    (("head_out", "{site}.head_out[0, {head}, {query}]"),),
)

_MERGES = {
    "concatenate": """
# The heads are concatenated: this one is in the slot of its number.
line("merge")
row, slot = query, head
merged = point(f"{site}.head_out")[:, query].reshape(-1)
""",
    "raw-reshape": """
# The merge is a raw reshape: positions and heads mix.
line("merge")
row, slot = divmod(head * queries + query, heads)
merged = point(f"{site}.head_out").reshape(queries, -1)[row]
""",
}
_MERGED = """\
show("row, slot", [row, slot])
show("merged row", merged)
"""


def merge(config: ModelConfig) -> Told:
    """Where the head's output lands, and what stands beside it there; no point records it."""
    return Told(
        _MERGES[config.merge] + _MERGED,
        (Vector("merged row", "feature", "merged", span="(slot * size, (slot + 1) * size)"),),
        {"row": "row", "slot": "slot"},
    )


_OUTPUT = """
# W_O: its columns of the slot are this head's.
line("output")
columns = slice(slot * size, (slot + 1) * size)
out = merged @ w_o.T + b_o
show("from this key", w_o[:, columns] @ part)
show("from this head", w_o[:, columns] @ head_out)
show("out", out)
show("length from this key", length(w_o[:, columns] @ part))
show("length from this head", length(w_o[:, columns] @ head_out))
show("length of out", length(out))
compare(out, point(f"{site}.out")[row], (np.abs(w_o) @ np.abs(merged)).max())
"""


def output(config: ModelConfig) -> Told:
    """The merged row through W_O; what this key and this head add to it."""
    bias = {"bias": "b_o"} if config.attention_bias else {}
    vectors = {name: f"shown('{name}')" for name in ("from this key", "from this head")} | bias | {"out": "out"}
    lengths = {"part_norm": "from this key", "head_norm": "from this head", "norm": "of out"}
    return Told(
        _OUTPUT,
        by_axis("feature", vectors),
        {"row": "row"} | {name: f"shown('length {label}')" for name, label in lengths.items()},
        (("out", "{site}.out[0, {row}]"),),
    )


_RESIDUAL = Template("""
# Into the stream.
line("residual")
x, y = stream[row], point(f"{site}.out")[row]
show("x", x)
show("y", y)
show("x + y", x + y)
show("length of x", length(x))
show("length of y", length(y))
show("length of x + y", length(x + y))
compare(x + y, point("$sum")[row])
""")
_NORM_BEHIND = Template("""\
total = point("$sum")
mean, scale, normed = norm(total, norm_of)
own = row if len(mean) > 1 else 0
show("mean", mean[own])
show("scale", scale[own])
show("after the norm", normed[row])
compare(mean[own], point(f"{site}.norm_mean")[own], np.abs(total).max())
compare(scale[own], point(f"{site}.norm_scale")[own], np.abs(total).max())
compare(normed[row], point("$after")[row])
""")


def residual(cell: Cell, config: ModelConfig) -> Told:
    """The stream plus the sub-layer's output, and the norm behind the sum of a post-norm model."""
    after = f"{cell.stack}.{cell.layer}.residual_after_{cell.attention}"
    vectors = by_axis("feature", {"stream before": "x", "out": "y", "sum": "x + y"})
    lengths = {"x_norm": "x", "y_norm": "y", "sum_norm": "x + y"}
    scalars = {"row": "row"} | {name: f"shown('length of {label}')" for name, label in lengths.items()}
    if config.norm == "pre":
        return Told(_RESIDUAL.substitute(sum=after), vectors, scalars, (("stream after", f"{after}[0, {{row}}]"),))
    return Told(
        _RESIDUAL.substitute(sum=f"{after}_sum") + _NORM_BEHIND.substitute(sum=f"{after}_sum", after=after),
        (*vectors, Vector("after the norm", "feature", "normed[row]")),
        {**scalars, "mu": "mean[own]", "sigma": "scale[own]"},
        (("sum", f"{after}_sum[0, {{row}}]"), *MEAN_AND_SCALE, ("after the norm", f"{after}[0, {{row}}]")),
    )
