"""What is given in the place of a folder ends in one sentence that says what to give."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from viz_transformer.checkpoint import CheckpointError
from viz_transformer.command import main as program
from viz_transformer.huggingface.loading import load
from viz_transformer.huggingface.path_hints import instead_of

Written = Callable[[str], Path]


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one sentence that a command line ends with."""
    with pytest.raises(SystemExit) as left:
        program(list(words))
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert left.value.code == 1
    return line


def test_a_file_of_a_folder_says_to_give_the_folder(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written("gpt2") / "model.safetensors"
    expected = f"{file} is one file of a folder that transformers wrote: give the folder, {file.parent}"
    assert said(capsys, "inspect", str(file)) == expected
    assert said(capsys, "import", str(file), "--out", str(tmp_path / "x")) == expected
    with pytest.raises(CheckpointError, match="give the folder"):
        load(file)


@pytest.mark.parametrize("words", [["inspect", "FILE"], ["import", "FILE", "--out", "x"]])
def test_weights_without_their_folder_say_what_else_is_needed(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    file = Path(shutil.copy(written("gpt2") / "model.safetensors", tmp_path / "alone.safetensors"))
    line = said(capsys, *[str(file) if word == "FILE" else word for word in words])
    assert line == (
        f"{file} has weights as transformers writes them, and nothing that says of which model: give the whole folder"
        " that save_pretrained wrote, with config.json and the tokenizer"
    )


def test_a_folder_of_folders_names_some_of_them(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c", "d"):
        shutil.copytree(written("gpt2"), tmp_path / "all" / name)
    (tmp_path / "all" / "notes").mkdir()
    line = said(capsys, "inspect", str(tmp_path / "all"))
    assert line.startswith(f"{tmp_path / 'all'} holds 4 folders of models, 'a', 'b', 'c' and 1 more: give one of them")
    assert said(capsys, "import", str(tmp_path / "all"), "--out", str(tmp_path / "x")) == line
    for name in ("b", "c", "d"):
        shutil.rmtree(tmp_path / "all" / name)
    assert "holds one folder of a model, 'a': give that one" in said(capsys, "inspect", str(tmp_path / "all"))


def test_a_folder_that_needs_no_import_says_so(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = said(capsys, "import", str(written("gpt2")), "--out", str(tmp_path / "x"))
    assert line.startswith(f"{written('gpt2')} is a folder that transformers wrote, which is opened as it lies there")


@pytest.mark.parametrize("given", ["", "model.safetensors.index.json"])
@pytest.mark.parametrize("words", [["inspect", "GIVEN"], ["import", "GIVEN", "--out", "x"]])
def test_a_part_that_a_folder_lacks_is_named_in_the_place_of_what_else_to_give(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], given: str
) -> None:
    where = Path(shutil.copytree(written("gpt2"), tmp_path / "model"))
    (where / "model.safetensors").rename(where / "model-00001-of-00002.safetensors")
    parts = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (where / "model.safetensors.index.json").write_text(json.dumps({"weight_map": parts}))
    line = said(capsys, *[str(where / given) if word == "GIVEN" else word for word in words])
    assert line.startswith(f"{where} lacks model-00002-of-00002.safetensors, a part of its weights"), line


def test_nothing_is_said_of_what_is_in_its_place(written: Written, tmp_path: Path) -> None:
    assert instead_of(written("gpt2")) is None and instead_of(tmp_path) is None and instead_of(tmp_path / "no") is None
    save_file({"x": torch.zeros(2)}, tmp_path / "own.safetensors")
    (tmp_path / "own.pt").write_bytes(b"")
    assert instead_of(tmp_path / "own.safetensors") is None and instead_of(tmp_path / "own.pt") is None
