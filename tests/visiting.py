"""A visitor of the running app without a browser: what the server sends to one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamlit_inside import BackMsg, ForwardMsg
from websockets.sync.client import connect


def visit(address: str, page: str = "", query: str = "", *, seconds: float = 60, again: bool = False) -> Iterator[Any]:
    """The messages that a new session gets, until its first run of the script is over; `again`: until its second is.

    That is asked for as a browser does: with the hashes of the messages that it has. Raises TimeoutError if nothing is
    heard for so many seconds.
    """
    stream = f"ws://{address.removeprefix('http://')}/_stcore/stream"
    with connect(stream, origin=address, subprotocols=["streamlit"], max_size=None, open_timeout=seconds) as socket:
        wanted = BackMsg()
        wanted.rerun_script.query_string = query
        wanted.rerun_script.page_name = page
        socket.send(wanted.SerializeToString())
        while True:
            message = ForwardMsg.FromString(socket.recv(timeout=seconds))
            yield message
            wanted.rerun_script.cached_message_hashes.append(message.hash)
            if message.WhichOneof("type") == "script_finished":
                if not again:
                    return
                again = False
                socket.send(wanted.SerializeToString())
