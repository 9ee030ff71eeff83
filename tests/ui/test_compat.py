"""Nothing that a browser tells is lost, and no page stays unfinished: what Streamlit is made to do otherwise."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import streamlit as st
from loops import in_a_loop
from streamlit import config, runtime
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.script_data import ScriptData
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.scriptrunner_utils import script_requests
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests
from streamlit.runtime.session_manager import SessionClientDisconnectedError
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.uploaded_file_manager import UploadedFileManager
from streamlit.testing.v1 import AppTest
from streamlit.web.server.starlette.starlette_websocket import StarletteSessionClient

from viz_transformer.ui import compat


@pytest.fixture(autouse=True)
def kept() -> None:
    compat.patch()


def page():
    """A button whose callback touches the session after another request has come."""
    import streamlit as st

    from tests.ui.test_compat import ask

    def pressed():
        ask()
        st.session_state["first"] = st.session_state.get("first", 0) + 1
        st.session_state["second"] = st.session_state.get("second", 0) + 1

    st.button("press", on_click=pressed)
    st.text(f"{st.session_state.get('first')} {st.session_state.get('second')}")


def ask() -> None:
    """Another request comes, as from the thread that hears the browser."""
    context = get_script_run_ctx()
    context.script_requests.request_rerun(RerunData(page_script_hash=context.page_script_hash))


def test_a_callback_runs_to_its_end_while_another_request_waits():
    app = AppTest.from_function(page).run()
    assert not app.exception
    app.button[0].click().run()
    assert [text.value for text in app.text] == ["1 1"]


def states(**values: str) -> WidgetStates:
    return WidgetStates(widgets=[WidgetState(id=name, string_value=value) for name, value in values.items()])


def waiting(*asked: RerunData) -> RerunData:
    waits = ScriptRequests()
    for each in asked:
        waits.request_rerun(each)
    return waits.on_scriptrunner_ready().rerun_data


def test_of_two_requests_that_wait_the_later_one_does_not_take_back_what_it_does_not_tell():
    of_run = RerunData(page_script_hash="run", widget_states=states(text="7", kind="cross"))
    of_layers = RerunData(page_script_hash="layers", widget_states=states(kind="encoder"))
    both = waiting(of_run, of_layers)
    assert both.page_script_hash == "layers"
    assert {each.id: each.string_value for each in both.widget_states.widgets} == {"text": "7", "kind": "encoder"}
    assert [each.id for each in waiting(of_run, RerunData()).widget_states.widgets] == ["text", "kind"]
    assert [each.id for each in waiting(RerunData(), of_run).widget_states.widgets] == ["text", "kind"]
    assert waiting(RerunData(), RerunData()).widget_states is None


def test_asked_for_again_it_changes_nothing():
    before = SafeSessionState.on_script_will_rerun, script_requests._coalesce_widget_states
    compat.patch()
    assert (SafeSessionState.on_script_will_rerun, script_requests._coalesce_widget_states) == before


# ---- what a run has sent


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], AppSession]:
    """What makes a session of a script of two lines, on the running loop."""
    script = tmp_path / "script.py"
    script.write_text("import streamlit as st\nst.text('first')\nst.text('last')\n")
    made: list[AppSession] = []

    def make() -> AppSession:
        files = Mock(spec=UploadedFileManager)
        made.append(AppSession(ScriptData(str(script), False), files, ScriptCache(), None, {}))
        return made[-1]

    monkeypatch.setattr(Runtime, "instance", classmethod(lambda cls: Mock()))
    return make


def kinds(messages: list[ForwardMsg]) -> list[str]:
    return [
        message.delta.new_element.text.body
        if message.WhichOneof("type") == "delta"
        else str(message.WhichOneof("type"))
        for message in messages
    ]


async def until_idle(session: AppSession) -> None:
    while session._scriptrunner is not None:
        await asyncio.sleep(0.01)


def test_a_request_at_the_end_of_a_run_loses_nothing_of_that_run(
    session: Callable[[], AppSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script has ended, and what it sent waits for the loop, which is busy: all of that was lost."""

    async def scenario() -> list[str]:
        one = session()
        one.request_rerun(None)
        thread = one._scriptrunner._script_thread
        thread.join(30)  # the loop hears nothing meanwhile
        assert not thread.is_alive() and thread.name.startswith("ScriptRunner")  # so ui/session/memory.py knows it
        one.request_rerun(None)
        queued: list[ForwardMsg] = []
        enqueue = one._browser_queue.enqueue
        monkeypatch.setattr(one._browser_queue, "enqueue", lambda message: (queued.append(message), enqueue(message)))
        await until_idle(one)
        return kinds(queued)

    found = in_a_loop(scenario())
    runs = found.count("new_session")
    assert runs == 2 and {found.count(kind) for kind in ("first", "last", "script_finished")} == {runs}
    assert found[-1] == "session_status_changed"


