"""Derives the spec of a transformers model from its config: what it consists of and which points it records."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from viz_transformer.checkpoint.files import COPY_AGAIN, CheckpointError
from viz_transformer.huggingface.families import ROTARY, Family, FeedForwardPlace, LayerPlaces, StackPlaces
from viz_transformer.huggingface.numbers import Size, check_setting
from viz_transformer.model.config import MAX_LAYERS
from viz_transformer.model.hook_point import FUSED_FROM, WEIGHTS, Growth, HookPoint
from viz_transformer.model.hooked_model import AT_ONCE, Heads, ModelSpec, OutputKind, Scoring
from viz_transformer.model.kinds import StackName
from viz_transformer.model.points import ATTENTION, EMBED, EXPERTS, FFN, LOGITS, OF_THE_TEXT, RESIDUAL, SINK, STACK_OUT
from viz_transformer.sentences import quote

MAX_TOKENS = 2048
"""Maximum tokens of a text, whatever the config allows."""
MAX_BYTES = 2**31
"""Maximum bytes of the recording of one text."""

_ROW, _NARROW = ("B", "T", "D"), ("B", "T", "N")
_LAYERS: Mapping[StackName, tuple[str, ...]] = {
    "encoder": ("encoder_layers", "num_layers", "num_hidden_layers", "n_layers", "n_layer"),
    "decoder": ("decoder_layers", "num_decoder_layers", "num_layers", "num_hidden_layers", "n_layer"),
}
_HEADS: Mapping[StackName, tuple[str, ...]] = {
    stack: (f"{stack}_attention_heads", "num_heads", "num_attention_heads", "n_heads", "n_head")
    for stack in ("encoder", "decoder")
}
_WIDTH = ("d_model", "hidden_size", "n_embd", "dim")
_HIDDEN: Mapping[StackName, tuple[str, ...]] = {
    stack: (
        f"{stack}_ffn_dim",
        "ffn_hidden_size",
        "d_ff",
        "ffn_dim",
        "intermediate_size",
        "n_inner",
        "hidden_dim",
        "d_inner",
    )
    for stack in ("encoder", "decoder")
}
_LONGEST = ("max_position_embeddings", "n_positions")

MAX_LABELS = 2**16
TURNED = {
    "query": "queries by head, before positions turn them",
    "key": "keys by head, before positions turn them",
}
NO_NORM = "its norms compute in one piece, so their mean and scale are not seen"


def spec_of_config(
    config: Mapping[str, Any],
    family: Family,
    output: OutputKind,
    where: str,
    *,
    verdict: tuple[str, str] | None = None,
) -> ModelSpec:
    """The spec. verdict: two labels of a token, chosen by the sign of a number.

    Raises CheckpointError, a sentence about `where`, for a config without a required setting.
    """
    read = _Settings(config, where)
    layers = {stack: read.layers(stack) for stack in family.stacks}
    width = read.number(_WIDTH)
    attentions: dict[str, Heads] = {}
    recorded: list[HookPoint] = []
    derived: list[HookPoint] = []
    missing: dict[str, str] = {}
    narrow_embeddings: int | None = None
    for stack, places in family.stacks.items():
        heads = read.heads(stack, width)
        if family.acts:
            name = f"{stack}.embed.position"
            missing[name] = f"this model adds no positions to its embeddings; its self-attention {family.acts}"
        few = read.optional((places.narrow,)) or width
        narrow, why = few != width, None
        if narrow and places.widened is None:
            sizes = f"{few:,} of {width:,}"
            why = f"this model's embeddings have fewer features than its stream, {sizes}: a projection comes between"
        mapped = places.widened is not None and (narrow or places.shared)
        recorded += _embed_points(stack, places, missing, why, _NARROW if narrow else _ROW, mapped=mapped)
        narrow_embeddings = few if narrow and mapped else narrow_embeddings
        for layer in range(layers[stack]):
            kinds = ("self", "cross") if places.layer.cross is not None else ("self",)
            for kind in kinds:
                own = replace(heads, window=read.window(layer)) if kind == "self" else heads
                attentions[f"{stack}.{layer}.{kind}"] = own
            recorded += _layer_points(places.layer, family, f"{stack}.{layer}", kinds, missing, read)
            derived += _derived(f"{stack}.{layer}", kinds, family, missing, read, places.layer)
        if narrow and places.final_map is not None:
            missing[f"{stack}.out"] = "this model's output layer reads fewer features than its stream has"
        else:
            recorded.append(HookPoint(f"{stack}.out", _ROW, STACK_OUT[stack], _grows(stack)))
    labels, scoring = read.labels(output)
    if verdict is not None:
        labels, scoring = verdict, "either"
    if output == "none" and family.headless:
        missing["logits"] = family.headless
    if output in ("next token", "masked token"):
        last: StackName = "decoder" if "decoder" in family.stacks else "encoder"
        recorded.append(replace(LOGITS, grows=_grows(last)))
    elif output == "class":
        recorded.append(HookPoint("logits", ("B", "C"), "one number for each label of the text"))
        missing["read_out"] = OF_THE_TEXT
    elif verdict is not None:
        recorded.append(
            HookPoint("logits", ("B", "T", "1"), f"one number for each token, above 0 if it was {verdict[1]}")
        )
        missing["read_out"] = "the lens needs a logit for each label, and this model has one for both"
    elif output == "token class":
        recorded.append(HookPoint("logits", ("B", "T", "C"), "one number for each label, of each token"))
    most = _longest(read, family)
    vocabulary = read.number(("vocab_size",))
    is_encoder, is_decoder = "encoder" in family.stacks, "decoder" in family.stacks
    has_words = output in ("next token", "masked token")
    written = (read.optional(("decoder_vocab_size",)) or vocabulary) if has_words else None
    first = next(iter(family.stacks.values()))
    pad = config.get("pad_token_id")
    spec = ModelSpec(
        kind=family.kind,
        encoder_layers=layers.get("encoder", 0),
        decoder_layers=layers.get("decoder", 0),
        d_model=width,
        d_ff=read.optional(_HIDDEN["decoder" if is_decoder else "encoder"]) or 4 * width,
        d_embed=narrow_embeddings,
        experts=read.optional(("num_local_experts", "num_experts", "n_routed_experts")),
        attentions=attentions,
        recorded=tuple(recorded),
        derived=tuple(derived),
        missing=missing,
        output=output,
        norm=first.layer.norm,
        final_norm=first.final_norm is not None,
        positions="learned" if family.learned and _adds_trained_rows(config, recorded) else None,
        source_vocab_size=vocabulary if is_encoder else None,
        target_vocab_size=vocabulary if is_decoder and written is None else written,
        max_source=most,
        max_target=most,
        source_pad=pad if is_encoder and isinstance(pad, int) else None,
        labels=labels,
        reads_pairs=family.kind == "encoder-only",
        scoring=scoring,
        fuses=not family.heard,
    )
    return _of_lengths_that_fit(spec)


def _adds_trained_rows(config: Mapping[str, Any], recorded: list[HookPoint]) -> bool:
    """Whether trained position rows are added unchanged, and none is computed."""
    return config.get("sinusoidal_pos_embds") is not True and any("embed.position" in each.name for each in recorded)


_SAVE_LABELS = "correct it, or save the model again with save_pretrained"


class _Settings:
    """Reads an untrusted config."""

    def __init__(self, config: Mapping[str, Any], where: str) -> None:
        self.config, self.where = config, where

    def optional(self, names: tuple[str, ...]) -> int | None:
        """The first of these settings present in the config."""
        for name in names:
            value = self.config.get(name)
            if value is not None:
                check_setting(name, value, Size, self.where)
                return int(value)
        return None

    def number(self, names: tuple[str, ...]) -> int:
        found = self.optional(names)
        if found is None:
            raise CheckpointError(f"{self.where} does not say {names[-1]}: save the model again with save_pretrained")
        return found

    def layers(self, stack: StackName) -> int:
        count = self.number(_LAYERS[stack])
        if count > MAX_LAYERS:  # before naming points for each
            raise CheckpointError(
                f"{self.where} describes {count:,} layers, at most {MAX_LAYERS} can be shown: if it has not as"
                f" many, {COPY_AGAIN}"
            )
        return count

    def heads(self, stack: StackName, width: int) -> Heads:
        count = self.number(_HEADS[stack])
        keys = self.optional(("num_key_value_heads",)) or count
        if (new := self.config.get("new_decoder_architecture")) is not None:  # Falcon
            own = 1 if self.config.get("multi_query") is not False else count
            keys = (self.optional(("num_kv_heads",)) or count) if new else own
        if self.config.get("kv_lora_rank") is not None:  # DeepSeek: part of the features is rotated
            turned = self.number(("qk_rope_head_dim",))
            kept = self.number(("kv_lora_rank",)) + turned  # from which keys and values of all heads are computed
            size = self.number(("qk_nope_head_dim",)) + turned
            return Heads(count, count, size, self.number(("v_head_dim",)), cached=kept)
        size = self.optional(("head_dim", "d_kv")) or width // count
        if count % keys or not size:
            raise CheckpointError(
                f"{self.where}: {count} heads cannot share {keys} heads of keys, {width} features wide"
            )
        repeated = count * 2 * size if new else None  # Falcon stores shared ones once per query head
        return Heads(count, keys, size, size, cached=repeated)

    def labels(self, output: OutputKind) -> tuple[tuple[str, ...], Scoring]:
        """Names of the classes, and how to read their logits."""
        if output not in ("class", "token class"):
            return (), "one"
        named = self.config.get("id2label")
        if named is None:  # transformers' default: only stated if there are not two
            count = self.optional(("num_labels",)) or 2
            named = {str(index): f"LABEL_{index}" for index in range(min(count, MAX_LABELS))}
        if not isinstance(named, dict) or not 1 <= len(named) <= MAX_LABELS:
            raise CheckpointError(f"{self.where}: id2label is {quote(named)}, it has to name the labels by their ids")
        if set(named) != set(map(str, range(len(named)))) or not all(isinstance(each, str) for each in named.values()):
            raise CheckpointError(
                f"{self.where}: id2label does not name each of 0 to {len(named) - 1} once: {_SAVE_LABELS}"
            )
        names = tuple(named[str(index)] for index in range(len(named)))
        problem = self.config.get("problem_type")
        if output == "token class" or problem == "single_label_classification":
            return names, "one"
        if problem == "multi_label_classification":
            return names, "each"
        return names, "number" if problem == "regression" or len(names) == 1 else "one"

    def is_sparse(self, ffn: FeedForwardPlace, stack: StackName, layer: int) -> bool:
        """Whether the feed-forward of this layer has experts."""
        dense, step = self.config.get("mlp_only_layers"), self.config.get(f"{stack}_sparse_step")
        first = self.config.get("first_k_dense_replace")  # DeepSeek
        if not ffn.router or (isinstance(dense, list) and layer in dense) or (type(first) is int and layer < first):
            return False
        if type(step) is not int:
            return True
        return step == 1 or (step > 1 and layer % step == (step - 1 if ffn.sparse == "last" else 1))

    def window(self, layer: int) -> int | None:
        """Keys that a query of this layer can reach back to; None: all."""
        if isinstance(kinds := self.config.get("attention_layers"), list):  # GPT-Neo
            return self.optional(("window_size",)) if kinds[layer : layer + 1] == ["local"] else None
        window = self.config.get("sliding_window")
        types = self.config.get("layer_types")
        if type(both := self.config.get("local_attention")) is int:  # keys on both sides
            window = both // 2
            every = self.config.get("global_attn_every_n_layers")
            if not isinstance(types, list) and type(every) is int and every > 0:
                return window if layer % every else None
        if type(window) is not int or self.config.get("use_sliding_window") is False:
            return None
        sliding = layer < len(types) and types[layer] == "sliding_attention" if isinstance(types, list) else True
        return window if sliding else None


def _longest(read: _Settings, family: Family) -> int:
    """Maximum tokens of a text, by the model's positions."""
    longest = read.optional(_LONGEST) or MAX_TOKENS
    stack = next(iter(family.stacks.values()))
    pad = read.config.get("pad_token_id")
    if stack.first_row == "after padding" and stack.layer.norm == "post" and type(pad) is int:  # within its table
        longest -= pad + 1
    return max(1, min(longest, MAX_TOKENS))


