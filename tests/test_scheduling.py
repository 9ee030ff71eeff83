"""How tests are given out to processes."""

from __future__ import annotations

import re

import pytest
from scheduling import SINGLY, place, unit
from served import ROOT


def test_long_files_are_given_out_test_by_test_and_others_whole() -> None:
    assert unit("tests/browser/test_pages.py::test_a[x::y]") == "tests/browser/test_pages.py::test_a[x::y]"
    assert unit("tests/browser/test_app.py::test_a") == unit("tests/browser/test_app.py::test_b[1]")


def test_long_files_come_last_and_the_longest_first_of_them(request: pytest.FixtureRequest) -> None:
    assert place("tests/browser/test_train.py::test_a") < place(f"{SINGLY[0]}::test_z") < place(f"{SINGLY[-1]}::test_a")
    plugin = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    assert plugin is not None
    items = request.session.items[::-1]  # of all files, when all tests are run
    plugin.pytest_collection_modifyitems(items)
    assert [place(item.nodeid) for item in items] == sorted(place(item.nodeid) for item in items)


def test_what_is_given_out_test_by_test_shares_nothing_within_its_file() -> None:
    for file in SINGLY:
        assert not re.search(r"scope=|@(pytest\.)?fixture", (ROOT / file).read_text(encoding="utf-8")), file
