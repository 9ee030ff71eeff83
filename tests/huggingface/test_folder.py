"""Folders that cannot be opened: each ends in one sentence that says what is wrong and what to do."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from pretrained import KINDS, byte_pieces, folder, refused, tokenizer_of, word_pieces
from safetensors.torch import load_file, save_file

from viz_transformer import huggingface
from viz_transformer.analysis.layers.lens import undefined_lens
from viz_transformer.checkpoint import CheckpointError, list_checkpoints
from viz_transformer.checkpoint.contents import Unreadable
from viz_transformer.huggingface.folder import HuggingFaceSummary, is_huggingface, read_folder, recognised
from viz_transformer.huggingface.hooked_model import HuggingFaceModel
from viz_transformer.huggingface.loading import load
from viz_transformer.running.decoding import decode
from viz_transformer.running.tracing import trace

Written = Callable[[str], Path]


@pytest.fixture
def copied(written: Written, tmp_path: Path) -> Callable[[str], Path]:
    """A folder of one's own to spoil."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(written(name), tmp_path / "model"))

    return copy


def change(path: Path, **settings: Any) -> None:
    """Set these entries of a JSON file; None takes one out."""
    content = json.loads(path.read_text()) | settings
    path.write_text(json.dumps({name: value for name, value in content.items() if value is not None}))


def test_no_config(copied: Written) -> None:
    where = copied("llama")
    (where / "config.json").unlink()
    refused(where, "has no config.json")


@pytest.mark.parametrize("content", ["", "[1, 2]", "{"])
def test_a_damaged_config(copied: Written, content: str) -> None:
    where = copied("llama")
    (where / "config.json").write_text(content)
    assert is_huggingface(where)
    refused(where, "config.json", "copy it again")


