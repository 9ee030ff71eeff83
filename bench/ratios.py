"""A B A B ...: two things timed in turn, compared pair by pair, so that a machine that slows down slows both."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH = 92  # of the names
SHORT = "--short"
"""The word on the command line with which each figure has a third of its rounds: enough to see a loss."""


def count_rounds(rounds: int) -> int:
    """How many rounds of these are timed: an odd number, as all are. At least three."""
    return max(3, rounds // 3 | 1) if SHORT in sys.argv else rounds


@dataclass(frozen=True)
class Result:
    """The median of several rounds and their quartiles; without a unit it is a ratio. `aim` is such as "<= 1.06"."""

    name: str
    median: float
    low: float
    high: float
    aim: str = ""
    unit: str = ""

    @property
    def reached(self) -> bool:
        sign, bound = self.aim.split()
        return self.median <= float(bound) if sign == "<=" else self.median >= float(bound)

    def __str__(self) -> str:
        digits = 2 if abs(self.median) < 100 else 0
        spread = "" if self.low == self.high else f"({self.low:.{digits}f} to {self.high:.{digits}f})"
        number = f"{self.median:8.{digits}f} {self.unit}"
        if not self.aim:
            return f"{self.name:<{WIDTH}} {number:<11} {spread}".rstrip()
        word = "reached" if self.reached else "MISSED"
        return f"{self.name:<{WIDTH}} {number:<11} {spread:<18} aim {self.aim} {self.unit}".rstrip() + f"  {word}"


def compare(
    name: str,
    a: Callable[[], object],
    b: Callable[[], object],
    *,
    rounds: int,
    aim: str,
    seconds: Callable[[Callable[[], object]], float] | None = None,
) -> Result:
    """How long a takes as a multiple of b, timed in turn, each after one run that is not counted.

    `seconds` times one run (default: CPU time). `rounds` is odd.
    """
    seconds = seconds or cpu_seconds
    seconds(a), seconds(b)
    return _result(name, [seconds(a) / seconds(b) for _ in range(count_rounds(rounds))], aim)


def measure(name: str, number: Callable[[], float], *, rounds: int, unit: str, aim: str = "") -> Result:
    """The median of what `number` returns, after one call that is not counted. `rounds` is odd."""
    number()
    return _result(name, [number() for _ in range(count_rounds(rounds))], aim, unit)


def counted(name: str, number: float, *, aim: str, unit: str = "") -> Result:
    """A number that is the same in every round."""
    return Result(name, number, number, number, aim, unit)


def _result(name: str, rounds: Sequence[float], aim: str, unit: str = "") -> Result:
    low, median, high = statistics.quantiles(rounds, n=4)
    return Result(name, median, low, high, aim, unit)


def own_clock(work: Callable[[], object]) -> float:
    """What work that times itself returns."""
    result = work()
    assert isinstance(result, float)
    return result


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of this process: waiting for a core that others use does not count."""
    start = time.process_time()
    work()
    return time.process_time() - start
