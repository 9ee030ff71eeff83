"""Attentions that call torch's functions by themselves: what is heard is theirs, and edits are what they go on with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from pretrained import HEARD

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.running.edits import AblateHead, Edit, FixRow, Scale, SetMask
from viz_transformer.running.record import Trace
from viz_transformer.running.tracing import trace

Opened = Callable[[str], Checkpoint]
Theirs = Callable[[str], Any]
IDS = [5, 9, 13, 7, 20, 21, 22, 6]


def recorded(ckpt: Checkpoint, *edits: Edit) -> Trace:
    return trace(ckpt, IDS, edits=edits)


def first(ckpt: Checkpoint) -> str:
    return next(iter(ckpt.anatomy.attentions))


@pytest.mark.parametrize("name", HEARD)
def test_edited_weights_give_what_the_untouched_model_makes_with_such_a_softmax(
    opened: Opened, theirs: Theirs, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit by bit: there torch's own softmax gives the changed weights, in the first layer."""
    row = (0.25, 0.75)
    found = recorded(opened(name), FixRow(first(opened(name)), 3, row, head=1))
    softmax, calls = torch.nn.functional.softmax, 0

    def changed(*args: Any, **kwargs: Any) -> torch.Tensor:
        nonlocal calls
        weights, calls = softmax(*args, **kwargs), calls + 1
        if calls == 1:
            weights[0, 1, 3] = torch.tensor([*row, *[0.0] * (weights.size(-1) - len(row))])
        return weights

    monkeypatch.setattr(torch.nn.functional, "softmax", changed)
    with torch.no_grad():
        expected = theirs(name)(input_ids=torch.tensor([IDS]), output_attentions=True)
    assert calls == len(opened(name).anatomy.attentions)
    for site, weights in zip(opened(name).anatomy.attentions, expected.attentions, strict=True):
        assert torch.equal(found[f"{site}.weights"], weights)
    assert torch.equal(found["logits"], expected.logits)


@pytest.mark.parametrize("name", HEARD)
def test_a_changed_mask_closes_and_opens_cells(opened: Opened, name: str) -> None:
    """As the softmax over the cells that are open then, worked out from the scores."""
    ckpt = opened(name)
    site = [*ckpt.anatomy.attentions][1]  # of GPT-Neo the one with a window
    closed, opened_cell = SetMask(site, 5, 4, False), SetMask(site, 4, 7, True, head=2)
    found = recorded(ckpt, closed, opened_cell)
    mask = found[f"{site}.mask"]
    assert mask.shape == (1, ckpt.anatomy.attentions[site].query, len(IDS), len(IDS))
    assert not mask[0, :, 5, 4].any() and mask[0, 2, 4, 7]
    weights = found[f"{site}.weights"]
    assert torch.equal(weights[0, :, 5, 4], torch.zeros(len(weights[0]))) and weights[0, 2, 4, 7] > 0
    if f"{site}.scores" in found:
        scores = found[f"{site}.scores"].double().masked_fill(~mask, -torch.inf)
        torch.testing.assert_close(weights.double(), scores.softmax(dim=-1), atol=1e-6, rtol=1e-5)
    assert not torch.equal(found["logits"], recorded(ckpt)["logits"])


@pytest.mark.parametrize("name", HEARD)
def test_an_edit_of_values_and_heads_is_what_the_output_is_made_of(opened: Opened, name: str) -> None:
    ckpt = opened(name)
    site = first(ckpt)
    found = recorded(ckpt, Scale(f"{site}.value", 3.0, at=(0, 2, None)), AblateHead(site, 1))
    value = found[f"{site}.value"]
    assert torch.equal(value[:, 0, 2], recorded(ckpt)[f"{site}.value"][:, 0, 2] * 3)
    heads = ckpt.anatomy.attentions[site]
    made = found[f"{site}.weights"].double() @ value.double().repeat_interleave(heads.query // heads.key, dim=1)
    made[:, 1] = 0
    torch.testing.assert_close(found[f"{site}.head_out"].double(), made, atol=1e-5, rtol=1e-5)
    out = ckpt.instrument.parameters_of(site).out
    merged = torch.nn.functional.linear(found[f"{site}.head_out"].transpose(1, 2).flatten(2), out.weight, out.bias)
    torch.testing.assert_close(merged, found[f"{site}.out"], atol=1e-5, rtol=1e-5)


def test_a_window_closes_cells_and_is_known_before(opened: Opened) -> None:
    ckpt = opened("gpt_neo")
    assert [heads.window for heads in ckpt.anatomy.attentions.values()] == [None, 3]
    mask = recorded(ckpt)["decoder.1.self.mask"][0, 0]
    far = torch.arange(len(IDS))[:, None] - torch.arange(len(IDS))
    assert torch.equal(mask, (far >= 0) & (far < 3))


def test_the_bias_of_bloom_is_a_slope_for_each_head_by_the_place_of_the_key(opened: Opened) -> None:
    found = recorded(opened("bloom"))["decoder.0.self.bias"][0]
    slopes = torch.tensor([2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8])  # of four heads, Press et al. (2022)
    expected = slopes[:, None, None] * torch.arange(len(IDS))
    assert torch.equal(found, expected.expand(-1, len(IDS), -1))
