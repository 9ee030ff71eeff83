"""`viz-transformer import`: a stranger's file becomes a checkpoint folder, or one sentence says why not."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from strangers import SRC, TGT, Gpt, Lab

import viz_transformer as vt
from viz_transformer.checkpoint import describe
from viz_transformer.checkpoint.importers.import_report import report_rows
from viz_transformer.checkpoint.importers.importing import Answers, all_settings, codecs_of, open_file
from viz_transformer.checkpoint.importers.vocabularies import usual_specials
from viz_transformer.command.importing import _asked
from viz_transformer.ui.pages.models.view import config_rows

CHARACTERS = "\n abcdefghijk"
Command = Callable[..., Any]


@pytest.fixture
def nano(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    stoi = {sign: id for id, sign in enumerate(CHARACTERS)}
    content = {"model": Gpt(mini=False).state_dict(), "model_args": {"n_head": 3, "block_size": 16}, "iter_num": 2}
    torch.save(content, tmp_path / "ckpt.pt")
    (tmp_path / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": 13, "stoi": stoi}))
    return tmp_path


def test_a_nanogpt_and_its_characters_are_imported_and_run_by_the_command(command: Command, nano: Path) -> None:
    done = command("import", nano / "ckpt.pt", "--out", nano / "out", "--target-vocab", nano / "meta.pkl")
    assert done.status == 0, done.err
    assert "n_heads          3 (from the file)" in done.out
    usual = "usual answer: nothing in the file tells; --set activation=... for another"
    assert f"activation       gelu ({usual})" in done.out
    ckpt = vt.load(nano / "out")
    assert vt.trace(ckpt, "bad\n").tgt_tokens == ("b", "a", "d", "\n")
    assert {each["name"]: each["origin"] for each in ckpt.card["imported"]["settings"]}["activation"] == "usual answer"


def test_without_a_vocabulary_tokens_are_ids(command: Command, nano: Path) -> None:
    done = command("import", nano / "ckpt.pt", "--out", nano / "out", "--set", "activation=relu")
    assert done.status == 0, done.err
    ckpt = vt.load(nano / "out")
    assert ckpt.config.activation == "relu"
    assert vt.trace(ckpt, "3 12 0").tgt_ids == (3, 12, 0)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (12, "1 of the model's 13 ids: it is called ‹id 12›, and no text turns into it"),
        (5, "8 of the model's 13 ids: they are called ‹id 5› to ‹id 12›, and no text turns into them"),
    ],
)
def test_ids_that_a_vocabulary_does_not_name_are_counted_and_called_by_their_ids(
    command: Command, nano: Path, names: int, said: str
) -> None:
    """By the import, by inspect and on the card; what they are called is no text's word, nor a special token's."""
    tokens = ["<unk>", "<3>", *(f"w{id}" for id in range(2, names))]
    (nano / "v.txt").write_text("\n".join(tokens))
    done = command("import", nano / "ckpt.pt", "--out", nano / "out", "--target-vocab", nano / "v.txt")
    assert done.status == 0, done.err
    assert f"no token         the target vocabulary has no token for {said}; give --target-vocab" in done.out
    ckpt = vt.load(nano / "out")
    assert ckpt.card["notes"] == [f"The target vocabulary has no token for {said}."]
    assert f"The target vocabulary has no token for {said}." in command("inspect", nano / "out").out
    codec = ckpt.own_codec("target")
    assert set(codec.encode(" ".join(["‹id", "12›", "‹id 12›", "<12>"])).ids) == {0}
    assert not usual_specials(codec.vocabulary.tokens[names:])


def test_a_vocabulary_that_names_all_ids_is_not_remarked_upon(command: Command, nano: Path) -> None:
    done = command("import", nano / "ckpt.pt", "--out", nano / "out", "--target-vocab", nano / "meta.pkl")
    assert done.status == 0 and "no token" not in done.out
    assert vt.load(nano / "out").card["notes"] == []


def test_a_mapping_that_was_written_makes_the_same_model(command: Command, tmp_path: Path) -> None:
    torch.save(Lab().state_dict(), tmp_path / "m.pt")
    words = ("import", tmp_path / "m.pt", "--heads", 3)
    first = command(*words, "--out", tmp_path / "a", "--write-map", tmp_path / "map.json")
    assert first.status == 0, first.err
    settings = [
        f"{key}={value}" for key, value in (("norm", "post"), ("mask_fill", "-inf"), ("positions", "sinusoidal"))
    ]
    more = [word for setting in settings for word in ("--set", setting)]
    second = command(*words, "--out", tmp_path / "b", "--map", tmp_path / "map.json", *more)
    assert second.status == 0, second.err
    a, b = vt.load(tmp_path / "a"), vt.load(tmp_path / "b")
    assert torch.equal(vt.trace(a, [4, 5], [3, 2])["logits"], vt.trace(b, [4, 5], [3, 2])["logits"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "norm"], "is not KEY=VALUE"),
        (["--set", "nrom=pre"], "'nrom' is not known: choose"),
        (["--set", "norm=middle"], "norm='middle' is not known"),
        (["--heads", "5"], "cannot be split evenly into n_heads=5"),
        (["--layout", "gpt"], "another layout than gpt"),
        (["--set", "weights=ema"], "no weights named 'ema'"),
        (["--source-vocab", "missing.json"], "missing.json is missing"),
        (["--map", "missing.json"], "missing.json is missing"),
    ],
)
def test_wrong_answers_end_in_a_sentence_and_leave_nothing(
    command: Command, words: list[str], said: str, tmp_path: Path
) -> None:
    torch.save(Lab().state_dict(), tmp_path / "m.pt")
    done = command("import", tmp_path / "m.pt", "--out", tmp_path / "out", *words)
    assert done.status == 1 and said in done.err and done.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.pt"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('["a", "a"]', "twice"),
        ('{"a": 0, "b": 2}', "none with the id 1"),
        ('{"a": 0, "b": "1"}', "ids are whole numbers"),
        ("[1]", "not a text"),
        (json.dumps([str(id) for id in range(99)]), "99 tokens, the model has 14"),
        ("3", "is not a vocabulary"),
        ("", "is empty"),
    ],
)
def test_a_vocabulary_that_cannot_be_is_refused(command: Command, content: str, said: str, tmp_path: Path) -> None:
    torch.save(Lab().state_dict(), tmp_path / "m.pt")
    (tmp_path / "v.json").write_text(content)
    done = command(
        "import", tmp_path / "m.pt", "--out", tmp_path / "out", "--heads", 3, "--source-vocab", tmp_path / "v.json"
    )
    assert done.status == 1 and said in done.err
    assert not (tmp_path / "out").exists()


def test_a_pickled_vocabulary_of_another_program_is_refused_with_the_line_that_writes_it(
    command: Command, tmp_path: Path
) -> None:
    torch.save(Lab().state_dict(), tmp_path / "m.pt")
    (tmp_path / "v.pkl").write_bytes(pickle.dumps(Path("x")))
    done = command("import", tmp_path / "m.pt", "--out", tmp_path / "out", "--source-vocab", tmp_path / "v.pkl")
    assert done.status == 1 and "json.dump(" in done.err


@pytest.fixture
def lab(command: Command, tmp_path: Path) -> Path:
    """A model's file, and a sample of it that the printed lines wrote where it was trained."""
    torch.manual_seed(0)
    torch.save((model := Lab()).state_dict(), tmp_path / "m.pt")
    printed = command("import", "--sample-script")
    assert printed.status == 0 and printed.out.count("\n") <= 44
    exec(compile(printed.out.replace("sample.npz", str(tmp_path / "sample.npz")), "script", "exec"), {"model": model})
    return tmp_path


