import json
import re
import time

import numpy as np
import pytest
from page_driver import address, again, figures, markup, numbers, opener, told, words
from wording import wording

from viz_transformer.analysis.playground.background import Trainings
from viz_transformer.analysis.playground.by_hand import (
    Sizes,
    attend,
    draw_normal,
    first_keys,
    growth,
    mask_of,
    normalise,
    table_of,
    vectors,
)
from viz_transformer.analysis.playground.experiments import CopySettings, Rebuild, RebuildSettings
from viz_transformer.ui.pages.playground import number_editor, training_view

opened = opener("playground")
PARTS = ("attention", "simplex", "scaling", "norms", "rebuild", "copy")
LONG = 60.0


@pytest.fixture(autouse=True)
def own_trainings(monkeypatch):
    """Trainings of this test alone, short ones."""
    made = Trainings(most_running=2)
    monkeypatch.setattr(training_view, "trainings", lambda: made)
    yield made
    for _, training in list(made._kept.values()):
        training.stop()
        assert training.join(LONG)


@pytest.fixture
def short(monkeypatch):
    """The same settings with few steps."""
    monkeypatch.setattr(training_view, "RebuildSettings", lambda **given: RebuildSettings(**{**given, "steps": 40}))
    few = {"steps": 20, "length": 3, "letters": 4, "batch": 4, "tests": 8}
    monkeypatch.setattr(training_view, "CopySettings", lambda **given: CopySettings(**{**given, **few}))


def tables(figure):
    return [
        numbers(trace["z"])
        for trace in figure["data"]
        if trace["type"] == "heatmap" and trace.get("hoverinfo") != "skip"
    ]


def same(drawn_table, expected):
    return drawn_table.shape == expected.shape and np.array_equal(drawn_table, expected.astype(np.float32))


def mine(app, name="rebuild"):
    owner = (app.session_state["play_owner"], name)
    return next(training for key, (_, training) in training_view.trainings()._kept.items() if key == owner)


def finished(app, name="rebuild"):
    training = mine(app, name)
    assert training.join(LONG)
    return again(app)


# --- every part


@pytest.mark.parametrize("part", PARTS)
def test_every_part_opens_says_how_to_read_it_and_is_in_the_address(app, part):
    opened(app)
    assert [title.value for title in app.title] == ["Playground"]
    app.button_group(key="play_part").set_value(part)
    again(app)
    assert address(app).get("play", "attention") == part
    assert "How to read it" in words(app) and "What not to conclude" in words(app)
    assert len(figures(app)) == {"scaling": 2, "rebuild": 2}.get(part, 1)


@pytest.mark.parametrize("part", PARTS)
def test_it_needs_no_model(app, part, monkeypatch):
    from viz_transformer.ui.session import cached

    monkeypatch.setattr(cached, "summaries", lambda: ())
    opened(app, play=part)
    assert "How to read it" in words(app)


@pytest.mark.parametrize(
    "given",
    [
        {"play": "everything"},
        {"play_sizes": "5,4,4"},
        {"play_sizes": "0,4,4,3"},
        {"play_sizes": "9,4,4,3"},
        {"play_mask": "half"},
        {"play_options": "self,more"},
        {"play_numbers": "q0.1=<b>"},
        {"play_numbers": "z0.1=1"},
        {"play_numbers": "q0.9=1"},
        {"play_numbers": ",".join(["q0.1=1"] * 61)},
        {"play_keys": "4"},
        {"play_heads": "3"},
        {"play_seed": "-1"},
    ],
)
def test_an_address_that_cannot_be_understood_is_said_and_the_rest_is_shown(app, given):
    opened(app, **given)
    ((name, _),) = given.items()
    assert f"The address asks for {name}" in words(app)
    assert same(tables(figures(app)[0])[0], vectors(0, Sizes()).query)


def test_on_a_projector_one_scene_is_left_with_a_caption(app):
    opened(app, projector="on", play="norms", play_seed="3", scene="1")
    assert "Playground: norms, seed 3" in words(app)
    assert ":is(.st-key-play_picture) { display: none !important; }" in markup(app)
    keys = told(app, "keys")
    assert (keys["projector"], keys["scene"], keys["scenes"], keys["rows"]) == (True, 1, 2, None)


