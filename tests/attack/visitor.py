"""A browser's half of the conversation with the server, without the browser: what twenty people do at once."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from types import TracebackType
from urllib.parse import urlencode

from streamlit_inside import BackMsg, Element, ForwardMsg
from websockets.sync.client import connect

from attack.trying import Broken
from viz_transformer import payload

CLOCK = 300.0
"""Seconds until the server has answered, on a machine that does much else."""
BOX = "run_text"


class Visitor:
    """One session: a page that is open, and the messages about it."""

    def __init__(self, server: str, page: str = "", **fields: object) -> None:
        """Opens the page of that name with these fields in its address, and waits for all of it."""
        self._open = ExitStack()
        self._socket = self._open.enter_context(
            connect(
                server.replace("http", "ws") + "/_stcore/stream",
                subprotocols=["streamlit"],  # type: ignore[list-item]
                origin=server,  # type: ignore[arg-type]
                max_size=None,
                compression=None,
                open_timeout=CLOCK,
            )
        )
        self.page, self.address = page, urlencode(fields)
        self.ids: dict[str, str] = {}
        self.said: list[str] = []
        self.answer = ""
        """What the whole run on the Run page has as the model's answer; "" without one."""
        self.seconds = self._rerun()

    def type(self, text: str) -> float:
        """Types into the box of the page; the seconds until the whole page has answered."""
        self._forget()
        return self._rerun({BOX: text})

    def open(self, page: str, **fields: object) -> float:
        """Goes to another address, as by a link or the Back button."""
        self.page, self.address = page, urlencode(fields)
        self._forget()
        return self._rerun()

    def _rerun(self, typed: dict[str, str] | None = None) -> float:
        """Asks for a run and takes in all of it. Raises Broken for a traceback, or if the server is silent."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name = self.address, self.page
        for key, text in (typed or {}).items():
            widget = state.widget_states.widgets.add()
            widget.id, widget.string_value = self.ids[key], text
        began = time.monotonic()
        self._socket.send(message.SerializeToString())
        while not self._taken(began):
            pass
        return time.monotonic() - began

    def _taken(self, began: float) -> bool:
        """Takes one message in; whether it is the end of a run."""
        try:
            data = self._socket.recv(timeout=max(1.0, began + CLOCK - time.monotonic()))
        except TimeoutError:
            raise Broken(f"no answer for {CLOCK:g} s") from None
        message = ForwardMsg()
        assert isinstance(data, bytes)
        message.ParseFromString(data)
        kind = message.WhichOneof("type")
        if kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._element(message.delta.new_element)
        elif kind == "page_info_changed":
            self.address = message.page_info_changed.query_string
        elif kind == "session_event" and message.session_event.WhichOneof("type") == "script_compilation_exception":
            raise Broken("a page that cannot be compiled")
        elif kind == "script_finished":
            return message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
        return False

    def _element(self, element: Element) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            raise Broken(f"{element.exception.type} on the page: {element.exception.message[:200]}")
        if kind == "html":
            self.said.append(element.html.body)
        if kind == "heading":
            self.said.append(element.heading.body)
        if kind == "text_area" and (key := re.fullmatch(r"\$\$ID-\w+-(.+)", element.text_area.id)):
            self.ids[key[1]] = element.text_area.id
        if kind == "bidi_component" and element.bidi_component.id.endswith("-run_whole_0"):
            self.answer = payload.unpack(element.bidi_component.bytes)[0]["answer"]

    def _forget(self) -> None:
        self.said.clear()
        self.answer = ""

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()
