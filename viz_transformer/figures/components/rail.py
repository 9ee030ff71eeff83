"""The rail: the model's sub-layers along its residual stream, as this model is built; one of them can be chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from viz_transformer.figures import labels
from viz_transformer.model.layout import PART_NAMES, StackLayout, SubLayer, layout

if TYPE_CHECKING:
    from viz_transformer.model.hooked_model import ModelSpec


def rail_data(spec: ModelSpec, shares: Mapping[str, float]) -> dict[str, Any]:
    """What the browser draws: the stacks, each with its layers and their sub-layers in the order of the forward pass.

    shares: for each site, such as decoder.1.cross, the mean share that its sub-layer adds. Picking a sub-layer sets
    the selection's kind, layer and part; where the selection's kind is among `kinds` already, it stays.
    """
    return {"norm": spec.norm, "stacks": [_stack(stack, shares) for stack in layout(spec).stacks]}


def _stack(stack: StackLayout, shares: Mapping[str, float]) -> dict[str, Any]:
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
