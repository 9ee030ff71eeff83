"""What the page One weight has for itself."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.analysis.weight import LINES
from viz_transformer.ui.pages.weight import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import one_of, url_field

BESIDE = ("weights", "out")


@dataclass(frozen=True, kw_only=True)
class Weight:
    """weight_line: which line of a weight's ladder is active; weight_beside: what is set beside torch's attention."""

    weight_line: str = url_field("products", one_of(LINES, words.A_LINE))
    weight_beside: str = url_field("weights", one_of(BESIDE))


FIELDS = state.declare(Weight)
