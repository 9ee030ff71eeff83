"""What a call of a torch module shows of its attention, seen below torch's own functions.

Attention is found by what happens: a softmax over the tokens whose result is multiplied with something. Nothing of the
module is changed or replaced; fused kernels are switched to the plain ones, which take the same steps one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

_SOFTMAX = {torch.ops.aten._softmax, torch.ops.aten._safe_softmax}
_PRODUCTS = {torch.ops.aten.bmm, torch.ops.aten.mm, torch.ops.aten.baddbmm}
_COPIES = {torch.ops.aten.clone, torch.ops.aten._to_copy, torch.ops.aten._unsafe_view}


@dataclass(eq=False)
class SeenMap:
    """One softmax: where it was made, its scores and its weights [H, Q, K], and whether something was weighed by it."""

    path: str
    call: int
    scores: Tensor
    weights: Tensor
    used: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.weights.size(-2), self.weights.size(-1)


@dataclass(eq=False)
class SeenCall:
    """What one call showed: its softmaxes in turn; by path, what modules read and gave out, first call only."""

    maps: list[SeenMap] = field(default_factory=list)
    read: dict[str, Tensor] = field(default_factory=dict)
    gave: dict[str, Tensor] = field(default_factory=dict)


class _Watching(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own
    """Hears of each step that torch takes; `change(number, weights)` may put others in the place of a softmax's."""

    def __init__(
        self,
        found: SeenCall,
        sizes: set[int],
        where: list[tuple[str, int]],
        change: Callable[[int, Tensor], Tensor] | None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._found, self._sizes, self._where, self._change = found, sizes, where, change
        self._made: dict[int, SeenMap] = {}
        self._kept: list[Tensor] = []  # so that no other tensor gets their storage

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        step = func.overloadpacket
        if step in _PRODUCTS:
            for each in args:
                if isinstance(each, Tensor) and (made := self._made.get(_storage(each))):
                    made.used = True
        out = func(*args, **(kwargs or {}))
        if step in _SOFTMAX and self._over_tokens(out, args[1]):
            out = self._softmax(args[0], out)
        elif step in _COPIES and isinstance(args[0], Tensor) and (made := self._made.get(_storage(args[0]))):
            self._keep(out, made)
        return out

    def _over_tokens(self, out: Tensor, axis: int) -> bool:
        last = axis in (-1, out.dim() - 1)
        return last and 2 <= out.dim() <= 4 and out.size(-1) in self._sizes and out.size(-2) in self._sizes

    def _softmax(self, scores: Tensor, out: Tensor) -> Tensor:
        if out.dim() == 4 and out.size(0) > 1:
            raise ValueError(f"the call reads {out.size(0)} texts at a time: give it one")
        heads = out.reshape(-1, *out.shape[-2:])
        if self._change is not None:
            heads = self._change(len(self._found.maps), heads)
            out = heads.reshape(out.shape)
        path, call = self._where[-1] if self._where else ("", 0)
        made = SeenMap(path, call, scores.reshape(heads.shape).clone(), heads.clone())
        self._found.maps.append(made)
        self._keep(out, made)
        return out

    def _keep(self, tensor: Tensor, made: SeenMap) -> None:
        self._made[_storage(tensor)] = made
        self._kept.append(tensor)


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def see(
    module: nn.Module, call: Callable[[], Any], sizes: set[int], change: Callable[[int, Tensor], Tensor] | None = None
) -> tuple[SeenCall, Any]:
    """One watched call, and what it gave out."""
    found, where = SeenCall(), list[tuple[str, int]]()
    with ExitStack() as stack:
        stack.enter_context(_hooks(module, found, sizes, where))
        stack.enter_context(_plain_attention())
        stack.enter_context(_Watching(found, sizes, where, change))
        return found, call()


@contextmanager
def _plain_attention() -> Iterator[None]:
    """Fused attention gives no weights: have torch take its steps one by one."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


@contextmanager
def _hooks(module: nn.Module, found: SeenCall, sizes: set[int], where: list[tuple[str, int]]) -> Iterator[None]:
    """Know which module is at work, and keep what it reads and gives out for each token."""
    calls: dict[str, int] = {}
    with ExitStack() as stack:
        for path, part in module.named_modules():

            def begins(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], path: str = path) -> None:
                where.append((path, calls.setdefault(path, 0)))
                calls[path] += 1
                if (vectors := _vectors((*args, *kwargs.values()), sizes)) is not None:
                    found.read.setdefault(path, vectors)

            def ends(_: nn.Module, args: tuple[Any, ...], out: Any, path: str = path) -> None:
                where.pop()
                if (vectors := _vectors(out if isinstance(out, tuple) else (out,), sizes)) is not None:
                    found.gave.setdefault(path, vectors)

            stack.callback(part.register_forward_pre_hook(begins, with_kwargs=True).remove)
            stack.callback(part.register_forward_hook(ends).remove)
        yield


def _vectors(values: Sequence[Any], sizes: set[int]) -> Tensor | None:
    """The first of these if it is a vector for each token [1, T, D]; modules that put the text first have it turned."""
    first = next((each for each in values if isinstance(each, Tensor)), None)
    if first is None or not first.is_floating_point() or first.dim() not in (2, 3):
        return None
    if first.dim() == 2:
        first = first[None]
    elif first.size(0) != 1 and first.size(1) == 1:
        first = first.transpose(0, 1)
    return first.detach().clone() if first.size(0) == 1 and first.size(1) in sizes else None
