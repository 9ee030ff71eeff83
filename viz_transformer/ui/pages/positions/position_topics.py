"""What is below the table of positions: its steps, products and distance, shift as rotation, and wavelengths."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from viz_transformer import numerals
from viz_transformer.analysis.attention.picture import Meta
from viz_transformer.analysis.positions.pictures import table_picture
from viz_transformer.analysis.positions.table import (
    STILL,
    Derivation,
    Float32,
    Products,
    Rotation,
    agreement,
    derivation,
    movement,
    products,
    rotation,
    row_norms,
    wavelengths,
)
from viz_transformer.figures import labels
from viz_transformer.figures.distances import product_curves, turned_pairs, wavelength_curves
from viz_transformer.figures.positions import row_lengths
from viz_transformer.model.kinds import SIDE_OF
from viz_transformer.numerals import scientific
from viz_transformer.ui.components.pictures import matrix
from viz_transformer.ui.components.reveal import bring_into_view
from viz_transformer.ui.frame import controls, frame, text
from viz_transformer.ui.frame.drawn import (
    Chart,
    Columns,
    Component,
    Drawn,
    Markup,
    Numbers,
    Table,
    TableButton,
    Text,
    Widget,
)
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.positions import words
from viz_transformer.ui.pages.positions.choices import SIZE, PositionTable, height, numbers_frame, read_table, short
from viz_transformer.ui.pages.positions.fields import FIELDS
from viz_transformer.ui.pages.positions.orders_view import ask_orders, draw_orders
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

SWITCHED = "positions_topic_switched"  # how often; only in the session
BESIDE = 420  # pixels of two tables beside each other
ALL_COLUMNS, LISTED = 8, 10
"""Tables with so few columns are written out in full; so many rows are listed."""


def draw_choice() -> None:
    """The topics below the picture."""
    controls.buttons(words.TOPIC, words.TOPICS, "pos_topic", key="pos_topic", hidden=True, taken=_switched)


def _switched(chosen: str) -> str:
    """Another topic was chosen: it is brought into view."""
    st.session_state[SWITCHED] = st.session_state.get(SWITCHED, 0) + 1
    return chosen


def bring_topics_into_view() -> None:
    """Scrolls to the topics after another one was chosen."""
    if SWITCHED in st.session_state:
        bring_into_view("pos_topics", st.session_state[SWITCHED])


# ---- five steps


def draw_steps(table: PositionTable) -> Iterator[Drawn]:
    """The derivation, for one number large and for some in tables; of one without a formula the lengths of its rows."""
    if table.derived is None:
        yield from _draw_row_lengths(table)
        return
    derived, position, column = table.derived, table.marks.position, table.picked[len(table.picked) // 2]
    width = table.values.shape[1]
    index, denominator = int(derived.index[column]), float(derived.denominator[column])
    argument, encoding = float(derived.argument[position, column]), float(derived.encoding[position, column])
    function = "cos" if column % 2 else "sin"
    steps = (
        (words.INDEX, words.INDICES[table.scheme], f"{index}"),
        (words.DENOMINATOR, f"10000^(2·{index}/{width})", short(denominator)),
        (words.POSITION_STEP, words.OF_TOKEN, f"{position}"),
        (words.ARGUMENT, f"{position} / {short(denominator)}", short(argument)),
        (words.ENCODING, f"{function}({short(argument)})", numerals.share(encoding, 6)),
    )
    yield Markup(html=text.ladder(steps))
    yield Text(said=words.derived_number(position, _token(table), column, _agreement(table)), tone=_tone(table))
    columns = [*range(width)] if width <= ALL_COLUMNS else [*table.picked]
    yield Markup(html=tabulate_steps(derived, columns, listed(position, len(table.values)), position))
    numbers = Numbers(
        frame=lambda: numbers_frame(derived.argument),
        note=words.ARGUMENT_NOTE,
        name=labels.file_name("positions", "argument", table.scheme, str(width)),
    )
    yield TableButton(numbers=numbers, key="pos_arguments")


def _token(table: PositionTable) -> str:
    side = SIDE_OF[table.stack].of(table.shown.trace.src, table.shown.trace.tgt)
    return labels.shorten(labels.visible(side.tokens[table.marks.position]), 40)


def _agreement(table: PositionTable) -> str:
    """Whether step 5 is the model's table, and whether the run added its rows: both compared number by number."""
    if not table.is_own or table.own is None or table.derived is None:
        return words.NOT_OWN
    found = agreement(table.derived.table, table.own)
    said = words.step_5(found.count, found.differing, scientific(found.largest), found.to_float32)
    if table.added is None:
        return said
    run = agreement(table.added, table.own)
    return f"{said} {words.added_rows(len(table.added), scientific(run.largest) if run.differing else None)}"


