"""Deprecated alias of `viz_transformer.model.hook`, kept for one more version."""

from __future__ import annotations

from typing import Any
from warnings import warn

from viz_transformer.model import hook


def __getattr__(name: str) -> Any:
    value = getattr(hook, {"Tap": "Hook"}.get(name, name))
    warn("viz_transformer.model.tap is now called viz_transformer.model.hook", DeprecationWarning, stacklevel=2)
    return value
