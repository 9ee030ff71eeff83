"""Edits that let a decoder row read what comes after it: found out by trying, and decoded in whole passes.

Most mask fills make a row that may attend to nothing even over all keys of its pass, later ones too.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch
from builders import tiny_checkpoint
from edited import check_that_every_way_agrees, edit_of_weights
from in_turn import each_once

from viz_transformer.running.decoding import decode, follow
from viz_transformer.running.edits import AblateHead, Edit, FixRow, Replace, Scale, SetMask
from viz_transformer.running.strategies import Beam
from viz_transformer.running.tracing import trace

SITE = "decoder.0.self"
FILLS = ["zero-rows", "-1e9", "-1e10", "added-1e9"]
LOWER = tuple(tuple(float(key <= query) / (query + 1) for key in range(6)) for query in range(6))
UPPER = tuple(tuple(float(key >= query) / (6 - query) for key in range(6)) for query in range(6))
CLOSES = "as edited, query 0 of decoder.0.self attends to later keys"


@pytest.mark.parametrize("fill", FILLS)
def test_a_row_without_keys_reads_ahead_where_the_fill_makes_it_even(fill: str) -> None:
    ckpt, edits = tiny_checkpoint(mask_fill=fill), [SetMask(SITE, None, 0, False)]
    run = decode(ckpt, "abcde", strategy=Beam(3, length_penalty=0.0), max_steps=6, edits=edits)
    ahead = None if fill == "zero-rows" else CLOSES
    assert (run.trace.non_causal_reason, run.trace.info.get("reason")) == (ahead, ahead)
    assert run.trace.info["cached"] == (ahead is None)
    assert run.score == pytest.approx(run.log_prob, abs=1e-4)
    assert trace(ckpt, "abcde", "uvwx", edits=edits).non_causal_reason == ahead


@pytest.mark.parametrize(
    ("edit", "ahead"),
    [
        (SetMask(SITE, 1, 4, True), "query 1 of decoder.0.self attends to later keys"),
        (SetMask(SITE, None, 4, True, head=2), CLOSES),
        (SetMask(SITE, None, None, False, head=3), CLOSES),
        (SetMask(SITE, 4, None, False), "query 4 of decoder.0.self attends to later keys"),
        (SetMask(SITE, 4, 1, False), None),
        (SetMask(SITE, None, 1, False), None),
        (SetMask("decoder.2.cross", None, None, False), None),
        (SetMask("encoder.0.self", None, None, False), None),
        (Replace(f"{SITE}.weights", 0.1), CLOSES),
        (Replace(f"{SITE}.mask", 0.0, at=(0, 2)), "query 2 of decoder.0.self attends to later keys"),
        (Replace(f"{SITE}.weights", (LOWER,) * 4), None),
        (Replace(f"{SITE}.weights", LOWER, at=(2,)), None),
        (Replace(f"{SITE}.weights", UPPER, at=(2,)), CLOSES),
        (Scale(f"{SITE}.weights", 0.5, at=(0, 3)), None),
        (FixRow(SITE, 3, (0.5, 0.25, 0.0, 0.25)), None),
        (FixRow(SITE, 1, (0.5, 0.0, 0.0, 0.5)), "query 1 of decoder.0.self attends to later keys"),
        (AblateHead(SITE, 1, "uniform"), None),
        (Scale("decoder.1.self.query", 0.5), None),
    ],
    ids=str,
)
def test_every_edit_of_a_mask_or_weights_is_tried(edit: Edit, ahead: str | None) -> None:
    once = trace(tiny_checkpoint(mask_fill="-1e9"), "abcde", [1, 4, 5, 6, 7, 8], edits=[edit])
    assert (once.non_causal_reason or "").removeprefix("as edited, ") == (ahead or "").removeprefix("as edited, ")


def test_a_row_that_is_not_a_number_makes_earlier_rows_so_in_one_pass() -> None:
    ckpt, edits = tiny_checkpoint(mask_fill="-inf"), [SetMask(SITE, 3, None, False)]
    run = decode(ckpt, "abcde", max_steps=6, edits=edits)
    assert run.trace.info["reason"] == "as edited, query 3 of decoder.0.self is NaN, and makes rows before it NaN"
    assert [bool(step.logits.isnan().any()) for step in run.steps] == [False] * 3 + [True] * 3
    shallow = tiny_checkpoint(mask_fill="-inf", decoder_layers=1)  # nothing reads that row's stream again
    assert decode(shallow, "abcde", max_steps=6, edits=edits).trace.info["cached"]


def test_edits_that_close_a_row_only_together_are_tried_together() -> None:
    ckpt, edits = tiny_checkpoint(mask_fill="-1e9"), [SetMask(SITE, 1, key, False) for key in (0, 1)]
    assert trace(ckpt, "ab", "uvwx", edits=edits).non_causal_reason
    assert not any(trace(ckpt, "ab", "uvwx", edits=[edit]).non_causal_reason for edit in edits)


def test_the_last_row_of_a_text_has_nothing_to_read_ahead() -> None:
    ckpt, edits = tiny_checkpoint(mask_fill="-1e9"), [SetMask(SITE, 3, None, False)]
    assert trace(ckpt, "ab", [1, 4, 5, 6], edits=edits).non_causal_reason is None
    assert trace(ckpt, "ab", [1, 4, 5, 6, 7], edits=edits).non_causal_reason


def test_padding_in_the_text_counts_as_closed() -> None:
    ckpt, edits = tiny_checkpoint(mask_fill="-1e9"), [SetMask(SITE, 1, 0, False)]
    assert trace(ckpt, "ab", [1, 4, 5, 6], edits=edits).non_causal_reason is None
    assert trace(ckpt, "ab", [1, 0, 5, 6], edits=edits).non_causal_reason


def test_a_long_attention_that_runs_fused_is_tried_by_its_mask() -> None:
    ckpt = tiny_checkpoint("decoder-only", max_target=560)
    ids = [4 + place % 5 for place in range(540)]
    assert trace(ckpt, ids, edits=[SetMask(SITE, 520, None, False)]).non_causal_reason is None  # zeros
    opened = trace(ckpt, ids, edits=[SetMask(SITE, 515, 530, True)])
    assert opened.non_causal_reason == "as edited, query 515 of decoder.0.self attends to later keys"


MODELS: list[dict[str, Any]] = [{"mask_fill": fill} for fill in [*FILLS, "-inf"]]
MODELS += [{"mask_fill": "-1e9", "positions": "alibi"}, {"kind": "decoder-only", "mask_fill": "-1e10"}]


@each_once("changes, seed", MODELS, range(5))
def test_a_score_is_the_sum_of_its_steps_however_masks_and_weights_are_edited(
    changes: dict[str, Any], seed: int
) -> None:
    ckpt, rng = tiny_checkpoint(**changes), random.Random(seed)
    for _ in range(3):
        edits = [edit_of_weights(rng, ckpt, steps=6) for _ in range(rng.randint(1, 2))]
        check_that_every_way_agrees(ckpt, "abcde" if ckpt.spec.has_encoder else "u", edits, steps=6)


def test_following_ids_has_the_steps_of_the_decode_that_wrote_them() -> None:
    ckpt, edits = tiny_checkpoint(mask_fill="added-1e9"), [SetMask(SITE, 1, None, False)]
    run = decode(ckpt, "abcde", max_steps=6, edits=edits)
    again = follow(ckpt, "abcde", [step.token_id for step in run.steps], edits=edits)
    assert again.log_prob == run.log_prob
    assert all(torch.equal(a.logits, b.logits) for a, b in zip(run.steps, again.steps, strict=True))


def test_what_is_banned_is_not_written_behind_a_score_that_is_not_a_number() -> None:
    ckpt, edits = tiny_checkpoint(mask_fill="-inf"), [SetMask("decoder.2.cross", 1, None, False)]
    ends = ckpt.codec("target").ends
    run = decode(ckpt, "abcde", strategy=Beam(3, length_penalty=0.0), max_steps=6, edits=edits, ban=ends)
    assert math.isnan(run.steps[1].log_prob) and len(run.steps) == 6
    assert ends.isdisjoint(step.token_id for step in run.steps)
