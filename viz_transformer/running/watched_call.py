"""Finds attention in a call of any torch module by watching torch's operations.

Attention is recognised by what happens: a matrix of queries by keys over the tokens, multiplied with values. It is
followed from the scores, or from a softmax over the tokens, through each operation that keeps its shape; recorded is
what the values were multiplied with. The module is not changed; fused kernels are decomposed into plain operations.
Only the watching thread is affected, as other threads may use the module.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten
_SOFTMAX = {_aten._softmax, _aten._safe_softmax}
_FROM_SCORES = {*_SOFTMAX, _aten._log_softmax, _aten.exp, _aten.exp2, _aten.sigmoid, _aten.relu, _aten.softplus}
"""Operations that turn scores into weights: the input of the first one shows which cells are masked."""
_PRODUCTS = {_aten.mm: 0, _aten.bmm: 0, _aten.addmm: 1, _aten.baddbmm: 1}
"""Matrix products, and the argument index of their first matrix."""
_COPIES = {_aten.clone, _aten._to_copy, _aten._unsafe_view, _aten.copy_}
_FUSED = {
    getattr(_aten, name)
    for name in (
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_cudnn_attention",
        "_scaled_dot_product_fused_attention_overrideable",
        "_scaled_dot_product_attention_math_for_mps",
    )
    if hasattr(_aten, name)
}
_MAX_AXES, _MAX_TRAILS = 5, 1024


@dataclass(eq=False)
class SeenMap:
    """One matrix over the tokens, with its weights [H, Q, K]."""

    path: str
    """The module that used it, or made it."""
    call: int
    weights: Tensor
    softmax: bool
    """Whether its operations include a softmax over the keys."""
    scores: Tensor | None = None
    """Input [H, Q, K] of the first operation that turns scores into weights; None if there is none."""
    steps: tuple[str, ...] = ()
    """Operations from the scores, or after the softmax, to the product."""
    used: bool = False
    """Whether it multiplied values; else a softmax made it and no product was seen."""
    from_layer: bool = False
    """Whether its scores are the output of a linear layer, as in a classifier."""
    joined: bool = False
    """Whether it is part of another map."""
    again: bool = False
    """Whether a product reads it that a change of `weights` would not reach."""
    after: int = 0
    """Number, from 1, of the last map that its scores depend on; 0 for none."""
    parts: dict[tuple[Any, ...], int] = field(default_factory=dict)
    """The factors, and the head at which each begins."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.weights.size(-2), self.weights.size(-1)

    @property
    def is_attention(self) -> bool:
        """Whether it counts as attention, seen or not: a classifier's softmax and a part of a map do not."""
        return self.used or (self.softmax and not self.from_layer and not self.joined)


@dataclass(eq=False)
class SeenCall:
    """What one call revealed."""

    maps: list[SeenMap] = field(default_factory=list)
    """In order of use."""
    read: dict[str, Tensor] = field(default_factory=dict)
    """Inputs of modules by path, first call only."""
    gave: dict[str, Tensor] = field(default_factory=dict)
    """Outputs of modules by path, first call only."""
    begun: dict[str, int] = field(default_factory=dict)
    """Number of maps before each module's first call, by path."""
    others: list[tuple[int, int]] = field(default_factory=list)
    """Queries and keys of softmaxes that are not over the tokens."""


Change = Callable[[int, int, Tensor], Tensor]
"""Replaces weights [H, Q, K], given the map's number and first head."""


@dataclass(frozen=True, eq=False)
class _Trail:
    """The origin of a storage's numbers, if they may be a map."""

    stride: tuple[int, int]  # of queries and keys
    size: tuple[int, int]  # of queries and keys
    numel: int  # numbers in the map
    texts: int = 1  # batch size
    made: tuple[SeenMap, ...] = ()  # its softmax, or several that were concatenated
    steps: tuple[str, ...] = ()
    scores: Tensor | None = None
    query: SeenMap | None = None  # the map that this is a product of, if that was not a softmax
    from_product: bool = False  # whether it began as a product of two tensors that are not parameters
    from_layer: bool = False


