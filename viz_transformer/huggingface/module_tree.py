"""What a model of transformers is drawn from: its own modules, held against a trial pass.

A norm is drawn where the pass shows it: what a sub-layer read is, bit by bit, what that norm makes of the stream.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers.activations import ACT2FN

from viz_transformer.huggingface.capture import MaskRuleRecorder
from viz_transformer.huggingface.families import BUCKETS, DISTANCES, ROTARY, SLOPES, AttentionPlace, StackPlaces
from viz_transformer.huggingface.hooked_model import HuggingFaceModel, linear_of, part_at
from viz_transformer.huggingface.self_check import trial_texts
from viz_transformer.model.hooked_model import HookedModel, Unavailable
from viz_transformer.model.kinds import SIDE_OF, StackName, stacks_of
from viz_transformer.model.outline import (
    Block,
    Outline,
    OutputOutline,
    Parameter,
    PartName,
    StackOutline,
    SubLayer,
)
from viz_transformer.model.positions import ENCODINGS
from viz_transformer.numerals import significant
from viz_transformer.sentences import capitalised, counted, listed

ACTS = {ROTARY: "rotary", BUCKETS: "bias by distance", SLOPES: "slopes", DISTANCES: "terms by distance"}
LABELS = {"self": "Self-attention", "cross": "Cross-attention", "ffn": "Feed-forward"}
OTHER_NORM = "in a trial pass {name} did not read what its norm gives out, so its norms cannot be drawn"


def outline_of(model: HookedModel) -> Outline:
    """The outline of a folder's model. Raises Unavailable if a trial pass shows other norms than its family has."""
    assert isinstance(model, HuggingFaceModel)
    recorder = MaskRuleRecorder()
    model.whole(*trial_texts(model.spec), hook=recorder)
    found, notes = list[StackOutline](), list[str]()
    for stack in stacks_of(model.spec):
        layers = [_layer(model, stack, index, recorder.values) for index in range(_count(model, stack))]
        drawn = Counter(reversed(layers)).most_common(1)[0][0]  # of as many, the one further up
        found.append(_stack(model, stack, drawn, layers.index(drawn)))
        notes += [*_others(stack, layers, drawn), *_not_drawn(model, stack)]
    spec = model.spec
    layers_said = " and ".join(counted(each.layers, f"{each.stack} layer") for each in found)
    return Outline(
        stacks=tuple(found),
        output=_output(model),
        memory=spec.d_model if spec.kind == "encoder-decoder" else None,
        blocks=_blocks(model),
        spoken=f"Architecture: {layers_said}, {spec.norm}-norm, d_model {spec.d_model}",
        notes=(*notes, *_of_logits(model)),
    )


def _count(model: HuggingFaceModel, stack: StackName) -> int:
    return SIDE_OF[stack].layers(model.spec)


def _module(model: HuggingFaceModel, stack: StackName) -> nn.Module:
    return model.base.get_submodule(model.family.stacks[stack].module)


def _layers(model: HuggingFaceModel, stack: StackName) -> nn.ModuleList:
    layers = _module(model, stack).get_submodule(model.family.stacks[stack].layers)
    assert isinstance(layers, nn.ModuleList)
    return layers


# --- a stack


def _stack(model: HuggingFaceModel, stack: StackName, sublayers: tuple[SubLayer, ...], index: int) -> StackOutline:
    places, module, spec = model.family.stacks[stack], _module(model, stack), model.spec
    side = SIDE_OF[stack]
    rows, width = model.table("tokens", stack).shape
    has_norm = f"{stack}.embed.sum" in spec.point and places.input_norm is not None
    wide = "" if _widening(module) is None else f" → {spec.d_model}"
    norm = _word(module.get_submodule(places.input_norm or ""), width) if has_norm else ""
    if f"{stack}.embed.normed" in spec.point:  # the map stands behind the norm
        norm, wide = f"{norm}, {width:,}{wide}", ""
    final = None if places.final_norm is None else module.get_submodule(places.final_norm)
    back = None if places.final_map is None else getattr(module, places.final_map)
    return StackOutline(
        stack=stack,
        reads=f"{side.name} ids, at most {side.most(spec):,}",
        embedding=f"{rows:,} × {width:,}{wide}{_scale(model, stack)}",
        sums=_sums(model, stack),
        norm=norm,
        layers=_count(model, stack),
        layer=index,
        sublayers=sublayers,
        parallel=places.layer.parallel,
        one_norm=places.layer.parallel and places.layer.attention.norm == places.layer.ffn.norm,
        final_norm="" if final is None else _word(final, spec.d_model),
        final_map="" if back is None else f"{spec.d_model} → {width}",
    )


