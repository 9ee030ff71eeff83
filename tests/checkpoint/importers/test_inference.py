"""Layouts that no table knows: every tensor of three invented ones is placed where its architecture uses it."""

from __future__ import annotations

import json
import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import torch
from builders import tiny_checkpoint, tiny_config, tiny_model

import viz_transformer as vt
from viz_transformer.checkpoint.importers.importing import Answers, answers_from, import_file, open_file, read_mapping
from viz_transformer.checkpoint.importers.name_words import in_sequence
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
    settings = settings_of(config)
    opened = open_file(tmp_path / "m.pt", Answers(settings=settings))
    assert opened.plan.layout is None and not opened.plan.unused and not opened.plan.problems
    ckpt = vt.load(import_file(tmp_path / "m.pt", tmp_path / "out", Answers(settings=settings)))
    for name, tensor in model.state_dict().items():
        assert torch.equal(ckpt.model.state_dict()[name], tensor), name


SAME = ("norm", "activation", "embedding_scale", "positions", "divisor", "n_heads", "max_source", "max_target")


def settings_of(config: ModelConfig) -> dict[str, Any]:
    """What names and shapes do not tell of a model."""
    return {name: getattr(config, name) for name in (*SAME, "mask_fill", "norm_epsilon")}


@pytest.mark.parametrize("case", CASES)
def test_the_order_of_the_file_says_nothing(case: str, tmp_path: Path) -> None:
    """By names, backwards, and at random: the same model."""
    kind, changes, make = CASES[case]
    config: ModelConfig = tiny_config(kind, **changes)
    model = tiny_model(config)
    held = make(dict(model.state_dict()))
    shuffled = list(held)
    orders = [sorted(held), sorted(held, reverse=True)]
    for seed in range(4):
        random.Random(seed).shuffle(shuffled)
        orders.append([*shuffled])
    for number, order in enumerate(orders):
        torch.save({name: held[name] for name in order}, tmp_path / "m.pt")
        out = import_file(tmp_path / "m.pt", tmp_path / str(number), Answers(settings=settings_of(config)))
        ckpt = vt.load(out)
        for name, tensor in model.state_dict().items():
            assert torch.equal(ckpt.model.state_dict()[name], tensor), (name, number)


def with_head(head: str, table: str = "tok_table.weight") -> tuple[dict[str, torch.Tensor], ModelConfig]:
    """A decoder whose head has no bias and this name, its embedding that one."""
    config = tiny_config("decoder-only", final_norm=True, output_bias=False)
    model = tiny_model(config)
    held = by_head({**model.state_dict(), "output.bias": torch.zeros(20)})
    del held["to_vocab.bias"]
    held[head], held[table] = held.pop("to_vocab.weight"), held.pop("tok_table.weight")
    return held, config


@pytest.mark.parametrize("head", ["answer.weight", "zzz.weight", "to_letters"])
def test_a_head_of_an_unknown_name_is_told_by_the_name_of_the_embedding_in_every_order(
    head: str, tmp_path: Path
) -> None:
    held, config = with_head(head)
    outside = [name for name in held if not name.startswith("cells")]
    inside = {name: held[name] for name in held if name.startswith("cells")}
    for order in permutations(outside):
        torch.save({**{name: held[name] for name in order}, **inside}, tmp_path / "m.pt")
        plan = open_file(tmp_path / "m.pt", Answers(settings=settings_of(config))).plan
        assert not plan.problems and plan.setting("tied_output") is False
        assert plan.mapping[head].to == ("output.weight",)


@pytest.mark.parametrize("answer", ["first", "second"])
def test_a_tie_between_embedding_and_head_is_asked_and_the_answer_is_taken(answer: str, tmp_path: Path) -> None:
    held, config = with_head("second", "first")
    for order in (sorted(held), sorted(held, reverse=True)):
        torch.save({name: held[name] for name in order}, tmp_path / "m.pt")
        plan = open_file(tmp_path / "m.pt", Answers(settings=settings_of(config))).plan
        (asked,) = [each for each in plan.settings if each.origin == "open"]
        assert (asked.name, asked.value, asked.options) == ("output.weight", None, ("first", "none", "second"))
        assert plan.problems == (
            "names and shapes do not tell which is output.weight, 'first' or 'none' or 'second': say it with --set"
            " output.weight=NAME",
        )
        told = answers_from({"output.weight": answer})
        told = Answers(settings={**settings_of(config), **told.settings})
        ckpt = vt.load(import_file(tmp_path / "m.pt", tmp_path / "out", told))
        embedded = {"first": "second", "second": "first"}[answer]
        assert torch.equal(ckpt.model.state_dict()["output.weight"], held[answer])
        assert torch.equal(ckpt.model.state_dict()["decoder.embedding.token.weight"], held[embedded])


