"""What is shown while a run is waited for is gone when it is there."""

import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

from playwright.sync_api import expect
from tabs import tab

SCRIPT = """
import time
from pathlib import Path
import streamlit as st
from viz_transformer.ui.session.runs import ProgressBar
from viz_transformer.ui.session.waiting import waiting

ProgressBar.PATIENCE = ProgressBar.EVERY = 0.0
place = st.empty()
with waiting("Running the model ...", place), ProgressBar() as progress:
    progress(1, 128)
    while not Path(__file__).with_name("drawn").exists():  # what is waited for, in the browser
        time.sleep(0.02)
with place.container():
    st.text("The answer is there.")
st.text("The page is drawn.")
"""


def test_nothing_of_a_wait_is_left_where_its_place_is_filled_at_once(browser, tmp_path):
    (tmp_path / "page.py").write_text(SCRIPT)
    with streamlit(tmp_path / "page.py") as address, tab(browser, [], of="app") as page:
        page.goto(address)
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        (tmp_path / "drawn").touch()
        expect(page.get_by_text("The page is drawn.")).to_be_visible()
        expect(page.get_by_text("The answer is there.")).to_be_visible()
        page.wait_for_timeout(1000)  # until Streamlit has taken away what this run did not draw
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
        expect(page.get_by_text("of at most 128")).to_have_count(0)


@contextmanager
def streamlit(script):
    """The address of a script that Streamlit serves."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless=true"]
    command += [f"--server.port={port}", "--server.address=127.0.0.1", "--browser.gatherUsageStats=false"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1)
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(timeout=60)
