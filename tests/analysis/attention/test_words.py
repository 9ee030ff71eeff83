import numpy as np
import pytest
from builders import tiny_checkpoint
from signs import SIGNS

from viz_transformer.analysis.attention.maps import head_view
from viz_transformer.analysis.attention.specials import special_positions
from viz_transformer.analysis.attention.words import Words, word_groups, word_map
from viz_transformer.running.tracing import trace


def characters(text, specials=("<s>", "</s>")):
    """Groups of a text that is read character by character, between a start and an end token."""
    tokens = [specials[0], *text, specials[1]]
    marks = [True, *[False] * len(text), True]
    return word_groups(tokens, tokens, special=marks, characters=True)


def test_characters_between_blanks_belong_together():
    words = characters("ab c")
    assert words.positions == ((0,), (1, 2), (3,), (4,), (5,))
    assert words.labels == ("<s>", "ab", " ", "c", "</s>")


def test_a_number_is_one_word():
    assert characters("29,284.30").labels == ("<s>", "29,284.30", "</s>")


def test_every_kind_of_blank_splits_and_stands_alone():
    words = characters("a \t\nb  c")
    assert words.labels == ("<s>", "a", " ", "\t", "\n", "b", " ", " ", "c", "</s>")


def test_repeated_words_stay_apart():
    assert characters("aa aa").positions == ((0,), (1, 2), (3,), (4, 5), (6,))


def test_one_token():
    assert word_groups(["a"], ["a"], special=[False], characters=True).positions == ((0,),)


def test_words_that_are_tokens_are_not_joined():
    tokens = ["twenty", "-", "nine"]
    words = word_groups(tokens, tokens, special=[False] * 3, characters=False)
    assert words == Words(((0,), (1,), (2,)), ("twenty", "-", "nine"))


def pieces(tokens, continuations, originals=None):
    marks = [token.startswith(("[", "<")) for token in tokens]
    given = {"special": marks, "characters": False, "continuations": continuations}
    return word_groups(tokens, originals or tokens, **given)


def test_pieces_go_on_with_the_word_before_them():
    tokens = ["[CLS]", "walk", "##ing", "on", ",", "##ly", "[SEP]"]
    words = pieces(tokens, [None, None, "ing", None, None, "ly", None])
    assert words.positions == ((0,), (1, 2), (3,), (4,), (5,), (6,))  # behind a comma nothing goes on
    assert words.labels == ("[CLS]", "walking", "on", ",", "##ly", "[SEP]")


def test_bytes_are_the_characters_that_they_make():
    tokens = [" caf", "‹C3›", "‹A9›", " ", "‹E2›", "‹98›", "‹83›", " ‹E2›", "\n"]
    added = ["C3", "A9", "E2", "98", "83"]
    found = iter(f"‹{each}›" for each in added)
    words = pieces(
        tokens, [next(found) if token.startswith("‹") else None for token in tokens], [*tokens[:4], *"☃☃☃", "☃", "\n"]
    )
    assert words.labels == ("café", " ", "☃", "‹E2›", "\n")
    assert words.positions == ((0, 1, 2), (3,), (4, 5, 6), (7,), (8,))


def test_a_new_line_ends_a_word_and_letters_are_those_that_were_typed():
    assert pieces([" one", "‹0A›", "two"], [None, None, "two"]).labels == ("one", "‹0A›", "two")
    assert pieces(["em", "##bed", "##ding"], [None, "bed", "ding"], ["EM", "BED", "DING"]).labels == ("EMBEDDING",)


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS)
def test_no_sign_of_several_code_points_is_divided(sign):
    """Between characters, between words of a tokenizer that divides it, between pieces and between bytes."""
    tokens = ["the", *sign, "cat"]
    letters = characters(f"the {sign} cat")
    assert letters.labels == ("<s>", "the", " ", sign, " ", "cat", "</s>")
    words = word_groups(tokens, tokens, special=[False] * len(tokens), characters=False)
    assert words.labels == ("the", sign, "cat")
    assert words.positions == ((0,), tuple(range(1, len(sign) + 1)), (len(sign) + 1,))
    parts = [" the", f" {sign[0]}", *sign[1:], " cat"]
    assert pieces(parts, [None] * len(parts)).labels == ("the", sign, "cat")
    data = [f"‹{byte:02X}›" for byte in sign.encode()]
    parts = [" the", f" {data[0]}", *data[1:], " cat"]
    labels = pieces(parts, [None, None, *data[1:], None]).labels
    hidden = "\U000e007f" in sign  # tags are no signs that are shown
    assert labels == ("the", "".join(data) if hidden else sign, "cat")


