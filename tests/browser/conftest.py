"""What several files of browser tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.checkpoints import TYPED
from browser.driving import opened, used_again
from playwright.sync_api import Browser, Page
from served import APP, serving

from viz_transformer import decode, load
from viz_transformer.running.decoding import Run


@pytest.fixture(scope="session")
def run(random_folder: Path) -> Run:
    """The run of TYPED that the app shows with the random checkpoint "signs"."""
    return decode(load(random_folder / "signs"), TYPED)


FAMILIES = ("m2m_100", "bert-labels", "gpt_neox", "t5", "mt5", "llama", "albert", "bart")
"""Of folders of transformers, those that are looked at in a browser."""


@pytest.fixture(scope="session")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a folder of each of FAMILIES is, in `models`; and the library of their server, which is empty at first."""
    pytest.importorskip("transformers")
    from pretrained import ending, folder

    found = tmp_path_factory.mktemp("theirs")
    for name in FAMILIES:
        made = folder(found / "models" / name, name.replace("-", "/"))
        if name.endswith("t5") or name in ("llama", "bart"):
            ending(made)
    return found


@pytest.fixture(scope="session")
def their_server(theirs: Path) -> Iterator[str]:
    """The address of an app with the folders of `theirs`, and with its library."""
    command = [*APP, "--checkpoints", str(theirs / "models"), "--library", str(theirs / "library")]
    with serving(command, theirs / "log") as started:
        yield started


@pytest.fixture(scope="module")
def open_page(app_server: str, browser: Browser) -> Iterator[Page]:
    """A page of the app for all tests of a file that `visit` views: to load it anew takes longer than most looks."""
    with opened(browser, app_server, "/playground") as page:
        yield page


@pytest.fixture
def page(open_page: Page) -> Iterator[Page]:
    """The file's page, of which a test knows nothing but that it is in the app, with 1280 x 900 pixels."""
    with used_again(open_page) as page:
        yield page
