"""What is drawn of two branches is what was compared."""

import re

import pytest
from builders import tiny_checkpoint
from page_driver import drawn, words
from showing import shown_of
from wording import wording

from viz_transformer import payload
from viz_transformer.analysis.decoding.branches import compare_runs
from viz_transformer.running.edits import AblateHead
from viz_transformer.ui.pages.decoding import branch_views
from viz_transformer.ui.session import state

SLIPS = {"pad_to": 20, "max_target": 20, "merge": "raw-reshape", "mask_fill": "added-1e9"}


def pair(ckpt=None, **how):
    ckpt = ckpt or tiny_checkpoint()
    return shown_of(ckpt, "abc", target="uvwxyz"), shown_of(ckpt, "abc", branch="<other>", target="uvwyz", **how)


def tokens_of(row):
    return re.findall(r'<bdi class="vt-br-token( vt-br-other)?" title="([^"]*)">([^<]*)(<i>step \d+</i>)?</bdi>', row)


def test_each_token_stands_once_and_what_is_in_one_run_only_is_marked_and_said():
    a, b = pair()
    page = branch_views.answers_html(compare_runs(a.run, b.run), a, b)
    first, second = (tokens_of(row) for row in page.split("<tr>")[2:])
    assert [token for _, _, token, _ in first] == ["u", "v", "w", "x", "y", "z", "&lt;/s&gt;"]
    assert [token for _, _, token, _ in second] == ["u", "v", "w", "y", "z", "&lt;/s&gt;"]
    assert [title for mark, title, _, _ in first if mark] == [wording("step_not_in_the_other", 4)]
    assert not any(mark for mark, *_ in second)
    for row in (first, second):
        assert [place for place, (*_, at) in enumerate(row) if at] == [3]


def test_names_and_totals_stand_beside_and_a_name_is_no_markup():
    a, b = pair()
    page = branch_views.answers_html(compare_runs(a.run, b.run), a, b)
    assert "<b>A</b> answer" in page and "<b>B</b> &lt;other&gt;" in page
    for shown in (a, b):
        assert f"<td>{len(shown.run.steps)}</td><td>{shown.run.log_prob:.2f}</td>" in page


def test_where_they_part_is_said_with_both_probabilities():
    a, b = pair()
    said = " ".join(branch_views.comparison_sentences(compare_runs(a.run, b.run), a, b))
    assert said.startswith(wording("they_part_at_step_with_a_token_of_this_probability", 4, 3, "x"))
    assert wording("runs_of_different_lengths_do_not_compare", 7, 6) in said
    same = branch_views.comparison_sentences(compare_runs(a.run, a.run), a, a)
    assert same == [wording("both_write_the_same_tokens")]


def test_a_run_that_ended_earlier_is_said_to_have_ended():
    ckpt = tiny_checkpoint()
    a, b = shown_of(ckpt, "abc", target="uvwx"), shown_of(ckpt, "abc", prefix="uv", max_steps=2)
    said = branch_views.comparison_sentences(compare_runs(a.run, b.run), a, b)[0]
    assert said.startswith(wording("they_part_at_step", 3, 2)) and said.endswith("B has ended.")


def test_the_table_has_every_step_of_both_runs():
    a, b = pair()
    found = compare_runs(a.run, b.run)
    table = branch_views.curve_table(found, a, b)
    for letter, shown in (("A", a), ("B", b)):
        rows = table.loc[letter]
        assert rows["token"].tolist() == list(shown.run.tokens)
        assert rows.index.tolist() == [*range(1, len(rows) + 1)]
        assert rows["log-probability"].tolist() == [step.log_prob for step in shown.run.steps]
        assert rows["sum so far"].iloc[-1] == pytest.approx(shown.run.log_prob)
        assert rows["same in both"].tolist() == [True] * 3 + [False] * (len(rows) - 3)


