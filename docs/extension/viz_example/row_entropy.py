"""The page *Row entropy*: how sure is each row of a head?"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from plotly.graph_objects import Bar, Figure

from viz_transformer.figures.labels import escape
from viz_transformer.model.kinds import KINDS
from viz_transformer.ui.frame import maps
from viz_transformer.ui.frame.controls import Control
from viz_transformer.ui.frame.page import HEAD, KIND, LAYER, Chart, Chosen, Drawn, Page, Text, View
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.session.runs import RunView
from viz_transformer.ui.session.url_fields import one_of, url_field

BASES, UNITS = {"bits": 2.0, "nats": np.e}, {"bits": "bits", "nats": "nats"}


@dataclass(frozen=True, kw_only=True)
class Fields:
    """What this page keeps in the address."""

    entropy_unit: str = url_field("", one_of(("", *BASES)))


def entropy(run: RunView, chosen: Chosen) -> np.ndarray:
    p = maps.picture(run, {**chosen, "options": ()}).values.astype(np.float64)
    return -(p * np.log(p, out=np.zeros_like(p), where=p > 0)).sum(axis=1) / np.log(BASES[chosen["entropy_unit"]])


def draw_entropy(run: RunView, chosen: Chosen) -> Iterator[Drawn]:
    bars, unit = entropy(run, chosen), f"Entropy in {chosen['entropy_unit']}"
    rows = maps.axes(run, chosen["kind"])[0].names()
    bar = Bar(x=[*map(escape, rows)], y=bars, hovertemplate="%{x}: %{y:.3f}<extra></extra>")
    yield Chart(
        figure=lambda theme: Figure(bar, {"yaxis_title": unit, "xaxis_type": "category"}),
        alt="Entropy of each row",
        numbers=lambda: pd.DataFrame({unit: bars}, index=rows),
    )
    yield Text(said=f"On average {bars.mean():.3f}; a row that looks at one token has 0.")


def ask(run: RunView, chosen: Chosen) -> Question:
    at, unit = chosen[KINDS[chosen["kind"]].queries.field], chosen["entropy_unit"]
    return Question(f"How sure is row {at}?", f"Its entropy is {entropy(run, chosen)[at]:.3f} {unit}.")


PAGE = Page(
    title="Row entropy",
    asks="how sure is each row?",
    how="A bar is a row of the map below: 0 where all its weight is on one key, the larger the more evenly it looks.",
    not_to_conclude="A row that is sure isn't right for that: the weight says where it looks, not whether that helps.",
    fields=Fields,
    controls=(KIND, LAYER, HEAD, Control(field="entropy_unit", label="Unit", options=lambda run: UNITS, unset="")),
    views=(View(key="entropy", draw=draw_entropy), View(key="map", draw=maps.picture)),
    ask=ask,
    looks="kind",
)
