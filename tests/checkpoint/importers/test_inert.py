"""Pickles are read without anything of theirs being run, and what is damaged or hostile ends in one sentence."""

from __future__ import annotations

import argparse
import collections
import io
import json
import os
import pickle
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from builders import tiny_checkpoint
from safetensors.torch import save_file
from strangers import Lab
from watched import watched_trace

import viz_transformer as vt
from viz_transformer.checkpoint import CheckpointError
from viz_transformer.checkpoint.importers.importing import Answers, import_file, open_file
from viz_transformer.checkpoint.importers.reading import read_file
from viz_transformer.checkpoint.importers.safe_pickle import Call, Name, read_pickle

RAN: list[str] = []


class Runs:
    def __reduce__(self) -> Any:
        return RAN.append, ("ran",)


class Command:
    def __init__(self, command: str):
        self.command = command

    def __reduce__(self) -> Any:
        return os.system, (self.command,)


PLAIN: list[Any] = [
    None,
    True,
    -1,
    2**70,
    1.5,
    "text",
    b"bytes",
    (1, (2, "x")),
    [1, [2]],
    {"a": {"b": [1, 2.5]}, 3: ()},
]


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_are_read_as_pickle_reads_them(value: Any, protocol: int) -> None:
    if isinstance(value, bytes) and protocol < 3:
        pytest.skip("bytes are made by a function before protocol 3")
    assert read_pickle(pickle.dumps(value, protocol)) == value


def test_an_object_is_a_record_of_its_class_and_state() -> None:
    found = read_pickle(pickle.dumps(argparse.Namespace(heads=8), 4))
    assert isinstance(found, Call) and found.state == {"heads": 8}
    names = [found.function, *(found.arguments if isinstance(found.arguments, tuple) else ())]
    assert any(isinstance(name, Name) and name.full == "argparse.Namespace" for name in names)


def test_an_ordered_dictionary_is_a_dictionary() -> None:
    assert read_pickle(pickle.dumps(collections.OrderedDict(a=1, b=2))) == {"a": 1, "b": 2}


@pytest.mark.parametrize("protocol", range(6))
def test_nothing_of_a_pickle_is_run(protocol: int, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    found = read_pickle(pickle.dumps([Runs(), Command(f"touch {marker}")], protocol))
    assert not RAN and not marker.exists()
    assert isinstance(found[1], Call)


def test_tensors_beside_code_are_read_and_the_code_is_not_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    state = Lab().state_dict()
    torch.save({"state_dict": state, "hooks": Command(f"touch {marker}")}, tmp_path / "model.pt")
    found = read_file(tmp_path / "model.pt")
    assert not marker.exists()
    for name, tensor in state.items():
        assert torch.equal(found.tensors["state_dict", name].read(), tensor)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(3, 4).t(),
        torch.randn(6, 4)[1:5:2],
        torch.randn(5).half(),
        torch.randn(5).bfloat16(),
        torch.randn(2, 3).double(),
        torch.arange(7),
        torch.tensor(2.5),
        torch.empty(0, 3),
        torch.tensor([True, False]),
        torch.nn.Parameter(torch.randn(2, 2)),
    ],
    ids=["transposed", "a part", "half", "bfloat16", "double", "int64", "a number", "empty", "Boolean", "a parameter"],
)
def test_each_kind_of_tensor_is_read_as_torch_reads_it(tensor: torch.Tensor, tmp_path: Path) -> None:
    torch.save({"x": tensor}, tmp_path / "x.pt")
    got = read_file(tmp_path / "x.pt").tensors["x",].read()
    assert got.dtype == tensor.dtype and torch.equal(got, tensor)


def test_tied_tensors_have_one_place(tmp_path: Path) -> None:
    x = torch.randn(4, 4)
    torch.save({"a": x, "b": x}, tmp_path / "x.pt")
    found = read_file(tmp_path / "x.pt").tensors
    assert found["a",].place == found["b",].place


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x80\x04r\xff\xff\xff\x7f.", "damaged"),  # a memo of two thousand million entries
        (b"\x80\x04]\x94h\x00h\x00h\x00.", None),
        (b"\x80\x04N", "cut off|damaged"),
        (b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f", "cut off|damaged"),
        (b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f", "cut off|damaged"),
        (b"\x80\x04e.", "damaged"),
        (b"", "cut off|damaged"),
    ],
)
def test_hostile_pickles_are_refused_without_taking_memory(content: bytes, said: str | None) -> None:
    if said is None:
        read_pickle(content)
        return
    with pytest.raises(ValueError, match=said):
        read_pickle(content)


