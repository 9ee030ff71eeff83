"""The steps of a run as the scrubber shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from viz_transformer.ui.runs import Shown


def scrubber_data(shown: Shown) -> bytes:
    """The payload of the scrubber: all steps with their candidates."""
    from viz_transformer.analysis.attention import step_row
    from viz_transformer.ui.components.scrubber import scrubber_payload, steps_of
    from viz_transformer.ui.components.tokens import token_data
    from viz_transformer.ui.maps import file_name

    config, codec = shown.trace.config, shown.ckpt.target_codec
    assert config.target_vocab_size is not None and codec is not None
    first = step_row(shown.run, 0)
    read = slice(first, first + len(shown.run.steps))
    tokens, originals = shown.trace.tgt.tokens[read], shown.trace.tgt.originals[read]
    typed = [original or token for original, token in zip(originals, tokens, strict=True)]
    special = {row - first for row in shown.target_special}
    return scrubber_payload(
        steps_of(shown.run),
        first_row=first,
        vocabulary=config.target_vocab_size,
        reads=token_data(tokens, typed, special=special),
        caption=shown.caption("candidates"),
        name=file_name(shown.summary.name, "candidates"),
        special=codec.vocabulary.special_ids,
    )


def candidate_table(shown: Shown) -> pd.DataFrame:
    """The same numbers: a row for each candidate of each step, best first."""
    import math

    import pandas as pd

    rows = [
        {
            "step": step.index,
            "rank": rank,
            "token": candidate.token,
            "probability": math.exp(candidate.log_prob),
            "log-probability": candidate.log_prob,
            "written": candidate.token_id == step.token_id,
        }
        for step in shown.run.steps
        for rank, candidate in enumerate(step.candidates)
    ]
    return pd.DataFrame(rows).set_index(["step", "rank"])
