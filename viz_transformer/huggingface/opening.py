"""Builds the model of a checked folder from safetensors and local files only, without running its code."""

from __future__ import annotations

import copy
import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from threading import Lock
from typing import Annotated, Any

import torch
import transformers
from msgspec import Meta
from transformers import CONFIG_MAPPING, PreTrainedConfig, PreTrainedModel
from transformers.utils import logging as reports

from viz_transformer.checkpoint.describe import UNUSED
from viz_transformer.checkpoint.files import COPY_AGAIN, CheckpointError, explaining, put_error_in_words, sha256
from viz_transformer.checkpoint.store import Checkpoint
from viz_transformer.huggingface import capture
from viz_transformer.huggingface.code_choices import drop_code
from viz_transformer.huggingface.codec import codecs_of, read_tokenizer
from viz_transformer.huggingface.folder import HuggingFaceSummary, Stored, stored_tensors
from viz_transformer.huggingface.hooked_model import HuggingFaceModel
from viz_transformer.huggingface.numbers import check_setting
from viz_transformer.huggingface.self_check import prove
from viz_transformer.huggingface.unused import LORA, MERGE, WRAPPED, describe_quantisation, unused_tensors
from viz_transformer.model.hooked_model import Precision
from viz_transformer.sentences import quote

ONE_AT_A_TIME = Lock()
"""Serialises model building.

Meanwhile transformers replaces functions of torch and its own, for all threads; two at a time would take the
replacements for the originals and leave them there.
"""
FEWER_BITS = {"BF16": "bfloat16", "F16": "float16"}
IN_FEWER_BITS = (
    "Weights are stored in {name}, and computed with in float32, which has each of them exactly; a pass in {name}"
    " itself rounds every result."
)
ROUNDED = (
    "Computed in bfloat16: every result is rounded to 8 bits, by 0.4 % of itself at most, so that a row of weights sums"
    " to 1 up to 0.004. What is recorded are these very numbers."
)
LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
_READ = ("model_type", "num_labels", "output_attentions", "torch_dtype", "rope_scaling", "name_or_path")
"""Config entries that share a name with an attribute of the config class, and are read as entries."""


def open_folder(summary: HuggingFaceSummary, dtype: Precision = "float32", ignore: Sequence[str] = ()) -> Checkpoint:
    """Open the folder's model on the CPU in this dtype, with its tokenizer.

    ignore: name patterns of tensors that may be missing although they would change a run. Raises CheckpointError with
    one sentence.
    """
    folder, stored = summary.path, stored_tensors(summary.path)
    capture.register()
    with ONE_AT_A_TIME, _quietly():
        config = _config(summary)
        tokenizer = read_tokenizer(folder, summary, config)
        cls = _class(summary, config)
        _check_size(summary, cls, config, stored)
        built, unexpected = _model(summary, config, dtype, stored)
        try:
            unused = unused_tensors(built, summary.family, stored, unexpected, ignore)
        except CheckpointError as error:
            raise CheckpointError(f"{folder} {error}") from None
        strange = f"{folder} has other parts than are known here of {summary.family.title} ("
        with explaining(strange, _LEFT_OUT, AttributeError):  # from get_submodule
            model = HuggingFaceModel(built, summary.family, replace(summary.spec, precision=dtype))
        source, target, notes = codecs_of(tokenizer, model, summary)
        if dtype == "float32":
            notes += [IN_FEWER_BITS.format(name=FEWER_BITS[each]) for each in sorted(stored.types & {*FEWER_BITS})]
        else:
            notes.append(ROUNDED)
        try:
            model.tell(prove(model))
        except CheckpointError as error:
            raise CheckpointError(f"{folder} cannot be recorded: {error}") from None
        except Exception as error:  # transformers' code, with settings that fit no pass
            code, why = f"transformers' own code of {summary.family.title}", put_error_in_words(error)
            if dtype == "float32" or not isinstance(error, RuntimeError):
                raise CheckpointError(
                    f"{folder} cannot be run: a trial pass of {code} ends in an error ({why}), so settings of its"
                    " config do not fit each other"
                ) from None
            raise CheckpointError(f"{code} does not run in {dtype} ({why}): choose float32") from None
    card = dict(summary.card)
    if unused is not None:
        card[UNUSED] = unused.to_card(cls.__name__)
        notes.insert(0, card[UNUSED]["sentence"])
    if notes:
        card["notes"] = notes
    return Checkpoint(summary.name, folder, model, source, target, card, _digest(stored))


