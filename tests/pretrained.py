"""Folders as `save_pretrained` writes them: a tiny random model of each family, its tokenizer trained on a few lines.

Weights are large enough that attention is not flat. Several tokens end an answer, so that answers end in time.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from viz_transformer.checkpoint import CheckpointError
from viz_transformer.huggingface.loading import load

LINES = [
    "the cat sat on the mat and a dog ran over the green hill",
    "twenty nine thousand two hundred and eighty four",
    "one two three four five six seven eight nine ten",
    "naïve café über straße",
] * 2
PAD, START, END = 0, 1, 2
_ROPE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": PAD,
    "bos_token_id": START,
    "eos_token_id": END,
}
_SHARED = {**_ROPE, "num_key_value_heads": 2, "head_dim": 8}
_READS = {key: value for key, value in _ROPE.items() if key not in ("bos_token_id", "eos_token_id")}
_PAIR = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "pad_token_id": PAD,
    "bos_token_id": START,
    "eos_token_id": END,
    "decoder_start_token_id": START,
    "forced_eos_token_id": None,
}
_T5 = {
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "pad_token_id": PAD,
    "eos_token_id": END,
    "decoder_start_token_id": PAD,
}
_OPT = {**{key: value for key, value in _ROPE.items() if key != "intermediate_size"}, "ffn_dim": 48}
_OPT |= {"word_embed_proj_dim": 32}
_ENDS = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}
_GPTJ = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_inner": 48, "n_positions": 64, **_ENDS}
_EXPERTS = {**_SHARED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
_LATENT = {**_ROPE, "num_key_value_heads": 4, "kv_lora_rank": 16, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4}
_LATENT |= {"v_head_dim": 8, "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2}
_LATENT |= {"moe_intermediate_size": 24}
_GEMMA = {**_SHARED, "sliding_window": 4, "query_pre_attn_scalar": 8}
_DISTIL = {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 64}
_LABELS = {"id2label": {0: "bad", 1: "so-so", 2: "good"}}
_TAGS = {"id2label": {0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC", 4: "I-LOC"}}
_MODERN = {
    **_READS,
    "local_attention": 6,
    "layer_types": ["full_attention", "sliding_attention"],
    "cls_token_id": 2,
    "sep_token_id": 3,
    "bos_token_id": None,
    "eos_token_id": None,
}
_DEBERTA = {**_READS, "relative_attention": True, "position_biased_input": False, "pos_att_type": ["c2p", "p2c"]}
_XLNET = {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48, "pad_token_id": PAD}
# model_type -> class, settings; a name after a slash is another setup of the family
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "bos_token_id": START}),
    "opt": ("OPTForCausalLM", _OPT),
    "opt/post": ("OPTForCausalLM", {**_OPT, "do_layer_norm_before": False, "word_embed_proj_dim": 16}),
    "llama": ("LlamaForCausalLM", {**_SHARED, "head_dim": None}),
    "mistral": ("MistralForCausalLM", {**_SHARED, "sliding_window": 4}),
    "qwen2": ("Qwen2ForCausalLM", _SHARED),
    "qwen3": ("Qwen3ForCausalLM", {**_SHARED, "head_dim": 16}),
    "gemma": ("GemmaForCausalLM", _SHARED),
    "gemma2": ("Gemma2ForCausalLM", _GEMMA),
    "gemma3_text": ("Gemma3ForCausalLM", {**_GEMMA, "layer_types": ["sliding_attention", "full_attention"]}),
    "olmo": ("OlmoForCausalLM", _SHARED),
    "stablelm": ("StableLmForCausalLM", _SHARED),
    "cohere": ("CohereForCausalLM", {**_SHARED, "logit_scale": 0.5}),
    "gpt_neox": ("GPTNeoXForCausalLM", _ROPE),
    "gpt_neox/serial": ("GPTNeoXForCausalLM", {**_ROPE, "use_parallel_residual": False}),
    "phi": ("PhiForCausalLM", {**_ROPE, "num_key_value_heads": 2}),
    "mixtral": ("MixtralForCausalLM", {**_SHARED, "num_local_experts": 4}),
    "qwen2_moe": ("Qwen2MoeForCausalLM", {**_EXPERTS, "shared_expert_intermediate_size": 24, "mlp_only_layers": [0]}),
    "qwen3_moe": ("Qwen3MoeForCausalLM", {**_EXPERTS, "decoder_sparse_step": 2}),
    "olmoe": ("OlmoeForCausalLM", {**_SHARED, "num_experts": 4, "num_experts_per_tok": 2}),
    "phimoe": ("PhimoeForCausalLM", {**_SHARED, "num_local_experts": 4}),
    "deepseek_v2": (
        "DeepseekV2ForCausalLM",
        {**_LATENT, "q_lora_rank": None, "first_k_dense_replace": 0, "routed_scaling_factor": 4.0},
    ),
    "deepseek_v3": (
        "DeepseekV3ForCausalLM",
        {**_LATENT, "q_lora_rank": 12, "first_k_dense_replace": 1, "n_group": 2, "topk_group": 1},
    ),
    "gpt_oss": (
        "GptOssForCausalLM",
        {**_SHARED, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 4}
        | {"layer_types": ["sliding_attention", "full_attention"]},
    ),
    "gptj": ("GPTJForCausalLM", {**_GPTJ, "rotary_dim": 4}),
    "gpt_neo": (
        "GPTNeoForCausalLM",
        {**_ROPE, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 3},
    ),
    "bloom": ("BloomForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4, **_ENDS}),
    "falcon": ("FalconForCausalLM", {**_ROPE, "ffn_hidden_size": 48}),
    "falcon/grouped": (
        "FalconForCausalLM",
        {**_ROPE, "ffn_hidden_size": 48, "new_decoder_architecture": True, "num_kv_heads": 2, "bias": True},
    ),
    "falcon/serial": ("FalconForCausalLM", {**_ROPE, "bias": True, "parallel_attn": False, "multi_query": False}),
    "bert": ("BertForMaskedLM", _READS),
    "roberta": ("RobertaForMaskedLM", _READS),
    "electra": ("ElectraForMaskedLM", {**_READS, "embedding_size": 16}),
    "albert": ("AlbertForMaskedLM", {**_READS, "embedding_size": 16}),
    "albert/groups": (
        "AlbertForMaskedLM",
        {**_READS, "embedding_size": 32, "num_hidden_layers": 3, "num_hidden_groups": 2},
    ),
    "modernbert": ("ModernBertForMaskedLM", _MODERN),
    "distilbert": ("DistilBertForMaskedLM", _DISTIL),
    "deberta": ("DebertaForMaskedLM", _DEBERTA),
    "deberta/biased": (
        "DebertaForMaskedLM",
        {**_DEBERTA, "position_biased_input": True, "type_vocab_size": 2, "legacy": False, "pos_att_type": ["c2p"]},
    ),
    "deberta-v2": ("DebertaV2ForMaskedLM", {**_DEBERTA, "position_buckets": 4, "norm_rel_ebd": "layer_norm"}),
    "deberta-v2/shared": ("DebertaV2ForMaskedLM", {**_DEBERTA, "share_att_key": True, "legacy": False}),
    "xlnet": ("XLNetForTokenClassification", {**_XLNET, **_TAGS}),
    "t5": ("T5ForConditionalGeneration", _T5),
    "mt5": ("MT5ForConditionalGeneration", {**_T5, "feed_forward_proj": "gated-gelu"}),
    "switch_transformers": (
        "SwitchTransformersForConditionalGeneration",
        {**_T5, "num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 2},
    ),
    "bart": ("BartForConditionalGeneration", _PAIR),
    "marian": ("MarianMTModel", {**_PAIR, "scale_embedding": True}),
    "mbart": ("MBartForConditionalGeneration", {**_PAIR, "scale_embedding": True}),
    "pegasus": ("PegasusForConditionalGeneration", {**_PAIR, "scale_embedding": True}),
    "m2m_100": ("M2M100ForConditionalGeneration", {**_PAIR, "scale_embedding": True}),
}
# of texts, and of tokens
LABELLED: dict[str, tuple[str, dict[str, Any]]] = {
    "bert/labels": ("BertForSequenceClassification", {**_READS, **_LABELS}),
    "roberta/labels": ("RobertaForSequenceClassification", {**_READS, **_LABELS}),
    "electra/labels": ("ElectraForSequenceClassification", {**_READS, "embedding_size": 16, **_LABELS}),
    "distilbert/labels": ("DistilBertForSequenceClassification", {**_DISTIL, **_LABELS}),
    "albert/labels": ("AlbertForSequenceClassification", {**_READS, "embedding_size": 16, **_LABELS}),
    "modernbert/labels": ("ModernBertForSequenceClassification", {**_MODERN, **_LABELS}),
    "deberta-v2/labels": ("DebertaV2ForSequenceClassification", {**_DEBERTA, **_LABELS}),
    "xlnet/labels": ("XLNetForSequenceClassification", {**_XLNET, **_LABELS}),
    "bert/tags": ("BertForTokenClassification", {**_READS, **_TAGS}),
    "roberta/tags": ("RobertaForTokenClassification", {**_READS, **_TAGS}),
    "electra/tags": ("ElectraForTokenClassification", {**_READS, "embedding_size": 16, **_TAGS}),
    "distilbert/tags": ("DistilBertForTokenClassification", {**_DISTIL, **_TAGS}),
    "albert/tags": ("AlbertForTokenClassification", {**_READS, "embedding_size": 16, **_TAGS}),
    "deberta/tags": ("DebertaForTokenClassification", {**_DEBERTA, **_TAGS}),
    "modernbert/tags": ("ModernBertForTokenClassification", {**_MODERN, **_TAGS}),
}
VERDICTS = {"electra/replaced": ("ElectraForPreTraining", {**_READS, "embedding_size": 16})}
WRITING = [name for name, (cls, _) in KINDS.items() if not cls.endswith(("ForMaskedLM", "ForTokenClassification"))]
HEARD = [
    name
    for name in KINDS
    if name.partition("/")[0] in ("gptj", "gpt_neo", "bloom", "falcon", "deberta", "deberta-v2", "xlnet")
]
"""Those whose attention calls torch's functions by itself."""
PAIRS = [name for name, (_, settings) in KINDS.items() if "decoder_start_token_id" in settings]


