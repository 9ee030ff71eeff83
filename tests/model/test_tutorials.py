"""The tutorials' configs against their tables, and two whole models against references written here in float64."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import pytest
import torch
from builders import random_ids, tiny_model
from torch import Tensor

from viz_transformer.checkpoint.describe import unusual
from viz_transformer.model.causality import is_causal, padding_matters
from viz_transformer.model.config import ModelConfig, base, tutorial
from viz_transformer.model.transformer import Transformer, parameter_count

SMALL: dict[str, Any] = {"d_model": 16, "n_heads": 4, "d_ff": 24, "encoder_layers": 2, "decoder_layers": 2}
SMALL |= {"source_vocab_size": 14, "target_vocab_size": 15}
NAMES = ("en-it", "tutorial6", "annotated", "upc-lab", "fsu")


def small(name: str) -> ModelConfig:
    """The tutorial's config with small sizes; everything else as it is."""
    sizes = {"pad_to": 9} if name == "en-it" else {"max_source": 12, "max_target": 12}
    return tutorial(name, **SMALL, **sizes)


# aspect by aspect, in the order en-it, tutorial6, annotated, upc-lab, fsu
TABLE: dict[str, tuple[Any, ...]] = {
    "norm": ("post", "post", "pre", "post", "post"),
    "final_norm": (False, False, True, False, False),
    "norm_kind": ("positions-and-features", "layer", "bessel", "layer", "layer"),
    "norm_epsilon": (1e-5, 1e-5, 1e-6, 1e-5, 1e-5),
    "encoder_final_norm": ("same", "same", "torch", "same", "same"),
    "positions": ("sinusoidal-doubled", "learned", "sinusoidal", "sinusoidal", "learned"),
    "position_offset": (0,) * 5,
    "pooling": ("none",) * 5,
    "embedding_scale": ("one", "one", "sqrt", "one", "sqrt"),
    "divisor": ("sqrt-head-dim",) * 5,
    "merge": ("raw-reshape", *["concatenate"] * 4),
    "mask_fill": ("added-1e9", "-1e10", "-1e9", "-inf", "-1e10"),
    "padding_mask": ("key-or-query-swapped-cross", *["key"] * 4),
    "embedding_dropout": (True, True, True, False, True),
    "attention_dropout": (False, False, True, False, True),
    "ffn_dropout": (*["after-activation"] * 3, "before-activation", "after-activation"),
    "decoder_ffn_dropout": ("none", "output", "output", "output", "stream"),
    "attention_bias": (True,) * 5,
    "ffn_bias": (True,) * 5,
    "output_bias": (True,) * 5,
    "tied_output": (False,) * 5,
    "activation": ("relu",) * 5,
    "dropout": (0.1,) * 5,
    "pad_to": (200, None, None, None, None),
    "max_source": (200, 20, 5000, 5000, 61),
    "max_target": (200, 20, 5000, 5000, 200),
    "source_pad": (1, 3, None, 3, 0),
    "target_pad": (1, 3, None, 3, 0),
    "d_model": (512, 8, 512, 256, 200),
    "n_heads": (8, 2, 8, 4, 8),
    "d_ff": (2048, 16, 2048, 1024, 1024),
    "encoder_layers": (6, 2, 6, 3, 4),
    "decoder_layers": (6, 2, 6, 3, 4),
    "source_vocab_size": (99, 41, 99, 99, 34),
    "target_vocab_size": (98, 40, 98, 98, 28),
}


def test_each_tutorial_is_its_column_of_the_table() -> None:
    assert set(TABLE) == {field.name for field in fields(ModelConfig)}
    for column, name in enumerate(NAMES):
        stated = name in ("tutorial6", "fsu")
        config = tutorial(name) if stated else tutorial(name, source_vocab_size=99, target_vocab_size=98)
        assert config.to_dict() == {field: values[column] for field, values in TABLE.items()}, name


