"""Causality is found by trying: the verdict against a direct test of every pair of rows."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from builders import SOURCE, TARGET, random_ids, tiny_config, tiny_model

from viz_transformer.model import causality
from viz_transformer.model.causality import is_causal
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
