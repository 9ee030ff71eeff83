"""Masks split into padding and causal parts, and edited: the effect of each mask fill on a fully masked row, and a pass
with other masks beside one with the model's own."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from viz_transformer import declared
from viz_transformer.analysis.attention.maps import added_padding, layer_count
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.attention import Attention
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook import Recorder
from viz_transformer.model.hooked_model import ModelSpec
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.model.masks import MASK_FILLS, PADDING_MASKS, causal_mask
from viz_transformer.running.edits import SetMask
from viz_transformer.running.trace import Tokens, Trace
from viz_transformer.running.tracing import record

Booleans = NDArray[np.bool_]
Row = NDArray[np.float32]
_WORD = re.compile(r"([edc])(\d{1,4})(?:\.(\d{1,4}))?")


@dataclass(frozen=True)
class Change:
    """A change to a kind's mask: one cell flipped, or without a key a whole row closed. `word`: its form in a URL."""

    kind: KindName
    query: int
    key: int | None = None

    @property
    def word(self) -> str:
        return f"{KINDS[self.kind].letter}{self.query}" + ("" if self.key is None else f".{self.key}")


def change_of(word: str) -> Change:
    """The change that a word such as "d3.5" or "d3" encodes. Raises ValueError for any other text."""
    found = _WORD.fullmatch(word)
    if found is None:
        raise ValueError(f"{word!r:.40} is not a changed cell: write d3.5 for query 3, key 5, or d3 for a closed row")
    letter, query, key = found.groups()
    kind = next(kind.name for kind in KINDS.values() if kind.letter == letter)
    return Change(kind, int(query), None if key is None else int(key))


@dataclass(frozen=True, eq=False)
class MaskParts:
    """The mask of one kind of attention and its parts: [Q, K] each, True = may attend."""

    kind: KindName
    padding: Booleans
    causal: Booleans
    own: Booleans
    """Padding and causal combined, as the model does."""
    changed: Booleans
    """`own` after the changes."""
    changes: tuple[Change, ...] = ()

    @property
    def closed_rows(self) -> tuple[int, ...]:
        """Queries that may attend to nothing, after the changes."""
        return tuple(int(row) for row in np.flatnonzero(~self.changed.any(axis=1)))

    def edits(self, spec: ModelSpec) -> tuple[SetMask, ...]:
        """The changes as edits of a run, in every layer: a model makes the mask of a kind once, for all its layers."""
        return tuple(edit for site in sites(spec, self.kind) for edit in self.edits_of(site))

    def edits_of(self, site: str) -> tuple[SetMask, ...]:
        """The changes as edits of one attention."""
        found = []
        for change in self.changes:
            key = change.key
            allowed = key is not None and bool(self.changed[change.query, key])
            found.append(SetMask(site, change.query, key, allowed))
        return tuple(found)


def mask_parts(
    kind: KindName,
    query_keep: Sequence[bool] | Booleans,
    key_keep: Sequence[bool] | Booleans,
    *,
    rule: str = "key",
    changes: Sequence[Change] = (),
) -> MaskParts:
    """The masks for one text. query_keep: [Q], key_keep: [K], True = a token, False = padding.

    `rule` is one of PADDING_MASKS; only the decoder's self-attention is causal. Changes of this kind inside the mask
    are applied: rows are closed first, then cells are flipped. The same cell twice counts once. Raises ValueError for
    another rule, and for sizes that do not fit the kind.
    """
    declared.one_of("rule", rule, PADDING_MASKS)
    queries, keys = (torch.tensor(np.asarray(keep, dtype=bool))[None] for keep in (query_keep, key_keep))
    shape = (queries.size(1), keys.size(1))
    if kind != "cross" and shape[0] != shape[1]:
        raise ValueError(f"self-attention has as many queries as keys, not {shape[0]} and {shape[1]}")
    if rule.endswith("swapped-cross") and shape[0] != shape[1]:
        raise ValueError(f"the rule {rule!r} needs as many queries as keys, not {shape[0]} and {shape[1]}")
    masks = PADDING_MASKS[rule]
    padding = _array((masks.cross_attention if kind == "cross" else masks.self_attention)(queries, keys)[0, 0])
    causal = _array(causal_mask(*shape)[0, 0]) if KINDS[kind].causal else np.ones(shape, dtype=bool)
    return join_parts(kind, padding, causal, changes)


def join_parts(kind: KindName, padding: Booleans, causal: Booleans, changes: Sequence[Change] = ()) -> MaskParts:
    """The parts from both masks, [Q, K] each, with the changes applied as in `mask_parts`."""
    own = padding & causal
    kept = tuple(change for change in dict.fromkeys(changes) if change.kind == kind and _is_inside(change, own.shape))
    kept = tuple(sorted(kept, key=lambda change: change.key is not None))
    changed = own.copy()
    for change in kept:
        if change.key is None:
            changed[change.query] = False
        else:
            changed[change.query, change.key] ^= True
    return MaskParts(kind, padding, causal, own, changed, kept)


