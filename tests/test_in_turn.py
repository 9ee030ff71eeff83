"""What is dealt in turn has each choice once, and all combinations together."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
from in_turn import each_once, every


def taken(parameters: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Those that are not `slow`."""
    return [tuple(each.values) for each in parameters if pytest.mark.slow.mark not in [m.mark for m in each.marks]]


@pytest.mark.parametrize("sizes", [(1,), (3,), (2, 3), (4, 2), (6, 6, 4), (12, 5, 2)])
def test_each_choice_is_taken_and_each_combination_is_there(sizes: tuple[int, ...]) -> None:
    lists = [[f"{letter}{n}" for n in range(size)] for letter, size in zip("abc", sizes, strict=False)]
    _, parameters = each_once(",".join("abc"[: len(sizes)]), *lists).args
    assert [tuple(each.values) for each in parameters] == [*product(*lists)]
    found = taken(parameters)
    assert len(found) == max(sizes)
    assert [{each[at] for each in found} for at in range(len(sizes))] == [{*each} for each in lists]


def test_every_nth_is_taken_and_all_are_there() -> None:
    letters = [*"abcdefg"]
    parts = [taken(every(3, letters, first=first)) for first in range(3)]
    assert parts[1] == [("b",), ("e",)]
    assert sorted(each for part in parts for each in part) == [(letter,) for letter in letters]
    assert [each.values for each in every(3, letters)] == [(letter,) for letter in letters]
    assert taken(every(2, [(1, "x"), (2, "y")])) == [(1, "x")]
