"""The source of each line of *One weight*: the values the page reads from each step of `derivation`, and the step's
inputs for a cell of a model: names, numbers, and the functions that the config selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from viz_transformer.analysis.weight import derivation
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import KINDS

if TYPE_CHECKING:
    from viz_transformer.analysis.weight.weight_numbers import Cell

AxisName = Literal["feature", "dimension", "key"]
Step = Callable[[Any, Any], None]
Source = str | tuple[str, int] | Callable[[Any], Any]
"""The source of a number: the label under which a step showed it, with an index if there are several (0 is the first),
or a function of the values known after the step."""
digits: Callable[[float], str] = derivation.digits
"""A score to which -1e9 was added is a whole number, and what is left of the score are its last digits."""


@dataclass(frozen=True)
class Vector:
    """A vector or a matrix of a line on the page; left out if its label was not shown."""

    name: str
    axis: AxisName
    source: Source
    picked: Callable[[Any], int] | None = None
    span: Callable[[Any], tuple[int, int]] | None = None


@dataclass(frozen=True)
class StepSource:
    """One line. scalars: numbers by name. checks: name and point of each comparison of the step, in its order."""

    step: Step | None
    vectors: tuple[Vector, ...] = ()
    scalars: Mapping[str, Source] = field(default_factory=dict)
    checks: tuple[tuple[str, str], ...] = ()


def by_axis(axis: AxisName, sources: Mapping[str, Source]) -> tuple[Vector, ...]:
    """Vectors over the same axis by their names; of those by key the cell's own is picked."""
    picked = (lambda at: int(at.key)) if axis == "key" else None
    return tuple(Vector(name, axis, source, picked) for name, source in sources.items())


def list_step_sources(cell: Cell, config: ModelConfig) -> dict[str, StepSource]:
    """The step and the source of each line of a cell, from the tokens on."""
    return {
        "token": _token(cell),
        "stream": _stream(cell, config),
        "norm": _norm(cell, config),
        "maps": _maps(cell, config),
        "shapes": StepSource(None),  # which is of all cells together, and no part of the program
        "query": _projected("query", cell, config),
        "key": _projected("key", cell, config),
        "products": _PRODUCTS,
        "divisor": _divisor(cell, config),
        "mask": _MASK,
        "softmax": _SOFTMAX,
        "weight": _WEIGHT,
        "value": _VALUE,
        "head": _HEAD,
        "merge": _merge(config),
        "output": _output(config),
        "residual": _residual(cell, config),
    }


def given(cell: Cell, config: ModelConfig) -> dict[str, Any]:
    """The steps' inputs from a cell and its model's config, beside the run and the parameters."""
    place = f"{cell.stack}.layers.{cell.layer}.{cell.attention}"
    after = f"{cell.stack}.{cell.layer}.residual_after_{cell.attention}"
    kind = KINDS[cell.kind]
    values: dict[str, Any] = {
        **{name: getattr(cell, name) for name in ("site", "head", "query", "key", "stack", "key_stack")},
        "attention": f"{place}_attention",  # what the model's file calls this attention, and its norm
        "norm_name": f"{place}_residual.norm",
        "norm": (_NORMS[config.norm_kind], config.norm_epsilon),
        "reads": cell.stream_point,
        "key_stream": "encoder.out" if cell.kind == "cross" else cell.stream_point,
        "key_reads": cell.read_point,
        "unplaced": cell.unplaced(config),
        "key_side": kind.keys.of("src", "tgt"),
        "query_side": kind.queries.of("src", "tgt"),
        "key_pad": kind.keys.pad(config),
        "query_pad": kind.queries.pad(config),
        "rule": _rule(cell, config),
        "causal": kind.causal,
        "fill": FILLS[config.mask_fill].fill,
        "zero_rows": config.mask_fill == "zero-rows",
        "added": after if config.norm == "pre" else f"{after}_sum",
        "left": after,
    }
    if cell.kind == "cross":
        own = ("layer", 1e-5) if config.encoder_final_norm == "torch" else (config.norm_kind, config.norm_epsilon)
        values |= {
            "layer": f"{cell.stack}.{cell.layer}",
            "stream_sum": f"{cell.stream_point}{'' if config.norm == 'pre' else '_sum'}",
            "last": f"encoder.{config.encoder_layers - 1}.residual_out",
            "encoder_norm": (_NORMS[own[0]], own[1]) if config.final_norm else None,
        }
    else:
        values["before"] = f"{cell.stack}.{cell.layer - 1}.residual_out" if cell.layer else f"{cell.stack}.embed.out"
    if cell.unplaced(config):
        told = config.encoding.placing_source()
        values |= {"placing": told.before, "of_places": dict(told.of_places), "placed": told.placed}
    if config.encoding.biased and cell.kind != "cross":
        bias = config.encoding.bias_source(config, cell.stack, cell.head)
        values |= {"bias_of": bias.bias_of, "slope": bias.slope}
    return values


