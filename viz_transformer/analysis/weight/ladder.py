"""One weight: the way from two tokens through one cell of one head to the residual stream, line by line in float64.

Each line is computed from what the run recorded and from the model's parameters, and is set beside what the run
recorded for it. From query and key to the head's output the float64 numbers go on from line to line; every other line
starts from recorded float32 numbers, so that rounding does not add up. Source of the formulas: Vaswani et al. (2017),
equation 1 and section 3.2.2.

Each line is told once, as its part of the program that the page gives (`told_inputs`, `told_weight`, `told_output`).
That part is run here on the trace and the parameters in memory: what it shows is the print, what it compares is the
table of comparisons, and vectors and numbers of the page are expressions over its names. Nothing is in it but words of
this package and checked numbers of config and cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import CodeType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.analysis.attention.maps import sides
from viz_transformer.analysis.weight import told_inputs, told_output, told_weight
from viz_transformer.analysis.weight.cell_facts import mixed_heads, scales, why_masked
from viz_transformer.analysis.weight.fused_projection import check_fused, trail
from viz_transformer.analysis.weight.told import HELPERS, VERDICT, Told
from viz_transformer.analysis.weight.weight_numbers import (
    Cell,
    Check,
    Floats,
    Line,
    Numbers,
    Parameters,
    QueryRow,
    row_of,
)
from viz_transformer.model.attention import attention_scores
from viz_transformer.model.config import ModelConfig
from viz_transformer.running.trace import Trace


@dataclass(frozen=True, eq=False)
class Ladder:
    """All lines of one cell, the row that it stands in, and what the program prints for it."""

    cell: Cell
    lines: Mapping[str, Line]
    row: QueryRow
    printed: str

    @property
    def weight(self) -> float:
        """The weight, computed in float64."""
        return self.lines["weight"].scalars["w"]

    @property
    def agrees(self) -> bool:
        return all(line.agrees for line in self.lines.values())


def telling(cell: Cell, config: ModelConfig) -> dict[str, Told]:
    """Each line of a cell as it is told, from the tokens on."""
    return {
        "token": told_inputs.token(cell, config),
        "stream": told_inputs.stream(cell, config),
        "norm": told_inputs.norm(cell, config),
        "maps": told_inputs.maps(cell, config),
        "shapes": Told(""),  # which is of all cells together, and no part of the program
        "query": told_inputs.projected("query", cell, config),
        "key": told_inputs.projected("key", cell, config),
        "products": told_weight.PRODUCTS,
        "divisor": told_weight.divisor(cell, config),
        "mask": told_weight.mask(cell, config),
        "softmax": told_weight.softmax(config),
        "weight": told_weight.WEIGHT,
        "value": told_output.value(cell),
        "head": told_output.HEAD,
        "merge": told_output.merge(config),
        "output": told_output.output(config),
        "residual": told_output.residual(cell, config),
    }


def ladder(trace: Trace, learned: Parameters, cell: Cell) -> Ladder:
    """Every line of one cell. `learned`: the parameters of the cell's attention in the model that made the trace.

    Raises ValueError for a kind, layer, head or position that the trace does not have.
    """
    row = row_of(trace, cell)
    program = _Program(trace, learned)
    lines = {}
    for name, told in telling(cell, trace.config).items():
        program.run(told.code)
        lines[name] = program.line(name, told)
    program.run(VERDICT)
    names, queries = program.names, len(sides(trace, cell.kind)[0])
    for name, checks in _derived(trace, cell, row, names).items():
        lines[name] = replace(lines[name], checks=(*checks, *lines[name].checks))
    lines["shapes"] = replace(lines["shapes"], shapes=trail(trace.config, cell, queries, len(row.mask)))
    lines["token"] = replace(lines["token"], facts=scales(trace, cell))
    if not row.mask[cell.key]:
        lines["mask"] = replace(lines["mask"], facts=why_masked(trace, cell))
    if trace.config.merge == "raw-reshape":
        held = mixed_heads(names["row"], trace.config.n_heads, queries)
        lines["merge"] = replace(lines["merge"], facts=(held,))
    return Ladder(cell, lines, row, "".join(program.printed))


def _derived(trace: Trace, cell: Cell, row: QueryRow, names: Mapping[str, Any]) -> dict[str, tuple[Check, ...]]:
    """What the program has not compared: the maps as one, the scores, which no run records, beside what the model's own
    function makes of the recorded query and key, and the weights of a long attention that ran fused."""
    head, query = slice(cell.head, cell.head + 1), slice(cell.query, cell.query + 1)
    bias = trace[f"{cell.site}.bias"][:, head, query] if f"{cell.site}.bias" in trace else None
    q, keys = trace[f"{cell.site}.query"][:, head, query], trace[f"{cell.site}.key"][:, head]
    scores = attention_scores(q, keys, names["divisor"], bias)[0, 0, 0].double().numpy()
    largest = float(np.abs(row.products).sum(axis=1).max() / names["divisor"])
    at = f"[0, {cell.head}, {cell.query}"
    found: dict[str, tuple[Check, ...]] = {
        "shapes": check_fused(trace, cell, names),
        "divisor": tuple(
            Check(name, _float64(worked_out), recorded, f"{cell.site}.scores{at}{key}], derived", largest)
            for name, worked_out, recorded, key in (
                ("score", names["scores"][cell.key], scores[cell.key], f", {cell.key}"),
                ("scores of the row", names["scores"], scores, ""),
            )
        ),
    }
    if f"{cell.site}.weights" not in trace.values:
        weights, site = names["weights"], f"{cell.site}.weights"
        of_row = Check("weights of the row", weights, _float64(row.weights), f"{site}{at}]")
        of_key = Check("weight", weights[cell.key], _float64(row.weights[cell.key]), f"{site}{at}, {cell.key}]")
        found |= {"softmax": (of_row,), "weight": (of_key,)}
    return found


class _Recorded:
    """A trace as the program reads one: float64 numbers by their points; only recorded points are in it."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __contains__(self, name: str) -> bool:
        return name in self.trace.values

    def __getitem__(self, name: str) -> Any:
        value = self.trace[name]
        return (value.double() if value.is_floating_point() else value).numpy()


