"""A task small enough to be trained in a second: write a word backwards. Its data are made here."""

from __future__ import annotations

import random
from pathlib import Path

from viz_transformer.config import ModelConfig
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters
from viz_transformer.text.vocabulary import Vocabulary
from viz_transformer.train.tasks import SPECIALS, Codecs, Plan, Task


def backwards_codecs(folder: Path) -> Codecs:
    codec = Codec(Characters(), Vocabulary(("<s>", "</s>", "<unk>", "<pad>", *"abcde"), SPECIALS))
    return codec, codec


def backwards_task(**plan: object) -> Task:
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
    }
    return Task(
        name="backwards",
        title="Words backwards",
        train="backwards/train.tsv",
        validation="backwards/dev.tsv",
        test="backwards/test.tsv",
        test_limit=20,
        test_split="test, first 20",
        codecs=backwards_codecs,
        model=ModelConfig(
            source_vocab_size=9,
            target_vocab_size=9,
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
        ),
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
