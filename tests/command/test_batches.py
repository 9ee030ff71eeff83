"""Batches are the server's messages, no more and no less, and name what the browser has."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loops import in_a_loop
from streamlit_inside import ForwardMsg

from viz_transformer.command import batches
from viz_transformer.command.batches import Batched, Batches

STREAM = {"type": "websocket", "query_string": batches.ASKED}


def unpacked(*sent: bytes) -> list[bytes]:
    """What a browser makes of batches, told by the format alone."""
    remembered, count, found, parts = dict[int, bytes](), 0, list[bytes](), list[bytes]()
    for batch in sent:
        at = 0
        while at < len(batch):
            kind, number = struct.unpack_from("<BI", batch, at)
            at += 5
            if kind in (batches.LITERAL, batches.REMEMBERED):
                parts.append(batch[at : at + number])
                at += number
                if kind == batches.REMEMBERED:
                    remembered[count], count = parts[-1], count + 1
            elif kind == batches.KNOWN:
                parts.append(remembered[number])
            elif kind == batches.FORGOTTEN:
                del remembered[number]
            else:
                found.append(b"".join(parts))
                parts.clear()
    assert not parts
    return found


def component(script: str, picture: bytes, name: str = "matrix") -> bytes:
    message = ForwardMsg()
    element = message.delta.new_element.bidi_component
    element.component_name, element.js_content, element.bytes = name, script, picture
    message.metadata.delta_path.extend([0, 1])
    return bytes(message.SerializeToString())


def test_batches_hold_the_messages_bit_by_bit() -> None:
    draw, encoder = random.Random(0), Batches()
    scripts = ["ä" * 3000, "x" * 2000, "short"]
    pictures = [draw.randbytes(size) for size in (10, 1023, 1024, 50_000)]
    messages = [component(draw.choice(scripts), draw.choice(pictures)) for _ in range(60)]
    messages += [b"", draw.randbytes(10)]
    assert unpacked(*map(encoder.encode, messages)) == messages


def test_what_was_sent_once_is_named() -> None:
    encoder, message = Batches(), component("x" * 30_000, bytes(20_000))
    assert len(encoder.encode(message)) > 50_000
    assert len(encoder.encode(message)) < 100
    assert 20_000 < len(encoder.encode(component("x" * 30_000, bytes([1]) * 20_000))) < 20_200  # the picture is another


def test_what_a_browser_remembers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MAX_REMEMBERED_BYTES", 10_000)
    encoder, messages = Batches(), [component("x" * 3000, bytes([n % 7]) * 2000) for n in range(40)]
    sent = [encoder.encode(message) for message in messages]
    assert unpacked(*sent) == messages and encoder._bytes <= 10_000


def test_no_message_of_a_page_is_taken_for_one_of_another_kind() -> None:
    begin, end, running = ForwardMsg(), ForwardMsg(), ForwardMsg()
    begin.new_session.page_script_hash = "1"
    end.session_status_changed.script_is_running = False
    running.session_status_changed.script_is_running = True
    for message, begins, ends in ((begin, True, False), (end, False, True), (running, False, False)):
        data = message.SerializeToString()
        assert (batches.begins(data), batches.ends(data)) == (begins, ends)
    assert not batches.begins(component("x" * 3000, b"")) and not batches.ends(component("", b""))


# ---- what goes over the connection


class Connection:
    """A client of the middleware: what it was sent, and how long each frame takes it."""

    def __init__(self, seconds: float = 0, query: bytes = batches.ASKED) -> None:
        self.frames: list[bytes] = []
        self.events: list[str] = []
        self._seconds, self._query = seconds, query

    async def serve(self, app: Callable[..., Any]) -> None:
        async def send(event: Any) -> None:
            await asyncio.sleep(self._seconds)
            self.events.append(event["type"])
            if event["type"] == "websocket.send":
                self.frames.append(event["bytes"])

        await Batched(app)({"type": "websocket", "query_string": self._query}, None, send)  # type: ignore[arg-type]
        await asyncio.sleep(batches.MAX_WAIT_SECONDS / 2)


def run_of(messages: list[bytes], pause: float = 0.0) -> Callable[..., Any]:
    begin, end = ForwardMsg(), ForwardMsg()
    begin.new_session.page_script_hash = "1"
    end.session_status_changed.script_is_running = False

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})
        for data in (begin.SerializeToString(), *messages, end.SerializeToString()):
            await send({"type": "websocket.send", "bytes": data})
            await asyncio.sleep(pause)

    return app


SMALL = [component("s", bytes([n])) for n in range(100)]


def test_a_hundred_messages_of_a_moment_are_a_few_frames() -> None:
    connection = Connection()
    in_a_loop(connection.serve(run_of(SMALL)))
    assert unpacked(*connection.frames)[1:-1] == SMALL and len(connection.frames) <= 3


def test_messages_that_come_one_by_one_wait_longer_as_the_run_goes_on() -> None:
    connection = Connection()
    in_a_loop(connection.serve(run_of(SMALL, pause=0.01)))
    assert unpacked(*connection.frames)[1:-1] == SMALL and len(connection.frames) <= 12


def test_a_browser_that_does_not_ask_gets_messages() -> None:
    connection = Connection(query=b"")
    in_a_loop(connection.serve(run_of(SMALL)))
    assert connection.frames[1:-1] == SMALL


def test_while_a_frame_is_on_its_way_nothing_more_is_taken() -> None:
    """So what waits stays where the server drops it, if nobody wants it any more."""

    async def scenario() -> None:
        way, taken = asyncio.Event(), list[int]()

        async def send(event: Any) -> None:
            await way.wait()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            for number, data in enumerate(SMALL):
                await send({"type": "websocket.send", "bytes": data})
                taken.append(number)
                await asyncio.sleep(0.001)

        serving = asyncio.create_task(Batched(app)(STREAM, None, send))  # type: ignore[arg-type]
        await asyncio.sleep(0.3)
        assert len(taken) < len(SMALL)
        way.set()
        await serving
        assert len(taken) == len(SMALL)

    in_a_loop(scenario())


def test_a_connection_that_is_lost_is_raised_to_the_server() -> None:
    async def lost(event: Any) -> None:
        raise OSError("gone")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for data in SMALL:
            await send({"type": "websocket.send", "bytes": data})
            await asyncio.sleep(0.001)

    with pytest.raises(OSError, match="gone"):
        in_a_loop(Batched(app)(STREAM, None, lost))  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_browser_s_half_takes_apart_what_the_server_s_half_puts_together(tmp_path: Path) -> None:
    encoder = Batches()
    messages = [component("ä" * 3000, bytes([n % 5]) * 2000) for n in range(12)]
    sent = [encoder.encode(message) for message in messages]
    frames = [b"".join(sent[:5]), b"".join(sent[5:])]
    script = f"""
import {{ Unpacker }} from {json.dumps(str(Path(batches.__file__).with_suffix(".js")))}
const unpacker = new Unpacker()
const given = {json.dumps([frame.hex() for frame in frames])}
const messages = given.flatMap((hex) => unpacker.unpack(new Uint8Array(Buffer.from(hex, "hex")).buffer))
console.log(JSON.stringify(messages.map((each) => Buffer.from(each).toString("hex"))))
"""
    (tmp_path / "try.mjs").write_text(script)
    done = subprocess.run(["node", str(tmp_path / "try.mjs")], capture_output=True, text=True, check=True)
    assert [bytes.fromhex(each) for each in json.loads(done.stdout)] == messages
