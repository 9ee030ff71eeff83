"""The loss that is measured here, held against the one that a training reported."""

from __future__ import annotations

import math
from dataclasses import dataclass

from viz_transformer import numerals
from viz_transformer.checkpoint.importers.reported import Reported
from viz_transformer.measuring.own_texts import Loss

ERRORS = 2.0
"""Standard errors of the measured loss that are within its rounding."""


@dataclass(frozen=True)
class Comparison:
    """How a measured loss compares with a reported one. equal: None where it is lower, which tells nothing."""

    equal: bool | None
    sentence: str


def compare_to_reported(loss: Loss, reported: Reported) -> Comparison:
    """Equal within the rounding of both: that of the digits that were reported, and what so few texts leave open."""
    within = reported.half + ERRORS * loss.error
    if not math.isfinite(within) and math.isfinite(loss.nats):
        within = reported.half
    apart = loss.nats - reported.nats
    rounded = f"± {numerals.number(within, 2)} by rounding and by so few texts"
    if apart > within:
        sentence = (
            f"WORSE by {numerals.number(apart, 2)} than {reported.words} ({rounded}): it is read wrong, or these are"
            " other texts"
        )
        return Comparison(False, sentence)
    if apart < -within:
        sentence = (
            f"lower by {numerals.number(-apart, 2)} than {reported.words} ({rounded}): easier texts, or ones that it"
            " was trained on"
        )
        return Comparison(None, sentence)
    return Comparison(True, f"equal to {reported.words} ({rounded}), which is evidence and no proof")
