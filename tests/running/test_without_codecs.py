"""A checkpoint without vocabularies can be looked at; whoever wants to run it gets a sentence, whatever is given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import tiny_checkpoint

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.measuring.evaluation import evaluate
from viz_transformer.running.decoding import decode, decode_stream, follow
from viz_transformer.running.strategies import Beam
from viz_transformer.running.tracing import trace
from viz_transformer.running.training_mode import training_trace

GIVEN: list[Any] = ["abc", [4, 5, 6]]


LACKS: dict[str, dict[str, Any]] = {
    "source": {"source_codec": None},
    "target": {"target_codec": None},
    "both": {"source_codec": None, "target_codec": None},
}


def without(side: str, kind: Any = "encoder-decoder") -> Checkpoint:
    return replace(tiny_checkpoint(kind), **LACKS[side])


@pytest.mark.parametrize("given", GIVEN, ids=["text", "ids"])
@pytest.mark.parametrize("side", ["source", "target", "both"])
def test_what_runs_an_encoder_decoder_names_the_vocabulary_that_it_lacks(side: str, given: Any) -> None:
    ckpt = without(side)
    for run in (
        lambda: trace(ckpt, given, given),
        lambda: decode(ckpt, given),
        lambda: decode(ckpt, given, strategy=Beam(2)),
        lambda: decode(ckpt, given, target=given),
        lambda: decode_stream(ckpt, given),
        lambda: follow(ckpt, given, [4, 5]),
        lambda: training_trace(ckpt, given, given, 1),
        lambda: evaluate(ckpt, [("abc", "uv")]),
    ):
        with pytest.raises(ValueError, match=r"has no (source|target) vocabulary|has no vocabulary of its"):
            run()


@pytest.mark.parametrize("given", GIVEN, ids=["text", "ids"])
@pytest.mark.parametrize(("kind", "side"), [("decoder-only", "target"), ("encoder-only", "source")])
def test_a_model_of_one_stack_does_too(kind: str, side: str, given: Any) -> None:
    ckpt = without(side, kind)
    with pytest.raises(ValueError, match=f"has no {side} vocabulary, so it cannot be run: save it with its codecs"):
        trace(ckpt, given)


def test_a_checkpoint_lists_the_codecs_that_it_has() -> None:
    assert [*tiny_checkpoint().codecs] == ["source", "target"]
    assert [*without("source").codecs] == ["target"]
    assert [*tiny_checkpoint("decoder-only").codecs] == ["target"]
    assert without("both").codecs == {}
    ckpt = tiny_checkpoint()
    assert ckpt.codec("source") is ckpt.source_codec and ckpt.codec("target") is ckpt.target_codec