def _scale(model: HuggingFaceModel, stack: StackName) -> str:
    scale, root = model.scalars()[f"{stack}.embed.scale"], model.spec.d_model**0.5
    if scale == 1:
        return ""
    return f", times √{model.spec.d_model}" if abs(scale / root - 1) < 1e-2 else f", times {significant(scale)}"


def _sums(model: HuggingFaceModel, stack: StackName) -> tuple[str, ...]:
    """What is added to the vectors of tokens, in words."""
    spec = model.spec
    lines: tuple[str, ...] = ()
    if f"{stack}.embed.position" in spec.point:
        lines = ("positions",) if spec.positions is None else ENCODINGS[spec.positions].box
    if f"{stack}.embed.segment" in spec.point:
        lines = (*lines, "and segments" if lines else "segments")
    return lines


def _not_drawn(model: HuggingFaceModel, stack: StackName) -> Iterator[str]:
    """What of a stack could not be proved, or is not seen, as sentences."""
    missing = model.spec.missing
    parts = [name for name in ("token", "segment", "position") if f"{stack}.embed.{name}" in missing]
    whys = {missing[f"{stack}.embed.{name}"] for name in parts}
    if "token" in parts:
        yield f"What the {stack}’s embeddings are made of is not drawn: {listed(sorted(whys))}."
    for index in range(_count(model, stack)):
        if (why := missing.get(f"{stack}.{index}.residual_out")) is not None:
            yield f"Modules after {stack} layer {index} are not drawn: {why}."


# --- a layer


def _layer(model: HuggingFaceModel, stack: StackName, index: int, values: Mapping[str, Tensor]) -> tuple[SubLayer, ...]:
    places, name = model.family.stacks[stack].layer, f"{stack}.{index}"
    attentions: list[tuple[PartName, AttentionPlace]] = [("self", places.attention)]
    if places.cross is not None:
        attentions.append(("cross", places.cross))
    stream, found = f"{name}.residual_in", list[SubLayer]()
    for part, place in attentions:
        details, masked = _of_attention(model, f"{name}.{part}"), stack == "decoder" and part == "self"
        label = f"Masked {LABELS[part].lower()}" if masked else LABELS[part]
        empty = SubLayer(part=part, label=label, details=details)
        found.append(_normed(model, stack, index, empty, place.norm, place.added, stream, values))
        stream = stream if places.parallel else f"{name}.residual_after_{part}"
    empty = SubLayer(part="ffn", label=LABELS["ffn"], details=_of_feed_forward(model, stack, index))
    found.append(_normed(model, stack, index, empty, places.ffn.norm, places.ffn.added, stream, values))
    return tuple(found)


def _normed(
    model: HuggingFaceModel,
    stack: StackName,
    index: int,
    part: SubLayer,
    norm: str,
    added: str,
    stream: str,
    values: Mapping[str, Tensor],
) -> SubLayer:
    """The sub-layer with its norms, of which that before it, or behind the sum, is held against the trial pass."""
    layer, width, name = _layers(model, stack)[index], model.spec.d_model, f"{stack}.{index}.{part.part}"
    module = layer.get_submodule(norm)
    word = _word(module, width)
    holds = ", ".join(f"{each.numel():,}" for each in module.parameters())
    holds = f"{holds} numbers" if holds else "no numbers of its own"
    if model.family.stacks[stack].layer.norm == "post":
        behind = f"{stack}.{index}.residual_{'out' if part.part == 'ffn' else f'after_{part.part}'}"
        total, made = values.get(f"{behind}_sum"), values.get(behind)
        _check(model, module, total, made, name)
        return replace(part, behind=word, holds=holds)
    _check(model, module, values.get(stream), values.get(f"{name}.in"), name)
    last = _word(layer.get_submodule(added), width) if added else ""
    return replace(part, before=word, added=last, holds=holds)


def _check(model: HuggingFaceModel, norm: nn.Module, given: Tensor | None, made: Tensor | None, name: str) -> None:
    """Raise Unavailable unless the norm makes the one of the other."""
    if given is not None and made is not None:
        with torch.no_grad():
            again = norm(given.to(model.device, getattr(torch, model.spec.precision)))
        if not torch.equal(again.float().cpu(), made.float().cpu()):
            raise Unavailable(OTHER_NORM.format(name=name))


