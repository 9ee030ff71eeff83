"""Layouts that no table knows: every tensor of three invented ones is placed where its architecture uses it."""

from __future__ import annotations

import json
import random
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import torch
from builders import tiny_checkpoint, tiny_config, tiny_model
from torch import Tensor, nn

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


PAIR = {"encoder.embedding.token": "encoder.emb.tok_emb", "decoder.embedding.token": "decoder.emb.tok_emb"}
COURSES: dict[str, tuple[str, dict[str, str]]] = {
    "slf_attn": (
        "encoder-decoder",
        {
            "encoder.embedding.token": "encoder.src_word_emb",
            "decoder.embedding.token": "decoder.trg_word_emb",
            "coder.norm": "coder.layer_norm",
            "coder.layers": "coder.layer_stack",
            "self_attention": "slf_attn",
            "cross_attention": "enc_attn",
            "to_query": "w_qs",
            "to_key": "w_ks",
            "to_value": "w_vs",
            "attn.to_out": "attn.fc",
            "self_residual.norm": "slf_attn.layer_norm",
            "cross_residual.norm": "enc_attn.layer_norm",
            "ffn_residual.norm": "pos_ffn.layer_norm",
            "feed_forward.to_hidden": "pos_ffn.w_1",
            "feed_forward.to_out": "pos_ffn.w_2",
            "output": "trg_word_prj",
        },
    ),
    "w_concat": (
        "encoder-decoder",
        {
            **PAIR,
            "encoder.layers.0.self_attention": "encoder.layers.0.attention",
            "encoder.layers.1.self_attention": "encoder.layers.1.attention",
            "cross_attention": "enc_dec_attention",
            "to_query": "w_q",
            "to_key": "w_k",
            "to_value": "w_v",
            "attention.to_out": "attention.w_concat",
            "self_residual.norm": "norm1",
            "cross_residual.norm": "norm2",
            "ffn_residual.norm": "norm3",
            "feed_forward.to_hidden": "ffn.linear1",
            "feed_forward.to_out": "ffn.linear2",
            "output": "decoder.linear",
            "norm.gain": "norm.gamma",
            "norm.offset": "norm.beta",
        },
    ),
    "self_attention_block": (
        "encoder-decoder",
        {
            "encoder.embedding.token": "src_embed.embedding",
            "decoder.embedding.token": "tgt_embed.embedding",
            "self_attention": "self_attention_block",
            "cross_attention": "cross_attention_block",
            "to_query": "w_q",
            "to_key": "w_k",
            "to_value": "w_v",
            "block.to_out": "block.w_o",
            "self_residual.norm": "residual_connections.0.norm",
            "cross_residual.norm": "residual_connections.1.norm",
            "ffn_residual.norm": "residual_connections.2.norm",
            "feed_forward.to_hidden": "feed_forward_block.linear_1",
            "feed_forward.to_out": "feed_forward_block.linear_2",
            "output": "projection_layer.proj",
            "norm.gain": "norm.alpha",
        },
    ),
    "a book's GPT": (
        "decoder-only",
        {
            "decoder.embedding.token": "tok_emb",
            "decoder.embedding.position.table": "pos_emb.weight",
            "decoder.layers": "trf_blocks",
            "self_attention": "att",
            "to_query": "W_query",
            "to_key": "W_key",
            "to_value": "W_value",
            "att.to_out": "att.out_proj",
            "self_residual.norm": "norm1",
            "ffn_residual.norm": "norm2",
            "feed_forward.to_hidden": "ff.layers.0",
            "feed_forward.to_out": "ff.layers.2",
            "decoder.norm": "final_norm",
            "output": "out_head",
            "gain": "scale",
            "offset": "shift",
        },
    ),
    "o_proj": (
        "decoder-only",
        {
            "decoder.embedding.token": "embed",
            "decoder.embedding.position.table": "pos_embed.weight",
            "decoder.layers": "layers",
            "self_attention": "attn",
            "to_query": "q_proj",
            "to_key": "k_proj",
            "to_value": "v_proj",
            "attn.to_out": "attn.o_proj",
            "self_residual.norm": "input_norm",
            "ffn_residual.norm": "post_attention_norm",
            "feed_forward.to_hidden": "mlp.up_proj",
            "feed_forward.to_out": "mlp.down_proj",
            "decoder.norm": "norm",
            "output": "lm_head",
        },
    ),
    "block0": (
        "decoder-only",
        {
            "decoder.embedding.token": "token_embedding",
            "decoder.embedding.position.table": "position_embedding.weight",
            "decoder.layers.": "block",
            "self_attention": "sa",
            "to_query": "query",
            "to_key": "key",
            "to_value": "value",
            "sa.to_out": "sa.proj",
            "self_residual.norm": "ln1",
            "ffn_residual.norm": "ln2",
            "feed_forward.to_hidden": "ffwd.net.0",
            "feed_forward.to_out": "ffwd.net.2",
            "decoder.norm": "ln_f",
            "output": "lm_head",
        },
    ),
}
"""Kind of model, and how widely followed courses call what we call otherwise, in this order."""


