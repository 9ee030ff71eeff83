"""Why an answer is not to be trusted: its text goes beyond everything the model was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viz_transformer.checkpoint.contents import Summary
from viz_transformer.figures import labels
from viz_transformer.text.linguistics import NAMES, other_language, words_of
from viz_transformer.text.notation import Notation, read_notation
from viz_transformer.text.notation.numbers import nearest_number
from viz_transformer.ui.frame import words
from viz_transformer.ui.session import cached

LANGUAGE_KEY = "language"
"""The entry of a card that says in which language the model's sources are, as a code of two letters."""
MAX_NAMED, LONGEST_NAME = 3, 24
UNKNOWN_SHARE = 0.25
"""In another language, so many of a text's words at least are unknown to the model."""

LONGEST_TRY = 40
"""Characters of a text that is offered in full on its button."""
Way = tuple[str, Mapping[str, Any]]
"""What a button says, and the fields that it changes."""


@dataclass(frozen=True)
class Doubt:
    """One reason, as a clause; `tries`: what to type instead; `language`: the one that the text is in, by its code;
    `of_length`: whether it is that the text is long."""

    reason: str
    tries: tuple[str, ...] = ()
    language: str | None = None
    of_length: bool = False


def notation_ways(summary: Summary, text: str) -> tuple[Way, ...]:
    """What to type instead of a text that is not in the model's notation; nothing for a card that cannot be read."""
    try:
        notation = read_notation(summary.card)
    except ValueError:
        return ()
    found = None if notation is None else notation_doubt(notation, text)
    return () if found is None else ways_of(found)


def ways_of(doubt: Doubt) -> tuple[Way, ...]:
    """Buttons that keep what was typed, or put the same into the model's notation."""
    tries = [
        (words.try_text(text) if len(text) <= LONGEST_TRY else words.TRY_AS_LEARNED, {"text": text})
        for text in doubt.tries
    ]
    reader = None if doubt.language is None else _reader_of(doubt.language)
    return (*tries, *([] if reader is None else [(words.open_in(reader), {"checkpoint": reader})]))


def _reader_of(language: str) -> str | None:
    """The first model here that reads this language."""
    return next((each.name for each in cached.summaries() if _reads(each) == language), None)


def _reads(summary: Any) -> object:
    return summary.card.get(LANGUAGE_KEY) if isinstance(summary, Summary) else None


def notation_doubt(notation: Notation, text: str) -> Doubt | None:
    """What of a text the model's notation does not have; None for a text as in training."""
    reading = notation.read(text)
    if reading.inside:
        return None
    if reading.read:
        offered = [] if reading.offered is None else [reading.offered]
        said = _clause(reading.said) if reading.said else words.learned_as(_short(offered[0]))
        return Doubt(said, tuple(offered))
    meant = nearest_number(text) if notation.noun == "numbers" else None
    tries = () if meant is None else (notation.read(meant).offered or meant,)
    if strange := notation.strange(text):
        return Doubt(words.never_in_training(_listed(strange), len(strange), notation.noun), tries)
    return Doubt(words.none_written_so(notation.noun), tries)


def language_doubt(card: Mapping[str, Any], text: str, hidden: Sequence[tuple[str, str]]) -> Doubt | None:
    """The doubt that a text is in another language than the model reads, where its commonest words and the share of
    unknown words agree on it. hidden: from `hidden_texts`."""
    own = card.get(LANGUAGE_KEY)
    typed = words_of(text)
    if not isinstance(own, str) or not typed or len(hidden) < UNKNOWN_SHARE * len(typed):
        return None
    other = other_language(text, own)
    if other is None:
        return None
    return Doubt(words.another_language(NAMES[own], NAMES[other]), language=other)


def unknown_doubt(hidden: Sequence[tuple[str, str]]) -> Doubt | None:
    """The doubt that the model reads its unknown token instead of some words. hidden: from `hidden_texts`."""
    different = tuple(dict.fromkeys(text for _, text in hidden))
    if not different:
        return None
    return Doubt(words.unknown(_listed(different), len(different), labels.visible(hidden[0][0])))


def length_doubt(read: int, longest: int) -> Doubt | None:
    """The doubt that a text has more tokens than the longest of training; longest: 0 if that is unknown."""
    if not longest or read <= longest:
        return None
    return Doubt(words.longer_than_training(read, longest), of_length=True)


def _clause(sentence: str) -> str:
    """A sentence that begins with "This" or "The" as a clause, without its last full stop."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _short(text: str) -> str:
    return labels.isolate(labels.shorten(labels.sentence(text), LONGEST_NAME))


def _listed(names: Sequence[str]) -> str:
    """The first names between quotation marks, and how many more there are."""
    shown = [f"“{labels.isolate(labels.shorten(labels.visible(name), LONGEST_NAME))}”" for name in names[:MAX_NAMED]]
    return words.first_named(shown, len(names) - len(shown))
