"""Layers against torch's own, for both places of the norm; embedding and positions against the paper's formulas."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from builders import tiny_config, tiny_model
from torch import nn

from viz_transformer.model.hook import OFF, Recorder
from viz_transformer.model.layers import DecoderLayer, EncoderLayer
from viz_transformer.model.masks import causal_mask, key_mask
from viz_transformer.model.norms import BesselNorm, LayerNorm, PositionsAndFeaturesNorm
from viz_transformer.model.positions import SinusoidalDoubled, sinusoid_table
from viz_transformer.model.transformer import Transformer

TORCH_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu-tanh": nn.GELU(approximate="tanh")}


def copy_attention(ours: nn.Module, theirs: nn.MultiheadAttention) -> None:
    maps = (ours.to_query, ours.to_key, ours.to_value)
    theirs.in_proj_weight.copy_(torch.cat([m.weight for m in maps]))
    theirs.in_proj_bias.copy_(torch.cat([m.bias for m in maps]))
    theirs.out_proj.load_state_dict(ours.to_out.state_dict())


def copy_norm(ours: LayerNorm, theirs: nn.LayerNorm) -> None:
    theirs.weight.copy_(ours.gain)
    theirs.bias.copy_(ours.offset)


@torch.no_grad()
def randomised(layer: nn.Module) -> nn.Module:
    for parameter in layer.parameters():
        parameter.normal_(std=0.3)
    return layer.eval()


# float32: a layer is a chain of roundings of values up to about 5; float64 shows that nothing else differs
TOLERANCE = {torch.float32: 5e-6, torch.float64: 1e-13}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("activation", TORCH_ACTIVATIONS)
@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_encoder_layer_equals_torch(norm: str, activation: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    ours = randomised(EncoderLayer(tiny_config(norm=norm, activation=activation))).to(dtype)
    theirs = nn.TransformerEncoderLayer(
        16, 4, 24, activation=TORCH_ACTIVATIONS[activation], batch_first=True, norm_first=norm == "pre"
    ).to(dtype)
    copy_attention(ours.self_attention, theirs.self_attn)
    theirs.linear1.load_state_dict(ours.feed_forward.to_hidden.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.to_out.state_dict())
    copy_norm(ours.self_residual.norm, theirs.norm1)
    copy_norm(ours.ffn_residual.norm, theirs.norm2)
    x = torch.randn(2, 6, 16, dtype=dtype)
    keep = torch.ones(2, 6, dtype=torch.bool)
    keep[1, 4:] = False
    got = ours(x, key_mask(keep, 6), OFF)
    torch.backends.mha.set_fastpath_enabled(False)  # the fast path takes the tanh GELU for the exact one
    try:
        want = theirs.eval()(x, src_key_padding_mask=~keep)
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    torch.testing.assert_close(got, want, atol=TOLERANCE[dtype], rtol=0)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_decoder_layer_equals_torch(norm: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    ours = randomised(DecoderLayer(tiny_config(norm=norm))).to(dtype)
    theirs = nn.TransformerDecoderLayer(16, 4, 24, batch_first=True, norm_first=norm == "pre").to(dtype).eval()
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    theirs.linear1.load_state_dict(ours.feed_forward.to_hidden.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.to_out.state_dict())
    for residual, norm_module in (
        (ours.self_residual, theirs.norm1),
        (ours.cross_residual, theirs.norm2),
        (ours.ffn_residual, theirs.norm3),
    ):
        copy_norm(residual.norm, norm_module)
    x, memory = torch.randn(2, 5, 16, dtype=dtype), torch.randn(2, 7, 16, dtype=dtype)
    keep = torch.ones(2, 7, dtype=torch.bool)
    keep[0, 3:] = False
    got = ours(x, causal_mask(5, 5), OFF, memory=memory, memory_mask=key_mask(keep, 5))
    want = theirs(x, memory, tgt_mask=~causal_mask(5, 5)[0, 0], memory_key_padding_mask=~keep)
    torch.testing.assert_close(got, want, atol=TOLERANCE[dtype], rtol=0)


@torch.no_grad()
def test_the_norm_equals_torch_and_its_points_are_mean_and_root() -> None:
    norm = randomised(LayerNorm(tiny_config()))
    x = 3 * torch.randn(2, 5, 16) + 1
    recorder = Recorder()
    want = torch.nn.functional.layer_norm(x, (16,), norm.gain, norm.offset, 1e-5)
    torch.testing.assert_close(norm(x, recorder), want, atol=1e-6, rtol=0)
    exact = x.double()
    torch.testing.assert_close(recorder.values["norm_mean"].double()[..., 0], exact.mean(-1), atol=1e-6, rtol=0)
    scale = ((exact - exact.mean(-1, keepdim=True)).square().mean(-1) + 1e-5).sqrt()
    torch.testing.assert_close(recorder.values["norm_scale"].double()[..., 0], scale, atol=1e-6, rtol=0)


@torch.no_grad()
def test_the_bessel_norm_divides_by_the_corrected_deviation_plus_epsilon() -> None:
    norm = randomised(BesselNorm(tiny_config(norm_kind="bessel", norm_epsilon=0.25)))  # an epsilon one can see
    x = 3 * torch.randn(2, 5, 16) + 1
    recorder = Recorder()
    got = norm(x, recorder)
    for row in range(5):
        values = x[1, row].tolist()
        mean = sum(values) / 16
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / 15)
        want = [(v - mean) / (deviation + 0.25) for v in values]
        want = [v * g + o for v, g, o in zip(want, norm.gain.tolist(), norm.offset.tolist(), strict=True)]
        assert got[1, row].tolist() == pytest.approx(want, abs=1e-6)
        assert recorder.values["norm_mean"][1, row].item() == pytest.approx(mean, abs=1e-6)
        assert recorder.values["norm_scale"][1, row].item() == pytest.approx(deviation + 0.25, abs=1e-6)


@torch.no_grad()
def test_a_norm_over_positions_and_features_takes_one_mean_and_one_variance_of_a_text() -> None:
    norm = randomised(PositionsAndFeaturesNorm(tiny_config(norm_epsilon=0.25)))
    x = 3 * torch.randn(2, 5, 16) + 1
    recorder = Recorder()
    got = norm(x, recorder)
    numbers = [value for row in x[1].tolist() for value in row]
    mean = sum(numbers) / 80
    scale = math.sqrt(sum((number - mean) ** 2 for number in numbers) / 80 + 0.25)
    for row, feature in product(range(5), range(16)):
        want = (x[1, row, feature].item() - mean) / scale * norm.gain[feature].item() + norm.offset[feature].item()
        assert got[1, row, feature].item() == pytest.approx(want, abs=1e-6)
    assert recorder.values["norm_mean"].shape == recorder.values["norm_scale"].shape == (2, 1, 1)
    assert recorder.values["norm_mean"][1].item() == pytest.approx(mean, abs=1e-6)
    assert recorder.values["norm_scale"][1].item() == pytest.approx(scale, abs=1e-6)


@torch.no_grad()
def test_the_norm_behind_the_encoder_may_be_torch_while_the_others_are_bessel() -> None:
    model = tiny_model(tiny_config(norm_kind="bessel", norm_epsilon=1e-2, encoder_final_norm="torch"))
    recorder = Recorder()
    memory, _ = model.encode(torch.tensor([[5, 6, 7]]), recorder)
    norm = model.encoder.norm
    read = recorder.values["encoder.1.residual_out"]
    want = torch.nn.functional.layer_norm(read, (16,), norm.gain, norm.offset, 1e-5)
    torch.testing.assert_close(memory, want, atol=1e-6, rtol=0)
    assert isinstance(model.decoder.norm, BesselNorm) and model.decoder.norm.epsilon == 1e-2


def test_sinusoids_follow_the_paper_cell_by_cell() -> None:
    table = sinusoid_table(30, 8)
    for position in (0, 1, 7, 29):
        for column in range(8):
            angle = position / 10000 ** (2 * (column // 2) / 8)
            want = math.sin(angle) if column % 2 == 0 else math.cos(angle)
            assert table[position, column].item() == pytest.approx(want, abs=1e-7)


def test_doubled_sinusoids_follow_the_tutorial_cell_by_cell() -> None:
    table = SinusoidalDoubled().table(30, 8)
    i = [0, 0, 2, 2, 4, 4, 6, 6]  # and then the paper's exponent 2i/d of these
    for position in (0, 1, 7, 29):
        for column in range(8):
            angle = position / 10000 ** (2 * i[column] / 8)
            want = math.sin(angle) if column % 2 == 0 else math.cos(angle)
            assert table[position, column].item() == pytest.approx(want, abs=1e-7)


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal-doubled", "learned", "none"])
@pytest.mark.parametrize(("scale", "factor"), [("one", 1.0), ("sqrt", 4.0), ("learned", 5.25)])
@torch.no_grad()
def test_the_embedding_is_scaled_token_plus_position(positions: str, scale: str, factor: float) -> None:
    model = tiny_model(tiny_config(positions=positions, embedding_scale=scale))
    if scale == "learned":
        assert Transformer(model.config).encoder.embedding.scale.item() == 4.0  # starts at the root of d_model
        model.encoder.embedding.scale.fill_(5.25)
    recorder = Recorder()
    ids = torch.tensor([[5, 6, 5]])
    model.encode(ids, recorder)
    values = recorder.values
    weight = model.encoder.embedding.token.weight
    torch.testing.assert_close(values["encoder.embed.token"][0], weight[ids[0]] * factor)
    if positions == "none":
        assert "encoder.embed.position" not in values
        assert torch.equal(values["encoder.embed.out"], values["encoder.embed.token"])
    else:
        tables = {"sinusoidal": sinusoid_table(20, 16), "sinusoidal-doubled": SinusoidalDoubled().table(20, 16)}
        table = tables.get(positions, getattr(model.encoder.embedding.position, "table", None))
        assert torch.equal(values["encoder.embed.position"][0], table[:3])
        total = values["encoder.embed.token"] + values["encoder.embed.position"]
        assert torch.equal(values["encoder.embed.out"], total)
