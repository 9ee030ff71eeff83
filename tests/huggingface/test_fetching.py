"""A model is fetched over HTTP from a server that answers as the hub does: settings first, refusals in words."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from hub_server import REVISION, Hub, hub
from huggingface_hub import constants
from huggingface_hub.utils import are_progress_bars_disabled

from viz_transformer.checkpoint import CheckpointError
from viz_transformer.command import main as program
from viz_transformer.huggingface.hub import fetched
from viz_transformer.huggingface.loading import load
from viz_transformer.running.tracing import trace

Written = Callable[[str], Path]
NAME = "someone/tiny"


@pytest.fixture
def model(written: Written, tmp_path: Path) -> Path:
    """The folder that the hub gives, to be changed; beside what is read lies what is not."""
    folder = tmp_path / "model"
    shutil.copytree(written("gpt2"), folder)
    for name in ("README.md", "pytorch_model.bin", "modeling_tiny.py"):
        (folder / name).write_text("not read")
    return folder


@pytest.fixture
def there(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """The hub, asked instead of huggingface.co, and an empty cache."""
    with hub(someone__tiny=model) as found:
        monkeypatch.setattr(constants, "ENDPOINT", found.address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", found.address + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        yield found


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits between two tries."""
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)


def test_settings_come_before_weights_and_nothing_else_comes(there: Hub, model: Path) -> None:
    ckpt = load(NAME, allow_download=True)
    assert there.files[-1] == "model.safetensors" and "config.json" in there.files[:-1]
    assert not {"README.md", "pytorch_model.bin", "modeling_tiny.py"} & {*there.files}
    assert ckpt.name == "tiny"
    assert torch.equal(trace(ckpt, "two hundred")["logits"], trace(load(model), "two hundred")["logits"])


def test_what_lies_in_the_cache_is_not_fetched_again_and_needs_no_network(
    there: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fetched(NAME)
    there.sent.clear()
    assert fetched(NAME) == folder and there.sent == []
    there.asked.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fetched(NAME) == folder and there.asked == []


def change(model: Path, **settings: object) -> None:
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | settings))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"model_type": "mamba"},
            "someone/tiny/config.json describes a model of type 'mamba', which cannot be recorded",
        ),
        ({"auto_map": {"AutoModel": "x.Y"}}, "someone/tiny/config.json asks for code of the folder's own (auto_map)"),
        ({"quantization_config": {"bits": 4}}, "someone/tiny/config.json says that the weights are quantised"),
    ],
)
def test_no_weights_are_fetched_of_a_model_that_its_settings_refuse(
    there: Hub, model: Path, settings: dict[str, object], expected: str
) -> None:
    change(model, **settings)
    with pytest.raises(CheckpointError) as refused:
        load(NAME, allow_download=True)
    assert str(refused.value).startswith(expected)
    assert "model.safetensors" not in there.files and "config.json" in there.files


def test_an_adapter_and_a_model_without_safetensors_are_sentences(there: Hub, model: Path) -> None:
    (model / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"^someone/tiny has no weights as safetensors on the Hugging Face hub"):
        fetched(NAME)
    (model / "config.json").rename(model / "adapter_config.json")
    there.models["someone/adapter"] = model
    with pytest.raises(CheckpointError, match=r"^someone/adapter holds only an adapter"):
        fetched("someone/adapter")
    assert "pytorch_model.bin" not in there.files


def test_a_break_is_gone_over(there: Hub, model: Path, patient: None) -> None:
    size = (model / "model.safetensors").stat().st_size
    there.breaks["model.safetensors"] = size // 2
    folder = fetched(NAME)
    assert next(sent for name, sent in there.sent if name == "model.safetensors") == size // 2
    assert (folder / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()


def test_settings_alone_in_the_cache_are_no_model(
    there: Hub, model: Path, monkeypatch: pytest.MonkeyPatch, patient: None
) -> None:
    change(model, model_type="mamba")
    with pytest.raises(CheckpointError, match="mamba"):
        fetched(NAME)
    change(model, model_type="gpt2")
    cached = Path(constants.HF_HUB_CACHE) / "models--someone--tiny" / "snapshots" / REVISION
    (cached / "config.json").unlink()
    shutil.copy(model / "config.json", cached)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(
        CheckpointError, match=r"^someone/tiny is not in the cache here, and the Hugging Face hub does not"
    ):
        fetched(NAME)


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (401, {"X-Error-Code": "RepoNotFound"}, "the Hugging Face hub has no model 'someone/tiny' that can be read"),
        (401, {}, "the Hugging Face hub denies access to someone/tiny (401): log in with"),
        (404, {"X-Error-Code": "RepoNotFound"}, "the Hugging Face hub has no model 'someone/tiny' that can be read"),
        (403, {"X-Error-Code": "GatedRepo"}, "someone/tiny requires agreeing to its terms"),
        (403, {}, "the Hugging Face hub denies access to someone/tiny (403): log in with"),
        (429, {}, "the Hugging Face hub was asked too often from here (429): try someone/tiny again in some minutes"),
        (503, {}, "the Hugging Face hub could not provide someone/tiny (503): try it again later, or give a folder"),
    ],
)
def test_what_the_hub_answers_is_one_sentence(
    there: Hub,
    capsys: pytest.CaptureFixture[str],
    patient: None,
    status: int,
    headers: dict[str, str],
    expected: str,
) -> None:
    there.refuses = (status, headers)
    with pytest.raises(SystemExit) as left:
        program(["inspect", NAME, "--allow-download"])
    out, err = capsys.readouterr()
    assert left.value.code == 1 and out == "" and len(err.strip().splitlines()) == 1
    assert err.startswith(expected)


def test_a_hub_that_is_not_there_is_one_sentence(there: Hub, monkeypatch: pytest.MonkeyPatch, patient: None) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")  # where nothing listens
    with pytest.raises(CheckpointError, match="and the Hugging Face hub does not answer: try it again with a network"):
        fetched(NAME)


def test_bars_are_as_they_were(there: Hub) -> None:
    before = are_progress_bars_disabled()
    fetched(NAME)
    assert are_progress_bars_disabled() is before
