"""spaCy's analysis of a text: by rules, and with an installed pipeline. And the language of a text, by its commonest
words, where that is clear."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from viz_transformer.sentences import quote


@dataclass(frozen=True)
class Word:
    """A spaCy token with rule-based attributes."""

    text: str
    shape: str  # letters as X and x, digits as d, at most four alike
    kind: str  # word, number, punctuation, space or other
    stop: bool
    blank: bool  # whether white space follows


@dataclass(frozen=True)
class Tagged:
    """A token as analysed by a trained pipeline; "" where the pipeline lacks a component."""

    text: str
    lemma: str
    part_of_speech: str
    tag: str
    dependency: str
    head: int  # index of its syntactic head; its own index for the root of a sentence
    explained: str


@dataclass(frozen=True)
class TextFacts:
    """Counts of a text. sentences: by spaCy's rule, at punctuation. different: distinct lower-cased words."""

    characters: int
    sentences: int
    tokens: int
    words: int
    different: int
    numbers: int
    punctuation: int
    stop_words: int
    letters_per_word: float


def language_name(language: str) -> str:
    """ "German" for "de". Raises ValueError for a code unknown to spaCy."""
    return type(_blank(language)).__name__.removesuffix("Language") or language


def words(language: str, text: str) -> tuple[Word, ...]:
    """Tokens by the language's rules. Raises ValueError for a language unknown to spaCy."""
    return tuple(
        Word(token.text, token.shape_, _kind(token), bool(token.is_stop), bool(token.whitespace_))
        for token in _blank(language)(text)
    )


def text_facts(language: str, text: str) -> TextFacts:
    """Count sentences, tokens, words etc. by rules, without a trained model.

    Raises ValueError for a language unknown to spaCy.
    """
    doc = _blank(language)(text)
    kinds = [_kind(token) for token in doc]
    spoken = [token.text for token, kind in zip(doc, kinds, strict=True) if kind == "word"]
    return TextFacts(
        characters=len(text),
        sentences=sum(1 for _ in doc.sents) if text.strip() else 0,
        tokens=len(kinds) - kinds.count("space"),
        words=len(spoken),
        different=len({word.lower() for word in spoken}),
        numbers=kinds.count("number"),
        punctuation=kinds.count("punctuation"),
        stop_words=sum(bool(token.is_stop) for token in doc),
        letters_per_word=sum(map(len, spoken)) / len(spoken) if spoken else float("nan"),
    )


def installed_pipelines(language: str) -> tuple[str, ...]:
    """Names of the installed trained pipelines for a language."""
    from spacy import util

    return tuple(sorted(name for name in util.get_installed_models() if name.startswith(f"{language}_")))


def tag(pipeline: str, text: str) -> tuple[Tagged, ...]:
    """Part of speech, tag, lemma and dependency of each token from an installed pipeline, spaces omitted.

    Raises ValueError if the pipeline cannot be loaded.
    """
    from spacy import glossary

    doc = _pipeline(pipeline)(text)
    places = {token.i: place for place, token in enumerate(token for token in doc if not token.is_space)}
    return tuple(
        Tagged(
            text=token.text,
            lemma=token.lemma_,
            part_of_speech=token.pos_,
            tag=token.tag_,
            dependency=token.dep_,
            head=places.get(token.head.i, places[token.i]),
            explained=", ".join(
                glossary.GLOSSARY[name] for name in (token.pos_, token.dep_) if name in glossary.GLOSSARY
            ),
        )
        for token in doc
        if token.i in places
    )


def _kind(token: Any) -> str:
    if token.is_space:
        return "space"
    if token.is_punct:
        return "punctuation"
    if token.like_num:
        return "number"
    return "word" if token.is_alpha else "other"


@cache
def _blank(language: str) -> Callable[[str], Any]:
    """spaCy's rules for a language, with a rule for sentence boundaries, untrained."""
    import spacy

    try:
        rules = spacy.blank(language)
    except ImportError as error:
        raise ValueError(f"spaCy has no rules for {quote(language)}: {' '.join(str(error).split())}") from None
    rules.add_pipe("sentencizer")
    return rules


@lru_cache(maxsize=2)
def _pipeline(name: str) -> Callable[[str], Any]:
    import spacy

    try:
        loaded: Callable[[str], Any] = spacy.load(name)
    except (OSError, ImportError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"the spaCy pipeline {name} cannot be loaded: {reason:.300}") from None
    return loaded


NAMES = {"de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian"}
LEAST_WORDS, LEAST_SHARE = 2, 0.25
"""So many of a text's words have to be among a language's commonest, and this share of all of them."""
LONGEST = 2_000
"""Characters of a text whose words are counted."""


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
