"""Every table of the app opens from its picture's menu, or from a button where it is of no picture."""

import json

import pytest
from page_driver import TABLE_ASKED, again, components, drawn, in_dialog, open_table, opened

from viz_transformer import payload

BEAM = {"strategy": "beam", "tab": "tree"}
PIN = {"pin_checkpoint": "numbers", "pin_text": "28.30", "shown": "A-B"}
# page, what else is selected, the key of the table, and where it opens from: a component, a chart or a button
TABLES = [
    ("run", {"run_view": "map"}, "run_matrix", "matrix"),
    ("run", {"run_view": "map"}, "run_scrubber", "scrubber"),
    ("run", {}, "run_whole_0", "whole"),
    ("attention", {}, "attention_matrix", "matrix"),
    ("attention", {}, "attention_grid", "grid"),
    ("decoding", {}, "decoding_steps", "scrubber"),
    ("decoding", {"dec_tab": "cache"}, "cache_curves", "saving"),
    ("input", {}, "input_strips", "saving"),
    ("layers", {}, "layers_stream", "saving"),
    ("layers", {}, "layers_flow_button", "button"),
    ("layers", {}, "layers_norm_button", "button"),
    ("layers", {}, "layers_lens_button", "button"),
    ("masks", {"mask_batch": "", "mask_view": "weights"}, "masks_before", "matrix"),
    ("masks", {"mask_batch": "", "mask_view": "weights"}, "masks_after", "matrix"),
    ("models", {"model_tab": "curves"}, "models_loss", "saving"),
    ("playground", {}, "play_row", "saving"),
    ("playground", {"play": "scaling"}, "play_entropy", "saving"),
    ("playground", {"play": "norms"}, "play_norms", "saving"),
    ("positions", {}, "pos_heatmap", "matrix"),
    ("positions", {"pos_topic": "distance"}, "pos_products", "saving"),
    ("tensors", {}, "tensors_heatmap", "matrix"),
    ("tensors", {"chart": "histogram"}, "tensors_histogram", "saving"),
    ("weight", {}, "weight_row_strips", "row"),
    ("weight", {}, "weight_picture", "saving"),
]
KEYS = {"play_entropy": "play_growth"}
"""Tables that two pictures share."""


def has_table(component):
    header = json.loads(component.json) if component.json else payload.unpack(component.bytes)[0]
    return header.get("table", False)


@pytest.mark.parametrize(("page", "fields", "key", "place"), TABLES, ids=lambda given: given if given else None)
def test_the_table_opens_and_can_be_saved(app, downloads, page, fields, key, place):
    opened(app, page, **fields)
    assert in_dialog(app) == []  # made when it is asked for
    if place == "button":
        app.button(key=key).click().run()
        assert len(in_dialog(app)) == 1
    else:
        found = [each for each in components(app, place) if has_table(each)]
        assert any(f"{key}{'_saving' if place == 'saving' else ''}" in each.id for each in found), key
        open_table(app, KEYS.get(key, key))
    assert [name for name in downloads if name.endswith(".csv")]


def test_a_picture_without_a_table_does_not_lead_to_one(app):
    opened(app, "positions")
    named = {each.id: has_table(each) for each in components(app, "saving")}
    (curves,) = [has for name, has in named.items() if "pos_curves_figure" in name]
    assert not curves


def test_a_table_stays_closed_where_its_picture_is_gone_before_it_opens(app):
    opened(app, "attention")
    app.session_state[TABLE_ASKED] = "attention_matrix"
    opened(app, "models")
    assert in_dialog(opened(app, "attention")) == []


def test_it_stays_through_other_runs_of_the_page_and_not_through_another_page(app):
    opened(app, "attention")
    table = open_table(app, "attention_matrix")
    assert [each.equals(table) for each in in_dialog(again(app))] == [True]
    opened(app, "models")
    assert in_dialog(opened(app, "attention")) == []


def test_what_a_component_calls_opens_the_table():
    def page():
        import pandas as pd
        import streamlit as st

        from viz_transformer.ui.frame import pictures

        asked = pictures.table(lambda: pd.DataFrame({"a": [1]}), note="", name="a", key="a")
        st.button("ask", key="ask", on_click=asked)

    app = drawn(page)
    assert in_dialog(app) == []
    app.button(key="ask").click().run()
    assert [table["a"].tolist() for table in in_dialog(app)] == [[1]]
