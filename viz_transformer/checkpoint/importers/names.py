"""Selects the model's tensors in a file and removes wrapper prefixes from their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.importers.reading import PICKLED_MODULE, Found, Stored

_OPTIMIZER = re.compile(
    r"(optim\w*|optimizer_states?|lr_schedulers?|scheduler\w*|grad_scaler|scaler|amp|rng_state\w*|callbacks|loops"
    r"|hparams_name|last_optimizer_state|train_dataloader|dataloader\w*|buffers_ema_state)"
)
"""Keys of training state next to the weights."""
_MOMENTS = frozenset("exp_avg exp_avg_sq max_exp_avg_sq exp_inf momentum_buffer square_avg grad_avg acc_delta".split())
"""Per-tensor state of an optimizer."""
_AVERAGES = re.compile(r"(model_|teacher_)?(ema|averaged?|swa)(_model|_state_dict|_weights|_params)?", re.IGNORECASE)
_WRAPPERS = frozenset("module _orig_mod _forward_module _fsdp_wrapped_module".split())
"""Name parts that only wrap the model."""
MAX_WRAPPERS = 8
ADAPTER = re.compile(r"(^|\.)(lora_[AB]|lora_(up|down|embedding_[AB])|adapter_\w+|ia3_l)(\.|$)")
BUFFERS = re.compile(
    r"(^|\.)(tril|mask|causal_mask|attn_mask|subsequent_mask|position_ids|num_batches_tracked|version|_float_tensor"
    r"|inv_freq|attn\.bias|attn\.masked_bias|attention\.bias|attention\.masked_bias)$"
)
"""Known buffers: masks and counters, which are not learned."""

POSITIONS = {
    "rotary": re.compile(r"(^|[._])(inv_freqs?|rope\w*|rotary\w*|freqs?_(cis|cos|sin)|(cos|sin)_cached)([._]|$)"),
    "alibi": re.compile(r"(^|[._])(alibi\w*|slopes?)([._]|$)"),
}
"""Tensor names of positions that act in attention, by config name."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The tensors of one model by name, and what else the file has."""

    tensors: Mapping[str, Stored]
    values: Mapping[str, Any]
    """Plain values stored with the tensors."""
    copies: tuple[str, ...] = ()
    """Choices for `--set weights=...`, the present one first."""
    left: Mapping[str, str] = field(default_factory=dict)
    """Known tensors that are not weights: masks, counters, training state."""
    positions: Mapping[str, Stored] = field(default_factory=dict)
    """Tensors of positional encodings, which are recomputed."""


