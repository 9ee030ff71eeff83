"""The rows of each step's own pass, combined into one trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from viz_transformer.running.step import Step, attention_rows
from viz_transformer.running.trace import OF_STEPS, Trace, trace_value


def per_step_rows(trace: Trace, steps: Sequence[Step]) -> Trace:
    """Implements `Run.per_step_rows` for the run with this trace and these steps."""
    if trace.non_causal_reason is None or not steps:
        return trace
    values = {name: trace[name] for name in trace.points() if trace.spec.grows(name) == "never"}
    found = [attention_rows(step.recorded, step.row, step.choosing.scalars) for step in steps]  # each [B, H, 1, K]
    for name in found[-1]:
        rows = [rows[name] for rows in found]
        values[name] = _below_each_other(trace[name], steps, rows)
        mask = name.removesuffix("weights") + "mask"
        values[mask] = _where_there(trace[mask], values[name].size(-2), steps, rows)
    values["logits"] = _below_each_other(trace["logits"], steps, [step.logits[None, None] for step in steps])
    order = {name: place for place, name in enumerate(trace.points())}
    values = dict(sorted(values.items(), key=lambda item: order[item[0]]))
    return replace(trace, values=values, info={**trace.info, "rows": OF_STEPS})


def _below_each_other(like: Tensor, steps: Sequence[Step], rows: Sequence[Tensor]) -> Tensor:
    """Stack each step's row [..., 1, k] into [..., T, K], shaped as `like`; missing numbers are NaN."""
    whole = torch.full_like(like, torch.nan)
    for step, row in zip(steps, rows, strict=True):
        whole[..., step.position, : row.size(-1)] = trace_value(row)[..., 0, :]
    return whole


def _where_there(mask: Tensor, queries: int, steps: Sequence[Step], rows: Sequence[Tensor]) -> Tensor:
    """The mask of each step's row, limited to the keys that the step had.

    mask: [B, H or 1, T or 1, K] of the last pass; a row's mask does not depend on later tokens.
    """
    whole = mask.new_zeros(*mask.shape[:2], queries, mask.size(-1))
    own = mask.expand_as(whole)
    for step, row in zip(steps, rows, strict=True):
        keys = row.size(-1)
        whole[:, :, step.position, :keys] = own[:, :, step.position, :keys]
    return whole
