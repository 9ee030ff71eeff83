"""The slider over numbers: what it shows, and what Python hears while its thumb moves."""

import math
from types import SimpleNamespace

import pytest
from mounted import mounted

from viz_transformer.ui.components import pictures
from viz_transformer.ui.components.pictures import Range, slider_data


def data(value=1234.5, text="1,234.50", count=0):
    numbers = Range(least=-100_000.0, most=100_000.0, step=0.1, decimals=2)
    return slider_data(value, text, numbers, label="A number", count=count)


def shown(view):
    thumb = view.page.get_by_role("slider", name="A number")
    return thumb.input_value(), thumb.get_attribute("aria-valuetext"), view.page.locator(".said").text_content()


def told(view):
    return [(number["value"], number["settled"]) for _, number in view.page.evaluate("window.triggers")]


EMPTY = """(root) => {
  const range = root.querySelector("input")
  return [getComputedStyle(range, "::-webkit-slider-thumb").opacity, getComputedStyle(range).getPropertyValue("--done")]
}"""


def test_keys_move_it_and_it_shows_neither_thumb_nor_filled_track_for_what_is_no_number(browser):
    with mounted(browser, "slider", data()) as view:
        slider, name = view.page.locator(".slider"), view.page.locator(".slider .name")
        assert shown(view) == ("1234.5", "1,234.50", "1,234.50")
        assert name.text_content() == "A number" and name.is_visible()
        view.give(data(3.14159, "3.14159"))
        assert shown(view) == ("3.1", "3.14159", "3.14159")  # the thumb stands where a step leads
        view.give(data(None, "hello"))
        assert shown(view) == ("3.1", "no number", "")
        assert "empty" in slider.get_attribute("class") and slider.evaluate(EMPTY)[1] == "0%"
        view.give(data(0.0, "0.00"))
        assert "empty" not in slider.get_attribute("class") and told(view) == []
        view.page.get_by_role("slider").focus()
        view.press("ArrowLeft")
        assert shown(view) == ("-0.1", "-0.10", "-0.10")
        assert told(view) == [(-0.1, False)]
        view.press("End")
        assert shown(view)[1] == "100,000.00"
        view.page.wait_for_function("window.triggers.length >= 3")
        assert told(view) == [(-0.1, False), (100_000, False), (100_000, True)]


def test_the_number_stays_beside_the_thumb_and_on_the_page(browser):
    with mounted(browser, "slider", data(), viewport={"width": 220, "height": 100}) as view:
        for value, text in ((-100_000.0, "-100,000.00"), (100_000.0, "100,000.00"), (0.0, "0.00")):
            view.give(data(value, text))
            box = view.page.locator(".said").bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= 220
        track = view.page.locator(".slider .track").bounding_box()
        assert abs(box["x"] + box["width"] / 2 - track["x"] - track["width"] / 2) < 2


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ({"value": 1.5, "settled": False, "count": 1}, (1.5, False)),
        ({"value": 2, "settled": True, "count": 2}, (2.0, True)),
        ({"value": 1e9, "settled": False, "count": 3}, (10.0, False)),
        ({"value": -1e9, "settled": "yes", "count": 3}, (-10.0, False)),
        ({"value": math.nan, "settled": False, "count": 1}, None),
        ({"value": "7", "settled": False, "count": 1}, None),
        ({"value": True, "settled": False, "count": 1}, None),
        ({"value": 1.5, "settled": False}, None),
        ("7", None),
    ],
)
def test_python_hears_a_number_within_bounds_and_nothing_else(monkeypatch, number, expected):
    heard, called, state = [], [], {"place": SimpleNamespace(number=number)}
    monkeypatch.setattr(pictures, "st", SimpleNamespace(session_state=state))
    monkeypatch.setattr(pictures, "_component", lambda name: lambda **given: called.append(given))

    def draw():
        pictures.slider(
            0.0,
            "0",
            Range(least=-10.0, most=10.0, step=0.1, decimals=2),
            label="A number",
            key="place",
            on_number=lambda *each: heard.append(each),
        )

    draw()
    called[0]["on_number_change"]()
    assert heard == ([] if expected is None else [expected])
    draw()
    assert called[1]["data"]["count"] == (0 if expected is None else number["count"])
