"""The blocks' shapes are those of the models that torch makes, whatever the config."""

import math

import pytest
from builders import tiny_config

from viz_transformer.analysis.models.parameters import (
    both_totals,
    parameter_blocks,
    parameter_rows,
    parameter_total,
)
from viz_transformer.model.config import base, tutorial
from viz_transformer.model.layout import Block, Parameter
from viz_transformer.model.transformer import Transformer, parameter_count

SMALL = {"encoder_layers": 1, "decoder_layers": 2, "d_model": 8, "n_heads": 2, "d_ff": 12}
SIZES = {"source_vocab_size": 11, "target_vocab_size": 13}
CONFIGS = {
    "tiny": tiny_config(),
    "decoder-only": tiny_config("decoder-only"),
    "encoder-only": tiny_config("encoder-only"),
    "encoder without logits": tiny_config("encoder-only", target_vocab_size=None),
    "tied": tiny_config(tied_output=True),
    "no biases": tiny_config(attention_bias=False, ffn_bias=False, output_bias=False),
    "post-norm": tiny_config(norm="post", final_norm=False),
    "paper": base(**SMALL, **SIZES),
    **{name: tutorial(name, **SMALL, **SIZES) for name in ("tutorial6", "annotated", "upc-lab")},
    "en-it": tutorial("en-it", **SMALL, **SIZES, pad_to=9),
    "fsu, learned numbers": tutorial("fsu", **SMALL, **SIZES, embedding_scale="learned", divisor="learned"),
}


def shapes_of(model):
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("name", CONFIGS)
def test_blocks_have_exactly_the_models_own_parameters(name):
    config = CONFIGS[name]
    model = Transformer(config)
    found = {each.name: each.shape for block in parameter_blocks(config) for each in block.parameters}
    assert found == shapes_of(model)
    assert parameter_total(config) == parameter_count(model)
    assert both_totals(config, shapes_of(model)).agree


def test_each_parameter_stands_in_one_block():
    names = [each.name for block in parameter_blocks(CONFIGS["tiny"]) for each in block.parameters]
    assert len(names) == len(set(names))


def test_a_tensor_more_or_of_another_shape_is_named():
    config = CONFIGS["tiny"]
    shapes = shapes_of(Transformer(config))
    more = both_totals(config, {**shapes, "output.gate": (3,)})
    assert not more.agree and more.wrong == ("output.gate",) and more.model == more.blocks + 3
    turned = both_totals(config, {**shapes, "output.weight": shapes["output.weight"][::-1]})
    assert turned.blocks == turned.model and turned.wrong == ("output.weight",) and not turned.agree


def test_the_papers_base_model_has_the_parameters_that_one_counts_by_hand():
    # 12 + 6 attentions of 4 * 512^2, 12 feed-forwards with biases, 30 norms of 2 * 512, two embeddings
    by_hand = 18 * 4 * 512**2 + 12 * (2 * 512 * 2048 + 2048 + 512) + 30 * 2 * 512 + 2 * 37_000 * 512
    assert parameter_total(base()) == by_hand


def test_letters_fit_the_shapes():
    config = tiny_config(positions="learned")
    letters = {"D": config.d_model, "F": config.d_ff}
    for block in parameter_blocks(config):
        for each in block.parameters:
            for letter, size in zip(each.letters.split("×"), each.shape, strict=True):
                assert letters.get(letter, size) == size, each


def test_equal_shapes_are_counted_in_words():
    square, row, one = (Parameter(f"p{i}", shape, "") for i, shape in enumerate(((4, 4), (4,), ())))
    assert Block("a", (square, row, square, one)).shapes == "2 × (4×4), (4), one number"
    assert Block("b", ()).shapes == "" and Block("b", ()).count == 0
    assert Block("a", (square, row, one)).count == 16 + 4 + math.prod(())


@pytest.mark.parametrize("name", CONFIGS)
def test_rows_of_equal_layers_add_up_to_the_total(name):
    rows = parameter_rows(parameter_blocks(CONFIGS[name]))
    assert sum(row.count for row in rows) == parameter_total(CONFIGS[name])
    assert all(row.count == row.times * row.each for row in rows)


def test_layers_that_are_alike_are_one_row_and_a_single_layer_keeps_its_name():
    names = [row.name for row in parameter_rows(parameter_blocks(tiny_config(encoder_layers=1)))]
    assert names == [
        "encoder embedding",
        "encoder.0.self",
        "encoder.0.ffn",
        "encoder final norm",
        "decoder embedding",
        "decoder.0–2.self",
        "decoder.0–2.cross",
        "decoder.0–2.ffn",
        "decoder final norm",
        "output",
    ]
