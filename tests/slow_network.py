"""Between a browser and the server: a network that delays what both send, and joins it, and two programs that work."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlparse

MAX_DELAY_SECONDS = 0.25
CHUNK_BYTES = 32_768
_WORK = "while True: sum(range(100_000))"


@contextmanager
def slow_network(server: str, seed: int = 0) -> Iterator[str]:
    """The address behind which the server is found, through a network that holds every fifth piece for a while, and
    with it all that comes behind."""
    where = urlparse(server)
    assert where.hostname and where.port
    draw = random.Random(seed)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    near, _ = listening.accept()
                    far = socket.create_connection((where.hostname, where.port))
                    for source, target in ((near, far), (far, near)):
                        threading.Thread(target=_pass_on, args=(source, target, draw.random), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def _pass_on(source: socket.socket, target: socket.socket, draw: Callable[[], float]) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            if draw() < 0.2:
                time.sleep(MAX_DELAY_SECONDS * draw())
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextmanager
def busy(processes: int = 2) -> Iterator[None]:
    """Beside so many processes that do nothing but compute."""
    started = [subprocess.Popen([sys.executable, "-c", _WORK]) for _ in range(processes)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()
