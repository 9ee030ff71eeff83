from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import pytest
import typer
from builders import saved, tiny_checkpoint
from watched import watched_trace

from viz_transformer.checkpoint import Checkpoint, CheckpointError, load, save_checkpoint
from viz_transformer.command import app_options, commands
from viz_transformer.command.commands import sentence_for
from viz_transformer.running.decoding import decode
from viz_transformer.running.strategies import Beam, Sampling
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

Outcome = tuple[int, str, str]  # exit status, stdout, stderr
Command = Callable[..., Outcome]

METRICS = (
    "pairs exact_match exact_match_low exact_match_high exact_match_unseen token_accuracy loss perplexity bleu"
    " bleu_signature chrf sentences_per_second"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with random weights: reads the letters a to h, writes u to z and digits."""
    tiny = tiny_checkpoint()
    metric = {"split": "made up", "pairs": 200, "exact_match": 0.995, "exact_match_low": 0.97, "exact_match_high": 1.0}
    return save_checkpoint(
        tmp_path_factory.mktemp("checkpoints") / "spelling",
        state_dict=tiny.model.state_dict(),
        config=tiny.config,
        source_codec=tiny.source_codec,
        target_codec=tiny.target_codec,
        card={"task": "spelling", "metrics": [metric]},
    )


@pytest.fixture(scope="module")
def ckpt(folder: Path) -> Checkpoint:
    return load(folder)


def test_translate_prints_the_answer_and_nothing_else(command: Command, folder: Path, ckpt: Checkpoint) -> None:
    assert command("translate", folder, "ab") == (0, decode(ckpt, "ab").text + "\n", "")


def test_a_line_break_of_the_shell_is_read_as_one(tmp_path: Path, command: Command) -> None:
    ckpt = load("shakespeare")  # which reads line breaks
    run = decode(ckpt, "\nso\nit goes\n", prefix="\n\nA")
    given = command("translate", "shakespeare", "\nso\nit goes\n", "--json", "--prefix", "\n\nA")
    assert json.loads(given.out)["text"] == run.text and run.text.startswith("\n\nA")
    assert command("trace", "shakespeare", "\nso\n", "-o", tmp_path / "run.safetensors")[0] == 0
    assert Trace.load(tmp_path / "run.safetensors").tgt_tokens[:4] == ("\n", "s", "o", "\n")


def test_an_answer_without_text_is_an_empty_line_and_a_sentence_says_what_was_written(
    command: Command, tmp_path: Path
) -> None:
    tiny = tiny_checkpoint(output_bias=True)
    assert tiny.target_codec is not None
    tiny.model.state_dict()["output.bias"][tiny.target_codec.vocabulary.eos] = 1e4
    status, out, err = command("translate", saved(tiny, tmp_path / "silent"), "ab")
    assert (status, out) == (0, "\n")
    assert err == "the answer is empty: the model wrote '</s>', which is no text\n"


def test_a_text_may_start_with_a_minus_sign(command: Command, folder: Path, ckpt: Checkpoint) -> None:
    status, out, _ = command("translate", folder, "-79.42", "--json")
    run = decode(ckpt, "-79.42")
    assert (status, json.loads(out)["log_prob"]) == (0, pytest.approx(run.log_prob))
    assert run.log_prob != decode(ckpt, "79.42").log_prob


def test_translate_as_json_has_every_step(command: Command, folder: Path, ckpt: Checkpoint) -> None:
    run = decode(ckpt, "cab", strategy=Beam(2))
    _, out, err = command("translate", folder, "cab", "--beam", 2, "--json")
    told = json.loads(out)
    assert err == ""
    assert (told["text"], told["tokens"], told["stopped"]) == (run.text, list(run.tokens), run.stopped)
    assert told["score"] == pytest.approx(run.score)
    assert told["log_prob"] == pytest.approx(sum(step["log_prob"] for step in told["steps"]))
    assert [step["token_id"] for step in told["steps"]] == [step.token_id for step in run.steps]
    assert [len(step["candidates"]) for step in told["steps"]] == [len(step.candidates) for step in run.steps]


def test_translate_writes_the_tree_of_a_beam_beside_its_answer(
    command: Command, folder: Path, ckpt: Checkpoint, tmp_path: Path
) -> None:
    file = tmp_path / "tree.json"
    file.write_text("old", encoding="utf-8")
    status, out, err = command("translate", folder, "-cab", "--beam", 3, "--length-penalty", 0.2, "--tree", file)
    run = decode(ckpt, "-cab", strategy=Beam(3, length_penalty=0.2))
    unread = "1 token is not in the vocabulary, the model reads <unk> instead: -\n"
    assert (status, out, err) == (0, run.text + "\n", unread)
    told = json.loads(file.read_text(encoding="utf-8"))
    assert run.tree is not None
    about = {"checkpoint": ckpt.name, "weights_sha256": ckpt.weights_sha256, "source": "-cab"}
    assert told == {**about, **json.loads(json.dumps(run.tree.to_dict()))}
    assert [path.name for path in tmp_path.iterdir()] == ["tree.json"]  # nothing is left of the writing


def test_translate_prints_as_many_answers_as_asked_for(command: Command, folder: Path, ckpt: Checkpoint) -> None:
    words = ("translate", folder, "abc", "--beam", 4, "--n-best", 3)
    run = decode(ckpt, "abc", strategy=Beam(4, n_best=3))
    assert run.tree is not None and ckpt.target_codec is not None
    texts = [ckpt.target_codec.decode(run.tree.ids(node.index)) for node in run.tree.best]
    assert len(texts) == 3 and texts[0] == run.text
    assert command(*words) == (0, "".join(f"{text}\n" for text in texts), "")
    told = json.loads(command(*words, "--json")[1])
    assert [answer["text"] for answer in told["answers"]] == texts
    assert [answer["score"] for answer in told["answers"]] == pytest.approx([n.score for n in run.tree.best])
    assert "answers" not in json.loads(command("translate", folder, "abc", "--beam", 4, "--json")[1])


def test_translate_samples_with_all_settings_behind_a_prefix(command: Command, folder: Path, ckpt: Checkpoint) -> None:
    how = Sampling(temperature=1.5, top_k=9, top_p=0.9, min_p=0.02, repetition_penalty=1.2, seed=8)
    settings = {"temperature": 1.5, "top-k": 9, "top-p": 0.9, "min-p": 0.02, "repetition-penalty": 1.2, "seed": 8}
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    _, out, err = command("translate", folder, "abc", "--sample", *options, "--prefix", "zy", "--json")
    run, told = decode(ckpt, "abc", strategy=how, prefix="zy"), json.loads(out)
    assert told["tokens"] == list(run.tokens) and run.tokens.count("<unk>") == 1
    assert err == "the model itself wrote <unk> once: a word that its vocabulary lacks\n"
    assert told["score"] == pytest.approx(run.score) and told["score"] != pytest.approx(run.log_prob)
    assert [step["forced"] for step in told["steps"][:3]] == [True, True, False]
    other = json.loads(command("translate", folder, "abc", "--sample", *options[:-1], 9, "--json")[1])
    assert other["tokens"] != decode(ckpt, "abc", strategy=how).tokens
    assert command("translate", folder, "abc", "--prefix", "zy") == (
        0,
        decode(ckpt, "abc", prefix="zy").text + "\n",
        "",
    )


def test_words_that_the_model_does_not_know_are_said_beside_what_it_makes_of_them(
    command: Command, folder: Path, tmp_path: Path
) -> None:
    one = "1 token is not in the vocabulary, the model reads <unk> instead: €\n"
    two = "2 tokens are not in the vocabulary, the model reads <unk> instead: €, ß\n"
    assert command("translate", folder, "a€")[2] == one
    assert command("translate", folder, "a€", "--prefix", "ß", "--json")[2] == two
    assert command("trace", folder, "a€", "-o", tmp_path / "run.safetensors")[2] == one
    assert command("trace", folder, "a€", "--target", "uß", "-o", tmp_path / "run.safetensors")[2] == two


def test_a_token_for_unknown_words_that_the_model_writes_itself_is_said(command: Command, tmp_path: Path) -> None:
    tiny = tiny_checkpoint(output_bias=True, max_target=5)
    assert tiny.target_codec is not None
    tiny.model.state_dict()["output.bias"][tiny.target_codec.vocabulary.unk] = 1e4
    unsure = saved(tiny, tmp_path / "unsure")
    status, out, err = command("translate", unsure, "ab")
    assert status == 0 and out.count("<unk>") == 5
    assert err == "the model itself wrote <unk> 5 times: a word that its vocabulary lacks\n"
    assert command("trace", unsure, "ab", "-o", tmp_path / "run.safetensors")[2] == err


def test_trace_without_target_saves_the_greedy_run(
    command: Command, folder: Path, ckpt: Checkpoint, tmp_path: Path
) -> None:
    status, out, err = command("trace", folder, "ba", "-o", tmp_path / "run.safetensors")
    saved = Trace.load(tmp_path / "run.safetensors")
    assert (status, err, saved.id) == (0, "", decode(ckpt, "ba").trace.id)
    assert f"{len(saved.points())} points" in out


def test_trace_says_that_the_rows_of_a_model_that_reads_ahead_are_those_of_the_last_pass(
    command: Command, folder: Path, tmp_path: Path
) -> None:
    said = command("trace", "en-it-slips", "i like it .", "-o", tmp_path / "slips.safetensors")[1].splitlines()
    assert said[1] == (
        "later tokens change earlier rows of this model: each step was a pass of its own, and the rows saved are those"
        " of the last one"
    )
    assert len(command("trace", folder, "-a", "-o", tmp_path / "run.safetensors")[1].splitlines()) == 1


def test_trace_with_target_is_teacher_forced(command: Command, folder: Path, ckpt: Checkpoint, tmp_path: Path) -> None:
    command("trace", folder, "a", "--target", "xyz", "-o", tmp_path / "run.safetensors")
    assert Trace.load(tmp_path / "run.safetensors").id == trace(ckpt, "a", "xyz").id


def test_evaluate_as_json_prints_one_object_and_progress_elsewhere(
    command: Command, folder: Path, tmp_path: Path
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a\tuv\nb\twx\nc\tyz\n", encoding="utf-8")
    status, out, err = command("evaluate", folder, "--data", pairs, "--limit", 2, "--json")
    measured = json.loads(out)
    assert (status, measured["pairs"]) == (0, 2)
    assert set(METRICS.split()) <= set(measured)
    assert "2 of 2 pairs" in err


def test_evaluate_joins_equal_sources_and_writes_the_wrong_answers(
    command: Command, folder: Path, ckpt: Checkpoint, tmp_path: Path
) -> None:
    answer = decode(ckpt, "ab").text
    pairs, errors = tmp_path / "pairs.tsv", tmp_path / "errors.tsv"
    pairs.write_text(f"ab\tuv\nc\tuv\nab\t{answer}\n", encoding="utf-8")
    words = ("evaluate", folder, "--data", pairs, "--errors", errors, "--bleu", "char")
    status, out, err = command(*words, "--group", "--json")
    measured = json.loads(out)
    assert (status, list(measured)) == (0, METRICS.split())
    assert (measured["pairs"], measured["exact_match"]) == (2, 0.5)
    assert "nrefs:var" in measured["bleu_signature"] and "tok:char" in measured["bleu_signature"]
    assert errors.read_text(encoding="utf-8") == f"c\t{decode(ckpt, 'c').text}\tuv\n"
    assert f"{errors}: 1 wrong answers\n" in err
    assert f"{errors}: 2 wrong answers\n" in command(*words)[2]


def test_evaluate_reports_every_key_to_people(command: Command, folder: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a\tuv\n", encoding="utf-8")
    _, out, _ = command("evaluate", folder, "--data", pairs)
    assert [line.split()[0] for line in out.splitlines()] == METRICS.split()
    assert dict(line.split() for line in out.splitlines())["exact_match_high"] == "0.7935"  # Wilson: z² / (1 + z²)


@pytest.fixture(scope="module")
def speaker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder-only checkpoint whose card names a text and its windows."""
    tiny = tiny_checkpoint("decoder-only")
    return save_checkpoint(
        tmp_path_factory.mktemp("checkpoints") / "speaking",
        state_dict=tiny.model.state_dict(),
        config=tiny.config,
        source_codec=None,
        target_codec=tiny.target_codec,
        card={"task": "speaking", "evaluation": {"data": "toy/text.txt", "window": 5}},
    )


def test_evaluate_counts_what_is_too_long(command: Command, folder: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a\tuv\n" + "b" * 99 + "\twx\n", encoding="utf-8")
    status, out, err = command("evaluate", folder, "--data", pairs, "--count-too-long", "--json")
    measured = json.loads(out)
    assert (status, measured["pairs"], measured["too_long"], measured["loss"]) == (0, 2, 1, None)
    assert "1 of 1 pairs" in err
    assert command("evaluate", folder, "--data", pairs)[0] == 1


def test_what_the_cards_test_leaves_out_is_said_beside_its_share(command: Command, tmp_path: Path) -> None:
    tiny = tiny_checkpoint()
    (tmp_path / "pairs.tsv").write_text("a\tuv\n" + "b" * 9 + "\twx\n", encoding="utf-8")
    metrics = [{"pairs": 1, "exact_match": 1.0}, {"pairs": 2, "exact_match": 0.5, "too_long": 1}]
    folder = save_checkpoint(
        tmp_path / "spelling",
        state_dict=tiny.model.state_dict(),
        config=tiny.config,
        source_codec=tiny.source_codec,
        target_codec=tiny.target_codec,
        card={"evaluation": {"data": "pairs.tsv", "longest": [5, 5]}, "metrics": metrics},
    )
    sentence = "left out: 1 of 2 pairs, too long; evaluate --count-too-long counts them as wrong\n"
    status, out, err = command("evaluate", folder, "--data", tmp_path, "--json")
    assert (status, json.loads(out)["pairs"]) == (0, 1) and err.endswith(sentence)
    assert command("compare", folder, folder, "--data", tmp_path)[2].endswith(sentence)
    for words in (("--data", tmp_path / "pairs.tsv"), ("--data", tmp_path, "--count-too-long")):
        assert "left out" not in command("evaluate", folder, *words)[2]
    assert "1 too long counted as wrong" in command("inspect", folder)[1]


def test_list_says_what_a_share_of_right_answers_leaves_out(command: Command) -> None:
    (line,) = [line for line in command("list")[1].splitlines() if line.startswith("taylor-2terms ")]
    assert "exact match 97.47%" in line
    assert "left out 126 of 719 pairs, too long; with them exact match 80.39%" in line


def test_a_text_is_evaluated_in_windows(command: Command, speaker: Path, tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "text.txt").write_text("uvwxyz0123456789", encoding="utf-8")
    status, out, err = command("evaluate", speaker, "--data", tmp_path, "--json")  # 15 predictions in windows of 5
    measured = json.loads(out)
    assert (status, list(measured), measured["pairs"]) == (0, METRICS.split(), 3)
    assert measured["loss"] > 0 and measured["exact_match"] is None
    assert "3 of 3 windows" in err
    limited = json.loads(
        command("evaluate", speaker, "--data", tmp_path / "toy" / "text.txt", "--limit", 2, "--json")[1]
    )
    assert limited["pairs"] == 2


def test_a_name_in_the_data_folder_is_enough(
    command: Command, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "pairs.tsv").write_text("a\tuv\nb\twx\n", encoding="utf-8")
    monkeypatch.setenv("VIZ_TRANSFORMER_DATA", str(tmp_path))
    status, out, _ = command("evaluate", folder, "--data", "toy/pairs.tsv", "--json")
    assert (status, json.loads(out)["pairs"]) == (0, 2)


def test_compare_says_which_of_two_is_better(command: Command, folder: Path, ckpt: Checkpoint, tmp_path: Path) -> None:
    other = tiny_checkpoint(seed=1)
    second = save_checkpoint(
        tmp_path / "rival",
        state_dict=other.model.state_dict(),
        config=other.config,
        source_codec=other.source_codec,
        target_codec=other.target_codec,
        card={"task": "spelling"},
    )
    pairs = tmp_path / "pairs.tsv"
    answers = {source: decode(ckpt, source).text for source in ("a", "b", "ab", "ba", "abc", "h", "gg", "hb", "ff")}
    known = [f"{source}\t{answer}\n" for source, answer in answers.items() if "<unk>" not in answer]
    pairs.write_text("".join(known), encoding="utf-8")
    words = ("compare", folder, second, "--data", pairs, "--limit", 6, "--bleu", "char")
    status, out, err = command(*words, "--json")
    found = json.loads(out)
    assert (status, found["pairs"], found["first"], found["second"]) == (0, 6, "spelling", "rival")
    exact = found["exact_match"]
    assert (exact["both"], exact["only_first"], exact["p"]) == (0, 6, pytest.approx(2 / 64))
    assert found["bleu"]["first"]["score"] == pytest.approx(100) and found["bleu"]["p"] < 0.05
    assert "12 of 12 answers" in err
    status, out, _ = command(*words, "--differences", tmp_path / "differences.tsv")
    rows = (tmp_path / "differences.tsv").read_text(encoding="utf-8").splitlines()
    assert rows[0].split("\t") == ["source", "target", "spelling", "rival", "right", "in the app"] and len(rows) == 7
    lines = out.splitlines()
    assert lines[0].split() == ["spelling", "rival", "difference", "p"]
    assert lines[1].split() == "exact match 100% 0% +100.00 points 0.0312".split()
    assert [line.split()[0] for line in lines[2:4]] == ["BLEU", "chrF"]
    assert "By exact match spelling is better (p = 0.031, McNemar's exact test)." in lines


def test_inspect_says_what_the_checkpoint_is(command: Command, folder: Path, ckpt: Checkpoint) -> None:
    status, out, _ = command("inspect", folder)
    assert status == 0
    for part in (
        "spelling",
        "2 encoder layers + 3 decoder layers",
        f"{ckpt.parameter_count:,}",
        ckpt.weights_sha256,
        "99.50%",
        "97.00%",
    ):
        assert part in out


def test_list_names_the_bundled_checkpoints_without_torch() -> None:
    listing = "import sys; from viz_transformer.command import main\ntry: main(['list'])"
    program = f"{listing}\nfinally: print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert lines[-1] == "False"
    assert {"copy", "multi30k-de-en", "numbers"} < {line.split()[0] for line in lines[1:-1]}


def test_list_has_recordings_of_watched_modules(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched_trace().save(tmp_path / "mine.safetensors")
    monkeypatch.setenv("VIZ_TRANSFORMER_CHECKPOINTS", str(tmp_path))
    (line,) = [line for line in command("list")[1].splitlines() if line.startswith("mine.safetensors ")]
    assert line.split("  ")[0] == "mine.safetensors" and "a recording of one call" in line


def test_version(command: Command) -> None:
    status, out, _ = command("--version")
    assert (status, out.split()[0]) == (0, "viz-transformer")


BAD_FILES = {
    "one column": b"one column only\n",
    "not UTF-8": "1\té\n".encode("latin-1"),
    "empty": b"",
    "damaged gzip": b"\x1f\x8b\x08\x00broken",
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_data_file_is_one_sentence(command: Command, folder: Path, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_bytes(content)
    status, out, err = command("evaluate", folder, "--data", file, "--json")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "pairs.tsv" in err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["translate", "no-such-checkpoint", "1"], "no-such-checkpoint"),
        (["translate", "CKPT", ""], "empty"),
        (["translate", "CKPT", "a" * 10_000], "10,0"),
        (["translate", "CKPT", "1", "--beam", "0"], "beam"),
        (["translate", "CKPT", "1", "--tree", "TMP/tree.json"], "--tree writes the hypotheses of a beam search"),
        (["translate", "CKPT", "1", "--beam", "2", "--tree", "TMP"], "is a folder"),
        (["translate", "CKPT", "1", "--beam", "2", "--tree", "TMP/none/tree.json"], "none"),
        (["translate", "CKPT", "1", "--beam", "2", "--sample"], "two ways"),
        (["translate", "CKPT", "1", "--beam", "2", "--seed", "1"], "--seed is a setting of --sample"),
        (["translate", "CKPT", "1", "--n-best", "2"], "--n-best is a setting of --beam N"),
        (["translate", "CKPT", "1", "--beam", "2", "--n-best", "3"], "n_best=3 has to be a whole number from 1 to 2"),
        (["translate", "CKPT", "1", "--sample", "--top-p", "1.5"], "top_p=1.5 has to be"),
        (["translate", "CKPT", "1", "--prefix", "u" * 50], "the prefix has 50 tokens"),
        (["trace", "CKPT", "1", "-o", "TMP"], "folder"),
        (["trace", "CKPT", "1", "-o", "TMP/none/run.safetensors"], "none"),
        (["trace", "CKPT", "1", "--target", "u" * 50, "-o", "TMP/run.safetensors"], "target"),
        (["evaluate", "CKPT", "--data", "TMP/none.tsv"], "none.tsv"),
        (["evaluate", "CKPT", "--data", "TMP"], "--data"),
        (["evaluate", "CKPT"], "--data"),
        (["evaluate", "CKPT", "--data", "PAIRS", "--bleu", "14a"], "'13a' or 'intl' or 'char'"),
        (["evaluate", "CKPT", "--data", "PAIRS", "--errors", "TMP"], "is a folder"),
        (
            ["evaluate", "CKPT", "--data", "PAIRS", "--errors", "TMP/none/errors.tsv"],
            "none/errors.tsv cannot be written",
        ),
        (["evaluate", "CKPT", "--data", "generated:copy/test"], "how many pairs"),
        (["evaluate", "TEXT", "--data", "PAIRS", "--group", "--beam", "2"], "leave out beam and group"),
        (["compare", "CKPT", "TEXT", "--data", "PAIRS"], "speaking is decoder-only"),
        (["compare", "CKPT", "CKPT"], "--data"),
        (["compare", "CKPT", "CKPT", "--data", "PAIRS", "--bleu", "14a"], "'13a' or 'intl' or 'char'"),
        (["inspect", "TMP"], "config.json"),
        (["train", "knumbers"], "'numbers'"),
    ],
)
def test_bad_input_is_one_sentence(
    command: Command, folder: Path, speaker: Path, tmp_path: Path, words: list[str], hint: str
) -> None:
    (tmp_path / "pairs.tsv").write_text("a\tuv\n", encoding="utf-8")
    places = {"TMP": tmp_path, "CKPT": folder, "TEXT": speaker, "PAIRS": tmp_path / "pairs.tsv"}
    given = [reduce(lambda text, name: text.replace(name, str(places[name])), places, word) for word in words]
    status, out, err = command(*given)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert hint.replace("TMP", str(tmp_path)) in err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["translate"], "CKPT"),
        (["translate", "numbers", "1", "2"], "2"),
        (["translate", "numbers", "1", "--beam", "two"], "--beam"),
        (["app", "--port", "70000"], "--port"),
        (["no-such-command"], "no-such-command"),
    ],
)
def test_wrong_usage_is_one_sentence_with_the_help_to_ask_for(command: Command, words: list[str], hint: str) -> None:
    status, out, err = command(*words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert hint in err
    assert "--help" in err


def test_a_fault_of_ours_is_not_dressed_up_as_bad_input() -> None:
    assert sentence_for(TypeError("'NoneType' object is not callable")) is None
    assert sentence_for(KeyError("encoder")) is None
    assert (
        sentence_for(ModuleNotFoundError("No module named 'viz_transformer.gone'", name="viz_transformer.gone")) is None
    )


def test_expected_errors_are_told_plainly() -> None:
    assert sentence_for(KeyError("no point named 'x'")) == "no point named 'x'"
    assert sentence_for(CheckpointError("config.json is missing")) == "config.json is missing"
    assert (
        sentence_for(PermissionError(13, "Permission denied", "run.safetensors"))
        == "run.safetensors: Permission denied"
    )
    lightning = sentence_for(ModuleNotFoundError("No module named 'lightning'", name="lightning"))
    assert lightning is not None and ".[train]" in lightning


def test_a_reader_that_stops_reading_is_no_error_message() -> None:
    command = [sys.executable, "-m", "viz_transformer.command", "--help"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 1


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--no-browser",
        "--window",
        "--port 0",
        "--port 65535 --window --no-browser",
        "--window --port 08501",
        "--checkpoints a --checkpoints b --library c",
    ],
)
def test_app_does_the_same_whether_its_options_are_read_here_or_by_typer(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, object]] = []
    monkeypatch.setattr("viz_transformer.command.server.run_app", lambda **options: asked.append(options))
    line = ["app", *words.split()]
    assert app_options(line) is not None and commands.run(line) == 0
    assert asked == [app_options(line)]


