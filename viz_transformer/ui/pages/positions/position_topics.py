"""What is below the table of positions: its steps, products and distance, shift as rotation, and wavelengths."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
from viz_transformer.ui.frame import controls, frame, pictures, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.positions import orders_view, words
from viz_transformer.ui.pages.positions.fields import FIELDS
from viz_transformer.ui.pages.positions.view import Table, chart, height, numbers_frame, short

SWITCHED = "positions_topic_switched"  # how often; only in the session
BESIDE = 420  # pixels of two tables beside each other
ALL_COLUMNS, LISTED = 8, 10
"""Tables with so few columns are written out in full; so many rows are listed."""


def topic_control() -> str:
    """The topics below the picture."""
    chosen: str = FIELDS.now().pos_topic
    with st.container(key="pos_topics"):
        controls.buttons(words.TOPIC, words.TOPICS, "pos_topic", key="pos_topic", hidden=True, taken=_switched)
    return chosen


def _switched(chosen: str) -> str:
    """Another topic was chosen: it is brought into view."""
    st.session_state[SWITCHED] = st.session_state.get(SWITCHED, 0) + 1
    return chosen


def topic(table: Table, chosen: str) -> Question | None:
    """The chosen one of `words.TOPICS`; returns its question, None where that is the page's own."""
    drawn: Mapping[str, Callable[[Table], Question | None]] = {
        "steps": steps,
        "distance": distance,
        "shift": shift,
        "waves": waves,
        "orders": lambda table: orders_view.orders(table.shown),
    }
    with frame.optional_section(words.OTHER_ORDER):
        return drawn[chosen](table)
    return None


