"""Every change that a browser tells is taken whole, also where others follow at once.

A browser tells changes as requests to run the page anew. Streamlit would begin the next one in a thread of its own
while the last still runs, and the one that came first could come last, or never: `runner.fastReruns` in
.streamlit/config.toml says that it does not. So a script asks for the next request wherever it touches its session or
sends something, and leaves at once where there is one. Two things are still lost then. One is a request that was taken
and not worked on yet, or a callback between two of its lines. The other is a text that waits with another page:
requests that wait together become one, in which the earlier one keeps only what was pressed, and a request for another
page says nothing of the boxes of this one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from streamlit.runtime.scriptrunner_utils import script_requests
from streamlit.runtime.state.safe_session_state import SafeSessionState

if TYPE_CHECKING:
    from streamlit.proto.WidgetStates_pb2 import WidgetStates

    States = WidgetStates | None


def keep_all() -> None:
    """From now on no request is lost, in all sessions of this process; called again, it changes nothing."""
    if hasattr(SafeSessionState.on_script_will_rerun, "__wrapped__"):
        return
    sessions: Any = SafeSessionState  # what has types is not meant to be replaced
    queues: Any = script_requests
    sessions.on_script_will_rerun = _unbroken(sessions.on_script_will_rerun)
    queues._coalesce_widget_states = _all_of_both(queues._coalesce_widget_states)


def _unbroken(work_on: Callable[..., None]) -> Callable[..., None]:
    """A request's values and callbacks, worked on before the script asks for the next request, as it does then."""

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
    """Two requests as one: what the later one does not tell is as the earlier one told."""

    @wraps(coalesce)
    def coalesced(earlier: States, later: States) -> States:
        both = coalesce(earlier, later)
        if earlier and later and both:
            told = {widget.id for widget in both.widgets}
            both.widgets.extend(widget for widget in earlier.widgets if widget.id not in told)
        return both

    return coalesced
