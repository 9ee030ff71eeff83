"""What the cache saves is what torch counts, and what it changes is rounding."""

import numpy as np
import pytest
import torch
from builders import random_ids, tiny_checkpoint, tiny_config
from torch.utils.flop_counter import FlopCounterMode

from viz_transformer.analysis.decoding.caching import cache_of_run, cache_use, uncached_difference
from viz_transformer.model.cache import DecoderCache
from viz_transformer.running.decoding import decode, follow
from viz_transformer.running.edits import AblateHead
from viz_transformer.running.strategies import Beam
from viz_transformer.running.tracing import trace

KINDS = ("encoder-decoder", "decoder-only")
VARIANTS = (
    {},
    {"d_model": 24, "n_heads": 3, "d_ff": 40, "decoder_layers": 2},
    {"norm": "post", "attention_bias": False, "ffn_bias": False, "output_bias": False},
    {"tied_output": True, "positions": "learned", "divisor": "learned"},
    {"target_vocab_size": 2**16 + 1},  # an output matrix that no core keeps near itself
)
SLIPS = {"pad_to": 20, "max_target": 20, "merge": "raw-reshape"}


def counted(call):
    """Multiply-adds by torch's own counter, which counts two operations for each."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        call()
    assert counter.get_total_flops() % 2 == 0
    return counter.get_total_flops() // 2


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_multiply_adds_are_those_that_torch_counts(kind, changes):
    ckpt = tiny_checkpoint(kind, **changes)
    model, config, start, source, steps = ckpt.model.requires_grad_(False), ckpt.config, 3, 7, 5
    source = source if config.has_encoder else 0
    memory, keep = model.encode(random_ids(12, 1, source)) if source else (None, None)
    tgt = random_ids(20, 1, start + steps - 1)
    cache = DecoderCache(config.decoder_layers, config.max_target)
    for step in cache_use(config, start, source, steps):
        length = start + step.index
        new = tgt[:, cache.length : length]
        assert step.cached.total == counted(lambda new=new: model.decode(new, memory, keep, cache=cache))
        assert step.whole.total == counted(lambda length=length: model.decode(tgt[:, :length], memory, keep))


@pytest.mark.parametrize("kind", KINDS)
def test_positions_and_bytes_are_those_of_the_models_own_cache(kind):
    ckpt = tiny_checkpoint(kind)
    model, config, start = ckpt.model, ckpt.config, 2
    source = 6 if config.has_encoder else 0
    memory, keep = model.encode(random_ids(12, 1, source)) if source else (None, None)
    tgt = random_ids(20, 1, 9)
    cache = DecoderCache(config.decoder_layers, config.max_target)
    for step in cache_use(config, start, source, 8):
        before = cache.length
        with torch.no_grad():
            model.decode(tgt[:, before : start + step.index], memory, keep, cache=cache)
        assert (step.self_reused, step.positions) == (before, cache.length)
        caches = [*cache.self_attention, *(cache.cross_attention if source else [])]
        held = [tensor for each in caches for tensor in (each.key, each.value)]
        allocated = [tensor for each in caches for tensor in (each._key, each._value)]
        assert step.bytes_held == sum(t.numel() * t.element_size() for t in held)
        assert step.bytes_allocated == sum(t.numel() * t.element_size() for t in allocated)


def test_a_step_by_hand():
    """One layer, d_model 4, d_ff 6, vocabulary 5, source 3; step 2 has read 1 + 2 tokens and reads one of them anew.

    With the cache, one row. Maps: 4 of self-attention and 2 of cross-attention, 16 each: 96. Scores: 3 + 3 keys of
    4 numbers: 24, the weighted sum likewise. Feed-forward 2 x 4 x 6 = 48. Output 4 x 5 = 20. A whole pass has 3 times
    that, and 2 maps of the 3 source positions: 96.
    """
    config = tiny_config(
        d_model=4, n_heads=2, d_ff=6, decoder_layers=1, target_vocab_size=5, max_target=10, target_pad=0
    )
    step = cache_use(config, 1, 3, 3)[2]
    cached, whole = step.cached, step.whole
    assert (cached.projections, cached.scores, cached.weighted_sums) == (96, 24, 24)
    assert (cached.feed_forward, cached.output_layer, cached.total) == (48, 20, 212)
    assert (whole.projections, whole.total) == (3 * 96 + 96, 3 * 212 + 96)
    assert step.saved == 1 - 212 / 732
    assert (step.self_computed, step.self_reused, step.cross_computed, step.cross_reused) == (1, 2, 0, 3)
    assert (step.bytes_held, step.bytes_allocated) == (2 * 4 * 6 * 4, 2 * 4 * 13 * 4)


def test_the_first_step_computes_everything_and_saves_nothing():
    first, second = cache_use(tiny_config(), 4, 6, 2)
    assert (first.self_computed, first.self_reused, first.cross_computed, first.cross_reused) == (4, 0, 6, 0)
    assert first.saved == 0 and first.cached == first.whole
    assert (second.self_computed, second.self_reused, second.cross_computed, second.cross_reused) == (1, 4, 0, 6)
    assert 0 < second.saved < 1


@pytest.mark.parametrize(("kind", "text"), [("encoder-decoder", "abc"), ("decoder-only", "uvw")])
def test_a_runs_steps_hold_what_its_cache_held(kind, text):
    run = decode(tiny_checkpoint(kind), text, max_steps=6)
    found = cache_of_run(run)
    assert [(step.positions, step.bytes_held) for step in found] == [
        (step.cache.self_positions, step.cache.bytes) for step in run.steps
    ]


@pytest.mark.parametrize(("kind", "text"), [("encoder-decoder", "abc"), ("decoder-only", "uvw")])
def test_logits_without_a_cache_differ_by_rounding_alone(kind, text):
    ckpt = tiny_checkpoint(kind)
    run = decode(ckpt, text, max_steps=6)
    found = uncached_difference(ckpt, run)
    assert len(found.gaps) == len(found.logits) == len(run.steps)
    first = len(run.trace.tgt) - len(run.steps)
    for index, step in enumerate(run.steps):
        read = run.trace.tgt_ids[: first + 1 + index]
        inputs = (list(run.trace.src_ids), list(read)) if kind == "encoder-decoder" else (list(read),)
        whole = trace(ckpt, *inputs)["logits"][0, -1].double()
        assert found.gaps[index] == (whole - step.logits.double()).abs().max().item()
        assert found.logits[index] == torch.maximum(whole.abs().max(), step.logits.double().abs().max()).item()
    assert found.gap == found.gaps.max() and found.relative == found.gap / found.logits.max()
    assert found.relative < 1e-6 and not found.in_one_pass


def test_a_wrong_logit_is_found(monkeypatch):
    ckpt = tiny_checkpoint()
    run = decode(ckpt, "abc", target="uvw")
    run.steps[2].logits[5] += 0.25
    gaps = uncached_difference(ckpt, run).gaps
    assert gaps[2] == pytest.approx(0.25, abs=1e-5) and np.delete(gaps, 2).max() < 1e-5


def test_edits_are_in_both():
    ckpt = tiny_checkpoint()
    run = decode(ckpt, "abc", target="uvw", edits=[AblateHead("decoder.0.self", head=1)])
    assert uncached_difference(ckpt, run).relative < 1e-6


def test_a_hypothesis_of_a_search_says_that_it_was_recorded_in_one_pass():
    ckpt = tiny_checkpoint()
    for run in (decode(ckpt, "abc", strategy=Beam(3), max_steps=5), follow(ckpt, "abc", [4, 5, 6])):
        found = uncached_difference(ckpt, run)
        assert found.in_one_pass and found.relative < 1e-6


def test_what_has_no_cache_says_why():
    slips = tiny_checkpoint(**SLIPS)
    run = decode(slips, "abc", max_steps=3)
    for call in (lambda: cache_of_run(run), lambda: uncached_difference(slips, run)):
        with pytest.raises(ValueError, match="there is no cache: the model reads 20 tokens at a time"):
            call()
    leaky = tiny_checkpoint(merge="raw-reshape")
    with pytest.raises(ValueError, match="there is no cache: later tokens change earlier rows of this model"):
        cache_of_run(decode(leaky, "abc", max_steps=3))


@pytest.mark.parametrize(
    ("kind", "counts", "says"),
    [
        ("encoder-only", (1, 3, 2), "writes nothing"),
        ("encoder-decoder", (1, 0, 2), "source=0 does not fit: the model is encoder-decoder"),
        ("decoder-only", (1, 3, 2), "source=3 does not fit"),
        ("decoder-only", (0, 0, 2), "start=0 has to be a whole number of at least 1"),
        ("decoder-only", (5, 0, 21), "the last step reads 25 tokens, the model at most 24"),
    ],
)
def test_counts_that_do_not_fit_are_refused(kind, counts, says):
    with pytest.raises(ValueError, match=says):
        cache_use(tiny_config(kind), *counts)


def test_another_model_is_refused():
    run = decode(tiny_checkpoint(), "abc", max_steps=2)
    with pytest.raises(ValueError, match="give its checkpoint"):
        uncached_difference(tiny_checkpoint(seed=1), run)