def _of_lengths_that_fit(spec: ModelSpec) -> ModelSpec:
    """The spec limited to lengths whose recording fits MAX_BYTES; below FUSED_FROM, weights count too."""
    longest = spec.max_source

    def fits(length: int) -> bool:
        tried = {length, min(length, FUSED_FROM - 1)}
        return all(spec.recorded_bytes(source=n, target=n) <= MAX_BYTES for n in tried)

    tried = [1, *range(64, longest, 64), longest]
    most = tried[max(bisect_left(tried, True, key=lambda length: not fits(length)) - 1, 0)]
    return replace(spec, max_source=most, max_target=most)


def _grows(stack: StackName) -> Growth:
    return "never" if stack == "encoder" else "rows"


def _embed_points(
    stack: StackName,
    places: StackPlaces,
    missing: dict[str, str],
    why: str | None,
    embedded: tuple[str, ...],
    *,
    mapped: bool,
) -> Iterator[HookPoint]:
    """Points of a stack's input.

    why: reason that the input cannot be derived from the embeddings. embedded: their shape. mapped: a map follows them.
    """
    after_norm = places.input_norm is not None
    parts = {"token": places.tokens, "segment": places.segments, "position": places.positions}
    if places.segments_last:
        parts["segment"] = parts.pop("segment")
    meanings = {point.name: point.meaning for point in EMBED} | {
        "segment": "the vectors of the first or second text of a pair",
        "out": "what the first layer reads",
    }
    for name, path in parts.items():
        if path is not None and why is None:
            shape = _ROW if name == "position" and mapped and not after_norm else embedded
            yield HookPoint(f"{stack}.embed.{name}", shape, meanings[name], _grows(stack))
        elif path is not None and why is not None:
            missing[f"{stack}.embed.{name}"] = why
    if mapped and not after_norm and why is None:
        meaning = "the tokens' embeddings after the projection to the stream's features"
        yield HookPoint(f"{stack}.embed.mapped", _ROW, meaning, _grows(stack))
    if after_norm and why is None:
        yield HookPoint(
            f"{stack}.embed.sum", embedded, "the sum that the norm after the embeddings reads", _grows(stack)
        )
        if mapped:
            meaning = "what that norm makes of the sum, and a map makes the input of"
            yield HookPoint(f"{stack}.embed.normed", embedded, meaning, _grows(stack))
    yield HookPoint(f"{stack}.embed.out", _ROW, meanings["out"], _grows(stack))


