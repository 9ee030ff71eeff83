"""The labels of the parts of one of our own models, from its config alone; needs no torch."""

from __future__ import annotations

from dataclasses import replace

from viz_transformer.analysis.models.parameters import parameter_blocks
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.model.kinds import SIDE_OF, StackName, stacks_of
from viz_transformer.model.layout import Layout, SubLayer, Written, layout
from viz_transformer.sentences import count_of

_WORDS = {
    "layer": "Norm",
    "bessel": "Norm (Bessel)",
    "positions-and-features": "Norm over positions too",
}


def layout_of(config: ModelConfig) -> Layout:
    """The layout of the model with this config, with the labels of its parts."""
    spec = spec_of(config)
    written = _label_output(config)
    for stack in layout(spec).stacks:
        written |= _label_stack(stack.stack, config)
        for part in stack.sublayers:
            written |= _label_sublayer(part, config)
    return replace(layout(spec, written), blocks=parameter_blocks(config), spoken=_describe_drawing(config))


def norm_word(kind: str) -> str:
    """The name of this kind of norm in a drawing."""
    return _WORDS[kind]


def _label_stack(stack: StackName, config: ModelConfig) -> dict[str, Written]:
    sizes = f"{SIDE_OF[stack].vocab_size(config):,} × {config.d_model}{_label_scale(config)}"
    found = {f"{stack} embedding": Written(details=(sizes,))}
    if config.final_norm:
        same = stack == "decoder" or config.encoder_final_norm == "same"
        found[f"{stack} final norm"] = Written(label=norm_word(config.norm_kind) if same else "Norm of torch")
    return found


def _label_sublayer(part: SubLayer, config: ModelConfig) -> dict[str, Written]:
    if part.kind is None:
        details: tuple[str, ...] = (f"{config.d_model} → {config.d_ff:,} → {config.d_model}", config.activation)
    else:
        merged = ("raw merge",) if config.merge == "raw-reshape" else ()
        acting = part.part == "self" and config.encoding.in_attention
        box = config.encoding.box if acting else ()
        details = (f"{count_of(config.n_heads, 'head')} × {config.head_dim}", *merged, *box)
    holds = f"gain and offset, 2 × {config.d_model}"
    norm = Written(label=norm_word(config.norm_kind), holds=holds)
    return {part.name: Written(details=details), f"{part.name} norm": norm}


def _label_output(config: ModelConfig) -> dict[str, Written]:
    if config.target_vocab_size is None:
        return {"result": Written(label=f"memory, {config.d_model} numbers a position")}
    tied = "tied to the embedding" if config.tied_output else f"{config.d_model} × {config.target_vocab_size:,}"
    gives = f"{config.target_vocab_size:,} probabilities"
    if not config.has_decoder:
        of = {"none": " of each token", "mean": " of the mean over tokens"}.get(config.pooling)
        gives += f" of the {config.pooling} token" if of is None else of
    return {
        "output": Written(label="Linear", details=(tied,)),
        "softmax": Written(label="Softmax"),
        "result": Written(label=gives),
    }


def _label_scale(config: ModelConfig) -> str:
    """The label of the factor that embeddings are multiplied by."""
    return {"sqrt": f", times √{config.d_model}", "one": "", "learned": ", times a learned number"}[
        config.embedding_scale
    ]


def _describe_drawing(config: ModelConfig) -> str:
    """The drawing's description, for screen readers."""
    stacks = " and ".join(count_of(SIDE_OF[stack].layers(config), f"{stack} layer") for stack in stacks_of(config))
    final = "with" if config.final_norm else "without"
    sizes = f"d_model {config.d_model}, {count_of(config.n_heads, 'head')}"
    return f"Architecture: {stacks}, {config.norm}-norm, {final} a final norm, {sizes}"