def test_the_printed_lines_write_a_sample_that_proves_the_import(command: Command, lab: Path) -> None:
    with np.load(lab / "sample.npz") as sample:
        assert sample["source"].shape == (3, 40) and sample["logits"].shape == (3, 40, 13)
    done = command("import", lab / "m.pt", "--out", lab / "out", "--heads", 3, "--sample", lab / "sample.npz")
    assert done.status == 0, done.err
    assert "verified    proved" in done.out and "confirms none of it" in done.out
    assert done.out.endswith(f"{lab / 'out'}\n")
    card = vt.load(lab / "out").card
    assert card["verified"]["grade"] == "proved" and card["verified"]["sample"] == "sample.npz"
    assert card["verified"]["sentence"].endswith("; that proves it for texts of up to 40 tokens")
    inspected = command("inspect", lab / "out").out
    assert "proved: the owner's sample is reproduced, 1,560 logits: largest difference" in inspected


def test_a_sample_that_is_not_reproduced_fails_loudly_and_the_folder_says_so(command: Command, lab: Path) -> None:
    words = ("import", lab / "m.pt", "--out", lab / "out", "--sample", lab / "sample.npz")
    done = command(*words, "--heads", 2)
    assert done.status == 1 and done.err.count("\n") == 1
    assert done.err.startswith("the owner's sample is NOT reproduced, 1,560 logits: largest difference")
    assert done.err.endswith(f"{lab / 'out'} was written, and its card says so\n")
    assert "verified    failed" in done.out
    assert "failed: the owner's sample is NOT reproduced" in command("inspect", lab / "out").out


