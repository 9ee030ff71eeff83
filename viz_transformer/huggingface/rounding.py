"""How far a folder in fewer bits is from the same folder in float32: measured on the text of the trial pass."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.checkpoint.store import Checkpoint
from viz_transformer.huggingface.self_check import trial_texts
from viz_transformer.model.hook import Recorder


@dataclass(frozen=True)
class Away:
    """The largest difference of what the model gives out, as a share of the largest number of it, and of an attention
    weight; over a text of so many tokens."""

    output: float
    weight: float
    tokens: int


def away(rounded: Checkpoint, exact: Checkpoint) -> Away:
    """How far one is from the other; they are the same folder in two types."""
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
