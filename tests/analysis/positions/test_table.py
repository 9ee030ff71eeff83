import math

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.analysis.positions.table import (
    FLOAT32_STEP,
    added_rows,
    agreement,
    derivation,
    interpolate_columns,
    movement,
    own_table,
    products,
    rotation,
    row_norms,
    scheme,
    starting_columns,
    trained_rows,
    wavelengths,
)
from viz_transformer.model.config import tutorial
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.model.transformer import Transformer
from viz_transformer.running.tracing import trace

SINUSOIDS = {"sinusoidal": False, "sinusoidal-doubled": True}


def test_the_five_steps_of_a_table_worked_by_hand():
    made = derivation(3, 4)
    assert made.index.tolist() == [0, 0, 1, 1]
    assert made.denominator.tolist() == [1, 1, 100, 100]  # 10000^(2/4)
    assert made.position.tolist() == [0, 1, 2]
    assert made.argument[2].tolist() == [2, 2, 0.02, 0.02]
    assert made.encoding[2] == pytest.approx([math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)], abs=1e-16)
    assert made.table.dtype == np.float32


def test_the_doubled_exponent_counts_every_second_index():
    made = derivation(3, 4, doubled=True)
    assert made.index.tolist() == [0, 0, 2, 2]
    assert made.denominator.tolist() == [1, 1, 10_000, 10_000]  # 10000^(2 * 2 / 4)


def test_the_five_tables_of_a_tutorial_at_width_6_and_length_10():
    """As its lines compute them, in float32: i = 0, 0, 2, 2, 4, 4 and 10000^(2i/6)."""
    i = torch.arange(0, 6, 2, dtype=torch.float).repeat_interleave(2)
    denominator = torch.pow(10000, 2 * i / 6)
    argument = torch.arange(10, dtype=torch.float).reshape(10, 1) / denominator
    encoding = torch.zeros(10, 6)
    encoding[:, 0::2], encoding[:, 1::2] = torch.sin(argument[:, 0::2]), torch.cos(argument[:, 1::2])
    made = derivation(10, 6, doubled=True)
    assert made.index.tolist() == i.tolist()
    for ours, theirs in ((made.denominator, denominator), (made.argument, argument)):
        assert ours == pytest.approx(theirs.numpy(), rel=1e-6)
    assert made.encoding == pytest.approx(encoding.numpy(), abs=1e-6)


@pytest.mark.parametrize("positions", [*SINUSOIDS])
@pytest.mark.parametrize("kind", ["encoder-decoder", "encoder-only", "decoder-only"])
def test_the_last_step_is_the_models_own_table_and_what_a_run_adds(positions, kind):
    ckpt = tiny_checkpoint(kind, positions=positions)
    run = trace(ckpt, [4, 5, 6, 7], [5, 6] if kind == "encoder-decoder" else None)
    for stack in ("encoder", "decoder"):
        if kind.startswith({"encoder": "decoder", "decoder": "encoder"}[stack]) and kind != "encoder-decoder":
            with pytest.raises(ValueError, match=f"a model of kind {kind} has no {stack}"):
                own_table(ckpt.model, stack)
            continue
        own = own_table(ckpt.model, stack)
        made = derivation(len(own), 16, doubled=SINUSOIDS[positions])
        found = agreement(made.table, own)
        assert (found.count, found.to_float32) == (own.size, True)
        added = added_rows(run, stack)
        assert np.array_equal(added, own[: len(added)])
        assert len(added) == len(run.src if stack == "encoder" else run.tgt)


def test_the_other_exponent_is_not_the_models_table():
    ckpt = tiny_checkpoint(positions="sinusoidal")
    found = agreement(derivation(20, 16, doubled=True).table, own_table(ckpt.model, "encoder"))
    assert not found.to_float32
    assert found.largest > 0.1 and 0 < found.differing < found.count


