"""Runs of tiny checkpoints as pages get them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.contents import Summary
from viz_transformer.running.decoding import decode
from viz_transformer.ui.session.how import How
from viz_transformer.ui.session.runs import Shown


def shown_of(ckpt: Checkpoint, text: str, target: str | None = None, *, branch: str = "", **how: Any) -> Shown:
    """A decode of the text, or the run that is given the target; `how` is what `decode` takes."""
    summary = Summary(ckpt.name, Path(ckpt.name), ckpt.config, {}, {})
    run = decode(ckpt, text, target=target, **how)
    return Shown("A", summary, text, ckpt, run, target, How(branch=branch))
