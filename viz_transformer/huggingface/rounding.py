"""Compares a folder at lower precision with the same folder in float32, on the text of the trial pass."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.checkpoint.store import Checkpoint
from viz_transformer.huggingface.self_check import trial_texts
from viz_transformer.model.hook import Recorder


@dataclass(frozen=True)
class Away:
    """Largest difference of outputs (relative to the largest output) and of attention weights, over `tokens` tokens."""

    output: float
    weight: float
    tokens: int


def away(rounded: Checkpoint, exact: Checkpoint) -> Away:
    """Compare the same folder in two dtypes."""
    texts = trial_texts(rounded.spec)
    first, second = Recorder(), Recorder()
    outputs = [
        ckpt.hooked_model.whole(*texts, hook=hook).double() for ckpt, hook in ((rounded, first), (exact, second))
    ]
    names = [f"{site}.weights" for site in rounded.spec.attentions]
    return Away(
        output=float((outputs[0] - outputs[1]).abs().max() / outputs[1].abs().max()),
        weight=max(float((first.values[name].double() - second.values[name].double()).abs().max()) for name in names),
        tokens=len(next(rows for rows in texts if rows is not None)[0]),
    )
