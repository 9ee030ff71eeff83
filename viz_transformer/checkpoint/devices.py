"""Where models are computed (CPU or GPU) and in which dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from viz_transformer import declared
from viz_transformer.checkpoint.ignoring import match_patterns

PROCESSOR: Final = "cpu"
DEVICES: Final = (PROCESSOR, "cuda")
FLOAT32: Final = "float32"
DTYPES: Final = (FLOAT32, "bfloat16")


@dataclass(frozen=True)
class Computed:
    """Device and dtype of a model. ignore: name patterns of tensors that may be left out."""

    device: str = PROCESSOR
    dtype: str = FLOAT32
    ignore: tuple[str, ...] = ()


_of_the_app = Computed()


def check_name(device: str) -> None:
    """Raise ValueError for an unknown device."""
    declared.one_of("device", device, DEVICES)


def check_dtype(dtype: str) -> None:
    """Raise ValueError for an unsupported dtype."""
    declared.one_of("dtype", dtype, DTYPES)


def compute_folders(device: str, dtype: str, ignore: Sequence[str] = ()) -> None:
    """Set device and dtype for folders of transformers in this process' app. The device must exist."""
    global _of_the_app
    check_name(device)
    check_dtype(dtype)
    match_patterns(ignore, ())  # raises for an invalid pattern
    _of_the_app = Computed(device, dtype, tuple(ignore))


def computed_in_the_app() -> Computed:
    """Device and dtype for folders of transformers in this process' app."""
    return _of_the_app
