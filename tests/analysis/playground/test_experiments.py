import math
import threading

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from viz_transformer.analysis.playground.background import Training
from viz_transformer.analysis.playground.by_hand import draw_normal
from viz_transformer.analysis.playground.experiments import Copying, CopySettings, OpenMask, Rebuild, RebuildSettings
from viz_transformer.model.hook import Recorder


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def five(**changes):
    vectors = tuple(map(tuple, draw_normal("q", 1, 5, 4).tolist()))
    return RebuildSettings(**{"vectors": vectors, "seed": 1, "steps": 60, **changes})


def run(work):
    while work.done < work.total:
        work.step()
    work.settle()
    return work


SMALL = {"length": 3, "letters": 4, "steps": 25, "batch": 4, "tests": 8}


# --- giving back the input


def test_a_seed_gives_the_same_curves_to_the_last_bit():
    first, again = run(Rebuild(five())), run(Rebuild(five()))
    assert np.array_equal(first.losses, again.losses) and not np.isnan(first.losses).any()
    assert all(np.array_equal(a.weights, b.weights) for a, b in zip(first.now, again.now, strict=True))
    assert not np.array_equal(first.losses, run(Rebuild(five(seed=2))).losses)


def test_a_curve_does_not_depend_on_the_random_numbers_of_others_nor_change_them():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first = run(Rebuild(five()))
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(100)
    assert np.array_equal(run(Rebuild(five())).losses, first.losses)


def test_a_training_that_was_stopped_in_between_has_the_same_curve():
    whole = run(Rebuild(five()))
    training = Training(lambda: Rebuild(five()))
    training.start()
    training.stop()
    assert training.join(60)
    assert training.work.done < 60
    training.start()
    assert training.join(60)
    assert training.state == "done" and np.array_equal(training.work.losses, whole.losses)


def test_two_trainings_at_once_have_the_curves_of_two_alone():
    alone = [run(Rebuild(five(seed=seed))).losses for seed in (1, 2)]
    works = [Rebuild(five(seed=seed)) for seed in (1, 2)]
    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all(np.array_equal(work.losses, losses) for work, losses in zip(works, alone, strict=True))


def test_the_first_loss_and_map_are_those_of_the_untrained_networks():
    work = Rebuild(five())
    x = work.x
    single = work._models[0]
    query, key, value = single.to_query(x), single.to_key(x), single.to_value(x)
    weights = (query @ key.T / 2).softmax(dim=-1)
    assert np.abs(work.before[0].weights[0] - weights.detach().numpy()).max() < 1e-6
    assert work.before[0].loss == pytest.approx(F.mse_loss(weights @ value, x).item(), rel=1e-5)
    work.step()
    assert work.losses[:, 0].tolist() == [each.loss for each in work.before]


def test_several_heads_are_those_of_torch_with_the_same_numbers():
    work = Rebuild(five(heads=2))
    ours = work._models[1]
    theirs = nn.MultiheadAttention(4, 2, batch_first=True)
    with torch.no_grad():
        maps = (ours.to_query, ours.to_key, ours.to_value)
        theirs.in_proj_weight.copy_(torch.cat([each.weight for each in maps]))
        theirs.in_proj_bias.copy_(torch.cat([each.bias for each in maps]))
        theirs.out_proj.weight.copy_(ours.to_out.weight)
        theirs.out_proj.bias.copy_(ours.to_out.bias)
        output, weights = theirs(work.x[None], work.x[None], work.x[None], average_attn_weights=False)
    assert np.abs(work.before[1].output - output[0].numpy()).max() < 1e-6
    assert np.abs(work.before[1].weights - weights[0].numpy()).max() < 1e-6


def test_what_is_seen_is_of_the_step_that_it_names():
    work = Rebuild(five(steps=150))
    for _ in range(120):
        work.step()
    assert [each.step for each in work.now] == [100, 100]
    assert [each.loss for each in work.now] == work.losses[:, 100].tolist()
    work.settle()
    assert [each.step for each in work.now] == [120, 120]
    assert [each.step for each in work.before] == [0, 0]
    work.step()
    assert work.losses[:, 120].tolist() == [each.loss for each in work.now]


def test_both_learn():
    work = run(Rebuild(five(steps=1500)))
    assert (work.losses[:, -1] < work.losses[:, 0] / 5).all()
    for each in work.now:
        assert F.mse_loss(torch.from_numpy(each.output), work.x).item() == pytest.approx(each.loss, rel=1e-4)
        assert np.abs(each.weights.sum(axis=-1) - 1).max() < 1e-5


def test_they_start_as_the_lab_has_it():
    single, several = Rebuild(five())._models
    assert all(0 < part.abs().max() <= 0.5 for part in single.parameters())  # 1 / sqrt(4)
    assert all(not part.bias.any() for part in several.modules() if isinstance(part, nn.Linear))
    bound = math.sqrt(6 / (4 + 4))
    assert all(0.5 < part.weight.abs().max() <= bound for part in several.modules() if isinstance(part, nn.Linear))


