"""A map of each step's own rows has the steps' numbers bit by bit, and nothing where no step had one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from builders import tiny_checkpoint
from showing import shown_of
from wording import wording

from viz_transformer import payload
from viz_transformer.analysis.attention.head_scores import head_scores
from viz_transformer.analysis.attention.maps import contribution_norms, valid_mask
from viz_transformer.analysis.attention.rollout import rollout
from viz_transformer.checkpoint import load
from viz_transformer.running.trace import OF_STEPS
from viz_transformer.ui.frame import maps
from viz_transformer.ui.pages.weight import page
from viz_transformer.ui.session import passes, state

POSITIONS = {"norm": "post", "final_norm": False, "norm_kind": "positions-and-features"}


def own_shown(ckpt, text, **how):
    return replace(shown_of(ckpt, text, **how), own=True)


def picture(shown, kind, layer=1, heads=(0,), options=()):
    return maps.picture(shown, {**state.DEFAULTS, "kind": kind, "layer": layer, "heads": heads, "options": options})


@pytest.fixture(scope="module")
def slips():
    return own_shown(load("en-it-slips"), "i like it .")


@pytest.fixture(scope="module")
def growing():
    """Not causal and without padding: each step reads one token more."""
    return own_shown(tiny_checkpoint(**POSITIONS), "abc", max_steps=5, ban=["</s>"])


def test_the_row_that_writes_non_has_the_weights_of_its_step_bit_by_bit(slips):
    step = slips.run.steps[0]
    rows = step.rows["decoder.1.cross.weights"][0, :, 0].numpy()
    last = slips.run.trace["decoder.1.cross.weights"][0, :, step.position].numpy()
    head = int(np.abs(rows - last).max(axis=1).argmax())
    own = picture(slips, "cross", heads=(head,))
    assert own.rows.writes.tokens[step.position] == "non"
    assert own.values[step.position].tobytes() == rows[head].tobytes()
    assert payload.unpack(own.pack())[1]["values"][step.position].tobytes() == rows[head].tobytes()
    marks = own.table().iloc[:, rows.shape[1] :].to_numpy()
    assert marks[step.position].sum() == 27 and not marks[len(slips.run.steps) :].any()
    table = own.table().iloc[step.position, : rows.shape[1]].to_numpy(dtype=np.float32)
    assert table.tobytes() == rows[head].tobytes()
    before = picture(replace(slips, own=False), "cross", heads=(head,)).values[step.position]
    assert before.tobytes() == last[head].tobytes() and np.abs(before - own.values[step.position]).max() > 0.999


@pytest.mark.parametrize("kind", ["cross", "decoder"])
def test_what_no_step_had_is_empty_in_map_table_and_csv(growing, kind):
    own = picture(growing, kind, heads=(0, 2))
    there = np.tri(5, dtype=bool) if kind == "decoder" else np.ones((5, 5), bool)
    assert np.array_equal(own.valid, there) and np.array_equal(np.isnan(own.values), ~there)
    assert np.array_equal(np.isnan(own.heads.values), np.broadcast_to(~there, own.heads.values.shape))
    for step in growing.run.steps:
        row = step.rows[f"decoder.1.{'cross' if kind == 'cross' else 'self'}.weights"][0, :, 0].numpy()
        assert own.heads.values[:, step.index, : row.shape[1]].tobytes() == row[[0, 2]].tobytes()
    frame = own.table()
    assert all(kind == np.float32 for kind in frame.dtypes[:5])  # numbers stay numbers
    assert np.array_equal(frame.isna().to_numpy(), ~there)  # no column says "masked" of what is not there
    assert "masked" not in own.note
    first = frame.to_csv(index=False).splitlines()[1].split(",")
    assert [value == "" for value in first[:5]] == (~there[0]).tolist()
    assert (wording("an_empty_cell_has_no_number") in own.note) and wording("each_row_of_its_own_step") in own.note


def test_a_number_that_is_none_is_not_taken_for_one_that_is_not_there():
    """With a fill of minus infinity a row that may attend to nothing is NaN in the run itself."""
    shown = own_shown(tiny_checkpoint(**POSITIONS, mask_fill="-inf"), "ab", target="uv")
    own = picture(shown, "decoder")
    assert not np.isnan(own.values[own.valid]).any() and own.table().isna().sum().sum() == (~own.valid).sum()
    hidden = replace(own, values=np.full_like(own.values, np.nan))
    assert (hidden.table() == "not a number").sum().sum() == own.valid.sum()


def test_rows_that_only_read_a_given_beginning_are_not_there():
    shown = own_shown(tiny_checkpoint("decoder-only", **POSITIONS), "uvw", max_steps=3, ban=["</s>"])
    own = picture(shown, "decoder")
    assert own.valid.any(axis=1).tolist() == [False] * 3 + [True] * 3
    assert np.isnan(own.values[:3]).all() and not np.isnan(own.values[5]).any()
    words = picture(shown, "decoder", options=("words",))  # one word, of which some letters have no step
    assert np.isnan(words.values[np.isin(words.rows.reads.names(), ["uvw"])]).all()


def test_a_word_is_summed_over_the_pieces_that_its_steps_had(growing):
    alone, words = picture(growing, "decoder"), picture(growing, "decoder", options=("words",))
    sums = np.nansum(alone.values.astype(np.float64), axis=1)
    assert words.valid.tolist() == [[True, False], [True, True]]
    assert words.values[1].sum() == pytest.approx(sums[1:].mean(), abs=1e-6)
    assert words.values[0, 0] == pytest.approx(sums[0], abs=1e-6) and np.isnan(words.values[0, 1])


def test_specials_can_be_hidden_in_each_steps_per_step_rows(growing):
    alone, hidden = picture(growing, "cross"), picture(growing, "cross", options=("hidden",))
    kept = list(hidden.columns.starts)
    share = alone.values[:, kept].astype(np.float64)
    np.testing.assert_allclose(hidden.values, share / share.sum(axis=1, keepdims=True), atol=1e-6)


def test_head_scores_count_only_rows_that_a_step_had(slips):
    own, special = slips.run.per_step_rows, [False] * 30
    for score in head_scores(own, "cross", source_special=special, target_special=special):
        assert score.n.max() <= 3 and not np.isnan(score.values[score.n > 1]).any()


def test_padding_that_got_weight_in_a_step_keeps_it():
    """A query of padding may attend to nothing, so that a fill of -1e9 leaves it even over keys that came later."""
    changes = {"pad_to": 20, "max_target": 20, "mask_fill": "-1e9", "padding_mask": "key-or-query"}
    shown = own_shown(tiny_checkpoint(**POSITIONS | changes), "abc", force={0: "<pad>", 1: "u"}, max_steps=3)
    own = picture(shown, "decoder")
    assert own.valid[1].all() and own.values[1] == pytest.approx(np.full(20, 0.05))
    assert own.valid[0].sum() >= 1 and np.array_equal(own.valid, valid_mask(shown.trace, "decoder"))


def test_what_would_join_rows_of_several_passes_is_refused(growing):
    for kind in ("cross", "decoder"):
        with pytest.raises(ValueError, match="these rows are of many: look at the last pass"):
            rollout(growing.trace, kind, 0)
    assert rollout(growing.trace, "encoder", 0).encoder is not None
    with pytest.raises(ValueError, match="only weights were kept"):
        contribution_norms(growing.trace, "decoder", 0, 1)
    cross = contribution_norms(growing.trace, "cross", 0, 1)  # the values come from the memory, the same in every pass
    np.testing.assert_array_equal(cross.norms, np.abs(cross.view.weights) * cross.value_norms)


def test_without_rows_of_their_own_nothing_is_offered_and_nothing_said():
    causal = shown_of(tiny_checkpoint(), "abc", max_steps=3)
    assert not passes.has_per_step_rows(causal) and passes.describe_passes(causal, elsewhere=True) is None
    assert passes.with_per_step_rows(causal) is causal and causal.caption("x", rows=True) == causal.caption("x")


def test_weights_that_a_step_did_not_keep_are_not_offered(growing):
    """Of an attention so long that it runs fused no weights are recorded."""
    own = growing.run.per_step_rows
    less = {name: value for name, value in own.values.items() if name != "decoder.1.self.weights"}
    run = replace(growing.run)
    run.__dict__["per_step_rows"] = replace(own, values=less)
    assert run.per_step_rows.info["rows"] == OF_STEPS
    assert not passes.has_per_step_rows(replace(growing, run=run))


def test_one_weight_states_the_weight_of_the_querys_own_step(slips):
    last = replace(slips, own=False)
    head = (
        int((slips.trace["decoder.1.cross.weights"] - last.trace["decoder.1.cross.weights"])[0, :, 0].abs().argmax())
        // 30
    )
    from viz_transformer.analysis.weight.ladder import ladder
    from viz_transformer.analysis.weight.weight_numbers import Cell, parameters

    cell = Cell(kind="cross", layer=1, head=head, query=0, key=0)
    own = page.own_weights(last, cell)
    assert (
        np.array(own, np.float32).tobytes()
        == slips.run.steps[0].rows["decoder.1.cross.weights"][0, head, 0].numpy().tobytes()
    )
    table = page.row_table(last, ladder(last.trace, parameters(last.ckpt.model, "cross", 1), cell))
    assert table[wording("weight_in_the_querys_own_step")].tolist() == own
    assert table["weight"].tolist() != own
    assert page.own_weights(last, replace(cell, query=5)) is None  # a row of padding
    later = page.own_weights(last, replace(cell, kind="decoder", query=0))
    assert later[0] == 1 and later[1:] == [None] * 29
    assert isinstance(table, pd.DataFrame)
