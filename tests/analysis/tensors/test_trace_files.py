"""A trace survives the page's save and open; a file from elsewhere opens whole or is refused with one sentence."""

import json
import random

import pytest
import torch
from builders import tiny_checkpoint
from safetensors import safe_open
from safetensors.torch import save

from viz_transformer.analysis.tensors import trace_files
from viz_transformer.analysis.tensors.trace_files import open_trace, pack_trace
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import SetMask
from viz_transformer.running.strategies import Beam
from viz_transformer.running.tracing import trace
from viz_transformer.running.training_mode import training_trace

SLIPS = {"norm": "post", "final_norm": False, "norm_kind": "positions-and-features", "merge": "raw-reshape"}
SLIPS |= {"pad_to": 20, "max_target": 20, "mask_fill": "added-1e9", "divisor": "learned"}


def long_run():
    ids = torch.randint(4, 20, (520,), generator=torch.Generator().manual_seed(0)).tolist()
    return trace(tiny_checkpoint("decoder-only", max_target=600), ids)


RUNS = {
    "teacher-forced": lambda: trace(tiny_checkpoint(), "abca", "uvu"),
    "ids": lambda: trace(tiny_checkpoint(), [4, 5], [1, 5]),
    "greedy": lambda: decode(tiny_checkpoint(), "abz", max_steps=4).trace,
    "beam": lambda: decode(tiny_checkpoint(), "abz", strategy=Beam(3), max_steps=4).trace,
    "slips": lambda: decode(tiny_checkpoint(**SLIPS), "abz", max_steps=4).trace,
    "post-norm": lambda: trace(tiny_checkpoint(norm="post", positions="none"), "abz", "u"),
    "encoder-only": lambda: trace(tiny_checkpoint("encoder-only", target_vocab_size=None), "abz"),
    "decoder-only": lambda: decode(tiny_checkpoint("decoder-only"), "uv", max_steps=4).trace,
    "mask per head": lambda: trace(
        tiny_checkpoint(), "abc", "uv", edits=[SetMask("decoder.0.cross", query=0, key=1, allowed=False, head=2)]
    ),
    "training mode": lambda: training_trace(tiny_checkpoint(), "abca", "uvu", 7),
    "fused": long_run,
}


@pytest.mark.parametrize("kind", RUNS)
def test_what_was_saved_opens_bit_by_bit(kind):
    before = RUNS[kind]()
    after = open_trace(pack_trace(before), "run.safetensors")
    assert after.points(derived=True) == before.points(derived=True)
    assert all(torch.equal(after[name], before[name]) for name in before.points())
    assert (after.src, after.tgt, after.config, after.edits) == (before.src, before.tgt, before.config, before.edits)


@pytest.fixture
def parts(tmp_path):
    """What the file of a small run says about it, and its tensors."""
    (tmp_path / "run").write_bytes(pack_trace(trace(tiny_checkpoint(), "abc", "uv")))
    with safe_open(tmp_path / "run", framework="pt") as file:
        about = json.loads(file.metadata()["viz_transformer"])
        return about, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)


def together(about, tensors):
    return save(tensors, metadata={"viz_transformer": json.dumps(about)})


def test_the_parts_put_together_again_open(parts):
    assert open_trace(together(*parts), "x").points()


def changed(about, tensors, change):
    about, tensors = json.loads(json.dumps(about)), dict(tensors)
    change(about, tensors)
    return together(about, tensors)


