"""Folders of transformers with a hostile tokenizer, or hostile settings: opened and used as the program uses them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pretrained

from attack import hostile, reading, texts
from attack.trying import MIB, attempt, check, check_unicode
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.huggingface.loading import load
from viz_transformer.running.decoding import decode
from viz_transformer.running.reading import read

FAMILIES = ("gpt2", "llama", "bert", "t5", "gemma2", "mixtral", "bert/tags", "mbart")
TOKENIZED = ("gpt2", "bert", "t5")
"""One for each kind of tokenizer."""
GROWN = 512 * MIB
"""What a text takes for a moment that becomes as long as is allowed."""
SECONDS = 20.0


@cache
def whole(name: str) -> dict[str, bytes]:
    """The files of a folder with a random model of this name."""
    with TemporaryDirectory() as place:
        folder = pretrained.folder(Path(place) / "model", name)
        if name in pretrained.PAIRS:
            pretrained.ending(folder)
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def attack_tokenizers(draw: Random, place: Path) -> None:
    """A tokenizer that may grow a text, search for ever, or is damaged."""
    files = dict(whole(draw.choice(TOKENIZED)))
    valid = json.loads(files["tokenizer.json"])
    how = draw.randrange(10)
    if how == 0:
        name = draw.choice(("tokenizer.json", "tokenizer_config.json"))
        files[name] = hostile.json_object(draw, json.loads(files[name]))
    elif how == 1:
        files["special_tokens_map.json"] = hostile.json_bytes({draw.choice(_ARGUMENTS): hostile.value(draw)})
    elif how == 2:
        given = json.loads(files["tokenizer_config.json"]) | {draw.choice(_ARGUMENTS): hostile.value(draw)}
        files["tokenizer_config.json"] = hostile.json_bytes(given)
    else:
        for _ in range(draw.choice((1, 1, 2, 3))):
            part = draw.choice([*_PARTS])
            valid[part] = _PARTS[part](draw, valid)
        files["tokenizer.json"] = hostile.json_bytes(valid)
    _use(files, draw, place)


def attack_configs(draw: Random, place: Path) -> None:
    """Settings that are damaged, or ask for what no model can do."""
    files = dict(whole(draw.choice(FAMILIES)))
    name = draw.choice(("config.json", "config.json", "config.json", "generation_config.json"))
    valid = json.loads(files.get(name, b"{}"))
    how = draw.randrange(10)
    if how == 0:
        files[name] = hostile.json_object(draw, valid)
    else:
        for _ in range(draw.choice((1, 1, 1, 2, 4))):
            valid = hostile.damaged(valid, draw) if how < 4 else valid | _settings(draw, valid)
            valid = valid if isinstance(valid, dict) else {}
        files[name] = hostile.json_bytes(valid)
    _use(files, draw, place)


def _use(files: dict[str, bytes], draw: Random, place: Path) -> None:
    folder = place / "model"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "mine.py").write_text(f"open({str(place / 'ran')!r}, 'w')")
    given = [texts.text(draw, ("the cat sat", "one two three")) for _ in range(3)] + ["a" * 3000, " " * 3000]
    try:
        attempt(lambda: _open_and_use(folder, given), size=sum(map(len, files.values())) + GROWN, seconds=SECONDS)
        check(not (place / "ran").exists(), "code of the folder ran")
        check({entry.name for entry in place.iterdir()} == {"model"}, "something was made beside the folder")
    finally:
        shutil.rmtree(folder)


def _open_and_use(folder: Path, given: list[str]) -> None:
    """Each text ends in ids or in a sentence; one of them is read by the model."""
    ckpt = load(folder)
    for text in given:
        attempt(lambda text=text: _check_codec(ckpt, text), size=GROWN, seconds=SECONDS)  # type: ignore[misc]
    if ckpt.spec.writes:
        reading.check_run(decode(ckpt, "the cat", max_steps=2))
    else:
        reading.check_run(read(ckpt, "the cat"))


def _check_codec(ckpt: Checkpoint, text: str) -> None:
    codec = ckpt.codec("source" if ckpt.spec.has_encoder else "target")
    encoded = codec.encode(text)
    check(len(encoded.ids) == len(encoded.tokens) == len(encoded.originals), "ids, tokens, originals of unequal length")
    check_unicode(codec.decode(encoded.ids))


# --- tokenizers

_PATTERNS = (
    *(r"(a+)+$", r"(a|a)*$", r"(.*)*\d", r".*.*x", r"a*b", r"\s+$", r"(?:a?){20}a{20}", r"(a)\1+", "", "(", "a{99999}"),
    *(r"\s+(?!\S)|\s+", r" ?\p{L}+|\s+", r"x*", r"(?<=a)", r"[^\s]+", r".", r"a+b|a|a+", r"\A.*", r"(?i:a)+"),
)
_ARGUMENTS = (
    *("tokenizer_file", "vocab_file", "merges_file", "tokenizer_object", "tokenizer_class", "auto_map", "pad_token"),
    *("extra_special_tokens", "additional_special_tokens", "model_max_length", "init_inputs", "chat_template", "vocab"),
    *("padding_side", "truncation_side", "add_prefix_space", "clean_up_tokenization_spaces", "added_tokens_decoder"),
)


def _content(draw: Random) -> str:
    return draw.choice(("", " ", "▁", "ab", "ﷺ", "ΐ")) * draw.choice((1, 1, 2, 20, 2000, 10**5))


def _pattern(draw: Random) -> dict[str, Any]:
    return draw.choice(({"String": draw.choice(("", " ", "a", "ab"))}, {"Regex": draw.choice(_PATTERNS)}))


def _sequence(draw: Random, inner: str, step: Callable[[Random], Any]) -> Any:
    """One step, or some of them, also within each other."""
    if draw.random() < 0.4:
        return step(draw)
    count = draw.choice((0, 1, 2, 3, 3, 12, 40))
    return {"type": "Sequence", inner: [_sequence(draw, inner, step) if draw.random() < 0.1 else step(draw)] * count}


def _normalizer(draw: Random) -> Any:
    if draw.random() < 0.5:
        return {"type": "Replace", "pattern": _pattern(draw), "content": _content(draw)}
    flags = dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), draw.random() < 0.5)
    return draw.choice(
        (
            *(
                {"type": name}
                for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt", "StripAccents", "ByteLevel")
            ),
            {"type": "Prepend", "prepend": _content(draw)},
            {"type": "BertNormalizer", **flags},
            {"type": "Precompiled", "precompiled_charsmap": draw.choice(("", "AAAA", "AAAAAGFhYWEAYgA=", "?"))},
            hostile.value(draw),
        )
    )


def _pre_tokenizer(draw: Random) -> Any:
    behavior = draw.choice(("Isolated", "Removed", "MergedWithPrevious", "Contiguous", "Other"))
    return draw.choice(
        (
            {"type": "Split", "pattern": _pattern(draw), "behavior": behavior, "invert": draw.random() < 0.5},
            {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": draw.random() < 0.5},
            {"type": "Metaspace", "replacement": draw.choice("▁ab"), "prepend_scheme": "always", "split": True},
            {"type": "FixedLength", "length": draw.choice((0, 1, 5, 2**40))},
            {"type": "Digits", "individual_digits": True},
            *({"type": name} for name in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts")),
            hostile.value(draw),
        )
    )


def _processor(draw: Random) -> Any:
    copies = [{"Sequence": {"id": draw.choice("AB"), "type_id": 0}}] * draw.choice((0, 1, 2, 3, 1000))
    size = draw.choice((0, 1, 2, 10**5))
    special = {"x": {"id": "x", "ids": [draw.choice((0, 1, 2**31))] * size, "tokens": ["x"] * size}}
    parts = [{"SpecialToken": {"id": draw.choice("xy"), "type_id": 0}}, *copies]
    return draw.choice(
        (
            {"type": "TemplateProcessing", "single": parts, "pair": parts * 2, "special_tokens": special},
            {"type": "BertProcessing", "sep": ["a", 1], "cls": ["b", draw.choice((1, 2**31))]},
            {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            hostile.value(draw),
        )
    )


def _decoder(draw: Random) -> Any:
    return draw.choice(
        (
            {"type": "Replace", "pattern": _pattern(draw), "content": _content(draw)},
            {"type": "Strip", "content": "a", "start": draw.choice((0, 2**40)), "stop": 0},
            {"type": "WordPiece", "prefix": _content(draw), "cleanup": True},
            {"type": "BPEDecoder", "suffix": _content(draw)},
            {"type": "CTC", "pad_token": "a", "word_delimiter_token": _content(draw), "cleanup": True},
            *({"type": name} for name in ("Fuse", "ByteFallback")),
            hostile.value(draw),
        )
    )


def _model(draw: Random, valid: dict[str, Any]) -> Any:
    size = draw.choice((0, 1, 100, 2**40, -1, None))
    return valid["model"] | draw.choice(
        (
            {"max_input_chars_per_word": size},
            {"continuing_subword_prefix": _content(draw)},
            {"end_of_word_suffix": _content(draw)},
            {"byte_fallback": draw.random() < 0.5},
            {"dropout": draw.choice((0.5, 2, -1, None))},
            {"unk_id": size},
            {"unk_token": _content(draw)},
            {"type": draw.choice(("BPE", "WordPiece", "WordLevel", "Unigram", "Other"))},
        )
    )


def _added(draw: Random, valid: dict[str, Any]) -> Any:
    flags = {name: draw.random() < 0.5 for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}
    token = {"id": draw.choice((0, 5, 10**6, 2**31)), "content": _content(draw), **flags}
    return [*valid["added_tokens"], *[token] * draw.choice((1, 2, 50))]


def _padding(draw: Random, valid: dict[str, Any]) -> Any:
    size = draw.choice((1, 8, 10**5, 10**9, 2**40, 2**63, 0, -1))
    strategy = draw.choice(("BatchLongest", {"Fixed": size}))
    names = {"pad_id": 0, "pad_type_id": 0, "pad_token": "a"}
    return {"strategy": strategy, "direction": "Right", "pad_to_multiple_of": draw.choice((None, size)), **names}


def _truncation(draw: Random, valid: dict[str, Any]) -> Any:
    sizes = {name: draw.choice((0, 1, 2, 8, 2**40)) for name in ("max_length", "stride")}
    return {"direction": "Right", "strategy": draw.choice(("LongestFirst", "OnlySecond")), **sizes}


_PARTS: dict[str, Callable[[Random, dict[str, Any]], Any]] = {
    "normalizer": lambda draw, _: _sequence(draw, "normalizers", _normalizer),
    "pre_tokenizer": lambda draw, _: _sequence(draw, "pretokenizers", _pre_tokenizer),
    "post_processor": lambda draw, _: _sequence(draw, "processors", _processor),
    "decoder": lambda draw, _: _sequence(draw, "decoders", _decoder),
    "model": _model,
    "added_tokens": _added,
    "padding": _padding,
    "truncation": _truncation,
}

# --- settings

_NUMBERS = (0, 1, -1, 2, 3, 7, 2**15, 2**31, 2**40, 10**30, 0.5, -0.5, 1e-300, 1e300, float("nan"), float("inf"), None)
_CODE = ("someone/kernel", "flash_attention_2", "sdpa", "eager", "paged|eager", True, {}, {"": "someone/kernel"})
_CHOICES = (
    *("_attn_implementation", "attn_implementation", "_experts_implementation", "use_kernels", "kernel_config"),
    *("fusion_config", "quantization_config", "auto_map", "per_layer_config", "attribute_map", "torchscript"),
    *("trust_remote_code", "custom_generate", "compile_config", "configuration_files", "tokenizer_class", "validate"),
    *("output_attentions", "output_hidden_states", "return_dict", "use_cache", "is_decoder", "tie_word_embeddings"),
)
_ACTIVATIONS = ("gelu", "relu", "silu", "xielu", "no such", "linear", 7, None)
_ROPE = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional", "no such", 7)


def _settings(draw: Random, valid: dict[str, Any]) -> dict[str, Any]:
    """Some entries: a number out of its range, a choice of code, or one of many words."""
    how = draw.randrange(6)
    numbers = [name for name, value in valid.items() if isinstance(value, int | float)] or ["eos_token_id"]
    if how <= 1:
        return {draw.choice(numbers): draw.choice(_NUMBERS)}
    if how == 2:
        return {draw.choice(_CHOICES): draw.choice(_CODE)}
    if how == 3:
        factors = ("factor", "low_freq_factor", "high_freq_factor", "attention_factor", "beta_fast", "rope_theta")
        rope: dict[str, Any] = {name: draw.choice(_NUMBERS) for name in factors if draw.random() < 0.5}
        lists = {name: [draw.choice(_NUMBERS)] * draw.choice((1, 4, 1000)) for name in ("short_factor", "long_factor")}
        outer = draw.choice(("rope_scaling", "rope_parameters"))
        return {outer: {"rope_type": draw.choice(_ROPE), **rope, **draw.choice(({}, lists))}}
    if how == 4:
        name = draw.choice(("hidden_act", "activation_function", "feed_forward_proj", "dtype", "torch_dtype"))
        return {name: draw.choice((*_ACTIVATIONS, "float16", "float99", "load"))}
    penalties = (
        "temperature",
        "repetition_penalty",
        "top_p",
        "top_k",
        "min_length",
        "no_repeat_ngram_size",
        "num_beams",
    )
    return {draw.choice((*penalties, "bad_words_ids", "suppress_tokens", "forced_bos_token_id")): hostile.value(draw)}
