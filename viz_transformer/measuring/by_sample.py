"""Determines a weights file's open settings from its owner's sample: the one answer that reproduces its logits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.importers.importing import Opened, codecs_of, replan, state_of
from viz_transformer.checkpoint.importers.plan import Fitted
from viz_transformer.measuring.sample import Sample
from viz_transformer.measuring.verifying import proof
from viz_transformer.model.transformer import with_weights

MAX_TRIED = 64
"""Maximum combinations of answers."""


def settle_by_sample(opened: Opened, sample: Sample) -> Opened:
    """The file with open settings answered by the sample; unchanged unless exactly one answer reproduces it.

    A single row of logits for a longer text is taken as the text's, not the last token's.
    """
    found = [answers for answers in _answers(opened) if _reproduces(opened, answers, sample)]
    if sample.logits.shape[1] == 1 and any(ids.shape[1] > 1 for ids in sample.ids.values()):
        found = [answers for answers in found if answers.get("pooling") != Fitted("none")]
    if len(found) != 1:
        return opened
    measured = {**opened.answers.measured, **found[0]}
    return replan(opened.found, replace(opened.answers, measured=measured))


def _answers(opened: Opened) -> Iterator[dict[str, Fitted]]:
    """Combinations of answers to the open settings, at most MAX_TRIED."""
    asked = [each for each in opened.plan.settings if each.origin == "open"]
    for tried, values in enumerate(product(*(each.options for each in asked))):
        if tried == MAX_TRIED:
            return
        yield {each.name: Fitted(value) for each, value in zip(asked, values, strict=True)}


def _reproduces(opened: Opened, answers: dict[str, Fitted], sample: Sample) -> bool:
    """Whether the model with these answers reproduces the sample's logits."""
    measured = {**opened.answers.measured, **answers}
    answered = replan(opened.found, replace(opened.answers, measured=measured))
    plan = answered.plan
    if plan.problems or plan.config is None:
        return False
    config, codecs = codecs_of(answered)
    model = with_weights(config, state_of(plan, config))
    ckpt = Checkpoint("tried", None, model, codecs["source"], codecs["target"], {}, "")
    try:
        return proof(ckpt, sample.texts(ckpt.spec)).passed is True
    except ValueError:  # logits per token cannot come from a model that pools the text
        return False
