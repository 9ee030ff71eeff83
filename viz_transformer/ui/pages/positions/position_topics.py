"""What stands below the table of positions: its steps, products and distance, shift as rotation, and wavelengths."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from viz_transformer import numerals
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
from viz_transformer.figures.positions import row_lengths, tables_beside
from viz_transformer.model.kinds import SIDE_OF
from viz_transformer.numerals import scientific
from viz_transformer.ui.frame import controls, frame, pictures, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.positions import orders_view, words
from viz_transformer.ui.pages.positions.fields import FIELDS
from viz_transformer.ui.pages.positions.view import Table, chart, height, numbers_frame, short
from viz_transformer.ui.session import state

SWITCHED = "positions_topic_switched"  # how often; only in the session
ALL_COLUMNS, LISTED = 8, 10
"""Tables with so few columns are written out in full; so many rows are listed."""


def topic_control() -> str:
    """What stands below the picture."""
    chosen: str = FIELDS.now().pos_topic
    with st.container(key="pos_topics"):
        controls.buttons("Topic", words.TOPICS, "pos_topic", key="pos_topic", hidden=True, taken=_switched)
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
    with frame.told(words.OTHER_ORDER):
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
    counted = "i = 0, 0, 1, 1…" if table.scheme == "standard" else "i = 0, 0, 2, 2…"
    st.html(
        '<div class="vt-ladder">'
        + "".join(
            f"<div><span>{number} {html.escape(name)}</span><code>{html.escape(formula)}</code><b>{value}</b></div>"
            for number, name, formula, value in (
                (1, "index", counted, index),
                (2, "denominator", f"10000^(2·{index}/{width})", short(denominator)),
                (3, "position", "of the token", position),
                (4, "argument", f"{position} / {short(denominator)}", short(argument)),
                (5, "encoding", f"{function}({short(argument)})", _escaped(encoding)),
            )
        )
        + "</div>"
    )
    token = _token(table)
    text.paragraph(f"Position {position}{token}, dimension {column}. {_agreement(table)}", tone=_tone(table))
    columns = [*range(width)] if width <= ALL_COLUMNS else [*table.picked]
    rows = listed(position, len(table.values))
    st.html(steps_html(derived, columns, rows, position))
    pictures.table_button(
        lambda: numbers_frame(derived.argument),
        note="Step 4, the argument in radians: a row is a position, a column a dimension. Step 5 is the table above.",
        name=labels.file_name("positions", "argument", table.scheme, str(width)),
        key="pos_arguments",
    )


def _token(table: Table) -> str:
    side = SIDE_OF[table.stack].of(table.shown.trace.src, table.shown.trace.tgt)
    return f", where “{labels.shorten(labels.visible(side.tokens[table.marks.position]), 40)}” is"


def _agreement(table: Table) -> str:
    """Whether step 5 is the model's table, and whether the run added its rows: both compared number by number."""
    if not table.is_own or table.own is None or table.derived is None:
        return words.NOT_OWN
    found = agreement(table.derived.table, table.own)
    said = f"Step 5 and the model’s own table, {found.count:,} numbers: "
    if not found.differing:
        said += "identical as float32."
    elif found.to_float32:
        said += f"equal to float32, the largest difference {scientific(found.largest)} in {found.differing:,} of them."
    else:
        said += f"different, by up to {scientific(found.largest)}."
    if table.added is not None:
        run = agreement(table.added, table.own)
        said += (
            f" The {len(table.added)} rows that this run added are the table’s, number by number."
            if not run.differing
            else f" The rows that this run added differ from the table by up to {scientific(run.largest)}."
        )
    return said


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
        f"<tr><th>dimension</th>{dimensions}</tr><tr><th>1 index i</th>{index}</tr>"
        f"<tr><th>2 denominator</th>{denominator}</tr><tr><th>function</th>{function}</tr>"
    )

    def body(values: NDArray[Any]) -> str:
        return "".join(
            f"<tr{' class=vt-here' if row == position else ''}><th>{row}</th>"
            + _cells("td", columns, lambda column, row=row: numerals.share(float(values[row, column])))  # type: ignore[misc]
            + "</tr>"
            for row in rows
        )

    tables = (
        ("3 position, 4 argument: position / denominator", derived.argument),
        ("5 encoding: sin or cos of the argument", derived.encoding),
    )
    return (
        f'<table class="vt-steps">{first}</table><div class="vt-beside">'
        + "".join(
            f'<table class="vt-steps"><caption>{caption}</caption><tr><th>position</th>{dimensions}</tr>'
            f"{body(values)}</table>"
            for caption, values in tables
        )
        + "</div>"
    )