def test_the_table_of_attention_has_every_row_of_every_head():
    a, b = pair()
    found = compare_runs(a.run, b.run)
    table = branch_views.variation_table(found, a)
    assert list(table.columns) == ["0 <s>", "1 u", "2 v", "3 w"]
    assert len(table) == 2 * 3 * 4
    assert table.loc[("cross-attention", 1, 2)].tolist() == found.variation("cross", 1).values[2].tolist()


def test_attention_that_is_alike_is_said_to_be():
    a, b = pair()
    said = " ".join(branch_views.attention_sentences(compare_runs(a.run, b.run), a, state.DEFAULTS))
    assert "exactly the same weights" in said or "float32 rounding" in said
    assert wording("no_row_sees_the_tokens_behind_it") in said


def test_the_largest_of_all_and_the_selected_head_are_said():
    ckpt = tiny_checkpoint()
    a = shown_of(ckpt, "abc", target="uvwx")
    b = shown_of(ckpt, "abc", target="uvwx", edits=[AblateHead("decoder.0.self", head=1)])
    found = compare_runs(a.run, b.run)
    selected = {**state.DEFAULTS, "kind": "decoder", "layer": 2, "heads": (3,)}
    said = " ".join(branch_views.attention_sentences(found, a, selected))
    largest, own = found.largest, found.variation("decoder", 2).values[3]
    site = "cross-attention" if largest.kind == "cross" else "self-attention"
    assert wording("largest_change_of_rows", 0, 4, f"{largest.value:.4f}", site, largest.layer) in said
    assert wording("largest_and_mean_change_of_a_head", 2, 3, f"{own.max():.4f}", f"{own.mean():.4f}") in said
    selected |= {"kind": "encoder", "layer": 0, "heads": "mean"}
    said = " ".join(branch_views.attention_sentences(found, a, selected))
    assert wording("cross_attention_of_all_heads", 0) in said and "they read the same source" in said


def test_a_model_that_is_not_causal_says_so():
    a, b = pair(tiny_checkpoint(**SLIPS))
    said = " ".join(branch_views.attention_sentences(compare_runs(a.run, b.run), a, state.DEFAULTS))
    assert wording("those_of_each_branchs_last_pass") in said


def page(text, changes):
    import streamlit as st
    from builders import tiny_checkpoint
    from showing import put, shown_of

    from viz_transformer.ui.frame import frame
    from viz_transformer.ui.pages.decoding.branch_views import draw_comparison
    from viz_transformer.ui.session import state

    frame.start_page()
    state.clamp(layer=1)
    ckpt = tiny_checkpoint(**changes)
    a, b = shown_of(ckpt, text, target="uvwxyz"), shown_of(ckpt, "abc", target="uvwyz")
    put(draw_comparison(a, b, state.selection()), a)
    st.session_state["drawn"] = True


@pytest.mark.parametrize(("changes", "pictures"), [({}, 0), (SLIPS, 1)])
def test_a_picture_of_attention_is_drawn_where_there_is_something_to_see(changes, pictures):
    app = drawn(page, "abc", changes)
    assert app.session_state["drawn"]
    assert len(app.get("plotly_chart")) == 1
    maps = [payload.unpack(each.proto.bytes) for each in app.get("bidi_component") if each.proto.bytes]
    assert len(maps) == pictures
    for header, arrays in maps:
        a, b = (shown_of(tiny_checkpoint(**changes), "abc", target=target) for target in ("uvwxyz", "uvwyz"))
        found = compare_runs(a.run, b.run).variation("cross", 1)
        assert header["title"] == "Total variation, cross-attention of decoder layer 1"
        assert arrays["values"] == pytest.approx(found.values, abs=1e-5)
        assert [each["text"] for each in header["columns"]["tokens"]] == ["<s>", "u", "v", "w"]
        assert header["bounded"] and header["rows"]["count"] == len(found.values)


def test_branches_of_different_texts_are_refused_in_one_sentence():
    app = drawn(page, "abd", {})
    assert not app.get("plotly_chart")
    assert wording("the_runs_read_different_texts_branches") in words(app)
