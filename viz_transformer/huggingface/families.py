"""The families of transformers' models that are recorded, by the `model_type` of a config: where in each the parts of
the paper are. One line per family where it is like another. Imports nothing heavy.

A path names a module within its layer, within its stack or within the model, as `get_submodule` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from viz_transformer.model.config import ModelKind
from viz_transformer.model.hooked_model import OutputKind
from viz_transformer.model.kinds import StackName

Fusing = Literal["stacked", "by head"]


@dataclass(frozen=True, kw_only=True)
class FunctionalHook:
    """How an attention is heard that calls torch's functions by itself, while its module runs.

    mask, argument: what its module calls the mask, and where it stands among the arguments; given: whether that is
    `added` to the scores, 1 where a query may attend (`kept`), or 1 where it may not, queries and keys first
    (`closed`). window: a table of the module's that closes further cells. divisor: what scores are divided by, None:
    the root of a head's features. apart: queries, keys and values are heard where their maps make them, because their
    products are not all that scores are made of.
    """

    mask: str = "attention_mask"
    argument: int | None = None
    given: Literal["added", "kept", "closed"] = "added"
    window: str = ""
    divisor: float | None = None
    apart: bool = False
    scores: str = ""
    """Why scores do not follow from queries and keys, in words; "" where they do."""


@dataclass(frozen=True, kw_only=True)
class AttentionPlace:
    """One attention in a layer.

    module: what is called with the stream that it reads, and asks for the attention function. out: W_O. norm: the norm
    before it, or behind the sum in a post-norm layer. added: what gives the vector that is added to the stream, if that
    is not W_O. maps: query, key and value, within `module`; or one map of all three. divided: queries come already
    divided by what scores are divided by. latent: the cache keeps a narrow vector for each token, of which keys and
    values are made anew in each step, by no single map. heard: how, if it does not ask for the attention function.
    sliced: only a slice of each query and key is given to what turns them, so that they are heard where they are made;
    `normed`: the norms of queries and keys by head that they go through before, where the model has them.
    """

    module: str
    out: str
    norm: str
    added: str = ""
    maps: tuple[str, ...] = ("q_proj", "k_proj", "v_proj")
    fused: Fusing = "stacked"
    divided: bool = False
    latent: bool = False
    heard: FunctionalHook | None = None
    sliced: bool = False
    normed: tuple[str, str] = ("q_layernorm", "k_layernorm")


@dataclass(frozen=True, kw_only=True)
class FeedForwardPlace:
    """The feed-forward in a layer. module: what is called with the stream that it reads; out: its last map, None where
    several experts have one each in all layers.

    rewritten: the layer writes the sum into what this gives out. router, experts: what chooses among experts, and what
    runs those that are chosen, in the layers that have some; sparse: which of as many layers as the config's step says
    has some.
    """

    module: str
    norm: str
    out: str | None = None
    added: str = ""
    rewritten: bool = False
    router: str = ""
    experts: str = ""
    sparse: Literal["last", "second"] = "last"


@dataclass(frozen=True, kw_only=True)
class LayerPlaces:
    """The sub-layers of one layer. parallel: attention and feed-forward read the same stream, and both are added to
    it at once."""

    attention: AttentionPlace
    ffn: FeedForwardPlace
    cross: AttentionPlace | None = None
    norm: Literal["pre", "post"] = "pre"
    parallel: bool = False


@dataclass(frozen=True, kw_only=True)
class StackPlaces:
    """One stack. module: within the model without its head, "" if it is that; the other paths are within it.

    positions: what gives the positions' vectors, with rows of its table that stand before position 0. segments: what
    gives the vectors of the first or second text, behind those of positions if they are `segments_last`. input_norm:
    the norm that the sum of these goes through. scale: the stack's own number that the tokens' vectors are multiplied
    by behind `tokens`. narrow: the setting that says how many features the embeddings have; widened: the map that makes
    the stream's of them where they are fewer, behind `input_norm`, or behind `tokens` where there is no such norm;
    final_map: what makes so many of the stream again. shared: fewer layers stand in the model than the stream goes
    through, so that some are gone through several times.
    """

    module: str
    layers: str
    tokens: str
    layer: LayerPlaces
    positions: str | None = None
    first_row: int | Literal["after padding"] = 0
    segments: str | None = None
    segments_last: bool = False
    input_norm: str | None = None
    scale: str | None = None
    final_norm: str | None = None
    narrow: str = "embedding_size"
    widened: str | None = None
    final_map: str | None = None
    shared: bool = False
    tokens_first: bool = False
    """Whether its vectors are [T, B, D], the text second."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """One family. heads: what its classes with an output layer give, by the end of their name; `head`: the modules that
    make logits of the stack's output, in turn. acts: what its self-attention does with positions instead of a sum.
    learned: the positions that it adds are a table that was trained. biased: with a number for each distance, added to
    the scores. gated: its hidden layer is a product with a gate. sinks: each head's softmax has a number beside
    the scores, which belongs to no key. divided: the setting by which the stream is divided by the root of its width
    before the output layer."""

    title: str
    stacks: Mapping[StackName, StackPlaces]
    heads: Mapping[str, OutputKind]
    head: tuple[str, ...]
    acts: str = ""
    learned: bool = False
    biased: bool = False
    gated: bool = False
    sinks: bool = False
    divided: str = "scale_decoder_outputs"
    segmented: bool = False
    """Whether the second of two texts is told apart by a vector that is added to each of its tokens."""
    tagger: tuple[str, ...] = ("classifier",)
    """As `head`, of a class that gives each token a label."""
    verdicts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Classes that give each token a number, above 0 for the second of two labels."""
    closing_segment: bool = False
    """Whether its attention compares segments, of which the token that ends a text for a classifier has a third."""
    headless: str = ""
    """Why a class of it without logits has none, if it could have some."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """Classes that are opened as another, which leaves out what has no place among tokens."""

    @property
    def heard(self) -> bool:
        """Whether its attentions are heard at torch's functions."""
        return any(places.layer.attention.heard is not None for places in self.stacks.values())

    @property
    def kind(self) -> ModelKind:
        if len(self.stacks) == 2:
            return "encoder-decoder"
        return "decoder-only" if "decoder" in self.stacks else "encoder-only"


