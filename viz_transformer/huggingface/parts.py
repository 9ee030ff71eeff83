"""Labels for the parts of a transformers model, read from its modules and checked by a trial pass.

A norm is drawn only where the pass confirms it: the sub-layer's input equals the norm of the stream, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
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
from viz_transformer.model.layout import Block, Layout, Parameter, PartName, StackLayout, SubLayer, Written, layout
from viz_transformer.numerals import significant
from viz_transformer.sentences import capitalised, count_of, join_names

ACTS = {ROTARY: "rotary", BUCKETS: "bias by distance", SLOPES: "slopes", DISTANCES: "terms by distance"}
OTHER_NORM = "in a trial pass {name} did not read what its norm gives out, so its norms cannot be drawn"


def layout_of(model: HookedModel) -> Layout:
    """Layout of an opened folder's model, with its labels.

    Raises Unavailable if a trial pass contradicts the family's norms.
    """
    assert isinstance(model, HuggingFaceModel)
    recorder, spec = MaskRuleRecorder(), model.spec
    model.whole(*trial_texts(spec), hook=recorder)
    written = _of_output(model)
    for stack in layout(spec).stacks:
        written |= _of_stack(model, stack.stack)
        written |= _Layers(model, stack.stack, recorder.values).written(stack)
    found = layout(spec, written)
    notes = [note for stack in found.stacks for note in (*_others(stack), *_not_drawn(model, stack.stack))]
    layers_said = " and ".join(count_of(len(each.layers), f"{each.stack} layer") for each in found.stacks)
    return replace(
        found,
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


def _of_stack(model: HuggingFaceModel, stack: StackName) -> dict[str, Written]:
    places, module, spec = model.family.stacks[stack], _module(model, stack), model.spec
    rows, width = model.table("tokens", stack).shape
    has_norm = f"{stack}.embed.sum" in spec.point and places.input_norm is not None
    wide = "" if _widening(module) is None else f" → {spec.d_model}"
    norm = _word(module.get_submodule(places.input_norm or ""), width) if has_norm else ""
    if f"{stack}.embed.normed" in spec.point:  # the map follows the norm
        norm, wide = f"{norm}, {width:,}{wide}", ""
    found = {f"{stack} embedding": Written(details=(f"{rows:,} × {width:,}{wide}{_scale(model, stack)}",))}
    if norm:
        found[f"{stack} embedding norm"] = Written(label=norm, holds="of the sum that the first layer reads")
    if places.final_norm is not None and (word := _word(module.get_submodule(places.final_norm), spec.d_model)):
        found[f"{stack} final norm"] = Written(label=word)
    if places.final_map is not None and getattr(module, places.final_map) is not None:
        found[f"{stack} final map"] = Written(label="Linear", details=(f"{spec.d_model} → {width}",))
    return found


def _scale(model: HuggingFaceModel, stack: StackName) -> str:
    scale, root = model.scalars()[f"{stack}.embed.scale"], model.spec.d_model**0.5
    if scale == 1:
        return ""
    return f", times √{model.spec.d_model}" if abs(scale / root - 1) < 1e-2 else f", times {significant(scale)}"


def _not_drawn(model: HuggingFaceModel, stack: StackName) -> Iterator[str]:
    """One sentence for each part of a stack that is unconfirmed or not recorded."""
    missing = model.spec.missing
    parts = [name for name in ("token", "segment", "position") if f"{stack}.embed.{name}" in missing]
    whys = {missing[f"{stack}.embed.{name}"] for name in parts}
    if "token" in parts:
        yield f"What the {stack}’s embeddings are made of is not drawn: {join_names(sorted(whys))}."
    for index in range(_count(model, stack)):
        if (why := missing.get(f"{stack}.{index}.residual_out")) is not None:
            yield f"Modules after {stack} layer {index} are not drawn: {why}."


# --- a layer


@dataclass(frozen=True)
class _Layers:
    """The layers of a stack, and a trial pass."""

    model: HuggingFaceModel
    stack: StackName
    values: Mapping[str, Tensor]

    def written(self, stack: StackLayout) -> dict[str, Written]:
        """Labels of their sub-layers and norms. Raises Unavailable if the pass contradicts the norms."""
        places, found = self.model.family.stacks[self.stack].layer, dict[str, Written]()
        for layer in stack.layers:
            stream = "residual_in"
            for part in layer.sublayers:
                found[part.name] = Written(details=self._details(part))
                found |= self._norms(part, stream)
                if layer.parallel and part.kind is None and places.attention.norm == places.ffn.norm:
                    found.pop(f"{part.name} norm", None)  # shared with the attention
                stream = stream if layer.parallel else f"residual_after_{part.part}"
        return found

    def _details(self, part: SubLayer) -> tuple[str, ...]:
        if part.kind is None:
            return _of_feed_forward(self.model, self.stack, part.layer)
        return _of_attention(self.model, part.name)

    def _norms(self, part: SubLayer, stream: str) -> dict[str, Written]:
        """The norms around a sub-layer; the one before it, or after the sum, is checked against the trial pass."""
        layer, width = _layers(self.model, self.stack)[part.layer], self.model.spec.d_model
        places = self.model.family.stacks[self.stack].layer
        place = {"self": places.attention, "cross": places.cross, "ffn": places.ffn}[part.part]
        assert place is not None
        at = f"{self.stack}.{part.layer}"
        module = layer.get_submodule(place.norm)
        holds = ", ".join(f"{each.numel():,}" for each in module.parameters())
        holds = f"{holds} numbers" if holds else "no numbers of its own"
        given, made, added = f"{at}.{stream}", f"{part.name}.in", place.added
        if places.norm == "post":
            made, added = f"{at}.residual_{'out' if part.kind is None else f'after_{part.part}'}", ""
            given = f"{made}_sum"
        _check(self.model, module, self.values.get(given), self.values.get(made), part.name)
        words = {f"{part.name} norm": _word(module, width)}
        words[f"{part.name} added norm"] = _word(layer.get_submodule(added), width) if added else ""
        return {name: Written(label=word, holds=holds) for name, word in words.items() if word}


def _check(model: HuggingFaceModel, norm: nn.Module, given: Tensor | None, made: Tensor | None, name: str) -> None:
    """Raise Unavailable unless the norm maps one tensor to the other."""
    if given is not None and made is not None:
        with torch.no_grad():
            again = norm(given.to(model.device, getattr(torch, model.spec.precision)))
        if not torch.equal(again.float().cpu(), made.float().cpu()):
            raise Unavailable(OTHER_NORM.format(name=name))


def _word(norm: nn.Module, width: int) -> str:
    """Name of a norm by what it does: a layer norm subtracts the mean, an RMS norm does not; "" for the identity."""
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
    details = [f"{count_of(heads.query, 'head')} × {heads.size}"]
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
    """Name of the activation in the config, if the layer contains it; else ""."""
    for setting in _ACTIVATIONS:
        name = getattr(config, setting, None)
        if isinstance(name, str) and name in ACT2FN:
            return name if any(type(part) is type(ACT2FN[name]) for part in layer.modules()) else ""
    return ""


_ACTIVATIONS = (
    *("dense_act_fn", "hidden_activation", "hidden_act", "activation_function", "activation", "ff_activation"),
)


def _others(stack: StackLayout) -> Iterator[str]:
    """One sentence for each kind of layer that differs from the one drawn."""
    layers, drawn = stack.layers, stack.layers[stack.typical]
    for other in dict.fromkeys(each for each in layers if each != drawn):
        where = [str(index) for index, each in enumerate(layers) if each == other]
        parts = []
        for own, usual in zip(other.sublayers, drawn.sublayers, strict=True):
            if own != usual:
                bare = " without a norm before it" if usual.before and not own.before else ""
                parts.append(f"{own.label.lower()}{bare}, {', '.join(own.details)}")
        which = f"layer{'s' if len(where) > 1 else ''} {join_names(where)}"
        yield f"{capitalised(stack.stack)} {which}: {'; '.join(parts)}."


# --- output and parameters


def _of_output(model: HuggingFaceModel) -> dict[str, Written]:
    spec = model.spec
    if spec.output == "none":
        return {"result": Written(label=f"vectors, {spec.d_model} numbers a position")}
    if spec.output in ("class", "token class"):
        of = "" if spec.output == "class" else " of each token"
        turned = {"one": "Softmax", "each": "Sigmoid", "either": "Sigmoid", "number": ""}[spec.scoring]
        count = 1 if spec.scoring == "either" else len(spec.labels)
        one, several = ("probability", "probabilities") if turned else ("number", "numbers")
        found = {
            "output": Written(label="Output layer", details=(f"{spec.d_model} → {count}",)),
            "result": Written(label=f"{count} {one if count == 1 else several}{of}"),
        }
        return {**found, "softmax": Written(label=turned)} if turned else found
    size = spec.target_vocab_size or model.table("tokens", stacks_of(spec)[-1]).shape[0]
    theirs: Any = model.model
    own, last = theirs.get_output_embeddings(), model.table("tokens", stacks_of(spec)[-1])
    tied = own is not None and getattr(own, "weight", None) is not None and own.weight.data_ptr() == last.data_ptr()
    alone = len(model.family.head) == 1 and isinstance(getattr(model.model, model.family.head[0]), nn.Linear)
    sizes = "tied to the embedding" if tied else f"{last.shape[1]} × {size:,}"
    return {
        "output": Written(label="Linear" if alone else "Output layer", details=(sizes,)),
        "softmax": Written(label="Softmax"),
        "result": Written(label=f"{size:,} probabilities"),
    }


def _of_logits(model: HuggingFaceModel) -> Iterator[str]:
    """Sentences on what is done to the output layer's input, and to the logits."""
    config: Any = model.model.config
    if getattr(config, model.family.divided, False) and "logits" in model.spec.point:
        yield f"What the output layer reads is divided by √{model.spec.d_model}."
    if (scale := getattr(config, "logit_scale", None)) is not None:
        yield f"Logits are multiplied by {significant(scale)}."
    if (cap := getattr(config, "final_logit_softcapping", None)) is not None:
        yield f"Logits go through a tanh that keeps them below {significant(cap)}."


def _blocks(model: HuggingFaceModel) -> tuple[Block, ...]:
    """Every trained tensor by part, shared ones in the first."""
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
    """Map from embeddings to the width of the stream, if there is one (ALBERT has one even at equal width)."""
    paths = ("project_in", "embeddings_project", "encoder.embedding_hidden_mapping_in")
    found = {name: module for name, module in stack.named_modules() if name in paths}
    return next(iter(found.values()), None)


def _parts(places: StackPlaces, layer: nn.Module) -> Iterator[tuple[PartName, list[nn.Module | Tensor]]]:
    """Modules of each sub-layer; anything outside the attentions belongs to the feed-forward."""
    of: list[tuple[PartName, AttentionPlace | None]] = [("self", places.layer.attention), ("cross", places.layer.cross)]
    for part, place in of:
        if place is not None:
            paths = [path for path in (place.module, place.out, place.norm, place.added) if path]
            yield part, [part_at(layer, path) for path in paths]
    yield "ffn", [layer]
