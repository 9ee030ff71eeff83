"""The transformer: one or two stacks of layers, and the logits."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.model.attention import Attention
from viz_transformer.model.cache import DecoderCache
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook import OFF, Hook
from viz_transformer.model.hooked_model import (
    AttentionParameters,
    Linear,
    ModelSpec,
    Rows,
    TableName,
    Unavailable,
    spec_of,
)
from viz_transformer.model.kinds import StackName
from viz_transformer.model.layers import DecoderLayer, Embedding, EncoderLayer
from viz_transformer.model.masks import PADDING_MASKS, causal_mask
from viz_transformer.model.norms import NORMS, encoder_final_norm
from viz_transformer.model.points import OF_THE_TEXT
from viz_transformer.model.stepping import Stepping, pad_rows
from viz_transformer.model.unfilled import Unfilled


class Output(nn.Module):
    """Linear map to the vocabulary; if tied, it uses the embedding's weight."""

    def __init__(self, config: ModelConfig, vocab_size: int, embedding: nn.Embedding) -> None:
        super().__init__()
        self.weight = None if config.tied_output else nn.Parameter(torch.empty(vocab_size, config.d_model))
        self.bias = nn.Parameter(torch.zeros(vocab_size)) if config.output_bias else None
        self._embedding = (embedding,)  # in a tuple, so that torch does not register it as a child

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] -> logits [B, T, V]."""
        weight = self._embedding[0].weight if self.weight is None else self.weight
        return F.linear(x, weight, self.bias)


class Stack(nn.Module):
    """An embedding, layers, and a final norm if there is one."""

    def __init__(self, embedding: Embedding, layers: list[nn.Module], norm: nn.Module | None) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def finish(self, x: Tensor, hook: Hook) -> Tensor:
        """Stream after the last layer -> output of the stack, [B, T, D]."""
        if self.norm is not None:
            x = self.norm(x, hook)
        return hook("out", x)


class Transformer(nn.Module):
    """An encoder-decoder, encoder-only or decoder-only model, depending on the config.

    Call with int64 ids, padded with the config's pad ids: `model(src, tgt)`, `model(src)` or `model(tgt)`.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.labels: tuple[str, ...] = ()  # names of an encoder's output rows, if known
        self.padding_masks = PADDING_MASKS[config.padding_mask]
        if config.has_encoder:
            assert config.source_vocab_size is not None
            embedding = Embedding(config, config.source_vocab_size, config.max_source)
            norm = encoder_final_norm(config) if config.final_norm else None
            self.encoder = Stack(embedding, [EncoderLayer(config) for _ in range(config.encoder_layers)], norm)
        if config.has_decoder:
            assert config.target_vocab_size is not None
            embedding = Embedding(config, config.target_vocab_size, config.max_target)
            norm = NORMS[config.norm_kind](config) if config.final_norm else None
            self.decoder = Stack(embedding, [DecoderLayer(config) for _ in range(config.decoder_layers)], norm)
        last = self.decoder if config.has_decoder else self.encoder
        vocab_size = config.target_vocab_size
        self.output = Output(config, vocab_size, last.embedding.token) if vocab_size is not None else None
        self._initialise()

    def _initialise(self) -> None:
        """Initialise: Xavier-uniform maps, zero biases, embeddings such that the scaled vectors have variance 1."""
        config = self.config
        spread = 1.0 if config.embedding_scale == "one" and not config.tied_output else 1 / math.sqrt(config.d_model)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=spread)
            elif isinstance(module, Output) and module.weight is not None:
                nn.init.xavier_uniform_(module.weight)

    def forward(self, first: Tensor, second: Tensor | None = None, hook: Hook = OFF) -> Tensor:
        """Logits [B, T, V], or [B, V] with pooling; without a vocabulary to predict, the memory [B, S, D].

        first: [B, S] source ids, or target ids of a decoder-only model. second: [B, T] target ids.
        """
        if self.config.kind == "decoder-only":
            return self.decode(first, hook=hook)
        memory, keep = self.encode(first, hook)
        if self.config.kind == "encoder-only":
            if self.output is None:
                return memory
            read = memory if self.config.pooling == "none" else pool(memory, keep, self.config.pooling)
            return hook("logits", self.output(read))
        if second is None:
            raise ValueError("an encoder-decoder needs source and target ids")
        return self.decode(second, memory, keep, hook=hook)

    def _check_length(self, ids: Tensor) -> None:
        if self.config.pad_to is not None and ids.size(1) != self.config.pad_to:
            raise ValueError(f"this model reads {self.config.pad_to} tokens, padding included, not {ids.size(1)}")

    def encode(self, src: Tensor, hook: Hook = OFF) -> tuple[Tensor, Tensor]:
        """src: [B, S] -> memory [B, S, D] and a padding mask [B, S], True = not padding."""
        hook = hook.scope("encoder")
        self._check_length(src)
        keep = _kept(src, self.config.source_pad)
        mask = self.padding_masks.self_attention(keep, keep)
        x = self.encoder.embedding(src, hook.scope("embed"))
        for index, layer in enumerate(self.encoder.layers):
            x = layer(x, mask, hook.scope(str(index)))
        return self.encoder.finish(x, hook), keep

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor | None = None,
        memory_keep: Tensor | None = None,
        *,
        cache: DecoderCache | None = None,
        hook: Hook = OFF,
    ) -> Tensor:
        """tgt: [B, T] -> logits [B, T, V]. With a cache, tgt holds only the positions after the cached ones."""
        inner = hook.scope("decoder")
        self._check_length(tgt)
        start = cache.length if cache is not None else 0
        new = tgt.size(1)
        keep = _kept(tgt, self.config.target_pad)
        mask = self.padding_masks.self_attention(keep, cache.kept(keep) if cache is not None else keep)
        mask = mask & causal_mask(new, start + new, start=start, device=tgt.device)
        memory_mask = self.padding_masks.cross_attention(keep, memory_keep) if memory_keep is not None else None
        x = self.decoder.embedding(tgt, inner.scope("embed"), start=start)
        for index, layer in enumerate(self.decoder.layers):
            x = layer(
                x,
                mask,
                inner.scope(str(index)),
                memory=memory,
                memory_mask=memory_mask,
                self_cache=cache.self_attention[index] if cache is not None else None,
                cross_cache=cache.cross_attention[index] if cache is not None else None,
            )
        assert self.output is not None
        return hook("logits", self.output(self.decoder.finish(x, inner)))

    # --- HookedModel

    @property
    def spec(self) -> ModelSpec:
        return spec_of(self.config, self.labels)

    @property
    def parameter_count(self) -> int:
        return parameter_count(self)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def batch(self, rows: Rows, pad: int | None) -> Tensor:
        """Rows of ids as a tensor [B, T] on the model's device. Raises ValueError if it needs a pad id and has none."""
        return pad_rows(rows, pad, self.device, length=self.config.pad_to)

    def begin(self, sources: Rows | None, *, cached: bool = True, hook: Hook = OFF) -> Stepping:
        return Stepping(self, sources, cached=cached, hook=hook)

    def whole(self, sources: Rows | None, targets: Rows | None, *, hook: Hook = OFF) -> Tensor:
        given = ((sources, self.config.source_pad), (targets, self.config.target_pad))
        logits: Tensor = self(*(self.batch(rows, pad) for rows, pad in given if rows is not None), hook=hook)
        return logits

    def read_out(self, stream: Tensor, stack: StackName) -> Tensor:
        if self.output is None:
            raise Unavailable("this model has no output layer, so no vector of it has logits")
        if self.config.pooling != "none":
            raise Unavailable(OF_THE_TEXT)
        logits: Tensor = self.output(self._stack(stack).finish(stream.to(self.device), OFF))
        return logits

    def parameters_of(self, site: str) -> AttentionParameters:
        attention = self._attention(site)
        maps = (getattr(attention, f"to_{part}") for part in ("query", "key", "value", "out"))
        return AttentionParameters(*(Linear(each.weight, each.bias) for each in maps))

    def table(self, what: TableName, stack: StackName) -> Tensor:
        embedding = self._stack(stack).embedding
        if what == "tokens":
            return embedding.token.weight
        if embedding.position is None:
            raise Unavailable("this model adds no positions to its embeddings, so it has no table of them")
        return embedding.position.table

    def frequencies(self) -> dict[str, Tensor]:
        return {}

    def scalars(self) -> dict[str, float]:
        stacks = [name for name in ("encoder", "decoder") if hasattr(self, name)]
        found = {f"{name}.embed.scale": getattr(self, name).embedding.scale for name in stacks}
        found |= {f"{site}.divisor": self._attention(site).divisor for site in self.spec.attentions}
        return {name: value.item() if isinstance(value, Tensor) else value for name, value in found.items()}

    def _stack(self, name: StackName) -> Stack:
        stack: Stack | None = getattr(self, name, None)
        if stack is None:
            raise Unavailable(f"a model of kind {self.config.kind} has no {name}")
        return stack

    def _attention(self, site: str) -> Attention:
        stack, layer, kind = site.split(".")
        attention: Attention = getattr(getattr(self, stack).layers[int(layer)], f"{kind}_attention")
        return attention


def with_weights(config: ModelConfig, state: Mapping[str, Tensor]) -> Transformer:
    """The model of this config, in evaluation mode, with these tensors themselves as its weights."""
    with Unfilled():
        model = Transformer(config)
    model.load_state_dict(state, assign=True)
    return model.eval()


def pool(x: Tensor, keep: Tensor, how: str) -> Tensor:
    """Pool each text to one vector, [B, S, D] -> [B, D]. keep: [B, S], True = not padding. how: as `pooling`."""
    if how == "first":
        return x[:, 0]
    if how == "last":
        last = keep.long().cumsum(dim=1).argmax(dim=1)  # the first position at which all tokens are counted
        return x[torch.arange(len(x), device=x.device), last]
    kept = keep[..., None].to(x.dtype)
    return (x * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1)


def _kept(ids: Tensor, pad: int | None) -> Tensor:
    """[B, T]: True for tokens, False for padding."""
    return torch.ones_like(ids, dtype=torch.bool) if pad is None else ids != pad


def parameter_count(model: nn.Module) -> int:
    """Trained parameters, shared ones counted once."""
    return sum(parameter.numel() for parameter in model.parameters())
