"""The codec: text -> ids -> text, unknown text kept, ids taken as given."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from wording import wording

from viz_transformer.analysis.attention.words import word_groups
from viz_transformer.checkpoint.importers.vocabularies import ids_codec
from viz_transformer.text import (
    SPECIALS,
    Characters,
    Codec,
    RegexTokens,
    SpacyWords,
    SubWords,
    Tokenizer,
    Vocabulary,
    numbers_target_tokenizer,
)

# The vocabularies and pairs of the numbers task, as its specification lists them.
NUMBERS_SOURCE = "<s> </s> <unk> <pad> 0 , . 1 2 4 6 8 3 5 7 9 -".split()
NUMBERS_TARGET = (
    "<s> </s> <unk> <pad> and hundred - , thousand point one two four eight minus six five three million seven nine "
    "twenty forty thirty sixty fifty eighty seventy billion ninety zero twelve sixteen ten eleven thirteen fourteen "
    "fifteen eighteen seventeen nineteen"
).split()
PAIRS = [
    (
        "-187,873,394,688.00",
        "minus one hundred and eighty-seven billion, eight hundred and seventy-three million, "
        "three hundred and ninety-four thousand, six hundred and eighty-eight",
    ),
    (
        "-9,045,407,744.00",
        "minus nine billion, forty-five million, four hundred and seven thousand, seven hundred and forty-four",
    ),
    ("-2,671,011.75", "minus two million, six hundred and seventy-one thousand and eleven point seven five"),
    ("-31,013.66", "minus thirty-one thousand and thirteen point six six"),
    ("-79.42", "minus seventy-nine point four two"),
    ("-0.28", "zero point two eight"),
    ("-0.00", "zero"),
    ("0.10", "zero point one"),
    ("10.50", "ten point five"),
    ("8,908.13", "eight thousand, nine hundred and eight point one three"),
    ("339,575,008.00", "three hundred and thirty-nine million, five hundred and seventy-five thousand and eight"),
    ("29,284.30", "twenty-nine thousand, two hundred and eighty-four point three"),
]


@pytest.fixture
def source() -> Codec:
    return Codec(Characters(), Vocabulary(NUMBERS_SOURCE, SPECIALS))


@pytest.fixture
def target() -> Codec:
    return Codec(numbers_target_tokenizer(), Vocabulary(NUMBERS_TARGET, SPECIALS))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0])
def test_numbers_and_their_words_come_back_from_their_ids(source: Codec, target: Codec, pair: tuple[str, str]) -> None:
    for codec, text in zip((source, target), pair, strict=True):
        encoded = codec.encode(text)
        assert encoded.unknown == ()
        assert codec.decode(encoded.ids) == text


def test_ids_are_those_of_the_specification(source: Codec, target: Codec) -> None:
    assert source.encode("-31,013.66").ids == (0, 16, 12, 7, 5, 4, 7, 12, 6, 10, 10, 1)
    assert target.encode(PAIRS[3][1]).ids == (0, 14, 23, 6, 10, 8, 4, 35, 9, 15, 15, 1)
    assert source.encode("29,284.30").ids == (0, 8, 15, 5, 8, 11, 9, 6, 12, 4, 1)


def test_unknown_tokens_keep_their_text(source: Codec) -> None:
    encoded = source.encode("1x😀2")
    assert encoded.ids == (0, 7, 2, 2, 8, 1)
    assert encoded.tokens == ("<s>", "1", "<unk>", "<unk>", "2", "</s>")
    assert encoded.originals == ("<s>", "1", "x", "😀", "2", "</s>")
    assert encoded.unknown == (2, 3)
    assert source.decode(encoded.ids) == "1<unk><unk>2"


@pytest.mark.parametrize("text", ["a\ud800b", "\x00\x1b", "שלום", "👩\u200d👧", "&<b>", "x" * 10_000], ids=ascii)
@pytest.mark.parametrize(
    "tokenizer", [Characters(), numbers_target_tokenizer(), SpacyWords("en")], ids=lambda t: t.kind
)
def test_any_text_gets_ids_and_originals_that_can_be_written_down(tokenizer: Tokenizer, text: str) -> None:
    codec = Codec(tokenizer, Vocabulary(NUMBERS_TARGET, SPECIALS))
    encoded = codec.encode(text)
    assert len(encoded.ids) == len(encoded.tokens) == len(encoded.originals)
    assert encoded.unknown == tuple(range(1, len(encoded) - 1))
    assert "".join(encoded.originals[1:-1]) == text.replace("\ud800", "\ufffd")
    codec.decode(encoded.ids).encode("utf-8")


def test_capitals_stay_in_the_originals_of_lower_case_words() -> None:
    codec = Codec(SpacyWords("en", lower=True), Vocabulary(["<unk>", "two"], {"unk": "<unk>"}), False, False)
    encoded = codec.encode("Two Zebras")
    assert encoded.tokens == ("two", "<unk>")
    assert encoded.originals == ("Two", "Zebras")


def test_typed_specials_are_unknown_text_and_no_specials(target: Codec) -> None:
    encoded = target.encode("one </s> <pad> two")
    assert encoded.ids == (0, 10, 2, 2, 11, 1)
    assert encoded.originals[2:4] == ("</s>", "<pad>")


def test_an_id_that_is_typed_is_that_token_also_where_it_is_a_special_one() -> None:
    codec = ids_codec(6, {"bos": "2", "eos": "3"})
    assert codec.encode("5 3 2 0").ids == (2, 5, 3, 2, 0, 3)
    with pytest.raises(ValueError, match=wording("this_model_does_not_know", "'6'", "whole numbers from 0 to 5")):
        codec.encode("6")


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_empty_text_is_one_sentence(source: Codec, text: str) -> None:
    with pytest.raises(ValueError, match=r"^the text is empty: type at least one character$"):
        source.encode(text)


def test_unknown_text_without_an_unknown_token_says_what_is_read_instead() -> None:
    codec = Codec(Characters(), Vocabulary(["<s>", "a"], {"bos": "<s>"}), add_bos=True, add_eos=False)
    with pytest.raises(ValueError, match=wording("this_model_does_not_know", "'😀'", "a")):
        codec.encode("a😀")


def test_a_special_token_that_is_typed_is_said_to_be_one_where_none_is_for_unknown_text() -> None:
    codec = Codec(RegexTokens(r"\S+"), Vocabulary(["<s>", "a"], {"bos": "<s>"}), add_bos=True, add_eos=False)
    with pytest.raises(ValueError, match=wording("no_text_can_contain_a_special_token", "'<s>'")):
        codec.encode("a <s>")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lower lowest, no", ["<s>", "lower", "lowest", ",", " ", "no", "</s>"]),
        ("  slow\n2x", ["<s>", "slow", "\n", "2x", "</s>"]),
        ("lowest☃er", ["<s>", "lowest", "<unk>", "er", "</s>"]),
    ],
)
def test_pieces_of_words_make_up_the_words_of_a_text(text: str, expected: list[str]) -> None:
    tokenizer = SubWords([("l", "o"), ("e", "r"), ("lo", "w"), (" ", "low"), ("s", "t"), ("e", "st")])
    codec = Codec(tokenizer, Vocabulary.build([[*" \nlowernst,2x", "lo", "low", " low", "er", "est"]], SPECIALS))
    read = codec.encode(text)
    marks = [i in codec.special_ids for i in read.ids]
    added = [codec.continuation(i) for i in read.ids]
    words = word_groups(read.tokens, read.originals, special=marks, characters=False, continuations=added)
    assert len(read) > len(words) and list(words.labels) == expected


def test_a_token_that_is_a_word_or_a_character_continues_none(source: Codec, target: Codec) -> None:
    for codec in (source, target):
        assert {codec.continuation(id) for id in range(len(codec.names))} == {None}


def test_start_and_end_tokens_are_added_only_when_asked(source: Codec) -> None:
    bare = Codec(source.tokenizer, source.vocabulary, add_bos=False, add_eos=True)
    assert bare.encode("12").ids == (7, 8, 1)
    with pytest.raises(ValueError, match="add_eos is true, but the vocabulary names no 'eos' token"):
        Codec(Characters(), Vocabulary(["<s>"], {"bos": "<s>"}))


def test_ids_are_used_exactly_as_given(source: Codec) -> None:
    given = [8, 0, 3, 2, 1, 8]
    encoded = source.encode_ids(given)
    assert encoded.ids == tuple(given)
    assert encoded.tokens == encoded.originals == ("2", "<s>", "<pad>", "<unk>", "</s>", "2")
    assert encoded.unknown == (3,)
    assert source.encode_ids(np.array(given)) == encoded


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([0, 17], "id 17 is outside the vocabulary: ids go from 0 to 16"),
        ([-1], "id -1 is outside"),
        ([1.0], "1.0 is not a token id"),
        (["1"], "'1' is not a token id"),
        ([], "the list of ids is empty"),
    ],
)
def test_ids_that_are_none_are_refused_by_name(source: Codec, ids: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        source.encode_ids(ids)


def test_decoding_drops_start_end_and_padding_wherever_they_stand(source: Codec) -> None:
    assert source.decode([0, 3, 7, 1, 3, 0, 8, 1, 3]) == "12"
    assert source.decode([]) == ""
    with pytest.raises(ValueError, match="id 99 is outside"):
        source.decode([99])


def test_json_makes_the_same_codec_again(source: Codec, target: Codec) -> None:
    for codec in (source, target, Codec(SpacyWords("it", lower=True), target.vocabulary, add_bos=False)):
        described = json.loads(json.dumps(codec.to_dict()))
        assert Codec.from_dict(described, Vocabulary(codec.vocabulary.tokens)) == codec


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"add_bos": "yes"}, "add_bos='yes' has to be true or false"),
        ({"add_bos": None}, "add_bos=None has to be true or false"),
        ({"specials": []}, r"specials=\[\] has to be an object"),
        ({"specials": {}}, "add_bos is true, but"),
        ({"specials": {"bos": "zzz"}}, "'zzz'"),
        ({"tokenizer": None}, "tokenizer=None has to be an object"),
        ({"prefix": 1}, "^the codec: 'prefix' is not known"),
    ],
)
def test_a_description_that_fits_no_codec_is_refused_by_name(source: Codec, change: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Codec.from_dict({**source.to_dict(), **change}, source.vocabulary)


def test_a_description_with_something_missing_is_refused_by_name(source: Codec) -> None:
    described = source.to_dict()
    del described["add_eos"]
    with pytest.raises(ValueError, match=r"^the codec: 'add_eos' is missing"):
        Codec.from_dict(described, source.vocabulary)
    with pytest.raises(ValueError, match="has to be an object with tokenizer, specials, add_bos, add_eos"):
        Codec.from_dict([], source.vocabulary)  # type: ignore[arg-type]
