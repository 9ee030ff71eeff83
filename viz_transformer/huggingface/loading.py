"""Opens a model from any folder: ours, or one of transformers."""

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
    """How to open a model. everywhere: the patterns cover several folders, so no match in this one is not an error."""

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
    """Open the checkpoint in a folder (ours, or from `save_pretrained`), or the bundled one with that name.

    device: "cpu" or "cuda"; traces are on the CPU either way.
    dtype: "float32" or "bfloat16", for folders of transformers, whatever they are stored in; traces are float32, which
    represents bfloat16 exactly.
    allow_download: download the model, or take it from the hub's cache, if nothing here has that name.
    ignore: regular expressions of full names of tensors without a place in the class. Without them the model opens even
    where they would change a run, and its card says so.
    Runs no code from the folder. Raises CheckpointError with one sentence if anything is missing, damaged, changed, too
    large or of an unsupported kind, or if a pattern of `ignore` matches nothing; ValueError for a missing or full
    device and an unsupported dtype.
    """
    patterns = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    return _opened(where, _Wishes(device=device, dtype=dtype, allow_download=allow_download, ignore=patterns))


def load_in_the_app(folder: Path) -> Checkpoint:
    """Open a folder of transformers with this process' app settings."""
    return _opened(folder, _Wishes(**asdict(computed_in_the_app()), everywhere=True))


def _opened(where: str | Path, wishes: _Wishes) -> Checkpoint:
    check_device(wishes.device)
    check_dtype(wishes.dtype)
    ckpt = _loaded(where, wishes)
    if wishes.device != PROCESSOR:
        module = getattr(ckpt.hooked_model, "model", ckpt.hooked_model)  # transformers' model, or ours
        assert isinstance(module, torch.nn.Module)
        if ckpt.spec.has_decoder:
            is_causal(ckpt.hooked_model)  # tried on the CPU: a GPU may sum in another order for other tokens
        try:
            module.to(wishes.device)
        except torch.OutOfMemoryError:
            raise ValueError(
                f"{ckpt.name} has {ckpt.parameter_count:,} numbers, more than the memory of the GPU has room for:"
                f" choose {PROCESSOR}"
            ) from None
    return ckpt


def check_device(device: str) -> None:
    """Raise ValueError for an unknown or missing device."""
    check_name(device)
    if device != PROCESSOR and not torch.cuda.is_available():
        raise ValueError("torch finds no GPU that it can use, so nothing runs on cuda: choose cpu")


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
    if name is not None:  # the cache names its folders by revision
        summary = replace(summary, name=name.rpartition("/")[2])
    dtype: Precision = "bfloat16" if wishes.dtype == "bfloat16" else "float32"
    ckpt = huggingface.open_folder(summary, dtype, wishes.ignore)
    if not wishes.everywhere:
        names = ckpt.card.get(UNUSED, {}).get("names", [])
        if said := unmatched(match_patterns(wishes.ignore, names), names, "that take no part in a run"):
            raise CheckpointError(f"{folder}: {said}")
    return ckpt