ROTARY = "turns queries and keys by their positions"
BUCKETS = "adds a bias to its scores, by how far a key is from the query"
SLOPES = "adds a number to its scores that grows with the key's place, by a slope for each head"
DISTANCES = "has terms in its scores for how far a key is from the query"

_CAUSAL: Mapping[str, OutputKind] = {"ForCausalLM": "next token", "LMHeadModel": "next token", "Model": "none"}
_MASKED: Mapping[str, OutputKind] = {
    "ForMaskedLM": "masked token",
    "ForSequenceClassification": "class",
    "ForTokenClassification": "token class",
    "Model": "none",
}
_PAIRS: Mapping[str, OutputKind] = {"ForConditionalGeneration": "next token", "MTModel": "next token"}


def _decoder(
    layer: LayerPlaces,
    *,
    layers: str = "layers",
    tokens: str = "embed_tokens",
    positions: str | None = None,
    final_norm: str = "norm",
) -> Mapping[StackName, StackPlaces]:
    places = StackPlaces(
        module="", layers=layers, tokens=tokens, positions=positions, layer=layer, final_norm=final_norm
    )
    return {"decoder": places}


# --- decoders alone

_LLAMA_LAYER = LayerPlaces(
    attention=AttentionPlace(module="self_attn", out="self_attn.o_proj", norm="input_layernorm"),
    ffn=FeedForwardPlace(module="mlp", out="mlp.down_proj", norm="post_attention_layernorm"),
)
_LLAMA = Family(title="Llama", stacks=_decoder(_LLAMA_LAYER), heads=_CAUSAL, head=("lm_head",), acts=ROTARY, gated=True)
_STABLE_LM_LAYER = replace(_LLAMA_LAYER, attention=replace(_LLAMA_LAYER.attention, sliced=True))
_GEMMA_LAYER = LayerPlaces(
    attention=AttentionPlace(
        module="self_attn", out="self_attn.o_proj", norm="input_layernorm", added="post_attention_layernorm"
    ),
    ffn=FeedForwardPlace(
        module="mlp", out="mlp.down_proj", norm="pre_feedforward_layernorm", added="post_feedforward_layernorm"
    ),
)
_OPT_LAYER = LayerPlaces(
    attention=AttentionPlace(module="self_attn", out="self_attn.out_proj", norm="self_attn_layer_norm", divided=True),
    ffn=FeedForwardPlace(module="fc1", out="fc2", norm="final_layer_norm"),
)
_OPT = Family(
    title="OPT",
    stacks={
        "decoder": StackPlaces(
            module="decoder",
            layers="layers",
            tokens="embed_tokens",
            positions="embed_positions",
            first_row=2,
            layer=_OPT_LAYER,
            final_norm="final_layer_norm",
            narrow="word_embed_proj_dim",
            widened="project_in",
            final_map="project_out",
        )
    },
    heads=_CAUSAL,
    head=("lm_head",),
    learned=True,
)
_GPT2_LAYER = LayerPlaces(
    attention=AttentionPlace(module="attn", out="attn.c_proj", norm="ln_1", maps=("c_attn",)),
    ffn=FeedForwardPlace(module="mlp", out="mlp.c_proj", norm="ln_2"),
)
_GPT2 = Family(
    title="GPT-2",
    stacks=_decoder(_GPT2_LAYER, layers="h", tokens="wte", positions="wpe", final_norm="ln_f"),
    heads=_CAUSAL,
    head=("lm_head",),
    learned=True,
)
_NEOX_LAYER = LayerPlaces(
    attention=AttentionPlace(
        module="attention", out="attention.dense", norm="input_layernorm", maps=("query_key_value",), fused="by head"
    ),
    ffn=FeedForwardPlace(module="mlp", out="mlp.dense_4h_to_h", norm="post_attention_layernorm"),
    parallel=True,
)
_NEOX = Family(
    title="GPT-NeoX",
    stacks=_decoder(_NEOX_LAYER, tokens="embed_in", final_norm="final_layer_norm"),
    heads=_CAUSAL,
    head=("lm_head",),
    acts=ROTARY,
)
_PHI_LAYER = LayerPlaces(
    attention=AttentionPlace(module="self_attn", out="self_attn.dense", norm="input_layernorm", sliced=True),
    ffn=FeedForwardPlace(module="mlp", out="mlp.fc2", norm="input_layernorm"),
    parallel=True,
)
_COHERE_LAYER = replace(
    _LLAMA_LAYER, ffn=FeedForwardPlace(module="mlp", out="mlp.down_proj", norm="input_layernorm"), parallel=True
)


