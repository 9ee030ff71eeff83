"""Yardsticks for a loss: how well counting predicts the same tokens, without a model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from viz_transformer import numerals
from viz_transformer.text.codec import Codec, TextCodec

LOWER_NATS, LOWER_SHARE = 0.1, 0.05
"""Margin by which a loss must beat counting: nats per token, and share of counting's loss."""


@dataclass(frozen=True)
class Predicted:
    """Predicted tokens of one text, each with its previous token (None at the start)."""

    before: tuple[int | None, ...]
    tokens: tuple[int, ...]

    @classmethod
    def of(cls, ids: Sequence[int], first: int) -> Predicted:
        """The tokens of a text from index `first` on."""
        places = range(first, len(ids))
        return cls(tuple(ids[i - 1] if i else None for i in places), tuple(ids[first:]))


@dataclass(frozen=True)
class Yardsticks:
    """Nats per token without a model: uniform, by token frequency, and by frequency of token pairs.

    letters: whether tokens are characters.
    """

    uniform: float
    single: float
    pairs: float
    letters: bool = False

    @property
    def sentence(self) -> str:
        """The three in words."""
        unit = "letters" if self.letters else "tokens"
        uniform, single, pairs = (numerals.number(each, 2) for each in (self.uniform, self.single, self.pairs))
        return f"uniform guess {uniform}, counting {unit} {single}, pairs of {unit} {pairs}"

    def speaks(self, loss: float) -> bool:
        """Whether a loss is clearly lower than counting tokens: otherwise the texts say nothing about the reading."""
        return clearly_lower(loss, min(self.single, self.uniform))

    def passed_by(self, loss: float) -> bool:
        return clearly_lower(loss, min(self.uniform, self.single, self.pairs))


def clearly_lower(loss: float, counted: float) -> bool:
    """Whether a loss is lower by 0.1 nats and by 5 %, or at least halved."""
    margin = max(LOWER_NATS, LOWER_SHARE * counted)
    return math.isfinite(loss) and counted - loss >= min(margin, counted / 2) and loss < counted


def yardsticks(texts: Sequence[Predicted], codec: TextCodec) -> Yardsticks:
    """The yardsticks of these tokens.

    Each token is predicted from the counts of all others, leaving itself out, so that a token that occurs once is not
    certain; repeated texts count once. Pairs back off to single tokens, and these to the uniform guess, with as many
    pseudo-counts as there are distinct tokens (Witten and Bell 1991).
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
