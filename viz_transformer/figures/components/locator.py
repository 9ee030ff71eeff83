"""The locator: a model's parts as small blocks; that which a page looks at is marked, and a click leads to a part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from viz_transformer.model.layout import PART_NAMES, Layout, StackLayout, layout

if TYPE_CHECKING:
    from viz_transformer.model.hooked_model import ModelSpec

Looks = Literal["kind", "mask_kind", "part", "layer", "input_side", "pos_stack", "output", "point", ""]
"""What says where a page looks: the name of a field of the selection, or "output"; "" looks nowhere."""


def locator_data(spec: ModelSpec, looks: Looks, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What the browser draws: the stacks with the parts that each of their layers has, in order of the forward pass.

    chosen: the selection, of which the browser gets what says where the page looks, for the time before it has a run.
    """
    said = {name: chosen[name] for name in dict.fromkeys((looks, "kind", "layer")) if name in chosen}
    found = layout(spec)
    return {"looks": looks, "chosen": said, "stacks": [_stack(found, stack) for stack in found.stacks]}


def _stack(model: Layout, stack: StackLayout) -> dict[str, Any]:
    parts = {part.part: {"part": part.part, "name": PART_NAMES[part.part]} for part in stack.sublayers}
    parts |= {part.part: {**parts[part.part], "kind": part.kind} for part in stack.sublayers if part.kind is not None}
    return {
        "name": stack.stack,
        "side": stack.side.name,
        "layers": len(stack.layers),
        "parts": [*parts.values()],
        "final": stack.final_norm is not None,
        "output": model.output is not None and stack is model.stacks[-1],
    }
