"""What Decoding says: its own rules of wording."""

import math

import pytest

from viz_transformer.ui.pages.decoding import words


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [
        (-0.004, 2, "about 0"),
        (-0.004, 4, "-0.0040"),
        (-0.01, 2, "-0.01"),
        (0.0, 2, "0.00"),
        (-2.5, 2, "-2.50"),
        (-math.inf, 2, "-∞"),
        (math.nan, 2, "not a number"),
    ],
)
def test_a_log_probability_that_its_digits_cannot_show_is_about_0_and_0_is_said_only_of_0(value, digits, said):
    assert words.log_probability(value, digits) == said


def test_steps_are_counted_from_1_in_every_sentence():
    assert words.branch_begins("x", 0) == "Branch “x” from step 1: "
    assert words.fork_at(2, "x") == "Fork at step 3: “x”"
    assert words.continue_from(1) == "Continue from step 2"
    assert words.after(3, "x") == "step 4, after “x”"