def ends(vocabulary: int) -> list[int]:
    """The tokens that end an answer: one in five, so that answers end in time."""
    return [id for id in range(vocabulary) if id % 5 == END]


def model(name: str, vocabulary: int, *, seed: int = 0, cls: str | None = None, **changes: Any) -> Any:
    """A random model of this name."""
    usual, settings = {**KINDS, **LABELLED, **VERDICTS}[name]
    found = getattr(transformers, cls or usual)
    torch.manual_seed(seed)
    sizes = {"vocab_size": vocabulary} | ({"decoder_vocab_size": vocabulary} if name == "marian" else {})
    made = found(found.config_class(**{**settings, **sizes, **changes})).eval()
    with torch.no_grad():
        for part, parameter in made.named_parameters():
            if parameter.dim() < 2:
                parameter.add_(0.1 * torch.randn_like(parameter))
            elif parameter.requires_grad:
                embeds = any(each in part for each in ("embed", "wte", "wpe", "shared"))
                parameter.normal_(std=0.6 if embeds else 1.6 / parameter.shape[-1] ** 0.5)
    made.tie_weights()
    if made.can_generate():
        made.generation_config.eos_token_id = ends(vocabulary)
    return made


@functools.cache
def byte_pieces() -> Any:
    """Pieces of bytes, as GPT-2 and Llama 3 have them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=290,
        special_tokens=["<pad>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(LINES, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )


@functools.cache
def word_pieces() -> Any:
    """WordPiece, as BERT has it: small letters, without accents."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=80, special_tokens=specials, show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)


