"""Checkpoint folders: trained weights with everything that is needed to run and judge them.

Lazy: listing checkpoints reads JSON only; torch is imported when one is opened or saved.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz_transformer.checkpoint.contents import Summary, bundled_folder, list_checkpoints
    from viz_transformer.checkpoint.files import CheckpointError
    from viz_transformer.checkpoint.store import Checkpoint, load, save_checkpoint

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Summary",
    "bundled_folder",
    "list_checkpoints",
    "load",
    "save_checkpoint",
]

_HOMES = {
    "CheckpointError": "files",
    "Summary": "contents",
    "bundled_folder": "contents",
    "list_checkpoints": "contents",
    "Checkpoint": "store",
    "load": "store",
    "save_checkpoint": "store",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