_NORMS: Mapping[str, Callable[..., Any]] = {
    "layer": derivation.layer_norm,
    "bessel": derivation.bessel_norm,
    "positions-and-features": derivation.norm_over_positions,
}


def _rule(cell: Cell, config: ModelConfig) -> Callable[..., Any]:
    """The mask function for the padding rule of the config."""
    if cell.kind == "cross" and config.padding_mask == "key-or-query-swapped-cross":
        return derivation.padding_masked_with_its_sides_swapped
    return derivation.padded_keys_masked if config.padding_mask == "key" else derivation.padded_keys_and_queries_masked


# --- from the tokens to query and key


def _token(cell: Cell) -> StepSource:
    """Embedding and position of both tokens."""
    names = {"token, scaled": "e", "position": "p", "input": "x0"}
    return StepSource(
        derivation.token,
        by_axis("feature", {f"{s}'s {name}": f"{s}, {of}" for s in ("query", "key") for name, of in names.items()}),
        checks=(
            ("input of the query", f"{cell.stack}.embed.out[0, {{query}}]"),
            ("input of the key", f"{cell.key_stack}.embed.out[0, {{key}}]"),
        ),
    )


def _stream(cell: Cell, config: ModelConfig) -> StepSource:
    """What has become of both tokens before this sub-layer."""
    if cell.kind != "cross":
        name = f"what layer {cell.layer - 1} left" if cell.layer else "the input"
        vectors = by_axis("feature", {"query's stream": "query, x", "key's stream": "key, x"})
        return StepSource(derivation.stream, vectors, checks=((name, f"{cell.stream_point}[0, {{query}}]"),))
    return StepSource(
        derivation.stream_and_memory,
        by_axis("feature", {"query's stream": "query, x", "key's memory": "key, m"}),
        checks=(("stream + self-attention", "{stream_sum}[0, {query}]"), ("memory", "encoder.out[0, {key}]")),
    )


_MEAN_AND_SCALE = (("mean", "{site}.norm_mean[0, {nth}, 0]"), ("scale", "{site}.norm_scale[0, {nth}, 0]"))
_MU_AND_SIGMA: Mapping[str, Source] = {"mu": "mean", "sigma": "scale"}


def _norm(cell: Cell, config: ModelConfig) -> StepSource:
    """The norm in front of a pre-norm sub-layer; a post-norm sub-layer reads the stream."""
    read = "{site}.in[0, {query}]"
    if config.norm == "post":
        return StepSource(
            derivation.no_norm, by_axis("feature", {"read": "n"}), checks=(("what the sub-layer reads", read),)
        )
    normed: dict[str, Source] = {"before": lambda at: at.stream[at.query], "centred, scaled": "(x - mean) / scale"}
    key = () if cell.kind == "cross" else (("after the norm, key", "{site}.in[0, {key}]"),)
    return StepSource(
        derivation.norm_before,
        by_axis("feature", {**normed, "gain": "gain", "offset": "offset", "after": "n"}),
        _MU_AND_SIGMA,
        (*_MEAN_AND_SCALE, ("after the norm, query", read), *key),
    )