@functools.cache
def likely_pieces() -> Any:
    """Pieces by their likelihood, as T5 and mBART have them, with an end token behind each text."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    specials = ["<pad>", "<s>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=specials, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", END)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


LANGUAGES = {
    "mbart": ("en_XX", "de_DE"),
    "mbart50": ("en_XX", "de_DE"),
    "nllb": ("eng_Latn", "deu_Latn"),
    "m2m_100": ("en", "de"),
}
"""A tokenizer with languages: what texts are in by its own settings, and another one."""


def in_languages(name: str, where: Path) -> Any:
    """A tokenizer that puts the token of a language around each text, of one of the classes that do."""
    pieces = [(token, score) for token, score in _pieces() if token not in ("<pad>", "<s>", "</s>", "<unk>")]
    first = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    if name == "m2m_100":
        return _with_sentencepiece(where)
    if name == "nllb":
        letters = sorted({sign for token, _ in pieces for sign in token})
        vocabulary = {token: id for id, token in enumerate([*(token for token, _ in first), *letters])}
        return transformers.NllbTokenizer(vocab=vocabulary, merges=[], src_lang="eng_Latn")
    cls = transformers.MBartTokenizer if name == "mbart" else transformers.MBart50Tokenizer
    return cls(vocab=[*first, *pieces], src_lang="en_XX")


def _pieces() -> list[tuple[str, float]]:
    return [
        (token, float(score))
        for token, score in json.loads(likely_pieces().backend_tokenizer.to_str())["model"]["vocab"]
    ]


def _with_sentencepiece(where: Path) -> Any:
    import sentencepiece

    where.mkdir(parents=True, exist_ok=True)
    text = where / "lines.txt"
    text.write_text("\n".join(LINES))
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(where / "spm"), vocab_size=60, hard_vocab_limit=False, minloglevel=2
    )
    spm = sentencepiece.SentencePieceProcessor(model_file=str(where / "spm.model"))
    names = ["<s>", "<pad>", "</s>", "<unk>", *(spm.id_to_piece(id) for id in range(3, spm.vocab_size()))]
    (where / "vocab.json").write_text(json.dumps({name: id for id, name in enumerate(names)}))
    made = [str(where / name) for name in ("vocab.json", "spm.model")]
    codes = transformers.M2M100Tokenizer(*made).lang_code_to_id
    tokens = [f"__{code}__" for code in codes]  # the published folders name them as well
    return transformers.M2M100Tokenizer(*made, src_lang="en", additional_special_tokens=tokens)


def tokenizer_of(name: str) -> Any:
    """The kind of tokenizer that such a model has."""
    if name in PAIRS:
        return likely_pieces()
    return byte_pieces() if name in WRITING else word_pieces()


def folder(where: Path, name: str, *, tokenizer: Callable[[], Any] | None = None, **changes: Any) -> Path:
    """A folder with such a model and its tokenizer, written by transformers."""
    pieces = tokenizer_of(name) if tokenizer is None else tokenizer()
    changes = {"vocabulary": len(pieces) + 3, **changes}  # three tokens that the tokenizer does not know
    model(name, **changes).save_pretrained(where)
    pieces.save_pretrained(where)
    return where


def ending(where: Path) -> Path:
    """The same folder, whose answers have no token twice: those of a T5, which has no last position, end in time."""
    settings = where / "generation_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "no_repeat_ngram_size": 1}))
    return where


def refused(where: Path, *said: str) -> None:
    """Opening the folder ends in one sentence that says this."""
    with pytest.raises(CheckpointError) as raised:
        load(where)
    sentence = str(raised.value)
    assert str(where) in sentence and "\n" not in sentence
    for each in said:
        assert each in sentence, sentence
