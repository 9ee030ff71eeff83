"""Encoders from scratch: what gives labels to each token, or to the text, is asked, told by a sample, and shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from builders import tiny_config
from strangers import SRC, Reader

import viz_transformer as vt
from viz_transformer.checkpoint.importers.importing import Answers, import_file, open_file
from viz_transformer.measuring.by_sample import settle_by_sample
from viz_transformer.measuring.sample import read_sample
from viz_transformer.model.transformer import pool
from viz_transformer.running.trace import Trace

POOLINGS = ("none", "mean", "first", "last")
NAMES = ["animal", "place", "verb", "number", "other"]
TOLD: dict[str, Any] = {"embedding_scale": "one", "n_heads": 3}


def reader(pooling: str, folder: Path) -> tuple[Path, torch.Tensor]:
    """The file of a small encoder that pools so, with a sample and the names of its labels beside it; its logits."""
    torch.manual_seed(2)
    model = Reader(pooling).eval()
    torch.save(model.state_dict(), folder / "m.pt")
    with torch.no_grad():
        logits = model(torch.tensor([SRC]))
    np.savez(folder / "sample.npz", source=[SRC], logits=logits.numpy())
    (folder / "labels.txt").write_text("\n".join(NAMES))
    return folder / "m.pt", logits


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_sample_tells_what_labels_are_given_to_and_how_many_heads_there_are(pooling: str, tmp_path: Path) -> None:
    path, _ = reader(pooling, tmp_path)
    opened = open_file(path, Answers(settings={"embedding_scale": "one"}))
    assert {each.name for each in opened.plan.settings if each.origin == "open"} == {"n_heads", "pooling"}
    told = settle_by_sample(opened, read_sample(tmp_path / "sample.npz"))
    found = {each.name: (each.value, each.origin) for each in told.plan.settings}
    assert found["pooling"] == (pooling, "measured") and found["n_heads"] == (3, "measured")


def test_without_an_answer_an_encoder_with_labels_is_not_opened(tmp_path: Path) -> None:
    path, _ = reader("mean", tmp_path)
    with pytest.raises(
        vt.CheckpointError, match=r"tells pooling: give --set pooling=none\|mean\|first\|last, or a sam"
    ):
        import_file(path, tmp_path / "out", Answers(settings=TOLD))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_labels_of_an_encoder_are_those_of_its_own_program_by_their_names(pooling: str, tmp_path: Path) -> None:
    path, logits = reader(pooling, tmp_path)
    answers = Answers(settings={**TOLD, "pooling": pooling}, target_vocab=tmp_path / "labels.txt")
    ckpt = vt.load(import_file(path, tmp_path / "out", answers))
    verified = vt.verify(ckpt, tmp_path / "sample.npz")
    assert verified.grade == "proved" and verified.consistent.passed, verified.sentence
    assert verified.proved.figures["compared"] == logits.numel()
    run = vt.read(ckpt, " ".join(map(str, SRC)))
    best = logits[0].argmax(-1)
    assert [each.best.name for each in run.labels] == [NAMES[i] for i in best.reshape(-1).tolist()]
    assert run.labels[0].position == (0 if pooling == "none" else None)
    run.trace.save(tmp_path / "t.safetensors")
    assert Trace.load(tmp_path / "t.safetensors").spec.labels == tuple(NAMES)


def test_the_command_imports_by_the_sample_and_prints_the_labels(command: Callable[..., Any], tmp_path: Path) -> None:
    path, logits = reader("mean", tmp_path)
    words = ("import", path, "--out", tmp_path / "out", "--set", "embedding_scale=one")
    assert "nothing in the file tells n_heads and pooling" in command(*words).err
    done = command(*words, "--target-vocab", tmp_path / "labels.txt", "--sample", tmp_path / "sample.npz")
    assert done.status == 0, done.err
    assert "mean (measured)" in done.out and "verified    proved" in done.out
    said = json.loads(command("read", tmp_path / "out", " ".join(map(str, SRC)), "--json").out)
    assert said["labels"][0]["label"] == NAMES[int(logits.argmax())]


def test_labels_without_names_are_called_by_their_numbers(tmp_path: Path) -> None:
    path, logits = reader("first", tmp_path)
    ckpt = vt.load(import_file(path, tmp_path / "out", Answers(settings={**TOLD, "pooling": "first"})))
    assert vt.read(ckpt, " ".join(map(str, SRC))).labels[0].best.name == str(int(logits.argmax()))


def test_padding_takes_no_part_in_what_is_pooled() -> None:
    x, keep = torch.randn(2, 4, 3), torch.tensor([[True, True, False, False], [True, True, True, True]])
    assert torch.allclose(pool(x, keep, "mean")[0], x[0, :2].mean(0))
    assert torch.equal(pool(x, keep, "last"), torch.stack([x[0, 1], x[1, 3]]))
    assert torch.equal(pool(x, keep, "first"), x[:, 0])


def test_a_head_of_torchs_layers_needs_no_known_name(tmp_path: Path) -> None:
    path, _ = reader("none", tmp_path)
    held = {
        name.replace("classifier", "hidden2tag"): each for name, each in torch.load(path, weights_only=True).items()
    }
    torch.save({name: held[name] for name in sorted(held)}, path)
    settings = {**TOLD, "pooling": "none"}
    ckpt = vt.load(import_file(path, tmp_path / "out", Answers(settings=settings)))
    assert vt.verify(ckpt, tmp_path / "sample.npz").grade == "proved"
    left = open_file(path, Answers(settings=TOLD, ignore=("hidden2tag.*",))).plan
    assert left.left_out == ("hidden2tag.bias", "hidden2tag.weight") and left.config is not None
    assert left.config.target_vocab_size is None
    torch.save({**held, "pooler.weight": torch.ones(24, 24)}, path)
    assert "would not be used" in open_file(path, Answers(settings=settings)).plan.problems[0]


def test_an_encoder_of_an_unknown_layout_is_known_by_the_rows_of_its_output(tmp_path: Path) -> None:
    path, _ = reader("none", tmp_path)
    held = torch.load(path, weights_only=True)
    names = {"encoder.layers": "floor", "self_attn.in_proj_": "look.qkv.", "self_attn.out_proj": "look.proj"}
    for ours, theirs in names.items():
        held = {name.replace(ours, theirs): tensor for name, tensor in held.items()}
    torch.save({name: held[name] for name in sorted(held)}, path)
    plan = open_file(path, Answers(settings={**TOLD, "pooling": "none"})).plan
    assert not plan.problems and plan.config is not None
    assert (plan.config.kind, plan.config.target_vocab_size) == ("encoder-only", 5)


@pytest.mark.parametrize("kind", ["decoder-only", "encoder-decoder"])
def test_only_an_encoder_alone_pools(kind: str) -> None:
    with pytest.raises(ValueError, match="needs an encoder-only model with labels"):
        tiny_config(kind, pooling="mean")