def steps(table: Table) -> None:
    """The derivation, for one number large and for some in tables; of one without a formula the lengths of its rows."""
    if table.derived is None:
        _row_lengths(table)
        return
    derived, position, column = table.derived, table.marks.position, table.picked[len(table.picked) // 2]
    width = table.values.shape[1]
    index, denominator = int(derived.index[column]), float(derived.denominator[column])
    argument, encoding = float(derived.argument[position, column]), float(derived.encoding[position, column])
    function = "cos" if column % 2 else "sin"
    st.html(
        '<div class="vt-ladder">'
        + "".join(
            f"<div><span>{number} {html.escape(name)}</span><code>{html.escape(formula)}</code><b>{value}</b></div>"
            for number, name, formula, value in (
                (1, words.INDEX, words.INDICES[table.scheme], index),
                (2, words.DENOMINATOR, f"10000^(2·{index}/{width})", short(denominator)),
                (3, words.POSITION_STEP, words.OF_TOKEN, position),
                (4, words.ARGUMENT, f"{position} / {short(denominator)}", short(argument)),
                (5, words.ENCODING, f"{function}({short(argument)})", _escaped(encoding)),
            )
        )
        + "</div>"
    )
    text.paragraph(words.derived_number(position, _token(table), column, _agreement(table)), tone=_tone(table))
    columns = [*range(width)] if width <= ALL_COLUMNS else [*table.picked]
    rows = listed(position, len(table.values))
    st.html(steps_html(derived, columns, rows, position))
    pictures.table_button(
        lambda: numbers_frame(derived.argument),
        note=words.ARGUMENT_NOTE,
        name=labels.file_name("positions", "argument", table.scheme, str(width)),
        key="pos_arguments",
    )


def _token(table: Table) -> str:
    side = SIDE_OF[table.stack].of(table.shown.trace.src, table.shown.trace.tgt)
    return labels.shorten(labels.visible(side.tokens[table.marks.position]), 40)


def _agreement(table: Table) -> str:
    """Whether step 5 is the model's table, and whether the run added its rows: both compared number by number."""
    if not table.is_own or table.own is None or table.derived is None:
        return words.NOT_OWN
    found = agreement(table.derived.table, table.own)
    said = words.step_5(found.count, found.differing, scientific(found.largest), found.to_float32)
    if table.added is None:
        return said
    run = agreement(table.added, table.own)
    return f"{said} {words.added_rows(len(table.added), scientific(run.largest) if run.differing else None)}"


def _tone(table: Table) -> text.Tone:
    if not table.is_own or table.own is None or table.derived is None:
        return "plain"
    return "ok" if agreement(table.derived.table, table.own).to_float32 else "bad"


def listed(position: int, length: int) -> range:
    """The positions that are written out: at most LISTED, `position` among them."""
    start = max(0, min(position - LISTED // 2, length - LISTED))
    return range(start, min(length, start + LISTED))


def steps_html(derived: Derivation, columns: Sequence[int], rows: Sequence[int], position: int) -> str:
    """Steps 1 and 2 as rows over the columns, then steps 3 and 4 beside step 5; the selected position is marked."""
    dimensions = _cells("th", columns, str)
    index = _cells("td", columns, lambda column: str(derived.index[column]))
    denominator = _cells("td", columns, lambda column: short(float(derived.denominator[column])))
    function = _cells("td", columns, lambda column: "cos" if column % 2 else "sin")
    first = (
        f"<tr><th>{words.DIMENSION}</th>{dimensions}</tr><tr><th>{words.INDEX_ROW}</th>{index}</tr>"
        f"<tr><th>{words.DENOMINATOR_ROW}</th>{denominator}</tr><tr><th>{words.FUNCTION}</th>{function}</tr>"
    )

    def body(values: NDArray[Any]) -> str:
        return "".join(
            f"<tr{' class=vt-here' if row == position else ''}><th>{row}</th>"
            + _cells("td", columns, lambda column, row=row: numerals.share(float(values[row, column])))  # type: ignore[misc]
            + "</tr>"
            for row in rows
        )

    tables = ((words.ARGUMENT_TABLE, derived.argument), (words.ENCODING_TABLE, derived.encoding))
    return (
        f'<table class="vt-steps">{first}</table><div class="vt-beside">'
        + "".join(
            f'<table class="vt-steps"><caption>{caption}</caption><tr><th>{words.ROW}</th>{dimensions}</tr>'
            f"{body(values)}</table>"
            for caption, values in tables
        )
        + "</div>"
    )


def _cells(tag: str, columns: Sequence[int], said: Callable[[int], str]) -> str:
    return "".join(f"<{tag}>{html.escape(said(column))}</{tag}>" for column in columns)


def _row_lengths(table: Table) -> None:
    text.paragraph(f"{words.RANDOM_AT_FIRST if table.is_trained else words.OTHER_STEPS} {words.CHOOSE_STANDARD}")
    marks = table.marks if table.is_trained else replace(table.marks, trained=None)
    title = words.row_lengths_title(table.is_trained)
    figure = row_lengths(row_norms(table.values), marks, title=title, theme=frame.theme())
    chart(figure, key="pos_row_lengths", alt=words.row_lengths_alt(table.is_trained))


def distance(table: Table) -> Question:
    """Products of rows against the distance between them."""
    frequency = None if table.derived is None else table.derived.frequency
    found = products(table.values, table.marks.position, frequency)
    figure = product_curves(found, title=words.PRODUCTS_TITLE, theme=frame.theme(), height=height(400))
    asked = pictures.table(
        lambda: _products_frame(found),
        note=words.note(table.shown.caption(words.products_with(found.position))),
        name=labels.file_name(table.shown.summary.name, "position", "products"),
        key="pos_products",
    )
    chart(figure, key="pos_products", alt=words.PRODUCTS_ALT, on_table=asked)
    if found.error is None:
        spread = numerals.significant(found.spread)
        text.paragraph(words.products_of_none(table.is_trained, spread))
        return Question(words.ASKS_DISTANCE, words.other_products(spread))
    error, itself = scientific(found.error), float(found.from_position[found.position])
    text.paragraph(words.products_of_formula(error, table.values.shape[1] // 2))
    return Question(words.ASKS_DISTANCE, words.same_products(error, found.position, numerals.significant(itself)))


def _products_frame(found: Products) -> pd.DataFrame:
    places = abs(found.distance)
    columns = {words.DISTANCE: found.distance, words.product_column(found.position): found.from_position}
    columns |= {words.LOW: found.low[places], words.MEAN: found.mean[places], words.HIGH: found.high[places]}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(places), name=words.ROW))


def shift(table: Table) -> Question | None:
    """Each pair of columns turned by the shift, beside the row that is there."""
    if table.derived is None:
        text.paragraph(words.no_frequencies(table.is_trained))
        return Question(words.asks_shift(FIELDS.now().pos_shift), words.NO_ROTATION)
    position, last, width = table.marks.position, len(table.values) - 1, table.values.shape[1]
    most = last - position
    if most < 1:
        text.paragraph(words.last_position(position))
        return None
    shifts = range(1, most + 1)
    with st.container(key="pos_shift_tools"):
        control = controls.Control[int](
            field="pos_shift", label=words.SHIFT, options=lambda shown: shifts, unset=1, box=True, width=130
        )
        by = control.draw(table.shown)
    found = rotation(table.values, table.derived.frequency, by)
    pairs = [*dict.fromkeys(column // 2 for column in table.picked)]
    figure = turned_pairs(
        [(f"{2 * pair}, {2 * pair + 1}", table.values[:, 2 * pair : 2 * pair + 2]) for pair in pairs],
        position,
        by,
        title=words.turned_title(position, position + by),
        theme=frame.theme(),
    )
    chart(figure, key="pos_turned", alt=words.turned_alt(position, position + by))
    st.html(rotation_html(table.values, found, pairs, position))
    text.paragraph(
        words.one_matrix(width, by, len(found.turned), scientific(found.error), scientific(2.0**-25)),
        tone="ok" if found.error < 1e-6 else "bad",
    )
    return Question(words.asks_shift(by), words.is_rotation(scientific(found.error)))


def _escaped(value: float) -> str:
    """A sine or a cosine with six decimals."""
    return html.escape(numerals.share(value, 6))


def rotation_html(values: Float32, found: Rotation, pairs: Sequence[int], position: int) -> str:
    """A row for each pair: its angle, its matrix, the pair before, turned, in the table, and the difference."""

    def vector(numbers: NDArray[Any]) -> str:
        return "<br>".join(_escaped(number) for number in numbers)

    body = ""
    for pair in pairs:
        at = slice(2 * pair, 2 * pair + 2)
        turned, stored = found.turned[position, at], values[position + found.shift, at]
        matrix = "<br>".join(
            " ".join(html.escape(numerals.share(number, 6).rjust(9)) for number in row) for row in found.matrix(pair)
        )
        cells = (
            f"{2 * pair}, {2 * pair + 1}",
            f"{short(float(found.angle[pair]))} rad",
            f'<span class="vt-matrix">{matrix}</span>',
            vector(values[position, at]),
            vector(turned),
            vector(stored),
            f"{scientific(abs(turned - stored).max())}",
        )
        body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    names = "".join(f"<th>{name}</th>" for name in words.rotation_head(position, position + found.shift))
    return f'<table class="vt-steps vt-rotation"><tr>{names}</tr>{body}</table>'


def waves(table: Table) -> Question:
    """The wavelengths of both exponents, and both tables beside each other."""
    length, width = table.values.shape
    width += width % 2
    both = {name: derivation(length, width, doubled=name == "doubled") for name in ("standard", "doubled")}
    if table.derived is None or table.own is None:
        text.paragraph(words.NO_WAVELENGTHS if table.derived is None else words.NO_WAVELENGTHS_WITHOUT_POSITIONS)
    strong = table.scheme if table.scheme in both else "standard"
    left, right = st.columns([2, 3], gap="medium")
    with left:
        figure = wavelength_curves(
            {words.TABLES[name]: wavelengths(width, doubled=name == "doubled") for name in both},
            length,
            shown=words.TABLES[strong],
            title=words.WAVELENGTHS,
            whose=words.THE_TABLE,
            theme=frame.theme(),
            height=height(420),
        )
        chart(
            figure,
            key="pos_waves",
            alt=words.WAVES_ALT,
        )
    with right, st.container(key="pos_beside"):
        for column, (name, each) in zip(st.columns(2, gap="small"), both.items(), strict=True):
            title = words.of_both(words.SHORT_TABLES[name], length, width)
            made = table_picture(each.table, Meta(title, *frame.saved_as(title)))  # both reach from -1 to 1
            with column:
                data = made.with_meta(most=1.0, paired=True).pack(height=BESIDE, exact=True, why=())
                asked = pictures.table(made.table, note=made.note, name=made.meta.name, key=f"pos_beside_{name}")
                matrix(data, key=f"pos_beside_{name}", on_table=asked)
    head = ("", words.WAVES_HEAD, words.less_than_once(length), words.still(STILL))
    rows = ""
    for name, each in both.items():
        found, turns = movement(each), wavelengths(width, doubled=name == "doubled")
        cells = (
            words.span(short(float(turns[0])), short(float(turns[-1]))),
            words.of_dimensions(found.below_one_turn, found.columns),
            words.of_dimensions(found.still, found.columns),
        )
        rows += f"<tr><th>{words.TABLES[name]}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    st.html(f'<table class="vt-steps">{"".join(f"<th>{name}</th>" for name in head)}{rows}</table>')
    text.paragraph(words.AS_D_MODEL_GROWS)
    found, turns = movement(both[strong]), wavelengths(width, doubled=strong == "doubled")
    first, last = (numerals.number(turns[at], 0 if turns[at] >= 100 else 2, ",") for at in (0, -1))
    return Question(words.ASKS_WAVES, words.turns(first, last, found.below_one_turn, found.columns, length))
