"""Batches: nothing lost, bounded, sorted by length, and the same again at the same step."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
import torch
from backwards import backwards_codecs, backwards_pairs

from viz_transformer.train.data import Batch, Batches, EncodedPairs, EncodedText, TrainingOrder

PAIRS = backwards_pairs(seed=0, n=300)
CODECS = backwards_codecs()
PAD = 3


def encoded(limit: int = 12) -> EncodedPairs:
    return EncodedPairs(PAIRS, CODECS, (limit, limit), "train.tsv")


def texts(batch: Batch) -> list[tuple[str, str]]:
    src, tgt = batch
    assert src is not None
    return [(CODECS[0].decode(s), CODECS[1].decode(t)) for s, t in zip(src.tolist(), tgt.tolist(), strict=True)]


def test_each_epoch_has_every_pair_once_in_bounded_batches():
    order = TrainingOrder(encoded(), tokens=120, seed=1)
    starts = [order.steps(epoch) for epoch in range(3)]
    for start, end in pairwise(starts):
        batches = [order[step] for step in range(start, end)]
        assert Counter(pair for batch in batches for pair in texts(batch)) == Counter(PAIRS)
        assert all(src.numel() + tgt.numel() <= 120 for src, tgt in batches)


def test_pairs_for_a_model_that_pads_all_have_its_length():
    pairs = EncodedPairs(PAIRS[:50], CODECS, (15, 15), "train.tsv", pad_to=15)
    batches = pairs.batches(200)
    assert Counter(pair for batch in batches for pair in texts(batch)) == Counter(PAIRS[:50])
    for src, tgt in batches:
        assert (src.size(1), tgt.size(1)) == (15, 16)  # the decoder reads all but the last
        assert src.numel() + tgt.numel() <= 200


def test_a_batch_depends_on_seed_and_step_alone():
    forward = TrainingOrder(encoded(), tokens=120, seed=1)
    backward = TrainingOrder(encoded(), tokens=120, seed=1)
    steps = range(forward.steps(2))
    expected = [forward[step] for step in steps]
    for step in reversed(steps):
        assert all(torch.equal(a, b) for a, b in zip(backward[step], expected[step], strict=True))
    other = TrainingOrder(encoded(), tokens=120, seed=2)
    assert any(texts(other[step]) != texts(expected[step]) for step in range(5))
    assert sorted(map(texts, expected[: forward.steps(1)])) != sorted(map(texts, expected[forward.steps(1) :]))


def test_batches_hold_texts_of_similar_length_with_start_end_and_padding_behind():
    order = TrainingOrder(encoded(), tokens=120, seed=1)
    kept = total = 0
    for step in range(order.steps(1)):
        for side in order[step]:
            kept, total = kept + int((side != PAD).sum()), total + side.numel()
            assert (side[:, 0] == 0).all() and ((side == 1).sum(dim=1) == 1).all()
            assert ((side == PAD).diff(dim=1).int() >= 0).all()  # once padding, always padding
            assert (side != PAD).all(dim=1).any()  # cut to the longest
    assert kept / total > 0.95  # unsorted batches of these pairs keep 0.7


def test_batches_go_on_at_the_saved_place():
    order = TrainingOrder(encoded(), tokens=120, seed=1)
    first = Batches(order, steps=12)
    given = [texts(batch) for _, batch in zip(range(5), first, strict=False)]
    second = Batches(order, steps=12)
    second.load_state_dict(first.state_dict())
    assert given + [texts(batch) for batch in second] == [texts(order[step]) for step in range(12)]


def test_processes_share_the_batches_without_overlap():
    order = TrainingOrder(encoded(), tokens=120, seed=1)
    shares = [[texts(batch) for batch in Batches(order, steps=4, rank=rank, world=3)] for rank in range(3)]
    together = [shares[step % 3][step // 3] for step in range(12)]
    assert together == [texts(order[step]) for step in range(12)]


def test_a_pair_that_is_too_long_is_refused_with_its_line():
    line = next(i for i, (source, _) in enumerate(PAIRS, start=1) if len(source) == 8)
    with pytest.raises(ValueError, match=rf"train.tsv, pair {line}: the source has 10 tokens, .* at most 9"):
        encoded(limit=9)


class Elsewhere(torch.Tensor):
    """Numbers that say of themselves that they are on a GPU."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("cuda")


@pytest.mark.parametrize("examples", [encoded(), EncodedText(torch.arange(300), 12)])
def test_examples_held_by_a_device_give_the_same_batches(
    examples: EncodedPairs | EncodedText, monkeypatch: pytest.MonkeyPatch
):
    order = TrainingOrder(examples, tokens=120, seed=1)
    before = [order[step] for step in range(order.steps(1))]
    moved: list[object] = []
    own = torch.Tensor.to

    def to(self: torch.Tensor, *given: object, **options: object) -> torch.Tensor:
        if given and given[0] == torch.device("cuda"):
            moved.append(self)
            return self.as_subclass(Elsewhere)
        return own(self.as_subclass(torch.Tensor), *given, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(torch.Tensor, "to", to)
    examples.hold_on(torch.device("cuda"))
    held = len(moved)
    after = [order[step] for step in range(order.steps(1))]
    assert held == len(moved) - len(after)  # of a batch only its indices travel
    for a, b in zip(before, after, strict=True):
        assert all(x is y is None or torch.equal(x, y.as_subclass(torch.Tensor)) for x, y in zip(a, b, strict=True))
        assert all(isinstance(side, Elsewhere) for side in b if side is not None)
