"""The table of positions that a model adds to its embeddings, step by step, and how its rows relate to distance.

Columns 2i and 2i+1 of a sinusoidal table are one pair: sine and cosine of one argument, position / 10000^(2i/d_model).
Source: Vaswani et al. (2017), section 3.5. The doubled exponent is the slip of counting i = 0, 0, 2, 2, ... there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from viz_transformer import declared
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import SIDE_OF, StackName, stacks_of
from viz_transformer.model.positions import ENCODINGS, Encoding

if TYPE_CHECKING:
    from viz_transformer.model.hooked_model import HookedModel, ModelSpec
    from viz_transformer.running.trace import Trace

Scheme: TypeAlias = str
"""A kind of table: "standard" or "doubled" for the two formulas of sines, else the config's word for the positions."""
Float32: TypeAlias = NDArray[np.float32]
Float64: TypeAlias = NDArray[np.float64]

BASE = 10_000.0
STILL = 0.01
"""A column whose values vary by less than this counts as still."""
FLOAT32_STEP = 2.0**-24
"""The distance of neighbouring float32 numbers just below 1."""


# --- the table, step by step


@dataclass(frozen=True, eq=False)
class Derivation:
    """A sinusoidal table in five steps, in float64; L positions from 0 on, D columns.

    index: [D], i of the column's pair; denominator: [D]; position: [L]; argument: [L, D], in radians; encoding: [L, D].
    """

    doubled: bool
    index: NDArray[np.int64]
    denominator: Float64
    position: NDArray[np.int64]
    argument: Float64
    encoding: Float64

    @property
    def table(self) -> Float32:
        """The encoding as a model holds it: [L, D]."""
        return self.encoding.astype(np.float32)

    @property
    def frequency(self) -> Float64:
        """Radians that each pair turns in one position: [D/2]."""
        return 1.0 / self.denominator[::2]


