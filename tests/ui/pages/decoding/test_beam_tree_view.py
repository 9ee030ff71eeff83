"""The tab of the beam tree: what is said of the picked hypothesis are the numbers of the search and of its own run."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from builders import tiny_checkpoint
from page_driver import drawn, markup, words
from showing import shown_of
from streamlit.testing.v1 import AppTest
from wording import wording

from viz_transformer import payload
from viz_transformer.figures import labels
from viz_transformer.running.beam_tree import BeamTree
from viz_transformer.running.decoding import decode
from viz_transformer.running.strategies import Beam
from viz_transformer.running.tracing import trace
from viz_transformer.ui.pages.decoding import beam_tree_view

WIDTH, STEPS = 3, 8


def page(width, chosen):
    import streamlit as st
    from builders import tiny_checkpoint
    from showing import put, shown_of

    from viz_transformer.running.strategies import Beam, Greedy
    from viz_transformer.ui.frame import frame
    from viz_transformer.ui.pages.decoding import beam_tree_view
    from viz_transformer.ui.session import state

    frame.start_page()
    if "started" not in st.session_state:
        state.select(layer=1, kind="cross", **chosen)
        st.session_state["started"] = True
    strategy = Beam(width) if width else Greedy()
    shown = shown_of(tiny_checkpoint(seed=1), "abc", strategy=strategy, max_steps=8)
    put(beam_tree_view.draw_tree(shown, state.selection()), shown)
    st.session_state["chosen"] = state.selection()["dec_node"]
    st.session_state["said"] = state.remarks()


def opened(width=WIDTH, **chosen) -> AppTest:
    return drawn(page, width, chosen)


@cache
def tree() -> BeamTree:
    found = decode(tiny_checkpoint(seed=1), "abc", strategy=Beam(WIDTH), max_steps=STEPS).tree
    assert found is not None
    return found


def sent(app: AppTest, place: int):
    """What the components get, in their order on the page: the tree, then the map."""
    return payload.unpack(app.get("bidi_component")[place].proto.bytes)


def test_without_a_search_one_sentence_says_what_to_do():
    app = opened(0)
    assert "Choose beam above" in words(app)
    assert not app.get("bidi_component") and not app.button


def test_the_formula_stands_with_the_numbers_of_the_answer():
    answer, said = tree().nodes[tree().answer], words(opened())
    assert tree().beam.formula() in said
    total, score, n = labels.number(answer.total), labels.number(answer.score), answer.length
    penalty = labels.number(((5 + n) / 6) ** 0.6)
    assert f"{total} / ((5 + {n})/6)^0.6 = {total} / {penalty} = {score}, |Y| = {n}" in said


def test_the_component_gets_the_tree_of_the_run():
    header, _ = sent(opened(), 0)
    # the page's run is another one: with another number of threads its sums are rounded otherwise
    assert header["nodes"]["total"] == pytest.approx([node.total for node in tree().nodes], abs=1e-5)
    assert header["answer"] == tree().answer
    assert "beam tree" in header["caption"]
    special = {token["text"] for token in header["tokens"] if token.get("special")}
    assert special == {"<pad>", "<s>", "</s>"} & {node.token for node in tree().nodes} != set()


@pytest.mark.parametrize("index", [0, 2, 7, len(tree().nodes) - 1])
def test_the_picked_hypothesis_has_its_text_its_score_in_parts_and_why_it_ended(index):
    node, said = tree().nodes[index], words(opened(dec_node=index))
    assert f"Hypothesis {index}, step {node.step + 1}: " in said
    assert tree().why(index) in said
    assert tiny_checkpoint(seed=1).target_codec.decode(tree().ids(index)) in said
    parts = " + ".join(f"{each.token} {labels.number(each.log_prob, 2)}" for each in tree().path(index))
    assert f"{parts} = {labels.number(node.total)}" in said
    assert f"= {labels.number(node.score)}" in said


@pytest.mark.parametrize("index", [None, 0, 7, len(tree().nodes) - 1])
def test_the_map_is_of_a_run_that_writes_the_picked_hypothesis(index):
    header, arrays = sent(opened(dec_node=index, heads=(2,)), 1)
    ids = tree().ids(tree().answer if index is None else index)
    alone = trace(tiny_checkpoint(seed=1), "abc", [1, *ids[:-1]])
    wanted = alone["decoder.1.cross.weights"][0, 2].numpy()
    assert arrays["values"].shape == wanted.shape
    assert np.abs(arrays["values"] - wanted).max() < 1e-6  # the answer's own rows come from a cache
    assert f"hypothesis {tree().answer if index is None else index}" in header["title"]
    assert wording("hypothesis_of_the_beam_tree", tree().answer if index is None else index) in header["caption"]


def test_a_hypothesis_that_is_not_there_gives_way_to_the_answer_with_a_remark():
    app = opened(dec_node=9999)
    assert (
        wording("there_is_no_hypothesis_so_the_answer_is_shown", 9999, 0, len(tree().nodes) - 1)
        in (app.session_state["said"])
    )
    assert app.session_state["chosen"] is None
    assert tree().why(tree().answer) in words(app)


def test_a_button_goes_on_from_the_picked_hypothesis_unless_it_has_ended():
    going = next(node for node in tree().nodes if node.token != "</s>" and node.index != tree().answer)
    app = opened(dec_node=going.index)
    app.button(key="beam_tree_continue").click().run()
    (branch,) = app.session_state["selection"]["branches"]
    assert tree().ids(tree().answer)[: branch.step] + branch.ids == tree().ids(going.index)
    siblings = sum(node.step == going.step for node in tree().nodes)
    assert f"{going.rank + 1} of {siblings}, " in words(app)
    ended = next(node for node in tree().nodes if node.token == "</s>")
    assert opened(dec_node=ended.index).button(key="beam_tree_continue").disabled


def test_the_best_are_listed_by_score_and_a_button_picks_one():
    app = opened()
    listed = tree().finished or sorted((n for n in tree().nodes if n.fate == "stopped"), key=lambda n: -n.score)
    picks = [each for each in app.button if each.key.startswith("beam_best_pick_")]
    assert len(picks) == len(listed) > 1
    assert [each.label.split()[0] for each in picks] == [str(1 + place) for place in range(len(listed))]
    for node in listed:
        cells = (labels.number(node.total, 2), str(node.length), labels.number(node.score))
        assert "".join(f"<span>{cell}</span>" for cell in cells) in markup(app)
    picks[1].click().run()
    assert app.session_state["chosen"] == listed[1].index
    assert f"Hypothesis {listed[1].index}, " in words(app)


def test_the_table_has_every_number_of_the_tree():
    ckpt = tiny_checkpoint(seed=1)
    frame = beam_tree_view.table(shown_of(ckpt, "abc", strategy=Beam(WIDTH), max_steps=STEPS), tree())
    names = {
        "log_prob": "log_prob",
        "total": "total",
        "|Y|": "length",
        "score": "score",
        "rank": "rank",
    }
    for column, name in names.items():
        assert frame[column].tolist() == [getattr(node, name) for node in tree().nodes]
    for column in ("parent", "margin"):
        wanted = [getattr(node, column) for node in tree().nodes]
        assert [
            None if missing else value for value, missing in zip(frame[column], frame[column].isna(), strict=True)
        ] == (wanted)
    assert frame.index.tolist() == [node.index for node in tree().nodes]
    assert frame["fate"][tree().answer] == "answer"
    for column in ("step", "ended"):  # counted from 1
        assert frame[column].tolist() == [getattr(node, column) + 1 for node in tree().nodes]
    assert frame["text so far"][7] == ckpt.target_codec.decode(tree().ids(7))


def test_what_long_texts_share_is_left_out_of_the_list():
    long = "one two three four five six seven eight nine ten "
    assert beam_tree_view._drop_common_beginning([f"{long}eleven", f"{long}else"]) == ["… eleven", "… else"]
    assert beam_tree_view._drop_common_beginning(["a dog runs", "a dog ran"]) == ["a dog runs", "a dog ran"]
    assert beam_tree_view._drop_common_beginning([long]) == [long]
