"""What a model writes for pairs of texts, beside what was asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from viz_transformer.analysis.difference import Piece, aligned_difference
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.search import decode_batch

BATCH = 50


@dataclass(frozen=True)
class Answer:
    """A source, the target that was asked for, and what the model wrote."""

    source: str
    wanted: str
    written: str

    @property
    def right(self) -> bool:
        """Whether the texts are equal, letter by letter."""
        return self.wanted == self.written

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Both texts aligned word by word."""
        return aligned_difference(_words(self.wanted), _words(self.written))


def greedy_answers(ckpt: Checkpoint, pairs: Sequence[tuple[str, str]]) -> tuple[Answer, ...]:
    """The greedy answers of an encoder-decoder, in the order of the pairs.

    Raises ValueError for a model of another kind, and for a source that it cannot read.
    """
    source, target = ckpt.source_codec, ckpt.target_codec
    if source is None or target is None or target.vocabulary.bos is None or target.vocabulary.eos is None:
        raise ValueError(f"{ckpt.name} does not turn one text into another: its example pairs cannot be run")
    encoded = [source.encode(text).ids for text, _ in pairs]
    written = [""] * len(pairs)
    groups: dict[int, list[int]] = {}
    for index, ids in enumerate(encoded):
        groups.setdefault(len(ids), []).append(index)
    for indices in groups.values():  # texts of one length need no padding
        for start in range(0, len(indices), BATCH):
            batch = indices[start : start + BATCH]
            rows = decode_batch(
                ckpt.model, [encoded[i] for i in batch], bos=target.vocabulary.bos, eos=target.vocabulary.eos
            )
            for index, row in zip(batch, rows, strict=True):
                written[index] = target.decode(row)
    return tuple(Answer(*pair, text) for pair, text in zip(pairs, written, strict=True))


def _words(text: str) -> list[str]:
    """The words, blanks and signs of a text; joined again they are the text."""
    return re.findall(r"\w+|\s+|[^\w\s]", text)
