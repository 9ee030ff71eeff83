"""Tabs that tests leave to each other."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page
from tabs import EMPTY, tab

ADDRESS = "http://tab.test/"


def fill(page: Page) -> None:
    page.route("**/*", lambda route: route.fulfill(body="<!doctype html><p>here", content_type="text/html"))
    page.goto(ADDRESS)
    page.evaluate("() => { localStorage.setItem('a', 'b'); window.left = 1 }")


def test_a_tab_is_used_again_and_nothing_of_the_test_before_is_in_it(browser: Browser) -> None:
    with tab(browser, first := [], of="tests", color_scheme="dark") as page:
        fill(page)
        page.evaluate("console.error('of the first')")
    with tab(browser, second := [], of="tests") as again:
        assert again is page and again.url == EMPTY
        fill(again)
        again.goto(f"{ADDRESS}?again")
        assert again.evaluate("[window.left ?? null, matchMedia('(prefers-color-scheme: dark)').matches]") == [
            None,
            False,
        ]
        again.evaluate("console.error('of the second')")
        again.wait_for_function("true")
    assert (first, second) == (["of the first"], ["of the second"])
    with tab(browser, [], of="tests") as again:
        again.route("**/*", lambda route: route.fulfill(body="<!doctype html>", content_type="text/html"))
        again.goto(ADDRESS)
        assert again.evaluate("Object.keys(localStorage)") == ["vizTransformerTour"]


def test_a_tab_in_which_a_test_fails_is_closed(browser: Browser) -> None:
    with pytest.raises(AssertionError), tab(browser, [], of="tests") as page:
        fill(page)
        raise AssertionError
    assert page.is_closed()
    with tab(browser, [], of="tests") as another:
        assert another is not page
        fill(another)


def test_two_tabs_at_once_are_two(browser: Browser) -> None:
    with tab(browser, [], of="tests") as one, tab(browser, [], of="tests") as two:
        assert one is not two
        fill(one), fill(two)
