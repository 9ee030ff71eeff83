from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from builders import tiny_checkpoint

from viz_transformer.checkpoint import Checkpoint, CheckpointError, load, save_checkpoint
from viz_transformer.cli import main, sentence_for
from viz_transformer.decoding import decode
from viz_transformer.record import Trace
from viz_transformer.search import Beam
from viz_transformer.tracing import trace

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


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*words: object) -> Outcome:
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return left.value.code, out, err

    return run


def test_translate_prints_the_answer_and_nothing_else(command: Command, folder: Path, ckpt: Checkpoint) -> None:
    assert command("translate", folder, "ab") == (0, decode(ckpt, "ab").text + "\n", "")


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


def test_trace_without_target_saves_the_greedy_run(
    command: Command, folder: Path, ckpt: Checkpoint, tmp_path: Path
) -> None:
    status, out, err = command("trace", folder, "-a", "-o", tmp_path / "run.safetensors")
    saved = Trace.load(tmp_path / "run.safetensors")
    assert (status, err, saved.id) == (0, "", decode(ckpt, "-a").trace.id)
    assert f"{len(saved.points())} points" in out


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
    program = (
        "import sys; from viz_transformer.cli import main\ntry: main(['list'])\nfinally: print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert lines[-1] == "False"
    assert [line.split()[0] for line in lines[:-1]][:3] == ["name", "numbers", "numbers-tiny"]


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
        (["trace", "CKPT", "1", "-o", "TMP"], "folder"),
        (["trace", "CKPT", "1", "-o", "TMP/none/run.safetensors"], "none"),
        (["trace", "CKPT", "1", "--target", "u" * 50, "-o", "TMP/run.safetensors"], "target"),
        (["evaluate", "CKPT", "--data", "TMP/none.tsv"], "none.tsv"),
        (["evaluate", "CKPT", "--data", "TMP"], "--data"),
        (["evaluate", "CKPT"], "--data"),
        (["inspect", "TMP"], "config.json"),
        (["train", "knumbers"], "'numbers'"),
    ],
)
def test_bad_input_is_one_sentence(command: Command, folder: Path, tmp_path: Path, words: list[str], hint: str) -> None:
    given = [word.replace("TMP", str(tmp_path)).replace("CKPT", str(folder)) for word in words]
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
    command = [sys.executable, "-m", "viz_transformer.cli", "--help"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 1
