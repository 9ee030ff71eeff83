"""One weight as a program: numpy and a saved trace give the cell again, with the digits that the page shows.

What a trace does not hold, the maps W_Q, W_K and W_V, a norm's gain and offset and the bias of W_O, the program does
not use: it starts from the recorded query, key and value and ends where W_O has been applied.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.analysis.one_weight import Ladder
from viz_transformer.analysis.weight_numbers import Cell
from viz_transformer.record import Trace

FILE = "trace.safetensors"

_READ = '''\
# {title}
# {about}
# Needs numpy and the saved trace: python this_file.py [trace.safetensors]
import json
import sys

import numpy as np

path = sys.argv[1] if len(sys.argv) > 1 else "{file}"
with open(path, "rb") as file:  # safetensors: the length of a JSON header, the header, the numbers
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    numbers = file.read()
about = json.loads(header["__metadata__"]["viz_transformer"])


def read(name):
    """A tensor of the trace; float32 becomes float64, a mask stays Boolean."""
    first, last = header[name]["data_offsets"]
    kind = {{"F32": "<f4", "F64": "<f8", "F16": "<f2", "BOOL": "?"}}[header[name]["dtype"]]
    array = np.frombuffer(numbers[first:last], kind).reshape(header[name]["shape"])
    return array if array.dtype == bool else array.astype(np.float64)


def show(name, values):
    print(f"{{name:<24}}", *(f"{{value + 0.0:.6g}}" for value in np.atleast_1d(values)))


site, head, query, key = "{site}", {head}, {query}, {key}
q = read(f"{{site}}.query")[0, head, query]  # [E]
keys = read(f"{{site}}.key")[0, head]  # [K, E]
values = read(f"{{site}}.value")[0, head]  # [K, E]
heads, queries = read(f"{{site}}.head_out").shape[1:3]
mask = np.broadcast_to(read(f"{{site}}.mask"), (1, heads, queries, len(keys)))[0, head, query]  # True = may attend
divisor = about["scalars"][f"{{site}}.divisor"]

show("products", q * keys[key])
dots = (keys * q).sum(axis=1)
show("sum of the products", dots[key])
show("divisor", divisor)
scores = dots / divisor
show("score", scores[key])
show("may attend", mask[key])

# The softmax of the row{softmax_note}
'''

_SOFTMAX = {
    "zero-rows": """\
seen = np.where(mask, scores, -np.inf)
weights = np.zeros(len(scores))
if mask.any():
    exponentials = np.exp(seen - seen.max())
    weights = exponentials / exponentials.sum()
""",
    "filled": """\
seen = np.where(mask, scores, {fill})
with np.errstate(invalid="ignore"):
    exponentials = np.exp(seen - seen.max())
    weights = exponentials / exponentials.sum()
""",
    "added": """\
added = (scores.astype(np.float32) + np.float32(-1e9)).astype(np.float64)
seen = np.where(mask, scores, added)
exponentials = np.exp(seen - seen.max())
weights = exponentials / exponentials.sum()
""",
}
_NOTES = {
    "zero-rows": ": a row that may attend to nothing is all zeros in this model.",
    "-inf": ": masked scores are minus infinity; a row that may attend to nothing is not a number.",
    "-1e9": ": masked scores are -1e9; a row that may attend to nothing is even.",
    "-1e10": ": masked scores are -1e10; a row that may attend to nothing is even.",
    "added-1e9": ": -1e9 is added to masked scores, in float32 as the model does it.",
}

_OUTPUT = """\
show("weights of the row", weights)
show("weight", weights[key])

part = weights[key] * values[key]
show("weight x value", part)
head_out = (weights[:, None] * values).sum(axis=0)
show("head_out", head_out)

{merge}
w_o = read(f"parameter.{{site}}.to_out.weight")  # [D, D]; its bias is not in a trace
columns = slice(slot * len(q), (slot + 1) * len(q))
show("this key adds, length", np.sqrt(((w_o[:, columns] @ part) ** 2).sum()))
show("this head adds, length", np.sqrt(((w_o[:, columns] @ head_out) ** 2).sum()))
"""
_MERGES = {
    "concatenate": """\
# The heads stand beside each other: this one in the slot of its number.
row, slot = query, head
show("lands in row, slot", [row, slot])
""",
    "raw-reshape": """\
# The merge is a raw reshape: positions and heads mix.
row, slot = divmod(head * queries + query, heads)
show("lands in row, slot", [row, slot])
""",
}


def python_copy(trace: Trace, cell: Cell) -> str:
    """A program that works the cell out anew from the file that `trace.save` writes, with numpy alone.

    It prints what `printed` says. Nothing of a text goes into it.
    """
    config, fill = trace.config, trace.config.mask_fill
    softmax = _SOFTMAX[{"zero-rows": "zero-rows", "added-1e9": "added"}.get(fill, "filled")]
    start = _READ.format(
        title=f"{cell.site}, head {cell.head}: the weight that query {cell.query} gives to key {cell.key}",
        about=f"of the run {trace.id}, worked out in float64 from the recorded float32 numbers",
        file=FILE,
        site=cell.site,
        head=cell.head,
        query=cell.query,
        key=cell.key,
        softmax_note=_NOTES[fill],
    )
    softmax = softmax.format(fill="-np.inf" if fill == "-inf" else fill)
    return start + softmax + _OUTPUT.format(merge=_MERGES[config.merge])


def printed(ladder: Ladder) -> str:
    """What the program prints: the same numbers as the ladder's, six significant digits each."""
    lines = ladder.lines
    vectors = {
        (name, each.name): each.values
        for name in ("products", "softmax", "value", "head")
        for each in lines[name].vectors
    }
    cell, out = ladder.cell, lines["output"].scalars
    rows: list[tuple[str, ArrayLike]] = [
        ("products", vectors["products", "products"]),
        ("sum of the products", lines["products"].scalars["dot"]),
        ("divisor", lines["divisor"].scalars["divisor"]),
        ("score", lines["divisor"].scalars["s"]),
        ("may attend", float(ladder.row.mask[cell.key])),
        ("weights of the row", vectors["softmax", "weights"]),
        ("weight", ladder.weight),
        ("weight x value", vectors["value", "weight × value"]),
        ("head_out", vectors["head", "head_out"]),
        ("lands in row, slot", [lines["merge"].scalars["row"], lines["merge"].scalars["slot"]]),
        ("this key adds, length", out["part_norm"]),
        ("this head adds, length", out["head_norm"]),
    ]
    return "".join(f"{name:<24} {' '.join(map(digits, np.atleast_1d(values)))}\n" for name, values in rows)


def digits(value: float) -> str:
    """Six significant digits, as the program prints them; a negative zero is a zero."""
    return f"{float(value) + 0.0:.6g}"
