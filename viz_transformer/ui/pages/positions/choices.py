"""What is chosen: a table of positions, and what it has to do with the model; or a cell of a self-attention."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from viz_transformer import numerals
from viz_transformer.analysis.models.untrained import UntrainedSummary
from viz_transformer.analysis.positions.table import (
    Derivation,
    Float32,
    Float64,
    Scheme,
    added_rows,
    derivation,
    encoding_of,
    own_table,
    scheme,
    starting_columns,
    trained_rows,
)
from viz_transformer.figures import labels
from viz_transformer.figures.positions import Marks
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import KINDS, SIDE_OF, StackName, stacks_of
from viz_transformer.numerals import significant
from viz_transformer.ui.frame import controls, frame, projector
from viz_transformer.ui.frame.controls import Control
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.pages.positions import words
from viz_transformer.ui.pages.positions.fields import FIELDS
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

_derivation = memoize(8)(derivation)

USUAL_LENGTH, MAX_LENGTH, MAX_WIDTH = 128, 512, 512
HIGHEST = 900
"""The most pixels of a picture, which fills the window."""
PROJECTED, LOW = 1.55, 348  # the smallest type, of 13 pixels, is then 20
SIZE = frame.ChartSize(grows=PROJECTED, room=projector.ROOM_OF_CHART)
"""The size of a chart, which is alone in its scene on a projector."""


@dataclass(frozen=True, eq=False)
class PositionTable:
    """The table that is shown, [L, D], and what it has to do with the model. `derived` is None for one without a
    formula, which only a model that has it can show."""

    shown: RunView
    stack: StackName
    scheme: Scheme
    values: Float32
    derived: Derivation | None
    own_scheme: Scheme
    own: Float32 | None
    added: Float32 | None
    picked: tuple[int, ...]
    marks: Marks

    @property
    def is_own(self) -> bool:
        """Whether it is the model's own kind of table and as wide as that."""
        return self.own is not None and self.scheme == self.own_scheme and self.values.shape[1] == self.own.shape[1]

    @property
    def is_trained(self) -> bool:
        """Whether what is shown was trained."""
        return self.is_own and encoding_of(self.shown.trace.spec).trained

    @property
    def title(self) -> str:
        length, width = self.values.shape
        whose = (
            words.own(labels.shorten(self.shown.summary.name, 28), self.stack)
            if self.is_own
            else words.not_own(self.scheme)
        )
        return words.table_title(length, width, whose)

    def column_name(self, column: int) -> str:
        """A dimension in words, with the positions of one turn where it has a wavelength."""
        if self.derived is None:
            return f"{column}"
        turn = 2 * math.pi * float(self.derived.denominator[column])
        return words.curve_name(column, "cos" if column % 2 else "sin", f"{turn:{',.0f' if turn >= 1e4 else '.4g'}}")


# --- which table


def _tables(shown: RunView) -> dict[Scheme, str]:
    """The model's own table, if it adds one, and those of a formula."""
    own, known = scheme(shown.trace.spec), [*words.SHORT_TABLES]
    options = known if own in known or not encoding_of(shown.trace.spec).adds else [own, *known]
    return {each: words.of_the_model(each) if each == own else each for each in options}


def _usual_table(shown: RunView) -> Scheme:
    return scheme(shown.trace.spec) if encoding_of(shown.trace.spec).adds else next(iter(words.SHORT_TABLES))


def _own_width(shown: RunView) -> int:
    own = own_table(shown.ckpt.hooked_model, STACK.value(shown))
    return shown.trace.spec.d_model if own is None else own.shape[1]


def _own_length(shown: RunView) -> int:
    return SIDE_OF[STACK.value(shown)].most(shown.trace.spec)


def _widths(shown: RunView) -> range:
    """A formula has an even number of columns; a table without one is as wide as the model's."""
    own = _own_width(shown)
    if TABLE.value(shown) not in words.SHORT_TABLES:
        return range(own, own + 1)
    return range(2, max(MAX_WIDTH, own + own % 2) + 1, 2)


def _lengths(shown: RunView) -> range:
    most = MAX_LENGTH if TABLE.value(shown) in words.SHORT_TABLES else min(_own_length(shown), MAX_LENGTH)
    return range(min(2, most), most + 1)


def _rows(shown: RunView) -> range:
    """The positions of the run that are in the table."""
    read = len(SIDE_OF[STACK.value(shown)].of(shown.trace.src, shown.trace.tgt))
    return range(min(read, LENGTH.value(shown)))


