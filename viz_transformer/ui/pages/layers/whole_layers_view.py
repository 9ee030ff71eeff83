"""The Layers page of a recording: what whole layers read and gave out, and the sentence for all that is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from viz_transformer.analysis.attention.maps import attention_kinds
from viz_transformer.analysis.layers.sublayers import LayerFlow, layer_flows
from viz_transformer.figures import labels
from viz_transformer.figures.layers import Marked, Panel, Size, stream_chart
from viz_transformer.model.kinds import KINDS, SIDE_OF, StackName
from viz_transformer.ui.frame import controls, projector
from viz_transformer.ui.frame.drawn import Chart, Drawn, Group, Heading, Numbers, Text, Widget
from viz_transformer.ui.frame.frame import ChartSize, Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.layers import words
from viz_transformer.ui.pages.layers.layers_tables import draw_tokens, token_index, token_name
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

PROJECTED = 1.4
"""By how much letters grow on a projector."""


@memoize(16)
def flows_of(shown: RunView, stack: StackName) -> tuple[LayerFlow, ...]:
    """What each layer of a stack did in this recording."""
    return layer_flows(shown.trace, stack)


def draw_layer(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The chosen layer by token, and why there is not more."""
    shown, stack, layer = both.main, chosen["stack"], chosen["layer"]
    yield Group(
        parts=[
            Widget(put=lambda: controls.kind(attention_kinds(shown.trace), key="layers_kind")),
            Widget(put=lambda: controls.layer(KINDS[chosen["kind"]].layers(shown.trace.spec), page="layers")),
        ],
        key="layers_recorded",
        aligned="top",
    )
    yield Text(said=chosen["why"])
    found = flows_of(shown, stack)
    here = next((flow for flow in found if flow.layer == layer), None)
    if here is None:
        yield Text(said=words.no_layer(layer) if found else words.no_layers(stack))
    else:
        yield from _draw_by_token(shown, chosen, here)


def ask(shown: RunView, chosen: Chosen) -> Question | None:
    """Which layer turned the chosen token's vector most."""
    stack, token = chosen["stack"], chosen["token"]
    found = [flow for flow in flows_of(shown, stack) if np.isfinite(flow.cosine[token])]
    if not found:
        return None
    most = min(found, key=lambda flow: float(flow.cosine[token]))
    return Question(
        words.turned_most(stack, cite(token_name(shown, stack, token))),
        words.turned(most.layer, labels.number(float(most.cosine[token]), 3)),
    )


def _columns(flow: LayerFlow) -> list[tuple[str, Any, int]]:
    return [
        (words.BEFORE, flow.came, 2),
        (words.AFTER, flow.left, 2),
        (words.CHANGED, flow.changed, 2),
        (words.COSINE, flow.cosine, 3),
    ]


def _draw_by_token(shown: RunView, chosen: Chosen, flow: LayerFlow) -> Iterator[Drawn]:
    title = words.whole_layer(chosen["stack"], flow.layer)
    yield Heading(said=title.capitalize())
    yield Text(said=words.COLUMNS_OF_A_LAYER)
    columns = _columns(flow)
    foot = [(words.MEAN, [labels.number(float(values.mean()), digits) for _, values, digits in columns])]
    if flow.pairs:
        foot.append((words.BASELINE, ["", "", "", labels.number(flow.baseline, 3)]))
    note = words.lengths_note(shown.caption(title))
    name = labels.file_name(shown.summary.name, chosen["stack"], str(flow.layer), "flow")
    yield from draw_tokens(shown, chosen, columns, foot=foot, note=note, name=name, key="layers_flow")


def draw_layers(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """All layers of the stack, for the selected token and all others."""
    shown, stack, token = both.main, chosen["stack"], chosen["token"]
    if not (found := flows_of(shown, stack)):
        return
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
        yield Text(said=words.NOTHING_FINITE)
        return
    marked = Marked(
        token=token,
        token_name=words.token_at(token, token_name(shown, stack, token)),
        station=next((at for at, flow in enumerate(found) if flow.layer == chosen["layer"]), None),
    )
    yield Chart(
        figure=lambda theme: stream_chart(
            panels,
            [(words.layer(flow.layer), "") for flow in found],
            marked,
            title=words.layers_title(stack),
            size=Size(letters=PROJECTED, height=projector.ROOM) if projector.is_on() else Size(),
            theme=theme,
        ),
        alt=words.layers_alt(SIDE_OF[stack].stack),
        numbers=Numbers(
            frame=lambda: _table(shown, stack, found),
            note=words.layers_note(shown.caption(words.the_layers(stack))),
            name=labels.file_name(shown.summary.name, stack, "stream"),
        ),
        key="layers_stream",
        size=ChartSize(),
    )


def _table(shown: RunView, stack: StackName, found: Sequence[LayerFlow]) -> pd.DataFrame:
    parts = []
    for flow in found:
        part = pd.DataFrame({name: values for name, values, _ in _columns(flow)}, index=token_index(shown, stack))
        part.insert(0, words.LAYER, flow.layer)
        part[words.BASELINE] = flow.baseline
        parts.append(part)
    return pd.concat(parts)
