"""The one selection of a page's components: seen by all at once, told to Python when it has settled."""

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
from mounted import mounted

from viz_transformer.ui.components import selection

CHOSEN = {"kind": "cross", "layer": 1, "heads": [0, 2], "i": 0, "t": None}


class Browser:
    """What stands in for streamlit: keeps what is sent, and sends picks."""

    def __init__(self, monkeypatch):
        self.session_state = {}
        self.heard, self.losses = [], 0
        monkeypatch.setattr(
            selection, "st", SimpleNamespace(session_state=self.session_state, container=self.container)
        )
        monkeypatch.setattr(selection, "_selection", self.component)

    def container(self, **given):
        return nullcontext()

    def component(self, *, key, data, on_pick_change=None):
        self.told.append(data)
        if on_pick_change is not None:
            self.key, self.picked = key, on_pick_change

    def join(self):
        self.told = []
        selection.hear_picks(self.heard.append, self.lost)
        selection.tell_chosen(CHOSEN)

    def lost(self):
        self.losses += 1

    def pick(self, value):
        self.session_state[self.key] = SimpleNamespace(pick=value)
        self.picked()


@pytest.fixture
def page(monkeypatch):
    return Browser(monkeypatch)


def test_the_browser_is_told_what_is_chosen(page):
    page.join()
    assert page.told == [{"token": "", "lost": 0}, {"chosen": CHOSEN, "token": ""}]


def test_a_pick_is_handed_on_and_its_token_goes_back(page):
    page.join()
    page.pick({"token": "abc", "fields": {"t": 3, "i": 1}})
    assert page.heard == [{"t": 3, "i": 1}]
    page.join()
    assert [data["token"] for data in page.told] == ["abc", "abc"]


def test_a_lost_connection_is_told_with_what_python_may_not_have_heard(page):
    page.join()
    page.pick({"token": "abc", "fields": {"t": 3}})
    assert page.losses == 0
    page.pick({"token": "abd", "fields": {"t": 4}, "again": True})
    page.pick({"token": "abe", "fields": {}, "again": True})
    assert page.heard == [{"t": 3}, {"t": 4}, {}]
    assert page.losses == 2


def test_a_pick_that_comes_while_the_page_changes_is_asked_for_again(page):
    page.join()
    page.session_state.pop(page.key, None)  # as Streamlit forgets a component when another page begins
    page.picked()
    assert page.heard == []
    page.join()
    assert page.told[0] == {"token": "", "lost": 1}
    page.pick({"token": "abc", "fields": {"t": 3}})
    assert page.heard == [{"t": 3}]


@pytest.mark.parametrize("strange", [None, "t", 3, {}, {"token": "a"}, {"fields": None}, {"fields": "t", "token": "a"}])
def test_what_is_no_pick_is_not_handed_on(page, strange):
    page.join()
    page.pick(strange)
    assert page.heard == []
    page.join()
    assert [data["token"] for data in page.told] == ["", ""]


# ---- in the browser

CALL = "window.vizTransformerSelection"
START = {"chosen": {"t": 1, "i": 2}, "token": ""}
HEARS = {"token": "", "lost": 0}


def chosen(shown):
    return shown.page.evaluate(f"{CALL}.chosen")


def settled(shown):
    """The fields that Python heard of, after everything that was still to be sent."""
    shown.page.evaluate("() => new Promise((done) => setTimeout(done, 60))")
    return [pick["fields"] for name, pick in told(shown) if name == "pick"]


def told(shown):
    return shown.page.evaluate("window.triggers")


@contextmanager
def joined(browser):
    """The selection of a page, sending to Python as it does in the app."""
    with mounted(browser, "selection", HEARS) as shown:
        shown.give(START)
        yield shown


def connect(shown):
    shown.give(HEARS)  # the page of the tests connected itself in its place
    shown.page.evaluate("window.triggers.length = 0")


def test_the_browser_takes_over_what_python_says_is_chosen(browser):
    with joined(browser) as shown:
        assert chosen(shown) == {"t": 1, "i": 2}
        shown.give({"chosen": {"t": 4}, "token": ""})
        assert chosen(shown) == {"t": 4}


def test_a_pick_is_seen_by_all_components_before_python_hears_of_it(browser):
    with joined(browser) as shown:
        connect(shown)
        seen = shown.page.evaluate(
            f"""() => {{
              const seen = []
              const deaf = {CALL}.listen(() => seen.push({CALL}.chosen))
              {CALL}.pick({{ t: 3 }})
              deaf()
              {CALL}.pick({{ i: 0 }})
              return [seen, window.triggers.length]
            }}"""
        )
        assert seen == [[{"t": 3, "i": 2}], 0]
        assert settled(shown) == [{"t": 3, "i": 0}]


def test_of_many_picks_in_a_row_python_hears_once_with_the_last_of_each_field(browser):
    with joined(browser) as shown:
        connect(shown)
        shown.page.evaluate(
            f"() => {{ for (let t = 0; t < 20; t++) {CALL}.pick({{ t }}, 30); {CALL}.pick({{ i: 5 }}, 30) }}"
        )
        assert chosen(shown) == {"t": 19, "i": 5}
        shown.page.wait_for_function("window.triggers.length > 0")
        assert settled(shown) == [{"t": 19, "i": 5}]


