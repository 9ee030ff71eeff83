"""What a ladder is made of: the cell, the learned numbers of its attention in float64, vectors, and comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from viz_transformer.model.kinds import KINDS, KindName, StackName
from viz_transformer.model.transformer import Stack, Transformer

Floats = NDArray[np.float64]
AxisName = Literal["feature", "dimension", "key", "slot"]

ROUNDING = 2e-6
"""float32 arithmetic may differ from float64 by this part of the largest number in a line (of 1 if all are smaller)."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of one head's map: the weight that query position `query` gives to key position `key`."""

    kind: KindName
    layer: int
    head: int
    query: int
    key: int

    @property
    def site(self) -> str:
        """The attention's name: decoder.1.cross."""
        return site_of(self.kind, self.layer)

    @property
    def stack(self) -> StackName:
        return KINDS[self.kind].stack

    @property
    def key_stack(self) -> StackName:
        """The stack that the keys come from."""
        return KINDS[self.kind].keys.stack


@dataclass(frozen=True, eq=False)
class Map:
    """A linear map, y = weight @ x + bias. weight: [D, D]; bias: [D], None without one."""

    weight: Floats
    bias: Floats | None

    def __call__(self, x: Floats, rows: slice = slice(None)) -> Floats:
        """These rows of the map, of a vector [D] or of rows [T, D]."""
        y = x @ self.weight[rows].T
        return y if self.bias is None else y + self.bias[rows]


@dataclass(frozen=True, eq=False)
class Norm:
    """(x - mean) / scale * gain + offset; `kind` says what mean and scale are taken over, as in the config."""

    gain: Floats
    offset: Floats
    epsilon: float
    kind: str

    def mean_and_scale(self, x: Floats) -> tuple[Floats, Floats]:
        """x: [T, D] -> [T, 1] each, or [1, 1] each for a norm over positions and features."""
        if self.kind == "bessel":  # "The Annotated Transformer": D - 1 below the root, epsilon behind it
            return x.mean(axis=1, keepdims=True), x.std(axis=1, ddof=1, keepdims=True) + self.epsilon
        axis = (0, 1) if self.kind == "positions-and-features" else 1
        return x.mean(axis=axis, keepdims=True), np.sqrt(x.var(axis=axis, keepdims=True) + self.epsilon)

    def __call__(self, x: Floats) -> Floats:
        mean, scale = self.mean_and_scale(x)
        return np.asarray((x - mean) / scale * self.gain + self.offset)


@dataclass(frozen=True, eq=False)
class Parameters:
    """The learned numbers of one attention, of its norm, and of the norm behind the encoder where keys are read."""

    query: Map
    key: Map
    value: Map
    out: Map
    norm: Norm
    memory_norm: Norm | None


@dataclass(frozen=True, eq=False)
class Numbers:
    """A vector [N] or a matrix [R, N] of a line. axis: what N counts; R counts dimensions, or keys if `by_key`.

    symbol: as formulas have it. picked: the place that the line is about, `span` the places (first, behind the last).
    """

    symbol: str
    name: str
    values: Floats
    axis: AxisName
    picked: int | None = None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Check:
    """What was worked out beside what was recorded. point: the recorded point, with its index; scale: how large the
    numbers were that the line added up."""

    name: str
    derived: Floats
    recorded: Floats
    point: str
    scale: float = 0.0

    @property
    def difference(self) -> float:
        """The largest absolute difference; two NaN are equal, one is infinitely far from a number."""
        same = (self.derived == self.recorded) | (np.isnan(self.derived) & np.isnan(self.recorded))
        with np.errstate(invalid="ignore"):
            gap = np.where(same, 0.0, np.abs(self.derived - self.recorded))
        return float(np.nan_to_num(gap, nan=np.inf).max(initial=0.0))

    @property
    def allowed(self) -> float:
        """What rounding explains."""
        finite = np.abs(self.recorded[np.isfinite(self.recorded)])
        return ROUNDING * max(1.0, float(finite.max(initial=0.0)), self.scale)

    @property
    def agrees(self) -> bool:
        return self.difference <= self.allowed


@dataclass(frozen=True)
class Shape:
    """A step of the trail of shapes: "[B, T, 3D]" and "[1, 11, 768]"."""

    name: str
    letters: str
    sizes: str


@dataclass(frozen=True, eq=False)
class Line:
    """One line: vectors and matrices, single numbers by symbol, what was compared, and facts in words."""

    name: str
    vectors: tuple[Numbers, ...] = ()
    scalars: Mapping[str, float] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    facts: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether everything that was compared agrees up to rounding."""
        return all(check.agrees for check in self.checks)


@dataclass(frozen=True, eq=False)
class Row:
    """One query against all keys. query: [E], keys: [K, E], as recorded; scores [K] are worked out from them;
    weights [K] as recorded (a long attention's are derived); mask: [K], True = may attend."""

    query: Floats
    keys: Floats
    scores: Floats
    weights: NDArray[np.float32]
    mask: NDArray[np.bool_]

    @property
    def products(self) -> Floats:
        """query times key, dimension by dimension: [K, E]; a row adds up to the undivided score."""
        return self.query * self.keys


def site_of(kind: KindName, layer: int) -> str:
    """The name of an attention: decoder.1.cross."""
    return KINDS[kind].site(layer)


def parameters(model: Transformer, kind: KindName, layer: int) -> Parameters:
    """The learned numbers of this attention in float64. Raises ValueError for a layer that the model lacks."""
    config = model.config
    stack: Stack = getattr(model, KINDS[kind].stack)
    if not 0 <= layer < len(stack.layers):
        raise ValueError(f"there is no layer {layer}: layers go from 0 to {len(stack.layers) - 1}")
    name = KINDS[kind].attention
    attention = getattr(stack.layers[layer], f"{name}_attention")
    maps = {part: _map(getattr(attention, f"to_{part}")) for part in ("query", "key", "value", "out")}
    memory_norm = None
    if kind == "cross" and model.encoder.norm is not None:
        over = "layer" if config.encoder_final_norm == "torch" else config.norm_kind
        memory_norm = _norm(model.encoder.norm, over)
    norm = _norm(getattr(stack.layers[layer], f"{name}_residual").norm, config.norm_kind)
    return Parameters(**maps, norm=norm, memory_norm=memory_norm)


def masked_softmax(scores: Floats, mask: NDArray[np.bool_], fill: str) -> tuple[Floats, Floats]:
    """The scores [K] as the softmax sees them, and the weights [K]. fill: the config's `mask_fill`.

    A number that is added to a masked score is added in float32, as the model does it: it becomes a multiple of 64.
    """
    if fill == "added-1e9":
        drowned = (scores.astype(np.float32) + np.float32(-1e9)).astype(np.float64)
        seen = np.where(mask, scores, drowned)
    else:
        seen = np.where(mask, scores, {"-1e9": -1e9, "-1e10": -1e10}.get(fill, -np.inf))
    if fill == "zero-rows" and not mask.any():
        return seen, np.zeros_like(scores)
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(seen - seen.max())
        return seen, exponentials / exponentials.sum()


def _map(linear: nn.Linear) -> Map:
    return Map(_float64(linear.weight), None if linear.bias is None else _float64(linear.bias))


def _norm(norm: nn.Module, kind: str) -> Norm:
    return Norm(_float64(norm.gain), _float64(norm.offset), float(norm.epsilon), kind)  # type: ignore[arg-type]


def _float64(parameter: object) -> Floats:
    assert isinstance(parameter, nn.Parameter)
    return np.asarray(parameter.detach().cpu().double().numpy())
