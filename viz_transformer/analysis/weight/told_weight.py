"""The middle lines of a ladder: from query and key to the weight, by products, divisor, mask and softmax."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING

from viz_transformer.analysis.weight.told import Told, by_axis
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import KINDS, Side

if TYPE_CHECKING:
    from viz_transformer.analysis.weight.weight_numbers import Cell

PRODUCTS = Told(
    """
# From here to the head's output the float64 numbers go on from line to line.
line("products")
dots = (keys * q).sum(axis=1)
show("q x k, by dimension", q * keys[key])
show("sum", dots[key])
""",
    by_axis(
        "dimension",
        {
            "query": "q",
            "key": "keys[key]",
            "products": "shown('q x k, by dimension')",
            "added up so far": "np.cumsum(shown('q x k, by dimension'))",
        },
    ),
    {"dot": "dots[key]"},
)

_DIVISOR = Template("""
line("divisor")
divisor = about["scalars"][f"{site}.divisor"]
scores = dots / divisor
show("divisor", divisor)
${bias}show("score", scores[key])
show("scores of the row", scores)
""")
_BIAS = Template("""\
bias = point(f"{site}.bias")[head, query]  # $note
${compared}scores = scores + bias
show("bias", bias[key])
""")


_COMPARED = Template("""\
back = query - np.arange(len(keys))
compare($worked_out, bias)
""")


def divisor(cell: Cell, config: ModelConfig) -> Told:
    """The score, with the bias that positions may add to it."""
    scalars = {"dot": "dots[key]", "divisor": "divisor", "s": "scores[key]"}
    if not config.encoding.biased or cell.kind == "cross":
        return Told(_DIVISOR.substitute(bias=""), by_axis("key", {"score": "scores"}), scalars)
    told = config.encoding.told_bias(config, cell.stack, cell.head)
    compared = _COMPARED.substitute(worked_out=told.worked_out) if told.worked_out else ""
    return Told(
        _DIVISOR.substitute(bias=_BIAS.substitute(note=told.note, compared=compared)),
        by_axis("key", {"bias": "bias", "score": "scores"}),
        {**scalars, "bias": "bias[key]", **told.scalars},
        (("bias of the row", "{site}.bias[0, {head}, {query}]"),) if compared else (),
    )


_MASK = Template("""
# True = may attend. $rule.
line("mask")
mask = np.broadcast_to(trace[f"{site}.mask"], (1, heads, queries, len(keys)))[0, head, query]
$kept
compare($ruled, mask)
show("may attend", mask[key])
show("row of the mask", mask)
show("open keys", mask.sum())
""")


def mask(cell: Cell, config: ModelConfig) -> Told:
    """What may be read, by the rules of the config, beside the mask that was recorded."""
    kind = KINDS[cell.kind]

    def kept(side: Side) -> str:
        pad = side.pad(config)
        ids = f'np.array(about["{side.of("src", "tgt")}"][0])'
        return f"np.ones(len({ids}), dtype=bool)" if pad is None else f"{ids} != {pad}"

    ruled, rule = "key_kept & query_kept[query]", "Padded keys and padded queries are masked"
    if cell.kind == "cross" and config.padding_mask == "key-or-query-swapped-cross":
        ruled, rule = "query_kept & key_kept[query]", "Padding is masked with its two sides swapped, a slip"
    elif config.padding_mask == "key":
        ruled, rule = "key_kept", "Padded keys are masked"
    lines = [f"key_kept = {kept(kind.keys)}  # tokens, not padding"]
    if "query_kept" in ruled:
        lines.append(f"query_kept = {kept(kind.queries)}")
    if kind.causal:
        ruled, rule = f"{ruled} & (np.arange(len(keys)) <= query)", f"{rule}, and keys after the query"
    seen = {"s": "scores[key]", "seen": f"({FILLS[config.mask_fill].code})[key]"}
    return Told(
        _MASK.substitute(rule=rule, kept="\n".join(lines), ruled=ruled),
        by_axis("key", {"may attend": "mask"}),
        {"open": "mask[key]", "allowed": "mask.sum()", "keys": "mask.size", **seen},
        (("mask of the row", "{site}.mask[0, 0, {query}]"),),
    )


@dataclass(frozen=True)
class Fill:
    """What becomes of masked scores. code: the scores as the softmax sees them; note: the program's comment; formula:
    LaTeX; sentence: the page's."""

    code: str
    note: str
    formula: str
    sentence: str


FILLS: Mapping[str, Fill] = {
    "zero-rows": Fill(
        "np.where(mask, scores, -np.inf)",
        ": a row that may attend to nothing is all zeros in this model.",
        r"s \to -\infty",
        "A masked score takes no part in the softmax; a row that may attend to nothing is all zeros.",
    ),
    "-inf": Fill(
        "np.where(mask, scores, -np.inf)",
        ": masked scores are minus infinity; a row that may attend to nothing is not a number.",
        r"s \to -\infty",
        "A masked score becomes minus infinity; a row that may attend to nothing is not a number.",
    ),
    "-1e9": Fill(
        "np.where(mask, scores, -1e9)",
        ": masked scores are -1e9; a row that may attend to nothing is even.",
        r"s \to -10^9",
        "A masked score becomes -1e9; a row that may attend to nothing is uniform over all keys.",
    ),
    "-1e10": Fill(
        "np.where(mask, scores, -1e10)",
        ": masked scores are -1e10; a row that may attend to nothing is even.",
        r"s \to -10^{10}",
        "A masked score becomes -1e10; a row that may attend to nothing is uniform over all keys.",
    ),
    "added-1e9": Fill(
        "np.where(mask, scores, (scores.astype(np.float32) + np.float32(-1e9)).astype(np.float64))",
        ": -1e9 is added to masked scores, in float32 as the model does it, in steps of 64.",
        r"s \to s + (-10^9)",
        "-1e9 is added to a masked score in float32, whose steps are 64 there, so only a multiple of 64 is left of the"
        " score. A row that may attend to nothing is uniform only where these are equal.",
    ),
}

_SOFTMAX = Template("""
# The softmax of the row$note
line("softmax")
seen = $seen
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
""")
_ZEROS = """\
if not mask.any():
    exponentials, weights = 0 * scores, np.zeros(len(scores))
"""


def softmax(config: ModelConfig) -> Told:
    """The whole row: a weight depends on every score in it."""
    fill, zeros = FILLS[config.mask_fill], _ZEROS if config.mask_fill == "zero-rows" else ""
    return Told(
        _SOFTMAX.substitute(note=fill.note, seen=fill.code, zeros=zeros),
        by_axis("key", {"below the largest": "below", "exponentials": "exponentials", "weights": "weights"}),
        {"max": "shown('largest')", "total": "shown('their sum')", "sum": "shown('sum of the weights')"},
        (("weights of the row", "{site}.weights[0, {head}, {query}]"),),
    )


WEIGHT = Told(
    """
line("weight")
show("weight", weights[key])
show("if it were even", 1 / mask.sum() if mask.any() else np.nan)
show("rank in the row", 1 + (weights > weights[key]).sum())
if f"{site}.weights" in trace:
    compare(weights[key], point(f"{site}.weights")[head, query, key])
""",
    by_axis("key", {"weights": "weights"}),
    {"w": "weights[key]", "even": "shown('if it were even')", "rank": "shown('rank in the row')"},
    (("weight", "{site}.weights[0, {head}, {query}, {key}]"),),
)
