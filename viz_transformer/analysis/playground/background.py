"""Small trainings in threads of their own: a few at once, stopped within one step, ended when nobody watches.

A training is an object that makes one step at a time. It belongs to one owner; whoever looks at it says so (`seen`),
and where nobody has for a while it stops by itself. What it has learned stays: it can go on later.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Literal, Protocol, TypeVar
from weakref import WeakSet

State = Literal["starting", "running", "stopped", "left", "done", "failed"]
GOING: tuple[State, ...] = ("starting", "running")
MAX_RUNNING = 2
MAX_KEPT = 24
PATIENCE = 10.0
"""Seconds without a look after which a training stops."""
_WORK, _REST = 1e-2, 1e-4
"""Seconds of work between two rests, and the rest, in which other threads of the server get Python's lock. Work is
counted on the processor's clock: on a busy machine a rest may cost a whole turn of the others."""


_TURN = 1e-3
"""Seconds after which a thread that waits for Python's lock gets it, while a training goes on. Python's own 5 ms make a
training crawl beside any busy thread: torch gives the lock away at each of its small operations."""
_turns_lock, _turns = threading.Lock(), [0, 0.0]


@contextmanager
def _quick_turns() -> Iterator[None]:
    """Shorten Python's thread switch interval while any caller is inside; the last one restores it."""
    with _turns_lock:
        if not _turns[0]:
            _turns[1] = sys.getswitchinterval()
            sys.setswitchinterval(_TURN)
        _turns[0] += 1
    try:
        yield
    finally:
        with _turns_lock:
            _turns[0] -= 1
            if not _turns[0]:
                sys.setswitchinterval(_turns[1])


class Steps(Protocol):
    """The work of a training. `step` makes one step; `settle` is called once after the last one, finished or not."""

    total: int
    done: int

    def step(self) -> None: ...

    def settle(self) -> None: ...


T = TypeVar("T", bound=Steps)


class Busy(ValueError):
    """As many trainings are running as may at once."""


class Training(Generic[T]):
    """One training: `work` (None until its thread has made it) and its `state`.

    `error` is one sentence where it has failed.
    """

    def __init__(self, make: Callable[[], T], *, patience: float = PATIENCE) -> None:
        self.work: T | None = None
        self.state: State = "stopped"
        self.error: str | None = None
        self._make = make
        self._patience = patience
        self._stop = threading.Event()
        self._seen = time.monotonic()
        self._thread: threading.Thread | None = None

    @property
    def going(self) -> bool:
        """Whether its thread is at work."""
        return self.state in GOING

    def seen(self) -> None:
        """Extend the training's time, because somebody watches it."""
        self._seen = time.monotonic()

    def stop(self) -> None:
        """Ask it to stop; it makes no further step than the one that it is making."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until its thread has ended, and return whether it has."""
        if self._thread is not None:
            self._thread.join(timeout)
            return not self._thread.is_alive()
        return True

    def start(self) -> None:
        """Begin, or go on where it stopped. Does nothing if it is going or done."""
        if self.going or self.state == "done":
            return
        self.join()
        if self.state == "failed":  # what it had learned may be broken
            self.work, self.error = None, None
        self._stop.clear()
        self.seen()
        self.state = "starting"
        _started.add(self)
        self._thread = threading.Thread(target=self._run, name="viz-transformer-training", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            if self.work is None:
                self.work = self._make()
            self.state = "running"
            with _quick_turns():
                ended = self._steps(self.work)
            self.work.settle()
            self.state = ended
        except Exception as error:  # whatever went wrong is said where the result would be
            self.error = f"{type(error).__name__}: {error}"
            self.state = "failed"

    def _steps(self, work: T) -> State:
        """Make the remaining steps, and return the state that ended them."""
        rested = time.thread_time()
        while work.done < work.total:
            if self._stop.is_set():
                return "stopped"
            work.step()
            if time.monotonic() - self._seen > self._patience:
                return "left"
            if time.thread_time() - rested > _WORK:
                time.sleep(_REST)
                rested = time.thread_time()
        return "done"


_started: WeakSet[Training[Any]] = WeakSet()


@atexit.register
def stop_all() -> None:
    """Stop every training of this process: a thread that torch is at work in must not meet the end of Python."""
    for training in list(_started):
        training.stop()
    for training in list(_started):
        training.join(5.0)


class Trainings:
    """The trainings of a server by their owners; the oldest that is not going makes room for a new one."""

    def __init__(
        self, *, most_running: int = MAX_RUNNING, most_kept: int = MAX_KEPT, patience: float = PATIENCE
    ) -> None:
        self._most_running, self._most_kept, self._patience = most_running, most_kept, patience
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Hashable, Training[Steps]]] = OrderedDict()
        self._ending: list[Training[Steps]] = []  # forgotten, and perhaps still in their last step

    def find(self, owner: Hashable, settings: Hashable) -> Training[Steps] | None:
        """The owner's training if it has these settings. One with others is stopped and forgotten."""
        with self._lock:
            settled = self._kept.get(owner)
            if settled is not None and settled[0] != settings:
                self._drop(owner)
                return None
            if settled is not None:
                self._kept.move_to_end(owner)
            return None if settled is None else settled[1]

    def start(self, owner: Hashable, settings: Hashable, make: Callable[[], Steps]) -> Training[Steps]:
        """Begin the owner's training of these settings, or let it go on. Raises Busy if too many are going."""
        training = self.find(owner, settings)
        if training is not None and training.going:
            return training
        with self._lock:
            others = self._going()
            if others >= self._most_running:
                raise Busy(
                    f"{others} training{' is' if others == 1 else 's are'} running on this server, as many as may at"
                    " once: stop one, or try again in a moment"
                )
            if training is None:
                training = Training(make, patience=self._patience)
            self._kept[owner] = (settings, training)
            self._make_room()
            training.start()
        return training

    def forget(self, owner: Hashable) -> None:
        """Stop the owner's training and discard it."""
        with self._lock:
            self._drop(owner)

    @property
    def running(self) -> int:
        """The number of running trainings."""
        with self._lock:
            return self._going()

    def _going(self) -> int:
        self._ending = [each for each in self._ending if each.going]
        return len(self._ending) + sum(each.going for _, each in self._kept.values())

    def _drop(self, owner: Hashable) -> None:
        if owner in self._kept:
            _, training = self._kept.pop(owner)
            training.stop()
            self._ending.append(training)

    def _make_room(self) -> None:
        idle = [owner for owner, (_, each) in self._kept.items() if not each.going]
        for owner in idle[: max(0, len(self._kept) - self._most_kept)]:
            del self._kept[owner]
