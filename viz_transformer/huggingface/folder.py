"""A `save_pretrained` folder, checked without torch before anything is built.

No code of a folder runs: weights must be safetensors, and custom code is refused. Each fault is one sentence.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.contents import Summary, Unreadable
from viz_transformer.checkpoint.files import COPY_AGAIN, CheckpointError
from viz_transformer.checkpoint.importers.refusals import GGUF, check_kind, is_read, of_type
from viz_transformer.huggingface.code_choices import (
    refuse_arguments,
    refuse_code,
    refuse_other_weights,
    refuse_unknown_specials,
)
from viz_transformer.huggingface.config_overrides import apply_overrides, not_read
from viz_transformer.huggingface.families import FAMILIES, REFUSED, Family
from viz_transformer.huggingface.numbers import check_numbers
from viz_transformer.huggingface.spec import spec_of_config
from viz_transformer.model.hooked_model import OutputKind
from viz_transformer.sentences import quote

INDEX = "model.safetensors.index.json"
ADAPTER, TOKENIZER_CONFIG, GENERATION = "adapter_config.json", "tokenizer_config.json", "generation_config.json"
SPECIALS = "special_tokens_map.json"
TOKENIZER = "tokenizer.json"
PIECES = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "sentencepiece.model", "source.spm")
TOKENIZERS = (TOKENIZER, "vocab.json", "vocab.txt", *PIECES)
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack")
TORCH_BY_ANOTHER_NAME = (
    "is a torch file under the name of a safetensors file, which could run code, so it is not opened: load it where you"
    " trust it, and save it again with save_pretrained"
)
SAVE_AGAIN = "save the model again with save_pretrained"
MAX_FILES = 1000
"""Maximum weights files of one model."""
MAX_TENSORS = 100_000
"""Maximum tensors of one model: 61 layers with 256 experts each have 46,000."""


@dataclass(frozen=True)
class Stored:
    """Headers of a folder's weights: shape and safetensors dtype of each tensor by name."""

    paths: tuple[Path, ...]
    shapes: Mapping[str, tuple[int, ...]]
    dtypes: Mapping[str, str]

    @property
    def types(self) -> frozenset[str]:
        return frozenset(self.dtypes.values())

    @property
    def numbers(self) -> int:
        return sum(map(math.prod, self.shapes.values()))


@dataclass(frozen=True)
class HuggingFaceSummary(Summary):
    """A folder of transformers before its weights are read. architecture: the class to open."""

    architecture: str
    family: Family
    config_file: Mapping[str, Any]

    @property
    def parameter_count(self) -> int:
        """Number of parameters, from the headers of the weights."""
        return stored_tensors(self.path).numbers

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in _weight_files(self.path))

    @property
    def written(self) -> float:
        """Time of the folder's latest file."""
        return max(path.stat().st_mtime for path in self.path.iterdir())

    def snapshots(self) -> tuple[int, ...]:
        return ()

    def history(self) -> list[dict[str, float]]:
        return []

    def examples(self) -> list[tuple[str, str]]:
        return []


def is_huggingface(folder: Path) -> bool:
    """Whether a folder looks written by transformers, complete or not; ours has a format version."""
    if not os.path.isdir(folder):  # os.path: also False for an invalid file name
        return False
    if (folder / files.CONFIG).is_file():
        with suppress(CheckpointError):  # a damaged config says nothing, but other files may
            config = files.read_json_object(folder / files.CONFIG)
            return "format_version" not in config and ("model_type" in config or "architectures" in config)
    return any((folder / name).is_file() for name in (ADAPTER, INDEX, TOKENIZER_CONFIG, GENERATION))


def recognised(entries: Iterable[Summary | Unreadable]) -> tuple[Summary | Unreadable, ...]:
    """The same entries, with unreadable ones described as transformers folders where they are."""
    return tuple(_recognised(entry) if isinstance(entry, Unreadable) else entry for entry in entries)


def _recognised(entry: Unreadable) -> Summary | Unreadable:
    if not entry.path.is_dir() or not is_huggingface(entry.path):
        return entry
    try:
        return replace(read_folder(entry.path), name=entry.name)
    except CheckpointError as error:
        return replace(entry, error=str(error))


def read_folder(folder: Path) -> HuggingFaceSummary:
    """Summary of a folder, reading only the headers of its weights.

    Cached while the files are unchanged. Raises CheckpointError for what cannot be opened.
    """
    names = sorted(path for path in folder.iterdir()) if folder.is_dir() else []
    return _read_folder(folder, tuple((path.name, files.stamp(path)) for path in names))


