"""The tables of the run overview, one for each level: the drawn values at one token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from viz_transformer.analysis.run.attention import AttentionDetail, weighing
from viz_transformer.analysis.run.layer import LayerDetail
from viz_transformer.analysis.run.whole import WholeRun, sublayers_at
from viz_transformer.model.layout import PART_NAMES
from viz_transformer.ui.pages.run import words

_LENGTHS = {"before": "came", "in": "read", "out": "added", "after": "left"}


def tabulate_run(found: WholeRun, row: int) -> pd.DataFrame:
    """The table of the last stack's sub-layers at a row."""
    rows = [(told.title, told.key or "", told.weight, told.share) for told in sublayers_at(found, row)]
    return pd.DataFrame(rows, columns=[words.SUB_LAYER, words.MAX_ATTENDED, words.WEIGHT, words.SHARE_ADDED])


def tabulate_layer(detail: LayerDetail, row: int) -> pd.DataFrame:
    """The table of the sub-layers' vectors at a row, in the order of the forward pass: length, norm, and features."""
    rows = []
    for each in detail.parts:
        numbers = {name: values[row] for name, values in each.by_token.items()}
        read = "in" if detail.pre_norm else "after"  # the output of its norm
        names = words.VECTORS if detail.pre_norm else {**words.VECTORS, "in": words.READ}
        for name, said in names.items():
            if name not in each.stream:
                continue
            cells: dict[str, Any] = {words.SUB_LAYER: PART_NAMES[each.part], words.VECTOR: said}
            cells[words.LENGTH] = numbers.get(_LENGTHS.get(name, ""))
            cells[words.SHARE_ADDED] = numbers.get("share") if name == "out" else None
            cells |= {f"norm {of}": numbers.get(of) if name == read else None for of in ("mean", "scale")}
            drawn = zip(detail.features, each.stream[name][row], strict=True)
            rows.append(cells | {f"feature {feature}": value for feature, value in drawn})
    return pd.DataFrame(rows)


def tabulate_attention(detail: AttentionDetail, row: int, tokens: Sequence[str]) -> pd.DataFrame:
    """The table of a query's keys: score, bias if there is one, whether it is masked, weight."""
    columns: dict[str, Any] = {"key": range(len(tokens)), "token": tokens}
    for name, said in (("bias", "bias"), ("scores", "score")):
        if name in detail.arrays:
            columns[said] = detail.arrays[name][row]
    columns["masked"] = [False] * len(tokens) if detail.mask is None else ~detail.mask[row]
    if "weights" in detail.arrays:
        columns["weight"] = detail.arrays["weights"][row]
    return pd.DataFrame(columns)


def tabulate_weight(detail: AttentionDetail, query: int, key: int) -> pd.DataFrame:
    """The table of the products of one query and one key by dimension, then the steps from their sum to the weight.
    Raises ValueError for a head without recorded queries or keys."""
    found = weighing(detail, query, key)
    rows: list[tuple[str, Any, Any, float]] = [
        (f"dimension {number}", *numbers)
        for number, numbers in enumerate(zip(found.query, found.key, found.products, strict=True))
    ]
    behind = {"sum": found.total, "divisor": found.divisor, "bias": found.bias, "score": found.score}
    behind[words.MASKED_NOT_READ if found.masked else words.WEIGHT] = found.weight
    rows += [(name, None, None, value) for name, value in behind.items() if value is not None]
    return pd.DataFrame(rows, columns=["number", "query", "key", words.RESULT])
