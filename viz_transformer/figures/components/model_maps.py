"""The maps of a model, made from its layout: small blocks in the sidebar, and the residual stream of *Layers*.

The minimap marks the blocks that a page shows, and a click opens a part. On the residual map a sub-layer can be chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from viz_transformer.figures import labels
from viz_transformer.model.layout import PART_NAMES, Layout, StackLayout, SubLayer, layout

if TYPE_CHECKING:
    from viz_transformer.model.hooked_model import ModelSpec

Looks = Literal["kind", "mask_kind", "part", "layer", "input_side", "pos_stack", "output", "point", ""]
"""The part that a page shows, by the name of a field of the selection, or "output"; "" for none."""


def locator_data(spec: ModelSpec, looks: Looks, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The data of the minimap: the stacks with the parts of each of their layers, in the order of the forward pass.

    chosen: the selection; its field for the page's part is sent, for the time before the page has a run."""
    said = {name: chosen[name] for name in dict.fromkeys((looks, "kind", "layer")) if name in chosen}
    found = layout(spec)
    return {"looks": looks, "chosen": said, "stacks": [_pack_minimap_stack(found, stack) for stack in found.stacks]}


def _pack_minimap_stack(model: Layout, stack: StackLayout) -> dict[str, Any]:
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


def rail_data(spec: ModelSpec, shares: Mapping[str, float]) -> dict[str, Any]:
    """The data of the residual map: the stacks, each with its layers and their sub-layers in the order of the forward
    pass.

    shares: for each site, such as decoder.1.cross, the mean share that its sub-layer adds. Picking a sub-layer sets
    the selection's kind, layer and part; where the selection's kind is among `kinds` already, it stays.
    """
    return {"norm": spec.norm, "stacks": [_pack_residual_stack(stack, shares) for stack in layout(spec).stacks]}


def _pack_residual_stack(stack: StackLayout, shares: Mapping[str, float]) -> dict[str, Any]:
    kinds = [*dict.fromkeys(part.kind for part in stack.sublayers if part.kind is not None)]

    def node(part: SubLayer) -> dict[str, Any]:
        share, called = shares[part.name], PART_NAMES[part.part]
        return {
            "name": called,
            "kinds": kinds if part.kind is None else [part.kind],
            "layer": part.layer,
            "part": "ffn" if part.kind is None else "attention",
            "cross": part.part == "cross",
            "share": None if share != share else share,
            "title": f"{stack.stack} layer {part.layer}, {called}: mean share added {labels.number(share, 3)}",
        }

    final = {"name": "final norm", "kinds": kinds, "part": "final", "title": f"final norm of the {stack.stack}"}
    return {
        "name": stack.stack,
        "ink": stack.side.name,
        "layers": [[node(part) for part in layer.sublayers] for layer in stack.layers],
        "final": None if stack.final_norm is None else final,
        "end": stack.gives,
    }
