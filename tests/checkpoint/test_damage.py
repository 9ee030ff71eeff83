"""A damaged, foreign or hostile folder gives one sentence that names the file and what to do, and runs no code."""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from builders import tiny_checkpoint
from safetensors.torch import load_file, save_file

from viz_transformer.checkpoint import CheckpointError, files, load, save_checkpoint, store
from viz_transformer.checkpoint.contents import read_summary
from viz_transformer.model.transformer import Transformer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole checkpoint, to be damaged."""
    ckpt = tiny_checkpoint()
    return save_checkpoint(
        tmp_path / "ckpt",
        state_dict=ckpt.model.state_dict(),
        config=ckpt.config,
        source_codec=ckpt.source_codec,
        target_codec=ckpt.target_codec,
        card={"task": "tiny"},
        history_csv="step,train_loss,validation_loss,learning_rate,gradient_norm\n1,2,3,4,5\n",
        examples=[("a", "u")],
        snapshots={4: ckpt.model.state_dict()},
    )


def refusal(folder: Path | str, action: Callable[[], Any] | None = None) -> str:
    """The sentence with which opening the folder (or the action) is refused."""
    with pytest.raises(CheckpointError) as caught:
        load(folder) if action is None else action()
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 600
    assert re.search(r": [a-z`]", sentence), f"says not what to do: {sentence}"
    return sentence


def sign(folder: Path) -> None:
    """Give the card the digests of the files as they are: what somebody who means harm would do."""
    card = json.loads((folder / "card.json").read_text())
    card["sha256"] = {
        name: sha256((folder / name).read_bytes()).hexdigest()
        for name in card["sha256"]
        if (folder / name).stat().st_size < 10**8
    }
    (folder / "card.json").write_text(json.dumps(card))


def change_config(folder: Path, **changes: Any) -> None:
    content = json.loads((folder / "config.json").read_text())
    content["model"].update(changes)
    (folder / "config.json").write_text(json.dumps(content))
    sign(folder)


def test_the_whole_folder_opens(folder: Path) -> None:
    sign(folder)
    assert load(folder).at_snapshot(4).name == "ckpt@4"


FILES = ["config.json", "card.json", "model.safetensors", "source_vocab.json", "target_vocab.json"]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert f"{folder / name} is missing: " in refusal(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_or_a_pipe_in_place_of_a_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()
    assert f"{folder / name} is missing: " in refusal(folder)
    (folder / name).rmdir()
    os.mkfifo(folder / name)
    assert f"{folder / name} is missing: " in refusal(folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("keep", [0.0, 0.5, 0.999])
def test_a_truncated_file_is_named(folder: Path, name: str, keep: float) -> None:
    content = (folder / name).read_bytes().rstrip()
    (folder / name).write_bytes(content[: int(len(content) * keep)])
    assert str(folder / name) in refusal(folder)


@pytest.mark.parametrize("name", [name for name in FILES if name != "card.json"])
@pytest.mark.parametrize("place", [0.0, 0.1, 0.35, 0.6, 0.99])
def test_a_flipped_bit_is_found(folder: Path, name: str, place: float) -> None:
    content = bytearray((folder / name).read_bytes())
    content[int(len(content) * place)] ^= 4
    (folder / name).write_bytes(content)
    assert str(folder / name) in refusal(folder)


def test_damage_of_files_that_are_read_later_is_found_then(folder: Path) -> None:
    ckpt = load(folder)
    (folder / "snapshots" / "step-4.safetensors").write_bytes(b"x" * 100)
    assert "step-4.safetensors" in refusal(folder, lambda: ckpt.at_snapshot(4))
    (folder / "history.csv").write_text("step,loss\n")
    assert "history.csv" in refusal(folder, ckpt.history)
    (folder / "examples.tsv").write_text("only a source\n")
    assert "examples.tsv line 1" in refusal(folder, ckpt.examples)
    (folder / "examples.tsv").write_bytes(b"a\t\xff\n")
    assert "examples.tsv is not UTF-8" in refusal(folder, ckpt.examples)


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        (2, "has format_version 2, this program reads 1: install a newer viz-transformer"),
        (0, "unknown format_version 0"),
        ("1", "unknown format_version '1'"),
        (True, "unknown format_version True"),
        (None, "has no format_version, so the folder is not a checkpoint of this program: give another folder"),
    ],
)
@pytest.mark.parametrize("signed", [True, False])
def test_another_format_version_is_named(folder: Path, version: Any, sentence: str, signed: bool) -> None:
    content = json.loads((folder / "config.json").read_text())
    content["format_version"] = version
    (folder / "config.json").write_text(json.dumps(content))
    if signed:
        sign(folder)
    assert f"{folder / 'config.json'} " in refusal(folder)
    assert sentence in refusal(folder)


@pytest.mark.parametrize("name", ["config.json", "card.json", "source_vocab.json"])
@pytest.mark.parametrize(
    "content",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'["\\ud800"]',
        b"[1e5",
        b"\xff\xfe",
        b"7",
        b'"text"',
        b"[" + b"9" * 5000 + b"]",
    ],
    ids=lambda content: ascii(content[:12]),
)
def test_json_that_is_none_too_deep_or_of_another_type_is_named(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    if name != "card.json":
        sign(folder)
    assert f"{folder / name} " in refusal(folder)


def test_a_json_file_of_gigabytes_is_not_read(folder: Path) -> None:
    with (folder / "config.json").open("r+b") as file:
        file.truncate(20 * 2**30)  # takes no room on the disk
    assert "config.json has more than 4 MiB" in refusal(folder)


@pytest.mark.parametrize("digests", [None, [], {}, {"config.json": 5}])
def test_a_card_without_digests_is_refused(folder: Path, digests: Any) -> None:
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps({**card, "sha256": digests}))
    assert "card.json has no sha256 of config.json" in refusal(folder)


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        (lambda tokens: [*tokens[:-1], tokens[0]], "twice"),
        (lambda tokens: [*tokens[:-1], 7], "entry 11 of the vocabulary is 7, not a text"),
        (lambda tokens: [*tokens[:-1], "\ud800"], "is not valid JSON"),
        (lambda tokens: tokens[:-1], "has 11 tokens, the config's source_vocab_size is 12"),
        (lambda tokens: {token: i for i, token in enumerate(tokens)}, "is not a JSON list of tokens"),
    ],
)
def test_a_list_that_is_no_vocabulary_is_named(folder: Path, tokens: Callable[[list[Any]], Any], sentence: str) -> None:
    path = folder / "source_vocab.json"
    path.write_text(json.dumps(tokens(json.loads(path.read_text()))))
    sign(folder)
    assert f"{path} " in refusal(folder)
    assert sentence in refusal(folder)


@pytest.mark.parametrize(
    "codec",
    [
        7,
        {},
        {"x" * 10_000: 1},
        {"tokenizer": {"kind": "characters", "x" * 10_000: 1}, "specials": {}, "add_bos": False, "add_eos": False},
        {"tokenizer": {"kind": "pickle"}, "specials": {}, "add_bos": False, "add_eos": False},
    ],
)
def test_a_codec_that_cannot_be_made_is_named(folder: Path, codec: Any) -> None:
    content = json.loads((folder / "config.json").read_text())
    content["target_codec"] = codec
    (folder / "config.json").write_text(json.dumps(content))
    sign(folder)
    assert "config.json describes no target codec" in refusal(folder)


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes any model that takes memory an error of the test."""

    def only_on_meta(config: Any) -> Transformer:
        assert torch.empty(0).device.type == "meta", "a model was made before its size was checked"
        return Transformer(config)

    monkeypatch.setattr(store, "Transformer", only_on_meta)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"d_model": 10**6}, "describes a larger model than model.safetensors"),
        ({"d_model": 10**4000, "n_heads": 1}, "d_model=1.* has to be a number of at most 53 bits"),
        ({"d_ff": 10**9}, "describes a larger model than model.safetensors"),
        ({"encoder_layers": 10**6}, "describes a larger model than model.safetensors"),
        ({"encoder_layers": 10**6, "d_model": 2, "n_heads": 1, "d_ff": 1}, "larger model|more than 256 layers"),
        ({"max_source": 2**24}, "asks for a position table of more than 8,388,608 numbers"),
        ({"max_source": 10**9}, "asks for a position table of more than"),
        ({"max_target": 10**9, "positions": "learned"}, "describes a larger model than model.safetensors"),
        ({"d_ff": 25}, r"model\.safetensors: .* has the shape \[24, 16\], the config asks for \[25, 16\]"),
        ({"encoder_layers": 3}, r"model\.safetensors lacks the tensor 'encoder\.layers\.2"),
        ({"encoder_layers": 1}, r"model\.safetensors has a tensor 'encoder\.layers\.1"),
        ({"d_model": "16"}, r"config\.json does not describe a model \(d_model='16'"),
        ({"d_model": 15}, r"config\.json does not describe a model"),
        ({"norm_epsilon": 10**400}, r"config\.json does not describe a model"),
        ({"colour": "red"}, r"config\.json does not describe a model \('colour' is not known"),
    ],
)
def test_a_config_that_does_not_fit_the_weights_is_refused_before_a_model_is_made(
    folder: Path, changes: dict[str, Any], sentence: str
) -> None:
    change_config(folder, **changes)
    assert re.search(sentence, refusal(folder))


