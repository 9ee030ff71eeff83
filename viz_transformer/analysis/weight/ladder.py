"""One weight: the way from two tokens through one cell of one head to the residual stream, line by line in float64.

Each line is worked out from what the run recorded and from the model's parameters, and is set beside what the run
recorded for it. From query and key to the head's output the float64 numbers go on from line to line; every other line
starts from recorded float32 numbers, so that rounding does not add up. Written out with numpy; the model's own
functions give only the rules of the mask, and the float32 scores, which no run records. Source of the formulas: Vaswani
et al. (2017), equation 1 and section 3.2.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from viz_transformer.analysis.weight.ladder_inputs import (
    key_line,
    maps_line,
    norm_line,
    query_line,
    shapes_line,
    stream_line,
    token_line,
)
from viz_transformer.analysis.weight.ladder_output import head_line, merge_line, output_line, residual_line, value_line
from viz_transformer.analysis.weight.ladder_record import CellRecord
from viz_transformer.analysis.weight.ladder_weight import (
    divisor_line,
    mask_line,
    products_line,
    softmax_line,
    weight_line,
)
from viz_transformer.analysis.weight.weight_numbers import Cell, Line, Parameters, Row
from viz_transformer.running.record import Trace

LINES = (
    *("token", "stream", "norm", "maps", "shapes", "query", "key", "products", "divisor", "mask", "softmax"),
    *("weight", "value", "head", "merge", "output", "residual"),
)
"""The names of the lines, from the tokens on."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """All lines of one cell, and the row that it stands in."""

    cell: Cell
    lines: Mapping[str, Line]
    row: Row

    @property
    def weight(self) -> float:
        """The weight, worked out in float64."""
        return self.lines["weight"].scalars["w"]

    @property
    def agrees(self) -> bool:
        return all(line.agrees for line in self.lines.values())


def ladder(trace: Trace, learned: Parameters, cell: Cell) -> Ladder:
    """Every line of one cell. `learned`: the parameters of the cell's attention in the model that made the trace.

    Raises ValueError for a kind, layer, head or position that the trace does not have.
    """
    of = CellRecord(trace, cell)
    lines = {
        "token": token_line(of),
        "stream": stream_line(of, learned),
        "norm": norm_line(of, learned),
        "maps": maps_line(of, learned),
        "shapes": shapes_line(of, learned),
        "query": query_line(of, learned),
        "key": key_line(of, learned),
        "products": products_line(of),
        "divisor": divisor_line(of),
        "mask": mask_line(of),
        "softmax": softmax_line(of),
        "weight": weight_line(of),
        "value": value_line(of, learned),
        "head": head_line(of),
        "merge": merge_line(of),
        "output": output_line(of, learned),
        "residual": residual_line(of, learned),
    }
    return Ladder(cell, lines, of.row)
