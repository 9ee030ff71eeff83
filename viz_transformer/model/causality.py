"""Whether later tokens can change earlier logits: found out by trying, never assumed.

A merge that mixes positions, a norm over positions or a mask that opens for padding can each let a row depend on
tokens that come after it. Such a model must not be decoded with a cache, and its rows in a whole pass are not the
rows that its decoding steps saw.
"""

from __future__ import annotations

import copy
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from viz_transformer.model.transformer import Transformer

_LENGTH = 12  # tokens of a trial
_causal: WeakKeyDictionary[Transformer, bool] = WeakKeyDictionary()


def is_causal(model: Transformer) -> bool:
    """True if in none of the trials a changed token changed a logit of an earlier row, not by one bit.

    Tokens are exchanged for others, with and without padding before them, and for padding. Tried once for each model,
    in evaluation mode; dropout, random numbers and the model itself stay as they are.
    """
    verdict = _causal.get(model)
    if verdict is None:
        tried = copy.deepcopy(model).eval() if model.training else model
        verdict = _causal[model] = not _leaks(tried)
    return verdict


@torch.no_grad()
def _leaks(model: Transformer) -> bool:
    """True if a later token changes an earlier row of what the model gives out."""
    config = model.config
    device = next(model.parameters()).device
    last_side = "target" if config.has_decoder else "source"
    before, after, places = _trials(model, last_side)
    if not places:
        return False
    inputs = []
    if config.kind == "encoder-decoder":
        source = _tokens(model, "source", _LENGTH // 2)
        inputs = [torch.tensor([source] * len(places), device=device)]
    first: Tensor = model(*inputs, torch.tensor(before, device=device))
    second: Tensor = model(*inputs, torch.tensor(after, device=device))
    same = (first == second) | (first.isnan() & second.isnan())
    return any(not bool(same[trial, :place].all()) for trial, place in enumerate(places))


def _trials(model: Transformer, side: str) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """Ids before the change, ids after it, and the position that changes, for each trial."""
    tokens = _tokens(model, side, _LENGTH)
    pad = getattr(model.config, f"{side}_pad")
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


def _tokens(model: Transformer, side: str, length: int) -> list[int]:
    """Ids of one side without padding, neighbours different where the vocabulary has two tokens."""
    config = model.config
    size = getattr(config, f"{side}_vocab_size")
    some = [i for i in range(min(size, length + 1)) if i != getattr(config, f"{side}_pad")] or [0]
    return [some[i % len(some)] for i in range(min(length, getattr(config, f"max_{side}")))]
