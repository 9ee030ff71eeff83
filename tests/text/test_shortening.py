"""The beginning of a text that a model would read."""

import pytest
from builders import tiny_checkpoint
from signs import SIGNS

from viz_transformer.running.tracing import trace
from viz_transformer.text.shortening import TooLong, beginning


@pytest.fixture(scope="module")
def codec():
    return tiny_checkpoint(max_source=20).codec("source")


@pytest.mark.parametrize("length", [1, 7, 18, 19, 20, 500, 20_000])
def test_the_longest_beginning_that_fits_is_found(codec, length):
    text, most = "a" * length, 20
    cut = beginning(codec, text, most)
    assert text.startswith(cut) and len(codec.encode(cut)) <= most
    assert cut == text or len(codec.encode(text[: len(cut) + 1])) > most


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS)
def test_a_sign_of_several_code_points_is_not_divided(codec, sign):
    cut = beginning(codec, sign * 20, 20)
    assert cut == sign * (18 // len(sign))  # a start and an end token stand around them


def test_nothing_fits_into_no_tokens(codec):
    assert beginning(codec, "abc", 2) == ""  # start and end token fill it


def test_what_is_too_long_says_for_which_side_and_by_how_much():
    ckpt = tiny_checkpoint(max_source=20)
    with pytest.raises(TooLong) as caught:
        trace(ckpt, "a" * 30, "u")
    assert (caught.value.what, caught.value.most) == ("source", 20)
    cut = beginning(ckpt.codec("source"), "a" * 30, caught.value.most)
    assert len(trace(ckpt, cut, "u").src) == 20


class Words:
    """A codec of words, with a token for each four letters of a word."""

    splits_characters = False

    def __init__(self):
        self.read = 0

    def encode(self, text):
        self.read = max(self.read, len(text))
        return [word[at : at + 4] for word in text.split() for at in range(0, len(word), 4)]


def test_words_are_not_cut_unless_the_first_is_too_long():
    assert beginning(Words(), "one  three\nseventeen four", 4) == "one  three"
    assert beginning(Words(), "seventeen", 2) == "seventee"


def test_of_a_huge_text_no_more_is_read_than_is_needed():
    codec = Words()
    assert beginning(codec, "one " * 100_000, 10) == " ".join(["one"] * 10)
    assert codec.read < 100
