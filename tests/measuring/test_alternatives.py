"""What nothing in a file tells is measured on its owner's texts: found, or said that they cannot tell it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import viz_transformer as vt
from viz_transformer.checkpoint import CheckpointError
from viz_transformer.checkpoint.contents import bundled_folder
from viz_transformer.checkpoint.importers.importing import Answers, Opened, open_file
from viz_transformer.measuring.alternatives import Texts, measured, read_texts

BUNDLED = bundled_folder()


def without_config(name: str, **more: object) -> Opened:
    """The bundled model's weights and vocabularies alone; of words it is said that blanks part them."""
    folder = BUNDLED / name
    words = {} if name in ("copy", "shakespeare") else {"": "words"}
    source = folder / "source_vocab.json"
    return open_file(
        folder / "model.safetensors",
        Answers(
            source_vocab=source if source.exists() else None,
            target_vocab=folder / "target_vocab.json",
            tokenizers=words,
            **more,  # type: ignore[arg-type]
        ),
    )


def own_texts(name: str, count: int = 12) -> Texts:
    """Test pairs of the model, or lines, with blanks between tokens that are no characters."""
    ckpt = vt.load(BUNDLED / name)
    if ckpt.anatomy.kind == "decoder-only":
        return [source for source, _ in ckpt.examples()[:count]]

    def parted(side: str, text: str) -> str:
        tokenizer = ckpt.own_codec(side).tokenizer  # type: ignore[arg-type]
        return text if tokenizer.kind == "characters" and name == "copy" else " ".join(tokenizer.tokenize(text))

    return [(parted("source", source), parted("target", target)) for source, target in ckpt.examples()[:count]]


UNASKED = {
    "copy": {"bos": "<s>", "eos": "</s>"},
    "numbers-any": {"bos": "<s>", "eos": "</s>"},
    "numbers-tiny": {"bos": "<s>", "eos": "</s>"},
    "taylor": {"bos": "<sos>", "eos": "<eos>"},
    "multi30k-tutorial6": {"bos": "<BOS>", "eos": "<EOS>"},
}
"""Start and end tokens, which are measured elsewhere."""
SLOWER = ("numbers-tiny", 24)
"""With twelve texts its second best is only 0.013 nats behind."""


@pytest.mark.parametrize(
    ("name", "count"),
    [("copy", 12), ("shakespeare", 12), ("multi30k-tutorial6", 12), ("taylor", 12), ("numbers-any", 12), SLOWER],
)
def test_heads_of_a_bundled_model_are_found_from_some_texts(name: str, count: int) -> None:
    config = vt.load(BUNDLED / name).config
    given = {setting: getattr(config, setting) for setting in ("activation", "norm_epsilon", "mask_fill")}
    roles = {} if name == "shakespeare" else dict.fromkeys(("source", "target"), UNASKED[name])
    specials = {f"{side}_{role}": token for side, tokens in roles.items() for role, token in tokens.items()}
    opened, found = measured(without_config(name, settings=given, specials=specials), own_texts(name, count))
    heads = next(each for each in found.tables if each.name == "n_heads")
    assert heads.told and heads.value == opened.plan.setting("n_heads") == config.n_heads
    for setting in ("norm", "embedding_scale", "positions"):
        assert opened.plan.setting(setting) == getattr(config, setting)
    assert found.settled and found.runs > 10 and found.texts == count


def test_what_makes_no_difference_cannot_be_told_and_stays_the_usual_answer() -> None:
    opened, found = measured(without_config("copy"), own_texts("copy"))
    activation = next(each for each in found.tables if each.name == "activation")
    assert not activation.told and activation.value == "relu"
    assert activation.verdict.startswith("cannot be told: ") and activation.verdict.endswith(
        "the usual answer stays, relu"
    )
    origins = {each.name: each.origin for each in opened.plan.settings}
    assert origins["activation"] == "usual answer" and origins["n_heads"] == "measured"


# --- a stack of torch's encoder layers, of which nothing tells whether it reads later tokens

