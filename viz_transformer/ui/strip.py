"""A run as two rows of chips: what was read, and what was written with which probability."""

from __future__ import annotations

import math
from collections.abc import Callable

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.decoding import Run
from viz_transformer.figures import labels
from viz_transformer.ui.components.chips import Chip, chip_rows


def run_strip(ckpt: Checkpoint, run: Run, *, selected: int, on_pick: Callable[[int], None]) -> None:
    """Draw the run; a click on a written token picks its step."""
    rows = [("writes", written_chips(ckpt, run))]
    if run.trace.src_tokens:
        rows.insert(0, ("reads", read_chips(ckpt, run)))
    chip_rows(rows, key="run_strip", picks=len(rows) - 1, selected=selected, on_pick=on_pick)


def read_chips(ckpt: Checkpoint, run: Run) -> list[Chip]:
    """The source as the model reads it; unknown text keeps what was typed."""
    assert ckpt.source_codec is not None
    vocabulary = ckpt.source_codec.vocabulary
    src = run.trace.src
    return [
        Chip(
            token=token,
            original=original,
            side="source",
            position=position,
            special=token_id in vocabulary.special_ids and token_id != vocabulary.unk,
            unknown=token_id == vocabulary.unk,
        )
        for position, (token_id, token, original) in enumerate(zip(src.ids, src.tokens, src.originals, strict=True))
    ]


def written_chips(ckpt: Checkpoint, run: Run) -> list[Chip]:
    """The tokens that the model wrote, the end token included."""
    assert ckpt.target_codec is not None
    special_ids = ckpt.target_codec.vocabulary.special_ids
    return [
        Chip(
            token=step.token,
            original=step.token,
            side="target",
            position=step.index,
            special=step.token_id in special_ids,
            probability=math.exp(step.log_prob),
        )
        for step in run.steps
    ]


def unknown_sentence(ckpt: Checkpoint, run: Run) -> str | None:
    """Which parts of the text the model does not see, or None if it sees all of them."""
    chips = [chip for chip in (read_chips(ckpt, run) if run.trace.src_tokens else ()) if chip.unknown]
    if not chips:
        return None
    different = list(dict.fromkeys(labels.visible(chip.original) for chip in chips))
    shown = ", ".join(different[:8]) + (", ..." if len(different) > 8 else "")
    count = "1 token is" if len(chips) == 1 else f"{len(chips)} tokens are"
    return f"{count} not in the vocabulary, the model reads {chips[0].token} instead: {shown}"