def test_long_tables_agree_to_float32():
    """The longest of the tutorials: positions up to 4,999, of which float32 alone would lose three digits."""
    from viz_transformer.model.positions import sinusoid_table

    found = agreement(derivation(5000, 512).table, sinusoid_table(5000, 512).numpy())
    assert found.largest <= FLOAT32_STEP


def test_tables_of_different_width_are_not_compared():
    with pytest.raises(ValueError, match="rows of 4 and of 6 numbers"):
        agreement(derivation(2, 4).table, derivation(2, 6).table)


@pytest.mark.parametrize(("length", "d_model"), [(0, 4), (3, 3), (3, 0)])
def test_sizes_that_no_table_has(length, d_model):
    with pytest.raises(ValueError, match="a position and pairs of columns"):
        derivation(length, d_model)


def test_what_models_add():
    sizes = {"d_model": 8, "n_heads": 2, "d_ff": 8}
    sides = {"source_vocab_size": 9, "target_vocab_size": 9}
    added = {name: scheme(spec_of(tutorial(name, **sizes, **sides))) for name in ("en-it", "tutorial6", "upc-lab")}
    assert added == {"en-it": "doubled", "tutorial6": "learned", "upc-lab": "standard"}
    assert scheme(spec_of(tutorial("upc-lab", positions="none", **sizes, **sides))) == "none"


def test_a_learned_table_is_the_models_parameter():
    model = Transformer(tutorial("tutorial6"))
    own = own_table(model, "decoder")
    assert np.array_equal(own, model.decoder.embedding.position.table.detach().numpy())
    assert own.shape == (20, 8)


def test_a_model_without_positions_has_no_table_and_its_run_adds_none():
    ckpt = tiny_checkpoint(positions="none")
    assert own_table(ckpt.model, "encoder") is None
    assert added_rows(trace(ckpt, [4, 5], [6]), "encoder") is None


@pytest.mark.parametrize(
    ("card", "source", "target"),
    [
        ({"training_lengths": {"source": 20, "target": 0}}, 20, 0),
        ({"training_lengths": {"source": True, "target": -3}}, None, None),
        ({"training_lengths": [20, 30]}, None, None),
        ({}, None, None),
    ],
)
def test_how_many_rows_were_trained_is_said_by_the_card_or_not_known(card, source, target):
    assert (trained_rows(card, "encoder"), trained_rows(card, "decoder")) == (source, target)


def test_rows_of_a_sinusoidal_table_are_equally_long():
    assert row_norms(derivation(30, 8).table) == pytest.approx(2, abs=1e-6)
    assert row_norms(np.array([[3, 4], [0, 0]], np.float32)).tolist() == [5, 0]


def test_curves_go_through_the_tables_numbers():
    made = derivation(5, 8)
    places, values = interpolate_columns(made, [0, 5], points=9)
    assert places.tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    assert values[:, ::2] == pytest.approx(made.encoding[:, [0, 5]].T, abs=1e-15)
    assert values[1, 1] == pytest.approx(math.cos(0.5 / 100))