def test_signs_beside_each_other_stay_apart():
    flags = [*"\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7"]
    assert pieces(flags, [None] * 4).positions == ((0, 1), (2, 3))
    apart = [" \U0001f1e9", " \U0001f1ea"]  # typed with a blank between them: no flag
    assert pieces(apart, [None] * 2).positions == ((0,), (1,))


def test_a_mark_behind_a_special_token_or_a_blank_stands_alone():
    assert characters(" \u0301").labels == ("<s>", " ", "\u0301", "</s>")
    assert pieces(["<s>", "\u0301", "a"], [None, "\u0301", "a"]).positions == ((0,), (1, 2))
    assert pieces(["\u2603", "\ufe0f", "a"], [None, None, "a"]).positions == ((0, 1), (2,))  # no word before the a


def test_continuations_of_another_length_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        pieces(["a", "b"], [None])


def test_labels_are_what_was_typed():
    words = word_groups(["<s>", "<unk>", "b"], ["<s>", "é", "b"], special=[True, False, False], characters=True)
    assert words.labels == ("<s>", "éb")


def test_each_token_of_padding_stands_alone():
    ckpt = tiny_checkpoint(pad_to=20, max_target=20)
    src = trace(ckpt, "abz", "u").src
    marks = special_positions(src, ckpt.source_codec)
    words = word_groups(src.tokens, src.originals, special=marks, characters=True)
    assert words.labels == ("<s>", "abz", "</s>", *["<pad>"] * 15)
    assert words == word_groups(src.tokens, src.originals, special=[True, *[False] * 3, *[True] * 16], characters=True)


def test_padding_is_known_without_its_mark():
    words = word_groups(["a", "<pad>", "<pad>"], ["a", "", ""], special=[False] * 3, characters=True)
    assert words == Words(((0,), (1,), (2,)), ("a", "<pad>", "<pad>"))


def test_every_token_is_in_one_word():
    words = characters("ab cde f")
    assert words.positions == ((0,), (1, 2), (3,), (4, 5, 6), (7,), (8,), (9,))


def test_texts_beside_the_tokens_are_joined_alike():
    assert characters("ab c").joined(["u", "v", "w", "x", "y", "z"]) == ("u", "vw", "x", "y", "z")


# Keys 0 and 1 are one word: its column is their sum. Queries 0 and 1 are one word: its row is the mean of theirs.
#   1/2 1/4 1/4      3/4 1/4
#   0   1/2 1/2  ->  1/2 1/2  ->  5/8 3/8
#   1   0   0        1   0        1   0
def test_weights_between_words_by_hand():
    weights = [[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]
    mask = [[True, True, True], [False, True, True], [True, False, False]]
    words = Words(((0, 1), (2,)), ("ab", "c"))
    merged = word_map(weights, mask, words, words)
    assert merged.weights.tolist() == [[0.625, 0.375], [1, 0]]
    assert merged.mask.tolist() == [[True, True], [True, False]]
    assert merged.weights.dtype == np.float32


def test_groups_may_be_torn_apart():
    """Pieces of a word need not be neighbours."""
    keys = Words(((0, 2), (1,)), ("ac", "b"))
    merged = word_map([[0.5, 0.25, 0.25]], [[True] * 3], Words(((0,),), ("x",)), keys)
    assert merged.weights.tolist() == [[0.75, 0.25]]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["cross", "decoder", "encoder"])
