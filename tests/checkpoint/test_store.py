"""What was saved is what is loaded, and saving refuses what loading would."""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from builders import SOURCE, SPECIALS, random_ids, tiny_checkpoint, tiny_config, tiny_model

from viz_transformer.checkpoint import Checkpoint, CheckpointError, atomic, load, save_checkpoint
from viz_transformer.text import Characters, Codec, Vocabulary

HISTORY = "step,train_loss,validation_loss,learning_rate,gradient_norm\n0,,3.5,,\n10,2.5,2.25,0.001,0.75\n"


def save(folder: Path, ckpt: Checkpoint, **changes: Any) -> Path:
    values: dict[str, Any] = {
        "state_dict": ckpt.model.state_dict(),
        "config": ckpt.config,
        "source_codec": ckpt.source_codec,
        "target_codec": ckpt.target_codec,
        "card": {"task": "tiny"},
    }
    return save_checkpoint(folder, **{**values, **changes})


@pytest.mark.parametrize("kind", ["encoder-decoder", "encoder-only", "decoder-only"])
def test_a_model_of_each_kind_gives_the_same_logits_after_saving_and_loading(tmp_path: Path, kind: str) -> None:
    ckpt = tiny_checkpoint(kind)
    loaded = load(save(tmp_path / "ckpt", ckpt, dtype="float32"))
    inputs = [random_ids(12, 1, 5)] * (2 if kind == "encoder-decoder" else 1)
    assert torch.equal(loaded.model(*inputs), ckpt.model(*inputs))
    assert loaded.config == ckpt.config
    assert (loaded.source_codec, loaded.target_codec) == (ckpt.source_codec, ckpt.target_codec)
    assert (loaded.name, loaded.path) == ("ckpt", tmp_path / "ckpt")
    assert loaded.parameter_count == sum(parameter.numel() for parameter in ckpt.model.parameters())
    assert not loaded.model.training


@pytest.mark.parametrize(
    "changes",
    [
        {"divisor": "learned", "embedding_scale": "learned", "norm_kind": "bessel", "encoder_final_norm": "torch"},
        {"merge": "raw-reshape", "norm_kind": "positions-and-features", "mask_fill": "-1e10", "padding_mask": "key"},
    ],
)
def test_variants_come_back_with_their_own_parameters(tmp_path: Path, changes: dict[str, Any]) -> None:
    ckpt = tiny_checkpoint(**changes)
    loaded = load(save(tmp_path / "ckpt", ckpt, dtype="float32"))
    src, tgt = random_ids(12, 2, 5), random_ids(12, 2, 4)
    assert torch.equal(loaded.model(src, tgt), ckpt.model(src, tgt))
    assert loaded.config == ckpt.config


