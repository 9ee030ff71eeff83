"""The trained numbers of a model, block by block, computed from its config alone; needs no torch.

Names and shapes are those of the model's own parameters, so the sum can be held against the model's count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import SIDE_OF, StackName, attentions_of
from viz_transformer.model.layout import Block, Parameter


@dataclass(frozen=True)
class ParameterRow:
    """Blocks that are equal in all layers, as one row of a table: "encoder.0–2.self", three times `each`."""

    name: str
    shapes: str
    times: int
    each: int

    @property
    def count(self) -> int:
        return self.times * self.each


@dataclass(frozen=True)
class BothTotals:
    """The sum of the blocks beside the model's own count; `wrong` names tensors that differ in name or shape."""

    blocks: int
    model: int
    wrong: tuple[str, ...]

    @property
    def agree(self) -> bool:
        return self.blocks == self.model and not self.wrong


def parameter_blocks(config: ModelConfig) -> tuple[Block, ...]:
    """All blocks in the order of the forward pass; every trained tensor is in exactly one of them."""
    blocks = []
    for stack, side in SIDE_OF.items():
        if not (layers := side.layers(config)):
            continue
        blocks.append(Block(f"{stack} embedding", _embedding(config, stack)))
        for layer in range(layers):
            for part in (*(kind.attention for kind in attentions_of(stack, config)), "ffn"):
                blocks.append(Block(f"{stack}.{layer}.{part}", _sublayer(config, stack, layer, part)))
        if config.final_norm:
            blocks.append(Block(f"{stack} final norm", _norm(config, f"{stack}.norm")))
    if config.target_vocab_size is not None:
        blocks.append(Block("output", _output(config)))
    return tuple(blocks)


def parameter_rows(blocks: Sequence[Block]) -> tuple[ParameterRow, ...]:
    """The table's rows: equal blocks of consecutive layers as one row. The rows' counts add up to those of the
    blocks."""
    parts: dict[tuple[str, str], list[list[Block]]] = {}
    for block in blocks:
        stack, _, rest = block.name.partition(".")
        runs = parts.setdefault((stack, rest.partition(".")[2]), [])
        if runs and runs[-1][-1].shapes == block.shapes:
            runs[-1].append(block)
        else:
            runs.append([block])
    return tuple(
        ParameterRow(_join_names([block.name for block in run]), run[0].shapes, len(run), run[0].count)
        for runs in parts.values()
        for run in runs
    )


def _join_names(names: Sequence[str]) -> str:
    """One name for the same part of consecutive layers, numbered from 0."""
    stack, dot, rest = names[0].partition(".")
    if not dot or len(names) == 1:
        return names[0]
    first, _, part = rest.partition(".")
    return f"{stack}.{first}–{names[-1].split('.')[1]}.{part}"


def parameter_total(config: ModelConfig) -> int:
    """How many trained numbers the model has, shared ones counted once."""
    return sum(block.count for block in parameter_blocks(config))


def both_totals(config: ModelConfig, shapes: Mapping[str, tuple[int, ...]]) -> BothTotals:
    """The sum of the blocks compared with a model's trained tensors, given as name -> shape."""
    expected = {parameter.name: parameter.shape for block in parameter_blocks(config) for parameter in block.parameters}
    names = sorted(expected.keys() | shapes.keys())
    wrong = tuple(name for name in names if expected.get(name) != shapes.get(name))
    return BothTotals(sum(map(math.prod, expected.values())), sum(map(math.prod, shapes.values())), wrong)


def _embedding(config: ModelConfig, stack: StackName) -> tuple[Parameter, ...]:
    side = SIDE_OF[stack].name
    size = getattr(config, f"{side}_vocab_size")
    found = [Parameter(f"{stack}.embedding.token.weight", (size, config.d_model), "V×D")]
    if config.embedding_scale == "learned":
        found.append(Parameter(f"{stack}.embedding.scale", (), "1"))
    if config.encoding.trained:
        most = getattr(config, f"max_{side}")
        found.append(Parameter(f"{stack}.embedding.position.table", (most, config.d_model), "T×D"))
    return tuple(found)


def _sublayer(config: ModelConfig, stack: str, layer: int, part: str) -> tuple[Parameter, ...]:
    """The maps of a sub-layer and the norm of its place in the stream."""
    d, f, at = config.d_model, config.d_ff, f"{stack}.layers.{layer}"
    found = []
    if part == "ffn":
        for name, shape, letters in (("to_hidden", (f, d), "F×D"), ("to_out", (d, f), "D×F")):
            found += _linear(f"{at}.feed_forward.{name}", shape, letters, bias=config.ffn_bias)
    else:
        for name in ("to_query", "to_key", "to_value", "to_out"):
            found += _linear(f"{at}.{part}_attention.{name}", (d, d), "D×D", bias=config.attention_bias)
        if config.divisor == "learned":
            found.append(Parameter(f"{at}.{part}_attention.divisor", (), "1"))
    return (*found, *_norm(config, f"{at}.{part}_residual.norm"))


def _linear(name: str, shape: tuple[int, int], letters: str, *, bias: bool) -> list[Parameter]:
    found = [Parameter(f"{name}.weight", shape, letters)]
    return [*found, Parameter(f"{name}.bias", shape[:1], letters.split("×")[0])] if bias else found


def _norm(config: ModelConfig, name: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(f"{name}.{part}", (config.d_model,), "D") for part in ("gain", "offset"))


def _output(config: ModelConfig) -> tuple[Parameter, ...]:
    """The output layer's parameters. With tied weights only its bias is new."""
    size = config.target_vocab_size
    assert size is not None
    found = [] if config.tied_output else [Parameter("output.weight", (size, config.d_model), "V×D")]
    return (*found, Parameter("output.bias", (size,), "V")) if config.output_bias else tuple(found)
