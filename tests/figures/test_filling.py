import math

import pytest

from viz_transformer.figures.filling import Shares, filling_bars


def draw(**changes):
    given = {"log_probs": [math.log(0.5), math.log(0.25)], "others": 0.25, "vocabulary": 9, "hidden": 1, **changes}
    return filling_bars(Shares(tokens=["cat", "<b>"], **given), title="a title")


def test_bars_are_the_probabilities_and_one_of_all_others():
    figure = draw()
    assert list(figure.data[0].x) == pytest.approx([0.5, 0.25, 0.25])
    assert list(figure.layout.yaxis.ticktext) == ["cat", "&lt;b&gt;", "other 7"]
    assert [note.text for note in figure.layout.annotations] == ["0.5000", "0.2500, was masked", "0.2500"]


def test_the_others_are_called_what_they_are():
    assert draw().data[0].customdata[-1].startswith("all other tokens together")
    assert draw(what="labels").data[0].customdata[-1].startswith("all other labels together")


def test_a_vocabulary_that_is_all_there_has_no_others():
    assert len(draw(vocabulary=2).data[0].x) == 2


def test_what_does_not_fit_together_is_said():
    with pytest.raises(ValueError, match="2 tokens do not fit 1 log-probabilities"):
        draw(log_probs=[0.0])