TORCH_NAMES = {
    "decoder.embedding.token.": "embedding.",
    "decoder.layers.": "encoder.layers.",
    "decoder.norm.": "encoder.norm.",
    "self_attention.to_out": "self_attn.out_proj",
    "feed_forward.to_hidden": "linear1",
    "feed_forward.to_out": "linear2",
    "self_residual.norm": "norm1",
    "ffn_residual.norm": "norm2",
    ".gain": ".weight",
    ".offset": ".bias",
    "output.": "linear.",
}


def as_torch_names_it(state: dict[str, torch.Tensor], layers: int) -> dict[str, torch.Tensor]:
    """Our decoder's tensors as nn.TransformerEncoder calls and stacks them."""
    found = {}
    for name, tensor in state.items():
        for ours, theirs in TORCH_NAMES.items():
            name = name.replace(ours, theirs)
        found[name] = tensor
    for layer in range(layers):
        for kind in ("weight", "bias"):
            parts = [
                found.pop(f"encoder.layers.{layer}.self_attention.to_{part}.{kind}")
                for part in ("query", "key", "value")
            ]
            found[f"encoder.layers.{layer}.self_attn.in_proj_{kind}"] = torch.cat(parts)
    return found


def torch_stack(path: Path, *, shuffled: bool = False, **settings: Any) -> Opened:
    """The bundled decoder in torch's names; shuffled: its output's rows exchanged, so that it predicts nothing."""
    ckpt = vt.load(BUNDLED / "shakespeare")
    state = {name: value.clone() for name, value in ckpt.model.state_dict().items()}
    state["output.weight"] = state["decoder.embedding.token.weight"].clone()
    if shuffled:
        order = torch.randperm(len(state["output.weight"]), generator=torch.Generator().manual_seed(0))
        state["output.weight"] = state["output.weight"][order]
    torch.save(as_torch_names_it(state, ckpt.config.decoder_layers), path)
    vocabulary = BUNDLED / "shakespeare" / "target_vocab.json"
    return open_file(path, Answers(source_vocab=vocabulary, settings={"n_heads": 6, **settings}))


SURE = {"mask_fill": "zero-rows", "norm_epsilon": 1e-5, "divisor": "sqrt-head-dim"}


def test_whether_a_stack_reads_earlier_tokens_alone_is_found(tmp_path: Path) -> None:
    before = torch_stack(tmp_path / "m.pt", **SURE, positions="sinusoidal", activation="gelu")
    assert before.plan.config is not None and before.plan.config.kind == "encoder-only"
    (tmp_path / "lines.txt").write_text("\n".join(str(text) for text in own_texts("shakespeare")))
    texts = read_texts(tmp_path / "lines.txt", before)
    assert len(texts) >= 12
    opened, found = measured(before, own_texts("shakespeare"))
    table = found.tables[0]
    assert (table.name, table.value, table.told) == ("causal", True, True) and table.verdict == "True: measured"
    want = vt.load(BUNDLED / "shakespeare").config
    got = opened.plan.config
    assert got is not None and got.kind == "decoder-only"
    assert (got.norm, got.embedding_scale) == (want.norm, want.embedding_scale)
    assert next(each for each in opened.plan.settings if each.name == "causal").origin == "measured"
    losses = dict(table.losses)
    assert losses[True] is not None and losses[False] is not None and losses[True] < losses[False] - 0.5


def test_a_stack_that_predicts_no_next_token_is_not_told_to_be_a_decoder(tmp_path: Path) -> None:
    given = {**SURE, "norm": "pre", "embedding_scale": "sqrt", "positions": "sinusoidal", "activation": "gelu"}
    opened, found = measured(torch_stack(tmp_path / "m.pt", shuffled=True, **given), own_texts("shakespeare"))
    (table,) = found.tables
    assert not table.told and table.value is False
    assert table.verdict == (
        "cannot be told: neither predicts a next token better than counting tokens does; the usual answer stays, False"
    )
    assert opened.plan.config is not None and opened.plan.config.kind == "encoder-only"
    (tmp_path / "lines.txt").write_text("\n".join(str(text) for text in own_texts("shakespeare")))
    words = [word for name, value in {**given, "n_heads": 6}.items() for word in ("--set", f"{name}={value}")]
    files = ["--source-vocab", BUNDLED / "shakespeare" / "target_vocab.json", "--texts", tmp_path / "lines.txt"]
    done = run("import", tmp_path / "m.pt", "--out", tmp_path / "out", *files, *words)
    assert done.returncode == 0, done.stderr
    assert "cannot be told: neither predicts" in done.stdout
    assert vt.load(tmp_path / "out").config.target_vocab_size == 65


