"""Causality is found by trying: the verdict against a direct test of every pair of rows."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from builders import SOURCE, TARGET, random_ids, tiny_config, tiny_model

from viz_transformer.model import causality
from viz_transformer.model.causality import is_causal, padding_matters
from viz_transformer.model.transformer import Transformer

CAUSAL: list[dict[str, Any]] = [
    {},
    {"norm": "post", "final_norm": False},
    {"norm_kind": "bessel"},
    {"divisor": "learned", "embedding_scale": "learned"},
    {"kind": "decoder-only"},
    {"kind": "decoder-only", "target_pad": None},
    {"merge": "raw-reshape", "n_heads": 1},  # one head: nothing to mix
    {"max_target": 1},  # nothing can come later
]
NOT_CAUSAL: list[dict[str, Any]] = [
    {"merge": "raw-reshape"},
    {"merge": "raw-reshape", "kind": "decoder-only"},
    {"norm_kind": "positions-and-features"},
    {"norm_kind": "positions-and-features", "norm": "post", "final_norm": False, "kind": "decoder-only"},
    {"kind": "encoder-only"},
]


@torch.no_grad()
def later_tokens_matter(model: Transformer) -> bool:
    """By the definition: for one text of six tokens, change each token and look at all rows before it."""
    config, tgt = model.config, random_ids(len(TARGET), 1, min(6, model.config.max_target), seed=4)
    first = [random_ids(len(SOURCE), 1, 5)] if config.kind == "encoder-decoder" else []
    before = model(*first, tgt % 12 if config.kind == "encoder-only" else tgt)
    for place in range(1, tgt.size(1)):
        changed = tgt.clone()
        changed[0, place] = (tgt[0, place] + 1) % 12
        after = model(*first, changed % 12 if config.kind == "encoder-only" else changed)
        if not torch.equal(before[:, :place], after[:, :place]):
            return True
    return False


@pytest.mark.parametrize("changes", CAUSAL)
def test_a_causal_model_is_found_causal(changes: dict[str, Any]) -> None:
    model = tiny_model(tiny_config(**changes))
    assert is_causal(model)
    assert not later_tokens_matter(model)


@pytest.mark.parametrize("changes", NOT_CAUSAL)
def test_a_model_that_is_not_causal_is_found_out(changes: dict[str, Any]) -> None:
    model = tiny_model(tiny_config(**changes))
    assert not is_causal(model)
    assert later_tokens_matter(model)


@pytest.mark.parametrize(
    ("changes", "causal"),
    [
        ({"padding_mask": "key", "mask_fill": "-1e9"}, True),
        ({"padding_mask": "key", "mask_fill": "-inf"}, True),
        ({"padding_mask": "key-or-query", "mask_fill": "zero-rows"}, True),
        # a written padding token: its row is even over all keys, those that come later included
        ({"padding_mask": "key-or-query", "mask_fill": "-1e10"}, False),
        # its row is NaN, and zero weight times NaN is NaN in every earlier row
        ({"padding_mask": "key-or-query", "mask_fill": "-inf"}, False),
        # later padding closes a key of the memory for every row
        ({"padding_mask": "key-or-query-swapped-cross", "max_source": 9, "max_target": 9, "pad_to": 9}, False),
    ],
)
@torch.no_grad()
def test_padding_as_a_written_token_counts(changes: dict[str, Any], causal: bool) -> None:
    model = tiny_model(tiny_config(**changes))
    assert is_causal(model) is causal
    src, plain = random_ids(len(SOURCE), 1, 9), random_ids(len(TARGET), 1, 9, seed=4)
    padded, last = plain.clone(), plain.clone()
    padded[0, 3], last[0, 8] = 0, 0
    both = padded.clone()
    both[0, 8] = 4 + (both[0, 8] - 3) % 16
    seen = [torch.equal(model(src, a)[:, :8], model(src, b)[:, :8]) for a, b in ((plain, last), (padded, both))]
    assert all(seen) is causal


PADDED = {"max_source": 9, "max_target": 9, "pad_to": 9}


def test_models_that_pad_are_tried_at_their_length() -> None:
    assert is_causal(tiny_model(tiny_config(**PADDED)))
    assert not is_causal(tiny_model(tiny_config(**PADDED, merge="raw-reshape")))


@pytest.mark.parametrize(
    ("changes", "matters"),
    [
        ({}, False),
        ({"kind": "decoder-only"}, False),
        ({"merge": "raw-reshape"}, True),
        ({"norm_kind": "positions-and-features"}, True),
        ({"norm_kind": "positions-and-features", "kind": "encoder-only"}, True),
        ({"merge": "raw-reshape", **PADDED}, False),  # always the same padding
        ({"merge": "raw-reshape", "target_pad": None}, False),  # never any padding
    ],
)
@torch.no_grad()
def test_whether_padding_matters_is_found_by_trying(changes: dict[str, Any], matters: bool) -> None:
    model = tiny_model(tiny_config(**changes))
    assert padding_matters(model) is matters
    if model.config.kind == "encoder-decoder" and model.config.pad_to is None and model.config.target_pad is not None:
        src, tgt = random_ids(len(SOURCE), 1, 5, seed=7), random_ids(len(TARGET), 1, 4, seed=8)
        longer = torch.cat([src, torch.zeros(1, 4, dtype=torch.long)], dim=1)
        assert torch.allclose(model(src, tgt), model(longer, tgt), atol=1e-5) is not matters


def test_a_model_is_tried_once_and_not_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model(tiny_config())
    assert is_causal(model)
    monkeypatch.setattr(causality, "_leaks", lambda model: pytest.fail("tried twice"))
    assert is_causal(model)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_trying_leaves_training_mode_and_random_numbers_as_they_are() -> None:
    model = tiny_model(tiny_config(dropout=0.5)).train()
    torch.manual_seed(5)
    assert is_causal(model)
    assert model.training and model.decoder.training
    assert torch.initial_seed() == 5
    drawn = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(torch.rand(3), drawn)