def _tone(table: PositionTable) -> text.Tone:
    if not table.is_own or table.own is None or table.derived is None:
        return "plain"
    return "ok" if agreement(table.derived.table, table.own).to_float32 else "bad"


def listed(position: int, length: int) -> range:
    """The positions that are written out: at most LISTED, `position` among them."""
    start = max(0, min(position - LISTED // 2, length - LISTED))
    return range(start, min(length, start + LISTED))


def tabulate_steps(derived: Derivation, columns: Sequence[int], rows: Sequence[int], position: int) -> text.Html:
    """Steps 1 and 2 as rows over the columns, then steps 3 and 4 beside step 5; the selected position is marked."""
    named = [str(column) for column in columns]
    first = (
        (words.INDEX_ROW, *(str(derived.index[column]) for column in columns)),
        (words.DENOMINATOR_ROW, *(short(float(derived.denominator[column])) for column in columns)),
        (words.FUNCTION, *("cos" if column % 2 else "sin" for column in columns)),
    )
    beside = [
        text.table(
            ((str(row), *(numerals.share(float(values[row, column])) for column in columns)) for row in rows),
            head=(words.ROW, *named),
            style="vt-steps",
            caption=caption,
            attributes=({"class": "vt-here" * (row == position)} for row in rows),
        )
        for caption, values in ((words.ARGUMENT_TABLE, derived.argument), (words.ENCODING_TABLE, derived.encoding))
    ]
    return text.Html(
        f"{text.table(first, head=(words.DIMENSION, *named), style='vt-steps')}"
        f'<div class="vt-beside">{"".join(beside)}</div>'
    )


def _draw_row_lengths(table: PositionTable) -> Iterator[Drawn]:
    yield Text(said=f"{words.RANDOM_AT_FIRST if table.is_trained else words.OTHER_STEPS} {words.CHOOSE_STANDARD}")
    marks = table.marks if table.is_trained else replace(table.marks, trained=None)
    title = words.row_lengths_title(table.is_trained)
    yield Chart(
        figure=lambda theme: row_lengths(row_norms(table.values), marks, title=title, theme=theme),
        alt=words.row_lengths_alt(table.is_trained),
        key="pos_row_lengths",
        size=SIZE,
    )


# ---- product and distance


def draw_distance(table: PositionTable) -> Iterator[Drawn]:
    """Products of rows against the distance between them."""
    found = _find_products(table)
    numbers = Numbers(
        frame=lambda: _products_frame(found),
        note=words.note(table.shown.caption(words.products_with(found.position))),
        name=labels.file_name(table.shown.summary.name, "position", "products"),
    )
    yield Chart(
        figure=lambda theme: product_curves(found, title=words.PRODUCTS_TITLE, theme=theme, height=height(400)),
        alt=words.PRODUCTS_ALT,
        numbers=numbers,
        key="pos_products",
        size=SIZE,
    )
    if found.error is None:
        yield Text(said=words.products_of_none(table.is_trained, numerals.significant(found.spread)))
    else:
        yield Text(said=words.products_of_formula(scientific(found.error), table.values.shape[1] // 2))


def ask_distance(table: PositionTable) -> Question:
    """Whether products depend only on the distance."""
    found = _find_products(table)
    if found.error is None:
        return Question(words.ASKS_DISTANCE, words.other_products(numerals.significant(found.spread)))
    itself = numerals.significant(float(found.from_position[found.position]))
    return Question(words.ASKS_DISTANCE, words.same_products(scientific(found.error), found.position, itself))


_products = memoize(8)(products)


def _find_products(table: PositionTable) -> Products:
    return _products(table.values, table.marks.position, None if table.derived is None else table.derived.frequency)


def _products_frame(found: Products) -> pd.DataFrame:
    places = abs(found.distance)
    columns = {words.DISTANCE: found.distance, words.product_column(found.position): found.from_position}
    columns |= {words.LOW: found.low[places], words.MEAN: found.mean[places], words.HIGH: found.high[places]}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(places), name=words.ROW))


# ---- shift as rotation


def _list_shifts(table: PositionTable) -> range:
    """By how much the chosen row can be shifted; empty for the last one."""
    return range(1, len(table.values) - table.marks.position)


SHIFT: controls.Control[int] = controls.Control(
    field="pos_shift",
    label=words.SHIFT,
    options=lambda shown: _list_shifts(read_table(shown)),
    unset=1,
    box=True,
    width=130,
)


def _draw_shift(shown: RunView) -> None:
    with st.container(key="pos_shift_tools"):
        SHIFT.draw(shown)


def draw_shift(table: PositionTable) -> Iterator[Drawn]:
    """Each pair of columns turned by the shift, beside the row that is there."""
    if table.derived is None:
        yield Text(said=words.no_frequencies(table.is_trained))
        return
    position, width = table.marks.position, table.values.shape[1]
    if not _list_shifts(table):
        yield Text(said=words.last_position(position))
        return
    yield Widget(put=partial(_draw_shift, table.shown))
    by = SHIFT.value(table.shown)
    found = rotation(table.values, table.derived.frequency, by)
    pairs = [*dict.fromkeys(column // 2 for column in table.picked)]
    yield Chart(
        figure=lambda theme: turned_pairs(
            [(f"{2 * pair}, {2 * pair + 1}", table.values[:, 2 * pair : 2 * pair + 2]) for pair in pairs],
            position,
            by,
            title=words.turned_title(position, position + by),
            theme=theme,
        ),
        alt=words.turned_alt(position, position + by),
        key="pos_turned",
        size=SIZE,
    )
    yield tabulate_rotation(table.values, found, pairs, position)
    yield Text(
        said=words.one_matrix(width, by, len(found.turned), scientific(found.error), scientific(2.0**-25)),
        tone="ok" if found.error < 1e-6 else "bad",
    )


def ask_shift(table: PositionTable) -> Question | None:
    """Whether one matrix shifts every row; None where there is no later row."""
    if table.derived is None:
        return Question(words.asks_shift(FIELDS.now().pos_shift), words.NO_ROTATION)
    if not _list_shifts(table):
        return None
    by = SHIFT.value(table.shown)
    found = rotation(table.values, table.derived.frequency, by)
    return Question(words.asks_shift(by), words.is_rotation(scientific(found.error)))


def tabulate_rotation(values: Float32, found: Rotation, pairs: Sequence[int], position: int) -> Table:
    """A row for each pair: its angle, its matrix, the pair before, turned, in the table, and the difference."""

    def vector(numbers: NDArray[Any]) -> text.Html:
        return text.Html("<br>".join(html.escape(numerals.share(number, 6)) for number in numbers))

    rows = []
    for pair in pairs:
        at = slice(2 * pair, 2 * pair + 2)
        turned, stored = found.turned[position, at], values[position + found.shift, at]
        matrix = "<br>".join(
            " ".join(html.escape(numerals.share(number, 6).rjust(9)) for number in row) for row in found.matrix(pair)
        )
        rows.append(
            (
                f"{2 * pair}, {2 * pair + 1}",
                f"{short(float(found.angle[pair]))} rad",
                text.Html(f'<span class="vt-matrix">{matrix}</span>'),
                vector(values[position, at]),
                vector(turned),
                vector(stored),
                scientific(abs(turned - stored).max()),
            )
        )
    head = words.rotation_head(position, position + found.shift)
    return Table(head=head, rows=rows, style="vt-steps vt-rotation", first="td")


# ---- wavelengths


def _derive_both(table: PositionTable) -> dict[str, Derivation]:
    """The tables of both exponents, as large as this one."""
    length, width = table.values.shape
    return {name: derivation(length, width + width % 2, doubled=name == "doubled") for name in words.TABLES}


def _find_strong(table: PositionTable) -> str:
    return table.scheme if table.scheme in words.TABLES else "standard"


def draw_waves(table: PositionTable) -> Iterator[Drawn]:
    """The wavelengths of both exponents, and both tables beside each other."""
    both, (length, width) = _derive_both(table), table.values.shape
    width += width % 2
    if table.derived is None or table.own is None:
        yield Text(said=words.NO_WAVELENGTHS if table.derived is None else words.NO_WAVELENGTHS_WITHOUT_POSITIONS)
    turns = {name: wavelengths(width, doubled=name == "doubled") for name in both}
    curves = Chart(
        figure=lambda theme: wavelength_curves(
            {words.TABLES[name]: each for name, each in turns.items()},
            length,
            shown=words.TABLES[_find_strong(table)],
            title=words.WAVELENGTHS,
            whose=words.THE_TABLE,
            theme=theme,
            height=height(420),
        ),
        alt=words.WAVES_ALT,
        key="pos_waves",
        size=SIZE,
    )
    tables = Columns(parts=[(_draw_beside(name, each),) for name, each in both.items()], gap="small", key="pos_beside")
    yield Columns(parts=((curves,), (tables,)), widths=(2, 3))
    rows = []
    for name, each in both.items():
        found = movement(each)
        rows.append(
            (
                words.TABLES[name],
                words.span(short(float(turns[name][0])), short(float(turns[name][-1]))),
                words.of_dimensions(found.below_one_turn, found.columns),
                words.of_dimensions(found.still, found.columns),
            )
        )
    head = ("", words.WAVES_HEAD, words.less_than_once(length), words.still(STILL))
    yield Table(head=head, rows=rows, style="vt-steps")
    yield Text(said=words.AS_D_MODEL_GROWS)


def _draw_beside(name: str, derived: Derivation) -> Component:
    """One of two tables beside each other."""
    title = words.of_both(words.SHORT_TABLES[name], *derived.table.shape)
    made = table_picture(derived.table, Meta(title, *frame.saved_as(title)))
    data = made.with_meta(most=1.0, paired=True).pack(height=BESIDE, exact=True, why=())  # both reach from -1 to 1
    numbers = Numbers(frame=made.table, note=made.note, name=made.meta.name)
    return Component(draw=matrix, data=data, key=f"pos_beside_{name}", numbers=numbers)


def ask_waves(table: PositionTable) -> Question:
    """How fast the dimensions turn."""
    name, both = _find_strong(table), _derive_both(table)
    length, width = both[name].table.shape
    found, turns = movement(both[name]), wavelengths(width, doubled=name == "doubled")
    first, last = (numerals.number(turns[at], 0 if turns[at] >= 100 else 2, ",") for at in (0, -1))
    return Question(words.ASKS_WAVES, words.turns(first, last, found.below_one_turn, found.columns, length))


TOPICS: Mapping[str, tuple[Callable[[PositionTable], Iterable[Drawn]], Callable[[PositionTable], Question | None]]] = {
    "steps": (draw_steps, lambda table: None),
    "distance": (draw_distance, ask_distance),
    "shift": (draw_shift, ask_shift),
    "waves": (draw_waves, ask_waves),
    "orders": (lambda table: draw_orders(table.shown), lambda table: ask_orders(table.shown)),
}
"""What is drawn of each of `words.TOPICS`, and its question: None where it is the page's own."""
