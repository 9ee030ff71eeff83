"""The new models of a session: those that are selected, pinned, asked for by the address, or were opened before.

A session keeps their names only; a name is a recipe, so a link to a new model works in any browser and any server.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from viz_transformer.analysis.models.untrained import is_new, untrained_summary
from viz_transformer.checkpoint.contents import Summary, Unreadable

MOST = 4
"""New models that stay in the list beside the selected and the pinned one."""

_KEPT = "new_models"
_FIELDS = ("checkpoint", "pin_checkpoint")


def named(bundled: Sequence[Summary | Unreadable]) -> tuple[Summary | Unreadable, ...]:
    """The session's new models, the newest last; what names none is left out."""
    memory = st.session_state
    asked = [chosen.get(field) for chosen in (st.query_params, memory.get("selection") or {}) for field in _FIELDS]
    needed = [name for name in asked if isinstance(name, str) and is_new(name)]
    before = memory.get(_KEPT, ())
    if not needed and not before:
        return ()
    bases = {summary.name: summary for summary in bundled}
    found = {name: untrained_summary(name, bases) for name in dict.fromkeys((*before, *needed))}
    known = {name: summary for name, summary in found.items() if summary is not None}
    old = [name for name in known if name not in needed][:-MOST]
    kept = {name: summary for name, summary in known.items() if name not in old}
    memory[_KEPT] = tuple(kept)
    return tuple(kept.values())
