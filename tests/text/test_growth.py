"""How much a tokenizer.json may make of a text is told before it is given any, and is never less than it makes."""

from __future__ import annotations

import json
import unicodedata
from random import Random
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from viz_transformer.text.growth import MAX_GROWN, MAX_TIMES, Growth, growth_of, joining_growth, read_description
from viz_transformer.text.tokenizers import LibraryTokens, panics_said

BLANKS = {"type": "Replace", "pattern": {"String": " "}, "content": " " * 2000}
MODEL = {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"}


def described(**parts: Any) -> dict[str, Any]:
    """A description as the library reads it."""
    return {"version": "1.0", "added_tokens": [], "model": MODEL, **parts}


def sequence(kind: str, *steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", kind: list(steps)}


def template(times: int, ids: int = 1) -> dict[str, Any]:
    parts = [{"Sequence": {"id": "A", "type_id": 0}}] * times
    special = {"SpecialToken": {"id": "x", "type_id": 0}}
    names = {"x": {"id": "x", "ids": [0] * ids, "tokens": ["a"] * ids}}
    return {"type": "TemplateProcessing", "single": [special, *parts], "pair": parts * 2, "special_tokens": names}


BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
HOSTILE: dict[str, dict[str, Any]] = {
    "blanks three times": {"normalizer": sequence("normalizers", *[BLANKS] * 3)},
    "blanks within": {"normalizer": sequence("normalizers", sequence("normalizers", BLANKS), BLANKS)},
    "an empty pattern": {"normalizer": {**BLANKS, "pattern": {"String": ""}}},
    "a pattern of nothing": {"normalizer": {**BLANKS, "pattern": {"Regex": "x*"}}},
    "a pattern for ever": {"normalizer": {**BLANKS, "content": "", "pattern": {"Regex": "(a+)+$"}}},
    "a split for ever": {
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": ".*.*x"}, "behavior": "Isolated", "invert": False}
    },
    "before a text": {"normalizer": {"type": "Prepend", "prepend": "a" * 2**17}},
    "bytes of bytes": {"pre_tokenizer": sequence("pretokenizers", *[BYTES] * 30)},
    "bytes of a text": {"normalizer": sequence("normalizers", *[{"type": "ByteLevel"}] * 30)},
    "itself twelve times": {"post_processor": sequence("processors", *[template(2)] * 12)},
    "many specials": {"post_processor": template(1, 2**17)},
    "padding": {"padding": {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None}},
    "multiples": {"padding": {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": 2**40}},
    "letters around": {"model": {**MODEL, "type": "BPE", "merges": [], "end_of_word_suffix": "a" * 10**6}},
    "whole words": {"model": {**MODEL, "type": "WordPiece", "max_input_chars_per_word": 2**40}},
    "a long piece": {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["a" * 2000, 0.0]]}},
    "added": {
        "normalizer": {**BLANKS, "content": " " * 1000},
        "added_tokens": [{"id": 5 + n, "content": " " * 900} for n in range(9)],
    },
    "steps": {"normalizer": sequence("normalizers", *[{"type": "NFC"}] * 1000)},
    "unknown": {"normalizer": {"type": "Wild"}},
    "pieces of nothing": {"pre_tokenizer": {"type": "FixedLength", "length": 0}},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_one_that_may_take_all_memory_or_for_ever_is_refused_before_it_is_read(name: str) -> None:
    hostile = described(**HOSTILE[name])
    with pytest.raises(ValueError, match=r"^it |^the pattern|^the steps|^its ") as raised:
        growth_of(hostile)
    assert len(str(raised.value).splitlines()) == 1 and len(str(raised.value)) < 300
    with pytest.raises(ValueError, match="cannot read this"):
        LibraryTokens.of(json.dumps(hostile))


def test_joining_that_may_take_all_memory_is_refused() -> None:
    with pytest.raises(ValueError, match=r"may make 4,000,000 characters of one, at most 2,000"):
        joining_growth(described(decoder=sequence("decoders", BLANKS, BLANKS)))
    with pytest.raises(ValueError, match="cannot read this"):
        LibraryTokens.of(json.dumps(described(decoder=sequence("decoders", BLANKS, BLANKS))))


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"[" * 10_000, b"[[],[],[]" * 10**6, b'{"a": NaN}'])
def test_what_is_no_description(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"^it "):
        read_description(content)


@pytest.mark.parametrize("part", ["normalizer", "pre_tokenizer", "post_processor", "added_tokens", "padding", "model"])
@pytest.mark.parametrize("given", [7, "x", [7], {"type": 7}, {"type": "Sequence"}, {"type": []}, {"Fixed": "x"}])
def test_a_description_that_is_damaged(part: str, given: Any) -> None:
    """Is refused in a sentence, or makes nothing more of a text."""
    try:
        found = growth_of(described(**{part: given}))
    except ValueError as error:
        assert str(error).startswith(("it ", "its "))
    else:
        assert found.times <= MAX_TIMES


NORMALIZERS = [
    *(normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD(), normalizers.Lowercase()),
    *(normalizers.BertNormalizer(), normalizers.Strip(), normalizers.StripAccents(), normalizers.Nmt()),
    *(normalizers.Replace(" ", "▁"), normalizers.Replace("a", "ﷺ"), normalizers.Replace("ab", "abab")),
    *(normalizers.Replace(tokenizers.Regex("b*"), "ΐ"), normalizers.Prepend("▁x"), normalizers.ByteLevel()),
]
TEXTS = [
    "",
    "a",
    "ab" * 50,
    "  a  ",
    "ﷺ" * 20,
    "ΐ" * 20,
    "İ" * 20,
    "漢字" * 20,
    "㌀" * 20,
    "\U0001d160" * 20,
    "é\u0301" * 9,
]


def test_no_text_becomes_longer_than_was_told() -> None:
    """Against what the library makes, of random sequences of its normalizers."""
    draw, told = Random(0), 0
    for _ in range(400):
        chosen = [draw.choice(NORMALIZERS) for _ in range(draw.randint(1, 4))]
        made = Tokenizer(models.BPE())
        made.normalizer = normalizers.Sequence(chosen)
        try:
            growth = growth_of(json.loads(made.to_str()))
        except ValueError:
            continue
        told += 1
        text = "".join(draw.choice(TEXTS) for _ in range(3))
        try:
            with panics_said():
                found = made.normalizer.normalize_str(text)
        except ValueError:  # of the library's own, for a pattern that matches nothing at the end
            continue
        assert len(found) <= len(text) * growth.times + growth.more, chosen
    assert told > 200


def test_unicodes_forms_make_no_more_of_any_character_however_often_they_come() -> None:
    for code in range(0x110000):
        text = chr(code)
        if 0xD800 <= code < 0xE000:
            continue
        once = unicodedata.normalize("NFKD", text.lower())
        if len(once) > 1 or once != text:
            assert len(once) <= 18 and len(unicodedata.normalize("NFKD", once.lower()).lower()) <= 18
            assert len(unicodedata.normalize("NFD", text)) <= 4 and len(text.lower()) <= 2


def test_tokens_around_and_copies_are_told() -> None:
    made = Tokenizer(models.BPE({"a": 0, "<s>": 1}, []))
    made.post_processor = processors.TemplateProcessing(single="<s> $A $A <s>", special_tokens=[("<s>", 1)])
    growth = growth_of(json.loads(made.to_str()))
    assert len(made.encode("a" * 10).ids) == 22 <= 10 * growth.times + growth.more


def test_pieces_that_are_cut_again_and_again_are_told() -> None:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(use_regex=False)] * 3)
    growth = growth_of(json.loads(made.to_str()))
    found = made.pre_tokenizer.pre_tokenize_str("漢字" * 10)
    assert sum(len(piece) for piece, _ in found) <= 20 * growth.times + growth.more


def test_joined_tokens_are_told() -> None:
    made = Tokenizer(models.BPE())
    made.decoder = decoders.Sequence([decoders.Replace("a", "bbb"), decoders.Replace("b", "cc"), decoders.WordPiece()])
    growth = joining_growth(json.loads(made.to_str()))
    assert len(made.decoder.decode(["aaaa"] * 5)) <= 20 * growth.times + growth.more


def test_a_text_that_may_become_too_long_is_refused_in_a_sentence() -> None:
    growth = Growth(times=1000, more=5)
    growth.check("a" * 2_097)
    with pytest.raises(ValueError, match=r"^the text has 2,098 characters, .* at most 2,097: shorten it$"):
        growth.check("a" * 2_098)
    assert MAX_GROWN == 2_097_152


def test_a_library_tokenizer_reads_no_text_that_may_become_too_long() -> None:
    spread = described(normalizer={**BLANKS, "content": " " * 1000}, pre_tokenizer={"type": "Whitespace"})
    cut = LibraryTokens.of(json.dumps(spread))
    assert cut.split("a a") == ["a", "a"]
    with pytest.raises(ValueError, match="shorten it"):
        cut.split("a " * 4000)