@contextmanager
def _quietly() -> Iterator[None]:
    """Silence transformers' progress bars and reports; what matters is raised here."""
    said: Any = reports  # has no types
    level, bars = said.get_verbosity(), said.is_progress_bar_enabled()
    said.set_verbosity_error()
    said.disable_progress_bar()
    try:
        yield
    finally:
        said.set_verbosity(level)
        if bars:
            said.enable_progress_bar()


def _config(summary: HuggingFaceSummary) -> PreTrainedConfig:
    """The folder's config without code choices, from the checked entries rather than the file."""
    given = summary.config_file
    kind = given["model_type"]
    if kind == "mistral" and "layer_types" in given:
        kind = "ministral"  # as in AutoConfig
    unread = f"{summary.path} has a config that transformers does not read ("
    with explaining(unread, ")", Exception):  # untrusted file: transformers may raise anything
        cls: Any = CONFIG_MAPPING[kind]
        ours = {field.name for field in fields(cls)} | cls.attribute_map.keys() | {*_READ}
        settings = drop_code(given, ours, {*dir(PreTrainedConfig)} - ours)
        found: PreTrainedConfig = cls.from_dict(settings, name_or_path=str(summary.path))
    return found


def _class(summary: HuggingFaceSummary, config: PreTrainedConfig) -> type[PreTrainedModel]:
    cls = getattr(transformers, summary.architecture, None)
    if not (isinstance(cls, type) and issubclass(cls, PreTrainedModel) and cls.config_class is type(config)):
        raise CheckpointError(
            f"{summary.path} names the class {quote(summary.architecture)}, which transformers"
            f" {transformers.__version__} does not have for its model_type {quote(config.model_type)}"
        )
    return cls


def _check_size(
    summary: HuggingFaceSummary, cls: type[PreTrainedModel], config: PreTrainedConfig, stored: Stored
) -> None:
    """Raise CheckpointError for a model larger than its files, before allocating it."""
    spec, where = summary.spec, summary.path
    layers = spec.encoder_layers + spec.decoder_layers
    groups = getattr(config, "num_hidden_groups", 1)
    check_setting("num_hidden_groups", groups, Annotated[int, Meta(ge=1, le=layers)], where)
    least = layers * spec.d_model**2 + max(spec.source_vocab_size or 0, spec.target_vocab_size or 0)
    least += 2 * spec.d_model * (spec.experts or 0)  # one layer; each may be a module
    if layers > len(stored.shapes) or least > stored.numbers:
        raise CheckpointError(_LARGER.format(where=where, numbers=f"more than {least:,}", stored=f"{stored.numbers:,}"))
    with torch.device("meta"):
        with explaining(f"{where} has a config of which no model can be made (", ")", Exception):
            empty = cls(copy.deepcopy(config))  # a model modifies its config
        numbers = sum(parameter.numel() for parameter in empty.parameters())
    if numbers > stored.numbers + _room(stored):
        raise CheckpointError(_LARGER.format(where=where, numbers=f"{numbers:,}", stored=f"{stored.numbers:,}"))


_LEFT_OUT = "): a setting of its config leaves some out, so it cannot be recorded"
_LARGER = (
    "{where} describes a model of {numbers} numbers, its weights' files have {stored}: they do not belong together, so "
    + COPY_AGAIN
)


