"""The Decoding page: what it draws is the run that strategy and branch make, and bad input ends in a sentence."""

import math

import numpy as np
import pytest
from in_turn import each_once
from page_driver import (
    TEXT,
    address,
    all_sent,
    goes_to,
    markup,
    opener,
    recorded,
    same_bits,
    sent,
    stale,
    the_run,
    told,
    words,
)
from wording import wording

from viz_transformer.analysis.decoding.doubt import most_doubtful
from viz_transformer.checkpoint import load
from viz_transformer.running.decoding import decode
from viz_transformer.running.strategies import Beam, Sampling
from viz_transformer.ui.frame import maps, steps, text
from viz_transformer.ui.pages.decoding.fields import TABS
from viz_transformer.ui.session import cached, examples, generation_config, runs, state

opened = opener("decoding")
HOT = {"strategy": "sampling", "sampling": "3.0,6,0.95,0.01,1.2,4"}
HOTTER = Sampling(temperature=3.0, top_k=6, top_p=0.95, min_p=0.01, repetition_penalty=1.2, seed=4)
FIRST_OF_THREE = Beam(3, length_penalty=1.0, penalty="power", stop="first-finished")


def written(app):
    header, _ = sent(app, "scrubber")
    return [
        header["tokens"][candidates[place]]["text"]
        for candidates, place in zip(header["candidates"], header["written"], strict=True)
    ]


@pytest.mark.parametrize(
    ("given", "how"),
    [
        ({}, {}),
        (HOT, {"strategy": HOTTER}),
        ({"strategy": "beam", "beam": "3,1.0,power,end,first-finished"}, {"strategy": FIRST_OF_THREE}),
        ({"ban": "4,5"}, {"ban": [4, 5]}),
        ({"prefix": "two hundred"}, {"prefix": "two hundred"}),
    ],
)
def test_the_steps_are_those_of_the_strategy(app, bundled, given, how):
    run = the_run(bundled, **how)
    opened(app, **given)
    assert written(app) == list(run.tokens)
    header, arrays = sent(app, "scrubber")
    for index, step in enumerate(run.steps):
        for place, (token, log_prob) in enumerate(
            zip(header["candidates"][index], arrays["log_probs"][index], strict=False)
        ):
            name = header["tokens"][token]["text"]
            token_id = step.vocabulary.index(name)
            assert log_prob == np.float32(step.log_probs[token_id])
            assert arrays["strategy_log_probs"][index, place] == np.float32(step.distribution.log_probs[token_id])
        assert arrays["entropy"][index] == np.float32(step.entropy)
    assert address(app).items() >= {key: value for key, value in given.items() if key in state.DEFAULTS}.items()


def test_the_formula_stands_there_in_full(app):
    assert HOTTER.formula() in words(opened(app, **HOT))
    goes_to(app, strategy="beam")
    assert Beam(4).formula() in words(app)


def test_widgets_change_the_strategy_and_start_anew_from_its_own_answer(app, bundled):
    opened(app, branches="0.1.6.one", branch="1")
    app.button_group(key="decoding_strategy").set_value("sampling").run()
    assert (app.session_state["selection"]["branches"], app.session_state["selection"]["branch"]) == ((), 0)
    app.number_input(key="decoding_sampling_0").set_value(3.0).run()
    app.number_input(key="decoding_sampling_5").set_value(9).run()
    assert written(app) == list(the_run(bundled, strategy=Sampling(temperature=3.0, seed=9)).tokens)
    assert address(app)["sampling"] == "3.0,0,1.0,0.0,1.0,9"
    app.button_group(key="decoding_strategy").set_value("beam").run()
    assert address(app)["dec_tab"] == "tree" and sent(app, "beam_tree")
    app.number_input(key="decoding_beam_0").set_value(2).run()
    app.selectbox(key="decoding_beam_2").set_value("power").run()
    goes_to(app, dec_tab="step")
    assert written(app) == list(the_run(bundled, strategy=Beam(2, penalty="power")).tokens)