def _cells(tag: str, columns: Sequence[int], said: Callable[[int], str]) -> str:
    return "".join(f"<{tag}>{html.escape(said(column))}</{tag}>" for column in columns)


def _row_lengths(table: Table) -> None:
    text.paragraph(
        (
            "A learned table has no steps: each number is drawn at random when the model is made, and training moves it"
            " as all others. A row that no training text reaches keeps its random numbers, or shrinks with the decay of"
            " weights."
            if table.is_trained
            else "These steps are those of sines and cosines, which this table is not made of."
        )
        + " Choose the standard table above to see how a formula makes one."
    )
    kind = "learned " if table.is_trained else ""
    marks = table.marks if table.is_trained else replace(table.marks, trained=None)
    figure = row_lengths(row_norms(table.values), marks, title=f"Length of each {kind}row", theme=frame.theme())
    chart(figure, key="pos_row_lengths", alt=f"The length of each row of the {kind}table, by position")


def distance(table: Table) -> Question:
    """Products of rows against the distance between them."""
    frequency = None if table.derived is None else table.derived.frequency
    found = products(table.values, table.marks.position, frequency)
    figure = product_curves(
        found.distance,
        found.from_position,
        found.low,
        found.mean,
        found.high,
        position=found.position,
        title="Product of two rows against the distance between them",
        theme=frame.theme(),
        height=height(400),
    )
    asked = pictures.table(
        lambda: _products_frame(found),
        note=f"{table.shown.caption(f'products with position {found.position}')}.",
        name=labels.file_name(table.shown.summary.name, "position", "products"),
        key="pos_products",
    )
    chart(figure, key="pos_products", alt="Products of rows of the table against their distance", on_table=asked)
    if found.error is None:
        text.paragraph(
            f"In a {_kind(table)} two pairs at the same distance need not agree: here their products differ by up to"
            f" {numerals.significant(found.spread)}. The grey band holds all pairs of rows."
        )
    else:
        text.paragraph(
            "The product of rows p and p + k is the sum of cos(k / denominator) over all pairs: it knows the distance,"
            f" not the place. Over all pairs of rows the largest difference from that sum is {scientific(found.error)}."
            f" At distance 0 it is d_model / 2 = {table.values.shape[1] // 2}."
        )
    itself = float(found.from_position[found.position])
    most = numerals.significant(found.spread if found.error is None else itself)
    error = None if found.error is None else scientific(found.error)
    return Question(*words.of_distance(found.position, most, error))


def _kind(table: Table) -> str:
    """What a table without a formula of sines is called."""
    return "learned table" if table.is_trained else "table without sines and cosines"


def _products_frame(found: Products) -> pd.DataFrame:
    places = abs(found.distance)
    columns = {"distance": found.distance, f"product with {found.position}": found.from_position}
    columns |= {name: getattr(found, name)[places] for name in ("low", "mean", "high")}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(places), name="position"))


