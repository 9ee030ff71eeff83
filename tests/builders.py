"""Tiny random models and checkpoints for the tests."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

import torch

from viz_transformer.checkpoint import Checkpoint, save_checkpoint
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.transformer import Transformer
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters
from viz_transformer.text.vocabulary import Vocabulary

SPECIALS = {"pad": "<pad>", "bos": "<s>", "eos": "</s>", "unk": "<unk>"}
SOURCE = ("<pad>", "<s>", "</s>", "<unk>", *"abcdefgh")
TARGET = ("<pad>", "<s>", "</s>", "<unk>", *"uvwxyz0123456789")
_ONE_AT_A_TIME = Lock()  # torch's seed belongs to the process: sessions of a served page make their models side by side


def tiny_config(kind: str = "encoder-decoder", **changes: Any) -> ModelConfig:
    """2 encoder layers, 3 decoder layers, d_model 16, 4 heads; of the kind asked for."""
    values: dict[str, Any] = {"d_model": 16, "n_heads": 4, "d_ff": 24, "max_source": 20, "max_target": 24}
    if kind != "decoder-only":
        values |= {"encoder_layers": 2, "source_vocab_size": len(SOURCE), "source_pad": 0}
    if kind != "encoder-only":
        values |= {"decoder_layers": 3, "target_pad": 0}
    values["target_vocab_size"] = len(TARGET)
    return ModelConfig(**{**values, **changes})


def tiny_model(config: ModelConfig, seed: int = 0) -> Transformer:
    """Random weights, every parameter moved away from its start value (gains, offsets and biases too), eval mode."""
    with _ONE_AT_A_TIME:
        torch.manual_seed(seed)
        model = Transformer(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def tiny_checkpoint(kind: str = "encoder-decoder", seed: int = 0, **changes: Any) -> Checkpoint:
    """A checkpoint in memory that reads and writes single characters."""
    config = tiny_config(kind, **changes)
    return Checkpoint(
        name="tiny",
        path=None,
        hooked_model=tiny_model(config, seed),
        source_codec=Codec(Characters(), Vocabulary(SOURCE, SPECIALS)) if config.has_encoder else None,
        target_codec=Codec(Characters(), Vocabulary(TARGET, SPECIALS)) if config.has_decoder else None,
        card={},
        weights_sha256=f"tiny-{seed}",
    )


def saved(ckpt: Checkpoint, folder: Path, card: dict[str, Any] | None = None, **changes: Any) -> Path:
    """The folder that this checkpoint now lies in; its card names the task after it.

    `changes` are what `save_checkpoint` is given besides, or in place of what the checkpoint has.
    """
    own = {"state_dict": ckpt.model.state_dict(), "config": ckpt.config}
    codecs = {"source_codec": ckpt.source_codec, "target_codec": ckpt.target_codec}
    return save_checkpoint(folder, card={"task": folder.name, **(card or {})}, **{**own, **codecs, **changes})


def random_ids(vocab_size: int, *shape: int, seed: int = 1) -> torch.Tensor:
    """Ids without specials."""
    return torch.randint(4, vocab_size, shape, generator=torch.Generator().manual_seed(seed))


def assert_same(got: torch.Tensor, want: torch.Tensor, name: str) -> None:
    """Equal to 1e-6 of the largest value (at least 1): the same float32 sums in another order. Masks: equal."""
    if want.dtype == torch.bool:
        assert torch.equal(got, want), name
        return
    largest = max(1.0, want.abs().max().item())
    torch.testing.assert_close(got, want, atol=1e-6 * largest, rtol=0, msg=lambda message: f"{name}: {message}")
