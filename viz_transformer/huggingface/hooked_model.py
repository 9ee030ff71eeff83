"""A transformers model as a `HookedModel`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput, MoEModelOutput

from viz_transformer.huggingface.capture import PASS, Pass, install
from viz_transformer.huggingface.families import AttentionPlace, Family
from viz_transformer.model.hook import OFF, Hook
from viz_transformer.model.hooked_model import (
    AttentionParameters,
    Heads,
    Linear,
    ModelSpec,
    Rows,
    TableName,
    Unavailable,
)
from viz_transformer.model.kinds import StackName
from viz_transformer.model.stepping import pad_rows


def second_text(ids: Sequence[int], separator: int | None, *around: int | None) -> int | None:
    """Index at which the second of two texts begins, after the first separator; None for one text.

    around: tokens that may surround texts and do not count as a text.
    """
    if separator is None or separator not in ids:
        return None
    behind = ids.index(separator) + 1
    return behind if set(ids[behind:]) - {separator, *around} else None


NO_HEAD = "this model has no output layer, so no vector of it has logits"


class HuggingFaceModel:
    """A transformers model, recorded. In evaluation mode and read-only, so safe for many threads."""

    def __init__(self, model: PreTrainedModel, family: Family, spec: ModelSpec) -> None:
        self.model, self.family, self.spec = model, family, spec
        self.model.train(False)
        self.model.requires_grad_(False)
        self.base: nn.Module = model.base_model
        self._parameter = next(model.parameters())  # moves with the model; looking it up each time is slower
        self.separator: int | None = None  # of two texts with different segments
        self.closing: int | None = None  # the token that has its own segment
        for places in family.stacks.values():
            if places.shared:
                _go_through_each_once(self.base.get_submodule(places.module), places.layers, model.config)
        self._listening = install(self.base, family.stacks, spec.point, spec.attentions)

    def tell(self, spec: ModelSpec) -> None:
        """Replace the spec, and record the points that it names. Call before any other thread uses the model."""
        for each in self._listening:
            each.remove()
        self.spec = spec
        self._listening = install(self.base, self.family.stacks, spec.point, spec.attentions)

    @property
    def device(self) -> torch.device:
        return self._parameter.device

    @property
    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    def begin(self, sources: Rows | None, *, cached: bool = True, hook: Hook = OFF) -> Written:
        return Written(self, sources, cached=cached, hook=hook)

    def whole(self, sources: Rows | None, targets: Rows | None, *, hook: Hook = OFF) -> Tensor:
        ids: dict[str, Tensor] = {}
        if sources is not None:
            ids["input_ids"] = self.batch(sources, self.spec.source_pad)
            if self._has_padding(sources):  # without padding, no mask is passed, as usual callers do
                ids["attention_mask"] = self.kept(sources, ids["input_ids"])
            if self.separator is not None:
                ids["token_type_ids"] = self.segments(sources, ids["input_ids"])
        if targets is not None:
            ids["input_ids" if sources is None else "decoder_input_ids"] = self.batch(targets, None)
        given: dict[str, Any] = {**ids, "use_cache": False} if targets is not None else {**ids}
        return self.run(hook, len(sources or targets or ()), **given)

    def batch(self, rows: Rows, pad: int | None) -> Tensor:
        """Rows of ids as a tensor, [B, T]. Raises ValueError if it needs a pad id and has none."""
        return pad_rows(rows, pad, self.device)

    def _has_padding(self, rows: Rows) -> bool:
        """Whether any row contains padding, or gets some because it is shorter."""
        pad = self.spec.source_pad
        return pad is not None and (len({len(row) for row in rows}) > 1 or any(pad in row for row in rows))

    def kept(self, rows: Rows, ids: Tensor) -> Tensor:
        """[B, T]: 1 for tokens, 0 for padding."""
        pad = self.spec.source_pad
        return torch.ones_like(ids) if pad is None else (ids != pad).long()

    def segments(self, rows: Rows, ids: Tensor) -> Tensor:
        """[B, T]: 0 for tokens of the first text, 1 for the second, 2 for one with its own segment."""
        found = torch.zeros_like(ids)
        for row, given in enumerate(rows):
            if (second := second_text(given, self.separator, self.spec.source_pad, self.closing)) is not None:
                found[row, second : len(given)] = 1
        return found if self.closing is None else found.masked_fill(ids == self.closing, 2)

    def run(
        self, hook: Hook, batch: int, start: int = 0, kept: dict[str, Tensor] | None = None, **given: Any
    ) -> Tensor:
        """One pass of the whole model: its logits, or the output of a model without them. kept: as in `Pass`."""
        token = PASS.set(Pass(hook, batch, start, kept))
        try:
            with torch.no_grad():
                output = self.model(**given, return_dict=True)
        finally:
            PASS.reset(token)
        if self.spec.output == "none":
            out: Tensor = output.last_hidden_state
            return out.float()
        logits: Tensor = output.logits
        return hook("logits", logits[..., None] if self.spec.scoring == "either" else logits).float()

    def encode(self, sources: Rows, hook: Hook) -> tuple[Tensor, Tensor]:
        """Memory [B, S, D] of the sources, and their padding mask [B, S]."""
        ids = self.batch(sources, self.spec.source_pad)
        kept = self.kept(sources, ids)
        token = PASS.set(Pass(hook, len(sources)))
        try:
            with torch.no_grad():
                output = self._stack("encoder")(input_ids=ids, attention_mask=kept, return_dict=True)
        finally:
            PASS.reset(token)
        return output.last_hidden_state, kept

    def read_out(self, stream: Tensor, stack: StackName) -> Tensor:
        if "logits" not in self.spec.point:
            raise Unavailable(self.spec.missing.get("logits", NO_HEAD))
        if (why := self.spec.missing.get("read_out")) is not None:
            raise Unavailable(why)
        with torch.no_grad():
            return self.logits_of(stream.to(self.device, getattr(torch, self.spec.precision)), stack)

    def logits_of(self, stream: Tensor, stack: StackName) -> Tensor:
        """Apply the final norm and the output layer to a stream [B, T, D]."""
        places, config = self.family.stacks[stack], self.model.config
        if places.final_norm is not None:
            stream = self._stack(stack).get_submodule(places.final_norm)(stream)
        if places.final_map is not None and (again := getattr(self._stack(stack), places.final_map)) is not None:
            stream = again(stream)
        if getattr(config, self.family.divided, False):
            stream = stream * config.d_model**-0.5
        for name in self.family.tagger if self.spec.output == "token class" else self.family.head:
            part: nn.Module = getattr(self.model, name)
            if name == "lm_predictions":  # DeBERTa, which multiplies by the embeddings
                stream = part(stream, self._stack(stack).get_submodule(places.tokens))
            else:
                stream = part(stream)
        if (scale := getattr(config, "logit_scale", None)) is not None:
            stream = stream * scale
        if (bias := getattr(self.model, "final_logits_bias", None)) is not None:
            stream = stream + bias
        if (cap := getattr(config, "final_logit_softcapping", None)) is not None:
            stream = torch.tanh(stream / cap) * cap
        return stream

    def parameters_of(self, site: str) -> AttentionParameters:
        place, layer = self.place(site)
        attention = layer.get_submodule(place.module)
        if not place.maps:
            return AttentionParameters(None, None, None, linear_of(part_at(layer, place.out)))
        maps = [linear_of(part_at(attention, name), to_heads=True) for name in place.maps]
        if len(maps) == 1:
            maps = _split(maps[0], self.spec.attentions[site], by_head=place.fused == "by head")
        query, key, value = maps
        if isinstance(bias := getattr(attention, "q_bias", None), Tensor):  # DeBERTa, next to the fused map
            query, value = query._replace(bias=bias), value._replace(bias=getattr(attention, "v_bias"))  # noqa: B009
        return AttentionParameters(query, key, value, linear_of(part_at(layer, place.out)))

    def table(self, what: TableName, stack: StackName) -> Tensor:
        places = self.family.stacks[stack]
        path = places.tokens if what == "tokens" else places.positions
        if path is None:
            raise Unavailable("this model adds no positions to its embeddings, so it has no table of them")
        module = self._stack(stack).get_submodule(path)
        weight = getattr(module, "weight", None)
        table: Tensor = getattr(module, "weights") if weight is None else weight  # noqa: B009 (not of every module)
        if what == "tokens":
            return table
        pad = self.model.config.pad_token_id
        return table[pad + 1 if places.first_row == "after padding" else places.first_row :]

    def scalars(self) -> dict[str, float]:
        found = {}
        for stack, places in self.family.stacks.items():
            module = self._stack(stack)
            scale = getattr(module.get_submodule(places.tokens), "embed_scale", 1.0)
            if places.scale is not None:
                scale = getattr(module, places.scale)
            found[f"{stack}.embed.scale"] = float(scale)
        for site in self.spec.attentions:
            place, layer = self.place(site)
            scaling: Any = getattr(
                layer.get_submodule(place.module), "scaling", self.spec.attentions[site].size ** -0.5
            )
            if place.heard is not None and place.heard.scores:
                continue  # several terms, each divided separately
            found[f"{site}.divisor"] = 1.0 if place.divided else 1 / float(scaling)
            if place.heard is not None and place.heard.divisor is not None:
                found[f"{site}.divisor"] = place.heard.divisor
        return found

    def window_table(self, site: str) -> Tensor | None:
        """The module's own table of visible keys for this attention, [N, N], or None."""
        place, layer = self.place(site)
        if place.heard is None or not place.heard.window:
            return None
        table: Tensor = getattr(layer.get_submodule(place.module), place.heard.window)
        return table[0, 0].cpu()

    def frequencies(self) -> dict[str, Tensor]:
        """Frequencies of its rotary modules; where sines and cosines are stored, the angles of position 1."""
        found = {}
        for name, numbers in self.base.named_buffers():
            last = name.rpartition(".")[2]
            if last.endswith("inv_freq") and "original" not in last:
                found[name] = numbers.float().cpu()
            elif last == "embed_positions" and numbers.dim() == 2 and len(numbers) > 1:
                sines, cosines = numbers[1].double().cpu().chunk(2)
                found[name] = torch.atan2(sines, cosines).float()
        return found

    def _stack(self, name: StackName) -> nn.Module:
        if name not in self.family.stacks:
            raise Unavailable(f"a model of kind {self.spec.kind} has no {name}")
        return self.base.get_submodule(self.family.stacks[name].module)

    def place(self, site: str) -> tuple[AttentionPlace, nn.Module]:
        """Where an attention is in its layer, and the layer."""
        stack, index, kind = site.split(".")
        places = self.family.stacks["encoder" if stack == "encoder" else "decoder"]
        layers = self.base.get_submodule(places.module).get_submodule(places.layers)
        place = places.layer.attention if kind == "self" else places.layer.cross
        assert place is not None and isinstance(layers, nn.ModuleList)
        return place, layers[int(index)]