@lru_cache(maxsize=64)
def _read_folder(folder: Path, _stamps: tuple[tuple[str, tuple[int, ...] | None], ...]) -> HuggingFaceSummary:
    if is_only_weights(folder):
        _weight_files(folder)  # writing the config again would not restore a missing part
    summary = check_settings(folder)
    stored_tensors(folder)
    return summary


def check_settings(folder: Path) -> HuggingFaceSummary:
    """Summary of a folder whose weights may be missing. Raises CheckpointError for what cannot be opened."""
    where = folder / files.CONFIG
    if not where.is_file():
        if (folder / ADAPTER).is_file():
            raise CheckpointError(
                f"{folder} holds only an adapter, not the model that it changes: merge it into that model"
                " (merge_and_unload of peft), and save the result with save_pretrained"
            )
        raise CheckpointError(f"{folder} has no {files.CONFIG}, so nothing says what its weights are: {SAVE_AGAIN}")
    for name in (files.CONFIG, INDEX, *TOKENIZERS):
        _refuse_pointer(folder / name)
    config = files.read_json_object(where)
    refuse_code(config, where)
    if (folder / TOKENIZER_CONFIG).is_file():
        tokenizer = files.read_json_object(folder / TOKENIZER_CONFIG)
        refuse_code(tokenizer, folder / TOKENIZER_CONFIG)
        refuse_arguments(tokenizer, folder / TOKENIZER_CONFIG)
    if (folder / SPECIALS).is_file():
        refuse_unknown_specials(files.read_json_object(folder / SPECIALS), folder / SPECIALS)
    refuse_other_weights(folder)
    if (folder / GENERATION).is_file():
        generation = files.read_json_object(folder / GENERATION)
        check_numbers(generation, folder / GENERATION)
        _check_ids(generation, folder / GENERATION)
    check_numbers(config, where)
    _check_ids(config, where)
    if config.get("transformers_weights") is not None:
        raise CheckpointError(
            f"{where} names a file for its weights ({quote(config['transformers_weights'])}), which is not read: name"
            f" that file {files.WEIGHTS}, and take transformers_weights out"
        )
    family = family_of(config, where)
    architecture, output = _architecture(config, family, where)
    spec = spec_of_config(config, family, output, str(where), verdict=family.verdicts.get(architecture))
    if not any((folder / name).is_file() for name in TOKENIZERS):
        raise CheckpointError(
            f"{folder} has no tokenizer, so no text can be given to the model: add it with tokenizer.save_pretrained"
        )
    sides: dict[str, Any] = {
        "source": {} if spec.has_encoder else None,
        "target": {} if spec.has_decoder else None,
    }
    card = {"task": f"{family.title} ({architecture}), from transformers"}
    return HuggingFaceSummary(folder.absolute().name, folder, spec, sides, card, architecture, family, config)


def _refuse_pointer(path: Path) -> None:
    """Raise CheckpointError for a Git LFS pointer in place of a large file."""
    if path.is_file() and files.read_bytes(path, len(files.POINTER)) == files.POINTER:
        raise CheckpointError(f"{path} {files.FETCH}")


_PLAIN = "give a model of a class that transformers has"


def _check_ids(settings: Mapping[str, Any], path: Path) -> None:
    """Raise CheckpointError if a token that begins or ends an answer is not given by id."""
    for name in ("eos_token_id", "decoder_start_token_id", "forced_bos_token_id"):
        given = settings.get(name)
        several = given if isinstance(given, list) and name != "decoder_start_token_id" else [given]
        if given is not None and any(type(each) is not int for each in several):
            raise CheckpointError(f"{path}: {name} is {quote(given)}, it has to be the id of a token: correct it")


def family_of(config: Mapping[str, Any], where: Path) -> Family:
    """The family of a config, adapted to it. Raises CheckpointError for an unknown or refused one."""
    kind = config.get("model_type")
    if kind is None:
        raise CheckpointError(f"{where} does not say which kind of model it is (model_type): {SAVE_AGAIN}")
    if not isinstance(kind, str) or kind not in FAMILIES:
        why = REFUSED.get(kind) if isinstance(kind, str) else None
        if why is not None:
            raise CheckpointError(f"{where} describes a model of type {quote(kind)}, which cannot be recorded: {why}")
        raise CheckpointError(
            f"{where} has the model_type {quote(kind)}, which is not known here: known are {', '.join(FAMILIES)}"
        )
    family = FAMILIES[kind]
    if config.get("is_decoder") is True and family.kind == "encoder-only":
        raise CheckpointError(
            f"{where} sets up an encoder's family as a decoder, which is not read: {_PLAIN} that is one"
        )
    if config.get("add_cross_attention") is True:
        raise CheckpointError(
            f"{where} adds cross-attention to a decoder alone, which is not read: {_PLAIN} that has it"
        )
    if config.get("inner_group_num") not in (None, 1):
        raise CheckpointError(
            f"{where} makes each layer of several (inner_group_num), which is not known here: {_PLAIN}"
        )
    if (found := not_read(kind, config)) is not None:
        raise CheckpointError(f"{where} sets {found[0]} to {quote(config[found[0]])}, which is not read: {found[1]}")
    return apply_overrides(kind, family, config)


