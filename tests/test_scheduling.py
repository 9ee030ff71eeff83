"""How tests are given out to processes, and which are left out unless they are asked for."""

from __future__ import annotations

import re

import pytest
from scheduling import dealt
from served import ROOT


def parts(tests: list[str], processes: int) -> list[list[str]]:
    """What each process begins with, as xdist's work stealing deals a list."""
    dealt_out = []
    for left in range(processes, 0, -1):
        count = len(tests) // left
        dealt_out.append(tests[:count])
        tests = tests[count:]
    return dealt_out


@pytest.mark.parametrize("processes", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 5, 64, 101])
def test_every_process_begins_with_a_share_of_the_tests_and_has_those_of_the_browser_behind_it(
    processes: int, count: int
) -> None:
    tests = [f"{'browser' if number % 7 == 3 else 'quick'} {number}" for number in range(count)]
    order = dealt(tests, lambda test: test.startswith("browser"), processes)
    assert sorted(order) == sorted(tests)
    for part in parts(order, processes):
        kinds = [test.partition(" ")[0] for test in part]
        assert kinds == sorted(kinds, reverse=True)
        assert abs(kinds.count("browser") - sum("browser" in test for test in tests) / processes) <= 2
    for kind in ("browser", "quick"):
        of_kind = [test for test in order if test.startswith(kind)]
        assert of_kind == [test for test in tests if test.startswith(kind)]  # files stay together


def test_slow_tests_are_left_out_and_run_by_make_attack(request: pytest.FixtureRequest) -> None:
    if request.config.option.markexpr == "not slow":
        assert not any(item.get_closest_marker("slow") for item in request.session.items)
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^addopts = .*"-m", "not slow"', settings, re.M)
    attack = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nattack:")[2].partition("\n\n")[0]
    assert "pytest -m slow" in attack
