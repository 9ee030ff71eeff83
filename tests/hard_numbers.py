"""Numbers that are hard to write: near 0 and the ends of scales, ties, of every size, and what is not finite."""

from __future__ import annotations

import math

import numpy as np


def numbers(seed: int) -> list[float]:
    random = np.random.default_rng(seed)
    small = [5e-324, 2.2e-308, 1e-100, 1e-9, 1.4e-8, 0.00004, 0.00005, 0.00009999, 0.0001, 0.00010001, 0.005, 0.05]
    steps = [0.5, 0.25, 0.1, 0.05, 0.005, 0.0005, 0.00051, 0.00005, 0.000049, 1e-7, 1e-12, 2.0**-53]
    near = [end + sign * step for end in (1, 100) for step in steps for sign in (1, -1)]
    ties = [*(random.integers(0, 4000, 200) / 1024), 0.5, 1.5, 2.5, 0.125, 0.0625, 12.5, 2.00005, 0.99995, 0.9995]
    sizes = [10.0 ** float(power) for power in random.uniform(-320, 308, 60)]
    usual = [*random.random(200), *(random.normal(size=200) * 100)]
    known = [float(value) for value in (*small, *near, *ties, *sizes, *usual, 1, 100, 1e21, 2.0**80)]
    halves = [float(np.float32(value)) for value in (*small, *near)]
    found = [*known, *halves]
    return [0.0, -0.0, math.nan, math.inf, -math.inf, *found, *(-value for value in found)]
