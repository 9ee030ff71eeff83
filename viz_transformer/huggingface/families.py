"""The supported transformers families, by `model_type`: where each has the parts of the paper.

A family like another takes one line. Paths name a module within its layer, stack or model, as in `get_submodule`.
Imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from viz_transformer.model.config import KIND_OF, ModelKind
from viz_transformer.model.hooked_model import OutputKind
from viz_transformer.model.kinds import StackName

Fusing = Literal["stacked", "by head"]


@dataclass(frozen=True, kw_only=True)
class FunctionalHook:
    """How to record an attention that calls torch functions itself, while its module runs."""

    mask: str = "attention_mask"
    """Name of the mask argument."""
    argument: int | None = None
    """Position of the mask argument."""
    given: Literal["added", "kept", "closed"] = "added"
    """Form of the mask: added to scores, 1 where allowed, or 1 where masked with queries and keys first."""
    window: str = ""
    """A table of the module that masks further cells."""
    divisor: float | None = None
    """Divisor of the scores; None: sqrt(head_dim)."""
    apart: bool = False
    """Record queries, keys and values at their maps, as their products are not all of the scores."""
    scores: str = ""
    """Why queries and keys do not determine the scores; "" if they do."""


@dataclass(frozen=True, kw_only=True)
class AttentionPlace:
    """One attention in a layer."""

    module: str
    """Called with the stream it reads; calls the attention function."""
    out: str
    """W_O."""
    norm: str
    """The norm before it, or after the sum in a post-norm layer."""
    added: str = ""
    """The module whose output is added to the stream, if not W_O."""
    maps: tuple[str, ...] = ("q_proj", "k_proj", "v_proj")
    """Query, key and value maps within `module`, or one fused map."""
    fused: Fusing = "stacked"
    divided: bool = False
    """Queries are already divided by the divisor."""
    latent: bool = False
    """The cache stores a narrow vector per token; keys and values are recomputed from it, not by a single map."""
    heard: FunctionalHook | None = None
    """How to record it if it does not call the attention function."""
    sliced: bool = False
    """Only part of each query and key is rotated, so both are recorded where they are made."""
    normed: tuple[str, str] = ("q_layernorm", "k_layernorm")
    """Per-head norms of queries and keys before rotation, if the model has them."""


@dataclass(frozen=True, kw_only=True)
class FeedForwardPlace:
    """The feed-forward in a layer."""

    module: str
    """Called with the stream it reads."""
    norm: str
    out: str | None = None
    """Its last map; None if experts have one each in all layers."""
    added: str = ""
    rewritten: bool = False
    """The layer adds into its output in place."""
    router: str = ""
    """Chooses among experts."""
    experts: str = ""
    """Runs the chosen experts."""
    sparse: Literal["last", "second"] = "last"
    """Which layer of each group of `sparse_step` layers is a mixture of experts."""


@dataclass(frozen=True, kw_only=True)
class LayerPlaces:
    """The sub-layers of one layer. parallel: attention and feed-forward read the same stream and are added together."""

    attention: AttentionPlace
    ffn: FeedForwardPlace
    cross: AttentionPlace | None = None
    norm: Literal["pre", "post"] = "pre"
    parallel: bool = False


@dataclass(frozen=True, kw_only=True)
class StackPlaces:
    """One stack. Paths other than `module` are relative to it."""

    module: str
    """Path within the headless model; "" if it is the model itself."""
    layers: str
    tokens: str
    layer: LayerPlaces
    positions: str | None = None
    """Module of the position embeddings."""
    first_row: int | Literal["after padding"] = 0
    """Row of its table for position 0."""
    segments: str | None = None
    """Module of the segment embeddings."""
    segments_last: bool = False
    """Segments are added after positions."""
    input_norm: str | None = None
    """Norm of the sum of the embeddings."""
    scale: str | None = None
    """Attribute by which token embeddings are multiplied."""
    final_norm: str | None = None
    narrow: str = "embedding_size"
    """Setting with the number of embedding features."""
    widened: str | None = None
    """Map from narrower embeddings to the stream, after `input_norm` or else after `tokens`."""
    final_map: str | None = None
    """Map from the stream back to the narrow features."""
    shared: bool = False
    """The stream passes several times through the same layers."""
    tokens_first: bool = False
    """Whether its tensors are [T, B, D]."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """One family."""

    title: str
    stacks: Mapping[StackName, StackPlaces]
    heads: Mapping[str, OutputKind]
    """Output kind of its classes, by the ending of their name."""
    head: tuple[str, ...]
    """Modules that map the stack's output to logits, in order."""
    acts: str = ""
    """What its self-attention does with positions, if they are not added."""
    learned: bool = False
    """Its position table is trained."""
    biased: bool = False
    """A bias per distance is added to the scores."""
    gated: bool = False
    """Its hidden layer is multiplied by a gate."""
    sinks: bool = False
    """Each head has an extra logit in its softmax that belongs to no key."""
    divided: str = "scale_decoder_outputs"
    """Setting by which the stream is divided by sqrt(d_model) before the output layer."""
    segmented: bool = False
    """Whether segment embeddings distinguish two texts."""
    tagger: tuple[str, ...] = ("classifier",)
    """`head` for token classification."""
    verdicts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Token-level classes with one number, positive for the second of two labels."""
    closing_segment: bool = False
    """Whether its attention compares segments, with a third one for the token that ends a classifier's text."""
    headless: str = ""
    """Why a class without logits has none, if it could have some."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """Classes opened as another, dropping what has no place among tokens."""

    @property
    def heard(self) -> bool:
        """Whether its attentions are recorded through torch functions."""
        return any(places.layer.attention.heard is not None for places in self.stacks.values())

    @property
    def kind(self) -> ModelKind:
        return KIND_OF["encoder" in self.stacks, "decoder" in self.stacks]


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


# --- decoder-only

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

# --- encoder-only

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

# --- encoder-decoder

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

# Refused families with the reason, by `model_type`; a type in neither table is unknown.
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
