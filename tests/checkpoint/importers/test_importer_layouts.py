"""Files written by each layout's own architecture are read, and compute what that architecture computes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import torch
from strangers import CASES, MAPS, Gpt, Lab, stranger
from torch import Tensor

import viz_transformer as vt
from viz_transformer.checkpoint.importers.import_report import report_rows
from viz_transformer.checkpoint.importers.importing import Answers, import_file, open_file, write_import
from viz_transformer.running.trace import Trace

TOLERANCE = 1e-5
"""Relative to the largest absolute number: the same float32 operations in another order."""


@pytest.fixture(params=CASES, scope="module")
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The model, its logits and maps, and the trace of what was imported of its file."""
    _, layout, settings = CASES[request.param]
    model, ids, logits = stranger(request.param)
    folder = tmp_path_factory.mktemp("file")
    torch.save(model.state_dict(), folder / "model.pt")
    imported = import_file(folder / "model.pt", folder / "out", Answers(settings=settings))
    ckpt = vt.load(imported)
    trace = vt.trace(ckpt, *ids)
    return layout, folder / "model.pt", settings, logits, list(MAPS), trace, ckpt


def close(got: Tensor, want: Tensor) -> None:
    got = got[..., : want.shape[-2], : want.shape[-1]]
    assert got.shape == want.shape
    assert (got - want).abs().max() <= TOLERANCE * want.abs().max()


def test_the_layout_is_recognised_and_all_of_the_file_is_used(case: Any) -> None:
    layout, path, settings, *_ = case
    opened = open_file(path, Answers(settings=settings))
    assert opened.plan.layout is not None and opened.plan.layout.name == layout
    assert not opened.plan.unused and not opened.plan.problems


def test_logits_are_those_of_the_architecture(case: Any) -> None:
    _, _, _, logits, _, trace, _ = case
    close(trace["logits"], logits)


def test_every_map_of_attention_is_that_of_the_architecture(case: Any) -> None:
    maps, trace, ckpt = case[4], case[5], case[6]
    names = [point for point in trace.points() if point.endswith(".weights")]
    if not maps:
        pytest.skip("torch's own attention shows no weights")
    assert len(names) == len(maps)
    for name, want in zip(in_order(trace, names), maps, strict=True):
        close(trace[name], want)
    del ckpt


