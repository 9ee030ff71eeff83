"""Sessions that meet in a server which has imported nothing yet, and what they are told of an error."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

from conftest import serving
from visiting import visit

# The app, in which the import of pandas stops half-way until a file is there.
HALF_WAY = """
import sys, time
from importlib.machinery import PathFinder
from pathlib import Path

reached, free = map(Path, sys.argv[1:])

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "pandas.core.api":
            return None
        spec = PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module

        def stop_and_execute(module):
            reached.touch()
            while not free.exists():
                time.sleep(0.01)
            execute(module)

        spec.loader.exec_module = stop_and_execute
        return spec

sys.meta_path.insert(0, Finder)
from viz_transformer.cli import main
main(["app", "--no-browser", "--port", "0"])
"""


class Session(threading.Thread):
    """A visitor of a page, and what was sent to it so far."""

    def __init__(self, address: str, page: str) -> None:
        super().__init__(daemon=True)
        self.address, self.page, self.messages = address, page, list[Any]()
        self.start()

    def run(self) -> None:
        for message in visit(self.address, self.page):
            self.messages.append(message)

    def has_heading(self) -> bool:
        return any(message.delta.new_element.HasField("heading") for message in self.messages)

    def errors(self) -> list[str]:
        elements = (message.delta.new_element for message in self.messages)
        return [element.exception.message for element in elements if element.HasField("exception")]


def wait_until(reached: Any, seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not reached() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(reached())


def test_a_page_with_charts_waits_for_the_pandas_that_another_session_imports(tmp_path: Path) -> None:
    reached, free, log = tmp_path / "reached", tmp_path / "free", tmp_path / "app.log"
    with serving([sys.executable, "-c", HALF_WAY, str(reached), str(free)], log) as address:
        first = Session(address, "")
        assert wait_until(reached.exists)
        second = Session(address, "playground")
        assert wait_until(second.has_heading)  # for the heading nothing is waited for
        second.join(3)  # it would fail meanwhile
        free.touch()
        first.join(60), second.join(60)
        assert not first.is_alive() and not second.is_alive()
    assert first.errors() == second.errors() == []
    assert "Traceback" not in log.read_text(encoding="utf-8")