def test_a_strategy_without_a_tree_leaves_the_tab_of_the_tree_and_no_other(app):
    opened(app, strategy="beam", dec_tab="tree")
    app.button_group(key="decoding_strategy").set_value("greedy").run()
    assert "dec_tab" not in address(app) and sent(app, "scrubber")
    goes_to(app, dec_tab="cache")
    app.button_group(key="decoding_strategy").set_value("sampling").run()
    assert address(app)["dec_tab"] == "cache"


def test_a_branch_stands_beside_its_step_with_its_comparison(app, bundled):
    run = the_run(bundled, force={2: 6})
    opened(app, branches="0.2.6.other", branch="1")
    assert f"Branch “other” from step 3: {run.text}" in words(app)
    app.button(key="branch_here_compare").click().run()
    assert (address(app)["dec_tab"], address(app)["branch_b"]) == ("branches", "0")
    assert "They part at step 3" in words(app)
    goes_to(app, dec_tab="step", branches="0.2.6.other;1.4.9.third", branch="2", branch_b="1")
    assert app.button(key="branch_here_compare").label == "Compare with other"
    app.button(key="branch_here_close").click().run()
    assert app.session_state["selection"]["branch"] == 1 and "Branch “other” from step 3" in words(app)


def test_on_a_projector_the_step_and_the_tab_are_scenes_of_one_page(app):
    opened(app, projector="on", branches="0.2.6.other", branch="1", branch_b="0")
    assert sent(app, "scrubber") and "They part at step 3" in words(app)
    goes_to(app, strategy="beam", dec_tab="tree")
    assert sent(app, "scrubber") and sent(app, "beam_tree")


def test_a_branch_in_the_address_is_the_run_that_begins_so(app, bundled):
    trunk = the_run(bundled)
    opened(app, branches="0.2.6.other;1.4.9.third", branch="2", branch_b="0")
    expected = the_run(bundled, force={2: 6, 4: 9})
    assert written(app) == list(expected.tokens)
    assert written(app)[:2] == list(trunk.tokens[:2])
    header, _ = sent(app, "scrubber")
    assert header["forced"] == [2, 4]
    goes_to(app, dec_tab="branches")
    said = words(app)
    assert "other" in said and "third" in said and "They part at step 3" in said
    assert [button.key for button in app.button if button.key.startswith("branch_close") and not button.disabled] == [
        "branch_close_1",
        "branch_close_2",
    ]
    app.button(key="branch_close_1").click().run()
    goes_to(app, dec_tab="step")
    assert app.session_state["selection"]["branches"] == () and written(app) == list(trunk.tokens)


@pytest.mark.parametrize("strategy", ["greedy", "sampling", "beam"])
def test_another_token_may_be_taken_within_the_beginning_that_was_given(app, bundled, strategy):
    trunk = the_run(bundled, prefix="two hundred and")
    first, second, _ = (step.token_id for step in trunk.steps[:3])
    opened(
        app, prefix="two hundred and", strategy=strategy, branches="0.2.6.inside;1.5.9.below;0.4.9.behind", branch="1"
    )
    name, inside = load(bundled / "numbers").target_codec.vocabulary.tokens, {0: first, 1: second, 2: 6}
    assert written(app)[:3] == [name[first], name[second], name[6]]
    if strategy == "greedy":
        assert written(app) == list(the_run(bundled, force=inside).tokens)
    goes_to(app, branch="2")
    assert written(app)[:3] == [name[first], name[second], name[6]] and written(app)[5] == name[9]
    goes_to(app, branch="3")
    assert written(app)[:3] == list(trunk.tokens[:3]) and written(app)[4] == name[9]


def test_branches_are_shown_compared_and_renamed(app, bundled):
    opened(app, branches="0.2.6.other;0.4.9.third", branch="1", branch_b="0", dec_tab="branches")
    app.button(key="branch_compare_2").click().run()
    assert app.session_state["selection"]["branch_b"] == 2 and not app.exception
    app.button(key="branch_show_2").click().run()
    assert (app.session_state["selection"]["branch"], app.session_state["selection"]["branch_b"]) == (2, 1)
    goes_to(app, dec_tab="step")
    assert written(app) == list(the_run(bundled, force={4: 9}).tokens)


