"""A card's data and measurements as rows; what it does not state is marked as missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from viz_transformer import numerals
from viz_transformer.checkpoint import describe
from viz_transformer.model.config import ModelConfig
from viz_transformer.text.notation import read_notation
from viz_transformer.ui.pages.models import words

_SHARES = ("exact_match", "exact_match_unseen", "equivalent", "token_accuracy")


@dataclass(frozen=True)
class Measured:
    """One measurement: its split, its decoding, its command, and its numbers as texts by name."""

    split: str
    how: str
    command: str
    numbers: tuple[tuple[str, str], ...]


def measurements(card: Mapping[str, Any]) -> tuple[Measured, ...]:
    """All measurements of a card with all their numbers, without those that do not apply."""
    return tuple(_read_measurement(entry) for entry in describe.metrics(card))


def data_rows(card: Mapping[str, Any], config: ModelConfig) -> list[tuple[str, str]]:
    """Data, licence, splits, filters and overlap, as far as the card and the config state them."""
    evaluation = _mapping(card.get("evaluation"))
    rows = [
        (label, str(card.get(name) or words.NOT_STATED))
        for name, label in (("data", words.DATA), ("data_licence", words.LICENCE))
    ]
    rows.append((words.TRAINED_ON, _training_files(evaluation.get("seen"))))
    tested = (str(part) for part in (evaluation.get("split"), evaluation.get("data")) if part)
    rows.append((words.TESTED_ON, ", ".join(tested) or words.NOT_STATED))
    rows += _notation_rows(card)
    if left_out := describe.count_left_out(card):
        rows.append((words.LEFT_OUT_OF_TEST, left_out))
    rows.append((words.SIZES, _sizes(card)))
    rows.append((words.CURVES, describe.losses_on(card) or words.NOT_STATED))
    rows += _overlap_rows(_mapping(card.get("overlap")))
    for side, most in (("source", config.max_source), ("target", config.max_target)):
        size = getattr(config, f"{side}_vocab_size")
        if size is not None:
            rows.append((side, words.vocabulary(size, most)))
    return rows


def _read_measurement(entry: Mapping[str, Any]) -> Measured:
    tokenizer, width = describe.bleu_tokenizer(entry), describe.beam(entry)
    translated = describe.read_measurement(entry, "bleu") is not None
    how = [words.decoding(width), describe.count_texts(entry), tokenizer if translated else ""]
    numbers = []
    for name, label in words.MEASURES.items():
        value = describe.read_measurement(entry, name)
        if value is not None:
            numbers.append((label, _number(entry, name, value)))
    split, command = (str(entry.get(key) or words.NOT_STATED) for key in ("split", "command"))
    return Measured(split, ", ".join(filter(None, how)), command, tuple(numbers))


def _number(entry: Mapping[str, Any], name: str, value: float) -> str:
    if name == "too_long":
        return f"{describe.too_long(entry):,}"
    if name not in _SHARES:
        if name == "sentences_per_second":
            return numerals.number(value, 1)
        return numerals.score(value) if name in ("bleu", "chrf") else numerals.significant(value)
    text = share(value)
    low, high = (describe.read_measurement(entry, f"{name}_{end}") for end in ("low", "high"))
    return text if low is None or high is None else words.within(text, share(low), share(high))


def share(value: float) -> str:
    """A share as a percentage with two decimals."""
    return numerals.percent(value, 2)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _training_files(seen: object) -> str:
    entries: Sequence[object] = seen if isinstance(seen, list) else [seen]
    files = []
    for entry in entries:
        given = _mapping(entry)
        name = entry if isinstance(entry, str) else given.get("file")
        limit = given.get("limit")
        if isinstance(name, str):
            files.append(words.first_lines(name, limit) if type(limit) is int else name)
    return words.all_of(files) or words.NOT_STATED


def _sizes(card: Mapping[str, Any]) -> str:
    """The number of examples of each split, as far as the card states it: an older card has at most its overlap's
    pairs."""
    unit = words.CHARACTERS_UNIT if "window" in _mapping(card.get("evaluation")) else words.PAIRS_UNIT
    counts = [(str(name), count) for name, count in _mapping(card.get("data_sizes")).items() if _is_count(count)]
    if counts:
        return words.sizes(counts, unit)
    tested = _mapping(card.get("overlap")).get("test_pairs")
    return words.test_size(tested) if _is_count(tested) else words.NOT_STATED


def _notation_rows(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The notation of the training sources, if the card states it; the reason if that cannot be read."""
    try:
        notation = read_notation(card)
    except ValueError as error:
        return [(words.NOTATION, str(error))]
    return [] if notation is None else [(words.NOTATION, notation.words())]


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and value >= 0


def _overlap_rows(overlap: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The overlap of the test with the training data: every pair of counts in the card."""
    rows = []
    for what, total, seen in (
        (words.THE_TEST, "test_pairs", "with_source_in_train"),
        (words.WHOLE_TEST_FILE, "all_test_pairs", "all_with_source_in_train"),
        (words.THE_TEST, "test_windows", "with_text_in_train"),
    ):
        if (said := _part(overlap, total, seen)) is not None:
            rows.append((words.overlap_with(what), said))
    for other in overlap.get("others") or () if isinstance(overlap.get("others"), list) else ():
        given = _mapping(other)
        if (said := _part(given, "test_pairs", "with_source_in_train")) is not None:
            rows.append((words.overlap_with(str(given.get("split", words.ANOTHER_SPLIT))), said))
    return rows or [(words.OVERLAP, words.NOT_STATED)]


def overlap_of_test(card: Mapping[str, Any]) -> tuple[int, int, str] | None:
    """The overlap of the first measurement: how many of its sources or windows are in the training data, their total,
    and their unit; None if the card does not state it."""
    counts = _mapping(card.get("overlap"))
    for total, seen, unit in (
        ("test_pairs", "with_source_in_train", words.SOURCES_TESTED),
        ("test_windows", "with_text_in_train", words.WINDOWS_TESTED),
    ):
        if (found := _read_counts(counts, total, seen)) is not None:
            return *found, unit
    return None


def _part(counts: Mapping[str, Any], total: str, seen: str) -> str | None:
    if (found := _read_counts(counts, total, seen)) is None:
        return None
    part, whole = found
    return words.overlapping(part, whole, share(part / whole), windows=total == "test_windows")


def _read_counts(counts: Mapping[str, Any], total: str, seen: str) -> tuple[int, int] | None:
    whole, part = counts.get(total), counts.get(seen)
    if type(whole) is not int or type(part) is not int or not 0 <= part <= whole or not whole:
        return None
    return part, whole