def _maps(cell: Cell, config: ModelConfig) -> StepSource:
    """This head's rows of W_Q and W_K, and one dimension of both computed in full."""
    first, last = cell.head * config.head_dim, (cell.head + 1) * config.head_dim - 1
    vectors: list[Vector] = []
    scalars: dict[str, Source] = {"d": lambda at: at.d, "row": lambda at: at.row}
    for nth, (letter, name) in enumerate((("q", "query"), ("k", "key"))):
        large = letter.upper()
        rows = (lambda at: at.w_q[at.rows]) if letter == "q" else (lambda at: at.w_k[at.rows])
        vectors += [
            Vector(f"W_{large}, rows {first} to {last}", "feature", rows, picked=lambda at: int(at.d)),
            Vector("row {row} × what it reads", "feature", f"W_{large}[row] x what it reads"),
        ]
        scalars |= {f"{letter}_sum": ("sum", nth), f"{letter}_bias": ("bias", nth), f"{letter}_d": f"{name}[d]"}
    return StepSource(
        derivation.maps,
        tuple(vectors),
        scalars,
        tuple(
            (f"{letter}, dimension {{d}}", f"{{site}}.{name}{{unplaced}}[0, {{head}}, {{{name}}}, {{d}}]")
            for letter, name in (("q", "query"), ("k", "key"))
        ),
    )


def _projected(name: str, cell: Cell, config: ModelConfig) -> StepSource:
    """The query or the key of the head, and what its position makes of it in a model whose encoding acts there."""
    of: dict[str, Source] = (
        {"n": lambda at: at.n, "w": lambda at: at.w_q[at.rows], "b": lambda at: at.b_q[at.rows]}
        if name == "query"
        else {"n": lambda at: at.n_key, "w": lambda at: at.w_k[at.rows], "b": lambda at: at.b_k[at.rows]}
    )
    at = f"[0, {{head}}, {{{name}}}]"
    before: tuple[tuple[str, str], ...] = ()
    vectors: dict[str, Source] = {}
    if cell.unplaced(config):
        told = config.encoding.placing_source()
        vectors = {f"{name} {told.before}": told.before, **told.shown}
        before = ((f"{name} {told.before}", f"{{site}}.{name}{{unplaced}}{at}"),)
    bias = by_axis("dimension", {"bias": of["b"]}) if config.attention_bias else ()
    return StepSource(
        derivation.query if name == "query" else derivation.key,
        (
            *by_axis("feature", {"read": of["n"], "map": of["w"]}),
            *bias,
            *by_axis("dimension", {**vectors, name: name[0]}),
        ),
        {"norm": "length"},
        (*before, (name, f"{{site}}.{name}{at}")),
    )


# --- from query and key to the weight

_PRODUCTS = StepSource(
    derivation.products,
    by_axis(
        "dimension",
        {
            "query": lambda at: at.q,
            "key": lambda at: at.keys[at.key],
            "products": "q x k, by dimension",
            "added up so far": lambda at: np.cumsum(at.q * at.keys[at.key]),
        },
    ),
    {"dot": "sum"},
)


def _divisor(cell: Cell, config: ModelConfig) -> StepSource:
    """The score, with the bias that positions may add to it."""
    scalars: dict[str, Source] = {"dot": lambda at: at.dots[at.key], "divisor": "divisor", "s": "score"}
    score: dict[str, Source] = {"score": "scores of the row"}
    if not config.encoding.biased or cell.kind == "cross":
        return StepSource(derivation.divisor, by_axis("key", score), scalars)
    told = config.encoding.bias_source(config, cell.stack, cell.head)
    numbers = {name: _depend_on_distance(number) for name, number in told.scalars.items()}
    return StepSource(
        derivation.divisor_and_bias,
        by_axis("key", {"bias": lambda at: at.bias, **score}),
        {**scalars, "bias": "bias", **numbers},
        () if told.bias_of is None else (("bias of the row", "{site}.bias[0, {head}, {query}]"),),
    )


def _depend_on_distance(number: Callable[[int], float]) -> Source:
    """The source of a number that depends on how far the key is before the query."""
    return lambda at: number(at.query - at.key)


_MASK = StepSource(
    derivation.mask,
    by_axis("key", {"may attend": "row of the mask"}),
    {
        "open": "may attend",
        "allowed": "open keys",
        "keys": lambda at: at.mask.size,
        "s": lambda at: at.scores[at.key],
        "seen": lambda at: at.fill(at.scores, at.mask)[at.key],
    },
    (("mask of the row", "{site}.mask[0, 0, {query}]"),),
)


@dataclass(frozen=True)
class Fill:
    """The mask fill. fill: the scores that the softmax reads; formula: LaTeX; sentence: the page's."""

    fill: Callable[..., Any]
    formula: str
    sentence: str


