"""The points of cached steps, put together: the same numbers, in fewer tensors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.running.decoding import decode, decode_stream
from viz_transformer.running.stacked_steps import StackedSteps


@pytest.mark.parametrize(
    ("settings", "text"), [({}, "abc"), ({"kind": "decoder-only"}, "uv"), ({"positions": "rotary"}, "abc")]
)
def test_points_put_together_are_the_same_and_leave_no_tensor_of_a_step(settings: dict[str, Any], text: str) -> None:
    ckpt = tiny_checkpoint(**settings)
    run, same = decode(ckpt, text), decode(ckpt, text)
    values = run.trace.values
    assert isinstance(values, StackedSteps)
    values.join_all()
    values.join_all()  # once more changes nothing
    assert values._parts == ({}, ())
    assert [*values] == [*same.trace.values]
    for name in values:
        assert torch.equal(values[name], same.trace.values[name]), name
    for mine, other in zip(run.steps, same.steps, strict=True):
        assert (mine.token_id, mine.candidates, mine.cache) == (other.token_id, other.candidates, other.cache)
        assert mine.rows.keys() == other.rows.keys()
        assert all(torch.equal(mine.rows[name], other.rows[name]) for name in mine.rows)


def test_what_a_layer_gives_out_and_the_next_reads_is_one_tensor_when_put_together() -> None:
    run = decode(tiny_checkpoint("decoder-only"), "uv")
    run.trace.values.join_all()  # type: ignore[attr-defined]
    out, into = (run.trace.values[name] for name in ("decoder.0.residual_out", "decoder.1.residual_in"))
    assert out.data_ptr() == into.data_ptr()


def test_rows_of_a_step_are_those_that_it_recorded() -> None:
    """A run refers to the points put together; what is streamed to the pass of each step."""
    ckpt = tiny_checkpoint()
    stream = decode_stream(ckpt, "abc")
    streamed = [*stream]
    for mine, other in zip(streamed, stream.run.steps, strict=True):
        assert mine.rows.keys() == other.rows.keys()
        assert all(torch.equal(mine.rows[name], other.rows[name]) for name in mine.rows)
