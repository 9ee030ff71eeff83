"""Models whose first random numbers nobody needs: a file's take their place, or only shapes are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode


class Unfilled(TorchFunctionMode):
    """No random number is drawn for the modules that are made within it: their weights are what was in memory."""

    fills = (
        nn.init.kaiming_uniform_,
        nn.init.uniform_,
        nn.init.normal_,
        Tensor.uniform_,
        Tensor.normal_,
    )

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[Any], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        given = kwargs or {}
        if func in self.fills:
            return args[0] if args else given["tensor"]
        return func(*args, **given)


@contextmanager
def shapes_alone() -> Iterator[None]:
    """Models that are made within it have shapes and no numbers, and take no memory.

    Tables that are computed are left out (`has_numbers`): torch has no other way for them than to import its compiler,
    which takes as long as the whole rest of opening a model.
    """
    with torch.device("meta"), Unfilled():
        yield


def has_numbers() -> bool:
    """Whether modules that are made now have numbers, not shapes alone."""
    return torch.get_default_device().type != "meta"
