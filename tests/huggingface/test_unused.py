"""Tensors of a folder's files that the model has no place for: made anew, named, or refused unless they are left out
by name."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pretrained import KINDS, LABELLED, VERDICTS, folder
from safetensors.torch import load_file, save_file
from torch import Tensor

from viz_transformer.checkpoint import Checkpoint, CheckpointError, describe, devices
from viz_transformer.command import main as program
from viz_transformer.huggingface import load_in_the_app
from viz_transformer.huggingface.loading import load

Written = Callable[[str], Path]
ATTENTION = {
    "gpt2": "transformer.h.{}.attn",
    "llama": "model.layers.{}.self_attn",
    "bert": "bert.encoder.layer.{}.attention.self",
    "t5": "encoder.block.{}.layer.0.SelfAttention",
    "bart": "model.decoder.layers.{}.self_attn",
}
BIASES = {
    "gpt2": ["lm_head.bias"],
    "llama": [f"model.layers.{layer}.self_attn.{each}_proj.bias" for layer in (0, 1) for each in "qkv"],
    "bert": ["bert.embeddings.token_bias"],
    "t5": [f"decoder.block.{layer}.layer.1.EncDecAttention.{each}.bias" for layer in (0, 1) for each in "qkv"],
    "bart": ["lm_head.bias"],
}
HEADS = {
    "gpt2": ["score.weight", "v_head.summary.weight", "v_head.summary.bias"],
    "llama": ["score.weight"],
    "bert": ["classifier.weight", "classifier.bias", "cls.seq_relationship.weight", "qa_outputs.weight"],
    "t5": ["classification_head.dense.weight", "classification_head.out_proj.bias"],
    "bart": ["classification_heads.mnli.dense.weight", "model.classification_head.dense.bias"],
}


def ones(names: list[str], *shape: int) -> dict[str, Tensor]:
    return {name: torch.ones(shape or (32,)) for name in names}


def in_layers(name: str, *ends: str) -> list[str]:
    return [f"{ATTENTION[name].format(layer)}.{end}" for layer in (0, 1) for end in ends]


@pytest.fixture
def with_tensors(written: Written, tmp_path: Path) -> Callable[..., Path]:
    """A folder of this family with more tensors in its file."""

    def make(name: str, more: dict[str, Tensor]) -> Path:
        where = Path(shutil.copytree(written(name), tmp_path / "model"))
        save_file(load_file(where / "model.safetensors") | more, where / "model.safetensors", metadata={"format": "pt"})
        return where

    return make


def refusal(where: Path, **how: list[str]) -> str:
    with pytest.raises(CheckpointError) as raised:
        load(where, **how)
    said = str(raised.value)
    assert str(where) in said and "\n" not in said
    return said


def logits(ckpt: Checkpoint) -> Tensor:
    sources = [[3, 4, 5]] if ckpt.spec.has_encoder else None
    targets = [[3, 4, 5]] if ckpt.spec.has_decoder else None
    return ckpt.hooked_model.whole(sources, targets)


@pytest.mark.parametrize("name", {**KINDS, **LABELLED, **VERDICTS})
def test_a_folder_of_which_each_tensor_is_used_has_no_such_note(opened: Callable[[str], Checkpoint], name: str) -> None:
    assert describe.describe_unused(opened(name).card) is None
    assert not any("no part" in note for note in opened(name).card.get("notes", ()))


REFUSED = {
    "lora": (
        lambda name: ones(in_layers(name, "q.lora_A", "q.lora_B"), 2, 32),
        "4 LoRA matrices (",
        "merge_and_unload",
    ),
    "adapter": (lambda name: ones(in_layers(name, "adapter.down.weight"), 4, 32), "2 adapter tensors (", "merge"),
    "norm": (
        lambda name: ones(in_layers(name, "q_norm.weight", "k_norm.weight")),
        "4 norm tensors (",
        "config.json",
    ),
    "other": (lambda name: ones(in_layers(name, "gate"), 4), "2 tensors of an unknown kind (", "config.json"),
    "first": (lambda name: ones(["embed_norm.weight"]), "1 norm tensor ('embed_norm.weight')", "config.json"),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("name", ATTENTION)
def test_tensors_that_would_change_a_run_are_refused_unless_they_are_left_out_by_name(
    with_tensors: Callable[..., Path], opened: Callable[[str], Checkpoint], name: str, kind: str
) -> None:
    make, what, advice = REFUSED[kind]
    where = with_tensors(name, make(name))
    said = refusal(where)
    assert what in said and advice in said and "would not be the trained model's" in said
    (pattern,) = re.findall(r"ignore=\['(.+?)'\]", said)
    assert f"--ignore '{pattern}'" in said and "\\" not in pattern
    ckpt = load(where, ignore=[pattern])
    short, sentence = describe.describe_unused(ckpt.card) or ("", "")
    assert (
        short.startswith("Opened without ") and "You asked to leave out" in sentence and sentence in ckpt.card["notes"]
    )
    assert torch.equal(logits(ckpt), logits(opened(name))) and ckpt.parameter_count == opened(name).parameter_count


@pytest.mark.parametrize("name", ATTENTION)
def test_biases_of_the_file_alone_are_refused(with_tensors: Callable[..., Path], name: str) -> None:
    names = BIASES[name]
    said = refusal(with_tensors(name, ones(names, *(() if len(names) > 1 else (9,)))))
    assert f"has {len(names)} {'bias' if len(names) == 1 else 'biases'} (" in said, said


@pytest.mark.parametrize("name", ATTENTION)
def test_another_head_is_named_and_changes_nothing(
    with_tensors: Callable[..., Path], opened: Callable[[str], Checkpoint], name: str
) -> None:
    ckpt = load(with_tensors(name, ones(HEADS[name], 2, 32)))
    short, sentence = describe.describe_unused(ckpt.card) or ("", "")
    count = len(HEADS[name])
    assert short.startswith(f"{count} tensor") and short.endswith("no part in a run")
    assert (
        f"{count} tensor{'' if count == 1 else 's'} of another head: " in sentence
        and f"({64 * count:,} num" in sentence
    )
    assert sentence == ckpt.card["notes"][0] and "You asked" not in sentence
    assert torch.equal(logits(ckpt), logits(opened(name)))


def test_a_pooler_that_nothing_reads_is_named(with_tensors: Callable[..., Path]) -> None:
    ckpt = load(with_tensors("bert", ones(["bert.pooler.dense.weight"], 32, 32) | ones(["bert.pooler.dense.bias"])))
    assert "2 pooler tensors: 'bert.pooler.dense.bias' and" in ckpt.card["notes"][0]


@pytest.mark.parametrize(
    ("name", "buffers"),
    [
        (
            "gpt2",
            {"transformer.h.0.attn.bias": torch.ones(1, 1, 8, 8), "transformer.h.0.attn.masked_bias": torch.ones(1)},
        ),
        ("llama", {"model.layers.0.self_attn.rotary_emb.inv_freq": 10_000 ** -(torch.arange(4) / 4)}),
        ("llama", {"model.layers.0.self_attn.rotary_emb.inv_freq": (10_000 ** -(torch.arange(4) / 4)).half()}),
        ("bert", {"bert.embeddings.position_ids": torch.arange(64)[None]}),
        ("t5", {"encoder.version": torch.ones(1)}),
        ("bart", {"model.encoder.version": torch.ones(3), "model.decoder.mask": torch.ones(4, 4).bool()}),
        ("gpt_neox", {"gpt_neox.layers.0.attention.bias": torch.ones(1, 1, 8, 8).bool()}),
        ("m2m_100", {"model.encoder.embed_positions.weights": torch.ones(66, 32)}),
    ],
)
def test_buffers_that_are_made_anew_are_not_remarked_upon(
    with_tensors: Callable[..., Path], name: str, buffers: dict[str, Tensor]
) -> None:
    assert describe.describe_unused(load(with_tensors(name, buffers)).card) is None


def test_frequencies_that_are_not_those_of_the_config_are_refused(with_tensors: Callable[..., Path]) -> None:
    """As of a model that was trained with another base, whose config was lost: it would be run with this one's."""
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    said = refusal(with_tensors("llama", {name: 1e6 ** -(torch.arange(4) / 4)}))
    assert f"1 table of other frequencies than its config makes ('{name}')" in said and "correct rope_theta" in said