def _word(norm: nn.Module, width: int) -> str:
    """What a norm is called, by what it does: a layer norm takes the mean away, an RMS norm does not; "" for what
    leaves its input as it is."""
    own = next(norm.parameters(), None)
    at, dtype = (torch.device("cpu"), torch.float32) if own is None else (own.device, own.dtype)
    given = torch.linspace(-40, 60, width, dtype=torch.float32).sin().mul(50).to(at, dtype)[None, None]
    with torch.no_grad():
        made, moved, doubled = (norm(each).float() for each in (given, given + 64, given * 2))
    near = 0.03 * max(float(made.abs().max()), 1e-6)
    if torch.equal(made, given.float()):
        return ""
    if float((doubled - made).abs().max()) > near:
        return type(norm).__name__
    return "Norm" if float((moved - made).abs().max()) <= near else "RMS norm"


def _of_attention(model: HuggingFaceModel, site: str) -> tuple[str, ...]:
    heads, acts = model.spec.attentions[site], ACTS.get(model.family.acts)
    details = [f"{counted(heads.query, 'head')} × {heads.size}"]
    if heads.size != heads.value_size:
        details.append(f"values {heads.value_size}")
    if heads.key != heads.query:
        details.append(f"sharing {heads.key} keys, values")
    if acts is not None and not site.endswith("cross"):
        details.append(acts)
    if f"{site}.sink" in model.spec.point:
        details.append("sinks")
    if heads.window is not None:
        either = site.startswith("encoder.")
        details.append(f"{heads.window} keys to each side" if either else f"back to {heads.window} keys")
    place, layer = model.place(site)
    attention = layer.get_submodule(place.module)
    if any(isinstance(getattr(attention, name, None), nn.Module) for name in ("q_norm", *place.normed)):
        details.append("normed queries, keys")
    if getattr(model.model.config, "attn_logit_softcapping", None) is not None:
        details.append("tanh of scores")
    return tuple(details)


def _of_feed_forward(model: HuggingFaceModel, stack: StackName, index: int) -> tuple[str, ...]:
    spec, place, name = model.spec, model.family.stacks[stack].layer.ffn, f"{stack}.{index}.ffn"
    config: Any = model.model.config
    layer = _layers(model, stack)[index]
    words = ["gated" if f"{name}.active" in spec.missing else "", _activation(config, layer)]
    activation = " ".join(filter(None, words))
    last = (activation,) if activation else ()
    if f"{name}.experts" in spec.point:
        each = next(
            (number for one in ("num_experts_per_tok", "moe_top_k") if (number := getattr(config, one, None))), 1
        )
        shared = any(hasattr(layer.get_submodule(place.module), one) for one in ("shared_expert", "shared_experts"))
        return (f"{each} of {spec.experts} experts", *(["one for all"] if shared else []), *last)
    assert place.out is not None
    hidden = linear_of(part_at(layer, place.out)).weight.shape[1]
    return (f"{spec.d_model:,} → {hidden:,} → {spec.d_model:,}", *last)


def _activation(config: Any, layer: nn.Module) -> str:
    """Its name in the config, if what has that name stands in the layer; else ""."""
    for setting in _ACTIVATIONS:
        name = getattr(config, setting, None)
        if isinstance(name, str) and name in ACT2FN:
            return name if any(type(part) is type(ACT2FN[name]) for part in layer.modules()) else ""
    return ""


_ACTIVATIONS = (
    *("dense_act_fn", "hidden_activation", "hidden_act", "activation_function", "activation", "ff_activation"),
)


def _others(stack: StackName, layers: list[tuple[SubLayer, ...]], drawn: tuple[SubLayer, ...]) -> Iterator[str]:
    """How other layers differ from the one that is drawn, a sentence for each kind."""
    for other in dict.fromkeys(each for each in layers if each != drawn):
        where = [str(index) for index, each in enumerate(layers) if each == other]
        parts = []
        for own, usual in zip(other, drawn, strict=True):
            if own != usual:
                bare = " without a norm before it" if usual.before and not own.before else ""
                parts.append(f"{own.label.lower()}{bare}, {', '.join(own.details)}")
        yield f"{capitalised(stack)} layer{'s' if len(where) > 1 else ''} {listed(where)}: {'; '.join(parts)}."


# --- output and parameters