class _Watching(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own
    """Observes every torch operation; `change` may replace a map's weights."""

    def __init__(self, found: SeenCall, sizes: set[int], where: _Where, change: Change | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._found, self._sizes, self._where, self._change = found, sizes, where, change
        self._trails: dict[int, tuple[StorageWeakRef, _Trail | None]] = {}  # None: made of parameters only
        self._after: dict[int, tuple[StorageWeakRef, int]] = {}  # `SeenMap.after` by storage

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        step = func.overloadpacket
        if step in _FUSED:
            return self._unfused(func, args, kwargs)
        if step in _PRODUCTS:
            return self._product(func, args, kwargs)
        with self:  # decompose composite operations: in inference mode, and in fused kernels
            if (out := func.decompose(*args, **kwargs)) is not NotImplemented:
                return out
        out = func(*args, **kwargs)
        flat = _flat((*args, *kwargs.values()))
        made = _flat((out,))
        self._depend(made, max((self._depends(each) for each in flat), default=0))
        if made and made[0].is_floating_point():
            self._follow(func, args, made[0])
        return out

    def _unfused(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a fused kernel as plain operations, each of which is observed."""
        given = dict(zip((each.name for each in func._schema.arguments), args, strict=False)) | kwargs
        query, key = given["query"], given["key"]
        with self:
            out, _ = _aten._scaled_dot_product_attention_math.default.decompose(
                query,
                key,
                given["value"],
                given.get("attn_mask", given.get("attn_bias")),
                given.get("dropout_p", 0.0),
                given.get("is_causal", False),
                scale=given.get("scale"),
                enable_gqa=query.size(-3) != key.size(-3),
            )
        others = [str(each.type) for each in func._schema.returns[1:]]
        return (out, *(out.new_empty(0) if each == "Tensor" else 0 for each in others))

    # ---- from scores to weights

    def _trail(self, tensor: Tensor) -> _Trail | None:
        ref, trail = self._trails.get(_storage(tensor), (None, None))
        return None if ref is None or _is_gone(ref) else trail

    def _keep(self, tensor: Tensor, trail: _Trail | None) -> None:
        if len(self._trails) > _MAX_TRAILS:
            self._trails = {number: each for number, each in self._trails.items() if not _is_gone(each[0])}
        self._trails[_storage(tensor)] = _reference(tensor), trail

    def _depends(self, tensor: Tensor) -> int:
        ref, after = self._after.get(_storage(tensor), (None, 0))
        return 0 if ref is None or _is_gone(ref) else after

    def _depend(self, tensors: Sequence[Tensor], after: int) -> None:
        if len(self._after) > _MAX_TRAILS:
            self._after = {number: each for number, each in self._after.items() if not _is_gone(each[0])}
        for tensor in tensors if after else ():
            if self._depends(tensor) < after:
                self._after[_storage(tensor)] = _reference(tensor), after

    def _is_parameter(self, tensor: Tensor) -> bool:
        """Whether it is a parameter or buffer, or made only of those."""
        number = _storage(tensor)
        if number in self._where.parameters:
            return True
        ref, trail = self._trails.get(number, (None, None))
        return ref is not None and not _is_gone(ref) and trail is None

    def _follow(self, func: Any, args: tuple[Any, ...], out: Tensor) -> None:
        """Follow a map through an operation that is not a product."""
        step = func.overloadpacket
        tensors = _flat(args)
        if not func._schema.is_mutable and any(_storage(each) == _storage(out) for each in tensors):
            return  # a view
        if tensors and all(self._is_parameter(each) for each in tensors):
            self._keep(out, None)
            return
        met = [(each, trail) for each in tensors if (trail := self._trail(each)) is not None]
        met.sort(key=lambda pair: (not pair[1].made, pair[1].from_layer))
        if step in _SOFTMAX and not met:
            met = [(args[0], _Trail((0, 0), (0, 0), 0))]
        for each, trail in met:
            if (axes := _axes(each, trail, out)) is not None:
                break
        else:
            return
        query, key = axes
        scores, size = trail.scores, (out.size(query), out.size(key))
        may_be_map = self._over_tokens(size) and not trail.from_layer
        if scores is None and step in _FROM_SCORES and args[0].shape == out.shape and may_be_map:
            scores = _heads(args[0], axes).clone()
        followed = replace(
            trail,
            stride=(out.stride(query), out.stride(key)),
            size=size,
            numel=max(out.numel(), trail.numel),
            texts=out.size(0) if out.dim() > 3 else 1,
            made=tuple({id(seen): seen for _, other in met for seen in other.made}.values()),
            steps=trail.steps if step in _COPIES else (*trail.steps, step.__name__.strip("_")),
            scores=scores,
        )
        if step in _SOFTMAX and args[1] % out.dim() == key:
            followed = self._softmax(followed, _heads(out, axes), self._depends(out))
        self._keep(out, followed)

    def _softmax(self, trail: _Trail, heads: Tensor, after: int) -> _Trail:
        """Begin a map at a softmax over the keys; a second softmax is one more step."""
        if trail.query is not None:
            trail.query.used = False  # it was a factor of scores, not a map
        if trail.made:
            return trail
        if not self._over_tokens(trail.size):
            if trail.from_product:
                self._found.others.append(trail.size)
            return trail
        _check_one_text(trail)
        path, call = self._where.of_softmax()
        seen = SeenMap(path, call, heads.clone(), True, trail.scores, from_layer=trail.from_layer, after=after)
        self._found.maps.append(seen)
        return replace(trail, made=(seen,), steps=(), query=None)

    def _over_tokens(self, size: tuple[int, int]) -> bool:
        return size[0] in self._sizes and size[1] in self._sizes

    # ---- products

    def _product(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Handle a matrix product: a map times values, or queries times keys, which may begin a map."""
        first = _PRODUCTS[func.overloadpacket]
        factors = args[first : first + 2]
        own = [self._is_parameter(each) for each in factors]
        used: SeenMap | None = None
        for place, factor in enumerate(factors):
            if used is not None or (trail := self._trail(factor)) is None:
                continue
            weights = self._weights(factor, trail, turned=place == 1)
            if trail.made and (weights is None or (first and any(own))):
                for seen in trail.made:  # of another shape, or the input of a linear layer
                    seen.again |= _storage(factor) not in {storage for storage, *_ in seen.parts}
            elif weights is not None and (trail.made or (place == 0 and trail.from_product and not any(own))):
                used, changed = self._use(factor, trail, weights)
                if changed is not None:
                    new = (changed.transpose(-1, -2) if place else changed).reshape(factor.shape)
                    if all(factor.stride()):
                        factor.copy_(new)  # in place, so that anything else that reads the map sees the change
                    else:
                        args = (*args[: first + place], new, *args[first + place + 1 :])
        out: Tensor = func(*args, **kwargs)
        before = [self._depends(each) for each in _flat(args)]
        self._depend([out], max(0 if used is None else self._found.maps.index(used) + 1, *before))
        if all(own):
            self._keep(out, None)
        elif used is None or not used.softmax:
            size, stride = (out.size(-2), out.size(-1)), (out.stride(-2), out.stride(-1))
            by_layer = any(own)
            self._keep(
                out, _Trail(stride, size, out.numel(), query=used, from_product=not by_layer, from_layer=by_layer)
            )
        return out

    def _weights(self, factor: Tensor, trail: _Trail, *, turned: bool) -> Tensor | None:
        """The weights [H, Q, K] in a factor of a product; None unless the sum runs over its keys.

        turned: it is the second factor, with queries as columns. A map used transposed counts too.
        """
        rows, columns = (-1, -2) if turned else (-2, -1)
        stride, size = ((of(rows), of(columns)) for of in (factor.stride, factor.size))
        for queries, keys, own in ((*trail.size, trail.stride), (*trail.size[::-1], trail.stride[::-1])):
            alike = all(a == b or of == 1 for a, b, of in zip(stride, own, size, strict=True))
            if alike and size[1] == keys and size[0] % queries == 0 and self._over_tokens((queries, keys)):
                return (factor.transpose(-1, -2) if turned else factor).reshape(-1, queries, keys)
        return None

    def _use(self, factor: Tensor, trail: _Trail, weights: Tensor) -> tuple[SeenMap, Tensor | None]:
        """Record what values are multiplied with; return the map, and its replacement or None."""
        _check_one_text(trail)
        if trail.query is not None:
            trail.query.used = False
        path, call = self._where.now()
        if trail.made:
            seen = trail.made[0]
            for other in trail.made[1:]:
                other.joined = not other.used
        else:
            seen = SeenMap(path, call, weights, False, after=self._depends(factor))
            self._found.maps.append(seen)
            self._keep(factor, replace(trail, made=(seen,)))
        part = _storage(factor), factor.storage_offset(), factor.stride(), len(weights)
        taken = sum(heads for *_, heads in seen.parts)
        is_new = part not in seen.parts and taken * weights[0].numel() < trail.numel
        if part not in seen.parts and not is_new:
            seen.again = True
            return seen, None
        begins = seen.parts.setdefault(part, taken)
        changed = None if self._change is None else self._change(self._found.maps.index(seen), begins, weights)
        if is_new:
            kept = (weights if changed is None else changed).clone()
            seen.weights = torch.cat([seen.weights, kept]) if seen.used else kept
            seen.used, seen.scores, seen.steps = True, trail.scores, trail.steps
            seen.path, seen.call = path, call
        return seen, changed


def _is_followed(value: Any) -> bool:
    return isinstance(value, Tensor) and value.layout == torch.strided and not value.is_nested


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _flat(values: Sequence[Any]) -> list[Tensor]:
    """All tensors among these values, lists flattened."""
    flat = [each for value in values for each in (value if isinstance(value, tuple | list) else (value,))]
    return [each for each in flat if _is_followed(each)]


def _reference(tensor: Tensor) -> StorageWeakRef:
    return StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]  # torch's own


def _is_gone(ref: StorageWeakRef) -> bool:
    return bool(ref.expired())  # type: ignore[no-untyped-call]  # torch's own


def _check_one_text(trail: _Trail) -> None:
    if trail.texts > 1:
        raise ValueError(f"the call reads {trail.texts} texts at a time: give it one")


def _axes(tensor: Tensor, trail: _Trail, out: Tensor) -> tuple[int, int] | None:
    """Dimensions of `out`, computed from `tensor`, that are queries and keys; None if it is no longer a map."""
    more = out.dim() - tensor.dim()
    if more < 0 or not 2 <= out.dim() <= _MAX_AXES:
        return None
    if not trail.numel:
        return out.dim() - 2, out.dim() - 1
    key = _axis(tensor, trail.stride[1], trail.size[1], ())
    query = None if key is None else _axis(tensor, trail.stride[0], trail.size[0], (key,))
    if key is None or query is None or any(out.size(axis + more) != tensor.size(axis) for axis in (query, key)):
        return None
    return query + more, key + more


def _axis(tensor: Tensor, stride: int, size: int, taken: tuple[int, ...]) -> int | None:
    """The last dimension with this stride, preferably of this size, else a divisor of it (heads split off)."""
    places = [d for d in range(tensor.dim()) if d not in taken and tensor.stride(d) == stride]
    fitting = [d for d in places if tensor.size(d) == size] or [d for d in places if size % tensor.size(d) == 0]
    return fitting[-1] if fitting else None


def _heads(tensor: Tensor, axes: tuple[int, int]) -> Tensor:
    """The map as [H, Q, K], given its query and key dimensions."""
    queries, keys = (tensor.size(axis) for axis in axes)
    return tensor.movedim(axes, (-2, -1)).reshape(-1, queries, keys)


class _Where:
    """The module running in this thread, and which tensors are parameters or buffers."""

    def __init__(self, module: nn.Module) -> None:
        self._thread = threading.get_ident()
        self._stack: list[tuple[str, int]] = []
        self._calls: dict[str, int] = {}
        own = [*module.parameters(), *module.buffers()]
        self.parameters = {_storage(each) for each in own if _is_followed(each)}
        self._softmaxes = {path for path, part in module.named_modules() if isinstance(part, nn.Softmax)}

    @property
    def is_here(self) -> bool:
        """False in any other thread, which may call the same module."""
        return threading.get_ident() == self._thread

    def begin(self, path: str) -> None:
        self._stack.append((path, self._calls.get(path, 0)))
        self._calls[path] = self._calls.get(path, 0) + 1

    def end(self) -> None:
        self._stack.pop()

    def now(self) -> tuple[str, int]:
        """Path of the running module, and the number of its earlier calls."""
        return self._stack[-1] if self._stack else ("", 0)

    def of_softmax(self) -> tuple[str, int]:
        """The same for the innermost module that is not just a softmax."""
        return next((each for each in reversed(self._stack) if each[0] not in self._softmaxes), ("", 0))


class _Plain(TorchFunctionMode):
    """Makes torch's modules skip their fast paths, in this thread only."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def see(
    module: nn.Module, call: Callable[[], Any], sizes: set[int], change: Change | None = None
) -> tuple[SeenCall, Any]:
    """One watched call: what it revealed, and its output."""
    found, where = SeenCall(), _Where(module)
    with ExitStack() as stack:
        stack.enter_context(_hooks(module, found, sizes, where))
        stack.enter_context(_Plain())
        stack.enter_context(_Watching(found, sizes, where, change))
        return found, call()


@contextmanager
def _hooks(module: nn.Module, found: SeenCall, sizes: set[int], where: _Where) -> Iterator[None]:
    """Track the running module, and keep each module's input and output per token."""
    with ExitStack() as stack:
        for path, part in module.named_modules():

            def begins(
                _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, path: str = path
            ) -> None:
                if not where.is_here:  # torch passes no kwargs before it registers that the hook wants them
                    return
                where.begin(path)
                found.begun.setdefault(path, len(found.maps))
                if (vectors := _vectors((*args, *(kwargs or {}).values()), sizes)) is not None:
                    found.read.setdefault(path, vectors)

            def ends(_: nn.Module, args: tuple[Any, ...], out: Any, path: str = path) -> None:
                if not where.is_here:
                    return
                where.end()
                if (vectors := _vectors(out if isinstance(out, tuple) else (out,), sizes)) is not None:
                    found.gave.setdefault(path, vectors)

            stack.callback(part.register_forward_pre_hook(begins, with_kwargs=True).remove)
            stack.callback(part.register_forward_hook(ends).remove)
        yield


def _vectors(values: Sequence[Any], sizes: set[int]) -> Tensor | None:
    """The first value if it is one vector per token [1, T, D]; batch-second layouts are transposed."""
    first = next((each for each in values if isinstance(each, Tensor)), None)
    if first is None or not first.is_floating_point() or first.dim() not in (2, 3):
        return None
    if first.dim() == 2:
        first = first[None]
    elif first.size(0) != 1 and first.size(1) == 1:
        first = first.transpose(0, 1)
    return first.detach().clone() if first.size(0) == 1 and first.size(1) in sizes else None
