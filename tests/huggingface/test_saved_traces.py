"""A trace of a transformers model in a file: the same when it is read again, and refused where it means harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pretrained import KINDS
from safetensors import safe_open
from safetensors.torch import save_file

from viz_transformer.analysis.attention.maps import head_view
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model import attention
from viz_transformer.model.kinds import kinds_of
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import AblateHead
from viz_transformer.running.reading import read
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

Opened = Callable[[str], Checkpoint]
SOURCE, TARGET = [5, 9, 13, 7, 20, 21, 22, 6], [2, 30, 12, 33, 34, 5]


def recorded(ckpt: Checkpoint, *edits: AblateHead) -> Trace:
    return trace(ckpt, SOURCE, TARGET if ckpt.spec.kind == "encoder-decoder" else None, edits=edits)


def same(found: Trace, expected: Trace) -> None:
    assert found.points(derived=True) == expected.points(derived=True)
    for name in found.points(derived=True):
        assert torch.equal(found[name], expected[name]), name
    assert (found.id, found.info, found.edits) == (expected.id, expected.info, expected.edits)
    assert (found.src, found.tgt, found.next_tokens) == (expected.src, expected.tgt, expected.next_tokens)
    assert found.spec.missing == expected.spec.missing and found.spec.point == expected.spec.point
    assert found.spec.attentions == expected.spec.attentions and found.spec.labels == expected.spec.labels


@pytest.mark.parametrize("name", KINDS)
def test_a_trace_survives_its_file_bit_by_bit(opened: Opened, name: str, tmp_path: Path) -> None:
    expected = recorded(opened(name), AblateHead(next(iter(opened(name).spec.attentions)), 1, "uniform"))
    expected.save(tmp_path / "run.safetensors")
    found = Trace.load(tmp_path / "run.safetensors")
    same(found, expected)
    kind = kinds_of(found.spec)[0]
    assert (head_view(found, kind, 1, 2).weights == head_view(expected, kind, 1, 2).weights).all()
    found.save(tmp_path / "again.safetensors")
    same(Trace.load(tmp_path / "again.safetensors"), expected)


@pytest.mark.parametrize("name", ["gpt2", "llama", "marian"])
def test_a_run_that_was_written_and_was_long_survives(
    opened: Opened, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ckpt = opened(name)
    monkeypatch.setattr(attention, "FUSED_FROM", 5)
    expected = decode(ckpt, "the cat sat on the mat and a dog ran", max_steps=4).trace
    assert f"{next(iter(ckpt.spec.attentions))}.weights" not in expected.values
    expected.save(tmp_path / "run.safetensors")
    same(Trace.load(tmp_path / "run.safetensors"), expected)


def test_what_an_encoder_read_survives(opened: Opened, tmp_path: Path) -> None:
    expected = read(opened("bert"), "the cat sat", masked=[2]).trace
    expected.save(tmp_path / "run.safetensors")
    same(Trace.load(tmp_path / "run.safetensors"), expected)


LATER = ("d_embed", "fuses", "precision")
"""What a file says of its model that files of before did not say."""


@pytest.mark.parametrize("name", ["gpt2", "bart", "albert", "electra", "opt/post"])
def test_a_file_from_before_narrow_embeddings_were_told_is_read(opened: Opened, name: str, tmp_path: Path) -> None:
    """Where embeddings are narrower than the stream, such a file has none of them, and a sentence that says why."""
    whole, file = tmp_path / "whole.safetensors", tmp_path / "before.safetensors"
    expected = recorded(opened(name))
    expected.save(whole)
    about, tensors = contents(whole)
    for each in LATER:
        del about["model"][each]
    behind = [f".embed.{part}" for part in ("token", "segment", "position", "sum", "mapped", "normed")]
    lacking = [each for each in tensors if each.endswith(tuple(behind)) and expected.spec.d_embed is not None]
    assert bool(lacking) == (name in ("albert", "electra", "opt/post"))
    for each in lacking:
        _without(each)(about, tensors)
        about["model"]["missing"][each] = "a projection comes between"
    about["model"]["recorded"] = [point for point in about["model"]["recorded"] if point[0] not in lacking]
    save_file(tensors, file, metadata={"viz_transformer": json.dumps(about)})
    found = Trace.load(file)
    assert (found.spec.d_embed, found.spec.fuses, found.spec.precision) == (None, True, "float32")
    assert found.points(derived=True) == tuple(each for each in expected.points(derived=True) if each not in lacking)
    for each in found.points(derived=True):
        assert torch.equal(found[each], expected[each]), each
    for each in lacking:
        with pytest.raises(KeyError, match="a projection comes between"):
            found[each]
    found.save(tmp_path / "again.safetensors")
    same(Trace.load(tmp_path / "again.safetensors"), found)


def contents(file: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """What a file of a trace says, and its tensors."""
    with safe_open(file, framework="pt") as stored:
        about = json.loads(stored.metadata()["viz_transformer"])
        return about, {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 (not a dict)


def _without(name: str) -> Callable[[dict[str, Any], dict[str, torch.Tensor]], None]:
    def change(about: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        about["points"].remove(name)
        del tensors[name]

    return change


def _set(*path: Any, to: Any) -> Callable[[dict[str, Any], dict[str, torch.Tensor]], None]:
    def change(about: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        place: Any = about
        for each in path[:-1]:
            place = place[each]
        place[path[-1]] = to

    return change


def _smaller(about: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    tensors["decoder.0.self.query"] = tensors["decoder.0.self.query"][:, :, :1].clone()


SIZES = {"B": 1, "T": 8, "Q": 8, "K": 8, "H": 4, "E": 8, "D": 32, "1": 1}


def _described(name: str, shape: str | None, which: str = "recorded") -> Callable[..., None]:
    """Describes a point so, with the numbers for it if it is recorded, or (None) has it nowhere."""

    def change(about: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        for points in (about["model"]["recorded"], about["model"]["derived"]):
            points[:] = [point for point in points if point[0] != name]
        kind = tensors[name].dtype if name in tensors else torch.float32
        if name in tensors:
            _without(name)(about, tensors)
        if shape is not None:
            about["model"][which].append([name, shape, "x", "rows"])
        if shape is not None and which == "recorded":
            about["points"].append(name)
            tensors[name] = torch.zeros([SIZES[letter] for letter in shape], dtype=kind)

    return change


HARM = {
    "scores of one number": _described("decoder.0.self.scores", "1", "derived"),
    "scores without heads": _described("decoder.0.self.scores", "B1QK", "derived"),
    "small parts of heads": _described("decoder.0.self.contribution", "BHQ1", "derived"),
    "something else that is computed": _described("decoder.0.self.head_in", "BHQE", "derived"),
    "weights that are computed": _described("decoder.0.self.weights", "BHQK", "derived"),
    "something computed of no attention": _described("decoder.out.scores", "BTD", "derived"),
    "something computed below an attention": _described("decoder.0.self.x.scores", "BTD", "derived"),
    "no weights described": _described("decoder.0.self.weights", None),
    "queries without heads": _described("decoder.0.self.query", "BTD"),
    "keys without heads": _described("decoder.0.self.key", "BTD"),
    "keys of queries": _described("decoder.0.self.key", "BHQE"),
    "a mask of features": _described("decoder.0.self.mask", "BTD"),
    "a bias without heads": _described("decoder.0.self.bias", "B1QK"),
    "heads' output without heads": _described("decoder.0.self.head_out", "BQD"),
    "something else of an attention": _described("decoder.0.self.extra", "BHQK"),
    "more layers": _set("model", "decoder_layers", to=10**6),
    "a negative size": _set("model", "d_model", to=-32),
    "an enormous size": _set("model", "d_model", to=2**40),
    "an enormous text": _set("model", "max_target", to=10**9),
    "no text": _set("model", "max_target", to=0),
    "a size that is a list": _set("model", "d_ff", to=[1]),
    "a switch that is a text": _set("model", "final_norm", to="yes"),
    "a word that there is not": _set("model", "output", to="next words"),
    "a word that is a list": _set("model", "kind", to=["decoder-only"]),
    "another kind": _set("model", "kind", to="encoder-only"),
    "no attention": _set("model", "attentions", to={}),
    "an attention elsewhere": _set("model", "attentions", "decoder.7.self", to=[4, 4, 8, 8, None]),
    "an attention of no layer": _set("model", "attentions", "__class__", to=[4, 4, 8, 8, None]),
    "heads that cannot be shared": _set("model", "attentions", "decoder.0.self", to=[4, 3, 8, 8, None]),
    "no key heads": _set("model", "attentions", "decoder.0.self", to=[4, 0, 8, 8, None]),
    "too many heads": _set("model", "attentions", "decoder.0.self", to=[2**40, 4, 8, 8, None]),
    "a point twice": lambda about, _: about["model"]["recorded"].append(about["model"]["recorded"][0]),
    "a point without a shape": _set("model", "recorded", 0, to=["decoder.embed.out", "", "x", "rows"]),
    "a point of other letters": _set("model", "recorded", 0, to=["decoder.embed.out", "BXD", "x", "rows"]),
    "a point that is no list": _set("model", "recorded", 0, to="decoder.embed.out"),
    "a point that grows": _set("model", "recorded", 0, to=["decoder.embed.out", "BTD", "x", "for ever"]),
    "heads outside an attention": _set("model", "recorded", 0, to=["decoder.embed.out", "BHQK", "x", "rows"]),
    "a long sentence": _set("model", "missing", "x", to="x" * 5000),
    "a sentence that is a number": _set("model", "missing", "x", to=1),
    "labels that are numbers": _set("model", "labels", to=[1]),
    "a field more": _set("model", "code", to="print()"),
    "no description": _set("model", to=None),
    "a watched module": _set("info", "kind", to="watched"),
    "another format": _set("format_version", to=99),
    "no divisor": _set("scalars", to={}),
    "a divisor that is a text": _set("scalars", "decoder.0.self.divisor", to="2.0"),
    "no keys": _without("decoder.0.self.key"),
    "no mask": _without("decoder.0.self.mask"),
    "no heads' output": _without("decoder.0.self.head_out"),
    "fewer queries": _smaller,
    "fewer tokens": _set("tgt", 0, to=[5, 9]),
}


@pytest.mark.parametrize("kind", HARM)
def test_a_file_that_means_harm_is_refused_with_one_short_sentence(opened: Opened, kind: str, tmp_path: Path) -> None:
    whole, file = tmp_path / "whole.safetensors", tmp_path / "harm.safetensors"
    recorded(opened("gpt2")).save(whole)
    about, tensors = contents(whole)
    save_file(tensors, file, metadata={"viz_transformer": json.dumps(about)})
    assert Trace.load(file).tgt_ids == tuple(SOURCE)
    HARM[kind](about, tensors)
    save_file(tensors, file, metadata={"viz_transformer": json.dumps(about)})
    with pytest.raises(ValueError) as caught:
        Trace.load(file)
    assert str(caught.value).startswith(str(file)) and "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(file)) + 400