def test_frequencies_of_a_model_that_turns_nothing_are_refused(with_tensors: Callable[..., Path]) -> None:
    assert "1 tensor of an unknown kind" in refusal(with_tensors("gpt2", ones(["h.0.attn.rotary.inv_freq"], 4)))


def test_a_bias_with_a_buffers_name_is_refused(with_tensors: Callable[..., Path]) -> None:
    """transformers says nothing of it: by its rules of GPT-2 `attn.bias` is a mask."""
    assert "1 bias ('transformer.h.0.attn.bias')" in refusal(with_tensors("gpt2", ones(["transformer.h.0.attn.bias"])))


def test_what_only_training_reads_is_named(with_tensors: Callable[..., Path]) -> None:
    """Each published T5 has it, and no version of its code uses it."""
    name = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    assert (
        f"1 tensor that only training reads: '{name}'" in load(with_tensors("t5", ones([name], 32, 4))).card["notes"][0]
    )


def test_two_names_for_one_place_are_refused(with_tensors: Callable[..., Path]) -> None:
    """Of which transformers takes one, and says nothing."""
    said = refusal(with_tensors("gpt2", ones(["h.0.ln_1.weight"])))
    assert "1 tensor under a second name ('transformer.h.0.ln_1.weight')" in said and "each tensor once" in said


