"""Continuing in the manner of Shakespeare: a decoder-only model that predicts the next character."""

from __future__ import annotations

from viz_transformer.model.config import ModelConfig
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters
from viz_transformer.text.vocabulary import Vocabulary
from viz_transformer.train.tasks.task import Measure, Plan, TextTask

CONTEXT = 128


def shakespeare_codec(text: str) -> Codec:
    """Codec of all characters in the text, sorted; no start, end or padding tokens."""
    return Codec(Characters(strip=False), Vocabulary(sorted(set(text))), add_bos=False, add_eos=False)


def shakespeare_model(codec: Codec) -> ModelConfig:
    """Four layers, pre-norm, sinusoidal positions, tied output."""
    return ModelConfig(
        target_vocab_size=len(codec.vocabulary),
        decoder_layers=4,
        d_model=192,
        n_heads=6,
        d_ff=768,
        dropout=0.1,
        activation="gelu",
        tied_output=True,
        max_target=CONTEXT,
    )


TASKS = (
    TextTask(
        name="shakespeare",
        title="Shakespeare, character by character",
        does="continues a text in the manner of Shakespeare, character by character",
        train="tinyshakespeare/train.txt.gz",
        held_out=50_000,
        test="tinyshakespeare/val.txt.gz",
        codec=shakespeare_codec,
        model=shakespeare_model,
        window=CONTEXT,
        plan=Plan(
            epochs=12,
            batch_tokens=1536,
            peak_rate=1e-3,
            warmup=200,
            smoothing=0.0,
            weight_decay=0.1,
            precision="bf16-mixed",
            row_every=400,
            sample=256,
        ),
        measures=(Measure(split="val, all windows of 128 characters"),),
        data_name="tinyshakespeare (github.com/karpathy/char-rnn, commit 6f9487a); the last tenth is the test",
        data_licence="public domain; the repository: MIT",
        weights_terms="MIT",
        notes=("The first 50,000 characters of the training text were held out to choose the best weights by.",),
    ),
)