def sites(spec: ModelSpec, kind: KindName) -> tuple[str, ...]:
    """The attentions of this kind, one for each layer."""
    return tuple(KINDS[kind].site(layer) for layer in range(KINDS[kind].layers(spec)))


def kept_positions(trace: Trace, kind: KindName) -> tuple[Booleans, Booleans]:
    """Masks [Q] and [K] of this kind's queries and keys, True = a token, False = what the model treats as padding."""
    layer_count(trace, kind)
    source = _mark_kept(trace.src, trace.spec.source_pad)
    target = _mark_kept(trace.tgt, trace.spec.target_pad)
    return KINDS[kind].sides(source, target)


def parts_of(trace: Trace, kind: KindName, *, rule: str | None = None, changes: Sequence[Change] = ()) -> MaskParts:
    """The masks of the trace's tokens, by its model's own padding rule or by another."""
    queries, keys = kept_positions(trace, kind)
    return mask_parts(kind, queries, keys, rule=rule or trace.config.padding_mask, changes=changes)


# --- what a fill makes of a row


ClosedIs = Literal["zeros", "even", "uneven", "not a number"]


@dataclass(frozen=True, eq=False)
class FilledRow:
    """The softmax of one query under one mask fill.

    weights: [K] float32 under the given mask; closed: [K] the same with every key closed.
    """

    fill: str
    weights: Row
    closed: Row

    @property
    def closed_is(self) -> ClosedIs:
        """One word for what a fully masked row becomes."""
        return _classify_closed(self.closed)


def filled_rows(scores: ArrayLike, mask: ArrayLike) -> tuple[FilledRow, ...]:
    """The row of one query under each mask fill that a model may have. scores: [K], before the mask; mask: [K], True =
    may attend.

    Computed by the functions that a model with that fill uses. Raises ValueError if the two do not fit.
    """
    row = torch.tensor(np.asarray(scores, dtype=np.float32))
    allowed = torch.tensor(np.asarray(mask, dtype=bool))
    if row.dim() != 1 or row.shape != allowed.shape or not len(row):
        raise ValueError(f"one row of scores and its mask are needed, not {list(row.shape)} and {list(allowed.shape)}")
    nothing = torch.zeros_like(allowed)
    return tuple(
        FilledRow(name, _row(softmax(row[None, None, None], allowed)), _row(softmax(row[None, None, None], nothing)))
        for name, softmax in MASK_FILLS.items()
    )


def closed_row(ckpt: Checkpoint, trace: Trace, kind: KindName, layer: int) -> ClosedIs | None:
    """One word for this model's fully masked rows, found by masking a row of the trace's first tokens with the model's
    own fill. None without masks, or with a single key, where any weight is even."""
    site = KINDS[kind].site(layer)
    if f"{site}.mask" not in trace or f"{site}.weights" not in trace.spec.point:
        return None
    few = ckpt.spec.pad_to or 4
    src, tgt = ([list(ids[:few])] if ids else None for ids in (trace.src_ids, trace.tgt_ids))
    recorder = Recorder([SetMask(site, 0, None, False)])
    with torch.no_grad():
        ckpt.hooked_model.whole(src, tgt, hook=recorder)
    rows = recorder.values[f"{site}.weights"][0, :, 0].cpu()  # [H, K]
    return _classify_closed(np.asarray(rows.float().numpy())) if rows.size(-1) > 1 else None


def closed_rows_are(trace: Trace, kind: KindName, layer: int, rows: Sequence[int]) -> ClosedIs | None:
    """One word for these fully masked rows of a run; None if its weights were not recorded."""
    name = f"{KINDS[kind].site(layer)}.weights"
    return _classify_closed(trace[name][0][:, list(rows)].flatten(0, 1).numpy()) if rows and name in trace else None


def _classify_closed(rows: NDArray[np.float32]) -> ClosedIs:
    """One word for one or more fully masked rows, [..., K]."""
    if np.isnan(rows).any():
        return "not a number"
    if not rows.any():
        return "zeros"
    return "even" if bool((rows == rows[..., :1]).all()) else "uneven"


def even_weights(mask: ArrayLike, fill: str) -> Row:
    """The weights of equal scores under a mask and a fill: [Q, K] -> [Q, K] float32.

    Without a model this is all that is known: 1/n on each of n open keys.
    """
    allowed = torch.tensor(np.asarray(mask, dtype=bool))
    weights = MASK_FILLS[fill](torch.zeros(1, 1, *allowed.shape), allowed[None, None])
    return np.asarray(weights[0, 0].numpy(), dtype=np.float32)


# --- the same text with other masks