@pytest.mark.parametrize("branches", ["", "0.2.6.other"])
def test_the_branches_stand_before_what_makes_one(app, branches):
    opened(app, dec_tab="branches", branches=branches)
    keys = [getattr(each, "key", None) for each in app.main]
    rows = [place for place, key in enumerate(keys) if key and key.startswith("branch_show_")]
    assert len(rows) == 1 + bool(branches) and rows[-1] < keys.index("branch_below")


def test_an_unsure_step_is_forked_with_the_second_choice(app, bundled):
    run = the_run(bundled)
    opened(app, dec_tab="branches")
    app.number_input(key="branch_below").set_value(0.0).run()
    assert wording("has_a_probability_of_at_least", 0) in words(app)
    app.number_input(key="branch_below").set_value(1.0).run()
    app.button(key="branch_fork_now").click().run()
    other = run.steps[0].candidates[1]
    goes_to(app, dec_tab="step")
    assert written(app) == list(the_run(bundled, force={0: other.token_id}).tokens)
    assert app.session_state["selection"]["branch_b"] == 0


def test_every_page_shows_the_branch_that_is_looked_at(app, bundled):
    expected = the_run(bundled, force={2: 6})
    opened(app, branches="0.2.6.other", branch="1")
    app.switch_page("pages/attention.py").run()
    header, arrays = sent(app, "matrix")
    assert arrays["values"].tobytes() == expected.trace["decoder.1.cross.weights"][0, 0].numpy().tobytes()
    assert "branch “other”" in header["caption"]


def test_the_bars_of_a_branch_are_sent_before_the_maps_are_made(app, monkeypatch):
    made = []
    for module, name in ((steps, "scrubber_data"), (maps, "picture")):
        make = getattr(module, name)
        noted = lambda *given, name=name, make=make, **more: made.append(name) or make(*given, **more)  # noqa: E731
        monkeypatch.setattr(module, name, noted)
    opened(app, branches="0.2.6.other", branch="1")
    assert made[0] == "scrubber_data" and set(made[1:]) == {"picture"}


def test_writing_the_other_branches_can_be_ended_at_every_step(app, bundled, monkeypatch):
    calls = []
    monkeypatch.setattr(runs.ProgressBar, "__call__", lambda self, done, most: calls.append((self._stoppable, done)))
    cached.store().clear()
    opened(app, branches="0.2.6.other;0.4.9.third", branch="0", dec_tab="branches")
    written_by = [decode(load(bundled / "numbers"), TEXT, force=force) for force in ({}, {2: 6}, {4: 9})]
    assert [done for stoppable, done in calls if stoppable] == [*range(1, len(written_by[0].steps) + 1)]
    others = [*range(1, len(written_by[1].steps) + 1), *range(1, len(written_by[2].steps) + 1)]
    assert [done for stoppable, done in calls if not stoppable] == others


def test_a_branch_is_pinned_as_it_was_written(app, bundled):
    opened(app, branches="0.2.6.other", branch="1")
    app.button(key="pin_set").click().run()
    goes_to(app, branch="0")
    app.button_group(key="pin_shown").set_value("B").run()
    assert not app.exception and written(app) == list(the_run(bundled, force={2: 6}).tokens)
    assert address(app)["pin_how"] == "greedy|||2:6|other|"
    assert [header["title"][-4:] for header, _ in all_sent(app, "shading")] == [" (B)", " (B)"]
    app.button_group(key="pin_shown").set_value("A-B").run()
    assert [header["title"][-4:] for header, _ in all_sent(app, "shading")] == [" (A)", " (A)"]


