"""Opening whatever folder a model is in: one of ours, or one that transformers wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from viz_transformer import huggingface
from viz_transformer.checkpoint import store
from viz_transformer.checkpoint.contents import find_folder
from viz_transformer.checkpoint.describe import UNUSED
from viz_transformer.checkpoint.devices import FLOAT32, PROCESSOR, check_dtype, check_name, computed_in_the_app
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.ignoring import match_patterns, unmatched
from viz_transformer.checkpoint.store import Checkpoint
from viz_transformer.given import FLAG, PATH, PATTERNS, TEXT, Accepted, takes
from viz_transformer.huggingface.folder import is_huggingface, read_folder
from viz_transformer.huggingface.names import is_name, not_allowed
from viz_transformer.huggingface.path_hints import instead_of
from viz_transformer.model.causality import is_causal
from viz_transformer.model.hooked_model import Precision


@dataclass(frozen=True, kw_only=True)
class _Wishes:
    """How a model is to be opened. everywhere: patterns are for several folders, so that one that matches nothing in
    this one is no mistake."""

    device: str = PROCESSOR
    dtype: str = FLOAT32
    allow_download: bool = False
    ignore: tuple[str, ...] = ()
    everywhere: bool = False


@takes(
    where=Accepted(PATH.accepts, "the path of a folder, or the name of a bundled checkpoint"),
    device=TEXT,
    dtype=TEXT,
    allow_download=FLAG,
    ignore=PATTERNS,
)
def load(
    where: str | Path,
    *,
    device: str = PROCESSOR,
    dtype: str = FLOAT32,
    allow_download: bool = False,
    ignore: Sequence[str] = (),
) -> Checkpoint:
    """The checkpoint in a folder, ours or one from `save_pretrained`, or the bundled one of that name.

    device: where it is computed, "cpu" or "cuda"; traces are on the CPU either way. dtype: in which type a folder of
    transformers is computed, "float32" or "bfloat16", whatever it is stored in; traces have float32 either way, which
    holds each number of bfloat16 exactly. allow_download: fetch the model of this name from the Hugging Face hub, or
    take it from the hub's cache, where nothing here has the name. ignore: regular expressions of the whole names of
    tensors that a folder of transformers has and its class has no place for: without them it is opened even where they
    would change a run, and its card says so.

    Runs no code of the folder's, and needs no network otherwise. Raises CheckpointError, one sentence with the file and
    what to do, if anything is missing, damaged, changed, too large, or of a kind that cannot be recorded, or if an
    `ignore` matches nothing; ValueError for a device that is not there, or has no room for it, and for a type in which
    it is not computed.
    """
    patterns = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    return _opened(where, _Wishes(device=device, dtype=dtype, allow_download=allow_download, ignore=patterns))


def load_in_the_app(folder: Path) -> Checkpoint:
    """The same of a folder of transformers, as the app of this process computes such folders."""
    return _opened(folder, _Wishes(**asdict(computed_in_the_app()), everywhere=True))


def _opened(where: str | Path, wishes: _Wishes) -> Checkpoint:
    check_device(wishes.device)
    check_dtype(wishes.dtype)
    ckpt = _loaded(where, wishes)
    if wishes.device != PROCESSOR:
        module = getattr(ckpt.hooked_model, "model", ckpt.hooked_model)  # what transformers made, or ours itself
        assert isinstance(module, torch.nn.Module)
        if ckpt.spec.has_decoder:
            is_causal(ckpt.hooked_model)  # tried here: a GPU may add in another order where a text has another token
        try:
            module.to(wishes.device)
        except torch.OutOfMemoryError:
            raise ValueError(
                f"{ckpt.name} has {ckpt.parameter_count:,} numbers, more than the memory of the GPU has room for:"
                f" choose {PROCESSOR}"
            ) from None
    return ckpt


def check_device(device: str) -> None:
    """Raise ValueError for a device that is not known, and for one that is not there."""
    check_name(device)
    if device != PROCESSOR and not torch.cuda.is_available():
        raise ValueError("there is no GPU here that torch can use, so nothing runs on cuda: choose cpu")


def _loaded(where: str | Path, wishes: _Wishes) -> Checkpoint:
    if (instead := instead_of(Path(where))) is not None:
        raise CheckpointError(instead)
    try:
        folder, name = find_folder(where), None
    except CheckpointError as error:
        if not is_name(where):
            raise
        name = str(where)
        if not wishes.allow_download:
            raise CheckpointError(f"{error}; {not_allowed(name)}") from None
        if why := huggingface.needs(f"a model from the Hugging Face hub such as {name}"):
            raise CheckpointError(why) from None
        folder = huggingface.fetched(name)
    if not is_huggingface(folder):
        if wishes.dtype != FLOAT32:
            raise ValueError(
                f"{folder.name} is one of this program's own models, which are computed in {FLOAT32}: only folders of"
                " transformers are computed in another type"
            )
        if wishes.ignore:
            raise ValueError(
                f"{folder.name} is one of this program's own models, of which each tensor is used: ignore is for"
                " folders of transformers, and --set ignore=PATTERN for files that are imported"
            )
        return store.load(where)
    summary = read_folder(folder)
    if why := huggingface.needs(f"{folder} is a model of transformers, which"):
        raise CheckpointError(why)
    if name is not None:  # the cache calls its folders by the revision
        summary = replace(summary, name=name.rpartition("/")[2])
    dtype: Precision = "bfloat16" if wishes.dtype == "bfloat16" else "float32"
    ckpt = huggingface.open_folder(summary, dtype, wishes.ignore)
    if not wishes.everywhere:
        names = ckpt.card.get(UNUSED, {}).get("names", [])
        if said := unmatched(match_patterns(wishes.ignore, names), names, "that take no part in a run"):
            raise CheckpointError(f"{folder}: {said}")
    return ckpt
