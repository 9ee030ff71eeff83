"""Tensors in a folder's files that a run does not use.

transformers drops whatever the class has no place for. Buffers are recomputed; all other dropped tensors are counted
and described, and those that would change a run are refused unless excluded by name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor
from transformers import PreTrainedModel

from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.ignoring import match_patterns, some
from viz_transformer.checkpoint.importers.names import BUFFERS
from viz_transformer.huggingface.families import Family
from viz_transformer.huggingface.folder import Stored
from viz_transformer.sentences import count_of, join_names, quote

WRAPPED = re.compile(r"^(?:(?:module|_orig_mod|_forward_module|_fsdp_wrapped_module)\.)+")
"""Prefixes of DataParallel, torch.compile and other wrappers."""
LORA = re.compile(r"(^|[._])(lora|dora)([._]|$)", re.IGNORECASE)
QUANTISED = re.compile(r"\.(qweight|qzeros|g_idx|SCB|absmax|quant_map|weight_scale(_inv)?|weight\.quant_state\..*)$")
"""What GPTQ, AWQ, bitsandbytes and others store next to quantised weights."""
MERGE = "merge them into the weights first (merge_and_unload of peft), and save the result with save_pretrained"

_ADAPTER = re.compile(
    r"(^|[._])(adapters?|loha|hada|lokr|vera|ia3|b?oft|soft_prompts?|prompt_encoder|prompt_embeddings|prefix_encoder)"
    r"([._]|$)",
    re.IGNORECASE,
)
_NORM = re.compile(r"(^|_)(ln|norm|layernorm|rmsnorm|ln\d*|norm\d*)(_|$)|norm$", re.IGNORECASE)
_HEAD = re.compile(
    r"(^|_)(heads?|cls|classif\w+|scorer?|predict\w+|qa|relationship|loss|logits|summary|discriminator|generator)(_|$)"
)
_POOLER = re.compile(r"(^|_)pooler(_|$)")
_MADE_ANEW = re.compile(r"(^|\.)(cos_cached|sin_cached|embed_positions(\.weights)?|token_type_ids|masked_bias)$")
_MASK = re.compile(r"(^|\.)(tril|\w*mask|bias)$")
_FREQUENCIES = re.compile(r"(^|\.)inv_freq$")
_LEFT_BY_ITS_CODE = re.compile(
    r"EncDecAttention\.relative_attention_bias\.weight$|embeddings\.position_embeddings\.weight$|(^|\.)layers\.61\."
)
"""Trained tensors in published files that the family's own code never uses.