def test_a_folder_from_before_the_newer_settings_loads_with_the_same_numbers(tmp_path: Path) -> None:
    ckpt = tiny_checkpoint()
    folder = save(tmp_path / "ckpt", ckpt, dtype="float32")
    content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    dropouts = ("embedding_dropout", "attention_dropout", "ffn_dropout", "decoder_ffn_dropout")
    for name in (*dropouts, "encoder_final_norm", "padding_mask", "pad_to"):
        del content["model"][name]
    (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    card["sha256"]["config.json"] = hashlib.sha256((folder / "config.json").read_bytes()).hexdigest()
    (folder / "card.json").write_text(json.dumps(card), encoding="utf-8")
    loaded = load(folder)
    src, tgt = random_ids(12, 2, 5), random_ids(12, 2, 4)
    assert loaded.config == ckpt.config
    assert torch.equal(loaded.model(src, tgt), ckpt.model(src, tgt))


def test_float16_weights_are_rounded_once_and_run_in_float32(tmp_path: Path) -> None:
    ckpt = tiny_checkpoint()
    loaded = load(save(tmp_path / "ckpt", ckpt)).model.state_dict()
    for name, tensor in ckpt.model.state_dict().items():
        assert loaded[name].dtype == torch.float32
        assert torch.equal(loaded[name], tensor.half().float())


def test_a_tied_output_stays_tied(tmp_path: Path) -> None:
    ckpt = tiny_checkpoint(tied_output=True)
    loaded = load(save(tmp_path / "ckpt", ckpt, dtype="float32"))
    assert loaded.parameter_count == ckpt.parameter_count
    ids = random_ids(12, 1, 4)
    assert torch.equal(loaded.model(ids, ids), ckpt.model(ids, ids))


def test_card_history_examples_and_snapshots_come_back(tmp_path: Path) -> None:
    ckpt = tiny_checkpoint()
    earlier = tiny_model(ckpt.config, seed=5).state_dict()
    examples = [("ab", "uv"), ("ü 😀", ""), ("c", "w x")]
    snapshots = {100: ckpt.model.state_dict(), 20: earlier}
    loaded = load(save(tmp_path / "x", ckpt, history_csv=HISTORY, examples=examples, snapshots=snapshots))

    assert loaded.card["task"] == "tiny"
    assert loaded.examples() == examples
    assert loaded.snapshots() == (20, 100)
    first, second = loaded.history()
    assert (first["step"], first["validation_loss"]) == (0, 3.5)
    assert math.isnan(first["train_loss"])
    assert second == {
        "step": 10,
        "train_loss": 2.5,
        "validation_loss": 2.25,
        "learning_rate": 0.001,
        "gradient_norm": 0.75,
    }
    snapshot = loaded.at_snapshot(20)
    assert snapshot.name == "x@20"
    assert snapshot.snapshots() == (20, 100)
    assert snapshot.at_snapshot(100).name == "x@100"
    assert snapshot.weights_sha256 != loaded.weights_sha256 == loaded.at_snapshot(100).weights_sha256
    for name, tensor in snapshot.model.state_dict().items():
        assert torch.equal(tensor, earlier[name].half().float())
    with pytest.raises(CheckpointError, match=r"no snapshot of step 21: choose one that it has \(20, 100\)"):
        loaded.at_snapshot(21)


def test_what_was_not_saved_is_empty(tmp_path: Path) -> None:
    loaded = load(save(tmp_path / "x", tiny_checkpoint(), source_codec=None))
    assert (loaded.history(), loaded.examples(), loaded.snapshots(), loaded.source_codec) == ([], [], (), None)
    assert sorted(os.listdir(tmp_path / "x")) == ["card.json", "config.json", "model.safetensors", "target_vocab.json"]


def test_a_checkpoint_in_memory_has_no_files(tmp_path: Path) -> None:
    ckpt = tiny_checkpoint()
    assert (ckpt.history(), ckpt.examples(), ckpt.snapshots()) == ([], [], ())
    with pytest.raises(CheckpointError, match="tiny has no snapshot of step 1"):
        ckpt.at_snapshot(1)


def test_saving_again_replaces_the_checkpoint_and_keeps_foreign_files(tmp_path: Path) -> None:
    folder = save(
        tmp_path / "x", tiny_checkpoint(), examples=[("a", "u")], snapshots={1: tiny_checkpoint().model.state_dict()}
    )
    (folder / "notes.md").write_text("mine")
    (folder / "training").mkdir()
    (folder / "training" / "last.ckpt").write_text("resume")
    save(folder, tiny_checkpoint(seed=3), card={"task": "other"})
    loaded = load(folder)
    assert loaded.card["task"] == "other"
    assert (loaded.examples(), loaded.snapshots(), (folder / "snapshots").exists()) == ([], (), False)
    assert (folder / "notes.md").read_text() == "mine"
    assert (folder / "training" / "last.ckpt").read_text() == "resume"


def test_a_history_may_say_how_long_the_training_took(tmp_path: Path) -> None:
    header, *rows = HISTORY.splitlines()
    timed = "\n".join([f"{header},seconds", *(f"{row},{number + 0.5}" for number, row in enumerate(rows))]) + "\n"
    history = load(save(tmp_path / "x", tiny_checkpoint(), history_csv=timed)).history()
    assert [row["seconds"] for row in history] == [0.5, 1.5]
    plain = load(save(tmp_path / "y", tiny_checkpoint(), history_csv=HISTORY)).history()
    assert [str({**row, "seconds": each["seconds"]}) for row, each in zip(plain, history, strict=True)] == [
        *map(str, history)
    ]


def test_every_file_can_be_read_by_others(tmp_path: Path) -> None:
    folder = save(tmp_path / "x", tiny_checkpoint(), snapshots={1: tiny_checkpoint().model.state_dict()})
    modes = {path.stat().st_mode & 0o444 for path in folder.rglob("*") if path.is_file()}
    assert modes == {0o444 & ~current_umask()}


def current_umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def test_the_card_states_the_digest_of_every_file_that_the_model_needs(tmp_path: Path) -> None:
    folder = save(tmp_path / "x", tiny_checkpoint(), snapshots={3: tiny_checkpoint().model.state_dict()})
    assert set(json.loads((folder / "card.json").read_text())["sha256"]) == {
        "config.json",
        "model.safetensors",
        "source_vocab.json",
        "target_vocab.json",
        "snapshots/step-3.safetensors",
    }
    assert load(folder).weights_sha256 == load(folder).card["sha256"]["model.safetensors"]


def test_loading_and_saving_draw_no_random_numbers(tmp_path: Path) -> None:
    ckpt = tiny_checkpoint()
    before = (torch.random.get_rng_state(), random.getstate())
    load(save(tmp_path / "x", ckpt))
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert random.getstate() == before[1]


def test_links_to_the_folder_and_to_its_files_are_followed(tmp_path: Path) -> None:
    folder = save(tmp_path / "real", tiny_checkpoint())
    (tmp_path / "elsewhere").mkdir()
    (folder / "model.safetensors").rename(tmp_path / "elsewhere" / "weights")
    (folder / "model.safetensors").symlink_to(tmp_path / "elsewhere" / "weights")
    (tmp_path / "link").symlink_to(folder)
    assert load(tmp_path / "link").name == "link"


@pytest.mark.parametrize("way", ["exchange", "two renames"])
def test_a_reader_during_saves_gets_one_whole_checkpoint(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "two renames":
        monkeypatch.setattr(atomic, "_exchange", lambda a, b: False)
    a, b = (tiny_checkpoint("decoder-only", seed, decoder_layers=1) for seed in (1, 2))
    save(tmp_path / "x", a, card={"seed": 1})

    def keep_saving() -> None:
        for _ in range(10):
            save(tmp_path / "x", b, card={"seed": 2})
            save(tmp_path / "x", a, card={"seed": 1})

    saver = threading.Thread(target=keep_saving)
    saver.start()
    reads = 0
    while saver.is_alive():
        try:
            loaded = load(tmp_path / "x")
        except CheckpointError as error:
            assert "is being written again and again" in str(error)
            continue
        expected = {1: a, 2: b}[loaded.card["seed"]].model.state_dict()
        assert all(
            torch.equal(tensor, expected[name].half().float()) for name, tensor in loaded.model.state_dict().items()
        )
        reads += 1
    saver.join()
    assert reads > 0


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"state_dict": {}}, "model.safetensors cannot be saved: .* is missing"),
        ({"config": tiny_config(d_ff=32)}, r"has the shape \[24, 16\], the config asks for \[32, 16\]"),
        ({"config": tiny_config(encoder_layers=1)}, "'encoder.layers.1.* has no place in this config"),
        ({"snapshots": {7: {}}}, r"step-7\.safetensors cannot be saved"),
        (
            {"source_codec": Codec(Characters(), Vocabulary([*SOURCE, "z"], SPECIALS))},
            "source_vocab.json has 13 tokens, the config's source_vocab_size is 12",
        ),
        ({"history_csv": "epoch,loss\n1,2\n"}, "history.csv does not start with the columns step,train_loss"),
        ({"history_csv": HISTORY + "11,a,b,c,d\n"}, "history.csv line 4 is not 5 numbers or blanks"),
        ({"history_csv": HISTORY.replace("norm\n", "norm,hours\n")}, "does not start with the columns step,train_loss"),
        ({"history_csv": HISTORY.replace("norm\n", "norm,seconds\n")}, "history.csv line 2 is not 6 numbers or blanks"),
        ({"examples": [("a\tb", "c")]}, "examples.tsv cannot be saved"),
        ({"examples": [("a", "b\nc")]}, "examples.tsv cannot be saved"),
    ],
)
def test_saving_refuses_what_loading_would_and_leaves_the_folder_alone(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    folder = save(tmp_path / "x", tiny_checkpoint())
    before = (folder / "card.json").read_bytes()
    with pytest.raises(CheckpointError, match=sentence):
        save(folder, tiny_checkpoint(), **changes)
    assert (folder / "card.json").read_bytes() == before


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e6])
def test_numbers_that_float16_cannot_hold_are_refused_by_name(tmp_path: Path, value: float) -> None:
    ckpt = tiny_checkpoint()
    name = next(iter(ckpt.model.state_dict()))
    with torch.no_grad():
        ckpt.model.state_dict()[name].view(-1)[3] = value
    with pytest.raises(CheckpointError, match=f"'{name}' holds numbers that are not finite as float16"):
        save(tmp_path / "x", ckpt)
    if math.isfinite(value):
        assert float(load(save(tmp_path / "x", ckpt, dtype="float32")).model.state_dict()[name].view(-1)[3]) == value


def test_other_peoples_folders_are_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(CheckpointError, match=r"holds the config\.json of another program"):
        save(tmp_path / "hub", tiny_checkpoint())
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="is a file: give a folder"):
        save(tmp_path / "file", tiny_checkpoint())
    monkeypatch.chdir(tmp_path / "hub")
    with pytest.raises(CheckpointError, match="is the folder that you are in"):
        save(tmp_path, tiny_checkpoint())