def test_only_an_adapter(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    refused(tmp_path, "only an adapter", "merge_and_unload")


def test_no_tokenizer(copied: Written) -> None:
    where = copied("llama")
    for path in where.glob("tokenizer*"):
        path.unlink()
    refused(where, "has no tokenizer", "tokenizer.save_pretrained")


def test_an_empty_tokenizer(copied: Written) -> None:
    where = copied("llama")
    path = where / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"] |= {"vocab": {"<pad>": 0, "<s>": 1, "</s>": 2}, "merges": []}
    path.write_text(json.dumps(content))
    refused(where, "empty vocabulary")


def test_a_tokenizer_of_another_model(tmp_path: Path) -> None:
    where = folder(tmp_path / "model", "bert", tokenizer=byte_pieces, vocabulary=100)
    refused(where, "ids up to 289", "embeddings of 100 tokens", "another model's")


def with_tokens(where: Path, *tokens: str, special: bool = False) -> Path:
    """The folder whose author added tokens to the tokenizer, and did not resize the model."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(where)
    tokenizer.add_tokens([transformers.AddedToken(token, special=special) for token in tokens], special_tokens=special)
    tokenizer.save_pretrained(where)
    return where


@pytest.mark.parametrize("name", ["gpt2", "bert", "t5"])
def test_tokens_that_were_added_without_resizing_the_model_are_named(name: str, tmp_path: Path) -> None:
    where = folder(tmp_path / "model", name, vocabulary=len(tokenizer_of(name)))
    size = len(tokenizer_of(name))
    ckpt = load(with_tokens(where, "<left>", "<right>"))
    said = "The tokenizer has 2 tokens without a row in the model's embeddings, '<left>' and '<right>'; a text with one"
    notes = ckpt.card["notes"]
    assert [note for note in notes if note.startswith(said) and "resize_token_embeddings(len(tokenizer))" in note]
    codec = ckpt.codec("target" if name == "gpt2" else "source")
    assert len(codec.names) == size and codec.encode("the cat").ids
    with pytest.raises(ValueError, match=rf"the text has the token '<right>' \(id {size + 1}\), for which") as no:
        codec.encode("the <right> cat")
    assert "\n" not in str(no.value) and "resize_token_embeddings(len(tokenizer))" in str(no.value)
    with pytest.raises(ValueError, match=f"id '?{size}'? is outside the vocabulary"):
        codec.encode_ids([size])


def test_a_token_that_a_tokenizers_class_adds_hinders_no_text(tmp_path: Path) -> None:
    """As Qwen's class adds its end of text behind whatever tokens an author's own tokenizer has."""
    where = folder(tmp_path / "model", "qwen2", vocabulary=len(byte_pieces()))
    ckpt = load(with_tokens(where, "<|endoftext|>", special=True))
    said = "The tokenizer has 1 token without a row in the model's embeddings, '<|endoftext|>'; a text with one"
    assert ckpt.card["notes"][-1].startswith(said)
    codec = ckpt.codec("target")
    assert max(codec.encode("the <|endoftext|> cat").ids) < len(codec.names)  # it is read in pieces
    assert all(id < len(codec.names) for id in codec.special_ids)
    with pytest.raises(ValueError, match="for which this model has no embedding"):
        ckpt.read_as(special_tokens=True).codec("target").encode("the <|endoftext|> cat")
    assert decode(ckpt, "the cat", max_steps=3).steps


def test_a_token_without_a_row_around_each_text_refuses_the_folder(tmp_path: Path) -> None:
    where = with_tokens(folder(tmp_path / "model", "bert", vocabulary=len(word_pieces())), "<end>", special=True)
    path = where / "tokenizer.json"
    content = json.loads(path.read_text())
    id = len(word_pieces())
    content["post_processor"]["single"][-1]["SpecialToken"]["id"] = "<end>"
    content["post_processor"]["special_tokens"]["<end>"] = {"id": "<end>", "ids": [id], "tokens": ["<end>"]}
    path.write_text(json.dumps(content))
    refused(where, f"puts '<end>' (id {id}) around each text", "resize_token_embeddings(len(tokenizer))")


def test_only_pickled_weights(copied: Written) -> None:
    where = copied("gpt2")
    (where / "model.safetensors").rename(where / "pytorch_model.bin")
    refused(where, "pytorch_model.bin", "could run code", "save_pretrained")


def test_no_weights(copied: Written) -> None:
    where = copied("gpt2")
    (where / "model.safetensors").unlink()
    refused(where, "has no weights")


def renamed(where: Path, beginning: str) -> Path:
    """The folder, the names of whose tensors all begin with this too."""
    tensors = load_file(where / "model.safetensors")
    tensors = {f"{beginning}{name}": tensor for name, tensor in tensors.items()}
    save_file(tensors, where / "model.safetensors", metadata={"format": "pt"})
    return where


@pytest.mark.parametrize("wrapper", ["module.", "_orig_mod.", "module._orig_mod.", "_forward_module."])
@pytest.mark.parametrize("name", ["gpt2", "bert", "t5", "mixtral"])
def test_what_a_model_was_wrapped_in_is_taken_off_the_names(
    copied: Written, written: Written, name: str, wrapper: str
) -> None:
    """As DataParallel and torch.compile put it there; the numbers are the same, bit by bit."""
    wrapped, plain = (load(where).hooked_model for where in (renamed(copied(name), wrapper), written(name)))
    assert isinstance(wrapped, HuggingFaceModel) and isinstance(plain, HuggingFaceModel)
    held, wanted = wrapped.model.state_dict(), plain.model.state_dict()
    assert held.keys() == wanted.keys() and all(torch.equal(held[each], wanted[each]) for each in wanted)


@pytest.mark.parametrize("name", ["gpt2", "bert", "t5", "mixtral"])
def test_weights_of_a_module_that_holds_the_model_are_called_that(copied: Written, name: str) -> None:
    refused(renamed(copied(name), "net."), "names all begin with 'net.'", "module.net.save_pretrained")


def sharded(where: Path) -> Path:
    """The same folder with its weights in two files and an index."""
    tensors = load_file(where / "model.safetensors")
    names = sorted(tensors)
    halves = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, half in halves.items():
        save_file({name: tensors[name] for name in half}, where / file, metadata={"format": "pt"})
    places = {name: file for file, half in halves.items() for name in half}
    (where / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    (where / "model.safetensors").unlink()
    return where


def test_weights_in_two_files_are_those_in_one(copied: Written, opened: Callable[[str], Any]) -> None:
    ckpt, ids = load(sharded(copied("gpt2"))), [[3, 4, 5]]
    assert torch.equal(ckpt.hooked_model.whole(None, ids), opened("gpt2").hooked_model.whole(None, ids))


def same_weights(where: Path, expected: Any) -> None:
    """Each number of the model that is opened is the other's, bit by bit."""
    found, wanted = load(where).hooked_model.model.state_dict(), expected.hooked_model.model.state_dict()
    assert found.keys() == wanted.keys() and len(found) > 20
    for name, tensor in found.items():
        assert torch.equal(tensor, wanted[name]), name


@pytest.mark.parametrize("how", ["the other part", "one part", "another tensor", "fewer tensors"])
def test_each_part_is_read_whatever_the_index_says_of_it(
    copied: Written, opened: Callable[[str], Any], how: str
) -> None:
    """transformers takes from the index which files there are, and what is in them from the files."""
    where = sharded(copied("gpt2"))
    index = where / "model.safetensors.index.json"
    places = json.loads(index.read_text())["weight_map"]
    first, second = sorted(set(places.values()))
    other = {first: second, second: first}
    wrong = {
        "the other part": {name: other[file] for name, file in places.items()},
        "one part": dict.fromkeys(places, first) | {max(places): second},
        "another tensor": {"no.such.weight": first, **places},
        "fewer tensors": {"x": first, "y": second},
    }
    assert wrong[how] != places
    change(index, weight_map=wrong[how])
    same_weights(where, opened("gpt2"))


def test_an_index_that_names_not_all_parts(copied: Written) -> None:
    where = sharded(copied("gpt2"))
    places = json.loads((where / "model.safetensors.index.json").read_text())["weight_map"]
    first = min(places.values())
    change(where / "model.safetensors.index.json", weight_map=dict.fromkeys(places, first))
    refused(where, "lacks '", "more tensors", "its config asks for")


def test_a_tensor_in_two_parts(copied: Written) -> None:
    """Of which transformers would take the last one, even where the index names the first."""
    where = sharded(copied("gpt2"))
    first, second = sorted(where.glob("model-*.safetensors"))
    tensors = load_file(first)
    name = next(each for each in sorted(tensors) if tensors[each].dim() == 2)
    save_file({**load_file(second), name: tensors[name] + 1}, second, metadata={"format": "pt"})
    refused(where, f"has '{name}' twice, in {first.name} and in {second.name}", "transformers takes the second")


def test_one_file_of_weights_is_read_and_counted_where_an_index_stands_too(
    copied: Written, opened: Callable[[str], Any], written: Written
) -> None:
    """As transformers does it: of a model that was saved again beside the parts of one before."""
    where = sharded(copied("gpt2"))
    for part in where.glob("model-*.safetensors"):
        tensors = load_file(part)
        save_file({name: 0 * tensor[..., :1].contiguous() for name, tensor in tensors.items()}, part)
    shutil.copyfile(written("gpt2") / "model.safetensors", where / "model.safetensors")
    same_weights(where, opened("gpt2"))
    assert load(where).parameter_count == opened("gpt2").parameter_count
    assert read_folder(where).parameter_count == read_folder(written("gpt2")).parameter_count
    assert load(where).weights_sha256 == opened("gpt2").weights_sha256


def test_weights_in_a_file_that_the_config_names(copied: Written) -> None:
    where = copied("gpt2")
    (where / "model.safetensors").rename(where / "other.safetensors")
    change(where / "config.json", transformers_weights="other.safetensors")
    refused(where, "config.json", "'other.safetensors'", "name that file model.safetensors")
    (where / "other.safetensors").rename(where / "model.safetensors")
    change(where / "config.json", transformers_weights=None)
    load(where)


def test_a_missing_part_of_the_weights(copied: Written) -> None:
    where = sharded(copied("gpt2"))
    (where / "model-00002-of-00002.safetensors").unlink()
    refused(where, "lacks model-00002-of-00002.safetensors")


def test_an_index_that_names_a_file_elsewhere(copied: Written) -> None:
    where = sharded(copied("gpt2"))
    change(where / "model.safetensors.index.json", weight_map={"a": "../../secret.safetensors"})
    refused(where, "outside its folder")


def test_weights_that_are_cut_off(copied: Written) -> None:
    where = copied("gpt2")
    path = where / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-64])
    refused(where, "cut off or damaged")


