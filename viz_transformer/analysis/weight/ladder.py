"""The derivation of one weight: from two tokens through one cell of one head to the residual stream, in float64.

Each line is computed from what the run recorded and from the model's parameters, and is set beside what the run
recorded for it. From query and key to the head's output the float64 numbers go on from line to line; every other line
starts from recorded float32 numbers, so that rounding does not add up. Source of the formulas: Vaswani et al. (2017),
equation 1 and section 3.2.2.

Each line is a step of `derivation`, whose source is the program that the page gives. It is called here with the trace
and the parameters in memory: what it shows is the print, and what it compares is the table of comparisons; `told` says
which of both are the page's vectors and numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.analysis.attention.maps import sides
from viz_transformer.analysis.weight import derivation
from viz_transformer.analysis.weight.cell_facts import mixed_heads, scales, why_masked
from viz_transformer.analysis.weight.fused_projection import check_fused, trail
from viz_transformer.analysis.weight.step_source import Source, StepSource, given, list_step_sources
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
from viz_transformer.running.trace import Trace


@dataclass(frozen=True, eq=False)
class Ladder:
    """The derivation of one cell: its lines, its row, and what the program prints for it."""

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


def ladder(trace: Trace, learned: Parameters, cell: Cell) -> Ladder:
    """The derivation of one cell. `learned`: the parameters of the cell's attention in the model that made the trace.

    Raises ValueError for a kind, layer, head or position that the trace does not have.
    """
    row = row_of(trace, cell)
    at: Any = derivation.Values(
        trace=_Recorded(trace),
        model=learned,
        scalars=trace.scalars,
        ids={"src": trace.src.ids, "tgt": trace.tgt.ids},
        **given(cell, trace.config),
    )
    report = _Kept()
    lines = {}
    with np.errstate(invalid="ignore"):
        for name, told in list_step_sources(cell, trace.config).items():
            if told.step is not None:
                report.line(name)
                told.step(at, report)
            lines[name] = _line(name, told, at, report if told.step is not None else _Kept(), trace)
    report.verdict()
    queries = len(sides(trace, cell.kind)[0])
    for name, checks in _derive_checks(trace, cell, row, at).items():
        lines[name] = replace(lines[name], checks=(*checks, *lines[name].checks))
    lines["shapes"] = replace(lines["shapes"], shapes=trail(trace.config, cell, queries, len(row.mask)))
    lines["token"] = replace(lines["token"], facts=scales(trace, cell))
    if not row.mask[cell.key]:
        lines["mask"] = replace(lines["mask"], facts=why_masked(trace, cell))
    if trace.config.merge == "raw-reshape":
        held = mixed_heads(at.row, trace.config.n_heads, queries)
        lines["merge"] = replace(lines["merge"], facts=(held,))
    return Ladder(cell, lines, row, "".join(report.printed))


def _derive_checks(trace: Trace, cell: Cell, row: QueryRow, at: Any) -> dict[str, tuple[Check, ...]]:
    """Checks beyond the program's: the fused maps; the scores, which no run records, against the model's own function
    of the recorded query and key; and the weights of a long fused attention."""
    head, query = slice(cell.head, cell.head + 1), slice(cell.query, cell.query + 1)
    bias = trace[f"{cell.site}.bias"][:, head, query] if f"{cell.site}.bias" in trace else None
    q, keys = trace[f"{cell.site}.query"][:, head, query], trace[f"{cell.site}.key"][:, head]
    scores = attention_scores(q, keys, at.divisor, bias)[0, 0, 0].double().numpy()
    largest = float(np.abs(row.products).sum(axis=1).max() / at.divisor)
    place = f"[0, {cell.head}, {cell.query}"
    found: dict[str, tuple[Check, ...]] = {
        "shapes": check_fused(trace, cell, at),
        "divisor": tuple(
            Check(name, _float64(worked_out), recorded, f"{cell.site}.scores{place}{key}], derived", largest)
            for name, worked_out, recorded, key in (
                ("score", at.scores[cell.key], scores[cell.key], f", {cell.key}"),
                ("scores of the row", at.scores, scores, ""),
            )
        ),
    }
    if f"{cell.site}.weights" not in trace.values:
        weights, site = at.weights, f"{cell.site}.weights"
        of_row = Check("weights of the row", weights, _float64(row.weights), f"{site}{place}]")
        of_key = Check("weight", weights[cell.key], _float64(row.weights[cell.key]), f"{site}{place}, {cell.key}]")
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


class _Kept(derivation.Report):
    """A report that stores what it prints, and what the current line has shown and compared."""

    def __init__(self) -> None:
        self.printed: list[str] = []
        self.shown: list[tuple[str, Floats]] = []
        self.compared: list[tuple[Floats, Floats, float]] = []
        super().__init__(lambda text: self.printed.append(f"{text}\n"))

    def line(self, name: str) -> None:
        self.shown.clear()
        self.compared.clear()
        super().line(name)

    def show(self, name: str, values: ArrayLike) -> None:
        self.shown.append((name, _float64(values)))
        super().show(name, values)

    def compare(self, computed: ArrayLike, recorded: ArrayLike, scale: float = 0.0) -> None:
        self.compared.append((_float64(computed), _float64(recorded), float(scale)))
        super().compare(computed, recorded, scale)


def _line(name: str, told: StepSource, at: Any, report: _Kept, trace: Trace) -> Line:
    """The page's line for the last step."""

    def found(source: Source) -> Any:
        if callable(source):
            return source(at)
        label, nth = (source, 0) if isinstance(source, str) else source
        shown = [values for each, values in report.shown if each == label]
        return shown[nth] if shown else None

    vectors = tuple(
        Numbers(
            each.name.format_map(vars(at)),
            _float64(values),
            each.axis,
            picked=None if each.picked is None else each.picked(at),
            span=None if each.span is None else each.span(at),
        )
        for each, values in ((each, found(each.source)) for each in told.vectors)
        if values is not None
    )
    scalars = {key: float(np.asarray(found(source)).item()) for key, source in told.scalars.items()}
    return Line(name, vectors, scalars, _checks(told, vars(at), report, trace))


def _checks(told: StepSource, names: Mapping[str, Any], report: _Kept, trace: Trace) -> tuple[Check, ...]:
    if not report.compared:  # the run recorded none of the points
        return ()
    checks = []
    for (name, point), (computed, recorded, scale) in zip(told.checks, report.compared, strict=True):
        place = point.format_map(names)
        if place.count(",") + 1 == trace[place.partition("[")[0]].ndim:  # one number, which may come as an array
            computed, recorded = computed.reshape(()), recorded.reshape(())
        checks.append(Check(name.format_map(names), computed, recorded, place, scale))
    return tuple(checks)


def _float64(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
