"""A training that gets a signal says where it stopped, and goes on from there as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from viz_transformer.train.stopping import SIGNALS, Stop, Stopped

Outcomes = dict[str, Any]
GOES_ON = {
    "resumed": 0,
    "same": True,
}  # to the very weights, snapshots and history of the unbroken one, and nothing else

IMPORTING = """
import importlib.abc, signal, sys, time
from viz_transformer.command import main
class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "viz_transformer.train.run":
            assert "torch" not in sys.modules
            print("importing", flush=True)
            time.sleep(100)
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever who started this ignores
sys.meta_path.insert(0, Slow())
main(["train", "numbers", *sys.argv[1:]])
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """How the trainings of `interrupted.py` ended."""
    return interrupted(tmp_path_factory.mktemp("trainings"))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """How those ended that were killed at any moment."""
    return interrupted(tmp_path_factory.mktemp("killed"), "killed")


def interrupted(folder: Path, *words: str) -> Outcomes:
    script = Path(__file__).parent / "interrupted.py"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(script), str(folder), *words], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found: Outcomes = json.loads(done.stdout)
    assert found["whole"] == 0
    return found


def ends(outcome: dict[str, Any]) -> tuple[int, str, int | None]:
    return outcome["status"], outcome["said"], outcome["saved"]


def goes_on(outcome: dict[str, Any]) -> bool:
    return {name: outcome.get(name) for name in GOES_ON} == GOES_ON


@pytest.mark.parametrize(("name", "status"), [("SIGINT in step 8", 130), ("SIGTERM in step 8", 143)])
def test_a_signal_ends_a_training_after_the_step_which_is_saved(outcomes: Outcomes, name: str, status: int):
    """The plan saves every 5 steps."""
    outcome = outcomes[name]
    assert ends(outcome) == (status, "stopped after step 8, the last saved step is 8: continue with --resume", 8)
    assert goes_on(outcome) and not outcome["exported"]


def test_a_training_started_from_python_ends_in_the_same_way(outcomes: Outcomes):
    assert outcomes["from Python"] == outcomes["SIGTERM in step 8"]


def test_a_signal_in_the_last_step_leaves_only_the_export_to_do(outcomes: Outcomes):
    outcome = outcomes["SIGTERM in the last step"]
    assert ends(outcome) == (143, "stopped after step 12, the last saved step is 12: continue with --resume", 12)
    assert goes_on(outcome) and not outcome["exported"]


def test_a_second_signal_ends_a_training_at_once(outcomes: Outcomes):
    outcome = outcomes["two signals in step 8"]
    assert ends(outcome) == (130, "stopped at once, the last saved step is 5: continue with --resume", 5)
    assert goes_on(outcome)


def test_resume_is_not_promised_before_anything_is_saved(outcomes: Outcomes):
    assert ends(outcomes["two signals in step 3"]) == (143, "stopped at once: nothing was saved", None)
    assert ends(outcomes["reading"]) == (130, "stopped at the start: nothing was saved", None)
    assert ends(outcomes["first measurement"]) == (143, "stopped at the start: nothing was saved", None)


def test_a_signal_ends_a_training_whatever_becomes_of_the_exception(outcomes: Outcomes):
    for name in ("swallowed", "turned into another error"):
        assert ends(outcomes[name]) == (143, "stopped at the start: nothing was saved", None)


def test_a_signal_in_the_final_evaluation_leaves_the_rest_to_resume(outcomes: Outcomes):
    outcome = outcomes["evaluation"]
    sentence = "stopped before the checkpoint was complete, the last saved step is 12: continue with --resume"
    assert ends(outcome) == (130, sentence, 12)
    assert goes_on(outcome)


def test_a_signal_during_a_save_lets_it_end_and_a_second_leaves_the_older_state(outcomes: Outcomes):
    once, twice = outcomes["saving"], outcomes["two signals while saving"]
    assert ends(once) == (143, "stopped after step 6, the last saved step is 6: continue with --resume", 6)
    assert ends(twice) == (143, "stopped at once, the last saved step is 5: continue with --resume", 5)
    assert (once["half"], twice["half"]) == (0, 1)
    assert goes_on(once) and goes_on(twice)


def test_a_full_disk_is_named_and_the_older_state_stays(outcomes: Outcomes):
    status, said, saved = ends(outcomes["full disk"])
    assert (status, saved) == (1, 5)
    assert said.endswith("full disk.training is full, the last saved step is 5: make room, then continue with --resume")
    assert outcomes["full disk"]["half"] == 0 and goes_on(outcomes["full disk"])


def test_two_trainings_in_one_folder_are_refused_and_a_killed_one_is_in_nobodys_way(outcomes: Outcomes):
    outcome = outcomes["twice"]
    for status, said in outcome["seconds"]:
        assert status == 1 and said.startswith("another training is running in ") and "--out" in said
    assert (outcome["status"], outcome["saved"]) == (-signal.SIGKILL, 5)
    assert goes_on(outcome)


@pytest.mark.slow
def test_a_training_killed_at_any_moment_goes_on_from_the_last_state(killed: Outcomes):
    ended = killed["training"]
    assert len(ended) > 4 and all(outcome["status"] == -signal.SIGKILL for outcome in ended)
    assert [outcome["begun"] for outcome in ended].count(True) > 3
    assert all(outcome["again"] == 0 and outcome["same"] for outcome in ended)


@pytest.mark.slow
def test_a_training_killed_while_it_clears_an_older_one_away_can_be_begun_again(killed: Outcomes):
    ended = killed["clearing"]
    assert len(ended) > 4
    assert all(each == [-signal.SIGKILL, 0] for each in ended)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "stopped at the start: nothing was saved\n"),
        (["--resume"], "stopped at the start, earlier saves are unchanged: continue with --resume\n"),
    ],
)
@pytest.mark.parametrize(("signum", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_heard_while_the_command_is_still_being_imported(
    tmp_path: Path, signum: int, status: int, options: list[str], sentence: str
):
    command = [sys.executable, "-c", IMPORTING, *options, "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "importing\n"
        process.send_signal(signum)
        _, said = process.communicate()
    assert (process.returncode, said) == (status, sentence)
    assert list(tmp_path.iterdir()) == []


def test_signals_that_are_ignored_stay_ignored_and_the_handlers_of_before_come_back():
    before = {signum: signal.getsignal(signum) for signum in SIGNALS}
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        ours = signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with Stop():
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_DFL, ours)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def test_another_process_of_a_training_says_nothing(capfd: pytest.CaptureFixture[str]):
    with pytest.raises(Stopped) as stopped, Stop() as stop:
        stop.silent = True
        stop.raise_stopped()  # as a process does that has got no signal itself
    assert stopped.value.code == 143 and capfd.readouterr().err == ""
