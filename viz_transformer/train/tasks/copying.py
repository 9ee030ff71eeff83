"""Copying a string: the smallest task that shows attention at work. Its data are made, not read."""

from __future__ import annotations

from collections.abc import Sequence

from viz_transformer.config import ModelConfig
from viz_transformer.data import COPY_LONGEST, COPY_SYMBOLS, Pair, Split, Tokenizers
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters
from viz_transformer.text.vocabulary import SPECIALS, Vocabulary
from viz_transformer.train.tasks.task import Measure, PairTask, Plan, vocabulary_sizes


def copy_codecs(tokenizers: Tokenizers, pairs: Sequence[Pair]) -> tuple[Codec, Codec]:
    """Both sides in the ten letters."""
    codec = Codec(tokenizers[0], Vocabulary((*SPECIALS.values(), *COPY_SYMBOLS), SPECIALS))
    return codec, codec


def copy_model(source: Codec, target: Codec) -> ModelConfig:
    """Two layers on each side, pre-norm, sinusoidal positions."""
    return ModelConfig(
        encoder_layers=2,
        decoder_layers=2,
        d_model=64,
        n_heads=4,
        d_ff=256,
        dropout=0.0,
        max_source=COPY_LONGEST + 12,  # longer than anything it has seen may be tried
        max_target=COPY_LONGEST + 12,
        **vocabulary_sizes(source, target),
    )


TASKS = (
    PairTask(
        name="copy",
        title="Copy a string of letters",
        train=(Split(file="generated:copy/train", limit=20_000),),
        validation=Split(file="generated:copy/train", skip=20_000, limit=1000),
        test=Split(file="generated:copy/test", limit=1000),
        tokenizers=(Characters(), Characters()),
        codecs=copy_codecs,
        model=copy_model,
        plan=Plan(
            epochs=10,
            batch_tokens=4000,
            peak_rate=3e-3,
            warmup=200,
            smoothing=0.0,
            sample=256,
            row_every=100,
            save_every=500,
            snapshots=(0, 1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 750, 1000),
        ),
        measures=(Measure(split="1,000 strings made by the task"),),
        data_name="made by the task: strings of 1 to 20 of the letters a to j",
        data_licence="CC0",
        weights_terms="CC0",
        notes=("A checksum decides whether a string belongs to training or test, so no test string was trained on.",),
    ),
)
