import pytest
from signs import SIGNS

from viz_transformer.figures import labels
from viz_transformer.text import visible as visible_module


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (" ", "␣"),
        ("\n", "↵"),
        ("\t", "⇥"),
        ("a b", "a␣b"),
        ("\x07", "␇"),
        ("\u200b", "U+200B"),
        ("\u202e", "U+202E"),
        ("\x7f", "U+007F"),
        ("\ud800", "\N{REPLACEMENT CHARACTER}"),
        ("\u0301", "\N{DOTTED CIRCLE}\u0301"),
        ("é", "é"),
        ("", "(empty)"),
        ("<b>", "<b>"),
    ],
)
def test_what_cannot_be_seen_gets_a_sign(token, shown):
    assert labels.visible(token) == shown


def test_a_token_that_can_be_printed_is_said_as_letter_by_letter():
    for code in [*range(0x3000), 0xAD, 0x200B, 0xFEFF, 0xFFFD, 0x1F600, 0xE000]:
        for token in (f"a{chr(code)}", f"{chr(code)} b"):
            assert labels.visible(token) == "".join(visible_module._sign(c, alone=False) for c in token)


def test_a_joined_emoji_stays_whole():
    family = "👩\u200d👩\u200d👧"
    assert labels.visible(family) == family


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS)
def test_a_sign_of_several_code_points_is_kept_or_left_out_whole(sign):
    for columns in range(2, labels.width(sign * 4)):
        kept = labels.shorten(sign * 4, columns)
        assert kept == sign * (len(kept) // len(sign)) + "…"


def test_long_text_is_shortened_with_an_ellipsis_by_its_width():
    assert labels.shorten("internationalisation", 12) == "internation…"
    assert labels.shorten("日本語日本語日本語", 7) == "日本語…"  # each of them is two columns wide
    assert labels.shorten("e\u0301" * 5, 5) == "e\u0301" * 5  # marks take no room
    assert labels.shorten("short", 5) == "short"


def test_ticks_are_escaped_for_plotly_and_quotes_are_left_alone():
    assert labels.tick("<b>") == "&lt;b&gt;"
    assert labels.tick("&amp;") == "&amp;amp;"
    assert labels.tick("it's") == "it's"


def test_a_right_to_left_token_is_fenced_off():
    assert labels.tick("שלום") == "\u2068שלום\u2069"
    assert labels.tick("shalom") == "shalom"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0000"),
        (0.00005, "<0.0001"),
        (0.0001, "0.0001"),
        (0.12345, "0.1235"),
        (0.99994, "0.9999"),
        (0.99999, ">0.9999"),
        (1.0, "1.0000"),
    ],
)
def test_a_share_is_called_0_or_1_only_if_it_is(value, text):
    assert labels.share(value) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a b", "a b"), ("a  b\nc", "a  b↵c"), ("", "(empty)"), ("<b>\t", "<b>⇥"), ("a\u202eb c", "aU+202Eb c")],
)
def test_a_sentence_keeps_its_blanks_and_is_one_line(text, shown):
    assert labels.sentence(text) == shown


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((0, "0.0 s"), (8.46, "8.5 s"), (9.97, "10 s"), (59.4, "59 s"), (59.9, "1 min"), (80.4, "1 min 20 s")),
        *((599.4, "9 min 59 s"), (2229, "37 min"), (3599, "1 h"), (11_100, "3 h 5 min"), (90_000, "25 h")),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds, words):
    assert labels.duration(seconds) == words


def test_numbers_too_small_for_their_decimals_are_not_called_zero():
    assert labels.number(-0.001, 2) == ">-0.01"
    assert labels.number(-0.0) == "0.0000"
    assert labels.number(-1.234, 2) == "-1.23"
    assert labels.number(float("nan")) == "not a number"


def test_a_file_name_holds_letters_digits_and_hyphens_alone():
    assert labels.file_name("../<b>", "Layer 1, head 3", "", "é😀") == "b-layer-1-head-3"
    assert len(labels.file_name("x" * 500)) == 120
