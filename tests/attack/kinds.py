"""The kinds of attack that need nothing but this process, by name, and one try of any of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from attack import addresses, choices, data_files, edits, folders, foreign_folders, reading, traces
from attack.trying import Broken

Attack = Callable[[Random, Path], None]

TEXTS: Mapping[str, Attack] = {"texts": reading.attack}
CHOICES: Mapping[str, Attack] = {"strategies": choices.attack_strategies, "edits": edits.attack}
FILES: Mapping[str, Attack] = {"folders": folders.attack, "traces": traces.attack, "data": data_files.attack}
FOREIGN: Mapping[str, Attack] = {
    "tokenizers": foreign_folders.attack_tokenizers,
    "configs": foreign_folders.attack_configs,
}
PAGES: Mapping[str, Attack] = {"addresses": addresses.attack}
KINDS: Mapping[str, Attack] = {**TEXTS, **CHOICES, **FILES, **FOREIGN, **PAGES}

SEED = os.environ.get("VIZ_ATTACK_SEED", "0")
"""Of the attacks among the tests: the same ones each time, unless somebody wants others."""


@dataclass(frozen=True)
class Try:
    """One attack; with its kind, its seed and its number it is always the same."""

    kind: str
    seed: str
    number: int

    def run(self, place: Path) -> str | None:
        """What got through, in one line; None if nothing did. `place` is an empty folder, and empty again after."""
        try:
            KINDS[self.kind](Random(str(self)), place)
        except Broken as broken:
            return " ".join(str(broken).split())
        return None

    def __str__(self) -> str:
        return f"{self.kind} {self.seed} {self.number}"

    @property
    def again(self) -> str:
        """The command that does it again, and shows where it came from."""
        return f'make attack ARGS="{self.kind} --seed {self.seed} --only {self.number}"'


def broken(kind: str, count: int, place: Path) -> list[str]:
    """The tries of this kind that got through, of the first `count` of SEED: what happened, and how to see it again."""
    tries = (Try(kind, SEED, number) for number in range(count))
    return [f"{found}: {each.again}" for each in tries if (found := each.run(place))]
