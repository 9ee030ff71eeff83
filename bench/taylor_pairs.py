"""More pairs for `taylor`: expressions drawn as the data set's were, written by sympy, with their exact series.

`python -m bench.taylor_pairs DATA OUT --processes 12 --seconds 300` fills a folder with files of encoded pairs, each by
its own seed, so that the same file has the same pairs on every machine; a training takes in what is there as it goes
on. No pair is one of validation or test with its symbols renamed in order. A quarter are expressions with numbers, as
people type them, drawn as `generated:taylor/train` draws them.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy

from viz_transformer.measuring.data import Pair, fits
from viz_transformer.measuring.power_series import series_of
from viz_transformer.measuring.series_pairs import typed_expressions
from viz_transformer.train.tasks import find_task
from viz_transformer.train.tasks.task import PairTask
from viz_transformer.train.tasks.taylor import EXPRESSIONS, FUNCTIONS, GENERATED_LONGEST, Renaming

SYMBOLS = "abcdfg"
FACTORS = {1: 1, 2: 2, 3: 3, 4: 5, 5: 4}
"""How often an expression has so many functions: the data set has 1:2:2:2:1, and what is long is rare there."""
TYPED = 0.25
CHUNK = 2000
SAID = (
    "bench/taylor_pairs.py made them: three quarters drawn as the data set was, with constants, and a quarter with"
    " numbers, as the task draws its own. Each epoch read all that were there when it began. An expression that is one"
    " of validation or test with its symbols renamed in order is not among them, nor one of the quarter that has the"
    " series of a textbook expression or of a held-out one. Of the 1,000 with numbers six have constants alone, such as"
    " exp(a*x), and may be among the three quarters."
)
X = sympy.Symbol("x")


@cache
def power(function: str, symbol: str, exponent: int) -> Any:
    """Such as sin(a*x)**2."""
    return getattr(sympy, function)(sympy.Symbol(symbol) * X) ** exponent


def drawn(source: random.Random) -> str:
    """An expression as the data set draws and writes it: sympy's own simplification, and powers of one base joined."""
    (count,) = source.choices([*FACTORS], [*FACTORS.values()])
    terms: list[list[Any]] = []
    for index in range(count):
        exponent = source.choice((2, 3)) if source.random() < 0.2 else 1
        factor = power(source.choice(FUNCTIONS), source.choice(SYMBOLS), exponent)
        sign = source.choice("+-/*") if index else "+"
        if sign in "+-":
            terms.append([factor if sign == "+" else -factor])
        else:
            terms[-1].append(factor if sign == "*" else 1 / factor)
    found = sympy.powsimp(sympy.Add(*(sympy.Mul(*term) for term in terms)))
    return str(found).replace(" ", "")


def with_series(text: str) -> Pair | None:
    """The expression and its series; None if the model could not read one of them, or the series has no x."""
    try:
        series = series_of(text)
    except ZeroDivisionError:
        return None
    if "x" not in series.removesuffix("O(x**6)"):
        return None
    return (text, series) if fits((text, series), (EXPRESSIONS, EXPRESSIONS), GENERATED_LONGEST) else None


def pairs(seed: int, held_out: frozenset[str]) -> Iterator[Pair]:
    """Different pairs without end, the same for a seed; those whose key is held out are left out."""
    source, key, seen = random.Random(seed), Renaming(SYMBOLS).key, set[str]()
    typed: list[str] = []
    while True:
        if source.random() < TYPED:
            typed = typed or typed_expressions(random.Random(source.random()), 500, side="train")
            text = typed.pop()
        else:
            text = drawn(source)
        if text in seen or not re.search("[a-z]", text):
            continue
        seen.add(text)
        pair = with_series(text)
        if pair is not None and key(text) not in held_out:
            yield pair


def held_out_keys(task: PairTask, folder: str | Path) -> frozenset[str]:
    """The keys of all sources of validation and test."""
    assert task.symmetry is not None
    found = [split.read(folder, task.tokenizers) for split in (task.validation, task.test)]
    return frozenset(task.symmetry.key(source) for pairs_of in found for source, _ in pairs_of)


def write_chunks(data: Path, out: Path, seed: int, seconds: float, chunks: int) -> None:
    """Files of CHUNK encoded pairs until the time is over, or there are so many."""
    until = time.monotonic() + seconds
    task = find_task("taylor")
    assert isinstance(task, PairTask)
    codecs = task.codecs(task.tokenizers, [])
    source = pairs(seed, held_out_keys(task, data))
    for number in range(chunks):
        sides = [np.zeros((CHUNK, most + 2), dtype=np.uint8) for most in GENERATED_LONGEST]
        for row in range(CHUNK):
            for side, codec, text in zip(sides, codecs, next(source), strict=True):
                ids = codec.encode(text).ids
                side[row, : len(ids)] = ids
            if time.monotonic() > until:
                return
        half = out / f".{seed:03}-{number:04}.npz"
        np.savez(half, src=sides[0], tgt=sides[1])
        half.rename(out / half.name[1:])


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("data", type=Path, help="the folder of the data sets")
    reader.add_argument("out", type=Path)
    reader.add_argument("--seed", type=int, default=1000, help="of the first process")
    reader.add_argument("--processes", type=int, default=1)
    reader.add_argument("--seconds", type=float, default=60.0)
    reader.add_argument("--chunks", type=int, default=10**6, help="files of each process, at most")
    given = reader.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.processes == 1:
        write_chunks(given.data, given.out, given.seed, given.seconds, given.chunks)
        return
    common = ["--seconds", str(given.seconds), "--chunks", str(given.chunks)]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.taylor_pairs", given.data, given.out, "--seed", str(given.seed + i), *common]
        )
        for i in range(given.processes)
    ]
    sys.exit(max(each.wait() for each in started))


if __name__ == "__main__":
    main()
