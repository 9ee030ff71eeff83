"""One weight as a program: numpy, a saved trace and the model's own file give the whole ladder again, digit by digit.

A trace holds no parameters, so the program reads W_Q, W_K, W_V, W_O, gains and offsets from the checkpoint's
`model.safetensors`, whose sha256 the trace names: float16 numbers that run in float32, so that they are exact. A model
that was made from its name has no file; then one is written (`model_file`). Like the ladder, each line starts from
recorded numbers, and is set beside what was recorded for it.
"""

from __future__ import annotations

from string import Template

from viz_transformer.analysis.models.untrained import is_new
from viz_transformer.analysis.weight.printed_ladder import IN_FULL
from viz_transformer.analysis.weight.weight_numbers import ROUNDING, Cell
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.files import WEIGHTS
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import KINDS, Side
from viz_transformer.model.positions import alibi_slopes
from viz_transformer.running.record import Trace

FILE = "trace.safetensors"
MODEL_FILE = WEIGHTS
_FILES = Template('''\
# $site, head $head: the weight that query $query gives to key $key,
# of the run $run of the model $model, line by line as the page One weight has it, in float64.
# Needs numpy and two files: $file, the saved trace, and $model_file, the model's parameters:
# $what.
#     python one_weight.py [$file [$model_file]]
# Each line starts from what the run recorded in float32 and is compared with what it recorded next.
import hashlib
import json
import sys

import numpy as np

np.seterr(invalid="ignore")  # a masked row may make numbers that are none


class Tensors:
    """A safetensors file: the length of a JSON header, the header, the numbers. They run in float32; here float64."""

    def __init__(self, path, what):
        try:
            with open(path, "rb") as file:
                self.data = file.read()
            self.start = 8 + int.from_bytes(self.data[:8], "little")
            self.header = json.loads(self.data[8 : self.start])
        except (OSError, ValueError):
            sys.exit(f"{path} cannot be read, and this program needs it: {what}.")

    def __contains__(self, name):
        return name in self.header

    def __getitem__(self, name):
        first, last = (self.start + offset for offset in self.header[name]["data_offsets"])
        kind = {"F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8", "BOOL": "?"}[self.header[name]["dtype"]]
        array = np.frombuffer(self.data[first:last], kind).reshape(self.header[name]["shape"])
        if kind == "<u2":
            array = (array.astype("<u4") << 16).view("<f4")  # bfloat16 is the upper half of a float32
        return array if kind == "?" else array.astype(np.float32).astype(np.float64)


paths = [*sys.argv[1:], *["$file", "$model_file"][len(sys.argv) - 1 :]]
trace = Tensors(paths[0], "the saved trace of the run")
model = Tensors(paths[1], "the model's parameters, $what")
if "viz_transformer" not in trace.header.get("__metadata__", {}):
    sys.exit(f"{paths[0]} is not a saved trace.")
about = json.loads(trace.header["__metadata__"]["viz_transformer"])
$same_file

def point(name):
    """A point of the run's one text."""
    return trace[name][0]


def length(vector):
    return np.sqrt((vector * vector).sum())


def digits(value):
    """Six significant digits, or all of a whole number."""
    whole = abs(value) < 1e15 and value == round(value)
    return f"{value + 0.0:{'.15g' if whole else '.6g'}}"


def show(name, values):
    """The digits of each number; of a long vector the first four, their count, and the vector's length."""
    values = np.asarray(values, dtype=float).reshape(-1)
    numbers = [digits(value) for value in values[: 4 if len(values) > $in_full else None].tolist()]
    if len(values) > $in_full:
        numbers.append(f"... {len(values)} numbers, length {digits(float(length(values)))}")
    print(f"  {name:<28}", *numbers)


agrees = {}  # line of the ladder: whether each of its comparisons agrees


def line(name):
    agrees[name] = []
    print(name)


def compare(worked_out, recorded, scale=0.0):
    """Note whether the two are equal up to the rounding of float32; scale: how large the numbers were that added up."""
    worked_out, recorded = np.asarray(worked_out, dtype=float), np.asarray(recorded, dtype=float)
    same = (worked_out == recorded) | (np.isnan(worked_out) & np.isnan(recorded))
    gap = np.nan_to_num(np.where(same, 0, np.abs(worked_out - recorded)), nan=np.inf).max()
    largest = np.abs(recorded[np.isfinite(recorded)]).max(initial=0)
    [*agrees.values()][-1].append(gap <= $rounding * max(1, largest, scale))

''')
_WHAT = "the file of that name in its checkpoint folder"
_NEW_WHAT = "random numbers without a checkpoint folder, which the page One weight saves"
_SAME_FILE = """\
if hashlib.sha256(model.data).hexdigest() != about["weights_sha256"]:
    sys.exit(f"{paths[1]} is not the file of the model that made this trace: its sha256 is another.")
"""

