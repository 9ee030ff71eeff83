"""Where dropout acts in training: each place found by its zeros, each switch by their absence; none in evaluation."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from builders import SOURCE, TARGET, random_ids, tiny_config, tiny_model

from viz_transformer.model.dropout import Dropout
from viz_transformer.model.hook import OFF, Recorder
from viz_transformer.model.layers import FeedForward

DROPPED = 0.5


def training_run(**changes: Any) -> dict[str, torch.Tensor]:
    """The points of one run with dropout, one layer each."""
    config = tiny_config(dropout=DROPPED, norm="post", encoder_layers=1, decoder_layers=1, **changes)
    model = tiny_model(config).train()
    recorder = Recorder()
    model(random_ids(len(SOURCE), 4, 7), random_ids(len(TARGET), 4, 6, seed=2), recorder)
    return {name: value.detach() for name, value in recorder.values.items()}


def dropped_share(dropped: torch.Tensor, whole: torch.Tensor) -> float:
    """The share of zeros where `whole` has none; the rest must be `whole` scaled up."""
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], whole[kept] / (1 - DROPPED), atol=1e-5, rtol=1e-4)
    return 1 - float(kept[whole != 0].float().mean())


@pytest.mark.parametrize("on", [True, False])
def test_embedding_dropout_can_be_left_out(on: bool) -> None:
    run = training_run(embedding_dropout=on)
    total = run["encoder.embed.token"] + run["encoder.embed.position"]
    if on:
        assert dropped_share(run["encoder.embed.out"], total) == pytest.approx(0.5, abs=0.15)
    else:
        assert torch.equal(run["encoder.embed.out"], total)


@pytest.mark.parametrize("on", [True, False])
def test_attention_dropout_can_be_left_out(on: bool) -> None:
    weights = training_run(attention_dropout=on)["encoder.0.self.weights"]
    if on:
        assert float((weights == 0).float().mean()) == pytest.approx(0.5, abs=0.15)
    else:
        torch.testing.assert_close(weights.sum(-1), torch.ones(4, 4, 7), atol=1e-5, rtol=0)


@pytest.mark.parametrize("place", ["output", "none", "stream"])
def test_dropout_where_the_decoders_feed_forward_joins_the_stream(place: str) -> None:
    run = training_run(decoder_ffn_dropout=place)
    stream, out = run["decoder.0.residual_after_cross"], run["decoder.0.ffn.out"]
    total = run["decoder.0.residual_out_sum"]
    if place == "none":
        assert torch.equal(total, stream + out)
    elif place == "output":
        assert share_dropped_from(total - stream, out) == pytest.approx(0.5, abs=0.15)
    else:
        assert share_dropped_from(total - out, stream) == pytest.approx(0.5, abs=0.15)
    # the encoder's has dropout of the output whatever the decoder's has
    encoder = run["encoder.0.residual_out_sum"] - run["encoder.0.residual_after_self"]
    assert share_dropped_from(encoder, run["encoder.0.ffn.out"]) == pytest.approx(0.5, abs=0.15)


def share_dropped_from(difference: torch.Tensor, whole: torch.Tensor) -> float:
    """As dropped_share, for a difference of float32 numbers: zero is what rounding leaves."""
    return dropped_share(torch.where(difference.abs() < 1e-5, 0.0, difference), whole)


@pytest.mark.parametrize("place", ["after-activation", "before-activation", "none"])
@torch.no_grad()
def test_the_feed_forwards_dropout_stands_before_or_after_the_activation(place: str) -> None:
    config = tiny_config(dropout=DROPPED, activation="gelu", ffn_dropout=place)
    torch.manual_seed(0)
    feed_forward = FeedForward(config).train()
    x, recorder = torch.randn(2, 50, 16), Recorder()
    feed_forward(x, recorder)
    before = feed_forward.to_hidden(x)
    hidden = recorder.values["hidden"]
    if place == "none":
        assert torch.equal(hidden, torch.nn.functional.gelu(before))
        return
    kept = hidden != 0
    assert float(kept.float().mean()) == pytest.approx(0.5, abs=0.1)
    gelu = torch.nn.functional.gelu
    want = 2 * gelu(before) if place == "after-activation" else gelu(2 * before)
    torch.testing.assert_close(hidden[kept], want[kept], atol=1e-6, rtol=1e-5)
    assert torch.equal(feed_forward.eval()(x, OFF), feed_forward(x, OFF))


@torch.no_grad()
def test_no_place_of_dropout_changes_a_bit_in_evaluation() -> None:
    variants: list[dict[str, Any]] = [
        {},
        {"embedding_dropout": False, "attention_dropout": False, "ffn_dropout": "before-activation"},
        {"decoder_ffn_dropout": "none"},
        {"decoder_ffn_dropout": "stream"},
    ]
    src, tgt = random_ids(len(SOURCE), 2, 7), random_ids(len(TARGET), 2, 6, seed=2)
    outputs = [tiny_model(tiny_config(dropout=DROPPED, **variant))(src, tgt) for variant in variants]
    assert all(torch.equal(first, second) for first, second in pairwise(outputs))


def test_the_dropped_share_and_the_expectation_are_right() -> None:
    torch.manual_seed(0)
    n = 1_000_000
    for p in (0.1, 0.25, 0.5, 0.9):
        dropped = Dropout(p).train()(torch.ones(n))
        share = float((dropped == 0).float().mean())
        assert share == pytest.approx(p, abs=5 * (p * (1 - p) / n) ** 0.5 + 2**-16)
        kept = dropped[dropped != 0]
        assert torch.equal(kept, kept[:1].expand_as(kept))  # one factor for all
        assert float(kept[0]) == pytest.approx(1 / (1 - p), rel=1e-4 / (1 - p))


def test_neighbours_are_dropped_independently() -> None:
    torch.manual_seed(1)
    zero = (Dropout(0.5).train()(torch.ones(400_000)) == 0).view(-1, 4)
    for a, b in ((0, 1), (1, 2), (2, 3), (0, 3)):  # four values share one random number
        assert float((zero[:, a] & zero[:, b]).float().mean()) == pytest.approx(0.25, abs=0.01)


def test_gradients_pass_where_values_passed() -> None:
    torch.manual_seed(2)
    x = torch.randn(7, 11, requires_grad=True)
    out = Dropout(0.3).train()(x)
    out.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad * x, out)
    assert torch.equal(x.grad == 0, out == 0)


def test_dropout_does_nothing_in_evaluation_or_with_share_zero() -> None:
    x = torch.randn(5)
    assert Dropout(0.5).eval()(x) is x and Dropout(0.0).train()(x) is x


def test_the_same_seed_drops_the_same_and_half_precision_stays() -> None:
    x = torch.ones(3, 5, dtype=torch.bfloat16)
    drawn = []
    for _ in range(2):
        torch.manual_seed(7)
        drawn.append(Dropout(0.5).train()(x))
    assert torch.equal(*drawn) and drawn[0].dtype == torch.bfloat16
    assert not torch.equal(drawn[0], Dropout(0.5).train()(x))
