"""Serves the app for the program that opened it (`vt.open_app`), and ends with that program.

`python -m viz_transformer.command.kept_open FOLDER`: the folder holds what is shown, and is removed at the end.
Standard input is closed however the program ends.
"""

from __future__ import annotations

import shutil
import signal
import sys
import threading
from pathlib import Path

from viz_transformer.command.server import run_app


def main() -> None:
    """Serve until standard input is closed, or until SIGTERM."""
    folder = Path(sys.argv[1])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # until the server installs its own handler
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        run_app(port=0, browser=False, checkpoints=[folder])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    signal.raise_signal(signal.SIGTERM)


if __name__ == "__main__":
    main()