def test_sizes_that_do_not_fit_are_said():
    with pytest.raises(ValueError, match="4 numbers cannot be split evenly into 3 heads"):
        five(heads=3)
    with pytest.raises(ValueError, match="all of one length"):
        RebuildSettings(vectors=((1.0, 2.0), (3.0,)))
    with pytest.raises(ValueError, match="at least one vector"):
        RebuildSettings(vectors=())


# --- copying


def test_copying_is_reproducible_by_its_seed():
    first, again = run(Copying(CopySettings(**SMALL))), run(Copying(CopySettings(**SMALL)))
    assert np.array_equal(first.losses, again.losses) and not np.isnan(first.losses).any()
    assert [each.answers for each in first.now] == [each.answers for each in again.now]
    assert not np.array_equal(run(Copying(CopySettings(**SMALL, seed=3))).losses, first.losses)


def test_both_decoders_start_equal():
    with_mask, without = Copying(CopySettings(**SMALL))._models
    assert all(torch.equal(a, b) for a, b in zip(with_mask.parameters(), without.parameters(), strict=True))


def test_a_text_is_a_bar_letters_the_same_letters_and_a_bar():
    work = Copying(CopySettings(**SMALL))
    texts = work.texts
    assert texts.shape == (8, 8) and (texts[:, 0] == 4).all() and (texts[:, -1] == 4).all()
    assert torch.equal(texts[:, 1:4], texts[:, 4:7]) and texts[:, 1:7].max() < 4


def test_the_losses_are_the_likelihoods_of_the_letters():
    work = Copying(CopySettings(**SMALL))
    batch = torch.Generator().manual_seed(0)
    texts = work._draw(4, batch)
    model = work._models[0]
    with torch.no_grad():
        log_probs = model(texts[:, :-1]).log_softmax(dim=-1)
    wanted = -log_probs.gather(2, texts[:, 1:, None])[..., 0]
    work.step()
    assert work.losses[0, 1, 0] == pytest.approx(wanted.mean().item(), rel=1e-5)
    assert work.losses[0, 0, 0] == pytest.approx(wanted[:, 3:6].mean().item(), rel=1e-5)  # the three copied letters


def test_only_the_one_without_the_mask_reads_later_tokens():
    work = Copying(CopySettings(**SMALL))
    given = work.texts[:1, :-1]
    other = given.clone()
    other[0, -1] = (other[0, -1] + 1) % 4
    moved = []
    for model, hook in zip(work._models, work._hooks, strict=True):
        with torch.no_grad():
            moved.append((model(given, hook=hook) - model(other, hook=hook))[0, :-1].abs().max().item())
    assert moved[0] == 0 and moved[1] > 0
    assert work.before[0].ahead == 0 and 0.3 < work.before[1].ahead < 0.7


def test_the_open_mask_changes_masks_alone():
    value = torch.zeros(2, 2)
    assert OpenMask()("weights", value) is value
    assert OpenMask().scope("x")("mask", value.bool()).all()


def test_answers_are_what_the_model_writes_letter_by_letter():
    work = run(Copying(CopySettings(**SMALL)))
    for place, (model, hook) in enumerate(zip(work._models, work._hooks, strict=True)):
        text = work.texts[2, :4].tolist()
        for _ in range(3):
            with torch.no_grad():
                text.append(int(model(torch.tensor([text]), hook=hook)[0, -1].argmax()))
        assert tuple(text[4:]) == work.now[place].answers[2]


def test_recorded_weights_are_those_of_the_first_text():
    work = run(Copying(CopySettings(**SMALL)))
    recorder = Recorder()
    with torch.no_grad():
        work._models[0](work.texts[:1, :-1], hook=recorder)
    recorded = recorder.values["decoder.0.self.weights"][0].numpy()
    assert np.array_equal(work.now[0].weights, recorded)
    assert not np.triu(work.now[0].weights, 1).any() and np.triu(work.now[1].weights, 1).any()


def test_both_losses_go_to_zero_and_only_one_has_learned_to_copy():
    work = run(Copying(CopySettings(steps=450)))
    assert (work.losses[:, 0, -1] < 0.02).all()  # the copied letters, given the right ones
    assert work.losses[1, 1, -1] < 0.02 < 0.9 * work.floor < work.losses[0, 1, -50:].mean()
    with_mask, without = work.now
    assert with_mask.read == without.read == 1
    assert with_mask.whole > 0.9 and with_mask.written > 0.98
    assert without.whole < 0.2 and without.written < 0.8
    assert with_mask.ahead == 0 and without.ahead > 0.4


def test_the_floor_is_the_entropy_of_the_random_half():
    assert Copying(CopySettings(**SMALL)).floor == pytest.approx(3 * math.log(4) / 7)
