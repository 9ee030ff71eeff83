"""What is kept of runs and models is told apart by what they are, whatever object they are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from builders import tiny_checkpoint

from viz_transformer.analysis.masks.parts import replace_masks
from viz_transformer.checkpoint.contents import Summary
from viz_transformer.figures.enlarged import enlarged
from viz_transformer.running.decoding import decode
from viz_transformer.ui.session.generation_config import GenerationConfig
from viz_transformer.ui.session.memoize import memoize, memoize_figure
from viz_transformer.ui.session.runs import RunView


def run_of(ckpt, text="abc", **how):
    return RunView("A", Summary(ckpt.name, Path("tiny"), ckpt.config, {}, {}), text, ckpt, decode(ckpt, text), **how)


@pytest.fixture
def made():
    """A function that is kept, and what it was asked for."""
    asked = []

    @memoize(9)
    def number(thing, _beside=None):
        asked.append(thing)
        return len(asked)

    yield number, asked
    number.clear()


def test_the_same_run_is_worked_out_once_whether_it_is_a_or_b(made):
    number, asked = made
    a, again = run_of(tiny_checkpoint()), run_of(tiny_checkpoint())
    assert number(a) == number(replace(again, name="B")) == number(a, "what is beside it does not count") == 1
    assert asked == [a]


@pytest.mark.parametrize(
    "other",
    [
        lambda: run_of(tiny_checkpoint(), "abd"),
        lambda: run_of(tiny_checkpoint(seed=1)),
        lambda: run_of(tiny_checkpoint(), target="uv"),
        lambda: run_of(tiny_checkpoint(), how=GenerationConfig("sampling", (1.0, 0, 1.0, 0.0, 1.0, 3))),
        lambda: run_of(replace_masks(tiny_checkpoint(), fill="-inf")),
        lambda: replace(run_of(tiny_checkpoint()), own=True),
    ],
    ids=["text", "weights", "target", "how", "masks", "rows"],
)
def test_another_run_is_worked_out_for_itself(made, other):
    number, _ = made
    assert (number(run_of(tiny_checkpoint())), number(other())) == (1, 2)


def test_models_and_traces_are_known_too(made):
    number, _ = made
    ckpt = tiny_checkpoint()
    first, others = number(ckpt), [number(tiny_checkpoint()), number(replace_masks(ckpt, fill="-inf"))]
    assert (first, others) == (1, [1, 2])
    assert (number(decode(ckpt, "abc").trace), number(decode(ckpt, "abc").trace)) == (3, 3)


def test_a_figure_is_made_anew_only_for_other_numbers():
    made = []

    def chart(values, *, title):
        made.append(title)
        return go.Figure(layout={"title": {"text": title}})

    drawing = memoize_figure(chart)
    values = np.zeros((1200, 1200), np.float32)  # of so many numbers Streamlit itself would look at some
    first = drawing(values, title="one")
    assert drawing(values.copy(), title="one") is first
    values[700, 3] = np.nextafter(np.float32(0), np.float32(1))
    assert drawing(values, title="one") is not first
    assert drawing(values.reshape(600, 2400), title="one") is not first
    drawing(values, title="another")
    assert made == ["one", "one", "one", "another"]
    assert enlarged(strips := go.Figure(layout={"height": 100}), 2) is not strips and strips.layout.height == 100
