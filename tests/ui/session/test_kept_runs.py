"""Runs that the app keeps: the last ones, and no more memory than is said."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from builders import tiny_checkpoint

from viz_transformer.numerals import binary_size
from viz_transformer.running.decoding import decode
from viz_transformer.text.codec import HowRead
from viz_transformer.ui.session import cached, runs
from viz_transformer.ui.session.how import How


def test_of_runs_that_are_too_large_together_the_last_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = tiny_checkpoint()
    runs = [decode(ckpt, text, max_steps=3) for text in ("abc", "ab", "cab")]
    (_, second, last) = (
        run.trace.anatomy.recorded_bytes(source=len(run.trace.src), target=len(run.trace.tgt), written=bool(run.steps))
        for run in runs
    )
    monkeypatch.setattr(cached, "MOST_BYTES", second + last)
    kept = cached.KeptRuns()
    for name, run in zip("abc", runs, strict=True):
        kept.put(name, run)
    assert [kept.get(name) for name in "abc"] == [None, *runs[1:]]
    monkeypatch.setattr(cached, "MOST_BYTES", 1)
    kept.put("d", runs[0])
    assert [kept.get(name) for name in "abcd"] == [None, None, None, runs[0]]


def test_what_a_recording_takes_is_said_before_a_run_where_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = tiny_checkpoint()
    assert runs.running(ckpt, "abc", None) == runs.RUNNING
    monkeypatch.setattr(runs, "MUCH", 1)
    longest = ckpt.anatomy.max_target
    for target, read in ((None, longest), ("uv", len(ckpt.codec("target").encode("uv")))):
        source = len(ckpt.codec("source").encode("abc"))
        taken = ckpt.anatomy.recorded_bytes(source=source, target=read, written=True)
        run = decode(ckpt, "abc", target=target)
        assert taken >= sum(value.numel() * 4 for value in run.trace.values.values())
        assert f"takes up to {binary_size(taken)} ..." in runs.running(ckpt, "abc", target)
    assert runs.running(ckpt, "", None) == runs.RUNNING


@pytest.mark.parametrize(("read", "made"), [(HowRead(chat=True), 2), (HowRead(), 1)])
def test_a_chat_is_run_anew_on_another_day_because_its_template_may_write_the_date(
    read: HowRead, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, days, ckpt = cached.KeptRuns(), [date(2026, 3, 1)] * 2 + [date(2026, 3, 2)] * 2, tiny_checkpoint()
    decoded, summary = [], SimpleNamespace()

    def once(*given: Any, **how: Any) -> Any:
        decoded.append(given)
        return decode(ckpt, "abc", max_steps=2)

    monkeypatch.setattr(cached, "_runs", lambda: kept)
    monkeypatch.setattr(cached, "of_summary", lambda _: "a")
    monkeypatch.setattr(cached, "read_as", lambda *_: ckpt)
    monkeypatch.setattr(cached.vt, "decode", once)
    for day in days:
        monkeypatch.setattr(cached, "date", SimpleNamespace(today=lambda day=day: day))
        cached.run(summary, "abc", how=How(read=read))  # type: ignore[arg-type]
    assert len(decoded) == made
