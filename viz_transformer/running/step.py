"""One decoding step: the model's probabilities, what the strategy left of them, and the recorded points."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from torch import Tensor

from viz_transformer.model.attention import attention_scores
from viz_transformer.model.masks import LOWEST_ADDED
from viz_transformer.running.strategies import (
    KEPT,
    REASONS,
    Distribution,
    Strategy,
    distribution,
    entropy_and_others,
    greatest,
    log_softmax,
)
from viz_transformer.text.rules import TokenRule, removals

CANDIDATES = 10


@dataclass(frozen=True)
class Candidate:
    """A token that a step could write."""

    token: str
    token_id: int
    log_prob: float  # natural logarithm of the model's probability, over the whole vocabulary
    strategy_log_prob: float = 0.0  # under the strategy; -inf if removed
    removed: str | None = None  # reason: "banned", "greedy", "top-k", "top-p", "min-p" or one of `RULES`


@dataclass(frozen=True)
class Held:
    """Size of the cache after a step: positions of text and source, and bytes of what it stores."""

    self_positions: int
    cross_positions: int
    bytes: int


@dataclass(frozen=True)
class Choosing:
    """What all steps of a run share, mainly how tokens are chosen. `read` grows during the run."""

    strategy: Strategy | None
    banned: frozenset[int]
    read: Sequence[int]  # all that the decoder reads
    start: int  # tokens read before the first step
    vocabulary: tuple[str, ...] = field(repr=False)
    held: Callable[[int], Held | None] = field(repr=False)  # size of the cache after a step
    scalars: Mapping[str, float] = field(repr=False)  # as in `HookedModel.scalars`
    rules: tuple[TokenRule, ...] = ()


@dataclass(frozen=True, eq=False)
class Step:
    """One written token and its recorded pass. Derived numbers are computed on access."""

    index: int
    token: str
    token_id: int
    forced: bool
    logits: Tensor = field(repr=False)  # [V]
    recorded: Mapping[str, Tensor] = field(repr=False)  # of the pass that wrote the token; `rows` needs them
    row: int = field(repr=False)  # the token's row in them; -1 is the last
    choosing: Choosing = field(repr=False)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return self.choosing.vocabulary

    @property
    def cache(self) -> Held | None:
        """Size of the cache after this step; None if every step is a full pass."""
        return self.choosing.held(self.index)

    @cached_property
    def log_probs(self) -> Tensor:
        """Natural log-probabilities of the vocabulary, before the strategy: [V] float64."""
        return log_softmax(self.logits.detach().cpu())

    @property
    def log_prob(self) -> float:
        """Log-probability of the written token."""
        return float(self.log_probs[self.token_id])

    @cached_property
    def distribution(self) -> Distribution:
        """Probabilities left by the strategy."""
        how = self.choosing
        read = how.read[: how.start + self.index]
        by_rule = removals(how.rules, read, self.index)
        return distribution(self.logits, how.strategy, read, how.banned, by_rule=by_rule)

    @property
    def strategy_log_prob(self) -> float:
        """The token's log-probability under the strategy; -inf for a forced token that it would have removed."""
        return float(self.distribution.log_probs[self.token_id])

    @property
    def entropy(self) -> float:
        """Entropy of the model's probabilities, in nats: 0 = certain, ln(V) = uniform. Source: Shannon (1948)."""
        return entropy_and_others(self.log_probs)[0]

    def entropy_and_others(self, ids: Collection[int]) -> tuple[float, float]:
        """The entropy, and the model's total probability of all tokens except these."""
        return entropy_and_others(self.log_probs, ids)

    def others_left(self, ids: Collection[int]) -> float:
        """The strategy's total probability of all tokens except these."""
        return entropy_and_others(self.distribution.log_probs, ids)[1]

    @property
    def rank(self) -> int:
        """Number of tokens more probable than the one written."""
        return self.rank_of(self.token_id)

    def rank_of(self, token_id: int) -> int:
        """Number of tokens more probable than this one, under the model; equal ones share a rank."""
        return int((self.log_probs > self.log_probs[token_id]).sum())

    @property
    def position(self) -> int:
        """The decoder row that wrote the token."""
        return self.choosing.start - 1 + self.index

    @property
    def rows(self) -> Mapping[str, Tensor]:
        """The new row of every decoder attention, over the keys that it could see: [B, H, 1, K], by point."""
        keys = self.position + 1
        found = attention_rows(self.recorded, self.row, self.choosing.scalars)
        return {name: row[..., :keys] if ".self." in name else row for name, row in found.items()}

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The model's ten most probable tokens, best first."""
        return self.most_probable(CANDIDATES)

    def most_probable(self, count: int) -> tuple[Candidate, ...]:
        """The model's `count` most probable tokens, best first, ties in the order of greedy decoding."""
        ids = greatest(self.logits.detach().cpu(), min(count, len(self.vocabulary)))
        log_probs = self.log_probs[ids].tolist()
        return tuple(self.candidate(i, log_prob) for i, log_prob in zip(ids.tolist(), log_probs, strict=True))

    def most_probable_left(self, count: int) -> tuple[int, ...]:
        """Ids of the `count` most probable tokens under the strategy, best first; fewer if it left fewer."""
        left = self.distribution.log_probs
        ids = greatest(left, min(count, len(left)))
        return tuple(ids[left[ids] > -math.inf].tolist())

    def candidate(self, token_id: int, log_prob: float | None = None) -> Candidate:
        """This token as a candidate of the step."""
        reason = REASONS[int(self.distribution.removed[token_id])]
        return Candidate(
            self.vocabulary[token_id],
            token_id,
            float(self.log_probs[token_id]) if log_prob is None else log_prob,
            float(self.distribution.log_probs[token_id]),
            None if reason == KEPT else reason,
        )


def attention_rows(recorded: Mapping[str, Tensor], row: int, scalars: Mapping[str, float]) -> dict[str, Tensor]:
    """One row of every decoder attention, [B, H, 1, K], over all keys of the pass, padding included.

    The row of a fused attention is computed from its recorded query and keys.
    """
    rows = {}
    for name in recorded:
        site, _, what = name.rpartition(".")
        if not name.startswith("decoder."):
            continue
        if what == "weights":
            value = recorded[name]
            rows[name] = value[:, :, row % value.size(2), None]
        elif what == "query" and f"{site}.weights" not in recorded and f"{site}.divisor" in scalars:
            rows[f"{site}.weights"] = _computed_row(recorded, site, row, scalars[f"{site}.divisor"])
    return rows


def read_for_rows(recorded: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The points of a pass that `attention_rows` reads: weights, or what they are computed from."""
    return {
        name: value
        for name, value in recorded.items()
        if name.startswith("decoder.")
        and (
            name.endswith(".weights")
            or (name.endswith(_FOR_WEIGHTS) and f"{name.rpartition('.')[0]}.weights" not in recorded)
        )
    }


_FOR_WEIGHTS = (".query", ".key", ".mask", ".bias")


def _computed_row(recorded: Mapping[str, Tensor], site: str, row: int, divisor: float) -> Tensor:
    # on the CPU, where a kept run computes the same numbers
    query, key, mask = (recorded[f"{site}.{part}"].cpu() for part in ("query", "key", "mask"))
    bias = recorded[f"{site}.bias"].cpu() if f"{site}.bias" in recorded else None
    at = row % query.size(2)
    key = key.repeat_interleave(query.size(1) // key.size(1), dim=1)  # heads that share a key
    scores = attention_scores(query[:, :, at, None], key, divisor, None if bias is None else bias[:, :, at, None])
    return LOWEST_ADDED(scores, mask[:, :, at % mask.size(2), None])
