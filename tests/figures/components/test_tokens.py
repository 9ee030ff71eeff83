"""Tokens as the components draw them."""

import json

import pytest

from viz_transformer.analysis.attention.axes import LONGEST_TEXT
from viz_transformer.figures import labels
from viz_transformer.figures.components.tokens import token_data


def test_a_token_is_its_text():
    assert token_data(["a", "b", "a"]) == [{"text": "a"}, {"text": "b"}, {"text": "a"}]


def test_what_was_typed_is_noted_where_the_model_reads_something_else():
    assert token_data(["<unk>", "hund", "a"], ["é", "Hund", "a"]) == [
        {"text": "<unk>", "note": "é"},
        {"text": "hund"},  # another case of what was typed is the same
        {"text": "a"},
    ]


def test_special_tokens_are_those_at_the_positions_given():
    tokens = token_data(["<s>", "a", "<s>"], special={0})
    assert [token.get("special", False) for token in tokens] == [True, False, False]


@pytest.mark.parametrize(
    ("token", "text"),
    [(" ", "␣"), ("a b", "a␣b"), ("\n", "↵"), ("\t", "⇥"), ("\x07", "␇"), ("\u202e", "U+202E"), ("", "(empty)")],
)
def test_what_cannot_be_seen_has_a_sign(token, text):
    assert token_data([token]) == [{"text": text}]
    assert token_data(["<unk>"], [token])[0]["note"] == text


@pytest.mark.parametrize("token", ["<b>", "&amp;", "<img src=x onerror=alert(1)>", "עברית", "😀", "日本"])
def test_markup_and_scripts_stay_as_they_are(token):
    assert token_data([token]) == [{"text": token.replace(" ", "␣")}]


def test_a_long_token_is_shortened():
    (token,) = token_data(["x" * 5000], ["y" * 5000])
    assert token == {"text": "x" * (LONGEST_TEXT - 1) + "…", "note": "y" * (LONGEST_TEXT - 1) + "…"}
    assert token_data(["x" * LONGEST_TEXT])[0]["text"] == "x" * LONGEST_TEXT


def test_tokens_are_plain_json():
    assert json.loads(json.dumps(token_data(["<unk>"], ["é"], special={0}))) == [
        {"text": "<unk>", "note": "é", "special": True}
    ]


def test_tokens_and_originals_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        token_data(["a", "b"], ["a"])


def test_right_to_left_letters_are_fenced_off_as_in_the_browser():
    assert labels.isolate("שלום") == "\u2068שלום\u2069"  # tests/javascript/text.test.js has the same
    assert labels.isolate("عالم") == "\u2068عالم\u2069" and labels.isolate("a") == "a"
