"""Known layouts: tensor names of tutorials and libraries, and how their models compute.

Each is a table of names with config settings. Bugs of a tutorial are kept: its weights were trained with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from viz_transformer.checkpoint.importers.mapping import Mapped, NameRule, Placement, place_names
from viz_transformer.checkpoint.importers.names import common_beginnings
from viz_transformer.checkpoint.importers.reading import Stored
from viz_transformer.model.config import tutorial

Words = Mapping[str, Any]


@dataclass(frozen=True)
class Preset:
    """A published model with its sizes and heads."""

    name: str
    d_model: int
    d_ff: int
    n_heads: int


PAPER = (Preset("the paper's base model", 512, 2048, 8), Preset("the paper's big model", 1024, 4096, 16))
"""Vaswani et al. (2017), table 3."""
GPT2 = (
    Preset("GPT-2", 768, 3072, 12),
    Preset("GPT-2 medium", 1024, 4096, 16),
    Preset("GPT-2 large", 1280, 5120, 20),
    Preset("GPT-2 XL", 1600, 6400, 25),
)


@dataclass(frozen=True)
class Layout:
    """Names and settings of one kind of file."""

    name: str
    title: str
    rules: tuple[NameRule, ...]
    known: Words = field(default_factory=dict)  # settings that all its models share
    usual: Words = field(default_factory=dict)  # settings that most of them have, to be confirmed
    presets: tuple[Preset, ...] = ()  # published models with their heads
    refine: Callable[[Mapping[str, Stored]], Words] = lambda tensors: {}  # settings that its tensor names reveal
    swaps_stack: bool = False  # torch's encoder layers, if causal, are a decoder here
    ends_in_norm: bool = False  # all its models have a norm after the last layer


def _attention(theirs: str, ours: str, query: str, key: str, value: str, out: str) -> tuple[NameRule, ...]:
    """Rules for four separate maps."""
    maps = {"query": query, "key": key, "value": value, "out": out}
    return tuple(NameRule(f"{theirs}.{name}.{{p}}", f"{ours}.to_{part}.{{p}}") for part, name in maps.items())


def _feed_forward(theirs: str, ours: str, hidden: str, out: str) -> tuple[NameRule, ...]:
    maps = {"hidden": hidden, "out": out}
    return tuple(
        NameRule(f"{theirs}.{name}.{{p}}", f"{ours}.feed_forward.to_{part}.{{p}}") for part, name in maps.items()
    )


def _norms(theirs: str, ours: str, **names: str) -> tuple[NameRule, ...]:
    return tuple(
        NameRule(f"{theirs}.{name}.{{n}}", f"{ours}.{part}_residual.norm.{{n}}") for part, name in names.items()
    )


ENCODER, DECODER, BOTH = "encoder.layers.{i}", "decoder.layers.{i}", "{s}.layers.{i}"
_FUSED = "to_{query,key,value}.{p}"
_SELF, _CROSS = f"{BOTH}.self_attention", f"{DECODER}.cross_attention"

EN_IT = (
    NameRule("{s}.sentence_embedding.position_encoder.[^ ]*", "", "ignored"),
    NameRule("{s}.sentence_embedding.embedding.weight", "{s}.embedding.token.weight"),
    NameRule(f"{ENCODER}.attention.qkv_layer.{{p}}", f"{ENCODER}.self_attention.{_FUSED}", "interleaved"),
    NameRule(f"{ENCODER}.attention.linear_layer.{{p}}", f"{ENCODER}.self_attention.to_out.{{p}}"),
    *_norms(ENCODER, ENCODER, self="norm1", ffn="norm2"),
    *_feed_forward(f"{BOTH}.ffn", BOTH, "linear1", "linear2"),
    NameRule(f"{DECODER}.self_attention.qkv_layer.{{p}}", f"{DECODER}.self_attention.{_FUSED}", "interleaved"),
    NameRule(f"{DECODER}.self_attention.linear_layer.{{p}}", f"{DECODER}.self_attention.to_out.{{p}}"),
    NameRule(f"{DECODER}.encoder_decoder_attention.kv_layer.{{p}}", f"{_CROSS}.to_{{key,value}}.{{p}}", "interleaved"),
    NameRule(f"{DECODER}.encoder_decoder_attention.q_layer.{{p}}", f"{_CROSS}.to_query.{{p}}"),
    NameRule(f"{DECODER}.encoder_decoder_attention.linear_layer.{{p}}", f"{_CROSS}.to_out.{{p}}"),
    *_norms(DECODER, DECODER, self="layer_norm1", cross="layer_norm2", ffn="layer_norm3"),
    NameRule("linear.{p}", "output.{p}"),
)

_FC = ("fc_q", "fc_k", "fc_v", "fc_o")
TUTORIAL6 = (
    NameRule("{s}.scale", "", "ignored"),
    NameRule("{s}.tok_embedding.weight", "{s}.embedding.token.weight"),
    NameRule("{s}.pos_embedding.weight", "{s}.embedding.position.table"),
    *_attention(f"{BOTH}.self_attention", _SELF, *_FC),
    *_attention(f"{DECODER}.encoder_attention", _CROSS, *_FC),
    *_norms(BOTH, BOTH, self="self_attn_layer_norm", ffn="ff_layer_norm"),
    *_norms(DECODER, DECODER, cross="enc_attn_layer_norm"),
    *_feed_forward(f"{BOTH}.positionwise_feedforward", BOTH, "fc_1", "fc_2"),
    NameRule("decoder.fc_out.{p}", "output.{p}"),
)

_CLONES = ("linears.0", "linears.1", "linears.2", "linears.3")
ANNOTATED = (
    NameRule("(src|tgt)_embed.[01].pe", "", "ignored"),
    NameRule("src_embed.(0.)?(lut.)?weight", "encoder.embedding.token.weight"),
    NameRule("tgt_embed.(0.)?(lut.)?weight", "decoder.embedding.token.weight"),
    *_attention(f"{BOTH}.self_attn", _SELF, *_CLONES),
    *_attention(f"{DECODER}.src_attn", _CROSS, *_CLONES),
    *_feed_forward(f"{BOTH}.feed_forward", BOTH, "w_1", "w_2"),
    *_norms(ENCODER, ENCODER, self="sublayer.0.norm", ffn="sublayer.1.norm"),
    *_norms(DECODER, DECODER, self="sublayer.0.norm", cross="sublayer.1.norm", ffn="sublayer.2.norm"),
    NameRule("{s}.norm.{n}", "{s}.norm.{n}"),
    NameRule("generator.(proj.)?{p}", "output.{p}"),
)

_PROJ = ("proj_q", "proj_k", "proj_v", "proj_o")
UPC_LAB = (
    NameRule("{s}.(pos_encoding|positional_encoding|pos_embedding|pos_enc).pe", "", "ignored"),
    NameRule("{s}.embedding.weight", "{s}.embedding.token.weight"),
    *_attention(f"{BOTH}.self_attn", _SELF, *_PROJ),
    *_attention(f"{DECODER}.encdec_attn", _CROSS, *_PROJ),
    *_feed_forward(f"{BOTH}.ffn", BOTH, "0", "3"),
    *_norms(ENCODER, ENCODER, self="norm1", ffn="norm2"),
    *_norms(DECODER, DECODER, self="norm1", cross="norm2", ffn="norm3"),
    NameRule("decoder.proj.{p}", "output.{p}"),
)

_LINEAR = ("linear_Q", "linear_K", "linear_V", "linear_O")
FSU = (
    NameRule("{s}.tok_embedding.weight", "{s}.embedding.token.weight"),
    NameRule("{s}.pos_embedding.weight", "{s}.embedding.position.table"),
    NameRule("{s}.scale", "{s}.embedding.scale", "flat"),
    *_attention(f"{BOTH}.self_attention", _SELF, *_LINEAR),
    NameRule(f"{BOTH}.self_attention.scale", f"{_SELF}.divisor", "flat"),
    *_attention(f"{DECODER}.attention", _CROSS, *_LINEAR),
    NameRule(f"{DECODER}.attention.scale", f"{_CROSS}.divisor", "flat"),
    *_norms(BOTH, BOTH, self="self_attention_norm", ffn="feedforward_norm"),
    *_norms(DECODER, DECODER, cross="attention_norm"),
    *_feed_forward(f"{BOTH}.feedforward", BOTH, "linear_1", "linear_2"),
    NameRule("decoder.linear.{p}", "output.{p}"),
)


def _torch_layers(stack: str, **attentions: str) -> tuple[NameRule, ...]:
    """Rules for nn.TransformerEncoder or nn.TransformerDecoder layers, anywhere in a model.

    attentions: their names by ours, in the order of the layer's norms.
    """
    theirs, ours = f"(?:[a-z_A-Z0-9]+.)*(?:transformer_)?{stack}.layers.{{i}}", f"{stack}.layers.{{i}}"
    norms = {part: f"norm{number}" for number, part in enumerate((*attentions, "ffn"), start=1)}
    rules: list[NameRule] = []
    for kind, name in attentions.items():
        rules.append(NameRule(f"{theirs}.{name}.in_proj_{{p}}", f"{ours}.{kind}_attention.{_FUSED}", "stacked"))
        rules.append(NameRule(f"{theirs}.{name}.out_proj.{{p}}", f"{ours}.{kind}_attention.to_out.{{p}}"))
    return (
        *rules,
        *_norms(theirs, ours, **norms),
        *_feed_forward(theirs, ours, "linear1", "linear2"),
        NameRule(theirs.replace(".layers.{i}", ".norm.{n}"), f"{stack}.norm.{{n}}"),
    )


_TABLE = "(?:emb|embed|embedding|embeddings|lut|tok_emb|token_embedding|weight_matrix)"
_OF_TOKENS, _OF_POSITIONS = f"_?(tok|token|word)?_?{_TABLE}", f"_?pos(ition)?(al)?_?{_TABLE}(.{_TABLE})?.weight"
TORCH = (
    NameRule(
        "(?:[a-z_A-Z0-9]+.)*(pe|pos_embedding|pos_encoding|positional_encoding|pos_table|div_term)", "", "ignored"
    ),
    *_torch_layers("encoder", self="self_attn"),
    *_torch_layers("decoder", self="self_attn", cross="multihead_attn"),
    NameRule(
        f"(src|source|enc|encoder|input){_OF_TOKENS}?(.{_TABLE})?.weight",
        "encoder.embedding.token.weight",
    ),
    NameRule(f"(tgt|trg|target|dec|output){_OF_TOKENS}(.{_TABLE})?.weight", "decoder.embedding.token.weight"),
    NameRule(f"(tok|token|word)?_?{_TABLE}(.{_TABLE})?.weight", "encoder.embedding.token.weight"),
    NameRule(f"(src|source|enc|encoder){_OF_POSITIONS}", "encoder.embedding.position.table"),
    NameRule(f"(tgt|trg|target|dec|decoder){_OF_POSITIONS}", "decoder.embedding.position.table"),
    NameRule(f"pos(ition)?(al)?_?{_TABLE}(.{_TABLE})?.weight", "encoder.embedding.position.table"),
    NameRule(
        "(generator|fc_out|fc|out|output|output_layer|linear|head|lm_head|classifier|proj|projection|decoder|unembed)"
        "(.(proj|linear|fc))?.{p}",
        "output.{p}",
    ),
)

_BLOCK = "transformer.h.{i}"
GPT = (  # nanoGPT and minGPT
    NameRule("transformer.wte.weight", "decoder.embedding.token.weight"),
    NameRule("transformer.wpe.weight", "decoder.embedding.position.table"),
    *_norms(_BLOCK, DECODER, self="ln_1", ffn="ln_2"),
    NameRule(f"{_BLOCK}.attn.c_attn.{{p}}", f"{DECODER}.self_attention.{_FUSED}", "stacked"),
    NameRule(f"{_BLOCK}.attn.c_proj.{{p}}", f"{DECODER}.self_attention.to_out.{{p}}"),
    *_feed_forward(f"{_BLOCK}.mlp", DECODER, "c_fc", "c_proj"),
    NameRule("transformer.ln_f.{n}", "decoder.norm.{n}"),
    NameRule("lm_head.{p}", "output.{p}"),
)
MINGPT_OLD = (
    NameRule("blocks.{i}.attn.mask", "", "ignored"),
    NameRule("tok_emb.weight", "decoder.embedding.token.weight"),
    NameRule("pos_emb", "decoder.embedding.position.table", "flat"),
    *_norms("blocks.{i}", DECODER, self="ln1", ffn="ln2"),
    *_attention("blocks.{i}.attn", f"{DECODER}.self_attention", "query", "key", "value", "proj"),
    *_feed_forward("blocks.{i}.mlp", DECODER, "0", "2"),
    NameRule("ln_f.{n}", "decoder.norm.{n}"),
    NameRule("head.{p}", "output.{p}"),
)
LECTURE = (
    NameRule("token_embedding_table.weight", "decoder.embedding.token.weight"),
    NameRule("position_embedding_table.weight", "decoder.embedding.position.table"),
    *_norms("blocks.{i}", DECODER, self="ln1", ffn="ln2"),
    *(
        NameRule(f"blocks.{{i}}.sa.heads.{{h}}.{part}.{{p}}", f"{DECODER}.self_attention.to_{part}.{{p}}", "head")
        for part in ("query", "key", "value")
    ),
    NameRule("blocks.{i}.sa.proj.{p}", f"{DECODER}.self_attention.to_out.{{p}}"),
    *_feed_forward("blocks.{i}.(ffwd|ffd).net", DECODER, "0", "2"),
    NameRule("ln_f.{n}", "decoder.norm.{n}"),
    NameRule("blocks.{i}.{n}", "decoder.norm.{n}"),  # as the last entry of the blocks
    NameRule("lm_head.{p}", "output.{p}"),
)

_FAIR = ("q_proj", "k_proj", "v_proj", "out_proj")
FAIRSEQ = (
    NameRule("{s}.(embed_positions._float_tensor|version)", "", "ignored"),
    NameRule("{s}.embed_tokens.weight", "{s}.embedding.token.weight"),
    NameRule("{s}.embed_positions.weight", "{s}.embedding.position.table", "rows", 2),
    *_attention(f"{BOTH}.self_attn", _SELF, *_FAIR),
    *_attention(f"{DECODER}.encoder_attn", _CROSS, *_FAIR),
    *_norms(BOTH, BOTH, self="self_attn_layer_norm", ffn="final_layer_norm"),
    *_norms(DECODER, DECODER, cross="encoder_attn_layer_norm"),
    *_feed_forward(BOTH, BOTH, "fc1", "fc2"),
    NameRule("{s}.layer_norm.{n}", "{s}.norm.{n}"),
    NameRule("decoder.output_projection.{p}", "output.{p}"),
)

_NMT = ("linear_query", "linear_keys", "linear_values", "final_linear")
_NMT_ENCODER, _NMT_DECODER = "encoder.transformer.{i}", "decoder.transformer_layers.{i}"
OPENNMT = (
    NameRule("{s}.embeddings.make_embedding.pe.pe", "", "ignored"),
    NameRule("{s}.transformer(_layers)?.[0-9]+.mask", "", "ignored"),
    NameRule("{s}.embeddings.make_embedding.emb_luts.0.weight", "{s}.embedding.token.weight"),
    *_attention(f"{_NMT_ENCODER}.self_attn", f"{ENCODER}.self_attention", *_NMT),
    *_attention(f"{_NMT_DECODER}.self_attn", f"{DECODER}.self_attention", *_NMT),
    *_attention(f"{_NMT_DECODER}.context_attn", _CROSS, *_NMT),
    *_norms(_NMT_ENCODER, ENCODER, self="layer_norm", ffn="feed_forward.layer_norm"),
    *_norms(_NMT_DECODER, DECODER, self="layer_norm_1", cross="layer_norm_2", ffn="feed_forward.layer_norm"),
    *_feed_forward(f"{_NMT_ENCODER}.feed_forward", ENCODER, "w_1", "w_2"),
    *_feed_forward(f"{_NMT_DECODER}.feed_forward", DECODER, "w_1", "w_2"),
    NameRule("{s}.layer_norm.{n}", "{s}.norm.{n}"),
    NameRule("generator.(generator.)?(0.)?{p}", "output.{p}"),
)

_NORMS = ("{s}.norm", *(f"{BOTH}.{part}_residual.norm" for part in ("self", "cross", "ffn")))
OWN = tuple(
    NameRule(name, name)
    for name in (
        "output.{p}",
        *(f"{BOTH}.self_attention.to_{part}.{{p}}" for part in ("query", "key", "value", "out")),
        *(f"{BOTH}.cross_attention.to_{part}.{{p}}" for part in ("query", "key", "value", "out")),
        *(f"{BOTH}.{kind}_attention.divisor" for kind in ("self", "cross")),
        *(f"{BOTH}.feed_forward.to_{part}.{{p}}" for part in ("hidden", "out")),
        *(f"{norm}.{vector}" for norm in _NORMS for vector in ("gain", "offset")),
        *(f"{{s}}.embedding.{table}" for table in ("token.weight", "position.table", "scale")),
    )
)


def of_tutorial(name: str, *leave: str) -> dict[str, Any]:
    """Config settings of a tutorial, without sizes and without `leave`."""
    config = tutorial(name, source_vocab_size=41, target_vocab_size=40).to_dict()
    left = {
        *"encoder_layers decoder_layers d_model n_heads d_ff max_source max_target pad_to tied_output".split(),
        *"source_vocab_size target_vocab_size attention_bias ffn_bias output_bias final_norm".split(),
        *leave,
    }
    return {key: value for key, value in config.items() if key not in left}


def _fairseq_words(tensors: Mapping[str, Stored]) -> Words:
    pre = any(name.endswith("coder.layer_norm.weight") for name in tensors)
    learned = any(name.endswith("embed_positions.weight") for name in tensors)
    return {"norm": "pre" if pre else "post", **({} if learned else {"position_offset": 2})}


_GPT_KNOWN = {
    "norm": "pre",
    "embedding_scale": "one",
    "positions": "learned",
    "divisor": "sqrt-head-dim",
    "mask_fill": "-inf",
    "merge": "concatenate",
}
_GPTS = (
    *GPT2,
    Preset("nanoGPT's letters of Shakespeare", 384, 1536, 6),
    Preset("nanoGPT on a CPU", 128, 512, 4),
    Preset("minGPT's gpt-mini", 192, 768, 6),
    Preset("minGPT's gpt-nano", 48, 192, 3),
)
_TORCH_USUAL = {"norm": "post", "activation": "relu", "embedding_scale": "sqrt", "positions": "sinusoidal"}
LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "en-it",
        "an English-Italian notebook (CodeEmporium's)",
        EN_IT,
        of_tutorial("en-it"),
        {"pad_to": 200},
        (Preset("the notebook's model", 512, 2048, 8),),
    ),
    Layout(
        "tutorial6",
        "bentrevett's sixth seq2seq tutorial",
        TUTORIAL6,
        of_tutorial("tutorial6", "embedding_scale", "source_pad", "target_pad"),
        {"embedding_scale": "one"},
        (Preset("the tutorial's model", 256, 512, 8),),
    ),
    Layout(
        "annotated",
        "The Annotated Transformer",
        ANNOTATED,
        of_tutorial("annotated"),
        presets=PAPER,
        # nn.LayerNorm as the encoder's final norm shows in its name
        refine=lambda tensors: {"encoder_final_norm": "torch" if "encoder.norm.weight" in tensors else "same"},
    ),
    Layout(
        "upc-lab",
        "the lab Build your own Transformer",
        UPC_LAB,
        of_tutorial("upc-lab", "source_pad", "target_pad"),
        presets=(Preset("the lab's model", 256, 1024, 4),),
    ),
    Layout(
        "fsu",
        "a tutorial on Taylor series",
        FSU,
        of_tutorial("fsu"),
        presets=(Preset("the tutorial's model", 200, 1024, 8),),
    ),
    Layout("gpt", "nanoGPT or minGPT", GPT, _GPT_KNOWN, {"activation": "gelu"}, _GPTS, ends_in_norm=True),
    Layout("gpt", "an early minGPT", MINGPT_OLD, _GPT_KNOWN, {"activation": "gelu"}, _GPTS, ends_in_norm=True),
    Layout(
        "gpt",
        "a GPT written in a lecture",
        LECTURE,
        {k: v for k, v in _GPT_KNOWN.items() if k != "divisor"} | {"activation": "relu"},
        {"divisor": "sqrt-head-dim"},
        ends_in_norm=True,
    ),
    Layout(
        "fairseq",
        "fairseq's transformer",
        FAIRSEQ,
        {"embedding_scale": "sqrt"},
        {"activation": "relu", "positions": "sinusoidal-halves-fairseq"},
        (
            Preset("fairseq's transformer", 512, 2048, 8),
            Preset("fairseq's transformer_iwslt_de_en", 512, 1024, 4),
            Preset("fairseq's transformer_wmt_en_de_big", 1024, 4096, 16),
        ),
        _fairseq_words,
    ),
    Layout(
        "opennmt",
        "OpenNMT-py's transformer",
        OPENNMT,
        {"norm": "pre", "norm_epsilon": 1e-6, "embedding_scale": "sqrt", "positions": "sinusoidal"},
        {"activation": "relu"},
        PAPER,
    ),
    Layout("viz-transformer", "this program's own names", OWN),
    Layout(
        "torch",
        "nn.Transformer's layers",
        TORCH,
        {},
        _TORCH_USUAL,
        (
            Preset("nn.Transformer without arguments", 512, 2048, 8),
            Preset("PyTorch's tutorial on language models", 200, 200, 2),
            Preset("PyTorch's tutorial on translation", 512, 512, 8),
        ),
        swaps_stack=True,
    ),
)
NAMES = tuple(dict.fromkeys(layout.name for layout in LAYOUTS))


@dataclass(frozen=True)
class Recognised:
    """A layout with the place of each tensor, and the tensors without one. beginning: common prefix, removed."""

    layout: Layout
    mapping: Mapped
    unplaced: tuple[str, ...]
    beginning: str = ""


def recognise(tensors: Mapping[str, Stored], name: str | None = None) -> Recognised | None:
    """The best-matching layout, or the one with this name; None if none places all attentions and half of the rest."""
    best: Recognised | None = None
    names = list(tensors)
    for shared in common_beginnings(names):
        short = {".".join(each.split(".")[shared:]): each for each in names}
        for layout in LAYOUTS:
            if name is not None and layout.name != name:
                continue
            found = place_names(layout.rules, short)
            mapping = {short[each]: place for each, place in found.items()}
            if not any("to_query" in target for place in mapping.values() for target in place.to):
                continue
            unplaced = tuple(each for each in names if each not in mapping)
            if len(unplaced) * 2 > len(names) and name is None:
                continue
            if best is None or len(unplaced) < len(best.unplaced):
                best = Recognised(layout, mapping, unplaced, ".".join(names[0].split(".")[:shared]))
    return best


def to_decoder(mapping: Mapped) -> dict[str, Placement]:
    """The mapping with torch's encoder layers as a decoder, as causal models use them."""
    return {
        name: Placement(tuple(to.replace("encoder.", "decoder.", 1) for to in place.to), place.how, place.number)
        for name, place in mapping.items()
    }
