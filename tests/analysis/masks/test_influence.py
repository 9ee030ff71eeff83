"""The influence matrix is what swapping each token by itself gives, and its verdict is true of causal models alone."""

import math
import random

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint

import viz_transformer as vt
from viz_transformer.analysis.masks.influence import Influence, influence, influence_plan, verdict
from viz_transformer.analysis.masks.parts import Change, parts_of, replace_masks, run_in_batch
from viz_transformer.model.causality import is_causal
from viz_transformer.running.tracing import trace

SLIPS = {"norm": "post", "final_norm": False, "norm_kind": "positions-and-features", "merge": "raw-reshape"}


def one_by_one(ckpt, run, side="target", seed=0, swaps=3):
    """The matrix by the definition: one pass for each swapped token, in a batch of one."""
    codec = ckpt.target_codec if side == "target" else ckpt.source_codec
    special = codec.vocabulary.special_ids
    own = list(run.tgt_ids if side == "target" else run.src_ids)
    choose = random.Random(seed)
    matrix = torch.zeros(len(run.tgt_ids), len(own))
    for place, token in enumerate(own):
        others = [i for i in range(len(codec.vocabulary)) if i not in special and i != token]
        for new in choose.sample(others, swaps):
            ids = [*own[:place], new, *own[place + 1 :]]
            inputs = [list(run.src_ids), list(run.tgt_ids)]
            inputs[0 if side == "source" else 1] = ids
            logits = ckpt.model(*(torch.tensor([each]) for each in inputs if each))[0]
            moved = (logits - run["logits"][0]).abs().amax(dim=-1)
            matrix[:, place] = torch.maximum(matrix[:, place], moved.detach())
    return matrix.numpy()


@pytest.mark.parametrize("side", ["target", "source"])
@pytest.mark.parametrize("changes", [{}, SLIPS, {"tied_output": True, "mask_fill": "-1e9"}])
def test_the_matrix_is_what_swapping_each_token_by_itself_gives(side, changes):
    ckpt = tiny_checkpoint(**changes)
    run = trace(ckpt, "abcde", "uvwx")
    found = influence(ckpt, run, side=side)
    np.testing.assert_allclose(found.change, one_by_one(ckpt, run, side), atol=2e-5)  # batches sum in another order
    assert found.rows == tuple(range(5))
    assert found.columns == tuple(range(7 if side == "source" else 5))
    assert found.largest == pytest.approx(float(run["logits"].abs().max()), abs=1e-5)


@pytest.mark.parametrize("changes", [{}, {"norm": "post", "final_norm": False}, {"mask_fill": "-1e9"}])
@pytest.mark.parametrize("kind", ["encoder-decoder", "decoder-only"])
def test_a_causal_model_gives_a_triangle(kind, changes):
    ckpt = tiny_checkpoint(kind, **changes)
    run = trace(ckpt, *(("abc", "uvwx") if kind == "encoder-decoder" else ("uvwxyuvw",)))
    found = influence(ckpt, run)
    assert is_causal(ckpt.model) and found.causal and found.worst is None
    assert (found.change[found.ahead] == 0).all()
    assert (np.diag(found.change) > 0).all()
    said = verdict(found)
    assert said.good is True and said.sentence == "A triangle: nothing reads ahead."
    pairs = len(run.tgt) * (len(run.tgt) - 1) // 2
    assert said.detail.startswith(f"Checked {pairs} (position, later token) pairs: ")


@pytest.mark.parametrize("slip", [{"merge": "raw-reshape"}, {"norm_kind": "positions-and-features"}, SLIPS])
def test_a_model_that_reads_the_future_is_found_out(slip):
    ckpt = tiny_checkpoint(**slip)
    found = influence(ckpt, trace(ckpt, "abc", "uvwx"))
    assert not is_causal(ckpt.model) and not found.causal
    row, column, size = found.worst
    assert column > row and size == found.change[found.ahead].max() == found.change[row, column]
    said = verdict(found)
    assert said.good is False
    assert said.sentence == f"Position {row} changes when token {column} is swapped: this decoder reads the future."
    assert said.detail.startswith(f"{int(found.leaks.sum())} of 10 pairs")


