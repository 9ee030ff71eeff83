"""The loss, the learning rate and the optimiser of training."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from backwards import backwards_codecs, backwards_model, backwards_pairs, backwards_task
from builders import SOURCE, TARGET, random_ids, tiny_config, tiny_model

from viz_transformer.model.transformer import Transformer
from viz_transformer.train.checkpoint_callback import history_csv, mean_loss
from viz_transformer.train.data import EncodedPairs, TrainingOrder
from viz_transformer.train.module import FloatMuon, TrainingModule, rate_factor

CODECS = backwards_codecs()


def module(smoothing: float, **plan: str | float) -> TrainingModule:
    task = backwards_task(smoothing=smoothing, **plan)
    torch.manual_seed(0)
    pairs = EncodedPairs(backwards_pairs(0, 50), CODECS, (12, 12), "train")
    made = TrainingModule(
        Transformer(backwards_model(*CODECS)), TrainingOrder(pairs, tokens=120, seed=1), task.plan, total=10
    )
    made.log = lambda *_, **__: None  # type: ignore[method-assign]  # there is no trainer
    return made.eval()


def test_rate_rises_linearly_then_falls_to_zero():
    rates = [rate_factor(step, warmup=10, total=110) for step in range(111)]
    assert rates[:10] == pytest.approx([0.1 * (i + 1) for i in range(10)])
    assert rates[10] == 1.0 and rates[60] == pytest.approx(0.5) and rates[110] == pytest.approx(0.0, abs=1e-12)
    assert all(a > b for a, b in pairwise(rates[10:]))


def test_a_short_training_still_reaches_its_peak_rate():
    assert max(rate_factor(step, warmup=500, total=20) for step in range(20)) == 1.0


def test_loss_is_the_smoothed_cross_entropy_of_the_tokens_without_padding():
    """Written out with plain loops, in float64: (1 - e) of the target's -log p, e of the mean over the vocabulary."""
    trained = module(smoothing=0.2)
    src, tgt = batch = trained.order[0]
    log_probs = trained.model(src, tgt[:, :-1]).double().log_softmax(dim=-1)
    losses = []
    for row in range(len(tgt)):
        for position in range(tgt.size(1) - 1):
            wanted = int(tgt[row, position + 1])
            if wanted != 3:
                at = log_probs[row, position]
                losses.append(-0.8 * float(at[wanted].detach()) - 0.2 * float(at.mean().detach()))
    assert float(trained.training_step(batch, 0).detach()) == pytest.approx(sum(losses) / len(losses), rel=1e-6)


def test_consistency_reads_twice_and_adds_how_far_the_two_are_apart():
    """Written out in float64, with the dropout of the same seed: R-Drop, Liang et al. (2021), equation 4, halved."""
    trained = module(smoothing=0.1, consistency=5.0).train()
    src, tgt = batch = trained.order[0]
    assert src is not None
    torch.manual_seed(3)
    logits = trained.model(torch.cat([src, src]), torch.cat([tgt, tgt])[:, :-1]).detach().double()
    half, wanted = len(src), tgt[:, 1:]
    losses, apart = [], []
    for row in range(half):
        for position in range(wanted.size(1)):
            if wanted[row, position] == 3:
                continue
            p, q = (logits[row + half * k, position].log_softmax(-1) for k in (0, 1))
            right = int(wanted[row, position])
            losses += [float(-0.9 * each[right] - 0.1 * each.mean()) for each in (p, q)]
            apart.append(float((p.exp() * (p - q)).sum() + (q.exp() * (q - p)).sum()) / 2)
    expected = sum(losses) / len(losses) + 5.0 / 2 * sum(apart) / len(apart)
    torch.manual_seed(3)
    assert float(trained.training_step(batch, 0).detach()) == pytest.approx(expected, rel=1e-5)
    assert sum(apart) > 0.01  # dropout was on


def test_the_average_of_the_weights_starts_with_the_first_and_is_what_is_kept():
    trained = module(smoothing=0.0, averaging=0.75)
    plain = module(smoothing=0.0)
    assert trained.kept is not trained.model and plain.kept is plain.model
    first = {name: value.clone() for name, value in trained.model.state_dict().items()}
    assert all(torch.equal(value, first[name]) for name, value in trained.kept.state_dict().items())
    for value in trained.model.parameters():
        value.data += 1.0
    assert trained.average is not None
    trained.average.update_parameters(trained.model)
    for name, value in trained.kept.named_parameters():
        assert torch.allclose(value, first[name] + 0.25, atol=1e-6)
    assert not any(value.requires_grad for value in trained.kept.parameters())


