"""Models of transformers, from a folder that `save_pretrained` wrote: the same instrument, recorded exactly.

Lazy: a folder is described without torch and without transformers, which is imported when one is opened.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz_transformer.huggingface.opening import open_folder

__all__ = ["open_folder"]

NEEDED = ("transformers", "tokenizers", "sentencepiece")
INSTALL = 'pip install -e ".[hf]"'


def __getattr__(name: str) -> Any:
    if name != "open_folder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.opening").open_folder


def lacking() -> str | None:
    """The library that has to be installed before a folder can be opened, None if all are there."""
    return next((name for name in NEEDED if find_spec(name) is None), None)