def test_each_pick_begins_the_wait_anew(browser):
    with joined(browser) as shown:
        waits = shown.page.evaluate(
            f"""() => {{
              const {{ setTimeout, clearTimeout }} = window
              const timers = new Map()
              window.setTimeout = (call, wait) => timers.set(timers.size + 1, wait).size
              window.clearTimeout = (timer) => timers.delete(timer)
              for (const t of [3, 4, 5]) {CALL}.pick({{ t }}, 150)
              Object.assign(window, {{ setTimeout, clearTimeout }})
              return [...timers.values()]
            }}"""
        )
    assert waits == [150]


def test_what_python_says_before_it_has_heard_of_a_pick_is_not_believed(browser):
    with joined(browser) as shown:
        connect(shown)
        shown.page.evaluate(f"{CALL}.pick({{ t: 3 }})")
        shown.give({"chosen": {"t": 1, "i": 2}, "token": ""})  # a run that began before the pick
        assert chosen(shown) == {"t": 3, "i": 2}
        settled(shown)
        ((_, pick),) = told(shown)
        shown.give({"chosen": {"t": 2, "i": 2}, "token": pick["token"]})  # Python heard, and brought it into bounds
        assert chosen(shown) == {"t": 2, "i": 2}


def test_a_python_that_never_hears_of_a_pick_is_believed_after_ten_seconds(browser):
    with joined(browser) as shown:
        connect(shown)
        shown.page.evaluate(f"{CALL}.pick({{ t: 3 }})")
        shown.page.evaluate("() => { const now = performance.now(); performance.now = () => now + 10_001 }")
        shown.give({"chosen": {"t": 1, "i": 2}, "token": ""})
        assert chosen(shown) == {"t": 1, "i": 2}


def test_what_python_has_not_heard_of_goes_with_the_next_pick(browser):
    """Streamlit keeps of two picks that wait for a run only the later."""
    with joined(browser) as shown:
        connect(shown)
        for pick in ("i: 0", "t: 3"):
            shown.page.evaluate(f"{CALL}.pick({{ {pick} }})")
            heard = settled(shown)
        assert heard == [{"i": 0}, {"i": 0, "t": 3}]
        shown.give({"chosen": {"t": 1, "i": 0}, "token": told(shown)[0][1]["token"]})  # the run that the first caused
        assert chosen(shown) == {"t": 3, "i": 0}
        shown.give({"chosen": {"t": 3, "i": 0}, "token": told(shown)[1][1]["token"]})
        shown.page.evaluate(f"{CALL}.pick({{ t: 4 }})")
        assert settled(shown)[2:] == [{"t": 4}]


def test_what_came_to_python_without_its_fields_is_told_again_once(browser):
    with joined(browser) as shown:
        connect(shown)
        shown.page.evaluate(f"{CALL}.pick({{ t: 3 }})")
        assert settled(shown) == [{"t": 3}]
        lost = {**HEARS, "lost": 1}
        shown.give(lost)
        shown.give(lost)
        assert settled(shown) == [{"t": 3}, {"t": 3}]
        assert chosen(shown) == {"t": 3, "i": 2}


def test_python_is_told_nothing_between_a_click_on_a_link_to_another_page_and_that_page(browser):
    with joined(browser) as shown:
        connect(shown)
        shown.page.evaluate(
            f"""() => {{
              document.body.insertAdjacentHTML("beforeend", '<a href="/another">there</a><a href="/">here</a>')
              document.addEventListener("click", (event) => event.preventDefault())
              document.links[1].click()
              {CALL}.pick({{ t: 3 }})
            }}"""
        )
        assert settled(shown) == [{"t": 3}]
        shown.page.evaluate(f"() => {{ document.links[0].click(); {CALL}.pick({{ t: 4 }}) }}")
        assert settled(shown) == [{"t": 3}]
        shown.page.evaluate('history.pushState(null, "", "/another")')
        shown.page.wait_for_function("window.triggers.length > 1")
        assert settled(shown) == [{"t": 3}, {"t": 4}]


def test_what_is_chosen_already_disturbs_nobody(browser):
    with joined(browser) as shown:
        calls = f"() => {{ window.calls = 0; {CALL}.listen(() => {{ window.calls++ }}) }}"
        shown.page.evaluate(calls)
        shown.give(START)
        assert shown.page.evaluate("window.calls") == 0
        shown.give({"chosen": {"t": 0}, "token": ""})
        assert shown.page.evaluate("window.calls") == 1


def test_what_leads_on_waits_until_python_has_heard_of_the_pick(browser):
    with joined(browser) as shown:
        connect(shown)
        shown.page.evaluate(f"() => {{ window.led = 0; {CALL}.lead({{ t: 3 }}, () => {{ window.led++ }}) }}")
        assert settled(shown) == [{"t": 3}]
        shown.give({"token": "of a pick before", "lost": 0})
        assert shown.page.evaluate("window.led") == 0
        for _ in range(2):
            shown.give({"token": told(shown)[0][1]["token"], "lost": 0})
        assert shown.page.evaluate("window.led") == 1
