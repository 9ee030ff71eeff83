"""Sends messages to a browser in batches, and repeated content by reference.

A page takes 56 to 126 messages of Streamlit, 0.2 to 0.8 MB: mostly containers and lines of text by number, and scripts,
styles and pictures of components by size, which repeat in every rerun. A browser that requests batches (batches.js, in
the served page) gets all messages of a moment in one WebSocket frame, in which content that it remembers is replaced by
a number. The server tells it what to remember, so both always agree; a new connection starts empty. Other clients get
Streamlit's own messages.
"""

from __future__ import annotations

import asyncio
import struct
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b
from importlib.resources import files
from time import monotonic
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viz_transformer.ui.compat import ForwardMsg

ASKED: Final = b"batches"
"""Query of the WebSocket address with which a browser requests batches."""

SCRIPT: Final = (files(__package__) / "batches.js").read_text(encoding="utf-8")

LITERAL, REMEMBERED, KNOWN, FORGOTTEN, END = range(5)
"""Kinds of records: bytes; bytes to remember by number; a remembered number; a number to forget; end of message."""

MIN_PART_BYTES, MAX_REMEMBERED_BYTES = 1024, 32 * 2**20
"""Limits of remembered content: minimum of a part, maximum of all parts in one connection."""

MIN_PICTURE_BYTES = 8 * 1024
"""Messages of this size are sent without waiting."""

FIRST_WAIT_SECONDS, WAIT_GROWTH, MAX_WAIT_SECONDS = 0.02, 1.5, 1.0
"""How long small messages of a rerun wait for others: longer as the rerun goes on."""

_RECORD = struct.Struct("<BI")


class Batches:
    """Encodes the messages of one connection as batches."""

    def __init__(self) -> None:
        self._remembered: OrderedDict[bytes, tuple[int, int]] = OrderedDict()  # by digest: number and size
        self._count = self._bytes = 0

    def encode(self, message: bytes) -> bytes:
        """The message as records."""
        records = list[bytes]()
        for part, is_large in _split(message):
            records += self._named(part) if is_large else (_RECORD.pack(LITERAL, len(part)), part)
        return b"".join([*records, _RECORD.pack(END, 0)])

    def _named(self, part: bytes) -> Iterator[bytes]:
        digest = blake2b(part, digest_size=16).digest()
        if (known := self._remembered.get(digest)) is not None:
            self._remembered.move_to_end(digest)
            yield _RECORD.pack(KNOWN, known[0])
            return
        self._remembered[digest] = self._count, len(part)
        self._count += 1
        self._bytes += len(part)
        yield _RECORD.pack(REMEMBERED, len(part))
        yield part
        while self._bytes > MAX_REMEMBERED_BYTES:
            _, (number, size) = self._remembered.popitem(last=False)
            self._bytes -= size
            yield _RECORD.pack(FORGOTTEN, number)


def _split(message: bytes) -> Iterator[tuple[bytes, bool]]:
    """Parts of the message, each with whether it may repeat: a script, style or picture."""
    begin = 0
    if len(message) > MIN_PART_BYTES:
        for value in _large_values(ForwardMsg.FromString(message)):
            if (at := message.find(value, begin)) >= 0:
                yield message[begin:at], False
                yield value, True
                begin = at + len(value)
    yield message[begin:], False


def _large_values(message: Any) -> Iterator[bytes]:
    """Texts and bytes of at least MIN_PART_BYTES in a message, in serialised order."""
    for field, values in message.ListFields():
        for value in values if field.is_repeated and not _is_map(field) else (values,):
            if hasattr(value, "ListFields"):
                yield from _large_values(value)
            elif isinstance(value, str | bytes) and len(value) >= MIN_PART_BYTES:
                yield value.encode() if isinstance(value, str) else value


def _is_map(field: Any) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


class Batched:
    """Middleware that sends batches to browsers that request them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["type"] == "websocket" and scope["query_string"] == ASKED
        await self.app(scope, receive, _Outbox(send).send if asked else send)


class _Outbox:
    """Outgoing messages of one connection."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._batches = Batches()
        self._waiting = list[bytes]()
        self._hurry, self._is_taken = asyncio.Event(), asyncio.Event()
        self._is_taken.set()
        self._sending: asyncio.Task[None] | None = None
        self._lost: Exception | None = None
        self._wait = 0.0
        self._last = 0.0

    async def send(self, event: Message) -> None:
        """Queue a message, waiting while the browser lags. Raises OSError if the connection is lost."""
        if event["type"] != "websocket.send" or event.get("bytes") is None:
            await self._send(event)
            return
        await self._is_taken.wait()
        if self._lost is not None:
            raise self._lost
        message: bytes = event["bytes"]
        self._waiting.append(self._batches.encode(message))
        if begins(message):
            self._wait = FIRST_WAIT_SECONDS
        if ends(message) or sum(map(len, self._waiting)) >= MIN_PICTURE_BYTES:
            self._hurry.set()
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_waiting(), name="batches")

    async def _send_waiting(self) -> None:
        while self._waiting:
            try:
                async with asyncio.timeout(max(0.0, self._last + self._wait - monotonic())):
                    await self._hurry.wait()
            except TimeoutError:
                self._wait = min(self._wait * WAIT_GROWTH, MAX_WAIT_SECONDS)
            self._hurry.clear()
            batch, self._waiting = b"".join(self._waiting), []
            self._is_taken.clear()
            try:
                await self._send({"type": "websocket.send", "bytes": batch})
            except (OSError, RuntimeError) as error:  # lost or closed; raised at the next message
                self._lost = error
                return
            finally:
                self._is_taken.set()
            self._last = monotonic()


def begins(message: bytes) -> bool:
    """Whether the message is the first of a rerun."""
    return len(message) < 16_384 and ForwardMsg.FromString(message).WhichOneof("type") == "new_session"


def ends(message: bytes) -> bool:
    """Whether the message is the last of a rerun."""
    if len(message) > 64:
        return False
    found = ForwardMsg.FromString(message)
    return found.HasField("session_status_changed") and not found.session_status_changed.script_is_running