def in_order(trace: Trace, names: list[str]) -> list[str]:
    """Encoder first, then layer by layer self before cross."""
    return sorted(names, key=lambda name: (name.split(".")[0] == "decoder", int(name.split(".")[1]), "cross" in name))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda state: {"state_dict": {f"module.{name}": value for name, value in state.items()}},
        lambda state: {
            "model_state_dict": state,
            "optimizer_state_dict": {"state": {0: {"exp_avg": torch.ones(3)}}},
            "epoch": 3,
        },
        lambda state: {"model": {f"_orig_mod.{name}": value for name, value in state.items()}, "iter_num": 5},
        lambda state: {
            "state_dict": {f"net.{name}": value for name, value in state.items()},
            "args": argparse.Namespace(n=1),
        },
    ],
    ids=["module", "optimizer beside it", "compiled", "Lightning and a Namespace"],
)
def test_wrappers_are_taken_off(wrap: Callable[[dict[str, Tensor]], Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Lab()
    torch.save(wrap(model.state_dict()), tmp_path / "model.ckpt")
    opened = open_file(tmp_path / "model.ckpt", Answers(settings={"n_heads": 3}))
    assert opened.plan.layout is not None and opened.plan.layout.name == "upc-lab"
    assert not opened.plan.problems


def test_heads_are_read_where_they_stand_beside_the_weights(tmp_path: Path) -> None:
    args = {"n_layer": 2, "n_head": 3, "n_embd": 24, "block_size": 16, "bias": True, "vocab_size": 13}
    torch.save({"model": Gpt(mini=False).state_dict(), "model_args": args}, tmp_path / "ckpt.pt")
    plan = open_file(tmp_path / "ckpt.pt").plan
    assert plan.setting("n_heads") == 3
    assert next(each for each in plan.settings if each.name == "n_heads").origin == "from the file"


def test_one_number_beside_the_weights_is_left_as_nanogpt_writes_its_loss(tmp_path: Path) -> None:
    state, args = Gpt(mini=False).state_dict(), {"n_head": 3}
    torch.save({"model": state, "model_args": args, "best_val_loss": torch.tensor(1.5)}, tmp_path / "ckpt.pt")
    opened = open_file(tmp_path / "ckpt.pt")
    assert not opened.plan.problems
    assert opened.weights.left["best_val_loss"] == "one number beside the weights, such as a loss"
    torch.save({**state, "temperature": torch.tensor(1.5)}, tmp_path / "ckpt.pt")  # of the model itself: no guess
    assert open_file(tmp_path / "ckpt.pt").plan.unused == ("temperature",)


def test_how_much_is_read_is_said_while_it_is_read(tmp_path: Path) -> None:
    torch.save(Lab().state_dict(), tmp_path / "model.pt")
    said: list[tuple[int, int]] = []
    opened = open_file(tmp_path / "model.pt", Answers(settings={"n_heads": 3}))
    write_import(opened, tmp_path / "out", progress=lambda done, total: said.append((done, total)))
    read = [stored.bytes for name, stored in opened.weights.tensors.items() if opened.plan.mapping[name].to]
    assert [done for done, _ in said] == list(accumulate(read))
    assert {total for _, total in said} == {sum(read)}


def test_an_average_of_the_weights_is_offered_and_chosen(tmp_path: Path) -> None:
    state = Lab().state_dict()
    averaged = {name: value * 0.5 for name, value in state.items()}
    torch.save({"model": state, "ema": averaged}, tmp_path / "model.pt")
    given = {"n_heads": 3}
    assert open_file(tmp_path / "model.pt", Answers(settings=given)).weights.copies == ("model", "ema")
    plain = vt.load(import_file(tmp_path / "model.pt", tmp_path / "plain", Answers(settings=given)))
    smooth = vt.load(import_file(tmp_path / "model.pt", tmp_path / "ema", Answers(settings=given, weights="ema")))
    first = plain.model.state_dict()["output.weight"]
    assert torch.equal(smooth.model.state_dict()["output.weight"], first * 0.5)
    assert torch.equal(first, state["decoder.proj.weight"])


def test_what_nothing_explains_stops_the_import_unless_it_is_named(tmp_path: Path) -> None:
    state = {**Lab().state_dict(), "probe.weight": torch.ones(2, 2)}
    torch.save(state, tmp_path / "model.pt")
    with pytest.raises(vt.CheckpointError, match=r"1 tensor of the file would not be used, such as 'probe\.weight'"):
        import_file(tmp_path / "model.pt", tmp_path / "out", Answers(settings={"n_heads": 3}))
    assert not (tmp_path / "out").exists()
    vt.load(
        import_file(tmp_path / "model.pt", tmp_path / "out", Answers(settings={"n_heads": 3}, ignore=(r"probe\..*",)))
    )


def test_a_model_that_pads_every_text_is_asked_to_which_length_and_reads_no_longer_ones(tmp_path: Path) -> None:
    torch.save(stranger("A")[0].state_dict(), tmp_path / "model.pt")
    plan = open_file(tmp_path / "model.pt", Answers(settings={"n_heads": 3})).plan
    assert [(each.name, each.value) for each in plan.settings if each.asked] == [("pad_to", 200)]
    plan = open_file(tmp_path / "model.pt", Answers(settings={"n_heads": 3, "pad_to": 9})).plan
    assert not plan.problems and (plan.setting("max_source"), plan.setting("max_target")) == (9, 9)


def test_heads_have_no_number_without_support_and_that_of_a_known_model_where_the_sizes_are_its_own(
    tmp_path: Path,
) -> None:
    torch.save(Lab().state_dict(), tmp_path / "m.pt")
    (heads,) = [each for each in open_file(tmp_path / "m.pt").plan.settings if each.name == "n_heads"]
    assert heads.asked and heads.origin == "open"
    with pytest.raises(
        vt.CheckpointError, match="nothing in the file tells n_heads: give --heads N, or texts or a samp"
    ):
        import_file(tmp_path / "m.pt", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    torch.save(Gpt(mini=True, d=48, h=3).state_dict(), tmp_path / "m.pt")
    opened = open_file(tmp_path / "m.pt")
    (heads,) = [each for each in opened.plan.settings if each.name == "n_heads"]
    assert (heads.value, heads.origin) == (3, "usual answer")
    said = "3 (usual answer: minGPT's gpt-nano has these sizes and 3 heads; --set n_heads=... for another)"
    assert dict(report_rows(opened))["n_heads"] == said


def test_a_last_norm_that_is_the_last_entry_of_the_blocks_is_the_last_norm(tmp_path: Path) -> None:
    model, ids, logits = stranger("a lecture's GPT")
    state = {name.replace("ln_f.", "blocks.2."): tensor for name, tensor in model.state_dict().items()}
    assert "blocks.2.weight" in state
    torch.save(state, tmp_path / "m.pt")
    opened = open_file(tmp_path / "m.pt")
    assert opened.plan.layout is not None and not opened.plan.unused and opened.plan.setting("final_norm") is True
    found = vt.trace(vt.load(import_file(tmp_path / "m.pt", tmp_path / "out")), *ids)["logits"]
    assert found.numpy() == pytest.approx(logits.numpy(), abs=2e-5)
