"""Arrays and strings -> plotly figures. No function here shows anything by itself or knows a model.

Importing this package does not import plotly: the functions are looked up when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz_transformer.figures.attention import attention_heatmap as attention_heatmap
    from viz_transformer.figures.candidates import candidate_bars as candidate_bars
    from viz_transformer.figures.curves import loss_curves as loss_curves

_HOMES = {"attention_heatmap": "attention", "candidate_bars": "candidates", "loss_curves": "curves"}
__all__ = ["attention_heatmap", "candidate_bars", "loss_curves"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"no figure named {name!r}; there are {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
