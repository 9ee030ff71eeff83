"""Proves how far back an attention reads by evaluating its mask rule at distant positions, without a long text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from viz_transformer.huggingface.capture import MaskRuleRecorder
from viz_transformer.huggingface.hooked_model import HuggingFaceModel

FAR = 2**20
"""A position beyond any window."""
NOT_ITS_WINDOW = "in a trial pass its mask did not close what the window of its config would"
CLOSES_MORE = "in a trial pass its mask closed keys by a rule that its config does not name"


def unproved_windows(model: HuggingFaceModel, seen: MaskRuleRecorder) -> Iterator[tuple[str, str]]:
    """(point, reason) for self-attentions whose masks contradict the window in the spec."""
    for site, heads in model.spec.attentions.items():
        if not site.endswith(".self"):
            continue
        both = site.startswith("encoder.")
        table = model.window_table(site)
        rule = seen.rules.get(f"{site}.mask")
        if table is not None:
            holds = _by_table(table, heads.window)
        elif rule is None:
            holds = heads.window is None
        else:
            holds = _by_rule(rule, heads.window, both=both)
        if not holds:
            yield f"{site}.window", CLOSES_MORE if heads.window is None else NOT_ITS_WINDOW


def _by_table(table: Tensor, window: int | None) -> bool:
    """Whether the last row of a visibility table [N, N] allows exactly the window."""
    count = len(table)
    first = 0 if window is None else max(0, count - window)
    return torch.equal(table[-1].bool(), torch.arange(count) >= first)


def _by_rule(rule: Callable[..., Any], window: int | None, *, both: bool) -> bool:
    """Whether a distant query may attend to exactly its window, tested at the ends; without one, to the first key."""
    if window is None:
        wanted = {0: True, FAR - 1: True, FAR: True}
    else:  # two-sided windows exclude the query's own position, others include it
        reach = window if both else window - 1
        wanted = {FAR - reach - 1: False, FAR - reach: True, FAR: True}
        wanted |= {FAR + reach: True, FAR + reach + 1: False} if both else {FAR + 1: False}
    keys = torch.tensor([*wanted])
    zero = torch.zeros(1, dtype=torch.long)
    try:
        found = rule(zero, zero, torch.full_like(keys, FAR), keys)
    except (IndexError, RuntimeError):  # a rule that depends on the text
        return False
    return torch.equal(torch.as_tensor(found).expand(len(keys)), torch.tensor([*wanted.values()]))
