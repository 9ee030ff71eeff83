"""Decoders with nanoGPT's names that are changed in one place: no wrong reading gets a better word than "not proved",
no setting is called measured that is another, and what settings can say is found by texts or the reported loss."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from changed_gpts import CHANGES, HEADS, LETTERS, changed_gpt, lines, true_loss

import viz_transformer as vt
from viz_transformer.checkpoint.importers.importing import Answers, Opened, open_file, write_import
from viz_transformer.checkpoint.importers.reported import parse_reported
from viz_transformer.measuring.alternatives import Measurement, measure_alternative
from viz_transformer.measuring.verifying import verify

TEXTS = lines(40, 3)
TRUE = {
    "norm": "pre",
    "embedding_scale": "one",
    "positions": "learned",
    "qkv_order": "qkv",
    "divisor": "sqrt-head-dim",
    "activation": "gelu",
}
UNSAYABLE = {
    "embedding times 8": "embedding_scale",
    "squared ReLU": "activation",
    "parallel": "norm",
    "norm of q and k": "divisor",
    "no division": "divisor",
}
"""Which setting has no true answer here."""


def saved(folder: Path, name: str) -> Path:
    """The model's file as nanoGPT writes it, without what it says of itself beside the heads."""
    path = folder / "ckpt.pt"
    torch.save({"model": changed_gpt(name).state_dict(), "model_args": {"n_head": HEADS}}, path)
    (folder / "letters.json").write_text(json.dumps(list(LETTERS)))
    return path


def file_of(folder: Path, name: str, **more: Any) -> Opened:
    return open_file(saved(folder, name), Answers(target_vocab=folder / "letters.json", **more))


@cache
def found(name: str) -> tuple[Opened, Measurement]:
    """What the texts tell of this model; measured once."""
    with tempfile.TemporaryDirectory() as folder:
        opened, measurement = measure_alternative(file_of(Path(folder), name), TEXTS)
    return opened, measurement


DAILY = ("nothing", "order k q v", "squared ReLU")
"""What settings say, one of them wrong by its usual answer; and what none can say. The others take a training each."""


def each(names: Iterable[str]) -> list[Any]:
    return [name if name in DAILY else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", each(CHANGES))
def test_no_wrong_setting_is_called_measured(name: str) -> None:
    _, measurement = found(name)
    wanted = {**TRUE, **(CHANGES[name].reads or {})}
    told = {table.name: table.value for table in measurement.tables if table.told}
    for setting, value in told.items():
        if setting in wanted:
            assert setting != UNSAYABLE.get(name), (setting, value, measurement.reading)
            assert value == wanted[setting], (setting, measurement.reading, true_loss(name, TEXTS))
    assert measurement.reading.endswith("; not proved")


SAYABLE = [name for name, change in CHANGES.items() if change.reads]


def test_what_a_setting_can_say_is_found_by_texts() -> None:
    assert is_right("nothing") and is_right("order k q v")


@pytest.mark.slow
def test_what_settings_can_say_is_found_by_texts() -> None:
    right = [name for name in SAYABLE if is_right(name)]
    assert len(right) >= 10, {*SAYABLE} - {*right}


def is_right(name: str) -> bool:
    opened, measurement = found(name)
    near = abs(measurement.loss - true_loss(name, TEXTS)) < 0.02
    return near and all(opened.plan.setting(each) == value for each, value in (CHANGES[name].reads or {}).items())


@pytest.mark.parametrize("name", each(["window of 6", "squared ReLU", "parallel", "shared block", "no division"]))
def test_what_no_setting_can_say_is_worse_than_its_training_reported(name: str, tmp_path: Path) -> None:
    reported = parse_reported(f"{true_loss(name, TEXTS):.2f}")
    opened = file_of(tmp_path, name, reported_loss=reported, settings={"activation": "gelu"})
    ckpt = vt.load(write_import(opened, tmp_path / "out"))
    read = verify(ckpt, texts=TEXTS, reported_loss=reported)
    assert read.grade == "doubtful" and "WORSE by" in read.sentence and read.sentence.endswith("; not proved")
    assert verify(ckpt, texts=TEXTS).grade == "not proved"


def test_the_right_reading_costs_what_its_training_reported(tmp_path: Path) -> None:
    name = "order k q v"
    reported = parse_reported(f"{true_loss(name, TEXTS):.2f}")
    usual = vt.load(write_import(file_of(tmp_path, name), tmp_path / "usual"))
    wrong = verify(usual, texts=TEXTS, reported_loss=reported)
    assert wrong.texts.passed  # clearly better than counting, and wrong
    assert wrong.grade == "doubtful" and "WORSE by" in wrong.sentence and wrong.sentence.endswith("; not proved")
    order = file_of(tmp_path, name, settings={"qkv_order": "kqv"})
    right = verify(vt.load(write_import(order, tmp_path / "right")), texts=TEXTS, reported_loss=reported)
    assert right.grade == "not proved" and "which is evidence, not proof; not proved" in right.sentence


def test_where_the_whole_costs_more_than_reported_nothing_is_called_measured(tmp_path: Path) -> None:
    opened = file_of(tmp_path, "window of 6", reported_loss=parse_reported(f"{true_loss('window of 6', TEXTS):.2f}"))
    _, measurement = measure_alternative(opened, TEXTS)
    assert measurement.worse and "more than the 0.28 that its training reported" in measurement.doubt
    assert not any(table.told for table in measurement.tables)
