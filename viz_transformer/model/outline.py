"""What a model is drawn from: its stacks, the sub-layers of a layer with their norms, and its trained numbers by part.

Imports nothing heavy. Of our own models a config tells all of it, of others the loaded model does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from viz_transformer.model.kinds import StackName

PartName = Literal["self", "cross", "ffn"]


@dataclass(frozen=True)
class Parameter:
    """One trained tensor: its name in the weights file, its shape, and the shape in letters ("V×D"), "" without."""

    name: str
    shape: tuple[int, ...]
    letters: str = ""

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


@dataclass(frozen=True, kw_only=True)
class SubLayer:
    """One sub-layer of a layer. details: what stands under its name, piece by piece. before, added, behind: what the
    norm is called that stands in front of it, in front of the sum, and behind the sum; "" where there is none. holds:
    what such a norm has."""

    part: PartName
    label: str
    details: tuple[str, ...]
    before: str = ""
    added: str = ""
    behind: str = ""
    holds: str = ""


@dataclass(frozen=True, kw_only=True)
class StackOutline:
    """One stack from the bottom up. reads: which ids. embedding: its sizes. sums: lines on what is added to the
    tokens' vectors. norm, final_norm: of the input and behind the last layer, "" where there is none; final_map: the
    sizes of a map behind that. layer: the one whose sub-layers are drawn. parallel: they read the same stream and are
    added to it at once; one_norm: behind the same norm."""

    stack: StackName
    reads: str
    embedding: str
    sums: tuple[str, ...]
    norm: str = ""
    layers: int
    layer: int = 0
    sublayers: tuple[SubLayer, ...]
    parallel: bool = False
    one_norm: bool = False
    final_norm: str = ""
    final_map: str = ""


@dataclass(frozen=True, kw_only=True)
class OutputOutline:
    """What stands behind the last stack. label, sizes: of the map, "" where there is none; turned: what makes
    probabilities of its numbers, "" where nothing does; over: what they are of. gives: what comes out in the end."""

    label: str
    sizes: str = ""
    turned: str = ""
    over: str = "vocabulary"
    gives: str


@dataclass(frozen=True, kw_only=True)
class Outline:
    """A whole model. memory: the numbers of each position that the decoder reads of an encoder, None without one.
    spoken: all of it in words. notes: what the drawing does not show, as sentences."""

    stacks: tuple[StackOutline, ...]
    output: OutputOutline
    memory: int | None = None
    blocks: tuple[Block, ...]
    spoken: str
    notes: tuple[str, ...] = ()

    @property
    def block(self) -> Mapping[str, Block]:
        """The trained numbers of a part, by its name."""
        return {block.name: block for block in self.blocks}

    @property
    def count(self) -> int:
        """All trained numbers, shared ones once."""
        return sum(block.count for block in self.blocks)
