import subprocess
import sys
import threading
import time

import pytest

from viz_transformer.analysis.playground.background import Busy, Training, Trainings

LONG = 30.0  # seconds that nothing here needs, unless it hangs


class Counting:
    """Steps that wait for a sign each, or run freely."""

    def __init__(self, total=10**9, gated=False):
        self.total, self.done, self.settled = total, 0, []
        self.gate, self.inside = threading.Semaphore(0) if gated else None, threading.Event()

    def step(self):
        self.inside.set()
        if self.gate is not None:
            assert self.gate.acquire(timeout=LONG)
        self.done += 1

    def settle(self):
        self.settled.append(self.done)


def wait_for(true):
    end = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.001)


def test_all_steps_are_made_once_and_then_it_settles():
    training = Training(lambda: Counting(250))
    training.start()
    assert training.join(LONG)
    assert (training.state, training.work.done, training.work.settled) == ("done", 250, [250])


def test_a_stop_is_obeyed_within_the_step_that_is_being_made():
    training = Training(lambda: Counting(gated=True))
    training.start()
    wait_for(lambda: training.work is not None)
    for _ in range(3):
        training.work.gate.release()
    wait_for(lambda: training.work.done == 3)
    training.work.inside.clear()
    training.stop()
    for _ in range(10):
        training.work.gate.release()  # nothing would hold further steps back
    assert training.join(LONG)
    assert training.work.done <= 4 and training.state == "stopped"
    assert training.work.settled == [training.work.done]


def test_a_stop_before_the_first_step_leaves_it_at_none():
    ready = threading.Event()

    def make():
        assert ready.wait(LONG)
        return Counting()

    training = Training(make)
    training.start()
    assert training.state == "starting" and training.work is None
    training.stop()
    ready.set()
    assert training.join(LONG)
    assert (training.work.done, training.state) == (0, "stopped")


def test_it_goes_on_where_it_stopped():
    training = Training(lambda: Counting(40, gated=True))
    training.start()
    wait_for(lambda: training.work is not None)
    training.work.gate.release()
    training.stop()
    training.work.gate.release(39)
    assert training.join(LONG)
    before, work = training.work.done, training.work
    assert 0 < before < 40
    work.gate.release(40)
    training.start()
    assert training.join(LONG)
    assert training.work is work and (work.done, training.state) == (40, "done")


def test_nobody_looking_stops_it_and_looking_keeps_it():
    training = Training(Counting, patience=0.4)
    training.start()
    for _ in range(12):
        time.sleep(0.05)
        training.seen()
    assert training.going
    assert training.join(LONG)
    assert training.state == "left" and not training.going


def test_a_failure_is_a_sentence_and_can_be_begun_again():
    class Broken(Counting):
        def step(self):
            if self.done == 2:
                raise ValueError("no such number")
            super().step()

    training = Training(Broken)
    training.start()
    assert training.join(LONG)
    assert (training.state, training.error) == ("failed", "ValueError: no such number")
    first = training.work
    training.start()
    assert training.join(LONG)
    assert training.work is not first and training.state == "failed"


def test_starting_twice_or_when_done_does_nothing():
    made = []
    training = Training(lambda: made.append(1) or Counting(5))
    training.start()
    training.start()
    assert training.join(LONG)
    training.start()
    assert training.state == "done" and made == [1] and training.work.done == 5


# --- all of a server


def test_only_so_many_run_at_once_and_one_that_stops_makes_room():
    all_of_them = Trainings(most_running=2)
    first, second = (all_of_them.start(owner, 0, Counting) for owner in "ab")
    with pytest.raises(Busy, match="2 trainings are running on this server"):
        all_of_them.start("c", 0, Counting)
    assert all_of_them.running == 2 and all_of_them.find("c", 0) is None
    first.stop()
    assert first.join(LONG)
    third = all_of_them.start("c", 0, Counting)
    for each in (second, third):
        each.stop()
        assert each.join(LONG)
    assert all_of_them.running == 0


def test_the_owner_who_starts_again_gets_the_same_one():
    all_of_them = Trainings(most_running=1)
    first = all_of_them.start("a", 0, Counting)
    assert all_of_them.start("a", 0, Counting) is first  # and it does not count against itself
    first.stop()
    assert first.join(LONG)
    assert all_of_them.start("a", 0, Counting) is first and first.going
    all_of_them.forget("a")
    assert first.join(LONG)


def test_other_settings_stop_the_old_one():
    all_of_them = Trainings()
    old = all_of_them.start("a", "seed 0", Counting)
    assert all_of_them.find("a", "seed 1") is None
    assert old.join(LONG) and old.state == "stopped"
    assert all_of_them.find("a", "seed 0") is None


def test_one_that_was_forgotten_counts_until_it_has_ended():
    all_of_them = Trainings(most_running=1)
    old = all_of_them.start("a", 0, lambda: Counting(gated=True))
    wait_for(lambda: old.work is not None and old.work.inside.is_set())
    all_of_them.forget("a")
    with pytest.raises(Busy):
        all_of_them.start("b", 0, Counting)
    old.work.gate.release()
    assert old.join(LONG)
    new = all_of_them.start("b", 0, Counting)
    all_of_them.forget("b")
    assert new.join(LONG)


def test_no_more_are_kept_than_there_is_room_for_and_none_that_goes_is_thrown_out():
    all_of_them = Trainings(most_running=2, most_kept=3)
    going = all_of_them.start("first", 0, Counting)
    for owner in range(5):
        assert all_of_them.start(owner, 0, lambda: Counting(1)).join(LONG)
    kept = [owner for owner in ("first", *range(5)) if all_of_them.find(owner, 0) is not None]
    assert kept == ["first", 3, 4]
    all_of_them.forget("first")
    assert going.join(LONG)


def test_threads_take_turns_more_often_only_while_a_training_goes_on():
    usual = sys.getswitchinterval()
    training = Training(Counting)
    training.start()
    wait_for(lambda: training.state == "running" and sys.getswitchinterval() < usual)
    training.stop()
    assert training.join(LONG)
    assert sys.getswitchinterval() == usual


def test_the_end_of_the_process_ends_a_training_in_peace():
    script = (
        "from viz_transformer.analysis.playground.background import Training\n"
        "from viz_transformer.analysis.playground.experiments import CopySettings, new_copying\n"
        "import time\n"
        "training = Training(lambda: new_copying(CopySettings(steps=10**6)))\n"
        "training.start()\n"
        "while training.work is None or training.work.done < 2: time.sleep(0.01)\n"
        "print('going', training.going)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout, done.stderr) == (0, "going True\n", "")