def _experts(router: str, *, out: str | None = None) -> Mapping[StackName, StackPlaces]:
    ffn = FeedForwardPlace(module="mlp", norm="post_attention_layernorm", out=out, router=router, experts="mlp.experts")
    return _decoder(replace(_LLAMA_LAYER, ffn=ffn))


_SOME_EXPERTS = _experts("mlp.gate", out="mlp.down_proj")
_SOME_LATENT = _SOME_EXPERTS["decoder"]
_DEEPSEEK = replace(
    _LLAMA,
    title="DeepSeek v2",
    stacks={
        "decoder": replace(
            _SOME_LATENT,
            layer=replace(_SOME_LATENT.layer, attention=replace(_SOME_LATENT.layer.attention, maps=(), latent=True)),
        )
    },
)

_NEO_LAYER = LayerPlaces(
    attention=AttentionPlace(
        module="attn.attention",
        out="attn.attention.out_proj",
        norm="ln_1",
        maps=("q_proj", "k_proj", "v_proj"),
        heard=FunctionalHook(window="bias", divisor=1.0),
    ),
    ffn=FeedForwardPlace(module="mlp", out="mlp.c_proj", norm="ln_2"),
)
_GPTJ_LAYER = LayerPlaces(
    attention=AttentionPlace(module="attn", out="attn.out_proj", norm="ln_1", heard=FunctionalHook(), sliced=True),
    ffn=FeedForwardPlace(module="mlp", out="mlp.fc_out", norm="ln_1"),
    parallel=True,
)
_BLOOM_LAYER = LayerPlaces(
    attention=AttentionPlace(
        module="self_attention",
        out="self_attention.dense",
        norm="input_layernorm",
        maps=("query_key_value",),
        fused="by head",
        heard=FunctionalHook(),
    ),
    ffn=FeedForwardPlace(module="mlp", out="mlp.dense_4h_to_h", norm="post_attention_layernorm"),
)
_BLOOM_STACK = StackPlaces(
    module="",
    layers="h",
    tokens="word_embeddings",
    input_norm="word_embeddings_layernorm",
    layer=_BLOOM_LAYER,
    final_norm="ln_f",
)

