"""Records attentions that call torch functions themselves instead of the one in `capture.py`.

Their own code runs; the products of queries and keys, the softmax, and the product of weights and values are
intercepted, and continue with the hook's result.

Experts are recorded in the same way, at the first linear map of a router: `FirstLinear`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, one_hot
from torch.overrides import TorchFunctionMode

from viz_transformer.huggingface.families import AttentionPlace
from viz_transformer.huggingface.rows import record_rows, repeat_heads
from viz_transformer.model.hook import Hook, Recorder
from viz_transformer.model.hooked_model import Heads

_PRODUCTS = frozenset({"matmul", "__matmul__", "bmm", "baddbmm"})


def with_mask(
    place: AttentionPlace, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Tensor | None, tuple[Any, ...], dict[str, Any]]:
    """The mask with which an attention is called, and its arguments, with an open mask added if it has none."""
    how = place.heard
    assert how is not None
    place_of = how.argument if how.argument is not None and len(args) > how.argument else None
    found = kwargs.get(how.mask) if place_of is None else args[place_of]
    if found is None and how.given == "closed":
        stream: Tensor = args[0]
        found = stream.new_zeros(stream.size(0), stream.size(0), stream.size(1), 1)
        if place_of is None:
            kwargs = {**kwargs, how.mask: found}
        else:
            args = (*args[:place_of], found, *args[place_of + 1 :])
    return found, args, kwargs


class FunctionalHookMode(TorchFunctionMode):
    """Intercepts torch functions during one call of an attention module.

    site: receives the points. start: keys of earlier passes.
    """

    def __init__(
        self,
        hook: Hook,
        site: str,
        module: nn.Module,
        place: AttentionPlace,
        heads: Heads,
        *,
        mask: Tensor | None,
        start: int,
    ) -> None:
        super().__init__()
        assert place.heard is not None
        self._hook, self._site, self._module, self._how, self._heads = hook, site, module, place.heard, heads
        self._given, self._start = mask, start
        self._dtype = next(module.parameters()).dtype  # dtype in which weights multiply values
        self._goes_on: Tensor | None = None  # used instead of the mask
        self._changed: Tensor | None = None
        self._next = "scores"
        self._maps: dict[int, str] = {}
        if place.heard.apart:
            named = [*zip(("query", "key", "value"), place.maps, strict=True), ("out", place.out.rpartition(".")[2])]
            self._maps = {id(found): what for what, path in named if (found := _weight(module, path)) is not None}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if self._given is not None and any(each is self._given for each in args):
            mask = self._mask(self._given)
            args = tuple(mask if each is self._given else each for each in args)
        if name == "where" and self._how.window and self._given is not None:
            self._mask(self._given)
            args = args if self._changed is None else (self._changed, *args[1:])
        if self._maps and (what := next((self._maps.pop(id(e)) for e in args if id(e) in self._maps), None)):
            return self._map(what, func(*args, **kwargs))
        if self._next == "scores" and not self._how.apart and name in _PRODUCTS:
            return self._scores(func, args, kwargs)
        if self._next == "head_out" and (name in _PRODUCTS or name == "einsum"):
            return self._head_out(func, args, kwargs)
        made = func(*args, **kwargs)
        if name == "softmax" and self._next in ("scores", "weights"):
            self._next = "head_out"
            return self._hook(f"{self._site}.weights", made.to(self._dtype))
        return made

    def _scores(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Handle the product of queries and keys; ignores products with a matrix."""
        added, query, key = (args[0], kwargs["batch1"], kwargs["batch2"]) if len(args) == 1 else (None, *args[:2])
        if min(query.dim(), key.dim()) < 3:
            return func(*args, **kwargs)
        self._next = "weights"
        asked = self._by_head(query)
        changed = self._hook(f"{self._site}.query", asked)
        if changed is not asked:
            asked.copy_(changed)  # where it may be read again
        self._say_keys("key", self._by_head(key.transpose(-1, -2)))
        if added is None:
            return func(*args, **kwargs)
        bias = self._by_head(added).expand(-1, -1, query.size(-2), -1)
        changed = self._hook(f"{self._site}.bias", bias)
        return func(added if changed is bias else changed.flatten(0, 1), **kwargs)

    def _head_out(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Handle the product of weights and values."""
        self._next = "nothing"
        if not self._how.apart:
            self._say_keys("value", self._by_head(args[1]))
        made: Tensor = func(*args, **kwargs)
        tokens_first = func.__name__ == "einsum"
        said = made.permute(1, 2, 0, 3) if tokens_first else self._by_head(made)
        changed = self._hook(f"{self._site}.head_out", said)
        if changed is said:
            return made
        return changed.permute(2, 0, 1, 3) if tokens_first else changed.reshape(made.shape)

    def _map(self, what: str, made: Tensor) -> Tensor:
        """Report the output of a projection, whether its heads are concatenated, [T, B, H, E], or [T, B, D]."""
        name = f"{self._site}.{what}"
        if what == "out":
            changed = self._hook(name, said := made.transpose(0, 1))
            return made if changed is said else changed.transpose(0, 1)
        if made.dim() == 4:
            changed = self._hook(name, said := made.permute(1, 2, 0, 3))
            return made if changed is said else changed.permute(2, 0, 1, 3)
        changed = self._hook(name, said := made.view(*made.shape[:-1], -1, self._heads.size).transpose(1, 2))
        return made if changed is said else changed.transpose(1, 2).flatten(2)

    def _by_head(self, numbers: Tensor) -> Tensor:
        """[B, H or G, T, E] from texts and heads in one axis or two."""
        return numbers if numbers.dim() == 4 else numbers.view(-1, self._heads.query, *numbers.shape[-2:])

    def _say_keys(self, what: str, heads: Tensor) -> None:
        """Report new keys or values, once per key head even if the model repeats them per query head."""
        name, shared = f"{self._site}.{what}", heads.size(1) // self._heads.key
        own = heads[:, ::shared]
        record_rows(self._hook, name, own, heads.size(-2) - self._start)
        if shared > 1 and isinstance(self._hook, Recorder) and self._hook.changes(name):
            heads.copy_(repeat_heads(own.clone(), shared))

    def _mask(self, given: Tensor) -> Tensor:
        """Report the mask and return what the module continues with."""
        if self._goes_on is None:
            allowed = self._allowed(given)
            changed = self._hook(f"{self._site}.mask", allowed)
            self._changed = None if changed is allowed else changed
            self._goes_on = given if self._changed is None else self._as_given(self._changed, given)
        return self._goes_on

    def _allowed(self, given: Tensor) -> Tensor:
        """The mask as [B, 1, Q, K], True = may attend."""
        if self._how.given == "closed":
            return given.permute(2, 3, 0, 1) == 0
        if self._how.given == "kept":
            return given != 0
        allowed = given == 0
        if self._how.window:
            table: Tensor = getattr(self._module, self._how.window)
            queries, keys = allowed.shape[-2:]
            allowed = allowed & table[:, :, keys - queries : keys, :keys]
        return allowed

    def _as_given(self, allowed: Tensor, given: Tensor) -> Tensor:
        if self._how.given == "closed":
            return (~allowed).to(given.dtype).permute(2, 3, 0, 1)
        if self._how.given == "kept":
            return allowed.to(given.dtype)
        return torch.where(allowed, 0.0, torch.finfo(given.dtype).min).to(given.dtype)


def _weight(module: nn.Module, path: str) -> Tensor | None:
    """Weight of a projection: a parameter of the module, or of a submodule."""
    found: Any = getattr(module, path, None)
    weight = found if isinstance(found, Tensor) else getattr(found, "weight", None)
    return weight if isinstance(weight, Tensor) else None


class FirstLinear(TorchFunctionMode):
    """Replaces the output of the first linear map inside it with the result of `say`."""

    def __init__(self, say: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self._say: Callable[[Tensor], Tensor] | None = say

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func is not linear or self._say is None:
            return made
        say, self._say = self._say, None
        return say(made)


def shares_of(chosen: Tensor, shares: Tensor, count: int) -> Tensor:
    """Factor of each expert's output, 0 if not chosen: [N, X].

    chosen: [N, C] expert indices, or one-hot [N, C, X] (possibly all zero). shares: [N, C].
    """
    if chosen.dim() == 3:
        return (chosen * shares[..., None]).sum(dim=1).to(shares.dtype)
    return shares.new_zeros(len(shares), count).scatter(1, chosen, shares)


def chosen_by(shares: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
    """The experts that have a share [N, X], and their shares, as the model is given them: `like` what it had chosen."""
    most = max(1, int((shares != 0).sum(dim=-1).max()))
    chosen = shares.abs().topk(most, dim=-1).indices
    named = one_hot(chosen, shares.size(-1)).to(like.dtype) if like.dim() == 3 else chosen
    return named, shares.gather(-1, chosen)
