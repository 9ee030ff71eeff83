"""Runs that the app keeps: the last ones, and no more memory than is said."""

from __future__ import annotations

import pytest
from builders import tiny_checkpoint

from viz_transformer.running.decoding import decode
from viz_transformer.ui.session import cached


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
