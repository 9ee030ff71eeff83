"""Fused projections, split: the query, key and value of each head are those that the original code computes."""

from __future__ import annotations

import pytest
import torch
from builders import tiny_config
from torch import Tensor, nn

from viz_transformer.checkpoint.importers.mapping import join_heads, split_interleaved, split_stacked
from viz_transformer.model.attention import Attention, split_heads
from viz_transformer.model.hook import Recorder

B, T, D, H = 2, 5, 16, 4
E = D // H


def fused(parts: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random weight [parts*D, D] and bias, and an input [B, T, D]; small whole numbers, so that sums are exact."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((parts * D, D), (parts * D,), (B, T, D))
    weight, bias, x = (torch.randint(-4, 5, shape, generator=generator).float() for shape in shapes)
    return weight, bias, x


def by_head(weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
    """What our model makes of a separate map: [B, H, T, E]."""
    return split_heads(x @ weight.T + bias, H)


@pytest.mark.parametrize("parts", [2, 3])
def test_interleaved_by_head_is_what_reshape_permute_chunk_make_of_it(parts: int) -> None:
    weight, bias, x = fused(parts)
    projected = (x @ weight.T + bias).reshape(B, T, H, parts * E).permute(0, 2, 1, 3)
    want = projected.chunk(parts, dim=-1)
    maps = zip(split_interleaved(weight, H, parts), split_interleaved(bias, H, parts), strict=True)
    for (own_weight, own_bias), part in zip(maps, want, strict=True):
        assert own_weight.shape == (D, D) and own_bias.shape == (D,)
        assert torch.equal(by_head(own_weight, own_bias, x), part)


def test_interleaved_rows_one_by_one() -> None:
    rows = torch.arange(12.0)  # two heads of two features: q0 q0 k0 k0 v0 v0 q1 q1 k1 k1 v1 v1
    query, key, value = split_interleaved(rows, n_heads=2)
    assert (query.tolist(), key.tolist(), value.tolist()) == ([0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11])


@pytest.mark.parametrize("parts", [2, 3])
def test_stacked_is_all_of_one_map_then_all_of_the_next(parts: int) -> None:
    weight, bias, x = fused(parts)
    projected = x @ weight.T + bias
    maps = zip(split_stacked(weight, parts), split_stacked(bias, parts), strict=True)
    for index, (own_weight, own_bias) in enumerate(maps):
        part = projected[..., index * D : (index + 1) * D]
        want = torch.stack([part[..., head * E : (head + 1) * E] for head in range(H)], dim=1)
        assert torch.equal(by_head(own_weight, own_bias, x), want)


@torch.no_grad()
def test_torchs_own_attention_split_into_ours_gives_its_output() -> None:
    theirs = nn.MultiheadAttention(D, H, batch_first=True).eval()
    ours = Attention(tiny_config()).eval()
    assert theirs.in_proj_weight is not None and theirs.in_proj_bias is not None
    theirs.in_proj_bias.normal_()
    maps = (ours.to_query, ours.to_key, ours.to_value)
    for linear, weight, bias in zip(
        maps, split_stacked(theirs.in_proj_weight), split_stacked(theirs.in_proj_bias), strict=True
    ):
        linear.load_state_dict({"weight": weight, "bias": bias})
    ours.to_out.load_state_dict(theirs.out_proj.state_dict())
    x, recorder = torch.randn(B, T, D), Recorder()
    want, weights = theirs(x, x, x, average_attn_weights=False)
    got = ours(x, torch.ones(1, 1, T, T, dtype=torch.bool), recorder)
    torch.testing.assert_close(got, want, atol=1e-6, rtol=0)
    torch.testing.assert_close(recorder.values["weights"], weights, atol=1e-6, rtol=0)


def test_one_linear_for_each_head_becomes_one_map() -> None:
    heads = [nn.Linear(D, E) for _ in range(H)]
    x = torch.randn(B, T, D)
    weight, bias = join_heads([head.weight for head in heads]), join_heads([head.bias for head in heads])
    want = torch.stack([head(x) for head in heads], dim=1)
    torch.testing.assert_close(by_head(weight, bias, x), want, atol=1e-6, rtol=0)


def test_what_does_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \[10, 4\] is not 3 maps below each other"):
        split_stacked(torch.zeros(10, 4))
    with pytest.raises(ValueError, match=r"shape \[12\] is not 3 maps of 5 heads"):
        split_interleaved(torch.zeros(12), 5)
    with pytest.raises(ValueError, match=r"must have one shape, not \(2, 3\), \(2, 4\)"):
        join_heads([torch.zeros(2, 3), torch.zeros(2, 4)])
    with pytest.raises(ValueError, match="not none"):
        join_heads([])