def test_a_pinned_run_shows_the_same_step_of_both_with_its_bars_texts_and_maps(app, bundled):
    a, b = the_run(bundled), the_run(bundled, "7", name="numbers-tiny")
    at = min(len(a.steps), len(b.steps)) - 1
    opened(app, t=str(at), layer="0", pin_checkpoint="numbers-tiny", pin_text="7", shown="A|B")
    headers = [header for header, _ in all_sent(app, "scrubber")]
    assert [len(header["written"]) for header in headers] == [len(a.steps), len(b.steps)]
    assert [header["first_row"] for header in headers] == [0, 0]
    assert ["ids" in header for header in headers] == [True, False] and all(header["room"] for header in headers)
    assert [header["title"][-4:] for header, _ in all_sent(app, "shading")] == [" (A)", " (A)", " (B)", " (B)"]
    maps = all_sent(app, "matrix")
    for run, (header, arrays), name in zip((a, b), maps, "AB", strict=True):
        assert same_bits(arrays["values"], recorded(run, "cross", 0, 0)[0])
        assert header["title"].startswith(f"{name}: ") and header["grows"]
    assert maps[0][0]["most"] == maps[1][0]["most"]
    said = f"What did A and B write at step {at + 1}? A “{a.steps[at].token}”, "
    assert said in words(app) and f"; B “{b.steps[at].token}”, " in words(app)
    goes_to(app, t=str(len(a.steps) - 1), dec_tab="branches")
    assert wording("below_stands_a_alone") in words(app)


def test_bars_of_both_are_at_one_step_where_the_answers_begin_in_different_rows(at_the_zoo):
    opened(
        at_the_zoo,
        checkpoint="shakespeare",
        text="ABBA",
        pin_checkpoint="shakespeare",
        pin_text="BA",
        shown="A|B",
        t="5",
    )
    assert [header["first_row"] for header, _ in all_sent(at_the_zoo, "scrubber")] == [3, 3]
    assert [row["first"] for row in told(at_the_zoo, "chips")["rows"]] == [3, 3]
    assert wording("the_answer_of_b_begins_with_its_row", 1) in words(at_the_zoo)


# ---- the tabs


def test_the_tree_is_that_of_the_search(app, bundled):
    run = the_run(bundled, strategy=Beam(3))
    opened(app, strategy="beam", beam="3,0.6,gnmt,end,none-better", dec_tab="tree")
    header, _ = sent(app, "beam_tree")
    assert run.tree is not None
    assert header["answer"] == run.tree.answer and header["width"] == 3
    assert run.tree.beam.formula() in words(app)
    goes_to(app, dec_node="0")
    assert run.tree.why(0) in words(app)
    goes_to(app, dec_node="99999")
    assert "99,999" in words(app) or "99999" in words(app)


def test_without_a_beam_the_tree_says_what_to_do(app):
    assert "beam" in words(opened(app, dec_tab="tree")).lower()


@pytest.mark.parametrize("strategy", ["greedy", "sampling", "beam"])
def test_the_cache_is_counted_for_every_strategy(app, strategy):
    opened(app, dec_tab="cache", strategy=strategy)
    assert "computed" in words(app)


def test_a_text_of_the_readers_own_is_scored(app, bundled):
    run = the_run(bundled, target="two hundred")
    opened(app, dec_tab="score")
    app.text_area(key="decoding_score_text").set_value("two hundred").run()
    assert not app.exception
    assert f"{run.log_prob:.2f}" in words(app)
    assert address(app)["dec_text"] == "two hundred"


@pytest.mark.parametrize("typed", ["", "two hundred", "two " * 40])
def test_scored_tokens_stand_before_the_box_for_another_text(app, typed):
    opened(app, dec_tab="score", dec_text=typed)
    page = list(app.main)
    table = next(place for place, each in enumerate(page) if each.type == "html" and "vt-scored" in each.proto.body)
    assert table < page.index(app.text_area(key="decoding_score_text"))


