"""The score of a given answer is what a teacher-forced pass says of it."""

import math
from dataclasses import replace

import pytest
import torch
from builders import TARGET, tiny_checkpoint

from viz_transformer.analysis.decoding.scoring import ScoredToken, TargetScore, run_score, target_score
from viz_transformer.running.decoding import decode
from viz_transformer.running.tracing import trace


def token(index, log_prob, rank=0):
    return ScoredToken(index, "u", 4, log_prob, rank, "v", 5, -0.5)


@pytest.mark.parametrize(("kind", "text"), [("encoder-decoder", "abc"), ("decoder-only", "uvw")])
def test_each_token_has_what_a_teacher_forced_pass_gives_it(kind, text):
    ckpt = tiny_checkpoint(kind)
    run = decode(ckpt, text, target="zxy0")
    ids = [step.token_id for step in run.steps]
    first = len(run.trace.tgt) - len(ids)
    inputs = (list(run.trace.src_ids), list(run.trace.tgt_ids)) if kind == "encoder-decoder" else (run.trace.tgt_ids,)
    log_probs = trace(ckpt, *inputs)["logits"][0, first:].double().log_softmax(-1)  # [steps, V]
    found = target_score(run)
    assert found.ended and [each.index for each in found.tokens] == list(range(5))
    for each, row, token_id in zip(found.tokens, log_probs, ids, strict=True):
        order = row.argsort(descending=True).tolist()
        assert (each.token, each.token_id) == (TARGET[token_id], token_id)
        assert each.log_prob == pytest.approx(float(row[token_id]), abs=1e-5)  # float32 softmax
        assert each.probability == math.exp(each.log_prob)
        assert each.rank == order.index(token_id)
        assert (each.best, each.best_id) == (TARGET[order[0]], order[0])
        assert each.best_log_prob == pytest.approx(float(row.max()), abs=1e-5)
    want = math.fsum(float(row[i]) for row, i in zip(log_probs, ids, strict=True))
    assert found.total == pytest.approx(want, abs=1e-4) and found.total == pytest.approx(run.log_prob, rel=1e-12)
    loss = torch.nn.functional.cross_entropy(trace(ckpt, *inputs)["logits"][0, first:], torch.tensor(ids))
    assert found.perplexity == pytest.approx(math.exp(float(loss)), rel=1e-5)


def test_total_mean_and_perplexity_by_hand():
    """Probabilities 1/2 and 1/8: together 1/16, per token 1/4, so the perplexity is 4."""
    found = TargetScore((token(0, math.log(0.5)), token(1, math.log(0.125), rank=3)), ended=True)
    assert found.total == pytest.approx(math.log(1 / 16))
    assert found.mean == pytest.approx(math.log(1 / 4))
    assert found.perplexity == pytest.approx(4)
    assert found.missed == (1,)


def test_an_impossible_token_has_an_infinite_perplexity():
    found = TargetScore((token(0, -0.5), token(1, -math.inf, rank=9)), ended=False)
    assert found.total == -math.inf and found.perplexity == math.inf


def test_the_models_own_answer_misses_nothing():
    ckpt = tiny_checkpoint()
    own = decode(ckpt, "abc", max_steps=6)
    found = run_score(own)
    assert found.missed == () and found.total == pytest.approx(own.log_prob, rel=1e-12)
    assert [each.best_id for each in found.tokens] == [step.token_id for step in own.steps]
    assert found.ended == (own.stopped == "end token")


def test_of_equal_tokens_the_model_would_have_written_the_first():
    run = decode(tiny_checkpoint(), "abc", target="u")
    step = run.steps[0]
    even = replace(step, logits=torch.zeros_like(step.logits))
    found = target_score(replace(run, steps=(even, *run.steps[1:]))).tokens[0]
    assert (found.rank, found.best_id) == (0, 0)
    assert found.log_prob == pytest.approx(-math.log(len(TARGET)))


def test_a_run_that_chose_tokens_has_no_given_answer():
    with pytest.raises(ValueError, match="chose tokens of this run itself: give the whole answer as the target"):
        target_score(decode(tiny_checkpoint(), "abc", prefix="uv", max_steps=4))


def test_an_answer_that_fills_the_model_has_no_end_token_to_count():
    ckpt = tiny_checkpoint(max_target=4)
    found = target_score(decode(ckpt, "abc", target="uvwx"))
    assert len(found.tokens) == 4 and not found.ended
