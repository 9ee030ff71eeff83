"""What Masks asks of a run: what may this row read?"""

from __future__ import annotations

from viz_transformer.analysis.masks.parts import MaskParts
from viz_transformer.ui.frame.questions import Question


def question(parts: MaskParts, row: int, name: str) -> Question:
    """How many keys are open to a query, and what closes the others. name: the query in words."""
    open_, keys = int(parts.changed[row].sum()), parts.changed.shape[1]
    asks = f"What may {name} read?"
    later = int((~parts.causal[row] & ~parts.changed[row]).sum())
    padded = int((~parts.padding[row] & parts.causal[row] & ~parts.changed[row]).sum())
    yours = keys - open_ - later - padded
    why = [
        f"{count} {'is' if count == 1 else 'are'} closed {reason}"
        for count, reason in (
            (later, "because they come later" if later > 1 else "because it comes later"),
            (padded, "by padding"),
            (yours, "by your change"),
        )
        if count
    ]
    if not why:
        return Question(asks, f"All {keys} keys.")
    return Question(asks, f"{open_ or 'None'} of {keys} keys: {', '.join(why)}.")
