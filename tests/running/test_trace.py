"""The trace: names, types, derived points, saving and loading, differences."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import torch
from builders import tiny_checkpoint
from safetensors import safe_open
from safetensors.torch import save_file

from viz_transformer.model.points import attention_sites, recorded_points
from viz_transformer.running import trace as trace_module
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import AblateHead
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace


def run() -> Trace:
    return trace(tiny_checkpoint(), "abca", "uvu")


def test_points_are_float32_on_the_cpu_without_gradient_and_masks_boolean() -> None:
    recorded = run()
    assert set(recorded.points()) == {p.name for p in recorded_points(recorded.config)}
    for name in recorded.points(derived=True):
        value = recorded[name]
        assert value.dtype == (torch.bool if name.endswith(".mask") else torch.float32), name
        assert not value.requires_grad
        assert value.device.type == "cpu"
        assert value.shape[0] == 1


def test_derived_points_are_made_of_recorded_ones_and_give_them_back() -> None:
    recorded = run()
    model = tiny_checkpoint().model
    for site in attention_sites(recorded.config):
        scores = recorded[f"{site}.scores"]
        masked = scores.masked_fill(~recorded[f"{site}.mask"], -math.inf)
        torch.testing.assert_close(masked.softmax(-1), recorded[f"{site}.weights"], atol=1e-6, rtol=0)
        stack, layer, kind = site.split(".")
        bias = model.get_parameter(f"{stack}.layers.{layer}.{kind}_attention.to_out.bias")
        total = recorded[f"{site}.contribution"].sum(1) + bias
        torch.testing.assert_close(total, recorded[f"{site}.out"], atol=1e-6, rtol=0)
    assert "encoder.0.self.scores" not in recorded.points()
    assert "encoder.0.self.scores" in recorded.points(derived=True)


def test_a_raw_merge_has_no_contribution_by_head_and_says_why() -> None:
    recorded = trace(tiny_checkpoint(merge="raw-reshape"), "abc", "uv")
    assert "decoder.1.cross.contribution" not in recorded
    assert not any(name.endswith("contribution") for name in recorded.points(derived=True))
    assert "decoder.1.cross.scores" in recorded
    with pytest.raises(KeyError, match=r"'decoder.1.cross.contribution' is undefined: .* raw reshape"):
        recorded["decoder.1.cross.contribution"]
    with pytest.raises(KeyError, match=r"no point named 'decoder.9.cross.contribution'"):
        recorded["decoder.9.cross.contribution"]


@pytest.mark.parametrize("divisor", ["sqrt-head-dim", "sqrt-d-model", "learned"])
def test_scores_are_divided_by_what_the_model_divided_by(divisor: str, tmp_path: Path) -> None:
    ckpt = tiny_checkpoint(divisor=divisor, embedding_scale="learned")
    recorded = trace(ckpt, "abc", "uv")
    constants = {"sqrt-head-dim": 2.0, "sqrt-d-model": 4.0}
    for site in attention_sites(recorded.config):
        stack, layer, kind = site.split(".")
        name = f"{stack}.layers.{layer}.{kind}_attention.divisor"
        number = constants.get(divisor) or ckpt.model.get_parameter(name).item()
        assert recorded.scalars[f"{site}.divisor"] == number
        products = torch.einsum("bhqe,bhke->bhqk", recorded[f"{site}.query"], recorded[f"{site}.key"]).double()
        torch.testing.assert_close(recorded[f"{site}.scores"].double(), products / number, atol=1e-6, rtol=1e-6)
    assert recorded.scalars["encoder.embed.scale"] == ckpt.model.encoder.embedding.scale.item()
    recorded.save(tmp_path / "run.safetensors")
    after = Trace.load(tmp_path / "run.safetensors")
    assert after.scalars == recorded.scalars
    assert torch.equal(after["decoder.1.cross.scores"], recorded["decoder.1.cross.scores"])


def test_a_trace_from_before_scalars_were_stored_has_the_constants_of_the_config(tmp_path: Path) -> None:
    file = tmp_path / "run.safetensors"
    before = run()
    before.save(file)
    with safe_open(file, framework="pt") as opened:
        about = json.loads(opened.metadata()["viz_transformer"])
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (not a dict)
    del about["scalars"]
    save_file(tensors, file, metadata={"viz_transformer": json.dumps(about)})
    assert Trace.load(file).scalars == before.scalars


def test_an_unknown_name_is_a_key_error_with_near_matches() -> None:
    with pytest.raises(KeyError, match=r"Did you mean 'decoder.1.cross.weights'"):
        run()["decoder.1.cross.weight"]


def test_a_long_attention_derives_its_weights() -> None:
    ckpt = tiny_checkpoint("decoder-only", max_target=600)
    ids = torch.randint(4, 20, (520,), generator=torch.Generator().manual_seed(0)).tolist()
    recorded = trace(ckpt, ids)
    assert "decoder.0.self.weights" not in recorded.points()
    weights = recorded["decoder.0.self.weights"]
    assert weights.shape == (1, 4, 520, 520)
    torch.testing.assert_close(weights @ recorded["decoder.0.self.value"], recorded["decoder.0.self.head_out"])
    assert trace(ckpt, ids[:511]).points().count("decoder.0.self.weights") == 1


def test_a_trace_survives_its_file_bit_by_bit(tmp_path: Path) -> None:
    before = trace(tiny_checkpoint(), "ab?", "uv", edits=[AblateHead("decoder.0.cross", 1)])
    before.save(tmp_path / "run.safetensors")
    after = Trace.load(tmp_path / "run.safetensors")
    assert after.points(derived=True) == before.points(derived=True)
    assert all(torch.equal(after[name], before[name]) for name in before.points(derived=True))
    for field in ("src", "tgt", "next_ids", "next_tokens", "config", "edits", "checkpoint", "weights_sha256", "id"):
        assert getattr(after, field) == getattr(before, field)
    assert dict(after.info) == dict(before.info)
    assert list(tmp_path.iterdir()) == [tmp_path / "run.safetensors"]


def test_files_that_are_no_trace_are_refused_with_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "x.safetensors"
    run().save(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"x.safetensors is not a whole trace"):
        Trace.load(file)
    file.write_bytes(whole.replace(b'\\"format_version\\":1', b'\\"format_version\\":9'))
    with pytest.raises(ValueError, match="has trace format 9, this version reads 1"):
        Trace.load(file)
    save_file({"a": torch.zeros(2)}, file)
    with pytest.raises(ValueError, match="is a safetensors file, but not a trace"):
        Trace.load(file)
    with pytest.raises(ValueError, match=r"there is no file .*nothing"):
        Trace.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match="is a folder: give a file"):
        Trace.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe is a pipe or a device: give a file"):
        Trace.load(tmp_path / "pipe")
    with pytest.raises(ValueError, match="cannot be read: embedded null byte"):
        Trace.load("a\0b")
    with pytest.raises(ValueError, match="cannot be read: File name too long"):
        Trace.load(tmp_path / ("x" * 300))
    with pytest.raises(OSError, match="is a folder"):
        run().save(tmp_path)


def about_and_values(file: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """What the file says about its run, and its tensors."""
    with safe_open(file, framework="pt") as saved:
        values = {name: saved.get_tensor(name).clone() for name in saved.keys()}  # noqa: SIM118 (no mapping)
        return orjson.loads(saved.metadata()["viz_transformer"]), values


HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "more layers than can be": lambda about: about["config"].update(encoder_layers=10**9),
    "a config that is a list": lambda about: about.update(config=[1]),
    "a setting of 4,000 digits": lambda about: about["config"].update(d_ff=int("9" * 4000)),
    "a setting of 100,000 letters": lambda about: about["config"].update(norm="x" * 100_000),
    "an unknown setting": lambda about: about["config"].update({"x" * 100_000: 1}),
    "edits that are numbers": lambda about: about.update(edits=[1]),
    "an edit with a head that is text": lambda about: about.update(edits=[{**EDIT, "head": "1"}]),
    "an edit of a head that is not there": lambda about: about.update(edits=[{**EDIT, "head": 99}]),
    "an edit of an endless name": lambda about: about.update(edits=[{**EDIT, "site": "x" * 100_000}]),
    "an edit that is endless": lambda about: about.update(edits=[{"edit": "x" * 100_000}]),
    "a point that is endless": lambda about: about["points"].append("x" * 100_000),
    "a point that moves the cursor": lambda about: about["points"].append("\x1b[2J\x00"),
    "a point that is named twice": lambda about: about["points"].append("logits"),
    "a point that is a number": lambda about: about["points"].append(7),
    "points that are nothing": lambda about: about.update(points=None),
    "a version of 100,000 letters": lambda about: about.update(format_version="x" * 100_000),
    "tokens that are nothing": lambda about: about.update(src=None),
    "tokens in two columns": lambda about: about["src"].pop(),
    "tokens that are numbers": lambda about: about["src"].__setitem__(1, [1, 2, 3]),
    "an info that is a text": lambda about: about.update(info="x" * 100_000),
    "nothing at all": lambda about: about.clear(),
}
EDIT = {"edit": "AblateHead", "site": "decoder.0.cross", "head": 1, "how": "zero"}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_that_means_harm_is_refused_with_one_short_sentence(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "x.safetensors"
    run().save(file)
    about, values = about_and_values(file)
    HOSTILE[kind](about)
    save_file(values, file, metadata={"viz_transformer": json.dumps(about)})
    with pytest.raises(ValueError) as caught:
        Trace.load(file)
    sentence = str(caught.value)
    assert sentence.startswith(str(file)) and sentence.isprintable()
    assert len(sentence) < len(str(file)) + 400


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("points", None, "points=None has to be a list, each a text"),
        ("src", [[1], ["a"]], "src=[[1], ['a']] has to be a list of 3"),
        ("tgt", [[1], [2], ["a"]], "tgt[1][0]=2 has to be a text"),
        ("next_ids", ["x"], "next_ids[0]='x' has to be a whole number"),
        ("checkpoint", 3, "checkpoint=3 has to be a text"),
        ("scalars", {"a": "b"}, "scalars['a']='b' has to be a number"),
        ("colour", 1, "'colour' is not known"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_what_it_has_to_be(
    name: str, given: object, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "x.safetensors"
    run().save(file)
    about, values = about_and_values(file)
    save_file(values, file, metadata={"viz_transformer": json.dumps(about | {name: given})})
    with pytest.raises(ValueError, match=re.escape(f"is not a whole trace ({said}")):
        Trace.load(file)


def test_a_file_that_is_longer_than_its_tensors_is_not_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.safetensors"
    run().save(file)
    os.truncate(file, 20 * 2**30)
    monkeypatch.setattr(trace_module, "safe_open", None)
    with pytest.raises(ValueError, match=r"is not a whole trace \(its tensors end elsewhere than the file\)"):
        Trace.load(file)


def test_the_rows_of_the_steps_survive_their_file(tmp_path: Path) -> None:
    rows = decode(tiny_checkpoint(norm_kind="positions-and-features"), "abz", max_steps=4).per_step_rows
    assert rows.is_per_step
    rows.save(tmp_path / "rows.safetensors")
    after = Trace.load(tmp_path / "rows.safetensors")
    assert after.points() == rows.points() and after.is_per_step
    assert torch.equal(after["logits"].nan_to_num(), rows["logits"].nan_to_num())


def test_the_difference_of_two_traces_is_the_largest_cell() -> None:
    plain = run()
    edited = trace(tiny_checkpoint(), "abca", "uvu", edits=[AblateHead("decoder.2.cross", 1)])
    differences = plain.diff(edited)
    assert differences["decoder.2.cross.weights"] == 0.0
    want = (plain["logits"] - edited["logits"]).abs().max().item()
    assert differences["logits"] == pytest.approx(want) and want > 0
    assert plain.id != edited.id == trace(tiny_checkpoint(), "abca", "uvu", edits=edited.edits).id
    other = trace(tiny_checkpoint("encoder-only", d_model=8), "abcab")
    with pytest.raises(ValueError, match="no point of the same name and shape"):
        plain.diff(other)
