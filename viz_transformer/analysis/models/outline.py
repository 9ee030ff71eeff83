"""What one of our own models is drawn from, by its config alone; needs no torch."""

from __future__ import annotations

from viz_transformer.analysis.models.parameters import parameter_blocks
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import SIDE_OF, StackName, attentions_of, stacks_of
from viz_transformer.model.outline import Outline, OutputOutline, PartName, StackOutline, SubLayer
from viz_transformer.sentences import counted

_WORDS = {
    "layer": "Norm",
    "bessel": "Norm (Bessel)",
    "positions-and-features": "Norm over positions too",
}


def outline(config: ModelConfig) -> Outline:
    """The outline of the model that has this config."""
    both = config.kind == "encoder-decoder"
    return Outline(
        stacks=tuple(_stack(stack, config) for stack in stacks_of(config)),
        output=_output(config),
        memory=config.d_model if both else None,
        blocks=parameter_blocks(config),
        spoken=_spoken(config),
    )


def norm_word(kind: str) -> str:
    """What a norm of this kind is called in a drawing."""
    return _WORDS[kind]


def _stack(stack: StackName, config: ModelConfig) -> StackOutline:
    side = SIDE_OF[stack]
    parts: list[PartName] = [*(kind.attention for kind in attentions_of(stack, config)), "ffn"]
    same = stack == "decoder" or config.encoder_final_norm == "same"
    final = norm_word(config.norm_kind) if same else "Norm of torch"
    return StackOutline(
        stack=stack,
        reads=f"{side.name} ids, at most {side.most(config):,}",
        embedding=f"{side.vocab_size(config):,} × {config.d_model}{_scaled(config)}",
        sums=config.encoding.box if config.encoding.adds else (),
        layers=side.layers(config),
        sublayers=tuple(_sublayer(stack, part, config) for part in parts),
        final_norm=final if config.final_norm else "",
    )


def _sublayer(stack: StackName, part: PartName, config: ModelConfig) -> SubLayer:
    if part == "ffn":
        label = "Feed-forward"
        details = (f"{config.d_model} → {config.d_ff:,} → {config.d_model}", config.activation)
    else:
        masked = stack == "decoder" and part == "self"
        label = {"self": "Self-attention", "cross": "Cross-attention"}[part]
        label = f"Masked {label.lower()}" if masked else label
        merged = ("raw merge",) if config.merge == "raw-reshape" else ()
        acting = part == "self" and config.encoding.in_attention
        box = config.encoding.box if acting else ()
        details = (f"{counted(config.n_heads, 'head')} × {config.head_dim}", *merged, *box)
    word = norm_word(config.norm_kind)
    before, behind = (word, "") if config.norm == "pre" else ("", word)
    holds = f"gain and offset, 2 × {config.d_model}"
    return SubLayer(part=part, label=label, details=details, before=before, behind=behind, holds=holds)


def _output(config: ModelConfig) -> OutputOutline:
    if config.target_vocab_size is None:
        return OutputOutline(label="", gives=f"memory, {config.d_model} numbers a position")
    tied = "tied to the embedding" if config.tied_output else f"{config.d_model} × {config.target_vocab_size:,}"
    gives = f"{config.target_vocab_size:,} probabilities"
    if not config.has_decoder:
        of = {"none": " of each token", "mean": " of the mean over tokens"}.get(config.pooling)
        gives += f" of the {config.pooling} token" if of is None else of
        return OutputOutline(label="Linear", sizes=tied, turned="Softmax", over="labels", gives=gives)
    return OutputOutline(label="Linear", sizes=tied, turned="Softmax", gives=gives)


def _scaled(config: ModelConfig) -> str:
    """What embeddings are multiplied by, as the box says it."""
    return {"sqrt": f", times √{config.d_model}", "one": "", "learned": ", times a learned number"}[
        config.embedding_scale
    ]


def _spoken(config: ModelConfig) -> str:
    """The drawing in words, for those who do not see it."""
    stacks = " and ".join(counted(SIDE_OF[stack].layers(config), f"{stack} layer") for stack in stacks_of(config))
    final = "with" if config.final_norm else "without"
    sizes = f"d_model {config.d_model}, {counted(config.n_heads, 'head')}"
    return f"Architecture: {stacks}, {config.norm}-norm, {final} a final norm, {sizes}"
