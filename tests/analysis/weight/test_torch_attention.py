"""nn.MultiheadAttention with the same weights: equal where it must be, different where it must be, or a sentence."""

import numpy as np
import pytest
from builders import tiny_checkpoint, tiny_model
from ladders import VARIANTS, run_of

from viz_transformer.analysis.weight.torch_attention import torch_attention
from viz_transformer.model import attention
from viz_transformer.model.kinds import KINDS
from viz_transformer.running.tracing import trace

OTHER_DIVISOR = ("divided by the root of d_model", "learned divisor and scale")
RAW = ("raw merge", "slips")
ROTARY = ("rotary", "rotary, post-norm")


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("variant", [name for name in VARIANTS if name not in OTHER_DIVISOR])
def test_torch_gives_the_same_weights_and_the_same_output(variant, kind):
    ckpt, run = run_of(variant)
    found = torch_attention(run, ckpt.model, kind, 1)
    if variant in ROTARY and kind != "cross":
        assert found.weights is None and "does not turn queries and keys" in found.reason == found.out_reason
        return
    assert found.weights is not None and found.weights.defined.any()
    assert found.weights.largest < 1e-6  # float32 sums in another order
    assert (found.out is None) is (variant in RAW)
    if found.out is None:
        assert "raw reshape" in found.out_reason
    else:
        assert found.out.largest < 1e-5
        assert found.out.ours.shape == found.out.torch.shape == run[f"{KINDS[kind].site(1)}.out"][0].shape


@pytest.mark.parametrize("variant", OTHER_DIVISOR)
def test_another_divisor_is_a_sentence(variant):
    ckpt, run = run_of(variant)
    found = torch_attention(run, ckpt.model, "cross", 1)
    assert found.weights is None and found.out is None
    divisor = run.scalars["decoder.1.cross.divisor"]
    sentence = "it always divides scores by the square root of head_dim, 2; this model divides by"
    assert found.reason == f"{sentence} {divisor:.6g}"


def test_a_learned_divisor_that_is_the_root_of_head_dim_compares():
    ckpt = tiny_checkpoint(divisor="sqrt-d-model", n_heads=1)  # one head: head_dim is d_model
    found = torch_attention(trace(ckpt, [4, 5], [1, 9]), ckpt.model, "cross", 0)
    assert found.weights is not None and found.weights.largest < 1e-6


def test_other_weights_give_another_attention():
    ckpt, run = run_of("pre-norm")
    found = torch_attention(run, tiny_model(ckpt.config, seed=7), "cross", 1)
    assert found.weights is not None and found.out is not None
    assert found.weights.largest > 0.01 and found.out.largest > 0.01


def test_a_row_that_may_attend_to_nothing_is_torchs_nan_and_is_left_out():
    ckpt, run = run_of("zero rows, queries masked")
    found = torch_attention(run, ckpt.model, "encoder", 1)
    assert found.weights is not None and found.out is not None
    assert found.weights.defined[:, :5].all() and not found.weights.defined[:, 5:].any()  # 5 tokens, then padding
    assert np.isnan(found.weights.torch[:, 5:]).all() and (found.weights.ours[:, 5:] == 0).all()
    assert found.weights.largest < 1e-6 and found.out.largest < 1e-5
    assert found.out.defined.tolist() == [True] * 5 + [False] * 2


def test_a_long_attention_that_ran_fused_compares(monkeypatch):
    monkeypatch.setattr(attention, "FUSED_FROM", 2)
    ckpt, run = run_of("pre-norm")
    found = torch_attention(run, ckpt.model, "decoder", 1)
    assert found.weights is not None and found.out is not None
    assert found.weights.largest < 1e-6 and found.out.largest < 1e-5


def test_a_layer_that_the_model_lacks_is_said():
    ckpt, run = run_of("pre-norm")
    with pytest.raises(ValueError, match="there is no layer 3"):
        torch_attention(run, ckpt.model, "cross", 3)