def _layer_points(
    places: LayerPlaces, family: Family, layer: str, kinds: tuple[str, ...], missing: dict[str, str], read: _Settings
) -> Iterator[HookPoint]:
    stack: StackName = "encoder" if layer.startswith("encoder") else "decoder"

    def stream(name: str) -> Iterator[HookPoint]:
        if places.norm == "post" and name != "residual_in":
            meaning = f"the sum that the norm after {name} reads"
            yield HookPoint(f"{layer}.{name}_sum", _ROW, meaning, _grows(stack))
        yield HookPoint(f"{layer}.{name}", _ROW, RESIDUAL[name], _grows(stack))

    yield from stream("residual_in")
    for kind in kinds:
        for point in _in_turn(places):
            if point.name == ("mask" if places.attention.heard else "weights") and family.biased and kind == "self":
                yield _attention_point(f"{layer}.{kind}.bias", WEIGHTS, "what is added to the scores, by distance")
            if point.name == "query" and family.acts == ROTARY and kind == "self":
                for part, heads in (("query", "H"), ("key", "G")):  # both before rotation, then both after
                    name, rows = f"{layer}.{kind}.{part}_unrotated", "Q" if part == "query" else "K"
                    if places.attention.latent:
                        missing[name] = "positions turn a part of its features only, which this model takes out first"
                    else:
                        yield _attention_point(name, ("B", heads, rows, "E"), TURNED[part])
            if point.name == "weights" and family.sinks and kind == "self":
                yield _attention_point(f"{layer}.{kind}.{SINK.name}", SINK.shape, SINK.meaning)
            shape = tuple("G" if point.name in ("key", "value") and letter == "H" else letter for letter in point.shape)
            if point.name in ("value", "head_out") and places.attention.latent:
                shape = (*shape[:-1], "U")
            meaning = point.meaning
            if point.name == "out" and places.attention.added:
                meaning = "what is added to the stream"
            if point.name == "weights" and places.attention.heard is not None and places.attention.heard.scores:
                meaning = "masked softmax over the keys of scores with further terms"
            if point.name == "query" and places.attention.divided:
                meaning = "queries by head, already divided"
            yield _attention_point(f"{layer}.{kind}.{point.name}", shape, meaning)
        if places.parallel:
            missing[f"{layer}.residual_after_{kind}"] = AT_ONCE
        else:
            yield from stream(f"residual_after_{kind}")
        for part in ("norm_mean", "norm_scale"):
            missing[f"{layer}.{kind}.{part}"] = NO_NORM
    gated = family.gated or read.config.get("is_gated_act") is True
    if gated:
        missing[f"{layer}.ffn.active"] = "its hidden layer is a product with a gate, so no sign tells what is active"
    sparse = read.is_sparse(places.ffn, stack, int(layer.rpartition(".")[2]))
    for point in FFN:
        if point.name == "hidden" and sparse:
            missing[f"{layer}.ffn.hidden"] = (
                "each token has the hidden layers of its own experts, which are not recorded"
            )
            for each in EXPERTS:
                yield HookPoint(f"{layer}.ffn.{each.name}", each.shape, each.meaning, _grows(stack))
            continue
        times = ", times its gate" if point.name == "hidden" and gated else ""
        yield HookPoint(f"{layer}.ffn.{point.name}", point.shape, f"{point.meaning}{times}", _grows(stack))
    yield from stream("residual_out")