def _output(model: HuggingFaceModel) -> OutputOutline:
    spec = model.spec
    if spec.output == "none":
        return OutputOutline(label="", gives=f"vectors, {spec.d_model} numbers a position")
    if spec.output in ("class", "token class"):
        of = "" if spec.output == "class" else " of each token"
        turned = {"one": "Softmax", "each": "Sigmoid", "either": "Sigmoid", "number": ""}[spec.scoring]
        count = 1 if spec.scoring == "either" else len(spec.labels)
        one, several = ("probability", "probabilities") if turned else ("number", "numbers")
        gives = f"{count} {one if count == 1 else several}{of}"
        sizes = f"{spec.d_model} → {count}"
        return OutputOutline(label="Output layer", sizes=sizes, turned=turned, over="labels", gives=gives)
    size = spec.target_vocab_size or model.table("tokens", stacks_of(spec)[-1]).shape[0]
    theirs: Any = model.model
    own, last = theirs.get_output_embeddings(), model.table("tokens", stacks_of(spec)[-1])
    tied = own is not None and getattr(own, "weight", None) is not None and own.weight.data_ptr() == last.data_ptr()
    alone = len(model.family.head) == 1 and isinstance(getattr(model.model, model.family.head[0]), nn.Linear)
    label = "Linear" if alone else "Output layer"
    sizes = "tied to the embedding" if tied else f"{last.shape[1]} × {size:,}"
    return OutputOutline(label=label, sizes=sizes, turned="Softmax", gives=f"{size:,} probabilities")


def _of_logits(model: HuggingFaceModel) -> Iterator[str]:
    """What is done to the vectors that the output layer reads, and to logits, as sentences."""
    config: Any = model.model.config
    if getattr(config, model.family.divided, False) and "logits" in model.spec.point:
        yield f"What the output layer reads is divided by √{model.spec.d_model}."
    if (scale := getattr(config, "logit_scale", None)) is not None:
        yield f"Logits are multiplied by {significant(scale)}."
    if (cap := getattr(config, "final_logit_softcapping", None)) is not None:
        yield f"Logits go through a tanh that keeps them below {significant(cap)}."


def _blocks(model: HuggingFaceModel) -> tuple[Block, ...]:
    """Every trained tensor in the part that it belongs to, shared ones in the first."""
    names = {id(each): name for name, each in model.model.named_parameters()}
    taken = set[int]()

    def block(name: str, *modules: nn.Module | Tensor | None) -> Block:
        found = []
        for module in modules:
            own = [module] if isinstance(module, Tensor) else [] if module is None else module.parameters()
            for each in own:
                if id(each) in names and id(each) not in taken:
                    taken.add(id(each))
                    found.append(Parameter(names[id(each)], tuple(each.shape)))
        return Block(name, tuple(found))

    blocks = []
    for stack in stacks_of(model.spec):
        places, module = model.family.stacks[stack], _module(model, stack)
        at = [path for path in (places.tokens, places.positions, places.segments, places.input_norm) if path]
        embedding = [module.get_submodule(path) for path in at]
        blocks.append(block(f"{stack} embedding", *embedding, _widening(module)))
        for index, layer in enumerate(_layers(model, stack)):
            blocks += [block(f"{stack}.{index}.{part}", *parts) for part, parts in _parts(places, layer)]
        for what, path in (("norm", places.final_norm), ("map", places.final_map)):
            if path is not None and (last := getattr(module, path)) is not None:
                blocks.append(block(f"{stack} final {what}", last))
    base = {id(each) for each in model.base.parameters()}
    outside = [each for each in model.model.parameters() if id(each) not in base]
    blocks.append(block("output", *outside))
    rest = block("other parts", *model.model.parameters())
    return (*blocks, rest) if rest.count else tuple(blocks)


def _widening(stack: nn.Module) -> nn.Module | None:
    """The map of embeddings to the width of the stream, where they have another, or a map all the same (ALBERT)."""
    paths = ("project_in", "embeddings_project", "encoder.embedding_hidden_mapping_in")
    found = {name: module for name, module in stack.named_modules() if name in paths}
    return next(iter(found.values()), None)


def _parts(places: StackPlaces, layer: nn.Module) -> Iterator[tuple[PartName, list[nn.Module | Tensor]]]:
    """The modules of each sub-layer of a layer; what belongs to no attention is of the feed-forward."""
    of: list[tuple[PartName, AttentionPlace | None]] = [("self", places.layer.attention), ("cross", places.layer.cross)]
    for part, place in of:
        if place is not None:
            paths = [path for path in (place.module, place.out, place.norm, place.added) if path]
            yield part, [part_at(layer, path) for path in paths]
    yield "ffn", [layer]
