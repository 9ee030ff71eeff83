"""Opened models are kept in the library under names that can be folders and links, and renamed and removed there."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders import saved, tiny_checkpoint
from watched import watched_trace

from viz_transformer.checkpoint import CheckpointError
from viz_transformer.checkpoint.library import (
    keep_recording,
    kept_models,
    new_place,
    remove,
    rename,
    usual_name,
)
from viz_transformer.checkpoint.saved_traces import RecordingSummary, read_recording


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIZ_TRANSFORMER_LIBRARY", str(tmp_path / "library"))
    return tmp_path / "library"


def names() -> list[str]:
    return [model.name for model in kept_models()]


def test_a_model_is_kept_renamed_and_removed(shelf: Path) -> None:
    assert names() == []
    saved(tiny_checkpoint(), new_place("mine", set()))
    rename("mine", "other", {"mine"})
    assert names() == ["other"]
    remove("other")
    assert names() == [] and list(shelf.iterdir()) == []


def test_a_recording_is_kept_as_a_file_renamed_and_removed(tmp_path: Path, shelf: Path) -> None:
    watched_trace().save(tmp_path / "mine.safetensors")
    recording = read_recording(tmp_path / "mine.safetensors")
    assert isinstance(recording, RecordingSummary)
    kept = keep_recording(recording, "mine.safetensors", set())
    assert kept.read_bytes() == recording.path.read_bytes() and names() == ["mine.safetensors"]
    with pytest.raises(CheckpointError, match="already"):
        keep_recording(recording, "mine.safetensors", set())
    assert usual_name(recording.path, set(), ".safetensors") == "mine-2.safetensors"
    with pytest.raises(CheckpointError, match=r"a recording is a file whose name ends with \.safetensors"):
        rename("mine.safetensors", "other", set())
    rename("mine.safetensors", "other.safetensors", set())
    (shelf / ".0123.new").write_bytes(b"what a kill has left")
    assert names() == ["other.safetensors"] and [path.name for path in shelf.iterdir()] == ["other.safetensors"]
    remove("other.safetensors")
    assert list(shelf.iterdir()) == []


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "x" * 61, "a b", "-x", "é", "a\n"])
def test_a_name_that_cannot_be_a_folder_or_stand_in_a_link_is_refused(name: str, shelf: Path) -> None:
    with pytest.raises(CheckpointError, match="a name has at most 60"):
        new_place(name, set())
    assert not shelf.exists()


def test_a_name_is_given_once(shelf: Path) -> None:
    saved(tiny_checkpoint(), new_place("mine", set()))
    saved(tiny_checkpoint(), new_place("second", set()))
    for taken in (lambda: new_place("numbers", {"numbers"}), lambda: rename("second", "mine", {"mine", "second"})):
        with pytest.raises(CheckpointError, match="already"):
            taken()
    assert names() == ["mine", "second"]


def test_what_is_not_in_the_library_is_not_removed(tmp_path: Path, shelf: Path) -> None:
    saved(tiny_checkpoint(), tmp_path / "elsewhere")
    shelf.mkdir()
    with pytest.raises(CheckpointError):
        remove("../elsewhere")
    with pytest.raises(CheckpointError, match="has no model named none"):
        remove("none")
    assert (tmp_path / "elsewhere" / "config.json").exists()


@pytest.mark.parametrize(
    ("path", "name"),
    [("runs/out-shakespeare/ckpt.pt", "out-shakespeare"), ("my model (2).pth", "my-model-2"), ("日本.pt", "model")],
)
def test_the_usual_name_is_the_files_or_its_folders(path: str, name: str) -> None:
    assert usual_name(Path(path), set()) == name
    assert usual_name(Path(path), {name}) == f"{name}-2"
