"""Both continuations where the model is unsure: its own, and the one with its second choice."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from viz_transformer import declared, numerals
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.given import NUMBER, takes
from viz_transformer.running.decoding import GREEDY, Run, decode
from viz_transformer.running.step import Candidate, Step
from viz_transformer.running.strategies import Beam, Strategy
from viz_transformer.running.tracing import TextOrIds


@dataclass(frozen=True, eq=False)
class Fork:
    """Two continuations from a step: `first` has the strategy's token, `second` the best other one."""

    step: int
    first: Run
    second: Run


PROBABILITY = Annotated[float, Meta(ge=0, le=1, description="a probability, from 0 to 1")]


@takes(below=NUMBER)
def fork(
    ckpt: Checkpoint,
    source: TextOrIds,
    *,
    below: float = 0.5,
    strategy: Strategy = GREEDY,
    ban: Collection[int | str] = (),
    max_steps: int | None = None,
) -> Fork | None:
    """Both continuations from the first step whose token has a probability below `below`.

    The other token is the most probable one that was neither written nor banned (see `unsure`). None if there is no
    such step or token. Raises ValueError if `below` is not a probability, and as `decode` does.
    """
    first = decode(ckpt, source, strategy=strategy, ban=ban, max_steps=max_steps)
    found = unsure(first, below)
    if found is None:
        return None
    step, other = found
    before = {each.index: each.token_id for each in first.steps[: step.index]} if isinstance(strategy, Beam) else {}
    force = {**before, step.index: other.token_id}
    second = decode(ckpt, source, strategy=strategy, force=force, ban=ban, max_steps=max_steps)
    return Fork(step.index, first, second)


def unsure(run: Run, below: float = 0.5) -> tuple[Step, Candidate] | None:
    """The first unforced step whose token has a probability below `below`, and its best other token.

    None if there is no such step or token. Raises ValueError if `below` is not a probability.
    """
    declared.within("below", below, PROBABILITY)
    step = next((each for each in run.steps if not each.forced and numerals.exponential(each.log_prob) < below), None)
    if step is None:
        return None
    others = (each for each in step.most_probable(len(step.vocabulary)) if each.token_id != step.token_id)
    other = next((each for each in others if each.removed != "banned"), None)
    return None if other is None else (step, other)
