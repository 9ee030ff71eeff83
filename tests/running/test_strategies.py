"""Strategies: each cut in its order, with its reason, against plain loops in Python; draws against probabilities."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import pytest
import torch
from builders import TARGET, tiny_checkpoint

from viz_transformer.running.decoding import Run, decode, decode_stream
from viz_transformer.running.strategies import (
    REASONS,
    Beam,
    Distribution,
    Greedy,
    Sampling,
    choose_token,
    distribution,
    gumbel_noise,
)

LOGITS = [2.0, -1.0, 0.5, 1.5, -0.25, 3.0, 0.0, -2.5, 1.0]


def softmax(scores: list[float]) -> list[float]:
    powers = [math.exp(score) for score in scores]
    return [power / math.fsum(powers) for power in powers]


def by_hand(
    logits: list[float], how: Sampling, read: tuple[int, ...] = (), banned: tuple[int, ...] = ()
) -> tuple[list[float], list[str]]:
    """Probabilities and reasons: the cuts one after the other, each a loop, nothing in logarithms."""
    reasons = ["banned" if i in banned else "kept" for i in range(len(logits))]
    scores = []
    for i, score in enumerate(logits):
        if i in read:
            score = score / how.repetition_penalty if score > 0 else score * how.repetition_penalty
        scores.append(score / how.temperature)
    probs = [p if i not in banned else 0.0 for i, p in enumerate(softmax(scores))]

    def cut(out: list[int], why: str) -> None:
        for i in out:
            if reasons[i] == "kept":
                reasons[i] = why
        left = math.fsum(p for i, p in enumerate(probs) if reasons[i] == "kept")
        for i in range(len(probs)):
            probs[i] = probs[i] / left if reasons[i] == "kept" else 0.0

    cut([], "")
    ranked = sorted(range(len(probs)), key=lambda i: (-probs[i], i))
    if how.top_k is not None:
        cut(ranked[how.top_k :], "top-k")
    if how.top_p < 1:
        total, inside = 0.0, []
        for i in ranked:
            if total < how.top_p:
                inside.append(i)  # also the one that crosses
            total += probs[i]
        cut([i for i in ranked if i not in inside], "top-p")
    if how.min_p > 0:
        cut([i for i in ranked if probs[i] < how.min_p * max(probs)], "min-p")
    return probs, reasons


SETTINGS: list[dict[str, Any]] = [
    {},
    {"temperature": 0.5},
    {"temperature": 3.0, "top_k": 4},
    {"top_p": 0.7},
    {"min_p": 0.2},
    {"repetition_penalty": 1.7},
    {"repetition_penalty": 0.6, "temperature": 1.4, "top_k": 7, "top_p": 0.9, "min_p": 0.1},
    {"repetition_penalty": 2.0, "temperature": 0.8, "top_k": 5, "top_p": 0.95, "min_p": 0.3},
]


@pytest.mark.parametrize(("settings", "banned"), list(product(SETTINGS, [(), (5,), (0, 5, 8)])))
def test_the_cuts_are_those_of_plain_loops(settings: dict[str, Any], banned: tuple[int, ...]) -> None:
    how, read = Sampling(**settings), (5, 1, 5, 3)
    found = distribution(torch.tensor(LOGITS), how, read, banned)
    probs, reasons = by_hand(LOGITS, how, read, banned)
    assert [REASONS[i] for i in found.removed.tolist()] == reasons
    assert found.log_probs.exp().tolist() == pytest.approx(probs, abs=1e-14)
    assert found.log_probs.exp().sum().item() == pytest.approx(1, abs=1e-14)
    assert found.log_probs.isneginf().tolist() == [reason != "kept" for reason in reasons]


def test_every_reason_occurs_in_one_step() -> None:
    """Worked by hand: p = .4 .3 .15 .1 .04 .01 of six tokens, and a seventh that is banned."""
    logits = torch.tensor([0.4, 0.3, 0.15, 0.1, 0.04, 0.01, 5.0]).log()
    found = distribution(logits, Sampling(top_k=5, top_p=0.9, min_p=0.35), banned=[6])
    # top-k takes the .01; of .99 the first three are .8586 and the fourth crosses 0.9: .9596; the .04 goes.
    # min-p: .35 * .4 = .14 takes the .1 and keeps the .15.
    assert [REASONS[i] for i in found.removed.tolist()] == ["kept"] * 3 + ["min-p", "top-p", "top-k", "banned"]
    assert found.log_probs.exp()[:3].tolist() == pytest.approx([0.4 / 0.85, 0.3 / 0.85, 0.15 / 0.85])


@pytest.mark.parametrize(("top_p", "kept"), [(0.49, 1), (0.5, 1), (0.51, 2), (0.75, 2), (0.76, 3), (1.0, 4)])
def test_the_token_that_crosses_top_p_is_kept_and_none_after_it(top_p: float, kept: int) -> None:
    logits = torch.tensor([0.5, 0.25, 0.125, 0.125], dtype=torch.float64).log()  # sums are exact in binary
    found = distribution(logits, Sampling(top_p=top_p))
    assert (found.removed == 0).tolist() == [i < kept for i in range(4)]


def test_temperature_comes_before_top_p_and_the_penalty_before_temperature() -> None:
    logits = torch.tensor([0.6, 0.3, 0.1]).log()
    assert int((distribution(logits, Sampling(top_p=0.6)).removed == 0).sum()) == 1
    assert int((distribution(logits, Sampling(top_p=0.6, temperature=3)).removed == 0).sum()) == 2  # .45 .36 .20
    # A penalty behind the softmax would leave probabilities; this one doubles a logit below 0, and divides one above.
    found = distribution(torch.tensor([2.0, -1.0, 0.0]), Sampling(repetition_penalty=2, temperature=0.5), read=[0, 1])
    assert found.log_probs.exp().tolist() == pytest.approx(softmax([2.0, -4.0, 0.0]))


def test_of_equal_tokens_the_smaller_ids_are_kept() -> None:
    found = distribution(torch.zeros(5), Sampling(top_k=2))
    assert found.removed.tolist() == [0, 0] + [REASONS.index("top-k")] * 3
    for how in (Greedy(), Sampling(temperature=0)):
        assert choose_token(distribution(torch.zeros(5), how), how, 0) == 0


@pytest.mark.parametrize("how", [Greedy(), Sampling(temperature=0), Sampling(temperature=0, top_k=3, seed=7)])
def test_a_greedy_distribution_is_one_token_and_the_rest_says_greedy(how: Greedy | Sampling) -> None:
    found = distribution(torch.tensor(LOGITS), how, banned=[5])
    assert found.log_probs.exp().tolist() == [1.0] + [0.0] * 8
    assert [REASONS[i] for i in found.removed.tolist()] == ["kept", *["greedy"] * 4, "banned", *["greedy"] * 3]
    assert choose_token(found, how, 3) == 0


def test_a_greedy_choice_is_made_behind_the_repetition_penalty() -> None:
    how = Sampling(temperature=0, repetition_penalty=2)  # 3 / 2 < 2
    assert choose_token(distribution(torch.tensor(LOGITS), how, read=[5]), how, 0) == 0


def test_a_beam_adds_up_the_models_own_probabilities() -> None:
    found = distribution(torch.tensor(LOGITS), Beam(3), banned=[5])
    expected = [math.log(p) for p in softmax(LOGITS)]
    assert found.log_probs[5] == -math.inf
    assert [v for i, v in enumerate(found.log_probs.tolist()) if i != 5] == pytest.approx(expected[:5] + expected[6:])


@pytest.mark.parametrize("temperature", [5e-324, 1e-300, 1e-9])
def test_the_lowest_temperatures_are_greedy_and_no_numbers_are_lost(temperature: float) -> None:
    found = distribution(torch.tensor(LOGITS), Sampling(temperature=temperature), banned=[7])
    assert found.log_probs.exp().tolist() == [0.0] * 5 + [1.0] + [0.0] * 3


def draws(found: Distribution, how: Sampling, count: int) -> Counter[int]:
    return Counter(choose_token(found, how, step) for step in range(count))


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_draws_are_as_frequent_as_the_distribution_says(seed: int) -> None:
    """Chi-square over 20,000 steps, seven tokens kept: 22.5 is exceeded with probability 0.001."""
    how, count = Sampling(top_k=7, temperature=1.3, seed=seed), 20_000
    found = distribution(torch.tensor(LOGITS), how)
    seen, probs = draws(found, how, count), by_hand(LOGITS, how)[0]
    assert sum(p > 0 for p in probs) == 7
    assert set(seen) == {i for i, p in enumerate(probs) if p > 0}
    assert math.fsum((seen[i] - count * p) ** 2 / (count * p) for i, p in enumerate(probs) if p > 0) < 22.5


def test_two_seeds_and_two_steps_have_independent_noise() -> None:
    first, again = gumbel_noise(3, 5, 4000), gumbel_noise(3, 5, 4000)
    assert torch.equal(first, again)
    assert torch.equal(gumbel_noise(3, 5, 40), first[:40])
    for other in (gumbel_noise(4, 5, 4000), gumbel_noise(3, 6, 4000)):
        # a correlation of 4,000 independent pairs has a deviation of 0.016
        assert abs(torch.corrcoef(torch.stack([first, other]))[0, 1].item()) < 0.08
    # mean: Euler's constant, deviation: pi / sqrt(6) = 1.28
    assert first.mean().item() == pytest.approx(0.5772, abs=0.1) and first.std().item() == pytest.approx(1.28, abs=0.1)


def test_runs_at_two_temperatures_meet_the_same_noise() -> None:
    """Each token drawn is argmax(log p + noise), and the noise has no temperature in it."""
    ckpt, tokens = tiny_checkpoint(), {}
    for temperature in (0.3, 1.0, 2.5):
        how = Sampling(temperature=temperature, seed=11)
        run = decode(ckpt, "abc", strategy=how, max_steps=8)
        for step in run.steps:
            probs, _ = by_hand(step.logits.tolist(), how)
            values = [math.log(p) + n for p, n in zip(probs, gumbel_noise(11, step.index, len(probs)), strict=True)]
            assert step.token_id == values.index(max(values))
        tokens[temperature] = run.tokens
    assert len(set(tokens.values())) > 1  # and the temperature matters
    again = decode(ckpt, "abc", strategy=Sampling(temperature=1.0, seed=11), max_steps=8)
    assert again.tokens == tokens[1.0]
    assert decode(ckpt, "abc", strategy=Sampling(temperature=1.0, seed=12), max_steps=8).tokens != tokens[1.0]


def test_a_sampled_run_says_what_was_left_at_each_step() -> None:
    how = Sampling(temperature=1.2, top_k=6, top_p=0.9, min_p=0.05, repetition_penalty=1.3, seed=4)
    run = decode(tiny_checkpoint(), "abcd", strategy=how, ban=["u", 8], max_steps=10, prefix="zz")
    read, total = [1], 0.0
    for step in run.steps:
        probs, reasons = by_hand(step.logits.tolist(), how, tuple(read), (4, 8))
        assert step.distribution.log_probs.exp().tolist() == pytest.approx(probs, abs=1e-12)
        everyone = step.most_probable(99)
        assert len(everyone) == len(TARGET)
        for each in everyone:
            assert each.removed == (None if reasons[each.token_id] == "kept" else reasons[each.token_id])
            expected = math.log(probs[each.token_id]) if probs[each.token_id] else -math.inf
            assert each.strategy_log_prob == pytest.approx(expected, abs=1e-9)
        assert step.token_id not in (4, 8)
        if not step.forced:
            assert reasons[step.token_id] == "kept"
            total += math.log(probs[step.token_id])
        read.append(step.token_id)
    assert [step.forced for step in run.steps[:3]] == [True, True, False]
    assert run.score == pytest.approx(total, abs=1e-9)
    assert run.log_prob == pytest.approx(math.fsum(step.log_prob for step in run.steps))


def test_temperature_zero_writes_the_greedy_answer() -> None:
    for seed in range(3):
        ckpt = tiny_checkpoint(seed=seed)
        assert decode(ckpt, "abc", strategy=Sampling(temperature=0, seed=seed)).tokens == decode(ckpt, "abc").tokens


def test_a_stopped_stream_has_the_beginning_of_the_run_and_no_run() -> None:
    how = Sampling(temperature=2, seed=1)
    whole = decode(tiny_checkpoint(), "abc", strategy=how, max_steps=9)
    stream = decode_stream(tiny_checkpoint(), "abc", strategy=how, max_steps=9)
    first = [next(stream) for _ in range(3)]
    assert [step.token for step in first] == list(whole.tokens[:3])
    assert first[1].distribution.log_probs.tolist() == whole.steps[1].distribution.log_probs.tolist()
    with pytest.raises(ValueError, match="not finished"):
        _ = stream.run
    assert torch.is_grad_enabled()
    assert isinstance(stream.run_to_the_end(), Run) and stream.run.tokens == whole.tokens


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": -0.1},
        {"temperature": math.nan},
        {"temperature": True},
        {"top_k": 0},
        {"top_k": 1.5},
        {"top_p": 0},
        {"top_p": 1.01},
        {"min_p": -0.1},
        {"repetition_penalty": 0},
        {"seed": -1},
        {"seed": 2**63},
    ],
)
def test_settings_out_of_bounds_are_refused_with_their_name(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(ValueError, match=f"^{name}="):
        Sampling(**settings)


def test_strategies_print_what_they_do() -> None:
    how = Sampling(temperature=0.7, top_k=5, top_p=0.9, min_p=0.1, repetition_penalty=1.2, seed=3)
    parts = ["temperature 0.7", "top-k 5", "top-p 0.9", "min-p 0.1", "repetition penalty 1.2", "seed 3"]
    assert all(part in str(how) for part in parts)
    places = [how.formula().index(word) for word in ("repetition", "temperature", "top-k", "top-p", "min-p", "Gumbel")]
    assert places == sorted(places)
    cold = Sampling(temperature=0, top_k=5, repetition_penalty=1.2, seed=3).formula()
    assert cold.endswith("token = argmax p, greedy by definition") and "repetition penalty 1.2" in cold
    assert not any(word in cold for word in ("top-k", "top-p", "min-p", "Gumbel"))
    assert "|Y|^0.6" in Beam(2, penalty="power").formula() and "(5 + |Y|)/6" in Beam(2).formula()
    assert "without the end token" in Beam(2, count_end=False).formula()
