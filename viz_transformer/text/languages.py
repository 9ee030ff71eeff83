"""Recognises the language of a text among a few, by its most common words; silent when unsure."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

NAMES = {"de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian"}
LEAST_WORDS, LEAST_SHARE = 2, 0.25
"""Minimum number and share of words that must be among a language's most common."""
LONGEST = 2_000
"""Maximum characters to inspect."""


def words_of(text: str) -> list[str]:
    """Lower-case words of a text; an apostrophe ends a word."""
    return re.findall(r"[^\W\d_]+", text[:LONGEST].lower())


def other_language(text: str, own: str) -> str | None:
    """Code of a text's language if it surely differs from `own`, else None.

    Words common to both do not count, and hardly any word of `own` may occur.
    """
    common = _common_words()
    if own not in common:
        return None
    words = words_of(text)
    mine = sum(word in common[own] for word in words)
    found = {code: sum(word in common[code] - common[own] for word in words) for code in common if code != own}
    best = max(found, key=found.__getitem__)
    seconds = [count for code, count in found.items() if code != best]
    sure = found[best] >= max(LEAST_WORDS, LEAST_SHARE * len(words)) and found[best] > 2 * mine
    return best if sure and found[best] > max(seconds) else None


@cache
def _common_words() -> dict[str, frozenset[str]]:
    read = files(__package__).joinpath("common_words.json").read_text(encoding="utf-8")
    return {code: frozenset(words.split()) for code, words in json.loads(read).items()}
