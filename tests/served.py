"""The app as a process of its own, at the address that it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
APP = [sys.executable, "-m", "viz_transformer.command", "app", "--no-browser", "--port", "0"]


@contextmanager
def serving(command: list[str], log: Path, **environment: str) -> Iterator[str]:
    """The address that a server prints when it is started by this command; it is stopped in the end."""
    env = {**os.environ, **environment}
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env)
    try:
        yield address(process, log)
    finally:
        process.terminate()
        process.wait(timeout=60)


def address(process: subprocess.Popen[bytes], log: Path, seconds: float = 120) -> str:
    """The address that a started app prints into its log; fails with the log if none comes."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text(encoding="utf-8")):
            return found[0]
        time.sleep(0.02)
    pytest.fail(f"the app did not start: {log.read_text(encoding='utf-8')}")