def test_an_answer_that_names_no_tensor_or_is_not_asked_is_refused(tmp_path: Path) -> None:
    held, config = with_head("second", "first")
    torch.save(held, tmp_path / "m.pt")
    wrong = {**settings_of(config), "output.weight": "third"}
    with pytest.raises(vt.CheckpointError, match=r"'third' cannot be output\.weight: choose one of 'first'"):
        open_file(tmp_path / "m.pt", Answers(settings=wrong))
    torch.save(with_head("lm_head.weight")[0], tmp_path / "m.pt")
    not_asked = {**settings_of(config), "decoder.norm": "norm_z"}
    with pytest.raises(vt.CheckpointError, match=r"which tensor is decoder\.norm is not a question for this file"):
        open_file(tmp_path / "m.pt", Answers(settings=not_asked))


def test_maps_of_a_feed_forward_that_nothing_tells_apart_are_asked(tmp_path: Path) -> None:
    """As wide inside as outside, without biases, and under names that say nothing."""
    config = tiny_config("decoder-only", final_norm=True, d_ff=16, ffn_bias=False)
    model = tiny_model(config)
    held = by_head(
        {
            **model.state_dict(),
            **{
                f"decoder.layers.{i}.feed_forward.to_{p}.bias": torch.zeros(16)
                for i in range(3)
                for p in ("hidden", "out")
            },
        }
    )
    held = {name: tensor for name, tensor in held.items() if not (".mlp." in name and name.endswith("bias"))}
    held = {name.replace("mlp.0", "mlp.heron").replace("mlp.2", "mlp.crane"): tensor for name, tensor in held.items()}
    torch.save(held, tmp_path / "m.pt")
    plan = open_file(tmp_path / "m.pt", Answers(settings=settings_of(config))).plan
    (asked,) = [each for each in plan.settings if each.origin == "open"]
    assert asked.name == "decoder.feed_forward.to_hidden"
    assert asked.options == ("mlp.crane.weight", "mlp.heron.weight")
    told = {**settings_of(config), asked.name: "mlp.heron.weight"}
    ckpt = vt.load(import_file(tmp_path / "m.pt", tmp_path / "out", Answers(settings=told)))
    for name, tensor in model.state_dict().items():
        assert torch.equal(ckpt.model.state_dict()[name], tensor), name


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (["h.10.q", "h.2.q", "h.0.q"], ["h.0.q", "h.2.q", "h.10.q"]),
        (["norm_b", "norm_a"], ["norm_a", "norm_b"]),
        (["second", "first"], ["first", "second"]),
        (["before", "after"], None),
        (["a.1.b.2", "a.2.b.1"], None),
        (["a.1", "a"], None),
    ],
)
def test_names_are_in_sequence_where_one_number_or_letter_counts_them(
    names: list[str], order: list[str] | None
) -> None:
    assert in_sequence(names) == order


def test_eleven_heads_are_numbered_as_their_names_count_them(tmp_path: Path) -> None:
    config = tiny_config("decoder-only", final_norm=True, d_model=24, n_heads=12)
    model = tiny_model(config)
    held = by_head(dict(model.state_dict()), 12)
    torch.save({name: held[name] for name in sorted(held)}, tmp_path / "m.pt")
    ckpt = vt.load(import_file(tmp_path / "m.pt", tmp_path / "out", Answers(settings=settings_of(config))))
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
        ({"to": [], "how": ""}, "how='' is not known; choose 'as it is'"),
    ],
)
def test_a_mapping_that_places_an_ignored_tensor_or_none_is_refused(
    place: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    file = tmp_path / "map.json"
    file.write_text(json.dumps({"tensors": {"a": place}}), encoding="utf-8")
    with pytest.raises(vt.CheckpointError, match=sentence):
        read_mapping(file)
