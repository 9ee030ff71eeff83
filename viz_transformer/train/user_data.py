"""What its owner asks for when a model is to learn from a file; importing this loads nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class OwnData:
    """A file of pairs (`source<TAB>target` in each line) or a plain text, and the settings; None is proposed from it.

    columns: of a comma file, or of JSON lines, the two that are source and target (`a,b`: names, or numbers from 1); or
    none, for a plain text that looks like one.
    valid, test: files of the same kind, to choose the best weights by and to measure on; taken out of `pairs` without.
    tokens: chars, words or bpe (pieces of words). vocabulary: different words or pieces of a side at most.
    longest: tokens of a text at most, start and end included; of a plain text those that are read at a time.
    snapshots: how many weights are kept for the replay of the training.
    """

    pairs: str | Path
    columns: str | None = None
    valid: str | Path | None = None
    test: str | Path | None = None
    tokens: str | None = None
    vocabulary: int | None = None
    layers: int | None = None
    heads: int | None = None
    d_model: int | None = None
    d_ff: int | None = None
    dropout: float | None = None
    longest: int | None = None
    snapshots: int | None = None