_FALCON_LAYER = LayerPlaces(
    attention=_BLOOM_LAYER.attention,
    ffn=FeedForwardPlace(module="mlp", out="mlp.dense_4h_to_h", norm="input_layernorm", rewritten=True),
    parallel=True,
)

# --- encoders alone

_BERT_LAYER = LayerPlaces(
    attention=AttentionPlace(
        module="attention.self",
        out="attention.output.dense",
        norm="attention.output.LayerNorm",
        maps=("query", "key", "value"),
    ),
    ffn=FeedForwardPlace(module="intermediate", out="output.dense", norm="output.LayerNorm"),
    norm="post",
)
_BERT_STACK = StackPlaces(
    module="",
    layers="encoder.layer",
    tokens="embeddings.word_embeddings",
    positions="embeddings.position_embeddings",
    segments="embeddings.token_type_embeddings",
    input_norm="embeddings.LayerNorm",
    layer=_BERT_LAYER,
)
_BERT = Family(
    title="BERT",
    stacks={"encoder": _BERT_STACK},
    heads=_MASKED,
    head=("cls",),
    learned=True,
    segmented=True,
    instead={"BertForPreTraining": "BertForMaskedLM"},
)
_DISTILBERT_STACK = StackPlaces(
    module="",
    layers="transformer.layer",
    tokens="embeddings.word_embeddings",
    positions="embeddings.position_embeddings",
    input_norm="embeddings.LayerNorm",
    layer=LayerPlaces(
        attention=AttentionPlace(
            module="attention", out="attention.out_lin", norm="sa_layer_norm", maps=("q_lin", "k_lin", "v_lin")
        ),
        ffn=FeedForwardPlace(module="ffn", out="ffn.lin2", norm="output_layer_norm"),
        norm="post",
    ),
)

_ALBERT_LAYER = LayerPlaces(
    attention=AttentionPlace(
        module="albert_layers.0.attention",
        out="albert_layers.0.attention.dense",
        norm="albert_layers.0.attention.LayerNorm",
        maps=("query", "key", "value"),
    ),
    ffn=FeedForwardPlace(
        module="albert_layers.0.ffn", out="albert_layers.0.ffn_output", norm="albert_layers.0.full_layer_layer_norm"
    ),
    norm="post",
)
_ALBERT_STACK = replace(
    _BERT_STACK,
    layers="encoder.albert_layer_groups",
    layer=_ALBERT_LAYER,
    widened="encoder.embedding_hidden_mapping_in",
    shared=True,
)
_MODERN_BERT_STACK = StackPlaces(
    module="",
    layers="layers",
    tokens="embeddings.tok_embeddings",
    input_norm="embeddings.norm",
    layer=LayerPlaces(
        attention=AttentionPlace(module="attn", out="attn.Wo", norm="attn_norm", maps=("Wqkv",)),
        ffn=FeedForwardPlace(module="mlp", out="mlp.Wo", norm="mlp_norm"),
    ),
    final_norm="final_norm",
)

