"""The cache at a step, as it is drawn and said."""

import re

import numpy as np
import pytest
from builders import tiny_checkpoint
from page_driver import drawn
from page_driver import words as read
from showing import shown_of
from wording import wording

from viz_transformer.analysis.decoding.caching import UncachedDifference, cache_of_run, uncached_difference
from viz_transformer.running.strategies import Beam
from viz_transformer.ui.pages.decoding import cache_view, words


@pytest.fixture(scope="module")
def shown():
    return shown_of(tiny_checkpoint(), "abc", target="uvwxy")


def cells(page, kind):
    """What each cell of one picture says, layer by layer."""
    (figure,) = re.findall(rf'<figure class="vt-kv-{kind}".*?</figure>', page)
    return [re.findall(r'class="vt-kv vt-kv-(\w+)" title="([^"]*)"', row) for row in figure.split("<span>layer ")[1:]]


def test_every_layer_and_position_has_a_cell_that_says_what_was_done(shown):
    steps = cache_of_run(shown.run)
    page = cache_view.positions_html(steps[2], shown, steps[-1].positions)
    layers = cells(page, "target")
    assert len(layers) == 3 and all(layer == layers[0] for layer in layers)
    assert layers[0] == [
        ("old", "0 &lt;s&gt;: reused"),
        ("old", "1 u: reused"),
        ("now", "2 v: computed in this step"),
        ("not", "3 w: not yet"),
        ("not", "4 x: not yet"),
        ("not", "5 y: not yet"),
    ]
    assert [mark for mark, _ in cells(page, "source")[0]] == ["old"] * 5
    assert 'aria-label="self-attention, positions of the target: 1 computed in this step, 2 reused, 3 not yet' in page
    first = cache_view.positions_html(steps[0], shown, steps[-1].positions)
    assert [mark for mark, _ in cells(first, "source")[0]] == ["now"] * 5


def test_a_decoder_alone_has_no_picture_of_a_source():
    shown = shown_of(tiny_checkpoint("decoder-only"), "uvw", max_steps=4)
    steps = cache_of_run(shown.run)
    page = cache_view.positions_html(steps[0], shown, steps[-1].positions)
    assert "vt-kv-source" not in page
    assert [mark for mark, _ in cells(page, "target")[0]] == ["now"] * 4 + ["not"] * 3


def test_a_long_run_is_cut_and_says_so(monkeypatch, shown):
    monkeypatch.setattr(cache_view, "MAX_CELLS", 4)
    steps = cache_of_run(shown.run)
    page = cache_view.positions_html(steps[4], shown, steps[-1].positions)
    assert "the last 4 of 6" in page
    assert cells(page, "target")[0][0][1] == "2 v: reused"
    assert [mark for mark, _ in cells(page, "target")[0]] == ["old", "old", "now", "not"]


def test_positions_and_bytes_are_said(shown):
    steps = cache_of_run(shown.run)
    said = " ".join(cache_view.step_sentences(steps[2], shown))
    assert wording("what_a_step_computed_and_reused", 1, 3, 2, 3) in said
    assert wording("all_source_positions_were_reused", 5, 1) in said
    assert wording("holds_kib_and_has_room_for_positions", f"{steps[2].bytes_held / 1024:.1f}", 24) in said
    assert wording("all_source_positions_were_computed_once", 5) in " ".join(cache_view.step_sentences(steps[0], shown))


def test_a_hypothesis_of_a_search_is_said_to_be_one_of_several():
    shown = shown_of(tiny_checkpoint(), "abc", strategy=Beam(3), max_steps=4)
    said = " ".join(cache_view.step_sentences(cache_of_run(shown.run)[1], shown))
    assert wording("the_search_kept_up_to_side_by_side", 3) in said


def test_work_of_the_step_and_of_the_run_so_far(shown):
    steps = cache_of_run(shown.run)
    page = cache_view.work_html(steps, 2)
    rows = dict(re.findall(r"<tr[^>]*><th>([^<]*)</th><td>([\d,]+</td><td>[\d,]+)</td>", page))
    numbers = {name: [int(n.replace(",", "")) for n in found.split("</td><td>")] for name, found in rows.items()}
    assert numbers["this step"] == [steps[2].cached.total, steps[2].whole.total]
    assert numbers["steps 1 to 3"] == [
        sum(getattr(step, name).total for step in steps[:3]) for name in ("cached", "whole")
    ]
    parts = [found for name, found in numbers.items() if name not in ("this step", "steps 1 to 3")]
    assert [sum(part[i] for part in parts) for i in (0, 1)] == numbers["this step"]


@pytest.mark.parametrize(("count", "said"), [(512, "512 bytes"), (2048, "2.0 KiB"), (3 * 1024**2, "3.0 MiB")])
def test_sizes_have_a_unit(count, said):
    assert cache_view.size(count) == said


def test_the_table_has_every_number_of_every_step(shown):
    steps = cache_of_run(shown.run)
    table = cache_view.cache_table(steps, shown.run)
    assert table["token"].tolist() == list(shown.run.tokens) and table.index.tolist() == [*range(1, len(table) + 1)]
    for step, (_, row) in zip(steps, table.iterrows(), strict=True):
        assert row["bytes held"] == step.bytes_held and row["saved"] == step.saved
        for name, work in (("with cache", step.cached), ("whole pass", step.whole)):
            assert sum(row[f"{name}: {part}"] for part in words.WORK_PARTS.values()) == work.total


@pytest.mark.parametrize(("row", "step"), [(0, 0), (3, 3), (99, 5)])
def test_the_selected_row_says_which_step(shown, row, step):
    assert cache_view.selected_step(shown.run, row) == step


def test_what_is_without_a_cache_is_said_with_its_place(shown):
    found = UncachedDifference(np.array([0.0, 2e-6, 1e-6]), np.array([4.0, 8.0, 5.0]), in_one_pass=False)
    said = " ".join(cache_view.difference_sentences(found, shown.run))
    assert wording("recorded_with_the_cache_and_that_of_a_whole_pass", "2.0e-06", 2) in said
    assert wording("largest_absolute_logit_is_so_that_is", "8.00", "2.5e-07") in said
    same = UncachedDifference(np.zeros(3), np.ones(3), in_one_pass=True)
    assert (
        wording("in_one_pass_behind_the_search_is_exactly_that_of_a_whole")
        in cache_view.difference_sentences(same, shown.run)[0]
    )


def page(kind):
    from builders import tiny_checkpoint
    from showing import put, shown_of

    from viz_transformer.ui.frame import frame
    from viz_transformer.ui.pages.decoding import cache_view
    from viz_transformer.ui.session import state

    frame.start_page()
    changes = {"merge": "raw-reshape"} if kind == "leaky" else {}
    shown = shown_of(tiny_checkpoint(**changes), "abc", max_steps=5)
    put(cache_view.draw_cache(shown, {**state.DEFAULTS, "t": 2}), shown)


def test_whole_passes_are_run_when_they_are_asked_for_and_stay():
    app = drawn(page, "plain")
    assert "Takes 5 whole passes" in read(app)
    app.button(key="cache_compare").click().run()
    run = shown_of(tiny_checkpoint(), "abc", max_steps=5).run
    gap = uncached_difference(tiny_checkpoint(), run).gap
    assert not app.exception and f"that of a whole pass: {gap:.1e}" in read(app)
    assert f"that of a whole pass: {gap:.1e}" in read(app.run())


def test_a_model_without_a_cache_says_why():
    app = drawn(page, "leaky")
    assert not app.get("plotly_chart")
    assert wording("this_run_has_no_cache_later_tokens_change") in read(app)
