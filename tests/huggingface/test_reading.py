"""Models that fill in masks: what they read where a token is masked, and what they would put there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from viz_transformer import read
from viz_transformer.analysis.run.filling import filling, fills_masks, masked_positions
from viz_transformer.checkpoint import Checkpoint

TEXT = "the cat sat"
ENCODERS = ["bert", "roberta", "distilbert", "electra", "albert", "modernbert"]
Opened = Callable[[str], Checkpoint]


def mask_of(ckpt: Checkpoint) -> int:
    mask = ckpt.codec("source").mask
    assert mask is not None
    return mask


@pytest.mark.parametrize("name", ENCODERS)
def test_a_masked_token_is_a_mask_to_the_model_bit_by_bit(
    opened: Opened, theirs: Callable[[str], Any], name: str
) -> None:
    ckpt = opened(name)
    before = read(ckpt, TEXT).trace
    run = read(ckpt, TEXT, masked=[2])
    ids = [*before.src_ids]
    ids[2] = mask_of(ckpt)
    with torch.no_grad():
        logits = theirs(name)(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids))).logits
    assert run.trace.src_ids == tuple(ids) and torch.equal(run.trace["logits"], logits)
    assert run.trace.src_tokens[2] == "[MASK]" and run.trace.src_originals[2] == before.src_tokens[2]


def test_what_would_stand_there_is_the_softmax_of_its_row(opened: Opened) -> None:
    ckpt = opened("bert")
    trace = read(ckpt, TEXT, masked=[2]).trace
    names = ckpt.codec("source").names
    found = filling(trace, 2, names, count=5)
    row = trace["logits"][0, 2].double().numpy()
    probs = np.exp(row - row.max())
    probs /= probs.sum()
    best = np.argsort(-probs)[:5]
    assert [each.token_id for each in found.candidates] == best.tolist()
    assert [each.token for each in found.candidates] == [names[i] for i in best]
    assert np.allclose(np.exp([each.log_prob for each in found.candidates]), probs[best], rtol=1e-12)
    assert found.others == pytest.approx(1 - probs[best].sum(), rel=1e-9)
    stood = read(ckpt, TEXT).trace.src_ids[2]
    assert found.hidden is not None and found.hidden.token_id == stood
    assert np.exp(found.hidden.log_prob) == pytest.approx(probs[stood], rel=1e-12)
    assert found.rank == int((probs > probs[stood]).sum())


def test_a_mask_that_was_typed_hides_nothing_that_is_known(opened: Opened) -> None:
    ckpt = opened("bert")
    trace = read(ckpt, "the [MASK] sat").trace
    (place,) = masked_positions(trace, mask_of(ckpt))
    assert filling(trace, place, ckpt.codec("source").names).hidden is None


@pytest.mark.parametrize(("place", "said"), [(0, "it is a special token"), (99, "the text has positions 0 to")])
def test_what_cannot_be_masked_is_said(opened: Opened, place: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(opened("bert"), TEXT, masked=[place])


def test_a_position_that_is_not_there_is_said(opened: Opened) -> None:
    trace = read(opened("bert"), TEXT).trace
    with pytest.raises(ValueError, match="there is no position 99"):
        filling(trace, 99, opened("bert").codec("source").names)


def test_only_a_model_with_logits_for_masks_fills_them_in(opened: Opened) -> None:
    assert fills_masks(opened("bert").spec) and not fills_masks(opened("gpt2").spec)
    assert opened("gpt2").codec("target").mask is None
