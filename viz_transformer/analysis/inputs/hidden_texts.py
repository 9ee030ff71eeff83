"""What of its texts a model did not see: words that it reads as its token for unknown ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz_transformer.model.kinds import SIDES

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.running.trace import Trace


def hidden_texts(ckpt: Checkpoint, trace: Trace) -> list[tuple[str, str]]:
    """The token for unknown text and the text that it hides, once for each place of a run where it stands for some.

    A token for unknown text that was itself chosen, as a branch may, hides nothing.
    """
    return [
        (token, original)
        for side in SIDES.values()
        if (read := side.of(trace.src, trace.tgt))
        for token_id, token, original in zip(read.ids, read.tokens, read.originals, strict=True)
        if token_id == ckpt.codec(side.name).unknown and original != token
    ]
