"""Both ways to go on from where a model is unsure."""

from __future__ import annotations

import math

import pytest
from builders import TARGET, tiny_checkpoint

from viz_transformer.running.decoding import decode
from viz_transformer.running.forks import fork, unsure
from viz_transformer.running.strategies import Beam, Greedy, Sampling, Strategy

STRATEGIES = [Greedy(), Sampling(seed=5, temperature=1.5), Sampling(seed=5, top_k=3), Beam(3)]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@pytest.mark.parametrize("below", [0.1, 0.2, 1.0])
def test_the_two_ways_part_at_the_first_unsure_step_and_at_no_other(strategy: Strategy, below: float) -> None:
    ckpt = tiny_checkpoint(seed=1)
    plain = decode(ckpt, "abc", strategy=strategy, max_steps=8)
    found = fork(ckpt, "abc", below=below, strategy=strategy, max_steps=8)
    probs = [math.exp(step.log_prob) for step in plain.steps]
    unsure = next((i for i, p in enumerate(probs) if p < below), None)
    if unsure is None:
        assert found is None
        return
    assert found is not None and found.step == unsure
    first, second = found.first, found.second
    assert first.tokens == plain.tokens
    assert second.tokens[:unsure] == first.tokens[:unsure]
    here = first.steps[unsure].log_probs.tolist()
    others = {i: value for i, value in enumerate(here) if i != first.steps[unsure].token_id}
    assert second.steps[unsure].token_id == max(others, key=lambda i: others[i])
    assert second.steps[unsure].forced and not any(step.forced for step in second.steps[unsure + 1 :])
    forced = {step.index: step.token_id for step in second.steps[: unsure + 1]}
    assert second.tokens == decode(ckpt, "abc", strategy=strategy, force=forced, max_steps=8).tokens


def test_a_sampled_answer_parts_to_what_the_model_prefers() -> None:
    """The token drawn may be an improbable one; then the other way is the model's first choice."""
    found = fork(tiny_checkpoint(seed=1), "abc", below=0.05, strategy=Sampling(temperature=5, seed=2), max_steps=12)
    assert found is not None
    assert found.second.steps[found.step].rank == 0 < found.first.steps[found.step].rank


def test_the_other_way_writes_no_banned_token() -> None:
    ckpt = tiny_checkpoint(seed=1)
    free = fork(ckpt, "abc", below=1, max_steps=4)
    assert free is not None and free.step == 0
    taken = free.second.tokens[0]
    barred = fork(ckpt, "abc", below=1, max_steps=4, ban=[taken])
    assert barred is not None and barred.first.tokens[0] == free.first.tokens[0]
    assert taken not in barred.first.tokens + barred.second.tokens
    assert barred.second.tokens[0] == free.first.steps[0].candidates[2].token


def test_a_sure_model_and_one_that_may_write_one_token_only_have_no_fork() -> None:
    ckpt = tiny_checkpoint(seed=1)
    assert fork(ckpt, "abc", below=0, max_steps=4) is None
    assert fork(ckpt, "abc", below=1, max_steps=4, ban=[i for i in range(len(TARGET)) if i != 7]) is None


@pytest.mark.parametrize("below", [-0.1, 1.1, math.nan])
def test_a_threshold_that_is_no_probability_is_refused(below: float) -> None:
    with pytest.raises(ValueError, match="has to be a probability, from 0 to 1"):
        fork(tiny_checkpoint(), "abc", below=below)


def test_a_forced_step_is_never_called_unsure() -> None:
    run = decode(tiny_checkpoint(seed=1), "abc", force={0: 9}, max_steps=4)
    found = unsure(run, 1.0)
    assert found is not None and found[0].index == 1
    assert found[1].token_id == run.steps[1].candidates[1].token_id
    assert unsure(run, 0.0) is None
