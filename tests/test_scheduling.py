"""How tests are given out to processes."""

from __future__ import annotations

import re

from scheduling import SINGLY, unit
from served import ROOT


def test_long_files_are_given_out_test_by_test_and_others_whole() -> None:
    assert unit("tests/browser/test_pages.py::test_a[x::y]") == "tests/browser/test_pages.py::test_a[x::y]"
    assert unit("tests/browser/test_app.py::test_a") == unit("tests/browser/test_app.py::test_b[1]")


def test_what_is_given_out_test_by_test_shares_nothing_within_its_file() -> None:
    for file in SINGLY:
        assert not re.search(r"scope=|@(pytest\.)?fixture", (ROOT / file).read_text(encoding="utf-8")), file