def _room(stored: Stored) -> int:
    """Parameters that a model may create itself: computed tables, tied maps."""
    return 2**24 + max(map(math.prod, stored.shapes.values()), default=0)


def _model(
    summary: HuggingFaceSummary, config: PreTrainedConfig, dtype: Precision, stored: Stored
) -> tuple[PreTrainedModel, set[str]]:
    """The model with its weights, and the names of tensors without a place."""
    where, cls = summary.path, _class(summary, config)
    how = "eager" if summary.family.heard else capture.NAME
    given: dict[str, Any] = {"dtype": getattr(torch, dtype), "attn_implementation": how, "use_safetensors": True}
    given["ignore_mismatched_sizes"] = True  # reported and refused below
    if all(WRAPPED.match(name) for name in stored.shapes):
        given["key_mapping"] = {WRAPPED.pattern: ""}
    loading: Any = cls.from_pretrained
    fails = f"{where} cannot be loaded by transformers {transformers.__version__} ("
    with explaining(fails, ")", Exception), torch.random.fork_rng(devices=[]):  # opening draws no random numbers
        model, report = loading(where, config=config, output_loading_info=True, **given, **LOCAL)
    if lacking := sorted(report["missing_keys"]):
        if said := _in_other_form(stored):
            raise CheckpointError(f"{where} {said}")
        if held := _held_by(stored, model):
            raise CheckpointError(
                f"{where} has weights whose names all begin with {quote(f'{held}.')}, as those of a module that holds"
                f" the model as its {held} do: save that part alone, with module.{held}.save_pretrained"
            )
        raise CheckpointError(
            f"{where} lacks {quote(lacking[0])}{_more(len(lacking) - 1)}, which its config asks for: {COPY_AGAIN}"
        )
    if wrong := report.get("mismatched_keys"):
        name, has, wants = sorted(wrong)[0]
        raise CheckpointError(
            f"{where}: {quote(name)} has the shape {list(has)}, its config asks for {list(wants)}: {COPY_AGAIN}"
        )
    kinds = {_kind(name) for name in model.state_dict()}
    if beyond := sorted(name for name in report["unexpected_keys"] if _kind(name) in kinds):
        raise CheckpointError(
            f"{where} has {quote(beyond[0])}{_more(len(beyond) - 1)}, of more layers than its config says: {COPY_AGAIN}"
        )
    for name, parameter in model.named_parameters():
        if not torch.isfinite(parameter).all():
            raise CheckpointError(
                f"{where}: {quote(name)} holds NaN or infinite numbers, so the model cannot run: use weights from"
                " before the training went wrong"
            )
    return model, report["unexpected_keys"]


def _held_by(stored: Stored, model: PreTrainedModel) -> str | None:
    """The common prefix of all names, if the model's names lack it; else None."""
    held = next(iter(stored.shapes), "").partition(".")[0]
    names = model.state_dict()
    same = all(name.startswith(f"{held}.") for name in stored.shapes)
    return held if same and any(name.removeprefix(f"{held}.") in names for name in stored.shapes) else None


def _in_other_form(stored: Stored) -> str | None:
    """How the files store weights in another form, and what to do; None if they do not."""
    matrices = sorted(name for name in stored.shapes if LORA.search(name))
    if any(".base_layer." in name for name in stored.shapes) or matrices:
        first = matrices[0] if matrices else next(name for name in stored.shapes if ".base_layer." in name)
        return f"has its weights beside those of an adapter, such as {quote(first)}: {MERGE}"
    return describe_quantisation(stored.shapes)


def _kind(name: str) -> str:
    """A tensor name without layer numbers."""
    return re.sub(r"\.\d+(?=\.)", ".#", name)


def _more(count: int) -> str:
    return f" and {count:,} more tensors" if count else ""


def _digest(stored: Stored) -> str:
    """Digest of all weights: of the file, or of its shards' digests."""
    digests = [sha256(path) for path in stored.paths]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
