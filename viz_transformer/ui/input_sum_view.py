"""Embedding x scale + position = input, as strips on one scale, with variances and the check number by number."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import streamlit as st

from viz_transformer.figures import labels
from viz_transformer.ui import frame, maps, pictures, state, text
from viz_transformer.ui.input_view import POSITION, Side, chart, tokens_of

if TYPE_CHECKING:
    import pandas as pd

    from viz_transformer.analysis.embeddings import InputSum
    from viz_transformer.ui.runs import Shown

ROWS = {"one": "One token", "all": "All tokens"}


def strips(shown: Shown, side: Side) -> None:
    """Embedding, position and input of one token or of all, as strips on one scale, with their variances."""
    from viz_transformer.figures.embeddings import Strip, input_strips

    read, field = tokens_of(shown, side), POSITION[side]
    chosen = state.selection()
    text.section("Embedding × scale + position = input")
    with st.container(horizontal=True, vertical_alignment="bottom", key="input_choices"):
        st.segmented_control(
            "Rows",
            [*ROWS],
            required=True,
            format_func=ROWS.__getitem__,
            label_visibility="collapsed",
            **state.bind("input_rows", key="input_rows"),
        )
        if chosen["input_rows"] == "one":
            st.selectbox(
                "Position",
                [*range(len(read))],
                format_func=lambda position: f"{position}: {labels.shorten(labels.visible(read.tokens[position]), 24)}",
                label_visibility="collapsed",
                width=220,
                **state.bind(field, key="input_position"),
            )
    row = chosen[field] if chosen["input_rows"] == "one" else None
    made = _input_sum(shown, side, row)
    parts = [(scaled_name(made.scale), made.scaled)]
    if made.position is not None:
        parts.append(("+ position", made.position))
    parts.append(("= input", made.out))
    names = [read.tokens[position] for position in made.rows]
    where = f"position {row}" if row is not None else f"{len(made.rows)} positions"
    stack = "encoder" if side == "source" else "decoder"
    figure = input_strips(
        [Strip(name, values) for name, values in parts],
        names,
        made.rows,
        side=side,
        title=f"{stack}.embed, {where}",
        theme=frame.theme(),
    )
    chart(figure, key="input_strips", alt=f"Embedding, position and input of {where} on one scale")
    st.html(_spread_table(made))
    _verdict(made)
    if made.position is None:
        text.paragraph("This model adds no positions: the scaled embedding is its input.")
    if row is not None:
        pictures.table(
            lambda: _strip_table(made),
            note=f"{shown.caption(f'{stack}.embed, position {row}')}. A row for each feature.",
            name=maps.file_name(shown.summary.name, stack, "embed", str(row)),
            key="input_table",
        )


def scaled_name(scale: float) -> str:
    """ "embedding × 16"; without the factor where it is 1."""
    return "embedding" if scale == 1 else f"embedding × {scale:.5g}"


def _input_sum(shown: Shown, side: Side, row: int | None) -> InputSum:
    from viz_transformer.analysis.embeddings import embedding_table, input_sum

    return input_sum(shown.trace, embedding_table(shown.ckpt, side), side, row)


def _spread_table(made: InputSum) -> str:
    """Mean and variances of each part of the sum."""
    from viz_transformer.analysis.embeddings import spread

    rows = [("embedding", made.embedding)]
    if made.scale != 1:
        rows.append((scaled_name(made.scale), made.scaled))
    rows += [] if made.position is None else [("position", made.position)]
    rows.append(("input", made.out))
    head = "".join(f"<th>{name}</th>" for name in ("", "mean", "variance", "variance, n − 1", "numbers"))
    body = ""
    for name, values in rows:
        found = spread(values)
        cells = (found.mean, found.variance, found.sample_variance)
        numbers = "".join(f"<td>{'–' if cell != cell else f'{cell:.4f}'}</td>" for cell in cells)
        body += f"<tr><th>{html.escape(name)}</th>{numbers}<td>{found.count:,}</td></tr>"
    return f'<table class="vt-facts vt-numbers"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _verdict(made: InputSum) -> None:
    """Whether the recorded input is the sum of what stands above it."""
    count = made.out.size
    added = "of the two strips above it" if made.position is not None else "above it"
    if made.exact:
        square = f" The scale multiplies the variance by {made.scale**2:.5g}." if made.scale != 1 else ""
        text.paragraph(
            f"Exact: all {count:,} recorded numbers of the input are the float32 sums {added}.{square}", tone="ok"
        )
    else:
        text.paragraph(
            f"Not the sum: the recorded input is up to {made.sum_error:.3g} away from it, and the scaled embedding up"
            f" to {made.scale_error:.3g} from the table times the scale.",
            tone="bad",
        )


def _strip_table(made: InputSum) -> pd.DataFrame:
    import pandas as pd

    columns = {"embedding": made.embedding[0], "embedding x scale": made.scaled[0]}
    if made.position is not None:
        columns["position"] = made.position[0]
    columns["input"] = made.out[0]
    return pd.DataFrame(columns).rename_axis("feature")
