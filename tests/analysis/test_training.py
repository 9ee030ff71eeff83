import math

from viz_transformer.analysis.training import loss_history


def row(step, train, validation):
    return {"step": step, "train_loss": train, "validation_loss": validation, "learning_rate": 0.1}


def test_each_curve_has_the_steps_at_which_it_was_measured():
    rows = [row(0, 3.0, 3.5), row(1, 2.0, math.nan), row(2, math.nan, 1.5)]
    assert loss_history(rows) == {"training": ([0, 1], [3.0, 2.0]), "validation": ([0, 2], [3.5, 1.5])}


def test_a_curve_that_was_never_measured_is_missing():
    assert loss_history([row(1, 2.0, math.nan)]) == {"training": ([1], [2.0])}
    assert loss_history([]) == {}
