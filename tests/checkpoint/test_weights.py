"""Tensors from torch and safetensors files: exact where honest, a sentence and no memory spent where not."""

from __future__ import annotations

import io
import math
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from viz_transformer.checkpoint import CheckpointError
from viz_transformer.checkpoint.weights import all_finite, read_into, read_tensors

LINEAR = {"weight": torch.arange(6.0).reshape(2, 3), "bias": torch.tensor([0.5, -1.0])}
TEN_BILLION = 10**10


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.pt"


def refusal(path: Path, expected: Any = None) -> str:
    with pytest.raises(CheckpointError) as caught:
        read_tensors(path, expected)
    sentence = str(caught.value)
    assert sentence.startswith(str(path))
    assert "\n" not in sentence
    return sentence


def same(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> bool:
    return found.keys() == wanted.keys() and all(torch.equal(found[name], wanted[name]) for name in wanted)


def test_both_kinds_of_file_give_the_tensors_that_were_saved(path: Path) -> None:
    shapes = {"weight": (2, 3), "bias": (2,)}
    torch.save(LINEAR, path)
    assert same(read_tensors(path), LINEAR)
    assert same(read_tensors(path, shapes), LINEAR)
    save_file(LINEAR, path)
    assert same(read_tensors(path), LINEAR)
    assert same(read_tensors(path, shapes), LINEAR)


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


def test_nested_containers_are_flattened_and_what_is_no_tensor_is_left_out(path: Path) -> None:
    torch.save({"epoch": 3, "state": LINEAR, "more": [torch.ones(1), {"x": torch.nn.Parameter(torch.ones(2))}]}, path)
    found = read_tensors(path)
    assert list(found) == ["state.weight", "state.bias", "more.0", "more.1.x"]
    assert type(found["more.1.x"]) is torch.Tensor


def test_views_and_tied_tensors_of_a_torch_file_keep_their_values(path: Path) -> None:
    table = torch.arange(12.0).reshape(3, 4)
    views = {"table": table, "tied": table, "turned": table.T, "part": table[1:, 1:3], "none": table[:0]}
    torch.save(views, path)
    assert same(read_tensors(path), views)


def test_types_stay_as_they_are_stored(path: Path) -> None:
    tensors = {"half": torch.ones(2).half(), "brain": torch.ones(2).bfloat16(), "mask": torch.eye(2).bool()}
    torch.save(tensors, path)
    assert {name: tensor.dtype for name, tensor in read_tensors(path).items()} == {
        "half": torch.float16,
        "brain": torch.bfloat16,
        "mask": torch.bool,
    }


def test_the_tensors_do_not_depend_on_the_file_afterwards(path: Path) -> None:
    torch.save(LINEAR, path)
    found = read_tensors(path)
    path.write_bytes(b"\0" * path.stat().st_size)
    assert same(found, LINEAR)


def rewrite_pickle(path: Path, change: Any) -> None:
    """Change the pickle inside a torch file."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, change(content) if name.endswith("data.pkl") else content)


def test_an_expanded_view_of_ten_billion_numbers_is_refused(path: Path) -> None:
    torch.save({"w": torch.zeros(1).expand(TEN_BILLION)}, path)
    assert "'w' claims 10,000,000,000 numbers, but the file does not store so many" in refusal(path)
    assert "'w' claims 10,000,000,000 numbers" in refusal(path, {"w": (TEN_BILLION,)})


def test_a_contiguous_shape_beyond_its_storage_is_refused(path: Path) -> None:
    torch.save({"w": torch.zeros(1).expand(TEN_BILLION)}, path)
    size = b"\x8a\x05" + TEN_BILLION.to_bytes(5, "little") + b"\x85"

    def stride_one(content: bytes) -> bytes:
        at = content.index(b"K\x00\x85", content.index(size))
        return content[:at] + b"K\x01\x85" + content[at + 3 :]

    rewrite_pickle(path, stride_one)
    assert "'w' claims 10,000,000,000 numbers" in refusal(path)
    # The same with a storage that claims to be as long.
    rewrite_pickle(path, lambda content: content.replace(b"K\x01t", size[:-1] + b"t", 1))
    assert "'w' claims 10,000,000,000 numbers" in refusal(path)


def test_many_names_for_one_large_tensor_are_refused(path: Path) -> None:
    table = torch.ones(1000)
    torch.save({f"copy {i}": table for i in range(1000)}, path)
    assert "its tensors claim 4,000,000" in refusal(path)


def test_containers_that_hold_each_other_many_times_are_read_in_a_moment(path: Path) -> None:
    content: list[Any] = [torch.ones(1)]
    for _ in range(60):
        content = [content, content]  # 2^60 ways to the tensor
    torch.save(content, path)
    assert len(read_tensors(path)) == 1


class Call:
    """Pickles as a call, which happens when it is opened."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def test_code_in_a_torch_file_is_named_and_not_run(path: Path) -> None:
    trace = path.with_name("code-ran")
    torch.save({"w": Call(os.mkdir, str(trace))}, path)
    assert (
        "needs the Python object 'posix.mkdir' to be opened, which could run code" in refusal(path) or os.name == "nt"
    )
    assert not trace.exists()


@pytest.mark.parametrize(
    "function", [bytearray, torch.Tensor, torch.FloatTensor], ids=lambda function: function.__name__
)
def test_calls_that_only_take_memory_are_refused_too(path: Path, function: Any) -> None:
    torch.save({"w": Call(function, 10**12)}, path)
    assert "needs the Python object" in refusal(path)


def test_a_whole_module_is_refused_by_the_name_of_its_class(path: Path) -> None:
    torch.save(torch.nn.Linear(2, 2), path)
    assert "'torch.nn.modules.linear.Linear'" in refusal(path)


def test_plain_and_old_pickles_are_refused_unopened(path: Path) -> None:
    trace = path.with_name("code-ran")
    path.write_bytes(pickle.dumps({"w": Call(os.mkdir, str(trace))}))
    assert "is a pickle, which could run code, so it was not opened" in refusal(path)
    torch.save(LINEAR, path, _use_new_zipfile_serialization=False)
    assert "is a pickle, which could run code, so it was not opened" in refusal(path)
    assert not trace.exists()


@pytest.mark.parametrize("write", [torch.save, save_file], ids=["torch", "safetensors"])
@pytest.mark.parametrize("keep", [0, 1, 5, 100, -1])
def test_a_truncated_file_is_refused(path: Path, write: Any, keep: int) -> None:
    write(LINEAR, path)
    path.write_bytes(path.read_bytes()[:keep])
    assert "damaged" in refusal(path)


def test_a_flipped_bit_in_a_torch_file_is_found(path: Path) -> None:
    torch.save(LINEAR, path)
    content = path.read_bytes()
    at = content.index(struct.pack("<f", 5.0))
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    assert "is cut off or damaged" in refusal(path)


def test_zip_files_that_torch_did_not_write_are_refused(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "not one that torch.save wrote" in refusal(path)
    buffer = io.BytesIO()
    torch.save({"w": torch.zeros(100_000)}, buffer)
    with zipfile.ZipFile(buffer) as archive, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as smaller:
        for name in archive.namelist():
            smaller.writestr(name, archive.read(name))
    assert "is compressed" in refusal(path)


@pytest.mark.parametrize("content", [b"", b"hello world, this is a text", b"\xff" * 100])
def test_any_other_file_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert "is neither a safetensors nor a torch file" in refusal(path)


def test_a_missing_file_and_a_folder_are_refused(path: Path) -> None:
    assert "is missing" in refusal(path)
    path.mkdir()
    assert "is missing" in refusal(path)


@pytest.mark.parametrize("write", [torch.save, save_file], ids=["torch", "safetensors"])
def test_names_and_shapes_have_to_be_those_expected(path: Path, write: Any) -> None:
    write(LINEAR, path)
    assert "'weight' has the shape [2, 3], the config asks for [3, 2]" in refusal(
        path, {"weight": (3, 2), "bias": (2,)}
    )
    assert "lacks the tensor 'gain'" in refusal(path, {"weight": (2, 3), "bias": (2,), "gain": (2,)})
    assert "has a tensor 'bias' that the config has no place for" in refusal(path, {"weight": (2, 3)})


@pytest.mark.parametrize("write", [torch.save, save_file], ids=["torch", "safetensors"])
@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_a_tensor_with_what_is_no_number_is_named(path: Path, write: Any, value: float) -> None:
    write({**LINEAR, "bias": torch.tensor([1.0, value])}, path)
    assert "'bias' holds NaN or infinite numbers" in refusal(path)