@pytest.mark.parametrize("words", ["--port", "--port x", "--port 65536", "--port -1", "--port 99999", "here", "--help"])
def test_what_app_does_not_take_is_left_to_typer(words: str) -> None:
    assert app_options(["app", *words.split()]) is None


def test_every_option_of_app_is_read_without_typer_but_those_of_folders_of_transformers() -> None:
    parameters = typer.main.get_command(commands.cli).commands["app"].params  # type: ignore[attr-defined]
    for option, *given in (("--device", "cuda"), ("--dtype", "bfloat16"), ("--allow-download",), ("--ignore", "x")):
        parameters = [each for each in parameters if option not in each.opts]
        assert app_options(["app", option, *given]) is None
    words = [word for p in parameters for word in (p.opts if p.is_flag else [*p.opts, "1"])]
    read = app_options(["app", *words])
    folder = Path("1")
    own = {"checkpoints": [folder], "library": folder}
    assert len(parameters) == 5 and read == {"port": 1, "browser": False, "window": True, **own}


def test_no_message_recommends_a_command_that_there_is_not() -> None:
    """In the sources, the pages and the docs, `viz-transformer WORD` is a command of the program."""
    root = Path(__file__).parents[2]
    files = [*(root / "viz_transformer").rglob("*.py"), *(root / "pages").glob("*.py"), *(root / "docs").glob("*.md")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in [*files, root / "README.md"])
    named = set(re.findall(r"[`“]viz-transformer ([a-z]+)", text))
    known = typer.main.get_command(commands.cli).commands  # type: ignore[attr-defined]
    assert {"evaluate", "train"} <= named <= set(known)


