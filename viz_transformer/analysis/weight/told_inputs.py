"""The first lines of a ladder: from two tokens through the stream and its norm to the query and the key of one head."""

from __future__ import annotations

from string import Template

from viz_transformer.analysis.weight.told import Told, Vector, by_axis
from viz_transformer.analysis.weight.weight_numbers import Cell
from viz_transformer.model.config import ModelConfig

_NORM = Template('''
def $name(x, parameters):
    """Mean and scale of the stream [T, D], and the stream after the norm$note."""
    mean = x.mean(axis=$axis, keepdims=True)
    scale = $scale
    return mean, scale, (x - mean) / scale * model[f"{parameters}.gain"] + model[f"{parameters}.offset"]

''')
_NORM_KINDS = {  # what the docstring adds, the axis, the scale
    "layer": ("", "1", "np.sqrt(x.var(axis=1, keepdims=True) + {})"),
    "bessel": (", with Bessel's correction", "1", "x.std(axis=1, ddof=1, keepdims=True) + {}"),
    "positions-and-features": (
        ", over all positions and features together",
        "(0, 1)",
        "np.sqrt(x.var(axis=(0, 1), keepdims=True) + {})",
    ),
}


def norms(cell: Cell, config: ModelConfig) -> str:
    """The norm of the sub-layer, and that behind the encoder if it is of another kind and keys are read there."""
    kinds = {"norm": (config.norm_kind, config.norm_epsilon)}
    if cell.kind == "cross" and config.final_norm and config.encoder_final_norm == "torch":
        kinds["encoder_norm"] = ("layer", 1e-5)
    parts = []
    for name, (kind, epsilon) in kinds.items():
        note, axis, scale = _NORM_KINDS[kind]
        parts.append(_NORM.substitute(name=name, note=note, axis=axis, scale=scale.format(epsilon)))
    return "".join(parts)


_TOKEN = Template("""
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
""")


def token(cell: Cell, config: ModelConfig) -> Told:
    """Embedding and position of both tokens; in front of it the norms, and the names of the cell."""
    place = f"{cell.stack}.layers.{cell.layer}.{cell.attention}"
    names = {"token, scaled": "e", "position": "p", "input": "x0"}
    return Told(
        norms(cell, config)
        + _TOKEN.substitute(
            site=cell.site,
            head=cell.head,
            query=cell.query,
            key=cell.key,
            stack=cell.stack,
            key_stack=cell.key_stack,
            attention=f"{place}_attention",
            norm_of=f"{place}_residual.norm",
        ),
        by_axis(
            "feature",
            {f"{s}'s {name}": f"shown('{s}, {label}')" for s in ("query", "key") for name, label in names.items()},
        ),
        checks=(
            ("input of the query", f"{cell.stack}.embed.out[0, {{query}}]"),
            ("input of the key", f"{cell.key_stack}.embed.out[0, {{key}}]"),
        ),
    )


_STREAM = Template("""
# The stream: what both tokens have become before this sub-layer.
line("stream")
stream = point("$stream")
show("query, x", stream[query])
came = $came
compare(came, point("$to")[query])
""")
_STREAM_OF_KEY = """\
show("key, x", stream[key])
"""
_MEMORY = Template("""\
memory = point("encoder.out")
show("key, m", memory[key])
compare($last[key], memory[key])
""")


def stream(cell: Cell, config: ModelConfig) -> Told:
    """What has become of both tokens before this sub-layer."""
    layer, to = f"{cell.stack}.{cell.layer}", cell.stream_point
    if cell.kind != "cross":
        before = f"{cell.stack}.{cell.layer - 1}.residual_out" if cell.layer else f"{cell.stack}.embed.out"
        code = _STREAM.substitute(stream=to, came=f'point("{before}")[query]', to=to) + _STREAM_OF_KEY
        name = f"what layer {cell.layer - 1} left" if cell.layer else "the input"
        vectors = by_axis("feature", {"query's stream": "stream[query]", "key's stream": "stream[key]"})
        return Told(code, vectors, checks=((name, f"{to}[0, {{query}}]"),))
    came = f'point("{layer}.residual_in")[query] + point("{layer}.self.out")[query]'
    to = f"{to}{'' if config.norm == 'pre' else '_sum'}"
    last = f'point("encoder.{config.encoder_layers - 1}.residual_out")'
    if config.final_norm:
        last = f'{"encoder_norm" if config.encoder_final_norm == "torch" else "norm"}({last}, "encoder.norm")[2]'
    return Told(
        _STREAM.substitute(stream=cell.stream_point, came=came, to=to) + _MEMORY.substitute(last=last),
        by_axis("feature", {"query's stream": "stream[query]", "key's memory": "memory[key]"}),
        checks=(("stream + self-attention", f"{to}[0, {{query}}]"), ("memory", "encoder.out[0, {key}]")),
    )


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
# Post-norm: the sub-layer reads the stream as it is; the norm comes after the sum.
line("norm")
show("n", stream[query])
compare(stream[query], point(f"{site}.in")[query])
"""
MEAN_AND_SCALE = (("mean", "{site}.norm_mean[0, {own}, 0]"), ("scale", "{site}.norm_scale[0, {own}, 0]"))


def norm(cell: Cell, config: ModelConfig) -> Told:
    """The norm in front of a pre-norm sub-layer; a post-norm sub-layer reads the stream."""
    read = "{site}.in[0, {query}]"
    if config.norm == "post":
        return Told(
            _NO_NORM, by_axis("feature", {"read": "stream[query]"}), checks=(("what the sub-layer reads", read),)
        )
    normed = {"centred, scaled": "(x - mean) / scale", "gain": "gain", "offset": "offset", "after": "n"}
    key = () if cell.kind == "cross" else (("after the norm, key", "{site}.in[0, {key}]"),)
    return Told(
        _NORM_BEFORE + (_NORM_OF_KEY if key else ""),
        by_axis("feature", {"before": "stream[query]"} | {name: f"shown('{label}')" for name, label in normed.items()}),
        {"mu": "mean[own]", "sigma": "scale[own]"},
        (*MEAN_AND_SCALE, ("after the norm, query", read), *key),
    )


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
    compare(products.sum() + bias[row], point(f"{site}.{name}$unplaced")[head, place, d], np.abs(products).sum())
""")


