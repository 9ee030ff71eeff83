"""Trained tensors that a person leaves out are named wherever it stands how a model was verified, which is then no more
than not verified."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from strangers import Lab, stranger, without_last_norm

import viz_transformer as vt
from viz_transformer.checkpoint import describe
from viz_transformer.checkpoint.importers.import_report import report_rows
from viz_transformer.checkpoint.importers.importing import Answers, import_file, mapping_json, open_file, read_mapping

LAST = ("ln_last.bias", "ln_last.weight")
LEAVING = ("ln_last.*",)


@pytest.fixture
def lecture(tmp_path: Path) -> Path:
    """The folder with a file whose last norm no layout knows."""
    return without_last_norm(tmp_path)


def test_what_was_left_out_is_named_on_the_card_by_inspect_and_by_the_import(
    command: Callable[..., Any], lecture: Path
) -> None:
    done = command("import", lecture / "m.pt", "--out", lecture / "out", "--set", "ignore=ln_last.*")
    assert done.status == 0, done.err
    for name in LAST:
        assert f"{name} [24], by choice" in done.out
    said = "2 trained tensors of the file were left out by choice: 'ln_last.weight', 'ln_last.bias'"
    assert describe.without_tensors(vt.load(lecture / "out").card) == said
    assert said in command("inspect", lecture / "out").out
    assert "exp_avg" not in "".join(
        value for name, value in report_rows(open_file(lecture / "m.pt")) if "left o" in name
    )


def test_a_model_without_trained_tensors_is_never_better_than_not_verified(lecture: Path) -> None:
    ckpt = vt.load(import_file(lecture / "m.pt", lecture / "out", Answers(ignore=LEAVING)))
    ids = [1, 2, 3, 4, 5]
    np.savez(lecture / "s.npz", target=[ids], logits=vt.trace(ckpt, ids)["logits"].numpy())
    found = vt.verify(ckpt, lecture / "s.npz")
    assert found.proved.passed and found.grade == "not verified"
    assert found.sentence.startswith("2 trained tensors of the file were left out by choice: 'ln_last.weight'")
    wrong = vt.trace(ckpt, ids)["logits"].numpy() + 1
    np.savez(lecture / "s.npz", target=[ids], logits=wrong * 2)
    assert vt.verify(ckpt, lecture / "s.npz").grade == "failed"


@pytest.mark.parametrize("grade", ["proved", "reproduced", "not proved", "plausible", "consistent"])
def test_a_card_of_before_that_says_more_is_read_as_not_verified(grade: str) -> None:
    card: dict[str, Any] = {
        "sha256": {"a": "b"},
        "verified": {"grade": grade, "sentence": "it is", "of": {"a": "b"}},
        "imported": {"left_out": {"x.weight": [3]}},
    }
    assert describe.describe_verification(card) == (
        "not verified",
        "1 trained tensor of the file was left out by choice: 'x.weight'; it is",
    )
    card["imported"]["left_out"] = {}
    stated = "not proved" if grade in describe.EARLIER else grade
    assert describe.describe_verification(card) == (stated, "it is")


def test_buffers_tied_heads_and_computed_positions_are_not_among_what_was_left_out(tmp_path: Path) -> None:
    model, *_ = stranger("nn.Transformer")
    torch.save(model.state_dict(), tmp_path / "m.pt")
    opened = open_file(tmp_path / "m.pt", Answers(settings={"n_heads": 3}))
    (tmp_path / "map.json").write_text(mapping_json(opened.plan))
    mapped = open_file(tmp_path / "m.pt", Answers(settings={"n_heads": 3}, mapping=read_mapping(tmp_path / "map.json")))
    assert not opened.plan.left_out and not mapped.plan.left_out
    torch.save({**Lab().state_dict(), "probe.weight": torch.ones(2, 2)}, tmp_path / "m.pt")
    opened = open_file(tmp_path / "m.pt", Answers(settings={"n_heads": 3}, ignore=(r"probe\..*",)))
    assert opened.plan.left_out == ("probe.weight",)


def test_the_flattened_state_of_an_optimizer_is_a_trainings_own(tmp_path: Path) -> None:
    state: dict[str, torch.Tensor] = dict(Lab().state_dict())
    state |= {f"opt.state.{i}.{name}": torch.ones(3) for i in range(3) for name in ("exp_avg", "exp_avg_sq", "step")}
    torch.save(state, tmp_path / "m.pt")
    opened = open_file(tmp_path / "m.pt", Answers(settings={"n_heads": 3}))
    assert not opened.plan.problems and not opened.plan.left_out and len(opened.weights.left) == 9
