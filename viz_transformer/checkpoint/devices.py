"""How models are computed: on the processor or a GPU, and with how many bits a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from viz_transformer import declared
from viz_transformer.checkpoint.ignoring import match_patterns
from viz_transformer.sentences import quote

PROCESSOR: Final = "cpu"
DEVICES: Final = (PROCESSOR, "cuda")
FLOAT32: Final = "float32"
DTYPES: Final = (FLOAT32, "bfloat16")


@dataclass(frozen=True)
class Computed:
    """Where a model is computed, and in which type. ignore: patterns of the names of tensors that may be left out."""

    device: str = PROCESSOR
    dtype: str = FLOAT32
    ignore: tuple[str, ...] = ()


_of_the_app = Computed()


def check_name(device: str) -> None:
    """Raise ValueError for a device that is not known."""
    declared.one_of("device", device, DEVICES)


def check_dtype(dtype: str) -> None:
    """Raise ValueError for a type in which nothing is computed here."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype={quote(dtype)} is not computed in here: choose {' or '.join(DTYPES)}")


def compute_folders(device: str, dtype: str, ignore: Sequence[str] = ()) -> None:
    """Have the app of this process compute folders of transformers so; the device has to be there."""
    global _of_the_app
    check_name(device)
    check_dtype(dtype)
    match_patterns(ignore, ())  # raises for what is not a pattern
    _of_the_app = Computed(device, dtype, tuple(ignore))


def computed_in_the_app() -> Computed:
    """How the app of this process computes folders of transformers."""
    return _of_the_app
