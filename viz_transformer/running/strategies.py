"""Decoding strategies as values, and the distribution that each leaves at one step."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Literal

import numpy as np
import torch
from msgspec import Meta
from torch import Tensor

from viz_transformer import declared, numerals
from viz_transformer.declared import Count
from viz_transformer.numerals import significant
from viz_transformer.text.rules import RULES, BeamSettings

KEPT = "kept"
REASONS = (KEPT, "banned", *RULES, "greedy", "top-k", "top-p", "min-p")
"""Reasons why a strategy removes a token; the first means that it is kept."""
NO_RULES: Mapping[str, Collection[int]] = MappingProxyType({})


@dataclass(frozen=True)
class Greedy:
    """The most probable token at every step; on a tie, the smaller id."""

    def __str__(self) -> str:
        return "greedy"

    def formula(self) -> str:
        """Formula of the choice."""
        return "token = argmax p"


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Draw a token at every step, after these cuts in order, each followed by renormalisation.

    1. repetition_penalty: logits of tokens already read are divided by it where positive, multiplied where negative
    (Keskar et al. 2019); this depends on the arbitrary zero of the logits.
    2. temperature: all logits are divided by it; 0 means greedy decoding.
    3. top_k: the k most probable tokens are kept.
    4. top_p: the fewest most probable tokens that reach p are kept, including the one that crosses it (Holtzman et al.
    2020).
    5. min_p: tokens at least `min_p` times as probable as the first are kept (Nguyen et al. 2024).
    The draw is argmax(log p + noise) with Gumbel noise from `seed` and step only, so runs with the same seed and
    different temperatures use the same noise. Raises ValueError for settings out of bounds.
    """

    temperature: Annotated[float, Meta(ge=0, le=100)] = 1.0
    top_k: Annotated[int, Meta(ge=1, le=10**9)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    min_p: Annotated[float, Meta(ge=0, le=1)] = 0.0
    repetition_penalty: Annotated[float, Meta(gt=0, le=100)] = 1.0
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0

    def __post_init__(self) -> None:
        declared.check(self)

    def __str__(self) -> str:
        settings = [f"temperature {significant(self.temperature, 6)}"]
        settings += [f"top-k {self.top_k}"] if self.top_k is not None else []
        settings += [f"top-p {significant(self.top_p, 6)}"] if self.top_p < 1 else []
        settings += [f"min-p {significant(self.min_p, 6)}"] if self.min_p > 0 else []
        settings += (
            [f"repetition penalty {significant(self.repetition_penalty, 6)}"] if self.repetition_penalty != 1 else []
        )
        return f"sampling, {', '.join(settings)}, seed {self.seed}"

    def formula(self) -> str:
        """Formula of the choice, including parts that are off; at temperature 0, nothing after it applies."""
        penalty = significant(self.repetition_penalty, 6)
        cuts = [
            f"repetition penalty {penalty}: z > 0 → z/{penalty}, else z·{penalty}, for tokens read"
            if self.repetition_penalty != 1
            else "no repetition penalty",
            f"temperature {significant(self.temperature, 6)}: p = softmax(z/{significant(self.temperature, 6)})"
            if self.temperature
            else "temperature 0: token = argmax p, greedy by definition",
            f"top-k {self.top_k}" if self.top_k is not None else "no top-k",
            f"top-p {significant(self.top_p, 6)}: fewest with Σp ≥ {significant(self.top_p, 6)}"
            if self.top_p < 1
            else "no top-p",
            f"min-p {significant(self.min_p, 6)}: p ≥ {significant(self.min_p, 6)}·max p"
            if self.min_p > 0
            else "no min-p",
        ]
        if self.temperature == 0:
            return " → ".join(cuts[:2])
        return " → ".join([*cuts, f"token = argmax(log p + Gumbel noise(seed {self.seed}, step))"])


Penalty = Literal["gnmt", "power"]
StopRule = Literal[
    "none-better",
    "width-finished",
    "first-finished",
    "early_stopping=False",
    "early_stopping=True",
    "early_stopping=never",
]
_ENOUGH = "as many hypotheses as the beam width have finished"
STOP_RULES: dict[StopRule, str] = {
    "none-better": f"{_ENOUGH} and no open one can beat the worst of them",
    "width-finished": _ENOUGH,
    "first-finished": "one has finished",
    "early_stopping=False": f"{_ENOUGH} and the most probable open one scores no better than the worst of them",
    "early_stopping=True": _ENOUGH,
    "early_stopping=never": f"{_ENOUGH} and the most probable open one would score no better than the worst of"
    " them if it reached the maximum length with the log-probability it has",
}
GENERATE_RULES: Mapping[StopRule, bool | Literal["never"]] = {
    "early_stopping=False": False,
    "early_stopping=True": True,
    "early_stopping=never": "never",
}
"""Values of `early_stopping` in transformers' `generate`, by stop rule.

Under these rules, hypotheses that are unfinished at the maximum length count as finished.
"""
WIDEST = 100


@dataclass(frozen=True)
class Beam:
    """Beam search: the `width` best hypotheses go on at every step; the best finished one is the answer.

    The score is log-probability / penalty(|Y|), where `penalty` "gnmt" is ((5 + |Y|) / 6)^length_penalty and "power" is
    |Y|^length_penalty. Of the 2 * width best continuations of a step, an end token among the first `width` finishes its
    hypothesis. The search ends at the maximum length, when no hypothesis is left, or by the `stop` rule. Finished
    hypotheses rank before unfinished ones; under the rules of `generate` (`GENERATE_RULES`), the `width` most probable
    at the maximum length count as finished. Width 1 with a counted end token is greedy decoding.
    Source: Wu et al. (2016), equation 14, without the coverage term; other rules as in transformers 5. Fields of None
    take the model's own values (`filled`): generation_config for a folder of transformers, else 0.6, "gnmt" and
    "none-better". Raises ValueError for settings out of bounds.
    """

    width: Annotated[int, Meta(ge=1, le=WIDEST, description=f"a beam's width, a whole number from 1 to {WIDEST}")]
    length_penalty: Annotated[float, Meta(ge=-10, le=10)] | None = field(default=None, kw_only=True)
    penalty: Penalty | None = field(default=None, kw_only=True)
    count_end: bool = field(default=True, kw_only=True)
    """Whether |Y|, the number of tokens written, includes the end token; a forced language token counts."""
    stop: StopRule | None = field(default=None, kw_only=True)
    """One of `STOP_RULES`."""
    n_best: Count = field(default=1, kw_only=True)
    """Finished hypotheses to return, best first."""

    def __post_init__(self) -> None:
        declared.check(self, rules=self._rules())

    def _rules(self) -> Iterator[str]:
        if self.length_penalty is not None and self.length_penalty < 0 and self.stop not in GENERATE_RULES:
            yield f"length_penalty={self.length_penalty} has to be a number from 0 to 10"
        if self.n_best > self.width:
            yield f"n_best={self.n_best} has to be a whole number from 1 to {self.width}"

    def filled(self, own: BeamSettings | None = None) -> Beam:
        """The beam with fields of None filled from the model's `own` settings, or from the defaults.

        Raises ValueError for settings that contradict each other.
        """
        alpha, penalty, stop = self._settings if own is None else self._over(_of_generate(own))
        return replace(self, length_penalty=alpha, penalty=penalty, stop=stop)

    @property
    def counts_unfinished(self) -> bool:
        """Whether hypotheses that are unfinished at the maximum length count as finished."""
        return self.stop in GENERATE_RULES

    def score(self, log_prob: float, length: int) -> float:
        """Score that ranks hypotheses; `length` is |Y|."""
        return log_prob / self.divisor(length)

    def divisor(self, length: int) -> float:
        """Length penalty for |Y| = `length`; 1 for an empty hypothesis under "power"."""
        alpha, penalty, _ = self._settings
        base = (5 + length) / 6 if penalty == "gnmt" else max(length, 1)
        return math.pow(base, alpha)

    def divisor_words(self, length: int) -> str:
        """The length penalty as an expression with its numbers."""
        alpha, penalty, _ = self._settings
        base = f"((5 + {length})/6)" if penalty == "gnmt" else str(max(length, 1))
        return f"{base}^{significant(alpha, 6)}"

    def counted(self, written: int, *, ended: bool) -> int:
        """|Y| of a hypothesis of `written` tokens, which include the end token if it has `ended`."""
        return written - (ended and not self.count_end)

    def __str__(self) -> str:
        alpha, penalty, stop = self._settings
        parts = [f"beam, width {self.width}", f"length penalty {significant(alpha, 6)}"]
        parts += ["power"] if penalty == "power" else []
        parts += ["end token not counted"] if not self.count_end else []
        parts += [f"stop: {stop}"] if stop != "none-better" else []
        parts += [f"{self.n_best} best"] if self.n_best > 1 else []
        return ", ".join(parts)

    def formula(self) -> str:
        """Formula of the score, and the stop rule."""
        alpha, penalty, stop = self._settings
        divisor = f"((5 + |Y|)/6)^{significant(alpha, 6)}" if penalty == "gnmt" else f"|Y|^{significant(alpha, 6)}"
        counts = "tokens written, end token included" if self.count_end else "tokens written without the end token"
        found = f"score = log p(Y) / {divisor}; |Y|: {counts}; stops once {STOP_RULES[stop]}"
        if stop not in GENERATE_RULES:
            return found
        return f"{found} ({stop}); at the maximum length the {self.width} most probable ones count as finished"

    @cached_property
    def _settings(self) -> _Settings:
        """length_penalty, penalty and stop, with defaults for None."""
        return self._over(_USUAL)

    def _over(self, usual: _Settings) -> _Settings:
        alpha, penalty, stop = usual
        own = self.length_penalty
        return alpha if own is None else own, self.penalty or penalty, self.stop or stop


_Settings = tuple[float, Penalty, StopRule]
_USUAL: _Settings = (0.6, "gnmt", "none-better")


def _of_generate(own: BeamSettings) -> _Settings:
    rule = next(rule for rule, value in GENERATE_RULES.items() if value == own.early_stopping)
    return own.length_penalty, "power", rule


Strategy = Greedy | Sampling | Beam


@dataclass(frozen=True, eq=False)
class Distribution:
    """What a strategy leaves of the model's probabilities at one step."""

    log_probs: Tensor  # [V] float64, -inf where removed; renormalised, except in a beam, which sums the model's own
    removed: Tensor  # [V] uint8, index into REASONS; 0 = kept


def distribution(
    logits: Tensor,
    strategy: Strategy | None,
    read: Sequence[int] = (),
    banned: Collection[int] = (),
    *,
    by_rule: Mapping[str, Collection[int]] = NO_RULES,
) -> Distribution:
    """The distribution that `strategy` chooses from; without one, the model's. logits: [V].

    read: ids read by the decoder, for the repetition penalty. banned: ids that may not be written. by_rule: ids that
    the model's own rules remove, by rule.
    """
    scores = logits.detach().cpu()
    one = isinstance(strategy, Greedy) or (isinstance(strategy, Sampling) and strategy.temperature == 0)
    usual = REASONS.index("greedy" if one else KEPT)
    removed = torch.full(scores.shape, usual, dtype=torch.uint8)
    if isinstance(strategy, Sampling):
        scores = scores.double()
    elif not one:
        scores = log_softmax(scores)
    for reason, ids in (("banned", banned), *by_rule.items()):
        if ids:
            out = torch.tensor(sorted(ids))
            removed[out[removed[out] == usual]] = REASONS.index(reason)
            scores = scores.index_fill(0, out, -math.inf)
    if isinstance(strategy, Sampling):
        if not one:
            return _sampled(scores, removed, strategy, read)
        scores = _penalised(scores, strategy, read)
    if one:
        best = first_greatest(scores)
        removed[best] = REASONS.index(KEPT)
        scores = torch.full(scores.shape, -math.inf, dtype=torch.float64)
        scores[best] = 0.0
    return Distribution(scores, removed)


def choose_token(found: Distribution, strategy: Strategy, step: int) -> int:
    """The id that the strategy writes at this step."""
    if not isinstance(strategy, Sampling) or strategy.temperature == 0:
        return first_greatest(found.log_probs)
    return first_greatest(found.log_probs + gumbel_noise(strategy.seed, step, len(found.log_probs)))


def first_greatest(values: Tensor) -> int:
    """Index of the largest number in [N], with the tie-breaking of `greatest`; NumPy is fast on the CPU."""
    return int(values.detach().cpu().numpy().argmax())


def greatest(values: Tensor, count: int) -> Tensor:
    """Indices of the `count` largest numbers of each row, largest first: [..., N] -> [..., count].

    Defines the order of tokens: NaN first, then ties by the smaller index, which `topk` does not promise. In a large
    vocabulary, only blocks whose maximum is among the largest are searched.
    """
    size = values.size(-1)
    if size // _PART <= count:
        return _first_of_all(values, count)
    even = size // _PART * _PART
    parts = greatest(values[..., :even].reshape(*values.shape[:-1], -1, _PART).amax(dim=-1), count).sort(dim=-1).values
    inside = (parts[..., None] * _PART + torch.arange(_PART, device=values.device)).flatten(-2)
    left_over = torch.arange(even, size, device=values.device).expand(*values.shape[:-1], -1)
    indices = torch.cat([inside, left_over], dim=-1)
    return indices.gather(-1, _first_of_all(values.gather(-1, indices), count))


_PART = 64


def _first_of_all(values: Tensor, count: int) -> Tensor:
    """The same by searching all numbers, sorted only if some of the largest are equal."""
    found, indices = values.topk(min(count + 1, values.size(-1)), dim=-1)
    if bool((found[..., 1:] < found[..., :-1]).all()):  # False for NaN
        return indices[..., :count]
    return values.argsort(dim=-1, descending=True, stable=True)[..., :count]


def gumbel_noise(seed: int, step: int, size: int) -> Tensor:
    """Standard Gumbel noise [size], float64, determined by seed and step: argmax(log p + noise) is a draw from p.

    Source: Gumbel (1954). Uniform numbers from Philox with the step as counter, identical on every machine; their
    logarithms may differ in the last bit.
    """
    drawn = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, step])).random(size)
    return torch.from_numpy(-np.log(-np.log(np.clip(drawn, np.finfo(np.float64).tiny, None))))


