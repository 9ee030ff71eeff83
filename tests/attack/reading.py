"""Texts against every bundled model: read, written on, given as a target, put on a page."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from random import Random

from attack import choices, texts
from attack.trying import attempt, check, check_unicode
from viz_transformer.checkpoint import Checkpoint, list_checkpoints, load
from viz_transformer.figures import labels
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.tracing import trace
from viz_transformer.text.codec import Codec

STEPS = 3
SECONDS = 60.0
"""Of work: a model that is not causal reads all its 200 tokens again at every step."""
LONGEST_FORCED = 40


@cache
def models() -> tuple[str, ...]:
    return tuple(summary.name for summary in list_checkpoints())


@cache
def model(name: str) -> tuple[Checkpoint, tuple[str, ...]]:
    """A bundled model and some texts that it is made for."""
    found = load(name)
    return found, tuple(text for pair in found.examples()[:20] for text in pair)


def attack(draw: Random, place: Path) -> None:
    """One text against one of the models."""
    ckpt, usual = model(draw.choice(models()))
    text, other = texts.text(draw, usual), texts.text(draw, usual)
    how = draw.randrange(6)

    def read() -> None:
        if how == 0:
            check_codecs(ckpt, text)
        elif how == 1 and ckpt.config.has_encoder:
            check_run(decode(ckpt, draw.choice(usual), target=text[:LONGEST_FORCED]))
        elif how == 2:
            check_run(
                decode(ckpt, text, prefix=other[:LONGEST_FORCED], max_steps=STEPS, strategy=choices.strategy(draw))
            )
        elif how == 3:
            recorded = trace(ckpt, text, other if ckpt.config.has_encoder else None)
            check(all(value.isfinite().all() for name, value in recorded.values.items()), "a point is not finite")
        elif how == 4:
            check_labels(text)
        else:
            check_run(decode(ckpt, text, max_steps=STEPS))

    attempt(read, seconds=SECONDS)


def check_codecs(ckpt: Checkpoint, text: str) -> None:
    """A text becomes as many ids as tokens, all of them in the vocabulary, and back a text that can be shown."""
    for codec in (ckpt.source_codec, ckpt.target_codec):
        if codec is not None:
            _check_codec(codec, text)


def _check_codec(codec: Codec, text: str) -> None:
    encoded = codec.encode(text)
    check(len(encoded.ids) == len(encoded.tokens) == len(encoded.originals), "ids, tokens, originals of unequal length")
    check(all(0 <= i < len(codec.vocabulary) for i in encoded.ids), "an id is outside the vocabulary")
    special = codec.vocabulary.special_ids - {codec.vocabulary.unk}
    inside = encoded.ids[codec.add_bos : len(encoded.ids) - codec.add_eos]
    check(not special & {*inside}, "typed text became a special token")
    for said in (*encoded.originals, *encoded.tokens, codec.decode(encoded.ids)):
        check_unicode(said)


def check_run(run: Run) -> None:
    """The answer can be shown, and every log-probability is one."""
    check_unicode(run.text)
    for step in run.steps:
        for log_prob in (step.log_prob, *(candidate.log_prob for candidate in step.candidates)):
            check(not math.isnan(log_prob) and log_prob <= 0, f"step {step.index} has the log-probability {log_prob}")
        check_unicode(step.token)


def check_labels(text: str) -> None:
    """What stands on a figure in its place is one line of valid Unicode without markup, and not longer than asked."""
    for shown in (labels.tick(text), labels.escape(labels.isolate(labels.shorten(labels.sentence(text), 60)))):
        check_unicode(shown)
        check(len(shown.splitlines()) == 1 and "<" not in shown, f"shown as {shown!r:.200}")
    check(labels.width(labels.shorten(labels.visible(text), 14)) <= 14, "too wide")
