"""What Masks asks of a run: what may this row read?"""

from __future__ import annotations

from viz_transformer.analysis.masks.parts import MaskParts
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.masks import words


def question(parts: MaskParts, row: int, name: str) -> Question:
    """How many keys are open to a query, and what closes the others. name: the query in words."""
    open_, keys = int(parts.changed[row].sum()), parts.changed.shape[1]
    later = int((~parts.causal[row] & ~parts.changed[row]).sum())
    padded = int((~parts.padding[row] & parts.causal[row] & ~parts.changed[row]).sum())
    yours = keys - open_ - later - padded
    return Question(words.asks(name), words.may_read(open_, keys, later=later, padded=padded, yours=yours))
