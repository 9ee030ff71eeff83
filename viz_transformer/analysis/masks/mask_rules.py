"""The rules of a run's recorded masks, verified on every cell: causal, window, first keys, padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.masks.parts import Change, MaskParts, join_parts, kept_positions, sites
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.running.edits import SetMask
from viz_transformer.running.trace import Trace
from viz_transformer.sentences import join_names

Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class MaskRule:
    """The rule of a mask."""

    causal: bool = False
    """Whether later keys are closed."""
    window: int | None = None
    """How many keys a query reads, ending at its own position; with `both`, how many on each side."""
    both: bool = False
    """Whether the window extends to both sides, as the model says."""
    first: int = 0
    """Keys at the beginning that every query reads."""
    closed: int = 0
    """Keys that no query reads."""
    padding: int = 0
    """How many of the closed keys are padding."""
    named: bool = True
    """Whether these fields describe the whole mask."""


def recorded_mask(trace: Trace, site: str) -> Booleans:
    """The mask of the first head, [Q, K], True = may attend. Raises Unavailable for one that was not recorded."""
    if f"{site}.mask" not in trace:
        raise Unavailable(trace.spec.missing.get(f"{site}.mask", "they were not recorded"))
    found = trace[f"{site}.mask"][0, 0].numpy()
    return np.asarray(np.broadcast_to(found, (found.shape[0], found.shape[1])), dtype=bool)


def recorded_parts(trace: Trace, kind: KindName, layer: int, changes: Sequence[Change] = ()) -> MaskParts:
    """The recorded mask of a layer, with the changes applied. Its two parts are the keys that any query reads, and
    which of them each query reads. Raises Unavailable for one that was not recorded."""
    mask = recorded_mask(trace, KINDS[kind].site(layer))
    read = np.broadcast_to(mask.any(axis=0), mask.shape).copy()
    return join_parts(kind, read, mask | ~read, changes)


def recorded_edits(trace: Trace, kind: KindName, changes: Sequence[Change]) -> tuple[SetMask, ...]:
    """The changes as edits of a run, in every layer: each flips the cells of its own mask, so a cell opened in one
    layer may be closed in another. Attentions without a recorded mask are left unchanged."""
    told = [layer for layer, site in enumerate(sites(trace.spec, kind)) if f"{site}.mask" in trace]
    made = ((KINDS[kind].site(layer), recorded_parts(trace, kind, layer, changes)) for layer in told)
    return tuple(edit for site, parts in made for edit in parts.edits_of(site))


def turned_otherwise(trace: Trace, kind: KindName, layer: int, changes: Sequence[Change]) -> tuple[int, ...]:
    """The layers in which one of these cells differs from this layer after the changes."""
    here = recorded_parts(trace, kind, layer, changes)
    cells = [(change.query, change.key) for change in here.changes if change.key is not None]
    found = []
    for other, site in enumerate(sites(trace.spec, kind)):
        if f"{site}.mask" in trace:
            there = recorded_parts(trace, kind, other, changes).changed
            if any(there[cell] != here.changed[cell] for cell in cells):
                found.append(other)
    return tuple(found)


def rule_of(mask: Booleans, window: int | None, *, both: bool, padding: Booleans) -> MaskRule:
    """The rule that gives exactly this mask, [Q, K]. window: the window size that the model states; padding: [K], True
    for padding tokens."""
    closed = ~mask.any(axis=0)
    kept = mask | closed
    back = np.arange(mask.shape[0])[:, None] - np.arange(mask.shape[1]) if mask.shape[0] == mask.shape[1] else None
    unread = MaskRule(closed=int(closed.sum()), padding=int((closed & padding).sum()), named=False)
    for rule, made in _list_candidates(back, kept, window, both):
        if np.array_equal(kept, made | closed):
            return replace(rule, closed=unread.closed, padding=unread.padding)
    return unread


def _list_candidates(
    back: NDArray[np.int64] | None, kept: Booleans, window: int | None, both: bool
) -> Iterator[tuple[MaskRule, Booleans]]:
    """Candidate rules with their masks, first the one that the model states."""
    if back is None:
        yield MaskRule(), np.ones_like(kept)
        return
    if window is not None and both:
        yield MaskRule(window=window, both=True), np.abs(back) <= window
    elif window is not None:
        yield MaskRule(causal=True, window=window), (back >= 0) & (back < window)
    else:
        yield MaskRule(), np.ones_like(kept)
        yield MaskRule(causal=True), back >= 0
        first = int(kept.all(axis=0).argmin()) if not kept.all() else 0
        if first:
            yield MaskRule(causal=True, first=first), (back >= 0) | (np.arange(kept.shape[1]) < first)


def rules(trace: Trace, kind: KindName) -> dict[MaskRule, list[int]]:
    """The layers of this kind of attention, grouped by the rule of their masks."""
    found: dict[MaskRule, list[int]] = {}
    _, kept = kept_positions(trace, kind)
    for layer, site in enumerate(sites(trace.spec, kind)):
        heads = trace.spec.attentions[site]
        both = site.startswith("encoder.")
        rule = rule_of(recorded_mask(trace, site), heads.window, both=both, padding=~kept)
        found.setdefault(rule, []).append(layer)
    return found


def describe_rule(rule: MaskRule, layers: list[int], tokens: int) -> str:
    """The rule of these layers' masks in a sentence; `tokens`: how many keys there are."""
    where = f"{'Layer' if len(layers) == 1 else 'Layers'} {join_names([str(layer) for layer in layers])}: "
    if not rule.named:
        said = "the mask closes cells by a rule that has no name here; the picture has each of them"
    elif rule.both:
        said = f"a query reads its own key and the {rule.window} beside it to each side, a sliding window"
        said += _longer(2 * (rule.window or 0) + 1, tokens)
    elif rule.window is not None:
        said = f"a query reads the {rule.window} keys that end at its own place, a sliding window"
        said += _longer(rule.window, tokens)
    elif rule.first:
        said = f"a query reads the first {rule.first} keys and those up to its own place, a prefix"
    elif rule.causal:
        said = "a query reads the keys up to its own place, and none that come later"
    else:
        said = "every query reads every key"
    if rule.closed:
        keys = "key is" if rule.closed == 1 else "keys are"
        said += f"; {rule.closed} {keys} closed for all of them{_describe_padding(rule)}"
    return f"{where}{said}."


def _describe_padding(rule: MaskRule) -> str:
    if rule.padding == rule.closed:
        return ", as padding"
    return f", {rule.padding} of them as padding" if rule.padding else ", though there is no padding"


def _longer(window: int, tokens: int) -> str:
    return f", which is longer than this text of {tokens}, so it closes nothing here" if window >= tokens else ""
