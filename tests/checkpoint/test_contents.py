"""Finding and listing checkpoints reads JSON only, and says what is wrong with a folder instead of hiding it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from builders import tiny_checkpoint

from viz_transformer.checkpoint import CheckpointError, Summary, contents, list_checkpoints, load, save_checkpoint
from viz_transformer.checkpoint.contents import Unreadable


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of checkpoints, "alpha" and "beta", that counts as the bundled one."""
    folder = tmp_path / "checkpoints"
    for name in ("beta", "alpha"):
        ckpt = tiny_checkpoint()
        save_checkpoint(
            folder / name,
            state_dict=ckpt.model.state_dict(),
            config=ckpt.config,
            source_codec=ckpt.source_codec,
            target_codec=ckpt.target_codec,
            card={"task": name},
            examples=[("a", "u")],
            snapshots={2: ckpt.model.state_dict()},
        )
    monkeypatch.setattr(contents, "bundled_folder", lambda: folder)
    return folder


def test_the_list_has_every_checkpoint_by_name_with_config_card_and_size(bundled: Path) -> None:
    (bundled / "a file").touch()
    (bundled / ".hidden").mkdir()
    alpha, beta = list_checkpoints()
    assert isinstance(alpha, Summary)
    assert isinstance(beta, Summary)
    assert (alpha.name, beta.name) == ("alpha", "beta")
    assert alpha.path == bundled / "alpha"
    assert alpha.card["task"] == "alpha"
    assert alpha.config == tiny_checkpoint().config
    assert alpha.parameter_count == tiny_checkpoint().parameter_count
    assert (alpha.snapshots(), alpha.history(), alpha.examples()) == ((2,), [], [("a", "u")])


def test_what_has_not_changed_is_not_read_again_and_what_has_is(bundled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    list_checkpoints()
    read: list[str] = []
    read_json = contents.files.read_json_object
    monkeypatch.setattr(
        contents.files, "read_json_object", lambda path: read.append(path.parent.name) or read_json(path)
    )
    list_checkpoints()
    assert read == []
    card = bundled / "beta" / "card.json"
    card.write_text(card.read_text().replace("beta", "soup"))  # of the same length
    alpha, beta = list_checkpoints()
    assert isinstance(alpha, Summary)
    assert isinstance(beta, Summary)
    assert (alpha.card["task"], beta.card["task"], set(read)) == ("alpha", "soup", {"beta"})
    card.unlink()
    assert isinstance(list_checkpoints()[1], Unreadable)


def test_a_broken_folder_is_listed_with_the_reason(bundled: Path) -> None:
    (bundled / "beta" / "config.json").unlink()
    listed = list_checkpoints()
    assert [entry.name for entry in listed] == ["alpha", "beta"]
    broken = listed[1]
    assert isinstance(broken, Unreadable)
    assert "config.json is missing" in broken.error


def test_listing_imports_no_torch(bundled: Path) -> None:
    code = """
import sys
from pathlib import Path
from viz_transformer.checkpoint import list_checkpoints
first = list_checkpoints(Path(sys.argv[1]))[0]
first.parameter_count, first.history(), first.examples()
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(bundled)], check=True)


def test_no_folder_means_no_checkpoints(tmp_path: Path) -> None:
    assert list_checkpoints(tmp_path / "nowhere") == ()


def test_a_checkpoint_that_a_kill_left_beside_its_place_is_listed_and_loaded(bundled: Path) -> None:
    (bundled / "alpha").rename(bundled / ".alpha.old")
    assert load(bundled / "alpha").card["task"] == "alpha"
    (bundled / "alpha").rename(bundled / ".alpha.old")
    assert [entry.name for entry in list_checkpoints()] == ["alpha", "beta"]


def test_a_name_finds_the_bundled_checkpoint_also_beside_a_folder_that_is_none(
    bundled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here" / "alpha").mkdir(parents=True)  # such as a folder of data
    monkeypatch.chdir(tmp_path / "here")
    assert load("alpha").path == bundled / "alpha"
    assert load("alpha").name == "alpha"


def test_a_checkpoint_folder_here_comes_before_the_bundled_one(
    bundled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bundled / "beta").rename(tmp_path / "alpha")
    monkeypatch.chdir(tmp_path)
    assert load("alpha").card["task"] == "beta"


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("alhpa", "there is no checkpoint 'alhpa': did you mean 'alpha'?"),
        ("zzz", "there is no checkpoint 'zzz': give a folder or alpha or beta"),
        ("a/b", "there is no checkpoint 'a/b': "),
        ("a\0b", r"there is no checkpoint 'a\x00b': "),
        ("x" * 5000, "there is no checkpoint 'xxx"),
        ("", "config.json is missing"),
    ],
)
@pytest.mark.usefixtures("bundled")
def test_a_name_that_finds_nothing_says_what_there_is(
    where: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError) as caught:
        load(where)
    assert str(caught.value).startswith(sentence)


def test_a_file_in_place_of_the_folder_says_how_to_make_one(tmp_path: Path) -> None:
    (tmp_path / "model.pt").touch()
    with pytest.raises(
        CheckpointError, match=r"model\.pt is a file, not a checkpoint folder: .* `viz_transformer\.save_checkpoint`"
    ):
        load(tmp_path / "model.pt")


def test_bundled_checkpoints_lie_beside_the_package_in_a_checkout_and_inside_it_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "viz_transformer"
    monkeypatch.setattr(contents, "__file__", str(package / "checkpoint" / "contents.py"))
    assert contents.bundled_folder() == package / "_app" / "checkpoints"
    (tmp_path / "pyproject.toml").touch()
    assert contents.bundled_folder() == tmp_path / "checkpoints"
