"""One weight as a program: numpy, a saved trace and the model's file reproduce the whole derivation, digit by digit.

A trace holds no parameters, so the program reads W_Q, W_K, W_V, W_O, gains and offsets from the checkpoint's
`model.safetensors`, whose sha256 the trace names: float16 numbers that run in float32, so that they are exact. A model
that was made from its name has no file; then one is written (`model_file`). Like the ladder, each line starts from
recorded numbers, and is set beside what was recorded for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from inspect import getsource
from string import Template
from typing import Any

from safetensors.torch import save

from viz_transformer.analysis.models.untrained import is_new
from viz_transformer.analysis.weight import derivation
from viz_transformer.analysis.weight.step_source import given, list_step_sources
from viz_transformer.analysis.weight.weight_numbers import Cell
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.files import WEIGHTS
from viz_transformer.running.trace import Trace

FILE = "trace.safetensors"
MODEL_FILE = WEIGHTS
_FILES = Template('''\
# $site, head $head: the weight that query $query gives to key $key,
# of the run $run of the model $model, line by line as the page One weight has it, in float64.
# Needs numpy and two files: $file, the saved trace, and $model_file, the model's parameters:
# $what.
#     python one_weight.py [$file [$model_file]]
# Each line starts from what the run recorded in float32 and is compared with what it recorded next. The functions are
# those that computed the page.
import hashlib
import json
import sys

import numpy as np

np.seterr(invalid="ignore")  # a masked row may make numbers that are none


class Tensors:
    """A safetensors file: the length of a JSON header, the header, the numbers. They run in float32; here float64."""

    def __init__(self, path, what):
        try:
            with open(path, "rb") as file:
                self.data = file.read()
            self.start = 8 + int.from_bytes(self.data[:8], "little")
            self.header = json.loads(self.data[8 : self.start])
        except (OSError, ValueError):
            sys.exit(f"{path} cannot be read, and this program needs it: {what}.")

    def __contains__(self, name):
        return name in self.header

    def __getitem__(self, name):
        first, last = (self.start + offset for offset in self.header[name]["data_offsets"])
        kind = {"F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8", "BOOL": "?"}[self.header[name]["dtype"]]
        array = np.frombuffer(self.data[first:last], kind).reshape(self.header[name]["shape"])
        if kind == "<u2":
            array = (array.astype("<u4") << 16).view("<f4")  # bfloat16 is the upper half of a float32
        return array if kind == "?" else array.astype(np.float32).astype(np.float64)


paths = [*sys.argv[1:], *["$file", "$model_file"][len(sys.argv) - 1 :]]
trace = Tensors(paths[0], "the saved trace of the run")
model = Tensors(paths[1], "the model's parameters, $what")
if "viz_transformer" not in trace.header.get("__metadata__", {}):
    sys.exit(f"{paths[0]} is not a saved trace.")
about = json.loads(trace.header["__metadata__"]["viz_transformer"])
$same_file
''')
_WHAT = "the file of that name in its checkpoint folder"
_NEW_WHAT = "random numbers without a checkpoint folder, which the page One weight saves"
_SAME_FILE = """\
if hashlib.sha256(model.data).hexdigest() != about["weights_sha256"]:
    sys.exit(f"{paths[1]} is not the file of the model that made this trace: its sha256 differs.")
"""


def python_copy(trace: Trace, cell: Cell) -> str:
    """A program that recomputes the cell from the file that `trace.save` writes and the model's, with numpy alone.

    It prints the ladder's `printed`. No text of the run goes into it.
    """
    new = is_new(trace.checkpoint)
    files = _FILES.substitute(
        site=cell.site,
        head=cell.head,
        query=cell.query,
        key=cell.key,
        run=trace.id,
        model=ascii(trace.checkpoint),
        file=FILE,
        model_file=MODEL_FILE,
        what=_NEW_WHAT if new else _WHAT,
        same_file="" if new else _SAME_FILE,
    )
    values = given(cell, trace.config)
    steps = {name: told.step for name, told in list_step_sources(cell, trace.config).items() if told.step is not None}
    return "\n\n\n".join(
        (
            f"{files}\nIN_FULL, ROUNDING = {derivation.IN_FULL}, {derivation.ROUNDING}",
            *map(_source, _list_definitions(values, steps)),
            _MAIN.substitute(values=_each(values), steps=_each(steps)),
        )
    )


_MAIN = Template("""\
at = Values(
    trace=trace,
    model=model,
    scalars=about["scalars"],
    ids={"src": about["src"][0], "tgt": about["tgt"][0]},
$values)
report = Report()
steps = dict(
$steps)
for name, step in steps.items():
    report.line(name)
    step(at, report)
report.verdict()
""")
_USED = {
    derivation.residual_and_norm: (derivation.residual,),
    derivation.maps: (derivation.parameters,),
    derivation.query: (derivation.projected,),
    derivation.mask: (derivation.kept,),
}
"""Functions that steps call and that are not among the values."""


@cache  # to find a class in its file takes as long as the rest of the program
def _source(defined: Any) -> str:
    return getsource(defined).rstrip()


def _list_definitions(*parts: Any) -> Iterator[Any]:
    """The functions and classes of the program, each once, before what calls it."""
    found = [derivation.Values, derivation.length, derivation.digits, derivation.Report, derivation.normed]
    for each in (each for part in parts for value in part.values() for each in _functions(value)):
        found += [*_USED.get(each, ()), each]
    return iter(dict.fromkeys(found))


def _functions(value: Any) -> Iterator[Any]:
    if callable(value):
        yield value
    elif isinstance(value, tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _functions(each)


def _each(values: dict[str, Any]) -> str:
    return "".join(f"    {name}={_literal(value)},\n" for name, value in values.items())


def _literal(value: Any) -> str:
    """A value as source text: functions by their names."""
    if callable(value):
        return str(value.__name__)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(name)}: {_literal(each)}' for name, each in value.items())}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def model_file(ckpt: Checkpoint) -> bytes:
    """The file of parameters that the program reads: the checkpoint's own; of a model without one, its float32 numbers.

    Raises OSError if the checkpoint's file cannot be read any more.
    """
    if ckpt.path is not None:
        return (ckpt.path / WEIGHTS).read_bytes()

    return save({name: tensor.contiguous() for name, tensor in ckpt.model.state_dict().items()})
