"""Tables of the Layers page: numbers by token, as HTML with the selected token marked, and as data frames."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pandas as pd

from viz_transformer.analysis.attention.maps import added_padding
from viz_transformer.analysis.layers.sublayers import Flow, tokens_of
from viz_transformer.figures import labels
from viz_transformer.model.kinds import SIDE_OF, StackName
from viz_transformer.ui.frame import text
from viz_transformer.ui.frame.drawn import Drawn, Markup, Numbers, TableButton, Text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.layers import words
from viz_transformer.ui.session.runs import RunView

MAX_ROWS = 200
LONGEST = 24
RATIOS = (words.SHARE, words.CHANGED, words.COSINE)
"""Columns that have no number of a vector of zeros, or of two that have other features."""


def heading(name: str, both: Runs) -> str:
    """The heading of a table, with the run that its numbers are of where there are two."""
    return words.heading(name, "" if both.b is None else both.main.name)


def draw_tokens(
    shown: RunView,
    chosen: Chosen,
    columns: Sequence[tuple[str, Any, int]],
    *,
    foot: Sequence[tuple[str, Sequence[str]]] = (),
    note: str,
    name: str,
    key: str,
) -> Iterator[Drawn]:
    """A row for each token that is not padding; the selected one is marked. Shares carry a grey bar.

    columns: names, values by token and digits. note, name, key: of the table of all numbers, which a button opens.
    """
    stack, token = chosen["stack"], chosen["token"]
    drawn = drawn_rows(shown, stack)
    body = []
    for row in drawn:
        numbers = {name: float(values[row]) for name, values, _ in columns}
        lost = any(value != value for name, value in numbers.items() if name not in RATIOS)
        cells = "".join(_number_cell(name, numbers[name], digits, lost=lost) for name, _, digits in columns)
        mark = ' class="vt-ly-chosen"' if row == token else ""
        body.append(f"<tr{mark}>{row_head(shown, stack, row)}{cells}</tr>")
    feet = "".join(f"<tr>{text.cells([name], 'th')}{text.cells(values)}</tr>" for name, values in foot)
    head = text.cells([words.TOKEN, *(name for name, _, _ in columns)], "th")
    yield scrolled(
        '<table class="vt-layers"><thead>'
        f"<tr>{head}</tr></thead><tbody>{''.join(body)}</tbody><tfoot>{feet}</tfoot></table>"
    )
    yield from describe_left_out(shown, stack, drawn)
    frame = partial(flow_table, shown, stack, [(name, values) for name, values, _ in columns])
    yield TableButton(numbers=Numbers(frame=frame, note=note, name=name), key=key)


def scrolled(table: str) -> Markup:
    """A table that is scrolled in its place."""
    return Markup(html=text.Html(f'<div class="vt-ly-scroll" tabindex="0">{table}</div>'))


def _number_cell(name: str, value: float, digits: int, *, lost: bool) -> str:
    """lost: some number of the row is NaN, which is said; else what has none is undefined, of a vector of zeros."""
    if value != value:
        return f"<td>{words.NAN if lost else words.UNDEFINED}</td>"
    begin = f'<td class="vt-ly-bar" style="--p: {value:.4f}">' if name in (words.SHARE, words.ACTIVE) else "<td>"
    return f"{begin}{html.escape(labels.number(value, digits))}</td>"


def row_head(shown: RunView, stack: StackName, row: int) -> str:
    """A position and its token; for unknown text, what was typed and what the model reads in its place."""
    tokens = tokens_of(shown.trace, stack)
    token, typed = tokens.tokens[row], tokens.originals[row]
    noted = ""
    if typed and typed.lower() != token.lower():
        noted = f'<bdi class="vt-ly-typed">{html.escape(labels.shorten(labels.visible(typed), LONGEST))}</bdi>'
    return f'<th><span class="vt-ly-at">{row}</span>{noted}{token_html(token, stack)}</th>'


def token_html(token: str, stack: StackName = "decoder") -> str:
    ink = SIDE_OF[stack].name
    return f'<bdi class="vt-ly-token vt-ly-{ink}">{html.escape(labels.shorten(labels.visible(token), LONGEST))}</bdi>'


def token_name(shown: RunView, stack: StackName, row: int) -> str:
    """What the model reads at a position."""
    return tokens_of(shown.trace, stack).tokens[row]


def drawn_rows(shown: RunView, stack: StackName, among: range | None = None) -> list[int]:
    """The positions, or those `among` them, that have a row: no padding, and the first 200 of a long text."""
    padding = added_padding(tokens_of(shown.trace, stack))
    return [row for row in among or range(len(padding)) if not padding[row]][:MAX_ROWS]


def describe_left_out(shown: RunView, stack: StackName, drawn: Sequence[int]) -> Iterator[Text]:
    """Which tokens have no row."""
    padding = added_padding(tokens_of(shown.trace, stack))
    own = int((~padding).sum())
    if padding.any():
        yield Text(said=words.padding_left_out(int(padding.sum())))
    if own > len(drawn):
        yield Text(said=words.first_tokens(len(drawn), own))


def flow_table(shown: RunView, stack: StackName, columns: Sequence[tuple[str, Any]]) -> pd.DataFrame:
    """Columns of numbers by token, padding included."""
    return pd.DataFrame(dict(columns), index=token_index(shown, stack))


def stream_table(shown: RunView, stack: StackName, found: Sequence[Flow]) -> pd.DataFrame:
    """Every number of the stream: a row for each token and sub-layer."""
    columns = words.STREAM if shown.trace.spec.norm == "pre" else {**words.STREAM, "read": words.READ}
    parts = []
    for flow in found:
        part = pd.DataFrame(
            {said: getattr(flow, name) for name, said in columns.items()}, index=token_index(shown, stack)
        )
        part.insert(0, words.SUB_LAYER, flow.place.short)
        part[words.BASELINE] = flow.baseline
        parts.append(part)
    return pd.concat(parts)


def token_index(shown: RunView, stack: StackName) -> Any:
    tokens = tokens_of(shown.trace, stack).tokens
    return pd.Index([f"{row} {labels.visible(token)}" for row, token in enumerate(tokens)], name=words.TOKEN)
