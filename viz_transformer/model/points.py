"""The table of all points: name, shape and meaning of everything that a run records.

`docs/points.md` is generated from it; a test compares it with what tiny models record.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from dataclasses import replace

from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook_point import KEYS, QUERIES, WEIGHTS, Growth, HookPoint
from viz_transformer.model.positions import ENCODINGS
from viz_transformer.sentences import quote

_ROW = ("B", "T", "D")

EMBED = (
    HookPoint("token", _ROW, "the tokens' embeddings, already scaled"),
    HookPoint("position", _ROW, "the positions' vectors"),
    HookPoint("out", _ROW, "token plus position: what the first layer reads"),
)
ATTENTION = (
    HookPoint("in", ("B", "Q", "D"), "what the sub-layer reads; after the norm in a pre-norm model"),
    HookPoint("query", QUERIES, "queries by head, unscaled"),
    HookPoint("key", KEYS, "keys by head"),
    HookPoint("value", KEYS, "values by head"),
    HookPoint("mask", ("B", "1", "Q", "K"), "Boolean, True = may attend; recorded also when nothing is masked"),
    HookPoint("weights", WEIGHTS, "masked softmax over the keys of query @ key^T / divisor"),
    HookPoint("head_out", QUERIES, "weights @ value by head"),
    HookPoint("out", ("B", "Q", "D"), "the heads merged, after W_O"),
)
FFN = (
    HookPoint("in", _ROW, "what the feed-forward reads; after the norm in a pre-norm model"),
    HookPoint("hidden", ("B", "T", "F"), "the hidden layer, after the activation"),
    HookPoint("out", _ROW, "the feed-forward's output"),
)
EXPERTS = (
    HookPoint("router", ("B", "T", "X"), "a number for each expert, by which some are chosen"),
    HookPoint(
        "experts", ("B", "T", "X"), "what each expert's output is multiplied by in the sum; 0 of one that is not chosen"
    ),
)
SINK = HookPoint(
    "sink", ("B", "H", "Q", "1"), "what the softmax has beside the scores, of no key: weights sum to less than 1"
)
NORM = (
    HookPoint("norm_mean", ("B", "T", "1"), "mean over the features of what this norm reads"),
    HookPoint("norm_scale", ("B", "T", "1"), "what this norm divides by, epsilon included"),
)
NORM_OVER_POSITIONS = (
    HookPoint("norm_mean", ("B", "1", "1"), "of a norm over positions and features: one mean for the whole text"),
    HookPoint("norm_scale", ("B", "1", "1"), "of a norm over positions and features: one number, epsilon included"),
)
RESIDUAL = {
    "residual_in": "the stream that enters the layer",
    "residual_after_self": "the stream after self-attention",
    "residual_after_cross": "the stream after cross-attention",
    "residual_out": "the stream that leaves the layer",
}
STACK_OUT = {"encoder": "the memory: what cross-attention reads", "decoder": "what the output layer reads"}
LOGITS = HookPoint("logits", ("B", "T", "V"), "one number for each entry of the vocabulary, before the softmax")
LOGITS_OF_TEXT = HookPoint("logits", ("B", "V"), "of an encoder that pools: one number for each label of the text")

OF_THE_TEXT = "its labels are computed from the whole text after the last layer, so no other vector has any"
"""Reason why a model with pooled labels has no logit lens."""

SCORES_WITH_BIAS = HookPoint("scores", WEIGHTS, "query @ key^T / divisor + bias, before the mask")
DERIVED = (
    HookPoint("scores", WEIGHTS, "query @ key^T / divisor, before the mask"),
    HookPoint(
        "contribution", ("B", "H", "Q", "D"), "head_out @ W_O by head, sum: out less W_O's bias; not for a raw reshape"
    ),
)


_KEPT_FIRST: tuple[frozenset[str], ...] = (
    frozenset({"residual_out", "mask"}),
    frozenset({*RESIDUAL, "norm_mean", "norm_scale", "bias", "sink", "router", "experts"}),
    frozenset({"out"}),
    frozenset({"query", "key"}),
    frozenset({"value"}),
)


def keeping_rank(name: str) -> int | None:
    """Priority of a point in a run too large to keep whole: 0 = always kept, None = never.

    First come points outside layers, each layer's output, and masks, which layers share; then what pages show for all
    layers at once: the stream, the additions to it, and the inputs of head scores.
    """
    layer, _, what = name.partition(".")[2].partition(".")
    if not layer.isdigit():
        return 0
    last = what.rpartition(".")[2]
    return next((rank for rank, names in enumerate(_KEPT_FIRST) if last in names), None)


def recorded_points(config: ModelConfig) -> Iterator[HookPoint]:
    """Every recorded point of such a model, by full name, in the order of the table.

    An attention with at least 512 queries and keys derives its weights instead of recording them.
    """
    stacks = (("encoder", config.encoder_layers), ("decoder", config.decoder_layers))
    for stack, n_layers in stacks:
        if not n_layers:
            continue
        for point in EMBED:
            if point.name != "position" or config.encoding.adds:
                yield _under(f"{stack}.embed", point)
        for layer in range(n_layers):
            yield from _layer_points(config, stack, f"{stack}.{layer}")
        if config.final_norm:
            alone = stack == "encoder" and config.encoder_final_norm == "torch"
            yield from (_under(stack, point) for point in (NORM if alone else _norm_points(config)))
        yield _under("", HookPoint(f"{stack}.out", _ROW, STACK_OUT[stack]))
    if config.target_vocab_size is not None:
        yield LOGITS_OF_TEXT if config.pooling != "none" else replace(LOGITS, grows=_growth(config))


def _growth(config: ModelConfig) -> Growth:
    return "rows" if config.has_decoder else "never"


def derived_points(config: ModelConfig) -> Iterator[HookPoint]:
    """Every point computed on demand from recorded ones, by full name."""
    for site in attention_sites(config):
        biased = config.encoding.biased and site.endswith(".self")
        for point in DERIVED:
            if not _undefined(point.name, config):
                yield _under(site, SCORES_WITH_BIAS if biased and point.name == "scores" else point)


def attention_sites(config: ModelConfig) -> tuple[str, ...]:
    """Attention sites of a model: encoder.0.self, decoder.0.self, decoder.0.cross, ..."""
    encoder = [f"encoder.{layer}.self" for layer in range(config.encoder_layers)]
    kinds = _kinds(config, "decoder")
    decoder = [f"decoder.{layer}.{kind}" for layer in range(config.decoder_layers) for kind in kinds]
    return (*encoder, *decoder)


def undefined_points(config: ModelConfig) -> dict[str, str]:
    """Reason by name for each point that other models have and this config lacks."""
    found = {} if config.pooling == "none" else {"read_out": OF_THE_TEXT}
    if acts := config.encoding.acts:
        for stack in ("encoder",) * config.has_encoder + ("decoder",) * config.has_decoder:
            name = f"{stack}.embed.position"
            why = f"this model adds no positions to its embeddings; its self-attention {acts}"
            found[name] = f"{quote(name)} is undefined: {why}"
    for name in (f"{site}.{point.name}" for site in attention_sites(config) for point in DERIVED):
        if reason := _undefined(name.rpartition(".")[2], config):
            found[name] = f"{quote(name)} is undefined: {reason}"
    return found


def _undefined(what: str, config: ModelConfig) -> str | None:
    if what == "contribution" and config.merge == "raw-reshape":
        return "this model merges its heads by a raw reshape, so one position's output mixes several queries of a head"
    return None


def unknown_point(name: str, known: Collection[str]) -> str:
    """Error message for an unknown point, with the nearest names."""
    near = difflib.get_close_matches(name[:200], list(known), n=3, cutoff=0.6)
    if near:
        return f"no point named {quote(name)}. Did you mean {' or '.join(map(repr, near))}?"
    return f"no point named {quote(name)}; points() lists all {len(known)}"


def points_table() -> str:
    """The table as Markdown: the body of docs/points.md."""
    attention, own = "{encoder|decoder}.{layer}.{self|cross}", "{encoder|decoder}.{layer}.self"
    residual = (HookPoint(name, _ROW, meaning) for name, meaning in RESIDUAL.items())
    sums = (
        HookPoint(f"{name}_sum", _ROW, f"post-norm only: the sum that the norm after {name} reads")
        for name in list(RESIDUAL)[1:]
    )
    norms = (*NORM, *NORM_OVER_POSITIONS)
    sections: list[tuple[str, str, Iterator[HookPoint]]] = [
        ("Embedding", "{encoder|decoder}.embed", iter(EMBED)),
        ("Attention", attention, iter(ATTENTION)),
        *(
            (f"Self-attention with {each.noun}", own, iter((*each.points, *([SCORES_WITH_BIAS] * each.biased))))
            for each in ENCODINGS.values()
            if each.points
        ),
        ("Feed-forward", "{encoder|decoder}.{layer}.ffn", iter(FFN)),
        ("Attention with a sink (models of transformers)", attention, iter([SINK])),
        ("Feed-forward of several experts (models of transformers)", "{encoder|decoder}.{layer}.ffn", iter(EXPERTS)),
        ("Residual stream", "{encoder|decoder}.{layer}", iter((*residual, *sums))),
        ("Norms", "{encoder|decoder}.{layer}.{self|cross|ffn}, and {encoder|decoder} for a final norm", iter(norms)),
        (
            "Outputs",
            "",
            iter([HookPoint(f"{s}.out", _ROW, m) for s, m in STACK_OUT.items()] + [LOGITS, LOGITS_OF_TEXT]),
        ),
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


def _layer_points(config: ModelConfig, stack: str, layer: str) -> Iterator[HookPoint]:
    def residual(name: str) -> Iterator[HookPoint]:
        if config.norm == "post" and name != "residual_in":
            yield _under(layer, HookPoint(f"{name}_sum", _ROW, f"the sum that the norm after {name} reads"))
        yield _under(layer, HookPoint(name, _ROW, RESIDUAL[name]))

    yield from residual("residual_in")
    for kind in _kinds(config, stack):
        yield from (
            _under(f"{layer}.{kind}", point) for point in (*_attention_points(config, kind), *_norm_points(config))
        )
        yield from residual(f"residual_after_{kind}")
    yield from (_under(f"{layer}.ffn", point) for point in (*FFN, *_norm_points(config)))
    yield from residual("residual_out")


def _attention_points(config: ModelConfig, kind: str) -> Iterator[HookPoint]:
    """Points of one attention in forward order; cross-attention has none for positions."""
    usual = {point.name: point for point in ATTENTION}
    instead: dict[str, list[HookPoint]] = {}
    new: list[HookPoint] = []
    for point in config.encoding.points if kind == "self" else ():
        new.append(point)
        if point.name in usual:
            instead[point.name], new = new, []
    for point in ATTENTION:
        yield from instead.get(point.name, [point])


def _norm_points(config: ModelConfig) -> tuple[HookPoint, ...]:
    return NORM_OVER_POSITIONS if config.norm_kind == "positions-and-features" else NORM


def _kinds(config: ModelConfig, stack: str) -> tuple[str, ...]:
    return ("self", "cross") if stack == "decoder" and config.has_encoder else ("self",)


def _under(prefix: str, point: HookPoint) -> HookPoint:
    """The point under this prefix. Encoder points, and keys and values of the memory, never grow."""
    name = f"{prefix}.{point.name}".lstrip(".")
    once = name.startswith("encoder.") or (prefix.endswith(".cross") and "K" in point.shape[:-1])
    keys = not prefix.endswith(".cross") and point.shape[-1] == "K"
    return replace(point, name=name, grows="never" if once else "rows and keys" if keys else "rows")
