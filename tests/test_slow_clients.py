"""Clients that read slowly, or not at all for a while: each ends in an answered request."""

from __future__ import annotations

import socket
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
from attack.visitor import Visitor
from served import ROOT, serving
from streamlit_inside import BackMsg, ForwardMsg
from websockets.sync.client import ClientConnection, connect

SECONDS = 120


@contextmanager
def reading_late(server: str) -> Iterator[ClientConnection]:
    """A connection whose messages are taken off the network only when they are asked for."""
    where = urlparse(server)
    assert where.hostname and where.port
    with closing(socket.socket()) as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        plain.connect((where.hostname, where.port))
        stream = f"{server.replace('http', 'ws')}/_stcore/stream"
        settings: dict[str, Any] = {"origin": server, "subprotocols": ["streamlit"], "max_size": None, "max_queue": 1}
        with connect(stream, sock=plain, ping_interval=None, **settings) as found:
            yield found


def ask(connection: ClientConnection, page: str, query: str) -> None:
    wanted = BackMsg()
    wanted.rerun_script.page_name, wanted.rerun_script.query_string = page, query
    connection.send(wanted.SerializeToString())


def answered(connection: ClientConnection) -> list[ForwardMsg]:
    """All messages, until nothing runs any more and nothing comes for two seconds."""
    found: list[ForwardMsg] = []
    running, until = True, time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            data = connection.recv(timeout=2)
        except TimeoutError:
            if not running:
                return found
            continue
        assert isinstance(data, bytes)
        found.append(ForwardMsg.FromString(data))
        if found[-1].HasField("session_status_changed"):
            running = found[-1].session_status_changed.script_is_running
    pytest.fail(f"after {len(found)} messages the page still says that it runs")


@pytest.mark.parametrize("count", [8, pytest.param(30, marks=pytest.mark.slow)])  # 8 have 600 messages
def test_pages_that_nobody_read_end_in_an_answered_request(app_server: str, count: int) -> None:
    """The 501st message ended the session, and whatever was asked afterwards was thrown away without a word."""
    pages = ["attention", "decoding", "weight", "layers", "masks"]
    with Visitor(app_server, checkpoint="numbers-tiny", text="12.50"):  # what all of them need is imported
        pass
    with reading_late(app_server) as connection:
        for number in range(count):
            ask(connection, pages[number % len(pages)], f"checkpoint=numbers-tiny&text={number}.50")
            time.sleep(0.5)
        late = answered(connection)
        assert late[-1].HasField("session_status_changed")
        assert not any(message.delta.new_element.HasField("exception") for message in late)
        ask(connection, "attention", "checkpoint=numbers-tiny&text=77.50")
        again = answered(connection)
    finished = [message.script_finished for message in again if message.WhichOneof("type") == "script_finished"]
    assert finished == [ForwardMsg.FINISHED_SUCCESSFULLY]
    assert len([message for message in again if message.HasField("delta")]) > 30


def test_pings_come_as_often_as_the_settings_say(tmp_path: Path) -> None:
    """uvicorn's own are every 20 s, with 20 s to answer: a browser starved for that long was cut off."""
    settings = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))
    assert settings["server"]["websocketPingInterval"] == 120
    with serving([sys.executable, "-c", EACH_SECOND], tmp_path / "app.log") as address:
        where = urlparse(address)
        with closing(socket.create_connection((where.hostname or "", where.port or 0), timeout=15)) as plain:
            lines = ["GET /_stcore/stream HTTP/1.1", f"Host: {where.netloc}", "Upgrade: websocket"]
            lines += ["Connection: Upgrade", f"Sec-WebSocket-Key: {'A' * 22}==", "Sec-WebSocket-Version: 13", "", ""]
            plain.sendall("\r\n".join(lines).encode())
            received = b""
            while b"\r\n\r\n" not in received:
                received += plain.recv(4096)
            assert received.startswith(b"HTTP/1.1 101")
            frames = received.partition(b"\r\n\r\n")[2]
            while not frames:  # nothing is asked for, so nothing else is sent
                frames += plain.recv(4096)
    assert frames[0] == PING


EACH_SECOND = """
from viz_transformer.command import serving
from viz_transformer.command.server import run_app
serving.SERVER_OPTIONS["server.websocketPingInterval"] = 1
run_app(port=0, browser=False)
"""
PING = 0x89
"""The first byte of such a frame (RFC 6455, 5.2)."""
