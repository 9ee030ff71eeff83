"""Runs too large to be kept whole: what they show is, bit by bit, what the whole recording has."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from in_turn import every
from pretrained import KINDS

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.huggingface.families import FAMILIES
from viz_transformer.huggingface.spec import MAX_BYTES, spec_of_config
from viz_transformer.model import attention, hooked_model
from viz_transformer.model.hook import layer_of
from viz_transformer.model.hooked_model import ReplayMismatch
from viz_transformer.model.points import keeping_rank
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.edits import AblateHead, Edit
from viz_transformer.running.lazy_activations import LazyActivations
from viz_transformer.running.strategies import Beam
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

Opened = Callable[[str], Checkpoint]
WRITE = [name for name, (model, _) in KINDS.items() if re.search("CausalLM|Conditional|LMHead|Marian", model)]
SOURCE, TARGET = [5, 9, 13, 7, 20, 21, 22, 6, 8, 30], [2, 30, 12, 33, 34, 5, 36, 37]
TEXT = "the cat sat on the mat and a dog ran"


def recorded(ckpt: Checkpoint, *edits: Edit) -> Trace:
    return trace(ckpt, SOURCE, TARGET if ckpt.spec.kind == "encoder-decoder" else None, edits=edits)


def kept_of(large: Trace) -> frozenset[str]:
    return large.spec.kept(source=len(large.src), target=len(large.tgt))


def same_bits(large: Trace, whole: Trace) -> None:
    assert isinstance(large.values, LazyActivations)
    assert not isinstance(whole.values, LazyActivations)
    assert large.points(derived=True) == whole.points(derived=True)
    for name in whole.points():
        assert large[name].equal(whole[name]), name
        assert large.shape(name) == whole.shape(name) == tuple(whole[name].shape), name
    for name in whole.points(derived=True):
        assert large[name].equal(whole[name]), name


def same_run(large: Run, whole: Run) -> None:
    assert large.tokens == whole.tokens
    same_bits(large.trace, whole.trace)
    for mine, theirs in zip(large.steps, whole.steps, strict=True):
        assert mine.logits.equal(theirs.logits)
        assert mine.rows.keys() == theirs.rows.keys()
        for name, row in theirs.rows.items():
            assert mine.rows[name].equal(row), (mine.index, name)


@pytest.mark.parametrize("name", KINDS)
def test_a_pass_is_what_its_whole_recording_is(opened: Opened, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = opened(name)
    whole = recorded(ckpt)
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", 0)
    monkeypatch.setattr(hooked_model, "ANEW_BYTES", 0)  # a layer at a time
    same_bits(recorded(ckpt), whole)


@pytest.mark.parametrize(
    ("name", "fused_from"),
    every(3, [*((name, 512) for name in WRITE), *((name, 5) for name in ("gpt2", "llama", "marian", "t5"))], first=2),
)
def test_a_text_is_written_with_the_same_numbers(
    opened: Opened, name: str, fused_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ckpt = opened(name)
    monkeypatch.setattr(attention, "FUSED_FROM", fused_from)
    how = {"max_steps": 20, "ban": sorted(ckpt.codec("target").ends)}
    whole = decode(ckpt, TEXT, **how)
    prompt = len(whole.trace.tgt) - len(whole.steps) + 1
    first = ckpt.spec.whole_bytes(source=len(whole.trace.src), target=prompt)
    for room in (0, first):  # too large from the beginning, and while it is written
        monkeypatch.setattr(hooked_model, "WHOLE_BYTES", room)
        same_run(decode(ckpt, TEXT, **how), whole)


@pytest.mark.parametrize("name", ["gpt2", "llama", "marian", "t5"])
@pytest.mark.parametrize("how", ["zero", "mean", "uniform"])
def test_edits_are_made_again_too(opened: Opened, name: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mean needs all rows at once, so that each step is a whole pass."""
    ckpt = opened(name)
    edit = AblateHead("decoder.1.self", 1, how)  # type: ignore[arg-type]
    whole, written = recorded(ckpt, edit), decode(ckpt, TEXT, max_steps=4, edits=[edit])
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", 0)
    same_bits(recorded(ckpt, edit), whole)
    same_run(decode(ckpt, TEXT, max_steps=4, edits=[edit]), written)


