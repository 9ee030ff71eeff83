"""Tensors from safetensors files: exact where honest, a sentence where not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from viz_transformer.checkpoint import CheckpointError
from viz_transformer.checkpoint.weights import all_finite, read_into

LINEAR = {"weight": torch.arange(6.0).reshape(2, 3), "bias": torch.tensor([0.5, -1.0])}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.pt"


def refusal(path: Path, state: Mapping[str, torch.Tensor] = LINEAR) -> str:
    with pytest.raises(CheckpointError) as caught:
        read_into(path, {name: tensor.clone() for name, tensor in state.items()})
    sentence = str(caught.value)
    assert sentence.startswith(str(path))
    assert "\n" not in sentence
    return sentence


def same(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> bool:
    return found.keys() == wanted.keys() and all(torch.equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("mapped", [1, 30, 10**6])
def test_numbers_are_copied_into_tensors_however_often_the_file_is_mapped(
    mapped: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viz_transformer.checkpoint.weights._MAPPED", mapped)
    save_file({name: tensor.half() for name, tensor in LINEAR.items()}, path)
    state = {name: torch.full_like(tensor, 9) for name, tensor in LINEAR.items()}
    read_into(path, state)
    assert same(state, LINEAR)
    save_file({**LINEAR, "bias": torch.tensor([0.5, math.nan])}, path)
    with pytest.raises(CheckpointError, match="'bias' holds NaN or infinite numbers"):
        read_into(path, state)
    with pytest.raises(CheckpointError, match=r"'bias' has the shape \[2\]"):
        read_into(path, {**state, "bias": torch.ones(1)})


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_one_number_that_is_not_finite_is_found_wherever_it_stands(bad: float, dtype: torch.dtype) -> None:
    for count in (1, 5, 64, 40_001):
        for place in {0, count // 3, count - 1}:
            tensor = torch.linspace(-9, 9, count).to(dtype)
            assert all_finite(tensor)
            tensor[place] = bad
            assert not all_finite(tensor)
    assert all_finite(torch.empty(0, dtype=dtype))


def test_pickles_and_torch_files_are_refused_unopened(path: Path) -> None:
    torch.save(LINEAR, path, _use_new_zipfile_serialization=False)
    assert "is a pickle, which could run code, so it was not opened" in refusal(path)
    torch.save(LINEAR, path)
    assert "is a torch file and not safetensors" in refusal(path)


@pytest.mark.parametrize("keep", [0, 1, 5, 100, -1])
def test_a_truncated_file_is_refused(path: Path, keep: int) -> None:
    save_file(LINEAR, path)
    path.write_bytes(path.read_bytes()[:keep])
    assert "damaged" in refusal(path)


@pytest.mark.parametrize("content", [b"", b"hello world, this is a text", b"\xff" * 100])
def test_any_other_file_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert "is neither a safetensors nor a torch file" in refusal(path)


def test_a_missing_file_and_a_folder_are_refused(path: Path) -> None:
    assert "is missing" in refusal(path)
    path.mkdir()
    assert "is missing" in refusal(path)


def test_names_and_shapes_have_to_be_those_expected(path: Path) -> None:
    save_file(LINEAR, path)
    weight, bias = torch.ones(2, 3), torch.ones(2)
    turned = refusal(path, {"weight": weight.T, "bias": bias})
    assert "'weight' has the shape [2, 3], the config asks for [3, 2]" in turned
    assert "lacks the tensor 'gain'" in refusal(path, {"weight": weight, "bias": bias, "gain": bias})
    assert "has a tensor 'bias' that the config has no place for" in refusal(path, {"weight": weight})


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_a_tensor_with_what_is_no_number_is_named(path: Path, value: float) -> None:
    save_file({**LINEAR, "bias": torch.tensor([1.0, value])}, path)
    assert "'bias' holds NaN or infinite numbers" in refusal(path)