@lru_cache(512)  # of a cell only the first line and the expressions with its numbers are new
def _compiled(code: str, mode: Literal["exec", "eval"]) -> CodeType:
    return compile(code, "one_weight.py", mode)


class _Program:
    """The program's names, what it has printed, and what the last part of it has shown and compared."""

    def __init__(self, trace: Trace, learned: Parameters) -> None:
        self.trace = trace
        self.printed: list[str] = []
        self.shown: list[tuple[str, Floats]] = []
        self.compared: list[tuple[Floats, Floats, float]] = []
        self.names: dict[str, Any] = {
            "np": np,
            "print": self._print,
            "trace": _Recorded(trace),
            "model": learned,
            "about": {"scalars": trace.scalars, "src": [trace.src.ids], "tgt": [trace.tgt.ids]},
        }
        exec(_compiled(HELPERS, "exec"), self.names)
        show, compare = self.names["show"], self.names["compare"]

        def note_shown(label: str, values: ArrayLike) -> None:
            self.shown.append((label, _float64(values)))
            show(label, values)

        def note_compared(worked_out: ArrayLike, recorded: ArrayLike, scale: float = 0.0) -> None:
            self.compared.append((_float64(worked_out), _float64(recorded), float(scale)))
            compare(worked_out, recorded, scale)

        self.names |= {"show": note_shown, "compare": note_compared, "shown": self._shown}

    def run(self, code: str) -> None:
        """The next part of the program."""
        self.shown.clear()
        self.compared.clear()
        with np.errstate(invalid="ignore"):
            exec(_compiled(code, "exec"), self.names)

    def line(self, name: str, told: Told) -> Line:
        """What the page has of the part that was run last."""
        found = ((each, self._value(each.code)) for each in told.vectors)
        vectors = tuple(
            Numbers(
                each.name.format_map(self.names),
                _float64(values),
                each.axis,
                picked=self._value(each.picked),
                span=self._value(each.span),
            )
            for each, values in found
            if values is not None
        )
        scalars = {key: float(np.asarray(self._value(code)).item()) for key, code in told.scalars.items()}
        return Line(name, vectors, scalars, self._checks(told))

    def _checks(self, told: Told) -> tuple[Check, ...]:
        if not self.compared:  # the run recorded none of the points
            return ()
        checks = []
        for (name, point), (worked_out, recorded, scale) in zip(told.checks, self.compared, strict=True):
            at = point.format_map(self.names)
            if at.count(",") + 1 == self.trace[at.partition("[")[0]].ndim:  # one number, which may come as an array
                worked_out, recorded = worked_out.reshape(()), recorded.reshape(())
            checks.append(Check(name.format_map(self.names), worked_out, recorded, at, scale))
        return tuple(checks)

    def _value(self, code: str) -> Any:
        return eval(_compiled(code, "eval"), self.names)

    def _shown(self, label: str, nth: int = 0) -> Floats | None:
        found = [values for each, values in self.shown if each == label]
        return found[nth] if found else None

    def _print(self, *values: object) -> None:
        self.printed.append(f"{' '.join(map(str, values))}\n")


def _float64(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
