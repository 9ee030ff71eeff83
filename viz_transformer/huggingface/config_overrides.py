"""Adapts a family to a config: moved or missing norms, which embeddings exist, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viz_transformer.huggingface.families import DISTANCES, Family, FeedForwardPlace, LayerPlaces

# By `model_type`: a setting, its unsupported values, and why.
_UNREAD: Mapping[str, tuple[tuple[str, tuple[Any, ...], str], ...]] = {
    "falcon": (
        (
            "alibi",
            (True,),
            "transformers adds its slopes twice where attention weights are made, and once otherwise, so no weights are"
            " those that it runs with",
        ),
    ),
    "deberta": (("talking_head", (True,), "it mixes the weights of its heads after the softmax"),),
    "xlnet": (
        ("bi_data", (True,), "it reads each half of several texts in another direction"),
        ("attn_type", ("uni",), "it is set up as another model, which reads in one direction"),
    ),
}


def not_read(kind: str, config: Mapping[str, Any]) -> tuple[str, str] | None:
    """The unsupported setting of a config and the reason, or None."""
    for setting, values, why in _UNREAD.get(kind, ()):
        if config.get(setting) in values:
            return setting, why
    return None


def apply_overrides(kind: str, family: Family, config: Mapping[str, Any]) -> Family:
    """The family of this `model_type`, adapted to the config."""
    if kind == "falcon":
        return _falcon(family, config)
    if kind in ("deberta", "deberta-v2"):
        return _deberta(family, config)
    return _decoder(family, config) if family.kind == "decoder-only" else family


def _decoder(family: Family, config: Mapping[str, Any]) -> Family:
    """A decoder-only family with moved or missing norms, or with sequential instead of parallel sub-layers."""
    if config.get("use_parallel_residual") is False:
        one = family.stacks["decoder"]
        family = replace(family, stacks={"decoder": replace(one, layer=replace(one.layer, parallel=False))})
    if config.get("do_layer_norm_before") is False:
        one = family.stacks["decoder"]
        post = replace(one, layer=replace(one.layer, norm="post"), final_norm=None)
        family = replace(family, stacks={"decoder": post})
    if config.get("_remove_final_layer_norm") is True:
        family = replace(family, stacks={"decoder": replace(family.stacks["decoder"], final_norm=None)})
    return family


def _falcon(family: Family, config: Mapping[str, Any]) -> Family:
    """Newer layers have a norm per sub-layer, older ones share one; the first ones were not parallel."""
    new = config.get("new_decoder_architecture") is True
    parallel = new or config.get("parallel_attn") is not False
    norms = ("input_layernorm", "input_layernorm" if parallel else "post_attention_layernorm")
    if new and config.get("num_ln_in_parallel_attn") in (None, 2):
        norms = ("ln_attn", "ln_mlp")
    stack = family.stacks["decoder"]
    return _with_layer(family, _normed(replace(stack.layer, parallel=parallel), *norms))


def _normed(layer: LayerPlaces, attention: str, ffn: str) -> LayerPlaces:
    place: FeedForwardPlace = replace(layer.ffn, norm=ffn)
    return replace(layer, attention=replace(layer.attention, norm=attention), ffn=place)


def _with_layer(family: Family, layer: LayerPlaces) -> Family:
    (name, stack), *_ = family.stacks.items()
    return replace(family, stacks={name: replace(stack, layer=layer)})


def _deberta(family: Family, config: Mapping[str, Any]) -> Family:
    """Which embeddings are added, and where the output layer is."""
    stack = family.stacks["encoder"]
    adds = config.get("position_biased_input") is not False
    parts = replace(
        stack,
        positions=stack.positions if adds else None,
        segments=stack.segments if config.get("type_vocab_size") else None,
        segments_last=True,
    )
    return replace(
        family,
        stacks={"encoder": parts},
        learned=adds,
        acts=DISTANCES if config.get("relative_attention") is True and not adds else "",
        head=("lm_predictions",) if config.get("legacy") is False else family.head,
    )
