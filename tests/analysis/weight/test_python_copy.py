"""The program is run: it prints the digits of the whole ladder, from the saved trace and the model's file alone."""

import ast
import inspect
import math
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache

import pytest
import torch
from builders import tiny_checkpoint
from in_turn import every
from ladders import VARIANTS, cells, run_of

from viz_transformer.analysis.models.untrained import Recipe, make_untrained
from viz_transformer.analysis.weight import LINES
from viz_transformer.analysis.weight.derivation import IN_FULL, digits
from viz_transformer.analysis.weight.ladder import ladder
from viz_transformer.analysis.weight.python_copy import FILE, MODEL_FILE, model_file, python_copy
from viz_transformer.analysis.weight.step_source import list_step_sources
from viz_transformer.analysis.weight.weight_numbers import Cell, parameters
from viz_transformer.checkpoint import load, save_checkpoint
from viz_transformer.checkpoint.importers.mapping import split_interleaved, split_stacked
from viz_transformer.model import attention
from viz_transformer.running.tracing import trace

source = cache(inspect.getsource)


def stored(folder, variant, dtype="float16", **changes):
    """The variant's model as a checkpoint folder has it, opened again, and its run of the same texts."""
    ckpt, run = run_of(variant, **changes)
    return saved(folder, ckpt, run.src_ids, run.tgt_ids, dtype)


def saved(folder, ckpt, src, tgt, dtype="float16"):
    save_checkpoint(
        folder / "tiny",
        state_dict=ckpt.model.state_dict(),
        config=ckpt.config,
        source_codec=ckpt.source_codec,
        target_codec=ckpt.target_codec,
        card={},
        dtype=dtype,
    )
    ckpt = load(folder / "tiny")
    return ckpt, trace(ckpt, src, tgt) if ckpt.config.kind == "encoder-decoder" else trace(ckpt, tgt or src)