def test_requests_that_wait_for_a_run_are_dropped_with_their_session(session: Callable[[], AppSession]) -> None:
    async def scenario() -> None:
        one = session()
        one.request_rerun(None)
        one._scriptrunner._script_thread.join(30)
        one.request_rerun(None)
        one._state = AppSessionState.SHUTDOWN_REQUESTED
        await until_idle(one)
        assert one._scriptrunner is None and "_viz_waiting" not in one.__dict__

    in_a_loop(scenario())


# ---- what a page links to

LINKING = """
import streamlit as st
from streamlit import runtime

n = runtime.get_instance().visit()
st.text(n)
if n < 4:
    st.download_button("Save", lambda: f"made {n}", "made.txt", key="made", on_click="ignore")
    st.download_button("Program", f"program {n}", "program.py", key="program", on_click="ignore")
"""


def test_a_link_is_there_as_long_as_the_page_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = MediaFileManager(MemoryMediaFileStorage("/media"))
    shown: list[str] = []  # by each whole run: the id of the one button, the address of the other
    seen: list[list[bool]] = []

    def there(links: list[str]) -> list[bool]:
        return [Path(link).stem in {*files._file_metadata, *files._deferred_callables} for link in links]

    def visit() -> int:
        seen.append(there(shown))
        if len(seen) == 2:
            ask()  # the second run of the page is given up before it comes to its buttons
        return len(seen) - 1

    server = Mock(media_file_mgr=files, visit=visit)
    monkeypatch.setattr(Runtime, "instance", classmethod(lambda cls: server))
    monkeypatch.setattr(Runtime, "exists", classmethod(lambda cls: True))
    (tmp_path / "script.py").write_text(LINKING)
    others = [files.remove_orphaned_files] * 3  # runs of other sessions end

    async def scenario() -> None:
        one = AppSession(
            ScriptData(str(tmp_path / "script.py"), False), Mock(spec=UploadedFileManager), ScriptCache(), None, {}
        )
        enqueue = one._browser_queue.enqueue

        def noted(message: ForwardMsg) -> None:
            button = message.delta.new_element.download_button
            shown.extend(filter(None, (button.deferred_file_id, button.url)))
            enqueue(message)

        monkeypatch.setattr(one._browser_queue, "enqueue", noted)

        async def run() -> None:
            one.request_rerun(None)
            await until_idle(one)
            for end in others:
                end()

        await run()
        assert len(shown) == 2
        saved = [files.execute_deferred(shown[0])]
        await run()  # given up, and again
        assert seen == [[], [True] * 2, [True] * 2]
        assert there(shown) == [True] * 4 and there(saved) == [True]
        await run()
        assert there(shown) == [False] * 2 + [True] * 4 and there(saved) == [True]  # the button is still there
        await run()
        assert there(shown) == [False] * 4 + [True] * 2 and there(saved) == [True]  # this page may not be there yet
        await run()
        assert there([*shown, *saved]) == [False] * 7 and not files._deferred_callables
        files.clear_session_refs(one.id)
        assert one.id not in files._viz_links and one.id not in files._files_by_session_and_coord

    in_a_loop(scenario())


class Socket:
    """A browser that takes `room` messages and then reads nothing until it `reads`."""

    def __init__(self, room: int) -> None:
        self.taken: list[ForwardMsg] = []
        self.closed: list[int] = []
        self._room, self._reads = room, asyncio.Event()
        self.headers: Any = SimpleNamespace(items=list)
        self.cookies: dict[str, str] = {}
        self.client = None

    async def send_bytes(self, payload: bytes) -> None:
        if len(self.taken) >= self._room:
            await self._reads.wait()
        self.taken.append(ForwardMsg.FromString(payload))

    async def close(self, code: int) -> None:
        self.closed.append(code)

    def reads(self) -> None:
        self._reads.set()


