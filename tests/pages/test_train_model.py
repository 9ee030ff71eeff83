"""Models, "Train on your data": a file, what is proposed, and a training that goes on in a process of its own."""

from __future__ import annotations

import gzip
import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from page_driver import again, figures, markup, opener, sent, words
from streamlit.testing.v1 import AppTest
from wording import wording

import viz_transformer as vt
from viz_transformer.train import processes
from viz_transformer.ui.pages.models import train_view
from viz_transformer.ui.pages.models.live_view import question

opened = opener("models", model_tab="train")
SECONDS = 180


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("VIZ_TRANSFORMER_CHECKPOINTS", str(tmp_path / "runs"))
    yield tmp_path / "runs"
    if (left := processes.running()) is not None:
        processes.stop(left)
        while left.running:
            time.sleep(0.05)


def named(app: AppTest, path: Path | str) -> AppTest:
    opened(app)
    app.text_input(key="train_pairs_path").set_value(str(path))
    return again(app)


def until(app: AppTest, there: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not there():
        assert time.monotonic() < deadline, words(app)
        time.sleep(0.5)
        again(app)


def has(app: AppTest, key: str) -> bool:
    return any(button.key == key for button in app.button)


def test_what_is_proposed_is_shown_can_be_changed_and_comes_back(app: AppTest, runs: Path, digits: Path) -> None:
    named(app, digits)
    said = words(app)
    assert "109 pairs to train on" in said and "2+2 layers, d_model 64, 4 heads" in said and "--" not in said
    assert wording("an_estimate_appears_after_the_first_steps") in said and " left" not in said
    assert app.text_input(key="train_name").value == "digits"
    assert [app.number_input(key=f"train_{name}").value for name in ("longest", "layers", "epochs")] == [512, 2, 500]
    app.number_input(key="train_layers").set_value(1)
    again(app)
    app.number_input(key="train_heads").set_value(3)
    again(app)
    assert "1+1 layers, d_model 66, 3 heads" in words(app) and app.number_input(key="train_d_model").value == 66
    app.number_input(key="train_d_model").set_value(64)
    again(app)
    assert "cannot be split evenly" in words(app) and app.button(key="train_button").disabled
    app.button(key="train_as_proposed").click().run()
    assert "2+2 layers, d_model 64, 4 heads" in words(app) and not app.button(key="train_button").disabled
    app.selectbox(key="train_tokens").set_value("bpe").run()
    assert "okens: bpe" in words(app) and app.number_input(key="train_vocabulary").value > 10
    assert not runs.exists()


def test_a_text_that_is_too_long_says_which_setting_reads_it(app: AppTest, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "long.tsv").write_text("ab\tcd\nef\tgh\n" + "x" * 600 + "\ty\n")
    named(app, tmp_path / "long.tsv")
    assert "line 3: the source has 602 tokens" in words(app) and "set “Longest text” to 602" in words(app)
    app.number_input(key="train_longest").set_value(602)
    again(app)
    assert "1 pairs to train on" in words(app) and not app.button(key="train_button").disabled


def test_of_a_comma_file_the_columns_are_asked_and_read(app: AppTest, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("source,target\n" + "".join(f"{n},{n + 1}\n" for n in range(40)) + "1,2\n")
    named(app, tmp_path / "f.csv")
    assert "set “Columns” to source,target" in words(app) and "--" not in words(app)
    assert app.button(key="train_button").disabled
    app.text_input(key="train_columns").set_value("source,target").run()
    assert " pairs to train on" in words(app) and "line 42 repeats line 3" in words(app)
    assert not app.button(key="train_button").disabled and "--" not in words(app)
    app.text_input(key="train_columns").set_value("").run()
    assert "set “Columns” to source,target" in words(app)


@pytest.mark.parametrize("path", ["/no/such/file.tsv", "/dev/zero", "\x00", "a" * 3_000, "<b>x</b>", "/tmp"])
def test_what_is_no_file_ends_in_a_sentence(path: str, app: AppTest, runs: Path) -> None:
    named(app, path)
    assert 'role="status"' in markup(app) and "<b>" not in markup(app) and not app.exception
    assert app.button(key="train_button").disabled and not runs.exists()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"a\tb\n", b"a\tb\tc\n", b"\x1f\x8b\x08junk", b"\t\n" * 9])