def test_fewer_layers_than_the_config_says(copied: Written) -> None:
    where = copied("llama")
    change(where / "config.json", num_hidden_layers=3)
    refused(where, "lacks 'model.layers.2.", "more tensors", "its config asks for")


@pytest.mark.parametrize(
    ("family", "layers", "named"),
    [
        ("llama", "num_hidden_layers", "'model.layers.1.input_layernorm.weight' and 8 more tensors"),
        ("t5", "num_decoder_layers", "'decoder.block.1.layer.0.SelfAttention.k.weight' and 12 more tensors"),
        ("mixtral", "num_hidden_layers", "'model.layers.1."),
    ],
)
def test_more_layers_than_the_config_says(copied: Written, family: str, layers: str, named: str) -> None:
    where = copied(family)
    change(where / "config.json", **{layers: 1})
    refused(where, f"has {named}", "of more layers than its config says")


def test_parts_that_no_class_of_this_kind_has_do_no_harm(copied: Written, opened: Callable[[str], Any]) -> None:
    """Such as the head of the pretraining, or the buffers that older versions wrote."""
    where = copied("gpt2")
    tensors = load_file(where / "model.safetensors")
    further = {"transformer.h.0.attn.bias": torch.ones(1, 1, 64, 64), "multiple_choice_head.weight": torch.ones(3)}
    save_file(tensors | further, where / "model.safetensors", metadata={"format": "pt"})
    ckpt, ids = load(where), [[3, 4, 5]]
    assert torch.equal(ckpt.hooked_model.whole(None, ids), opened("gpt2").hooked_model.whole(None, ids))


