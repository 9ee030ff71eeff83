"""The rail: the model's sub-layers along its residual stream, as this model is built; one of them can be chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from viz_transformer.figures import labels
from viz_transformer.model.kinds import SIDE_OF, StackName, attentions_of, stacks_of

if TYPE_CHECKING:
    from viz_transformer.model.hooked_model import ModelSpec


NAMES = {"self": "self-attention", "cross": "cross-attention", "ffn": "feed-forward"}


def rail_data(spec: ModelSpec, shares: Mapping[str, float]) -> dict[str, Any]:
    """What the browser draws: the stacks, each with its layers and their sub-layers in the order of the forward pass.

    shares: for each site, such as decoder.1.cross, the mean share that its sub-layer adds. Picking a sub-layer sets
    the selection's kind, layer and part; where the selection's kind is among `kinds` already, it stays.
    """
    both = spec.has_encoder and spec.has_decoder
    last = "logits" if spec.has_decoder or spec.target_vocab_size is not None else "output"
    stacks = [
        _stack(spec, stack, "memory" if both and stack == "encoder" else last, shares) for stack in stacks_of(spec)
    ]
    return {"norm": spec.norm, "stacks": stacks}


def _stack(spec: ModelSpec, name: StackName, end: str, shares: Mapping[str, float]) -> dict[str, Any]:
    side = SIDE_OF[name]
    attentions: dict[str, str] = {kind.attention: kind.name for kind in attentions_of(name, spec)}
    kinds = [*attentions.values()]

    def node(layer: int, part: str) -> dict[str, Any]:
        share = shares[f"{name}.{layer}.{part}"]
        return {
            "name": NAMES[part],
            "kinds": kinds if part == "ffn" else [attentions[part]],
            "layer": layer,
            "part": "ffn" if part == "ffn" else "attention",
            "cross": part == "cross",
            "share": None if share != share else share,
            "title": f"{name} layer {layer}, {NAMES[part]}: mean share added {labels.number(share, 3)}",
        }

    final = {"name": "final norm", "kinds": kinds, "part": "final", "title": f"final norm of the {name}"}
    return {
        "name": name,
        "ink": side.name,
        "layers": [[node(layer, part) for part in (*attentions, "ffn")] for layer in range(side.layers(spec))],
        "final": final if spec.final_norm else None,
        "end": end,
    }
