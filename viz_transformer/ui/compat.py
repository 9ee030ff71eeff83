"""All that this app uses of Streamlit's inside, and where it needs Streamlit to behave otherwise than it does.

No other file imports anything of Streamlit but `streamlit` and `streamlit.components.v2`, nor a name of it with an
underscore in front; tests/test_architecture.py says so. Each point has the symptom that it cures; the tests that fail
without it are in tests/ui/test_compat.py and tests/test_slow_clients.py where no other is named, and what Streamlit
would have to do for it to go is in docs/decisions.md, "What is used of Streamlit's inside".

Nothing that a person did may be lost, no page may stay unfinished, and what it links to has to be there. Streamlit
fails in six ways (1.66 and 1.67 alike):

1. A request that was taken and not worked on yet, or a callback between two of its lines, is dropped when the next
   request comes: a script asks for it wherever it touches its session or sends something, and leaves at once.
2. Requests that wait together become one, in which the earlier one keeps only what was pressed. So a text that waits
   with another page is dropped: a request for another page says nothing of the boxes of this one.
3. A request that comes when a script has just ended starts another runner. What the last one has sent and the server
   has not handled yet is then ignored: elements, the end of the run, that it runs no longer.
4. All messages of a run go at once into a queue of 500 for the browser, and those of a run that was given up stay in
   it. A browser that reads slowly gets pages that nobody looks at any more.
5. Where that queue is full, the session ends while its WebSocket stays open. The browser takes itself for connected,
   and whatever it sends is thrown away.
6. A run of a page forgets at its start what the page links to, and at its end what it has not sent again is thrown
   away, also where it was given up and the page still shows that, or where the browser has not read the new page yet.
   What a click on a button has made belongs to nobody, and goes with the next runs of anybody. Such a link answers 404.

And what it has no public way for, or no public name:

7. Sessions that are stored for a reconnect, with all that they hold, stay until somebody comes: nothing says that
   everybody has left (`when_everyone_has_left`).
8. The first run in a server takes the folder pages/ for the navigation, and the page in the address runs without
   app.py around it (`give_up_pages_folder`; tests/pages/test_each_page.py).
9. The options of a server that we start ourselves, on a socket of ours, are set by the function that
   `streamlit run` has for its flags (`set_options`; tests/command/test_server.py).
10. The page that a browser gets first is a file of Streamlit's, and loads the scripts of its elements one by one when
    the first of each has come, with a grey bar until then (`index_page`; tests/command/test_server.py).
11. What goes over the WebSocket is `ForwardMsg` (command/batches.py; tests/command/test_batches.py), and what every
    container is, `DeltaGenerator`, has no public name.
12. Every session has a thread, to which glibc gives a heap of its own with holes of its own, and what is freed goes
    back to the system to be cleared anew (`keep_freed_memory`; tests/ui/session/test_memory.py).

Streamlit would begin the next run in a thread of its own while the last still goes on, and the one that came first
could come last: `runner.fastReruns` in .streamlit/config.toml says that it does not.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path, PurePosixPath
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

import streamlit as st
from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import app_session, media_file_manager
from streamlit.runtime import runtime as runtimes
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import ScriptRunner, ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils import script_requests
from streamlit.runtime.session_manager import SessionClientDisconnectedError
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.web import bootstrap
from streamlit.web.server.starlette import starlette_websocket

if TYPE_CHECKING:
    from streamlit.proto.WidgetStates_pb2 import WidgetStates
    from streamlit.runtime.scriptrunner import RerunData

    States = WidgetStates | None

__all__ = [
    "DeltaGenerator",
    "ForwardMsg",
    "give_up_pages_folder",
    "index_page",
    "keep_freed_memory",
    "patch",
    "set_options",
    "when_everyone_has_left",
]

RETRY_SECONDS: Final = 0.01
"""After which messages that are held back are tried again; Streamlit's own interval between two flushes."""

TRY_AGAIN_LATER: Final = 1013
"""The WebSocket status of a server that could not keep up with a client: it may come back."""

# What has types is not meant to be replaced.
_SafeSessionState: Any = SafeSessionState
_script_requests: Any = script_requests
_AppSession: Any = app_session.AppSession
_Client: Any = starlette_websocket.StarletteSessionClient
_Runtime: Any = runtimes.Runtime
_Files: Any = media_file_manager.MediaFileManager
_ScriptRunner: Any = ScriptRunner


def patch() -> None:
    """Change Streamlit for all sessions of this process; called again, it does nothing."""
    if hasattr(_SafeSessionState.on_script_will_rerun, "__wrapped__"):
        return
    _SafeSessionState.on_script_will_rerun = _unbroken(_SafeSessionState.on_script_will_rerun)
    _script_requests._coalesce_widget_states = _all_of_both(_script_requests._coalesce_widget_states)
    _AppSession._create_scriptrunner = _after_the_last(_AppSession._create_scriptrunner)
    handle = "_handle_scriptrunner_event_on_event_loop"
    setattr(_AppSession, handle, _starting_what_waits(getattr(_AppSession, handle)))
    _AppSession.flush_browser_queue = _held_back(_AppSession.flush_browser_queue)
    _Client.write_forward_msg = _closing_when_full(_Client.write_forward_msg)
    _Files.clear_session_refs = _remembering(_Files.clear_session_refs)
    _Files.add, _Files.add_deferred = _noted(_Files.add), _noted(_Files.add_deferred)
    _Files.execute_deferred = _owned(_Files.execute_deferred)
    _ScriptRunner._on_script_finished = _forgetting(_ScriptRunner._on_script_finished)


