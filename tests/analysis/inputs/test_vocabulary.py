import numpy as np
import pytest

from viz_transformer.analysis.inputs.vocabulary import count_tokens, find_entries, fixed_length, is_known, rebuild
from viz_transformer.text import SPECIALS, Characters, Codec, SpacyWords, Vocabulary

WORDS = Vocabulary((*SPECIALS.values(), "cat", "catch", "bobcat", "5", "Cat."), SPECIALS)
PLAIN = Vocabulary("abc")


def test_a_search_finds_equal_then_beginning_then_holding_in_order_of_id():
    assert [WORDS.tokens[id] for id in find_entries(WORDS.tokens, "cat")] == ["cat", "catch", "Cat.", "bobcat"]
    assert [WORDS.tokens[id] for id in find_entries(WORDS.tokens, " CAT ")] == ["cat", "catch", "Cat.", "bobcat"]
    assert find_entries(WORDS.tokens, "zebra") == []
    assert [*find_entries(WORDS.tokens, "  ")] == [*range(len(WORDS))]


def test_a_number_finds_the_token_that_it_is_and_then_the_id():
    assert [WORDS.tokens[id] for id in find_entries(WORDS.tokens, "5")] == ["5", "catch"]
    assert [WORDS.tokens[id] for id in find_entries(WORDS.tokens, "4")] == ["cat"]
    assert find_entries(WORDS.tokens, "999") == [] and find_entries(WORDS.tokens, "²") == []


def test_a_search_reads_no_signs_as_markup_or_patterns():
    assert [WORDS.tokens[id] for id in find_entries(WORDS.tokens, "<")] == ["<s>", "</s>", "<unk>", "<pad>"]
    assert [WORDS.tokens[id] for id in find_entries(WORDS.tokens, ".")] == ["Cat."]


def test_counts_are_those_of_a_case_by_hand():
    codec = Codec(Characters(), Vocabulary((*SPECIALS.values(), *"ab"), SPECIALS))
    found = count_tokens(codec, ["aab", "xya", "<s>"])
    # "<s>" is typed text: "<", "s" and ">" are unknown characters, as are x and y.
    assert found.by_id.tolist() == [0, 0, 5, 0, 3, 1]
    assert (found.texts, found.tokens, found.unknown, found.different_unknown) == (3, 9, 5, 5)


def test_counts_are_those_of_the_ids_that_the_codec_gives():
    codec = Codec(SpacyWords("en", lower=True), Vocabulary((*SPECIALS.values(), "the", "dog", "."), SPECIALS))
    texts = ["The dog saw the other dog.", "THE end.", "Dogs"]
    found = count_tokens(codec, texts)
    ids = [
        id for text in texts for id in codec.encode(text).ids if id not in (codec.vocabulary.bos, codec.vocabulary.eos)
    ]
    assert np.array_equal(found.by_id, np.bincount(ids, minlength=len(codec.vocabulary)))
    assert found.tokens == len(ids) and found.unknown == 4  # saw, other, end, dogs


def test_a_vocabulary_without_an_unknown_token_counts_unknown_text_all_the_same():
    found = count_tokens(Codec(Characters(), PLAIN, add_bos=False, add_eos=False), ["abz"])
    assert found.by_id.tolist() == [1, 1, 0] and found.unknown == 1


def test_a_special_token_is_no_known_word():
    assert is_known(WORDS, "cat") and not is_known(WORDS, "<s>") and not is_known(WORDS, "dog")


# --- a vocabulary from sentences

SENTENCES = ["the cat and the dog", "the dog", "", "a cat"]
ENGLISH = SpacyWords("en", lower=True)


def test_specials_stand_in_their_order_then_words_by_frequency():
    order = {"unk": "<unk>", "bos": "<BOS>", "eos": "<EOS>", "pad": "<PAD>"}
    made = rebuild(ENGLISH, SENTENCES, order, 1)
    assert made.vocabulary.tokens == ("<unk>", "<BOS>", "<EOS>", "<PAD>", "the", "cat", "dog", "and", "a")
    assert made.counts == (None, None, None, None, 3, 2, 2, 1, 1)
    assert made.left_out == ()
    assert made.look_up("raccoon") == 0  # as with a tutorial's order: an unknown word is 0
    assert made.look_up("dog") == 6


def test_the_minimum_count_leaves_out_what_is_rarer():
    made = rebuild(ENGLISH, SENTENCES, SPECIALS, 2)
    assert made.vocabulary.tokens[4:] == ("the", "cat", "dog")
    assert made.left_out == (("and", 1), ("a", 1))
    assert dict(made.sentences) == {"the cat and the dog": (4, 5, 2, 4, 6), "the dog": (4, 6), "a cat": (2, 5)}


def test_without_an_unknown_token_a_left_out_word_has_no_id():
    made = rebuild(ENGLISH, SENTENCES, {"pad": "<pad>"}, 2)
    assert dict(made.sentences) == {"the cat and the dog": None, "the dog": (1, 3), "a cat": None}
    assert made.look_up("and") is None


def test_a_vocabulary_of_nothing_is_an_error():
    assert len(rebuild(ENGLISH, [], SPECIALS, 1).vocabulary) == 4
    with pytest.raises(ValueError, match="type at least one sentence"):
        rebuild(ENGLISH, ["  "], {}, 1)
    with pytest.raises(ValueError, match="no token occurs 9 times"):
        rebuild(ENGLISH, SENTENCES, {}, 9)
    with pytest.raises(ValueError, match="min_count=0 has to be"):
        rebuild(ENGLISH, SENTENCES, SPECIALS, 0)


# --- ids at a fixed length

LETTERS = Codec(Characters(), Vocabulary((*SPECIALS.values(), *"ab"), SPECIALS))


def test_ids_at_a_fixed_length_have_the_tokens_asked_for_and_padding_behind():
    ids = LETTERS.encode("abz").ids
    assert fixed_length(LETTERS, ids, 8, start=True, end=True) == (0, 4, 5, 2, 1, 3, 3, 3)
    assert fixed_length(LETTERS, ids, 8, start=False, end=True) == (4, 5, 2, 1, 3, 3, 3, 3)
    assert fixed_length(LETTERS, ids, 3, start=False, end=False) == (4, 5, 2)
    assert fixed_length(LETTERS, (*ids, 3, 3), 5, start=True, end=True) == (0, 4, 5, 2, 1)


def test_ids_that_do_not_fit_or_cannot_be_filled_up_are_an_error():
    with pytest.raises(ValueError, match="5 tokens, which do not fit into 4"):
        fixed_length(LETTERS, LETTERS.encode("abz").ids, 4, start=True, end=True)
    plain = Codec(Characters(), PLAIN, add_bos=False, add_eos=False)
    assert fixed_length(plain, (0, 1), 2, start=False, end=False) == (0, 1)
    with pytest.raises(ValueError, match="no padding token"):
        fixed_length(plain, (0, 1), 3, start=False, end=False)
    with pytest.raises(ValueError, match="no start token"):
        fixed_length(plain, (0, 1), 3, start=True, end=False)