class Written:
    """The decoder during generation.

    The cache keeps all keys, even where a layer has a window: the mask hides the others.
    """

    def __init__(self, model: HuggingFaceModel, sources: Rows | None, *, cached: bool, hook: Hook) -> None:
        self._model, self._hook = model, hook
        self._memory = model.encode(sources, hook) if sources is not None else None
        self._cache: Cache | None = None
        if cached:
            own = DynamicCache()
            self._cache = own if sources is None else EncoderDecoderCache(own, DynamicCache())
        self._read: list[list[int]] = []
        self._kept: dict[str, Tensor] = {}

    @property
    def length(self) -> int:
        return 0 if self._cache is None else self._cache.get_seq_length()

    def step(self, new: Sequence[Sequence[int]]) -> Tensor:
        if self._cache is None:
            self._read = [[*old, *row] for old, row in zip(self._read or [[] for _ in new], new, strict=True)]
            new = self._read
        ids = self._model.batch(new, None)
        given: dict[str, Any] = {"input_ids": ids}
        if self._memory is not None:
            memory, kept = self._memory
            kept_as = BaseModelOutput if self._model.spec.experts is None else MoEModelOutput
            outputs = kept_as(last_hidden_state=memory)
            given = {"decoder_input_ids": ids, "encoder_outputs": outputs, "attention_mask": kept}
        given |= {"past_key_values": self._cache, "use_cache": self._cache is not None}
        return self._model.run(self._hook, len(new), self.length, self._kept, **given)[:, -1]

    def select(self, rows: Sequence[int]) -> None:
        index = torch.tensor(rows, dtype=torch.long, device=self._model.device)
        if self._memory is not None:
            memory, kept = self._memory
            self._memory = memory.index_select(0, index), kept.index_select(0, index)
        self._kept = {name: numbers.index_select(0, index) for name, numbers in self._kept.items()}
        if self._cache is None:
            self._read = [self._read[row] for row in rows]
        elif self.length:
            self._cache.batch_select_indices(index)


