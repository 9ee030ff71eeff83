"""One line in a notebook shows a watched module in the app, which ends when the notebook does, however that ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import viz_transformer as vt
from tests.watched import watched_trace
from viz_transformer.command.opening import OpenApp

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def app() -> Iterator[OpenApp]:
    """The app that this process has open, with one trace in it."""
    opened = vt.open_app(watched_trace("encoder-only"), name="first", browser=False)
    yield opened
    opened.close()
    assert opened.process.returncode is not None and not opened.folder.exists()


def shown(opened: OpenApp) -> str:
    """The name of the model at its address."""
    assert urlsplit(opened.url).path == "/attention"
    return parse_qs(urlsplit(opened.url).query)["checkpoint"][0]


def test_the_app_answers_at_the_address_and_has_the_trace(app: OpenApp) -> None:
    assert shown(app) == "first.safetensors"
    asked = urllib.request.Request(app.url, headers={"Accept": "text/html"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        assert answer.status == 200 and b"<title>Viz Transformer</title>" in answer.read()
    assert vt.Trace.load(app.folder / "first.safetensors").src_tokens == watched_trace("encoder-only").src_tokens


def test_a_second_trace_comes_into_the_same_app(app: OpenApp) -> None:
    again = [vt.open_app(watched_trace("encoder-only"), name="first", browser=False) for _ in range(2)]
    assert [shown(each) for each in again] == ["first-2.safetensors", "first-3.safetensors"]
    assert {each.process.pid for each in again} == {app.process.pid}
    assert repr(again[0]) == f"Viz Transformer: {again[0].url}"


def test_what_the_app_cannot_show_is_one_sentence(app: OpenApp) -> None:
    with pytest.raises(ValueError, match="open_app shows the trace of a watched module"):
        vt.open_app(vt.trace(vt.load("copy"), "abc", "abc"), browser=False)
    with pytest.raises(ValueError, match="a name has at most 60 letters"):
        vt.open_app(watched_trace("encoder-only"), name="../first", browser=False)
    assert sorted(path.name for path in app.folder.glob("*.safetensors"))[0] == "first-2.safetensors"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process at once")
def test_the_app_ends_with_the_program_that_opened_it_also_when_that_is_killed() -> None:
    lines = [
        "import sys, viz_transformer as vt",
        "from tests.watched import watched_trace",
        "app = vt.open_app(watched_trace('encoder-only'), browser=False)",
        "print(app.process.pid, app.folder, flush=True)",
        "sys.stdin.read()",
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", "\n".join(lines)], cwd=ROOT, stdin=pipe, stdout=pipe) as program:
        assert program.stdin is not None and program.stdout is not None
        folder = Path(program.stdout.readline().decode().split(maxsplit=1)[1].strip())
        assert (folder / "watched.safetensors").exists()
        program.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not folder.exists()
