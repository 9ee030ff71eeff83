"""The model's config: every choice that affects its numbers, in one frozen, checked dataclass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from viz_transformer import declared
from viz_transformer.declared import Count, CountOrZero, Whole
from viz_transformer.model.positions import ENCODINGS, Encoding

ModelKind = Literal["encoder-decoder", "encoder-only", "decoder-only"]
KIND_OF: Mapping[tuple[bool, bool], ModelKind] = {
    (True, True): "encoder-decoder",
    (True, False): "encoder-only",
    (False, True): "decoder-only",
}
"""By whether a model has an encoder, and a decoder."""
MAX_LAYERS = 256
"""Limit per stack for files: layers take time to build even where they take no memory."""
LARGEST_OFFSET = 1024
Share = Annotated[float, Meta(ge=0, lt=1)]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The architecture of one transformer; raises ValueError if its fields contradict each other.

    The model has each stack whose layer count is above 0. The encoder reads the source vocabulary; the decoder reads
    the target vocabulary and predicts it. An encoder-only model predicts `target_vocab_size` labels, if given.
    """

    source_vocab_size: Count | None = None
    target_vocab_size: Count | None = None
    encoder_layers: CountOrZero = 0
    decoder_layers: CountOrZero = 0
    d_model: Count
    n_heads: Count
    d_ff: Count
    dropout: Share = 0.1
    embedding_dropout: bool = True
    attention_dropout: bool = True
    ffn_dropout: Literal["after-activation", "before-activation", "none"] = "after-activation"
    decoder_ffn_dropout: Literal["output", "none", "stream"] = "output"
    """What dropout acts on where the decoder's feed-forward joins the residual stream."""
    activation: Literal["relu", "gelu", "gelu-tanh", "silu"] = "relu"
    norm: Literal["pre", "post"] = "pre"
    final_norm: bool = True
    norm_kind: Literal["layer", "bessel", "positions-and-features"] = "layer"
    norm_epsilon: Annotated[float, Meta(gt=0, lt=1)] = 1e-5
    encoder_final_norm: Literal["same", "torch"] = "same"
    """With "torch", nn.LayerNorm with its own epsilon of 1e-5."""
    positions: str = "sinusoidal"
    """A key of `ENCODINGS` in `model/positions.py`."""
    position_offset: Annotated[int, Meta(ge=0, le=LARGEST_OFFSET)] = 0
    """Row of a computed position table that the first token uses."""
    embedding_scale: Literal["one", "sqrt", "learned"] = "sqrt"
    merge: Literal["concatenate", "raw-reshape"] = "concatenate"
    divisor: Literal["sqrt-head-dim", "sqrt-d-model", "learned"] = "sqrt-head-dim"
    mask_fill: Literal["zero-rows", "-inf", "-1e9", "-1e10", "added-1e9"] = "zero-rows"
    padding_mask: Literal["key", "key-or-query", "key-or-query-swapped-cross"] = "key"
    tied_output: bool = False
    attention_bias: bool = True
    ffn_bias: bool = True
    output_bias: bool = True
    pooling: Literal["none", "mean", "first", "last"] = "none"
    """Encoder-only: labels per token ("none"), or for the text from the mean, first or last token, padding excluded."""
    max_source: Count = 512
    """Tokens, specials included."""
    max_target: Count = 512
    """Tokens, specials included."""
    source_pad: CountOrZero | None = None
    target_pad: CountOrZero | None = None
    pad_to: Whole | None = None
    """Every input is padded to exactly this length, because the model's numbers depend on the padding."""

    def __post_init__(self) -> None:
        declared.one_of("positions", self.positions, ENCODINGS)
        declared.check(self, rules=self._rules())
        self.encoding.check(self)

    def _rules(self) -> Iterator[str]:
        """One sentence for each contradiction between settings."""
        if not self.has_encoder and not self.has_decoder:
            yield "encoder_layers=0 and decoder_layers=0: a model needs at least one layer"
        if self.d_model % self.n_heads:
            yield f"d_model={self.d_model} cannot be split evenly into n_heads={self.n_heads}"
        if self.position_offset and not (self.encoding.computed and self.encoding.formula is None):
            yield f"position_offset={self.position_offset} only applies to positions in halves"
        if self.norm_kind == "bessel" and self.d_model < 2:
            yield "norm_kind='bessel' divides by d_model - 1: d_model must be at least 2"
        if self.encoder_final_norm != "same" and not (self.has_encoder and self.final_norm):
            yield f"encoder_final_norm={self.encoder_final_norm!r} needs an encoder and final_norm=True"
        if self.has_encoder and self.source_vocab_size is None:
            yield "a model with an encoder needs source_vocab_size"
        if self.has_decoder and self.target_vocab_size is None:
            yield "a model with a decoder needs target_vocab_size"
        if not self.has_encoder and self.source_vocab_size is not None:
            yield "a model without an encoder reads the target vocabulary: leave source_vocab_size out"
        if self.pooling != "none" and (self.has_decoder or self.target_vocab_size is None):
            yield f"pooling={self.pooling!r} needs an encoder-only model with labels: set target_vocab_size"
        if self.tied_output and not self.has_decoder and self.source_vocab_size != self.target_vocab_size:
            yield "tied_output needs source and target vocabularies of the same size in an encoder"
        for side in ("source", "target"):
            size, pad = getattr(self, f"{side}_vocab_size"), getattr(self, f"{side}_pad")
            if pad is not None and pad >= (size or 0):
                yield f"{side}_pad={pad} is not an id of a vocabulary of {size}"
        if self.padding_mask.endswith("swapped-cross") and (self.pad_to is None or self.kind != "encoder-decoder"):
            yield f"padding_mask={self.padding_mask!r} needs an encoder-decoder with pad_to: equal lengths"
        for side in () if self.pad_to is None else ("source",) * self.has_encoder + ("target",) * self.has_decoder:
            if getattr(self, f"{side}_pad") is None:
                yield f"pad_to={self.pad_to} needs {side}_pad, the id to pad with"
            if (most := getattr(self, f"max_{side}")) != self.pad_to:
                yield f"pad_to={self.pad_to} and max_{side}={most} must be equal: nothing longer is read"

    @property
    def has_encoder(self) -> bool:
        return self.encoder_layers > 0

    @property
    def has_decoder(self) -> bool:
        return self.decoder_layers > 0

    @property
    def kind(self) -> ModelKind:
        return KIND_OF[self.has_encoder, self.has_decoder]

    @property
    def encoding(self) -> Encoding:
        """The encoding named by `positions`."""
        return ENCODINGS[self.positions]

    @property
    def head_dim(self) -> int:
        return self.d_model // self.n_heads

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ModelConfig:
        """Inverse of `to_dict`. Raises ValueError for an unknown or missing field, naming it."""
        return declared.read(cls, values)


