"""The program is run: it prints the digits of the ladder, from the saved trace alone and with nothing but numpy."""

import ast
import math
import subprocess
import sys

import pytest
from ladders import VARIANTS, cells, run_of

from viz_transformer.analysis.one_weight import ladder
from viz_transformer.analysis.python_copy import digits, printed, python_copy
from viz_transformer.analysis.weight_numbers import Cell, parameters
from viz_transformer.model import attention


def output_of(program, trace, folder):
    """What the program prints when it is run on this trace, in a Python that does not see this package."""
    trace.save(folder / "trace.safetensors")
    (folder / "one_weight.py").write_text(program, encoding="utf-8")
    done = subprocess.run([sys.executable, "-I", "one_weight.py"], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def expected(ckpt, run, cell):
    return printed(ladder(run, parameters(ckpt.model, cell.kind, cell.layer), cell))


def check(ckpt, run, chosen, folder):
    """All the cells by one start of Python: their programs one behind the other."""
    programs = "\n".join(python_copy(run, cell) for cell in chosen)
    assert output_of(programs, run, folder) == "".join(expected(ckpt, run, cell) for cell in chosen)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_program_prints_the_digits_of_the_ladder_for_all_kinds(variant, tmp_path):
    ckpt, run = run_of(variant)
    check(ckpt, run, cells(run), tmp_path)


def test_the_program_reads_a_mask_for_each_head_and_a_run_without_recorded_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(attention, "FUSED_FROM", 2)
    ckpt, run = run_of("pre-norm")
    assert "decoder.1.cross.weights" not in run.points()
    mask = run["decoder.1.cross.mask"].expand(1, 4, 6, 7).clone()
    mask[0, 2, 3, 1] = False
    run.values["decoder.1.cross.mask"] = mask
    chosen = [Cell(kind="cross", layer=1, head=head, query=3, key=key) for head in (1, 2) for key in (0, 1)]
    check(ckpt, run, chosen, tmp_path)
    assert "may attend               0\n" in expected(ckpt, run, chosen[-1])


def test_the_printed_weight_is_the_recorded_one(tmp_path):
    _ckpt, run = run_of("post-norm")
    cell = Cell(kind="decoder", layer=2, head=3, query=4, key=2)
    output = output_of(python_copy(run, cell), run, tmp_path)
    lines = {line[:24].strip(): [float(number) for number in line[24:].split()] for line in output.splitlines()}
    recorded = run["decoder.2.self.weights"][0, 3, 4]
    assert lines["weight"] == pytest.approx([float(recorded[2])], rel=1e-5)
    assert lines["weights of the row"] == pytest.approx(recorded.tolist(), rel=1e-5, abs=1e-7)
    assert lines["head_out"] == pytest.approx(run["decoder.2.self.head_out"][0, 3, 4].tolist(), rel=1e-5, abs=1e-6)


def test_another_cell_prints_other_digits():
    ckpt, run = run_of("pre-norm")
    cells_ = [Cell(kind="cross", layer=1, head=2, query=3, key=key) for key in (1, 2)]
    assert expected(ckpt, run, cells_[0]) != expected(ckpt, run, cells_[1])
    assert python_copy(run, cells_[0]) != python_copy(run, cells_[1])


def test_another_trace_file_can_be_named(tmp_path):
    ckpt, run = run_of("pre-norm")
    cell = Cell(kind="encoder", layer=1, head=1, query=2, key=3)
    run.save(tmp_path / "other file.safetensors")
    (tmp_path / "program.py").write_text(python_copy(run, cell))
    command = [sys.executable, "-I", "program.py", "other file.safetensors"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == expected(ckpt, run, cell)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_program_needs_numpy_alone_and_is_plain_to_read(variant):
    _, run = run_of(variant)
    program = python_copy(run, Cell(kind="cross", layer=1, head=0, query=2, key=3))
    imported = [
        alias.name for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Import) for alias in node.names
    ]
    assert imported == ["json", "sys", "numpy"]
    assert not [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.ImportFrom)]
    assert max(map(len, program.splitlines())) <= 120


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.7532051, "0.753205"), (-0.0, "0"), (6.137028e-11, "6.13703e-11"), (15.0, "15"), (math.nan, "nan")],
)
def test_six_significant_digits(value, text):
    assert digits(value) == text
