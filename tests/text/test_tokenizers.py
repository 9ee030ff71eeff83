"""Tokenizers split, normalise and join; what was learned from texts and what JSON holds makes the same tokenizer."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from viz_transformer.text import (
    Characters,
    RegexTokens,
    SpacyWords,
    Tokenizer,
    numbers_target_tokenizer,
    tokenizer_from_dict,
)

HARD_TEXTS = [
    "\x00\x07\x1b[31m\x7f",
    "\u200b\u200d\ufeff",
    "👩\u200d👩\u200d👧 🇮🇹",
    "שלום עולם",
    "مرحبا 123",
    "<b>bold</b> & <script>",
    "e\u0301 é ﬁ İ ß",
    "a\u2028b\u00a0c\td\r\ne",
    "x" * 10_000,
    "1 " * 5_000,
    "-" * 10_000,
]


def spaceless(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("text", HARD_TEXTS, ids=ascii)
@pytest.mark.parametrize(
    "tokenizer", [Characters(), numbers_target_tokenizer(), SpacyWords("en")], ids=lambda t: t.kind
)
def test_no_text_crashes_and_no_character_but_blanks_is_lost(tokenizer: Tokenizer, text: str) -> None:
    pieces = tokenizer.split(text)
    assert all(pieces)
    assert spaceless("".join(pieces)) == spaceless(text)
    assert isinstance(tokenizer.detokenize(tokenizer.tokenize(text)), str)


@pytest.mark.parametrize(
    "tokenizer", [Characters(), numbers_target_tokenizer(), SpacyWords("en")], ids=lambda t: t.kind
)
@pytest.mark.parametrize("blank", ["", "   ", "\n\t\u00a0"])
def test_blank_text_has_no_tokens(tokenizer: Tokenizer, blank: str) -> None:
    assert tokenizer.split(blank) == []


def test_characters_strip_and_lower_only_when_asked() -> None:
    assert Characters().tokenize(" A b ") == ["A", " ", "b"]
    assert Characters(strip=False).tokenize(" A") == [" ", "A"]
    lower = Characters(lower=True)
    assert (lower.split("Ab"), lower.tokenize("Ab")) == (["A", "b"], ["a", "b"])


def test_numbers_in_words_are_split_and_joined_as_their_specification_says() -> None:
    tokenizer = numbers_target_tokenizer()
    words = "minus thirty-three billion, two hundred and one"
    tokens = ["minus", "thirty", "-", "three", "billion", ",", "two", "hundred", "and", "one"]
    assert tokenizer.tokenize(words) == tokens
    assert tokenizer.detokenize(tokens) == words


def test_text_between_matches_becomes_tokens_of_its_own() -> None:
    digits = RegexTokens(r"(\d)(\d)?")
    assert digits.tokenize("12 monkeys, 3 😀") == ["12", "monkeys,", "3", "😀"]


def test_a_pattern_that_matches_nothing_visible_gives_no_empty_tokens() -> None:
    assert RegexTokens(r"\d*").tokenize("a1b") == ["a", "1", "b"]


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("en", "Don't  stop (now)!", ["Do", "n't", "stop", "(", "now", ")", "!"]),
        ("it", "L'uomo c'è.", ["L'", "uomo", "c'", "è", "."]),
        ("de", "Ein Hund, z.B. hier.", ["Ein", "Hund", ",", "z.B.", "hier", "."]),
    ],
)
def test_spacy_words_are_those_of_spacy_without_blanks(language: str, text: str, tokens: list[str]) -> None:
    assert SpacyWords(language).tokenize(text) == tokens


def test_lower_case_words_keep_their_capitals_in_split() -> None:
    words = SpacyWords("en", lower=True)
    assert (words.split("Two MEN"), words.tokenize("Two MEN")) == (["Two", "MEN"], ["two", "men"])


def test_punctuation_and_quotation_marks_join_without_learning() -> None:
    text = 'He said "no (never)", didn\'t he?'
    words = SpacyWords("en")
    assert words.detokenize(words.tokenize(text)) == text


def test_joining_rules_are_learned_from_texts() -> None:
    texts = ["L'uomo dorme.", "L'altro no.", "L'ultimo, sì.", "Un uomo - alto - dorme.", "Chi, dove? L'uomo."]
    plain = SpacyWords("it", glue_left=(), glue_right=())
    learned = plain.learn(texts)
    assert learned.detokenize(["L'", "uomo", "dorme", ",", "no", "."]) == "L'uomo dorme, no."
    assert "L'" in learned.glue_right
    assert {".", ","} <= set(learned.glue_left)
    assert "-" not in (*learned.glue_left, *learned.glue_right)  # always between blanks here
    assert plain.detokenize(["L'", "uomo"]) == "L' uomo"


def test_quotation_marks_open_and_close_in_turn_whatever_was_learned() -> None:
    learned = SpacyWords("en").learn(['"Go" he said.', '"Yes" they sang.', '"No" we saw.'])
    assert '"' not in (*learned.glue_left, *learned.glue_right)
    text = 'We said "no" and "never".'
    assert learned.detokenize(learned.tokenize(text)) == text


def test_a_word_that_only_stood_before_punctuation_does_not_become_a_rule() -> None:
    learned = SpacyWords("en").learn(["a zebra.", "one zebra.", "zebra, zebra.", "a dog.", "a cat, a dog."])
    assert learned.glue_right == ()
    assert learned.detokenize(["zebra", "runs", "."]) == "zebra runs."


@pytest.mark.parametrize(
    "tokenizer",
    [
        Characters(lower=True, strip=False),
        numbers_target_tokenizer(),
        RegexTokens(r"\w+|\W"),
        SpacyWords("de", lower=True, glue_left=(".", "'s"), glue_right=("„",), paired=()),
    ],
    ids=lambda t: t.kind,
)
def test_json_makes_the_same_tokenizer_again(tokenizer: Tokenizer) -> None:
    again = tokenizer_from_dict(json.loads(json.dumps(tokenizer.to_dict())))
    assert again == tokenizer
    assert hash(again) == hash(tokenizer)


@pytest.mark.parametrize(
    ("described", "sentence"),
    [
        ({"kind": "bpe"}, "unknown tokenizer kind 'bpe'; known are characters, regex, spacy"),
        ({"kind": ["regex"]}, "unknown tokenizer kind"),
        ({}, "unknown tokenizer kind None"),
        ("characters", "unknown tokenizer kind None"),
        ([], "unknown tokenizer kind"),
        ({"kind": "characters", "upper": True}, "'upper'"),
        ({"kind": "characters", "lower": 1}, "'lower' has to be true or false"),
        ({"kind": "regex"}, "'pattern'"),
        ({"kind": "regex", "pattern": 3}, "'pattern' and 'join' have to be texts"),
        ({"kind": "regex", "pattern": "("}, "no regular expression"),
        ({"kind": "regex", "pattern": "(" * 5000}, "no regular expression"),
        ({"kind": "regex", "pattern": "a", "replacements": 5}, "'replacements' has to be a list"),
        ({"kind": "regex", "pattern": "a", "replacements": [["a"]]}, "pairs"),
        ({"kind": "regex", "pattern": "a", "replacements": [["", "b"]]}, "not empty"),
        ({"kind": "regex", "pattern": "a", "replacements": [[1, 2]]}, "has to hold texts"),
        ({"kind": "spacy", "language": "../evil"}, "is not a language"),
        ({"kind": "spacy", "language": "en", "glue_left": [1]}, "has to hold texts"),
        ({"kind": "spacy", "language": "en", "paired": "ab"}, "has to be a list"),
    ],
)
def test_settings_that_make_no_tokenizer_are_refused_by_name(described: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        tokenizer_from_dict(described)


def test_a_language_that_spacy_does_not_know_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="spaCy cannot split words of the language 'qq'"):
        SpacyWords("qq").split("hello")


def test_spacy_is_loaded_only_when_its_words_are_split() -> None:
    code = """
import sys
from viz_transformer.text import Characters, Codec, SpacyWords, Vocabulary
Characters().split("abc"); SpacyWords("en")
assert not {"spacy", "torch"} & set(sys.modules), "loaded too early"
SpacyWords("en").split("abc")
assert "spacy" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
