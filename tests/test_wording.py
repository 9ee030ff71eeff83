"""The file of sentences holds what tests expect, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from wording import WORDING, wording


def test_each_sentence_is_expected_by_some_test() -> None:
    tests = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("test_*.py")]
    asked = {name for test in tests for name in re.findall(r'\bwording\(\s*"(\w+)"', test)}
    assert sorted(asked) == sorted(WORDING)


def test_a_sentence_takes_as_many_values_as_it_has_places() -> None:
    assert wording("they_part_at_step", 3, 2) == WORDING["they_part_at_step"].replace("{}", "3", 1).replace("{}", "2")
    for values in ((), (3,), (3, 2, 1)):
        with pytest.raises(ValueError, match=f"has 2 places for values, and {len(values)} were given"):
            wording("they_part_at_step", *values)