def test_keys_that_would_take_for_ever_to_hash_do_not() -> None:
    layers = b"".join(b"\x86" if not i else b"2\x86" for i in range(60))
    assert isinstance(read_pickle(b"\x80\x02}K\x01K\x01" + layers + b"K\x02s."), dict)


def test_every_cut_of_a_file_is_refused_or_read_whole(tmp_path: Path) -> None:
    torch.save({"x": torch.randn(8, 8), "y": {"z": torch.ones(3)}}, tmp_path / "whole.pt")
    whole = (tmp_path / "whole.pt").read_bytes()
    for length in (*range(0, len(whole), 37), *range(len(whole) - 30, len(whole))):
        (tmp_path / "cut.pt").write_bytes(whole[:length])
        with pytest.raises(CheckpointError):
            read_file(tmp_path / "cut.pt")


def test_random_damage_never_ends_in_anything_but_a_sentence(tmp_path: Path) -> None:
    torch.save({"a.weight": torch.randn(4, 4), "values": [1, "x", {"k": 2.5}]}, tmp_path / "whole.pt")
    whole = bytearray((tmp_path / "whole.pt").read_bytes())
    chance = random.Random(0)
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        (tmp_path / "damaged.pt").write_bytes(damaged)
        try:
            for stored in read_file(tmp_path / "damaged.pt").tensors.values():
                stored.read()
        except CheckpointError as error:
            assert "\n" not in str(error)


def test_a_view_of_more_numbers_than_there_are_is_refused(tmp_path: Path) -> None:
    x = torch.zeros(1)
    torch.save({"x": x.expand(100_000, 100_000)}, tmp_path / "x.pt")
    with pytest.raises(CheckpointError, match="claims"):
        read_file(tmp_path / "x.pt")


def test_a_container_that_contains_itself_is_read(tmp_path: Path) -> None:
    held: dict[str, Any] = {"x": torch.ones(2)}
    held["again"] = held
    torch.save(held, tmp_path / "x.pt")
    assert set(read_file(tmp_path / "x.pt").tensors) == {("x",)}


def refused(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(CheckpointError) as caught:
        read_file(path)
    said = str(caught.value)
    assert "\n" not in said and str(path) in said
    return said


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("m.pt", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "was not downloaded"),
        ("m.pt", b"<!DOCTYPE html><html></html>", "a web page"),
        ("m.gguf", b"GGUF\x03\x00\x00\x00", "GGUF"),
        ("m.h5", b"\x89HDF\r\n\x1a\n", "Keras"),
        ("m.onnx", b"\x08\x07\x12\x07pytorch", "ONNX"),
        ("m.bin", pickle.dumps({"a": 1}), "plain pickle"),
        ("m.bin", bytes(range(200, 256)) * 9, "neither a safetensors nor a torch file"),
        ("m.pt", b"", "is empty"),
        ("m.pt", b'{"a": 1}', "is JSON"),
        ("m.safetensors", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ", "holds no tensors"),
        ("m.safetensors", b"\x08", "cut off"),
        ("model.py", b"import torch\n", "is a program, which is not run: give the file of weights that it writes"),
        ("train.ipynb", b'{"cells": []}', "is a program, which is not run"),
    ],
)
def test_other_files_are_named_for_what_they_are(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path / name, content)


