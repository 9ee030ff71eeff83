"""A B A B ...: two things timed in turn, compared pair by pair, so that a machine that slows down slows both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """How long A takes as a multiple of B: the median of the pairs and their quartiles."""

    name: str
    median: float
    low: float
    high: float
    aim: str  # such as "<= 1.06"

    @property
    def reached(self) -> bool:
        sign, bound = self.aim.split()
        return self.median <= float(bound) if sign == "<=" else self.median >= float(bound)

    def __str__(self) -> str:
        word = "reached" if self.reached else "MISSED"
        return f"{self.name:<58} {self.median:6.2f}  ({self.low:.2f} to {self.high:.2f})   aim {self.aim}  {word}"


def compare(
    name: str,
    a: Callable[[], object],
    b: Callable[[], object],
    *,
    rounds: int,
    aim: str,
    seconds: Callable[[Callable[[], object]], float] | None = None,
) -> Ratio:
    """Time a and b in turn, each after one run that is not counted; `seconds` times one run (default: CPU time)."""
    seconds = seconds or cpu_seconds
    seconds(a), seconds(b)
    pairs = [seconds(a) / seconds(b) for _ in range(rounds)]
    low, median, high = statistics.quantiles(pairs, n=4)
    return Ratio(name, median, low, high, aim)


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of this process: waiting for a core that others use does not count."""
    start = time.process_time()
    work()
    return time.process_time() - start