def test_what_is_missing_or_unknown_is_said() -> None:
    with pytest.raises(ValueError, match="tutorial='enit' is not known; choose 'en-it' or 'tutorial6'"):
        tutorial("enit")
    with pytest.raises(ValueError, match="'upc-lab' decide its vocabularies: give source_vocab_size"):
        tutorial("upc-lab")
    assert tutorial("fsu", embedding_scale="learned", divisor="learned").divisor == "learned"


def test_inspect_names_the_slips_of_a_model_and_is_silent_about_the_usual() -> None:
    assert unusual(tutorial("en-it", source_vocab_size=9, target_vocab_size=9)) == [
        "norm kind positions-and-features",
        "embedding scale one",
        "merge raw-reshape",
        "mask fill added-1e9",
        "padding mask key-or-query-swapped-cross",
        "pad to 200",
    ]
    assert unusual(base()) == []


def test_the_base_model_has_the_papers_size() -> None:
    with torch.device("meta"):
        count = parameter_count(Transformer(base()))
    # by the paper's sections: attention 4 d^2, feed-forward 2 d d_ff + d_ff + d, norms 2 d each; two embeddings
    d, d_ff, attention, feed_forward, norm = 512, 2048, 4 * 512**2, 2 * 512 * 2048 + 2048 + 512, 2 * 512
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    assert count == 6 * (encoder + decoder) + 2 * 37_000 * d
    assert 63e6 < count - 37_000 * d < 66e6  # the paper shares the embeddings and counts 65 million
    assert (d_ff, base().head_dim, base(dropout=0.3).dropout) == (2048, 64, 0.3)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_one_with_slips_is_not_causal(name: str) -> None:
    model = tiny_model(small(name))
    assert is_causal(model) is (name != "en-it")
    assert padding_matters(model) is False  # en-it pads to one length


def linear(state: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]


