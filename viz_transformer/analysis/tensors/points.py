"""The points of a trace as arrays: their order, axes, statistics and slices, and the difference of two traces.

Nothing here changes a number: a slice is a view of the trace's own memory, statistics are summed in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import orjson
import torch
from numpy.typing import ArrayLike, NDArray

from viz_transformer import declared
from viz_transformer.model.kinds import SIDES, KindName, SideName
from viz_transformer.model.watched import MODULES
from viz_transformer.running.trace import Trace

Array = NDArray[Any]
Origin = Literal["recorded", "derived", "difference"]
Scale = Literal["signed", "weights", "mask"]

LARGEST_DERIVED = 2**28
"""The most numbers in a point that is derived on demand: 1 GiB."""
BINS = 48
_CHUNK = 2**20
_NAMES = {
    "B": "batch",
    "T": "position",
    "Q": "query",
    "K": "key",
    "H": "head",
    "G": "key head",
    "E": "feature",
    "U": "value feature",
    "D": "feature",
    "F": "hidden feature",
    "N": "feature",
    "X": "expert",
    "V": "vocabulary entry",
    "C": "label",
    "1": "one",
    "": "axis",
}


@dataclass(frozen=True)
class Entry:
    """A point's place in the tree: `part` is "encoder, layer 0", `short` the rest of its name."""

    name: str
    part: str
    short: str
    derived: bool


