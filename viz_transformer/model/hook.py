"""The hook: the model names a value where it is made and uses what comes back.

    weights = hook("weights", masked_softmax(scores, mask))

`OFF` gives back the same tensor. A `Recorder` stores it, after applying the edits that are registered for its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class Hook(Protocol):
    """Called with a point's local name and its value; the model goes on with what it returns."""

    def __call__(self, name: str, value: Tensor) -> Tensor: ...

    def scope(self, part: str) -> Hook:
        """The hook for one part of the model: names said to it get `part.` in front."""
        ...


class _Off:
    """Looks at nothing: the same tensor comes back."""

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return value

    def scope(self, part: str) -> _Off:
        return self


OFF = _Off()


class PointEdit(Protocol):
    """What a Recorder needs of an edit; `viz_transformer.running.edits` has them."""

    @property
    def point(self) -> str:
        """The full name of the point that is changed."""
        ...

    def apply(self, value: Tensor, start: int, values: Mapping[str, Tensor]) -> Tensor | None:
        """A changed copy, or None if none of these rows is meant.

        `start` is the position of the first row, above 0 in a cached decoding step; `values` are the points so far.
        """
        ...


Thin = Callable[["Mapping[str, Tensor]"], "dict[str, Tensor]"]
"""What is left of the points of a layer, by their full names, when it is over."""


class Recorder:
    """Stores every point of one run, by full name, after the edits registered there.

    A recorded tensor is the very tensor that the model goes on with. A Recorder belongs to one run; it is not shared.
    `grows` says which points a decoding step has rows of, as `ModelSpec.grows` does; a run of one pass needs it not.
    A run of several passes calls `begin` before each: `values` is then a new dictionary, `start` the position of the
    pass's first decoder row (0 for a whole pass, the step for a cached step).
    With `thin`, which says what is left of a layer's points, memory is taken for that and one layer at most.
    """

    def __init__(
        self, edits: Sequence[PointEdit] = (), *, grows: Callable[[str], str] | None = None, thin: Thin | None = None
    ) -> None:
        self._store = _Store(edits, grows) if thin is None else _ThinStore(edits, grows, thin)
        self._whole = (_Part if self._store.plain else _EditedPart)(self._store, "")

    @property
    def values(self) -> dict[str, Tensor]:
        """The points of this pass so far."""
        self._store.settle()
        return self._store.values

    @property
    def said(self) -> tuple[str, ...]:
        """The names of the points of this pass so far, also of those of which nothing is left."""
        return (*self._store.names(),)

    @property
    def ran(self) -> set[int]:
        """Indices of the edits that changed something, in any pass."""
        return self._store.ran

    def begin(self, start: int) -> None:
        """The next pass: nothing is recorded of it yet."""
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
        """Whether an edit waits for the point of this name, so that the point has to be made."""
        return name in self._store.edits


class _Store:
    """What a Recorder and its parts write into. It knows neither: where things hold each other in a circle, the
    tensors of a run stay after its end until Python searches for such circles."""

    __slots__ = ("edits", "grows", "plain", "ran", "start", "values")

    def __init__(self, edits: Sequence[PointEdit], grows: Callable[[str], str] | None) -> None:
        self.plain = not edits  # whether what is said is only written down
        self.grows = grows or (lambda name: "rows")
        self.values: dict[str, Tensor] = {}
        self.ran: set[int] = set()
        self.start = 0
        self.edits: dict[str, list[tuple[int, PointEdit]]] = {}
        for index, edit in enumerate(edits):
            self.edits.setdefault(edit.point, []).append((index, edit))

    def settle(self) -> None:
        """Nothing more of what was said so far is asked for by an edit."""

    def next_pass(self) -> None:
        self.values = {}

    def names(self) -> Iterable[str]:
        return self.values

    def edited(self, name: str, value: Tensor) -> Tensor:
        """The value after the edits of this point, stored."""
        for index, edit in self.edits.get(name, ()):
            value = self._changed(name, value, index, edit)
        self.values[name] = value
        return value

    def _changed(self, name: str, value: Tensor, index: int, edit: PointEdit) -> Tensor:
        changed = edit.apply(value, 0 if self.grows(name) == "never" else self.start, self.values)
        if changed is None:
            return value
        same_shape = changed.shape == value.shape or name.endswith(".mask")  # a mask may become one per head
        if not same_shape or changed.dtype != value.dtype:
            raise ValueError(
                f"the edit of {name!r} gives {changed.dtype} {tuple(changed.shape)},"
                f" the run needs {value.dtype} {tuple(value.shape)}"
            )
        self.ran.add(index)
        return changed


class _ThinStore(_Store):
    """A store that keeps of each point what is left of it, from the moment on that its layer is over: until then an
    edit may read it."""

    __slots__ = ("_layer", "_said", "_thin")

    def __init__(self, edits: Sequence[PointEdit], grows: Callable[[str], str] | None, thin: Thin) -> None:
        super().__init__(edits, grows)
        self.plain = False
        self._thin = thin
        self._layer: dict[str, None] = {}  # its points that are still whole
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
    """The part of the model that a point stands in: "decoder.1", "encoder.embed"."""
    return ".".join(name.split(".", 2)[:2])


class _FullNames(dict[str, str]):
    """The full name of each point of a part, put together when it is first said."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def __missing__(self, name: str) -> str:
        return self.setdefault(name, self.prefix + name)


class _Part:
    """A Recorder seen from one part of the model. Made once for each part: a decoding step asks for thirty of them,
    and says ninety names."""

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
    """The same, of a Recorder with edits."""

    __slots__ = ()

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return self._store.edited(self._names[name], value)
