"""A model's answers to pairs of texts, beside the expected ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from viz_transformer.analysis.decoding.difference import Piece, aligned_difference
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.measuring.answering import answers_of
from viz_transformer.measuring.comparing import both_answers as both_answers
from viz_transformer.measuring.evaluation import exact_matches, writes_lower_case


@dataclass(frozen=True)
class PairAnswer:
    """A source, its target, the model's answer, and whether the two are equal.

    `right` is `evaluate`'s exact match: letter by letter, blanks collapsed, in lower case for a model that writes
    `lower` case only, and never with an unknown word in what was written.
    """

    source: str
    wanted: str
    written: str
    right: bool
    lower: bool = False
    ids: tuple[int, ...] = ()
    """The answer's ids, without start and end token."""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Both texts aligned word by word."""
        return aligned_difference(_words(self.wanted), _words(self.written), key=str.lower if self.lower else str)


def greedy_answers(ckpt: Checkpoint, pairs: Sequence[tuple[str, str]]) -> tuple[PairAnswer, ...]:
    """The greedy answers of an encoder-decoder, in the order of the pairs; they are those that `evaluate` counts.

    Raises ValueError for a model that does not turn one text into another, and for a source that it cannot read.
    """
    written, _ = answers_of(ckpt, [source for source, _ in pairs])
    lower = writes_lower_case(ckpt)
    matches = exact_matches(written, [[wanted] for _, wanted in pairs], lower=lower)
    return tuple(
        PairAnswer(source, wanted, answer.text, right, lower, answer.ids)
        for (source, wanted), answer, right in zip(pairs, written, matches, strict=True)
    )


def _words(text: str) -> list[str]:
    """The words, blanks and signs of a text; joined again they are the text."""
    return re.findall(r"\w+|\s+|[^\w\s]", text)


Wanted = Literal["all", "wrong", "right"]


@dataclass(frozen=True)
class Confusion:
    """Expected words, the words written in their place ("" for none), and how often."""

    wanted: str
    written: str
    count: int


def matching(answers: Sequence[PairAnswer], which: Wanted, words: str = "") -> tuple[PairAnswer, ...]:
    """The answers of a kind that contain all the words, in source, target or answer."""
    parts = words.casefold().split()

    def holds(answer: PairAnswer) -> bool:
        whole = "\n".join((answer.source, answer.wanted, answer.written)).casefold()
        return all(part in whole for part in parts)

    return tuple(
        answer for answer in answers if (which == "all" or answer.right == (which == "right")) and holds(answer)
    )


def confusions(answers: Sequence[PairAnswer]) -> tuple[Confusion, ...]:
    """The confusions of wrong answers, the most frequent first; blanks alone do not count."""
    counts = Counter(
        ("".join(piece.wanted).strip(), "".join(piece.written).strip())
        for answer in answers
        if not answer.right
        for piece in answer.pieces
        if not piece.same
    )
    return tuple(Confusion(*sides, count) for sides, count in counts.most_common() if any(sides))