def text(words: str, at: int) -> ForwardMsg:
    message = ForwardMsg()
    message.delta.new_element.text.body = words
    message.metadata.delta_path.extend([0, at])
    return message


def test_messages_for_a_browser_that_does_not_read_stay_where_a_new_run_drops_them(
    session: Callable[[], AppSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        one, socket = session(), Socket(room=1)
        client = StarletteSessionClient(socket)  # type: ignore[arg-type]
        woken: list[float] = []
        server = SimpleNamespace(get_client=lambda _: client, _enqueued_some_message=lambda: woken.append(1))
        monkeypatch.setattr(runtime, "get_instance", lambda: server)
        for run in range(3):
            one._clear_queue()  # as at the start of a run
            for at in range(400):
                one._enqueue_forward_msg(text(f"{run}", at))
            for message in one.flush_browser_queue():
                client.write_forward_msg(message)
            await asyncio.sleep(0.02)
        assert [message.delta.new_element.text.body for message in socket.taken] == ["0"]
        assert one.flush_browser_queue() == [] and woken
        socket.reads()
        while not client._send_queue.empty():
            await asyncio.sleep(0.01)
        rest = one.flush_browser_queue()
        assert {message.delta.new_element.text.body for message in rest} == {"2"} and len(rest) == 400
        assert socket.closed == []
        await client.aclose()

    in_a_loop(scenario())


def test_where_the_queue_to_a_browser_is_full_its_socket_is_closed() -> None:
    async def scenario() -> None:
        socket = Socket(room=0)
        client = StarletteSessionClient(socket)  # type: ignore[arg-type]
        with pytest.raises(SessionClientDisconnectedError):
            for at in range(2000):
                client.write_forward_msg(text("x", at))
                await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        assert socket.closed == [compat.TRY_AGAIN_LATER]
        with pytest.raises(SessionClientDisconnectedError):
            client.write_forward_msg(text("x", 0))
        await asyncio.sleep(0.01)
        assert len(socket.closed) == 1
        with suppress(asyncio.CancelledError):
            await client.aclose()

    in_a_loop(scenario())


def test_what_the_last_visitor_left_is_given_back_once_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    class Server:
        def __init__(self) -> None:
            self._session_mgr = Mock(_disconnect_count=0)

        def _on_session_disconnected(self) -> None:
            self._session_mgr._disconnect_count += 1

    monkeypatch.setattr(compat, "_Runtime", Server)
    given: list[int] = []
    compat.when_everyone_has_left(lambda: given.append(1), 0.4)

    async def scenario() -> list[int]:
        server, counts = Server(), list[int]()
        for active, wait in ((1, 0.6), (0, 0.01), (0, 0.8), (0, 0.8)):
            server._session_mgr.num_active_sessions.return_value = active
            server._on_session_disconnected()
            await asyncio.sleep(wait)
            counts.append(len(given))
        assert server._session_mgr.list_sessions.call_count == 2
        return counts

    assert in_a_loop(scenario()) == [0, 0, 1, 2]


# ---- what Streamlit has no public way for


def test_app_py_names_the_pages_from_the_first_run_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pages").mkdir()
    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)
    PagesManager(str(tmp_path / "app.py"))
    assert PagesManager.uses_pages_directory
    assert compat.give_up_pages_folder()
    PagesManager(str(tmp_path / "app.py"))
    assert not PagesManager.uses_pages_directory
    assert not compat.give_up_pages_folder()


def test_the_first_page_loads_what_draws_its_elements_at_once() -> None:
    page = compat.index_page()
    scripts = re.findall(r'<link rel="modulepreload" crossorigin href="./static/js/(\w+)\.', page)
    assert [name for name in scripts if name in compat.DRAWN_FIRST] == [*compat.DRAWN_FIRST]
    assert page.count("</head>") == page.count("<title>Streamlit</title>") == page.count("</body>") == 1


def test_options_hold_whatever_files_and_the_environment_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMLIT_SERVER_PORT", "9")
    monkeypatch.setattr(config, "_config_options", None)
    compat.set_options({"server.port": 7, "client.allowedOrigins": []})
    assert st.get_option("server.port") == 7 and st.get_option("client.allowedOrigins") == []
    assert st.get_option("server.websocketPingInterval") == 120  # of .streamlit/config.toml
