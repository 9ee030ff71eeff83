"""Layouts that no table knows: every tensor of three invented ones is placed where its architecture uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from builders import tiny_checkpoint, tiny_config, tiny_model

import viz_transformer as vt
from viz_transformer.checkpoint.importers.importing import Answers, import_file, open_file, read_mapping
from viz_transformer.model.config import ModelConfig


def reader_writer(name: str) -> str:
    """reader.floor.0.look.wq.weight, writer.floor.0.look_mem.wq.weight, ..."""
    words = {
        "encoder.layers": "reader.floor",
        "decoder.layers": "writer.floor",
        "self_attention": "look",
        "cross_attention": "look_mem",
        "to_query": "wq",
        "to_key": "wk",
        "to_value": "wv",
        "to_out": "wo",
        "feed_forward.to_hidden": "mlp.up",
        "feed_forward.to_out": "mlp.down",
        "self_residual.norm": "n1",
        "cross_residual.norm": "n2",
        "ffn_residual.norm": "n3",
        "gain": "weight",
        "offset": "bias",
        "encoder.embedding.token": "reader.table",
        "decoder.embedding.token": "writer.table",
        "encoder.norm": "reader.last",
        "decoder.norm": "writer.last",
        "output": "writer.head",
    }
    for ours, theirs in words.items():
        if ours != "to_out" or "feed_forward" not in name:
            name = name.replace(ours, theirs)
    return name


def renamed(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {reader_writer(name): tensor for name, tensor in state.items()}


def fused(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A decoder alone: blk.0.att.qkv, stored [in, out], and a learned table of positions."""
    found: dict[str, torch.Tensor] = {}
    layers = sorted({name.split(".")[2] for name in state if name.startswith("decoder.layers")})
    found["words"] = state["decoder.embedding.token.weight"]
    found["places.pos"] = state["decoder.embedding.position.table"][None]
    for i in layers:
        at, to = f"decoder.layers.{i}", f"blk.{i}"
        for part in ("weight", "bias"):
            maps = [state[f"{at}.self_attention.to_{name}.{part}"] for name in ("query", "key", "value")]
            joined = torch.cat(maps)
            found[f"{to}.att.qkv.{part}"] = joined.t().contiguous() if part == "weight" else joined
            found[f"{to}.att.proj.{part}"] = state[f"{at}.self_attention.to_out.{part}"]
            found[f"{to}.ff.a.{part}"] = state[f"{at}.feed_forward.to_hidden.{part}"]
            found[f"{to}.ff.b.{part}"] = state[f"{at}.feed_forward.to_out.{part}"]
        for one, two in (("self", "before"), ("ffn", "between")):
            found[f"{to}.{two}.g"] = state[f"{at}.{one}_residual.norm.gain"]
            found[f"{to}.{two}.beta"] = state[f"{at}.{one}_residual.norm.offset"]
    found["after.g"], found["after.beta"] = state["decoder.norm.gain"], state["decoder.norm.offset"]
    found["lm_head.weight"], found["lm_head.bias"] = state["output.weight"], state["output.bias"]
    return found


def by_head(state: dict[str, torch.Tensor], n_heads: int = 4) -> dict[str, torch.Tensor]:
    """The same with a small matrix for each head, as cells.0.heads.2.Q.weight."""
    found: dict[str, torch.Tensor] = {"tok_table.weight": state["decoder.embedding.token.weight"]}
    for i in sorted({name.split(".")[2] for name in state if name.startswith("decoder.layers")}):
        at, to = f"decoder.layers.{i}", f"cells.{i}"
        for name, letter in (("query", "Q"), ("key", "K"), ("value", "V")):
            for part in ("weight", "bias"):
                rows = state[f"{at}.self_attention.to_{name}.{part}"].chunk(n_heads)
                for head, piece in enumerate(rows):
                    found[f"{to}.heads.{head}.{letter}.{part}"] = piece.clone()
        for part in ("weight", "bias"):
            found[f"{to}.mix.{part}"] = state[f"{at}.self_attention.to_out.{part}"]
            found[f"{to}.mlp.0.{part}"] = state[f"{at}.feed_forward.to_hidden.{part}"]
            found[f"{to}.mlp.2.{part}"] = state[f"{at}.feed_forward.to_out.{part}"]
        for one, two in (("self", "norm_a"), ("ffn", "norm_b")):
            found[f"{to}.{two}.weight"] = state[f"{at}.{one}_residual.norm.gain"]
            found[f"{to}.{two}.bias"] = state[f"{at}.{one}_residual.norm.offset"]
    found["norm_z.weight"], found["norm_z.bias"] = state["decoder.norm.gain"], state["decoder.norm.offset"]
    found["to_vocab.weight"], found["to_vocab.bias"] = state["output.weight"], state["output.bias"]
    return found


CASES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "reader and writer": ("encoder-decoder", {"final_norm": True}, renamed),
    "fused, [in, out]": ("decoder-only", {"final_norm": True, "positions": "learned"}, fused),
    "a matrix for each head": ("decoder-only", {"final_norm": True}, by_head),
}


@pytest.mark.parametrize("case", CASES)
def test_every_tensor_of_an_unknown_layout_is_placed_right(case: str, tmp_path: Path) -> None:
    kind, changes, make = CASES[case]
    config: ModelConfig = tiny_config(kind, **changes)
    model = tiny_model(config)
    torch.save(make(dict(model.state_dict())), tmp_path / "m.pt")
    same = ("norm", "activation", "embedding_scale", "positions", "divisor", "n_heads", "max_source", "max_target")
    settings = {name: getattr(config, name) for name in (*same, "mask_fill", "norm_epsilon")}
    opened = open_file(tmp_path / "m.pt", Answers(settings=settings))
    assert opened.plan.layout is None and not opened.plan.unused and not opened.plan.problems
    ckpt = vt.load(import_file(tmp_path / "m.pt", tmp_path / "out", Answers(settings=settings)))
    for name, tensor in model.state_dict().items():
        assert torch.equal(ckpt.model.state_dict()[name], tensor), name


def test_a_gated_feed_forward_is_named_as_what_cannot_be_represented(tmp_path: Path) -> None:
    ckpt = tiny_checkpoint("decoder-only", final_norm=True)
    state = by_head(dict(ckpt.model.state_dict()))
    for name in [name for name in state if ".mlp.0.weight" in name]:
        state[name.replace("mlp.0", "mlp.gate")] = state[name].clone()
    torch.save(state, tmp_path / "m.pt")
    with pytest.raises(vt.CheckpointError, match="gated"):
        import_file(tmp_path / "m.pt", tmp_path / "out")


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ({"to": ["output.weight"], "how": "ignored"}, "not placed at 'output.weight' too"),
        ({"to": [], "how": "as it is"}, "'to' is empty"),
        ({"to": [], "how": ""}, "is not a way to place a tensor"),
    ],
)
def test_a_mapping_that_places_an_ignored_tensor_or_none_is_refused(
    place: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    file = tmp_path / "map.json"
    file.write_text(json.dumps({"tensors": {"a": place}}), encoding="utf-8")
    with pytest.raises(vt.CheckpointError, match=sentence):
        read_mapping(file)
