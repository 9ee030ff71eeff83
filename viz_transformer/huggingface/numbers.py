"""Checks the numbers in a folder's settings: finite and in range, before anything is built.

By name, shared by all families, at any depth. Imports nothing heavy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from viz_transformer import declared
from viz_transformer.checkpoint.files import CheckpointError

MAX_SIZE = 2**31 - 1
"""Maximum of any count: torch and safetensors take no more on any machine."""
_MOST = 1e30
"""Maximum of other numbers: the square of a larger one overflows float32."""
_NumberType = Literal["float32", "bfloat16", "float16", "float64", "float", "half", "double"]
_TokenId = Annotated[int, Meta(ge=-1, le=MAX_SIZE, description="the id of a token")]
_Size = Annotated[int, Meta(ge=-MAX_SIZE, le=MAX_SIZE, description=f"a whole number of at most {MAX_SIZE:,}")]
Size = Annotated[int, Meta(ge=1, le=MAX_SIZE)]
"""A count of at least 1."""
_Share = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
_ShareAbove0 = Annotated[float, Meta(gt=0, le=1, description="a number above 0, at most 1")]
_Finite = Annotated[float, Meta(ge=-_MOST, le=_MOST, description="a finite number")]
_FiniteFrom0 = Annotated[float, Meta(ge=0, le=_MOST, description="a finite number, 0 or more")]
_FiniteAbove0 = Annotated[float, Meta(gt=0, le=_MOST, description="a finite number above 0")]

_TYPES: Mapping[str, Any] = {  # by the first pattern that a whole name fits
    r"(?:torch_)?dtype": _NumberType,
    r"(?:.*_)?token_id": _TokenId,
    r"(?:.*_)?eps(?:ilon)?": _Share,
    r"(?:.*_)?(?:dropout|pdrop|layerdrop|dropout_prob|dropout_rate|noise)": _Share,
    r"partial_rotary_factor|rotary_pct": _ShareAbove0,
    r"(?:.*_)?(?:rope_theta|rope_local_base_freq|rotary_emb_base)": _FiniteAbove0,
    r".*softcap(?:ping)?|clip_qkv|swiglu_limit|query_pre_attn_scalar": _FiniteAbove0,
    r"(?:(?:low_freq|high_freq|short|long|attention)_)?factor|beta_fast|beta_slow": _FiniteAbove0,
    r"mscale(?:_all_dim)?": _FiniteFrom0,
    r"(?:.*_)?(?:scale|scaling|multiplier|scaling_factor|coef|std|swiglu_alpha)": _Finite,
    r"initializer_(?:range|factor|cutoff_factor)": _Finite,
    # generation_config
    r"temperature|length_penalty|diversity_penalty": _Finite,
    r"(?:encoder_)?repetition_penalty|guidance_scale": _FiniteAbove0,
    r"top_p|min_p|typical_p|epsilon_cutoff|eta_cutoff|penalty_alpha": _Share,
    # counts
    r"(?:.*_)?(?:size|dim|layers?|heads?|experts|positions|embeddings|buckets|distance|rank|groups?|per_tok|window|step"
    r"|beams|capacity|top_k|top_n)|[nd]_(?:embd|layer|head|inner|model|ff|kv)|num_.*|n_.*_experts|topk_group"
    r"|(?:mem|reuse|clamp)_len|first_k_dense_replace|pretraining_tp|max_relative_positions|local_attention"
    r"|chunk_size_feed_forward|global_attn_every_n_layers": _Size,
}


def type_of(name: str) -> Any:
    """The type of a setting of this name; None for what is no number, or is not used."""
    return next((hint for names, hint in _TYPES.items() if re.fullmatch(names, name)), None)


def check_numbers(settings: Mapping[str, Any], path: Path) -> None:
    """Raise CheckpointError with one sentence for a number that no model can use."""
    for name, value in _named(settings):
        if (hint := type_of(name)) is not None:
            _check(name, value, hint, path)


def _check(name: str, value: Any, hint: Any, path: Path) -> None:
    """Check a value, or each of a list; a word or an object that switches a number off is read elsewhere."""
    for each in value if isinstance(value, list) and hint is not _NumberType else [value]:
        elsewhere = isinstance(each, bool | Mapping) and hint not in (_NumberType, _TokenId)
        if each is None or elsewhere or (hint is _Size and not isinstance(each, int | float)):
            continue
        whole = int(each) if hint is _Size and isinstance(each, float) and each.is_integer() else each
        check_setting(name, whole, hint, path)


def check_setting(name: str, value: Any, hint: Any, path: Path | str) -> None:
    """Raise CheckpointError, one sentence, for a setting that is not of its type."""
    if (problem := declared.fault(hint, value, name)) is not None:
        raise CheckpointError(f"{path}: {problem}: correct it")


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
