"""Where a model is computed, and with how many bits: float32 from weights of fewer, on a device that is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from pretrained import KINDS, folder

from viz_transformer.checkpoint import devices
from viz_transformer.checkpoint import load as load_own
from viz_transformer.checkpoint.contents import find_folder, read_summary
from viz_transformer.command import main as program
from viz_transformer.huggingface import loading
from viz_transformer.huggingface.folder import read_folder
from viz_transformer.huggingface.loading import load
from viz_transformer.model import attention, causality
from viz_transformer.running.decoding import decode
from viz_transformer.running.search import DecoderState
from viz_transformer.running.step import attention_rows
from viz_transformer.running.trace import each_once, trace_values
from viz_transformer.running.tracing import trace
from viz_transformer.ui.session import cached

TOLERANCE = {"bfloat16": 0.05, "float16": 0.01}
"""Of a pass in that type to ours, as a share of the largest logit: bfloat16 has 8 bits of a number, float16 has 11."""


@pytest.mark.parametrize("kind", TOLERANCE)
@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma3_text", "bart"])
def test_weights_of_fewer_bits_are_computed_in_float32(tmp_path: Path, name: str, kind: str) -> None:
    where = folder(tmp_path / "model", name)
    cls: Any = getattr(transformers, KINDS[name][0])
    cls.from_pretrained(where).to(getattr(torch, kind)).save_pretrained(where)
    ckpt = load(where)
    (note,) = [note for note in ckpt.card["notes"] if "float32" in note]
    assert note.startswith(f"Weights are stored in {kind}")
    given = ("two hundred", "one") if name == "bart" else ("two hundred",)
    run = trace(ckpt, *given)
    ids = {"input_ids": torch.tensor([run.src_ids or run.tgt_ids])}
    ids |= {"decoder_input_ids": torch.tensor([run.tgt_ids])} if run.src_ids else {}
    with torch.no_grad():
        exact = cls.from_pretrained(where, attn_implementation="eager", dtype=torch.float32).eval()(**ids).logits
        rounded = cls.from_pretrained(where, attn_implementation="eager").eval()(**ids).logits
    assert torch.equal(run["logits"], exact) and rounded.dtype == getattr(torch, kind)
    gap = float((rounded.float() - exact).abs().max() / exact.abs().max())
    assert 0 < gap <= TOLERANCE[kind]


def test_a_device_that_is_not_there_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device, said in (
        ("cuda", "torch finds no GPU that it can use"),
        ("tpu", "'tpu' is not known; choose 'cpu'"),
    ):
        with pytest.raises(ValueError, match=said):
            load("numbers-tiny", device=device)
    for words in (
        ["translate", "numbers-tiny", "1.00"],
        ["evaluate", "numbers-tiny"],
        ["inspect", "numbers-tiny"],
        ["app", "--no-browser"],
    ):
        with pytest.raises(SystemExit):
            program([*words, "--device", "cuda"])
        assert "torch finds no GPU" in capsys.readouterr().err, words


def test_the_app_computes_folders_where_it_was_told_and_its_own_models_on_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []
    own = load_own("numbers-tiny")
    monkeypatch.setattr(devices, "_of_the_app", devices.Computed())
    monkeypatch.setattr(loading, "_opened", lambda where, how: asked.append((where.name, how.device)) or own)
    theirs, ours = read_folder(folder(tmp_path / "model", "gpt2")), read_summary(find_folder("numbers-tiny"))
    for device in ("cpu", "cuda"):
        devices.compute_folders(device, "float32")
        cached.store().clear()
        for summary in (theirs, ours):
            cached.checkpoint(summary)
    cached.store().clear()
    assert asked == [("model", "cpu"), ("numbers-tiny", "cpu"), ("model", "cuda"), ("numbers-tiny", "cpu")]


def test_a_gpu_without_room_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: torch.nn.Module, device: str) -> torch.nn.Module:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(transformers.PreTrainedModel, "to", full)
    with pytest.raises(ValueError, match=r"model has [\d,]+ numbers, more than the memory of the GPU has room for"):
        load(folder(tmp_path / "model", "gpt2"), device="cuda")


class Elsewhere(torch.Tensor):
    """Numbers that say of themselves that they are on a GPU, until they are fetched."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("cuda")

    def cpu(self, *_: Any) -> torch.Tensor:
        return self.as_subclass(torch.Tensor)