def test_weights_between_words_are_those_of_plain_loops_and_sum_to_one(seed, kind):
    recorded = trace(tiny_checkpoint(seed=seed), "abcahg", "uvwuv0")
    view = head_view(recorded, kind, 1, seed)
    rng = np.random.default_rng(seed)
    queries, keys = (random_words(rng, size) for size in view.weights.shape)
    merged = word_map(view.weights, view.mask, queries, keys)
    for i, query_group in enumerate(queries.positions):
        for j, key_group in enumerate(keys.positions):
            cells = [(q, k) for q in query_group for k in key_group]
            want = sum(float(view.weights[cell]) for cell in cells) / len(query_group)
            assert merged.weights[i, j] == pytest.approx(want, abs=1e-6)
            assert merged.mask[i, j] == any(view.mask[cell] for cell in cells)
    np.testing.assert_allclose(merged.weights.sum(axis=1), 1, atol=1e-6)  # float32 rows
    assert (merged.weights[~merged.mask] == 0).all()


def random_words(rng, size):
    """Neighbours put together by chance."""
    cuts = np.flatnonzero(rng.random(size - 1) < 0.5) + 1
    return Words(tuple(tuple(part.tolist()) for part in np.split(np.arange(size), cuts)), ())


def test_several_heads_are_merged_at_once():
    view = trace(tiny_checkpoint(), "abc", "uv")["encoder.0.self.weights"][0].numpy()  # [H, S, S]
    words = Words(((0,), (1, 2, 3), (4,)), ("<s>", "abc", "</s>"))
    together = word_map(view, np.ones_like(view, dtype=bool), words, words)
    assert together.weights.shape == together.mask.shape == (4, 3, 3)
    for head in range(4):
        alone = word_map(view[head], np.ones_like(view[head], dtype=bool), words, words)
        assert np.array_equal(together.weights[head], alone.weights)


def test_one_word_each_changes_nothing():
    view = head_view(trace(tiny_checkpoint(), "abc", "uv"), "cross", 0, 0)
    alone = [Words(tuple((i,) for i in range(size)), ()) for size in view.weights.shape]
    merged = word_map(view.weights, view.mask, *alone)
    assert np.array_equal(merged.weights, view.weights)
    assert np.array_equal(merged.mask, view.mask)


def test_a_row_of_zeros_counts_in_the_mean():
    words = Words(((0, 1),), ("ab",))
    merged = word_map([[0.5, 0.5], [0.0, 0.0]], [[True, True], [False, False]], words, words)
    assert merged.weights.tolist() == [[0.5]]


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        (((0, 2),), "there is no key position 2: key positions go from 0 to 1"),
        (((-1,),), "there is no key position -1"),
        (((0,), (0, 1)), "is in two words"),
        (((0, 0),), "is in two words"),
        (((0,), ()), "a key word without tokens"),
        ((), "a key word without tokens"),
    ],
)
def test_groups_that_do_not_fit_are_refused(groups, sentence):
    weights, mask, fine = [[0.5, 0.5]], [[True, True]], Words(((0,),), ("x",))
    with pytest.raises(ValueError, match=sentence):
        word_map(weights, mask, fine, Words(groups, ()))


def test_shapes_and_lists_that_do_not_fit_are_refused():
    words = Words(((0,),), ("x",))
    with pytest.raises(ValueError, match=r"weights of shape \[1, 1\] and a mask of \[1, 2\]"):
        word_map([[1.0]], [[True, True]], words, words)
    with pytest.raises(ValueError, match=r"weights of shape \[1\]"):
        word_map([1.0], [True], words, words)
    with pytest.raises(ValueError, match="2 tokens do not fit 1 originals, 2 marks of special tokens"):
        word_groups(["a", "b"], ["a"], special=[False, False], characters=True)