def test_the_slips_read_the_future_and_the_clean_translator_does_not():
    text, target = "I have never been to Italy.", "Non sono mai stato in Italia."
    for name, causal in (("tatoeba-en-it", True), ("en-it-slips", False)):
        ckpt = vt.load(name)
        found = influence(ckpt, trace(ckpt, text, target))
        rows = len(found.rows)
        assert rows == 8 and found.columns == tuple(range(8))  # the start token and seven words; padding is left out
        assert found.causal is causal
        assert (found.change[found.ahead] == 0).all() == causal
        assert verdict(found).good is causal
        if not causal:
            assert found.leaks.sum() == rows * (rows - 1) // 2  # the norm over positions joins all with all


def test_an_opened_cell_makes_a_leak_from_its_row_on_and_a_closed_one_none():
    ckpt = tiny_checkpoint()
    run = trace(ckpt, "abc", "uvwx")
    opened = parts_of(run, "decoder", changes=[Change("decoder", 1, 3)]).edits(ckpt.config)
    found = influence(ckpt, trace(ckpt, "abc", "uvwx", edits=opened))
    # row 1 reads key 3, which above layer 0 has read token 2, and row 2 reads row 1
    assert {(int(row), int(column)) for row, column in np.argwhere(found.leaks)} == {(1, 3), (1, 2), (2, 3)}
    assert found.worst[:2] in {(1, 3), (1, 2), (2, 3)}
    assert verdict(found, changed=True).sentence.endswith("with these masks the run reads the future.")
    closed = parts_of(run, "decoder", changes=[Change("decoder", 3, 1)]).edits(ckpt.config)
    assert influence(ckpt, trace(ckpt, "abc", "uvwx", edits=closed)).causal


def test_an_even_row_of_padding_leaks_only_under_its_fill():
    """A query that may see nothing is even over all keys when filled with -1e9: then later tokens move it."""
    ckpt = tiny_checkpoint()
    run = trace(ckpt, "abc", "uvwx")
    edits = parts_of(run, "decoder", changes=[Change("decoder", 1)]).edits(ckpt.config)
    for fill, causal in (("zero-rows", True), ("-1e9", False)):
        other = replace_masks(ckpt, fill=fill)
        assert influence(other, trace(other, "abc", "uvwx", edits=edits)).causal is causal


def test_rows_without_numbers_are_said_and_are_no_triangle():
    ckpt = replace_masks(tiny_checkpoint(), fill="-inf")
    run = trace(ckpt, "abc", "uvwx")
    edits = parts_of(run, "decoder", changes=[Change("decoder", 2)]).edits(ckpt.config)
    found = influence(ckpt, trace(ckpt, "abc", "uvwx", edits=edits))
    assert found.lost == found.rows and np.isnan(found.change).all()
    said = verdict(found)
    assert said.good is None and said.sentence == "The logits at positions 0, 1, 2, 3, 4 are not numbers."


def test_closing_a_source_key_for_all_queries_leaves_its_way_through_the_encoder():
    ckpt = tiny_checkpoint()
    run = trace(ckpt, "abcd", "uvw")
    closed = [Change("cross", query, 2) for query in range(4)]
    edits = parts_of(run, "cross", changes=closed).edits(ckpt.config)
    found = influence(ckpt, trace(ckpt, "abcd", "uvw", edits=edits), side="source")
    assert (found.change[:, 2] > 0).all()  # the other source positions have read it
    alone = [Change("encoder", query, 2) for query in range(6) if query != 2]
    both = (*edits, *parts_of(run, "encoder", changes=alone).edits(ckpt.config))
    found = influence(ckpt, trace(ckpt, "abcd", "uvw", edits=both), side="source")
    assert (found.change[:, 2] == 0).all() and (np.delete(found.change, 2, axis=1) > 0).all()
    said = verdict(found)
    assert said.good is None and said.sentence == "Swapping source token 2 changes nothing."