_NORM = Template('''
def $name(x, parameters):
    """Mean and scale of the stream [T, D], and the stream behind the norm$note."""
    mean = x.mean(axis=$axis, keepdims=True)
    scale = $scale
    return mean, scale, (x - mean) / scale * model[f"{parameters}.gain"] + model[f"{parameters}.offset"]

''')
_NORM_SCALES = {
    "layer": "np.sqrt(x.var(axis=1, keepdims=True) + {})",
    "bessel": "x.std(axis=1, ddof=1, keepdims=True) + {}",
    "positions-and-features": "np.sqrt(x.var(axis=(0, 1), keepdims=True) + {})",
}
_NORM_NOTES = {
    "layer": "",
    "bessel": ", with Bessel's correction",
    "positions-and-features": ", over all positions and features together",
}

_TOKENS = Template("""
site, head, query, key = "$site", $head, $query, $key
# What the model's file calls this attention and its norm.
attention, norm_of = "$attention", "$norm_of"

# Each token starts as its row of the embedding table, scaled, plus the vector of its position.
line("token")
for name, stack, place in (("query", "$stack", query), ("key", "$key_stack", key)):
    x = point(f"{stack}.embed.token")[place]
    show(f"{name}, e", x)
    if f"{stack}.embed.position" in trace:
        p = point(f"{stack}.embed.position")[place]
        show(f"{name}, p", p)
        x = x + p
    show(f"{name}, x0", x)
    compare(x, point(f"{stack}.embed.out")[place])

# The stream: what both tokens have become before this sub-layer.
line("stream")
stream = point("$stream_point")
show("query, x", stream[query])
came = $came
compare(came, point("$came_to")[query])
""")
_STREAM_OF_KEY = """\
show("key, x", stream[key])
"""
_MEMORY = Template("""\
memory = point("encoder.out")
show("key, m", memory[key])
compare($last[key], memory[key])
""")

_NORM_BEFORE = """
# The norm in front of the sub-layer.
line("norm")
mean, scale, normed = norm(stream, norm_of)
own = query if len(mean) > 1 else 0
show("mean", mean[own])
show("scale", scale[own])
show("(x - mean) / scale", (stream[query] - mean[own]) / scale[own])
show("gain", model[f"{norm_of}.gain"])
show("offset", model[f"{norm_of}.offset"])
show("n", normed[query])
compare(mean[own], point(f"{site}.norm_mean")[own], np.abs(stream).max())
compare(scale[own], point(f"{site}.norm_scale")[own], np.abs(stream).max())
compare(normed[query], point(f"{site}.in")[query])
"""
_NORM_OF_KEY = """\
compare(normed[key], point(f"{site}.in")[key])
"""
_NO_NORM = """
# Post-norm: the sub-layer reads the stream as it is; the norm stands behind the sum.
line("norm")
show("n", stream[query])
compare(stream[query], point(f"{site}.in")[query])
"""

