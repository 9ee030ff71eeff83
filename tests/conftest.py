"""What all tests share: one thread, no network, the app as a process of its own, and a real browser.

Which browser: the Chrome, Chromium or Edge that is found; else Debian's package when root; else Playwright's own
download, for at most 60 s. Without any, the browser tests are left out, and the last lines of the output say so;
with VIZ_REQUIRE_BROWSER=1 that is a failure. `make test` runs them side by side in some processes (pytest-xdist), of
which an idle one takes tests from another: `scheduling.py` says which it begins with.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from filelock import FileLock

# Before anything imports torch or Hugging Face.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.pop("VIZ_TRANSFORMER_DATA", None)  # tests read no file outside the repository
os.environ["VIZ_TRANSFORMER_CHECKPOINTS"] = ""  # nor models of whoever runs them
os.environ["VIZ_TRANSFORMER_LIBRARY"] = str(Path(tempfile.gettempdir()) / "viz-transformer-no-library")

from scheduling import dealt
from served import APP, ROOT, serving

from viz_transformer.command import main
from viz_transformer.command.server import find_chrome
from viz_transformer.ui.session.memory import search_rarely

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# No power is cut here: what a killed process has written is there without a disk that is waited for twice a file.
os.fsync = lambda _: None

# What tests import and what they are stays: searching through it for garbage was a third of what collecting them took.
search_rarely()

REQUIRED = os.environ.get("VIZ_REQUIRE_BROWSER", "") not in ("", "0")
BROWSER_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--js-flags=--no-opt --min-semi-space-size=32",  # a page is there for seconds: less is compiled and collected
]

REMEDY = "They need Chrome, Chromium or Edge, and are run by `make test`."

TESTS = Path(__file__).resolve().parent
QUICK = ("model", "text", "running", "analysis", "figures")  # folders of pure functions
NOT_QUICK = {  # but for these: they start a program, split by spaCy, or take more than two seconds together
    "analysis/decoding/test_caching.py",
    "analysis/decoding/test_series.py",
    "analysis/inputs/test_dataset.py",
    "analysis/layers/test_lens.py",
    "analysis/models/test_answers.py",
    "analysis/models/test_diagnostics.py",
    "analysis/models/test_snapshots.py",
    "analysis/playground/test_background.py",
    "analysis/playground/test_experiments.py",
    "analysis/weight/test_ladder.py",
    "analysis/weight/test_python_copy.py",
    "analysis/weight/test_torch_attention.py",
    "analysis/positions/test_orders.py",
    "figures/components",
    "model/test_points.py::test_each_recorded_point_is_causal",
    "model/test_positions.py::test_rotation_equals_that_of_transformers_in_both_pairings",
    "model/test_positions.py::test_slopes_are_those_of_the_paper_and_of_transformers",
    "running/test_beam_tree.py",
    "running/test_decoding.py",
    "running/test_marian_parity.py",
    "running/test_peak_memory.py",
    "running/test_strategies.py::test_draws_are_as_frequent_as_the_distribution_says",
    "text/test_linguistics.py",
    "text/test_tokenizers.py",
}

BROWSER = "needs_browser"  # a keyword of the tests that do
browser_tests: set[str] = set()  # ids of those that were collected here, or of which another process reports
browser_tests_run: set[str] = set()


def works(path: str | None) -> bool:
    """Whether this file is a browser that starts: Ubuntu's `chromium-browser`, for one, may be an empty shell."""
    if path is None:
        return False
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def debian_chromium() -> str | None:
    """The path of Chromium after installing Debian's package, or None where that cannot be done."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return None
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]):
        try:
            subprocess.run(command, env=environment, capture_output=True, timeout=300)
        except subprocess.TimeoutExpired:
            return None
    return find_chrome()


def playwright_chromium() -> str | None:
    """The path of the Chromium that Playwright keeps, downloaded if it comes within 60 s, or None."""
    from playwright.sync_api import sync_playwright

    try:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return None
    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


@pytest.fixture(scope="session")
def browser_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The browser that the tests drive; one process at a time looks for it, and installs it if need be."""
    with FileLock(tmp_path_factory.getbasetemp().parent / "browser.lock"):
        for candidate in (find_chrome, debian_chromium, playwright_chromium):
            path = candidate()
            if path is not None and works(path):
                return path
    reason = "no Chrome, Chromium or Edge was found, and none could be installed"
    if REQUIRED:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser(browser_path: str) -> Iterator[Browser]:
    """A running headless browser; each test opens pages or contexts of its own in it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser_path, args=BROWSER_ARGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def app_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that `app_server` writes its output to, errors included."""
    return tmp_path_factory.mktemp("app") / "app.log"