@pytest.mark.parametrize("against", ["sample", "texts"])
def test_finite_weights_whose_run_is_not_finite_fail_in_a_sentence(command: Command, lab: Path, against: str) -> None:
    state = {name: tensor.sign() * 3e38 if tensor.dim() > 1 else tensor for name, tensor in Lab().state_dict().items()}
    torch.save(state, lab / "m.pt")
    (lab / "texts.tsv").write_text("1 2 3 4\t1 2 3\n" * 12)
    ends = ("--set", "bos=1", "--set", "eos=2")
    given = {"sample": ("--sample", lab / "sample.npz"), "texts": ("--texts", lab / "texts.tsv", *ends)}
    done = command("import", lab / "m.pt", "--out", lab / "out", "--heads", 3, *given[against])
    assert done.status == 1 and done.err.count("\n") == 1
    assert done.err.startswith(
        {
            "sample": "the owner's sample is NOT reproduced, 1,560 logits: first at text 0, position 0, entry 0: not",
            "texts": "the run has NaN or infinite numbers, first at encoder.0.self.query",
        }[against]
    )
    assert "the weights are finite, but so large that what is computed with them is not" in done.err
    assert "failed: " in command("inspect", lab / "out").out


def test_every_command_says_on_stderr_how_well_the_reading_is_known(
    command: Command, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIZ_TRANSFORMER_LIBRARY", str(lab / "shelf"))
    out, ids = lab / "shelf" / "out", " ".join(["1 2 3 4 5 6 7"] * 6)
    words = ("import", lab / "m.pt", "--out", out, "--set", "bos=1", "--set", "eos=2")
    sample, said = ("--sample", lab / "sample.npz"), {}
    for name, more in (
        ("right", ("--heads", 3, *sample)),
        ("wrong", ("--heads", 2, *sample)),
        ("guessed", ("--heads", 3)),
    ):
        command(*words, *more)
        found = [command("translate", out, "4 5", "--json"), command("trace", out, "4 5", "-o", lab / "t.safetensors")]
        found += [command("inspect", out), command("translate", out, ids)]
        assert all(each.status == 0 for each in found), [each.err for each in found]
        json.loads(found[0].out)
        firsts = {each.err.splitlines()[0] for each in found}
        assert len(firsts) == 1
        said[name] = firsts.pop()
        (listed,) = [line for line in command("list").out.splitlines() if line.startswith("out ")]
        assert listed.endswith(f"; {said[name].removeprefix('out: ')}")
        assert ("would not have been noticed" in found[3].err) == (name == "right")
    assert said == {
        "right": "out: proved for texts of up to 40 tokens",
        "wrong": "out: wrong by its own sample",
        "guessed": "out: not proved (no sample)",
    }


def test_what_was_verified_holds_for_the_same_files_only(command: Command, lab: Path) -> None:
    words = ("import", lab / "m.pt", "--out", lab / "out", "--heads")
    assert command(*words, 3, "--sample", lab / "sample.npz").status == 0
    card = json.loads((lab / "out" / "card.json").read_text())
    card["verified"]["of"]["config.json"] = "0" * 64
    (lab / "out" / "card.json").write_text(json.dumps(card))
    assert "no: `viz-transformer import --sample FILE` compares" in command("inspect", lab / "out").out


def test_a_file_that_is_no_sample_stops_the_import_before_anything_is_written(command: Command, lab: Path) -> None:
    (lab / "sample.npz").write_bytes(pickle.dumps([SRC, TGT]))
    done = command("import", lab / "m.pt", "--out", lab / "out", "--heads", 3, "--sample", lab / "sample.npz")
    assert done.status == 1 and done.err.count("\n") == 1 and "sample.npz" in done.err
    assert not (lab / "out").exists()


def test_a_sample_of_another_model_is_refused_before_anything_is_written(command: Command, lab: Path) -> None:
    np.savez(lab / "sample.npz", source=[[1, 2]], target=[[1, 2]], logits=np.zeros((1, 2, 5)))
    done = command("import", lab / "m.pt", "--out", lab / "out", "--heads", 3, "--sample", lab / "sample.npz")
    assert done.status == 1 and done.err.count("\n") == 1 and "5 logits at each position" in done.err
    assert not (lab / "out").exists()


def test_a_full_disk_ends_in_one_sentence_and_leaves_nothing(lab: Path) -> None:
    """Files may have 20,000 bytes: the weights have more, as where a disk is full."""
    words = ["import", lab / "m.pt", "--out", lab / "made" / "out", "--heads", 3]
    command = [sys.executable, "-m", "viz_transformer.command", *map(str, words)]
    resource = pytest.importorskip("resource")
    few = (20_000, 20_000)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, few),
    )
    assert done.returncode == 1 and done.stderr == f"{lab / 'made' / 'out'} cannot be written: File too large\n"
    assert list((lab / "made").iterdir()) == []