def weights_of(found: Found, choice: str | None = None) -> Weights:
    """The model's tensors in a file, from the chosen copy. Raises CheckpointError if there are none."""
    left = {
        ".".join(keys): "a training's own state"
        for keys in found.tensors
        if any(_OPTIMIZER.fullmatch(key) for key in keys[:-1]) or _is_moment(".".join(keys).split("."))
    }
    mine = {keys: stored for keys, stored in found.tensors.items() if ".".join(keys) not in left}
    if not mine:
        raise CheckpointError(f"{found.path} holds the state of an optimizer and no weights: give the model's own file")
    if all("_parameters" in keys or "_buffers" in keys for keys in mine):  # attributes in which a module stores them
        raise CheckpointError(f"{found.path} {PICKLED_MODULE}")
    groups: dict[str, dict[str, Stored]] = {}  # by the dictionary keys that lead to them
    for keys, stored in mine.items():
        groups.setdefault(".".join(keys[:-1]), {})[keys[-1]] = stored
    averaged = {name for name in groups if name and _AVERAGES.fullmatch(name.split(".")[0])}
    main = {name: held for name, held in groups.items() if name not in averaged}
    copies = _copies(main, averaged)
    if choice is not None and choice not in copies:
        listed = " or ".join(copies) if len(copies) > 1 else "one copy of the weights alone"
        raise CheckpointError(f"{found.path} has no weights named {choice!r:.60}: it has {listed}")
    chosen = copies[0] if choice is None else choice
    if chosen in averaged:
        taken = dict(groups[chosen])
        left |= {f"{name}.{key}".lstrip("."): "another copy" for name in main for key in main[name]}
    else:
        taken = _joined(main)
        left |= {
            f"{name}.{key}": "another copy: an average over the training" for name in averaged for key in groups[name]
        }
        largest = max(main.values(), key=len)
        figures = {f"{name}.{key}".lstrip(".") for name, held in main.items() if held is not largest for key in held}
        for name in [name for name, stored in taken.items() if name in figures and not stored.shape]:
            left[name] = "one number beside the weights, such as a loss"
            del taken[name]
    tensors = _unwrapped(taken)
    positions = {name: stored for name, stored in tensors.items() if _of_positions(name)}
    for name in positions:
        left[name] = "a table of positions, which is made anew"
        del tensors[name]
    for name, stored in list(tensors.items()):
        if BUFFERS.search(name) and not (name.endswith(".bias") and len(stored.shape) < 2):
            left[name] = "a mask or a counter, which is made anew"
            del tensors[name]
    for name, stored in list(tensors.items()):
        if not stored.dtype.is_floating_point:
            if name.endswith("weight"):
                kind = str(stored.dtype).removeprefix("torch.")
                raise CheckpointError(
                    f"{found.path}: {name!r:.80} is of {kind}, as in quantised models: give the unquantised weights"
                )
            left[name] = "whole numbers, which are no weights"
            del tensors[name]
    if any(ADAPTER.search(name) for name in tensors) and not any(
        not ADAPTER.search(name) and name.endswith("weight") for name in tensors
    ):
        raise CheckpointError(
            f"{found.path} only holds an adapter (LoRA) for another model: merge it into that model, and save"
            " the result"
        )
    values = {".".join(keys): value for keys, value in found.values.items() if not _OPTIMIZER.fullmatch(keys[0])}
    return Weights(tensors, values, copies, left, positions)


def _of_positions(name: str) -> bool:
    """Whether a tensor belongs to rotary positions or ALiBi by name, and is not a weight or bias."""
    return not name.endswith((".weight", ".bias")) and any(word.search(name) for word in POSITIONS.values())


def _is_moment(parts: list[str]) -> bool:
    """Whether a tensor belongs to an optimizer's state_dict, even with joined keys."""
    return parts[-1] in _MOMENTS or (len(parts) > 2 and parts[-3] == "state" and parts[-2].isdecimal())


def _copies(main: Mapping[str, Mapping[str, Stored]], averaged: set[str]) -> tuple[str, ...]:
    """Names of the copies: the trained weights, and averages of them."""
    first = max(main, key=lambda name: len(main[name]), default=None)
    names = [] if first is None else [first or "weights"]
    return (*names, *sorted(averaged))


def _joined(groups: Mapping[str, Mapping[str, Stored]]) -> dict[str, Stored]:
    """Tensors of all the model's dictionaries; names are prefixed with the dictionary's where they would collide."""
    largest = max(groups, key=lambda name: len(groups[name]))
    found = dict(groups[largest])
    for name, held in groups.items():
        if name != largest:
            last = name.rsplit(".", 1)[-1]
            found |= {f"{last}.{key}" if last else key: stored for key, stored in held.items()}
    return found


def _unwrapped(tensors: Mapping[str, Stored]) -> dict[str, Stored]:
    """Names without wrapper prefixes."""
    names = {name: [part for part in name.split(".") if part not in _WRAPPERS] for name in tensors}
    return {".".join(parts): tensors[name] for name, parts in names.items()}


def common_beginnings(names: list[str]) -> list[int]:
    """Candidate numbers of leading parts shared by all names, from 0: wrapper attributes such as `model.`.

    At most MAX_WRAPPERS, since the layouts are tried for each.
    """
    split = [name.split(".") for name in names]
    shared = 0
    while shared < MAX_WRAPPERS and all(
        len(parts) > shared + 1 and parts[shared] == split[0][shared] for parts in split
    ):
        shared += 1
    return list(range(shared + 1))
