"""Training mode: dropout on, repeatable by its seed, and nothing else in the process changed by it."""

from __future__ import annotations

import copy
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.dropout import Dropout
from viz_transformer.model.hook import Recorder
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace
from viz_transformer.running.training_mode import training_trace

SLIPS = {"norm": "post", "final_norm": False, "norm_kind": "positions-and-features", "merge": "raw-reshape"}
SLIPS |= {"pad_to": 20, "max_target": 20, "mask_fill": "added-1e9", "attention_dropout": False}


def same(first: Trace, second: Trace) -> bool:
    return first.points() == second.points() and all(torch.equal(first[n], second[n]) for n in first.points())


def by_hand(ckpt: Checkpoint, recorded: Trace, seed: int) -> dict[str, torch.Tensor]:
    """The points of the model itself in training mode, after torch.manual_seed."""
    model, recorder = copy.deepcopy(ckpt.model).train(), Recorder()
    ids = [torch.tensor([side.ids]) for side in (recorded.src, recorded.tgt) if len(side)]
    torch.manual_seed(seed)
    with torch.no_grad():
        model(*ids, hook=recorder)
    return recorder.values


@pytest.mark.parametrize("changes", [{}, SLIPS, {"norm": "post", "tied_output": True, "positions": "learned"}])
@pytest.mark.parametrize("dropout", [0.1, 0.5])
def test_the_numbers_are_those_of_the_model_in_training_after_this_seed(changes: dict, dropout: float) -> None:
    ckpt = tiny_checkpoint(dropout=dropout, **changes)
    recorded = training_trace(ckpt, "abca", "uvu", 7)
    want = by_hand(ckpt, recorded, 7)
    assert recorded.points() == tuple(want)
    for name, value in want.items():
        assert torch.equal(recorded[name], value), name


@pytest.mark.parametrize(("kind", "text"), [("encoder-only", "abc"), ("decoder-only", "uvw")])
def test_a_model_of_one_stack_has_a_training_mode(kind: str, text: str) -> None:
    ckpt = tiny_checkpoint(kind, dropout=0.5)
    recorded = training_trace(ckpt, text, None, 3)
    want = by_hand(ckpt, recorded, 3)
    assert all(torch.equal(recorded[name], want[name]) for name in recorded.points())
    assert not torch.equal(recorded["logits"], trace(ckpt, text)["logits"])


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others() -> None:
    ckpt = tiny_checkpoint(dropout=0.3)
    first = training_trace(ckpt, "abca", [1, 5, 6], 0)
    torch.rand(17)  # what others draw in between does not matter
    assert same(first, training_trace(ckpt, "abca", [1, 5, 6], 0))
    other = training_trace(ckpt, "abca", [1, 5, 6], 1)
    assert not torch.equal(first["logits"], other["logits"])
    assert not torch.equal(first["encoder.0.self.weights"], other["encoder.0.self.weights"])


def test_the_global_random_state_is_untouched() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    training_trace(tiny_checkpoint_kept(), "abca", "uvu", 7)
    assert torch.equal(torch.get_rng_state(), before)


def tiny_checkpoint_kept() -> Checkpoint:
    """Made without moving the global random state."""
    with torch.random.fork_rng(devices=[]):
        return tiny_checkpoint(dropout=0.3)


def test_others_that_draw_at_the_same_time_change_nothing() -> None:
    ckpt = tiny_checkpoint(dropout=0.3)
    want = training_trace(ckpt, "abca", "uvu", 7)
    done = threading.Event()

    def draw() -> None:
        while not done.is_set():
            torch.rand(1000)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        assert all(same(want, training_trace(ckpt, "abca", "uvu", 7)) for _ in range(5))
    finally:
        done.set()
        thread.join()


