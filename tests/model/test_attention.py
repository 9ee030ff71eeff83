"""Attention against independent references: nn.MultiheadAttention, a float64 einsum, a case worked by hand."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
import torch
from builders import tiny_config
from torch import nn

from viz_transformer.model import attention as attention_module
from viz_transformer.model.attention import Attention, concatenate_heads, landing_place, raw_reshape, split_heads
from viz_transformer.model.hook import OFF, Recorder
from viz_transformer.model.masks import causal_mask, key_mask, softmax_or_zeros


def make(seed: int = 0, **changes: Any) -> Attention:
    torch.manual_seed(seed)
    attention = Attention(tiny_config(**changes)).eval()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.normal_(std=0.4)
    return attention


def reference(attention: Attention) -> nn.MultiheadAttention:
    """torch's own attention with the same weights: it stores W_Q, W_K and W_V below each other."""
    theirs = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    with torch.no_grad():
        maps = (attention.to_query, attention.to_key, attention.to_value)
        theirs.in_proj_weight.copy_(torch.cat([m.weight for m in maps]))
        theirs.in_proj_bias.copy_(torch.cat([m.bias for m in maps]))
        theirs.out_proj.load_state_dict(attention.to_out.state_dict())
    return theirs


@pytest.mark.parametrize("cross", [False, True])
@torch.no_grad()
def test_attention_equals_torch_multihead_attention(cross: bool) -> None:
    attention = make()
    x = torch.randn(3, 5, 16)
    memory = torch.randn(3, 7, 16) if cross else None
    keep = torch.ones(3, 7 if cross else 5, dtype=torch.bool)
    keep[1, 3:] = False
    mask = key_mask(keep, 5)
    recorder = Recorder()
    ours = attention(x, mask, recorder, memory=memory)
    read = x if memory is None else memory
    theirs, weights = reference(attention)(x, read, read, key_padding_mask=~keep, average_attn_weights=False)
    # float32 sums of 16 products in another order: 1e-6 of values around 1
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)
    torch.testing.assert_close(recorder.values["weights"], weights, atol=1e-6, rtol=0)