_MAPS = Template("""

def parameters(part):
    \"\"\"W [D, D] and b [D] of one of the four maps; zeros where the model has no biases.\"\"\"
    name = f"{attention}.to_{part}"
    weight = model[f"{name}.weight"]
    return weight, model[f"{name}.bias"] if f"{name}.bias" in model else np.zeros(len(weight))


(w_q, b_q), (w_k, b_k), (w_v, b_v), (w_o, b_o) = map(parameters, ("query", "key", "value", "out"))
q = point(f"{site}.query")[head, query]  # [E], as recorded
keys = point(f"{site}.key")[head]  # [K, E]
values = point(f"{site}.value")[head]  # [K, E]
heads, queries, size = point(f"{site}.head_out").shape
rows = slice(head * size, (head + 1) * size)  # of W_Q, W_K and W_V that this head owns
n = point(f"{site}.in")[query]
$read = point("$read_point")[key]

# Its rows of W_Q and W_K, and one dimension of both in full: the one with the largest product.
line("maps")
terms = np.abs(q * keys[key])
d = int(np.nanargmax(terms)) if np.isfinite(terms).any() else 0
row = rows.start + d
show("d, row", [d, row])
for letter, weight, bias, read, name, place in (
    ("Q", w_q, b_q, n, "query", query),
    ("K", w_k, b_k, $read, "key", key),
):
    products = weight[row] * read
    show(f"W_{letter}, rows of the head", weight[rows])
    show(f"W_{letter}[row]", weight[row])
    show(f"W_{letter}[row] x what it reads", products)
    show("sum", products.sum())
    show("bias", bias[row])
    show(f"{name}[d]", products.sum() + bias[row])
    compare(products.sum() + bias[row], point(f"{site}.{name}$unrotated")[head, place, d], np.abs(products).sum())

line("query")
made = n @ w_q[rows].T + b_q[rows]
${turn_query}show("q", made)
show("length", length(made))
compare(made, q, (np.abs(w_q[rows]) @ np.abs(n)).max())

line("key")
made = $read @ w_k[rows].T + b_k[rows]
${turn_key}show("k", made)
show("length", length(made))
compare(made, keys[key], (np.abs(w_k[rows]) @ np.abs($read)).max())

# From here to the head's output the float64 numbers go on from line to line.
line("products")
dots = (keys * q).sum(axis=1)
show("q x k, by dimension", q * keys[key])
show("sum", dots[key])

line("divisor")
divisor = about["scalars"][f"{site}.divisor"]
scores = dots / divisor
show("divisor", divisor)
${add_bias}show("score", scores[key])
show("scores of the row", scores)
""")

_ROTATION = """

def angles(place):
    \"\"\"By how much this position turns each dimension's pair, in radians: [E].\"\"\"
    size = point(f"{site}.query").shape[-1]
    return np.repeat(place / 10_000.0 ** (np.arange(0, size, 2) / size), 2)


def turned(vector, place):
    \"\"\"Dimensions 2i and 2i+1 turned counter-clockwise by their angle at this position: [E].\"\"\"
    angle, even, odd = angles(place)[0::2], vector[0::2], vector[1::2]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=1).reshape(-1)

"""
_TURN = """\
show("before the rotation", made)
show("angles", angles({place}))
compare(made, point(f"{{site}}.{place}_unrotated")[head, {place}], (np.abs({weight}[rows]) @ np.abs({read})).max())
made = turned(made, {place})
"""
_BIAS = Template("""\
bias = point(f"{site}.bias")[head, query]  # ALiBi: less for keys that are farther away
back = query - np.arange(len(keys))
compare(-$slope * $distance, bias)
scores = scores + bias
show("bias", bias[key])
""")

_MASK = Template("""
# True = may attend. $rule
line("mask")
mask = np.broadcast_to(trace[f"{site}.mask"], (1, heads, queries, len(keys)))[0, head, query]
$kept
compare($ruled, mask)
show("may attend", mask[key])
show("row of the mask", mask)
show("open keys", mask.sum())

# The softmax of the row$note
line("softmax")
$seen
below = seen - seen.max()
exponentials = np.exp(below)
weights = exponentials / exponentials.sum()
${zeros}show("score as it is seen", seen[key])
show("largest", seen.max())
show("below the largest", below)
show("exponentials", exponentials)
show("their sum", exponentials.sum())
show("weights", weights)
show("sum of the weights", weights.sum())
if f"{site}.weights" in trace:  # a long attention that ran fused recorded none
    compare(weights, point(f"{site}.weights")[head, query])

line("weight")
show("weight", weights[key])
show("if it were even", 1 / mask.sum() if mask.any() else np.nan)
show("rank in the row", 1 + (weights > weights[key]).sum())
if f"{site}.weights" in trace:
    compare(weights[key], point(f"{site}.weights")[head, query, key])
""")
_SEEN = {
    "zero-rows": "seen = np.where(mask, scores, -np.inf)",
    "-inf": "seen = np.where(mask, scores, -np.inf)",
    "-1e9": "seen = np.where(mask, scores, -1e9)",
    "-1e10": "seen = np.where(mask, scores, -1e10)",
    "added-1e9": "seen = np.where(mask, scores, (scores.astype(np.float32) + np.float32(-1e9)).astype(np.float64))",
}
_ZEROS = """\
if not mask.any():
    exponentials, weights = 0 * scores, np.zeros(len(scores))
"""
_NOTES = {
    "zero-rows": ": a row that may attend to nothing is all zeros in this model.",
    "-inf": ": masked scores are minus infinity; a row that may attend to nothing is not a number.",
    "-1e9": ": masked scores are -1e9; a row that may attend to nothing is even.",
    "-1e10": ": masked scores are -1e10; a row that may attend to nothing is even.",
    "added-1e9": ": -1e9 is added to masked scores, in float32 as the model does it, in steps of 64.",
}