def test_of_a_long_text_some_positions_are_tried_the_ends_among_them():
    ckpt = tiny_checkpoint(**SLIPS)
    run = trace(ckpt, "abc", "uvwxyuvwxyuv")
    plan = influence_plan(ckpt, run, most=5, swaps=2)
    found = influence(ckpt, run, most=5, swaps=2)
    assert plan.columns == found.columns == (0, 3, 6, 9, 12)
    assert plan.of == found.of == 13 and plan.trials == 10
    assert found.change.shape == (13, 5) and all(len(others) == 2 for others in found.swapped)
    whole = influence(ckpt, run, swaps=2)
    assert whole.columns == tuple(range(13)) and whole.change.shape == (13, 13)


def test_small_batches_give_the_same_as_large_ones(monkeypatch):
    ckpt = tiny_checkpoint(**SLIPS)
    run = trace(ckpt, "abc", "uvwx")
    whole = influence(ckpt, run)
    monkeypatch.setattr(
        "viz_transformer.analysis.masks.influence._NUMBERS_AT_ONCE", 7 * 5 * 20
    )  # seven texts; fifteen run
    np.testing.assert_allclose(influence(ckpt, run).change, whole.change, atol=2e-5)


def test_the_same_seed_swaps_the_same_and_specials_are_never_put_in():
    ckpt = tiny_checkpoint()
    run = trace(ckpt, "abc", "uvwx")
    first, again, other = (influence(ckpt, run, seed=seed) for seed in (1, 1, 2))
    assert first.swapped == again.swapped != other.swapped
    assert first.change.tobytes() == again.change.tobytes()
    for token, others in zip(run.tgt_tokens, first.swapped, strict=True):
        assert token not in others and len(set(others)) == 3
        assert not {"<s>", "</s>", "<pad>", "<unk>"} & set(others)


def test_padding_is_neither_swapped_nor_watched():
    ckpt = tiny_checkpoint()
    padded = run_in_batch(ckpt, trace(ckpt, "abc", "uv"), (9, 8))
    found = influence(ckpt, padded)
    assert found.rows == found.columns == (0, 1, 2) and found.of == 3
    assert influence(ckpt, padded, side="source").columns == (0, 1, 2, 3, 4)


def test_one_position_has_no_future():
    ckpt = tiny_checkpoint("decoder-only")
    found = influence(ckpt, trace(ckpt, [5]))
    said = verdict(found)
    assert found.change.shape == (1, 1) and said.good is None
    assert said.sentence == "A single position has no later token: choose a longer text."


def test_what_has_no_answer_is_refused_in_one_sentence():
    reader = tiny_checkpoint("encoder-only")
    with pytest.raises(ValueError, match="there are no logits to watch"):
        influence(reader, trace(reader, "abc"))
    writer = tiny_checkpoint("decoder-only")
    with pytest.raises(ValueError, match="has no source"):
        influence(writer, trace(writer, "uv"), side="source")
    ckpt = tiny_checkpoint()
    with pytest.raises(ValueError, match="of another model"):
        influence(replace_masks(ckpt, fill="-inf"), trace(ckpt, "abc", "uv"))


def test_looking_leaves_the_model_and_its_numbers_as_they_were():
    ckpt = tiny_checkpoint()
    before = trace(ckpt, "abc", "uvwx")
    influence(ckpt, before)
    after = trace(ckpt, "abc", "uvwx")
    assert before.diff(after)["logits"] == 0
    assert not any(parameter.grad is not None for parameter in ckpt.model.parameters())


def test_nan_that_comes_is_infinite_and_said():
    change = np.array([[1.0, np.inf], [1.0, 1.0]], dtype=np.float32)
    found = Influence("target", change, (0, 1), (0, 1), 2, (("a",), ("b",)), 3.0)
    assert found.worst == (0, 1, math.inf)
    assert "something that is not a number" in verdict(found).detail
