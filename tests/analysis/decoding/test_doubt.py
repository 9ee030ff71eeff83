"""The step in most doubt, and the texts that Decoding offers because some step of theirs is."""

from types import SimpleNamespace

import pytest
import torch

from viz_transformer.analysis.decoding.doubt import most_doubtful
from viz_transformer.checkpoint import load
from viz_transformer.running.decoding import decode
from viz_transformer.ui.session.examples import DOUBTS, OPENINGS


def step(*probabilities, forced=False):
    values = torch.tensor(probabilities, dtype=torch.float64)
    entropy = float(-(values * values.log()).nansum())
    return SimpleNamespace(log_probs=values.log(), entropy=entropy, forced=forced)


def test_it_is_the_step_with_the_highest_entropy_the_first_of_equals():
    steps = [step(0.6, 0.4), step(0.4, 0.3, 0.3), step(0.4, 0.3, 0.3), step(0.5, 0.5)]
    assert most_doubtful(steps) == 1


def test_a_forced_step_does_not_count():
    assert most_doubtful([step(0.6, 0.4), step(0.25, 0.25, 0.25, 0.25, forced=True)]) == 0


def test_where_every_step_is_sure_or_not_a_number_it_is_the_first():
    nan = float("nan")
    assert most_doubtful([step(0.99, 0.01), step(0.95, 0.05), step(nan, nan)]) == 0
    assert most_doubtful([]) == 0


@pytest.mark.parametrize("offered", DOUBTS, ids=lambda each: each.about)
def test_each_text_that_is_offered_has_a_step_in_real_doubt(offered):
    run = decode(load(offered.checkpoint), offered.text, max_steps=40)
    found = run.steps[most_doubtful(run.steps)].log_probs.exp()
    assert float(found.max()) < 0.65 and int((found > 0.05).sum()) >= 2


def test_what_decoding_opens_with_has_five_candidates_above_a_twentieth():
    opens = OPENINGS["Decoding"]
    assert (opens["checkpoint"], opens["text"]) == (DOUBTS[0].checkpoint, DOUBTS[0].text)
    run = decode(load(DOUBTS[0].checkpoint), DOUBTS[0].text)
    found = run.steps[most_doubtful(run.steps)]
    assert [each.token for each in found.candidates if each.log_prob > -2.9957] == [
        *("is", "walking", "walks", "running", "runs"),
    ]
