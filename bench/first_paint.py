"""From the start of the process to the first heading in a real browser: our app over a bare Streamlit app."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from playwright.sync_api import Browser

from bench.browser import chromium
from bench.ratios import Result, compare, own_clock

BARE = 'import streamlit as st\nst.title("bare")\n'
ROOT = Path(__file__).resolve().parent.parent


def first_paint_ratios() -> Iterator[Result]:
    """Raises RuntimeError without a browser."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE, encoding="utf-8")
        yield compare(
            "first paint / bare Streamlit app",
            lambda: _first_heading(browser, _ours),
            lambda: _first_heading(browser, lambda port, log: _bare(bare, port, log)),
            rounds=7,
            aim="<= 1.15",
            seconds=own_clock,  # stopping the server does not count
        )


def _first_heading(browser: Browser, start_server: Callable[[int, IO[bytes]], subprocess.Popen[bytes]]) -> float:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = browser.new_context()
    page = context.new_page()
    with tempfile.TemporaryFile() as log:
        start = time.perf_counter()
        server = start_server(port, log)
        try:
            _wait_for(port, server)
            page.goto(f"http://127.0.0.1:{port}/")
            page.wait_for_selector("h1", timeout=60_000)
            return time.perf_counter() - start
        finally:
            server.terminate()
            server.wait(timeout=20)
            context.close()


def _ours(port: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
    command = [str(Path(sys.executable).parent / "viz-transformer"), "app", "--no-browser", "--port", str(port)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT)


def _bare(script: Path, port: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
    flags = {"server.port": port, "server.address": "127.0.0.1", "server.headless": "true"}
    flags["browser.gatherUsageStats"] = "false"
    command = [str(Path(sys.executable).parent / "streamlit"), "run", str(script)]
    command += [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    environment = {name: value for name, value in os.environ.items() if not re.match("STREAMLIT_", name)}
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=script.parent, env=environment
    )


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError(f"the server ended with status {server.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=0.2):
            return
        time.sleep(0.005)
    raise RuntimeError("the server did not start within 60 s")