@torch.no_grad()
def test_every_point_equals_a_float64_einsum() -> None:
    attention = make()
    x = torch.randn(2, 6, 16)
    mask = causal_mask(6, 6).expand(2, -1, -1, -1)
    recorder = Recorder()
    attention(x, mask, recorder)
    got = {name: value.double() for name, value in recorder.values.items() if name != "mask"}

    def project(linear: nn.Linear) -> torch.Tensor:  # head h reads rows 4h to 4h + 3 of the map
        weight = linear.weight.double().view(4, 4, 16)
        return torch.einsum("btd,hed->bhte", x.double(), weight) + linear.bias.double().view(4, 1, 4)

    query, key, value = project(attention.to_query), project(attention.to_key), project(attention.to_value)
    scores = torch.einsum("bhqe,bhke->bhqk", query, key) / math.sqrt(4)
    exp = torch.where(mask, (scores - scores.amax(-1, keepdim=True)).exp(), 0.0)
    weights = exp / exp.sum(-1, keepdim=True)
    head_out = torch.einsum("bhqk,bhke->bhqe", weights, value)
    w_out = attention.to_out.weight.double().view(16, 4, 4)
    out = torch.einsum("bhqe,dhe->bqd", head_out, w_out) + attention.to_out.bias.double()
    want = {"query": query, "key": key, "value": value, "weights": weights, "head_out": head_out, "out": out}
    for name, value in want.items():
        torch.testing.assert_close(got[name], value, atol=1e-6, rtol=0, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize(("divisor", "number"), [("sqrt-head-dim", 2.0), ("sqrt-d-model", 4.0), ("learned", 2.5)])
@torch.no_grad()
def test_the_divisor_divides_each_dot_product(divisor: str, number: float) -> None:
    attention = make(divisor=divisor)
    if divisor == "learned":
        assert Attention(tiny_config(divisor=divisor)).divisor.item() == 4.0  # starts at the root of d_model
        attention.divisor.fill_(number)
    x, recorder = torch.randn(1, 3, 16), Recorder()
    attention(x, torch.ones(1, 1, 3, 3, dtype=torch.bool), recorder)
    query, key = recorder.values["query"].double(), recorder.values["key"].double()
    for head, i in product(range(4), range(3)):
        powers = [math.exp(float((query[0, head, i] * key[0, head, j]).sum()) / number) for j in range(3)]
        want = [power / sum(powers) for power in powers]
        assert recorder.values["weights"][0, head, i].tolist() == pytest.approx(want, abs=1e-6)


def test_a_learned_divisor_gets_the_same_gradient_explicit_and_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    x, mask, gradients = torch.randn(2, 6, 16), causal_mask(6, 6), []
    for fused_from in (512, 6):
        monkeypatch.setattr(attention_module, "FUSED_FROM", fused_from)
        attention = make(divisor="learned")
        attention.divisor.data.fill_(3.0)
        attention(x, mask, OFF).square().sum().backward()
        gradients.append(attention.divisor.grad)
    assert gradients[0].item() != 0
    torch.testing.assert_close(gradients[1], gradients[0], atol=0, rtol=1e-4)  # a sum of 600 float32 products


def test_two_tokens_worked_by_hand() -> None:
    # one head of one feature: scores are q*k / 1; the first query may see the first key only.
    # second query: scores 2*0 = 0 and 2*ln(3)/2 = ln 3, so the weights are 1/4 and 3/4
    scores = torch.tensor([[[[5.0, 9.0], [0.0, math.log(3)]]]])
    weights = softmax_or_zeros(scores, causal_mask(2, 2))
    torch.testing.assert_close(weights, torch.tensor([[[[1.0, 0.0], [0.25, 0.75]]]]))


def test_a_row_that_may_attend_to_nothing_gets_zeros_and_the_others_sum_to_one() -> None:
    mask = torch.tensor([[True, False, True], [False, False, False]])
    weights = softmax_or_zeros(torch.randn(2, 4, 2, 3), mask)
    sums = weights.sum(-1)
    torch.testing.assert_close(sums[:, :, 0], torch.ones(2, 4))
    assert torch.equal(sums[:, :, 1], torch.zeros(2, 4))
    assert torch.equal(weights[..., 1], torch.zeros(2, 4, 2))


def test_the_raw_reshape_lands_each_query_of_each_head_in_its_row_and_slot() -> None:
    x = torch.randn(2, 3, 5, 4)  # [B, H, T, E]
    merged = raw_reshape(x)
    assert merged.shape == (2, 5, 12)
    for head, query in product(range(3), range(5)):
        row, slot = landing_place(head, query, n_heads=3, length=5)
        assert (row, slot) == ((head * 5 + query) // 3, (head * 5 + query) % 3)
        assert torch.equal(merged[:, row, 4 * slot : 4 * slot + 4], x[:, head, query])


def test_splitting_and_concatenating_heads_are_inverse_and_heads_own_consecutive_features() -> None:
    x = torch.arange(2 * 3 * 8.0).view(2, 3, 8)
    heads = split_heads(x, 4)
    assert torch.equal(heads[1, 2, 0], x[1, 0, 4:6])
    assert torch.equal(concatenate_heads(heads), x)


@torch.no_grad()
def test_the_fused_kernel_gives_what_the_explicit_path_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    attention = make()
    x = torch.randn(2, 9, 16)
    mask = causal_mask(9, 9).repeat(2, 1, 1, 1)
    mask[1, :, 4] = False  # a query that sees nothing
    explicit, fused = Recorder(), Recorder()
    want = attention(x, mask, explicit)
    monkeypatch.setattr(attention_module, "FUSED_FROM", 9)
    got = attention(x, mask, fused)
    assert "weights" in explicit.values and "weights" not in fused.values
    torch.testing.assert_close(got, want, atol=1e-6, rtol=0)
    assert torch.equal(fused.values["head_out"][1, :, 4], torch.zeros(4, 4))
    assert torch.equal(attention(x, mask, OFF), got)
