"""On which device models are computed: the processor, or a GPU."""

from __future__ import annotations

from typing import Final

from viz_transformer.sentences import quoted

PROCESSOR: Final = "cpu"
DEVICES: Final = (PROCESSOR, "cuda")

_of_the_app = PROCESSOR


def check_name(device: str) -> None:
    """Raise ValueError for a device that is not known."""
    if device not in DEVICES:
        raise ValueError(f"device={quoted(device)} is not known: choose {' or '.join(DEVICES)}")


def name_device(device: str) -> None:
    """Have the app of this process compute folders of transformers there, which has to be a device that is there."""
    global _of_the_app
    check_name(device)
    _of_the_app = device


def device_of_the_app() -> str:
    """Where the app of this process computes folders of transformers."""
    return _of_the_app
