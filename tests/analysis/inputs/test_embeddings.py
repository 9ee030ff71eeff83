import math

import numpy as np
import pytest
import torch
from builders import SOURCE, TARGET, tiny_checkpoint

from viz_transformer.analysis.inputs import embeddings
from viz_transformer.analysis.inputs.embeddings import (
    embedding_table,
    input_difference,
    input_sum,
    measure_spread,
    neighbours,
)
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import Scale
from viz_transformer.running.tracing import trace
from viz_transformer.running.training_mode import training_trace

SLIPS = {"pad_to": 20, "max_target": 20, "norm_kind": "positions-and-features", "norm": "post", "final_norm": False}
VARIANTS = [
    {},
    {"embedding_scale": "one", "positions": "learned"},
    {"embedding_scale": "learned", "positions": "sinusoidal-doubled"},
    {"positions": "none"},
    SLIPS,
]


def the_sum(ckpt, run, side, row=None):
    return input_sum(run, embedding_table(ckpt, side), side, row)


# --- embedding x scale + position = input


@pytest.mark.parametrize("changes", VARIANTS, ids=lambda changes: "-".join(map(str, changes.values())) or "plain")
@pytest.mark.parametrize("side", ["source", "target"])
def test_the_input_is_the_scaled_row_of_the_table_plus_the_position_bit_by_bit(changes, side):
    ckpt = tiny_checkpoint(**changes)
    run = trace(ckpt, "abc?h", "uvw")
    made = the_sum(ckpt, run, side)
    stack, ids = ("encoder", run.src_ids) if side == "source" else ("decoder", run.tgt_ids)
    table = getattr(ckpt.model, stack).embedding.token.weight.detach()
    assert np.array_equal(made.embedding, table[list(ids)].numpy())
    assert np.array_equal(made.out, run[f"{stack}.embed.out"][0].numpy())
    # Independent of the module: float64, to half a step of float32 for each of the two operations.
    total = table.double()[list(ids)] * made.scale
    if changes.get("positions") == "none":
        assert made.position is None
    else:
        assert made.position is not None
        total = total + torch.from_numpy(made.position).double()
    assert np.abs(total.numpy() - made.out).max() <= 2**-23 * max(1.0, made.largest)
    assert (made.scale_error, made.sum_error, made.exact) == (0.0, 0.0, True)


def test_the_scale_is_the_config_s():
    run = trace(tiny_checkpoint(), "abc", "uv")
    assert the_sum(tiny_checkpoint(), run, "source").scale == 4.0  # the root of 16
    one = tiny_checkpoint(embedding_scale="one")
    assert the_sum(one, trace(one, "abc", "uv"), "target").scale == 1.0


def test_one_row_is_that_row_of_all():
    ckpt = tiny_checkpoint()
    run = trace(ckpt, "abcd", "uvw")
    whole, one = the_sum(ckpt, run, "target"), the_sum(ckpt, run, "target", 2)
    assert (whole.rows, one.rows) == ((0, 1, 2, 3), (2,))
    for name in ("embedding", "scaled", "position", "out"):
        assert np.array_equal(getattr(one, name), getattr(whole, name)[2:3])


def test_an_edited_input_is_not_the_sum():
    ckpt = tiny_checkpoint()
    before = trace(ckpt, "abc", "uv")["encoder.embed.out"][0, 1].abs().max().item()
    run = trace(ckpt, "abc", "uv", edits=[Scale("encoder.embed.out", 2.0, (1,))])
    made = the_sum(ckpt, run, "source")
    assert not made.exact and made.scale_error == 0
    assert made.sum_error == pytest.approx(before, rel=1e-6)
    assert the_sum(ckpt, run, "source", 0).exact and the_sum(ckpt, run, "target").exact


def test_dropout_of_the_input_is_seen():
    ckpt = tiny_checkpoint(dropout=0.5)
    ids = decode(ckpt, "abc").trace.tgt_ids
    assert not the_sum(ckpt, training_trace(ckpt, "abc", ids, 0), "source").exact


def test_a_table_of_other_weights_is_not_this_run_s():
    run = trace(tiny_checkpoint(), "abc", "uv")
    made = input_sum(run, embedding_table(tiny_checkpoint(seed=1), "source"), "source")
    assert made.scale_error > 0.1 and made.sum_error == 0 and not made.exact


@pytest.mark.parametrize("row", [None, 2])
def test_the_difference_of_two_inputs_is_that_of_the_traces_part_by_part(row):
    ckpt = tiny_checkpoint()
    runs = [trace(ckpt, source, "uv") for source in ("abc", "adc")]
    found = input_difference(*(the_sum(ckpt, run, "source", row) for run in runs))
    places = slice(None) if row is None else slice(row, row + 1)
    for part, less in (("token", found.scaled), ("position", found.position), ("out", found.out)):
        a, b = (run[f"encoder.embed.{part}"][0, places].numpy() for run in runs)
        assert less.tobytes() == (a - b).tobytes()
    assert not found.equal and not found.position.any()
    assert found.out[0].any() == (row == 2)  # <s> a b: of all places the third is the one that differs
    assert input_difference(found.a, found.a).equal


