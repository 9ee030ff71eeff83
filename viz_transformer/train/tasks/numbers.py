"""The tasks that can be trained: which data, which model, which plan, and what the card says about it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from viz_transformer.config import ModelConfig
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters, numbers_target_tokenizer
from viz_transformer.text.vocabulary import Vocabulary

Codecs = tuple[Codec, Codec]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long and how fast a model learns; lengths in optimiser steps, raises ValueError for values that cannot be.

    The learning rate rises linearly to `peak_rate` and falls along half a cosine to zero at the last step.
    """

    epochs: int
    batch_tokens: int  # padded tokens of source and target together, at most
    peak_rate: float
    warmup: int
    smoothing: float = 0.1  # share of the target's probability that is spread over the vocabulary
    weight_decay: float = 0.01
    clip: float = 1.0  # largest norm of the gradient
    precision: Literal["bf16-mixed", "32-true"] = "32-true"
    first_rows: tuple[int, ...] = (0, 1, 2, 5, 10, 20, 50)
    row_every: int = 100  # later rows of the history
    save_every: int = 200
    sample: int = 512  # pairs of training and of validation data that the losses are measured on
    snapshots: tuple[int, ...] = ()
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_tokens", "row_every", "save_every", "sample"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing={self.smoothing} must be at least 0 and below 1")


@dataclass(frozen=True, kw_only=True)
class Task:
    """Data, codecs, model and plan of one training; file names are those of the data folder."""

    name: str
    title: str
    train: str
    validation: str
    test: str
    test_limit: int | None
    test_split: str  # what the card calls the tested pairs
    codecs: Callable[[Path], Codecs]  # data folder -> source and target codec
    model: ModelConfig
    plan: Plan
    data_name: str
    data_licence: str
    weights_terms: str
    notes: tuple[str, ...] = ()
    separator: str = "\t"
    examples: int = 200
    bleu: str | None = None

    def card(self) -> dict[str, Any]:
        """What the card says before anything is trained."""
        return {
            "task": self.name,
            "title": self.title,
            "data": self.data_name,
            "data_licence": self.data_licence,
            "weights_terms": self.weights_terms,
            "notes": list(self.notes),
            "evaluation": {
                "data": self.test,
                "limit": self.test_limit,
                "separator": self.separator,
                "split": self.test_split,
                "seen": self.train,
                "bleu": self.bleu,
            },
        }


SPECIALS = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>"}
NUMBERS_SOURCE = tuple("<s> </s> <unk> <pad> 0 , . 1 2 4 6 8 3 5 7 9 -".split())
NUMBERS_TARGET = tuple(
    "<s> </s> <unk> <pad> and hundred - , thousand point one two four eight minus six five three million seven nine"
    " twenty forty thirty sixty fifty eighty seventy billion ninety zero twelve sixteen ten eleven thirteen fourteen"
    " fifteen eighteen seventeen nineteen".split()
)


def numbers_codecs(folder: Path) -> Codecs:
    """Characters -> words, with the generator's vocabularies.

    Raises ValueError if the data folder has a numbers/vocab.json that says otherwise.
    """
    stored = folder / "numbers" / "vocab.json"
    if stored.is_file():
        lists = json.loads(stored.read_text(encoding="utf-8"))
        if (tuple(lists["src"]), tuple(lists["tgt"])) != (NUMBERS_SOURCE, NUMBERS_TARGET):
            raise ValueError(f"{stored} is not the vocabulary that the task knows: use the data set as generated")
    return (
        Codec(Characters(), Vocabulary(NUMBERS_SOURCE, SPECIALS)),
        Codec(numbers_target_tokenizer(), Vocabulary(NUMBERS_TARGET, SPECIALS)),
    )


def _numbers_model(*, dropout: float, **sizes: int) -> ModelConfig:
    return ModelConfig(
        source_vocab_size=len(NUMBERS_SOURCE),
        target_vocab_size=len(NUMBERS_TARGET),
        dropout=dropout,
        max_source=48,
        max_target=64,
        source_pad=NUMBERS_SOURCE.index("<pad>"),
        target_pad=NUMBERS_TARGET.index("<pad>"),
        **sizes,  # type: ignore[arg-type]
    )


_NUMBERS: Mapping[str, Any] = {
    "train": "numbers/train_full.tsv.gz",
    "validation": "numbers/dev.tsv.gz",
    "test": "numbers/test_full.tsv.gz",
    "test_limit": 2000,
    "test_split": "test_full, first 2,000",
    "codecs": numbers_codecs,
    "data_name": "seq2seq-numbers-dataset (github.com/gegallego/seq2seq-numbers-dataset, commit 2a6a313)",
    "data_licence": "MIT",
    "weights_terms": "MIT",
    "notes": (
        "Numbers between -1 and 0 lose their sign in the data (-0.28 is 'zero point two eight'), and the model learns"
        " that.",
        "Trailing zeros of the decimals are not spoken (.30 is 'point three').",
    ),
}

TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task(
            name="numbers",
            title="Numbers to English words",
            model=_numbers_model(dropout=0.1, encoder_layers=3, decoder_layers=3, d_model=256, n_heads=4, d_ff=1024),
            plan=Plan(epochs=6, batch_tokens=4000, peak_rate=1e-3, warmup=600, precision="bf16-mixed", smoothing=0.05),
            **_NUMBERS,
        ),
        Task(
            name="numbers-tiny",
            title="Numbers to English words, small enough to watch it learn",
            model=_numbers_model(dropout=0.0, encoder_layers=2, decoder_layers=2, d_model=64, n_heads=4, d_ff=256),
            plan=Plan(
                epochs=5,
                batch_tokens=4000,
                peak_rate=3e-3,
                warmup=300,
                smoothing=0.0,
                first_rows=(0, 1, 2, 5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 400, 500),
                row_every=250,
                save_every=500,
                snapshots=(0, 1, 2, 5, 10, 20, 50, 100, 200, 350, 500, 750, 1000, 1500, 2000, 3000, 4000),
            ),
            **_NUMBERS,
        ),
    )
}


def find_task(name: str) -> Task:
    """The task of this name. Raises ValueError with near matches if there is none."""
    if name not in TASKS:
        near = difflib.get_close_matches(name, TASKS, n=2)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"choose {' or '.join(map(repr, TASKS))}"
        raise ValueError(f"there is no task {name!r:.60}: {hint}")
    return TASKS[name]
