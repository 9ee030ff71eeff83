"""Masks against plain loops: what is padded, what fills a masked score, and what becomes of a row that sees nothing."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from builders import SOURCE, TARGET, random_ids, tiny_config, tiny_model

from viz_transformer.model import attention as attention_module
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook import Recorder
from viz_transformer.model.masks import MASK_FILLS, PADDING_MASKS
from viz_transformer.running.edits import SetMask

FILLS = {"-inf": -math.inf, "-1e9": -1e9, "-1e10": -1e10, "added-1e9": -1e9}


@pytest.mark.parametrize("fill", FILLS)
def test_a_row_that_sees_something_is_a_softmax_over_the_allowed_keys(fill: str) -> None:
    scores = 5 * torch.randn(2, 3, 4, 6, generator=torch.Generator().manual_seed(0))
    mask = torch.rand(2, 1, 4, 6, generator=torch.Generator().manual_seed(1)) > 0.4
    mask[..., 2] = True
    weights = MASK_FILLS[fill](scores, mask)
    for batch, head, query in product(range(2), range(3), range(4)):
        allowed = [key for key in range(6) if mask[batch, 0, query, key]]
        total = sum(math.exp(scores[batch, head, query, key].item()) for key in allowed)
        for key in range(6):
            want = math.exp(scores[batch, head, query, key].item()) / total if key in allowed else 0.0
            assert weights[batch, head, query, key].item() == pytest.approx(want, abs=1e-6)
            assert key in allowed or weights[batch, head, query, key] == 0


@pytest.mark.parametrize("keys", [3, 7, 200])
def test_what_each_fill_makes_of_a_row_that_sees_nothing(keys: int) -> None:
    scores = 5 * torch.randn(1, 2, 1, keys, generator=torch.Generator().manual_seed(0))
    nothing = torch.zeros(1, 1, 1, keys, dtype=torch.bool)
    even = torch.full((1, 2, 1, keys), 1 / keys)
    assert torch.equal(MASK_FILLS["zero-rows"](scores, nothing), torch.zeros_like(scores))
    assert MASK_FILLS["-inf"](scores, nothing).isnan().all()
    for fill in ("-1e9", "-1e10", "added-1e9"):
        assert torch.equal(MASK_FILLS[fill](scores, nothing), even)
    # what is added leaves a difference where scores reach half of float32's step at 1e9, which is 64
    large = torch.tensor([[[[0.0, 100.0]]]])
    two = torch.zeros(1, 1, 1, 2, dtype=torch.bool)
    assert MASK_FILLS["added-1e9"](large, two).tolist() == [[[[0.0, 1.0]]]]
    assert MASK_FILLS["-1e9"](large, two).tolist() == [[[[0.5, 0.5]]]]


@pytest.mark.parametrize("name", PADDING_MASKS)
def test_padding_masks_cell_by_cell(name: str) -> None:
    tgt_keep = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]).bool()
    src_keep = torch.tensor([[1, 1, 1, 1, 0], [1, 0, 0, 0, 0]]).bool()
    masks = PADDING_MASKS[name]
    itself, cross = masks.self_attention(tgt_keep, tgt_keep), masks.cross_attention(tgt_keep, src_keep)
    assert itself.shape == cross.shape == (2, 1, 5, 5)
    for b, q, k in product(range(2), range(5), range(5)):
        key_and_query = bool(tgt_keep[b, k] and tgt_keep[b, q])
        want_self = bool(tgt_keep[b, k]) if name == "key" else key_and_query
        want_cross = {
            "key": bool(src_keep[b, k]),
            "key-or-query": bool(src_keep[b, k] and tgt_keep[b, q]),
            "key-or-query-swapped-cross": bool(tgt_keep[b, k] and src_keep[b, q]),
        }[name]
        assert (bool(itself[b, 0, q, k]), bool(cross[b, 0, q, k])) == (want_self, want_cross), (b, q, k)


PADDED = {"max_source": 7, "max_target": 7, "pad_to": 7}


@pytest.mark.parametrize(("name", "fill"), list(product(PADDING_MASKS, ["-1e9", "added-1e9", "-1e10", "zero-rows"])))
@torch.no_grad()
def test_a_padded_model_has_these_masks_and_this_fill(name: str, fill: str) -> None:
    config = tiny_config(padding_mask=name, mask_fill=fill, **PADDED)
    src, tgt = random_ids(len(SOURCE), 1, 7), random_ids(len(TARGET), 1, 7, seed=2)
    src[0, 5:], tgt[0, 4:] = 0, 0
    recorder = Recorder()
    tiny_model(config)(src, tgt, recorder)
    src_keep, tgt_keep = [True] * 5 + [False] * 2, [True] * 4 + [False] * 3
    for site, kept, causal in (("encoder.1.self", src_keep, False), ("decoder.2.self", tgt_keep, True)):
        mask, weights = recorder.values[f"{site}.mask"], recorder.values[f"{site}.weights"]
        for q in range(7):
            row = [kept[k] and (name == "key" or kept[q]) and (k <= q or not causal) for k in range(7)]
            assert mask[0, 0, q].tolist() == row
            if not any(row):
                assert torch.equal(weights[0, :, q], torch.full((4, 7), 0.0 if fill == "zero-rows" else 1 / 7))
    cross = recorder.values["decoder.0.cross.mask"][0, 0]
    if name == "key-or-query-swapped-cross":
        assert cross.tolist() == [[tgt_keep[k] and src_keep[q] for k in range(7)] for q in range(7)]


@torch.no_grad()
def test_minus_infinity_gives_nan_for_padded_queries_and_all_that_reads_them() -> None:
    model = tiny_model(tiny_config("encoder-only", padding_mask="key-or-query", mask_fill="-inf"))
    src = random_ids(len(SOURCE), 2, 6)
    src[1, 4:] = 0
    recorder = Recorder()
    model(src, hook=recorder)
    first, last = recorder.values["encoder.0.residual_out"], recorder.values["logits"]
    assert not first[0].isnan().any() and not last[0].isnan().any()
    assert first[1].isnan().any(-1).tolist() == [False] * 4 + [True] * 2
    assert last[1].isnan().all()  # in the next layer 0 times NaN is NaN


@torch.no_grad()
def test_only_zero_rows_run_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_module, "FUSED_FROM", 5)
    ids = random_ids(len(TARGET), 1, 6)
    for fill in MASK_FILLS:
        recorder = Recorder()
        tiny_model(tiny_config("decoder-only", mask_fill=fill))(ids, hook=recorder)
        assert ("decoder.0.self.weights" in recorder.values) is (fill != "zero-rows")


@torch.no_grad()
def test_a_mask_edit_that_closes_a_row_gets_the_fill_of_the_model() -> None:
    ids = random_ids(len(TARGET), 1, 6)
    recorder = Recorder([SetMask("decoder.0.self", 3, None, False)])
    config: ModelConfig = tiny_config("decoder-only", mask_fill="-1e9")
    tiny_model(config)(ids, hook=recorder)
    assert torch.equal(recorder.values["decoder.0.self.weights"][0, :, 3], torch.full((4, 6), 1 / 6))