def test_one_missing_tensor(copied: Written) -> None:
    where = copied("bart")
    tensors = load_file(where / "model.safetensors")
    del tensors["model.decoder.layers.1.fc1.bias"]
    save_file(tensors, where / "model.safetensors", metadata={"format": "pt"})
    refused(where, "lacks 'model.decoder.layers.1.fc1.bias', which its config asks for")


def test_other_sizes_than_the_config_says(copied: Written) -> None:
    where = copied("llama")
    change(where / "config.json", intermediate_size=40)
    refused(where, "'model.layers.0.mlp.down_proj.weight' has the shape [32, 48], its config asks for [32, 40]")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_clone_without_its_large_files(copied: Written, name: str) -> None:
    where = copied("llama")
    (where / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0a\nsize 9\n")
    refused(where, f"{name} is a pointer to a file that was not downloaded", "git lfs pull")


def test_pointers_beside_what_is_read_do_no_harm(copied: Written) -> None:
    where = copied("gpt2")
    (where / "pytorch_model.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0a\nsize 9\n")
    assert load(where).spec.decoder_layers == 2


@pytest.mark.parametrize(
    "settings", [{"hidden_act": "gelul"}, {"rope_scaling": {"rope_type": "gelul"}, "rope_parameters": None}]
)
def test_a_setting_that_names_what_there_is_not(copied: Written, settings: dict[str, Any]) -> None:
    where = copied("llama")
    change(where / "config.json", **settings)
    refused(where, "a config of which no model can be made (nothing is found under the name 'gelul')")


def test_numbers_that_are_not_finite(copied: Written) -> None:
    where = copied("gpt2")
    tensors = load_file(where / "model.safetensors")
    tensors["transformer.h.0.ln_1.weight"][3] = torch.nan
    save_file(tensors, where / "model.safetensors", metadata={"format": "pt"})
    refused(where, "transformer.h.0.ln_1.weight", "NaN or infinite")


@pytest.mark.parametrize("settings", [{"num_hidden_layers": 200}, {"hidden_size": 10**6}, {"vocab_size": 10**9}])
def test_an_enormous_config_is_refused_before_anything_is_built(copied: Written, settings: dict[str, int]) -> None:
    where = copied("llama")
    change(where / "config.json", **settings)
    refused(where, "do not belong together")


@pytest.mark.parametrize("family", ["llama", "t5"])
def test_more_layers_than_can_be_looked_at_are_refused_before_points_are_named_for_each(
    copied: Written, family: str
) -> None:
    where = copied(family)
    change(where / "config.json", **dict.fromkeys(("num_hidden_layers", "num_decoder_layers"), 10**9))
    refused(where, "describes 1,000,000,000 layers, at most 256")


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        ("bert", {"do_layer_norm_before": False}),
        ("bert", {"use_parallel_residual": False}),
        ("t5", {"_remove_final_layer_norm": True, "do_layer_norm_before": False}),
    ],
)
def test_settings_of_other_families_change_nothing(copied: Written, family: str, settings: dict[str, bool]) -> None:
    where = copied(family)

    def said() -> tuple[Any, ...]:
        spec = read_folder(where).spec
        return spec.kind, spec.norm, spec.final_norm, [point.name for point in spec.recorded]

    before = said()
    change(where / "config.json", **settings)
    assert said() == before


