"""Serves the app with the checkpoints of another folder: python serve.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

from viz_transformer.checkpoint import contents
from viz_transformer.command.server import run_app

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    contents.bundled_folder = lambda: folder
    run_app(port=0, browser=False)