# --- attention


def test_the_row_of_tables_is_attention_over_the_numbers_of_the_seed(app):
    opened(app, play_seed="4", play_sizes="3,2,4,5", play_mask="causal")
    found = attend(vectors(4, Sizes(queries=3, keys=2, d_k=4, d_v=5)), mask_of("causal", 3, 2))
    given = found.vectors
    shown = tables(figures(app)[0])
    masked = np.where(found.mask, found.scores, np.nan).astype(np.float32)
    weights = np.where(found.mask, found.weights, np.nan).astype(np.float32)
    for table, expected in zip(
        shown,
        [given.query, given.key.T, found.products, found.scores, masked, weights, given.value, found.output],
        strict=True,
    ):
        assert np.array_equal(table, expected.astype(np.float32), equal_nan=True)


def test_sizes_switches_and_seed_change_what_they_say(app):
    opened(app)
    app.number_input(key="play_size_0").set_value(2)
    again(app)
    app.number_input(key="play_size_3").set_value(7)
    again(app)
    assert app.session_state["selection"]["play_sizes"] == (2, 4, 4, 7)
    assert tables(figures(app)[0])[-1].shape == (2, 7)
    app.checkbox(key="play_unscaled").uncheck()
    again(app)
    assert address(app)["play_options"] == "unscaled" and len(tables(figures(app)[0])) == 6
    app.button(key="play_next").click()
    again(app)
    assert app.session_state["selection"]["play_seed"] == 1
    assert same(tables(figures(app)[0])[0], draw_normal("q", 1, 2, 4))


def test_self_attention_has_one_table_of_vectors_and_says_who_is_aligned_with_whom(app):
    opened(app, play_options="self", play_numbers="q0.0=0.1,q1.0=9")
    given = vectors(0, Sizes(keys=5, d_v=4), number_editor_edits("q0.0=0.1,q1.0=9"), self_attention=True)
    shown = tables(figures(app)[0])
    assert same(shown[0], given.query) and same(shown[1], given.query.T) and same(shown[-2], given.query)
    assert wording("a_vector_can_be_more_aligned_with_another") in words(app)
    assert len(app.dataframe) == 1


def number_editor_edits(text):
    found = {}
    for word in text.split(","):
        place, _, value = word.partition("=")
        found[(place[0], int(place[1]), int(place[3]))] = float(value)
    return found


def test_edits_of_a_link_stand_in_the_tables_and_can_be_taken_back(app):
    opened(app, play_numbers="q0.1=2.5,v3.2=-7", play_mask="own")
    given = vectors(0, Sizes(), {("q", 0, 1): 2.5, ("v", 3, 2): -7.0})
    assert same(tables(figures(app)[0])[0], given.query)
    assert given.query[0, 1] == 2.5 and given.value[3, 2] == -7.0
    editors = [element.value for element in app.dataframe]
    assert [editor.shape for editor in editors] == [(5, 4), (4, 4), (4, 3), (5, 4)]
    assert editors[0].iloc[0, 1] == 2.5 and editors[2].iloc[3, 2] == -7.0 and editors[3].to_numpy().all()
    app.button(key="play_drawn").click()
    again(app)
    assert "play_numbers" not in address(app)
    assert same(tables(figures(app)[0])[0], vectors(0, Sizes()).query)


def taken(app, monkeypatch, letter, cells):
    """The callback of an editor, with what the browser would have sent."""
    from viz_transformer.ui.session import state

    key = f"play_{letter}_{app.session_state['play_editors'][letter].count}"
    columns = [f"k{i}" if letter == "m" else str(i) for i in range(8)]
    memory = {name: app.session_state[name] for name in ("selection", "play_editors")}
    memory[key] = {"edited_rows": cells}
    monkeypatch.setattr(number_editor.st, "session_state", memory)
    monkeypatch.setattr(state.st, "session_state", memory)
    number_editor._take_edits(letter, key, columns)
    monkeypatch.undo()
    app.session_state["selection"] = memory["selection"]
    app.session_state["play_editors"] = memory["play_editors"]
    return memory