# ---- what cannot be


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"sampling": "nan,0,1,0,1,0"}, wording("bounds_of_sampling", 0, 100, 0, "1,000,000")),
        ({"beam": "1000,0.6,gnmt,end,none-better"}, wording("bounds_of_a_beam", 1, 100, 0, 10)),
        ({"beam": "0,0.6,gnmt,end,none-better"}, wording("bounds_of_a_beam", 1, 100, 0, 10)),
        ({"branches": "nonsense"}, wording("which_is_not_a_list_of_branches")),
        ({"branch": "7"}, wording("there_is_no_branch_the_answer_is_shown", 7)),
        ({"strategy": "best"}, wording("which_is_not_one_of_greedy_sampling_beam")),
        ({"ban": "x"}, wording("which_is_not_ids_with_commas_between_them")),
    ],
)
def test_an_address_that_cannot_be_is_said_and_the_answer_shown(app, bundled, given, sentence):
    opened(app, **given)
    assert sentence in words(app)
    assert written(app) == list(the_run(bundled).tokens)


@pytest.mark.parametrize(
    ("strategy", "key", "value", "sentence"),
    [
        ("beam", "decoding_beam_0", 1000, wording("width_cannot_be", "1,000", 1, 100, 4)),
        ("beam", "decoding_beam_0", 0, wording("width_cannot_be", 0, 1, 100, 4)),
        ("beam", "decoding_beam_1", 11.0, wording("penalty_cannot_be", 11, 0, 10, "0.6")),
        ("sampling", "decoding_sampling_0", -1.0, wording("temperature_cannot_be", -1, 0, 100)),
        ("sampling", "decoding_sampling_2", 0.0, wording("top_p_cannot_be", 0, "0.01", 1, 1)),
        ("sampling", "decoding_sampling_5", -1, wording("seed_cannot_be", -1, 0, "1,000,000,000")),
    ],
)
def test_a_setting_out_of_bounds_is_said_and_stays(app, strategy, key, value, sentence):
    opened(app, strategy=strategy, branches="0.2.6.other")
    before = dict(app.session_state["selection"])
    app.number_input(key=key).set_value(value).run()
    assert not app.exception and sentence in words(app)
    assert app.session_state["selection"] == before
    assert app.number_input(key=key).value == (before[strategy] or generation_config.SEARCHED)[int(key[-1])]
    app.run()
    assert sentence not in words(app)


@pytest.mark.parametrize(("width", "penalty"), [(0, 0.6), (101, 0.6), (4, -0.1), (4, 10.1)])
def test_the_bounds_of_the_page_are_those_of_the_search(width, penalty):
    (least, most), (low, high) = generation_config.BEAM_BOUNDS["width"], generation_config.BEAM_BOUNDS["length penalty"]
    assert Beam(least, length_penalty=low) and Beam(most, length_penalty=high)
    with pytest.raises(ValueError):
        Beam(width, length_penalty=penalty)


def test_a_beginning_that_is_too_long_is_said_and_the_last_answer_stays(app, bundled):
    opened(app)
    app.text_area(key="decoding_prefix").set_value("two " * 40).run()
    assert not app.exception
    assert "The prefix has " in words(app) and wording("below_is_the_last_answer_that_could_be_written") in words(app)
    assert stale(app)
    assert written(app) == list(the_run(bundled).tokens)
    app.text_area(key="decoding_prefix").set_value("two").run()
    assert written(app) == list(the_run(bundled, prefix="two").tokens)


def test_words_that_the_model_does_not_know_are_said(app):
    opened(app, prefix="two nonsense")
    assert "1 token is not in the vocabulary, the model reads <unk> instead: nonsense." in words(app)
    app.text_area(key="decoding_prefix").set_value("two").run()
    assert "not in the vocabulary" not in words(app)


def test_everything_banned_is_said_and_the_last_answer_stays(app, bundled):
    opened(app)
    size = load(bundled / "numbers").config.target_vocab_size
    goes_to(app, ban=",".join(map(str, range(size))))
    assert wording("tokens_are_banned_leave_at_least_one_that_can") in words(app)
    assert written(app) == list(the_run(bundled).tokens)