HOSTILE = {
    "endless layers": lambda a, t: a["config"].update(decoder_layers=10**12),
    "a layer count that is no number": lambda a, t: a["config"].update(decoder_layers="many"),
    "layers that are not there": lambda a, t: a["config"].update(d_model=32),
    "no config": lambda a, t: a.update(config=[]),
    "points repeated": lambda a, t: a.update(points=["logits"] * 1000),
    "points not there": lambda a, t: a["points"].append("nothing"),
    "points that are no list": lambda a, t: a.update(points=7),
    "no points": lambda a, t: a.update(points=[]),
    "an unknown point": lambda a, t: (a["points"].append("<script>"), t.update({"<script>": torch.zeros(2, 2)})),
    "a point of another shape": lambda a, t: t.update({"logits": torch.zeros(1, 3, 7)}),
    "a point without axes": lambda a, t: t.update({"logits": torch.zeros(())}),
    "a point of another type": lambda a, t: t.update({"logits": t["logits"].double()}),
    "a mask of numbers": lambda a, t: t.update({"encoder.0.self.mask": t["encoder.0.self.mask"].float()}),
    "a query without its key": lambda a, t: a["points"].remove("encoder.0.self.key"),
    "no output map": lambda a, t: t.pop("parameter.encoder.0.self.to_out.weight"),
    "an output map of another shape": lambda a, t: t.update({"parameter.encoder.0.self.to_out.weight": torch.ones(2)}),
    "no divisor": lambda a, t: a["scalars"].pop("encoder.0.self.divisor"),
    "a divisor that is no number": lambda a, t: a["scalars"].update({"encoder.0.self.divisor": "2"}),
    "scalars that are a list": lambda a, t: a.update(scalars=[1]),
    "too few tokens": lambda a, t: [column.pop() for column in a["src"]],
    "tokens that are numbers": lambda a, t: a["src"].__setitem__(1, [1, 2, 3, 4, 5]),
    "tokens that are nothing": lambda a, t: a.update(src=None),
    "no tokens": lambda a, t: a.update(src=[[], [], []]),
    "columns of two lengths": lambda a, t: a["src"][2].pop(),
    "two columns": lambda a, t: a["src"].pop(),
    "written tokens of another length": lambda a, t: a["next_tokens"].pop(),
    "written tokens that are lists": lambda a, t: a["next_tokens"].__setitem__(0, []),
    "a name that is a list": lambda a, t: a.update(checkpoint=["numbers"]),
    "an info that is a text": lambda a, t: a.update(info="hello"),
    "an edit that is none": lambda a, t: a.update(edits=[1]),
    "an edit of another program": lambda a, t: a.update(edits=[{"edit": "__import__"}]),
    "another format": lambda a, t: a.update(format_version=2),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_that_is_no_whole_trace_is_refused_with_one_sentence(parts, kind):
    data = changed(*parts, HOSTILE[kind])
    with pytest.raises(ValueError) as error:
        open_trace(data, "my file.safetensors")
    sentence = str(error.value)
    assert "my file.safetensors" in sentence and "/tmp" not in sentence
    assert len(sentence) < 400 and "\n" not in sentence


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"PK\x03\x04" + b"\0" * 100, b"\xff" * 100, b"\0" * 8, (2**63).to_bytes(8, "little") + b"{}"],
)
def test_other_files_are_refused_with_one_sentence(data):
    with pytest.raises(ValueError, match=r"^notes\.safetensors is not a whole trace"):
        open_trace(data, "notes.safetensors")


def test_weights_of_a_model_are_no_trace():
    with pytest.raises(ValueError, match=r"notes\.safetensors is a safetensors file, but not a trace"):
        open_trace(save({"a": torch.zeros(2)}), "notes.safetensors")


def test_a_file_over_the_limit_is_refused_before_it_is_read(monkeypatch):
    data = pack_trace(trace(tiny_checkpoint(), "a", "u"))
    monkeypatch.setattr(trace_files, "LARGEST_FILE", len(data) - 1)
    with pytest.raises(ValueError, match=rf"x has {len(data):,} bytes, a trace is opened here up to {len(data) - 1:,}"):
        open_trace(data, "x")


def test_any_damage_ends_in_a_trace_or_in_a_sentence(parts):
    whole = together(*parts)
    chance = random.Random(0)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 1, 3))):
            damaged[chance.randrange(min(len(whole), chance.choice((9, 4000, 12_000))))] = chance.randrange(256)
        if chance.random() < 0.2:
            del damaged[chance.randrange(len(whole)) :]
        try:
            recorded = open_trace(bytes(damaged), "x")
        except ValueError as error:
            assert str(error).startswith("x ")
        else:
            for name in recorded.points(derived=True):
                assert recorded[name].ndim >= 3


def test_a_trace_of_fewer_points_is_opened(parts):
    about, tensors = parts
    about["points"] = [name for name in about["points"] if ".ffn." not in name]
    recorded = open_trace(together(about, tensors), "x")
    assert "encoder.0.ffn.out" not in recorded and "encoder.0.self.scores" in recorded