def test_a_terminal_asks_what_nothing_tells_with_the_special_tokens_and_asks_again_for_what_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save(Lab().state_dict(), tmp_path / "m.pt")
    given = {"n_heads": ["5", "3"], "target_bos": ["xx", "2"], "target_eos": ["3"]}

    def answer(question: str) -> str:
        left = given.get(question.split(" ")[0])
        return left.pop(0) if left else ""

    monkeypatch.setattr("builtins.input", answer)
    opened = _asked(open_file(tmp_path / "m.pt"))
    assert "bos='xx' is not an id of a vocabulary of 13" in capsys.readouterr().out
    config, codecs = codecs_of(opened)
    target = codecs["target"]
    assert target is not None and (config.n_heads, target.start, target.ends) == (3, 2, {3})
    rows = dict(report_rows(opened))
    assert rows["target_bos"] == "2 (given)" and rows["target_pad"].startswith("None (usual answer: nothing in the")


@pytest.fixture
def probed(tmp_path: Path) -> Path:
    """A model with two tensors more, of which its training alone made use."""
    state = Lab().state_dict() | {"probe.weight": torch.ones(3, 3), "probe.bias": torch.ones(3)}
    torch.save(state, tmp_path / "m.pt")
    return tmp_path


def test_what_ignore_leaves_out_is_said(command: Command, probed: Path) -> None:
    done = command("import", probed / "m.pt", "--out", probed / "out", "--heads", 3, "--set", r"ignore=probe\..*")
    assert done.status == 0, done.err
    assert r"ignored  " in done.out and r"probe\..*: 2 tensors, 'probe.weight' and 'probe.bias'" in done.out


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (
            "probes",
            "ignore='probes' matches none of the tensors that have no place (they are 'probe.weight' and 'probe",
        ),
        ("probe", "ignore='probe' matches none"),  # of the beginning of a name
        (".*attn.*", "ignore='.*attn.*' matches none"),  # all of which have a place
        ("probe(", "ignore='probe(' cannot be read (missing ), unterminated subpattern at position 5): give a regular"),
    ],
)
def test_an_ignore_that_leaves_out_nothing_is_an_error(command: Command, probed: Path, pattern: str, said: str) -> None:
    words = ("--heads", 3, "--set", "ignore=probe.*", "--set", f"ignore={pattern}")
    done = command("import", probed / "m.pt", "--out", probed / "out", *words)
    assert done.status == 1 and said in done.err and r"such as ignore='aux_head\..*'" in done.err, done.err
    assert done.err.count("\n") == 1 and not (probed / "out").exists()


def test_the_help_has_the_syntax_of_ignore(command: Command) -> None:
    help = " ".join(command("import", "--help").out.replace("│", " ").split())
    assert r"ignore=PATTERN leaves out the unplaced tensors whose full name matches the regular expression" in help
    assert r"'ignore=aux_head\..*'" in help


