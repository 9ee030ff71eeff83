"""Starts the app: one socket on 127.0.0.1, Streamlit behind it, a browser in front of it.

Streamlit is imported only after the address is bound, printed and handed to the browser, so that the browser's own
start and Streamlit's imports overlap: a request that comes early waits in the socket's queue.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from viz_transformer.ui.session.memory import keep_freed_memory

if TYPE_CHECKING:
    from types import FrameType

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST: Final = "127.0.0.1"
USUAL_PORT: Final = 8501
ALLOWED_HOSTS: Final = ["localhost", HOST]

# What must hold however the app is started; colours, fonts and the rest are in .streamlit/config.toml beside app.py.
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

# Of every response: no page may show ours inside itself, and no file is taken for what it does not say it is.
HEADERS: Final = [("content-security-policy", "frame-ancestors 'none'"), ("x-content-type-options", "nosniff")]

FAILED: Final = (
    "This page stopped at an error in the program. Its details are in the terminal that the app was started from."
    " Change something or reload to go on."
)

CHROME_NAMES: Final = (
    "google-chrome",
    "google-chrome-stable",
    "chromium",
    "chromium-browser",
    "microsoft-edge",
    "microsoft-edge-stable",
    "chrome",
    "msedge",
)
CHROME_MAC: Final = (
    "Google Chrome.app/Contents/MacOS/Google Chrome",
    "Chromium.app/Contents/MacOS/Chromium",
    "Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
CHROME_WINDOWS: Final = (
    "Google/Chrome/Application/chrome.exe",
    "Chromium/Application/chrome.exe",
    "Microsoft/Edge/Application/msedge.exe",
)


def entry_script() -> Path:
    """The app's `app.py`: beside the package in a checkout, inside the package when it was installed from a wheel."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parent
    if (checkout / "app.py").is_file() and (checkout / "pyproject.toml").is_file():
        return checkout / "app.py"
    installed = package / "_app" / "app.py"
    if installed.is_file():
        return installed
    raise FileNotFoundError(f"the app's files are missing from {package}: install viz-transformer again")


def bind(port: int | None) -> tuple[socket.socket, str | None]:
    """A listening socket on 127.0.0.1 and, if it is not the port that was asked for, a sentence that says so.

    port: None takes 8501 and any free port without a word if that is in use; 0 takes any free port.
    The socket is handed to the server as it is, so nobody can take the port in between.
    """
    wanted = USUAL_PORT if port is None else port
    try:
        if wanted and answers(wanted):
            raise OSError("in use")
        return socket.create_server((HOST, wanted)), None
    except OSError as error:
        free = socket.create_server((HOST, 0))
        if port is None:
            return free, None
        reason = "may not be used by this account" if isinstance(error, PermissionError) else "is in use"
        return free, f"Port {port} {reason}: taking {free.getsockname()[1]} instead."


def answers(port: int) -> bool:
    """Whether something accepts connections on this port of 127.0.0.1.

    Linux would refuse to bind such a port by itself; macOS lets one bind 127.0.0.1 under a server on all addresses.
    Not asked on Windows, where a refusal takes two seconds.
    """
    if os.name == "nt":
        return False
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex((HOST, port)) == 0


def find_chrome() -> str | None:
    """The path of a Chrome, Chromium or Edge on this machine, or None."""
    for name in CHROME_NAMES:
        if found := shutil.which(name):
            return found
    if sys.platform == "darwin":
        folders, names = [Path("/Applications"), Path.home() / "Applications"], CHROME_MAC
    elif os.name == "nt":
        variables = ("ProgramFiles", "ProgramFiles(x86)", "LocalAppData")
        folders, names = [Path(os.environ[v]) for v in variables if v in os.environ], CHROME_WINDOWS
    else:
        return None
    return next((str(path) for folder in folders for name in names if (path := folder / name).is_file()), None)


