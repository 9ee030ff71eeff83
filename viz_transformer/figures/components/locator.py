"""The locator: a model's parts as small blocks; that which a page looks at is marked, and a click leads to a part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from viz_transformer.figures.components.rail import NAMES
from viz_transformer.model.kinds import SIDE_OF, StackName, attentions_of, stacks_of

if TYPE_CHECKING:
    from viz_transformer.model.hooked_model import ModelSpec

Looks = Literal["kind", "mask_kind", "part", "layer", "input_side", "pos_stack", "output", "point", ""]
"""What says where a page looks: the name of a field of the selection, or "output"; "" looks nowhere."""


def locator_data(spec: ModelSpec, looks: Looks, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What the browser draws: the stacks with the parts that each of their layers has, in order of the forward pass.

    chosen: the selection, of which the browser gets what says where the page looks, for the time before it has a run.
    """
    said = {name: chosen[name] for name in dict.fromkeys((looks, "kind", "layer")) if name in chosen}
    return {"looks": looks, "chosen": said, "stacks": [_stack(spec, stack) for stack in stacks_of(spec)]}


def _stack(spec: ModelSpec, name: StackName) -> dict[str, Any]:
    side = SIDE_OF[name]
    parts = [
        {"part": kind.attention, "name": NAMES[kind.attention], "kind": kind.name} for kind in attentions_of(name, spec)
    ]
    if f"{name}.0.ffn.out" in spec.point:  # a recording tells of attentions alone
        parts.append({"part": "ffn", "name": NAMES["ffn"]})
    return {
        "name": name,
        "side": side.name,
        "layers": side.layers(spec),
        "parts": parts,
        "final": spec.final_norm,
        "output": spec.output != "none" and name == stacks_of(spec)[-1],
    }
