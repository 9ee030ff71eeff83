import random

import pytest
from num2words import num2words

from viz_transformer.analysis.run.checking import check_answer, number_words
from viz_transformer.checkpoint.contents import bundled_folder, read_examples


def test_whole_numbers_are_in_the_words_of_an_independent_library():
    source = random.Random(1)
    drawn = (source.randrange(10 ** source.randint(1, 30)) for _ in range(3000))
    for value in (*range(2200), *(10**power for power in range(30)), *(10**power + 1 for power in range(30)), *drawn):
        assert number_words(str(value)) == num2words(value), value
        assert number_words(f"-{value:,}") == f"minus {num2words(value)}"


@pytest.mark.parametrize("name", ["numbers", "numbers-tiny", "numbers-any"])
def test_numbers_are_in_the_words_of_the_test_pairs(name):
    pairs = read_examples(bundled_folder() / name)
    lost = [source for source, target in pairs if number_words(source) != target]
    assert len(pairs) == 200
    assert all(-1 < float(source.replace(",", "")) < 0 for source in lost)  # the data drop this sign
    assert all(number_words(source) == f"minus {target}" for source, target in pairs if source in lost)
    assert name != "numbers-any" or not lost


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("007", "seven"),
        (".50", "zero point five"),
        ("\N{MINUS SIGN}0.0", "minus zero"),
        (" +7 ", "seven"),
        ("1,000,001.07", "one million and one point zero seven"),
    ],
)
def test_signs_zeros_and_decimals(text, said):
    assert number_words(text) == said


@pytest.mark.parametrize("text", ["", ".", "12.5%", "1e9", "1,00", "٤٢", "one", "1.2.3", "9" * 31, "9" * 10_000])
def test_what_is_not_a_number_in_digits_is_not_checked_and_not_called_wrong(text):
    found = check_answer("numbers", text, "one")
    assert found.kind == "unread" and found.sentence.startswith("Not checked: ") and len(found.sentence) < 200


def test_an_answer_is_right_or_wrong_with_what_it_should_be():
    assert check_answer("numbers", "21", "twenty-one").kind == "right"
    assert check_answer("numbers", "21", "twenty - one").kind == "right"  # blanks around signs
    found = check_answer("numbers", "12.5", "twelve point five two")
    assert (found.kind, found.sentence) == ("wrong", "Wrong: it should be “twelve point five”.")
    assert check_answer("copy", "hello", "hello").kind == "right"
    found = check_answer("copy", "hello", "helo")
    assert (found.kind, found.sentence) == ("wrong", "Wrong: it should be “hello”.")
