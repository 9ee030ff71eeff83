from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from visiting import visit

from viz_transformer.command import server, serving
from viz_transformer.ui.frame import style

FONT = "/app/static/ibm-plex-sans-400.woff2"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of 127.0.0.1 that somebody else listens on."""
    with socket.create_server((server.HOST, 0)) as listening:
        yield listening.getsockname()[1]


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def answer(port: int, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    """What the server answers a request with these headers."""
    connection = http.client.HTTPConnection(server.HOST, port, timeout=30)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


def status(port: int, path: str, **headers: str) -> int:
    """The status that the server answers a GET with these headers with."""
    return answer(port, path, **headers).status


def handshake(port: int, **headers: str) -> http.client.HTTPResponse:
    """What the server answers a WebSocket handshake."""
    asked = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    return answer(port, "/_stcore/stream", **asked, **{"Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg=="}, **headers)


def websocket_status(port: int, **headers: str) -> int:
    """The status that the server answers a WebSocket handshake with; 101 lets it in."""
    return handshake(port, **headers).status


def test_the_port_asked_for_is_taken_if_it_is_free() -> None:
    with socket.create_server((server.HOST, 0)) as listening:
        free = listening.getsockname()[1]
    bound, remark = server.bind(free)
    with bound:
        assert (bound.getsockname(), remark) == ((server.HOST, free), None)


def test_a_port_in_use_is_replaced_by_a_free_one_and_said(taken: int) -> None:
    bound, remark = server.bind(taken)
    with bound:
        other = bound.getsockname()[1]
        assert other != taken
        assert remark == f"Port {taken} is in use: taking {other} instead."


def test_the_usual_port_in_use_needs_no_remark(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "USUAL_PORT", taken)
    bound, remark = server.bind(None)
    with bound:
        assert (bound.getsockname()[1] != taken, remark) == (True, None)


def test_a_window_of_its_own_is_opened_with_the_chrome_that_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chrome = tmp_path / "chromium"
    chrome.touch()
    chrome.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(server, "CHROME_NAMES", ("chromium",))
    monkeypatch.setenv("DISPLAY", ":0")
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    server.open_in_browser("http://127.0.0.1:1", window=True)
    assert started[0][:2] == [str(chrome), "--app=http://127.0.0.1:1"]


def test_without_chrome_the_usual_browser_is_opened_and_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []

    def open_browser(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(server, "find_chrome", lambda: None)
    monkeypatch.setattr("webbrowser.open", open_browser)
    monkeypatch.setenv("DISPLAY", ":0")
    server.open_in_browser("http://127.0.0.1:1", window=True)
    assert opened == ["http://127.0.0.1:1"]
    assert "No Chrome, Chromium or Edge was found" in capsys.readouterr().err


def test_the_app_listens_on_this_machine_only(app_server: str) -> None:
    port = port_of(app_server)
    assert status(port, "/_stcore/health") == 200
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing; asks which address of this machine would be used
        outside = probe.getsockname()[0]
    with pytest.raises(OSError):
        socket.create_connection((outside, port), timeout=2)


def test_the_settings_beside_the_app_are_read_so_fonts_come_from_here(app_server: str) -> None:
    assert status(port_of(app_server), FONT) == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST"])
def test_a_request_by_this_machines_name_is_answered(app_server: str, host: str) -> None:
    port = port_of(app_server)
    assert status(port, "/", Host=f"{host}:{port}") == 200
    assert websocket_status(port, Host=f"{host}:{port}", Origin=f"http://{host.lower()}:{port}") == 101


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.", ""])
def test_a_request_under_another_name_is_refused(app_server: str, host: str) -> None:
    port = port_of(app_server)
    for path in ("/", "/_stcore/health", "/_stcore/host-config"):
        assert status(port, path, Host=f"{host}:{port}") == 403
    assert websocket_status(port, Host=f"{host}:{port}") == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:1", "https://127.0.0.1", "null"])
def test_a_page_from_elsewhere_can_neither_open_a_websocket_nor_read_a_file(app_server: str, origin: str) -> None:
    assert websocket_status(port_of(app_server), Origin=origin) == 403
    for path in ("/", "/_stcore/health", FONT):
        assert status(port_of(app_server), path, Origin=origin) == 403
        assert status(port_of(app_server), path, Origin=app_server) == 200


def test_the_page_takes_messages_from_no_other_page(app_server: str) -> None:
    config = json.loads(answer(port_of(app_server), "/_stcore/host-config").read())
    assert config["allowedOrigins"] == [] and not config["enableCustomParentMessages"]


LONG = "a" * 5000


@pytest.mark.parametrize("path", [FONT, "", "models", "_stcore/health", "_stcore/host-config", "no.js", "no", LONG])
def test_no_answer_may_be_framed_or_taken_for_another_kind_of_file(app_server: str, path: str) -> None:
    port = port_of(app_server)
    answers = [answer(port, f"/{path.lstrip('/')}", method) for method in ("GET", "HEAD", "POST", "OPTIONS")]
    answers += [answer(port, f"/{path.lstrip('/')}", Host="evil.example"), handshake(port, Origin=app_server)]
    for each in answers:
        assert each.status < 500
        assert each.getheader("content-security-policy") == "frame-ancestors 'none'"
        assert set((each.getheader("x-content-type-options") or "").split(", ")) == {"nosniff"}


@pytest.mark.parametrize(
    "place", ["", "app/static/", "static/", "media/", "component/a/", "_stcore/bidi-components/a/"]
)
@pytest.mark.parametrize("name", [LONG, f"{LONG}.js", "a/" * 2500, "%20" * 300, "%F0%9F%98%80" * 70])
def test_a_file_whose_name_is_too_long_is_not_there(app_server: str, place: str, name: str) -> None:
    for kind in ("text/html", "*/*"):
        assert status(port_of(app_server), f"/{place}{name}", Accept=kind) in (200, 301, 400, 404)  # 200: the page


def test_starting_imports_neither_torch_nor_spacy() -> None:
    program = (
        "import sys, uvicorn\n"
        "uvicorn.Server.run = lambda self, sockets: self.config.load()\n"
        "from viz_transformer.command import main\n"
        "try: main(['app', '--no-browser', '--port', '0'])\n"
        "except SystemExit: print({'torch', 'spacy', 'pandas'} & set(sys.modules), 'streamlit' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "set() True", done.stderr


def test_nothing_is_sent_anywhere_and_forgery_protection_is_on() -> None:
    options = serving.SERVER_OPTIONS
    assert options["browser.gatherUsageStats"] is False
    assert options["server.enableXsrfProtection"] is True
    assert options["server.address"] == "127.0.0.1"


def test_ctrl_c_ends_the_app_without_a_traceback() -> None:
    command = [sys.executable, "-m", "viz_transformer.command", "app", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert status(port_of(line.split()[2]), "/_stcore/health") == 200  # waits until it is up
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize("path", ["/", "/models"])
def test_every_page_knows_the_address_of_the_server_and_has_our_title(app_server: str, path: str) -> None:
    request = urllib.request.Request(app_server + path, headers={"Accept": "text/html"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        page = answer.read().decode()
    assert "<title>Viz Transformer</title>" in page
    assert serving.AddressedPage.SCRIPT in page


def test_the_style_comes_with_the_page_behind_streamlit_s_own_and_not_again_with_each_run(app_server: str) -> None:
    request = urllib.request.Request(app_server + "/", headers={"Accept": "text/html"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        page = answer.read().decode()
    assert page.index("</head>") < page.index(style.variables())
    sent = [message.delta.new_element.html.body for message in visit(app_server) if message.HasField("delta")]
    assert not [body for body in sent if style.variables() in body]
