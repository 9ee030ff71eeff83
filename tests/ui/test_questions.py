"""The line under each page's title says what the run says: computed here from the trace, in other ways."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer import decode, load
from viz_transformer.analysis.decoding.caching import cache_of_run
from viz_transformer.analysis.decoding.doubt import most_doubtful
from viz_transformer.analysis.layers.lens import lens
from viz_transformer.analysis.layers.sublayers import flows
from viz_transformer.analysis.masks.parts import Change, parts_of
from viz_transformer.analysis.models.answers import PairAnswer, confusions
from viz_transformer.analysis.models.diagnostics import Check
from viz_transformer.analysis.models.parameters import parameter_blocks
from viz_transformer.analysis.models.snapshots import SnapshotRun, SnapshotSeries
from viz_transformer.analysis.playground.by_hand import Sizes, attend, growth, mask_of, vectors
from viz_transformer.analysis.tensors.points import point_view, statistics
from viz_transformer.analysis.weight.ladder import ladder
from viz_transformer.analysis.weight.weight_numbers import Cell, parameters
from viz_transformer.checkpoint.contents import list_checkpoints
from viz_transformer.checkpoint.store import expected_shapes
from viz_transformer.numerals import number, write_in_sentence
from viz_transformer.running.strategies import Beam
from viz_transformer.ui.frame import maps, questions
from viz_transformer.ui.pages.decoding import question as of_decoding
from viz_transformer.ui.pages.input import page as of_input
from viz_transformer.ui.pages.layers import question as of_layers
from viz_transformer.ui.pages.masks import page as of_masks
from viz_transformer.ui.pages.models import question as of_models
from viz_transformer.ui.pages.models import words
from viz_transformer.ui.pages.playground import question as of_playground
from viz_transformer.ui.pages.positions import page as of_positions
from viz_transformer.ui.pages.run import question as of_run
from viz_transformer.ui.pages.run.opening_run import FILE, Recording
from viz_transformer.ui.pages.tensors import page as of_tensors
from viz_transformer.ui.pages.weight import page as of_weight
from viz_transformer.ui.session.generation_config import Branch
from viz_transformer.ui.session.runs import RunView

CHOSEN = {"kind": "cross", "layer": 1, "heads": (2,), "options": ()}


@pytest.fixture(scope="module")
def shown() -> RunView:
    summary = next(each for each in list_checkpoints() if each.name == "numbers-any")
    ckpt = load("numbers-any")
    return RunView("A", summary, "29,284.30", ckpt, decode(ckpt, "29,284.30"))


def shown_of(ckpt, text: str, **how) -> RunView:
    summary = next(each for each in list_checkpoints() if each.name == "numbers-any")
    return RunView("A", summary, text, ckpt, decode(ckpt, text, **how))


def percentage(value: float) -> str:
    return "100 %" if value == 1 else ">99.9 %" if value > 0.9995 else f"{100 * value:.1f} %"


def where(shown: RunView, position: int, **changes):
    chosen = {**CHOSEN, **changes}
    return questions.where(shown, maps.picture(shown, chosen), position, chosen["heads"])


def test_where_a_head_looks_is_the_largest_weight_of_its_row(shown: RunView) -> None:
    weights = shown.trace["decoder.1.cross.weights"][0, 2]
    for position in range(len(shown.trace.tgt)):
        most = int(weights[position].argmax())
        asked = where(shown, position)
        assert asked.asks == f"Where did head 2 look when it wrote “{shown.trace.next_tokens[position]}”?"
        assert f"“{shown.trace.src_tokens[most]}”, {percentage(float(weights[position, most]))}." in asked.answer


def test_a_row_without_a_peak_is_said_to_be_even(shown: RunView) -> None:
    picture = maps.picture(shown, CHOSEN)
    keys = picture.values.shape[1]
    even = replace(picture, values=np.full_like(picture.values, 1 / keys))
    assert f"Almost evenly over all {keys} tokens" in questions.where(shown, even, 0, (2,)).answer
    closed = replace(picture, mask=np.zeros_like(picture.mask))
    assert questions.where(shown, closed, 0, (2,)).answer == "Nowhere: every key is closed to it."


def test_a_row_of_which_a_part_is_not_a_number_says_how_much(shown: RunView) -> None:
    picture = maps.picture(shown, CHOSEN)
    keys = picture.values.shape[1]
    for count, said in ((1, "1 of {} weights is not a finite number"), (2, "2 of {} weights are not finite numbers")):
        values = picture.values.copy()
        values[0, :count] = [np.nan, np.inf][:count]
        best = int(np.where(np.isfinite(values[0]), values[0], -1).argmax())
        answer = questions.where(shown, replace(picture, values=values), 0, (2,)).answer
        assert f"“{shown.trace.src_tokens[best]}”" in answer and answer.endswith(f"; {said.format(keys)}.")


def test_a_row_whose_numbers_were_not_there_is_not_called_not_a_number(shown: RunView) -> None:
    picture = maps.picture(shown, CHOSEN)
    values, there = picture.values.copy(), np.ones_like(picture.mask)
    values[0], there[0] = np.nan, False  # as a row without a step
    answer = questions.where(shown, replace(picture, values=values, valid=there), 0, (2,)).answer
    assert "ot a number" not in answer
    assert "ot a number" in questions.where(shown, replace(picture, values=values), 0, (2,)).answer


def test_the_largest_open_key_counts_where_a_mask_closes_a_larger_one(shown: RunView) -> None:
    picture = maps.picture(shown, CHOSEN)
    most = int(picture.values[0].argmax())
    mask = picture.mask.copy()
    mask[0, most] = False
    second = int(np.where(mask[0], picture.values[0], -1).argmax())
    answer = questions.where(shown, replace(picture, mask=mask), 0, (2,)).answer
    assert f"“{shown.trace.src_tokens[second]}”" in answer


def test_an_encoder_row_a_mean_and_a_length_are_named_as_they_are(shown: RunView) -> None:
    assert where(shown, 2, kind="encoder").asks == f"Where did head 2 look from “{shown.trace.src_tokens[2]}”?"
    assert "the mean of the heads" in where(shown, 0, heads="mean").asks
    added = where(shown, 0, options=("contribution",))
    assert added.asks.startswith("What did head 2 add most of")
    assert "a vector of length" in added.answer
    both = where(shown, 0, heads=(1, 2))
    assert both.answer.startswith("Head 1 at ") and "; head 2 at " in both.answer


def test_a_difference_says_where_a_and_b_differ_most(shown: RunView) -> None:
    one, two = (maps.picture(shown, {**CHOSEN, "heads": (head,)}) for head in (0, 2))
    gaps = one.values - two.values
    at = int(np.abs(gaps[1]).argmax())
    asked = questions.where(shown, one - two, 1, (0,))
    assert asked.asks.startswith("Where do A and B differ most")
    assert asked.answer == f"At “{shown.trace.src_tokens[at]}”, {gaps[1, at]:+.4f}."


def test_a_word_stands_for_its_positions_and_a_hidden_key_is_not_named(shown: RunView) -> None:
    assert where(shown, 0, options=("hidden",)).answer != ""
    picture = maps.picture(shown, {**CHOSEN, "options": ("hidden",)})
    assert all(f"“{token}”" not in questions.looks(picture, 0) for token in ("<s>", "</s>", "<bos>", "<eos>"))
    words = maps.picture(shown, {**CHOSEN, "options": ("words",)})
    places = [questions.place_of(words.columns, p) for p in range(len(shown.trace.src))]
    assert places[-1] == len(words.columns) - 1


def test_a_given_token_was_given_and_a_prefix_is_read() -> None:
    ckpt = tiny_checkpoint()
    assert "was given" in where(shown_of(ckpt, "abc", prefix="ab"), 0, layer=0, heads=(0,)).asks
    alone = tiny_checkpoint("decoder-only")
    asked = where(shown_of(alone, "uvw", max_steps=3), 0, kind="decoder", layer=0, heads=(0,))
    assert (
        asked.asks == f"Where did head 0 look when it read “{shown_of(alone, 'uvw', max_steps=3).trace.tgt_tokens[0]}”?"
    )


def test_run_adds_how_sure_the_model_was_and_the_recording_says_the_same(shown: RunView) -> None:
    recording, picture = Recording.load(FILE), maps.picture(shown, CHOSEN)
    for position, step in enumerate(shown.run.steps):
        asked = of_run.question(shown, picture, position, (2,))
        assert asked.answer.endswith(f"Probability of “{step.token}”: {percentage(math.exp(step.log_prob))}.")
        assert recording.question(position) == asked
    assert recording.question(len(shown.trace.tgt)) is None


def test_decoding_names_the_next_best_tokens(shown: RunView) -> None:
    probabilities = torch.softmax(shown.trace["logits"][0, 0].double(), -1)
    best = probabilities.topk(3).indices.tolist()
    names = shown.ckpt.target_codec.names
    asked = of_decoding.question(shown, 0)
    assert asked.asks == "What could it have written at step 1?"
    assert [asked.answer.index(f"“{names[token]}”") for token in best] == sorted(
        asked.answer.index(f"“{names[token]}”") for token in best
    )
    assert percentage(float(probabilities[best[1]])) in asked.answer or "<0.1 %" in asked.answer


def test_decoding_says_it_where_another_token_had_more() -> None:
    found = shown_of(tiny_checkpoint(), "abc", prefix="ba", max_steps=6)
    behind = [step for step in found.run.steps if step.rank]
    assert behind
    for step in behind:
        answer, best = of_decoding.question(found, step.index).answer, step.candidates[0].token
        assert answer.index(f"“{best}”") < answer.index(f"“{step.token}”, which was written, has ")


def test_decoding_and_layers_say_which_tokens_are_as_probable() -> None:
    ckpt = tiny_checkpoint()
    with torch.no_grad():
        ckpt.model.output.weight.zero_()
        ckpt.model.output.bias.copy_(torch.arange(20.0))
        ckpt.model.output.bias[[7, 8, 12, 17]] = 22.0
    share = percentage(ckpt.model.output.bias.softmax(dim=0)[7].item())
    shown = shown_of(ckpt, "abc", max_steps=1)
    v7, v8, v12 = (ckpt.codec("target").names[i] for i in (7, 8, 12))
    answer = of_decoding.question(shown, 0).answer
    assert answer == f"“{v7}” has {share}, as probable as “{v8}”, “{v12}” and 1 more."
    asked = of_layers.settled(shown, lens(shown.trace, ckpt.hooked_model), 0)
    assert asked is not None and f"{share} at the end, as probable as “{v8}”, “{v12}” and others." in asked.answer
    with torch.no_grad():
        ckpt.model.output.bias[[12, 17]] = 0.0
    share = percentage(ckpt.model.output.bias.softmax(dim=0)[7].item())
    answer = of_decoding.question(shown_of(ckpt, "abc", max_steps=1), 0).answer
    assert answer.startswith(f"“{v7}” has {share}, as probable as “{v8}”, then “{ckpt.codec('target').names[19]}” ")


def test_decoding_asks_by_its_tab_which_branches_there_are_or_where_one_could_leave() -> None:
    shown = shown_of(tiny_checkpoint(), "abc", max_steps=5)
    step = shown.run.steps[most_doubtful(shown.run.steps)]
    first, second = step.candidates[:2]
    assert of_decoding.branches(shown, ()).answer == (
        f"None yet. The model is least sure at step {step.index + 1}:"
        f" “{first.token}” {percentage(math.exp(first.log_prob))} or"
        f" “{second.token}” {percentage(math.exp(second.log_prob))}."
    )
    grown = (Branch(0, 2, (6,), "one"), Branch(1, 4, (7,), "<b>"))
    assert of_decoding.branches(shown, grown).answer == "2 branches: “one” from step 3, “<b>” from step 5."


def test_decoding_asks_of_a_beam_which_hypothesis_won_and_by_how_much() -> None:
    shown = shown_of(tiny_checkpoint(), "abc", strategy=Beam(3), max_steps=6)
    tree = shown.run.tree
    assert tree is not None
    rivals = sorted((node for node in tree.nodes if node.fate == "stopped"), key=lambda node: -node.score)
    asked, (won, second, *_) = of_decoding.tree(shown), rivals
    assert not tree.finished and won.index == tree.answer
    assert asked.asks == f"Which of {len(rivals)} hypotheses won?"
    assert f"score {number(won.score, 2)}; the next has {number(second.score, 2)}." in asked.answer
    assert of_decoding.tree(shown_of(tiny_checkpoint(), "abc", max_steps=2)).answer == (
        "There was no beam search: the strategy is greedy."
    )


def test_decoding_asks_what_the_cache_saved() -> None:
    shown = shown_of(tiny_checkpoint(), "abc", max_steps=5)
    steps = cache_of_run(shown.run)
    ours, whole = sum(step.cached.total for step in steps), sum(step.whole.total for step in steps)
    answer = of_decoding.cache(shown).answer
    assert answer == (f"{percentage(1 - ours / whole)} of the decoder’s multiply-adds: {ours:,} instead of {whole:,}.")
    assert of_decoding.cache(shown_of(tiny_checkpoint(merge="raw-reshape"), "abc", max_steps=3)).answer.startswith(
        "Nothing: this run has no cache"
    )


def test_decoding_asks_how_probable_a_typed_text_is_beside_the_models_own() -> None:
    shown, typed = shown_of(tiny_checkpoint(), "abc", max_steps=5), shown_of(tiny_checkpoint(), "abc", target="uv")
    own, given = (each.run.log_prob for each in (shown, typed))
    assert of_decoding.score(shown, None).answer == (
        f"Log-probability {own:.2f} over 5 tokens, or {own / 5:.2f} per token."
    )
    assert of_decoding.score(shown, typed).answer == (
        f"Log-probability {given:.2f} over 3 tokens; its own answer: log-probability {own:.2f} over 5 tokens."
    )


def test_input_names_token_id_and_size(shown: RunView) -> None:
    asked = of_input.question(shown, "source", 1)
    token_id = shown.trace.src.ids[1]
    size = len(shown.ckpt.source_codec.names)
    d_model = shown.trace["encoder.embed.out"].shape[-1]
    assert (
        asked.answer
        == f"“{shown.trace.src_tokens[1]}” (vocabulary id {token_id} of {size}) becomes a vector of {d_model} numbers."
    )
    unknown = shown_of(tiny_checkpoint(), "a<a", max_steps=2)
    assert "in place of “<”, which it does not know" in of_input.question(unknown, "source", 2).answer


def test_positions_gives_the_lengths_of_what_is_added(shown: RunView) -> None:
    asked = of_positions.ask_of_position(shown.trace, "encoder", 3)
    added, token = (float(shown.trace[f"encoder.embed.{part}"][0, 3].norm()) for part in ("position", "token"))
    assert f"length {added:.4g}, added to an embedding of length {token:.4g}" in asked.answer


@pytest.mark.parametrize(
    ("positions", "words"), [("rotary", "turns queries"), ("alibi", "lowers scores"), ("none", "Nothing: no part")]
)
def test_positions_without_a_table_are_told_from_what_was_recorded(positions: str, words: str) -> None:
    found = shown_of(tiny_checkpoint(positions=positions), "abc", max_steps=2)
    assert words in of_positions.ask_of_position(found.trace, "encoder", 1).answer


def test_one_weight_compares_with_the_largest_other_score(shown: RunView) -> None:
    for key in range(len(shown.trace.src)):
        cell = Cell(kind="cross", layer=1, head=2, query=1, key=key)
        found = ladder(shown.trace, parameters(shown.ckpt.model, "cross", 1), cell)
        weights = shown.trace["decoder.1.cross.weights"][0, 2, 1].double()
        others = [k for k in range(len(weights)) if k != key]
        best = max(others, key=lambda k: weights[k])
        answer = of_weight.ask(shown, {"ladder": found}).answer
        ratio = float(max(weights[key], weights[best]) / min(weights[key], weights[best]))
        assert f"“{shown.trace.src_tokens[best]}”" in answer
        said = float(answer.split(" = ")[1].split(" times")[0].replace(",", ""))
        assert said == pytest.approx(ratio, rel=0.005)
        power = float(answer.split("e^")[1].split(" = ")[0])
        assert (
            said == pytest.approx(np.exp(power), rel=0.005) and f"is {power:g} " in answer
        )  # as a reader works it out
        assert ("above" in answer) == bool(weights[key] > weights[best])


def test_a_score_far_above_all_others_gets_a_power_of_ten_times_as_much(shown: RunView) -> None:
    cell = Cell(kind="cross", layer=1, head=2, query=1, key=0)
    found = ladder(shown.trace, parameters(shown.ckpt.model, "cross", 1), cell)
    scores = np.zeros_like(found.row.scores)
    scores[0] = 1000
    answer = of_weight.ask(shown, {"ladder": replace(found, row=replace(found.row, scores=scores))}).answer
    assert answer.endswith("so it gets e^1000 = 10^434 times as much.")


def test_a_masked_weight_is_closed_by_the_mask(shown: RunView) -> None:
    cell = Cell(kind="decoder", layer=0, head=0, query=1, key=3)
    found = ladder(shown.trace, parameters(shown.ckpt.model, "decoder", 0), cell)
    assert of_weight.ask(shown, {"ladder": found}).answer == "Because it is masked for this query."
    alone = Cell(kind="decoder", layer=0, head=0, query=0, key=0)
    found = ladder(shown.trace, parameters(shown.ckpt.model, "decoder", 0), alone)
    assert of_weight.ask(shown, {"ladder": found}).answer == "Because it is the only key that this query may read."


def test_layers_says_from_where_on_the_written_token_leads(shown: RunView) -> None:
    found = lens(shown.trace, shown.ckpt.hooked_model)
    for position, token_id in enumerate(shown.trace.next_ids):
        leads = (found.top_ids[position, :, 0] == token_id).tolist()
        asked = of_layers.settled(shown, found, position)
        assert f"“{shown.trace.next_tokens[position]}”" in asked.asks
        first = len(leads) - 1 - leads[::-1].index(False) + 1 if False in leads else 0
        assert f"rom {'the ' if first == 0 else ''}{found.stations[first].name} on" in asked.answer


def test_layers_without_a_lens_names_the_largest_share(shown: RunView) -> None:
    made = flows(shown.trace, "encoder")
    most = max(made, key=lambda flow: flow.added[2] / (flow.came[2] + flow.added[2]))
    answer = of_layers.changed_most(shown, made, 2).answer
    assert answer.lower().startswith(most.place.title.lower())
    assert f"{most.added[2] / (most.came[2] + most.added[2]):.2f}" in answer


def test_tensors_counts_the_numbers_of_a_point(shown: RunView) -> None:
    values = shown.trace["decoder.1.cross.weights"]
    view = point_view(shown.trace, "decoder.1.cross.weights")
    answer = of_tensors.ask_of_point(view, statistics(view.values), "the run").answer
    assert answer.startswith(f"{values.numel():,} values: min ")
    whole = statistics(view.values)
    assert of_tensors.ask_of_point(view, whole, "A − B").answer.startswith(f"{values.numel():,} values of A − B: min ")
    assert (
        f"min {write_in_sentence(float(values.min()))}, max {write_in_sentence(float(values.max()))}, mean " in answer
    )
    mask = point_view(shown.trace, "decoder.0.self.mask")
    cells = shown.trace["decoder.0.self.mask"]
    assert f"{100 * float(cells.float().mean()):.1f} % of {cells.numel():,} cells are open" in (
        of_tensors.ask_of_point(mask, statistics(mask.values), "the run").answer
    )


def test_masks_counts_what_a_row_may_read_and_why_not_the_rest(shown: RunView) -> None:
    length = len(shown.trace.tgt)
    parts = parts_of(shown.trace, "decoder")
    assert of_masks.question(parts, 2, "query 2").answer == (
        f"3 of {length} keys: {length - 3} are closed because they come later."
    )
    assert of_masks.question(parts, length - 1, "the last").answer == f"All {length} keys."
    changed = parts_of(shown.trace, "decoder", changes=[Change("decoder", 2, 1)])
    assert "1 is closed by your change" in of_masks.question(changed, 2, "query 2").answer
    closed = parts_of(shown.trace, "cross", changes=[Change("cross", 2)])
    assert of_masks.question(closed, 2, "query 2").answer.startswith("None of ")


def test_models_states_the_first_number_of_the_card(shown: RunView) -> None:
    exact = shown.summary.card["metrics"][0]["exact_match"]
    asked = of_models.card("numbers-any", shown.summary.card)
    assert asked.asks == "How good is numbers-any?"
    assert f"{100 * exact:.2f}"[:4] in asked.answer or "100 %" in asked.answer
    assert of_models.card("x", {}).answer == "It has not been measured."


def test_each_tab_of_models_asks_for_itself_on_one_line(shown: RunView) -> None:
    for summary in list_checkpoints():
        answered = {tab: of_models.at_once(tab, summary) for tab in words.TABS}
        of_files = [each for each in answered.values() if each is not None]
        assert [tab for tab, each in answered.items() if each] == ["card", "architecture", "curves", "data"]
        assert all(len(f"{each.asks} {each.answer}") <= of_models.ONE_LINE for each in of_files)
        asks = [each.asks for each in of_files]
        asks += [of_models.untold(tab, summary.name).asks for tab in ("errors", "doctor", "new", "training")]
        asks += [of_models.opened([]).asks, of_models.trained([]).asks]
        assert len({*asks}) == len(words.TABS)


def test_architecture_has_the_shares_of_the_model_s_own_parameters(shown: RunView) -> None:
    counts = {name: each.numel() for name, each in shown.ckpt.model.named_parameters()}
    total = sum(counts.values())
    answer = of_models.architecture("x", parameter_blocks(shown.ckpt.config)).answer
    assert answer.startswith(f"Of {total:,}: feed-forward ")
    for part, names in (
        ("feed-forward", ("feed_forward", "ffn_res")),
        ("self-attention", ("self_attention", "self_res")),
    ):
        share = sum(count for each, count in counts.items() if any(name in each for name in names)) / total
        assert f"{part} {percentage(share)}" in answer


def test_curves_names_the_step_of_the_lowest_loss(shown: RunView) -> None:
    rows = shown.summary.history()
    best = min(rows, key=lambda row: math.inf if math.isnan(row["validation_loss"]) else row["validation_loss"])
    answer = of_models.curves("x", rows).answer
    assert f"{best['validation_loss']:.3g}, at step {best['step']:,.0f}" in answer
    row = {"step": 4.0, "train_loss": 2.0, "validation_loss": 0.25}
    assert of_models.curves("x", [row]).answer == "Lowest validation loss: 0.25, at step 4, the last."
    worse = {"step": 1008.0, "train_loss": 1.0, "validation_loss": 0.5}
    assert of_models.curves("x", [row, worse]).answer.endswith(" at step 4 of 1,008.")
    assert of_models.curves("x", []).answer == "It has no training history."


def test_data_says_how_much_of_the_test_was_trained_on(shown: RunView) -> None:
    assert of_models.data("x", shown.summary.card).answer == (
        "Yes: none of its 24,000 test sources is in the training data."
    )
    some = {"overlap": {"test_pairs": 2000, "with_source_in_train": 395}}
    assert of_models.data("x", some).answer == "Not all of it: 395 of 2,000 test sources are in the training data."
    windows = {"overlap": {"test_windows": 872, "with_text_in_train": 0}}
    assert "none of its 872 test windows" in of_models.data("x", windows).answer
    for unknown in ({}, {"overlap": {"test_pairs": 5, "with_source_in_train": 6}}):
        assert of_models.data("x", unknown).answer == "Its card does not say."


def test_errors_counts_answers_and_names_what_stands_for_what() -> None:
    answers = [PairAnswer("1", "one", "one", right=True), *[PairAnswer("2", "two", "too", right=False)] * 2]
    most = confusions(answers)[0]
    assert of_models.errors("x", 1, 2, most, translates=False).answer == (
        "2 of 3 test pairs; most often “too” for “two”, 2 times."
    )
    assert of_models.errors("x", 3, 0, None, translates=False).answer == "Nothing in 3 test pairs."
    translated = of_models.errors("x", 1, 2, most, translates=True)
    assert translated.asks == "How often does x write the reference?"
    assert translated.answer == "In 1 of 3 pairs; if not, most often “too” for “two”, 2 times."
    once = of_models.errors("x", 1, 1, confusions(answers[:2])[0], translates=False)
    assert once.answer == "1 of 2 test pairs."


def test_the_doctor_says_how_many_checks_are_fine_and_which_are_bad() -> None:
    fine, remark, bad = (Check(name, verdict, "") for name, verdict in (("a", "ok"), ("b", "note"), ("<c>", "bad")))
    assert of_models.doctor("x", [fine, fine]).answer == "2 of 2 checks passed, none failed."
    assert of_models.doctor("x", [fine, remark]).answer == "1 of 2 checks passed, none failed; 1 remark."
    many = of_models.doctor("multi30k-tutorial6", [fine] * 16 + [remark] * 12)
    assert len(f"{many.asks} {many.answer}") <= of_models.ONE_LINE
    assert of_models.doctor("x", [fine, remark, bad]).answer == "Not in 1 of 3 checks: “<c>”."


def test_a_new_model_is_held_against_its_base(shown: RunView) -> None:
    config = replace(shown.ckpt.config, d_ff=shown.ckpt.config.d_ff // 2)
    count, base = (sum(map(math.prod, expected_shapes(each).values())) for each in (config, shown.ckpt.config))
    assert of_models.new(config, "numbers-any", shown.ckpt.config).answer == (
        f"{count:,} parameters, {count / base:.3g} times as many as numbers-any."
    )
    same = of_models.new(shown.ckpt.config, "numbers-any", shown.ckpt.config).answer
    assert same == f"{base:,} parameters, as many as numbers-any."
    assert of_models.new(None, "numbers-any", shown.ckpt.config).answer == "Its sizes do not fit together."


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ({}, "It is not right at any of 4 snapshots."),
        ({1000, 2000, 3000}, "It has been right since step 1,000."),
        ({1000, 3000}, "It was first right at step 1,000, and has been right since step 3,000."),
        ({1000, 2000}, "It was first right at step 1,000, but not at the last snapshot."),
        ({0, 1000, 2000, 3000}, "It has been right since step 0."),
    ],
)
def test_training_says_from_which_snapshot_on_the_answer_is_the_target(
    shown: RunView, right: set[int], said: str
) -> None:
    runs = tuple(SnapshotRun(step, "", True, step in right, 1.0, shown.run) for step in (0, 1000, 2000, 3000))
    asked = of_models.training("x", SnapshotSeries("29,284.30", "twenty", "given", runs))
    assert asked.answer == said and asked.asks.replace("\N{LEFT-TO-RIGHT ISOLATE}", "").startswith("When did x learn “")


def test_what_was_opened_and_trained_is_named_as_far_as_there_is_room() -> None:
    assert of_models.opened(["minGPT", "mine"]).answer == "minGPT and mine."
    many = of_models.trained([f"model-{place}" for place in range(40)])
    assert many.answer.startswith("model-0, model-1") and many.answer.endswith(" more.")
    assert len(f"{many.asks} {many.answer}") <= of_models.ONE_LINE
    assert sum(map(int, re.findall(r"and (\d+) more", many.answer))) + many.answer.count("model-") == 40
    assert of_models.file("gpt.pt", guessed=2).answer == "Yes, but 2 settings that it does not state are guessed."
    assert "nothing about it has to be guessed" in of_models.file("gpt.pt").answer
    assert of_models.file("gpt.pt", ready=False).answer.startswith("Not yet")


def test_the_playground_answers_with_its_numbers() -> None:
    sizes = Sizes(queries=3, keys=4, d_k=4, d_v=2)
    given = vectors(7, sizes, {})
    found = attend(given, mask_of("none", 3, 4))
    scores = given.query @ given.key.T / math.sqrt(4)
    weights = np.exp(scores[0]) / np.exp(scores[0]).sum()
    answer = of_playground.attention(found).answer
    assert answer.startswith(f"k{int(weights.argmax())} ({100 * weights.max():.1f} %)")
    bits = float(-(weights * np.log2(weights)).sum())
    assert f"Its entropy is {bits:.2f} of 2.00 bits" in of_playground.simplex(found).answer
    grown = growth(1, 8, rows=50)
    assert f"{grown.entropy[True][-1]:.2f} of 3.00 bits of entropy; without" in of_playground.scaling(grown).answer
    assert of_playground.rebuild(None).answer == of_playground.copying(None).answer == "Start the training to see."


def test_a_token_is_never_markup_nor_endless() -> None:
    assert questions.cite("<b>") == "“<b>”"  # text, which the page escapes
    assert len(questions.cite("x" * 500)) < 40
    assert questions.cite(" ") == "“␣”"