def test_an_edited_cell_goes_into_the_selection_and_the_same_widget_stays(app, monkeypatch):
    opened(app)
    before = app.session_state["play_editors"]["q"].count
    taken(app, monkeypatch, "q", {1: {"2": 3.25}, 0: {"0": -1}})
    again(app)
    assert address(app)["play_numbers"] == "q0.0=-1,q1.2=3.25"
    assert tables(figures(app)[0])[0][1, 2] == 3.25
    assert app.session_state["play_editors"]["q"].count == before
    app.number_input(key="play_seed_box").set_value(9)
    again(app)
    assert app.session_state["play_editors"]["q"].count == before + 1  # other numbers: another widget
    assert tables(figures(app)[0])[0][1, 2] == 3.25 and same(tables(figures(app)[0])[1], draw_normal("k", 9, 4, 4).T)


def test_the_picture_is_ahead_of_editors_that_are_new_on_the_page_and_waits_for_no_others(app, monkeypatch):
    waited = []
    monkeypatch.setattr(number_editor, "sleep", waited.append)
    opened(app)
    app.number_input(key="play_seed_box").set_value(9)
    again(app)
    assert waited == [number_editor.PICTURE_FIRST]
    for part in ("scaling", "norms"):
        opened(app, play=part)
    assert waited == 2 * [number_editor.PICTURE_FIRST]


def test_a_cell_that_was_emptied_is_left_as_it_was(app, monkeypatch):
    opened(app)
    memory = taken(app, monkeypatch, "q", {1: {"2": None}})
    assert memory["selection"]["play_numbers"] == ""


def test_one_edit_too_many_is_not_taken_and_said(app, monkeypatch):
    full = ",".join(f"{letter}{row}.{column}=1" for letter in "qk" for row in range(8) for column in range(4))[:10_000]
    full = ",".join(full.split(",")[:60])
    opened(app, play_numbers=full, play_sizes="8,8,8,8")
    memory = taken(app, monkeypatch, "v", {0: {"0": 5.0}})
    assert memory["selection"]["play_numbers"] == full
    app.session_state["play_editors_full"] = memory["play_editors_full"]
    assert wording("at_most_numbers_can_be_edited", 60) in words(again(app))
    assert "At most 60" not in words(again(app))


def test_an_own_mask_closes_cells(app):
    opened(app, play_mask="own", play_numbers="m0.0=0,m0.1=0,m0.2=0,m0.3=0,m2.1=0")
    weights = tables(figures(app)[0])[5]
    assert np.isnan(weights[0]).all() and np.isnan(weights[2, 1]) and np.isnan(weights).sum() == 5
    output = tables(figures(app)[0])[-1]
    assert not output[0].any()  # a row that may read nothing mixes nothing


@pytest.mark.parametrize("sizes", ["1,1,1,1", "8,8,8,8", "1,8,3,2"])
@pytest.mark.parametrize("part", ["attention", "simplex", "scaling", "norms", "rebuild"])
def test_the_smallest_and_the_largest_sizes_are_drawn_or_say_why_not(app, sizes, part):
    opened(app, play=part, play_sizes=sizes, play_mask="padding")
    if sizes == "1,1,1,1" and part == "simplex":
        assert wording("a_triangle_needs_keys_and_there_is_choose_more", 3, 1) in words(app)
    elif part == "rebuild":
        odd = sizes != "8,8,8,8"
        assert (wording("cannot_be_split_evenly_into_heads") in words(app)) == odd
    else:
        assert figures(app)


# --- simplex, scaling, norms


@pytest.mark.parametrize("corners", [2, 3])
def test_the_simplex_offers_the_keys_of_its_corners_alone_and_no_values(app, corners):
    opened(app, play="simplex", play_keys=str(corners), play_numbers="k1.0=2.5,k3.1=4")
    shown = [[*each.value.index] for each in app.dataframe]
    assert shown == [[f"q{i}" for i in range(5)], [f"k{j}" for j in range(corners)]]
    assert app.dataframe[1].value.iloc[1, 0] == 2.5
    assert app.session_state["selection"]["play_numbers"] == "k1.0=2.5,k3.1=4"