def base(**changes: Any) -> ModelConfig:
    """The base model of Vaswani et al. (2017), section 3 and table 3; `changes` override fields.

    As in its equations: no biases in attention and output, dropout only on embeddings and sub-layer outputs. The paper
    ties both embeddings and the output; here only the target embedding and the output are tied.
    """
    return ModelConfig(**{**_BASE, "source_vocab_size": 37_000, "target_vocab_size": 37_000, **changes})


def tutorial(name: str, **changes: Any) -> ModelConfig:
    """The architecture of a public tutorial with all its bugs; `changes` override fields.

    Names: `en-it` (an English-Italian notebook; another `pad_to` sets both lengths), `tutorial6` (bentrevett's sixth,
    as a Multi30k walk-through runs it), `annotated` (The Annotated Transformer), `upc-lab` (Build your own Transformer)
    and `fsu` (Taylor series; its later edition has embedding_scale="learned", divisor="learned"). Raises ValueError for
    any other name, or without vocabulary sizes where the tutorial's data determine them.
    """
    declared.one_of("tutorial", name, _TUTORIALS)
    values = {**_BASE, "tied_output": False, "attention_bias": True, "output_bias": True, **_TUTORIALS[name]}
    if "pad_to" in values and changes.get("pad_to") is not None:
        values |= {"max_source": changes["pad_to"], "max_target": changes["pad_to"]}
    values |= changes
    for side in ("source", "target"):
        if f"{side}_vocab_size" not in values:
            raise ValueError(f"the data of {name!r} decide its vocabularies: give {side}_vocab_size")
    return ModelConfig(**values)


_BASE: dict[str, Any] = {
    "encoder_layers": 6,
    "decoder_layers": 6,
    "d_model": 512,
    "n_heads": 8,
    "d_ff": 2048,
    "dropout": 0.1,
    "attention_dropout": False,
    "ffn_dropout": "none",
    "norm": "post",
    "final_norm": False,
    "positions": "sinusoidal",
    "embedding_scale": "sqrt",
    "tied_output": True,
    "attention_bias": False,
    "output_bias": False,
}
_TUTORIALS: dict[str, dict[str, Any]] = {
    "en-it": {
        "ffn_dropout": "after-activation",
        "decoder_ffn_dropout": "none",
        "norm_kind": "positions-and-features",
        "positions": "sinusoidal-doubled",
        "embedding_scale": "one",
        "merge": "raw-reshape",
        "mask_fill": "added-1e9",
        "padding_mask": "key-or-query-swapped-cross",
        "max_source": 200,
        "max_target": 200,
        "pad_to": 200,
        "source_pad": 1,
        "target_pad": 1,
    },
    "tutorial6": {  # layers and d_ff are named but never run: two layers, d_ff in the original's proportion
        "source_vocab_size": 41,
        "target_vocab_size": 40,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "d_model": 8,
        "n_heads": 2,
        "d_ff": 16,
        "ffn_dropout": "after-activation",
        "positions": "learned",
        "embedding_scale": "one",  # the tutorial computes sqrt(d_model) but never uses it
        "mask_fill": "-1e10",
        "max_source": 20,
        "max_target": 20,
        "source_pad": 3,
        "target_pad": 3,
    },
    "annotated": {
        "attention_dropout": True,
        "ffn_dropout": "after-activation",
        "norm": "pre",
        "final_norm": True,
        "norm_kind": "bessel",
        "norm_epsilon": 1e-6,
        "encoder_final_norm": "torch",
        "mask_fill": "-1e9",
        "max_source": 5000,
        "max_target": 5000,
    },
    "upc-lab": {
        "encoder_layers": 3,
        "decoder_layers": 3,
        "d_model": 256,
        "n_heads": 4,
        "d_ff": 1024,
        "embedding_dropout": False,
        "ffn_dropout": "before-activation",
        "embedding_scale": "one",
        "mask_fill": "-inf",
        "max_source": 5000,
        "max_target": 5000,
        "source_pad": 3,
        "target_pad": 3,
    },
    "fsu": {
        "source_vocab_size": 34,
        "target_vocab_size": 28,
        "encoder_layers": 4,
        "decoder_layers": 4,
        "d_model": 200,
        "d_ff": 1024,
        "attention_dropout": True,
        "ffn_dropout": "after-activation",
        "decoder_ffn_dropout": "stream",
        "positions": "learned",
        "mask_fill": "-1e10",
        "max_source": 61,
        "max_target": 200,
        "source_pad": 0,
        "target_pad": 0,
    },
}