def test_a_class_that_is_opened_as_another_names_what_it_leaves_out(tmp_path: Path) -> None:
    ckpt = load(folder(tmp_path / "model", "bert", cls="BertForPreTraining"))
    assert "2 pooler tensors" in ckpt.card["notes"][0] and "2 tensors of another head" in ckpt.card["notes"][0]


def test_weights_beside_an_adapters_say_to_merge_them(written: Written, tmp_path: Path) -> None:
    where = Path(shutil.copytree(written("llama"), tmp_path / "model"))
    tensors = load_file(where / "model.safetensors")
    tensors = {name.replace("q_proj.weight", "q_proj.base_layer.weight"): each for name, each in tensors.items()}
    tensors |= ones(["model.layers.0.self_attn.q_proj.lora_A.default.weight"], 2, 32)
    save_file(tensors, where / "model.safetensors", metadata={"format": "pt"})
    assert "beside those of an adapter" in (said := refusal(where)) and "merge_and_unload" in said


def test_weights_of_fewer_bits_are_called_so(written: Written, tmp_path: Path) -> None:
    """As GPTQ stores them, by a folder whose config does not say so."""
    where = Path(shutil.copytree(written("llama"), tmp_path / "model"))
    tensors = load_file(where / "model.safetensors")
    packed = {name: each for name, each in tensors.items() if not name.endswith("q_proj.weight")}
    packed |= {"model.layers.0.self_attn.q_proj.qweight": torch.ones(4, 32, dtype=torch.int32)}
    save_file(packed, where / "model.safetensors", metadata={"format": "pt"})
    assert "has 'model.layers.0.self_attn.q_proj.qweight', as quantised weights have" in refusal(where)


