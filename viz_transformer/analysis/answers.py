"""What a model writes for pairs of texts, beside what was asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from viz_transformer.analysis.difference import Piece, aligned_difference
from viz_transformer.answering import answers_of
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.evaluation import exact_matches, writes_lower_case


@dataclass(frozen=True)
class Answer:
    """A source, the target that was asked for, what the model wrote, and whether the two are equal.

    `right` is `evaluate`'s exact match: letter by letter, blanks collapsed, in lower case for a model that writes
    `lower` case only, and never with an unknown word in what was written.
    """

    source: str
    wanted: str
    written: str
    right: bool
    lower: bool = False

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Both texts aligned word by word."""
        return aligned_difference(_words(self.wanted), _words(self.written), key=str.lower if self.lower else str)


def greedy_answers(ckpt: Checkpoint, pairs: Sequence[tuple[str, str]]) -> tuple[Answer, ...]:
    """The greedy answers of an encoder-decoder, in the order of the pairs; they are those that `evaluate` counts.

    Raises ValueError for a model that does not turn one text into another, and for a source that it cannot read.
    """
    written, _ = answers_of(ckpt, [source for source, _ in pairs])
    lower = writes_lower_case(ckpt)
    matches = exact_matches(written, [[wanted] for _, wanted in pairs], lower=lower)
    return tuple(
        Answer(source, wanted, answer.text, right, lower)
        for (source, wanted), answer, right in zip(pairs, written, matches, strict=True)
    )


def _words(text: str) -> list[str]:
    """The words, blanks and signs of a text; joined again they are the text."""
    return re.findall(r"\w+|\s+|[^\w\s]", text)
