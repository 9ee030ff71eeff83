"""A matrix whose sides are no tokens: numbered places, places that no selection knows, and marks along them."""

import numpy as np
import pytest
from drawing import picture_of
from mounted import WRITTEN, mounted

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axis, Span, numbered

SAID = {"scale": "diverging", "unit": "value", "quantity": "value", "bounded": False, "digits": 9}


def positions(rows, columns, **said):
    """A table whose first three rows a run reads; the rows from 4 on were never trained, and column 1 is picked."""
    values = np.sin(np.arange(rows * columns, dtype=np.float32)).reshape(rows, columns)
    spans = (Span(0, 3, "bar", "rows of this run"), Span(4, rows, "hatched", "never trained"))
    axes = (
        Axis("i", "position", "position", None, numbered(rows), reach=3, spans=spans),
        Axis("", "dimension", "dimension", None, numbered(columns), spans=(Span(1, 2, "mark", ink="heads-0"),)),
    )
    return picture_of(values, *axes, **{**SAID, **said})


def data(picture):
    return picture.pack(height=420, exact=True, why=())


def test_keys_walk_through_columns_that_the_selection_has_no_word_for(browser):
    with mounted(browser, "matrix", data(positions(6, 8))) as shown:
        shown.choose(i=1)
        shown.page.locator(".stage").focus()
        shown.press("ArrowRight", "ArrowRight", "ArrowRight")
        value = np.sin(np.float32(8 + 2))
        assert shown.tooltip[:2] == ["position 1", "dimension 2"]
        assert np.float32(shown.tooltip[2].removeprefix("value ")) == value
        assert shown.sent == []
        shown.press("ArrowDown")
        shown.hears(i=2)
        shown.press("ArrowDown", "ArrowDown")  # behind the run, which has three rows
        assert shown.tooltip[0] == "position 4" and shown.tooltip[-1] == "never trained"
        shown.page.wait_for_timeout(300)
        assert shown.sent == [{"i": 2}]


@pytest.mark.parametrize("columns", [12, 4000])
def test_all_columns_are_seen_at_once_and_have_round_numbers(browser, columns):
    with mounted(browser, "matrix", data(positions(6, columns))) as shown:
        shown.page.evaluate(WRITTEN)
        shown.choose(i=0)
        drawn = [int(text) for text in shown.page.evaluate("window.written") if text.isdigit()]
        assert shown.page.locator(".scroller").is_hidden()
        across = [place for place in drawn if place > 5]
        assert across and all(place % (1 if columns == 12 else 100) == 0 for place in across)
        said = " ".join(shown.page.evaluate("window.written"))
        assert "▌rows of this run" in said and "never trained (hatched)" in said
        assert ("max-pooled" in said) == (columns == 4000)


def test_false_and_true_are_two_tones_and_are_called_so(browser):
    names = ("False", "True: may attend")
    made = picture_of(np.eye(3), *positions(3, 3).axes, **{**SAID, "names": names, "scale": "encoder"})
    with mounted(browser, "matrix", data(made)) as shown:
        shown.page.evaluate(WRITTEN)
        shown.choose(i=0)
        assert {*names} <= {*shown.page.evaluate("window.written")}
        shown.page.locator(".stage").focus()
        shown.press("ArrowRight", "ArrowRight")
        assert shown.tooltip == ["position 0", "dimension 1", "False"]
        shown.press("ArrowLeft")
        assert shown.tooltip == ["position 0", "dimension 0", "True: may attend"]


def test_places_along_numbered_sides_are_not_sent_one_by_one():
    header, _ = payload.unpack(data(positions(6, 4000)))
    assert header["columns"]["tokens"] == [] and header["columns"]["count"] == 4000
    assert len(data(positions(1, 4000))) < 4 * 4000 + 2000
