"""Mixture of experts: between the model's choice of experts and a share for each expert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.nn.functional import linear, one_hot
from torch.overrides import TorchFunctionMode


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


def choose_experts(shares: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
    """Experts with a share [N, X], and their shares, in the model's format. like: the model's own choice."""
    most = max(1, int((shares != 0).sum(dim=-1).max()))
    chosen = shares.abs().topk(most, dim=-1).indices
    named = one_hot(chosen, shares.size(-1)).to(like.dtype) if like.dim() == 3 else chosen
    return named, shares.gather(-1, chosen)