@pytest.mark.usefixtures("no_model")
def test_very_many_small_layers_are_refused_before_a_model_is_made(folder: Path) -> None:
    described = header(json.dumps({"w": {"dtype": "U8", "shape": [10**9], "data_offsets": [0, 10**9]}}).encode())
    (folder / "model.safetensors").write_bytes(described)
    os.truncate(folder / "model.safetensors", len(described) + 10**9)  # room for them, on paper
    change_config(folder, encoder_layers=10**5)
    assert "config.json asks for more than 256 layers" in refusal(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_named(folder: Path, value: float) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors["decoder.embedding.token.weight"][2, 3] = value
    save_file(tensors, folder / "model.safetensors")
    sign(folder)
    assert "model.safetensors: 'decoder.embedding.token.weight' holds NaN or infinite numbers" in refusal(folder)


def test_weights_that_are_no_floats_are_named(folder: Path) -> None:
    tensors = {name: tensor.int() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(tensors, folder / "model.safetensors")
    sign(folder)
    assert "has the type I32" in refusal(folder)


class Evil:
    """Unpickling it makes a file: proof that code ran."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_in_place_of_the_weights_is_not_run(folder: Path, protocol: int, signed: bool) -> None:
    trace = folder.parent / "code-ran"
    (folder / "model.safetensors").write_bytes(pickle.dumps({"w": Evil(trace)}, protocol))
    if signed:
        sign(folder)
    assert f"{folder / 'model.safetensors'} is " in refusal(folder)
    assert not trace.exists()


@pytest.mark.parametrize("signed", [True, False])
def test_a_torch_file_in_place_of_the_weights_is_not_opened(folder: Path, signed: bool) -> None:
    trace = folder.parent / "code-ran"
    torch.save({"w": Evil(trace)}, folder / "model.safetensors")
    if signed:
        sign(folder)
    assert "model.safetensors is a torch file and not safetensors: save its tensors as a checkpoint" in refusal(folder)
    assert not trace.exists()


def test_a_folder_with_torch_weights_only_says_what_to_make_of_them(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"w": Evil(folder.parent / "code-ran")}, folder / "model.pt")
    sentence = refusal(folder)
    assert "has model.pt but no model.safetensors" in sentence
    assert "`viz_transformer.save_checkpoint`" in sentence
    assert not (folder.parent / "code-ran").exists()


LARGE: dict[str, Callable[[Path], object]] = {
    "weights": lambda folder: os.truncate(folder / "model.safetensors", 20 * 2**30),
    "weights of twice their size": lambda folder: os.truncate(folder / "model.safetensors", 10**6),
    "a snapshot": lambda folder: os.truncate(folder / "snapshots" / "step-4.safetensors", 20 * 2**30),
}


@pytest.mark.parametrize("which", LARGE)
def test_a_file_of_another_size_than_its_tensors_is_refused_before_its_digest_is_computed(
    folder: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ckpt = load(folder)
    LARGE[which](folder)
    read: list[str] = []
    whole = files.sha256
    monkeypatch.setattr(files, "sha256", lambda path: read.append(path.name) or whole(path))
    assert "safetensors" in refusal(folder, (lambda: ckpt.at_snapshot(4)) if which == "a snapshot" else None)
    assert not [name for name in read if name.endswith(".safetensors")]


@pytest.mark.parametrize("name", ["config.json", "source_vocab.json", "target_vocab.json"])
def test_a_text_of_another_size_is_refused_before_its_digest_is_computed(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.truncate(folder / name, 20 * 2**30)
    whole = files.sha256
    monkeypatch.setattr(files, "sha256", lambda path: 1 / 0 if path.name == name else whole(path))
    assert f"{name} has more than" in refusal(folder)


def test_weights_of_another_shape_are_refused_before_their_digest_is_computed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_config(folder, d_ff=25)
    whole = files.sha256
    monkeypatch.setattr(files, "sha256", lambda path: 1 / 0 if path.name == "model.safetensors" else whole(path))
    assert "the config asks for [25, 16]" in refusal(folder)


def test_a_model_that_pads_to_very_many_tokens_is_refused(folder: Path) -> None:
    change_config(
        folder, pad_to=2**20, max_source=2**20, max_target=2**20, source_pad=0, target_pad=0, positions="none"
    )
    assert "config.json pads each text to more than 4,096 tokens: lower pad_to" in refusal(folder)


def header(content: bytes) -> bytes:
    return len(content).to_bytes(8, "little") + content


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (header(b'{"__metadata__":{"a":"' + b"x" * 9 * 2**20 + b'"}}'), "its header has 9,437,2.. bytes, at most"),
        (header(b'{"a":{"shape":[' + b"1," * 600_000 + b"1]}}"), "its header has 600,00. values, at most 500,000"),
        (header(b"{}")[:-1] + b"", "cut off or damaged|neither a safetensors"),
        ((2**63).to_bytes(8, "little") + b"{}", "its header goes beyond its end"),
    ],
)
def test_a_header_that_would_take_much_memory_is_refused(folder: Path, content: bytes, sentence: str) -> None:
    (folder / "model.safetensors").write_bytes(content)
    sign(folder)
    assert re.search(sentence, refusal(folder))
    summary = read_summary(folder)
    refusal(folder, lambda: summary.parameter_count)


def test_the_parameters_of_a_pipe_are_not_waited_for(folder: Path) -> None:
    summary = read_summary(folder)
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")
    assert "model.safetensors is missing" in refusal(folder, lambda: summary.parameter_count)


def test_tables_of_very_many_rows_are_refused_when_saved_and_when_read(folder: Path) -> None:
    ckpt = load(folder)
    start = "step,train_loss,validation_loss,learning_rate,gradient_norm\n"
    (folder / "history.csv").write_text(start + ",,,,\n" * 100_001)
    assert "history.csv has 100,002 lines, at most 100,000 are read" in refusal(folder, ckpt.history)
    (folder / "examples.tsv").write_text("\t\n" * 100_001)
    assert "examples.tsv has 100,001 lines, at most 100,000 are read" in refusal(folder, ckpt.examples)
    (folder / "history.csv").write_text(start + "," * 10**6)
    assert "history.csv line 2 is not 5 numbers" in refusal(folder, ckpt.history)
    for extra in ({"examples": [("a", "u")] * 100_001}, {"history_csv": start + ",,,,\n" * 100_001}):
        settings = {name: getattr(ckpt, name) for name in ("config", "source_codec", "target_codec", "card")}
        state = ckpt.model.state_dict()
        refusal(folder, lambda: save_checkpoint(folder.parent / "new", state_dict=state, **settings, **extra))  # noqa: B023


def test_an_error_is_said_on_one_line_between_the_words_around_it():
    for error, said in (
        (ValueError("two\nlines"), "x (two lines): again"),
        (ValueError("a" * 300), f"x ({'a' * 199}…): again"),
        (ValueError(), "x (ValueError): again"),
        (KeyError("gelu_9"), "x (nothing is found under the name 'gelu_9'): again"),
        (CheckpointError("a sentence"), "a sentence"),
    ):
        with pytest.raises(CheckpointError) as told, files.explaining("x (", "): again", (ValueError, KeyError)):
            raise error
        assert str(told.value) == said
    with pytest.raises(TypeError), files.explaining("x"):
        raise TypeError
