"""Feed-forwards of several experts: which of them a token has, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from pretrained import KINDS

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.hook import Recorder

Opened = Callable[[str], Checkpoint]
EXPERTS = [
    name
    for name, (_, settings) in KINDS.items()
    if {"num_experts", "num_local_experts", "n_routed_experts"} & settings.keys()
]
SOURCE, TARGET = [5, 9, 13, 7, 20, 21, 22, 6, 8, 30], [2, 30, 12, 33, 34, 5]


def recorded(ckpt: Checkpoint, *edits: Any) -> Mapping[str, torch.Tensor]:
    recorder = Recorder(edits)
    ckpt.hooked_model.whole(*([SOURCE], [TARGET]) if ckpt.spec.has_encoder else (None, [SOURCE]), hook=recorder)
    return recorder.values


@torch.no_grad()
def theirs_of(model: Any, kind: str, *, reads: bool) -> list[Any]:
    """What the modules of this kind read or give in the untouched model's pass, in turn."""
    seen: list[Any] = []
    modules = [each for name, each in model.named_modules() if type(each).__name__.endswith(kind)]
    hooks = [each.register_forward_hook(lambda _, args, out: seen.append(args if reads else out)) for each in modules]
    ids = {"input_ids": torch.tensor([SOURCE])}
    model(**ids, **({"decoder_input_ids": torch.tensor([TARGET])} if model.config.is_encoder_decoder else {}))
    for hook in hooks:
        hook.remove()
    return seen


@pytest.mark.parametrize("name", EXPERTS)
def test_the_routers_numbers_and_the_shares_are_theirs(opened: Opened, theirs: Callable[[str], Any], name: str) -> None:
    found = recorded(opened(name))
    routed = theirs_of(theirs(name), "Router", reads=False)
    points = [point.name for point in opened(name).spec.recorded if point.name.endswith(".ffn.router")]
    assert (
        len(points)
        == len(routed)
        == (1 if name in ("qwen2_moe", "qwen3_moe", "deepseek_v3") else 3 if "switch" in name else 2)
    )
    for point, made in zip(points, routed, strict=True):
        shares = found[f"{point.removesuffix('router')}experts"][0]
        if "switch" in name:
            chosen, share, logits = made
            expected = (chosen * share)[0]
        else:
            logits, share, chosen = made
            expected = torch.zeros_like(shares)
            for row, place in enumerate(chosen.tolist()):
                expected[row, place] = share[row]
        assert torch.equal(found[point][0], logits.view(found[point][0].shape))
        assert torch.equal(shares, expected) and (shares != 0).sum(-1).max() == (1 if "switch" in name else 2)


class Rolled:
    """Each expert's share is the next one's: others work."""

    def __init__(self, point: str, times: tuple[float, ...] = (1.0,)) -> None:
        self.point, self.times = point, times

    def apply(self, value: torch.Tensor, start: int, values: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return sum((value.roll(place + 1, dims=-1) * share for place, share in enumerate(self.times)), 0 * value)


@pytest.mark.parametrize("times", [(1.0,), (0.0, 2.0), (0.5, 0.25, -1.0)])
@pytest.mark.parametrize("name", ["mixtral", "switch_transformers"])
def test_other_shares_let_other_experts_work(opened: Opened, name: str, times: tuple[float, ...]) -> None:
    """Also more of them for a token than the model itself lets work, each by its share."""
    ckpt = opened(name)
    layer = "encoder.1" if ckpt.spec.has_encoder else "decoder.1"
    found = recorded(ckpt, Rolled(f"{layer}.ffn.experts", times))
    model: Any = ckpt.hooked_model.model  # type: ignore[attr-defined]
    module = model.encoder.block[1].layer[1].mlp if ckpt.spec.has_encoder else model.model.layers[1].mlp
    rows, shares = found[f"{layer}.ffn.in"][0], found[f"{layer}.ffn.experts"][0]
    expected = torch.zeros_like(rows)
    for expert in range(shares.size(-1)):
        expected += shares[:, expert, None] * one_expert(module.experts, expert, rows)
    torch.testing.assert_close(found[f"{layer}.ffn.out"][0], expected, rtol=1e-5, atol=1e-5)


def one_expert(experts: Any, index: int, rows: torch.Tensor) -> torch.Tensor:
    if hasattr(experts, "expert_0"):
        made: torch.Tensor = experts[f"expert_{index}"](rows)
        return made
    gate, up = torch.nn.functional.linear(rows, experts.gate_up_proj[index]).chunk(2, dim=-1)
    return torch.nn.functional.linear(torch.nn.functional.silu(gate) * up, experts.down_proj[index])


def test_weights_beside_a_sink_leave_its_share(opened: Opened) -> None:
    ckpt = opened("gpt_oss")
    found = recorded(ckpt)
    site = "decoder.1.self"
    sinks = ckpt.hooked_model.model.model.layers[1].self_attn.sinks  # type: ignore[attr-defined]
    assert torch.equal(found[f"{site}.sink"][0, :, 3, 0], sinks)
    query, key, mask = (found[f"{site}.{part}"][0].double() for part in ("query", "key", "mask"))
    scores = query @ key.repeat_interleave(2, dim=0).transpose(1, 2) / 8**0.5
    strength = scores.exp() * mask
    weights = strength / (strength.sum(-1, keepdim=True) + sinks.double().exp()[:, None, None])
    torch.testing.assert_close(found[f"{site}.weights"][0].double(), weights, rtol=1e-5, atol=1e-6)
    assert weights.sum(-1).min() < 0.9
