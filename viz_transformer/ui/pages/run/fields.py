"""What the page Run has for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import one_of, url_field

VIEWS = ("whole", "map")
Level = Literal["run", "layer", "attention", "weight"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""How deep the picture of the whole run looks: from the whole to the multiplication of one weight."""


@dataclass(frozen=True, kw_only=True)
class RunPage:
    """run_view: the whole run in one picture, at its level, or one map and the candidates beside it."""

    run_view: str = url_field("whole", one_of(VIEWS))
    level: Level = url_field("run", one_of(LEVELS), picked=True)


FIELDS = state.declare(RunPage)
