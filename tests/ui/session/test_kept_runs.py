"""Models and runs that the app keeps: those used last, in no more memory than is said."""

from __future__ import annotations

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.numerals import binary_size
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.lazy_activations import LazyActivations
from viz_transformer.text.codec import TokenizerOptions
from viz_transformer.ui.session import cached, runs, store
from viz_transformer.ui.session.generation_config import GenerationConfig
from viz_transformer.ui.session.store import MAX_MODELS, MAX_RUNS, Store, default_max_bytes, machine_bytes


def test_of_runs_that_are_too_large_together_the_last_stay() -> None:
    ckpt = tiny_checkpoint()
    runs = [decode(ckpt, text, max_steps=3) for text in ("abc", "ab", "cab")]
    (_, second, last) = map(bytes_of, runs)
    kept = Store(second + last)
    for name, run in zip("abc", runs, strict=True):
        kept.put_run(name, run)
    assert [kept.run(name) for name in "abc"] == [None, *runs[1:]]
    kept.max_bytes = 1
    kept.put_run("d", runs[0])
    assert [kept.run(name) for name in "abcd"] == [None, None, None, runs[0]]


def test_models_and_runs_make_way_for_each_other() -> None:
    ckpt = tiny_checkpoint()
    run, model_bytes = decode(ckpt, "abc", max_steps=3), 4 * ckpt.parameter_count
    kept = Store(model_bytes + bytes_of(run))
    kept.model("m", lambda: ckpt)
    kept.put_run("a", run)
    assert kept.bytes == model_bytes + bytes_of(run) and len(kept) == 2
    kept.model("m", lambda: pytest.fail("it is there"))
    kept.put_run("b", run)
    assert kept.run("a") is None and kept.run("b") is run  # the model was used after it
    kept.put_run("c", run)
    assert kept.run("c") is run
    loaded = []
    kept.model("m", lambda: loaded.append(ckpt) or ckpt)  # type: ignore[func-returns-value]
    assert loaded == [ckpt] and kept.bytes <= kept.max_bytes


def test_no_more_models_and_runs_are_kept_than_is_said() -> None:
    ckpt, kept = tiny_checkpoint(), Store(2**40)
    run = decode(ckpt, "abc", max_steps=1)
    for number in range(40):
        kept.put_run(("run", number), run)
        kept.model(("model", number), lambda: ckpt)
    assert len(kept) == MAX_MODELS + MAX_RUNS


def test_a_run_that_needs_its_model_leaves_with_it() -> None:
    ckpt, kept = tiny_checkpoint(), Store(2**40)
    whole, large = decode(ckpt, "abc", max_steps=1), decode(ckpt, "ab", max_steps=1)
    values = Mock(wraps=large.trace.values, spec=LazyActivations)
    large = replace(large, trace=replace(large.trace, values=values))
    assert whole.trace.is_kept_whole and not large.trace.is_kept_whole
    kept.model("m", lambda: ckpt)
    kept.put_run("whole", whole)
    kept.put_run("large", large)
    for number in range(MAX_MODELS):
        kept.model(number, partial(tiny_checkpoint, seed=number))
    assert kept.run("whole") is whole and kept.run("large") is None


def test_steps_of_kept_runs_are_put_together() -> None:
    ckpt, kept = tiny_checkpoint(), Store(2**40)
    run = decode(ckpt, "abc")
    kept.model("m", lambda: ckpt)
    kept.put_run("a", run)
    gc.collect()
    before = tensors()
    kept.join_steps()
    assert tensors() < before - 20 * (len(run.steps) - 2)


def tensors() -> int:
    return sum(type(each) is torch.Tensor for each in gc.get_objects())


def test_a_model_that_several_ask_for_at_once_is_loaded_once() -> None:
    ckpt, kept, loads = tiny_checkpoint(), Store(2**40), list[int]()

    def load() -> Checkpoint:
        loads.append(1)
        time.sleep(0.05)
        return ckpt

    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda _: kept.model("m", load), range(4))]
    assert found == [ckpt] * 4 and len(loads) == 1


def test_the_bound_is_an_eighth_of_the_machine_at_most_two_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2**20 < machine_bytes() < 2**50
    for machine, bound in ((8 * 2**30, 2**30), (16 * 2**30, 2**31), (64 * 2**30, 2**31)):
        monkeypatch.setattr(store, "machine_bytes", lambda machine=machine: machine)
        assert default_max_bytes() == bound


def bytes_of(run: Run) -> int:
    source, target = len(run.trace.src), len(run.trace.tgt)
    return run.trace.spec.recorded_bytes(source=source, target=target, written=bool(run.steps))


def test_what_a_recording_takes_is_said_before_a_run_where_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = tiny_checkpoint()
    assert runs.running(ckpt, "abc", None) == runs.RUNNING
    monkeypatch.setattr(runs, "MUCH", 1)
    longest = ckpt.spec.max_target
    for target, read in ((None, longest), ("uv", len(ckpt.codec("target").encode("uv")))):
        source = len(ckpt.codec("source").encode("abc"))
        taken = ckpt.spec.recorded_bytes(source=source, target=read, written=True)
        run = decode(ckpt, "abc", target=target)
        assert taken >= sum(value.numel() * 4 for value in run.trace.values.values())
        assert f"takes up to {binary_size(taken)} ..." in runs.running(ckpt, "abc", target)
    assert runs.running(ckpt, "", None) == runs.RUNNING


@pytest.mark.parametrize(("read", "made"), [(TokenizerOptions(chat=True), 2), (TokenizerOptions(), 1)])
def test_a_chat_is_run_anew_on_another_day_because_its_template_may_write_the_date(
    read: TokenizerOptions, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, days, ckpt = Store(2**30), [date(2026, 3, 1)] * 2 + [date(2026, 3, 2)] * 2, tiny_checkpoint()
    decoded, summary = [], SimpleNamespace()

    def once(*given: Any, **how: Any) -> Any:
        decoded.append(given)
        return decode(ckpt, "abc", max_steps=2)

    monkeypatch.setattr(cached, "store", lambda: kept)
    monkeypatch.setattr(cached, "summary_key", lambda _: "a")
    monkeypatch.setattr(cached, "read_as", lambda *_: ckpt)
    monkeypatch.setattr(cached.vt, "decode", once)
    for day in days:
        monkeypatch.setattr(cached, "date", SimpleNamespace(today=lambda day=day: day))
        cached.run(summary, "abc", how=GenerationConfig(read=read))  # type: ignore[arg-type]
    assert len(decoded) == made
