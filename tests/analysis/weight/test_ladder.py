"""Every line of the ladder against the run, by hand where numbers are small, and false where the run was changed."""

import ast
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint, tiny_config, tiny_model
from ladders import VARIANTS, cells, run_of

import viz_transformer
from viz_transformer.analysis.attention.maps import contribution_norms
from viz_transformer.analysis.weight import LINES, derivation
from viz_transformer.analysis.weight.ladder import ladder
from viz_transformer.analysis.weight.step_source import FILLS, list_step_sources
from viz_transformer.analysis.weight.weight_numbers import Cell, Check, check_cell, parameters
from viz_transformer.model import attention
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.transformer import Transformer
from viz_transformer.running.edits import AblateHead
from viz_transformer.running.tracing import trace


def of(ckpt, run, cell):
    return ladder(run, parameters(ckpt.model, cell.kind, cell.layer), cell)


def wrong(found):
    """The comparisons that do not agree, by line and name."""
    return [(line.name, check.name) for line in found.lines.values() for check in line.checks if not check.agrees]


# ---- each line against the trace


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_line_gives_what_the_run_recorded(variant):
    ckpt, run = run_of(variant)
    for cell in cells(run):
        found = of(ckpt, run, cell)
        assert wrong(found) == []  # 2e-6 of the largest number in each line
        assert found.agrees
        assert sum(len(line.checks) for line in found.lines.values()) >= 20
        recorded = run[f"{cell.site}.weights"][0, cell.head, cell.query]
        assert found.row.weights.tobytes() == recorded.numpy().tobytes()
        np.testing.assert_allclose(found.weight, float(recorded[cell.key]), atol=1e-6)


def test_every_cell_of_a_run_has_a_ladder():
    ckpt, run = run_of("pre-norm")
    for kind, queries, keys in (("encoder", 7, 7), ("decoder", 6, 6), ("cross", 6, 7)):
        learned = parameters(ckpt.model, kind, 1)
        for head in range(4):
            for query in range(queries):
                for key in range(keys):
                    found = ladder(run, learned, Cell(kind=kind, layer=1, head=head, query=query, key=key))
                    assert found.agrees


@pytest.mark.parametrize("variant", ["pre-norm", "raw merge"])
def test_the_merged_row_is_what_the_models_own_merge_makes(variant):
    ckpt, run = run_of(variant)
    merged = attention.MERGES[run.config.merge](run["decoder.1.cross.head_out"])[0].numpy()
    for head, query in ((0, 0), (2, 3), (3, 5)):
        line = of(ckpt, run, Cell(kind="cross", layer=1, head=head, query=query, key=1)).lines["merge"]
        assert line.checks == ()  # no point records it
        np.testing.assert_array_equal(line.vectors[0].values, merged[int(line.scalars["row"])])
        own = run["decoder.1.cross.head_out"][0, head, query].numpy()
        np.testing.assert_array_equal(line.vectors[0].values[slice(*line.vectors[0].span)], own)


@pytest.mark.parametrize("kind", ["encoder-only", "decoder-only"])
def test_a_model_of_one_stack_has_a_ladder(kind):
    ckpt = tiny_checkpoint(kind)
    run = trace(ckpt, [4, 5, 6, 7])
    cell = Cell(kind=kind.split("-")[0], layer=1, head=2, query=3, key=0)
    assert of(ckpt, run, cell).agrees


def test_a_text_of_one_token_gives_its_only_key_the_weight_1():
    ckpt = tiny_checkpoint()
    run = trace(ckpt, [4], [1])
    for kind in ("encoder", "decoder", "cross"):
        found = of(ckpt, run, Cell(kind=kind, layer=0, head=0, query=0, key=0))
        assert found.agrees and found.weight == 1


def test_a_long_attention_that_ran_fused_has_a_ladder(monkeypatch):
    monkeypatch.setattr(attention, "FUSED_FROM", 2)
    ckpt, run = run_of("zero rows, queries masked")
    for cell in cells(run):
        assert f"{cell.site}.weights" not in run.points()
        assert of(ckpt, run, cell).agrees