def maps(cell: Cell, config: ModelConfig) -> Told:
    """This head's rows of W_Q and W_K, and one dimension of both computed in full."""
    unplaced = cell.unplaced(config)
    first, last = cell.head * config.head_dim, (cell.head + 1) * config.head_dim - 1
    vectors: list[Vector] = []
    scalars = {"d": "d", "row": "row"}
    for second, (letter, name) in enumerate((("q", "query"), ("k", "key"))):
        large = letter.upper()
        owned = f"shown('W_{large}, rows of the head')"
        vectors += [
            Vector(f"W_{large}, rows {first} to {last}", "feature", owned, picked="d"),
            Vector("row {row} × what it reads", "feature", f"shown('W_{large}[row] x what it reads')"),
        ]
        scalars |= {f"{letter}_{part}": f"shown('{part}', {second})" for part in ("sum", "bias")}
        scalars[f"{letter}_d"] = f"shown('{name}[d]')"
    return Told(
        (config.encoding.told_placing().functions if unplaced else "")
        + _MAPS.substitute(read=key_row(cell), read_point=cell.read_point, unplaced=unplaced),
        tuple(vectors),
        scalars,
        tuple(
            (f"{letter}, dimension {{d}}", f"{{site}}.{name}{unplaced}[0, {{head}}, {{{name}}}, {{d}}]")
            for letter, name in (("q", "query"), ("k", "key"))
        ),
    )


_PROJECTED = Template("""
line("$name")
made = $read @ w_$letter[rows].T + b_$letter[rows]
${placing}show("$letter", made)
show("length", length(made))
compare(made, $recorded, (np.abs(w_$letter[rows]) @ np.abs($read)).max())
""")
_PLACING = Template("""\
show("$before", made)
${showing}compare(made, point(f"{site}.$name$unplaced")[head, $name], (np.abs(w_$letter[rows]) @ np.abs($read)).max())
made = $placed
""")


def projected(name: str, cell: Cell, config: ModelConfig) -> Told:
    """The query or the key of the head, and what its position makes of it in a model whose encoding acts there."""
    letter, read, recorded = ("q", "n", "q") if name == "query" else ("k", key_row(cell), "keys[key]")
    words = {"name": name, "letter": letter, "read": read, "recorded": recorded}
    unplaced, told = cell.unplaced(config), config.encoding.told_placing()
    biases = (Vector("bias", "dimension", f"b_{letter}[rows]"),) if config.attention_bias else ()
    at = f"[0, {{head}}, {{{name}}}]"
    placing, vectors = "", {}
    before: tuple[tuple[str, str], ...] = ()
    if unplaced:
        showing, placed = (Template(code).substitute(words) for code in (told.showing, told.placed or recorded))
        words |= {"unplaced": unplaced, "before": told.before, "showing": showing, "placed": placed}
        placing = _PLACING.substitute(words)
        vectors = {f"{name} {told.before}": told.before, **told.shown}
        before = ((f"{name} {told.before}", f"{{site}}.{name}{unplaced}{at}"),)
    return Told(
        _PROJECTED.substitute(words, placing=placing),
        (
            *by_axis("feature", {"read": read, "map": f"w_{letter}[rows]"}),
            *biases,
            *by_axis("dimension", {each: f"shown('{label}')" for each, label in vectors.items()} | {name: "made"}),
        ),
        {"norm": "shown('length')"},
        (*before, (name, f"{{site}}.{name}{at}")),
    )


def key_row(cell: Cell) -> str:
    """What the program calls the row that the key and the value are made of."""
    return "m" if cell.kind == "cross" else "n_key"
