"""The history of a training as the curves that are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Curve = tuple[list[float], list[float]]

_CURVES = {"training": "train_loss", "validation": "validation_loss"}


def loss_history(rows: Sequence[Mapping[str, float]]) -> dict[str, Curve]:
    """Steps and losses of "training" and "validation", in nats per token, without rows where nothing was measured."""
    curves: dict[str, Curve] = {}
    for name, column in _CURVES.items():
        points = [(row["step"], row[column]) for row in rows if not math.isnan(row[column])]
        if points:
            curves[name] = ([step for step, _ in points], [loss for _, loss in points])
    return curves
