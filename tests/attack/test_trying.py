"""The attacks see what they look for: each kind of bad end is one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from attack import kinds, trying
from attack.kinds import Try, broken
from attack.trying import MIB, Broken, attempt


def fail_with(error: Exception) -> Callable[[], None]:
    def action() -> None:
        raise error

    return action


def test_an_answer_is_none_and_a_refusal_its_sentence() -> None:
    assert attempt(lambda: 7) is None
    assert attempt(fail_with(ValueError("shorten it"))) == "shorten it"


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (AssertionError(), "AssertionError"),
        (KeyError("a"), "KeyError"),
        (MemoryError(), "MemoryError"),
        (RecursionError("deep"), "RecursionError"),
        (ValueError(""), "without a word"),
        (ValueError("a\nb"), "2 lines"),
        (ValueError("x" * 601), "a sentence of 601 characters"),
        (ValueError("\ud800"), "no valid Unicode"),
        (OSError("\x1b[2J"), "control characters"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_any_other_end_gets_through(error: Exception, what: str) -> None:
    with pytest.raises(Broken, match=what):
        attempt(fail_with(error))


def test_what_goes_on_for_ever_gets_through() -> None:
    def work() -> None:
        while True:
            try:
                sum(range(1000))
            except Exception:
                continue

    with pytest.raises(Broken, match=r"took 0\.1 s of work, is in test_trying\.py"):
        attempt(work, seconds=0.1)
    with pytest.raises(Broken, match=r"took 0\.1 s of waiting"):
        attempt(lambda: time.sleep(300), clock=0.1)


def test_what_takes_too_much_memory_gets_through(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        return  # only Linux says how much there was at most
    monkeypatch.setattr(trying, "ROOM", 64 * MIB)
    with pytest.raises(Broken, match=r"takes \d+ MiB for 1\.0 MiB"):
        attempt(lambda: len(b"x" * (96 * MIB)), size=MIB)
    assert attempt(lambda: len(b"x" * (96 * MIB)), size=64 * MIB) is None


def test_one_seed_gives_the_same_attacks_again_and_another_seed_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[float] = []

    def attack(draw: Random, place: Path) -> None:
        drawn.append(draw.random())
        trying.check(len(drawn) % 3 != 0, "every third")

    monkeypatch.setattr(kinds, "KINDS", {"texts": attack})
    assert broken("texts", 4, tmp_path) == ['every third: make attack ARGS="texts --seed 0 --only 2"']
    Try("texts", "0", 2).run(tmp_path)
    Try("texts", "1", 2).run(tmp_path)
    assert drawn[2] == drawn[4] != drawn[5]