_OUTPUT = Template("""
line("value")
made = $read @ w_v[rows].T + b_v[rows]
part = weights[key] * values[key]
show("v", values[key])
show("weight x v", part)
show("length of v", length(values[key]))
show("length of weight x v", length(part))
compare(made, values[key], (np.abs(w_v[rows]) @ np.abs($read)).max())

line("head")
head_out = (weights[:, None] * values).sum(axis=0)
show("from this key", part)
show("from all other keys", head_out - part)
show("head_out", head_out)
show("length", length(head_out))
compare(head_out, point(f"{site}.head_out")[head, query])

$merge
show("row, slot", [row, slot])
show("merged row", merged)

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

# Into the stream.
line("residual")
x, y = stream[row], point(f"{site}.out")[row]
show("x", x)
show("y", y)
show("x + y", x + y)
show("length of x", length(x))
show("length of y", length(y))
show("length of x + y", length(x + y))
compare(x + y, point("$sum_point")[row])
""")
_MERGES = {
    "concatenate": """\
# The heads stand beside each other: this one in the slot of its number.
line("merge")
row, slot = query, head
merged = point(f"{site}.head_out")[:, query].reshape(-1)""",
    "raw-reshape": """\
# The merge is a raw reshape: positions and heads mix.
line("merge")
row, slot = divmod(head * queries + query, heads)
merged = point(f"{site}.head_out").reshape(queries, -1)[row]""",
}
_NORM_BEHIND = Template("""\
total = point("$sum_point")
mean, scale, normed = norm(total, norm_of)
own = row if len(mean) > 1 else 0
show("mean", mean[own])
show("scale", scale[own])
show("after the norm", normed[row])
compare(mean[own], point(f"{site}.norm_mean")[own], np.abs(total).max())
compare(scale[own], point(f"{site}.norm_scale")[own], np.abs(total).max())
compare(normed[row], point("$after")[row])
""")

_VERDICT = """
every = [each for found in agrees.values() for each in found]
print(f"{sum(every)} of {len(every)} comparisons with the record agree up to the rounding of float32")
if not all(every):
    print("not in the lines", ", ".join(name for name, found in agrees.items() if not all(found)))
"""


def python_copy(trace: Trace, cell: Cell) -> str:
    """A program that works the cell out anew from the file that `trace.save` writes and the model's, with numpy alone.

    It prints what `printed_ladder.printed` says. Nothing of a text goes into it.
    """
    config, cross = trace.config, cell.kind == "cross"
    new, layer = is_new(trace.checkpoint), f"{cell.stack}.{cell.layer}"
    part = "cross" if cross else "self"
    stream_point = f"{layer}.residual_after_self" if cross else f"{layer}.residual_in"
    after = f"{layer}.residual_after_{part}"
    words = {
        "site": cell.site,
        "head": cell.head,
        "query": cell.query,
        "key": cell.key,
        "run": trace.id,
        "model": ascii(trace.checkpoint),
        "file": FILE,
        "model_file": MODEL_FILE,
        "what": _NEW_WHAT if new else _WHAT,
        "same_file": "" if new else _SAME_FILE,
        "in_full": IN_FULL,
        "rounding": ROUNDING,
        "stack": cell.stack,
        "key_stack": cell.key_stack,
        "attention": f"{cell.stack}.layers.{cell.layer}.{part}_attention",
        "norm_of": f"{cell.stack}.layers.{cell.layer}.{part}_residual.norm",
        "stream_point": stream_point,
        "read": "m" if cross else "n_key",
        "read_point": "encoder.out" if cross else f"{cell.site}.in",
        "after": after,
        "sum_point": after if config.norm == "pre" else f"{after}_sum",
        "merge": _MERGES[config.merge],
        **_position_words(cell, config),
        **_came(cell, config),
        **_mask_words(cell, config),
    }
    pre = config.norm == "pre"
    pieces = [
        _FILES,
        *_norms(cell, config),
        _TOKENS,
        _memory(config) if cross else _STREAM_OF_KEY,
        _NORM_BEFORE if pre else _NO_NORM,
        _NORM_OF_KEY if pre and not cross else "",
        _ROTATION if words["unrotated"] else "",
        _MAPS,
        _MASK,
        _OUTPUT,
        "" if pre else _NORM_BEHIND,
        _VERDICT,
    ]
    return "".join(piece if isinstance(piece, str) else piece.substitute(words) for piece in pieces)