def test_inputs_of_other_sizes_have_no_difference_and_a_model_without_positions_none_of_those():
    ckpt = tiny_checkpoint()
    a, shorter = (the_sum(ckpt, trace(ckpt, source, "uv"), "source") for source in ("abcd", "a"))
    with pytest.raises(ValueError, match="A has 6 positions and B 3: only inputs of one size can be subtracted"):
        input_difference(a, shorter)
    wide = tiny_checkpoint(d_model=24)
    with pytest.raises(ValueError, match="A has 16 features and B 24"):
        input_difference(a, the_sum(wide, trace(wide, "abcd", "uv"), "source"))
    bare = tiny_checkpoint(positions="none")
    assert input_difference(a, the_sum(bare, trace(bare, "abcd", "uv"), "source")).position is None


def test_a_side_or_position_that_is_not_there_is_an_error():
    ckpt = tiny_checkpoint("decoder-only")
    run = trace(ckpt, "uvw")
    with pytest.raises(ValueError, match="no encoder"):
        embedding_table(ckpt, "source")
    with pytest.raises(ValueError, match="this run has no source"):
        input_sum(run, embedding_table(ckpt, "target"), "source")
    with pytest.raises(ValueError, match="no target position 4: target positions go from 0 to 3"):
        input_sum(run, embedding_table(ckpt, "target"), "target", 4)


def test_the_scale_multiplies_the_variance_by_its_square():
    made = the_sum(tiny_checkpoint(), trace(tiny_checkpoint(), "abc", "uv"), "source")
    assert measure_spread(made.scaled).variance == pytest.approx(16 * measure_spread(made.embedding).variance, rel=1e-6)


def test_variances_of_a_case_by_hand():
    found = measure_spread([[1.0, 2.0], [3.0, 6.0]])  # mean 3; squares 4 + 1 + 0 + 9 = 14
    assert (found.count, found.mean, found.variance) == (4, 3.0, 3.5)
    assert found.sample_variance == pytest.approx(14 / 3)
    numbers = torch.randn(7, generator=torch.Generator().manual_seed(0))
    assert measure_spread(numbers).sample_variance == pytest.approx(torch.var(numbers).item(), rel=1e-6)
    assert math.isnan(measure_spread([2.0]).sample_variance)
    with pytest.raises(ValueError, match="no numbers"):
        measure_spread([])


# --- neighbours


def test_cosines_of_a_case_by_hand():
    table = [[1, 0], [2, 0], [1, 1], [0, 3], [-1, 0]]  # cosines with entry 0: 1, 1, 1/sqrt(2), 0, -1
    found = neighbours(table, 0)
    assert [each.id for each in found.nearest] == [1, 2, 3, 4]
    assert [each.cosine for each in found.nearest] == pytest.approx([1, 1 / math.sqrt(2), 0, -1])
    assert found.mean == pytest.approx((1 / math.sqrt(2)) / 4)
    assert found.deviation == pytest.approx(np.std([1, 1 / math.sqrt(2), 0, -1]))
    assert (found.length, found.without_direction) == (1.0, 0)


def test_neighbours_are_those_that_torch_finds():
    ckpt = tiny_checkpoint()
    table = embedding_table(ckpt, "target")
    assert table.shape == (len(TARGET), 16)
    found = neighbours(table, 5, 6)
    weight = ckpt.model.decoder.embedding.token.weight.detach().double()
    cosines = torch.nn.functional.cosine_similarity(weight, weight[5][None], dim=1)
    cosines[5] = -2
    best = torch.topk(cosines, 6)
    assert [each.id for each in found.nearest] == best.indices.tolist()
    assert [each.cosine for each in found.nearest] == pytest.approx(best.values.tolist(), abs=1e-12)


def test_equal_cosines_stand_in_order_of_id_and_left_out_ones_are_not_listed():
    table = [[1.0, 1.0]] * 4
    assert [each.id for each in neighbours(table, 2).nearest] == [0, 1, 3]
    assert [each.id for each in neighbours(table, 2, 1, leave_out=[0]).nearest] == [1]
    assert [each.id for each in neighbours(table, 2, 2).nearest] == [0, 1]


def test_of_many_entries_the_nearest_are_found_part_by_part(monkeypatch):
    table = np.random.default_rng(0).integers(-2, 3, (500, 4)).astype(np.float32)  # many point the same way
    table[3] = (1, 2, -1, 0)
    wide = table.astype(np.float64)
    with np.errstate(invalid="ignore"):
        cosines = wide @ wide[3] / np.sqrt((wide**2).sum(1) * (wide[3] ** 2).sum())
    order = [int(each) for each in np.argsort(-cosines.round(12), kind="stable") if each != 3][:20]
    monkeypatch.setattr(embeddings, "AT_ONCE", 4 * 37)
    found = neighbours(table, 3, 20)
    np.testing.assert_allclose([each.cosine for each in found.nearest], cosines[order], atol=1e-12)
    assert found.mean == pytest.approx(float(np.nanmean(np.delete(cosines, 3))))
    assert found.without_direction == int((~table.any(1)).sum())


def test_an_embedding_of_zeros_has_no_neighbours_and_is_nobody_s():
    table = [[1.0, 0.0], [0.0, 0.0], [0.5, 0.5]]
    found = neighbours(table, 0)
    assert [each.id for each in found.nearest] == [2] and found.without_direction == 1
    with pytest.raises(ValueError, match="points nowhere"):
        neighbours(table, 1)
    with pytest.raises(ValueError, match="ids go from 0 to 2"):
        neighbours(table, 3)


def test_a_vocabulary_of_one_entry_has_no_neighbours():
    found = neighbours([[1.0, 2.0]], 0)
    assert found.nearest == () and math.isnan(found.mean)


def test_the_table_has_a_row_for_each_entry():
    assert embedding_table(tiny_checkpoint(), "source").shape == (len(SOURCE), 16)
