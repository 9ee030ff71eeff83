"""Converts text to ids and back: tokenizers, vocabularies, and codecs, which combine the two."""

from __future__ import annotations

from viz_transformer.text.codec import Codec, Encoded
from viz_transformer.text.tokenizers import (
    Characters,
    RegexTokens,
    SpacyWords,
    SubWords,
    Tokenizer,
    numbers_target_tokenizer,
    tokenizer_from_dict,
)
from viz_transformer.text.vocabulary import SPECIALS, Vocabulary

__all__ = [
    "SPECIALS",
    "Characters",
    "Codec",
    "Encoded",
    "RegexTokens",
    "SpacyWords",
    "SubWords",
    "Tokenizer",
    "Vocabulary",
    "numbers_target_tokenizer",
    "tokenizer_from_dict",
]