def test_a_persons_own_answer_wins_and_is_not_measured() -> None:
    opened, found = measured(without_config("copy", settings={"n_heads": 2}), own_texts("copy"))
    assert opened.plan.setting("n_heads") == 2
    assert "n_heads" not in {each.name for each in found.tables}


def test_the_start_token_of_the_source_is_found_where_the_texts_tell_it() -> None:
    opened, found = measured(without_config("copy", specials={"source_eos": None}), own_texts("copy"))
    roles = {each.name: each for each in found.tables if each.name.startswith(("source_", "target_"))}
    assert set(roles) == {"source_bos", "target_bos", "target_eos"}
    assert roles["target_bos"].told and roles["target_bos"].value == "<s>"
    assert roles["target_eos"].told and roles["target_eos"].value == "</s>"
    del opened


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([("oop", "oop")] * 9, "9 texts that the model can read are too few to measure by: give 10 or more"),
        ([("o" * 99, "oop")] * 20, "0 texts that the model can read are too few"),
        (["oop"] * 20, "is encoder-decoder: give pairs of source and target"),
    ],
)
def test_texts_that_cannot_tell_are_refused(texts: Texts, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        measured(without_config("copy", settings={"max_source": 32}), texts)


def test_a_decoder_is_refused_pairs_and_a_few_letters() -> None:
    opened = without_config("shakespeare")
    with pytest.raises(ValueError, match="is decoder-only: give texts, a line each, not pairs"):
        measured(opened, [("a", "b")] * 10)
    with pytest.raises(ValueError, match="texts of 20 tokens to predict are too few: give 50 or more"):
        measured(opened, ["abc"] * 10)


def test_a_file_that_cannot_be_imported_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot be imported: d_model=32 cannot be split evenly into n_heads=5"):
        read_texts(tmp_path / "none.tsv", without_config("copy", settings={"n_heads": 5}))


# --- in a shell


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "viz_transformer.command", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


@pytest.fixture
def copy(tmp_path: Path) -> list[object]:
    """The words that import the model that copies, without its config and with twelve pairs."""
    pairs = "".join(f"{source}\t{target}\n" for source, target in own_texts("copy"))
    (tmp_path / "pairs.tsv").write_text(pairs)
    folder = BUNDLED / "copy"
    words: list[object] = ["import", folder / "model.safetensors", "--out", tmp_path / "out"]
    words += ["--source-vocab", folder / "source_vocab.json", "--target-vocab", folder / "target_vocab.json"]
    return [*words, "--texts", tmp_path / "pairs.tsv"]


def test_an_import_shows_the_table_and_its_card_keeps_what_was_measured(copy: list[object], tmp_path: Path) -> None:
    done = run(*copy)
    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "n_heads 4 <0.001 4: measured" in lines and "8 1.409" in lines
    assert "n_heads 4 (measured)" in lines
    assert any(
        "12 texts, 171 tokens to predict, 6" in line and "in 2 rounds, until nothing changed" in line for line in lines
    )
    ckpt = vt.load(tmp_path / "out")
    kept = ckpt.card["imported"]
    assert {"name": "n_heads", "value": 4, "origin": "measured"} in kept["settings"]
    assert {"name": "target_eos", "value": "</s>", "origin": "measured"} in kept["settings"]
    table = next(each for each in kept["measured"]["tables"] if each["name"] == "n_heads")
    assert table["losses"][0][0] == 4 and table["told"] is True
    assert ckpt.card["verified"]["grade"] == "plausible"
    assert vt.decode(ckpt, "ooppq").text == "ooppq"
    json.dumps(kept, allow_nan=False)


def test_too_few_texts_end_in_a_sentence_and_leave_nothing(copy: list[object], tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("oop\toop\n" * 9)
    done = run(*copy)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "9 texts that the model can read are too few" in done.stderr
    assert not (tmp_path / "out").exists()
