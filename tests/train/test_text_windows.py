"""Windows of one long text: each token read once an epoch, and predicted from those before it."""

from __future__ import annotations

import pytest
import torch

from viz_transformer.train.data import EncodedText, TrainingOrder

TEXT = EncodedText(range(1000), 16)  # each token tells its place


def test_a_window_reads_tokens_and_predicts_those_after_each():
    src, tgt = TEXT.batch(torch.tensor([0, 983]))
    assert src is None
    assert tgt[0].tolist() == list(range(17)) and tgt[1].tolist() == list(range(983, 1000))


def test_an_epoch_reads_each_token_at_most_once_and_loses_less_than_two_windows():
    order = TrainingOrder(TEXT, tokens=64, seed=3)
    for epoch in range(4):
        steps = range(order.steps(epoch), order.steps(epoch + 1))
        batches = [order[step][1] for step in steps]
        assert all(batch[:, :-1].numel() <= 64 for batch in batches)
        read = torch.cat([batch[:, :-1].flatten() for batch in batches])
        assert len(set(read.tolist())) == len(read) > 1000 - 2 * 17
    first = [int(order[order.steps(epoch)][1].min()) % 16 for epoch in range(6)]
    assert len(set(first)) > 1  # epochs cut at other places


def test_a_sample_is_spread_over_the_text_and_measured_whole():
    sample = TEXT.evenly(8)
    batches = sample.batches(48)
    starts = torch.cat([tgt[:, 0] for _, tgt in batches])
    assert len(starts) == 8 and starts[0] == 0 and starts[-1] > 800 and all(len(tgt) <= 3 for _, tgt in batches)


def test_a_text_shorter_than_a_window_is_refused():
    with pytest.raises(ValueError, match="the text has 16 tokens: it must have more than the 16 of a window"):
        EncodedText(range(16), 16)
