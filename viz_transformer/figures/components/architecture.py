"""The architecture: a drawing of a model's parts, each of which says its sizes when one points at it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from viz_transformer.figures.components import payload

if TYPE_CHECKING:
    from viz_transformer.figures.architecture import Drawing


def architecture_payload(drawing: Drawing, *, caption: str, name: str) -> bytes:
    """What the browser gets: everything that is drawn, in the drawing's own pixels; `name` is a file name."""
    return payload.pack({**asdict(drawing), "caption": caption, "name": name})