def when_everyone_has_left(act: Callable[[], None], seconds: float) -> None:
    """7: call `act`, in a thread of its own, each time that no browser has been connected for so many seconds.

    Sessions that Streamlit stores for a reconnect, and whose time is over, are let go of before; it does so only when
    somebody comes.
    """
    left = _Runtime._on_session_disconnected

    @wraps(left)
    def on_session_disconnected(server: Any) -> None:
        left(server)
        if server._session_mgr.num_active_sessions() == 0:
            asyncio.get_running_loop().call_later(seconds, check, server, server._session_mgr._disconnect_count)

    def check(server: Any, disconnects: int) -> None:
        sessions = server._session_mgr
        if sessions.num_active_sessions() == 0 and sessions._disconnect_count == disconnects:
            sessions.list_sessions()
            Thread(target=act, name="everyone-has-left", daemon=True).start()

    _Runtime._on_session_disconnected = on_session_disconnected


def give_up_pages_folder() -> bool:
    """8: app.py names the pages, not the folder pages/. Returns whether the run that asks was of the folder's."""
    was_used = bool(PagesManager.uses_pages_directory)
    PagesManager.uses_pages_directory = False
    return was_used


def set_options(options: Mapping[str, object]) -> None:
    """9: what holds for this server whatever files and the environment say, by the names of .streamlit/config.toml."""
    bootstrap.load_config_options({**options})


DRAWN_FIRST: Final = (
    "Html",
    "BidiComponent",
    "ButtonGroup",
    "Selectbox",
    "Button",
    "PageLink",
    "TextArea",
    "Checkbox",
)
"""10: what draws the elements that pages begin with, by the names of Streamlit's scripts."""


def index_page() -> str:
    """10: Streamlit's page, which loads these scripts at once."""
    files = Path(st.__file__).parent / "static"
    page = (files / "index.html").read_text(encoding="utf-8")
    modules = [found for name in DRAWN_FIRST for found in files.glob(f"static/js/{name}.*.js")]
    soon = "".join(f'<link rel="modulepreload" crossorigin href="./static/js/{each.name}">' for each in modules)
    return page.replace("</head>", f"{soon}</head>", 1)


_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8  # <malloc.h>
_ARENAS: Final = 2


def keep_freed_memory(mebibytes: int = 256) -> None:
    """12: let up to this much freed memory stay with the process, to be used again (Linux with glibc; else nothing).

    A recorded pass keeps its tensors, so it needs fresh memory. If every freed trace goes back to the system, that
    memory is mapped and cleared anew, page by page: a tenth to a fifth of the time of a pass of 256 tokens.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, 32 * 2**20)  # the largest that glibc takes
        mallopt(_TRIM_THRESHOLD, mebibytes * 2**20)
        mallopt(_TOP_PAD, 16 * 2**20)
        mallopt(_ARENA_MAX, _ARENAS)


def _unbroken(work_on: Callable[..., None]) -> Callable[..., None]:
    """1: a request's values and callbacks are worked on before the script asks for the next request."""

    @wraps(work_on)
    def all_at_once(session: Any, *given: Any, **named: Any) -> None:
        runner = session._yield_callback.__self__
        before, runner._execing = runner._execing, False  # one that is not at work is asked to stop for nothing
        try:
            work_on(session, *given, **named)
        finally:
            runner._execing = before

    return all_at_once


def _all_of_both(coalesce: Callable[[States, States], States]) -> Callable[[States, States], States]:
    """2: of two requests in one, what the later one does not tell is as the earlier one told."""

    @wraps(coalesce)
    def coalesced(earlier: States, later: States) -> States:
        both = coalesce(earlier, later)
        if earlier and later and both:
            told = {widget.id for widget in both.widgets}
            both.widgets.extend(widget for widget in earlier.widgets if widget.id not in told)
        return both

    return coalesced


def _after_the_last(create: Callable[..., None]) -> Callable[..., None]:
    """3: a request that needs another runner waits while events of the last one are on their way."""

    @wraps(create)
    def create_scriptrunner(session: Any, data: RerunData) -> None:
        if session._scriptrunner is None:
            create(session, data)
        else:
            session.__dict__.setdefault("_viz_waiting", []).append(data)

    return create_scriptrunner


def _starting_what_waits(handle: Callable[..., None]) -> Callable[..., None]:
    """3: behind the last event of a runner, the requests that waited for it start the next one."""

    @wraps(handle)
    def handle_event(session: Any, sender: Any, event: ScriptRunnerEvent, *given: Any, **named: Any) -> None:
        handle(session, sender, event, *given, **named)
        if event != ScriptRunnerEvent.SHUTDOWN or session._scriptrunner is not None:
            return
        waiting = session.__dict__.pop("_viz_waiting", [])
        if session._state == app_session.AppSessionState.SHUTDOWN_REQUESTED:
            return
        for data in waiting:
            if session._scriptrunner is None or not session._scriptrunner.request_rerun(data):
                session._create_scriptrunner(data)

    return handle_event