_APART = "its scores have terms for distances too, which are not recorded"
_DEBERTA_V2_LAYER = replace(
    _BERT_LAYER,
    attention=replace(
        _BERT_LAYER.attention,
        maps=("query_proj", "key_proj", "value_proj"),
        heard=FunctionalHook(argument=1, given="kept", apart=True, scores=_APART),
    ),
)
_DEBERTA_LAYER = replace(
    _BERT_LAYER,
    attention=replace(
        _BERT_LAYER.attention,
        maps=("in_proj",),
        fused="by head",
        divided=True,
        heard=FunctionalHook(argument=1, given="kept", scores=_APART),
    ),
)
_DEBERTA = replace(_BERT, title="DeBERTa", stacks={"encoder": replace(_BERT_STACK, layer=_DEBERTA_LAYER)}, instead={})
_XLNET_LAYER = LayerPlaces(
    attention=AttentionPlace(
        module="rel_attn",
        out="rel_attn.o",
        norm="rel_attn.layer_norm",
        maps=("q", "k", "v"),
        heard=FunctionalHook(mask="attn_mask_h", argument=2, given="closed", apart=True, scores=_APART),
    ),
    ffn=FeedForwardPlace(module="ff", out="ff.layer_2", norm="ff.layer_norm"),
    norm="post",
)
_XLNET = Family(
    title="XLNet",
    stacks={
        "encoder": StackPlaces(
            module="", layers="layer", tokens="word_embedding", layer=_XLNET_LAYER, tokens_first=True
        )
    },
    heads={name: output for name, output in _MASKED.items() if name != "ForMaskedLM"},
    head=(),
    acts=DISTANCES,
    closing_segment=True,
    instead={"XLNetLMHeadModel": "XLNetModel"},
    headless="XLNet predicts tokens by a second stream of vectors, which is not recorded",
)

# --- encoders with decoders

_BART_LAYER = LayerPlaces(
    attention=AttentionPlace(module="self_attn", out="self_attn.out_proj", norm="self_attn_layer_norm"),
    cross=AttentionPlace(module="encoder_attn", out="encoder_attn.out_proj", norm="encoder_attn_layer_norm"),
    ffn=FeedForwardPlace(module="fc1", out="fc2", norm="final_layer_norm"),
    norm="post",
)


def _pair(
    layer: LayerPlaces,
    first_row: int | Literal["after padding"],
    *,
    final_norm: str | None = None,
    input_norm: str | None = None,
    scale: str | None = None,
) -> Family:
    def stack(name: StackName, layer: LayerPlaces) -> StackPlaces:
        return StackPlaces(
            module=name,
            layers="layers",
            tokens="embed_tokens",
            positions="embed_positions",
            first_row=first_row,
            layer=layer,
            input_norm=input_norm,
            scale=scale,
            final_norm=final_norm,
        )

    stacks: Mapping[StackName, StackPlaces] = {
        "encoder": stack("encoder", replace(layer, cross=None)),
        "decoder": stack("decoder", layer),
    }
    return Family(title="BART", stacks=stacks, heads=_PAIRS, head=("lm_head",))


def _t5_attention(place: int, module: str) -> AttentionPlace:
    path = f"layer.{place}.{module}"
    return AttentionPlace(module=path, out=f"{path}.o", norm=f"layer.{place}.layer_norm", maps=("q", "k", "v"))


