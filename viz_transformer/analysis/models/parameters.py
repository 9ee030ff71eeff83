"""The trained numbers of a model, block by block, worked out from its config alone; needs no torch.

Names and shapes are those of the model's own parameters, so the sum can be held against the model's count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import SIDE_OF, StackName, attentions_of


@dataclass(frozen=True)
class Parameter:
    """One trained tensor: its name in the weights file, its shape, and the shape in letters ("V×D")."""

    name: str
    shape: tuple[int, ...]
    letters: str

    @property
    def count(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Block:
    """A part of the model as one draws it, with its trained tensors; none of its own for a tied output."""

    name: str
    parameters: tuple[Parameter, ...]

    @property
    def count(self) -> int:
        return sum(parameter.count for parameter in self.parameters)

    @property
    def shapes(self) -> str:
        """The shapes with their letters, equal ones counted: "4 × (256×256), 4 × (256)"."""
        kinds: dict[tuple[int, ...], int] = {}
        for parameter in self.parameters:
            kinds[parameter.shape] = kinds.get(parameter.shape, 0) + 1
        return ", ".join(
            (f"{number} × " if number > 1 else "") + ("one number" if not shape else f"({'×'.join(map(str, shape))})")
            for shape, number in kinds.items()
        )


@dataclass(frozen=True)
class Row:
    """Blocks that are alike in all layers, as one row of a table: "encoder.0–2.self", three times `each`."""

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
    """All blocks in the order of the forward pass; every trained tensor stands in exactly one of them."""
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


def parameter_rows(config: ModelConfig) -> tuple[Row, ...]:
    """The blocks, those of the same part in all layers as one row; the rows' counts add up to `parameter_total`."""
    rows: dict[tuple[str, str], list[Block]] = {}
    for block in parameter_blocks(config):
        stack, _, rest = block.name.partition(".")
        rows.setdefault((stack, rest.partition(".")[2]), []).append(block)
    return tuple(
        Row(_joined([block.name for block in blocks]), blocks[0].shapes, len(blocks), blocks[0].count)
        for blocks in rows.values()
    )


def _joined(names: Sequence[str]) -> str:
    """The names of one part in all layers, which are numbered from 0."""
    stack, dot, rest = names[0].partition(".")
    if not dot or len(names) == 1:
        return names[0]
    return f"{stack}.0–{len(names) - 1}.{rest.partition('.')[2]}"


def parameter_total(config: ModelConfig) -> int:
    """How many trained numbers the model has, shared ones counted once."""
    return sum(block.count for block in parameter_blocks(config))


def both_totals(config: ModelConfig, shapes: Mapping[str, tuple[int, ...]]) -> BothTotals:
    """The blocks' sum held against a model's trained tensors, given as name -> shape."""
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
    """Tied, the output reads the embedding's own weight: only its bias is new."""
    size = config.target_vocab_size
    assert size is not None
    found = [] if config.tied_output else [Parameter("output.weight", (size, config.d_model), "V×D")]
    return (*found, Parameter("output.bias", (size,), "V")) if config.output_bias else tuple(found)
