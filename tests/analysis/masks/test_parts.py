"""Masks taken apart are those of the run; fills are worked by hand; other masks change what they say and no more."""

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint, tiny_config, tiny_model

from viz_transformer.analysis.masks.parts import (
    Change,
    batch_lengths,
    can_pad,
    change_of,
    even_weights,
    filled_rows,
    mask_parts,
    parts_of,
    replace_masks,
    row_effects,
    run_in_batch,
    sites,
)
from viz_transformer.model.config import tutorial
from viz_transformer.model.masks import MASK_FILLS
from viz_transformer.running.edits import SetMask
from viz_transformer.running.tracing import trace

KINDS = ("encoder", "decoder", "cross")
SITES = {"encoder": "encoder.0.self", "decoder": "decoder.1.self", "cross": "decoder.1.cross"}
SLIPS = {"max_source": 9, "max_target": 9, "pad_to": 9, "padding_mask": "key-or-query-swapped-cross"}


# ---- the three masks


def test_two_tokens_and_one_padding_by_hand():
    keep = [True, True, False]
    causal = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    parts = mask_parts("decoder", keep, keep)
    assert parts.padding.tolist() == [[True, True, False]] * 3
    assert parts.causal.astype(int).tolist() == causal
    assert parts.own.astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    parts = mask_parts("decoder", keep, keep, rule="key-or-query")
    assert parts.own.astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 0]]
    assert parts.closed_rows == (2,)
    assert mask_parts("encoder", keep, keep).causal.all()


def test_the_mask_of_a_plain_size_is_the_tutorials_triangle():
    assert (mask_parts("decoder", [True] * 5, [True] * 5).own == np.tri(5, dtype=bool)).all()


