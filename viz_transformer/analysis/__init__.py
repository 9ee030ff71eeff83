"""Pure functions of traces, arrays and texts: what a figure or a page shows, worked out and testable by numbers.

Importing this package loads neither torch nor plotly: the functions are looked up when they are first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz_transformer.analysis.answers import greedy_answers as greedy_answers
    from viz_transformer.analysis.attention import attention_kinds as attention_kinds
    from viz_transformer.analysis.attention import contribution_norms as contribution_norms
    from viz_transformer.analysis.attention import head_view as head_view
    from viz_transformer.analysis.attention import head_views as head_views
    from viz_transformer.analysis.attention import layer_count as layer_count
    from viz_transformer.analysis.attention import layer_weights as layer_weights
    from viz_transformer.analysis.attention import special_positions as special_positions
    from viz_transformer.analysis.attention import step_row as step_row
    from viz_transformer.analysis.branches import compare_runs as compare_runs
    from viz_transformer.analysis.caching import cache_of_run as cache_of_run
    from viz_transformer.analysis.caching import cache_use as cache_use
    from viz_transformer.analysis.caching import uncached_difference as uncached_difference
    from viz_transformer.analysis.difference import aligned_difference as aligned_difference
    from viz_transformer.analysis.head_scores import head_scores as head_scores
    from viz_transformer.analysis.hidden_keys import hidden_keys as hidden_keys
    from viz_transformer.analysis.rollout import rollout as rollout
    from viz_transformer.analysis.rollout import rollout_view as rollout_view
    from viz_transformer.analysis.scoring import run_score as run_score
    from viz_transformer.analysis.scoring import target_score as target_score
    from viz_transformer.analysis.tensors import compare as compare
    from viz_transformer.analysis.tensors import difference_view as difference_view
    from viz_transformer.analysis.tensors import histogram as histogram
    from viz_transformer.analysis.tensors import point_view as point_view
    from viz_transformer.analysis.tensors import shown_slice as shown_slice
    from viz_transformer.analysis.tensors import slice_csv as slice_csv
    from viz_transformer.analysis.tensors import statistics as statistics
    from viz_transformer.analysis.training import loss_history as loss_history
    from viz_transformer.analysis.words import word_groups as word_groups
    from viz_transformer.analysis.words import word_map as word_map

# public name -> module that has it
_HOMES = {
    "aligned_difference": "difference",
    "attention_kinds": "attention",
    "cache_of_run": "caching",
    "cache_use": "caching",
    "compare": "tensors",
    "compare_runs": "branches",
    "contribution_norms": "attention",
    "difference_view": "tensors",
    "greedy_answers": "answers",
    "head_scores": "head_scores",
    "head_view": "attention",
    "head_views": "attention",
    "hidden_keys": "hidden_keys",
    "histogram": "tensors",
    "layer_count": "attention",
    "layer_weights": "attention",
    "loss_history": "training",
    "point_view": "tensors",
    "rollout": "rollout",
    "rollout_view": "rollout",
    "run_score": "scoring",
    "shown_slice": "tensors",
    "slice_csv": "tensors",
    "special_positions": "attention",
    "statistics": "tensors",
    "step_row": "attention",
    "target_score": "scoring",
    "uncached_difference": "caching",
    "word_groups": "words",
    "word_map": "words",
}

__all__ = [*_HOMES]  # noqa: PLE0604 (all of them are strings)


class _Package(ModuleType):
    """A package in which `rollout` stays the function when the module of the same name is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"no analysis named {name!r}; there are {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
