"""The order of tests that run side by side in some processes with `--dist worksteal`.

Each process begins with a part of the list, one after the other as long as each other, and takes from the end of
another's when it has done its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Test = TypeVar("Test")


def dealt(tests: Iterable[Test], comes_last: Callable[[Test], bool], processes: int) -> list[Test]:
    """The tests in an order in which each process has a part of those that come last, behind a part of the others."""
    late: list[Test] = []
    early: list[Test] = []
    for test in tests:
        (late if comes_last(test) else early).append(test)
    order: list[Test] = []
    for left in range(processes, 0, -1):  # as xdist deals them
        count = (len(early) + len(late)) // left
        first = len(early) // left
        order += early[:first] + late[: count - first]
        early, late = early[first:], late[count - first :]
    return order