@pytest.mark.parametrize("rule", ["key", "key-or-query", "key-or-query-swapped-cross"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_masks_together_are_what_the_run_recorded(kind, rule):
    sizes = SLIPS if "swapped" in rule else {"max_source": 9, "max_target": 9, "pad_to": 9, "padding_mask": rule}
    run = trace(tiny_checkpoint(**sizes), "abc", "uvwxy")
    parts = parts_of(run, kind)
    recorded = run[f"{SITES[kind]}.mask"][0, 0].numpy()
    assert (parts.own == recorded).all() and not recorded.all()
    assert (parts.changed == parts.own).all() and parts.changes == ()


def test_sizes_and_rules_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="as many queries as keys, not 2 and 3"):
        mask_parts("decoder", [True] * 2, [True] * 3)
    with pytest.raises(ValueError, match="needs as many queries as keys"):
        mask_parts("cross", [True] * 2, [True] * 3, rule="key-or-query-swapped-cross")
    with pytest.raises(ValueError, match="rule='both' is not known"):
        mask_parts("cross", [True] * 2, [True] * 3, rule="both")
    with pytest.raises(ValueError, match="no 'encoder' attention"):
        parts_of(trace(tiny_checkpoint("decoder-only"), "uvw"), "encoder")


# ---- changed cells


@pytest.mark.parametrize("word", ["d3.5", "e0.0", "c12", "d3"])
def test_a_changed_cell_is_a_word_and_back(word):
    assert change_of(word).word == word


@pytest.mark.parametrize("word", ["", "x1.2", "d", "d1.", "d1.2.3", "d-1", "D1", "d12345"])
def test_another_word_is_no_changed_cell(word):
    with pytest.raises(ValueError, match="is not a changed cell"):
        change_of(word)


def test_a_row_is_closed_first_and_then_cells_are_turned_round():
    changes = [Change("decoder", 2, 1), Change("decoder", 2), Change("decoder", 0, 2), Change("decoder", 1, 0)]
    parts = mask_parts("decoder", [True] * 3, [True] * 3, changes=changes)
    assert parts.changed.astype(int).tolist() == [[1, 0, 1], [0, 1, 0], [0, 1, 0]]


def test_changes_of_other_kinds_and_outside_the_mask_are_left_out():
    changes = [Change("cross", 0, 0), Change("decoder", 3, 0), Change("decoder", 0, 3), Change("decoder", 3)]
    parts = mask_parts("decoder", [True] * 3, [True] * 3, changes=changes)
    assert parts.changes == () and (parts.changed == parts.own).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_edits_give_the_run_the_changed_mask_in_every_layer_and_head(kind):
    ckpt = tiny_checkpoint()
    before = trace(ckpt, "abcd", "uvwx")
    changes = [Change(kind, 1, 3), Change(kind, 2), Change(kind, 2, 1), Change(kind, 3, 0)]
    parts = parts_of(before, kind, changes=changes)
    after = trace(ckpt, "abcd", "uvwx", edits=parts.edits(ckpt.config))
    for site in sites(ckpt.config, kind):
        mask = after[f"{site}.mask"].expand(1, 4, -1, -1)[0].numpy()
        assert (mask == parts.changed).all()
        weights = after[f"{site}.weights"][0].numpy()
        assert (weights[:, ~parts.changed] == 0).all()
        assert weights[:, 1, 3].all() if parts.changed[1, 3] else not weights[:, 1, 3].any()
    assert len(sites(ckpt.config, kind)) == (2 if kind == "encoder" else 3)
    others = [site for each in KINDS if each != kind for site in sites(ckpt.config, each)]
    assert all(torch.equal(after[f"{site}.mask"], before[f"{site}.mask"]) for site in others)


# ---- fills


def test_two_keys_by_hand_under_each_fill():
    closed_one = {row.fill: row for row in filled_rows([0.0, np.log(3.0)], [True, True])}
    assert all(np.allclose(row.weights, [0.25, 0.75], atol=1e-6) for row in closed_one.values())
    rows = {row.fill: row for row in filled_rows([0.0, np.log(3.0)], [True, False])}
    assert all(row.weights.tolist() == [1.0, 0.0] for row in rows.values())
    assert rows["zero-rows"].closed.tolist() == [0.0, 0.0]
    assert np.isnan(rows["-inf"].closed).all()
    assert all(rows[fill].closed.tolist() == [0.5, 0.5] for fill in ("-1e9", "-1e10", "added-1e9"))
    assert {fill: row.closed_is for fill, row in rows.items()} == {
        "zero-rows": "zeros",
        "-inf": "not a number",
        "-1e9": "even",
        "-1e10": "even",
        "added-1e9": "even",
    }


def test_added_numbers_leave_large_scores_uneven_where_filled_ones_do_not():
    rows = {row.fill: row for row in filled_rows([0.0, 200.0, 0.0], [False] * 3)}
    assert rows["added-1e9"].closed_is == "uneven" and rows["added-1e9"].closed[1] == 1
    assert rows["-1e9"].closed_is == "even"


def test_the_row_is_the_one_that_a_model_of_that_fill_has():
    for fill in MASK_FILLS:
        ckpt = tiny_checkpoint(mask_fill=fill)
        run = trace(ckpt, "abcd", "uvwx", edits=[SetMask("decoder.1.self", 2, 1, False)])
        scores = run["decoder.1.self.scores"][0, 3, 2].numpy()
        (row,) = (
            each for each in filled_rows(scores, run["decoder.1.self.mask"][0, 0, 2].numpy()) if each.fill == fill
        )
        np.testing.assert_allclose(row.weights, run["decoder.1.self.weights"][0, 3, 2].numpy(), atol=1e-7)


def test_equal_scores_give_one_over_the_number_of_open_keys():
    mask = np.tri(4, dtype=bool)
    weights = even_weights(mask, "zero-rows")
    np.testing.assert_allclose(weights, np.tri(4) / np.arange(1, 5)[:, None], atol=1e-7)
    mask[2] = False
    assert even_weights(mask, "-1e9")[2].tolist() == [0.25] * 4
    assert np.isnan(even_weights(mask, "-inf")[2]).all() and not np.isnan(even_weights(mask, "-inf")[3]).any()


def test_scores_that_are_no_row_are_refused():
    for scores, mask in (([], []), ([1.0], [True, False]), ([[1.0]], [[True]])):
        with pytest.raises(ValueError, match="one row of scores"):
            filled_rows(scores, mask)


# ---- other masks


@pytest.mark.parametrize("fill", [*MASK_FILLS])
def test_another_fill_gives_the_numbers_of_a_model_built_with_it(fill):
    ckpt = tiny_checkpoint(padding_mask="key-or-query")
    other = replace_masks(ckpt, fill=fill)
    built = tiny_model(tiny_config(padding_mask="key-or-query", mask_fill=fill))
    src, tgt = torch.tensor([[4, 5, 6, 0, 0]]), torch.tensor([[1, 7, 8, 0]])
    assert torch.equal(other.model(src, tgt).nan_to_num(), built(src, tgt).nan_to_num())
    assert other.config.mask_fill == fill and ckpt.config.mask_fill == "zero-rows"


def test_other_masks_share_every_parameter_and_leave_the_model_as_it_was():
    ckpt = tiny_checkpoint()
    src, tgt = torch.tensor([[4, 5, 6, 0]]), torch.tensor([[1, 7, 0]])
    before = ckpt.model(src, tgt)
    other = replace_masks(ckpt, fill="-1e9", rule="key-or-query")
    pairs = zip(ckpt.model.parameters(), other.model.parameters(), strict=True)
    assert all(a is b for a, b in pairs)
    assert not torch.equal(other.model(src, tgt), before)  # the padded row of the target is even now, no longer masked
    assert torch.equal(ckpt.model(src, tgt), before)
    assert replace_masks(ckpt) is replace_masks(ckpt, fill="zero-rows", rule="key") is ckpt


def test_a_tied_output_reads_the_shared_embedding():
    ckpt = tiny_checkpoint(tied_output=True)
    other = replace_masks(ckpt, fill="-inf")
    src, tgt = torch.tensor([[4, 5]]), torch.tensor([[1, 7]])
    assert torch.equal(other.model(src, tgt), ckpt.model(src, tgt))


def test_a_rule_or_fill_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="mask_fill='0' is not known"):
        replace_masks(tiny_checkpoint(), fill="0")
    with pytest.raises(ValueError, match="needs an encoder-decoder with pad_to"):
        replace_masks(tiny_checkpoint(), rule="key-or-query-swapped-cross")