def shift(table: Table) -> Question | None:
    """Each pair of columns turned by the shift, beside the row that stands there."""
    if table.derived is None:
        text.paragraph(
            f"A {_kind(table)} has no frequencies, so no matrix turns every row into the one k positions later. Where"
            " it has fewer rows than columns some matrix always fits, which says nothing. Choose the standard table"
            " above to see the rotation."
        )
        return Question(*words.of_shift(FIELDS.now().pos_shift, None))
    position, last, width = table.marks.position, len(table.values) - 1, table.values.shape[1]
    most = last - position
    if most < 1:
        text.paragraph(f"Position {position} is the last of this table: choose an earlier one, or a longer table.")
        return None
    asked: int = FIELDS.now().pos_shift
    by = min(max(1, asked), most)
    with st.container(key="pos_shift_tools"):
        st.number_input(
            f"Shift k, 1 to {most}", 1, most, step=1, width=130, **state.bind("pos_shift", key="pos_shift", value=by)
        )
    found = rotation(table.values, table.derived.frequency, by)
    pairs = [*dict.fromkeys(column // 2 for column in table.picked)]
    figure = turned_pairs(
        [(f"{2 * pair}, {2 * pair + 1}", table.values[:, 2 * pair : 2 * pair + 2]) for pair in pairs],
        position,
        by,
        title=f"Position {position} (dot) turned into {position + by} (ring), pair by pair of dimensions",
        theme=frame.theme(),
    )
    chart(figure, key="pos_turned", alt=f"Pairs of dimensions turned from {position} to {position + by}")
    st.html(rotation_html(table.values, found, pairs, position))
    text.paragraph(
        f"One matrix of {width} × {width}, with such blocks on its diagonal, turns every row into the one {by} later."
        f" Over {len(found.turned):,} rows the largest difference from the table is {scientific(found.error)}; as"
        f" float32 the table itself is rounded by up to {scientific(2.0**-25)}.",
        tone="ok" if found.error < 1e-6 else "bad",
    )
    return Question(*words.of_shift(by, scientific(found.error)))


def _escaped(value: float) -> str:
    """A sine or a cosine with six decimals."""
    return html.escape(numerals.share(value, 6))


def rotation_html(values: Float32, found: Rotation, pairs: Sequence[int], position: int) -> str:
    """A row for each pair: its angle, its matrix, the pair before, turned, in the table, and the difference."""

    def vector(numbers: NDArray[Any]) -> str:
        return "<br>".join(_escaped(number) for number in numbers)

    head = ("dimensions", "angle k/denominator", "matrix", f"row {position}", "turned", f"row {position + found.shift}")
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
    names = "".join(f"<th>{name}</th>" for name in (*head, "difference"))
    return f'<table class="vt-steps vt-rotation"><tr>{names}</tr>{body}</table>'


def waves(table: Table) -> Question:
    """The wavelengths of both exponents, and both tables beside each other."""
    length, width = table.values.shape
    width += width % 2
    both = {name: derivation(length, width, doubled=name == "doubled") for name in ("standard", "doubled")}
    if table.derived is None or table.own is None:
        text.paragraph(
            "This model’s positions have no wavelengths; these are the formula’s, with as many dimensions."
            if table.derived is None
            else "This model adds no positions; these are the formula’s, with as many dimensions."
        )
    strong = table.scheme if table.scheme in both else "standard"
    left, right = st.columns([2, 3], gap="medium")
    with left:
        figure = wavelength_curves(
            {words.TABLES[name]: wavelengths(width, doubled=name == "doubled") for name in both},
            length,
            shown=words.TABLES[strong],
            title=words.WAVELENGTHS,
            theme=frame.theme(),
            height=height(420),
        )
        chart(
            figure,
            key="pos_waves",
            alt="Wavelength of each pair of dimensions, with the standard exponent and with it doubled",
        )
    with right:
        figure = tables_beside(
            {words.TABLES[name]: each.encoding for name, each in both.items()},
            title=f"Both tables, {length} × {width}",
            theme=frame.theme(),
            height=height(420),
        )
        chart(figure, key="pos_beside", alt="The table with the standard exponent and with it doubled")
    head = (
        "",
        "wavelength, in positions",
        f"turn less than once over {length} positions",
        f"move by less than {STILL}",
    )
    rows = ""
    for name, each in both.items():
        found, turns = movement(each), wavelengths(width, doubled=name == "doubled")
        cells = (
            f"{short(float(turns[0]))} to {short(float(turns[-1]))}",
            f"{found.below_one_turn} of {found.columns} dimensions",
            f"{found.still} of {found.columns} dimensions",
        )
        rows += f"<tr><th>{words.TABLES[name]}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    st.html(f'<table class="vt-steps">{"".join(f"<th>{name}</th>" for name in head)}{rows}</table>')
    text.paragraph(
        "With d_model growing, wavelengths reach from 2π = 6.283 towards 2π · 10⁴ = 62,832 positions; with the exponent"
        " doubled towards 2π · 10⁸, and half of the dimensions hardly move: they say little about where a token is."
    )
    found, turns = movement(both[strong]), wavelengths(width, doubled=strong == "doubled")
    first, last = (numerals.number(turns[at], 0 if turns[at] >= 100 else 2, ",") for at in (0, -1))
    return Question(*words.of_waves(first, last, found.below_one_turn, found.columns, length))
