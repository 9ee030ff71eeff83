"""Choices that prove the same together: a usual run takes each of them once, `-m slow` all that is left."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest


def each_once(names: str, *choices: Iterable[Any]) -> pytest.MarkDecorator:
    """A test of all combinations of these choices, one list for each of the names: `slow`, except for those in which
    the lists are dealt in turn, as many as the longest has.
    """
    lists = [list(each) for each in choices]
    dealt = {tuple(turn % len(each) for each in lists) for turn in range(max(map(len, lists)))}
    places = product(*(range(len(each)) for each in lists))
    taken = [([each[place] for each, place in zip(lists, at, strict=True)], at in dealt) for at in places]
    return pytest.mark.parametrize(names, [pytest.param(*values, marks=_marks(now)) for values, now in taken])


def every(nth: int, choices: Iterable[Any], *, first: int = 0) -> list[Any]:
    """Parameters of a test of which every `nth` choice, from number `first` on, is taken, and the others are `slow`."""
    return [
        pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=_marks(number % nth == first))
        for number, each in enumerate(choices)
    ]


def _marks(taken: bool) -> list[pytest.MarkDecorator]:
    return [] if taken else [pytest.mark.slow]