STACK: Control[StackName] = Control(
    field="pos_stack",
    label=words.STACK,
    noun=words.STACK.lower(),
    options=lambda shown: {each: each for each in stacks_of(shown.trace.spec)},
    unset="",
)
TABLE: Control[Scheme] = Control(
    field="pos_table",
    label=words.TABLE,
    noun=words.TABLE.lower(),
    options=_tables,
    default=_usual_table,
    unset="",
)
WIDTH: Control[int] = Control(
    field="pos_width",
    label=words.D_MODEL,
    noun=words.WIDTH,
    options=_widths,
    default=lambda shown: min(_own_width(shown) + _own_width(shown) % 2, _widths(shown)[-1]),
)
LENGTH: Control[int] = Control(
    field="pos_length",
    label=words.LENGTH,
    options=_lengths,
    default=lambda shown: min(_own_length(shown), USUAL_LENGTH, _lengths(shown)[-1]),
)
POSITION: dict[str, Control[int]] = {
    field: Control(field=field, label=words.POSITION, options=_rows, unset=0, box=True, width=230, key=f"pos_{field}")
    for field in ("i", "t")
}
"""By the field of the side."""


def read_table(shown: RunView) -> PositionTable:
    """The table that the controls ask for."""
    stack = STACK.value(shown)
    own, position = own_table(shown.ckpt.hooked_model, stack), POSITION[SIDE_OF[stack].field].value(shown)
    return _make_table(shown, stack, TABLE.value(shown), (LENGTH.value(shown), WIDTH.value(shown)), position, own)


def _make_table(
    shown: RunView,
    stack: StackName,
    chosen: Scheme,
    size: tuple[int, int],
    position: int,
    own: Float32 | None,
    wanted: tuple[int, ...] | None = None,
) -> PositionTable:
    """wanted: the dimensions that are picked where the address does not say which."""
    length, width = size
    own_scheme = scheme(shown.trace.spec)
    if chosen not in words.SHORT_TABLES:
        assert own is not None
        derived, values = None, own[:length]
    else:
        derived = _derivation(length, width, doubled=chosen == "doubled")
        is_own = own is not None and chosen == own_scheme and own.shape[1] == width and length <= len(own)
        values = own[:length] if is_own and own is not None else derived.table
    read = len(SIDE_OF[stack].of(shown.trace.src, shown.trace.tgt))
    trained = 0 if isinstance(shown.summary, UntrainedSummary) else trained_rows(shown.summary.card, stack)
    marks = Marks(position=position, read=read, trained=trained)
    added = added_rows(shown.trace, stack)
    if wanted is None:
        picked = _picked(values.shape[1], None if derived is None else derived.frequency, length)
    else:
        picked = tuple(column for column in wanted if column < values.shape[1])
    return PositionTable(shown, stack, chosen, values, derived, own_scheme, own, added, picked, marks)


def _picked(width: int, frequency: Float64 | None, length: int) -> tuple[int, ...]:
    """The dimensions that are chosen, those left out that the table does not have."""
    asked: tuple[int, ...] = FIELDS.now().pos_columns
    return tuple(column for column in asked if column < width) or starting_columns(width, frequency, length)


def describe_table(table: PositionTable) -> list[str]:
    """What applies to this model, and what the picture is."""
    shown, stack = table.shown, table.stack
    name, read, encoding = shown.summary.name, table.marks.read, encoding_of(shown.trace.spec)
    said = []
    if not encoding.adds:
        said.append(words.adds_none(name, stack))
    elif encoding.trained:
        assert table.own is not None
        rows, columns = table.own.shape
        said.append(words.learned_table(name, stack, (rows, columns), read - 1, _describe_training(table)))
    else:
        assert table.own is not None
        rows, columns = table.own.shape
        said.append(words.fixed_table(name, encoding.noun, stack, (rows, columns), read - 1))
        if table.marks.trained and table.marks.trained < len(table.own):
            said.append(words.unseen_rows(table.marks.trained))
    if encoding.adds and not table.is_own:
        said.append(words.another_table(table.scheme, *table.values.shape))
    elif table.own is not None and len(table.values) > len(table.own):
        said.append(words.rows_of_formula(len(table.own)))
    return said


