"""The server at the app's address: Streamlit, restricted to this machine's own pages.

Imported after the address is bound, printed and opened.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from types import FrameType
from typing import Final

import streamlit as st
import uvicorn
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from viz_transformer.command import batches
from viz_transformer.command.server import HOST
from viz_transformer.ui import compat
from viz_transformer.ui.frame import style
from viz_transformer.ui.session.memory import give_back

ALLOWED_HOSTS: Final = ["localhost", HOST]

# Settings required however the app is started; colours, fonts etc. are in .streamlit/config.toml next to app.py.
SERVER_OPTIONS: Final[dict[str, object]] = {
    "browser.gatherUsageStats": False,
    "browser.serverAddress": HOST,
    "client.allowedOrigins": [],
    "client.showErrorDetails": "none",
    "server.address": HOST,
    "server.allowedHosts": ALLOWED_HOSTS,
    "server.baseUrlPath": "",
    "server.enableCORS": True,
    "server.enableXsrfProtection": True,
    "server.fileWatcherType": "none",
    "server.headless": True,
}

# For every response: no page may embed ours, and file types are not guessed.
HEADERS: Final = [("content-security-policy", "frame-ancestors 'none'"), ("x-content-type-options", "nosniff")]

LEFT_SECONDS: Final = 45
"""Seconds after which a visitor's leftovers are released; later than server.disconnectedSessionTTL."""

FAILED: Final = (
    "This page stopped at an error in the program. Its details are in the terminal that the app was started from."
    " Change something or reload to go on."
)


def say_failure(error: Exception) -> bool:
    """Show on the page that a rerun failed. Returns True: Streamlit has logged the error and shows nothing."""
    from viz_transformer.ui.frame import text

    text.paragraph(FAILED, tone="bad")
    return True


async def not_found(request: Request, error: Exception) -> Response:
    """404 also where the file system raises, such as for names that are too long."""
    return PlainTextResponse("Not Found", status_code=404)


class OwnPagesOnly:
    """Accepts only requests addressed to this machine by name, from pages of this server.

    Streamlit itself checks only the host of WebSockets, accepts pages of every other local server, looks up this
    machine's public address on the internet for unknown hosts, and lets any page read static files.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or self.welcome(scope):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"this app answers to localhost and 127.0.0.1 only"})

    def welcome(self, scope: Scope) -> bool:
        headers = {name: value.decode("latin-1").lower() for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        if host.partition(":")[0] not in ALLOWED_HOSTS:
            return False
        own = f"http://{host}"
        return bool(headers.get(b"origin", own) == own)


class AddressedPage:
    """Serves Streamlit's page with this server's address, our title and style, and the decoder of batches.

    Without the address, the browser first looks for the server below the page's path, so every page except the first
    starts with two console errors. Our style comes after Streamlit's, which it overrides.
    """

    SCRIPT = "<script>window.__streamlit={BACKEND_BASE_URL:location.origin,MAIN_PAGE_BASE_URL:location.origin}</script>"
    MODULE = f'<script type="module">{batches.SCRIPT}</script>'

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        page = compat.index_page()
        page = page.replace("<title>Streamlit</title>", "<title>Viz Transformer</title>")
        page = page.replace("</body>", f"{style.at_first_paint()}</body>", 1)
        self.page = page.replace("<head>", f"<head>{self.SCRIPT}{self.MODULE}", 1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = HTMLResponse(self.page, headers={"cache-control": "no-cache"}) if self.wanted(scope) else self.app
        await response(scope, receive, send)

    def wanted(self, scope: Scope) -> bool:
        """Whether a browser requests a page, not a file or Streamlit endpoint."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].startswith("/_stcore/"):
            return False
        accepts = dict(scope["headers"]).get(b"accept", b"")
        return b"text/html" in accepts and "." not in scope["path"].rpartition("/")[2]


def serve(script: Path, listening: socket.socket) -> None:
    """Run Streamlit on a bound socket until a signal ends it."""
    compat.keep_freed_memory()
    compat.give_up_pages_folder()
    app = st.App(
        script,
        middleware=[Middleware(OwnPagesOnly), Middleware(AddressedPage), Middleware(batches.Batched)],
        on_script_error=say_failure,
        exception_handlers={OSError: not_found},
    )
    compat.set_options({**SERVER_OPTIONS, "server.port": listening.getsockname()[1]})
    compat.patch()
    compat.when_everyone_has_left(lambda: give_back(st.cache_resource.clear), LEFT_SECONDS)

    pings = st.get_option("server.websocketPingInterval")

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            if self.should_exit:
                os._exit(130)  # second signal: uvicorn would also exit at once, but with a traceback
            self.should_exit = True

    Server(
        uvicorn.Config(
            app,
            access_log=False,
            headers=HEADERS,
            log_level="warning",
            timeout_graceful_shutdown=2,
            ws="websockets-sansio",  # this and the next four as in `streamlit run`
            ws_max_size=st.get_option("server.maxMessageSize") * 1_000_000,
            ws_per_message_deflate=False,
            ws_ping_interval=pings,
            ws_ping_timeout=pings,
        )
    ).run(sockets=[listening])