@pytest.mark.parametrize(
    ("family", "settings", "said"),
    [
        ("switch_transformers", {"num_experts": 2**30}, "do not belong together"),
        ("albert", {"num_hidden_groups": 2**30}, "num_hidden_groups=1073741824 has to be a whole number from 1 to"),
        ("albert", {"num_hidden_groups": 0}, "num_hidden_groups=0 has to be a whole number from 1 to"),
    ],
)
def test_parts_without_number_are_refused_before_anything_is_built(
    copied: Written, family: str, settings: dict[str, int], said: str
) -> None:
    where = copied(family)
    change(where / "config.json", **settings)
    refused(where, said)


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_code_of_the_folders_own_is_never_run(copied: Written, file: str) -> None:
    where = copied("llama")
    (where / "mine.py").write_text("raise SystemExit('this ran')")
    change(where / file, auto_map={"AutoModelForCausalLM": "mine.Mine", "AutoTokenizer": ["mine.Mine", None]})
    refused(where, "auto_map", "never run")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("no_such_model", "not known here: known are gpt2"),
        ("mamba", "no attention"),
        ("rwkv", "no attention"),
        ("mpt", "interface"),
        ("longformer", "interface"),
        ("whisper", "more than text"),
        ("wav2vec2", "more than text"),
        ("vit", "more than text"),
    ],
)
def test_types_that_are_not_recorded(copied: Written, kind: str, said: str) -> None:
    where = copied("llama")
    change(where / "config.json", model_type=kind)
    refused(where, kind, said)


def test_a_class_whose_output_is_not_shown(copied: Written) -> None:
    where = copied("bert")
    change(where / "config.json", architectures=["BertForMultipleChoice"])
    refused(where, "BertForMultipleChoice", "ForMaskedLM")


def test_a_class_of_another_family(copied: Written) -> None:
    where = copied("llama")
    change(where / "config.json", architectures=["GPT2LMHeadModel"])
    refused(where, "GPT2LMHeadModel", "does not have for its model_type 'llama'")


def test_quantised_weights(copied: Written) -> None:
    where = copied("llama")
    change(where / "config.json", quantization_config={"quant_method": "gptq", "bits": 4})
    refused(where, "quantised")


def test_weights_of_whole_numbers(copied: Written) -> None:
    where = copied("llama")
    save_file({"model.norm.weight": torch.ones(32, dtype=torch.int8)}, where / "model.safetensors")
    refused(where, "I8", "quantised")


