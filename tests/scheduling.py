"""Which tests go to one process together when they run side by side: those of a file, but for a few long files.

The files with the most tests are given out first, so what is given out test by test comes last, the longest tests
before the others and behind every file of one test: no process is left alone with minutes of work.
"""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

SINGLY = (  # the file with the longest tests comes first
    "tests/browser/test_every_page.py",
    "tests/browser/test_in_view.py",
    "tests/browser/test_pages.py",
    "tests/browser/test_projector.py",
)
"""Files whose tests take long and share nothing but what lasts as long as a process: the app and the browser."""


def unit(test: str) -> str:
    """What this test, by its id, is given out with: its file, or nothing else."""
    file = test.partition("::")[0]
    return test if file in SINGLY else file


def place(test: str) -> int:
    """Where this test is to stand among those of other files: 0 for most, behind them those of SINGLY in its order."""
    file = test.partition("::")[0]
    return SINGLY.index(file) + 1 if file in SINGLY else 0


class LongFilesSingly(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)