def test_tokens_are_banned_as_the_vocabulary_spells_them(app, bundled):
    opened(app)
    app.text_area(key="decoding_ban").set_value("two nonsense").run()
    assert wording("is_not_a_token_of_this_model", "nonsense") in words(app)
    assert app.session_state["selection"]["ban"] == ()
    app.text_area(key="decoding_ban").set_value("two <b>").run()
    names = load(bundled / "numbers").target_codec.vocabulary.tokens
    assert app.session_state["selection"]["ban"] == (names.index("two"), names.index("<b>"))
    assert "<b>" not in written(app) and "two" not in written(app)
    app.selectbox(key="sidebar_model").set_value("numbers-tiny").run()
    assert app.session_state["selection"]["ban"] == ()


def test_a_text_that_cannot_be_scored_ends_in_a_sentence(app):
    opened(app, dec_tab="score")
    app.text_area(key="decoding_score_text").set_value("two " * 40).run()
    assert not app.exception and "the target has" in words(app)


def test_a_given_answer_leaves_nothing_to_choose(app):
    opened(app, target="two")
    assert "The answer is forced (teacher forcing), so no strategy applies." in words(
        app
    ) and "decoding_strategy" not in {b.key for b in app.button_group}
    for tab in TABS:
        goes_to(app, dec_tab=tab)
    app.button(key="decoding_write").click().run()
    assert app.session_state["selection"]["target"] is None and not app.exception


@each_once(
    "checkpoint, strategy", ["shakespeare", "en-it-slips", "own", "multi30k-de-en"], ["greedy", "sampling", "beam"]
)
def test_every_kind_of_model_is_decoded_by_every_strategy(at_the_zoo, checkpoint, strategy):
    text = "ABBA" if checkpoint == "shakespeare" else "abc"
    opened(at_the_zoo, checkpoint=checkpoint, text=text, strategy=strategy)
    for tab in TABS:
        goes_to(at_the_zoo, dec_tab=tab)
    if checkpoint == "en-it-slips":
        assert wording("every_step_was_a_whole_pass") in words(at_the_zoo)


@pytest.mark.parametrize("text", ["", "7", "9" * 60, "<b>&🙂 مرحبا"])
def test_any_text_ends_in_a_picture_or_a_sentence(app, text):
    opened(app, text=text)
    assert "<b>" not in markup(app)
    assert math.isfinite(len(words(app)))


def in_doubt(bundled):
    """A text, and its run, whose step in most doubt is not the first."""
    ckpt = load(bundled / "numbers-tiny")
    tried = ((source, decode(ckpt, source)) for source in ("7", "29", "3.5", "-80", "1,234.5", "0", "66", TEXT))
    return next((source, run) for source, run in tried if most_doubtful(run.steps))


def test_without_an_address_it_opens_with_its_example_at_the_step_in_most_doubt(app, bundled, monkeypatch):
    source, run = in_doubt(bundled)
    example = {"checkpoint": "numbers-tiny", "text": source, "heads": (0,)}
    monkeypatch.setattr(examples, "OPENINGS", {"Decoding": example})
    opened(app)
    assert written(app) == list(run.tokens) and address(app)["checkpoint"] == "numbers-tiny"
    assert app.session_state["selection"]["t"] == most_doubtful(run.steps) > 0
    assert f"at step {most_doubtful(run.steps) + 1}?" in words(app)


def test_texts_with_doubt_are_one_click_away_and_start_at_their_step_in_most_doubt(app, bundled, monkeypatch):
    source, run = in_doubt(bundled)
    two = [examples.Doubt("numbers", TEXT, "<b>&*"), examples.Doubt("numbers-tiny", source, "seven")]
    monkeypatch.setattr(examples, "DOUBTS", (*two, examples.Doubt("missing", "7", "not here")))
    opened(app, text=TEXT, checkpoint="numbers", t="0")
    (button,) = (each for each in app.button if (each.key or "").startswith("decoding_doubt_"))
    assert button.label == "seven" and app.session_state["selection"]["t"] == 0
    button.click().run()
    assert (address(app)["checkpoint"], address(app)["text"]) == ("numbers-tiny", source)
    assert app.session_state["selection"]["t"] == most_doubtful(run.steps) > 0
    (back,) = (each for each in app.button if (each.key or "").startswith("decoding_doubt_"))
    assert back.label == text.literal("<b>&*")