class Copied(Elsewhere):
    """The same; fetched they are other memory, as of a GPU."""

    def cpu(self, *_: Any) -> torch.Tensor:
        return self.as_subclass(torch.Tensor).clone()


def test_what_all_layers_share_is_fetched_once(tmp_path: Path) -> None:
    run = trace(load(folder(tmp_path / "model", "t5")), "two hundred", "one")
    there = {name: value.as_subclass(Copied) for name, value in run.values.items()}
    for fetched in (trace_values(there), each_once(there, lambda value: value.cpu())):
        assert all(type(fetched[name]) is torch.Tensor and fetched[name].equal(run[name]) for name in there)
        biases = {fetched[name].data_ptr() for name in there if name.endswith(".bias") and "encoder." in name}
        assert len(biases) == 1 and biases.isdisjoint(value.data_ptr() for value in run.values.values())
        assert fetched["encoder.0.residual_out"] is fetched["encoder.1.residual_in"]


def test_rows_of_a_long_attention_are_computed_on_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ckpt = load(folder(tmp_path / "model", "t5"))
    monkeypatch.setattr(attention, "FUSED_FROM", 2)
    run = trace(ckpt, "two hundred", "one")
    there = {name: value.as_subclass(Copied) for name, value in run.values.items()}
    plain, found = (attention_rows(values, 1, run.scalars) for values in (run.values, there))
    assert plain.keys() == found.keys() and "decoder.0.self.weights" not in run.values
    for name, row in plain.items():
        assert type(found[name]) is torch.Tensor and found[name].equal(row), name


def test_whether_rows_read_ahead_is_tried_on_the_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def to(self: torch.nn.Module, device: str) -> torch.nn.Module:
        done.append(f"moved to {device}")
        return self

    tried = causality._leaks
    monkeypatch.setattr(causality, "_leaks", lambda model: done.append("tried") or tried(model))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(transformers.PreTrainedModel, "to", to)
    for name, steps in (("mixtral", ["tried", "moved to cuda"]), ("bert", ["moved to cuda"])):
        done.clear()
        ckpt = load(folder(tmp_path / name, name), device="cuda")
        assert done[-len(steps) :] == steps
        if ckpt.spec.has_decoder:
            assert causality.is_causal(ckpt.hooked_model) and done[-len(steps) :] == steps  # not tried again


def test_what_a_step_holds_is_fetched_from_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = load(folder(tmp_path / "model", "gpt2"))
    plain = decode(ckpt, "two", max_steps=3)
    own = DecoderState.step

    def step(self: DecoderState, new: Any) -> Any:
        logits, recorded = own(self, new)
        return logits.as_subclass(Elsewhere), {name: value.as_subclass(Elsewhere) for name, value in recorded.items()}

    monkeypatch.setattr(DecoderState, "step", step)
    run = decode(ckpt, "two", max_steps=3)
    assert run.tokens == plain.tokens
    for each in run.steps:
        assert {type(value) for value in (each.logits, *each.recorded.values(), *each.rows.values())} == {torch.Tensor}


def test_a_model_is_computed_where_it_is_loaded_and_its_trace_is_on_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[tuple[str, str]] = []

    def to(self: torch.nn.Module, device: str) -> torch.nn.Module:
        moved.append((type(self).__name__, device))
        return self

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(transformers.PreTrainedModel, "to", to)
    monkeypatch.setattr(torch.nn.Module, "to", to)
    load(folder(tmp_path / "model", "gpt2"), device="cuda")
    load("numbers-tiny", device="cuda")
    assert moved[-2:] == [("GPT2LMHeadModel", "cuda"), ("Transformer", "cuda")]
    monkeypatch.undo()
    run = trace(load("numbers-tiny", device="cpu"), "1.00", "one")
    own = trace(load_own("numbers-tiny"), "1.00", "one")
    assert torch.equal(run["logits"], own["logits"]) and run["logits"].device.type == "cpu"
