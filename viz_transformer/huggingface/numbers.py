"""Checks the numbers in a folder's settings: finite and in range, before anything is built.

By name, shared by all families, at any depth. Imports nothing heavy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.sentences import quote

MAX_SIZE = 2**31 - 1
"""Maximum of any count: torch and safetensors take no more on any machine."""
DTYPES = ("float32", "bfloat16", "float16", "float64", "float", "half", "double")


class _Range(NamedTuple):
    names: re.Pattern[str]
    least: float
    most: float
    said: str
    above: bool
    """Whether it must exceed `least`."""


_MOST = 1e30
"""Maximum of other numbers: the square of a larger one overflows float32."""


def _range(names: str, least: float, most: float, *, above: bool = False) -> _Range:
    said = "a number from 0 to 1" if most == 1 else "a finite number"
    if above:
        said = "a number above 0, at most 1" if most == 1 else "a finite number above 0"
    elif least == 0 and most > 1:
        said = "a finite number, 0 or more"
    return _Range(re.compile(names), least, most, said, above)


_RANGES = (
    _range(r"(?:.*_)?eps(?:ilon)?", 0, 1),
    _range(r"(?:.*_)?(?:dropout|pdrop|layerdrop|dropout_prob|dropout_rate|noise)", 0, 1),
    _range(r"partial_rotary_factor|rotary_pct", 0, 1, above=True),
    _range(r"(?:.*_)?(?:rope_theta|rope_local_base_freq|rotary_emb_base)", 0, _MOST, above=True),
    _range(r".*softcap(?:ping)?|clip_qkv|swiglu_limit|query_pre_attn_scalar", 0, _MOST, above=True),
    _range(r"(?:(?:low_freq|high_freq|short|long|attention)_)?factor|beta_fast|beta_slow", 0, _MOST, above=True),
    _range(r"mscale(?:_all_dim)?", 0, _MOST),
    _range(r"(?:.*_)?(?:scale|scaling|multiplier|scaling_factor|coef|std|swiglu_alpha)", -_MOST, _MOST),
    _range(r"initializer_(?:range|factor|cutoff_factor)", -_MOST, _MOST),
    # generation_config
    _range(r"temperature|length_penalty|diversity_penalty", -_MOST, _MOST),
    _range(r"(?:encoder_)?repetition_penalty|guidance_scale", 0, _MOST, above=True),
    _range(r"top_p|min_p|typical_p|epsilon_cutoff|eta_cutoff|penalty_alpha", 0, 1),
)
_COUNTED = re.compile(
    r"(?:.*_)?(?:size|dim|layers?|heads?|experts|positions|embeddings|buckets|distance|rank|groups?|per_tok|window|step"
    r"|beams|capacity|top_k|top_n)|[nd]_(?:embd|layer|head|inner|model|ff|kv)|num_.*|n_.*_experts|topk_group"
    r"|(?:mem|reuse|clamp)_len|first_k_dense_replace|pretraining_tp|max_relative_positions|local_attention"
    r"|chunk_size_feed_forward|global_attn_every_n_layers"
)
_IDS = re.compile(r"(?:.*_)?token_id")


def check_numbers(settings: Mapping[str, Any], path: Path) -> None:
    """Raise CheckpointError with one sentence for a number that no model can use."""
    for name, value in _named(settings):
        if name in ("dtype", "torch_dtype"):
            if value is not None and value not in DTYPES:
                raise CheckpointError(
                    f"{path}: {name} is {quote(value)}, it has to be the name of a type of numbers, such as"
                    f" {DTYPES[0]}: correct it"
                )
        elif _IDS.fullmatch(name):
            _check_ids(name, value, path)
        elif (allowed := next((each for each in _RANGES if each.names.fullmatch(name)), None)) is not None:
            _check_range(name, value, allowed, path)
        elif _COUNTED.fullmatch(name):
            check_size(name, value, path)


def check_size(name: str, value: Any, path: Path | str) -> None:
    """Raise CheckpointError for a count that is too large or not an integer."""
    if isinstance(value, float) and not value.is_integer():
        raise CheckpointError(f"{path}: {name} is {quote(value)}, it has to be a whole number: correct it")
    if isinstance(value, int | float) and abs(value) > MAX_SIZE:
        raise CheckpointError(f"{path}: {name} is {quote(value)}, which is too large: at most {MAX_SIZE:,} is read")


def _check_ids(name: str, value: Any, path: Path) -> None:
    for each in value if isinstance(value, list) else [value]:
        if each is not None and (type(each) is not int or not -1 <= each <= MAX_SIZE):
            raise CheckpointError(f"{path}: {name} is {quote(value)}, it has to be the id of a token: correct it")


def _check_range(name: str, value: Any, allowed: _Range, path: Path) -> None:
    for each in value if isinstance(value, list) else [value]:
        if each is None or isinstance(each, bool | Mapping):
            continue
        good = isinstance(each, int | float) and allowed.least <= each <= allowed.most
        if not good or (allowed.above and each == allowed.least):
            raise CheckpointError(f"{path}: {name} is {quote(value)}, it has to be {allowed.said}: correct it")


def _named(settings: Any) -> Iterator[tuple[str, Any]]:
    """Each entry of the settings, at any depth, except labels, whose keys are arbitrary."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if name in ("id2label", "label2id", "task_specific_params"):
                continue
            yield name, value
            yield from _named(value)
    elif isinstance(settings, list):
        for each in settings:
            yield from _named(each)