@pytest.mark.parametrize(
    "words",
    [
        ["translate", "x" * 100_000, "1"],
        ["translate", "CKPT", "1", "--beam", "2", "--tree", "TMP/" + "x" * 100_000],
        ["trace", "CKPT", "1", "-o", "x" * 100_000],
        ["evaluate", "CKPT", "--data", "x" * 100_000],
        ["evaluate", "CKPT", "--" + "x" * 100_000],
        ["x" * 100_000],
        ["inspect", "x" * 100_000],
    ],
    ids=lambda words: words[0][:20],
)
def test_no_sentence_is_longer_than_can_be_read(
    command: Command, folder: Path, tmp_path: Path, words: list[str]
) -> None:
    status, out, err = command(*[word.replace("TMP", str(tmp_path)).replace("CKPT", str(folder)) for word in words])
    assert (out, err.count("\n")) == ("", 1) and status in (1, 2)
    assert len(err) < 2100


def test_a_full_disk_is_named_whatever_was_written() -> None:
    for number in (errno.ENOSPC, errno.EDQUOT):
        error = OSError(number, os.strerror(number))
        assert sentence_for(error) == "the disk is full: make room, or write somewhere else"
        error.filename = "runs/numbers"
        assert sentence_for(error) == "runs/numbers: the disk is full: make room, or write somewhere else"