def test_a_header_whose_length_looks_like_onnx_is_one_of_safetensors(tmp_path: Path) -> None:
    """0x0708 bytes: those two stand at the beginning of the file."""
    header = b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'.ljust(0x0708)
    (tmp_path / "m.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    assert [*read_file(tmp_path / "m.safetensors").tensors] == [("x",)]


def zipped(entries: dict[str, bytes], *, compression: int = zipfile.ZIP_STORED) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return held.getvalue()


def test_zip_files_of_other_programs_are_refused(tmp_path: Path) -> None:
    assert "Marian" in refused(tmp_path / "m.npz", zipped({"a.npy": b"x"}))
    assert "not one that torch.save wrote" in refused(tmp_path / "m.pt", zipped({"a.txt": b"x"}))
    packed = zipped({"archive/data.pkl": b"\x80\x02N." * 9_999}, compression=zipfile.ZIP_DEFLATED)
    assert "compressed" in refused(tmp_path / "m.pt", packed)
    script = zipped({"m/data.pkl": pickle.dumps({}), "m/code/x.py": b"", "m/data/0": b""})
    assert "TorchScript" in refused(tmp_path / "m.pt", script)


def test_a_pickled_module_is_refused_with_what_to_save_instead(tmp_path: Path) -> None:
    torch.save(Lab(), tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match="whole pickled module"):
        read_file(tmp_path / "m.pt")


def test_quantised_weights_are_refused(tmp_path: Path) -> None:
    quantised = torch.quantize_per_tensor(torch.randn(3), 0.1, 0, torch.qint8)
    torch.save({"x": quantised}, tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match="quantised"):
        read_file(tmp_path / "m.pt")


def test_weights_of_whole_numbers_are_refused_and_counters_are_left(tmp_path: Path) -> None:
    state = Lab().state_dict()
    torch.save({**state, "steps": torch.tensor(3)}, tmp_path / "m.pt")
    opened = open_file(tmp_path / "m.pt", Answers(settings={"n_heads": 3}))
    assert opened.weights.left["steps"] == "whole numbers, which are no weights" and not opened.plan.problems
    torch.save({name: (x * 50).to(torch.int8) for name, x in state.items()}, tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match=r"int8.*quantised"):
        open_file(tmp_path / "m.pt")


def test_a_saved_trace_is_no_file_of_weights_and_how_it_is_opened_is_said(tmp_path: Path) -> None:
    watched_trace().save(tmp_path / "m.safetensors")
    with pytest.raises(
        CheckpointError, match=r"recording of a watched module.*app --checkpoints .*m\.safetensors` shows"
    ):
        open_file(tmp_path / "m.safetensors")
    vt.trace(tiny_checkpoint(), [3, 4], [1]).save(tmp_path / "m.safetensors")
    with pytest.raises(
        CheckpointError, match="is the saved trace of one run, and no file of weights: open it on Tensors"
    ):
        open_file(tmp_path / "m.safetensors")


def test_an_optimizer_or_an_adapter_alone_is_no_model(tmp_path: Path) -> None:
    torch.save({"optimizer_state_dict": {"state": {0: {"exp_avg": torch.ones(3)}}}}, tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match="optimizer"):
        open_file(tmp_path / "m.pt")
    layer = torch.nn.Linear(3, 3)
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.ones(3)).sum().backward()
    optimizer.step()
    torch.save(optimizer.state_dict(), tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match="holds the state of an optimizer and no weights"):
        open_file(tmp_path / "m.pt")
    torch.save({"q.lora_A.weight": torch.ones(2, 3), "q.lora_B.weight": torch.ones(3, 2)}, tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match="LoRA"):
        open_file(tmp_path / "m.pt")


def test_a_model_that_is_no_transformer_is_said_to_be_none(tmp_path: Path) -> None:
    torch.save(torch.nn.Conv2d(3, 8, 3).state_dict(), tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match="no transformer is found among the file's 2 tensors, such as 'weight'"):
        open_file(tmp_path / "m.pt")


def test_numbers_that_are_not_finite_stop_an_import(tmp_path: Path) -> None:
    state = Lab().state_dict()
    state["decoder.proj.weight"][0, 0] = float("nan")
    torch.save(state, tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match="NaN"):
        import_file(tmp_path / "m.pt", tmp_path / "out", Answers(settings={"n_heads": 3}))
    assert not (tmp_path / "out").exists()


def shards(folder: Path) -> dict[str, str]:
    state = Lab().state_dict()
    names = list(state)
    parts = {"a.safetensors": names[:20], "b.safetensors": names[20:]}
    for file, part in parts.items():
        save_file({name: state[name].contiguous() for name in part}, folder / file)
    return {name: file for file, part in parts.items() for name in part}


def test_several_files_with_an_index_are_one_model(tmp_path: Path) -> None:
    where = shards(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    opened = open_file(tmp_path, Answers(settings={"n_heads": 3}))
    assert not opened.plan.problems and len(opened.weights.tensors) == len(where)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda where: where | {"more": "c.safetensors"}, "missing"),
        (lambda where: where | {"more": "../a.safetensors"}, "not next to it"),
        (lambda where: where | {"more": "a.safetensors"}, "does not hold the tensor"),
        (lambda where: dict(list(where.items())[1:]), "does not name"),
        (lambda where: {}, "weight_map={} has to be an object with the file in which each tensor is"),
        (lambda where: {"a": 1}, r"weight_map\['a'\]=1 has to be a text"),
        (lambda where: "a", "weight_map='a' has to be an object"),
    ],
)
def test_an_index_that_does_not_fit_is_refused(change: Any, said: str, tmp_path: Path) -> None:
    (tmp_path / "m.index.json").write_text(json.dumps({"weight_map": change(shards(tmp_path))}))
    with pytest.raises(CheckpointError, match=said):
        read_file(tmp_path / "m.index.json")
