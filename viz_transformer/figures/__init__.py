"""Arrays and words -> figures: with plotly what is read, as HTML that stands alone what is touched.

No function here opens anything by itself or knows a model; `viz_transformer.show` asks them for what a run holds.

Importing this package does not import plotly: the functions are looked up when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz_transformer.figures.attention import attention_heatmap as attention_heatmap
    from viz_transformer.figures.attention import attention_lines as attention_lines
    from viz_transformer.figures.attention import attention_text as attention_text
    from viz_transformer.figures.attention import head_grid as head_grid
    from viz_transformer.figures.branches import branch_curves as branch_curves
    from viz_transformer.figures.caching import work_curves as work_curves
    from viz_transformer.figures.candidates import candidate_bars as candidate_bars
    from viz_transformer.figures.curves import loss_curves as loss_curves
    from viz_transformer.figures.tensors import AxisLabels as AxisLabels
    from viz_transformer.figures.tensors import tensor_heatmap as tensor_heatmap
    from viz_transformer.figures.tensors import value_histogram as value_histogram
    from viz_transformer.figures.whole import run as run

# module -> the public names that it has
_NAMES = {
    "attention": "attention_heatmap attention_lines attention_text head_grid",
    "branches": "branch_curves",
    "caching": "work_curves",
    "candidates": "candidate_bars",
    "curves": "loss_curves",
    "tensors": "AxisLabels tensor_heatmap value_histogram",
    "whole": "run",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [*_HOMES]  # noqa: PLE0604 (all of them are strings)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"no figure named {name!r}; there are {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
