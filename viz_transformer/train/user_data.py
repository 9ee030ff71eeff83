"""A user's settings for training; imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class OwnData:
    """A file of pairs (`source<TAB>target` per line) or plain text, with settings; None: proposed from the data."""

    pairs: str | Path
    columns: str | None = None
    valid: str | Path | None = None
    test: str | Path | None = None
    tokens: str | None = None
    vocabulary: int | None = None
    layers: int | None = None
    heads: int | None = None
    d_model: int | None = None
    d_ff: int | None = None
    dropout: float | None = None
    longest: int | None = None
    snapshots: int | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How long a training runs, from what it starts and on what machines; None is the task's own.

    resume: continue from the last save; on CPU with the same number of threads, that gives the curve of an unbroken
    run, and if the training itself is done, it is only exported again.
    start_from: a checkpoint of the same model and vocabularies whose weights are learnt on from; the optimiser starts
    anew, and the card names it.
    peak_rate: the highest learning rate. epochs or steps: the length; given with `resume`, the learning rate follows
    the new length from there on, and the card states both.
    device: auto (CUDA where there is one), cpu or cuda (in bfloat16 beside weights in float32, with all data in its
    memory). devices, nodes, strategy: Lightning's. threads: of torch, on the CPU.
    """

    resume: bool = False
    start_from: str | Path | None = None
    peak_rate: float | None = None
    epochs: int | None = None
    steps: int | None = None
    device: str = "auto"
    devices: int | str = "auto"
    nodes: int = 1
    strategy: str = "auto"
    threads: int | None = None
