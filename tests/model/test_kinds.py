"""The kinds of attention and the sides: what is stated once agrees with the models and with the colours."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import get_args

import pytest

from viz_transformer.figures.theme import THEMES, palette
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import (
    KINDS,
    SIDE_OF,
    SIDES,
    KindName,
    SideName,
    StackName,
    attentions_of,
    kinds_of,
    stacks_of,
)
from viz_transformer.model.points import attention_sites

SIZES = {"d_model": 8, "n_heads": 2, "d_ff": 16}
BOTH = ModelConfig(source_vocab_size=5, target_vocab_size=6, encoder_layers=2, decoder_layers=3, **SIZES)
ENCODER = ModelConfig(source_vocab_size=5, encoder_layers=2, **SIZES)
DECODER = ModelConfig(target_vocab_size=6, decoder_layers=3, **SIZES)


def test_each_word_has_one_kind_or_side() -> None:
    assert set(KINDS) == set(get_args(KindName)) and set(SIDES) == set(get_args(SideName))
    assert set(SIDE_OF) == set(get_args(StackName))
    assert all(name == each.name for named in (KINDS, SIDES) for name, each in named.items())


@pytest.mark.parametrize("config", [BOTH, ENCODER, DECODER], ids=lambda config: config.kind)
def test_the_sites_of_the_kinds_are_those_of_the_model(config: ModelConfig) -> None:
    sites = [kind.site(layer) for kind in KINDS.values() for layer in range(kind.layers(config))]
    assert sorted(sites) == sorted(attention_sites(config))


def test_a_model_has_the_kinds_whose_queries_and_keys_it_has() -> None:
    assert kinds_of(BOTH) == ("cross", "decoder", "encoder")
    assert kinds_of(ENCODER) == ("encoder",)
    assert kinds_of(DECODER) == ("decoder",)
    assert [kind.layers(BOTH) for kind in KINDS.values()] == [3, 3, 2]


@pytest.mark.parametrize(
    ("config", "found"),
    [
        (BOTH, {"encoder": ["encoder"], "decoder": ["decoder", "cross"]}),
        (ENCODER, {"encoder": ["encoder"]}),
        (DECODER, {"decoder": ["decoder"]}),
    ],
    ids=["both", "encoder", "decoder"],
)
def test_stacks_and_their_attentions_are_those_of_the_forward_pass(config: ModelConfig, found: object) -> None:
    assert {stack: [kind.name for kind in attentions_of(stack, config)] for stack in stacks_of(config)} == found
    assert [SIDES[side].vocab_size(BOTH) for side in SIDES] == [5, 6] and SIDES["source"].vocab_size(DECODER) is None


def test_labels_say_who_looks_at_what() -> None:
    """Decoder → source: the decoder's tokens read the encoder's."""
    reader = {"target": "Decoder", "source": "Source"}
    for kind in KINDS.values():
        looked_at = "itself" if kind.queries is kind.keys else reader[kind.keys.name].lower()
        assert kind.label == f"{reader[kind.queries.name]} → {looked_at}" and kind.letter == kind.name[0]
        assert (kind.attention == "self") == (kind.queries is kind.keys)
        assert kind.fields[0] == kind.queries.field


def test_a_side_picks_what_is_its_own() -> None:
    assert [side.of("src", "tgt") for side in SIDES.values()] == ["src", "tgt"]
    assert {name: kind.sides("src", "tgt") for name, kind in KINDS.items()} == {
        "cross": ("tgt", "src"),
        "decoder": ("tgt", "tgt"),
        "encoder": ("src", "src"),
    }
    padded = ModelConfig(
        **(BOTH.to_dict() | {"source_pad": 1, "target_pad": 2, "max_source": 7, "max_target": 9}),
    )
    assert [(side.pad(padded), side.most(padded)) for side in SIDES.values()] == [(1, 7), (2, 9)]


def test_every_kind_and_side_has_its_colours() -> None:
    for theme in THEMES:
        assert all(getattr(palette(theme), name) for name in KINDS)
        assert all(getattr(palette(theme), f"{name}_ink") for name in SIDES)


def test_kinds_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        KINDS["cross"].label = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        KINDS["own"] = KINDS["cross"]  # type: ignore[index]


def test_the_kinds_need_no_torch() -> None:
    script = "import sys, viz_transformer.model.kinds; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
