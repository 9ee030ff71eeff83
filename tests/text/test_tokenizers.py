"""Tokenizers split, normalise and join; what was learned from texts and what JSON holds makes the same tokenizer."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from viz_transformer.text import (
    Characters,
    RegexTokens,
    SpacyWords,
    SubWords,
    Tokenizer,
    numbers_target_tokenizer,
    tokenizer_from_dict,
    tokenizers,
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
    "tokenizer",
    [Characters(), numbers_target_tokenizer(), SpacyWords("en"), SubWords([("a", "b"), ("x", "x")])],
    ids=lambda t: t.kind,
)
def test_no_text_crashes_and_no_character_but_blanks_is_lost(tokenizer: Tokenizer, text: str) -> None:
    pieces = tokenizer.split(text)
    assert all(pieces)
    assert spaceless("".join(pieces)) == spaceless(text)
    assert isinstance(tokenizer.detokenize(tokenizer.tokenize(text)), str)


@pytest.mark.parametrize(
    "tokenizer",
    [Characters(), numbers_target_tokenizer(), SpacyWords("en"), SubWords([("a", "b"), ("x", "x")])],
    ids=lambda t: t.kind,
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


BUNDLED = sorted(
    {
        codec["tokenizer"]["pattern"]
        for folder in (Path(__file__).parents[2] / "checkpoints").iterdir()
        for codec in json.loads((folder / "config.json").read_text(encoding="utf-8")).values()
        if isinstance(codec, dict) and "pattern" in codec.get("tokenizer", {})
    }
)


def split_by_re(pattern: str, text: str) -> list[str]:
    """What `RegexTokens` is said to give, with the standard library alone."""
    pieces, end = [], 0
    for match in re.finditer(pattern, text):
        pieces += [*text[end : match.start()].split(), match[0]]
        end = match.end()
    return [piece for piece in [*pieces, *text[end:].split()] if piece]


@pytest.mark.parametrize("pattern", [*BUNDLED, numbers_target_tokenizer().pattern])
def test_the_bundled_patterns_split_every_character_as_re_does(pattern: str) -> None:
    tokenizer = RegexTokens(pattern)
    everything = [chr(code) for code in (*range(0x3100), *range(0x3100, 0x110000, 97))]
    for text in ("".join(everything), "a".join(everything), " x,-1".join(everything)):
        assert tokenizer.split(text) == split_by_re(pattern, text)
    signs, chance = "ab19 ,-*()O\tx6\x1c\n.é²", random.Random(0)
    for _ in range(2000):
        text = "".join(chance.choices(signs, k=chance.randrange(60)))
        assert tokenizer.split(text) == split_by_re(pattern, text)


FOR_EVER = [
    (r"(?:(?:a|aa)+)+[^a]", "a" * 80),
    (r"a*a*a*a*[bc]", "a" * 5000),
]


@pytest.mark.parametrize(("pattern", "text"), FOR_EVER)
def test_a_pattern_that_would_match_for_ever_is_given_up_and_holds_nobody(
    pattern: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenizers, "_seconds", lambda text: 0.3)
    tokenizer = RegexTokens(pattern)
    assert tokenizer.split("aa") == ["aa"]  # harmless as long as the text is
    ran_beside: list[int] = []
    given_up = threading.Event()

    def work_beside() -> None:
        while not given_up.is_set():
            ran_beside.append(1)
            given_up.wait(0.001)

    other = threading.Thread(target=work_beside)
    other.start()
    began = len(ran_beside)
    try:
        with pytest.raises(ValueError, match=r"pattern '.*' takes too long to split this text: shorten the text, or"):
            tokenizer.split(text)
    finally:
        given_up.set()
        other.join()
    assert len(ran_beside) > began + 20


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(?:a?){30}a{30}", r"(\w+\s?)+!$"])
def test_patterns_known_for_taking_for_ever_end(pattern: str) -> None:
    for text in ("a" * 60, "a" * 60 + "c", "aaaa " * 30 + "?"):
        assert "".join(RegexTokens(pattern).split(text)) == "".join(text.split())


@pytest.mark.parametrize("text", ["a" * 100_000, "ab" * 50_000, "a1" * 50_000, " " * 100_000])
def test_plain_patterns_take_time_in_proportion_to_the_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have no time limit, so it must not be possible to make them slow."""
    monkeypatch.setattr(tokenizers.regex, "compile", None)  # not reached
    for pattern in (*BUNDLED, r"\w+|[^\w\s]", "[a-z]*", "aaaaaaaab|a+", r"a\w+"):
        assert "".join(RegexTokens(pattern).split(text)) == "".join(text.split())


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("[", r"the pattern '\[' is not a regular expression: unterminated"),
        ("(?R)", "is not a regular expression"),
        ("(" * 400 + ")" * 400, "is not a regular expression"),
        ("x" * 1001, "the pattern has 1,001 characters, at most 1,000 are read"),
        ("x" * 900 + "[", "the pattern 'x+…"),
    ],
)
def test_what_is_no_pattern_is_refused_in_a_short_sentence(pattern: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        RegexTokens(pattern)
    assert len(str(caught.value)) < 300


def test_joining_cannot_make_a_text_without_end() -> None:
    growing = RegexTokens("a", join="", replacements=[["a", "a" * 1000]] * 10)
    long = RegexTokens("a", join="-" * 10**6)
    for tokenizer in (growing, long):
        with pytest.raises(ValueError, match="rules for joining tokens make a text of millions of characters: choose"):
            tokenizer.detokenize(["a"] * 1000)
    with pytest.raises(ValueError, match="has to be a list of 0 to 1,000, each a list of 2"):
        RegexTokens("a", replacements=[["a", "b"]] * 1001)
    assert RegexTokens("a", join="", replacements=[["a", "bb"]]).detokenize(["a"] * 900_000) == "bb" * 900_000


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
        ({"kind": "unigram"}, "kind='unigram' is not known; choose 'characters' or 'regex' or 'spacy' or 'bpe'"),
        ({"kind": "bpe"}, "'merges'"),
        ({"kind": "bpe", "merges": 5}, "merges=5 has to be a list"),
        ({"kind": "bpe", "merges": [["a", 1]]}, r"merges\[0\]\[1\]=1 has to be a text"),
        ({"kind": "bpe", "merges": [["a", "b", "c"]]}, r"has to be a list of 2: \(a text that is not empty, a text"),
        ({"kind": "bpe", "merges": [["a", ""]]}, r"merges\[0\]\[1\]='' has to be a text that is not empty"),
        ({"kind": "bpe", "merges": [["a", "b"]] * 50_001}, "has to be a list of 0 to 50,000"),
        ({"kind": "bpe", "merges": [], "strip": 1}, "strip=1 has to be true or false"),
        ({"kind": "bpe", "merges": [], "_ranks": {}}, "'_ranks'"),
        ({"kind": ["regex"]}, r"kind=\['regex'\] is not known"),
        ({}, "kind=None is not known"),
        ("characters", "kind=None is not known"),
        ([], "kind=None is not known"),
        ({"kind": "characters", "upper": True}, "'upper'"),
        ({"kind": "characters", "lower": 1}, "lower=1 has to be true or false"),
        ({"kind": "regex"}, "'pattern'"),
        ({"kind": "regex", "pattern": 3}, "pattern=3 has to be a text"),
        ({"kind": "regex", "pattern": "("}, "not a regular expression"),
        ({"kind": "regex", "pattern": "(" * 500}, "not a regular expression"),
        ({"kind": "regex", "pattern": "a", "replacements": 5}, "replacements=5 has to be a list"),
        (
            {"kind": "regex", "pattern": "a", "replacements": [["a"]]},
            "has to be a list of 2",
        ),
        ({"kind": "regex", "pattern": "a", "replacements": [["", "b"]]}, "not empty"),
        ({"kind": "regex", "pattern": "a", "replacements": [[1, 2]]}, r"replacements\[0\]\[0\]=1 has to be a text"),
        ({"kind": "spacy", "language": "../evil"}, "has to be spaCy's letters for one, such as 'en'"),
        ({"kind": "spacy", "language": "en", "glue_left": [1]}, r"glue_left\[0\]=1 has to be a text"),
        ({"kind": "spacy", "language": "en", "paired": "ab"}, "paired='ab' has to be a list"),
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


def test_a_run_of_signs_takes_spacy_no_longer_than_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    spacy_tokenizer = tokenizers._spacy_tokenizer

    def watched(language: str) -> Any:
        return lambda text: given.append(text) or spacy_tokenizer(language)(text)

    monkeypatch.setattr(tokenizers, "_spacy_tokenizer", watched)
    assert SpacyWords("en").split("so " + ")" * 15_000 + "\n!") == ["so", *[")"] * 15_000, "!"]
    assert max(map(len, given[0].split())) == tokenizers.LONGEST_RUN
    whole = "x" * tokenizers.LONGEST_RUN
    assert SpacyWords("en").split(f"{whole} {whole}y") == [whole, whole, "y"]


def test_pieces_of_words_are_merged_in_the_order_of_the_merges() -> None:
    """By hand: l o w e r -> lo w e r -> lo w er -> low er; two blanks belong to no word, and no merge joins them."""
    tokenizer = SubWords([("l", "o"), ("e", "r"), ("lo", "w"), (" ", "low"), ("s", "t"), ("e", "st")])
    assert tokenizer.split("lower low  lowest") == ["low", "er", " low", " ", " ", "low", "est"]
    assert tokenizer.split(" lolo\n") == ["lo", "lo"]
    assert SubWords(tokenizer.merges, strip=False).split(" lo\n") == [" ", "lo", "\n"]
    assert SubWords([("a", "a")]).split("aaaaa") == ["aa", "aa", "a"]
    text = "slower, lowest  lo\tlow"
    assert tokenizer.detokenize(tokenizer.tokenize(text)) == text
    again = tokenizer_from_dict(json.loads(json.dumps(tokenizer.to_dict())))
    assert again == tokenizer and hash(again) == hash(tokenizer) and again.split(text) == tokenizer.split(text)


def test_a_word_without_end_is_cut_before_it_is_merged() -> None:
    pieces = SubWords([("x", "x"), ("xx", "xx")]).split("x" * 1_000_000)
    assert "".join(pieces) == "x" * 1_000_000 and set(pieces) == {"xxxx", "xx"}
