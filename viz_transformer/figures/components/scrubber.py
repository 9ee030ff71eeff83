"""The scrubber: all steps of a decode, moved through in the browser, with the candidates of each step as bars."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer import declared, payload
from viz_transformer.analysis.attention.axes import Texts
from viz_transformer.figures.components.tokens import token_data

if TYPE_CHECKING:
    from viz_transformer.running.decoding import Run
    from viz_transformer.running.step import Step


@dataclass(frozen=True)
class CandidateData:
    """A candidate token of a step."""

    token: str
    token_id: int
    log_prob: float
    """Natural, over the whole vocabulary."""
    strategy_log_prob: float | None = None
    """The log-probability after the strategy, if that is shown; -inf if it removed the token."""
    removed: str | None = None
    """The rule that removed the token."""
    rank: int | None = None
    """How many tokens the model finds more probable."""


@dataclass(frozen=True)
class StepData:
    """One token written, and the most probable ones, best first."""

    written: CandidateData
    candidates: Sequence[CandidateData]
    forced: bool = False
    """Whether it was given, not chosen by the model."""
    entropy: float | None = None
    """The entropy of the model's probabilities, in nats, if the strategy is shown."""
    strategy_rest: float | None = None
    """The probability that the strategy leaves to all other tokens, if it is shown."""
    rest: float | None = None
    """The probability that the model leaves to all other tokens; by default 1 minus these."""


def steps_of(run: Run, *, strategy: bool = False) -> tuple[StepData, ...]:
    """All steps of a run as plain texts and numbers, with `strategy` also the probabilities after it.

    The candidates are the ten most probable under the model; with the strategy, after them the others of the ten most
    probable under it, and the token written.
    """
    return tuple(_add_strategy(step) if strategy else _convert_step(step) for step in run.steps)


@dataclass(frozen=True)
class WrittenSteps:
    """All steps of a run. Step s is the decoder row `first_row` + s."""

    steps: Sequence[StepData]
    reads: Texts
    """The token that each step's row reads."""
    vocabulary: int
    """The size of the vocabulary."""
    first_row: int = 0
    special: Collection[int] = ()
    """The ids of special tokens."""


def scrubber_payload(
    written: WrittenSteps,
    *,
    caption: str,
    name: str,
    strategy: str | None = None,
    takes: bool = False,
    room: bool = False,
) -> bytes:
    """The payload of the scrubber: every step at once.

    A written token that is not among its step's candidates is appended to them. Arrays:
    log_probs [steps, most candidates], NaN where a step has fewer; rest [steps], what is left to all other tokens,
    never below 0. With a `strategy`, its description, the probabilities after it are sent and shown: strategy_log_probs
    like log_probs, strategy_rest and entropy [steps]. With `takes` a person can take another candidate instead of the
    one written; `room` is kept for that where the scrubber beside it `takes`, so that the bars of both have one scale.
    Raises ValueError for no steps, and for what does not fit together.
    """
    steps, first_row, vocabulary = written.steps, written.first_row, written.vocabulary
    if not steps:
        raise ValueError("a run has at least one step: there is nothing to scrub through")
    declared.same_count(tokens_read=len(written.reads), steps=len(steps))
    declared.within("first_row", first_row, declared.CountOrZero)
    shown, log_probs, different = candidate_rows(steps)
    most = log_probs.shape[1]
    if vocabulary < most:
        raise ValueError(f"{most} candidates do not fit a vocabulary of {vocabulary} tokens")
    places = {token_id: place for place, token_id in enumerate(different)}
    header = {
        "first_row": first_row,
        "vocabulary": vocabulary,
        "reads": written.reads.data(),
        "tokens": token_data(
            tuple(different.values()),
            special={place for token_id, place in places.items() if token_id in written.special},
        ),
        "candidates": [[places[each.token_id] for each in candidates] for candidates in shown],
        "written": written_places(steps, shown),
        "unlisted": [s for s, step in enumerate(steps) if len(shown[s]) > len(step.candidates)],
        "forced": [s for s, step in enumerate(steps) if step.forced],
        "caption": caption,
        "name": name,
    }
    rest = [
        _rest([each.log_prob for each in candidates]) if step.rest is None else step.rest
        for step, candidates in zip(steps, shown, strict=True)
    ]
    arrays = {"log_probs": payload.exact(log_probs), "rest": payload.exact(rest)}
    if strategy is not None:
        header["strategy"] = {"name": strategy, **_removals(shown)}
        arrays |= _pack_strategy(steps, shown, most)
    if room:
        header["room"] = True
    if takes:
        header["ids"] = list(different)
    return payload.pack(header, **arrays)