# ---- a text in a batch


def test_a_text_padded_alone_has_the_numbers_that_it_has_in_the_batch():
    ckpt = tiny_checkpoint()
    runs = [trace(ckpt, "abc", "uv"), trace(ckpt, "abcdefg", "uvwxy")]
    lengths = batch_lengths(runs)
    assert lengths == (9, 6)
    padded = [run_in_batch(ckpt, run, lengths) for run in runs]
    src = torch.tensor([each.src_ids for each in padded])
    tgt = torch.tensor([each.tgt_ids for each in padded])
    together = ckpt.model(src, tgt)
    for row, each in enumerate(padded):
        np.testing.assert_allclose(each["logits"][0], together[row].detach(), atol=1e-5)
    assert padded[0].src_tokens[5:] == ("<pad>",) * 4 and padded[0].src_originals[5:] == ("",) * 4
    assert padded[0].next_tokens[:3] == ("u", "v", "</s>") and set(padded[0].next_tokens[3:]) == {None}
    assert padded[1].src == runs[1].src


def test_texts_of_a_model_without_padding_stand_in_no_batch():
    ckpt = tiny_checkpoint("decoder-only", target_pad=None)
    run = trace(ckpt, "uvw")
    assert not can_pad(ckpt.config) and can_pad(tiny_checkpoint("decoder-only").config)
    assert run_in_batch(ckpt, run, (0, len(run.tgt))).tgt == run.tgt
    with pytest.raises(ValueError, match="tiny has no padding token"):
        run_in_batch(ckpt, run, (0, len(run.tgt) + 1))
    assert can_pad(tutorial("tutorial6")) and not can_pad(tutorial("tutorial6", source_pad=None))


# ---- what came of it


def test_effects_are_those_of_the_logits_row_by_row():
    ckpt = tiny_checkpoint(seed=3)
    before = trace(ckpt, "abcd", "uvwx")
    edits = parts_of(before, "cross", changes=[Change("cross", 2)]).edits(ckpt.config)
    after = trace(ckpt, "abcd", "uvwx", edits=edits)
    names = ckpt.target_codec.vocabulary.tokens
    effects = row_effects(before, after, names)
    for each in effects:
        first, second = (run["logits"][0, each.position].double() for run in (before, after))
        assert each.change == pytest.approx(float((first - second).abs().max()))
        assert (each.before, each.after) == (names[first.argmax()], names[second.argmax()])
        assert each.before_probability == pytest.approx(float(first.softmax(-1).max()))
    changes = [each.change for each in effects]
    assert changes[:2] == [0.0, 0.0] and changes[2] > 0 and min(changes[3:]) > 0
    assert not any(each.differs for each in row_effects(before, before, names))


def test_a_row_of_nan_spreads_and_is_called_none():
    ckpt = replace_masks(tiny_checkpoint(), fill="-inf")
    before = trace(ckpt, "abcd", "uvwx")
    edits = parts_of(before, "decoder", changes=[Change("decoder", 2)]).edits(ckpt.config)
    effects = row_effects(before, trace(ckpt, "abcd", "uvwx", edits=edits), ckpt.target_codec.vocabulary.tokens)
    assert {each.after for each in effects} == {"none"}  # weight 0 times NaN is NaN in the rows before it, too
    assert all(each.differs and np.isnan(each.change) for each in effects)


def test_padding_rows_are_left_out_and_other_texts_are_refused():
    ckpt = tiny_checkpoint()
    run = trace(ckpt, "abc", "uv")
    padded = run_in_batch(ckpt, run, (8, 7))
    assert [each.position for each in row_effects(padded, padded, ckpt.target_codec.vocabulary.tokens)] == [0, 1, 2]
    with pytest.raises(ValueError, match="different tokens"):
        row_effects(run, padded, ckpt.target_codec.vocabulary.tokens)
