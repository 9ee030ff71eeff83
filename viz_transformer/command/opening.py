"""The one line in a notebook that shows a watched module in the app: its trace is saved, the app is started."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urljoin

from viz_transformer.checkpoint.contents import Unreadable
from viz_transformer.checkpoint.folders import RECORDING
from viz_transformer.checkpoint.library import check_name
from viz_transformer.checkpoint.saved_traces import read_recording
from viz_transformer.command.server import open_in_browser
from viz_transformer.given import FLAG, TEXT, takes
from viz_transformer.running.trace import Trace, is_watched
from viz_transformer.sentences import put_on_one_line, quote

LOG = "app.log"
LONGEST_START = 120.0
"""Seconds until a started app has to have said its address."""
USUAL_NAME = "watched"


@dataclass(frozen=True)
class OpenApp:
    """The app that a program has open. url: of the trace that was shown last; it answers to this machine alone."""

    url: str
    folder: Path
    process: subprocess.Popen[bytes]

    def __repr__(self) -> str:
        return f"Viz Transformer: {self.url}"

    def close(self) -> None:
        """End the app, and remove the traces that it showed. The end of the program does the same."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(timeout=LONGEST_START)


_open: list[OpenApp] = []
"""The app that this process has open, if it has one: a notebook does not have to keep it."""


@takes(name=TEXT, browser=FLAG)
def open_app(trace: Trace, *, name: str = USUAL_NAME, browser: bool = True) -> OpenApp:
    """Show the trace of a watched module in the app, in a browser; the app is started if this program has none open.

    It stays open as long as this program runs, and further traces come into the same one: each is a model in the app's
    list, called by its name, with a number behind it where that is taken. Without `browser` only the address is
    returned. Raises ValueError for a run of a model, whose checkpoint the app shows by itself, for a trace that the
    app cannot show, and for a name that is no file's.
    """
    if not isinstance(trace, Trace) or not is_watched(trace):
        raise ValueError(f"open_app shows the trace of a watched module, as vt.watch makes one, not {quote(trace)}")
    check_name(name)
    app = next((each for each in _open if each.process.poll() is None), None)
    app = _started(trace, name) if app is None else _at(app.url, _saved(trace, app.folder, name), app.process)
    _open[:] = [app]
    if browser:
        open_in_browser(app.url, window=False)
    return app


def _at(url: str, path: Path, process: subprocess.Popen[bytes]) -> OpenApp:
    """The app at the attention of the trace in this file."""
    return OpenApp(urljoin(url, f"/attention?{urlencode({'checkpoint': path.name})}"), path.parent, process)


def _saved(trace: Trace, folder: Path, name: str) -> Path:
    """The trace as a file of the folder. Raises ValueError for one that the app would refuse."""
    numbered = (f"{name}{'' if count == 1 else f'-{count}'}{RECORDING}" for count in range(1, 10_000))
    path = next(place for each in numbered if not (place := folder / each).exists())
    trace.save(path)
    if isinstance(found := read_recording(path), Unreadable):
        path.unlink()
        raise ValueError(found.error)
    return path


def _started(trace: Trace, name: str) -> OpenApp:
    """A process that serves the app with this trace, once it has said its address. Raises RuntimeError if it ends
    before, or takes too long; then nothing is left of it."""
    folder = Path(tempfile.mkdtemp(prefix="viz-transformer-"))
    try:
        path, log = _saved(trace, folder, name), folder / LOG
        with log.open("wb") as output:  # a session of its own: what interrupts a notebook's cell is not for the app
            process = subprocess.Popen(
                [sys.executable, "-m", "viz_transformer.command.kept_open", str(folder)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + LONGEST_START
        while not (address := re.search(r"http://127\.0\.0\.1:\d+", said := log.read_text(errors="replace"))):
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                raise RuntimeError(f"the app did not start: {put_on_one_line(said[-300:], 300) or 'it said nothing'}")
            time.sleep(0.05)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return _at(address[0], path, process)