def test_a_hostile_file_ends_in_a_sentence(content: bytes, app: AppTest, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.tsv").write_bytes(content)
    named(app, tmp_path / "odd.tsv")
    assert 'role="status"' in markup(app) and app.button(key="train_button").disabled


def test_without_the_libraries_it_says_which_command_adds_them(
    app: AppTest, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "lightning" else find(name))
    opened(app)
    assert "`pip install -e '.[train]'` installs them" in words(app) and not has(app, "train_button")


@pytest.mark.parametrize("ending", ["tsv", "tsv.gz"])
def test_of_a_large_file_the_beginning_is_read_kept_and_said(
    app: AppTest, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(train_view, "MAX_READ", 3_000)
    lines = [f"{n:05}\t{n:05}\n" for n in range(50_000)]
    content = "".join(lines).encode()
    (tmp_path / f"large.{ending}").write_bytes(content if ending == "tsv" else gzip.compress(content))
    started: list[tuple[Path, bool]] = []

    def start(asked: processes.Asked, name: str, taken: set[str], *, keep: bool) -> processes.Training:
        started.append((Path(asked.own.pairs), keep))
        raise ValueError("not now")

    monkeypatch.setattr(train_view.processes, "start", start)
    named(app, tmp_path / f"large.{ending}")
    assert wording("is_large_its_first_are_read", f"large.{ending}") in words(app)
    assert "large.tsv: 226 pairs to train on" in words(app) and "viz-transformer-" not in words(app)
    app.button(key="train_button").click().run()
    ((path, keep),) = started
    assert keep and path.read_text() == "".join(lines[:250])


def test_a_training_is_watched_stopped_found_again_resumed_and_opened(
    app: AppTest, new_app: Callable[[], AppTest], runs: Path, digits: Path
) -> None:
    opened(app)
    app.file_uploader(key="train_pairs_file").set_value(("digits.tsv", digits.read_bytes(), "text/plain"))
    again(app)
    for name, value in (("layers", 1), ("heads", 2), ("d_model", 8), ("epochs", 9_000), ("snapshots", 20)):
        app.number_input(key=f"train_{name}").set_value(value)
        again(app)
    app.text_input(key="train_name").set_value("numbers")
    again(app)
    app.button(key="train_button").click().run()
    assert "There is a model or a training named numbers already: choose another name." in words(app)
    app.text_input(key="train_name").set_value("turned")
    app.button(key="train_button").click().run()
    assert not app.exception and "Training turned" in words(app) and not has(app, "train_button")
    assert "What has turned learned so far?" in words(app) and "How good is" not in words(app)
    assert (runs / "turned.tsv").read_bytes() == digits.read_bytes()  # dropped: it outlasts the session

    other = opened(new_app())  # another browser, or this one after the app began anew
    until(other, lambda: " left." in words(other) and figures(other))
    assert "Exactly right at step" in words(other) and "when the app ends" in words(other)
    until(other, lambda: len(sent(other, "snapshots")[0]["snapshots"]) > 1)
    header, arrays = sent(other, "snapshots")
    assert header["snapshots"][0]["step"] == 0 and arrays["losses"][0] > 1
    other.button(key="train_stop").click().run()
    until(other, lambda: has(other, "train_go_on"))
    assert "Stopped. It can go on from step" in words(other) and not has(other, "train_stop")

    (training,) = processes.trainings()
    saved = training.progress()
    assert saved is not None
    steps = processes.replace(training.asked, epochs=None, steps=saved.saved + 20)
    steps.write(training.state)
    other.button(key="train_another").click().run()
    assert "turned: stopped, can go on" in words(other)
    other.button(key="train_show_turned").click().run()
    other.button(key="train_go_on").click().run()
    assert has(other, "train_stop")
    until(other, lambda: has(other, "train_open"))
    assert wording("is_now_a_model_on_every_page", "turned") in words(other)
    other.button(key="train_open").click().run()
    assert other.session_state["selection"]["checkpoint"] == "turned"
    assert vt.load(runs / "turned").card["steps"] == saved.saved + 20


def test_a_training_that_failed_says_why_and_is_removed(app: AppTest, runs: Path, digits: Path) -> None:
    state = runs / "broken.training"
    state.mkdir(parents=True)
    processes.Asked(own=processes.OwnData(pairs=digits)).write(state)
    (state / processes.LOG).write_text("Traceback\nRuntimeError: no <b>room</b>\n")
    opened(app)
    assert "broken: nothing saved" in words(app)
    app.button(key="train_show_broken").click().run()
    assert "RuntimeError: no <b>room</b>. " + wording("nothing_was_saved_it_can_start_over") in words(app)
    (state / processes.LOG).write_text("")
    assert wording("it_ended_without_a_message") in words(again(app))
    app.button(key="train_another").click().run()
    app.button(key="train_remove_broken").click().run()
    assert not state.exists() and "broken" not in words(app)


def test_the_question_of_a_training_is_answered_by_its_validation_loss() -> None:
    rows = [{"step": step, "train_loss": 1.0, "validation_loss": loss} for step, loss in ((0, 3.456), (1200, 0.5))]
    assert question("turned", []).answer == "No loss has been measured yet."
    assert question("turned", rows[:1]).answer == "At step 0 its validation loss is 3.46."
    assert question("turned", rows).answer == wording("its_validation_loss_was_and_is", 3.46, 0, 0.5, "1,200")
