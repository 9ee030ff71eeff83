"""What becomes of a row that may see nothing; and from a cell of the Masks page to *One weight*, which explains the
weights of the page's own run."""

from __future__ import annotations

import streamlit as st

from viz_transformer.analysis.attention.maps import attention_kinds
from viz_transformer.analysis.attention.picture import Why
from viz_transformer.analysis.masks.parts import ClosedIs, closed_row
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.kinds import KINDS
from viz_transformer.running.trace import Trace
from viz_transformer.ui.frame import links
from viz_transformer.ui.pages.masks import words
from viz_transformer.ui.pages.masks.fields import FIELDS
from viz_transformer.ui.pages.masks.masks_source import Looked
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView


def leads(looked: Looked) -> Why:
    """How a cell that nobody changed leads to its weight; not at all where it is none of the run."""
    compared = looked.compared
    if compared is None or FIELDS.now().mask_text > 0:
        return ()
    return KINDS[looked.kind].fields if compared.elsewhere else None


def convention(shown: RunView | None) -> str:
    """What becomes of a row that may see nothing: in this model, and elsewhere."""
    made = None if shown is None else _closed_row(shown.ckpt, shown.trace)
    return words.convention(made)


@memoize(8)
def _closed_row(ckpt: Checkpoint, trace: Trace) -> ClosedIs | None:
    found = (closed_row(ckpt, trace, kind, 0) for kind in reversed(attention_kinds(trace)))
    return next((made for made in found if made is not None), None)


def why(shown: RunView, looked: Looked) -> None:
    """Under the maps: which weight the chosen cell has in the run as it is, and what else its row could have written;
    nothing for a cell that is none of the run, which has no padding."""
    kind, fields = KINDS[looked.kind], leads(looked)
    cell = (looked.query, min(int(state.selection()[looked.axes[1].field]), len(looked.axes[1]) - 1))
    ends = kind.sides(len(shown.trace.src), len(shown.trace.tgt))
    if fields == () or any(place >= end for place, end in zip(cell, ends, strict=True)):
        return
    # In a batch with padding the page has a cell of its own, which the links say.
    row, key = ({name: str(place)} for name, place in zip(fields, cell, strict=True)) if fields else ({}, {})
    is_here = FIELDS.now().mask_view == "weights" and looked.compared is not None and looked.compared.own
    with st.container(horizontal=True, key="from_cell"):
        asks = words.ASKS_HERE if is_here and not fields else words.ASKS
        links.link_to("One weight", asks, kind=looked.kind, **row, **key)
        if kind.writes and shown.trace.spec.writes:
            links.link_to("Decoding", words.WHAT_ELSE, **row)