def _sampled(scores: Tensor, removed: Tensor, strategy: Sampling, read: Sequence[int]) -> Distribution:
    """Apply the cuts of `Sampling` in order. scores: [V] logits, -inf where banned."""
    scores = _penalised(scores, strategy, read)
    log_probs = log_softmax((scores - scores.max()) / strategy.temperature)  # works for any temperature, however low
    order = log_probs.argsort(descending=True, stable=True)  # ties by the smaller id
    if strategy.top_k is not None:
        log_probs = _cut(log_probs, removed, order[strategy.top_k :], "top-k")
    if strategy.top_p < 1:
        before = log_probs[order].exp().cumsum(dim=0).roll(1)  # total probability of the tokens before it
        before[0] = 0
        log_probs = _cut(log_probs, removed, order[before >= strategy.top_p], "top-p")
    if strategy.min_p > 0:
        low = log_probs < math.log(strategy.min_p) + log_probs.max()
        log_probs = _cut(log_probs, removed, low.nonzero().flatten(), "min-p")
    return Distribution(log_probs, removed)


def _penalised(scores: Tensor, strategy: Sampling, read: Sequence[int]) -> Tensor:
    if strategy.repetition_penalty == 1 or not len(read):
        return scores
    seen = torch.tensor(sorted(set(read)))
    old, penalty = scores[seen], strategy.repetition_penalty
    return scores.index_copy(0, seen, torch.where(old > 0, old / penalty, old * penalty))


