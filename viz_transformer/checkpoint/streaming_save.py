"""Writes a safetensors file tensor by tensor, for those that do not fit into memory together.

safetensors itself needs all at once. Format: https://huggingface.co/docs/safetensors (header length, JSON header with
the location of each tensor, numbers without gaps).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import orjson
import torch
from torch import Tensor

_NAMES = {torch.float32: ("F32", 4), torch.bool: ("BOOL", 1)}
Kind = tuple[torch.dtype, tuple[int, ...]]


def write(path: Path, kinds: Mapping[str, Kind], make: Callable[[str], Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors of these dtypes and shapes, made one at a time by name.

    Raises ValueError if one has a different shape.
    """
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    end = 0
    for name, (dtype, shape) in kinds.items():
        called, size = _NAMES[dtype]
        begin, end = end, end + size * math.prod(shape)
        header[name] = {"dtype": called, "shape": shape, "data_offsets": (begin, end)}
    described = orjson.dumps(header)
    described += b" " * (-len(described) % 8)
    with path.open("wb") as file:
        file.write(len(described).to_bytes(8, "little"))
        file.write(described)
        for name, kind in kinds.items():
            value = make(name).detach().cpu().contiguous()
            if (value.dtype, tuple(value.shape)) != kind:
                raise ValueError(f"{name} is {value.dtype} {list(value.shape)}, and not {kind[0]} {list(kind[1])}")
            file.write(value.numpy().data.cast("B") if value.numel() else b"")
