"""A user's settings for training on a file; imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class OwnData:
    """A file of pairs (`source<TAB>target` per line) or plain text, with settings; None: proposed from the data."""

    pairs: str | Path
    columns: str | None = None
    """Source and target columns of a comma-separated file or JSON lines, as `a,b` (names, or numbers from 1); "none"
    reads plain text.
    """
    valid: str | Path | None = None
    """Validation file, to choose the best weights by; held out of `pairs` by default."""
    test: str | Path | None = None
    """Test file; held out of `pairs` by default."""
    tokens: str | None = None
    """One of "chars", "words" and "bpe"."""
    vocabulary: int | None = None
    """Maximum distinct words or pieces per side."""
    layers: int | None = None
    heads: int | None = None
    d_model: int | None = None
    d_ff: int | None = None
    dropout: float | None = None
    longest: int | None = None
    """Maximum tokens of a text, start and end included; for plain text, the window."""
    snapshots: int | None = None
    """Number of snapshots for the training replay."""