def _describe_training(table: PositionTable) -> str:
    """Which rows of a learned table were trained, if that is known."""
    trained, own = table.marks.trained, table.own
    assert own is not None
    if trained is None:
        return words.UNKNOWN_LENGTHS
    if trained == 0:
        return words.NEVER_TRAINED
    if trained >= len(own):
        return words.all_trained(len(own))
    return words.trained_to(trained)


def table_of_b(both: Runs, table: PositionTable) -> PositionTable | str | None:
    """B's own table, for the stack of A's, or a sentence instead: there is none, or it is A's; None where B is not
    shown beside A."""
    b = both.b
    if b is None or not both.compared:
        return None
    spec, stack = b.trace.spec, table.stack
    if stack not in stacks_of(spec):
        return words.b_has_no(stack)
    try:
        encoding = encoding_of(spec)
    except Unavailable as error:
        return words.b_cannot(error)
    if encoding.in_attention:
        return words.b_in_attention(encoding.noun)
    own = own_table(b.ckpt.hooked_model, stack)
    if own is None:
        return words.NO_TABLE_OF_B
    rows = min(len(own), USUAL_LENGTH)
    read = min(len(SIDE_OF[stack].of(b.trace.src, b.trace.tgt)), rows)
    position = min(table.marks.position, rows - 1)
    found = _make_table(b, stack, scheme(spec), (rows, own.shape[1]), position, own, table.picked)
    if not table.is_own or table.own is None:
        return found
    alike = min(len(own), len(table.own))
    if own.shape[1] != table.own.shape[1] or not np.array_equal(own[:alike], table.own[:alike]):
        return found
    return words.same_table(alike, own.shape[1], table.marks.read - 1, read - 1)


# ---- a cell of a self-attention


@dataclass(frozen=True, eq=False)
class ChosenCell:
    """What is shown: one head of a self-attention, with a query and a key."""

    shown: RunView
    stack: StackName
    site: str
    head: int
    query: int
    key: int


def _cell_control(stack: StackName, which: int) -> Control[int]:
    """The selected query (0) or key (1)."""
    field, side = KINDS[stack].fields[which], SIDE_OF[stack]
    return Control(
        field=field,
        label=(words.QUERY, words.KEY)[which],
        options=lambda shown: range(len(side.of(shown.trace.src, shown.trace.tgt))),
        unset=0,
        box=True,
        width=190,
        key=f"pos_{field}_in_attention",
    )


def _find_head(shown: RunView, stack: StackName) -> tuple[int, int]:
    spec, chosen = shown.trace.spec, state.SHARED.now()
    layer, heads = min(chosen.layer, SIDE_OF[stack].layers(spec) - 1), chosen.heads
    return layer, 0 if isinstance(heads, str) else min(heads[0], spec.attentions[f"{stack}.{layer}.self"].query - 1)


def draw_cell_choices(shown: RunView, stack: StackName) -> None:
    """Layer and head, query and key."""
    spec, (layer, head) = shown.trace.spec, _find_head(shown, stack)
    layers = SIDE_OF[stack].layers(spec)
    if layer != state.SHARED.now().layer:
        state.remark(words.fewer_layers(stack, layers, layer))
    count = spec.attentions[f"{stack}.{layer}.self"].query
    controls.layer_and_head(layers, count, page="pos", shown=(layer, head))
    for which in (0, 1):
        _cell_control(stack, which).draw(shown)


def read_cell(shown: RunView) -> ChosenCell:
    """The cell that the controls ask for."""
    stack = STACK.value(shown)
    layer, head = _find_head(shown, stack)
    query, key = (_cell_control(stack, which).value(shown) for which in (0, 1))
    return ChosenCell(shown, stack, f"{stack}.{layer}.self", head, query, key)


# ---- how it is drawn


def height(usual: int) -> int:
    """The height of a figure, in pixels; on a projector low enough to fit above the caption when it is enlarged."""
    return min(usual, LOW) if projector.is_on() else usual


def numbers_frame(values: NDArray[Any]) -> pd.DataFrame:
    """The numbers as a table: a row for each position, a column for each dimension."""
    return pd.DataFrame(values, index=pd.RangeIndex(len(values), name=words.ROW), columns=range(values.shape[1]))


def short(value: float) -> str:
    """A number as it is said in a formula: six digits, no powers of ten."""
    if value and abs(value) < 1e-4:
        return numerals.scientific(value)
    return f"{value:,.0f}" if abs(value) >= 1e5 else significant(value, 6)
