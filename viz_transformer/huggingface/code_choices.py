"""Settings of a folder that would choose code: what runs, which file is imported, which package is fetched.

No folder may choose that. Settings that select among implementations of the same numbers are removed before
transformers sees them; settings that make the model differ from its class are refused in one sentence. Imports nothing
heavy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.sentences import quote

TAKEN_OUT = frozenset(
    {
        *("attn_implementation", "experts_implementation", "use_kernels", "kernel_config", "use_hub_kernels"),
        *("fusion_config", "compile_config", "torchscript", "trust_remote_code", "custom_generate", "code_revision"),
        *("custom_pipelines", "distributed_config", "tp_plan", "tp_size", "device_map", "configuration_files"),
        *("gguf_file", "auto_map", "quantization_config", "per_layer_config"),
    }
)
"""Names removed from a config.

Also removed: names starting with an underscore (`_attn_implementation` may name a kernels package on the hub), and
methods and attributes of the config's class, which an entry would replace (`attribute_map` could redefine any entry).
"""
KEPT = frozenset({"_name_or_path"})
"""Underscore names that only select among tokenizers of the library."""
_REFUSED = {
    "auto_map": "asks for code of the folder's own (auto_map), which is never run: give a model of a class that"
    " transformers has",
    "quantization_config": "says that the weights are quantised, which is not read: get them in 16 or 32 bits",
    "per_layer_config": "gives layers settings of their own (per_layer_config), which is not read: give a model whose"
    " layers are alike",
}
_OF_TOKENIZERS = frozenset(
    {
        *("tokenizer_object", "tokenizer_padding", "tokenizer_truncation", "post_processor", "vocab", "merges"),
        *("gguf_file", "init_inputs", "_json_padding", "_json_truncation", "_spm_precompiled_charsmap"),
    }
)
"""Arguments of tokenizer classes that settings files never have but could set."""
_PROCESSES = re.compile(r"shard-\d{5}-model-\d{5}-of-\d{5}\.safetensors")
"""Weights written by several processes, which transformers would read instead of all others."""


def refuse_code(settings: Mapping[str, Any], path: Path) -> None:
    """Raise CheckpointError if settings, at any depth, choose code."""
    for inner in _objects(settings):
        for name, why in _REFUSED.items():
            if inner.get(name):
                raise CheckpointError(f"{path} {why}")


def refuse_arguments(settings: Mapping[str, Any], path: Path) -> None:
    """Raise CheckpointError for a tokenizer_config.json with arguments that only a program may pass."""
    for name in sorted(_OF_TOKENIZERS & settings.keys()):
        if settings[name]:
            raise CheckpointError(f"{path} has {quote(name)}, which is not read from a file: take it out")


def refuse_unknown_specials(settings: Mapping[str, Any], path: Path) -> None:
    """Raise CheckpointError for a special_tokens_map.json with anything but special tokens."""
    for name in settings:
        if not name.endswith(("_token", "_tokens")):
            raise CheckpointError(f"{path} has {quote(name)}, which is not a special token: take it out")


def refuse_other_weights(folder: Path) -> None:
    """Raise CheckpointError if transformers would read other weights than model.safetensors, or apply an adapter."""
    for path in folder.iterdir():
        if path.name == "adapter_config.json":
            raise CheckpointError(
                f"{folder} has an adapter beside its weights ({path.name}), which is not read: merge it into the model"
                " (merge_and_unload of peft), and save the result with save_pretrained"
            )
        if _PROCESSES.fullmatch(path.name):
            raise CheckpointError(
                f"{folder} has weights as several processes saved them ({path.name}), which are not read: save the"
                " model again with save_pretrained in one process"
            )


def drop_code(settings: Any, ours: Collection[str], attributes: Collection[str]) -> Any:
    """A copy of the settings without those that choose code, at any depth.

    ours: fields of the config's class. attributes: everything else it has.
    """
    if isinstance(settings, Mapping):
        return {
            name: drop_code(value, ours, attributes)
            for name, value in settings.items()
            if name in ours or name in KEPT or not chooses_code(name, attributes)
        }
    return [drop_code(each, ours, attributes) for each in settings] if isinstance(settings, list) else settings


def chooses_code(name: str, attributes: Collection[str]) -> bool:
    """Whether a config entry could make transformers run other code, unless it is a field of its class."""
    return name in TAKEN_OUT or name in attributes or name.startswith("_")


def _objects(settings: Any) -> Iterator[Mapping[str, Any]]:
    """The object and all objects nested in it."""
    if isinstance(settings, Mapping):
        yield settings
        settings = list(settings.values())
    for each in settings if isinstance(settings, list) else ():
        yield from _objects(each)
