"""Words of a text that a model cannot see because it reads them as its unknown token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz_transformer.model.kinds import SIDES

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.running.trace import Trace


def hidden_texts(ckpt: Checkpoint, trace: Trace) -> list[tuple[str, str]]:
    """The unknown token and the text that it replaces, once for each place of a run.

    An unknown token that was itself chosen, as in a branch, replaces nothing.
    """
    return [
        (token, original)
        for side in SIDES.values()
        if (read := side.of(trace.src, trace.tgt))
        for token_id, token, original in zip(read.ids, read.tokens, read.originals, strict=True)
        if token_id == ckpt.codec(side.name).unknown and original != token
    ]
