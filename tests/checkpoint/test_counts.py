"""Files of more tensors than a model has: counted before anything else is done with them, whatever opens them."""

from __future__ import annotations

import json
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from viz_transformer.checkpoint import bundled_folder, load
from viz_transformer.checkpoint.contents import read_summary
from viz_transformer.checkpoint.importers import mapping
from viz_transformer.checkpoint.importers.importing import open_file
from viz_transformer.checkpoint.importers.names import MAX_WRAPPERS, common_beginnings
from viz_transformer.checkpoint.importers.reading import MAX_SHARDS, read_file
from viz_transformer.checkpoint.importers.safe_pickle import MAX_STEPS
from viz_transformer.checkpoint.untrusted import MAX_TENSORS
from viz_transformer.huggingface import folder as foreign
from viz_transformer.huggingface.folder import read_folder
from viz_transformer.running.trace import Trace

MORE = MAX_TENSORS + 1
TOO_MANY = f"holds {MORE:,} tensors, at most {MAX_TENSORS:,} are read: give the weights of one model"


def described(count: int, offsets: str = "data_offsets", first: int = 0) -> bytes:
    """A safetensors file of so many tensors of one number."""
    entries = (
        f'"layers.{first + i}.weight":{{"dtype":"F32","shape":[1],"{offsets}":[{4 * i},{4 * i + 4}]}}'
        for i in range(count)
    )
    header = ("{" + ",".join(entries) + "}").encode()
    return len(header).to_bytes(8, "little") + header + bytes(4 * count)


def own(folder: Path) -> Path:
    """A checkpoint folder of ours."""
    shutil.copytree(bundled_folder() / "numbers-tiny", folder / "own")
    (folder / "own" / "model.safetensors").write_bytes(described(MORE))
    return folder / "own"


def of_transformers(folder: Path) -> Path:
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 8, "n_layer": 1, "n_head": 2}
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": 9, "n_positions": 16}))
    (folder / "tokenizer.json").write_text("{}")
    return folder


DOORS: dict[str, Callable[[Path], Any]] = {
    "an import": read_file,
    "a trace": Trace.load,
    "a checkpoint folder": lambda path: load(own(path.parent)),
    "the size of a checkpoint folder": lambda path: read_summary(own(path.parent)).parameter_count,
    "a folder of transformers": lambda path: read_folder(of_transformers(path.parent)),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("offsets", ["data_offsets", "data\\u005foffsets"])
def test_a_file_of_too_many_tensors_is_refused_by_its_header(door: str, offsets: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(described(MORE, offsets))
    with pytest.raises(ValueError, match=TOO_MANY) as caught:
        DOORS[door](path)
    assert "damaged" not in str(caught.value) and "\n" not in str(caught.value)


def test_as_many_tensors_as_are_read_are_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(described(MAX_TENSORS))
    assert len(read_file(path).tensors) == MAX_TENSORS


def many_records(path: Path) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", pickle.dumps({}))
        for number in range(MORE):
            archive.writestr(f"m/data/{number}", b"")
    return TOO_MANY


def long_directory(path: Path) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", pickle.dumps({}))
        for number in range(150):
            archive.writestr(f"m/{number}-{'x' * 60_000}", b"")
    return "the directory of its parts has more than 8,388,608 bytes"


def one_storage(path: Path) -> str:
    one = torch.zeros(1)
    torch.save({f"layers.{i}.weight": one[:] for i in range(MORE)}, path)
    return f"holds more than {MAX_TENSORS:,} tensors: give the weights of one model"


def one_tensor(path: Path) -> str:
    torch.save(dict.fromkeys((f"layers.{i}.weight" for i in range(MORE)), torch.zeros(1)), path)
    return f"holds more than {MAX_TENSORS:,} tensors: give the weights of one model"


def many_steps(path: Path) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", b"\x80\x02" + b"N" * MAX_STEPS + b".")
    return f"describes its content in more than {MAX_STEPS:,} steps"


@pytest.mark.parametrize("make", [many_records, long_directory, one_storage, one_tensor, many_steps])
def test_a_torch_file_of_too_many_is_refused(make: Callable[[Path], str], tmp_path: Path) -> None:
    path = tmp_path / "m.pt"
    said = make(path)
    with pytest.raises(ValueError, match=said) as caught:
        read_file(path)
    assert "damaged" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "where",
    [{f"layers.{i}.weight": "a.safetensors" for i in range(MORE)}, {"x": "a.safetensors", "y": "b.safetensors"}],
    ids=["in the index", "in its files"],
)
def test_shards_count_together(where: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(described(MAX_TENSORS))
    (tmp_path / "b.safetensors").write_bytes(described(1, first=MAX_TENSORS))
    (tmp_path / "m.index.json").write_text(json.dumps({"weight_map": where}))
    with pytest.raises(ValueError, match=TOO_MANY):
        read_file(tmp_path / "m.index.json")


def test_an_index_of_too_many_files_is_refused(tmp_path: Path) -> None:
    where = {f"layers.{i}.weight": f"{i}.safetensors" for i in range(MAX_SHARDS + 1)}
    (tmp_path / "m.index.json").write_text(json.dumps({"weight_map": where}))
    with pytest.raises(ValueError, match="names 1,001 files, at most 1,000 are read"):
        read_file(tmp_path / "m.index.json")


def test_shards_of_transformers_count_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "MAX_TENSORS", 5)
    for number in range(2):
        (tmp_path / f"{number}.safetensors").write_bytes(described(3, first=3 * number))
    where = {"weight_map": {f"layers.{i}.weight": f"{i // 3}.safetensors" for i in range(6)}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(where))
    with pytest.raises(ValueError, match="is not read: its files hold more than 5 tensors"):
        read_folder(of_transformers(tmp_path))


def test_names_that_no_layout_knows_are_not_held_against_each_of_its_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of 70,000 took a minute and a half for that."""
    tried: list[str] = []
    place = mapping.NameRule.place
    monkeypatch.setattr(mapping.NameRule, "place", lambda rule, name: [tried.append(name), place(rule, name)][1])
    path = tmp_path / "model.safetensors"
    path.write_bytes(described(500))
    with pytest.raises(ValueError, match="no transformer is found among the file's 500 tensors"):
        open_file(path)
    assert not tried


def test_only_the_first_wrappers_are_taken_off() -> None:
    """Behind each of them all layouts are tried."""
    assert common_beginnings(["a." * 200 + str(number) for number in range(3)]) == [*range(MAX_WRAPPERS + 1)]
