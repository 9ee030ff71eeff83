"""Folders that would choose code: it is never fetched, imported or run, whatever a folder's settings say."""

from __future__ import annotations

import builtins
import json
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from pretrained import refused
from transformers import CONFIG_MAPPING, PreTrainedConfig, dynamic_module_utils, fusion_mapping, modeling_utils
from transformers.quantizers.auto import AutoHfQuantizer

from viz_transformer.checkpoint import CheckpointError
from viz_transformer.huggingface.code_choices import chooses_code
from viz_transformer.huggingface.families import FAMILIES
from viz_transformer.huggingface.folder import read_folder
from viz_transformer.huggingface.loading import load
from viz_transformer.huggingface.opening import _READ, _config
from viz_transformer.running.tracing import trace

Written = Callable[[str], Path]
KERNEL = "someone/kernel"
CHOICES: dict[str, Any] = {
    "_attn_implementation": KERNEL,
    "_attn_implementation_internal": KERNEL,
    "attn_implementation": {"": KERNEL},
    "_experts_implementation": KERNEL,
    "_experts_implementation_internal": "deepgemm",
    "experts_implementation": KERNEL,
    "use_kernels": True,
    "kernel_config": {"kernel_mapping": {"RMSNorm": f"{KERNEL}:RMSNorm"}},
    "fusion_config": {"patch_embeddings": True},
    "torchscript": True,
    "trust_remote_code": True,
    "custom_generate": "someone/generate",
    "compile_config": {"backend": "someone"},
    "configuration_files": ["config.0.0.json"],
    "gguf_file": "model.gguf",
    "tp_plan": "auto",
    "base_model_tp_plan": {"layers.*": "colwise"},
    "distributed_config": {"tp_size": 1},
    "device_map": "auto",
    "attribute_map": {"innocent": "_attn_implementation"},
    "innocent": KERNEL,
    "sub_configs_defaults": {"text_config": {}},
    "sub_configs": {"text_config": {}},
    "extra_files": ["other.safetensors"],
    "get_text_config": KERNEL,
    "validate": KERNEL,
    "auto_map": {},
    "_auto_class": "AutoModel",
}
"""Entries of a config.json, each of which would choose code."""
PLACES = ("text_config", "encoder", "decoder")


@pytest.fixture
def copied(written: Written, tmp_path: Path) -> Written:
    return lambda name: Path(shutil.copytree(written(name), tmp_path / name.replace("/", "-")))


def change(path: Path, **settings: Any) -> None:
    content = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**content, **settings}))


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was reached that fetches, imports or runs somebody's code."""
    found: list[str] = []

    def watch(where: Any, name: str) -> None:
        def reach(*given: Any, **_: Any) -> Any:
            found.append(name)
            raise RuntimeError(f"{name} was reached")

        monkeypatch.setattr(where, name, reach)

    watch(modeling_utils, "lazy_import_flash_attention")
    watch(modeling_utils, "is_kernel")
    watch(modeling_utils, "kernelize")
    watch(modeling_utils, "maybe_load_adapters")
    watch(fusion_mapping, "register_fusion_patches")
    watch(dynamic_module_utils, "get_cached_module_file")
    watch(dynamic_module_utils, "resolve_trust_remote_code")
    watch(AutoHfQuantizer, "from_config")
    watch(socket.socket, "connect")
    watch(socket, "getaddrinfo")
    watch(subprocess, "Popen")
    watch(builtins, "input")
    monkeypatch.setattr(modeling_utils, "is_kernel", lambda name: found.append("kernel") if "/" in str(name) else False)
    monkeypatch.setattr(modeling_utils, "maybe_load_adapters", lambda path, *_, **given: (None, path, given))
    return found


def with_code(where: Path) -> Path:
    """The folder with files of code, each of which says when it runs."""
    runs = f"open({str(where / 'ran')!r}, 'w')\n"
    for name in ("mine.py", "modeling_llama.py", "custom_generate/generate.py", "kernels/__init__.py"):
        (where / name).parent.mkdir(exist_ok=True)
        (where / name).write_text(runs)
    return where


