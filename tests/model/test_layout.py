"""The parts of a model, in the order in which its stream goes through them; all drawings have the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import foreign
import pytest
from builders import tiny_config
from watched import watched_trace

from viz_transformer.analysis.layers.sublayers import places
from viz_transformer.analysis.models.parts import layout_of
from viz_transformer.figures.architecture import drawing_of
from viz_transformer.figures.components.model_maps import locator_data, rail_data
from viz_transformer.model.config import ModelKind
from viz_transformer.model.hooked_model import AT_ONCE, ModelSpec, spec_of
from viz_transformer.model.layout import Layout, Part, Written, layout

KINDS: tuple[ModelKind, ...] = ("encoder-decoder", "decoder-only", "encoder-only")


def spec(kind: ModelKind = "encoder-decoder", **changes: Any) -> ModelSpec:
    return spec_of(tiny_config(kind, **changes))


def names(found: Layout) -> list[str]:
    return [part.name for stack in found.stacks for part in stack.sublayers]


def test_every_stack_has_its_layers_with_their_sub_layers_in_order() -> None:
    encoder, decoder = layout(spec()).stacks
    assert [[part.name for part in layer.sublayers] for layer in encoder.layers] == [
        ["encoder.0.self", "encoder.0.ffn"],
        ["encoder.1.self", "encoder.1.ffn"],
    ]
    assert [part.part for part in decoder.layers[2].sublayers] == ["self", "cross", "ffn"]
    assert [part.kind for part in decoder.layers[2].sublayers] == ["decoder", "cross", None]
    assert [part.label for part in decoder.layers[0].sublayers] == [
        "Masked self-attention",
        "Cross-attention",
        "Feed-forward",
    ]
    assert (encoder.gives, decoder.gives) == ("memory", "logits")
    assert (encoder.side.name, decoder.side.name) == ("source", "target")


@pytest.mark.parametrize(
    ("kind", "changes", "stack", "gives"),
    [
        ("decoder-only", {}, "decoder", "logits"),
        ("encoder-only", {}, "encoder", "logits"),
        ("encoder-only", {"target_vocab_size": None}, "encoder", "output"),
    ],
)
def test_a_stack_alone_reads_no_memory(kind: ModelKind, changes: dict[str, Any], stack: str, gives: str) -> None:
    found = layout(spec(kind, **changes))
    (only,) = found.stacks
    assert (only.stack, only.gives, found.memory) == (stack, gives, None)
    assert {part.part for part in only.sublayers} == {"self", "ffn"}
    assert (found.output is None) == (gives == "output")
    assert layout(spec()).memory == 16


@pytest.mark.parametrize("final", [True, False])
def test_norms_are_before_a_sub_layer_or_after_its_sum(final: bool) -> None:
    for norm in ("pre", "post"):
        (stack,) = layout(spec("decoder-only", norm=norm, final_norm=final)).stacks
        for part in stack.sublayers:
            around = Part(name=f"{part.name} norm", label="norm")
            assert (part.before, part.added, part.after) == (
                (around, None, None) if norm == "pre" else (None, None, around)
            )
            assert (part.before or part.after or around).name == f"{part.name} norm"
        assert (stack.final_norm is not None) == final
        assert stack.norm is None and stack.final_map is None


def test_what_is_added_to_embeddings_is_what_the_model_says_of_its_positions() -> None:
    assert layout(spec("decoder-only", positions="learned")).stacks[0].sums == ("learned", "positions")
    assert layout(spec("decoder-only", positions="none")).stacks[0].sums == ()
    assert layout(spec("decoder-only", positions="rotary")).stacks[0].sums == ()


def test_sub_layers_that_are_added_at_once_are_parallel_and_may_share_a_norm() -> None:
    at_once = replace(
        spec("decoder-only"), missing={f"decoder.{layer}.residual_after_self": AT_ONCE for layer in range(3)}
    )
    assert all(layer.parallel and not layer.one_norm for layer in layout(at_once).stacks[0].layers)
    shared = layout(at_once, {f"decoder.{layer}.self norm": Written(label="Norm") for layer in range(3)})
    assert all(layer.one_norm for layer in shared.stacks[0].layers)
    another = replace(spec("decoder-only"), missing={"decoder.0.residual_after_self": "not proved"})
    assert not any(layer.parallel for layer in layout(another).stacks[0].layers)


def test_a_layer_without_attention_has_none() -> None:
    whole = spec()
    without = replace(whole, attentions={site: h for site, h in whole.attentions.items() if site != "decoder.1.cross"})
    assert set(names(layout(whole))) - set(names(layout(without))) == {"decoder.1.cross"}


def test_of_a_watched_module_only_attentions_are_known() -> None:
    found = layout(watched_trace(name="mine").spec)
    assert {part.part for stack in found.stacks for part in stack.sublayers} == {"self", "cross"}
    assert not any(part.before or part.after for stack in found.stacks for part in stack.sublayers)


def test_what_is_written_stands_on_its_part_and_says_which_norms_there_are() -> None:
    written = {
        "decoder.1.ffn": Written(details=("2 of 4 experts", "gated silu")),
        "decoder.0.self norm": Written(label="RMS norm", holds="8 numbers"),
        "decoder.0.self added norm": Written(label="RMS norm"),
        "result": Written(label="20 probabilities"),
    }
    found = layout(spec("decoder-only"), written)
    first, second, third = found.stacks[0].layers
    assert second.sublayers[1].details == ("2 of 4 experts", "gated silu") and not third.sublayers[1].details
    before, added = first.sublayers[0].before, first.sublayers[0].added
    assert before is not None and added is not None
    assert (before.label, before.holds, added.label) == ("RMS norm", "8 numbers", "RMS norm")
    assert [part.before for part in second.sublayers] == [None, None]
    assert found.result == "20 probabilities" and found.output is None and found.stacks[0].final_norm is None


def test_the_typical_layer_is_of_the_most_frequent_kind_and_of_as_many_the_one_further_up() -> None:
    def of(*experts: int) -> int:
        written = {f"decoder.{layer}.ffn": Written(details=("experts",)) for layer in experts}
        return layout(spec("decoder-only", decoder_layers=4), written).stacks[0].typical

    assert [of(), of(0), of(1, 2, 3), of(0, 1), of(2, 3)] == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_all_drawings_have_the_parts_of_the_layout(kind: ModelKind, norm: str) -> None:
    config = tiny_config(kind, norm=norm)
    found = layout(spec_of(config))
    shares = dict.fromkeys(names(found), 0.5)
    small = locator_data(spec_of(config), "", {})["stacks"]
    middle = rail_data(spec_of(config), shares)["stacks"]
    large = [box.part for box in drawing_of(layout_of(config)).boxes]
    for stack, low, mid in zip(found.stacks, small, middle, strict=True):
        sites = [part.name for part in stack.sublayers]
        assert [f"{stack.stack}.{n}.{each['part']}" for n in range(low["layers"]) for each in low["parts"]] == sites
        assert [f"{stack.stack}.{node['layer']}" for layer in mid["layers"] for node in layer] == [
            f"{stack.stack}.{part.layer}" for part in stack.sublayers
        ]
        assert [place.site for place in places(spec_of(config), stack.stack)] == sites
        drawn = [part.name for part in stack.layers[stack.typical].sublayers]
        assert [name for name in large if name in sites] == drawn


def test_another_programs_model_is_laid_out_as_it_describes_itself() -> None:
    (stack,) = layout(foreign.SPEC).stacks
    sites = ["decoder.0.self", "decoder.0.ffn", "decoder.1.self", "decoder.1.ffn"]
    assert [part.name for part in stack.sublayers] == sites
    assert stack.sums == () and stack.final_norm is not None