@pytest.fixture(scope="session")
def app_server(app_log: Path) -> Iterator[str]:
    """The address of the app, started as `viz-transformer app` starts it."""
    with serving(APP, app_log) as found:
        yield found


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[str]:
    """The address of an app that nobody has opened yet."""
    with serving(APP, tmp_path / "app.log") as found:
        yield found


@pytest.fixture(scope="session")
def random_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of random checkpoints: browser/checkpoints.py says which."""
    from browser.checkpoints import save_random_checkpoints

    folder = tmp_path_factory.mktemp("checkpoints")
    save_random_checkpoints(folder)
    return folder


@pytest.fixture(scope="session")
def random_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that `random_server` writes its output to, errors included."""
    return tmp_path_factory.mktemp("random") / "app.log"


@pytest.fixture(scope="session")
def random_server(random_folder: Path, random_log: Path) -> Iterator[str]:
    """The address of the same app with the checkpoints of `random_folder`."""
    script = ROOT / "tests" / "browser" / "serve.py"
    with serving([sys.executable, str(script), str(random_folder)], random_log) as found:
        yield found


def pytest_report_header() -> str:
    return f"attacks: VIZ_ATTACK_SEED={os.environ.get('VIZ_ATTACK_SEED', '0')}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m quick`, files without a quick test are not even imported."""
    return True if config.option.markexpr == "quick" and not may_be_quick(collection_path) else None


def may_be_quick(path: Path) -> bool:
    """Whether quick tests may be in this file or folder of the tests."""
    place = path.relative_to(TESTS)
    if place == Path():
        return True
    return place.parts[0] in QUICK and NOT_QUICK.isdisjoint({place.as_posix(), *map(Path.as_posix, place.parents)})


def is_quick(item: pytest.Item) -> bool:
    test = f"{item.path.relative_to(TESTS).as_posix()}::{item.name.partition('[')[0]}"
    return may_be_quick(item.path) and test not in NOT_QUICK and not needs_browser(item)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Browser tests come last: the quick ones fail first, and Playwright's event loop meets no other test. What is not
    asked for is gone by then.

    What a browser does beside others, and a server, may go wrong once in ten thousand times: such a test is tried once
    more. The output names each that was (`-rR`, RERUN): it is looked into, as a failure is.
    """
    for item in filter(is_quick, items):
        item.add_marker("quick")
    yield
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = dealt(items, needs_browser, processes)
    for item in filter(needs_browser, items):
        item.keywords[BROWSER] = True
        item.add_marker(pytest.mark.flaky(reruns=1))
        browser_tests.add(item.nodeid)


def pytest_collection_finish() -> None:
    """What is alive now stays, and no later search for garbage goes through it."""
    gc.collect()
    gc.freeze()


def needs_browser(item: pytest.Item) -> bool:
    return "browser_path" in getattr(item, "fixturenames", ())


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Of the tests of every process: what a worker collected is not known here, but what it reports is."""
    if BROWSER in report.keywords:
        browser_tests.add(report.nodeid)
        if report.when == "call" and not report.skipped:
            browser_tests_run.add(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    controls = not hasattr(session.config, "workerinput")
    if REQUIRED and controls and not browser_tests_run and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """The very last line: after the counts, where nobody overlooks it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    missed = len(browser_tests - browser_tests_run)
    if reporter is not None and not config.option.collectonly and (missed or (REQUIRED and not browser_tests)):
        reporter.write_line(f"BROWSER TESTS DID NOT RUN: {missed} of {len(browser_tests)}. {REMEDY}", yellow=True)


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    """A file of 120 pairs: a string of digits and the same backwards."""
    draw = random.Random(0)
    texts = ["".join(draw.choices("0123456789", k=draw.randint(2, 8))) for _ in range(120)]
    (tmp_path / "digits.tsv").write_text("".join(f"{text}\t{text[::-1]}\n" for text in texts))
    return tmp_path / "digits.tsv"


class Outcome(NamedTuple):
    """How a command ended: its exit status, and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Outcome]]:
    """Runs `viz-transformer` with these words and nothing to read, but in this process: it takes 3 s to import."""

    def run(*words: object) -> Outcome:
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Outcome(left.value.code, out, err)

    with open(os.devnull, encoding="utf-8") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield run
