"""A picture as a widget: in a notebook that runs, Python hears what is picked in it, and can pick in it.

It needs anywidget, which the extra `notebook` brings; where that is installed, `viz_transformer.show` returns one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

import anywidget
import traitlets

from viz_transformer import declared
from viz_transformer.declared import CountOrZero
from viz_transformer.figures.components.source import javascript
from viz_transformer.figures.components.standalone import HtmlFigure
from viz_transformer.given import is_whole
from viz_transformer.model.kinds import KindName


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What can be picked in one picture or another, by the names of the app's selection."""

    kind: KindName = "cross"
    layer: CountOrZero = 0
    heads: list[CountOrZero] | Literal["mean", "max"] = "mean"
    # Positions of the source (i, j) and of the target (t, u): the kind picks the pair, query and key.
    i: CountOrZero = 0
    j: CountOrZero = 0
    t: CountOrZero = 0
    u: CountOrZero = 0
    # A cell of a `Picture` of one's own.
    row: CountOrZero = 0
    column: CountOrZero = 0
    # A hypothesis of a beam tree.
    dec_node: CountOrZero = 0
    # How far the whole run is looked into, the colour scale of a map, and the order of heads.
    level: Literal["run", "layer", "attention", "weight"] = "run"
    scale: Literal["fixed", "row", "map"] = "fixed"
    sort: str = ""


class FigureWidget(HtmlFigure, anywidget.AnyWidget):
    """An `HtmlFigure` that has its selection as a trait: a dictionary with some of the fields of `Selection`.

    There is another dictionary when something was picked, and to set one moves the picture. What it leaves out is as
    the picture began; what the picture has no place for, it does not show.
    Raises ValueError for a field or a value that no picture has.
    """

    _esm = javascript("notebook")
    name = traitlets.Unicode(read_only=True).tag(sync=True)
    html = traitlets.Unicode(read_only=True).tag(sync=True)
    selection = traitlets.Dict().tag(sync=True)

    def __init__(self, *args: Any, **fields: Any) -> None:
        HtmlFigure.__init__(self, *args, **fields)
        anywidget.AnyWidget.__init__(self, selection={})

    @traitlets.default("name")
    def _unique_name(self) -> str:
        return f"viz-transformer-{uuid4()}"

    @traitlets.default("html")
    def _page(self) -> str:
        return super().html

    @traitlets.validate("selection")
    def _valid_selection(self, proposal: Mapping[str, Any]) -> dict[str, Any]:
        selection = {name: _plain(value) for name, value in {**self.chosen, **proposal["value"]}.items()}
        declared.read(Selection, selection, "the selection")
        return selection

    def _repr_html_(self) -> str:
        """The page in a frame that the widget finds by its name; a notebook that is saved has it without the widget."""
        return super()._repr_html_().replace("<iframe ", f'<iframe name="{self.name}" ', 1)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle = super()._repr_mimebundle_(**kwargs) if _needs_view() else None
        data, metadata = bundle or ({"text/plain": repr(self)}, {})
        return {**data, "text/html": self._repr_html_()}, metadata


def _needs_view() -> bool:
    """Whether the notebook's program knows a widget only where its view is shown: Visual Studio Code and Colab do."""
    return "VSCODE_PID" in os.environ or "google.colab" in sys.modules


def _plain(value: Any) -> Any:
    """The value as JSON has it: whole numbers of NumPy as Python's, a tuple as a list."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return int(value) if is_whole(value) else value


def share_selection(widgets: Sequence[FigureWidget]) -> None:
    """What is picked in one is picked in all; to begin with, where they differ, what is picked in the first of them."""
    together: dict[str, Any] = {}
    for each in reversed(widgets):
        together |= each.selection
    for each in widgets:
        each.selection = together
    for each in widgets[1:]:
        traitlets.link((widgets[0], "selection"), (each, "selection"))