def test_the_simplex_has_a_point_for_each_query(app):
    opened(app, play="simplex", play_keys="2", play_seed="2")
    found = attend(vectors(2, Sizes(keys=2)), mask_of("none", 5, 2))
    (figure,) = figures(app)
    assert np.allclose(numbers(figure["data"][-1]["x"]), found.weights[:, 1], atol=1e-6)
    body = markup(app)
    assert f"<td>q0</td><td>{found.weights[0, 0]:.3f}</td>" in body
    app.button_group(key="play_corners").set_value(3)
    again(app)
    assert address(app).get("play_keys", "3") == "3" and len(numbers(figures(app)[0]["data"][0]["x"])) == 4


@pytest.mark.parametrize("projector", ["off", "on"])
def test_what_the_points_are_stands_beside_the_triangle_and_on_a_projector_in_its_scene(app, projector):
    opened(app, play="simplex", projector=projector)
    left = next(column for column in app.columns if column.get("plotly_chart"))
    assert ("Hollow: " in "".join(each.proto.body for each in left.get("html"))) is (projector == "on")
    assert "Hollow: " in markup(app)


@pytest.mark.parametrize(
    ("d_k", "place"), [(1, wording("in_the_same_place_as_d_k_is", 1)), (4, "further from the middle, ")]
)
def test_hollow_points_are_said_to_be_where_they_are(app, d_k, place):
    opened(app, play="simplex", play_sizes=f"5,6,{d_k},3")
    body = markup(app)
    assert f"Hollow: the same without, {place}" in body
    assert ("which is 1 here" in body) is (d_k == 1)
    few = first_keys(vectors(0, Sizes(d_k=d_k)), 3)
    scaled, plain = (
        np.linalg.norm(attend(few, mask_of("none", 5, 3), scaled=scaled).weights - 1 / 3, axis=1)
        for scaled in (True, False)
    )
    assert (scaled == plain).all() if d_k == 1 else (scaled < plain).all()


def test_the_curves_of_scaling_are_those_of_the_growth(app):
    opened(app, play="scaling", play_seed="3", play_sizes="5,6,4,3")
    found = growth(3, 6)
    entropy, variance = figures(app)
    for place, scaled in enumerate((True, False)):
        assert np.allclose(numbers(entropy["data"][place]["y"]), found.entropy[scaled])
    assert np.allclose(numbers(variance["data"][1]["y"]), found.product_variance)
    assert "uniform: 2.58 bits" in json.dumps(entropy, ensure_ascii=False)


def test_norms_are_drawn_and_what_they_read_is_said(app):
    opened(app, play="norms", play_numbers="x4.2=50,g0.0=3")
    x = table_of(0, {("x", 4, 2): 50.0})
    before, layer, *_ = tables(figures(app)[0])
    assert same(before, x.reshape(6, 4))
    affine = np.array([[3.0, 1, 1, 1], [0, 0, 0, 0]])
    assert np.allclose(layer, normalise(x, "layer", affine).values.reshape(6, 4), atol=1e-6)
    rows = re.findall(r"<tr><td>(.*?)</tr>", markup(app))
    layer_row = next(row for row in rows if row.startswith("layer norm")).split("</td><td>")
    batch_row = next(row for row in rows if row.startswith("batch norm")).split("</td><td>")
    assert layer_row[-2] == "0" and layer_row[-1].startswith("0<")
    assert batch_row[-3] == "0" and float(batch_row[-2]) > 0


# --- trainings


def test_a_training_goes_from_start_to_done_and_its_curve_is_that_of_its_seed(app, short):
    opened(app, play="rebuild", play_seed="2")
    assert wording("one_head_without_w_o_and_heads_with_it", 2) in words(app)
    assert not app.button(key="play_start").disabled and app.button(key="play_stop").disabled
    untrained, maps = figures(app)
    app.button(key="play_start").click()
    again(app)
    finished(app)
    assert "Done: 40 of 40 steps." in words(app)
    expected = Rebuild(RebuildSettings(vectors=tuple(map(tuple, draw_normal("q", 2, 5, 4).tolist())), seed=2, steps=40))
    while expected.done < 40:
        expected.step()
    assert same(tables(untrained)[1], expected.before[0].output)
    assert same(tables(maps)[0], expected.before[0].weights[0])
    loss, outputs, before, after = figures(app)
    for place in range(2):
        assert np.array_equal(numbers(loss["data"][place]["y"]), expected.losses[place])
    expected.settle()
    assert same(tables(outputs)[1], expected.now[0].output) and same(tables(outputs)[2], expected.now[1].output)
    assert same(tables(before)[0], expected.before[0].weights[0])
    assert same(tables(after)[2], expected.now[1].weights[1])
    assert app.button(key="play_start").disabled and not app.button(key="play_again").disabled
    first = mine(app)
    app.button(key="play_again").click()
    again(app)
    finished(app)
    assert mine(app) is not first
    for place in range(2):
        assert np.array_equal(numbers(figures(app)[0]["data"][place]["y"]), expected.losses[place])


