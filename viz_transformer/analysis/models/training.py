"""Curves from the history of a training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Curve = tuple[list[float], list[float]]

_CURVES = {"training": "train_loss", "validation": "validation_loss"}


def loss_history(rows: Sequence[Mapping[str, float]]) -> dict[str, Curve]:
    """Steps and losses of "training" and "validation", in nats per token, without rows where nothing was measured."""
    curves = {name: _curve(rows, column) for name, column in _CURVES.items()}
    return {name: curve for name, curve in curves.items() if curve is not None}


def rate_history(rows: Sequence[Mapping[str, float]]) -> Curve | None:
    """Steps and learning rates; None if none was recorded."""
    return _curve(rows, "learning_rate")


def _curve(rows: Sequence[Mapping[str, float]], column: str) -> Curve | None:
    """Steps and numbers of the rows that have one in this column; None if none has."""
    points = [(row["step"], row[column]) for row in rows if not math.isnan(row.get(column, math.nan))]
    return ([step for step, _ in points], [number for _, number in points]) if points else None


@dataclass(frozen=True)
class Best:
    """Where the validation loss was lowest: the step, the loss in nats per token, and the perplexity, exp(loss)."""

    step: float
    loss: float
    perplexity: float


def best_validation(rows: Sequence[Mapping[str, float]]) -> Best | None:
    """The row with the lowest validation loss, the first of equal ones; None if none was measured."""
    measured = [(row["validation_loss"], row["step"]) for row in rows if not math.isnan(row["validation_loss"])]
    if not measured:
        return None
    loss, step = min(measured)
    return Best(step, loss, math.exp(loss))


@dataclass(frozen=True)
class Time:
    """The duration of a training: elapsed seconds at some steps, in total, and remaining at each of them."""

    steps: list[float]
    seconds: list[float]

    @property
    def total(self) -> float:
        return self.seconds[-1]

    @property
    def left(self) -> list[float]:
        """The seconds from each step to the last one, known only afterwards."""
        return [self.total - seconds for seconds in self.seconds]

    def at(self, step: float) -> float | None:
        """The seconds so far at this step; None if none were noted there."""
        return dict(zip(self.steps, self.seconds, strict=True)).get(step)


def time_history(rows: Sequence[Mapping[str, float]]) -> Time | None:
    """The elapsed time at each step; None if the history lacks it up to its end."""
    curve = _curve(rows, "seconds")
    return None if curve is None or math.isnan(rows[-1].get("seconds", math.nan)) else Time(*curve)
