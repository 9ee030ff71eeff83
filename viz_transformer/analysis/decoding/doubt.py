"""The step of an answer at which the model is least certain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viz_transformer.running.step import Step

SURE = 0.9
"""A step whose most probable token reaches this probability counts as certain."""


def most_doubtful(steps: Sequence[Step]) -> int:
    """The index of the step with the highest entropy of the model's probabilities, the first of equals; 0 for none.

    Steps that were forced, and steps in which one token has a probability of SURE or more, do not count.
    """
    entropies = [
        step.entropy if not step.forced and math.exp(float(step.log_probs.max())) < SURE else -1.0 for step in steps
    ]
    most = max(entropies, default=-1.0)
    return entropies.index(most) if most >= 0 else 0
