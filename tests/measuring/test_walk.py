"""The float64 walk agrees with every recorded point of every kind of model, and finds the first that does not."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from builders import tiny_checkpoint
from ladders import SLIPS, SOURCE, TARGET, VARIANTS

import viz_transformer as vt
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.measuring import walk as walked
from viz_transformer.measuring.verifying import TOLERANCE, consistency
from viz_transformer.model.config import tutorial
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

MORE: dict[str, dict[str, Any]] = {
    **{kind: {"activation": kind} for kind in ("gelu", "gelu-tanh", "silu")},
    **{kind: {"positions": kind} for kind in ("sinusoidal-doubled", "learned")},
    "halves": {"positions": "sinusoidal-halves"},
    "halves, later": {"positions": "sinusoidal-halves-fairseq", "position_offset": 2},
    "alibi, three heads": {"positions": "alibi", "n_heads": 3, "d_model": 12},
    "alibi, six heads": {"positions": "alibi", "n_heads": 6, "d_model": 12},
    "no biases anywhere": {"ffn_bias": False, "output_bias": False, "attention_bias": False},
    "tied": {"tied_output": True},
    "no padding": {"source_pad": None, "target_pad": None},
}
SMALL: dict[str, Any] = {"d_model": 16, "n_heads": 4, "d_ff": 24, "encoder_layers": 2, "decoder_layers": 2}
SMALL |= {"source_vocab_size": 12, "target_vocab_size": 20}


def run_of(ckpt: Checkpoint) -> Trace:
    """A run with padding in it, where the model has any."""
    if ckpt.config.kind != "encoder-decoder":
        return trace(ckpt, TARGET)
    missing = [0] * max(0, (ckpt.config.pad_to or 0) - len(SOURCE))
    return trace(ckpt, [*SOURCE, *missing], TARGET)


def agrees(ckpt: Checkpoint, run: Trace) -> None:
    found = consistency(ckpt, run)
    assert found.passed, found.sentence
    assert found.figures["points"] == len(run.points())
    assert found.figures["relative"] < TOLERANCE / 5
    numbers = {name: tensor.numpy() for name, tensor in ckpt.model.state_dict().items()}
    sides = (run.src_ids if ckpt.config.has_encoder else None, run.tgt_ids if ckpt.config.has_decoder else None)
    assert tuple(walked.walk(numbers, ckpt.config.to_dict(), *sides)) == run.points()  # in the order of computation


@pytest.mark.parametrize("variant", [*VARIANTS, *MORE])
@pytest.mark.parametrize("kind", ["encoder-decoder", "decoder-only", "encoder-only"])
def test_every_word_of_a_config_is_walked(variant: str, kind: str) -> None:
    words = {**VARIANTS, **MORE}[variant]
    if kind != "encoder-decoder":
        left = {"decoder-only": ("source", "encoder"), "encoder-only": ("target_pad",)}[kind]
        words = {name: value for name, value in words.items() if not name.startswith(left)}
        words.pop("padding_mask", None)
    if kind == "encoder-only" and words.get("tied_output"):
        words = {**words, "target_vocab_size": 12}
    ckpt = tiny_checkpoint(kind, **words)
    agrees(ckpt, run_of(ckpt))


@pytest.mark.parametrize("name", ["en-it", "tutorial6", "annotated", "upc-lab", "fsu", "fsu, later"])
def test_tutorials_with_all_their_slips_are_walked(name: str) -> None:
    words = {**SMALL, **({"pad_to": 9} if name == "en-it" else {"max_source": 12, "max_target": 12})}
    if name.endswith("later"):
        words |= {"embedding_scale": "learned", "divisor": "learned"}
    config = tutorial(name.split(",")[0], **words)
    ckpt = tiny_checkpoint(**{**config.to_dict(), "source_pad": config.source_pad and 0})
    agrees(ckpt, run_of(ckpt))


@pytest.mark.parametrize("name", [entry.name for entry in vt.list_checkpoints()])
def test_bundled_models_are_walked(name: str) -> None:
    ckpt = vt.load(name)
    agrees(ckpt, trace(ckpt, *(SOURCE, TARGET)[not ckpt.config.has_encoder :]))


@pytest.mark.parametrize("words", [{}, SLIPS], ids=["usual", "slips"])
@pytest.mark.parametrize("point", ["encoder.1.ffn.hidden", "decoder.0.self.key", "decoder.2.cross.weights", "logits"])
def test_the_first_point_that_differs_is_named(words: dict[str, Any], point: str) -> None:
    ckpt = tiny_checkpoint(**words)
    edit = vt.edits.Scale(point, 1.001)
    missing = [0] * max(0, (ckpt.config.pad_to or 0) - len(SOURCE))
    found = consistency(ckpt, trace(ckpt, [*SOURCE, *missing], TARGET, edits=[edit]))
    assert found.passed is False and found.figures["first"] == point and point in found.sentence


def test_a_mask_that_differs_is_named() -> None:
    ckpt = tiny_checkpoint()
    edit = vt.edits.SetMask("decoder.1.self", query=0, key=2, allowed=True)
    found = consistency(ckpt, trace(ckpt, SOURCE, TARGET, edits=[edit]))
    assert found.figures["first"] == "decoder.1.self.mask"


def test_the_walk_shares_no_code_with_the_model() -> None:
    tree = ast.parse(Path(walked.__file__).read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    assert names == {"__future__", "math", "collections.abc", "typing", "numpy", "numpy.typing"}
