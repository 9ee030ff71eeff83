"""Opens a watched module's trace in the app from a notebook: saves the trace and starts the app."""

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
"""Maximum seconds for a started app to print its address."""
USUAL_NAME = "watched"


@dataclass(frozen=True)
class OpenApp:
    """The app opened by a program. url: of the last trace shown, on this machine only."""

    url: str
    folder: Path
    process: subprocess.Popen[bytes]

    def __repr__(self) -> str:
        return f"Viz Transformer: {self.url}"

    def close(self) -> None:
        """End the app and remove the traces it showed. Also happens when the program ends."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(timeout=LONGEST_START)


_open: list[OpenApp] = []
"""The open app of this process, so that a notebook need not keep a reference."""


@takes(name=TEXT, browser=FLAG)
def open_app(trace: Trace, *, name: str = USUAL_NAME, browser: bool = True) -> OpenApp:
    """Show the trace of a watched module in the app, starting it if needed, in a browser.

    The app stays open while this program runs, and shows further traces as further models, named `name` with a number
    if taken. browser=False only returns the address. Raises ValueError for the run of a model (the app shows its
    checkpoint directly), a trace that the app cannot show, and an invalid file name.
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
    """The app showing the attention of the trace in this file."""
    return OpenApp(urljoin(url, f"/attention?{urlencode({'checkpoint': path.name})}"), path.parent, process)


def _saved(trace: Trace, folder: Path, name: str) -> Path:
    """Save the trace to the folder. Raises ValueError for one that the app would refuse."""
    numbered = (f"{name}{'' if count == 1 else f'-{count}'}{RECORDING}" for count in range(1, 10_000))
    path = next(place for each in numbered if not (place := folder / each).exists())
    trace.save(path)
    if isinstance(found := read_recording(path), Unreadable):
        path.unlink()
        raise ValueError(found.error)
    return path


def _started(trace: Trace, name: str) -> OpenApp:
    """Start a process that serves the app with this trace, and wait for its address.

    Raises RuntimeError, after cleaning up, if it ends before or takes too long.
    """
    folder = Path(tempfile.mkdtemp(prefix="viz-transformer-"))
    try:
        path, log = _saved(trace, folder, name), folder / LOG
        with log.open("wb") as output:  # a separate session, which interrupting a notebook's cell does not reach
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
