"""The table of all points: what a run records, under which name, in which shape, and what it means.

`docs/points.md` is made from this table; a test compares the table with what tiny models really record.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from viz_transformer.model.config import ModelConfig
from viz_transformer.sentences import quoted

Growth = Literal["never", "rows", "rows and keys"]


@dataclass(frozen=True)
class Point:
    """One recorded value. Shape letters: B batch, T positions of this stack, H heads, E head_dim, D d_model,
    F d_ff, V vocabulary, Q queries and K keys of this attention, 1 an axis of length one; of other programs' models
    also G heads that hold keys, shared by several that ask, and U features of a head's values.

    `grows` says what a token that is written adds: nothing where the source alone decides the point, a row, or a row
    and one more key. Of a kind of point that stands in several places it is decided by the place.
    """

    name: str
    shape: tuple[str, ...]
    meaning: str
    grows: Growth = "never"


_ROW = ("B", "T", "D")
_QUERY, _KEY = ("B", "H", "Q", "E"), ("B", "H", "K", "E")

EMBED = (
    Point("token", _ROW, "the tokens' embeddings, already scaled"),
    Point("position", _ROW, "the positions' vectors"),
    Point("out", _ROW, "token plus position: what the first layer reads"),
)
ATTENTION = (
    Point("in", ("B", "Q", "D"), "what the sub-layer reads; after the norm in a pre-norm model"),
    Point("query", _QUERY, "queries by head, unscaled"),
    Point("key", _KEY, "keys by head"),
    Point("value", _KEY, "values by head"),
    Point("mask", ("B", "1", "Q", "K"), "Boolean, True = may attend; recorded also when nothing is masked"),
    Point("weights", ("B", "H", "Q", "K"), "masked softmax over the keys of query @ key^T / divisor"),
    Point("head_out", _QUERY, "weights @ value by head"),
    Point("out", ("B", "Q", "D"), "the heads merged, after W_O"),
)
ROTARY = (
    Point("query_unrotated", _QUERY, "queries by head, unscaled, as W_Q makes them"),
    Point("query", _QUERY, "the same, turned by their positions: what the scores are made of"),
    Point("key_unrotated", _KEY, "keys by head, as W_K makes them"),
    Point("key", _KEY, "the same, turned by their positions: what the scores are made of"),
)
ALIBI = (
    Point("bias", ("B", "H", "Q", "K"), "what is added to the scores; 0 at keys after a decoder's query"),
    Point("weights", ("B", "H", "Q", "K"), "masked softmax over the keys of query @ key^T / divisor + bias"),
)
IN_ATTENTION = {"rotary": ROTARY, "alibi": ALIBI}
"""Points of self-attention where positions act in it: new ones, and those that mean more than elsewhere."""
FFN = (
    Point("in", _ROW, "what the feed-forward reads; after the norm in a pre-norm model"),
    Point("hidden", ("B", "T", "F"), "the hidden layer, after the activation"),
    Point("out", _ROW, "the feed-forward's output"),
)
NORM = (
    Point("norm_mean", ("B", "T", "1"), "mean over the features of what this norm reads"),
    Point("norm_scale", ("B", "T", "1"), "what this norm divides by, epsilon included"),
)
NORM_OVER_POSITIONS = (
    Point("norm_mean", ("B", "1", "1"), "of a norm over positions and features: one mean for the whole text"),
    Point("norm_scale", ("B", "1", "1"), "of a norm over positions and features: one number, epsilon included"),
)
RESIDUAL = {
    "residual_in": "the stream that enters the layer",
    "residual_after_self": "the stream after self-attention",
    "residual_after_cross": "the stream after cross-attention",
    "residual_out": "the stream that leaves the layer",
}
STACK_OUT = {"encoder": "the memory: what cross-attention reads", "decoder": "what the output layer reads"}
LOGITS = Point("logits", ("B", "T", "V"), "one number for each entry of the vocabulary, before the softmax")

SCORES_WITH_BIAS = Point("scores", ("B", "H", "Q", "K"), "query @ key^T / divisor + bias, before the mask")
DERIVED = (
    Point("scores", ("B", "H", "Q", "K"), "query @ key^T / divisor, before the mask"),
    Point(
        "contribution", ("B", "H", "Q", "D"), "head_out @ W_O by head, sum: out less W_O's bias; not for a raw reshape"
    ),
)


def recorded_points(config: ModelConfig) -> Iterator[Point]:
    """Every point that a run of such a model records, with its full name, in the order of the table.

    Runs with at least 512 queries and keys in an attention derive its weights instead of recording them.
    """
    stacks = (("encoder", config.encoder_layers), ("decoder", config.decoder_layers))
    for stack, n_layers in stacks:
        if not n_layers:
            continue
        for point in EMBED:
            if point.name != "position" or config.positions not in ("none", *_INSTEAD):
                yield _under(f"{stack}.embed", point)
        for layer in range(n_layers):
            yield from _layer_points(config, stack, f"{stack}.{layer}")
        if config.final_norm:
            alone = stack == "encoder" and config.encoder_final_norm == "torch"
            yield from (_under(stack, point) for point in (NORM if alone else _norm_points(config)))
        yield _under("", Point(f"{stack}.out", _ROW, STACK_OUT[stack]))
    if config.target_vocab_size is not None:
        yield replace(LOGITS, grows="rows" if config.has_decoder else "never")


def derived_points(config: ModelConfig) -> Iterator[Point]:
    """Every point that is computed from recorded ones when asked for, with its full name."""
    for site in attention_sites(config):
        biased = config.positions == "alibi" and site.endswith(".self")
        for point in DERIVED:
            if not _undefined(point.name, config):
                yield _under(site, SCORES_WITH_BIAS if biased and point.name == "scores" else point)


def attention_sites(config: ModelConfig) -> tuple[str, ...]:
    """The attentions of a model, e.g. encoder.0.self, decoder.0.self, decoder.0.cross."""
    encoder = [f"encoder.{layer}.self" for layer in range(config.encoder_layers)]
    kinds = _kinds(config, "decoder")
    decoder = [f"decoder.{layer}.{kind}" for layer in range(config.decoder_layers) for kind in kinds]
    return (*encoder, *decoder)


def undefined_points(config: ModelConfig) -> dict[str, str]:
    """Why a model of this config has no such point though others do: a sentence by the point's name."""
    found = {}
    if instead := _INSTEAD.get(config.positions):
        for stack in ("encoder",) * config.has_encoder + ("decoder",) * config.has_decoder:
            name = f"{stack}.embed.position"
            found[name] = f"{quoted(name)} is undefined: this model adds no positions to its embeddings; {instead}"
    for name in (f"{site}.{point.name}" for site in attention_sites(config) for point in DERIVED):
        if reason := _undefined(name.rpartition(".")[2], config):
            found[name] = f"{quoted(name)} is undefined: {reason}"
    return found


