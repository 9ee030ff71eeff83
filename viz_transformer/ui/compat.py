"""Where this app needs Streamlit to behave otherwise than it does: every such place, with its reason.

Nothing that a person did may be lost, and no page may stay unfinished. Streamlit 1.67 loses both in five ways, each
reproduced in tests/ui/test_compat.py or tests/test_slow_clients.py; docs/decisions.md has the reports.

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

Streamlit would begin the next run in a thread of its own while the last still goes on, and the one that came first
could come last: `runner.fastReruns` in .streamlit/config.toml says that it does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import wraps
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from streamlit import runtime
from streamlit.runtime import app_session
from streamlit.runtime import runtime as runtimes
from streamlit.runtime.scriptrunner import ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils import script_requests
from streamlit.runtime.session_manager import SessionClientDisconnectedError
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.web.server.starlette import starlette_websocket

if TYPE_CHECKING:
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
    from streamlit.proto.WidgetStates_pb2 import WidgetStates
    from streamlit.runtime.scriptrunner import RerunData

    States = WidgetStates | None

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


def when_everyone_has_left(act: Callable[[], None], seconds: float) -> None:
    """Call `act`, in a thread of its own, each time that no browser has been connected for so many seconds.

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
