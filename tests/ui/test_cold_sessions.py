"""Sessions that meet in a server which has imported nothing yet, and what a session is told of an error."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from served import serving
from visiting import visit

from viz_transformer.command.serving import FAILED

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
from viz_transformer.command import main
main(["app", "--no-browser", "--port", "0"])
"""

# Serves a script as the app is served.
SERVED = """
import sys
from pathlib import Path
from viz_transformer.command import server

listening, _ = server.bind(0)
print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
server.serve(Path(sys.argv[1]), listening)
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


BROKEN = """
import streamlit as st
st.title("Broken")
if st.query_params["where"] == "page":
    what_only_the_log_may_say
st.fragment(lambda: what_only_the_log_may_say)()
"""


@pytest.mark.parametrize(("code", "places"), [(BROKEN, ["page", "part"]), ("def what_only_the_log_may_say(: {}", [""])])
def test_an_error_is_said_in_one_sentence_and_its_details_stay_in_the_log(
    tmp_path: Path, code: str, places: list[str]
) -> None:
    script, log, detail = tmp_path / "broken.py", tmp_path / "app.log", "what_only_the_log_may_say"
    script.write_text(code, encoding="utf-8")
    with serving([sys.executable, "-c", SERVED, str(script)], log) as address:
        for where in places:
            logged, messages = len(log.read_text(encoding="utf-8")), visit(address, query=f"where={where}")
            sent = b"".join(each.SerializeToString() for each in messages if not each.HasField("new_session"))
            assert detail.encode() not in sent and b"broken.py" not in sent and b"Traceback" not in sent
            assert detail in log.read_text(encoding="utf-8")[logged:]
            if code == BROKEN:  # what cannot be compiled is answered by Streamlit's own sentence
                assert FAILED.encode() in sent and b"Streamlit Cloud" not in sent