def started(program, ckpt, run, folder, *names):
    """The program's run in a folder with both files, in a Python that does not see this package."""
    if run is not None:
        run.save(folder / FILE)
    if ckpt is not None:
        (folder / MODEL_FILE).write_bytes(model_file(ckpt))
    (folder / "one_weight.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-I", "one_weight.py", *names]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def output_of(program, ckpt, run, folder):
    done = started(program, ckpt, run, folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def expected(ckpt, run, cell):
    return ladder(run, parameters(ckpt.model, cell.kind, cell.layer), cell).printed


def check(ckpt, run, chosen, folder):
    """All the cells by one start of Python, their programs one behind the other; what they print."""
    programs = "\n".join(python_copy(run, cell) for cell in chosen)
    output = output_of(programs, ckpt, run, folder)
    assert output == "".join(expected(ckpt, run, cell) for cell in chosen)
    return output


def numbers_of(output):
    """Each line's numbers by their names."""
    found = {}
    for line in output.splitlines():
        if not line.startswith("  "):
            current = found.setdefault(line, {})
        else:
            current[line[2:30].strip()] = [float(number) for number in line[30:].split(" ...")[0].split()]
    return found


# ---- the digits of the ladder


@pytest.mark.parametrize("variant", every(3, VARIANTS))
def test_the_program_prints_the_digits_of_the_ladder_for_all_kinds(variant, tmp_path):
    ckpt, run = stored(tmp_path, variant)
    chosen = cells(run)
    assert {cell.kind for cell in chosen} == {"encoder", "decoder", "cross"}
    output = check(ckpt, run, chosen, tmp_path)
    assert len(re.findall(r"^(1[89]|2[01]) of \1 comparisons with the record agree", output, re.MULTILINE)) == len(
        chosen
    )
    assert [*numbers_of(output)][: len(LINES) - 1] == [line for line in LINES if line != "shapes"]


@pytest.mark.parametrize("kind", ["encoder-only", "decoder-only"])
def test_a_model_of_one_stack_has_a_program(kind, tmp_path):
    ckpt, run = saved(tmp_path, tiny_checkpoint(kind), [4, 5, 6, 7], None)
    check(ckpt, run, [Cell(kind=kind.split("-")[0], layer=1, head=2, query=3, key=1)], tmp_path)


def test_weights_stored_as_float32_and_a_norm_behind_the_encoder_like_the_others_are_read(tmp_path):
    ckpt, run = stored(tmp_path, "pre-norm", "float32", norm_kind="bessel")
    check(ckpt, run, [Cell(kind="cross", layer=1, head=1, query=2, key=3)], tmp_path)


def test_the_program_starts_from_the_stream_and_says_what_the_trace_recorded_on_the_way(tmp_path):
    ckpt, run = stored(tmp_path, "post-norm")
    cell = Cell(kind="decoder", layer=2, head=3, query=4, key=2)
    lines = numbers_of(check(ckpt, run, [cell], tmp_path))

    def same(found, recorded):
        assert found == pytest.approx(recorded.tolist(), rel=1e-5, abs=1e-6)

    layer = "decoder.2"
    same(lines["token"]["query, x0"], run["decoder.embed.out"][0, 4])
    same(lines["stream"]["query, x"], run[f"{layer}.residual_in"][0, 4])
    same(lines["norm"]["n"], run[f"{layer}.self.in"][0, 4])
    same(lines["query"]["q"], run[f"{layer}.self.query"][0, 3, 4])
    same(lines["key"]["k"], run[f"{layer}.self.key"][0, 3, 2])
    d = int(lines["maps"]["d, row"][0])
    same(lines["maps"]["query[d]"], run[f"{layer}.self.query"][0, 3, 4, d : d + 1])
    same(lines["maps"]["W_Q[row]"], ckpt.model.decoder.layers[2].self_attention.to_query.weight[12 + d])
    same(lines["divisor"]["scores of the row"], run[f"{layer}.self.scores"][0, 3, 4])
    same(lines["mask"]["row of the mask"], run[f"{layer}.self.mask"][0, 0, 4].float())
    same(lines["softmax"]["weights"], run[f"{layer}.self.weights"][0, 3, 4])
    same(lines["weight"]["weight"], run[f"{layer}.self.weights"][0, 3, 4, 2:3])
    same(lines["value"]["v"], run[f"{layer}.self.value"][0, 3, 2])
    same(lines["head"]["head_out"], run[f"{layer}.self.head_out"][0, 3, 4])
    same(lines["output"]["out"], run[f"{layer}.self.out"][0, 4])
    same(lines["residual"]["x + y"], run[f"{layer}.residual_after_self_sum"][0, 4])
    same(lines["residual"]["after the norm"], run[f"{layer}.residual_after_self"][0, 4])


def test_of_a_long_vector_four_numbers_their_count_and_its_length_are_printed(tmp_path):
    ckpt, run = stored(tmp_path, "pre-norm", d_model=IN_FULL + 8)
    output = check(ckpt, run, [Cell(kind="cross", layer=1, head=1, query=2, key=3)], tmp_path)
    stream = run["decoder.1.residual_after_self"][0, 2]
    (line,) = [line for line in output.splitlines() if line.startswith("  query, x ")]
    first, rest = line[30:].split(" ... ")
    assert [float(number) for number in first.split()] == pytest.approx(stream[:4].tolist(), rel=1e-5)
    assert rest == f"72 numbers, length {float(stream.double().norm()):.6g}"


def test_the_program_reads_a_mask_for_each_head_and_a_run_without_recorded_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(attention, "FUSED_FROM", 2)
    ckpt, run = stored(tmp_path, "pre-norm")
    assert "decoder.1.cross.weights" not in run.points()
    mask = run["decoder.1.cross.mask"].expand(1, 4, 6, 7).clone()
    mask[0, 2, 3, 1] = False
    run.values["decoder.1.cross.mask"] = mask
    chosen = [Cell(kind="cross", layer=1, head=head, query=3, key=key) for head in (1, 2) for key in (0, 1)]
    check(ckpt, run, chosen, tmp_path)
    assert "  may attend                   0\n" in expected(ckpt, run, chosen[-1])
    # the padding of the ids says something else than this mask, and softmax and weight have nothing to compare with
    assert "\n14 of 16 comparisons" in expected(ckpt, run, chosen[-1])
    assert expected(ckpt, run, chosen[-1]).endswith("not in the lines mask, head\n")


def test_another_cell_prints_other_digits():
    ckpt, run = run_of("pre-norm")
    cells_ = [Cell(kind="cross", layer=1, head=2, query=3, key=key) for key in (1, 2)]
    assert expected(ckpt, run, cells_[0]) != expected(ckpt, run, cells_[1])
    assert python_copy(run, cells_[0]) != python_copy(run, cells_[1])


# ---- what is not as it was recorded


@pytest.mark.parametrize(
    ("point", "lines"),
    [
        ("decoder.1.residual_after_self", "stream, norm, residual"),
        ("decoder.1.cross.query", "maps, query, softmax, weight, head"),
        ("decoder.1.cross.value", "value, head"),
        ("decoder.1.residual_after_cross", "residual"),
    ],
)
def test_a_changed_point_is_named_by_its_lines(point, lines, tmp_path):
    ckpt, run = stored(tmp_path, "pre-norm")
    changed = run[point] + 0.01 * torch.arange(run[point].shape[-1])
    run = replace(run, values={**run.values, point: changed})
    output = check(ckpt, run, [Cell(kind="cross", layer=1, head=2, query=3, key=1)], tmp_path)
    assert output.endswith(f"not in the lines {lines}\n")


def test_the_file_of_another_model_is_refused_by_one_sentence(tmp_path):
    ckpt, run = stored(tmp_path, "pre-norm")
    other = tiny_checkpoint(seed=1)
    done = started(python_copy(run, cells(run)[0]), other, run, tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    sentence = "model.safetensors is not the file of the model that made this trace: its sha256 differs.\n"
    assert done.stderr == sentence
    assert done.stderr.count("\n") == 1 and ckpt.weights_sha256 == run.weights_sha256


def test_a_missing_file_and_one_of_another_kind_are_said_by_one_sentence(tmp_path):
    ckpt, run = stored(tmp_path, "pre-norm")
    program = python_copy(run, cells(run)[0])

    def said(*given, **files):
        done = started(program, files.get("ckpt"), files.get("run"), tmp_path, *given)
        assert done.returncode == 1 and done.stdout == ""
        return done.stderr

    folder = "the file of that name in its checkpoint folder"
    needs = f"model.safetensors cannot be read, and this program needs it: the model's parameters, {folder}.\n"
    assert said() == "trace.safetensors cannot be read, and this program needs it: the saved trace of the run.\n"
    assert said(run=run) == needs
    (tmp_path / "text.txt").write_text("no numbers in here")
    assert said(FILE, "text.txt") == needs.replace("model.safetensors", "text.txt", 1)
    assert said("tiny/model.safetensors", "tiny/model.safetensors") == "tiny/model.safetensors is not a saved trace.\n"
    assert ckpt.path is not None


def test_other_files_can_be_named(tmp_path):
    ckpt, run = stored(tmp_path, "pre-norm")
    cell = Cell(kind="encoder", layer=1, head=1, query=2, key=3)
    run.save(tmp_path / "other file.safetensors")
    done = started(python_copy(run, cell), None, None, tmp_path, "other file.safetensors", "tiny/model.safetensors")
    assert done.stdout == expected(ckpt, run, cell)
    done = started(python_copy(run, cell), ckpt, None, tmp_path, "other file.safetensors")
    assert done.stdout == expected(ckpt, run, cell)


# ---- models whose file is not simply theirs


def test_a_new_model_without_a_file_gets_one_of_its_random_weights(tmp_path):
    recipe = Recipe(base="tiny", encoder_layers=1, decoder_layers=2, n_heads=2, d_model=8, d_ff=8, seed=5)
    ckpt = make_untrained(recipe, tiny_checkpoint())
    run = trace(ckpt, [4, 5, 6], [1, 9])
    assert ckpt.path is None
    program = python_copy(run, Cell(kind="cross", layer=1, head=1, query=1, key=2))
    assert (
        "the model's parameters, random numbers without a checkpoint folder, which the page One weight saves" in program
    )
    assert output_of(program, ckpt, run, tmp_path) == expected(
        ckpt, run, Cell(kind="cross", layer=1, head=1, query=1, key=2)
    )
    other = make_untrained(replace(recipe, seed=6), tiny_checkpoint())
    last = output_of(program, other, None, tmp_path).splitlines()[-1]
    assert last == "not in the lines maps, query, key, value, output"


@pytest.mark.parametrize("order", ["by map", "by head"])
def test_a_fused_projection_that_was_split_when_it_was_stored_gives_the_query_of_the_fused_one(order, tmp_path):
    ckpt, size = tiny_checkpoint(), 4
    fused, bias = torch.randn(48, 16).half().float(), torch.randn(48).half().float()
    own = ckpt.model.decoder.layers[1].self_attention
    split = (lambda x: split_stacked(x)) if order == "by map" else (lambda x: split_interleaved(x, 4))
    for part, weight, offset in zip(("query", "key", "value"), split(fused), split(bias), strict=True):
        getattr(own, f"to_{part}").weight.data, getattr(own, f"to_{part}").bias.data = weight, offset
    ckpt, run = saved(tmp_path, ckpt, [4, 5, 6], [1, 9, 8])
    head, query, key = 2, 2, 1
    lines = numbers_of(check(ckpt, run, [Cell(kind="decoder", layer=1, head=head, query=query, key=key)], tmp_path))
    made = run["decoder.1.self.in"][0] @ fused.T + bias  # [T, 3D], cut as the fused code would cut it
    first = [part * 16 + head * size if order == "by map" else (head * 3 + part) * size for part in range(3)]
    for name, line, at, start in zip("qkv", ("query", "key", "value"), (query, key, key), first, strict=True):
        assert lines[line][name] == pytest.approx(made[at, start : start + size].tolist(), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_program_needs_numpy_alone_and_is_plain_to_read(variant):
    _, run = run_of(variant)
    program = python_copy(run, Cell(kind="cross", layer=1, head=0, query=2, key=3))
    imported = [
        alias.name for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Import) for alias in node.names
    ]
    assert imported == ["hashlib", "json", "sys", "numpy"]
    assert not [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.ImportFrom)]
    assert max(map(len, program.splitlines())) <= 120
    assert "$" not in program and "\n\n\n\n" not in program


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_program_has_the_functions_that_computed_the_page_and_no_others(variant):
    _, run = run_of(variant)
    for cell in cells(run):
        program = python_copy(run, cell)
        for told in list_step_sources(cell, run.config).values():
            assert told.step is None or source(told.step) in program
        names = [node.name for node in ast.parse(program).body if isinstance(node, ast.FunctionDef)]
        assert len(names) == len(set(names)) and all(program.count(name) > 1 for name in names)


def test_nothing_of_a_text_and_no_code_of_a_name_goes_into_the_program():
    _, run = run_of("pre-norm")
    run = replace(run, checkpoint='x\nimport os\n"""')
    program = python_copy(run, cells(run)[0])
    assert r"""of the model 'x\nimport os\n""" in program
    ast.parse(program)
    assert "import os" not in [line.strip() for line in program.splitlines()]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.7532051, "0.753205"),
        (-0.0, "0"),
        (6.137028e-11, "6.13703e-11"),
        (15.0, "15"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_six_significant_digits(value, text):
    assert digits(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(-1e9 + 64, "-999999936"), (-1e10, "-10000000000"), (12345678.5, "1.23457e+07"), (1e20, "1e+20")],
)
def test_a_whole_number_has_all_its_digits(value, text):
    assert digits(value) == text