def _cut(log_probs: Tensor, removed: Tensor, out: Tensor, reason: str) -> Tensor:
    """Remove these ids and renormalise; `removed` gets the reason where it has none."""
    removed[out[removed[out] == 0]] = REASONS.index(reason)
    return log_softmax(log_probs.index_fill(0, out, -math.inf))


def log_softmax(logits: Tensor) -> Tensor:
    """Natural log-probabilities over the last axis, in float64: 0 only if all others are -inf.

    For a nearly certain token it is log1p(-rest), from the sum of the others, which float64 can still represent.
    """
    found = logits.double().log_softmax(dim=-1)
    if not (found.amax(dim=-1) > -_SURE).any():  # False for NaN
        return found
    best, at = found.max(dim=-1, keepdim=True)
    others = found.scatter(-1, at, -math.inf)
    rest = others.exp().sum(dim=-1, keepdim=True).clamp(min=torch.finfo(torch.float64).tiny)
    unsure = (best > -_SURE) & (others.amax(dim=-1, keepdim=True) > -math.inf)
    return found.scatter(-1, at, torch.where(unsure, torch.log1p(-rest), best))


def entropy_and_others(log_probs: Tensor, ids: Collection[int] = ()) -> tuple[float, float]:
    """Entropy in nats (0 = certain, ln(V) = uniform), and the total probability of all tokens except these.

    The latter is not 0 if one of them has any. log_probs: [V] float64. Source of the entropy: Shannon (1948).
    """
    probs = torch.from_numpy(np.exp(log_probs.numpy()))  # twice as fast as torch
    finite = log_probs if log_probs.amin() > -math.inf else log_probs.clamp(min=torch.finfo(torch.float64).min)
    entropy = -float(probs.dot(finite))  # 0 times the lowest number is 0
    at = torch.tensor([*ids], dtype=torch.long)
    others = min(float(probs.index_fill_(0, at, 0.0).sum()), 1.0)  # rounding may exceed 1
    if others < _ADDED_UP:
        others = numerals.exponential(float(log_probs.index_fill(0, at, -math.inf).logsumexp(dim=0)))
    return entropy, others


_ADDED_UP = 1e-290  # a smaller sum may have lost terms to underflow

_SURE = 1e-6  # float64 has ten digits for a logarithm of this size, and fewer below