They are T5's second table of distances, DeBERTa's pretraining positions, and DeepSeek v3's layer for predicting a
further token.
"""


@dataclass(frozen=True)
class _Kind:
    """Description of a kind of tensor, whether a run without it differs, and advice for that case."""

    one: str
    several: str
    changes: bool = True
    advice: str = "give the config.json and the class that they were trained with"


MAX_PATTERN = 120
"""Maximum characters of a proposed pattern."""
_KINDS: Mapping[str, _Kind] = {
    "lora": _Kind("LoRA matrix", "LoRA matrices", advice=MERGE),
    "adapter": _Kind("adapter tensor", "adapter tensors", advice=MERGE),
    "norm": _Kind("norm tensor", "norm tensors"),
    "bias": _Kind("bias", "biases"),
    "copy": _Kind(
        "tensor under a second name",
        "tensors under a second name",
        advice="save the model again with save_pretrained, each tensor once",
    ),
    "frequencies": _Kind(
        "table of other frequencies than its config makes",
        "tables of other frequencies than its config makes",
        advice="correct rope_theta in config.json",
    ),
    "other": _Kind("tensor of an unknown kind", "tensors of an unknown kind"),
    "pooler": _Kind("pooler tensor", "pooler tensors", changes=False),
    "head": _Kind("tensor of another head", "tensors of another head", changes=False),
    "training": _Kind("tensor that only training reads", "tensors that only training reads", changes=False),
}


@dataclass(frozen=True)
class Unused:
    """Unused tensors by kind. numbers: parameters they hold. asked: would change a run, but excluded by name."""

    by_kind: Mapping[str, tuple[str, ...]]
    numbers: int
    asked: tuple[str, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(name for names in self.by_kind.values() for name in names))

    @property
    def short(self) -> str:
        """The same in a few words."""
        if self.asked:
            kinds = {kind: names for kind, names in self.by_kind.items() if {*names} & {*self.asked}}
            return f"Opened without {join_names([_words(kind, names) for kind, names in kinds.items()])} from its files"
        count = len(self.names)
        return f"{count:,} tensor{' of its files takes' if count == 1 else 's of its files take'} no part in a run"

    def sentence(self, cls: str) -> str:
        """How many there are, what they look like, and which."""
        parts = [f"{_words(kind, names)}: {some(names)}" for kind, names in self.by_kind.items()]
        count = len(self.names)
        said = (
            f"{count_of(count, 'tensor')} of the weights' files ({self.numbers:,} numbers)"
            f" {'takes' if count == 1 else 'take'} no part in a run, because {cls} has no place for"
            f" {'it' if count == 1 else 'them'}: {'; '.join(parts)}."
        )
        if self.asked:
            said += (
                f" You asked to leave out {count_of(len(self.asked), 'tensor')} that would change the numbers of a run:"
                " this is not the model that was trained."
            )
        return said

    def to_card(self, cls: str) -> dict[str, Any]:
        return {
            "count": len(self.names),
            "numbers": self.numbers,
            "asked": len(self.asked),
            "short": self.short,
            "sentence": self.sentence(cls),
            "names": list(self.names),
        }


def unused_tensors(
    model: PreTrainedModel, family: Family, stored: Stored, unexpected: Iterable[str], ignore: Sequence[str]
) -> Unused | None:
    """Stored tensors without a place in the model, except buffers; None if there are none.

    unexpected: reported by transformers. ignore: name patterns that may be missing. Raises CheckpointError with one
    sentence for others that would change a run.
    """
    shapes = {_plain(name): shape for name, shape in stored.shapes.items()}
    dtypes = {_plain(name): dtype for name, dtype in stored.dtypes.items()}
    hidden, copies = _hidden(model, shapes), _copies(model, stored)
    found: dict[str, list[str]] = {}
    for name in sorted({*unexpected, *hidden}):
        if _FREQUENCIES.search(name):
            kind = _kind_of_frequencies(model, stored, name)
        elif _is_buffer(name, shapes.get(name, ()), dtypes.get(name, "")):
            kind = ""
        else:
            kind = "training" if name in hidden and _LEFT_BY_ITS_CODE.search(name) else _kind_of(model, family, name)
        if kind:
            found.setdefault(kind, []).append(name)
    if copies:
        found["copy"] = copies
    if not found:
        return None
    by_kind = {kind: tuple(found[kind]) for kind in _KINDS if kind in found}
    changing = [name for kind, names in by_kind.items() if _KINDS[kind].changes for name in names]
    allowed = {name for names in match_patterns(ignore, changing).values() for name in names}
    refused = {
        kind: left
        for kind, names in by_kind.items()
        if _KINDS[kind].changes and (left := [name for name in names if name not in allowed])
    }
    if refused:
        raise CheckpointError(_refusal(type(model).__name__, refused))
    numbers = sum(math.prod(shapes.get(_plain(name), (0,))) for names in by_kind.values() for name in names)
    return Unused(by_kind, numbers, tuple(changing))


def _refusal(cls: str, refused: Mapping[str, Sequence[str]]) -> str:
    """The refusal, without the folder's name, and how to continue."""
    parts = [f"{_words(kind, names)} ({some(names)})" for kind, names in refused.items()]
    pattern = _pattern([name for names in refused.values() for name in names])
    advice = _KINDS[next(iter(refused))].advice
    return (
        f"has {join_names(parts)}, for which {cls} with this config has no place, so a run would not be the trained"
        f" model's: {advice}; to run the model without them all the same, leave them out by name, with"
        f" ignore=['{pattern}'] in Python or --ignore '{pattern}' in a shell"
    )


def _pattern(names: Sequence[str]) -> str:
    """A readable pattern for these names, without backslashes, which a shell may remove."""
    if all("lora" in name for name in names):
        return ".*lora.*"
    ends = sorted({re.sub(r"[^\w.]", ".", ".".join(name.split(".")[-2:])) for name in names})
    pattern = f".*{ends[0]}" if len(ends) == 1 else f".*({'|'.join(ends)})"
    return pattern if len(pattern) <= MAX_PATTERN else ".*"


def _words(kind: str, names: Sequence[str]) -> str:
    return f"{len(names):,} {_KINDS[kind].one if len(names) == 1 else _KINDS[kind].several}"


def _plain(name: str) -> str:
    """A stored name as transformers writes it, without wrapper prefixes."""
    name = WRAPPED.sub("", name)
    return re.sub(r"LayerNorm\.(gamma|beta)$", lambda found: _NEWER[found[0]], name)


_NEWER = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