def test_stop_stops_at_once_and_go_on_goes_on(app):
    opened(app, play="rebuild")
    app.button(key="play_start").click()
    again(app)
    training = mine(app)
    end = time.monotonic() + LONG
    while (training.work is None or training.work.done < 3) and time.monotonic() < end:
        training.seen()
        time.sleep(0.005)
    app.button(key="play_stop").click()
    again(app)
    assert not training.going and training.state == "stopped"
    done = training.work.done
    assert 0 < done < 10_000 and f"Stopped after {done:,} of 10,000 steps." in words(app)
    assert len(figures(app)) == 4
    app.button(key="play_start").click()
    again(app)
    assert mine(app) is training
    app.button(key="play_stop").click()
    again(app)
    assert training.work.done >= done and not training.going


def test_another_seed_ends_a_training_that_goes(app):
    opened(app, play="rebuild")
    app.button(key="play_start").click()
    again(app)
    training = mine(app)
    app.number_input(key="play_seed_box").set_value(5)
    again(app)
    assert training.join(LONG) and training.state == "stopped"
    assert training_view.trainings().running == 0 and "One head without W_O" in words(app)


def test_too_many_trainings_are_refused_in_a_sentence(app, new_app, monkeypatch):
    full = Trainings(most_running=1)
    monkeypatch.setattr(training_view, "trainings", lambda: full)
    first, second = opened(app, play="rebuild"), opened(new_app(), play="copy")
    first.button(key="play_start").click()
    again(first)
    second.button(key="play_start").click()
    again(second)
    assert wording("training_is_running_on_this_server", 1) in words(second)
    first.button(key="play_stop").click()
    again(first)
    second.button(key="play_start").click()
    again(second)
    assert mine(second, "copy").state in ("starting", "running", "done")
    full.forget((second.session_state["play_owner"], "copy"))


def test_two_sessions_have_trainings_of_their_own(app, new_app, short):
    first, second = opened(app, play="rebuild"), opened(new_app(), play="rebuild")
    first.button(key="play_start").click()
    again(first)
    assert "One head without W_O" in words(again(second))
    finished(first)
    assert first.session_state["play_owner"] != second.session_state["play_owner"]


def test_copying_shows_losses_answers_and_maps(app, short):
    opened(app, play="copy", play_seed="1")
    (untrained,), said = figures(app), words(app)
    app.button(key="play_start").click()
    again(app)
    finished(app, "copy")
    work = mine(app, "copy").work
    assert same(tables(untrained)[2], work.before[1].weights[0]) and "8 new texts" in said
    loss, maps = figures(app)
    assert [len(numbers(line["y"])) for line in loss["data"]] == [20] * 4
    assert np.array_equal(numbers(loss["data"][0]["y"]), work.losses[0, 0])
    assert len(tables(maps)) == 4 and same(tables(maps)[2], work.now[1].weights[0])
    said = words(app)
    assert "8 new texts" in said and f"{100 * work.now[1].written:.1f} %" in said
    wanted = "".join("abcd"[i] for i in work.texts[0, 1:4].tolist())
    assert wanted in said


def test_a_training_that_fails_says_so(app, monkeypatch):
    def broken(settings):
        raise RuntimeError("no room for <b>")

    monkeypatch.setattr(training_view, "new_copying", broken)
    opened(app, play="copy")
    app.button(key="play_start").click()
    again(app)
    finished(app, "copy")
    assert "The training failed: RuntimeError: no room for <b>." in words(app)
    assert not app.button(key="play_start").disabled
