import math

import pytest

from viz_transformer.analysis.models.training import best_validation, loss_history, rate_history, time_history


def row(step, train, validation):
    return {"step": step, "train_loss": train, "validation_loss": validation, "learning_rate": 0.1}


def test_each_curve_has_the_steps_at_which_it_was_measured():
    rows = [row(0, 3.0, 3.5), row(1, 2.0, math.nan), row(2, math.nan, 1.5)]
    assert loss_history(rows) == {"training": ([0, 1], [3.0, 2.0]), "validation": ([0, 2], [3.5, 1.5])}


def test_a_curve_that_was_never_measured_is_missing():
    assert loss_history([row(1, 2.0, math.nan)]) == {"training": ([1], [2.0])}
    assert loss_history([]) == {}


def test_the_best_step_is_the_first_of_the_lowest_validation_loss():
    rows = [row(0, 3.0, 3.5), row(1, 2.0, math.nan), row(2, 0.1, 1.5), row(3, 0.0, 1.5), row(4, 0.0, 1.75)]
    best = best_validation(rows)
    assert (best.step, best.loss) == (2, 1.5)
    assert best.perplexity == pytest.approx(math.exp(1.5))
    assert best_validation([row(1, 2.0, math.nan)]) is None


def test_the_learning_rate_has_its_steps():
    assert rate_history([row(0, 3.0, 3.5), row(1, 2.0, math.nan)]) == ([0, 1], [0.1, 0.1])
    assert rate_history([{**row(0, 1.0, 1.0), "learning_rate": math.nan}]) is None


def test_the_time_that_was_left_at_a_step_is_known_when_the_training_is_over():
    time = time_history([{**row(step, 1.0, 1.0), "seconds": seconds} for step, seconds in ((0, 1.5), (10, 21.5))])
    assert (time.steps, time.seconds, time.left, time.total) == ([0, 10], [1.5, 21.5], [20.0, 0.0], 21.5)
    assert (time.at(10), time.at(5)) == (21.5, None)


def test_a_history_that_does_not_know_its_time_to_the_end_has_none():
    known, unknown = {**row(0, 1.0, 1.0), "seconds": 1.5}, {**row(10, 1.0, 1.0), "seconds": math.nan}
    assert time_history([known, unknown]) is None
    assert time_history([row(0, 1.0, 1.0)]) is None and time_history([]) is None
    assert time_history([unknown, {**known, "step": 20}]).steps == [20]