def test_measured_loss_has_no_smoothing_and_no_dropout_and_counts_tokens_not_batches():
    trained = module(smoothing=0.2).train()
    batches = [trained.order[0], trained.order[1]]
    measured = mean_loss(trained.model, batches)
    assert trained.model.training and mean_loss(trained.model, batches) == measured
    plain = module(smoothing=0.0)
    counts = [int((tgt[:, 1:] != 3).sum()) for _, tgt in batches]
    losses = [float(plain.training_step(batch, 0).detach()) for batch in batches]
    expected = sum(loss * n for loss, n in zip(losses, counts, strict=True)) / sum(counts)
    assert measured == pytest.approx(expected, rel=1e-6)


def test_gradients_are_clipped_and_their_norm_is_kept_from_before():
    trained = module(smoothing=0.0)
    optimizer = trained.configure_optimizers()["optimizer"]
    for parameter in trained.parameters():
        parameter.grad = torch.full_like(parameter, 3.0)
    before = 3.0 * math.sqrt(sum(parameter.numel() for parameter in trained.parameters()))
    trained.configure_gradient_clipping(optimizer)
    after = torch.cat([parameter.grad.flatten() for parameter in trained.parameters()]).norm()  # type: ignore[union-attr]
    assert float(trained.gradient_norm) == pytest.approx(before, rel=1e-5) and float(after) == pytest.approx(1.0, 1e-4)


def test_only_matrices_decay_and_every_parameter_is_optimised():
    trained = module(smoothing=0.0)
    groups = trained.configure_optimizers()["optimizer"].param_groups
    assert sum(len(group["params"]) for group in groups) == len(list(trained.parameters()))
    assert [group["weight_decay"] > 0 for group in groups] == [True, False]
    assert all(parameter.dim() == 1 for parameter in groups[1]["params"])


def test_muon_takes_the_matrices_inside_the_layers_and_adamw_everything_else():
    trained = module(smoothing=0.0, optimizer="muon")
    optimizer = trained.configure_optimizers()["optimizer"]
    names = {id(parameter): name for name, parameter in trained.model.named_parameters()}
    groups = [{names[id(parameter)] for parameter in group["params"]} for group in optimizer.param_groups]
    assert sum(map(len, groups)) == len(names) and set().union(*groups) == set(names.values())
    assert [type(part).__name__ for part in optimizer.parts] == ["Muon", "AdamW"]
    assert groups[0] == {n for n, p in trained.model.named_parameters() if ".layers." in n and p.dim() == 2}
    assert "encoder.embedding.token.weight" in groups[1] and "output.weight" in groups[1]
    before = {name: parameter.detach().clone() for name, parameter in trained.model.named_parameters()}
    trained.training_step(trained.order[0], 0).backward()
    optimizer.step()
    after = dict(trained.model.named_parameters())
    assert all(not torch.equal(before[name], after[name]) for name in before if after[name].grad.abs().max() > 0)


@pytest.mark.parametrize("shape", [(64, 64), (96, 32), (32, 96)])
def test_muon_in_float32_steps_like_torchs_but_for_the_rounding_of_bfloat16(shape: tuple[int, int]):
    torch.manual_seed(0)
    start = torch.randn(shape)
    theirs, ours = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    options: dict[str, Any] = {"lr": 0.01, "weight_decay": 0.1, "adjust_lr_fn": "match_rms_adamw"}
    optimizers = torch.optim.Muon([theirs], **options), FloatMuon([ours], **options)
    for _ in range(5):
        theirs.grad = torch.randn(shape)
        ours.grad = theirs.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    moved = (theirs.detach() - start).norm()
    assert float((theirs.detach() - ours.detach()).norm() / moved) < 0.02 and float(moved) > 0.1


def test_history_leaves_what_does_not_exist_empty():
    row = {"train_loss": 2.0, "validation_loss": 2.5, "learning_rate": 0.0}
    first = {"step": 0, **row, "gradient_norm": math.nan, "seconds": 0.5}
    text = history_csv([first, {"step": 10, **row, "gradient_norm": 1.25}])
    assert text.splitlines() == [
        "step,train_loss,validation_loss,learning_rate,gradient_norm,seconds",
        "0,2,2.5,0,,0.5",
        "10,2,2.5,0,1.25,",
    ]


def test_the_loss_that_chooses_the_best_weights_is_smoothed_as_the_trained_one():
    model = tiny_model(tiny_config())
    src, tgt = random_ids(len(SOURCE), 3, 5), random_ids(len(TARGET), 3, 6, seed=2)
    tgt[2, 4:] = 0
    with torch.no_grad():
        log_probs = model(src, tgt[:, :-1]).double().log_softmax(-1)
    total, tokens = 0.0, 0
    for row in range(3):
        for place in range(5):
            token = int(tgt[row, place + 1])
            if token:
                own = log_probs[row, place, token].item()
                total -= 0.9 * own + 0.1 * log_probs[row, place].mean().item()
                tokens += 1
    assert tokens == 13
    assert mean_loss(model, [(src, tgt)], 0.1) == pytest.approx(total / tokens, rel=1e-6)
