"""The random models of the tests are the same each time, also when many are made at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch
from builders import tiny_config, tiny_model


def test_models_made_side_by_side_have_the_weights_of_their_seed() -> None:
    want = [tiny_model(tiny_config(), seed).state_dict() for seed in range(4)]
    with ThreadPoolExecutor(8) as several:
        made = list(several.map(lambda seed: (seed, tiny_model(tiny_config(), seed).state_dict()), [0, 1, 2, 3] * 10))
    for seed, weights in made:
        for name, values in want[seed].items():
            torch.testing.assert_close(weights[name], values, rtol=0, atol=0, msg=name)