@dataclass(frozen=True)
class Axis:
    """One axis of a point. letter: as in `points.py`, "" if it is not known. labels: the tokens, where it has some.

    side: whose positions these are; None for heads, features and the like.
    """

    letter: str
    size: int
    side: SideName | None = None
    labels: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The name of one place on the axis: "query", "feature"."""
        return _NAMES[self.letter]

    @property
    def title(self) -> str:
        """The title of the axis: "keys: source", for the tokens of the source."""
        plural = {"query": "queries", "vocabulary entry": "vocabulary", "one": "one number"}
        words = plural.get(self.name, f"{self.name}s")
        return words if self.side is None else f"{words}: {self.side}"


@dataclass(frozen=True, eq=False)
class PointView:
    """One point of a trace, or of the difference of two: its values with what they mean."""

    name: str
    meaning: str
    origin: Origin
    values: torch.Tensor
    axes: tuple[Axis, ...]

    @property
    def letters(self) -> str:
        """The shape in letters: "[B, H, Q, K]"."""
        return _letters(self.axes)

    @property
    def sizes(self) -> str:
        """The shape in numbers: "[1, 4, 14, 11]"."""
        return _sizes(self.axes)

    @property
    def leading(self) -> tuple[Axis, ...]:
        """The axes before the two that are drawn."""
        return self.axes[:-2]

    @property
    def kind(self) -> KindName:
        """The kind whose colours it has: encoder, decoder, or cross-attention."""
        if ".cross." in self.name:
            return "cross"
        return "encoder" if self.name.startswith("encoder.") else "decoder"

    @property
    def scale(self) -> Scale:
        """Its colour scale: weights from 0 up, masks in two tones, all else around 0."""
        if self.values.dtype == torch.bool:
            return "mask"
        return "weights" if self.name.endswith(".weights") and self.origin != "difference" else "signed"

    @property
    def type(self) -> str:
        """The type of its values: float32, Boolean; differences are made in float64."""
        return "Boolean" if self.values.dtype == torch.bool else str(self.values.dtype).removeprefix("torch.")


@dataclass(frozen=True, eq=False)
class Slice:
    """A slice of a point with its leading axes fixed. values: [rows, columns], read-only."""

    values: Array
    rows: Axis
    columns: Axis
    at: tuple[int, ...]

    @property
    def letters(self) -> str:
        return _letters((self.rows, self.columns))

    @property
    def sizes(self) -> str:
        return _sizes((self.rows, self.columns))


@dataclass(frozen=True)
class Statistics:
    """Statistics of an array. Minimum, maximum, mean and variance are over the finite values, NaN if there are none.

    The variance is the mean square distance from the mean (divided by n). zeros: exact zeros. For a Boolean tensor
    True counts as 1, so that the mean is the share of True.
    """

    count: int
    minimum: float
    maximum: float
    mean: float
    variance: float
    not_a_number: int
    infinite: int
    zeros: int

    @property
    def finite(self) -> int:
        return self.count - self.not_a_number - self.infinite

    @property
    def zero_share(self) -> float:
        """The share of exact zeros among all values."""
        return self.zeros / self.count if self.count else math.nan

    @property
    def largest(self) -> float:
        """The largest absolute value, 0 if there is none."""
        return max(abs(self.minimum), abs(self.maximum)) if self.finite else 0.0


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of the finite values between `edges` (one more than counts; the last bin holds its upper edge too).

    left_out: values that are NaN or infinite.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    left_out: int


@dataclass(frozen=True, eq=False)
class Pooled:
    """An array with blocks of cells drawn as one: each is the value of the block with the largest absolute value.

    rows, columns: cells to a block; 1 and 1 if every cell is its own.
    """

    values: Array
    rows: int
    columns: int


@dataclass(frozen=True)
class Comparison:
    """The difference of two traces. differences: recorded points that both have in one shape, with the largest absolute
    difference, largest first. reshaped: points whose shapes differ."""

    differences: tuple[tuple[str, float], ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    reshaped: tuple[str, ...]


def entries(trace: Trace) -> tuple[Entry, ...]:
    """All points as a tree, in the order of the run, derived ones after those of their site."""
    names = list(trace.points())
    for name in trace.points(derived=True)[len(names) :]:
        site = name.rpartition(".")[0]
        last = max(index for index, other in enumerate(names) if other.startswith(f"{site}."))
        names.insert(last + 1, name)
    recorded = set(trace.points())
    return tuple(Entry(name, *_place(name), derived=name not in recorded) for name in names)


def shared_entries(first: Trace, second: Trace) -> tuple[Entry, ...]:
    """The points that can be subtracted: in both traces, and in one shape."""
    same = {name for name in first.points() if name in second.values and first.shape(name) == second.shape(name)}

    def alike(entry: Entry) -> bool:
        site = entry.name.rpartition(".")[0]
        made_of = (f"{site}.query", f"{site}.key") if entry.derived else (entry.name,)
        return entry.name in second and all(name in same for name in made_of)

    return tuple(entry for entry in entries(first) if alike(entry))


def _place(name: str) -> tuple[str, str]:
    stack, _, rest = name.partition(".")
    if not rest:
        return "output", name
    where, _, inner = rest.partition(".")
    if where == "embed":
        return f"{stack}, embedding", inner
    return (f"{stack}, layer {where}", inner) if where.isdigit() else (f"{stack}, output", rest)


def matching(listed: Iterable[Entry], words: str) -> tuple[Entry, ...]:
    """The entries whose names contain all the words, ignoring case."""
    wanted = words.casefold().split()
    return tuple(entry for entry in listed if all(word in entry.name.casefold() for word in wanted))


def point_view(trace: Trace, name: str, *, vocabulary: Sequence[str] | None = None) -> PointView:
    """A point of a trace. vocabulary: the names of the logits' columns.

    Raises ValueError for a name that the trace does not have, and for a derived point of more than LARGEST_DERIVED
    numbers.
    """
    derived = name not in trace.values
    if derived and name in trace:
        _check_derived_size(trace, name)
    try:
        values = trace[name]
    except KeyError as error:
        raise ValueError(error.args[0]) from None
    axes = _axes(trace, name, tuple(values.shape), vocabulary)
    point = trace.spec.point.get(name)
    meaning = "" if point is None else point.meaning
    return PointView(name, meaning, "derived" if derived else "recorded", values, axes)


def difference_view(first: Trace, second: Trace, name: str, *, vocabulary: Sequence[str] | None = None) -> PointView:
    """A point of the first trace minus the same point of the second, in float64; masks count as 0 and 1.

    Positions have the first trace's tokens. Raises ValueError if one lacks the point or the shapes differ.
    """
    view, other = (point_view(trace, name, vocabulary=vocabulary) for trace in (first, second))
    if view.values.shape != other.values.shape:
        raise ValueError(f"{name} is {view.sizes} in A and {other.sizes} in B: only equal shapes can be subtracted")
    return PointView(name, view.meaning, "difference", view.values.double() - other.values.double(), view.axes)


def shown_slice(view: PointView, at: Sequence[int]) -> Slice:
    """The last two axes of a point, the leading ones fixed. Raises ValueError for an index that is out of range."""
    if len(at) != len(view.leading):
        raise ValueError(f"{view.name} needs {len(view.leading)} indices, not {len(at)}")
    for index, axis in zip(at, view.leading, strict=True):
        declared.place(axis.name, index, axis.size)
    values = np.asarray(view.values[tuple(at)].numpy()).view()
    if values.ndim == 1:
        values = values[None]
    values.setflags(write=False)
    rows = view.axes[-2] if len(view.axes) > 1 else Axis("1", 1)
    return Slice(values, rows, view.axes[-1], at=tuple(at))


def compare(first: Trace, second: Trace) -> Comparison:
    """The difference of two traces, point by point, as in `Trace.diff`."""
    shared = [name for name in first.points() if name in second.values]
    equal = [name for name in shared if first.shape(name) == second.shape(name)]
    differences = first.diff(second) if equal else {}
    return Comparison(
        differences=tuple(sorted(differences.items(), key=lambda item: -item[1])),
        only_first=tuple(name for name in first.points() if name not in second.values),
        only_second=tuple(name for name in second.points() if name not in first.values),
        reshaped=tuple(name for name in shared if name not in equal),
    )


def statistics(values: ArrayLike | torch.Tensor) -> Statistics:
    """Statistics of an array of any shape; sums in float64, over chunks that are added without rounding (fsum)."""
    flat = np.asarray(values).reshape(-1)
    not_a_number = infinite = zeros = 0
    lows, highs, sums = [], [], []
    for chunk in _chunks(flat):
        not_a_number += int(np.isnan(chunk).sum())
        infinite += int(np.isinf(chunk).sum())
        zeros += int((chunk == 0).sum())
        if (finite := chunk[np.isfinite(chunk)]).size:
            lows.append(float(finite.min()))
            highs.append(float(finite.max()))
            sums.append(float(finite.sum()))
    count = flat.size - not_a_number - infinite
    if not count:
        return Statistics(flat.size, math.nan, math.nan, math.nan, math.nan, not_a_number, infinite, zeros)
    mean = math.fsum(sums) / count
    squares = math.fsum(float(np.square(_finite(chunk) - mean).sum()) for chunk in _chunks(flat))
    return Statistics(flat.size, min(lows), max(highs), mean, squares / count, not_a_number, infinite, zeros)


def histogram(values: ArrayLike | torch.Tensor, bins: int = BINS) -> Histogram:
    """The histogram of the values, in `bins` equal bins from the smallest to the largest finite one.

    A Boolean array has two bins, False and True. One value only, or none, gives a single bin.
    """
    array = np.asarray(values)
    flat = array.reshape(-1)
    if array.dtype == bool:
        true = int(flat.sum())
        return Histogram(np.array([-0.5, 0.5, 1.5]), np.array([flat.size - true, true]), 0)
    finite = _finite(flat.astype(np.float64))
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    around = max(0.5, abs(low) * 1e-6)  # so that the bin of a single value has a width
    edges = np.linspace(low, high, bins + 1) if low < high else np.array([low - around, high + around])
    if not (np.diff(edges) > 0).all():  # values so near to each other that float64 has no numbers between
        edges = np.array([low, high])
    counts, _ = np.histogram(finite, edges)
    return Histogram(edges, counts.astype(np.int64), flat.size - finite.size)


def max_pooled(values: ArrayLike, limit: int) -> Pooled:
    """The array with at most `limit` rows and columns: each block of cells gives the value farthest from 0, sign kept.

    A NaN in a block wins, then infinity: neither disappears. The last block of a side may be smaller.
    """
    steps = [math.ceil(size / limit) for size in np.shape(values)]
    return Pooled(pooled(values, steps), *steps)


def pooled(values: ArrayLike, steps: Sequence[int]) -> Array:
    """The array pooled in blocks of the given numbers of rows and columns."""
    array = np.asarray(values)
    for axis, step in enumerate(steps):
        if step > 1:
            array = _pool(array, axis, step)
    return array


def _pool(array: Array, axis: int, step: int) -> Array:
    starts = np.arange(0, array.shape[axis], step)
    if array.dtype == bool:
        return np.asarray(np.logical_or.reduceat(array, starts, axis=axis))
    high, low = (extreme.reduceat(array, starts, axis=axis) for extreme in (np.maximum, np.minimum))  # NaN wins
    return np.where(-low > high, low, high)


def slice_csv(shown: Slice) -> str:
    """The slice as CSV (RFC 4180): a heading of column tokens or numbers, then each row with its number and its token.

    Values are written with the fewest digits that give the same float32 (or float64) again; tokens exactly as they are.
    """
    rows, columns = shown.rows, shown.columns
    names = map(str, range(columns.size)) if columns.labels is None else map(_quote, columns.labels)
    corner = [rows.name] if rows.labels is None else [rows.name, "token"]
    lines = [",".join([*corner, *names])]
    for index, numbers in enumerate(_lines(shown.values)):
        label = "" if rows.labels is None else f"{_quote(rows.labels[index])},"
        lines.append(f"{index},{label}{numbers}")
    return "\r\n".join(lines) + "\r\n"


def _quote(field: str) -> str:
    return '"' + field.replace('"', '""') + '"' if any(sign in field for sign in ',"\r\n') else field


def _lines(values: Array) -> Iterator[str]:
    """The numbers of each row, joined by commas."""
    for row in values:
        if row.dtype == bool:
            yield ",".join("True" if cell else "False" for cell in row)
        elif np.isfinite(row).all():
            text = orjson.dumps(np.ascontiguousarray(row), option=orjson.OPT_SERIALIZE_NUMPY)
            yield text[1:-1].decode()
        else:
            yield ",".join(str(cell) for cell in row)


def _letters(axes: Iterable[Axis]) -> str:
    return f"[{', '.join(axis.letter or '?' for axis in axes)}]"


def _sizes(axes: Iterable[Axis]) -> str:
    return f"[{', '.join(str(axis.size) for axis in axes)}]"


def _axes(trace: Trace, name: str, shape: tuple[int, ...], vocabulary: Sequence[str] | None) -> tuple[Axis, ...]:
    point = trace.spec.point.get(name)
    letters = point.shape if point is not None and len(point.shape) == len(shape) else ("",) * len(shape)
    return tuple(_axis(trace, name, letter, size, vocabulary) for letter, size in zip(letters, shape, strict=True))


def _axis(trace: Trace, name: str, letter: str, size: int, vocabulary: Sequence[str] | None) -> Axis:
    if letter == "1" and size > 1:  # a mask that an edit made per head
        letter = "H"
    if letter == "V":
        fits = vocabulary is not None and len(vocabulary) == size
        return Axis(letter, size, labels=tuple(vocabulary) if vocabulary is not None and fits else None)
    if letter == "C":
        return Axis(letter, size, labels=trace.spec.labels)
    if letter not in ("T", "Q", "K"):
        return Axis(letter, size)
    if name.startswith(MODULES):  # of a module only the length says which text it reads
        sides = [side for side in SIDES.values() if len(side.of(trace.src, trace.tgt)) == size]
        side = sides[0] if len(sides) == 1 else None
        return Axis(letter, size) if side is None else _tokens_axis(trace, letter, size, side.name)
    from_source = name.startswith("encoder.") or not trace.spec.has_decoder or (letter == "K" and ".cross." in name)
    return _tokens_axis(trace, letter, size, "source" if from_source else "target")


def _tokens_axis(trace: Trace, letter: str, size: int, side: SideName) -> Axis:
    tokens = SIDES[side].of(trace.src_tokens, trace.tgt_tokens)
    return Axis(letter, size, side, tokens if len(tokens) == size else None)


def _check_derived_size(trace: Trace, name: str) -> None:
    shape = trace.spec.sizes(name, batch=1, source=len(trace.src), target=len(trace.tgt))
    numbers, more, words = math.prod(shape), 0, ""
    site, what = name.rsplit(".", 1)
    heads = trace.spec.attentions.get(site)
    if what in ("scores", "weights") and heads is not None and heads.key < heads.query:
        more = shape[0] * heads.query * shape[-1] * heads.size  # a shared key is repeated for each of its heads
        words = f", and needs {more:,} more of keys that heads share"
    if numbers + more > LARGEST_DERIVED:
        raise ValueError(
            f"{name} would be computed now, and has {numbers:,} numbers{words}: the limit is {LARGEST_DERIVED:,}"
        )


def _chunks(flat: Array) -> Iterator[NDArray[np.float64]]:
    for start in range(0, flat.size, _CHUNK):
        yield flat[start : start + _CHUNK].astype(np.float64)


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    finite: NDArray[np.float64] = values[np.isfinite(values)]
    return finite