def derivation(length: int, d_model: int, *, doubled: bool = False) -> Derivation:
    """The five steps to a sinusoidal table of `length` positions.

    Raises ValueError for sizes that no such table has.
    """
    if length < 1 or d_model < 2 or d_model % 2:
        raise ValueError(f"length={length}, d_model={d_model}: a sinusoidal table has a position and pairs of columns")
    index = np.repeat(np.arange(d_model // 2), 2) * (2 if doubled else 1)
    denominator = BASE ** (2.0 * index / d_model)
    position = np.arange(length)
    argument = position[:, None] / denominator
    even = np.arange(d_model) % 2 == 0
    encoding = np.where(even, np.sin(argument), np.cos(argument))
    return Derivation(doubled, index, denominator, position, argument, encoding)


def interpolate_columns(derived: Derivation, columns: list[int], *, points: int) -> tuple[Float64, Float64]:
    """The columns between whole positions: places [P] from the first to the last position, values [C, P]."""
    places = np.linspace(0.0, float(len(derived.position) - 1), points)
    arguments = places[None, :] / derived.denominator[columns][:, None]
    even = (np.array(columns) % 2 == 0)[:, None]
    return places, np.where(even, np.sin(arguments), np.cos(arguments))


@dataclass(frozen=True)
class Agreement:
    """How far two tables are apart in the rows and columns that both have. largest: of the absolute differences."""

    largest: float
    differing: int
    count: int

    @property
    def to_float32(self) -> bool:
        """Whether they are equal up to float32 rounding: nowhere more than one step apart."""
        return self.largest <= FLOAT32_STEP


def agreement(first: Float32, second: Float32) -> Agreement:
    """Both tables compared over their common rows. Raises ValueError if their rows are not equally wide."""
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"rows of {first.shape[1]} and of {second.shape[1]} numbers cannot be compared")
    rows = min(len(first), len(second))
    gap = np.abs(first[:rows].astype(np.float64) - second[:rows].astype(np.float64))
    return Agreement(float(gap.max(initial=0.0)), int(np.count_nonzero(gap)), gap.size)


# --- what a model has


def encoding_of(spec: ModelSpec) -> Encoding:
    """The model's positional encoding. Raises Unavailable for a model that does not say."""
    if spec.positions is None:
        name = f"{stacks_of(spec)[0]}.embed.position"
        raise Unavailable(spec.missing.get(name, "neither a table nor a rule of its positions is stated"))
    return ENCODINGS[spec.positions]


def scheme(spec: ModelSpec) -> Scheme:
    """The scheme of the model's positions, in the embeddings or in self-attention. Raises Unavailable as above."""
    return encoding_of(spec).formula or spec.positions or ""


def own_table(model: HookedModel, stack: StackName) -> Float32 | None:
    """The table that the model itself holds for this stack, [N, D]; None if it adds no positions.

    Raises ValueError for a stack that the model does not have, Unavailable where its positions are not known.
    """
    if not SIDE_OF[stack].layers(model.spec):
        raise ValueError(f"a model of kind {model.spec.kind} has no {stack}")
    if not encoding_of(model.spec).adds:
        return None
    table: Float32 = model.table("positions", stack).detach().cpu().float().numpy()
    return table


def added_rows(trace: Trace, stack: StackName) -> Float32 | None:
    """The rows that the run added to the embeddings of this stack, [T, D], as recorded; None without positions."""
    name = f"{stack}.embed.position"
    return trace[name][0].numpy() if name in trace else None


def trained_rows(card: Mapping[str, Any], stack: StackName) -> int | None:
    """How many positions the training texts reached on this side, by the card; None if it does not say.

    The card's entry is `training_lengths`: {"source": tokens, "target": tokens}, what the stacks read at most.
    """
    lengths = card.get("training_lengths")
    found = lengths.get(SIDE_OF[stack].name) if isinstance(lengths, Mapping) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def row_norms(table: Float32) -> Float64:
    """The length of each row: [L]; the square root of D/2 in a sinusoidal table."""
    norms: Float64 = np.linalg.norm(table.astype(np.float64), axis=1)
    return norms


def starting_columns(d_model: int, frequency: Float64 | None, length: int) -> tuple[int, ...]:
    """Columns to show first: the fastest pair that turns at most eight times, and slower and slower ones."""
    slow = np.flatnonzero(frequency * length <= 16 * math.pi) if frequency is not None else np.zeros(1, np.int64)
    first = 2 * int(slow[0]) if len(slow) else 0
    chosen = {first, first + 1, *(2 * round(d_model * share / 2) for share in (1 / 8, 1 / 4, 1 / 2))}
    return tuple(sorted(column for column in chosen if column < d_model))


# --- wavelengths


def wavelengths(d_model: int, *, doubled: bool = False) -> Float64:
    """Positions in which each pair turns once: [D/2], from 2 pi on, towards 2 pi 10^4, doubled towards 2 pi 10^8."""
    return 2 * math.pi / derivation(1, d_model, doubled=doubled).frequency


@dataclass(frozen=True)
class Movement:
    """Counts of a table's columns: all D, those that turn less than once, and those that stay still."""

    columns: int
    below_one_turn: int
    still: int


def movement(derived: Derivation) -> Movement:
    """The column counts over the table's positions: a turn is 2 pi of the argument; still columns vary by less than
    STILL."""
    turned = derived.argument[-1] / (2 * math.pi)
    spread = np.ptp(derived.encoding, axis=0)
    return Movement(len(turned), int((turned < 1).sum()), int((spread < STILL).sum()))


# --- product against distance


@dataclass(frozen=True, eq=False)
class Products:
    """Products of rows of a table: from one row with all, [L], and over all pairs of rows at each distance, [L].

    formula: [L], sum of cos(distance * frequency), what a sinusoidal table must have; None for another.
    """

    position: int
    from_position: Float64
    low: Float64
    mean: Float64
    high: Float64
    formula: Float64 | None

    @property
    def distance(self) -> NDArray[np.int64]:
        """The distances of the entries of `from_position`: negative for earlier rows."""
        return np.arange(len(self.from_position)) - self.position

    @property
    def spread(self) -> float:
        """The largest range of the products at one distance."""
        return float((self.high - self.low).max())

    @property
    def error(self) -> float | None:
        """The largest difference of any pair's product from the formula."""
        if self.formula is None:
            return None
        return float(np.maximum(np.abs(self.high - self.formula), np.abs(self.low - self.formula)).max())


def products(table: Float32, position: int, frequency: Float64 | None = None) -> Products:
    """Products of rows, computed in float64 from the float32 table. frequency: [D/2], of a sinusoidal table.

    sin(a) sin(b) + cos(a) cos(b) = cos(a - b): a pair of columns adds cos(distance * frequency), at any position.
    Raises ValueError for a position that is not in the table.
    """
    declared.place("position", position, len(table))
    rows = table.astype(np.float64)
    gram = rows @ rows.T
    diagonals = [np.diagonal(gram, k) for k in range(len(rows))]
    formula = None
    if frequency is not None:
        formula = np.cos(np.arange(len(rows))[:, None] * frequency).sum(axis=1)
    low, mean, high = (np.array([f(values) for values in diagonals]) for f in (np.min, np.mean, np.max))
    return Products(position, gram[position], low, mean, high, formula)


# --- shift as rotation


@dataclass(frozen=True, eq=False)
class Rotation:
    """The rows of a sinusoidal table, each turned pair by pair into the row `shift` positions later.

    angle: [D/2], in radians; turned: [L - shift, D]; error: the largest difference of any number from the table's own.
    """

    shift: int
    angle: Float64
    turned: Float64
    error: float

    def matrix(self, pair: int) -> Float64:
        """The [2, 2] matrix of a pair; those of all pairs along the diagonal turn a whole row."""
        return _matrix(self.angle[pair])


def rotation(table: Float32, frequency: Float64, shift: int) -> Rotation:
    """All rows of the table rotated by `shift` positions, and their difference from the rows there.

    (sin, cos) of (p + k) w is [[cos kw, sin kw], [-sin kw, cos kw]] times (sin, cos) of p w: the angle depends on the
    shift alone. Source: Vaswani et al. (2017), section 3.5. Raises ValueError if no row has another so much later.
    """
    if not 1 <= shift < len(table):
        raise ValueError(f"a shift by {shift} needs as many positions: choose 1 to {len(table) - 1}")
    angle = shift * frequency
    rows = table.astype(np.float64)
    sine, cosine = rows[:-shift, 0::2], rows[:-shift, 1::2]
    turned = np.empty_like(rows[:-shift])
    for row, out in ((0, turned[:, 0::2]), (1, turned[:, 1::2])):
        first, second = _matrix(angle)[row]
        out[:] = first * sine + second * cosine
    return Rotation(shift, angle, turned, float(np.abs(turned - rows[shift:]).max()))


def _matrix(angle: Any) -> Float64:
    """The matrix of an angle, or of many: [2, 2, ...]."""
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, sine], [-sine, cosine]])
