"""A watched module's trace in a file: the same again, and nothing else is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from watched import watched_trace

import viz_transformer as vt
from viz_transformer.analysis.tensors.trace_files import open_trace, pack_trace
from viz_transformer.model.watched import uneven_layers
from viz_transformer.running.trace import is_watched

EVEN = vt.edits.AblateHead("decoder.1.self", 2, "uniform")


@pytest.mark.parametrize("kind", ["encoder-decoder", "decoder-only", "encoder-only"])
def test_a_watched_trace_survives_its_file_bit_by_bit(kind: str, tmp_path: Path) -> None:
    before = watched_trace(kind, name="mine", edits=[] if kind == "encoder-only" else [EVEN])
    before.save(tmp_path / "mine.safetensors")
    after = vt.Trace.load(tmp_path / "mine.safetensors")
    assert after.points() == before.points()
    assert all(after[name].dtype == before[name].dtype for name in before.points())
    assert all(torch.equal(after[name], before[name]) for name in before.points())
    for field in ("src", "tgt", "next_ids", "next_tokens", "edits", "checkpoint", "weights_sha256", "id", "info"):
        assert getattr(after, field) == getattr(before, field)
    for field in ("kind", "encoder_layers", "decoder_layers", "d_model", "attentions", "recorded", "missing"):
        assert getattr(after.spec, field) == getattr(before.spec, field)
    assert (after.spec.max_source, after.spec.max_target) == (
        before.spec.max_source,
        before.spec.max_target,
    )
    assert is_watched(after)
    with pytest.raises(KeyError, match="a watched module tells its attention weights"):
        after[f"{next(iter(after.spec.attentions))}.query"]
    assert open_trace(pack_trace(before), "mine").diff(after) == dict.fromkeys(after.points(), 0.0)


Change = Callable[[dict[str, Any], dict[str, torch.Tensor]], object]
WEIGHTS = "decoder.1.cross.weights"
HOSTILE: dict[str, Change] = {
    "no module": lambda about, _: about.pop("watched"),
    "a module that is a list": lambda about, _: about.update(watched=[1]),
    "a module with more to say": lambda about, _: about["watched"].update(code="x"),
    "no attention": lambda about, _: about["watched"].update(heads={}),
    "a layer beyond all": lambda about, _: about["watched"]["heads"].update({"decoder.999.self": 3}),
    "an attention of an endless name": lambda about, _: about["watched"]["heads"].update({"x" * 100_000: 3}),
    "an encoder that reads another": lambda about, _: about["watched"]["heads"].update({"encoder.0.cross": 3}),
    "heads that are text": lambda about, _: about["watched"]["heads"].update({"decoder.1.self": "3"}),
    "no heads": lambda about, _: about["watched"]["heads"].update({"decoder.1.self": 0}),
    "more heads than weights": lambda about, _: about["watched"]["heads"].update({"decoder.1.self": 10**9}),
    "a size below nothing": lambda about, _: about["watched"].update(d_model=-1),
    "a meaning that is endless": lambda about, _: about["watched"]["points"].update({WEIGHTS: "x" * 100_000}),
    "a meaning that is a number": lambda about, _: about["watched"]["points"].update({WEIGHTS: 1}),
    "a point that it does not have": lambda about, _: about["watched"]["points"].update({"modules.x": "x"}),
    "a point that nobody watches": lambda about, _: about["watched"]["points"].update({"logits": "x"}),
    "a stream of no layer": lambda about, _: about["watched"]["points"].update({"decoder.7.residual_in": "x"}),
    "an attention without its weights": lambda about, _: about["watched"]["points"].pop(WEIGHTS),
    "modules that are a list": lambda about, _: about["watched"].update(modules=[]),
    "a module of no attention": lambda about, _: about["watched"]["modules"].update({"decoder.9.self": "x"}),
    "a module of an endless name": lambda about, _: about["watched"]["modules"].update({"decoder.1.self": "x" * 10**5}),
    "what is not seen, and there": lambda about, _: about["watched"]["unseen"].update({"decoder.1.self": "x"}),
    "what is not seen beyond all": lambda about, _: about["watched"]["unseen"].update({"decoder.999.self": "x"}),
    "no reason why it is not seen": lambda about, _: about["watched"]["unseen"].update({"decoder.2.self": ""}),
    "an endless reason": lambda about, _: about["watched"]["unseen"].update({"decoder.2.self": "x" * 10**5}),
    "a reason of two lines": lambda about, _: about["watched"]["unseen"].update({"decoder.2.self": "x\ny"}),
    "another kind of run": lambda about, _: about["info"].update(kind="decoded"),
    "rows of many steps": lambda about, _: about["info"].update(rows="each step's own"),
    "a difference that is text": lambda about, _: about["info"].update(difference="x" * 100_000),
    "a token more": lambda about, _: [column.append(column[0]) for column in about["tgt"]],
    "ids of a vocabulary": lambda about, _: about["tgt"][0].__setitem__(0, 10**9),
    "other words than it read": lambda about, _: about["tgt"][2].__setitem__(0, ""),
    "no source": lambda about, _: about.update(src=[[], [], []]),
    "next tokens of its own": lambda about, _: about["next_tokens"].__setitem__(0, "x"),
    "scalars": lambda about, _: about.update(scalars={"decoder.1.self.divisor": 2.0}),
    "weights that are half": lambda _, values: values.update({WEIGHTS: values[WEIGHTS].half()}),
    "weights of another shape": lambda _, values: values.update({WEIGHTS: values[WEIGHTS][..., :-1].contiguous()}),
    "a stream of another length": lambda _, values: values.update({"decoder.0.residual_in": torch.zeros(1, 3, 16)}),
    "a stream of one axis": lambda _, values: values.update({"decoder.0.residual_in": torch.zeros(4)}),
    "a mask of numbers": lambda _, values: values.update({"decoder.0.self.mask": torch.zeros(1, 1, 4, 4)}),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_that_says_what_no_watching_writes_is_refused_with_one_short_sentence(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "x.safetensors"
    watched_trace().save(file)
    with safe_open(file, framework="pt") as stored:
        values = {name: stored.get_tensor(name).clone() for name in stored.keys()}  # noqa: SIM118 (no mapping)
        about = orjson.loads(stored.metadata()["viz_transformer"])
    HOSTILE[kind](about, values)
    save_file(values, file, metadata={"viz_transformer": json.dumps(about)})
    with pytest.raises(ValueError) as caught:
        vt.Trace.load(file)
    sentence = str(caught.value)
    assert sentence.startswith(str(file)) and sentence.isprintable()
    assert len(sentence) < len(str(file)) + 400


def test_a_file_from_before_modules_were_named_is_read(tmp_path: Path) -> None:
    file, trace = tmp_path / "x.safetensors", watched_trace()
    trace.save(file)
    with safe_open(file, framework="pt") as stored:
        values = {name: stored.get_tensor(name).clone() for name in stored.keys()}  # noqa: SIM118 (no mapping)
        about = orjson.loads(stored.metadata()["viz_transformer"])
    del about["watched"]["modules"], about["watched"]["unseen"]
    save_file(values, file, metadata={"viz_transformer": json.dumps(about)})
    before = vt.Trace.load(file)
    assert before.points() == trace.points() and not before.spec.modules
    assert before.notes[0] == "encoder.0.self: 4 heads, softmax over the keys, in encoder.layers.0.self_attn"


def test_a_trace_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    long = watched_trace("decoder-only")
    long.spec.attentions["decoder.300.self"] = long.spec.attentions["decoder.0.self"]  # type: ignore[index]
    with pytest.raises(ValueError, match=r"cannot be saved: 'decoder.300.self' is not an attention of the first 256"):
        long.save(tmp_path / "x.safetensors")
    assert not [*tmp_path.iterdir()]


def test_layers_that_are_not_alike_are_named() -> None:
    trace = watched_trace()
    assert uneven_layers(trace.spec) is None
    del trace.spec.attentions["decoder.1.cross"]  # type: ignore[attr-defined]
    assert "it has no attention decoder.1.cross" in (uneven_layers(trace.spec) or "")
