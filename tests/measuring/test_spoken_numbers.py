"""Numbers as people type them, and their words."""

import random
import re
import sys
import zlib
from collections import Counter
from functools import cache

import pytest
from num2words import num2words  # type: ignore[import-untyped]

from viz_transformer.measuring.data import generated_pairs, generated_sources
from viz_transformer.measuring.spoken_numbers import LONGEST, MAX_DECIMALS, NOTATIONS, draw_digits, side_of, words_of

FORMS = {
    "whole": r"0|[1-9]\d*",
    "whole-grouped": r"0|[1-9]\d{0,2}(,\d{3})*",
    "decimal": r"(0|[1-9]\d*)\.\d{1,6}",
    "decimal-grouped": r"(0|[1-9]\d{0,2}(,\d{3})*)\.\d{1,6}",
    "hundredths-grouped": r"(0|[1-9]\d{0,2}(,\d{3})*)\.\d\d",
    "small": r"0\.\d{1,6}",
    "bare-point": r"\.\d{1,6}",
    "leading-zeros": r"0{1,3}(0|[1-9]\d*)(\.\d{1,6})?",
    "plus": r"\+(0|[1-9]\d*|[1-9]\d{0,2}(,\d{3})*)(\.\d{1,6})?",
    "hyphen": r"-(0|[1-9]\d*|[1-9]\d{0,2}(,\d{3})*)(\.\d{1,6})?",
    "minus-sign": r"\N{MINUS SIGN}(0|[1-9]\d*|[1-9]\d{0,2}(,\d{3})*)(\.\d{1,6})?",
    "blanks": r" {1,2}-?(0|[1-9]\d*|[1-9]\d{0,2}(,\d{3})*)(\.\d{1,6})? {0,2}",
}


HELD_OUT = [1_200, pytest.param(12_000, marks=pytest.mark.slow)]
"""Of twenty numbers that are drawn, nineteen are for training: the others take long to find."""


@cache
def sample(side: str, count: int) -> list[tuple[str, str]]:
    """The first pairs of a part."""
    return generated_pairs(f"generated:numbers-any/{side}", count)


def samples(held_out: int) -> dict[str, list[tuple[str, str]]]:
    """12,000 pairs for training and so many of the other parts, by the part's name."""
    return {"train": sample("train", 12_000)} | {side: sample(side, held_out) for side in ("validation", "test")}


def value_of(text: str) -> str:
    """A text's number without its notation: sign, separators, zeros at both ends."""
    whole, _, decimals = re.sub(r"[^0-9.]", "", text).partition(".")
    return f"{int(whole or 0)}.{decimals.rstrip('0')}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("42", "forty-two"),
        ("0", "zero"),
        ("-0", "minus zero"),
        ("007", "seven"),
        ("+7", "seven"),
        (".5", "zero point five"),
        ("-0.5", "minus zero point five"),
        ("\N{MINUS SIGN}0.50 ", "minus zero point five"),
        ("1984", "one thousand, nine hundred and eighty-four"),
        ("1,984.00", "one thousand, nine hundred and eighty-four"),
        ("1,000,007", "one million and seven"),
        ("0.000001", "zero point zero zero zero zero zero one"),
        (
            " 100000000000000.25",
            "one hundred trillion point two five",
        ),
    ],
)
def test_a_number_is_put_into_words(text: str, words: str) -> None:
    assert words_of(text) == words


def test_the_words_are_those_of_num2words():
    source = random.Random(1)
    for _ in range(2000):
        value = source.randint(0, 10 ** source.randint(1, LONGEST) - 1)
        assert words_of(f"-{value:,}") == f"minus {num2words(value)}"


def test_without_num2words_a_sentence_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "num2words", None)
    with pytest.raises(ValueError, match="pip install num2words"):
        words_of("987654321")


@pytest.mark.parametrize("notation", NOTATIONS)
def test_each_notation_is_what_it_is_called(notation: str) -> None:
    source = random.Random(notation)
    for _ in range(500):
        digits = draw_digits(source, notation)
        text = NOTATIONS[notation](digits, source)
        assert re.fullmatch(FORMS[notation], text), text
        assert len(digits[0]) <= LONGEST and len(digits[1]) <= MAX_DECIMALS
        assert value_of(text) == f"{digits[0]}.{digits[1].rstrip('0')}"


def test_notations_come_by_turns():
    for pairs in samples(1_200).values():
        for place, (text, _) in enumerate(pairs[:1200]):
            assert re.fullmatch(list(FORMS.values())[place % 12], text)


@pytest.mark.parametrize("held_out", HELD_OUT)
def test_no_held_out_number_is_trained_on_in_any_notation(held_out: int):
    found = samples(held_out)
    values = {side: {value_of(text) for text, _ in pairs} for side, pairs in found.items()}
    assert not values["train"] & (values["validation"] | values["test"])
    assert not values["validation"] & values["test"]
    for side in ("validation", "test"):
        assert len({text for text, _ in found[side]}) == held_out


def test_numbers_of_four_digits_and_less_are_all_for_training():
    assert {side_of((str(value), "")) for value in range(10_000)} == {"train"}
    assert side_of(("0", "001234")) == side_of(("12", "34")) == "train"
    sides = Counter(side_of((str(value), "")) for value in range(10_000, 40_000))
    assert 1300 < sides["test"] < 1700 and 1300 < sides["validation"] < 1700  # one in twenty each


def test_numbers_are_drawn_as_people_type_them():
    wholes = [int(re.sub(r"\D", "", text.partition(".")[0]) or 0) for text, _ in sample("train", 12_000)]
    lengths = Counter(len(str(value)) for value in wholes)
    assert set(lengths) == set(range(1, 16))
    assert sum(lengths[n] for n in (1, 2, 3, 4)) > 0.5 * lengths.total()
    large = [str(value) for value in wholes if value > 9999]
    assert sum(len(set(digits)) == 1 for digits in large) > 0.05 * len(large)  # repeated
    assert sum(len(digits.rstrip("0")) <= 3 for digits in large) > 0.1 * len(large)  # round
    assert sum("00" in digits.rstrip("0") for digits in large) > 0.15 * len(large)  # zeros inside


@pytest.mark.parametrize(
    ("held_out", "written_down"), [(1_200, 446049709), pytest.param(12_000, 1102848707, marks=pytest.mark.slow)]
)
def test_the_data_are_the_same_everywhere(held_out: int, written_down: int):
    """Written down once: the card's numbers are for these very pairs."""
    found = samples(held_out)
    joined = "\n".join("\t".join(pair) for side in found for pair in found[side])
    assert zlib.crc32(joined.encode()) == written_down
    assert generated_sources("generated:numbers-any/test", 24)[12:] == [text for text, _ in found["test"][12:24]]


def test_small_numbers_are_counted_in_two_notations():
    plain, grouped = (
        generated_pairs(f"generated:numbers-any/to-9999/{name}", 10_000) for name in ("whole", "whole-grouped")
    )
    assert [text for text, _ in plain] == [str(value) for value in range(10_000)]
    assert [text for text, _ in grouped] == [f"{value:,}" for value in range(10_000)]
    assert [words for _, words in plain] == [words for _, words in grouped]
    assert len(generated_pairs("generated:numbers-any/to-9999/whole", 20_000)) == 10_000
