"""The fields of the page Run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import one_of, url_field

VIEWS = ("whole", "map")
Level = Literal["run", "layer", "attention", "weight"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""The levels of the run overview, from the whole run to the products of one weight."""


@dataclass(frozen=True, kw_only=True)
class RunPage:
    """The page's fields in the address."""

    run_view: str = url_field("whole", one_of(VIEWS))
    """The whole run in one picture, or one map and the candidates beside it."""
    level: Level = url_field("run", one_of(LEVELS), picked=True)
    """The level of the run overview."""


FIELDS = state.declare(RunPage)
