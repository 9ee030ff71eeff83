"""In which of a few languages a text is, by its commonest words: says nothing where it is not sure."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

NAMES = {"de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian"}
LEAST_WORDS, LEAST_SHARE = 2, 0.25
"""So many of a text's words have to be among a language's commonest, and this share of all of them."""
LONGEST = 2_000
"""Characters of a text that are looked at."""


def words_of(text: str) -> list[str]:
    """The words of a text in lower case; an apostrophe ends one."""
    return re.findall(r"[^\W\d_]+", text[:LONGEST].lower())


def other_language(text: str, own: str) -> str | None:
    """The language of a text by its code, if it is surely another than its reader's `own`; else None.

    Words that are common in both do not count; of its own language hardly any word may be there.
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
