"""A folder is drawn as its modules are and a trial pass shows them: norms, sums, heads, experts, and all parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from pretrained import KINDS, LABELLED, VERDICTS
from pretrained import folder as save_folder

from viz_transformer import huggingface
from viz_transformer.figures.architecture import drawing_of
from viz_transformer.huggingface.loading import load
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.layout import Layout, SubLayer

FOLDERS = [*KINDS, *LABELLED, *VERDICTS]


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, Layout]]:
    """The model of a family, and its layout."""

    def made(name: str) -> tuple[Any, Layout]:
        model = load(save_folder(tmp_path_factory.mktemp("theirs") / name.replace("/", "-"), name)).hooked_model
        return model, huggingface.layout_of(model)

    return cache(made)


@pytest.mark.parametrize("name", FOLDERS)
def test_every_parameter_stands_in_one_part_and_no_box_covers_another(
    laid_out: Callable[[str], tuple[Any, Layout]], name: str
) -> None:
    model, found = laid_out(name)
    held = [each for block in found.blocks for each in block.parameters]
    assert len({each.name for each in held}) == len(held) and found.count == model.parameter_count
    shapes = {part: tuple(value.shape) for part, value in model.model.named_parameters()}
    assert {each.name: each.shape for each in held} == shapes
    drawing = drawing_of(found)
    for one, other in combinations(drawing.boxes, 2):
        beside = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert beside or one.y + one.height <= other.y or other.y + other.height <= one.y, (one.part, other.part)
    for each in (*drawing.boxes, *drawing.frames):
        assert each.x >= 0 and each.x + each.width <= drawing.width
        assert each.y >= 0 and each.y + each.height <= drawing.height
    for line in drawing.lines:
        assert all(0 <= x <= drawing.width and 0 <= y <= drawing.height for x, y in line.points)
        assert all(x == u or y == v for (x, y), (u, v) in zip(line.points, line.points[1:], strict=False))


def typical(found: Layout) -> tuple[SubLayer, ...]:
    """The sub-layers of the layer that is drawn of the first stack."""
    stack = found.stacks[0]
    return stack.layers[stack.typical].sublayers


RMS, LAYER = "RMS norm", "Norm"


@pytest.mark.parametrize(
    ("name", "norms", "details"),
    [
        ("gpt2", (LAYER, "", ""), "4 heads × 8"),
        ("llama", (RMS, "", ""), "4 heads × 8, sharing 2 keys, values, rotary"),
        ("qwen3", (RMS, "", ""), "4 heads × 16, sharing 2 keys, values, rotary, normed queries, keys"),
        ("gemma2", (RMS, RMS, ""), "4 heads × 8, sharing 2 keys, values, rotary, tanh of scores"),
        ("olmo", (LAYER, "", ""), "4 heads × 8, sharing 2 keys, values, rotary"),
        ("bloom", (LAYER, "", ""), "4 heads × 8, slopes"),
        ("t5", (RMS, "", ""), "4 heads × 8, bias by distance"),
        ("bert", ("", "", LAYER), "4 heads × 8"),
        ("mbart", (LAYER, "", ""), "4 heads × 8"),
        ("opt/post", ("", "", LAYER), "4 heads × 8"),
        ("modernbert", (LAYER, "", ""), "4 heads × 8, rotary, 3 keys to each side"),
        ("deepseek_v2", (RMS, "", ""), "4 heads × 10, values 8, rotary"),
    ],
)
def test_norms_and_heads_are_those_of_the_family(
    laid_out: Callable[[str], tuple[Any, Layout]], name: str, norms: tuple[str, str, str], details: str
) -> None:
    parts = typical(laid_out(name)[1])
    for part in parts:
        assert tuple("" if norm is None else norm.label for norm in (part.before, part.added, part.after)) == norms
    assert ", ".join(parts[0].details) == details


@pytest.mark.parametrize(
    ("name", "parallel", "one_norm"),
    [
        ("gpt2", False, False),
        ("gpt_neox", True, False),
        ("gpt_neox/serial", False, False),
        ("phi", True, True),
        ("gptj", True, True),
        ("cohere", True, True),
        ("falcon", True, True),
        ("falcon/grouped", True, False),
        ("falcon/serial", False, False),
    ],
)
def test_what_is_added_at_once_stands_side_by_side(
    laid_out: Callable[[str], tuple[Any, Layout]], name: str, parallel: bool, one_norm: bool
) -> None:
    found = laid_out(name)[1]
    (stack,) = found.stacks
    layer = stack.layers[stack.typical]
    assert (layer.parallel, layer.one_norm) == (parallel, one_norm)
    boxes = {box.part: box for box in drawing_of(found).boxes}
    attention, ffn = boxes[f"decoder.{stack.typical}.self"], boxes[f"decoder.{stack.typical}.ffn"]
    assert (attention.x < ffn.x) == parallel and (attention.y + attention.height == ffn.y + ffn.height) == parallel
    norms = [part for part in boxes if part.startswith(f"decoder.{stack.typical}.") and part.endswith(" norm")]
    assert len(norms) == (1 if one_norm else 2)


@pytest.mark.parametrize(
    ("name", "details", "note"),
    [
        ("gpt2", "32 → 128 → 32, gelu_new", None),
        ("llama", "32 → 48 → 32, gated silu", None),
        ("bloom", "32 → 128 → 32", None),  # its activation is a module of its own
        ("mixtral", "2 of 4 experts, gated silu", None),
        ("gpt_oss", "2 of 4 experts, gated", "sinks, back to 4 keys"),  # its gate is not the one that its config names
        ("qwen2_moe", "2 of 4 experts, one for all, gated silu", "layer 0: feed-forward, 32 → 48 → 32, gated silu."),
        ("modernbert", "32 → 48 → 32, gated gelu", "layer 0: self-attention without a norm before it"),
        ("t5", "32 → 48 → 32, relu", "What the output layer reads is divided by √32."),
        ("cohere", "32 → 48 → 32, gated silu", "Logits are multiplied by 0.5."),
        ("albert", "32 → 48 → 32, gelu_new", None),
    ],
)
def test_feed_forwards_are_the_models_own_and_what_is_not_drawn_is_a_sentence(
    laid_out: Callable[[str], tuple[Any, Layout]], name: str, details: str, note: str | None
) -> None:
    found = laid_out(name)[1]
    assert ", ".join(typical(found)[-1].details) == details
    assert not found.notes if note is None else any(note in each for each in found.notes)


@pytest.mark.parametrize(
    ("name", "turned", "gives"),
    [
        ("gpt2", "Softmax", "293 probabilities"),
        ("bert/labels", "Softmax", "3 probabilities"),
        ("bert/tags", "Softmax", "5 probabilities of each token"),
        ("electra/replaced", "Sigmoid", "1 probability of each token"),
    ],
)
def test_the_output_is_what_the_class_gives(
    laid_out: Callable[[str], tuple[Any, Layout]], name: str, turned: str, gives: str
) -> None:
    found = laid_out(name)[1]
    assert found.softmax is not None and (found.softmax.label, found.result) == (turned, gives)


def test_a_norm_that_a_trial_pass_does_not_show_is_not_drawn(tmp_path: Path) -> None:
    """A family that is believed to read another norm than it does."""
    model: Any = load(save_folder(tmp_path / "gpt2", "gpt2")).hooked_model
    stack = model.family.stacks["decoder"]
    wrong = replace(stack.layer, attention=replace(stack.layer.attention, norm="ln_2"))
    model.family = replace(model.family, stacks={"decoder": replace(stack, layer=wrong)})
    with pytest.raises(Unavailable, match=r"decoder\.0\.self did not read what its norm gives out"):
        huggingface.layout_of(model)
