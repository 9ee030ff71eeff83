"""Handles Ctrl-C (SIGINT) and SIGTERM so that a training ends where it can be resumed, and says where.

Between the first and the last step, a signal takes effect at the end of the step, which is saved; otherwise at once. A
second signal ends the process immediately; files being written are then old or new.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(SystemExit):
    """A signal ended the training. The code is the exit status: 130 for SIGINT, 143 for SIGTERM."""


class Stop:
    """Context that handles signals and prints to stderr what ended the training.

    saved: last saved step, or None. place: how far the training has come.
    """

    def __init__(self, *, resumes: bool = False) -> None:
        self.resumes = resumes  # not yet known what an earlier training saved
        self.saved: int | None = None
        self.place = "at the start"
        self.waits = False  # for the end of the step
        self.silent = False
        self.signum: int | None = None
        self._raised = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Stop:
        self.listen()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        stopped = isinstance(error, Stopped)
        if not self.silent and (stopped or (error is not None and self._raised)):  # interrupted code may raise anything
            print(self._line(), file=sys.stderr)
        for signum, handler in self._before.items():
            signal.signal(signum, handler)
        self._before = {}
        if self._raised and error is not None and not stopped:
            raise self._stopped() from None

    def listen(self) -> None:
        """Handle the signals from now on, replacing other handlers; ignored signals stay ignored."""
        if threading.current_thread() is not threading.main_thread():
            return
        for signum in SIGNALS:
            handler = signal.getsignal(signum)
            if handler not in (signal.SIG_IGN, None):
                signal.signal(signum, self._receive)
                self._before.setdefault(signum, handler)

    def check(self) -> None:
        """Raise Stopped if a signal has come, even if its exception was swallowed."""
        if self.signum is not None:
            self.raise_stopped()

    def raise_stopped(self) -> NoReturn:
        raise self._stopped()

    def sentence(self) -> str:
        """What ended where and, if something is saved, how to resume."""
        if self.saved is not None:
            return f"stopped {self.place}, the last saved step is {self.saved}: continue with --resume"
        if self.resumes:
            return f"stopped {self.place}, earlier saves are unchanged: continue with --resume"
        return f"stopped {self.place}: nothing was saved"

    def _line(self) -> str:
        return ("\n" if os.isatty(2) else "") + self.sentence()  # below the progress bar

    def _stopped(self) -> Stopped:
        return Stopped(128 + (self.signum or signal.SIGTERM))  # None: another process of this training got it

    def _receive(self, signum: int, _: FrameType | None) -> None:
        if self.signum is not None:
            self.place = "at once"
            os.write(2, f"{self._line()}\n".encode())  # print may be what was interrupted
            os._exit(128 + signum)
        self.signum = signum
        if not self.waits:
            self._raised = True
            self.raise_stopped()
