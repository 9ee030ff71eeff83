"""Pure functions of traces, arrays and texts: what a figure or a page shows, computed and testable by numbers.

Importing this package loads neither torch nor plotly: the functions are looked up when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz_transformer.analysis.attention.head_scores import head_scores as head_scores
    from viz_transformer.analysis.attention.hidden_keys import hidden_keys as hidden_keys
    from viz_transformer.analysis.attention.maps import attention_kinds as attention_kinds
    from viz_transformer.analysis.attention.maps import attention_picture as attention_picture
    from viz_transformer.analysis.attention.maps import contribution_norms as contribution_norms
    from viz_transformer.analysis.attention.maps import head_view as head_view
    from viz_transformer.analysis.attention.maps import head_views as head_views
    from viz_transformer.analysis.attention.maps import layer_count as layer_count
    from viz_transformer.analysis.attention.maps import layer_weights as layer_weights
    from viz_transformer.analysis.attention.maps import step_row as step_row
    from viz_transformer.analysis.attention.rollout import rollout as rollout
    from viz_transformer.analysis.attention.rollout import rollout_view as rollout_view
    from viz_transformer.analysis.attention.specials import special_positions as special_positions
    from viz_transformer.analysis.attention.strongest import strongest_key as strongest_key
    from viz_transformer.analysis.attention.words import word_groups as word_groups
    from viz_transformer.analysis.attention.words import word_map as word_map
    from viz_transformer.analysis.decoding.branches import compare_runs as compare_runs
    from viz_transformer.analysis.decoding.caching import cache_of_run as cache_of_run
    from viz_transformer.analysis.decoding.caching import cache_use as cache_use
    from viz_transformer.analysis.decoding.caching import uncached_difference as uncached_difference
    from viz_transformer.analysis.decoding.difference import aligned_difference as aligned_difference
    from viz_transformer.analysis.decoding.scoring import run_score as run_score
    from viz_transformer.analysis.decoding.scoring import target_score as target_score
    from viz_transformer.analysis.inputs.hidden_texts import hidden_texts as hidden_texts
    from viz_transformer.analysis.models.answers import greedy_answers as greedy_answers
    from viz_transformer.analysis.models.training import loss_history as loss_history
    from viz_transformer.analysis.run.answers import read_facts as read_facts
    from viz_transformer.analysis.run.answers import read_rows as read_rows
    from viz_transformer.analysis.tensors.points import compare as compare
    from viz_transformer.analysis.tensors.points import difference_view as difference_view
    from viz_transformer.analysis.tensors.points import histogram as histogram
    from viz_transformer.analysis.tensors.points import point_view as point_view
    from viz_transformer.analysis.tensors.points import shown_slice as shown_slice
    from viz_transformer.analysis.tensors.points import slice_csv as slice_csv
    from viz_transformer.analysis.tensors.points import statistics as statistics

# module -> the public names that it has
_NAMES = {
    "attention.head_scores": "head_scores",
    "attention.hidden_keys": "hidden_keys",
    "attention.maps": (
        "attention_kinds attention_picture contribution_norms head_view head_views layer_count layer_weights step_row"
    ),
    "attention.rollout": "rollout rollout_view",
    "attention.specials": "special_positions",
    "attention.strongest": "strongest_key",
    "attention.words": "word_groups word_map",
    "decoding.branches": "compare_runs",
    "decoding.caching": "cache_of_run cache_use uncached_difference",
    "decoding.difference": "aligned_difference",
    "decoding.scoring": "run_score target_score",
    "inputs.hidden_texts": "hidden_texts",
    "models.answers": "greedy_answers",
    "models.training": "loss_history",
    "run.answers": "read_facts read_rows",
    "tensors.points": "compare difference_view histogram point_view shown_slice slice_csv statistics",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [*_HOMES]  # noqa: PLE0604 (all of them are strings)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"no analysis named {name!r}; there are {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