_INSTEAD = {
    "rotary": "its self-attention turns queries and keys by their positions",
    "alibi": "its self-attention lowers scores by the distance of query and key",
}


def _undefined(what: str, config: ModelConfig) -> str | None:
    if what == "contribution" and config.merge == "raw-reshape":
        return "this model merges its heads by a raw reshape, so one position's output mixes several queries of a head"
    return None


def unknown_point(name: str, known: Collection[str]) -> str:
    """The sentence for a name that is no point, with the nearest ones."""
    near = difflib.get_close_matches(name[:200], list(known), n=3, cutoff=0.6)
    if near:
        return f"no point named {quoted(name)}. Did you mean {' or '.join(map(repr, near))}?"
    return f"no point named {quoted(name)}; points() lists all {len(known)}"


def points_table() -> str:
    """The table as Markdown: the text of docs/points.md below its title."""
    attention, own = "{encoder|decoder}.{layer}.{self|cross}", "{encoder|decoder}.{layer}.self"
    residual = (Point(name, _ROW, meaning) for name, meaning in RESIDUAL.items())
    sums = (
        Point(f"{name}_sum", _ROW, f"post-norm only: the sum that the norm behind {name} reads")
        for name in list(RESIDUAL)[1:]
    )
    norms = (*NORM, *NORM_OVER_POSITIONS)
    sections: list[tuple[str, str, Iterator[Point]]] = [
        ("Embedding", "{encoder|decoder}.embed", iter(EMBED)),
        ("Attention", attention, iter(ATTENTION)),
        ("Self-attention with rotary positions", own, iter(ROTARY)),
        ("Self-attention with ALiBi", own, iter((*ALIBI, SCORES_WITH_BIAS))),
        ("Feed-forward", "{encoder|decoder}.{layer}.ffn", iter(FFN)),
        ("Residual stream", "{encoder|decoder}.{layer}", iter((*residual, *sums))),
        ("Norms", "{encoder|decoder}.{layer}.{self|cross|ffn}, and {encoder|decoder} for a final norm", iter(norms)),
        ("Outputs", "", iter([Point(f"{s}.out", _ROW, m) for s, m in STACK_OUT.items()] + [LOGITS])),
        ("Derived when asked for", attention, iter(DERIVED)),
    ]
    lines: list[str] = []
    for title, prefix, points in sections:
        lines += [f"## {title}", ""]
        if prefix:
            lines += [f"Below `{prefix}`:", ""]
        lines += ["| name | shape | meaning |", "|---|---|---|"]
        lines += [f"| `{point.name}` | [{', '.join(point.shape)}] | {point.meaning} |" for point in points]
        lines.append("")
    return "\n".join(lines)


