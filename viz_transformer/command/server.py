"""Starts the app: one socket on 127.0.0.1, Streamlit (`serving.py`), and a browser.

Streamlit is imported after the address is bound, printed and opened, so that the browser starts meanwhile: early
requests wait in the socket's queue.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from viz_transformer.checkpoint.folders import name_folders
from viz_transformer.ui.session.memory import search_rarely

HOST: Final = "127.0.0.1"
USUAL_PORT: Final = 8501
CHROME_NAMES: Final = (
    "google-chrome google-chrome-stable chromium chromium-browser microsoft-edge microsoft-edge-stable chrome msedge"
).split()
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
    """The app's `app.py`: next to the package in a checkout, inside it in a wheel."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parent
    if (checkout / "app.py").is_file() and (checkout / "pyproject.toml").is_file():
        return checkout / "app.py"
    installed = package / "_app" / "app.py"
    if installed.is_file():
        return installed
    raise FileNotFoundError(f"the app's files are missing from {package}: install viz-transformer again")


def bind(port: int | None) -> tuple[socket.socket, str | None]:
    """A listening socket on 127.0.0.1, and a sentence if it is not the requested port.

    port: None takes 8501, or silently any free port if that is in use; 0 takes any free port. The server gets the
    socket itself, so nobody can take the port in between.
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

    Linux refuses to bind such a port anyway; macOS allows 127.0.0.1 under a server on all addresses. Skipped on
    Windows, where a refusal takes two seconds.
    """
    if os.name == "nt":
        return False
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex((HOST, port)) == 0


def find_chrome() -> str | None:
    """Path of Chrome, Chromium or Edge on this machine, or None."""
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
    """Command that opens `url` in a separate window, without tabs and address bar."""
    command = [chrome, f"--app={url}", "--no-first-run", "--no-default-browser-check"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--no-sandbox")  # Chrome refuses to start as root without it
    return command


def has_display() -> bool:
    """Whether a graphical browser can open; otherwise `webbrowser` may start a text browser in the terminal."""
    if sys.platform == "darwin" or os.name == "nt":
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def open_in_browser(url: str, *, window: bool) -> None:
    """Open the browser, or an app window, on `url`; print one sentence if that fails."""
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
    if not webbrowser.open(url):
        say("No browser could be opened: open the address yourself.")


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def run_app(
    *,
    port: int | None = None,
    browser: bool = True,
    window: bool = False,
    checkpoints: Sequence[Path] = (),
    library: Path | None = None,
) -> None:
    """Serve the app until Ctrl-C, printing its address as soon as it is known.

    checkpoints: folders of the user's own models. library: folder of opened ones.
    """
    name_folders(checkpoints, library)
    script = entry_script()
    listening, remark = bind(port)
    url = f"http://{HOST}:{listening.getsockname()[1]}"
    if remark:
        say(remark)
    print(f"Viz Transformer: {url} (Ctrl-C stops it)", flush=True)
    if browser or window:
        threading.Thread(target=open_in_browser, args=(url,), kwargs={"window": window}, daemon=True).start()
    serve(script, listening)


def serve(script: Path, listening: socket.socket) -> None:
    """Run Streamlit on a bound socket until a signal ends it."""
    os.environ["OMP_NUM_THREADS"] = "1"  # one torch thread; read when torch is imported, which is later
    search_rarely()
    from viz_transformer.command import serving

    serving.serve(script, listening)
