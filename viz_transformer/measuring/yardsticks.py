"""What a loss is held against: how well the same tokens are predicted by counting them, without a model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from viz_transformer import numerals
from viz_transformer.text.codec import Codec, TextCodec

LOWER_NATS, LOWER_SHARE = 0.1, 0.05
"""How far a loss has to be below counting to be called lower: nats per token, and a share of what counting costs."""


@dataclass(frozen=True)
class Predicted:
    """Tokens of one text that are predicted, each with the token before it (None at the start of the text)."""

    before: tuple[int | None, ...]
    tokens: tuple[int, ...]

    @classmethod
    def of(cls, ids: Sequence[int], first: int) -> Predicted:
        """The tokens from place `first` on of a text."""
        places = range(first, len(ids))
        return cls(tuple(ids[i - 1] if i else None for i in places), tuple(ids[first:]))


@dataclass(frozen=True)
class Yardsticks:
    """Nats per token of guesses that need no model: all tokens equally likely, by how frequent each is, and by how
    often each follows the one before it. letters: whether the tokens are characters."""

    uniform: float
    single: float
    pairs: float
    letters: bool = False

    @property
    def sentence(self) -> str:
        """The three, in words."""
        unit = "letters" if self.letters else "tokens"
        uniform, single, pairs = (numerals.number(each, 2) for each in (self.uniform, self.single, self.pairs))
        return f"uniform guess {uniform}, counting {unit} {single}, pairs of {unit} {pairs}"

    def speaks(self, loss: float) -> bool:
        """Whether a loss is clearly lower than counting tokens: otherwise the texts say nothing of the reading."""
        return clearly_lower(loss, min(self.single, self.uniform))

    def passed_by(self, loss: float) -> bool:
        """Whether a loss is clearly lower than all three."""
        return clearly_lower(loss, min(self.uniform, self.single, self.pairs))


def clearly_lower(loss: float, counted: float) -> bool:
    """By 0.1 nats and by 5 %, or as near to 0 as that leaves."""
    margin = max(LOWER_NATS, LOWER_SHARE * counted)
    return math.isfinite(loss) and counted - loss >= min(margin, counted / 2) and loss < counted


def yardsticks(texts: Sequence[Predicted], codec: TextCodec) -> Yardsticks:
    """The yardsticks of these tokens.

    Each token is predicted from the counts of all others in these texts, itself left out, so that a token that comes
    once is no certainty; a text that comes twice counts once. Pairs fall back on single tokens and these on the even
    guess, by as many counts as there are different tokens (Witten and Bell 1991).
    """
    texts, size = list(dict.fromkeys(texts)), len(codec.names)
    single = Counter(token for text in texts for token in text.tokens)
    pairs = Counter(pair for text in texts for pair in zip(text.before, text.tokens, strict=True))
    before = Counter(each for text in texts for each in text.before)
    followers = Counter(first for first, _ in pairs)
    total = single.total()
    alone: dict[int, float] = {}
    for token, count in single.items():
        others = len(single) - (count == 1)
        alone[token] = (count - 1 + others / size) / max(total - 1 + others, 1)
    of_single = -sum(count * math.log(max(alone[token], 1 / size**2)) for token, count in single.items())
    of_pairs = 0.0
    for (first, token), count in pairs.items():
        others = followers[first] - (count == 1)
        counted = count - 1 + others * alone[token]
        likely = counted / (before[first] - 1 + others) if before[first] > 1 else alone[token]
        of_pairs -= count * math.log(max(likely, 1 / size**2))
    is_letters = isinstance(codec, Codec) and codec.tokenizer.kind == "characters"
    return Yardsticks(math.log(size), of_single / total, of_pairs / total, is_letters)
