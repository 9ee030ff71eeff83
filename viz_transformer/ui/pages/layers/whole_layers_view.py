"""The Layers page of a recording: what whole layers read and gave out, and the sentence for all that is not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz_transformer.analysis.attention.maps import attention_kinds
from viz_transformer.analysis.layers.sublayers import LayerFlow, layer_flows
from viz_transformer.figures import labels
from viz_transformer.figures.layers import Marked, Panel, Size, stream_chart
from viz_transformer.model.kinds import KINDS, SIDE_OF, StackName
from viz_transformer.ui.frame import controls, frame, pictures, projector, text
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.layers import words
from viz_transformer.ui.pages.layers.layers_tables import (
    chosen_token,
    flow_table,
    token_index,
    token_name,
    token_table,
)
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

PROJECTED = 1.4
"""By how much letters grow on a projector."""


@memoize(16)
def flows_of(shown: RunView, stack: StackName) -> tuple[LayerFlow, ...]:
    """What each layer of a stack did in this recording."""
    return layer_flows(shown.trace, stack)


def whole_layers(shown: RunView, why: str) -> None:
    """The chosen layer by token, and below it all layers of the stack; `why` says why not more."""
    chosen = state.SHARED.now()
    stack = KINDS[chosen.kind].stack
    found = flows_of(shown, stack)
    with st.container(key="layers_top"):
        with st.container(horizontal=True, key="layers_recorded"):
            controls.kind(attention_kinds(shown.trace), key="layers_kind")
            controls.layer(KINDS[chosen.kind].layers(shown.trace.spec), page="layers")
        text.paragraph(why)
        here = next((flow for flow in found if flow.layer == chosen.layer), None)
        if here is None:
            text.paragraph(words.no_layer(chosen.layer) if found else words.no_layers(stack))
        else:
            _by_token(shown, stack, here)
    if found:
        with st.container(key="layers_depth"):
            _along(shown, stack, found, here)


def ask(shown: RunView) -> Question | None:
    """Which layer turned the chosen token's vector most."""
    stack = KINDS[state.SHARED.now().kind].stack
    position = chosen_token(stack)
    found = [flow for flow in flows_of(shown, stack) if np.isfinite(flow.cosine[position])]
    if not found:
        return None
    most = min(found, key=lambda flow: float(flow.cosine[position]))
    return Question(
        words.turned_most(stack, cite(token_name(shown, stack, position))),
        words.turned(most.layer, labels.number(float(most.cosine[position]), 3)),
    )


def _columns(flow: LayerFlow) -> list[tuple[str, Any, int]]:
    return [
        (words.BEFORE, flow.came, 2),
        (words.AFTER, flow.left, 2),
        (words.CHANGED, flow.changed, 2),
        (words.COSINE, flow.cosine, 3),
    ]


def _by_token(shown: RunView, stack: StackName, flow: LayerFlow) -> None:
    title = words.whole_layer(stack, flow.layer)
    text.section(title.capitalize())
    text.paragraph(words.COLUMNS_OF_A_LAYER)
    columns = _columns(flow)
    foot = [(words.MEAN, [labels.number(float(values.mean()), digits) for _, values, digits in columns])]
    if flow.pairs:
        foot.append((words.BASELINE, ["", "", "", labels.number(flow.baseline, 3)]))
    token_table(shown, stack, columns, foot=foot)
    pictures.table_button(
        lambda: flow_table(shown, stack, [(name, values) for name, values, _ in columns]),
        note=words.lengths_note(shown.caption(title)),
        name=labels.file_name(shown.summary.name, stack, str(flow.layer), "flow"),
        key="layers_flow",
    )


def _along(shown: RunView, stack: StackName, found: Sequence[LayerFlow], here: LayerFlow | None) -> None:
    token = chosen_token(stack)
    titles = {
        "left": words.LENGTH_AFTER,
        "changed": words.LENGTH_CHANGED,
        "cosine": words.VECTOR_TURNED,
    }
    panels = []
    for name, title in titles.items():
        values = np.vstack([getattr(flow, name) for flow in found])
        baseline = [flow.baseline for flow in found] if name == "cosine" else None
        if np.isfinite(values).any():
            values = np.where(np.isfinite(values), values, np.nan)  # the table has what is infinite
            panels.append(Panel(title, values, (0, 1 if name == "cosine" else None), baseline))
    if not panels:
        text.paragraph(words.NOTHING_FINITE)
        return
    figure = stream_chart(
        panels,
        [(words.layer(flow.layer), "") for flow in found],
        Marked(
            token=token,
            token_name=words.token_at(token, token_name(shown, stack, token)),
            station=None if here is None else [flow.layer for flow in found].index(here.layer),
        ),
        title=words.layers_title(stack),
        size=Size(letters=PROJECTED, height=projector.ROOM) if projector.is_on() else Size(),
        theme=frame.theme(),
    )
    asked = pictures.table(
        lambda: _table(shown, stack, found),
        note=words.layers_note(shown.caption(words.the_layers(stack))),
        name=labels.file_name(shown.summary.name, stack, "stream"),
        key="layers_stream",
    )
    alt = words.layers_alt(SIDE_OF[stack].stack)
    frame.chart(figure, key="layers_stream", alt=alt, on_table=asked)


def _table(shown: RunView, stack: StackName, found: Sequence[LayerFlow]) -> pd.DataFrame:
    parts = []
    for flow in found:
        part = pd.DataFrame({name: values for name, values, _ in _columns(flow)}, index=token_index(shown, stack))
        part.insert(0, words.LAYER, flow.layer)
        part[words.BASELINE] = flow.baseline
        parts.append(part)
    return pd.concat(parts)