def _architecture(config: Mapping[str, Any], family: Family, where: Path) -> tuple[str, OutputKind]:
    """The class to open, and its kind of output."""
    named = config.get("architectures")
    name = named[0] if isinstance(named, list) and named else None
    if not isinstance(name, str) or not name.isidentifier():
        raise CheckpointError(f"{where} does not name its class (architectures): {SAVE_AGAIN}")
    name = family.instead.get(name, name)
    for ending, output in family.heads.items():
        if name.endswith(ending):
            return name, output
    raise CheckpointError(
        f"{where} names the class {name[:80]}, whose output is not shown here: of {family.title} the classes are opened"
        " that end with "
        f"{', '.join(family.heads)}"
    )


def stored_tensors(folder: Path) -> Stored:
    """Headers of the folder's weights. Raises CheckpointError for missing, pickled, incomplete or damaged weights."""
    paths = _weight_files(folder)
    shapes: dict[str, tuple[int, ...]] = {}
    where: dict[str, str] = {}
    dtypes: dict[str, str] = {}
    for path in paths:
        if check_kind(path) != "safetensors":
            raise CheckpointError(f"{path} {TORCH_BY_ANOTHER_NAME}")
        files.check_tensors_header(path)
        damaged = f"{path} is cut off or damaged ("
        with (
            files.explaining(damaged, f"): {COPY_AGAIN}", (SafetensorError, OSError, ValueError)),
            safe_open(path, framework="np") as file,
        ):
            for name in file.keys():  # noqa: SIM118 (not a dict)
                view = file.get_slice(name)
                if not is_read(dtype := view.get_dtype(), name):
                    raise CheckpointError(f"{path}: {quote(name)} {of_type(dtype, name)}")
                if name in where:
                    raise CheckpointError(
                        f"{folder} has {quote(name)} twice, in {where[name]} and in {path.name}, and transformers"
                        f" takes the second, whatever {INDEX} says: {SAVE_AGAIN}"
                    )
                where[name] = path.name
                shapes[name] = tuple(view.get_shape())
                dtypes[name] = dtype
        if len(shapes) > MAX_TENSORS:
            raise CheckpointError(f"{folder} is not read: its files hold more than {MAX_TENSORS:,} tensors")
    return Stored(paths, shapes, dtypes)


def is_only_weights(folder: Path) -> bool:
    """Whether a folder has an index of weights but no config."""
    return os.path.isfile(folder / INDEX) and not os.path.isfile(folder / files.CONFIG)


def has_weights(folder: Path) -> bool:
    """Whether there are safetensors weights, complete or not."""
    return (folder / files.WEIGHTS).is_file() or (folder / INDEX).is_file()


def _weight_files(folder: Path) -> tuple[Path, ...]:
    """The files that transformers reads, in its order: a single file before an index, or all files of the index."""
    if (folder / files.WEIGHTS).is_file():
        return (folder / files.WEIGHTS,)
    if (folder / INDEX).is_file():
        names = sorted(set(files.read_index(folder / INDEX).values()))
        if len(names) > MAX_FILES or any(Path(name).name != name for name in names):
            raise CheckpointError(f"{folder / INDEX} names files outside its folder, or too many: {COPY_AGAIN}")
        if lacking := [name for name in names if not (folder / name).is_file()]:
            raise CheckpointError(
                f"{folder} lacks {lacking[0]}, a part of its weights that {INDEX} names: {COPY_AGAIN}"
            )
        return tuple(folder / name for name in names)
    pickled = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLED)
    if pickled:
        raise CheckpointError(
            f"{folder} has its weights only as {pickled[0]}, which could run code, so it is not opened: load it where"
            " you trust it, and save it again with save_pretrained, which writes safetensors"
        )
    if others := sorted(path.name for path in folder.glob("*.gguf")):
        raise CheckpointError(f"{folder} has its weights only as {others[0]}, which {GGUF}")
    raise CheckpointError(f"{folder} has no weights ({files.WEIGHTS} or {INDEX}): {SAVE_AGAIN}")