def _go_through_each_once(stack: nn.Module, path: str, config: Any) -> None:
    """Unroll shared layers, so that each pass through a layer has its own module.

    The modules share their parameters; results stay the same.
    """
    few = stack.get_submodule(path)
    assert isinstance(few, nn.ModuleList)
    kept: dict[int, Any] = {id(each): each for each in (*few.parameters(), *few.buffers(), config)}
    count = config.num_hidden_layers
    each = [few[int(index / (count / len(few)))] for index in range(count)]
    where, _, name = path.rpartition(".")
    setattr(stack.get_submodule(where), name, nn.ModuleList(copy.deepcopy(layer, dict(kept)) for layer in each))
    config.num_hidden_groups = count


def part_at(module: nn.Module, path: str) -> nn.Module | Tensor:
    """The module or tensor at this path."""
    where, _, name = path.rpartition(".")
    found: nn.Module | Tensor = getattr(module.get_submodule(where), name)
    return found


def linear_of(module: nn.Module | Tensor, *, to_heads: bool = False) -> Linear:
    """Weight and bias of a Linear, of a Conv1D (stored [in, out]), or of a tensor [D, H, E], to or from heads."""
    if isinstance(module, Tensor):
        return Linear(module.flatten(1).T if to_heads else module.flatten(1), None)
    weight, bias = module.weight, getattr(module, "bias", None)
    assert isinstance(weight, Tensor) and (bias is None or isinstance(bias, Tensor))
    return Linear(weight if isinstance(module, nn.Linear) else weight.T, bias)


def _split(fused: Linear, heads: Heads, *, by_head: bool) -> list[Linear]:
    """Split a fused map into query, key and value: stacked, or per key head with its query heads first."""

    def parts(rows: Tensor) -> list[Tensor]:
        if not by_head:
            return list(rows.chunk(3))
        shared = heads.query // heads.key
        groups = rows.view(heads.key, shared + 2, -1, *rows.shape[1:])
        split = groups[:, :-2].flatten(0, 1), groups[:, -2], groups[:, -1]
        return [part.reshape(-1, *rows.shape[1:]) for part in split]

    weights = parts(fused.weight)
    biases = [None] * 3 if fused.bias is None else parts(fused.bias)
    return [Linear(weight, bias) for weight, bias in zip(weights, biases, strict=True)]