@pytest.mark.parametrize("name", ["llama", "bart"])
def test_a_beam_has_the_same_numbers(opened: Opened, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = opened(name)
    whole = decode(ckpt, TEXT, strategy=Beam(3), max_steps=4)
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", 0)
    same_run(decode(ckpt, TEXT, strategy=Beam(3), max_steps=4), whole)


@pytest.mark.parametrize("decoded", [True, False])
def test_what_is_saved_of_one_is_all_of_it(
    opened: Opened, decoded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ckpt = opened("llama")
    whole = decode(ckpt, TEXT, max_steps=4).trace if decoded else recorded(ckpt)
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", 0)
    large = decode(ckpt, TEXT, max_steps=4).trace if decoded else recorded(ckpt)
    monkeypatch.setattr(hooked_model, "ANEW_BYTES", 0)
    large.save(tmp_path / "large.safetensors")
    found = Trace.load(tmp_path / "large.safetensors")
    assert found.points() == whole.points()
    assert all(found[name].equal(whole[name]) for name in whole.points())
    assert set(large.diff(whole).values()) == {0.0}


def test_points_of_one_layer_and_one_point_of_all_layers_take_few_passes(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    ckpt = opened("bart")
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", 0)
    large = recorded(ckpt)
    passes = list[Any]()
    whole = type(ckpt.hooked_model).whole

    def counted(*args: Any, **named: Any) -> Any:
        passes.append(named)
        return whole(*args, **named)

    monkeypatch.setattr(type(ckpt.hooked_model), "whole", counted)
    for name in kept_of(large):
        assert large[name].numel()
    assert not passes
    for name in large.points():
        assert large[name].numel()
    assert len(passes) == 1  # there is room for all

    monkeypatch.setattr(hooked_model, "ANEW_BYTES", 0)
    large = recorded(ckpt)
    passes.clear()
    for name in large.points():
        assert large[name].numel()
    assert len(passes) == 4  # a layer at a time


def test_no_more_is_kept_than_there_is_room_for(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = opened("bart")
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", 0)
    large = recorded(ckpt)
    values = large.values
    assert isinstance(values, LazyActivations)
    kept = kept_of(large)
    anew = [name for name in large.points() if name not in kept]
    sizes = {name: large[name].numel() * 4 for name in anew}
    layers = [sum(size for name, size in sizes.items() if layer_of(name) == layer) for layer in map(layer_of, anew)]
    room = int(max(layers) * 1.5)
    monkeypatch.setattr(hooked_model, "ANEW_BYTES", room)
    large = recorded(ckpt)
    for name in (*anew, *reversed(anew), *anew[::3]):
        assert large[name].numel()
        held = large.values._made  # type: ignore[attr-defined]  # what it holds is what is tested
        assert sum(each.numel() * 4 for each in held.values()) <= room


def test_a_pass_that_gives_other_numbers_is_not_shown(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = opened("gpt2")
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", 0)
    monkeypatch.setattr(hooked_model, "ANEW_BYTES", 0)
    large = recorded(ckpt)
    kept = large["decoder.1.residual_out"]
    kept[0, 3, 5] = torch.nextafter(kept[0, 3, 5], torch.tensor(torch.inf))  # one bit
    assert large["decoder.0.ffn.hidden"].numel()
    with pytest.raises(
        ReplayMismatch, match=r"decoder, layer 1 cannot be shown: recomputed, its decoder\.1\.residual_out was not"
    ):
        large["decoder.1.ffn.hidden"]


def test_threads_that_look_at_once_get_the_same(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = opened("llama")
    whole = recorded(ckpt)
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", 0)
    monkeypatch.setattr(hooked_model, "ANEW_BYTES", 0)
    large = recorded(ckpt)
    names = [name for name in large.points() if name not in kept_of(large)] * 3
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda name: (name, large[name]), names)]
    assert all(value.equal(whole[name]) for name, value in found)


GPT2_XL = {"n_embd": 1600, "n_layer": 48, "n_head": 25, "n_positions": 1024, "vocab_size": 50257}
LLAMA_7B = {
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
}


@pytest.mark.parametrize(
    ("family", "config", "most", "rank"), [("gpt2", GPT2_XL, 1024, 0), ("llama", LLAMA_7B, 2048, 0)]
)
def test_longer_texts_are_read_than_could_be_kept_whole(
    family: str, config: dict[str, Any], most: int, rank: int
) -> None:
    """The limit holds for every shorter text too: below 512 tokens attention makes weights."""
    found = spec_of_config({"model_type": family, **config}, FAMILIES[family], "next token", "here")
    assert found.max_target == most
    assert found.whole_bytes(source=most, target=most) > 2 * MAX_BYTES
    assert all(found.recorded_bytes(source=n, target=n) <= MAX_BYTES for n in (1, 256, 511, 512, most))
    written = found.recorded_bytes(source=0, target=most, written=True)
    assert MAX_BYTES / 2 < written < found.whole_bytes(source=0, target=most, written=True) / 2


def test_as_much_is_kept_as_there_is_room_for() -> None:
    found = spec_of_config({"model_type": "gpt2", **GPT2_XL}, FAMILIES["gpt2"], "next token", "here")
    ranks = {}
    for length in (100, 180, 220, 300, 1024):
        kept = found.kept(source=length, target=length)
        ranks[length] = max(keeping_rank(name) or 0 for name in kept)
        assert kept == {
            name for name in found.point if (rank := keeping_rank(name)) is not None and rank <= ranks[length]
        } & {each.name for each in found.recorded}
    assert [*ranks.values()] == sorted(ranks.values(), reverse=True)
    assert ranks[100] == 4 and ranks[1024] == 0 and len({*ranks.values()}) > 3