def test_a_mask_of_its_own_for_each_head_is_read_for_the_cells_head():
    ckpt, run = run_of("pre-norm")
    mask = run["decoder.1.cross.mask"].expand(1, 4, 6, 7).clone()
    mask[0, 2, 3, 1] = False
    changed = replace(run, values={**run.values, "decoder.1.cross.mask": mask})
    for head, is_open in ((2, False), (3, True)):
        found = of(ckpt, changed, Cell(kind="cross", layer=1, head=head, query=3, key=1))
        assert bool(found.row.mask[1]) is is_open
        assert ("mask", "mask of the row") in wrong(found) or is_open
        assert ("softmax", "weights of the row") in wrong(found) or is_open


def test_both_ways_to_cut_a_fused_projection_are_compared():
    ckpt, run = run_of("pre-norm")
    line = of(ckpt, run, Cell(kind="decoder", layer=1, head=0, query=1, key=0)).lines["shapes"]
    assert [check.name for check in line.checks] == [
        *("query", "key", "value", "query, head by head", "key, head by head", "value, head by head"),
    ]
    assert all(check.derived.shape == (4, 6, 4) for check in line.checks)
    trail = {shape.name: (shape.letters, shape.sizes) for shape in line.shapes}
    assert trail["query, key, value as one map"] == ("[B, T, 3D]", "[1, 6, 48]")
    assert trail["cut into maps, then heads"] == ("[B, T, 3, H, E]", "[1, 6, 3, 4, 4]")
    assert trail["or: into heads, then maps"] == ("[B, T, H, 3E]", "[1, 6, 4, 12]")
    assert trail["permuted: query"] == ("[B, H, T, E]", "[1, 4, 6, 4]")
    cross = of(ckpt, run, Cell(kind="cross", layer=1, head=0, query=1, key=0)).lines["shapes"]
    trail = {shape.name: (shape.letters, shape.sizes) for shape in cross.shapes}
    assert trail["key, value as one map"] == ("[B, S, 2D]", "[1, 7, 32]")
    assert trail["scores, weights"] == ("[B, H, T, S]", "[1, 4, 6, 7]")


def test_what_this_key_adds_is_the_contribution_of_the_attention_page():
    ckpt, run = run_of("pre-norm")
    cell = Cell(kind="cross", layer=1, head=2, query=3, key=1)
    norms = contribution_norms(run, "cross", 1, 2).norms
    np.testing.assert_allclose(of(ckpt, run, cell).lines["output"].scalars["part_norm"], norms[3, 1], rtol=1e-6)


def test_the_products_add_up_to_the_undivided_score_and_the_parts_to_the_heads_output():
    ckpt, run = run_of("divided by the root of d_model")
    found = of(ckpt, run, Cell(kind="encoder", layer=1, head=1, query=2, key=3))
    q, k, products, running = (vector.values for vector in found.lines["products"].vectors)
    np.testing.assert_array_equal(products, q * k)
    np.testing.assert_allclose(running[-1], found.lines["products"].scalars["dot"], rtol=1e-14)
    np.testing.assert_allclose(found.lines["divisor"].scalars["s"], running[-1] / 4, rtol=1e-14)  # root of 16
    part, rest, whole = (vector.values for vector in found.lines["head"].vectors)
    np.testing.assert_allclose(part + rest, whole, rtol=1e-14)


# ---- false where it must be false


def test_the_parameters_of_another_model_give_other_queries_and_the_lines_say_so():
    ckpt, run = run_of("pre-norm")
    other = tiny_model(ckpt.config, seed=5)
    cell = Cell(kind="cross", layer=1, head=2, query=3, key=1)
    found = ladder(run, parameters(other, "cross", 1), cell)
    names = {name for name, _ in wrong(found)}
    assert {"stream", "norm", "maps", "shapes", "query", "key", "value", "output"} <= names
    assert not names & {"token", "products", "divisor", "mask", "softmax", "weight", "head", "merge", "residual"}
    assert not found.agrees


@pytest.mark.parametrize(
    ("point", "lines"),
    [
        ("weights", {"softmax", "weight"}),
        ("head_out", {"head", "output"}),
        ("query", {"maps", "shapes", "query", "softmax", "weight", "head"}),
        ("residual_after_cross", {"residual"}),
    ],
)
def test_a_changed_point_is_found_in_its_lines_and_in_no_other(point, lines):
    ckpt, run = run_of("pre-norm")
    name = f"decoder.1.{point}" if point.startswith("residual") else f"decoder.1.cross.{point}"
    changed = replace(run, values={**run.values, name: run[name] + 0.01 * torch.arange(run[name].shape[-1])})
    found = of(ckpt, changed, Cell(kind="cross", layer=1, head=2, query=3, key=1))
    assert {name for name, _ in wrong(found)} == lines