def window_command(chrome: str, url: str) -> list[str]:
    """The command that opens `url` in a window of its own, without tabs and address bar."""
    command = [chrome, f"--app={url}", "--no-first-run", "--no-default-browser-check"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--no-sandbox")  # Chrome refuses to start as root with it
    return command


def has_display() -> bool:
    """Whether a browser can show anything here; without one, `webbrowser` may start a text browser in this terminal."""
    if sys.platform == "darwin" or os.name == "nt":
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def show(url: str, *, window: bool) -> None:
    """Open the browser, or an app window, on `url`; say in one sentence what could not be done."""
    if not has_display():
        say("There is no display here: open the address in a browser yourself.")
        return
    if window:
        chrome = find_chrome()
        if chrome is not None:
            quiet = subprocess.DEVNULL
            subprocess.Popen(window_command(chrome, url), stdin=quiet, stdout=quiet, stderr=quiet)
            return
        say("No Chrome, Chromium or Edge was found for a window of its own: opening the usual browser.")
    import webbrowser

    if not webbrowser.open(url):
        say("No browser could be opened: open the address yourself.")


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def run_app(*, port: int | None = None, browser: bool = True, window: bool = False) -> None:
    """Serve the app until Ctrl-C. Prints its address in one line as soon as it is known."""
    script = entry_script()
    listening, remark = bind(port)
    url = f"http://{HOST}:{listening.getsockname()[1]}"
    if remark:
        say(remark)
    print(f"Viz Transformer: {url} (Ctrl-C stops it)", flush=True)
    if browser or window:
        threading.Thread(target=show, args=(url,), kwargs={"window": window}, daemon=True).start()
    serve(script, listening)


def say_failure(error: Exception) -> bool:
    """Say on the page that a run of it failed. Returns True: Streamlit, which has logged the error, shows nothing."""
    from viz_transformer.ui.frame import text

    text.paragraph(FAILED, tone="bad")
    return True


async def not_found(request: Request, error: Exception) -> Response:
    """The answer where the file system has no such file; it raises errors of its own for names that are too long."""
    from starlette.responses import PlainTextResponse

    return PlainTextResponse("Not Found", status_code=404)


class OwnPagesOnly:
    """Lets in what was asked of this machine by name, and only by pages that this server sent.

    Streamlit alone checks the host of WebSockets only, lets in the pages of every other local server, and asks a
    service on the internet for this machine's address when a stranger knocks. It lets every page read static files.
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
    """Serves Streamlit's page with this server's address in it, and our title.

    Else the browser looks for the server below the path of the page first, and every page but the first starts with
    two errors in the console.
    """

    SCRIPT = "<script>window.__streamlit={BACKEND_BASE_URL:location.origin,MAIN_PAGE_BASE_URL:location.origin}</script>"

    def __init__(self, app: ASGIApp) -> None:
        import streamlit

        self.app = app
        page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
        page = page.replace("<title>Streamlit</title>", "<title>Viz Transformer</title>")
        self.page = page.replace("<head>", f"<head>{self.SCRIPT}", 1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.responses import HTMLResponse

        response = HTMLResponse(self.page, headers={"cache-control": "no-cache"}) if self.wanted(scope) else self.app
        await response(scope, receive, send)

    def wanted(self, scope: Scope) -> bool:
        """Whether a browser asks for a page: not for a file, and nothing of Streamlit's own."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].startswith("/_stcore/"):
            return False
        accepts = dict(scope["headers"]).get(b"accept", b"")
        return b"text/html" in accepts and "." not in scope["path"].rpartition("/")[2]


def serve(script: Path, listening: socket.socket) -> None:
    """Run Streamlit on a bound socket until a signal ends it."""
    os.environ["OMP_NUM_THREADS"] = "1"  # one torch thread; read when torch is imported, which is later
    keep_freed_memory()

    import uvicorn
    from starlette.middleware import Middleware
    from streamlit import config
    from streamlit.runtime.pages_manager import PagesManager
    from streamlit.starlette import App
    from streamlit.web import bootstrap

    PagesManager.uses_pages_directory = False  # app.py names the pages; else the first run takes pages/ for them
    app = App(
        script,
        middleware=[Middleware(OwnPagesOnly), Middleware(AddressedPage)],
        on_script_error=say_failure,
        exception_handlers={OSError: not_found},
    )
    bootstrap.load_config_options({**SERVER_OPTIONS, "server.port": listening.getsockname()[1]})

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            if self.should_exit:
                os._exit(130)  # asked twice: uvicorn would leave in a hurry too, but with a traceback
            self.should_exit = True

    Server(
        uvicorn.Config(
            app,
            access_log=False,
            headers=HEADERS,
            log_level="warning",
            timeout_graceful_shutdown=2,
            ws="websockets-sansio",  # this and the next two as `streamlit run` sets them
            ws_max_size=config.get_option("server.maxMessageSize") * 1_000_000,
            ws_per_message_deflate=False,
        )
    ).run(sockets=[listening])
