"""A task small enough to be trained in a second: write a word backwards. Its data are made here."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from viz_transformer.measuring.data import Pair, Split, Tokenizers
from viz_transformer.model.config import ModelConfig
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters
from viz_transformer.text.vocabulary import SPECIALS, Vocabulary
from viz_transformer.train.tasks.task import Measure, PairTask, Plan

CHARACTERS = (Characters(), Characters())
LATE = (
    "viz_transformer.command.commands",
    "sacrebleu.metrics.bleu",
    "sacrebleu.metrics.chrf",
    "pydantic.type_adapter",  # by typer
    "typer.rich_utils",
)
"""Imported only when a training runs: a process that forks many of them imports these once, instead of in each."""


def backwards_codecs(tokenizers: Tokenizers = CHARACTERS, pairs: Sequence[Pair] = ()) -> tuple[Codec, Codec]:
    codec = Codec(tokenizers[0], Vocabulary((*SPECIALS.values(), *"abcde"), SPECIALS))
    return codec, codec


def backwards_model(source: Codec, target: Codec) -> ModelConfig:
    return ModelConfig(
        source_vocab_size=len(source.vocabulary),
        target_vocab_size=len(target.vocabulary),
        encoder_layers=1,
        decoder_layers=1,
        d_model=16,
        n_heads=2,
        d_ff=32,
        dropout=0.1,
        max_source=12,
        max_target=12,
        source_pad=3,
        target_pad=3,
    )


def backwards_task(**plan: object) -> PairTask:
    """The task with some of the plan replaced; about 40 steps an epoch."""
    settings: dict[str, object] = {
        "epochs": 1,
        "batch_tokens": 120,
        "peak_rate": 3e-3,
        "warmup": 5,
        "first_rows": (0, 1, 2, 3),
        "row_every": 4,
        "save_every": 5,
        "sample": 20,
        "snapshots": (0, 1, 3, 12),
        "threads": 1,
    }
    return PairTask(
        name="backwards",
        title="Words backwards",
        train=(Split(file="backwards/train.tsv"),),
        validation=Split(file="backwards/dev.tsv"),
        test=Split(file="backwards/test.tsv", limit=20),
        measures=(
            Measure(split="test, first 20"),
            Measure(split="dev", data="backwards/dev.tsv", beam=2, bleu="tokens"),
        ),
        tokenizers=CHARACTERS,
        codecs=backwards_codecs,
        model=backwards_model,
        plan=Plan(**(settings | plan)),  # type: ignore[arg-type]
        data_name="made in the test",
        data_licence="CC0",
        weights_terms="CC0",
        examples=5,
    )


def backwards_pairs(seed: int, n: int) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcde", k=draw.randint(1, 8))) for _ in range(n)]
    return [(word, word[::-1]) for word in words]


def write_data(folder: Path) -> Path:
    """A data folder with the task's three files."""
    (folder / "backwards").mkdir(parents=True)
    for seed, (split, n) in enumerate((("train", 300), ("dev", 40), ("test", 30))):
        lines = (f"{source}\t{target}\n" for source, target in backwards_pairs(seed, n))
        (folder / "backwards" / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
    return folder