def test_an_edited_run_differs_where_it_was_edited():
    ckpt = tiny_checkpoint()
    run = trace(ckpt, [4, 5, 6, 7], [1, 9, 8], edits=[AblateHead("decoder.1.cross", head=2)])
    assert wrong(of(ckpt, run, Cell(kind="cross", layer=1, head=1, query=2, key=1))) == []
    assert ("head", "head_out") in wrong(of(ckpt, run, Cell(kind="cross", layer=1, head=2, query=2, key=1)))


def test_a_difference_of_nan_and_a_number_is_infinite_and_of_two_nan_zero():
    nan, one = np.array([np.nan, 1.0]), np.array([np.nan, 1.0])
    assert Check("", nan, one, "").difference == 0
    check = Check("", nan, np.array([0.0, 1.0]), "")
    assert check.difference == math.inf and not check.agrees
    assert Check("", np.array([-math.inf]), np.array([-math.inf]), "").agrees


# ---- by hand


def two_tokens() -> Transformer:
    """One head of size 2 whose maps are all the identity; token 0 is (1, 0), token 1 is (0, 2). No norm before it."""
    config = ModelConfig(
        source_vocab_size=2, encoder_layers=1, d_model=2, n_heads=1, d_ff=2, norm="post", final_norm=False,
        positions="none", embedding_scale="one", max_source=4,
    )  # fmt: skip
    model = Transformer(config).eval()
    with torch.no_grad():
        model.encoder.embedding.token.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
        for name in ("to_query", "to_key", "to_value", "to_out"):
            getattr(model.encoder.layers[0].self_attention, name).weight.copy_(torch.eye(2))
    return model


def test_two_tokens_by_hand():
    model = two_tokens()
    ckpt = replace(tiny_checkpoint("encoder-only"), hooked_model=model)
    run = trace(ckpt, [0, 1])
    found = ladder(run, parameters(model, "encoder", 0), Cell(kind="encoder", layer=0, head=0, query=1, key=1))
    # q1 = (0, 2): q1.k0 = 0, q1.k1 = 4, divided by the root of 2: 0 and 2.8284; weights 1 / (1 + e^2.8284) and the rest
    w = 1 / (1 + math.exp(-4 / math.sqrt(2)))
    assert found.lines["products"].vectors[2].values.tolist() == [0, 4]
    assert found.lines["divisor"].scalars["s"] == pytest.approx(4 / math.sqrt(2), rel=1e-15)
    assert found.weight == pytest.approx(w, rel=1e-15)
    # head_out = (1 - w) * (1, 0) + w * (0, 2); the sum with the stream (0, 2) goes through the norm
    np.testing.assert_allclose(found.lines["head"].vectors[2].values, [1 - w, 2 * w], rtol=1e-15)
    total = np.array([1 - w, 2 + 2 * w])
    np.testing.assert_allclose(found.lines["residual"].vectors[2].values, total, rtol=1e-6)
    mean, scale = total.mean(), math.sqrt(((total - total.mean()) ** 2).mean() + 1e-5)
    np.testing.assert_allclose(found.lines["residual"].vectors[3].values, (total - mean) / scale, rtol=1e-6)
    assert found.agrees


def test_a_raw_reshape_lands_where_counting_by_hand_says():
    # 4 heads over 6 targets: query 3 of head 2 is number 2 * 6 + 3 = 15 of all, so row 3 (15 = 3 * 4 + 3), slot 3
    ckpt, run = run_of("raw merge")
    line = of(ckpt, run, Cell(kind="cross", layer=1, head=2, query=3, key=1)).lines["merge"]
    assert (line.scalars["row"], line.scalars["slot"]) == (3, 3)
    assert line.vectors[0].span == (12, 16)
    assert line.facts == ("The row holds queries 0 to 3 of head 2.",)  # numbers 12 to 15
    line = of(ckpt, run, Cell(kind="cross", layer=1, head=1, query=0, key=1)).lines["merge"]
    assert (line.scalars["row"], line.scalars["slot"]) == (1, 2)
    assert line.facts == ("The row holds queries 4 to 5 of head 0, then queries 0 to 1 of head 1.",)