def _norms(cell: Cell, config: ModelConfig) -> list[str]:
    """The norm of the sub-layer, and that behind the encoder if it is of another kind and keys are read there."""
    kinds = {"norm": (config.norm_kind, config.norm_epsilon)}
    if cell.kind == "cross" and config.final_norm and config.encoder_final_norm == "torch":
        kinds["encoder_norm"] = ("layer", 1e-5)
    return [
        _NORM.substitute(
            name=name,
            note=_NORM_NOTES[kind],
            axis="(0, 1)" if kind == "positions-and-features" else "1",
            scale=_NORM_SCALES[kind].format(epsilon),
        )
        for name, (kind, epsilon) in kinds.items()
    ]


def _position_words(cell: Cell, config: ModelConfig) -> dict[str, str]:
    """What positions do inside this attention: nothing in most models, and in no cross-attention."""
    acts = "" if cell.kind == "cross" else config.positions
    found = {"unrotated": "", "turn_query": "", "turn_key": "", "add_bias": ""}
    if acts == "rotary":
        found["unrotated"] = "_unrotated"
        found["turn_query"] = _TURN.format(place="query", weight="w_q", read="n")
        found["turn_key"] = _TURN.format(place="key", weight="w_k", read="n_key")
    elif acts == "alibi":
        distance = "np.abs(back)" if cell.kind == "encoder" else "np.maximum(back, 0)"
        slope = repr(alibi_slopes(config.n_heads)[cell.head])
        found["add_bias"] = _BIAS.substitute(slope=slope, distance=distance)
    return found


def _memory(config: ModelConfig) -> str:
    """The memory, from what the encoder's last layer left."""
    last = f'point("encoder.{config.encoder_layers - 1}.residual_out")'
    if config.final_norm:
        name = "encoder_norm" if config.encoder_final_norm == "torch" else "norm"
        last = f'{name}({last}, "encoder.norm")[2]'
    return _MEMORY.substitute(last=last)


def _came(cell: Cell, config: ModelConfig) -> dict[str, str]:
    """What the query's stream is made of, and the point that has it."""
    layer = f"{cell.stack}.{cell.layer}"
    if cell.kind == "cross":
        came = f'point("{layer}.residual_in")[query] + point("{layer}.self.out")[query]'
        return {"came": came, "came_to": f"{layer}.residual_after_self{'' if config.norm == 'pre' else '_sum'}"}
    before = f"{cell.stack}.{cell.layer - 1}.residual_out" if cell.layer else f"{cell.stack}.embed.out"
    return {"came": f'point("{before}")[query]', "came_to": f"{layer}.residual_in"}


def _mask_words(cell: Cell, config: ModelConfig) -> dict[str, str]:
    """Which keys the ids and causality leave open, and what becomes of the others."""
    kind = KINDS[cell.kind]

    def kept(side: Side) -> str:
        pad = side.pad(config)
        ids = f'np.array(about["{side.of("src", "tgt")}"][0])'
        return f"np.ones(len({ids}), dtype=bool)" if pad is None else f"{ids} != {pad}"

    swapped = cell.kind == "cross" and config.padding_mask == "key-or-query-swapped-cross"
    ruled, rule = "key_kept", "Padded keys are masked"
    if swapped:
        ruled, rule = "query_kept & key_kept[query]", "Padding is masked with its two sides swapped, a slip"
    elif config.padding_mask != "key":
        ruled, rule = "key_kept & query_kept[query]", "Padded keys and padded queries are masked"
    lines = [f"key_kept = {kept(kind.keys)}  # tokens, not padding"]
    if "query_kept" in ruled:
        lines.append(f"query_kept = {kept(kind.queries)}")
    if kind.causal:
        ruled, rule = f"{ruled} & (np.arange(len(keys)) <= query)", f"{rule}, and keys after the query"
    fill = config.mask_fill
    zeros = _ZEROS if fill == "zero-rows" else ""
    return {
        "kept": "\n".join(lines),
        "ruled": ruled,
        "rule": f"{rule}.",
        "note": _NOTES[fill],
        "seen": _SEEN[fill],
        "zeros": zeros,
    }


def model_file(ckpt: Checkpoint) -> bytes:
    """The file of parameters that the program reads: the checkpoint's own; of a model without one, its float32 numbers.

    Raises OSError if the checkpoint's file cannot be read any more.
    """
    if ckpt.path is not None:
        return (ckpt.path / WEIGHTS).read_bytes()
    from safetensors.torch import save

    return save({name: tensor.contiguous() for name, tensor in ckpt.model.state_dict().items()})
