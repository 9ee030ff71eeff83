"""Copying a string: the smallest task that shows attention at work, with generated data."""

from __future__ import annotations

from collections.abc import Sequence

from viz_transformer.measuring.data import COPY_LONGEST, COPY_SYMBOLS, Pair, Split, Tokenizers
from viz_transformer.model.config import ModelConfig
from viz_transformer.text.codec import Codec
from viz_transformer.text.notation import Letters
from viz_transformer.text.tokenizers import Characters
from viz_transformer.text.vocabulary import SPECIALS, Vocabulary
from viz_transformer.train.tasks.task import Measure, PairTask, Plan, vocabulary_sizes


def copy_codecs(tokenizers: Tokenizers, pairs: Sequence[Pair]) -> tuple[Codec, Codec]:
    """Codecs of both sides: the letters a to z."""
    codec = Codec(tokenizers[0], Vocabulary((*SPECIALS.values(), *COPY_SYMBOLS), SPECIALS))
    return codec, codec


def copy_model(source: Codec, target: Codec) -> ModelConfig:
    """Two layers per stack, pre-norm, sinusoidal positions; small, since all snapshots are kept."""
    return ModelConfig(
        encoder_layers=2,
        decoder_layers=2,
        d_model=32,
        n_heads=4,
        d_ff=64,
        dropout=0.0,
        max_source=COPY_LONGEST + 12,  # allows trying longer texts than those in training
        max_target=COPY_LONGEST + 12,
        **vocabulary_sizes(source, target),
    )


TASKS = (
    PairTask(
        name="copy",
        title="Copy a string of letters",
        does="reads a string of letters and writes it again",
        train=(Split(file="generated:copy/train", limit=20_000),),
        validation=Split(file="generated:copy/train", skip=20_000, limit=1000),
        test=Split(file="generated:copy/test", limit=1000),
        tokenizers=(Characters(), Characters()),
        codecs=copy_codecs,
        notation=Letters(letters=COPY_SYMBOLS, longest=COPY_LONGEST),
        model=copy_model,
        plan=Plan(
            epochs=10,
            batch_tokens=3000,
            peak_rate=3e-3,
            warmup=200,
            smoothing=0.0,
            sample=256,
            row_every=50,
            save_every=500,
            snapshots=(0, 5, 20, 50, 100, 150, 200, 250, 300, 400, 500, 750, 1000),
        ),
        measures=(
            Measure(split="1,000 strings made by the task"),
            Measure(split="10,000 strings made by the task", limit=10_000),
        ),
        data_name="made by the task: strings of 1 to 20 of the letters a to z",
        data_licence="CC0",
        weights_terms="CC0",
        notes=(
            "Every second string, by chance, has at most five different letters.",
            "A checksum decides whether a string belongs to training or test, so no test string was trained on.",
            "Of the 1,000 test strings these many have 1, 2, ... 20 letters: 1, 30, 63, 66, 44, 52, 58, 58, 53, 46, "
            "55, 39, 53, 60, 57, 63, 54, 45, 42, 61.",
        ),
    ),
)
