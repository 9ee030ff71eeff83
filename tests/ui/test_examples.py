import pytest

from viz_transformer.ui import examples


@pytest.mark.parametrize(
    ("value", "text"),
    [(29284.3, "29,284.30"), (-79.4, "-79.40"), (-100000.0, "-100,000.00"), (0.30000000000000004, "0.30")],
)
def test_the_slider_writes_numbers_as_the_data_do(value, text):
    assert examples.number_text(value) == text
    assert examples.number_of(text) == pytest.approx(value)


def test_there_is_no_negative_zero():
    assert examples.number_text(-0.0) == examples.number_text(-0.04) == "0.00"


@pytest.mark.parametrize("text", ["", "abc", "1e5", "nan", "100,000.01", "1,00.00", "190,089,265,152.00", "١٢", "--1"])
def test_the_slider_does_not_follow_what_it_cannot_reach(text):
    assert examples.number_of(text) is None


def test_all_sizes_of_a_task_have_its_examples_and_others_have_none():
    assert examples.examples("numbers-tiny") == examples.examples("numbers")
    assert {"29,284.30", "-79.42", "1,000,000.00", "0.07"} < set(examples.examples("numbers"))
    assert len(examples.examples("numbers")) == 5
    assert examples.examples(None) == examples.examples("something") == ()