def replace_masks(ckpt: Checkpoint, *, fill: str | None = None, rule: str | None = None) -> Checkpoint:
    """The checkpoint with another mask fill or padding rule; parameters are the same tensors, nothing is copied.

    Raises ValueError for a fill or a rule that there is not, or that this model cannot have.
    """
    own = ckpt.config
    changes = {"mask_fill": fill or own.mask_fill, "padding_mask": rule or own.padding_mask}
    config = ModelConfig.from_dict({**own.to_dict(), **changes})
    if config == own:
        return ckpt
    shared = {id(tensor): tensor for tensor in (*ckpt.model.parameters(), *ckpt.model.buffers())}
    model = copy.deepcopy(ckpt.model, dict[int, object](shared))
    model.config = config
    model.padding_masks = PADDING_MASKS[config.padding_mask]
    for module in model.modules():
        if isinstance(module, Attention):
            module.mask_fill = config.mask_fill
            module.masked_softmax = MASK_FILLS[config.mask_fill]
    return replace(ckpt, hooked_model=model)


def can_pad(spec: ModelSpec) -> bool:
    """Whether texts of different lengths can share a batch: every side of the model needs a padding token."""
    source = spec.source_pad is not None or not spec.has_encoder
    return source and (spec.target_pad is not None or not spec.has_decoder)


def run_in_batch(ckpt: Checkpoint, trace: Trace, lengths: tuple[int, int], *, edits: Sequence[SetMask] = ()) -> Trace:
    """The trace of a whole pass over the same tokens, padded to (source, target) `lengths` as in a batch.

    Texts of a batch do not attend to each other, so a padded text alone has the same numbers as in the batch. A model
    with `pad_to` has its padding already. Raises ValueError for padding where the model has no token for it, and for an
    edit that fits nothing.
    """
    src, tgt = (
        _pad_tokens(ckpt, tokens, side, length)
        for tokens, side, length in zip((trace.src, trace.tgt), ("source", "target"), lengths, strict=True)
    )
    next_ids = trace.next_ids + (None,) * (len(tgt) - len(trace.tgt))
    return record(ckpt, src, tgt, next_ids, edits=edits, info={"kind": "teacher-forced"})


def batch_lengths(traces: Sequence[Trace]) -> tuple[int, int]:
    """The source and target lengths of a batch of these texts: the longest of each."""
    return max(len(trace.src) for trace in traces), max(len(trace.tgt) for trace in traces)


@dataclass(frozen=True)
class RowEffect:
    """The effect on one row (in a decoder, its next token): the most probable token and its probability before and
    after, and the largest change of a logit; NaN if a value is no longer a number."""

    position: int
    reads: str
    before: str
    before_probability: float
    after: str
    after_probability: float
    change: float

    @property
    def differs(self) -> bool:
        """Whether another token is now the most probable, or none is."""
        return self.before != self.after or (self.after_probability != self.after_probability)


def row_effects(before: Trace, after: Trace, vocabulary: Sequence[str]) -> tuple[RowEffect, ...]:
    """The effect on each row with logits in both traces, without padding: rows of the decoder, or of an encoder-only
    model, where the one row of a whole text is its first token's. vocabulary: the names of the logits. Raises
    ValueError for traces of different tokens."""
    if before.src_ids != after.src_ids or before.tgt_ids != after.tgt_ids:
        raise ValueError("the two runs read different tokens: only the same text can be compared row by row")
    first, second = before["logits"][0].double(), after["logits"][0].double()  # [T, V]
    if first.dim() == 1:  # [C]
        first, second = first[None], second[None]
    change = (first - second).abs().amax(dim=-1)
    tops = [(each.argmax(dim=-1), each.softmax(dim=-1)) for each in (first, second)]
    read = before.tgt if before.spec.has_decoder else before.src
    padding = added_padding(read)
    rows = []
    for t, reads in enumerate(read.tokens[: len(first)]):
        if padding[t]:
            continue
        tokens, shares = [], []
        for best, probabilities in tops:
            share = float(probabilities[t, best[t]])
            tokens.append("none" if share != share else vocabulary[int(best[t])])
            shares.append(share)
        rows.append(RowEffect(t, reads, tokens[0], shares[0], tokens[1], shares[1], float(change[t])))
    return tuple(rows)


def _is_inside(change: Change, shape: tuple[int, int]) -> bool:
    return change.query < shape[0] and (change.key is None or change.key < shape[1])


def _pad_tokens(ckpt: Checkpoint, tokens: Tokens, side: str, length: int) -> Tokens:
    missing = length - len(tokens) if len(tokens) else 0
    if missing <= 0:
        return tokens
    pad, codec = getattr(ckpt.spec, f"{side}_pad"), getattr(ckpt, f"{side}_codec")
    if pad is None:
        raise ValueError(f"{ckpt.name} has no padding token: its texts cannot form one batch")
    name = codec.names[pad] if codec is not None else str(pad)
    return tokens + Tokens((pad,) * missing, (name,) * missing, ("",) * missing)


def _mark_kept(tokens: Tokens, pad: int | None) -> Booleans:
    return np.array([pad is None or token_id != pad for token_id in tokens.ids], dtype=bool)


def _array(mask: torch.Tensor) -> Booleans:
    return np.asarray(mask.numpy(), dtype=bool)


def _row(weights: torch.Tensor) -> Row:
    return np.asarray(weights[0, 0, 0].numpy(), dtype=np.float32)
