"""What a model that fills in masks would put where a token is hidden from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viz_transformer import declared
from viz_transformer.model.hooked_model import ModelSpec
from viz_transformer.running.step import CANDIDATES, Candidate
from viz_transformer.running.strategies import entropy_and_others, greatest, log_softmax
from viz_transformer.running.trace import Trace


@dataclass(frozen=True)
class Filling:
    """What the output layer gives at a position of the text, over the whole vocabulary.

    candidates: the most probable tokens, best first; log_prob natural. others: the probability of all other tokens
    together. hidden: the token that was masked there, None where none was; rank: how many tokens the model finds more
    probable than that.
    """

    position: int
    candidates: tuple[Candidate, ...]
    others: float
    hidden: Candidate | None = None
    rank: int | None = None


def fills_masks(spec: ModelSpec) -> bool:
    """Whether the model has logits for what stands in a masked place."""
    return spec.output == "masked token" and "logits" in spec.point


def masked_positions(trace: Trace, mask: int | None) -> tuple[int, ...]:
    """Where a mask stands in the text that was read, typed or in the place of a token."""
    return tuple(place for place, token_id in enumerate(trace.src_ids) if token_id == mask)


def filling(trace: Trace, position: int, names: Sequence[str], *, count: int = CANDIDATES) -> Filling:
    """What the model gives at this position. names: of the vocabulary that the logits are of.

    Raises ValueError for a position that the text does not have.
    """
    logits = trace["logits"][0]  # [S, V]
    declared.place("position", position, len(logits))
    log_probs = log_softmax(logits[position])
    best = greatest(logits[position], min(count, len(log_probs))).tolist()
    candidates = tuple(Candidate(names[token_id], token_id, float(log_probs[token_id])) for token_id in best)
    others = entropy_and_others(log_probs, [each.token_id for each in candidates])[1]
    stood = dict(map(tuple, trace.info.get("masked", ()))).get(position)
    if stood is None:
        return Filling(position, candidates, others)
    hidden = Candidate(names[stood], stood, float(log_probs[stood]))
    return Filling(position, candidates, others, hidden, int((log_probs > log_probs[stood]).sum()))
