"""Edits of a run, as data: frozen values that serve as cache key, link and caption.

An edit changes recorded points only. It is checked against the model before the run; one that never applied is an
error. Positions, heads and layers count from 0. A site is an attention such as `decoder.1.cross`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral, Real
from typing import Annotated, Any, Literal

import numpy as np
import torch
from msgspec import Meta
from numpy.typing import NDArray
from torch import Tensor

from viz_transformer import declared, numerals
from viz_transformer.declared import Whole
from viz_transformer.given import Accepted
from viz_transformer.model.hooked_model import ModelSpec
from viz_transformer.model.kinds import StackName
from viz_transformer.model.points import unknown_point
from viz_transformer.numerals import significant
from viz_transformer.sentences import quote

Values = Mapping[str, Tensor]
Nested = float | tuple["Nested", ...]
Numbers = Nested | Tensor | NDArray[np.generic]
MAX_AXES = 8


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) < 2**53


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and (not isinstance(value, Integral) or _is_whole(value))


def _shape(value: object, axes: int = MAX_AXES) -> tuple[int, ...] | None:
    """Shape of nested tuples of numbers; None if ragged or with too many axes."""
    if _is_number(value):
        return ()
    shapes = {_shape(item, axes - 1) for item in value} if axes and isinstance(value, tuple) else set()
    inner = shapes.pop() if len(shapes) == 1 else None
    return None if inner is None else (len(value), *inner)  # type: ignore[arg-type]


Number = Annotated[float, Accepted(lambda value: _is_number(value) and value == value, "a number")]
Row = Annotated[
    tuple[float, ...],
    Accepted(
        lambda value: isinstance(value, tuple) and all(declared.fits(Number, each) for each in value),
        "a row of numbers",
    ),
]
At = Annotated[tuple[Whole | None, ...], Meta(description="a row of whole numbers, or nothing in their place")]
Given = Annotated[
    Numbers,
    Accepted(
        lambda value: _shape(value) is not None,
        "a number, a tensor or an array of numbers, or nested rows of numbers of equal lengths",
    ),
]


@dataclass(frozen=True)
class _Edit(ABC):
    """Base of all edits. Raises ValueError for a field of the wrong type, since edits may come from a file."""

    def __post_init__(self) -> None:
        declared.check(self, type(self).__name__)

    @property
    def row_local(self) -> bool:
        """True if each row can be edited without the rows after it."""
        return True

    @property
    def length(self) -> int:
        """Shortest text, in tokens, in which an edit of a mask, bias or weights shows its full effect.

        That is one position more than it names.
        """
        at: tuple[int | None, ...] = getattr(self, "at", ())
        return 2 + max([0, *(index for index in at[1:] if index is not None)])

    @property
    @abstractmethod
    def point(self) -> str:
        """Full name of the edited point."""

    @abstractmethod
    def apply(self, value: Tensor, start: int, values: Values) -> Tensor | None:
        """The edited copy of a point whose first row is position `start`; None if the edit touches none of its rows."""

    @abstractmethod
    def caption(self) -> str:
        """The edit in words."""

    def to_dict(self) -> dict[str, Any]:
        """JSON values; `edit_from_dict` is the inverse."""
        return {"edit": type(self).__name__, **asdict(self)}


@dataclass(frozen=True)
class AblateHead(_Edit):
    """Ablate one head: its output becomes zero or its mean over positions, or its attention uniform over allowed keys.

    Source: Michel et al. (2019) for zero; Zhang and Nanda (2024) on what zero and mean ablation do and do not show.
    """

    site: str
    head: Whole
    how: Literal["zero", "mean", "uniform"] = "zero"

    @property
    def row_local(self) -> bool:
        return self.how != "mean"

    @property
    def point(self) -> str:
        return f"{self.site}.{'weights' if self.how == 'uniform' else 'head_out'}"

    def apply(self, value: Tensor, start: int, values: Values) -> Tensor | None:
        head = declared.place("head", self.head, value.size(1))
        value = value.clone()
        if self.how == "zero":
            value[:, head] = 0.0
        elif self.how == "mean":
            value[:, head] = value[:, head].mean(dim=-2, keepdim=True)
        else:
            allowed = values[f"{self.site}.mask"].expand(-1, value.size(1), -1, -1)[:, head].float()
            value[:, head] = allowed / allowed.sum(dim=-1, keepdim=True).clamp(min=1.0)
        return value

    def caption(self) -> str:
        return f"{self.site} head {self.head} ablated ({self.how})"


@dataclass(frozen=True)
class Scale(_Edit):
    """Multiply a point, or part of it. `at` indexes the axes after the batch: head, position, feature; None = all."""

    name: str
    factor: Number
    at: At = ()

    @property
    def point(self) -> str:
        return self.name

    def apply(self, value: Tensor, start: int, values: Values) -> Tensor | None:
        where = _where(self.at, value, start)
        if where is None:
            return None
        if value.dtype == torch.bool:
            raise ValueError(f"{self.name!r} is a mask: use SetMask to allow or forbid its cells")
        value = value.clone()
        value[where] = value[where] * self.factor
        return value

    def caption(self) -> str:
        return f"{self.name}{_at_words(self.at)} times {significant(self.factor, 6)}"


@dataclass(frozen=True)
class Replace(_Edit):
    """Replace a point, or part of it: activation patching is `Replace(name, other_trace[name])`.

    value: a number, or a tensor, array or nested tuples of the shape that `at` selects, with or without a batch axis of
    1; kept as nested tuples. at: indexes the axes after the batch: head, position, feature; None = all.
    """

    name: str
    value: Given
    at: At = ()

    def __post_init__(self) -> None:
        if isinstance(self.value, Tensor | np.ndarray):
            object.__setattr__(self, "value", _as_tuples(self.value))
        super().__post_init__()

    @property
    def point(self) -> str:
        return self.name

    @property
    def only_length(self) -> int | None:
        """The text length, in tokens, that a replaced mask, bias or weights [H, Q, K] requires; None if any."""
        free = [axis for axis in range(3) if (*self.at, None, None, None)[axis] is None]
        sizes = dict(zip(reversed(free), reversed(_shape(self.value) or ()), strict=False))
        return sizes.get(1) if ".cross." in self.name else sizes.get(2, sizes.get(1))

    def apply(self, value: Tensor, start: int, values: Values) -> Tensor | None:
        where = _where(self.at, value, start)
        if where is None:
            return None
        new = torch.as_tensor(self.value, dtype=torch.float32).to(value.device)
        value = value.clone()
        target = value[where]
        if new.dim() and new.dim() == target.dim() and new.size(0) == 1:
            new = new[0]  # batch of one text
        if new.dim() and not any(isinstance(i, int) for i in where[_position_axis(value) :][:1]):
            new = _rows(new, target, start, self.name)
        if new.dim() and new.shape != target.shape[1:]:
            raise ValueError(f"{self.name!r} needs values of shape {tuple(target.shape[1:])}, not {tuple(new.shape)}")
        value[where] = new.to(value.dtype)
        return value

    def caption(self) -> str:
        return f"{self.name}{_at_words(self.at)} replaced"


@dataclass(frozen=True)
class SetMask(_Edit):
    """Open or close cells of an attention mask; None = all queries, keys or heads."""

    site: str
    query: Whole | None
    key: Whole | None
    allowed: bool
    head: Whole | None = None

    @property
    def point(self) -> str:
        return f"{self.site}.mask"

    @property
    def length(self) -> int:
        return 2 + max(self.query or 0, self.key or 0)

    def apply(self, value: Tensor, start: int, values: Values) -> Tensor | None:
        if self.head is not None:
            n_heads = values[f"{self.site}.query"].size(1)
            declared.place("head", self.head, n_heads)
            value = value.expand(-1, n_heads, -1, -1)
        rows = _local(self.query, value.size(-2), start)
        keys = _local(self.key, value.size(-1), 0)
        if rows is None or keys is None:
            return None
        value = value.clone()
        value[:, slice(None) if self.head is None else self.head, rows, keys] = self.allowed
        return value

    def caption(self) -> str:
        query, key = ("all" if i is None else str(i) for i in (self.query, self.key))
        head = "" if self.head is None else f", head {self.head}"
        return f"{self.site}{head}: query {query}, key {key} {'allowed' if self.allowed else 'forbidden'}"


@dataclass(frozen=True)
class FixRow(_Edit):
    """Set the attention weights of one query; missing keys get 0.

    The row is used as given, not rescaled: its sum is part of the caption.
    """

    site: str
    query: Whole
    weights: Row
    head: Whole | None = None

    @property
    def point(self) -> str:
        return f"{self.site}.weights"

    @property
    def length(self) -> int:
        return max(2 + self.query, len(self.weights))

    def apply(self, value: Tensor, start: int, values: Values) -> Tensor | None:
        row = _local(self.query, value.size(-2), start)
        if row is None:
            return None
        if self.head is not None:
            declared.place("head", self.head, value.size(1))
        keys = value.size(-1)
        if any(self.weights[keys:]):
            raise ValueError(f"{self.site!r}: the row has {len(self.weights)} weights, query {self.query} has {keys}")
        value = value.clone()
        heads = slice(None) if self.head is None else self.head
        value[:, heads, row, :] = 0.0
        value[:, heads, row, : len(self.weights)] = torch.tensor(self.weights[:keys], device=value.device)
        return value

    def caption(self) -> str:
        head = "" if self.head is None else f" head {self.head}"
        return f"{self.site}{head} query {self.query}: row fixed, sum {numerals.share(math.fsum(self.weights))}"


@dataclass(frozen=True)
class RemovePositions(_Edit):
    """Leave the position vectors out of a stack's embedding; the model was not trained for that."""

    stack: StackName

    @property
    def point(self) -> str:
        return f"{self.stack}.embed.position"

    def apply(self, value: Tensor, start: int, values: Values) -> Tensor | None:
        return torch.zeros_like(value)

    def caption(self) -> str:
        return f"{self.stack} without positions"