def candidate_rows(
    steps: Sequence[StepData],
) -> tuple[list[list[CandidateData]], NDArray[np.float64], dict[int, str]]:
    """The candidates of each step, the written token appended if it is not among them; their log-probabilities [steps,
    most candidates], NaN where a step has fewer; and the tokens that occur, by id.

    Raises ValueError for a token that occurs twice among the candidates of a step.
    """
    shown = [_add_written(step) for step in steps]
    log_probs = np.full((len(steps), max(map(len, shown), default=0)), np.nan)
    for row, candidates in zip(log_probs, shown, strict=True):
        row[: len(candidates)] = [each.log_prob for each in candidates]
    return shown, log_probs, {each.token_id: each.token for candidates in shown for each in candidates}


def written_places(steps: Sequence[StepData], shown: Sequence[Sequence[CandidateData]]) -> list[int]:
    """The index of each step's written token among its candidates from `candidate_rows`."""
    return [
        [each.token_id for each in row].index(step.written.token_id) for step, row in zip(steps, shown, strict=True)
    ]


def _convert_step(step: Step) -> StepData:
    found = step.candidates
    ranks = _ranks([each.log_prob for each in found])
    candidates = tuple(
        CandidateData(each.token, each.token_id, each.log_prob, rank=rank)
        for each, rank in zip(found, ranks, strict=True)
    )
    rest = step.entropy_and_others({step.token_id, *(each.token_id for each in candidates)})[1]
    written = CandidateData(step.token, step.token_id, step.log_prob, rank=step.rank)
    return StepData(written, candidates, step.forced, rest=rest)


def _ranks(log_probs: Sequence[float]) -> list[int]:
    """The ranks of values sorted from the greatest: how many are greater than each. Equal ones share a rank; NaN has
    its index."""
    ranks: list[int] = []
    for place, log_prob in enumerate(log_probs):
        ranks.append(ranks[-1] if ranks and log_prob == log_probs[place - 1] else place)
    return ranks


def _add_strategy(step: Step) -> StepData:
    found = step.candidates
    ids, ranks = [each.token_id for each in found], _ranks([each.log_prob for each in found])
    ranked = len(ids)
    left = step.most_probable_left(ranked)
    ids += [token_id for token_id in left if token_id not in ids]
    ids += [] if step.token_id in ids else [step.token_id]
    ranks += [step.rank_of(token_id) for token_id in ids[ranked:]]

    def candidate(token_id: int, rank: int) -> CandidateData:
        each = step.candidate(token_id)
        return CandidateData(each.token, token_id, each.log_prob, each.strategy_log_prob, each.removed, rank)

    candidates = tuple(map(candidate, ids, ranks))
    entropy, rest = step.entropy_and_others(ids)
    strategy_rest = 0.0 if len(left) < ranked else step.others_left(ids)
    return StepData(candidates[ids.index(step.token_id)], candidates, step.forced, entropy, strategy_rest, rest)


def _removals(shown: Sequence[Sequence[CandidateData]]) -> dict[str, Any]:
    """The reasons that occur; for each candidate of each step its reason, counted from 1, 0 = kept, and its rank."""
    reasons = dict.fromkeys(each.removed for candidates in shown for each in candidates if each.removed is not None)
    places: dict[str | None, int] = {None: 0, **{reason: place for place, reason in enumerate(reasons, 1)}}
    return {
        "reasons": list(reasons),
        "removed": [[places[each.removed] for each in candidates] for candidates in shown],
        "ranks": [[each.rank for each in candidates] for candidates in shown],
    }


def _pack_strategy(
    steps: Sequence[StepData], shown: Sequence[Sequence[CandidateData]], most: int
) -> dict[str, payload.Encoded]:
    log_probs, of_steps = np.full((len(steps), most), np.nan), np.empty((len(steps), 2))
    for s, (step, candidates) in enumerate(zip(steps, shown, strict=True)):
        found = [each.strategy_log_prob for each in candidates]
        if None in (*found, *(each.rank for each in candidates), step.entropy, step.strategy_rest):
            raise ValueError(f"step {s} does not say what the strategy made of it: ask steps_of for it")
        log_probs[s, : len(found)] = found
        of_steps[s] = step.strategy_rest, step.entropy
    return {
        "strategy_log_probs": payload.exact(log_probs),
        "strategy_rest": payload.exact(of_steps[:, 0]),
        "entropy": payload.exact(of_steps[:, 1]),
    }


def _add_written(step: StepData) -> list[CandidateData]:
    """The candidates, with the written token appended if it is not among them.

    Raises ValueError for a token that occurs twice.
    """
    ids = [each.token_id for each in step.candidates]
    if len(set(ids)) != len(ids):
        raise ValueError(f"a token is twice among the candidates: {ids}")
    return [*step.candidates] if step.written.token_id in ids else [*step.candidates, step.written]


def _rest(log_probs: Sequence[float]) -> float:
    """1 minus the sum of these probabilities, 0 where rounding makes it negative, NaN if one of them is NaN."""
    left = 1 - math.fsum(map(math.exp, log_probs))
    return 0.0 if left < 0 else left
