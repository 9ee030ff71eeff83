"""Numbers of a folder's settings that no model can use: one sentence with the file, the name and what it has to be."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from transformers import CONFIG_MAPPING

from viz_transformer.checkpoint import Checkpoint, CheckpointError
from viz_transformer.huggingface.families import FAMILIES
from viz_transformer.huggingface.loading import load
from viz_transformer.huggingface.numbers import check_numbers, type_of
from viz_transformer.running.decoding import decode

Written = Callable[[str], Path]
BAD = (math.nan, math.inf, -math.inf, "x", 10**400)


@pytest.fixture
def copied(written: Written, tmp_path: Path) -> Written:
    return lambda name: Path(shutil.copytree(written(name), tmp_path / name))


def refused(where: Path, *said: str, file: str = "config.json", **settings: Any) -> None:
    path = where / file
    path.write_text(json.dumps((json.loads(path.read_text()) if path.is_file() else {}) | settings))
    with pytest.raises(CheckpointError) as raised:
        load(where)
    sentence = str(raised.value)
    assert str(where) in sentence and "\n" not in sentence and len(sentence) < 600
    for each in said or settings:
        assert each in sentence, sentence


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        *(("gpt2", "layer_norm_epsilon"), ("llama", "rms_norm_eps"), ("bert", "layer_norm_eps")),
        *(("t5", "layer_norm_epsilon"), ("bert", "hidden_dropout_prob"), ("gpt2", "attn_pdrop")),
        *(("llama", "rope_theta"), ("phi", "partial_rotary_factor"), ("gemma2", "attn_logit_softcapping")),
        *(("gemma2", "query_pre_attn_scalar"), ("cohere", "logit_scale"), ("deepseek_v2", "routed_scaling_factor")),
    ],
)
@pytest.mark.parametrize("value", BAD, ids=lambda value: str(value)[:5])
def test_a_number_that_is_not_one(copied: Written, name: str, setting: str, value: Any) -> None:
    refused(copied(name), setting, "has to be a", **{setting: value})


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("gpt2", {"layer_norm_epsilon": -1e-5}),
        ("llama", {"rms_norm_eps": 2}),
        ("bert", {"hidden_dropout_prob": 1.5}),
        ("llama", {"rope_theta": 0}),
        ("llama", {"rope_theta": -10000.0}),
        ("gemma2", {"final_logit_softcapping": 0.0}),
        ("gemma2", {"query_pre_attn_scalar": 0}),
        ("phi", {"partial_rotary_factor": 1.5}),
    ],
)
def test_a_number_out_of_its_range(copied: Written, name: str, settings: dict[str, Any]) -> None:
    refused(copied(name), *settings, "has to be a", **settings)


@pytest.mark.parametrize("outer", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize(
    "settings", [{"factor": math.nan}, {"factor": 0}, {"low_freq_factor": -1}, {"short_factor": [1.0, math.nan]}]
)
def test_a_number_within_the_settings_of_positions(copied: Written, outer: str, settings: dict[str, Any]) -> None:
    refused(copied("llama"), *settings, **{outer: {"rope_type": "llama3", "factor": 8.0, **settings}})


@pytest.mark.parametrize(
    "settings", [{"temperature": math.nan}, {"repetition_penalty": -1.0}, {"top_p": 2}, {"length_penalty": math.inf}]
)
def test_a_number_of_the_generation_config(copied: Written, settings: dict[str, Any]) -> None:
    refused(copied("gpt2"), *settings, "has to be a", file="generation_config.json", **settings)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        *(("gpt2", "n_embd"), ("llama", "hidden_size"), ("llama", "vocab_size"), ("t5", "d_ff")),
        *(("mixtral", "num_experts"), ("deepseek_v2", "kv_lora_rank"), ("gpt2", "n_positions")),
    ],
)
def test_a_size_of_a_million_million_is_too_large(copied: Written, name: str, setting: str) -> None:
    refused(copied(name), setting, "at most 2,147,483,647", **{setting: 2**40})


@pytest.mark.parametrize("value", [7, "float99", "load", ["float32"], {"": "float32"}, "no such"])
@pytest.mark.parametrize("setting", ["dtype", "torch_dtype"])
def test_a_bad_type_is_said_as_a_bad_type(copied: Written, setting: str, value: Any) -> None:
    refused(copied("llama"), f"{setting}=", "choose 'float32' or 'bfloat16'", **{setting: value})


@pytest.mark.parametrize("value", [2**40, -5, 1.5, "</s>", True, [[1]]])
def test_a_padding_token_that_is_no_id(copied: Written, value: Any) -> None:
    refused(copied("llama"), "the id of a token", pad_token_id=value)


def test_settings_that_fit_no_pass_end_in_a_sentence(copied: Written) -> None:
    refused(copied("bert"), "do not fit each other", chunk_size_feed_forward=7)


def test_each_number_of_the_librarys_configs_has_its_range() -> None:
    """A number that a later version of transformers adds to a family is found here."""
    lacking = set()
    for kind in FAMILIES:
        for field in fields(CONFIG_MAPPING[kind]):
            is_number = any(each in str(field.type) for each in ("int", "float")) and "list" not in str(field.type)
            if is_number and type_of(field.name) is None:
                lacking.add(field.name)
    assert lacking <= {
        *("id2label", "label2id", "dtype", "router_dtype", "problem_type", "inner_group_num"),  # read by themselves
        *("boi_token_index", "eoi_token_index", "image_token_index", "mm_tokens_per_image"),  # of pictures
        *("sparse_pred_ignore_index", "start_n_top", "end_n_top"),  # of training, and of answers to questions
    }


@pytest.mark.parametrize("name", ["llama", "gpt2", "t5", "bert"])
def test_usual_numbers_are_read(opened: Callable[[str], Checkpoint], name: str) -> None:
    ckpt = opened(name)
    check_numbers(json.loads((ckpt.path / "config.json").read_text()), ckpt.path)
    if ckpt.spec.writes:
        assert decode(ckpt, "two", max_steps=2).steps