def _in_turn(places: LayerPlaces) -> tuple[HookPoint, ...]:
    """Points of an attention in execution order; an intercepted attention reports values when they are multiplied."""
    heard, point = places.attention.heard, {each.name: each for each in ATTENTION}
    if heard is None or heard.apart:
        return ATTENTION
    return tuple(point[name] for name in ("in", "query", "key", "mask", "weights", "value", "head_out", "out"))


def _attention_point(name: str, shape: tuple[str, ...], meaning: str) -> HookPoint:
    """A point with its growth as in `points.py`: encoder points, and keys and values of the memory, never grow."""
    cross = ".cross." in name
    once = name.startswith("encoder.") or (cross and "K" in shape[:-1])
    grows: Growth = "never" if once else "rows and keys" if shape[-1] == "K" and not cross else "rows"
    return HookPoint(name, shape, meaning, grows)


def _derived(
    layer: str,
    kinds: tuple[str, ...],
    family: Family,
    missing: dict[str, str],
    read: _Settings,
    places: LayerPlaces,
) -> Iterator[HookPoint]:
    for kind in kinds:
        scores, parts = f"{layer}.{kind}.scores", f"{layer}.{kind}.contribution"
        if family.sinks and kind == "self":
            missing[scores] = (
                "a number that belongs to no key takes part in its softmax, so scores alone do not give weights"
            )
        elif (heard := places.attention.heard) is not None and heard.scores:
            missing[scores] = heard.scores
        elif read.config.get("attn_logit_softcapping") is None:
            bias = " + bias" if family.biased and kind == "self" else ""
            yield _attention_point(scores, WEIGHTS, f"query @ key^T / divisor{bias}, before the mask")
        else:
            missing[scores] = "this model caps its scores with a tanh before the mask, which is not computed here"
        if places.attention.added:
            missing[parts] = "a norm after W_O mixes what the heads add, so no head has a share of its own"
        else:
            meaning = "head_out @ W_O by head, sum: out less W_O's bias"
            yield _attention_point(parts, ("B", "H", "Q", "D"), meaning)
