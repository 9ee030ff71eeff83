"""Reads the tokens of an expression one after the other, for parsers by recursive descent."""

from __future__ import annotations

from collections.abc import Sequence


class TokenReader:
    """The tokens of a text, of which those before `place` are read, within `depth` factors."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tokens
        self.place = self.depth = 0

    @property
    def next(self) -> str:
        """The token to be read, "" at the end."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, *wanted: str) -> str | None:
        """Read and return the next token if it is one of these."""
        if not (token := self.next) or token not in wanted:
            return None
        self.place += 1
        return token
