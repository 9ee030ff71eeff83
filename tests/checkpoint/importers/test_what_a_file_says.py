"""What a file says of its positions, its last norm and its training's loss is used, or refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from changed_gpts import CHANGES, WIDTH, ChangedGPT

import viz_transformer as vt
from viz_transformer.checkpoint import CheckpointError
from viz_transformer.checkpoint.importers.import_report import report_rows
from viz_transformer.checkpoint.importers.importing import Answers, Opened, answers_from, import_file, open_file
from viz_transformer.checkpoint.importers.reported import parse_reported


def opened_with(path: Path, change: str = "no positions", **more: Any) -> Opened:
    """A small GPT's file with these tensors beside its own."""
    torch.manual_seed(0)
    state = {**ChangedGPT(CHANGES[change]).state_dict(), **more}
    torch.save({"model": {name: value for name, value in state.items() if value is not None}}, path / "m.pt")
    return open_file(path / "m.pt")


def frequencies(pairs: int, base: float = 10_000.0) -> torch.Tensor:
    return base ** -(torch.arange(pairs) / pairs)


@pytest.mark.parametrize(
    ("name", "numbers", "positions", "heads"),
    [
        ("transformer.h.0.attn.rotary_emb.inv_freq", frequencies(4), "rotary", 4),
        ("transformer.h.0.attn.rope.freqs", frequencies(8), "rotary", 2),
        ("freqs_cis", torch.polar(torch.ones(9, 4), torch.arange(9)[:, None] * frequencies(4)), "rotary", 4),
        ("rotary.cos", torch.zeros(1, 1, 48, 8), "rotary", None),
        ("transformer.alibi", torch.zeros(1, 4, 48, 48), "alibi", None),
        ("transformer.h.0.attn.slopes", torch.tensor([0.25, 0.0625, 0.015625, 0.00390625]), "alibi", 4),
    ],
)
def test_tensors_of_positions_in_attention_are_read_so(
    name: str, numbers: torch.Tensor, positions: str, heads: int | None, tmp_path: Path
) -> None:
    opened = opened_with(tmp_path, **{name: numbers})
    assert not opened.plan.problems
    settings = {each.name: each for each in opened.plan.settings}
    assert (settings["positions"].value, settings["positions"].origin) == (positions, "from the file")
    if heads is not None:
        assert (settings["n_heads"].value, settings["n_heads"].origin) == (heads, "from the file")
    assert name in opened.weights.left


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"rope.inv_freq": frequencies(4, 500_000.0)}, "other frequencies than rotary positions have here"),
        ({"attn.slopes": torch.tensor([0.5, 0.4, 0.3, 0.2])}, "other slopes than alibi positions have here"),
        ({"rope.inv_freq": frequencies(4), "alibi": torch.zeros(4)}, "rotary and ALiBi at once"),
        ({"rope.inv_freq": frequencies(4), "transformer.wpe.weight": torch.zeros(48, WIDTH)}, "a model with both"),
    ],
)
def test_positions_that_cannot_be_read_so_are_refused(
    tensors: dict[str, torch.Tensor], said: str, tmp_path: Path
) -> None:
    opened = opened_with(tmp_path, **tensors)
    assert said in opened.plan.problems[0]
    with pytest.raises(CheckpointError, match=said):
        import_file(tmp_path / "m.pt", tmp_path / "out")


def test_without_a_table_of_positions_they_are_a_question_of_their_own(tmp_path: Path) -> None:
    opened = opened_with(tmp_path)
    positions = next(each for each in opened.plan.settings if each.name == "positions")
    assert positions.asked and {"rotary", "alibi", "none", "sinusoidal"} <= {*positions.options}
    rows = report_rows(opened)
    said = dict(rows)["positions"]
    assert said.startswith("sinusoidal (a guess: the file has no table of positions; --set positions=")
    assert any("this file has none: its positions have to be set separately" in row for _, row in rows)


