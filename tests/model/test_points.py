"""The table of points against what models really record, and the page made from it."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import torch
from builders import SOURCE, TARGET, random_ids, tiny_config, tiny_model

from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook import Recorder
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.model.points import attention_sites, points_table, recorded_points, unknown_point

KINDS = ["encoder-decoder", "encoder-only", "decoder-only"]
VARIANTS: list[dict[str, object]] = [
    {"positions": "sinusoidal-doubled"},
    {"positions": "rotary"},
    {"positions": "alibi"},
    {"embedding_scale": "learned", "divisor": "learned"},
    {"norm_kind": "bessel", "encoder_final_norm": "torch"},
    {"merge": "raw-reshape"},
    *({"mask_fill": fill, "padding_mask": "key-or-query"} for fill in ("-inf", "-1e9", "added-1e9")),
    {"norm_kind": "positions-and-features", "norm": "post", "final_norm": False},
    {"norm_kind": "positions-and-features", "encoder_final_norm": "torch"},
]


def inputs(config: ModelConfig) -> list[torch.Tensor]:
    src, tgt = random_ids(len(SOURCE), 2, 7), random_ids(len(TARGET), 2, 5, seed=2)
    return {"encoder-decoder": [src, tgt], "encoder-only": [src], "decoder-only": [tgt]}[config.kind]


@pytest.mark.parametrize(
    ("kind", "norm", "positions", "final_norm"),
    list(product(KINDS, ["pre", "post"], ["sinusoidal", "none"], [True, False])),
)
@torch.no_grad()
def test_names_and_shapes_of_the_table_are_those_of_a_run(
    kind: str, norm: str, positions: str, final_norm: bool
) -> None:
    config = tiny_config(kind, norm=norm, positions=positions, final_norm=final_norm)
    recorder = Recorder()
    tiny_model(config)(*inputs(config), hook=recorder)
    table = {p.name: spec_of(config).sizes(p.name, batch=2, source=7, target=5) for p in recorded_points(config)}
    assert {name: tuple(value.shape) for name, value in recorder.values.items()} == table
    assert all((value.dtype == torch.bool) == name.endswith(".mask") for name, value in recorder.values.items())


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_no_name_is_said_twice_in_a_pass(kind: str) -> None:
    said: list[str] = []

    class Listener:
        def __init__(self, prefix: str = "") -> None:
            self.prefix = prefix

        def __call__(self, name: str, value: torch.Tensor) -> torch.Tensor:
            said.append(self.prefix + name)
            return value

        def scope(self, part: str) -> Listener:
            return Listener(f"{self.prefix}{part}.")

    config = tiny_config(kind)
    tiny_model(config)(*inputs(config), hook=Listener())
    assert len(said) == len(set(said)) > 40


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_names_and_shapes_of_the_table_are_those_of_a_variant(variant: dict[str, object]) -> None:
    config = tiny_config(**variant)
    recorder, model = Recorder(), tiny_model(config)
    logits = model(*inputs(config), hook=recorder)
    table = {p.name: spec_of(config).sizes(p.name, batch=2, source=7, target=5) for p in recorded_points(config)}
    assert {name: tuple(value.shape) for name, value in recorder.values.items()} == table
    assert torch.equal(model(*inputs(config)), logits)  # recording changes no bit


class Nudge:
    """An edit that changes one point a little: 0.1 added to everything, or every mask cell turned round."""

    def __init__(self, point: str) -> None:
        self.point = point

    def apply(self, value: torch.Tensor, start: int, values: object) -> torch.Tensor:
        if value.dtype == torch.bool:
            return ~value
        noise = torch.randn(value.shape, generator=torch.Generator().manual_seed(3))
        return value + 0.1 * noise


CAUSAL_CONFIGS = [
    *(tiny_config(kind) for kind in KINDS),
    tiny_config(norm="post"),
    *(tiny_config(**{**variant, "encoder_layers": 1, "decoder_layers": 1}) for variant in VARIANTS),
]


@torch.no_grad()
def test_each_recorded_point_is_causal() -> None:
    """Of each model on its own: an edit of the point runs, once, and changes the logits."""
    idle, tried = [], 0
    for config in CAUSAL_CONFIGS:
        model, given = tiny_model(config), inputs(config)
        before = model(*given)
        for point in recorded_points(config):
            recorder = Recorder([Nudge(point.name)])
            after = model(*given, hook=recorder)
            tried += 1
            if recorder.ran != {0} or torch.equal(before, after):
                idle.append((point.name, config))
    assert not idle
    assert tried > 1000


def test_sites_are_the_attentions_of_the_model() -> None:
    assert attention_sites(tiny_config()) == (
        *("encoder.0.self", "encoder.1.self"),
        *(f"decoder.{layer}.{kind}" for layer in range(3) for kind in ("self", "cross")),
    )
    assert attention_sites(tiny_config("decoder-only")) == ("decoder.0.self", "decoder.1.self", "decoder.2.self")


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    known = [point.name for point in recorded_points(tiny_config())]
    sentence = unknown_point("decoder.1.cross.weight", known)
    assert sentence.startswith("no point named 'decoder.1.cross.weight'. Did you mean 'decoder.1.cross.weights'")


def test_docs_points_is_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "points.md"
    assert page.read_text(encoding="utf-8").split("\n## ", 1)[1] == points_table().removeprefix("## ")
