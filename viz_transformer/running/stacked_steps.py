"""The points of decoding steps as one tensor: cached steps as those of one pass, others as each step had its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from viz_transformer.model.hook_point import Growth
from viz_transformer.running.lazy_activations import LazyActivations
from viz_transformer.running.step import Step, attention_rows
from viz_transformer.running.trace import OF_STEPS, Trace, trace_value


class StackedSteps(Mapping[str, Tensor]):
    """The rows of all steps, stacked when a point is first read. Thread-safe.

    before: points recorded once, before the steps (the encoder). steps: points of each step. grows: as
    `ModelSpec.grows`. In causal attention, keys that a row did not have yet are 0 in weights and bias, False in masks.
    """

    def __init__(
        self,
        before: Mapping[str, Tensor],
        steps: Sequence[Mapping[str, Tensor]],
        *,
        grows: Callable[[str], Growth],
    ) -> None:
        self._grows = grows
        self._parts = before, steps
        self._names = dict.fromkeys((*before, *steps[0]))  # an ordered set
        self._joined: dict[str, Tensor] = {}

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._names:
            raise KeyError(name)
        parts = self._parts  # read before checking: `join_all` releases the parts last
        if name not in self._joined:
            self._joined[name] = trace_value(self._join(name, *parts))
        return self._joined[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def join_all(self) -> None:
        """Stack all points and release the per-step tensors, a hundred small ones per point.

        A tensor under several names, such as a layer's output and the next one's input, stays shared.
        """
        before, steps = self._parts
        if not steps:
            return
        alike = dict[tuple[object, ...], str]()
        for name in self._names:
            first = before[name] if name in before else steps[0][name]
            kind = (first.data_ptr(), first.shape, first.stride(), first.dtype, name in before, self._grows(name))
            if name not in self._joined and (same := alike.setdefault(kind, name)) != name:
                self._joined[name] = self[same]
            else:
                self[name]
        self._parts = {}, ()

    def _join(self, name: str, before: Mapping[str, Tensor], steps: Sequence[Mapping[str, Tensor]]) -> Tensor:
        if name in before:
            return before[name]
        grows = self._grows(name)
        if grows == "never":  # computed once, in the first step
            return steps[0][name]
        parts = [step[name] for step in steps]
        if grows == "rows and keys":
            return _triangle(parts)
        if name.endswith(".mask"):  # an edit may have made one per head at some steps
            heads = max(part.size(1) for part in parts)
            parts = [part.expand(-1, heads, -1, -1) for part in parts]
        return torch.cat(parts, dim=-2)


def is_of_cached_steps(trace: Trace) -> bool:
    """Whether its rows were recorded by cached steps."""
    return isinstance(trace.values.kept if isinstance(trace.values, LazyActivations) else trace.values, StackedSteps)


def _triangle(parts: Sequence[Tensor]) -> Tensor:
    """Stack rows of growing length: [B, H or 1, rows, K] parts -> [B, H or 1, T, T]."""
    heads = max(part.size(1) for part in parts)
    rows = sum(part.size(2) for part in parts)
    whole = parts[0].new_zeros(parts[0].size(0), heads, rows, parts[-1].size(3))
    at = 0
    for part in parts:
        whole[:, :, at : at + part.size(2), : part.size(3)] = part
        at += part.size(2)
    return whole


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