@pytest.mark.parametrize("setting", ["eos_token_id", "decoder_start_token_id"])
def test_an_answer_without_an_end_or_a_beginning(copied: Written, setting: str) -> None:
    where = copied("bart")
    for path in (where / "generation_config.json", where / "config.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {setting: None}))
    refused(where, setting, "generation_config.json")


def test_a_decoder_without_an_end_token_says_where_its_answers_end(copied: Written) -> None:
    where = copied("llama")
    for path in (where / "generation_config.json", where / "config.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"eos_token_id": None}))
    ckpt = load(where)
    assert any("No end token is named" in note for note in ckpt.card["notes"])
    run = decode(ckpt, "two")
    assert run.steps and len(run.trace.tgt) == ckpt.spec.max_target


def test_a_model_that_writes_nothing_needs_no_end_token(tmp_path: Path) -> None:
    """Its config has that of another vocabulary, by default."""
    ckpt = load(folder(tmp_path / "model", "gpt2", cls="GPT2Model", eos_token_id=50256))
    assert not ckpt.spec.writes and "logits" not in trace(ckpt, "two")
    assert "no output layer" in (undefined_lens(ckpt.spec, "decoder") or "")


def test_an_end_token_beyond_the_vocabulary(copied: Written) -> None:
    where = copied("llama")
    change(where / "generation_config.json", eos_token_id=[2, 5000])
    refused(where, "5,000", "beyond its vocabulary")


@pytest.mark.parametrize("file", ["generation_config.json", "config.json"])
@pytest.mark.parametrize("given", ["</s>", ["</s>"], True, 2.5])
def test_an_end_token_that_is_not_an_id(copied: Written, file: str, given: object) -> None:
    where = copied("llama")
    change(where / file, eos_token_id=given)
    refused(where, f"{file}: eos_token_id=", "has to be the id of a token")


@pytest.mark.parametrize("content", ["not JSON", "[1]"])
def test_a_generation_config_that_is_damaged(copied: Written, content: str) -> None:
    where = copied("llama")
    (where / "generation_config.json").write_text(content)
    refused(where, "generation_config.json", "copy it again")


def test_no_type(copied: Written) -> None:
    where = copied("llama")
    change(where / "config.json", model_type=None)
    refused(where, "does not say which kind of model it is (model_type)")


def test_links_that_lead_to_each_other(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refused(tmp_path / "loop", "there is no checkpoint")


def test_without_the_libraries_a_folder_says_which_command_adds_them(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface, "NEEDED", ("no_such_library",))
    refused(written("gpt2"), "needs no_such_library", 'pip install -e ".[hf]"')


def test_opening_asks_no_network(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert load(written("t5")).spec.kind == "encoder-decoder"


def test_a_setting_that_leaves_out_a_part(tmp_path: Path) -> None:
    where = folder(tmp_path / "model", "stablelm", use_parallel_residual=True)
    with pytest.raises(CheckpointError, match="has other parts than are known here of StableLM"):
        load(where)


def test_layers_of_several_layers(copied: Written) -> None:
    where = copied("albert")
    change(where / "config.json", inner_group_num=2)
    refused(where, "inner_group_num")


def test_layers_that_are_gone_through_several_times_are_counted_once(opened: Callable[[str], Any]) -> None:
    ckpt = opened("albert/groups")
    first, second, third = (ckpt.hooked_model.parameters_of(f"encoder.{layer}.self").out.weight for layer in range(3))
    assert first is second and third is not first
    stored = sum(tensor.numel() for tensor in load_file(ckpt.path / "model.safetensors").values())
    assert ckpt.parameter_count == stored


def test_folders_that_are_opened_at_once_are_all_opened(written: Written) -> None:
    names = ["gpt2", "bert", "bart", "t5"]
    folders = [written(name) for name in names] * 2
    with ThreadPoolExecutor(len(folders)) as pool:
        opened = list(pool.map(load, folders))
    assert [ckpt.weights_sha256 for ckpt in opened[:4]] == [ckpt.weights_sha256 for ckpt in opened[4:]]
    assert load(written("gpt2")).parameter_count == opened[0].parameter_count


@pytest.mark.parametrize("name", KINDS)
def test_a_folder_is_described_before_its_weights_are_read(
    written: Written, opened: Callable[[str], Any], name: str
) -> None:
    summary, ckpt = read_folder(written(name)), opened(name)
    assert summary.spec == ckpt.spec or {
        field: getattr(summary.spec, field) for field in ("attentions", "recorded", "derived", "missing", "output")
    } == {field: getattr(ckpt.spec, field) for field in ("attentions", "recorded", "derived", "missing", "output")}
    assert summary.architecture in KINDS[name][0] and summary.parameter_count > 0


def test_folders_stand_in_the_list_beside_ours(written: Written, tmp_path: Path) -> None:
    shutil.copytree(written("gpt2"), tmp_path / "good")
    shutil.copytree(written("gpt2"), tmp_path / "spoilt")
    change(tmp_path / "spoilt" / "config.json", model_type="mamba")
    (tmp_path / "nothing").mkdir()
    good, nothing, spoilt = recognised(list_checkpoints(tmp_path))
    assert isinstance(good, HuggingFaceSummary) and good.spec.decoder_layers == 2
    assert isinstance(spoilt, Unreadable) and "no attention" in spoilt.error
    assert isinstance(nothing, Unreadable)