def feed_forward(state: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    return linear(state, f"{name}.to_out", linear(state, f"{name}.to_hidden", x).clamp(min=0))


def heads_of(state: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    return linear(state, name, x).reshape(*x.shape[:2], 4, 4).permute(0, 2, 1, 3)


@torch.no_grad()
def test_en_it_with_all_its_slips_equals_a_reference_written_from_its_definitions() -> None:
    model = tiny_model(small("en-it"))
    state = {name: value.double() for name, value in model.state_dict().items()}
    src, tgt = random_ids(14, 3, 9), random_ids(15, 3, 9, seed=2)
    src[0, 6:], src[1, 3:], tgt[0, 4:], tgt[1, 8:] = 1, 1, 1, 1

    def norm(name: str, x: Tensor) -> Tensor:
        mean = x.mean(dim=(1, 2), keepdim=True)
        variance = ((x - mean) ** 2).mean(dim=(1, 2), keepdim=True)
        return state[f"{name}.gain"] * (x - mean) / (variance + 1e-5).sqrt() + state[f"{name}.offset"]

    def attention(name: str, x: Tensor, read: Tensor, masked: Tensor) -> Tensor:
        query, key, value = (
            heads_of(state, f"{name}.to_{part}", y) for part, y in (("query", x), ("key", read), ("value", read))
        )
        scores = torch.einsum("bhqe,bhke->bhqk", query, key) / math.sqrt(4)
        # the sum in float32, as it runs there: in float64 the scores would survive beside 1e9
        added = (scores.float() + torch.where(masked, -1e9, 0.0)[:, None]).double()
        values = torch.einsum("bhqk,bhke->bhqe", added.softmax(-1), value)
        return linear(state, f"{name}.to_out", values.reshape(3, 9, 16))  # no permute

    def embed(stack: str, ids: Tensor) -> Tensor:
        table = torch.zeros(9, 16, dtype=torch.float64)
        for position in range(9):
            for column in range(16):
                i = column - column % 2
                angle = position / 10000 ** (2 * i / 16)
                table[position, column] = math.sin(angle) if column % 2 == 0 else math.cos(angle)
        return state[f"{stack}.embedding.token.weight"][ids] + table

    src_pad, tgt_pad = src == 1, tgt == 1
    x = embed("encoder", src)
    masked = src_pad[:, None, :] | src_pad[:, :, None]
    for layer in ("encoder.layers.0", "encoder.layers.1"):
        x = norm(f"{layer}.self_residual.norm", x + attention(f"{layer}.self_attention", x, x, masked))
        x = norm(f"{layer}.ffn_residual.norm", x + feed_forward(state, f"{layer}.feed_forward", x))
    y = embed("decoder", tgt)
    later = torch.ones(9, 9, dtype=torch.bool).triu(1)
    masked = tgt_pad[:, None, :] | tgt_pad[:, :, None] | later
    crossed = tgt_pad[:, None, :] | src_pad[:, :, None]  # the axes swapped
    for layer in ("decoder.layers.0", "decoder.layers.1"):
        y = norm(f"{layer}.self_residual.norm", y + attention(f"{layer}.self_attention", y, y, masked))
        y = norm(f"{layer}.cross_residual.norm", y + attention(f"{layer}.cross_attention", y, x, crossed))
        y = norm(f"{layer}.ffn_residual.norm", y + feed_forward(state, f"{layer}.feed_forward", y))
    want = linear(state, "output", y)
    # float32 through four layers: a few roundings of the largest logit
    torch.testing.assert_close(model(src, tgt).double(), want, atol=5e-6 * want.abs().max().item(), rtol=0)


@torch.no_grad()
def test_annotated_equals_a_reference_written_from_its_definitions() -> None:
    model = tiny_model(small("annotated"))
    state = {name: value.double() for name, value in model.state_dict().items()}
    src, tgt = random_ids(14, 2, 7), random_ids(15, 2, 6, seed=2)

    def norm(name: str, x: Tensor) -> Tensor:
        mean, deviation = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)  # torch's std divides by N - 1
        return state[f"{name}.gain"] * (x - mean) / (deviation + 1e-6) + state[f"{name}.offset"]

    def attention(name: str, x: Tensor, read: Tensor, keep: Tensor) -> Tensor:
        query, key, value = (
            heads_of(state, f"{name}.to_{part}", y) for part, y in (("query", x), ("key", read), ("value", read))
        )
        scores = torch.einsum("bhqe,bhke->bhqk", query, key) / math.sqrt(4)
        weights = scores.masked_fill(~keep, -1e9).softmax(-1)
        merged = torch.einsum("bhqk,bhke->bhqe", weights, value).transpose(1, 2).reshape(*x.shape)
        return linear(state, f"{name}.to_out", merged)

    def embed(stack: str, ids: Tensor) -> Tensor:
        angle = torch.arange(ids.size(1)).double()[:, None] / 10000 ** (torch.arange(0, 16, 2).double() / 16)
        table = torch.stack([angle.sin(), angle.cos()], dim=-1).reshape(ids.size(1), 16)
        return 4 * state[f"{stack}.embedding.token.weight"][ids] + table

    x, everything = embed("encoder", src), torch.ones(1, 7, dtype=torch.bool)
    for layer in ("encoder.layers.0", "encoder.layers.1"):
        read = norm(f"{layer}.self_residual.norm", x)
        x = x + attention(f"{layer}.self_attention", read, read, everything)
        x = x + feed_forward(state, f"{layer}.feed_forward", norm(f"{layer}.ffn_residual.norm", x))
    gain, offset = state["encoder.norm.gain"], state["encoder.norm.offset"]
    memory = torch.nn.functional.layer_norm(x, (16,), gain, offset, 1e-5)
    y, past = embed("decoder", tgt), torch.ones(6, 6, dtype=torch.bool).tril()
    for layer in ("decoder.layers.0", "decoder.layers.1"):
        read = norm(f"{layer}.self_residual.norm", y)
        y = y + attention(f"{layer}.self_attention", read, read, past)
        y = y + attention(f"{layer}.cross_attention", norm(f"{layer}.cross_residual.norm", y), memory, everything)
        y = y + feed_forward(state, f"{layer}.feed_forward", norm(f"{layer}.ffn_residual.norm", y))
    want = linear(state, "output", norm("decoder.norm", y))
    torch.testing.assert_close(model(src, tgt).double(), want, atol=5e-6 * want.abs().max().item(), rtol=0)
