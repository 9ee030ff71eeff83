"""Runs of tiny checkpoints as pages get them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.contents import Summary
from viz_transformer.running.decoding import Run, decode
from viz_transformer.ui.frame.drawn import Drawn, show
from viz_transformer.ui.session.generation_config import GenerationConfig
from viz_transformer.ui.session.runs import RunView


def shown_of(ckpt: Checkpoint, text: str, target: str | None = None, *, branch: str = "", **how: Any) -> RunView:
    """A decode of the text, or the run that is given the target; `how` is what `decode` takes."""
    return shown_run(ckpt, text, decode(ckpt, text, target=target, **how), target, how=GenerationConfig(branch=branch))


def shown_run(ckpt: Checkpoint, text: str, run: Run, target: str | None = None, **more: Any) -> RunView:
    """This run of the text; `more` is what `RunView` takes."""
    return RunView("A", Summary(ckpt.name, Path(ckpt.name), ckpt.config, {}, {}), text, ckpt, run, target, **more)


def put(drawn: Iterable[Drawn], shown: RunView) -> None:
    """What a view draws of this run, on the page."""
    for number, each in enumerate(drawn):
        show(each, shown, f"drawn_{number}")
