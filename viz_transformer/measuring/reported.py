"""Compares a measured loss with the one reported by the training."""

from __future__ import annotations

import math
from dataclasses import dataclass

from viz_transformer import numerals
from viz_transformer.checkpoint.importers.reported import Reported
from viz_transformer.measuring.own_texts import Loss

ERRORS = 2.0
"""Standard errors within which a measured loss counts as equal."""


@dataclass(frozen=True)
class Comparison:
    """Measured versus reported loss. equal: None if it is lower, which proves nothing."""

    equal: bool | None
    sentence: str


def compare_to_reported(loss: Loss, reported: Reported) -> Comparison:
    """Compare, allowing for the reported digits and the standard error of few texts."""
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
    return Comparison(True, f"equal to {reported.words} ({rounded}), which is evidence, not proof")
