"""A person's own models are found where they are written, newest first, each under a name of its own."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from builders import saved, tiny_checkpoint
from safetensors.torch import save_file
from watched import watched_trace

from viz_transformer.checkpoint import Summary
from viz_transformer.checkpoint.contents import Unreadable
from viz_transformer.checkpoint.folders import library, name_folders, own_folders
from viz_transformer.checkpoint.own import own_checkpoints
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.running.tracing import trace


@pytest.fixture(autouse=True)
def nothing_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIZ_TRANSFORMER_LIBRARY", str(tmp_path / "library"))
    monkeypatch.delenv("VIZ_TRANSFORMER_CHECKPOINTS")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def model(folder: Path, age: int = 0) -> Path:
    saved(tiny_checkpoint(), folder)
    os.utime(folder / "card.json", (1_000_000 - age, 1_000_000 - age))
    return folder


def names() -> list[str]:
    return [each.name for each in own_checkpoints({"numbers"})]


def test_runs_the_library_and_named_folders_are_looked_into_newest_first(tmp_path: Path) -> None:
    model(tmp_path / "here" / "runs" / "mine", age=2)
    model(tmp_path / "library" / "opened", age=1)
    model(tmp_path / "more" / "other", age=3)
    name_folders([tmp_path / "more"])
    assert names() == ["opened", "mine", "other"]


def test_a_model_appears_and_goes_without_a_restart(tmp_path: Path) -> None:
    assert names() == []
    folder = model(tmp_path / "here" / "runs" / "mine")
    assert names() == ["mine"]
    folder.rename(tmp_path / "elsewhere")
    assert names() == []


def test_a_taken_name_gets_its_folders(tmp_path: Path) -> None:
    model(tmp_path / "here" / "runs" / "numbers")
    model(tmp_path / "library" / "numbers", age=1)
    assert names() == ["runs/numbers", "library/numbers"]


def test_a_training_that_has_written_nothing_yet_is_left_out_and_a_damaged_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "here" / "runs" / "begun" / "training").mkdir(parents=True)
    (model(tmp_path / "here" / "runs" / "broken") / "config.json").write_text("{")
    (found,) = own_checkpoints()
    assert not isinstance(found, Summary) and found.name == "broken" and "config.json" in found.error


def test_a_named_folder_may_be_a_checkpoint_itself(tmp_path: Path) -> None:
    model(tmp_path / "more" / "this")
    model(tmp_path / "more" / "beside")
    name_folders([tmp_path / "more" / "this"])
    assert names() == ["this"]


def test_a_saved_watched_trace_stands_among_the_models_and_other_files_do_not(tmp_path: Path) -> None:
    runs, more = tmp_path / "here" / "runs", tmp_path / "more"
    runs.mkdir()
    more.mkdir()
    watched_trace(name="x").save(runs / "mine.safetensors")
    watched_trace("decoder-only").save(more / "named.safetensors")
    trace(tiny_checkpoint("decoder-only"), "uvw").save(runs / "run.safetensors")
    save_file({"a": torch.zeros(2)}, runs / "weights.safetensors")
    (runs / "page.safetensors").write_text("<html>")
    os.mkfifo(runs / "pipe.safetensors")
    name_folders([more / "named.safetensors"])
    found = {each.name: each for each in own_checkpoints()}
    assert [*found] == ["named.safetensors", "mine.safetensors"]
    mine = found["mine.safetensors"]
    assert isinstance(mine, RecordingSummary) and mine.spec.kind == "encoder-decoder"
    assert (mine.text, mine.examples()) == ("the cat sat <b> (empty)", [("the cat sat <b> (empty)", "")])
    with pytest.raises(ValueError, match="no model that could be run"):
        str(mine.parameter_count)


def test_a_file_that_is_named_and_is_no_watched_trace_is_said(tmp_path: Path) -> None:
    (tmp_path / "weights.pt").write_bytes(b"x")
    with pytest.raises(ValueError, match="is a file, but not the trace of a watched module"):
        name_folders([tmp_path / "weights.pt"])
    trace(tiny_checkpoint("decoder-only"), "uvw").save(tmp_path / "run.safetensors")
    name_folders([tmp_path / "run.safetensors"])
    (found,) = own_checkpoints()
    assert isinstance(found, Unreadable) and "is a file, but not the trace of a watched module" in found.error


def test_a_watched_trace_that_cannot_be_shown_says_why(tmp_path: Path) -> None:
    file = tmp_path / "here" / "runs" / "mine.safetensors"
    file.parent.mkdir()
    whole, gone = watched_trace(), "decoder.1.cross"
    spec = replace(
        whole.spec,
        attentions={site: heads for site, heads in whole.spec.attentions.items() if site != gone},
        recorded=tuple(point for point in whole.spec.recorded if not point.name.startswith(gone)),
        modules={site: path for site, path in whole.spec.modules.items() if site != gone},
    )
    values = {name: value for name, value in whole.values.items() if not name.startswith(gone)}
    replace(whole, spec=spec, values=values).save(file)
    (found,) = own_checkpoints()
    assert isinstance(found, Unreadable) and "it has no attention decoder.1.cross" in found.error


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no folder"):
        name_folders([tmp_path / "none"])


def test_the_library_is_in_the_users_data_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIZ_TRANSFORMER_LIBRARY")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert library() == tmp_path / "data" / "viz-transformer" / "models"
    assert own_folders() == (tmp_path / "here" / "runs", library())