def called(words: dict[str, str], state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    names = {name: name for name in state}
    for ours, theirs in {**words, "gain": "weight", "offset": "bias"}.items():
        names = {name: made.replace(ours, theirs) for name, made in names.items()}
    return {names[name]: tensor for name, tensor in state.items()}


def one_map(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """torch's fused map inside of blocks of one's own: attn.in_proj_weight beside attn.out_proj."""
    found = called({**COURSES["block0"][1], "sa.proj": "attn.out_proj"}, state)
    for i in sorted({name[5] for name in found if name.startswith("block")}):
        for part in ("weight", "bias"):
            maps = [found.pop(f"block{i}.sa.{name}.{part}") for name in ("query", "key", "value")]
            found[f"block{i}.attn.in_proj_{part}"] = torch.cat(maps)
    return found


LEARNED = {"decoder-only": {"positions": "learned"}}


def norm_in_list(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The last norm as one more entry of the list of layers."""
    words = {**COURSES["o_proj"][1], "decoder.norm": "layers.9"}
    return called(words, state)


CASES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "a norm as the last entry": ("decoder-only", {"final_norm": True, "positions": "learned"}, norm_in_list),
    **{
        name: (
            kind,
            {"final_norm": True, "positions": "learned" if kind == "decoder-only" else "sinusoidal"},
            partial(called, words),
        )
        for name, (kind, words) in COURSES.items()
    },
    "in_proj_weight": ("decoder-only", {"final_norm": True, "positions": "learned"}, one_map),
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


def test_a_norm_with_one_number_for_all_features_has_it_for_each(tmp_path: Path) -> None:
    config = tiny_config("encoder-decoder", final_norm=True)
    state = called(COURSES["self_attention_block"][1], dict(tiny_model(config).state_dict()))
    numbers = {name: torch.tensor([0.5 + n / 64]) for n, name in enumerate(state) if ".norm." in name}
    torch.save({**state, **numbers}, tmp_path / "m.pt")
    opened = open_file(tmp_path / "m.pt", Answers(settings=settings_of(config)))
    assert not opened.plan.unused and not opened.plan.problems
    made = vt.load(import_file(tmp_path / "m.pt", tmp_path / "out", Answers(settings=settings_of(config)))).model
    assert made is not None
    found = made.state_dict()
    for name, to in (
        ("encoder.layers.1.residual_connections.0.norm.alpha", "encoder.layers.1.self_residual.norm.gain"),
    ):
        assert torch.equal(found[to], numbers[name].repeat(config.d_model))
    gains = [tensor for name, tensor in found.items() if ".norm." in name]
    assert len(gains) == len(numbers) and all(tensor.unique().numel() == 1 for tensor in gains)


class BookAttention(nn.Module):
    def __init__(self, d: int, h: int) -> None:
        super().__init__()
        self.h = h
        self.W_query, self.W_key, self.W_value = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.out_proj = nn.Linear(d, d)
        self.register_buffer("mask", torch.ones(16, 16).triu(1))

    def forward(self, x: Tensor) -> Tensor:
        n, d = x.shape[1:]
        q, k, v = (f(x).view(1, n, self.h, -1).transpose(1, 2) for f in (self.W_query, self.W_key, self.W_value))
        scores = (q @ k.mT).masked_fill(self.mask.bool()[:n, :n], -torch.inf)  # type: ignore[operator]
        return self.out_proj(((scores / k.shape[-1] ** 0.5).softmax(-1) @ v).transpose(1, 2).reshape(1, n, d))  # type: ignore[no-any-return]


class BookNorm(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.rand(d) + 0.5), nn.Parameter(torch.randn(d))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return self.scale * centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() + self.shift


class BookForward(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(approximate="tanh"), nn.Linear(4 * d, d))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)  # type: ignore[no-any-return]


class BookBlock(nn.Module):
    def __init__(self, d: int, h: int) -> None:
        super().__init__()
        self.att, self.ff, self.norm1, self.norm2 = BookAttention(d, h), BookForward(d), BookNorm(d), BookNorm(d)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.att(self.norm1(x))
        return x + self.ff(self.norm2(x))  # type: ignore[no-any-return]


class BookGpt(nn.Module):
    def __init__(self, d: int = 24, h: int = 3) -> None:
        super().__init__()
        self.tok_emb, self.pos_emb = nn.Embedding(13, d), nn.Embedding(16, d)
        self.trf_blocks = nn.Sequential(*(BookBlock(d, h) for _ in range(2)))
        self.final_norm, self.out_head = BookNorm(d), nn.Linear(d, 13, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(ids.shape[1]))
        return self.out_head(self.final_norm(self.trf_blocks(x)))  # type: ignore[no-any-return]


@pytest.mark.parametrize("wrapped", ["state_dict", "a dict", "module.", "_orig_mod.", "half"])
def test_a_book_s_gpt_gives_its_author_s_logits(wrapped: str, tmp_path: Path) -> None:
    torch.manual_seed(5)
    model = BookGpt().eval()
    if wrapped == "half":
        model.half().float()
    ids = [3, 1, 4, 1, 5, 9, 2, 6]
    with torch.no_grad():
        logits = model(torch.tensor([ids]))
    state: dict[str, Any] = dict(model.state_dict())
    if wrapped.endswith("."):
        state = {f"{wrapped}{name}": tensor for name, tensor in state.items()}
    if wrapped == "half":
        state = {name: tensor.half() for name, tensor in state.items()}
    torch.save({"model_state_dict": state, "epoch": 3} if wrapped == "a dict" else state, tmp_path / "m.pt")
    settings = {"n_heads": 3, "activation": "gelu-tanh"}
    ckpt = vt.load(import_file(tmp_path / "m.pt", tmp_path / "out", Answers(settings=settings)))
    found = vt.trace(ckpt, ids)["logits"]
    assert found.numpy() == pytest.approx(logits.numpy(), abs=2e-5)
