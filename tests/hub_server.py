"""A server on loopback that answers as the Hugging Face hub does, as far as fetching a model asks it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

REVISION = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What it gives, and what it was asked for. refuses: status and headers of every answer; breaks: of which file only
    so many bytes come, once."""

    address: str
    models: dict[str, Path]
    refuses: tuple[int, dict[str, str]] | None = None
    breaks: dict[str, int] = field(default_factory=dict)
    sent: list[tuple[str, int]] = field(default_factory=list)  # files, and how many bytes of each
    asked: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """The files that were sent, in the order of their beginnings."""
        return [name for name, _ in self.sent]


@contextmanager
def hub(**models: Path) -> Iterator[Hub]:
    """The server, with these models: `someone__tiny` is the one called someone/tiny."""
    found = Hub("", {name.replace("__", "/"): folder for name, folder in models.items()})

    class Answer(_Answer):
        told = found

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    found.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Answer(BaseHTTPRequestHandler):
    told: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        path = unquote(urlsplit(self.path).path).strip("/")
        self.told.asked.append(path)
        if self.told.refuses is not None:
            status, headers = self.told.refuses
            self._send(status, b"", headers)
            return
        for name, folder in self.told.models.items():
            if path in (f"api/models/{name}", f"api/models/{name}/revision/main"):
                self._send(200, json.dumps({"id": name, "sha": REVISION}).encode(), {})
                return
            if path.startswith(f"api/models/{name}/tree/"):
                files = [
                    {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": _etag(file)}
                    for file in sorted(folder.iterdir())
                ]
                self._send(200, json.dumps(files).encode(), {})
                return
            if path.startswith(f"{name}/resolve/{REVISION}/"):
                self._file(folder / path.rpartition("/")[2], body=body)
                return
        self._send(404, b"", {"X-Error-Code": "RepoNotFound"})

    def _file(self, file: Path, *, body: bool) -> None:
        if not file.is_file():
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        numbers, headers = file.read_bytes(), {"ETag": f'"{_etag(file)}"', "X-Repo-Commit": REVISION}
        few = None
        if body:
            few = self.told.breaks.pop(file.name, None)
            self.told.sent.append((file.name, len(numbers) if few is None else few))
        self._send(200, numbers, headers, body=body, only=few)

    def _send(
        self, status: int, content: bytes, headers: dict[str, str], *, body: bool = True, only: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), "Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content if only is None else content[:only])
        if only is not None:
            self.close_connection = True


def _etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes(), usedforsecurity=False).hexdigest()
