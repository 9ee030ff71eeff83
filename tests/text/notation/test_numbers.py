"""Numbers as people type them, beside what two models learned."""

import random

import pytest

from viz_transformer.measuring.spoken_numbers import LONGEST, MAX_DECIMALS, NOTATIONS, typed_numbers
from viz_transformer.text.notation.numbers import Numbers, TypedNumbers
from viz_transformer.text.notation.reading import LEARNED, WRITTEN

LAB = Numbers(decimals=2, largest=190_446_829_568)
ANY = TypedNumbers(digits=LONGEST, decimals=MAX_DECIMALS)


@pytest.mark.parametrize("text", ["29,284.30", "-79.42", "0.00", "-0.00", "190,446,829,568.00", " 1,984.00 ", ""])
def test_the_labs_own_notation_is_inside(text):
    reading = LAB.read(text)
    assert (reading.inside, reading.offered, reading.said) == (True, None, "")


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("42", "42.00"),
        ("7", "7.00"),
        ("1984", "1,984.00"),
        ("1000001", "1,000,001.00"),
        (".5", "0.50"),
        ("5.", "5.00"),
        ("+7", "7.00"),
        ("007", "7.00"),
        ("-0.5", "-0.50"),
        ("\N{MINUS SIGN}3", "-3.00"),
        ("1,000", "1,000.00"),
        ("1 000 000", "1,000,000.00"),
        ("29284.30", "29,284.30"),
        ("1984.500", "1,984.50"),
    ],
)
def test_another_notation_of_the_same_number_is_offered_in_the_labs(text, offered):
    reading = LAB.read(text)
    assert (reading.inside, reading.offered, reading.lead, reading.said) == (False, offered, LEARNED, "")


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("3.14159", "3.14"),
        ("0.000001", "0.00"),
        ("0.005", "0.01"),
        ("-9.995", "-10.00"),
        ("999,999.999", "1,000,000.00"),
        ("0.0049999999", "0.00"),
    ],
)
def test_more_decimals_are_rounded_and_the_offer_says_so(text, offered):
    reading = LAB.read(text)
    assert (reading.offered, reading.lead) == (offered, "rounded to 2 decimals")


def test_a_number_beyond_the_largest_of_training_says_so():
    said = "The numbers that this model learned go up to 190,446,829,568."
    for text in ("190,446,829,569.00", "-999,999,999,999.00"):
        assert (LAB.read(text).inside, LAB.read(text).offered, LAB.read(text).said) == (False, None, said)
    reading = LAB.read("1000000000000")
    assert (reading.offered, reading.lead, reading.said) == ("1,000,000,000,000.00", WRITTEN, said)


@pytest.mark.parametrize(
    "text",
    [
        *("12 apples", "1e5", "12,34", "1,00", "0,123", "1.000,50", "--5", "5-", ".", "-", "$5", "1/2", "12:30", "٤٢"),
        *("1 000,000", "1_000", "0x10", "NaN", "inf"),
    ],
)
def test_what_is_no_number_or_one_in_two_ways_is_offered_nothing(text):
    for notation in (LAB, ANY):
        reading = notation.read(text)
        assert (reading.inside, reading.offered) == (False, None)
        assert reading.said.startswith("This model learned numbers only")


@pytest.mark.parametrize("notation", NOTATIONS)
def test_every_text_that_numbers_any_is_trained_on_is_inside(notation):
    for text in typed_numbers(random.Random(3), 500, side="train", notations=(notation,)):
        assert ANY.read(text).inside, text


def test_a_text_of_the_labs_data_is_inside_both():
    texts = typed_numbers(random.Random(3), 500, side="train", notations=("hundredths-grouped",))
    for text in texts:
        if int(text.replace(",", "").partition(".")[0]) <= LAB.largest:
            assert LAB.read(text).inside, text


@pytest.mark.parametrize(
    ("text", "offered"),
    [("-.5", "-0.5"), ("+.5", "0.5"), ("5.", "5"), ("000007", "7"), ("-007", "-7"), ("1 984", "1,984")],
)
def test_what_numbers_any_does_not_know_is_offered_plain(text, offered):
    assert (ANY.read(text).inside, ANY.read(text).offered, ANY.read(text).lead) == (False, offered, LEARNED)


def test_more_than_fifteen_digits_say_so_and_seven_decimals_are_rounded():
    said = "This model learned numbers of at most 15 digits before the point."
    assert (ANY.read("1" * 15).inside, ANY.read("1" * 16).said) == (True, said)
    assert ANY.read("0.0000005").offered == "0.000001"
    assert ANY.read("0.0000005").lead == "rounded to 6 decimals"