FILLS: Mapping[str, Fill] = {
    "zero-rows": Fill(
        derivation.minus_infinity,
        r"s \to -\infty",
        "A masked score takes no part in the softmax; a row that may attend to nothing is all zeros.",
    ),
    "-inf": Fill(
        derivation.minus_infinity,
        r"s \to -\infty",
        "A masked score becomes minus infinity; a row that may attend to nothing is not a number.",
    ),
    "-1e9": Fill(
        derivation.minus_1e9,
        r"s \to -10^9",
        "A masked score becomes -1e9; a row that may attend to nothing is uniform over all keys.",
    ),
    "-1e10": Fill(
        derivation.minus_1e10,
        r"s \to -10^{10}",
        "A masked score becomes -1e10; a row that may attend to nothing is uniform over all keys.",
    ),
    "added-1e9": Fill(
        derivation.less_1e9,
        r"s \to s + (-10^9)",
        "-1e9 is added to a masked score in float32, whose steps are 64 there, so only a multiple of 64 is left of the"
        " score. A row that may attend to nothing is uniform only where these are equal.",
    ),
}

_SOFTMAX = StepSource(  # the whole row: a weight depends on every score in it
    derivation.softmax,
    by_axis("key", {name: name for name in ("below the largest", "exponentials", "weights")}),
    {"max": "largest", "total": "their sum", "sum": "sum of the weights"},
    (("weights of the row", "{site}.weights[0, {head}, {query}]"),),
)
_WEIGHT = StepSource(
    derivation.weight,
    by_axis("key", {"weights": lambda at: at.weights}),
    {"w": "weight", "even": "if it were even", "rank": "rank in the row"},
    (("weight", "{site}.weights[0, {head}, {query}, {key}]"),),
)

# --- from the weight to the stream

_VALUE = StepSource(
    derivation.value,
    by_axis("dimension", {"value": "v", "weight × value": "weight x v"}),
    {"v_norm": "length of v", "part_norm": "length of weight x v"},
    (("value", "{site}.value[0, {head}, {key}]"),),
)
_HEAD = StepSource(
    derivation.head,
    by_axis("dimension", {name: name for name in ("from this key", "from all other keys", "head_out")}),
    {"norm": "length", "part_norm": lambda at: derivation.length(at.part)},
    (("head_out", "{site}.head_out[0, {head}, {query}]"),),
)
_ROW: Mapping[str, Source] = {"row": lambda at: at.row}


def _merge(config: ModelConfig) -> StepSource:
    """The source of the merged row: where the head's output lands, and its neighbours there; no point records it."""
    return StepSource(
        derivation.reshaped if config.merge == "raw-reshape" else derivation.concatenated,
        (
            Vector(
                "merged row",
                "feature",
                "merged row",
                span=lambda at: (at.slot * at.size, (at.slot + 1) * at.size),
            ),
        ),
        {**_ROW, "slot": lambda at: at.slot},
    )


def _output(config: ModelConfig) -> StepSource:
    """The merged row through W_O; what this key and this head add to it."""
    bias: dict[str, Source] = {"bias": lambda at: at.b_o} if config.attention_bias else {}
    vectors: dict[str, Source] = {"from this key": "from this key", "from this head": "from this head"}
    lengths = {"part_norm": "from this key", "head_norm": "from this head", "norm": "of out"}
    return StepSource(
        derivation.output,
        by_axis("feature", {**vectors, **bias, "out": "out"}),
        {**_ROW, **{name: f"length {label}" for name, label in lengths.items()}},
        (("out", "{site}.out[0, {row}]"),),
    )


def _residual(cell: Cell, config: ModelConfig) -> StepSource:
    """The stream plus the sub-layer's output, and the norm after the sum of a post-norm model."""
    vectors = by_axis("feature", {"stream before": "x", "out": "y", "sum": "x + y"})
    lengths = {"x_norm": "x", "y_norm": "y", "sum_norm": "x + y"}
    scalars = {**_ROW, **{name: f"length of {label}" for name, label in lengths.items()}}
    if config.norm == "pre":
        return StepSource(derivation.residual, vectors, scalars, (("stream after", "{added}[0, {row}]"),))
    return StepSource(
        derivation.residual_and_norm,
        (*vectors, Vector("after the norm", "feature", "after the norm")),
        {**scalars, **_MU_AND_SIGMA},
        (("sum", "{added}[0, {row}]"), *_MEAN_AND_SCALE, ("after the norm", "{left}[0, {row}]")),
    )
