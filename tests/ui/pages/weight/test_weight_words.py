"""Every line of every variant has words, and they say what this model does."""

import re
from dataclasses import replace

import numpy as np
import pytest
from ladders import VARIANTS, cells, run_of
from wording import wording

from viz_transformer.analysis.weight import LINES
from viz_transformer.analysis.weight.ladder import ladder
from viz_transformer.analysis.weight.weight_numbers import Cell, parameters
from viz_transformer.ui.pages.weight.words import line_words


def said(variant, kind="cross", **place):
    ckpt, run = run_of(variant)
    cell = Cell(**{"kind": kind, "layer": 1, "head": 1, "query": 2, "key": 1, **place})
    found = ladder(run, parameters(ckpt.model, kind, cell.layer), cell)
    return found, {name: line_words(found, run.config, name) for name in LINES}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_line_has_a_title_a_formula_a_result_and_a_sentence(variant):
    ckpt, run = run_of(variant)
    for cell in cells(run):
        found = ladder(run, parameters(ckpt.model, cell.kind, cell.layer), cell)
        for name in LINES:
            line = line_words(found, run.config, name)
            assert line.title and line.formula and line.result
            assert line.sentences and all(s[0].isupper() or s[0] in "-0123456789" for s in line.sentences)
            assert all(s.endswith(".") for s in line.sentences)
            for formula in (line.formula, line.equation):
                assert formula.count("{") == formula.count("}")
                assert "$" not in formula and not re.search(r"\d[eE][-+]\d", formula)


def test_equations_have_the_numbers_of_the_ladder():
    found, lines = said("pre-norm")
    dot, score = found.lines["products"].scalars["dot"], found.lines["divisor"].scalars["s"]
    assert lines["divisor"].equation == rf"s = \frac{{{dot:.6g}}}{{2}} = {score:.6g}"
    assert lines["weight"].equation == f"w_{{2,1}} = {found.weight:.6g}"
    assert rf"\\ &= {dot:.6g} \end" in lines["products"].equation  # the sum on a line of its own
    assert lines["products"].equation.count(" + ") == 3  # three products and dots: a fourth runs out of the panel
    assert lines["products"].result == f"{dot:.4g}"


def test_numbers_that_are_not_finite_are_signs_of_mathematics():
    """As those of weights are that are finite but so large that their products are not."""
    found, _ = said("pre-norm")
    line = found.lines["products"]
    values = np.array([np.nan, np.inf, -np.inf, *line.vectors[2].values[3:]])
    vectors = (*line.vectors[:2], replace(line.vectors[2], values=values))
    lines = {**found.lines, "products": replace(line, scalars={"dot": np.nan}, vectors=vectors)}
    equation = line_words(replace(found, lines=lines), run_of("pre-norm")[1].config, "products").equation
    assert r"\text{not a number} + \infty + (-\infty)" in equation


def test_variants_are_named():
    assert said("post-norm")[1]["norm"].title == "No norm here"
    assert said("post-norm")[1]["residual"].formula == r"\mathrm{norm}(x + y)"
    assert said("pre-norm")[1]["residual"].formula == "x + y"
    assert r"\sqrt{16}" in said(wording("divided_by_the_root_of_d_model"))[1]["divisor"].formula
    assert "has learned" in said("learned divisor and scale")[1]["divisor"].sentences[0]
    assert "b_Q" not in said("no biases")[1]["query"].formula and "b_Q" in said("pre-norm")[1]["query"].formula
    assert "no positions" in said("no positions")[1]["token"].sentences[0]
    assert said("raw merge")[1]["merge"].title == "Merge: a raw reshape"
    assert "float32" in said("slips")[1]["mask"].sentences[-1]
    assert "Bessel" in said("bessel")[1]["norm"].sentences[0]
    assert said("one head", head=0)[1]["merge"].formula == "c = o^0"


def test_a_number_that_is_added_to_a_masked_score_is_shown_added_and_the_result_in_full():
    """Query 3 of the slips' cross-attention may read nothing; -1e9 is a multiple of 64, the step of float32 there."""
    found, lines = said("slips", "cross", query=8, key=1)
    score, mask = found.lines["divisor"].scalars["s"], lines["mask"]
    assert mask.result == "masked" and mask.formula == r"s \to s + (-10^9)\ \text{where masked}"
    added = int(np.float32(score) + np.float32(-1e9))
    assert added == -1_000_000_000  # a small score is lost
    assert mask.equation == rf"{score:.6g} + (-10^9)\ \xrightarrow{{\text{{float32}}}}\ {added}"
    assert rf"\max s = {added}" in lines["softmax"].equation
    large = replace(found.lines["mask"], scalars={**found.lines["mask"].scalars, "s": 790.735, "seen": -999999232.0})
    changed = replace(found, lines={**found.lines, "mask": large})
    assert line_words(changed, run_of("slips")[1].config, "mask").equation.endswith(r"}\ -999999232")
    assert said("slips", "encoder", query=0, key=0)[1]["mask"].equation == ""  # an open cell: nothing is added
    assert said("-1e9", "decoder", query=1, key=3)[1]["mask"].formula.startswith(r"s \to -10^9\ ")
    assert said("-1e10", "decoder", query=1, key=3)[1]["mask"].formula.startswith(r"s \to -10^{10}\ ")
    assert said("-inf", "decoder", query=1, key=3)[1]["mask"].formula.startswith(r"s \to -\infty\ ")


def test_kinds_and_layers_are_named():
    assert "memory" in said("pre-norm")[1]["stream"].sentences[0]
    assert said("pre-norm", "decoder", layer=0)[1]["stream"].formula == "x = x^0"
    assert said("pre-norm", "decoder", layer=2)[1]["stream"].result == "after 2 layers"
    assert said("pre-norm", "encoder")[1]["shapes"].formula.startswith("[B,S,3D]")
    assert said("pre-norm", "cross")[1]["shapes"].formula.startswith("[B,S,2D]")


def test_a_masked_cell_and_a_row_without_a_key_are_said():
    lines = said("pre-norm", "decoder", query=1, key=3)[1]
    assert lines["mask"].result == "masked"
    assert lines["mask"].sentences[:2] == (
        wording("this_cell_is_masked_the_query_may_attend", 2, 6),
        wording("the_key_comes_after_the_query"),
    )
    nothing = said("zero rows, queries masked", "encoder", query=6)[1]
    assert wording("the_row_may_read_no_key") in nothing["weight"].sentences[0]
    infinite = said("-inf", "decoder", query=1, key=3)[1]
    assert infinite["weight"].equation == "w_{1,3} = 0"