def in_parts(folder: Path) -> Path:
    """The weights of a model in two files, and an index beside them, without a config."""
    state = Lab().state_dict()
    names = sorted(state)
    where = {name: f"model-{1 + number % 2:05}-of-00002.safetensors" for number, name in enumerate(names)}
    for file in set(where.values()):
        save_file({name: state[name].contiguous() for name in names if where[name] == file}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    return folder


@pytest.mark.parametrize("given", ["", "model.safetensors.index.json"])
@pytest.mark.parametrize("words", [["inspect"], ["translate"], ["import", "--out", "OUT"]])
def test_a_part_that_is_missing_is_named(command: Command, tmp_path: Path, words: list[str], given: str) -> None:
    (in_parts(tmp_path) / "model-00002-of-00002.safetensors").unlink()
    name, *more = [word.replace("OUT", str(tmp_path / "out")) for word in words]
    done = command(name, tmp_path / given, *(["x"] if name == "translate" else []), *more)
    assert done.status == 1 and "model-00002-of-00002.safetensors" in done.err, done.err
    assert "save the model again" not in done.err and "inspect" not in done.err


@pytest.mark.parametrize("given", ["", "model.safetensors.index.json"])
def test_parts_without_a_config_are_imported(command: Command, tmp_path: Path, given: str) -> None:
    done = command("import", in_parts(tmp_path) / given, "--out", tmp_path / "out", "--heads", 3)
    assert done.status == 0, done.err


GGUF = b"GGUF" + (3).to_bytes(4, "little") + bytes(300)
RAW = np.linspace(-2, 2, 100, dtype=np.float32).tobytes()


@pytest.mark.parametrize("command_name", ["inspect", "translate", "import"])
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("m.gguf", GGUF, "is a GGUF file, as llama.cpp reads it: give the folder of transformers"),
        ("m.safetensors", GGUF, "is a GGUF file"),
        ("m.bin", GGUF, "is a GGUF file"),
        ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(50), "is a Keras (HDF5) file"),
    ],
)
def test_files_of_other_programs_are_called_what_they_are(
    command: Command, tmp_path: Path, command_name: str, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    more = {"translate": ["x"], "import": ["--out", tmp_path / "out"]}.get(command_name, [])
    done = command(command_name, tmp_path / name, *more)
    assert done.status == 1 and said in done.err, done.err
    assert "quantised" not in done.err and "cut off" not in done.err


@pytest.mark.parametrize("name", ["model.bin", "model.safetensors"])
def test_numbers_alone_are_not_called_cut_off(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(RAW)
    done = command("import", tmp_path / name, "--out", tmp_path / "out")
    assert done.status == 1 and "is neither a safetensors nor a torch file, by its first bytes" in done.err
    assert "cut off" not in done.err


def test_a_file_that_is_cut_off_is_called_so(command: Command, tmp_path: Path) -> None:
    save_file({f"layer.{index}.weight": torch.ones(3) for index in range(99)}, tmp_path / "m.safetensors")
    whole = (tmp_path / "m.safetensors").read_bytes()
    for size in (4, 200, len(whole) - 4):
        (tmp_path / "m.safetensors").write_bytes(whole[:size])
        assert "cut off" in command("import", tmp_path / "m.safetensors", "--out", tmp_path / "out").err


@pytest.mark.parametrize("words", [["inspect"], ["import", "--out", "OUT"]])
def test_a_folder_of_gguf_alone_says_so(command: Command, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "model-Q4.gguf").write_bytes(GGUF)
    name, *more = [word.replace("OUT", str(tmp_path / "out")) for word in words]
    assert "model-Q4.gguf, which is a GGUF file" in command(name, tmp_path, *more).err


def test_a_model_without_a_start_token_says_at_once_that_it_cannot_write(command: Command, tmp_path: Path) -> None:
    """By the import, on the card and by inspect; the vocabulary's first tokens are offered where none looks special."""
    torch.save(Lab().state_dict(), tmp_path / "m.pt")
    (tmp_path / "v.json").write_text(json.dumps([f"w{id}" for id in range(13)]))
    words = ("import", tmp_path / "m.pt", "--heads", 3, "--target-vocab", tmp_path / "v.json")
    done = command(*words, "--out", tmp_path / "out")
    said = "the target vocabulary has no start token, so the model writes nothing until one is named"
    assert done.status == 0 and f"start token      {said}: --set target_bos=TOKEN names it" in done.out
    assert said[4:] in command("inspect", tmp_path / "out").out
    opened = open_file(tmp_path / "m.pt", Answers(settings={"n_heads": 3}, target_vocab=tmp_path / "v.json"))
    (start,) = [each for each in all_settings(opened) if each.name == "target_bos"]
    assert start.asked and start.value is None and start.options[:3] == ("w0", "w1", "w2")
    named = command(*words, "--out", tmp_path / "named", "--set", "target_bos=w2")
    assert "start token" not in named.out and vt.load(tmp_path / "named").card["notes"] == []


@pytest.mark.parametrize(
    ("args", "words", "stated"),
    [({}, (), False), ({"dropout": 0.2}, (), True), ({}, ("--set", "dropout=0.3"), True)],
)
def test_a_dropout_that_nobody_told_is_not_stated(
    command: Command, nano: Path, args: dict[str, Any], words: tuple[str, ...], stated: bool
) -> None:
    content = torch.load(nano / "ckpt.pt", weights_only=True)
    content["model_args"] |= args
    torch.save(content, nano / "ckpt.pt")
    assert command("import", nano / "ckpt.pt", "--out", nano / "out", *words).status == 0
    ckpt = vt.load(nano / "out")
    assert describe.states_dropout(ckpt.card) is stated
    rows = dict(config_rows(ckpt.config, {}, ckpt.card))
    assert rows.get("dropout in training") == (str(args.get("dropout", 0.3)) if stated else None)
