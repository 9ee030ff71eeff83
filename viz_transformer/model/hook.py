"""The hook through which the model reports each value by name, and goes on with the returned one.

weights = hook("weights", masked_softmax(scores, mask))

`OFF` returns the same tensor. A `Recorder` applies the edits registered for that name and stores the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class Hook(Protocol):
    """Called with a point's local name and value; the model continues with the returned tensor."""

    def __call__(self, name: str, value: Tensor) -> Tensor: ...

    def scope(self, part: str) -> Hook:
        """A hook for one part of the model, which prefixes names with `part.`."""


class _Off:
    """Records nothing: returns the same tensor."""

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return value

    def scope(self, part: str) -> _Off:
        return self


OFF = _Off()


class PointEdit(Protocol):
    """What a Recorder needs of an edit; implemented in `viz_transformer.running.edits`."""

    @property
    def point(self) -> str:
        """Full name of the edited point."""

    def apply(self, value: Tensor, start: int, values: Mapping[str, Tensor]) -> Tensor | None:
        """An edited copy, or None if the edit does not touch these rows.

        start: position of the first row, above 0 in a cached decoding step. values: the points recorded so far.
        """


Thin = Callable[["Mapping[str, Tensor]"], "dict[str, Tensor]"]
"""Reduces the points of a finished layer, by full name, to those that are kept."""


class Recorder:
    """Stores every point of one run by full name, after applying the edits registered for it.

    Recorded tensors are the very tensors that the model goes on with. Use one Recorder per run. Call `begin` before
    each pass of a run with several passes: it starts a new `values` dictionary, whose first decoder row is at position
    `start` (0 for a full pass, the step for a cached one).

    grows: as `ModelSpec.grows`; not needed for single-pass runs.
    thin: reduces each finished layer, which limits memory to what is kept plus one layer.
    """

    def __init__(
        self, edits: Sequence[PointEdit] = (), *, grows: Callable[[str], str] | None = None, thin: Thin | None = None
    ) -> None:
        self._store = _Store(edits, grows) if thin is None else _ThinStore(edits, grows, thin)
        self._whole = (_Part if self._store.plain else _EditedPart)(self._store, "")

    @property
    def values(self) -> dict[str, Tensor]:
        """Points of this pass so far."""
        self._store.settle()
        return self._store.values

    @property
    def said(self) -> tuple[str, ...]:
        """Names of all points of this pass so far, including those not kept."""
        return (*self._store.names(),)

    @property
    def ran(self) -> set[int]:
        """Indices of the edits that changed something, in any pass."""
        return self._store.ran

    def begin(self, start: int) -> None:
        """Start the next pass, with nothing recorded."""
        self._store.next_pass()
        self._store.start = start

    def __call__(self, name: str, value: Tensor) -> Tensor:
        store = self._store
        if not store.plain:
            return store.edited(name, value)
        store.values[name] = value
        return value

    def scope(self, part: str) -> Hook:
        return self._whole.scope(part)

    def changes(self, name: str) -> bool:
        """True if an edit is registered for this point, so that it has to be computed."""
        return name in self._store.edits


class _Store:
    """Storage shared by a Recorder and its parts, without a reference to either.

    A reference cycle would keep a run's tensors alive until the next garbage collection.
    """

    __slots__ = ("edits", "grows", "plain", "ran", "start", "values")

    def __init__(self, edits: Sequence[PointEdit], grows: Callable[[str], str] | None) -> None:
        self.plain = not edits  # True: values are only recorded
        self.grows = grows or (lambda name: "rows")
        self.values: dict[str, Tensor] = {}
        self.ran: set[int] = set()
        self.start = 0
        self.edits: dict[str, list[tuple[int, PointEdit]]] = {}
        for index, edit in enumerate(edits):
            self.edits.setdefault(edit.point, []).append((index, edit))

    def settle(self) -> None:
        """Flush the buffered points: no edit will read them any more."""

    def next_pass(self) -> None:
        self.values = {}

    def names(self) -> Iterable[str]:
        return self.values

    def edited(self, name: str, value: Tensor) -> Tensor:
        """Store and return the value after its edits."""
        for index, edit in self.edits.get(name, ()):
            value = self._changed(name, value, index, edit)
        self.values[name] = value
        return value

    def _changed(self, name: str, value: Tensor, index: int, edit: PointEdit) -> Tensor:
        changed = edit.apply(value, 0 if self.grows(name) == "never" else self.start, self.values)
        if changed is None:
            return value
        same_shape = changed.shape == value.shape or name.endswith(".mask")  # an edited mask may have one per head
        if not same_shape or changed.dtype != value.dtype:
            raise ValueError(
                f"the edit of {name!r} gives {changed.dtype} {tuple(changed.shape)},"
                f" the run needs {value.dtype} {tuple(value.shape)}"
            )
        self.ran.add(index)
        return changed


class _ThinStore(_Store):
    """A store that thins each layer when it is finished; until then an edit may read any of its points."""

    __slots__ = ("_layer", "_said", "_thin")

    def __init__(self, edits: Sequence[PointEdit], grows: Callable[[str], str] | None, thin: Thin) -> None:
        super().__init__(edits, grows)
        self.plain = False
        self._thin = thin
        self._layer: dict[str, None] = {}  # its points that are still complete
        self._said: dict[str, None] = {}

    def edited(self, name: str, value: Tensor) -> Tensor:
        if self._layer and layer_of(name) != layer_of(next(iter(self._layer))):
            self.settle()
        self._layer[name] = self._said[name] = None
        return super().edited(name, value)

    def next_pass(self) -> None:
        self.settle()
        super().next_pass()
        self._said = {}

    def names(self) -> Iterable[str]:
        return self._said

    def settle(self) -> None:
        if self._layer:
            self.values.update(self._thin({name: self.values.pop(name) for name in self._layer}))
            self._layer = {}


def layer_of(name: str) -> str:
    """The part of the model that a point belongs to: "decoder.1", "encoder.embed"."""
    return ".".join(name.split(".", 2)[:2])


class _FullNames(dict[str, str]):
    """Full names of a part's points, built on first use."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def __missing__(self, name: str) -> str:
        return self.setdefault(name, self.prefix + name)


class _Part:
    """A Recorder's hook for one part of the model. Cached: a decoding step requests thirty parts and ninety names."""

    __slots__ = ("_names", "_parts", "_store")

    def __init__(self, store: _Store, prefix: str) -> None:
        self._store = store
        self._names = _FullNames(prefix)
        self._parts: dict[str, _Part] = {}

    def __call__(self, name: str, value: Tensor) -> Tensor:
        self._store.values[self._names[name]] = value
        return value

    def scope(self, part: str) -> Hook:
        found = self._parts.get(part)
        if found is None:
            found = self._parts[part] = type(self)(self._store, f"{self._names.prefix}{part}.")
        return found


class _EditedPart(_Part):
    """A part of a Recorder with edits."""

    __slots__ = ()

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return self._store.edited(self._names[name], value)
