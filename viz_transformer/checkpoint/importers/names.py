"""Which of a file's tensors are the model's, and what they are called there without the wrappers around them."""

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
"""Keys of a training's own state, beside the weights."""
_MOMENTS = frozenset("exp_avg exp_avg_sq max_exp_avg_sq exp_inf momentum_buffer square_avg grad_avg acc_delta".split())
"""What an optimizer keeps of each tensor."""
_AVERAGES = re.compile(r"(model_|teacher_)?(ema|averaged?|swa)(_model|_state_dict|_weights|_params)?", re.IGNORECASE)
_WRAPPERS = frozenset("module _orig_mod _forward_module _fsdp_wrapped_module".split())
"""First parts of names that say only by what the model was wrapped."""
MAX_WRAPPERS = 8
ADAPTER = re.compile(r"(^|\.)(lora_[AB]|lora_(up|down|embedding_[AB])|adapter_\w+|ia3_l)(\.|$)")
BUFFERS = re.compile(
    r"(^|\.)(tril|mask|causal_mask|attn_mask|subsequent_mask|position_ids|num_batches_tracked|version|_float_tensor"
    r"|inv_freq|attn\.bias|attn\.masked_bias|attention\.bias|attention\.masked_bias)$"
)
"""Known buffers: masks and counters, which are no part of what was learned."""

POSITIONS = {
    "rotary": re.compile(r"(^|[._])(inv_freqs?|rope\w*|rotary\w*|freqs?_(cis|cos|sin)|(cos|sin)_cached)([._]|$)"),
    "alibi": re.compile(r"(^|[._])(alibi\w*|slopes?)([._]|$)"),
}
"""Names of tensors that belong to positions which act in attention, by the config's word."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The tensors of one model by their names, the plain values beside them, and which other copies the file has.

    copies: what `--set weights=...` may choose from, the one that these are first. left: known things that are none of
    the model's weights, by name: masks, counters, a training's own state. positions: tensors whose names say what
    positions are, which are made anew.
    """

    tensors: Mapping[str, Stored]
    values: Mapping[str, Any]
    copies: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)
    positions: Mapping[str, Stored] = field(default_factory=dict)


def weights_of(found: Found, choice: str | None = None) -> Weights:
    """The model's tensors in a file, of the copy that was chosen. Raises CheckpointError, in one sentence, for none."""
    left = {
        ".".join(keys): "a training's own state"
        for keys in found.tensors
        if any(_OPTIMIZER.fullmatch(key) for key in keys[:-1]) or _is_moment(".".join(keys).split("."))
    }
    mine = {keys: stored for keys, stored in found.tensors.items() if ".".join(keys) not in left}
    if not mine:
        raise CheckpointError(f"{found.path} holds the state of an optimizer and no weights: give the model's own file")
    if all("_parameters" in keys or "_buffers" in keys for keys in mine):  # the attributes in which a module holds them
        raise CheckpointError(f"{found.path} {PICKLED_MODULE}")
    groups: dict[str, dict[str, Stored]] = {}  # by the keys of dictionaries that lead to them
    for keys, stored in mine.items():
        groups.setdefault(".".join(keys[:-1]), {})[keys[-1]] = stored
    averaged = {name for name in groups if name and _AVERAGES.fullmatch(name.split(".")[0])}
    main = {name: held for name, held in groups.items() if name not in averaged}
    copies = _copies(main, averaged, groups)
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
                    f"{found.path}: {name!r:.80} is of {kind}, as in quantised models: give the weights as they were"
                )
            left[name] = "whole numbers, which are no weights"
            del tensors[name]
    if any(ADAPTER.search(name) for name in tensors) and not any(
        not ADAPTER.search(name) and name.endswith("weight") for name in tensors
    ):
        raise CheckpointError(
            f"{found.path} holds an adapter (LoRA) alone, which changes another model: merge it into that one, and save"
            " the whole"
        )
    values = {".".join(keys): value for keys, value in found.values.items() if not _OPTIMIZER.fullmatch(keys[0])}
    return Weights(tensors, values, copies, left, positions)


def _of_positions(name: str) -> bool:
    """Whether a tensor is of rotary positions or ALiBi by its name, and no matrix of a map or of a table."""
    return not name.endswith((".weight", ".bias")) and any(word.search(name) for word in POSITIONS.values())


def _is_moment(parts: list[str]) -> bool:
    """Whether a tensor is of an optimizer's own state_dict, also where its keys were joined to one name."""
    return parts[-1] in _MOMENTS or (len(parts) > 2 and parts[-3] == "state" and parts[-2].isdecimal())


def _copies(
    main: Mapping[str, Mapping[str, Stored]], averaged: set[str], groups: Mapping[str, Mapping[str, Stored]]
) -> tuple[str, ...]:
    """The names of the copies: the trained weights, and averages of them."""
    first = max(main, key=lambda name: len(main[name]), default=None)
    names = [] if first is None else [first or "weights"]
    return (*names, *sorted(averaged))


def _joined(groups: Mapping[str, Mapping[str, Stored]]) -> dict[str, Stored]:
    """The tensors of all dictionaries of the model: of one its own names, of several (an encoder's, a generator's) with
    the dictionary's name before them, where two would be equal without."""
    largest = max(groups, key=lambda name: len(groups[name]))
    found = dict(groups[largest])
    for name, held in groups.items():
        if name != largest:
            last = name.rsplit(".", 1)[-1]
            found |= {f"{last}.{key}" if last else key: stored for key, stored in held.items()}
    return found


def _unwrapped(tensors: Mapping[str, Stored]) -> dict[str, Stored]:
    """The names without first parts that only say by what the model was wrapped."""
    names = {name: [part for part in name.split(".") if part not in _WRAPPERS] for name in tensors}
    return {".".join(parts): tensors[name] for name, parts in names.items()}


def common_beginnings(names: list[str]) -> list[int]:
    """How many first parts all names share, from none on: attributes that hold the whole model, as in `model.`; at most
    MAX_WRAPPERS, since the layouts are tried behind each."""
    split = [name.split(".") for name in names]
    shared = 0
    while shared < MAX_WRAPPERS and all(
        len(parts) > shared + 1 and parts[shared] == split[0][shared] for parts in split
    ):
        shared += 1
    return list(range(shared + 1))