def test_a_last_norm_that_the_layout_has_and_the_file_lacks_is_said(tmp_path: Path) -> None:
    lacking = {"transformer.ln_f.weight": None, "transformer.ln_f.bias": None}
    note = "nanoGPT or minGPT has a norm after the last layer, and this file has none for the decoder"
    assert any(note in each for each in opened_with(tmp_path, "nothing", **lacking).plan.notes)
    card = vt.load(import_file(tmp_path / "m.pt", tmp_path / "out", Answers(settings={"n_heads": 4}))).card
    assert any(note.lower() in each.lower() for each in card["notes"])
    assert not opened_with(tmp_path, "nothing").plan.notes


def test_norms_without_an_offset_may_be_rms_norms_which_is_said(tmp_path: Path) -> None:
    model = ChangedGPT(CHANGES["nothing"])
    without = {name: None for name, value in model.state_dict().items() if "ln_" in name and name.endswith("bias")}
    assert any("as RMS norms have none" in note for note in opened_with(tmp_path, "nothing", **without).plan.notes)


@pytest.mark.parametrize("change", ["rotary, halves", "rotary, neighbours", "order k q v", "ALiBi"])
def test_order_and_pairs_are_read_as_they_are_said(change: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = ChangedGPT(CHANGES[change]).eval()
    torch.save({"model": model.state_dict()}, tmp_path / "m.pt")
    words = {**(CHANGES[change].reads or {}), "n_heads": "4"}
    ckpt = vt.load(
        import_file(tmp_path / "m.pt", tmp_path / "out", answers_from({k: str(v) for k, v in words.items()}))
    )
    ids = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    with torch.no_grad():
        theirs = model(torch.tensor([ids]))
    assert torch.allclose(vt.trace(ckpt, ids)["logits"], theirs, atol=1e-4)
    with pytest.raises(CheckpointError, match="qkv_order='qqv': choose qkv, qvk"):
        open_file(tmp_path / "m.pt", answers_from({"qkv_order": "qqv"}))


@pytest.mark.parametrize(
    ("beside", "nats", "name"),
    [
        ({"best_val_loss": torch.tensor(1.25)}, 1.25, "best_val_loss"),
        ({"val_loss": 2.5, "loss": 1.5}, 2.5, "val_loss"),
        ({"loss": 1.5, "iter_num": 100}, 1.5, "loss"),
    ],
)
def test_the_loss_that_stands_in_the_file_is_found(
    beside: dict[str, Any], nats: float, name: str, tmp_path: Path
) -> None:
    torch.save({"model": ChangedGPT(CHANGES["nothing"]).state_dict(), **beside}, tmp_path / "m.pt")
    opened = open_file(tmp_path / "m.pt")
    assert opened.reported_loss is not None
    assert (opened.reported_loss.nats, opened.reported_loss.name) == (nats, name)
    assert ("reported loss", f"{nats} ({name})") in report_rows(opened)
    given = open_file(tmp_path / "m.pt", answers_from({"reported_loss": "3.4"}))
    assert given.reported_loss == parse_reported("3.4")
    assert math.isclose(parse_reported("3.4").half, 0.05) and math.isclose(parse_reported("3.400").half, 0.0005)


@pytest.mark.parametrize("beside", [{}, {"val_loss": float("nan")}, {"loss": True}, {"loss": 1e9}, {"loss": "low"}])
def test_what_is_no_loss_is_not_taken_for_one(beside: dict[str, Any], tmp_path: Path) -> None:
    torch.save({"model": ChangedGPT(CHANGES["nothing"]).state_dict(), **beside}, tmp_path / "m.pt")
    assert open_file(tmp_path / "m.pt", Answers()).reported_loss is None


@pytest.mark.parametrize("text", ["", "low", "nan", "inf", "-1", "1e9", "2,45"])
def test_a_loss_that_is_none_ends_in_a_sentence(text: str) -> None:
    with pytest.raises(CheckpointError, match="is not a loss: give the nats per token"):
        answers_from({"reported_loss": text})
