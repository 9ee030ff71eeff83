"""Tests by trial whether later tokens can change earlier logits.

A merge that mixes positions, a norm over positions, or a mask that depends on padding can make a row depend on later
tokens. Such a model cannot be decoded with a cache, and the rows of a full pass differ from those its decoding steps
saw. An edit can do the same: by opening a later key, or by masking a whole row, which most mask fills then spread over
all keys.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from viz_transformer.model.hook import PointEdit, Recorder
from viz_transformer.model.hooked_model import HookedModel, ModelSpec

_LENGTH = 12  # tokens per trial
_causal: WeakKeyDictionary[HookedModel, bool] = WeakKeyDictionary()
_padding: WeakKeyDictionary[HookedModel, bool] = WeakKeyDictionary()


def is_causal(model: HookedModel) -> bool:
    """True if no trial changed a logit of an earlier row, not by a single bit.

    Trials replace tokens with others, with and without padding before them, and with padding. Run once per model, in
    evaluation mode; dropout, random state and the model are left unchanged.
    """
    verdict = _causal.get(model)
    if verdict is None:
        verdict = _causal[model] = not _leaks(_evaluating(model))
    return verdict


def padding_matters(model: HookedModel) -> bool:
    """True if padding after a text changes the model's output for its tokens by more than rounding.

    Texts of different lengths then cannot share a batch. Always False for a model with `pad_to`, whose padding is
    fixed, and for one without a padding token.
    """
    verdict = _padding.get(model)
    if verdict is None:
        verdict = _padding[model] = _moves_under_padding(_evaluating(model))
    return verdict


@torch.no_grad()
def reads_ahead_edited(
    model: HookedModel, source: Sequence[int], target: Sequence[int], edits: Sequence[PointEdit]
) -> str | None:
    """Reason why edited masks or weights make rows of a causal decoder depend on later tokens; None if they do not.

    Found in one pass over these tokens. A row depends on any later key that it gives weight to. A NaN row also
    contaminates earlier rows, through 0 * NaN, in layers that read both in one pass. Raises ValueError for an edit that
    does not fit its point.
    """
    recorder = Recorder(edits)
    logits = model.whole([source] if model.spec.has_encoder else None, [target], hook=recorder)
    values = recorder.values
    for site in [site for site in model.spec.attentions if site.startswith("decoder.")]:
        ahead = None if site.endswith(".cross") else _row_ahead(model.spec, site, values)
        lost = _row_lost(values.get(f"{site}.weights"))
        if ahead is not None:
            return f"as edited, query {ahead} of {site} attends to later keys"
        if lost is not None:  # of the first attention affected: the others follow from it
            spreads = bool(logits[0, :lost].isnan().any())
            return f"as edited, query {lost} of {site} is NaN, and makes rows before it NaN" if spreads else None
    return None


def _row_ahead(spec: ModelSpec, site: str, values: Mapping[str, Tensor]) -> int | None:
    """First query that puts weight on a later key, or None."""
    weights = values.get(f"{site}.weights")
    if weights is not None:
        reads = (weights != 0) & ~weights.isnan()
    else:  # fused: read the open keys, or all keys of a fully masked row unless its fill gives zeros
        reads = values[f"{site}.mask"]
        if spec.config is None:
            reads = reads | ~reads.any(dim=-1, keepdim=True)
    return _first(reads.triu(1).any(dim=-1))


def _row_lost(weights: Tensor | None) -> int | None:
    """First query with a NaN weight, or None."""
    return None if weights is None else _first(weights.isnan().any(dim=-1))


def _first(rows: Tensor) -> int | None:
    """First row that is True in any head, or None. rows: [B, H, Q]."""
    found = rows.flatten(0, -2).any(dim=0).nonzero()
    return int(found[0]) if len(found) else None


@torch.no_grad()
def _leaks(model: HookedModel) -> bool:
    """True if a later token changes an earlier row of the output."""
    last_side = "target" if model.spec.has_decoder else "source"
    before, after, places = _trials(model, last_side)
    if not places:
        return False
    source = _tokens(model, "source", _LENGTH // 2)
    first, second = _rows(model, source, before), _rows(model, source, after)
    same = (first == second) | (first.isnan() & second.isnan())
    return any(not bool(same[trial, :place].all()) for trial, place in enumerate(places))


@torch.no_grad()
def _moves_under_padding(model: HookedModel) -> bool:
    config = model.spec
    side = "target" if config.has_decoder else "source"
    pad = getattr(config, f"{side}_pad")
    if config.pad_to is not None or pad is None:
        return False
    source, tokens = (_tokens(model, name, _LENGTH // 2)[:-1] for name in ("source", side))  # [:-1]: room for padding
    if not tokens or (config.kind == "encoder-decoder" and not source):
        return False
    padded_source = source if config.source_pad is None else [*source, config.source_pad]
    alone = _rows(model, source, [tokens])
    padded = _rows(model, padded_source, [[*tokens, pad]])
    padded = padded if config.output == "class" else padded[:, : len(tokens)]
    moved = (alone - padded).abs().nan_to_num(nan=torch.inf).max()
    return bool(moved > 1e-4 * alone.abs().nan_to_num().max())  # rounding changes it by less than a tenth of that


def _evaluating(model: HookedModel) -> HookedModel:
    """The model itself if in evaluation mode, else a copy in evaluation mode."""
    return copy.deepcopy(model).eval() if isinstance(model, nn.Module) and model.training else model


def _rows(model: HookedModel, source: list[int], tokens: list[list[int]]) -> Tensor:
    """Output for each row, [B, T, V or D]; an encoder-decoder reads `source` with each."""
    if not model.spec.has_decoder:
        return model.whole(tokens, None)
    return model.whole([source] * len(tokens) if model.spec.has_encoder else None, tokens)


def _trials(model: HookedModel, side: str) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """For each trial: ids before the change, ids after it, and the changed position."""
    tokens = _tokens(model, side, _LENGTH)
    pad = getattr(model.spec, f"{side}_pad")
    length = len(tokens)
    before, after, places = [], [], []
    for place in sorted({1, length // 4, length // 2, 3 * length // 4, length - 1} - {0}):
        other = tokens[(place + 1) % length]
        padded = [tokens[0], pad, *tokens[2:]]
        trials = [(tokens, other)] if pad is None else [(tokens, other), (tokens, pad), (padded, other)]
        for ids, new in trials:
            if place < length and ids[place] not in (new, pad):
                before.append(ids)
                after.append([*ids[:place], new, *ids[place + 1 :]])
                places.append(place)
    return before, after, places


def begun(model: HookedModel, start: Sequence[int], length: int) -> list[int]:
    """Decoder ids of this length that begin with `start`."""
    length = model.spec.pad_to or min(length, model.spec.max_target)
    return [*start, *_tokens(model, "target", length)[len(start) :]][:length]


def _tokens(model: HookedModel, side: str, length: int) -> list[int]:
    """Non-padding ids of one side, each different from its neighbours if the vocabulary allows."""
    config = model.spec
    size = getattr(config, f"{side}_vocab_size") or 1
    length = config.pad_to or min(length, getattr(config, f"max_{side}"))
    some = [i for i in range(min(size, length + 1)) if i != getattr(config, f"{side}_pad")] or [0]
    return [some[i % len(some)] for i in range(length)]
