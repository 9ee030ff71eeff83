"""Edits of a model of transformers reach all that reads the point, cached and whole, and no other thread's run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from edited import check_that_every_way_agrees
from in_turn import every
from pretrained import KINDS, WRITING

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.huggingface.hooked_model import HuggingFaceModel
from viz_transformer.huggingface.loading import load
from viz_transformer.model.hook import Recorder
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import AblateHead, Edit, Scale, SetMask
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

Opened = Callable[[str], Checkpoint]
SOURCE, TARGET = [5, 9, 13, 7, 20, 21, 22, 6], [1, 30, 12, 33, 34, 5]


def recorded(ckpt: Checkpoint, *edits: Edit, source: list[int] = SOURCE) -> Trace:
    return trace(ckpt, source, TARGET if ckpt.spec.kind == "encoder-decoder" else None, edits=edits)


def stack_of(ckpt: Checkpoint) -> str:
    return "decoder" if ckpt.spec.has_decoder else "encoder"


@pytest.mark.parametrize("name", KINDS)
def test_an_edit_inside_each_sub_layer_moves_the_logits(opened: Opened, name: str) -> None:
    """Not of streams, which a norm may make the same again, however long they are: the next test has them."""
    ckpt = opened(name)
    before = recorded(ckpt)["logits"]
    inside = (
        "query",
        "key",
        "value",
        "mask",
        "bias",
        "sink",
        "weights",
        "head_out",
        "hidden",
        "router",
        "experts",
        "unrotated",
    )
    points = [each.name for each in ckpt.spec.recorded if each.name.endswith(inside)]
    assert len(points) > 10
    for point in points:
        site, _, what = point.rpartition(".")
        edit: Edit = SetMask(site, 2, 1, False) if what == "mask" else Scale(point, -1.5 if what == "router" else 1.5)
        assert not torch.equal(before, recorded(ckpt, edit)["logits"]), point


@pytest.mark.parametrize("name", KINDS)
def test_a_changed_stream_is_what_all_parts_behind_it_read(opened: Opened, name: str) -> None:
    ckpt = opened(name)
    layer = f"{stack_of(ckpt)}.0"
    point = f"{layer}.residual_after_self"
    if point not in ckpt.spec.point:
        assert name in ("gpt_neox", "phi", "cohere", "gptj", "falcon", "falcon/grouped")
        return
    before, after = recorded(ckpt), recorded(ckpt, Scale(point, 0.25, at=(2, None)))
    assert torch.equal(after[point][:, 2], before[point][:, 2] * 0.25)
    stream = after[point]
    if f"{layer}.cross.out" in after:
        stream = stream + after[f"{layer}.cross.out"]
        if ckpt.spec.norm == "post":
            assert torch.equal(stream, after[f"{layer}.residual_after_cross_sum"])
            return
        assert torch.equal(stream, after[f"{layer}.residual_after_cross"])
    behind = f"{layer}.residual_out_sum" if ckpt.spec.norm == "post" else f"{layer}.residual_out"
    assert torch.equal(stream + after[f"{layer}.ffn.out"], after[behind])


@pytest.mark.parametrize(("name", "point"), [("bert", "encoder.embed.sum"), ("marian", "decoder.embed.token")])
def test_a_changed_embedding_is_what_the_first_layer_reads(opened: Opened, name: str, point: str) -> None:
    ckpt = opened(name)
    stack = point.partition(".")[0]
    before, after = recorded(ckpt), recorded(ckpt, Scale(point, 0.0))
    expected = before[f"{stack}.embed.position"]
    if name == "bert":  # a norm of zeros is its offset
        expected = ckpt.hooked_model.base.embeddings.LayerNorm.bias.expand(expected.shape)
    assert torch.equal(after[f"{stack}.embed.out"], expected)


@pytest.mark.parametrize("name", WRITING)
def test_edits_are_the_same_cached_and_whole(opened: Opened, name: str) -> None:
    ckpt = opened(name)
    edits = [
        AblateHead("decoder.1.self", 3),
        Scale("decoder.0.self.key", 0.5, at=(None, 1, None)),
        Scale("decoder.0.self.value", 2.0),
        SetMask("decoder.0.self", 3, 0, False),
    ]
    target = "the cat sat on" if ckpt.spec.has_encoder else None  # long enough for each edit to run
    steps = None if ckpt.spec.has_encoder else 5
    run = decode(ckpt, "two hundred and four", edits=edits, target=target, max_steps=steps)
    ids = run.trace.tgt_ids
    whole = trace(ckpt, run.trace.src_ids or ids, ids if run.trace.src_ids else None, edits=edits)
    gaps = {point: gap for point, gap in whole.diff(run.trace).items() if not point.endswith(".bias")}
    for point, gap in gaps.items():
        assert gap < 1e-5 * max(float(whole[point].float().abs().max()), 10), point
    plain = trace(ckpt, run.trace.src_ids or ids, ids if run.trace.src_ids else None)
    assert float((plain["logits"] - whole["logits"]).abs().max()) > 1e-3


@pytest.mark.parametrize("name", every(3, WRITING, first=1))
def test_a_row_that_may_read_nothing_is_even_over_later_keys_and_the_run_says_so(opened: Opened, name: str) -> None:
    ckpt, site = opened(name), "decoder.0.self"
    source: str | list[int] = "two hundred and four" if ckpt.spec.has_encoder else [5]
    for closed in (SetMask(site, None, 0, False), SetMask(site, 2, None, False, head=1)):
        check_that_every_way_agrees(ckpt, source, [closed], steps=4)
        info = decode(ckpt, source, max_steps=4, edits=[closed], ban=ckpt.codec("target").ends).trace.info
        says = f"as edited, query {closed.query or 0} of {site} "
        if name == "gpt_oss":  # all of the row goes to its sink
            assert info["cached"]
        elif name == "gpt_neo":  # closes keys twice, by its window and by its mask, which gives minus infinity
            assert info.get("reason") == (f"{says}is NaN, and makes rows before it NaN" if closed.query else None)
        else:
            assert info["reason"] == f"{says}attends to later keys"
    harmless = [SetMask(site, 2, 0, False), AblateHead(site, 1, "uniform"), Scale(f"{site}.weights", 0.5)]
    run = decode(ckpt, source, max_steps=4, edits=harmless, ban=ckpt.codec("target").ends)
    assert run.trace.non_causal_reason is None and run.trace.info["cached"]


@pytest.mark.parametrize("name", ["deepseek_v2", "deepseek_v3"])
def test_edited_keys_and_values_stay_where_each_step_makes_them_anew(opened: Opened, name: str) -> None:
    """Its cache keeps narrow vectors. The rows of hypotheses change places on the way, as in a beam."""
    ckpt = opened(name)
    edits = [Scale("decoder.0.self.key", -2.0, at=(None, 1, None)), Scale("decoder.1.self.value", 3.0)]
    recorder = Recorder(edits, grows=ckpt.spec.grows)
    decoding = ckpt.hooked_model.begin(None, hook=recorder)
    decoding.step([[5, 9, 13], [5, 20, 21]])
    decoding.select([1, 0, 1])
    for new in ([[7], [8], [22]], [[6], [6], [30]]):
        recorder.begin(decoding.length)
        logits = decoding.step(new)
    for row, ids in zip(logits, ([5, 20, 21, 7, 6], [5, 9, 13, 8, 6], [5, 20, 21, 22, 30]), strict=True):
        whole = recorded(ckpt, *edits, source=ids)["logits"][0, -1]
        torch.testing.assert_close(row, whole, rtol=1e-5, atol=1e-4)
        assert (row - recorded(ckpt, source=ids)["logits"][0, -1]).abs().max() > 1e-2


@pytest.mark.parametrize("name", ["llama", "bart"])
def test_threads_that_record_edit_and_do_neither_do_not_meet(opened: Opened, name: str) -> None:
    ckpt = opened(name)
    sources = [[3 + (7 * row + place) % 40 for place in range(8)] for row in range(6)]
    edit = Scale(f"{stack_of(ckpt)}.0.self.value", 3.0)
    pair = ckpt.spec.kind == "encoder-decoder"

    def one(row: int) -> torch.Tensor:
        if row % 3 == 0:
            given = ([sources[row]], [TARGET]) if pair else (None, [sources[row]])
            return ckpt.hooked_model.whole(*given)
        return recorded(ckpt, *([edit] if row % 3 == 1 else []), source=sources[row])["logits"]

    alone = [one(row) for row in range(6)]
    with ThreadPoolExecutor(6) as pool:
        for _ in range(5):
            for expected, found in zip(alone, pool.map(one, range(6)), strict=True):
                assert torch.equal(expected, found)


def test_a_model_that_nobody_listens_to_any_more_runs_its_own_code(written: Callable[[str], Path]) -> None:
    model = load(written("gpt2")).hooked_model
    assert isinstance(model, HuggingFaceModel)
    before = model.whole(None, [SOURCE])
    assert any("forward" in module.__dict__ for module in model.model.modules())
    for each in model._listening:
        each.remove()
    assert not any("forward" in module.__dict__ for module in model.model.modules())
    assert torch.equal(model.whole(None, [SOURCE]), before)
