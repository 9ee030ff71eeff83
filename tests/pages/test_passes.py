"""Where later tokens change earlier rows, every page with decoder rows says once of which pass they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from builders import saved
from page_driver import all_sent, components, opened, sent, words
from wording import wording

from viz_transformer import payload
from viz_transformer.analysis.attention.maps import valid_mask
from viz_transformer.checkpoint import load
from viz_transformer.running.decoding import decode
from viz_transformer.running.tracing import trace
from viz_transformer.ui.session import passes

SLIPS = {"checkpoint": "en-it-slips", "text": "abc"}
WITH_ROWS = ("run", "decoding", "attention", "weight", "layers", "tensors", "masks")


def payloads(app: Any) -> list[Any]:
    return [payload.unpack(each.proto.bytes) for each in app.get("bidi_component") if each.proto.bytes]


def captions(app: Any) -> list[str]:
    return [header["caption"] for header, _ in payloads(app) if "caption" in header]


@pytest.mark.parametrize("page", WITH_ROWS)
def test_every_page_with_decoder_rows_says_once_of_which_pass_they_are(at_the_zoo, zoo, page):
    opened(at_the_zoo, page, **SLIPS)
    said = passes.sentence(decode(load(zoo / "en-it-slips"), "abc").trace)
    assert said is not None and wording("rows_here_are_those_of_the_last_pass") in said
    assert words(at_the_zoo).count(said) == 1
    assert words(at_the_zoo).count(wording("every_step_was_a_whole_pass")) == 1
    opened(at_the_zoo, page, checkpoint="own", text="bad")
    assert "last pass" not in words(at_the_zoo)


@pytest.mark.parametrize(("page", "component"), [("run", "matrix"), ("decoding", "shading"), ("attention", "matrix")])
def test_each_steps_own_rows_can_be_chosen_and_a_link_restores_them(at_the_zoo, zoo, page, component):
    run = decode(load(zoo / "en-it-slips"), "abc")
    view = {"run_view": "map"} if page == "run" else {}
    app = opened(at_the_zoo, page, **SLIPS, **view, kind="cross", layer="1", heads="0", t="1")
    own, last = (each["decoder.1.cross.weights"][0, 0].numpy() for each in (run.per_step_rows, run.trace))

    def drawn() -> Any:
        arrays = all_sent(app, component)[0][1]
        return arrays["values" if component == "matrix" else "weights"]

    assert drawn().tobytes() == last.tobytes() and "rows" not in app.query_params
    app.button_group(key=f"{page}_rows").set_value("own").run()
    assert not app.exception and app.query_params["rows"] in ("own", ["own"])
    assert drawn()[:2].tobytes() == own[:2].tobytes() and not np.array_equal(own[:2], last[:2])
    assert words(app).count(wording("is_that_of_the_step_that_wrote_its_token")) == 1 and "last pass" not in words(app)
    heads = [caption for caption in captions(app) if "head" in caption]
    assert heads and all(wording("each_row_of_its_own_step") in caption for caption in heads)
    app.button_group(key=f"{page}_rows").set_value("last").run()
    assert drawn().tobytes() == last.tobytes()
    opened(app, page, **SLIPS, **view, rows="own")  # as a link gives it
    assert drawn()[:2].tobytes() == own[:2].tobytes()
    opened(app, page, **SLIPS, **view, rows="all")
    assert wording("the_address_asks_for_rows_which_is_not_one_of_last_own", "all") in words(app)


def test_thumbnails_leave_blank_what_no_step_had(at_the_zoo, zoo):
    app = opened(at_the_zoo, "attention", **SLIPS, kind="decoder", rows="own")
    _, arrays = sent(app, "grid")
    gone = ~valid_mask(decode(load(zoo / "en-it-slips"), "abc").per_step_rows, "decoder")
    assert gone.any() and (arrays["missing"] == gone).all()
    assert not ("masked" in arrays and (arrays["masked"] & gone).any())


def test_there_is_no_choice_where_no_step_had_other_rows(at_the_zoo):
    for page in ("run", "decoding", "attention"):
        app = opened(at_the_zoo, page, checkpoint="own", text="bad", rows="own")
        assert f"{page}_rows" not in {group.key for group in app.button_group}
        assert "pass" not in "".join(captions(app)) and "own step" not in "".join(captions(app))


def test_pages_without_the_choice_keep_to_the_last_pass_and_say_where_the_choice_is(at_the_zoo, zoo):
    for page in ("run", "weight", "layers", "tensors", "masks"):
        said = words(opened(at_the_zoo, page, **SLIPS, rows="own"))
        assert wording("decoder_rows_here_are_those_of_the_last_pass") in said
        assert (wording("run_decoding_and_attention_can_show") in said) == (page != "tensors")


def test_one_weight_says_what_it_was_in_the_querys_own_step(at_the_zoo, zoo):
    run = decode(load(zoo / "en-it-slips"), "abc")
    app = opened(at_the_zoo, "weight", **SLIPS, kind="cross", layer="1", heads="2", t="1", i="3")
    own, last = (str(each["decoder.1.cross.weights"][0, 2, 1, 3].numpy()) for each in (run.per_step_rows, run.trace))
    assert f"the weight {last}." in words(app) and wording("in_the_querys_own_step_it_was", own) in words(app)
    opened(app, "weight", kind="decoder", u="3")
    assert wording("in_the_querys_own_step_the_key_was_not_there_yet") in words(app)


def test_the_beam_trees_hypotheses_have_rows_of_their_own_too(at_the_zoo):
    app = opened(at_the_zoo, "decoding", **SLIPS, strategy="beam", dec_tab="tree", rows="own", dec_node="1")
    (caption,) = (each for each in captions(app) if "hypothesis 1 of" in each)
    assert wording("each_row_of_its_own_step") in caption


@pytest.mark.parametrize("page", ["input", "positions"])
def test_a_page_without_decoder_rows_says_nothing_of_passes(at_the_zoo, page):
    assert "last pass" not in words(opened(at_the_zoo, page, **SLIPS))


@pytest.mark.parametrize("page", ["run", "decoding", "attention", "weight"])
def test_what_is_saved_of_decoder_rows_says_of_which_pass_they_are(at_the_zoo, page):
    for kind in ("cross", "decoder"):
        opened(at_the_zoo, page, **SLIPS, kind=kind)
        maps = [caption for caption in captions(at_the_zoo) if "head" in caption or "whole run" in caption]
        assert maps and all(wording("rows_of_the_last_pass") in caption for caption in maps)
    opened(at_the_zoo, page, checkpoint="own", text="bad")
    assert not any("last pass" in caption for caption in captions(at_the_zoo))


def test_the_encoders_maps_and_the_candidates_of_steps_are_of_no_last_pass(at_the_zoo):
    opened(at_the_zoo, "run", **SLIPS, kind="encoder", run_view="map")
    assert captions(at_the_zoo) and not any("last pass" in caption for caption in captions(at_the_zoo))


def test_a_given_answer_was_given_and_not_written(at_the_zoo):
    assert wording("the_step_that_was_given_a_token") in words(opened(at_the_zoo, "attention", **SLIPS, target="uvw"))


def test_of_two_runs_it_is_said_which_of_them_is_meant(at_the_zoo):
    pinned = {"pin_checkpoint": "own", "pin_text": "abc", "shown": "A-B"}
    app = opened(at_the_zoo, "layers", **SLIPS, **pinned)
    assert words(app).count(wording("a_later_tokens_change_earlier_rows")) == 1
    assert "B: Later tokens" not in words(app)
    alike = words(opened(at_the_zoo, "layers", pin_checkpoint="en-it-slips", pin_text="ab"))
    assert alike.count(wording("every_step_was_a_whole_pass")) == 1 and "A: Later tokens" not in alike


def test_a_trace_without_steps_says_that_no_step_was_run(at_the_zoo, zoo, tmp_path):
    app = opened(at_the_zoo, "tensors", **SLIPS, seed="3")  # in training mode the run is one pass
    assert wording("no_step_was_run_so_none_has_rows_of_its_own") in words(app) and "last pass" not in words(app)
    once = trace(load(zoo / "en-it-slips"), "abc", "uvw")
    assert "No step was run" in str(passes.sentence(once)) and once.row_source == wording(
        "rows_of_one_pass_over_the_whole_text"
    )


def test_a_file_that_is_opened_speaks_for_itself(at_the_zoo, zoo, tmp_path):
    file = tmp_path / "own.safetensors"
    decode(load(zoo / "own"), "bad").trace.save(file)
    app = opened(at_the_zoo, "tensors", **SLIPS)
    app.file_uploader(key="tensors_file").set_value(
        ("own.safetensors", file.read_bytes(), "application/octet-stream")
    ).run()
    assert not app.exception and "last pass" not in words(app)


def test_the_training_slider_says_that_its_maps_are_of_the_last_pass(app, bundled, tmp_path, models_in):
    tiny = load(bundled / "numbers-tiny")
    for name, merge, scale in (("numbers", "concatenate", 1.0), ("numbers-tiny", "raw-reshape", 2.0)):
        state = {point: scale * value for point, value in tiny.model.state_dict().items()}
        saved(
            tiny,
            tmp_path / name,
            state_dict=state,
            config=replace(tiny.config, merge=merge),
            card={"task": name, "exported_step": 9},
            examples=[("4.20", "four point two")],
            snapshots={0: state},
        )
    models_in(tmp_path)
    for name, count in (("numbers-tiny", 1), ("numbers", 0)):
        opened(app, "models", checkpoint=name, text="4.20", model_tab="training")
        assert len(components(app, "snapshots")) == 1
        assert words(app).count(wording("decoder_rows_here_are_those_of_the_last_pass")) == count
        assert sum(wording("rows_of_the_last_pass") in caption for caption in captions(app)) == count
