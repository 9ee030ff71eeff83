"""The steps of a run as the scrubber shows them."""

from __future__ import annotations

import pandas as pd

from viz_transformer import numerals
from viz_transformer.analysis.attention.maps import axes_of, step_row
from viz_transformer.figures import labels
from viz_transformer.figures.components.scrubber import StepData, WrittenSteps, scrubber_payload, steps_of
from viz_transformer.running.strategies import Greedy
from viz_transformer.ui.frame import words
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView


def scrubber_data(
    shown: RunView, *, strategy: bool = False, takes: bool = False, room: bool = False, first_row: int | None = None
) -> bytes:
    """The payload of the scrubber: all steps with their candidates.

    strategy: with what the strategy made of them; takes: another candidate can be taken there; room: is kept
    for that, as the scrubber beside it does. first_row: the row that chooses step 0, where it is another run's.
    """
    spec, codec = shown.trace.spec, shown.ckpt.codec("target")
    assert spec.target_vocab_size is not None
    first = step_row(shown.run, 0)
    written = WrittenSteps(
        _steps(shown, strategy),
        axes_of(shown.trace, "decoder", shown.names)[0].reads.at(range(first, first + len(shown.run.steps))),
        spec.target_vocab_size,
        first if first_row is None else first_row,
        codec.special_ids,
    )
    return scrubber_payload(
        written,
        caption=shown.caption(words.CANDIDATES),
        name=labels.file_name(shown.summary.name, "candidates"),
        strategy=strategy_words(shown) if strategy else None,
        takes=takes,
        room=room,
    )


@memoize(16)
def _steps(shown: RunView, strategy: bool) -> tuple[StepData, ...]:
    """The steps of a run, each of which goes through the whole vocabulary."""
    return steps_of(shown.run, strategy=strategy)


def strategy_words(shown: RunView) -> str:
    """How the tokens of a run were chosen, with what was banned, and what the model's own rules keep out."""
    how = shown.run.steps[0].choosing
    chosen = [words.GIVEN_TARGET if how.strategy is None else str(how.strategy)]
    chosen += [words.banned(len(how.banned))] if how.banned else []
    return ", ".join([*chosen, *map(str, how.rules)])


def candidate_table(shown: RunView) -> pd.DataFrame:
    """The same numbers: a row for each candidate of each step, best first.

    Where tokens were not just chosen greedily: with the strategy's probability, and why it removed a token.
    """
    how = shown.run.steps[0].choosing
    chooses = how.banned or how.rules or not isinstance(how.strategy, Greedy | None)
    rows = [
        {
            words.STEP: numerals.nth(s),
            words.RANK: rank if candidate.rank is None else candidate.rank,
            words.TOKEN: candidate.token,
            words.PROBABILITY: numerals.exponential(candidate.log_prob),
            words.LOG_PROBABILITY: candidate.log_prob,
            words.WRITTEN: candidate.token_id == step.written.token_id,
        }
        | (
            {
                words.STRATEGY_PROBABILITY: numerals.exponential(candidate.strategy_log_prob),
                words.STRATEGY_LOG_PROBABILITY: candidate.strategy_log_prob,
                words.REMOVED_BECAUSE: candidate.removed or "",
            }
            if candidate.strategy_log_prob is not None
            else {}
        )
        for s, step in enumerate(_steps(shown, bool(chooses)))
        for rank, candidate in enumerate(step.candidates)
    ]
    return pd.DataFrame(rows).set_index([words.STEP, words.RANK])