def _layer_points(config: ModelConfig, stack: str, layer: str) -> Iterator[Point]:
    def residual(name: str) -> Iterator[Point]:
        if config.norm == "post" and name != "residual_in":
            yield _under(layer, Point(f"{name}_sum", _ROW, f"the sum that the norm behind {name} reads"))
        yield _under(layer, Point(name, _ROW, RESIDUAL[name]))

    yield from residual("residual_in")
    for kind in _kinds(config, stack):
        yield from (
            _under(f"{layer}.{kind}", point) for point in (*_attention_points(config, kind), *_norm_points(config))
        )
        yield from residual(f"residual_after_{kind}")
    yield from (_under(f"{layer}.ffn", point) for point in (*FFN, *_norm_points(config)))
    yield from residual("residual_out")


def _attention_points(config: ModelConfig, kind: str) -> Iterator[Point]:
    """In the order in which they are made; cross-attention knows no positions."""
    given = {point.name: point for point in IN_ATTENTION.get(config.positions, ()) if kind == "self"}
    for point in ATTENTION:
        new = {"query": "query_unrotated", "key": "key_unrotated", "weights": "bias"}.get(point.name, "")
        if new in given:
            yield given[new]
        yield given.get(point.name, point)


def _norm_points(config: ModelConfig) -> tuple[Point, ...]:
    return NORM_OVER_POSITIONS if config.norm_kind == "positions-and-features" else NORM


def _kinds(config: ModelConfig, stack: str) -> tuple[str, ...]:
    return ("self", "cross") if stack == "decoder" and config.has_encoder else ("self",)


def _under(prefix: str, point: Point) -> Point:
    """The point at this place. What the encoder makes, and keys and values of the memory, are made once."""
    name = f"{prefix}.{point.name}".lstrip(".")
    once = name.startswith("encoder.") or (prefix.endswith(".cross") and "K" in point.shape[:-1])
    keys = not prefix.endswith(".cross") and point.shape[-1] == "K"
    return replace(point, name=name, grows="never" if once else "rows and keys" if keys else "rows")