def _t5_stack(name: StackName, *, cross: bool, ffn: str = "DenseReluDense", experts: bool = False) -> StackPlaces:
    last = f"layer.{2 if cross else 1}"
    ffn = f"{last}.{ffn}"
    place = FeedForwardPlace(module=ffn, out=f"{ffn}.wo", norm=f"{last}.layer_norm")
    if experts:
        place = replace(place, router=f"{ffn}.router", experts=f"{ffn}.experts", sparse="second")
    layer = LayerPlaces(
        attention=_t5_attention(0, "SelfAttention"),
        cross=_t5_attention(1, "EncDecAttention") if cross else None,
        ffn=place,
    )
    return StackPlaces(module=name, layers="block", tokens="embed_tokens", layer=layer, final_norm="final_layer_norm")


_T5 = Family(
    title="T5",
    stacks={"encoder": _t5_stack("encoder", cross=False), "decoder": _t5_stack("decoder", cross=True)},
    heads=_PAIRS,
    head=("lm_head",),
    acts=BUCKETS,
    biased=True,
)
_SWITCH: Mapping[StackName, StackPlaces] = {
    "encoder": _t5_stack("encoder", cross=False, ffn="mlp", experts=True),
    "decoder": _t5_stack("decoder", cross=True, ffn="mlp", experts=True),
}
_BART = replace(_pair(_BART_LAYER, 2, input_norm="layernorm_embedding"), learned=True)
_PRE_NORM = replace(_BART_LAYER, norm="pre")

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "gpt2": _GPT2,
        "opt": _OPT,
        "llama": _LLAMA,
        "mistral": replace(_LLAMA, title="Mistral"),
        "qwen2": replace(_LLAMA, title="Qwen2"),
        "qwen3": replace(_LLAMA, title="Qwen3"),
        "gemma": replace(_LLAMA, title="Gemma"),
        "gemma2": replace(_LLAMA, title="Gemma 2", stacks=_decoder(_GEMMA_LAYER)),
        "gemma3_text": replace(_LLAMA, title="Gemma 3, text", stacks=_decoder(_GEMMA_LAYER)),
        "olmo": replace(_LLAMA, title="OLMo"),
        "stablelm": replace(_LLAMA, title="StableLM", stacks=_decoder(_STABLE_LM_LAYER)),
        "cohere": replace(_LLAMA, title="Cohere", stacks=_decoder(_COHERE_LAYER)),
        "gpt_neox": _NEOX,
        "phi": replace(_LLAMA, title="Phi", gated=False, stacks=_decoder(_PHI_LAYER, final_norm="final_layernorm")),
        "gpt_neo": replace(
            _GPT2,
            title="GPT-Neo",
            stacks=_decoder(_NEO_LAYER, layers="h", tokens="wte", positions="wpe", final_norm="ln_f"),
        ),
        "gptj": replace(
            _LLAMA,
            title="GPT-J",
            gated=False,
            stacks=_decoder(_GPTJ_LAYER, layers="h", tokens="wte", final_norm="ln_f"),
        ),
        "bloom": replace(
            _GPT2, title="BLOOM", stacks={"decoder": _BLOOM_STACK}, acts=SLOPES, learned=False, biased=True
        ),
        "falcon": replace(
            _LLAMA,
            title="Falcon",
            gated=False,
            stacks=_decoder(_FALCON_LAYER, layers="h", tokens="word_embeddings", final_norm="ln_f"),
        ),
        "mixtral": replace(_LLAMA, title="Mixtral", stacks=_experts("mlp.gate")),
        "qwen2_moe": replace(_LLAMA, title="Qwen2, experts", stacks=_SOME_EXPERTS),
        "qwen3_moe": replace(_LLAMA, title="Qwen3, experts", stacks=_SOME_EXPERTS),
        "olmoe": replace(_LLAMA, title="OLMoE", stacks=_experts("mlp.gate")),
        "phimoe": replace(_LLAMA, title="Phi, experts", stacks=_experts("mlp.router")),
        "deepseek_v2": _DEEPSEEK,
        "deepseek_v3": replace(_DEEPSEEK, title="DeepSeek v3, R1"),
        "gpt_oss": replace(_LLAMA, title="gpt-oss", stacks=_experts("mlp.router"), sinks=True),
        "bert": _BERT,
        "roberta": replace(
            _BERT,
            title="RoBERTa",
            stacks={"encoder": replace(_BERT_STACK, first_row="after padding")},
            head=("lm_head",),
            segmented=False,
        ),
        "electra": replace(
            _BERT,
            title="ELECTRA",
            stacks={"encoder": replace(_BERT_STACK, widened="embeddings_project")},
            head=("generator_predictions", "generator_lm_head"),
            heads={**_MASKED, "ForPreTraining": "token class"},
            verdicts={"ElectraForPreTraining": ("original", "replaced")},
        ),
        "distilbert": replace(
            _BERT,
            title="DistilBERT",
            stacks={"encoder": _DISTILBERT_STACK},
            head=("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
            segmented=False,
        ),
        "albert": replace(
            _BERT,
            title="ALBERT",
            stacks={"encoder": _ALBERT_STACK},
            head=("predictions",),
            instead={"AlbertForPreTraining": "AlbertForMaskedLM"},
        ),
        "modernbert": replace(
            _BERT,
            title="ModernBERT",
            stacks={"encoder": _MODERN_BERT_STACK},
            head=("head", "decoder"),
            tagger=("head", "classifier"),
            acts=ROTARY,
            learned=False,
            segmented=False,
            gated=True,
            instead={},
        ),
        "deberta": _DEBERTA,
        "deberta-v2": replace(
            _DEBERTA, title="DeBERTa v2, v3", stacks={"encoder": replace(_BERT_STACK, layer=_DEBERTA_V2_LAYER)}
        ),
        "xlnet": _XLNET,
        "t5": _T5,
        "mt5": replace(_T5, title="mT5"),
        "switch_transformers": replace(_T5, title="Switch", stacks=_SWITCH, divided="tie_word_embeddings"),
        "bart": _BART,
        "marian": replace(_pair(_BART_LAYER, 0, scale="embed_scale"), title="Marian"),
        "mbart": replace(
            _pair(_PRE_NORM, 2, final_norm="layer_norm", input_norm="layernorm_embedding"), title="mBART", learned=True
        ),
        "pegasus": replace(_pair(_PRE_NORM, 0, final_norm="layer_norm", scale="embed_scale"), title="Pegasus"),
        "m2m_100": replace(_pair(_PRE_NORM, "after padding", final_norm="layer_norm"), title="M2M100, NLLB"),
    }
)

# What is refused, with the reason, by `model_type`; a type that stands in neither table is unknown.
_STATES = "it has no attention, only states that are carried along"
_ROUTE = "its attention does not go through the interface that is recorded"
_OTHER_INPUT = "it reads more than text"
REFUSED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("mamba", "mamba2", "falcon_mamba", "rwkv", "xlstm", "recurrent_gemma"), _STATES),
        **dict.fromkeys(
            (
                *("mpt", "codegen", "big_bird"),
                *("longformer", "led", "fsmt", "prophetnet", "funnel", "reformer", "openai-gpt", "xlm", "ctrl"),
            ),
            _ROUTE,
        ),
        **dict.fromkeys(
            (
                *(
                    "vit",
                    "clip",
                    "whisper",
                    "wav2vec2",
                    "hubert",
                    "detr",
                    "dinov2",
                    "siglip",
                    "trocr",
                    "speech_to_text",
                ),
                *("vision-encoder-decoder", "speech-encoder-decoder", "llava", "gemma3", "paligemma", "qwen2_vl"),
            ),
            _OTHER_INPUT,
        ),
    }
)
