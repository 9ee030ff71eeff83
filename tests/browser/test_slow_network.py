"""Behind a slow network, beside two busy programs, whatever one does ends in the right page."""

from __future__ import annotations

import pytest
from browser.driving import opened
from browser.gestures import MODEL, Gestures
from slow_network import busy, slow_network
from tabs import SECONDS


@pytest.mark.slow
def test_gestures_behind_a_slow_network_end_in_the_right_page(app_server, browser):
    """`make attack` does 500, and gives each ten seconds."""
    with (
        slow_network(app_server) as address,
        busy(),
        opened(browser, address, another=True, checkpoint=MODEL, text="42") as page,
    ):
        Gestures(page, seed=1, seconds=SECONDS / 1000).do(24)