@pytest.mark.parametrize(
    ("name", "dtype", "said"),
    [
        ("model.norm.weight", torch.float8_e4m3fn, "F8_E4M3, as quantised weights have"),
        ("model.norm.weight", torch.int8, "I8, as quantised weights have"),
        ("model.norm.weight", torch.complex64, "C64, which is not read: save it in float32"),
        ("model.norm.weight", torch.int16, "I16, which is not read"),
    ],
)
def test_only_quantised_weights_are_called_so(
    with_tensors: Callable[..., Path], name: str, dtype: torch.dtype, said: str
) -> None:
    assert said in refusal(with_tensors("llama", {name: torch.ones(32).to(dtype)}))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"GGUF" + bytes(300), "model.safetensors is a GGUF file"),
        (bytes(range(40, 240)) * 3, "is neither a safetensors nor a torch file, by its first bytes"),
        (b"PK\x03\x04" + bytes(300), "is a torch file under the name of a safetensors file"),
        (b"\x80\x04N" + bytes(300), "is a plain pickle"),
    ],
)
def test_another_file_under_the_name_of_the_weights_is_called_what_it_is(
    written: Written, tmp_path: Path, content: bytes, said: str
) -> None:
    where = Path(shutil.copytree(written("llama"), tmp_path / "model"))
    (where / "model.safetensors").write_bytes(content)
    assert said in (found := refusal(where)) and "cut off" not in found


def test_a_folder_with_its_weights_as_gguf_says_so(written: Written, tmp_path: Path) -> None:
    where = Path(shutil.copytree(written("llama"), tmp_path / "model"))
    (where / "model.safetensors").rename(where / "model.Q8_0.gguf")
    assert "has its weights only as model.Q8_0.gguf, which is a GGUF file" in refusal(where)


def test_patterns_have_to_match_something_and_be_patterns(with_tensors: Callable[..., Path], written: Written) -> None:
    where = with_tensors("llama", ones(["score.weight"], 2, 32))
    assert load(where, ignore=["score.*"]).card["unused"]["asked"] == 0
    assert "ignore='scores.*' matches none of the tensors that take no part in a run (they are 'score.weight')" in (
        refusal(where, ignore=["score.*", "scores.*"])
    )
    assert "(there are none)" in refusal(written("llama"), ignore=[".*q_proj.*"])
    assert "cannot be read" in refusal(where, ignore=["("]) and "a regular expression" in refusal(where, ignore=["("])
    with pytest.raises(ValueError, match="ignore is for folders of transformers"):
        load("numbers-tiny", ignore=["x"])


def test_patterns_of_the_app_are_for_all_of_its_folders(
    with_tensors: Callable[..., Path], written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_of_the_app", devices.Computed())
    where = with_tensors("llama", ones(in_layers("llama", "q_norm.weight")))
    with pytest.raises(CheckpointError, match="2 norm tensors"):
        load_in_the_app(where)
    devices.compute_folders("cpu", "float32", [".*q_norm.*"])
    assert load_in_the_app(where).card["unused"]["asked"] == 2
    assert "unused" not in load_in_the_app(written("gpt2")).card
    with pytest.raises(CheckpointError, match="cannot be read"):
        devices.compute_folders("cpu", "float32", ["["])


def main(words: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        program(words)
    return int(ended.value.code or 0)


def test_commands_name_what_takes_no_part(
    with_tensors: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    where = with_tensors("llama", ones(in_layers("llama", "q_norm.weight")))
    assert main(["inspect", str(where)]) == 1
    err = capsys.readouterr().err
    assert "2 norm tensors" in err and err.count("\n") == 1
    assert main(["inspect", str(where), "--ignore", ".*q_norm.*"]) == 0
    out, err = capsys.readouterr()
    assert "not used           Opened without 2 norm tensors from its files" in out and not err
    assert "2 tensors of the weights' files (64 numbers) take no part in a run, because LlamaForCausalLM has no" in out
    assert main(["translate", str(where), "two", "--ignore", ".*q_norm.*", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "this is not the model that was trained" in err and json.loads(out)["steps"]