def test_first_columns_are_pairs_that_can_be_seen():
    assert starting_columns(256, derivation(1, 256).frequency, 48) == (0, 1, 32, 64, 128)
    slower = starting_columns(256, derivation(1, 256).frequency, 128)
    assert 0 not in slower and 128 * derivation(1, 256).frequency[slower[0] // 2] <= 16 * math.pi
    assert starting_columns(2, derivation(1, 2).frequency, 10_000) == (0, 1)
    assert starting_columns(16, None, 20) == (0, 1, 2, 4, 8)


# --- wavelengths


def test_wavelengths_begin_at_two_pi_and_end_below_its_ten_thousandfold():
    found = wavelengths(512)
    assert found[0] == pytest.approx(2 * math.pi)
    assert found[-1] == pytest.approx(2 * math.pi * 10_000 ** (510 / 512))
    assert wavelengths(512, doubled=True)[-1] == pytest.approx(2 * math.pi * 10_000 ** (1020 / 512))
    assert found[1] / found[0] == pytest.approx(10_000 ** (2 / 512))


def test_movement_worked_by_hand():
    """d = 4, 10 positions: the first pair reaches 9 radians, more than a turn; the second 0.09, where cos stays."""
    found = movement(derivation(10, 4))
    assert (found.columns, found.below_one_turn, found.still) == (4, 2, 1)
    assert 1 - math.cos(0.09) < 0.01 < math.sin(0.09)


def test_the_doubled_exponent_stills_more_than_half_of_the_columns():
    assert movement(derivation(48, 256, doubled=True)).still > 128 > movement(derivation(48, 256)).still


# --- products


def test_products_of_a_sinusoidal_table_know_the_distance_alone():
    made = derivation(40, 32)
    found = products(made.table, 7, made.frequency)
    assert found.spread < 1e-5 and found.error < 1e-5  # 32 products of float32 numbers
    assert found.from_position == pytest.approx(made.encoding @ made.encoding[7], abs=1e-5)
    assert found.from_position[7] == pytest.approx(16, abs=1e-5)
    assert found.distance.tolist() == list(range(-7, 33))


def test_products_of_a_learned_table_know_the_place_too():
    table = own_table(tiny_checkpoint(positions="learned").model, "encoder")
    found = products(table, 3)
    assert found.formula is None and found.error is None
    assert found.spread > 0.1
    assert np.all(found.low <= found.mean) and np.all(found.mean <= found.high)


def test_products_by_hand():
    found = products(np.array([[1, 0], [0, 2], [3, 1]], np.float32), 1)
    assert found.from_position.tolist() == [0, 4, 2]
    assert found.low.tolist() == [1, 0, 3] and found.high.tolist() == [10, 2, 3] and found.mean.tolist() == [5, 1, 3]


def test_the_formula_of_another_table_is_seen_to_be_wrong():
    made = derivation(20, 8)
    assert products(made.table, 0, derivation(20, 8, doubled=True).frequency).error > 0.1


@pytest.mark.parametrize("position", [-1, 3])
def test_a_position_outside_the_table(position):
    with pytest.raises(ValueError, match="positions go from 0 to 2"):
        products(np.zeros((3, 2), np.float32), position)


# --- rotation


@pytest.mark.parametrize("doubled", [False, True])
@pytest.mark.parametrize("shift", [1, 5, 47])
def test_one_matrix_turns_every_row_into_the_one_that_is_so_much_later(doubled, shift):
    made = derivation(48, 64, doubled=doubled)
    found = rotation(made.table, made.frequency, shift)
    whole = np.zeros((64, 64))
    for pair in range(32):
        whole[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = found.matrix(pair)
    later = made.table[:-shift].astype(np.float64) @ whole.T
    assert found.turned == pytest.approx(later, abs=1e-12)
    assert found.error < 2e-7  # float32 numbers of up to 1, times cosine and sine
    assert whole @ whole.T == pytest.approx(np.eye(64), abs=1e-12)


def test_a_rotation_by_hand():
    """d = 2: a quarter turn needs a frequency of pi / 2, which the table of 0, 1, 0, -1 has."""
    table = np.array([[0, 1], [1, 0], [0, -1]], np.float32)
    found = rotation(table, np.array([math.pi / 2]), 1)
    assert found.matrix(0) == pytest.approx(np.array([[0, 1], [-1, 0]]), abs=1e-15)
    assert found.turned == pytest.approx(table[1:], abs=1e-15)


def test_no_rotation_of_these_angles_fits_a_learned_table():
    table = own_table(tiny_checkpoint(positions="learned").model, "encoder")
    assert rotation(table, derivation(1, 16).frequency, 1).error > 0.05


@pytest.mark.parametrize("shift", [0, 3, -1])
def test_a_shift_beyond_the_table(shift):
    with pytest.raises(ValueError, match="choose 1 to 2"):
        rotation(np.zeros((3, 2), np.float32), np.ones(1), shift)