def _hidden(model: PreTrainedModel, names: Iterable[str]) -> set[str]:
    """Tensors that the family excludes from transformers' report."""
    rules = {*(model._keys_to_ignore_on_load_unexpected or ()), r"rotary_emb\.inv_freq", r"(^|\.)position_ids$"}
    rule, own, base = re.compile("|".join(f"({each})" for each in sorted(rules))), model.state_dict(), _base(model)
    return {
        name
        for name in names
        if rule.search(name) and not own.keys() & {name, f"{base}{name}", name.removeprefix(base)}
    }


def _copies(model: PreTrainedModel, stored: Stored) -> list[str]:
    """Tensors displaced by another, which transformers does not report."""
    first, copies = dict[str, str](), list[str]()
    for name in sorted(stored.shapes):
        place = _plain(name).removeprefix(_base(model))
        if first.setdefault(place, name) != name:
            copies.append(name)
    return copies


def _base(model: PreTrainedModel) -> str:
    """Prefix of the headless model's names."""
    return f"{model.base_model_prefix}."


def _kind_of_frequencies(model: PreTrainedModel, stored: Stored, name: str) -> str:
    """Kind of a rotary frequency table: "" if it equals the model's, or if scaled frequencies make it unknowable."""
    made = [buffer for each, buffer in model.named_buffers() if each.endswith("inv_freq")]
    if not made:
        return "other"
    settings: Any = getattr(model.config, "rope_parameters", None) or {}
    each_kind = [settings, *(each for each in settings.values() if isinstance(each, dict))]
    if any(each.get("rope_type", "default") != "default" for each in each_kind):
        return ""
    kept = _stored(stored, name)
    return "" if any(_alike(each, kept) for each in made) else "frequencies"


def _alike(made: Tensor, stored: Tensor) -> bool:
    """Whether two frequency tables are equal, up to 16-bit rounding of the second."""
    return made.shape == stored.shape and torch.allclose(made.float(), stored.float(), rtol=0.02, atol=1e-6)


def _stored(stored: Stored, name: str) -> Tensor:
    """Read the tensor with this plain name from its file."""
    (raw,) = [each for each in stored.shapes if _plain(each) == name][:1]
    for path in stored.paths:
        with safe_open(path, framework="pt", device="cpu") as file:
            if raw in file.keys():  # noqa: SIM118 (not a dict)
                tensor: Tensor = file.get_tensor(raw)
                return tensor
    raise AssertionError(name)


def _is_buffer(name: str, shape: tuple[int, ...], dtype: str) -> bool:
    """Whether a tensor is a recomputed buffer: a mask, counter or computed table."""
    if dtype and not dtype.startswith(("F", "BF")):
        return not name.endswith("weight")  # integers are not trained; as a weight they are quantised
    if not (BUFFERS.search(name) or _MADE_ANEW.search(name)):
        return False
    if _MASK.search(name):
        return math.prod(shape) == 1 or (len(shape) > 1 and shape[-1] == shape[-2])
    return True


def _kind_of(model: PreTrainedModel, family: Family, name: str) -> str:
    """Kind of a tensor, by its name and the module where it would belong."""
    if LORA.search(name):
        return "lora"
    if _ADAPTER.search(name):
        return "adapter"
    modules = {path for path, _ in model.named_modules() if path}
    outer, new = max((_split(modules, each) for each in (name, f"{_base(model)}{name}")), key=lambda each: len(each[0]))
    in_layer = any(part.isdecimal() for part in outer)
    if not in_layer and len(new) > 1:  # a separate module, outside the layers
        if new[0] in (*family.head, *family.tagger):
            return "head"
        if not _NORM.search(new[0]):
            if _POOLER.search(new[0]):
                return "pooler"
            if _HEAD.search(new[0]):
                return "head"
    if any(_NORM.search(part) for part in (*outer[-1:], *new)):
        return "norm"
    return "bias" if new[-1].endswith("bias") else "other"


def _split(modules: set[str], name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split a name into a module of the model and the rest."""
    parts = name.split(".")
    known = next(count for count in range(len(parts) - 1, -1, -1) if not count or ".".join(parts[:count]) in modules)
    return tuple(parts[:known]), tuple(parts[known:])


def describe_quantisation(names: Iterable[str]) -> str | None:
    """Error message if weights are quantised, judging by a tensor stored next to them; else None."""
    found = next((name for name in sorted(names) if QUANTISED.search(name)), None)
    return found and f"has {quote(found)}, as quantised weights have, which are not read: get them in 16 or 32 bits"
