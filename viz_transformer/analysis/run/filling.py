"""The predictions of a masked language model at a position of its text."""

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
    """The output layer's distribution over the vocabulary at one position.

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
    """Whether the model has logits for masked tokens."""
    return spec.output == "masked token" and "logits" in spec.point


def masked_positions(trace: Trace, mask: int | None) -> tuple[int, ...]:
    """The positions of mask tokens in the text, typed or put in place of a token."""
    return tuple(place for place, token_id in enumerate(trace.src_ids) if token_id == mask)


def filling(trace: Trace, position: int, names: Sequence[str], *, count: int = CANDIDATES) -> Filling:
    """The model's filling at this position. names: the vocabulary of the logits.

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
