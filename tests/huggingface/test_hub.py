"""Names on the Hugging Face hub: nothing is asked unless it is allowed, and what is fetched is what is read."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import constants
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
from huggingface_hub.utils import filter_repo_objects

from viz_transformer import huggingface
from viz_transformer.checkpoint import CheckpointError
from viz_transformer.command import main as program
from viz_transformer.huggingface import hub
from viz_transformer.huggingface.loading import load
from viz_transformer.huggingface.names import is_name

Written = Callable[[str], Path]
REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cached(written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache with one model, `someone/tiny`, and no network."""
    model = tmp_path / "hub" / "models--someone--tiny"
    shutil.copytree(written("gpt2"), model / "snapshots" / REVISION)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(REVISION)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return model / "snapshots" / REVISION


@pytest.fixture
def asked(written: Written, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What the hub was asked for; it gives a tiny GPT-2 for any name."""
    calls: list[tuple[str, dict[str, Any]]] = []

    def give(name: str, **settings: Any) -> str:
        calls.append((name, settings))
        return str(written("gpt2"))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", give)
    return calls


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        program(list(words))
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


@pytest.mark.parametrize("name", ["gpt2", "meta-llama/Llama-2-7b"])
def test_nothing_is_asked_of_the_hub_unless_it_is_allowed(
    asked: list[Any], capsys: pytest.CaptureFixture[str], name: str
) -> None:
    status, _, err = said(capsys, "inspect", name)
    assert status == 1 and len(err.strip().splitlines()) == 1 and asked == []
    assert err.startswith(f"there is no checkpoint '{name}'")
    assert err.strip().endswith(
        f"; a model of the name {name} on the Hugging Face hub is fetched where that is allowed, with --allow-download"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["inspect", "someone/tiny"],
        ["translate", "someone/tiny", "two"],
        ["trace", "someone/tiny", "two", "-o", "TRACE"],
        ["evaluate", "someone/tiny", "--data", "TEXT"],
    ],
)
def test_where_it_is_allowed_each_command_fetches_what_is_named(
    asked: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "text.txt").write_text("two hundred and four")
    paths = {"TRACE": str(tmp_path / "run.safetensors"), "TEXT": str(tmp_path / "text.txt")}
    assert said(capsys, *[paths.get(word, word) for word in words], "--allow-download")[0] == 0
    assert [name for name, _ in asked] == ["someone/tiny"] * 2  # settings, and then weights


def test_what_lies_here_is_not_asked_for(asked: list[Any], written: Written) -> None:
    assert load(written("gpt2"), allow_download=True).name == written("gpt2").name
    assert load("numbers-tiny", allow_download=True).name == "numbers-tiny"
    assert asked == []


def test_only_weights_settings_and_tokenizer_are_fetched(asked: list[Any]) -> None:
    load("someone/tiny", allow_download=True)
    (_, first), (_, settings) = asked
    assert {*first["allow_patterns"]} == {*settings["allow_patterns"]} - {
        "model.safetensors",
        "model-*-of-*.safetensors",
    }
    kept = [
        *("config.json", "generation_config.json", "model.safetensors", "model-00001-of-00002.safetensors"),
        *("model.safetensors.index.json", "tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt"),
        *("spiece.model", "source.spm", "target.spm", "special_tokens_map.json", "chat_template.jinja"),
    ]
    left = [
        *("pytorch_model.bin", "modeling_x.py", "tf_model.h5", "training_args.bin", "README.md", "adapter_model.bin"),
        *("onnx/model.safetensors", "original/config.json", "consolidated.safetensors", "flax_model.msgpack"),
    ]
    found = filter_repo_objects(
        [*kept, *left], allow_patterns=settings["allow_patterns"], ignore_patterns=settings["ignore_patterns"]
    )
    assert [*found] == kept
    assert not any(fnmatch("x.py", pattern) for pattern in hub.FETCHED)


def test_a_model_of_the_cache_is_opened_without_a_network_and_called_as_it_is_there(cached: Path) -> None:
    ckpt = load("someone/tiny", allow_download=True)
    assert ckpt.name == "tiny" and ckpt.path == cached and ckpt.spec.decoder_layers == 2
    with pytest.raises(CheckpointError, match="someone/other is not in the cache here, and the Hugging Face hub does"):
        load("someone/other", allow_download=True)


class _Answer:
    """What a server sent back."""

    headers: dict[str, str] = {}  # noqa: RUF012
    request = None
    status_code = 401


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (GatedRepoError, "someone/tiny requires agreeing to its terms"),
        (RepositoryNotFoundError, "the Hugging Face hub has no model 'someone/tiny' that can be read from here"),
        (OSError, "someone/tiny could not be downloaded from the Hugging Face hub"),
    ],
)
def test_what_the_hub_does_not_give_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Any, expected: str
) -> None:
    def refuse(name: str, **_: Any) -> str:
        raise error("no\nroom") if error is OSError else error("no\nroom", response=_Answer())

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    status, _, err = said(capsys, "inspect", "someone/tiny", "--allow-download")
    assert status == 1 and err.startswith(expected) and len(err.strip().splitlines()) == 1


def test_without_the_libraries_a_name_says_which_command_adds_them(
    monkeypatch: pytest.MonkeyPatch, asked: list[Any]
) -> None:
    monkeypatch.setattr(huggingface, "NEEDED", ("no_such_library",))
    with pytest.raises(CheckpointError, match="such as someone/tiny needs no_such_library: install it with"):
        load("someone/tiny", allow_download=True)
    assert asked == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("gpt2", True),
        ("facebook/bart-base", True),
        ("Qwen/Qwen2.5-0.5B", True),
        ("model.safetensors", False),
        ("runs/last.ckpt", False),
        ("/tmp/gpt2", False),
        ("./gpt2", False),
        ("a/b/c", False),
        ("", False),
        ("two words", False),
        ("../gpt2", False),
    ],
)
def test_a_name_is_told_from_a_path(given: str, expected: bool) -> None:
    assert is_name(given) == expected
    assert not expected or is_name(Path(given))