@pytest.mark.parametrize("family", ["llama", "mixtral", "t5"])
@pytest.mark.parametrize("place", [None, "another_config", *PLACES])
def test_what_would_choose_code_is_taken_out_and_the_run_is_the_same(
    copied: Written, opened: Callable[[str], Any], reached: list[str], family: str, place: str | None
) -> None:
    where, usual = with_code(copied(family)), opened(family)
    reached.clear()
    change(where / "config.json", **({place: CHOICES} if place else CHOICES))
    change(where / "generation_config.json", custom_generate="someone/generate", trust_remote_code=True)
    try:
        found, expected = (trace(ckpt, "two", *(["one"] * (family == "t5"))) for ckpt in (load(where), usual))
    except CheckpointError as error:
        assert place in PLACES and "\n" not in str(error)  # no model of these families has configs within its own
    else:
        assert torch.equal(found["logits"], expected["logits"])
    assert reached == [] and not (where / "ran").exists()


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("family", ["llama", "t5"])
def test_each_of_them_leaves_the_config_as_it_is(copied: Written, family: str, name: str) -> None:
    where = copied(family)
    expected = _config(read_folder(where)).to_dict()
    given = {"innocent": KERNEL} if name == "attribute_map" else {}
    change(where / "config.json", **{name: CHOICES[name], **given})
    config = _config(read_folder(where))
    assert {key: value for key, value in config.to_dict().items() if key != "innocent"} == expected
    assert config._attn_implementation is None and config._experts_implementation is None


def test_every_choice_of_code_in_the_librarys_own_source_is_known() -> None:
    """A name that a later version of transformers reads of a config is found here before a folder can use it."""
    home = Path(transformers.__file__).parent
    sources = [home / name for name in ("modeling_utils.py", "quantizers/auto.py", "integrations/hub_kernels.py")]
    for kind in FAMILIES:
        sources += (home / "models" / CONFIG_MAPPING[kind].__module__.split(".")[2]).glob("modeling_*.py")
    words = r"implementation|kernel|fusion|quantiz|compile|auto_map|remote|custom|_plan|distributed|script|adapter"
    read = re.compile(rf'\bconfig\.(\w*(?:{words})\w*)|getattr\((?:self\.)?config, "(\w*(?:{words})\w*)"')
    known, found = {*dir(PreTrainedConfig)} - {*_READ}, set()
    for source in sources:
        found |= {one or other for one, other in read.findall(source.read_text(encoding="utf-8"))}
    assert "_attn_implementation" in found and "fusion_config" in found
    assert {name for name in found if not chooses_code(name, known)} == {"conv_kernel_size"}  # of a convolution


@pytest.mark.parametrize("place", [None, *PLACES])
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"auto_map": {"AutoConfig": "mine.Mine"}}, "never run"),
        ({"auto_map": "mine.Mine"}, "never run"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, "quantised"),
        ({"per_layer_config": {"0": {"_attn_implementation": KERNEL}}}, "settings of their own"),
    ],
)
def test_what_says_that_the_model_is_another_is_refused(
    copied: Written, reached: list[str], settings: dict[str, Any], said: str, place: str | None
) -> None:
    where = with_code(copied("llama"))
    change(where / "config.json", **({place: settings} if place else settings))
    refused(where, "config.json", said)
    assert reached == [] and not (where / "ran").exists()


@pytest.mark.parametrize(
    "name",
    ["AutoModelForCausalLM", "AutoTokenizer", "AutoProcessor", "pipeline", "LlamaForCausalLM", "Trainer", 7, [1]],
)
@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_a_tokenizers_class_that_is_another_class_of_the_library(
    copied: Written, reached: list[str], file: str, name: object
) -> None:
    where = with_code(copied("llama"))
    change(where / "processor_config.json", auto_map={"AutoProcessor": "mine.Mine"})
    change(where / file, tokenizer_class=name)
    refused(where, "as the class of its tokenizer")
    assert reached == [] and not (where / "ran").exists()


@pytest.mark.parametrize(
    "name", ["tokenizer_object", "vocab", "merges", "post_processor", "tokenizer_padding", "gguf_file", "init_inputs"]
)
def test_what_only_a_program_gives_a_tokenizer(copied: Written, name: str) -> None:
    where = copied("llama")
    change(where / "tokenizer_config.json", **{name: ["/etc/hostname"]})
    refused(where, "tokenizer_config.json", repr(name))


def test_special_tokens_that_name_another_file(copied: Written) -> None:
    """Which transformers would take in the place of tokenizer.json."""
    where = copied("llama")
    shutil.copy(where / "tokenizer.json", where / "other.json")
    change(where / "special_tokens_map.json", tokenizer_file=str(where / "other.json"))
    refused(where, "special_tokens_map.json", "'tokenizer_file'")


def test_weights_of_several_processes_beside_the_checked_ones(copied: Written) -> None:
    where = copied("llama")
    shutil.copy(where / "model.safetensors", where / "shard-00000-model-00001-of-00001.safetensors")
    refused(where, "several processes", "shard-00000")


def test_an_adapter_beside_the_model(copied: Written) -> None:
    where = copied("llama")
    change(where / "adapter_config.json", peft_type="LORA", megatron_core="mine", base_model_name_or_path="mine")
    refused(where, "adapter", "merge_and_unload")
