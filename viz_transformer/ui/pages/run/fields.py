"""What the page Run has for itself."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.ui.session import state
from viz_transformer.ui.session.declaring import declared, one_of

VIEWS = ("map", "whole")


@dataclass(frozen=True, kw_only=True)
class RunPage:
    """run_view: one map and the candidates beside it, or the whole run in one picture."""

    run_view: str = declared("map", one_of(VIEWS))


FIELDS = state.declare(RunPage)