Edit = AblateHead | Scale | Replace | SetMask | FixRow | RemovePositions
EDITS = Accepted(
    lambda value: isinstance(value, Sequence) and all(isinstance(each, _Edit) for each in value),
    'a list of edits, such as [vt.edits.AblateHead("decoder.0.self", 1)]',
)
_KINDS: dict[str, type[Edit]] = {
    kind.__name__: kind for kind in (AblateHead, Scale, Replace, SetMask, FixRow, RemovePositions)
}


def edit_from_dict(values: Mapping[str, Any]) -> Edit:
    """Inverse of `to_dict`. Raises ValueError for an unknown edit or field, or a value of the wrong type."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{quote(values)} is not an edit: it has to be an object with the entry 'edit'")
    kind = _KINDS[declared.one_of("edit", values.get("edit"), _KINDS)]
    given = {name: _frozen(value) for name, value in values.items() if name != "edit"}
    declared.refuse(f"{kind.__name__}: {each}" for each in declared.strange(kind, given))
    return kind(**given)


def check_edits(edits: Sequence[Edit], spec: ModelSpec) -> None:
    """Raise ValueError for an edit of a site, head or point that the model lacks."""
    if not edits:
        return
    recorded = {point.name for point in spec.recorded}
    derived = {point.name for point in spec.derived}
    sites = spec.attentions
    for edit in edits:
        site = getattr(edit, "site", None)
        if site is not None and site not in sites:
            raise ValueError(f"no attention named {quote(site)}; this model has {', '.join(sites)}")
        if edit.point in derived:
            raise ValueError(
                f"{quote(edit.point)} is derived: nothing in the run is computed from it, so it cannot be edited"
            )
        if edit.point not in recorded:
            raise ValueError(spec.missing.get(edit.point) or unknown_point(edit.point, recorded))
        head = getattr(edit, "head", None)
        if head is not None:
            declared.place("head", head, sites[edit.point.rpartition(".")[0]].query)


def _local(index: int | None, size: int, start: int) -> int | slice | None:
    """Index of a position within rows start to start + size - 1; None if outside."""
    if index is None:
        return slice(None)
    return index - start if 0 <= index - start < size else None


def _position_axis(value: Tensor) -> int:
    """The position axis: second to last in every recorded point."""
    return value.dim() - 2


def _where(at: tuple[int | None, ...], value: Tensor, start: int) -> tuple[int | slice, ...] | None:
    """The index meant by `at`, batch first; None if its position is not among these rows."""
    if len(at) > value.dim() - 1:
        raise ValueError(f"at={quote(at)} has {len(at)} indices, the point has {value.dim() - 1} axes after the batch")
    where: list[int | slice] = [slice(None)]
    for axis, index in enumerate(at, start=1):
        local = _local(index, value.size(axis), start if axis == _position_axis(value) else 0)
        if local is None:
            return None
        where.append(local)
    return tuple(where)


def _rows(new: Tensor, target: Tensor, start: int, name: str) -> Tensor:
    """The rows of full-pass values that belong to a step; keys that do not exist yet must be zero."""
    if new.dim() < 2 or target.dim() < 3:
        return new
    over_keys = name.endswith((".weights", ".mask", ".bias"))
    if new.size(-2) != target.size(-2):
        fits = over_keys or new.size(-1) == target.size(-1)
        if fits and 1 < new.size(-2) < start + target.size(-2):
            raise ValueError(
                f"the values for {name!r} are those of {new.size(-2)} positions, and this run comes to position"
                f" {start + target.size(-2) - 1}: end it with max_steps, or name the positions with at"
            )
        new = new[..., start : start + target.size(-2), :]
    keys = target.size(-1)
    if over_keys and new.size(-1) > keys:
        if new[..., keys:].any():
            raise ValueError(f"the values for {name!r} are not zero at keys that come after the query")
        new = new[..., :keys]
    return new


def _at_words(at: tuple[int | None, ...]) -> str:
    return "[" + ", ".join(":" if i is None else str(i) for i in at) + "]" if at else ""


def _as_tuples(given: Tensor | NDArray[np.generic]) -> Any:
    """A tensor or array as nested tuples, masks as 0 and 1; returned unchanged if an edit may not contain it."""
    numbers: Tensor | NDArray[np.generic]
    if isinstance(given, Tensor):
        fits, numbers = not given.is_complex(), given.float() if given.dtype == torch.bool else given
    else:
        fits, numbers = given.dtype.kind in "biuf", given.astype(np.float64) if given.dtype == np.bool_ else given
    return _frozen(numbers.tolist()) if fits and 0 not in given.shape and len(given.shape) <= MAX_AXES else given


def _frozen(value: Any, axes: int = MAX_AXES) -> Any:
    """Lists as tuples, nested up to `axes` deep."""
    return tuple(_frozen(item, axes - 1) for item in value) if axes and isinstance(value, list | tuple) else value
