"""Weights that are finite and so large that what is computed with them is not: a sentence, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pretrained
import pytest
import torch
from safetensors.torch import load_file, save_file

import viz_transformer as vt
from viz_transformer.checkpoint import CheckpointError


def with_weights(folder: Path, name: str, size: float) -> Path:
    """A folder whose matrices hold numbers of this size, of either sign."""
    path = pretrained.folder(folder, name) / "model.safetensors"
    stored = {
        name: tensor.sign() * size if tensor.dim() > 1 else tensor
        for name, tensor in load_file(path).items()  # of the same signs as before
    }
    save_file(stored, path, metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", ["gpt2", "bert", "marian", "bloom"])
def test_a_folder_whose_numbers_overflow_is_refused_in_a_sentence(name: str, dtype: str, tmp_path: Path) -> None:
    with_weights(tmp_path, name, 1e38)
    with pytest.raises(CheckpointError) as caught:
        vt.load(tmp_path, dtype=dtype)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path} cannot be recorded: in a trial pass ") and "\n" not in said
    assert "holds NaN or infinite numbers: the weights are finite, but so large" in said


@pytest.mark.parametrize(("name", "size"), [("gpt2", 1e3), ("gpt2", 1e6), ("t5", 1e6), ("t5", 1e15)])
def test_large_numbers_that_stay_finite_are_recorded(name: str, size: float, tmp_path: Path) -> None:
    """Their scores are so large that a rounding of one is more than any weight."""
    ckpt = vt.load(with_weights(tmp_path, name, size))
    weights = vt.trace(ckpt, "two hundred", *(["one"] if name == "t5" else []))["decoder.0.self.weights"]
    assert torch.isfinite(weights).all()