def _held_back(flush: Callable[[Any], list[ForwardMsg]]) -> Callable[[Any], list[ForwardMsg]]:
    """4: messages stay with the session, which drops those of a run that is given up, until the browser has taken
    what was sent before."""

    @wraps(flush)
    def flush_browser_queue(session: Any) -> list[ForwardMsg]:
        server: Any = runtime.get_instance()
        client = server.get_client(session.id)
        if isinstance(client, _Client) and not client._send_queue.empty():
            session._event_loop.call_later(RETRY_SECONDS, server._enqueued_some_message)
            return []
        return flush(session)

    return flush_browser_queue


def _closing_when_full(write: Callable[[Any, ForwardMsg], None]) -> Callable[[Any, ForwardMsg], None]:
    """5: a browser that is given up is told so, and connects again."""

    @wraps(write)
    def write_forward_msg(client: Any, message: ForwardMsg) -> None:
        was_open = not client._closed.is_set()
        try:
            write(client, message)
        except SessionClientDisconnectedError:
            if was_open:
                client._sender_task.cancel()
                client._viz_closing = asyncio.create_task(client._websocket.close(TRY_AGAIN_LATER))
            raise

    return write_forward_msg


@dataclass
class _Links:
    """6: the files that a session links to, beside those that Streamlit knows by their places on the page.

    `unsent`: the places that the run going on has not sent yet. `is_whole`: the last run came to its end.
    """

    unsent: set[str] = field(default_factory=set)
    is_whole: bool = True


_MADE, _BEFORE = "made ", "before "
"""6: in front of a button's place, what a click on it has made; in front of its own name, a file of an earlier page."""


def _links(files: Any, session: str) -> _Links:
    found: dict[str, _Links] = files.__dict__.setdefault("_viz_links", {})
    return found.setdefault(session, _Links())


def _remembering(clear: Callable[..., None]) -> Callable[..., None]:
    """6: a run that starts takes no file from the page that is shown, only those of the page before that one."""

    @wraps(clear)
    def clear_session_refs(files: Any, session_id: str | None = None) -> None:
        if session_id is not None:  # the session ends
            clear(files, session_id)
            files.__dict__.get("_viz_links", {}).pop(session_id, None)
            return
        session = media_file_manager._get_session_id()
        with files._lock:
            places, links = files._files_by_session_and_coord[session], _links(files, session)
            for place in [each for each in places if links.is_whole and each.startswith(_BEFORE)]:
                places.pop(place)
            links.unsent, links.is_whole = {each for each in places if not each.startswith(_BEFORE)}, False

    return clear_session_refs


def _noted(add: Callable[..., str]) -> Callable[..., str]:
    """6: what stood at this place of the page stays until the next page, and what a click there has made as well."""

    @wraps(add)
    def added(files: Any, data: Any, mimetype: str | None, coordinates: str, *given: Any, **named: Any) -> str:
        session = media_file_manager._get_session_id()
        before = files._files_by_session_and_coord[session].get(coordinates)
        address = add(files, data, mimetype, coordinates, *given, **named)
        with files._lock:
            places = files._files_by_session_and_coord[session]
            if before not in (None, places[coordinates]):
                places[_BEFORE + before] = before
            _links(files, session).unsent -= {coordinates, _MADE + coordinates}
        return address

    return added


def _owned(execute: Callable[[Any, str], str]) -> Callable[[Any, str], str]:
    """6: what a click on a button has made stays as long as the button."""

    @wraps(execute)
    def execute_deferred(files: Any, file_id: str) -> str:
        button = files._deferred_callables.get(file_id)
        address = execute(files, file_id)
        with files._lock:
            for places in files._files_by_session_and_coord.values():
                if file_id in places.values():
                    place = _MADE + button["coordinates"]
                    if place in places:
                        places[_BEFORE + places[place]] = places[place]
                    places[place] = PurePosixPath(address).stem
        return address

    return execute_deferred


def _forgetting(finish: Callable[..., None]) -> Callable[..., None]:
    """6: behind a run that came to its end the page shows what that has sent: all else is of the page before."""

    @wraps(finish)
    def on_script_finished(runner: Any, ctx: Any, event: ScriptRunnerEvent, *given: Any, **named: Any) -> None:
        if event == ScriptRunnerEvent.SCRIPT_STOPPED_WITH_SUCCESS and ctx.has_script_started and runtime.exists():
            files: Any = runtime.get_instance().media_file_mgr
            with files._lock:
                places, links = files._files_by_session_and_coord[ctx.session_id], _links(files, ctx.session_id)
                for place in links.unsent & places.keys():
                    gone = places.pop(place)
                    places[_BEFORE + gone] = gone
                links.unsent, links.is_whole = set(), True
        finish(runner, ctx, event, *given, **named)

    return on_script_finished
