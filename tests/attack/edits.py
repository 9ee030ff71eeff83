"""Edits of every class: as data that is damaged, and as changes that every way to compute an answer has to agree on."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from builders import tiny_checkpoint
from edited import any_edit, check_that_every_way_agrees, check_that_looking_changes_nothing

from attack import choices
from attack.trying import attempt
from viz_transformer.checkpoint import Checkpoint, load
from viz_transformer.running.decoding import follow

STEPS = 5
TINY: dict[str, tuple[Any, ...]] = {
    "kind": ("encoder-decoder", "encoder-decoder", "decoder-only"),
    "mask_fill": ("zero-rows", "-inf", "-1e9", "-1e10", "added-1e9"),
    "positions": ("sinusoidal", "learned", "rotary", "alibi"),
    "norm": ("pre", "post"),
    "embedding_scale": ("one", "sqrt"),
    "seed": (0, 1, 2),
}
BUNDLED = {"numbers-tiny": "29,284.30", "copy": "hello", "taylor-2terms": "sin(x)", "shakespeare": "so"}


def attack(draw: Random, place: Path) -> None:
    """An edit as data, or one or two as they are, on a tiny random model or a bundled one."""
    if draw.random() < 0.9:
        choices.attack_edits(draw, place)
    else:
        attempt(lambda: agree(draw), seconds=20)


def agree(draw: Random) -> None:
    """The score of the edited run is the sum of its steps, and decode, follow and whole passes give the same logits;
    looking at it changes nothing. An edit that does not fit is a sentence."""
    if draw.random() < 0.15:
        name = draw.choice([*BUNDLED])
        ckpt, text = bundled(name), BUNDLED[name]
    else:
        ckpt = tiny(*(draw.choice(values) for values in TINY.values()))
        text = "abcde" if ckpt.spec.has_encoder else "u"
    edits = [any_edit(draw, ckpt, text, STEPS) for _ in range(draw.choice((1, 1, 2)))]
    check_that_every_way_agrees(ckpt, text, edits, STEPS)
    run = follow(ckpt, text, [4 + draw.randrange(4) for _ in range(STEPS)])
    check_that_looking_changes_nothing(ckpt, run.trace.src_ids, run.trace.tgt_ids)


@cache
def bundled(name: str) -> Checkpoint:
    return load(name)


@cache
def tiny(*values: Any) -> Checkpoint:
    return tiny_checkpoint(**dict(zip(TINY, values, strict=True)))