def softmax(scores, mask, fill):
    """The weights that the softmax's line makes of these scores."""
    chosen = {"fill": FILLS[fill].fill, "zero_rows": fill == "zero-rows"}
    at = derivation.Values(scores=scores, mask=mask, key=0, site="", trace=(), **chosen)
    with np.errstate(invalid="ignore"):
        derivation.softmax(at, derivation.Report(lambda _: None))
    return at.weights


@pytest.mark.parametrize(
    ("fill", "mask", "weights"),
    [
        ("zero-rows", [True, True], [0.25, 0.75]),  # scores 0 and ln 3: 1 to 3
        ("zero-rows", [True, False], [1, 0]),
        ("zero-rows", [False, False], [0, 0]),
        ("-inf", [False, True], [0, 1]),
        ("-inf", [False, False], [math.nan, math.nan]),
        ("-1e9", [True, False], [1, 0]),
        ("-1e9", [False, False], [0.5, 0.5]),
        ("-1e10", [False, False], [0.5, 0.5]),
        ("added-1e9", [False, True], [0, 1]),
        ("added-1e9", [False, False], [0.5, 0.5]),  # float32 at 1e9 has steps of 64: both scores drown
    ],
)
def test_a_masked_softmax_of_two_by_hand(fill, mask, weights):
    found = softmax(np.array([0.0, math.log(3)]), np.array(mask), fill)
    np.testing.assert_allclose(found, weights, rtol=1e-15)


def test_a_large_score_does_not_drown_in_an_added_number():
    scores = np.array([0.0, 100.0])
    assert softmax(scores, np.array([False, False]), "added-1e9")[1] == pytest.approx(1)


# ---- what a masked cell says, bad cells, names


def test_a_masked_cell_says_why():
    ckpt, run = run_of("zero rows, queries masked")

    def reasons(**given):
        return of(ckpt, run, Cell(layer=1, head=0, **given)).lines["mask"].facts

    assert reasons(kind="decoder", query=2, key=1) == ()
    assert reasons(kind="decoder", query=2, key=4) == ("The key comes after the query.",)
    assert reasons(kind="encoder", query=0, key=5) == ("The key is padding.",)
    assert reasons(kind="encoder", query=6, key=0) == ("The query is padding.",)
    assert reasons(kind="encoder", query=6, key=5) == ("The key is padding.", "The query is padding.")
    ckpt, run = run_of("slips")
    assert "swapped" in reasons(kind="cross", query=2, key=8)[0]


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (Cell(kind="cross", layer=3, head=0, query=0, key=0), "there is no layer 3: layers go from 0 to 2"),
        (Cell(kind="encoder", layer=2, head=0, query=0, key=0), "there is no layer 2: layers go from 0 to 1"),
        (Cell(kind="cross", layer=0, head=4, query=0, key=0), "there is no head 4: heads go from 0 to 3"),
        (Cell(kind="cross", layer=0, head=0, query=6, key=0), "there is no query position 6"),
        (Cell(kind="cross", layer=0, head=0, query=0, key=7), "there is no key position 7"),
        (Cell(kind="decoder", layer=0, head=0, query=0, key=-1), "there is no key position -1"),
    ],
)
def test_a_cell_that_the_run_does_not_have_is_said(cell, sentence):
    _, run = run_of("pre-norm")
    with pytest.raises(ValueError, match=sentence):
        check_cell(run, cell)


def test_a_kind_or_a_layer_that_the_model_lacks_is_said():
    run = trace(tiny_checkpoint("decoder-only"), [4, 5])
    with pytest.raises(ValueError, match="a decoder-only model has no 'cross' attention"):
        check_cell(run, Cell(kind="cross", layer=0, head=0, query=0, key=0))
    with pytest.raises(ValueError, match="there is no layer 7"):
        parameters(tiny_model(tiny_config()), "cross", 7)


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_line_of_a_cell_is_told_once_and_in_order(variant):
    ckpt, run = run_of(variant)
    for cell in cells(run):
        assert tuple(of(ckpt, run, cell).lines) == tuple(list_step_sources(cell, run.config)) == LINES


RUN_TEXT = ("exec", "eval", "compile", "__import__")


def test_no_text_is_run_as_code():
    """Of the whole package: what is computed is functions, and the program that a page gives is their source."""
    found = []
    for path in sorted(Path(viz_transformer.__file__).parent.rglob("*.py")):
        calls = (
            node.func for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
        )
        found += [path.name for call in calls if isinstance(call, ast.Name) and call.id in ("exec", "eval", "compile")]
    assert found == []