def test_the_shared_model_is_bit_by_bit_what_it_was() -> None:
    ckpt = tiny_checkpoint(dropout=0.5)
    before = trace(ckpt, "abca", "uvu")
    modules = list(ckpt.model.modules())
    state = {name: value.clone() for name, value in ckpt.model.state_dict().items()}
    buffers = {name: value.clone() for name, value in ckpt.model.named_buffers()}
    training_trace(ckpt, "abca", "uvu", 7)
    assert [*map(id, ckpt.model.modules())] == [*map(id, modules)]
    assert not any(module.training for module in modules)
    assert {type(module) for module in modules if isinstance(module, Dropout)} == {Dropout}
    assert all(torch.equal(value, state[name]) for name, value in ckpt.model.state_dict().items())
    assert all(torch.equal(value, buffers[name]) for name, value in ckpt.model.named_buffers())
    assert same(before, trace(ckpt, "abca", "uvu"))


def test_no_parameter_is_copied() -> None:
    """The maps that contributions are made of are the model's own tensors, so those of the run were, too."""
    ckpt = tiny_checkpoint(dropout=0.5)
    recorded = training_trace(ckpt, "a", "u", 0)
    for site, weight in trace(ckpt, "a", "u").output_maps.items():
        assert recorded.output_maps[site].data_ptr() == weight.data_ptr()


def test_weights_are_those_behind_dropout_and_make_the_head_s_output() -> None:
    recorded = training_trace(tiny_checkpoint(dropout=0.5), "abca", "uvu", 7)
    weights = recorded["encoder.0.self.weights"]
    assert (weights == 0).any() and not torch.allclose(weights.sum(-1), torch.ones(()), atol=1e-3)
    made = weights.double() @ recorded["encoder.0.self.value"].double()
    torch.testing.assert_close(recorded["encoder.0.self.head_out"].double(), made, atol=1e-6, rtol=0)


def test_without_dropout_training_mode_is_evaluation_mode() -> None:
    ckpt = tiny_checkpoint(dropout=0.0)
    assert same(training_trace(ckpt, "abca", "uvu", 7), trace(ckpt, "abca", "uvu"))


def test_the_trace_says_how_it_was_made_and_keeps_it_in_its_file(tmp_path: Path) -> None:
    recorded = training_trace(tiny_checkpoint(dropout=0.25), "abca", "uvu", 7)
    recorded.save(tmp_path / "run.safetensors")
    for one in (recorded, Trace.load(tmp_path / "run.safetensors")):
        assert (one.info["kind"], one.info["seed"], one.info["dropout"]) == ("training mode", 7, 0.25)
        assert one.info["causal"] is True  # the model is, whatever dropout does to two of its passes
        assert one.src_tokens == ("<s>", "a", "b", "c", "a", "</s>")


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_out_of_range_is_a_value_error(seed: int) -> None:
    with pytest.raises(ValueError, match="is not a whole number from 0"):
        training_trace(tiny_checkpoint(), "a", "u", seed)


def test_what_a_trace_refuses_is_refused() -> None:
    with pytest.raises(ValueError, match="source has 10,002 tokens"):
        training_trace(tiny_checkpoint(), "a" * 10_000, "u", 0)
    with pytest.raises(ValueError, match="needs a target"):
        training_trace(tiny_checkpoint(), "a", None, 0)


def test_fused_attention_is_refused_where_it_would_drop_weights() -> None:
    ids = torch.randint(4, 20, (512,), generator=torch.Generator().manual_seed(0)).tolist()
    ckpt = tiny_checkpoint("decoder-only", max_target=600, dropout=0.5)
    with pytest.raises(ValueError, match="the text has 512 tokens, training mode is recorded for at most 511"):
        training_trace(ckpt, ids, None, 0)
    assert "decoder.0.self.weights" in training_trace(ckpt, ids[:511], None, 0).points()
    config = replace(ckpt.config, attention_dropout=False)
    free = tiny_checkpoint("decoder-only", max_target=600, dropout=0.5, attention_dropout=False)
    assert config == free.config
    want = by_hand(free, trace(free, ids), 4)
    assert torch.equal(training_trace(free, ids, None, 4)["logits"], want["logits"])
