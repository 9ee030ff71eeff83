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


def test_one_of_something_is_not_said_in_the_plural():
    assert words.branch_says(None, "x", "-1.00", 1) == "x  (log p -1.00, 1 step)"
    assert words.branch_says(2, "x", "-1.00", 3) == "from step 3: x  (log p -1.00, 3 steps)"
    assert words.more_in_table(1) == "1 more is in the table of the tree."
    assert words.tokens_before(1, "-1.00") == "(1 earlier token) -1.00"
    assert words.passes_take(1) == "Takes one whole pass."
    assert words.part_at(1, "writes “x”", "has ended") == (
        "They part at step 2, after one token in common: A writes “x”, B has ended."
    )
    assert "A has 1 token and B 2: " in words.different_tokens(1, 2)
    assert words.branches_are(["“x” from step 1"]) == "One branch: “x” from step 1."


def test_a_first_step_reuses_nothing_and_says_so():
    start, end = "Self-attention: keys and values of ", ", in each of 3 decoder layers."
    said = [words.self_cached(*counts, 3) for counts in ((1, 0, 1), (4, 0, 4), (1, 2, 3))]
    assert said == [
        f"{start}the one position were computed in this step, none reused{end}",
        f"{start}all 4 positions were computed in this step, none reused{end}",
        f"{start}1 of 3 positions were computed in this step, those of 2 reused{end}",
    ]
