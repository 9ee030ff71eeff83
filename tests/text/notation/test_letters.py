"""Strings of letters."""

from string import ascii_lowercase

import pytest

from viz_transformer.text.notation import Letters
from viz_transformer.text.notation.reading import LEARNED, WRITTEN

COPY = Letters(letters=ascii_lowercase, longest=20)


@pytest.mark.parametrize("text", ["hello", "z", "a" * 20, " abc ", ""])
def test_one_to_twenty_letters_are_inside(text):
    assert COPY.read(text).inside


def test_capitals_are_offered_in_lower_case():
    reading = COPY.read("Hello")
    assert (reading.inside, reading.offered, reading.lead, reading.said) == (False, "hello", LEARNED, "")


def test_a_longer_string_says_so():
    said = "This model learned strings of at most 20 characters; this one has 24."
    assert (COPY.read("a" * 24).offered, COPY.read("a" * 24).said) == (None, said)
    assert (COPY.read("A" * 24).offered, COPY.read("A" * 24).lead, COPY.read("A" * 24).said) == (
        "a" * 24,
        WRITTEN,
        said,
    )


@pytest.mark.parametrize("text", ["hello world", "héllo", "İ", "12", "a-b", "\u212a", "ſ"])
def test_other_characters_are_offered_nothing(text):
    reading = COPY.read(text)
    assert (reading.inside, reading.offered, reading.said) == (
        False,
        None,
        "This model learned the letters a to z only.",
    )


def test_a_few_letters_are_named_one_by_one():
    assert Letters(letters="ace", longest=3).read("b").said == "This model learned the letters a, c, e only."
