"""A text of a codec's own vocabulary, which it reads."""

import pytest
from builders import tiny_checkpoint

from viz_transformer.text.codec import Codec
from viz_transformer.text.readable import is_read, readable
from viz_transformer.text.tokenizers import Characters, RegexTokens
from viz_transformer.text.vocabulary import Vocabulary


@pytest.mark.parametrize(
    ("tokenizer", "tokens", "text"),
    [
        (Characters(), (".", "a", "b"), "ab"),
        (RegexTokens(r"\S+"), (",", "a", "man", "in", "the", "street", "two"), "a man in the street"),
        (Characters(), ("1", "2", "."), "12."),
        (Characters(), (" ", "\n"), None),
    ],
)
def test_it_is_of_tokens_with_letters_where_there_are_some(tokenizer, tokens, text):
    codec = Codec(tokenizer, Vocabulary(("<unk>", *tokens), {"unk": "<unk>"}), add_bos=False, add_eos=False)
    assert readable(codec) == text
    assert text is None or is_read(codec, text)


def test_an_unknown_token_and_an_empty_text_are_not_read():
    codec = tiny_checkpoint().codec("source")
    assert is_read(codec, readable(codec)) and not is_read(codec, "") and not is_read(codec, "\N{SNOWMAN}")
