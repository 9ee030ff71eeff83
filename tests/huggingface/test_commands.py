"""A folder of transformers in a shell."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pretrained import folder

from viz_transformer import analysis, decode, read
from viz_transformer.analysis.run import answers
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.command import main as program
from viz_transformer.numerals import binary_size
from viz_transformer.running import labels
from viz_transformer.running.labels import Label
from viz_transformer.running.trace import Trace

Written = Callable[[str], Path]


def main(words: list[str]) -> int:
    """The exit status of a command line."""
    with pytest.raises(SystemExit) as ended:
        program(words)
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "mistral",
            ["decoder-only, 2 decoder layers, d_model 32, 4 heads that share 2 of keys and values, back to 4 keys"],
        ),
        ("bert", ["encoder-only, 2 encoder layers", "d_ff 48, post-norm, at most 64 source tokens"]),
        (
            "t5",
            [
                "encoder-decoder, 2 encoder layers + 2 decoder layers",
                "T5 (T5ForConditionalGeneration), from transformers",
            ],
        ),
    ],
)
def test_inspect_says_what_it_is(
    written: Written,
    opened: Callable[[str], Checkpoint],
    capsys: pytest.CaptureFixture[str],
    name: str,
    said: list[str],
) -> None:
    assert main(["inspect", str(written(name))]) == 0
    out, err = capsys.readouterr()
    spec = opened(name).spec
    taken = spec.recorded_bytes(source=64, target=64, written=spec.writes)
    assert f"up to {binary_size(taken)} of 64 tokens" in out
    for each in (*said, f"{opened(name).parameter_count:,}", opened(name).weights_sha256):
        assert each in out
    assert not err


def test_inspect_says_which_settings_are_not_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "model", "gpt2")
    path = where / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"num_beams": 4, "repetition_penalty": 1.2}))
    assert main(["inspect", str(where)]) == 0
    out = capsys.readouterr().out
    assert "num_beams=4, repetition_penalty=1.2; here the strategy that you choose counts alone" in out
    assert "The model has 3 more tokens than its tokenizer" in out


def test_translate_writes_what_decode_writes(
    written: Written, opened: Callable[[str], Checkpoint], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", str(written("bart")), "two hundred"]) == 0
    assert capsys.readouterr().out == decode(opened("bart"), "two hundred").text + "\n"
    assert main(["translate", str(written("gpt2")), "two\nhundred\n"]) == 0
    run = decode(opened("gpt2"), "two\nhundred\n")
    assert capsys.readouterr().out == run.text + "\n" and "".join(run.trace.tgt_tokens).startswith("two\nhundred\n")


def test_read_says_which_words_the_model_does_not_know(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", str(written("bert/labels")), "the €"]) == 0
    assert capsys.readouterr().err == "1 token is not in the vocabulary, the model reads [UNK] instead: €\n"


def test_read_prints_labels_and_what_stands_for_masks(
    written: Written,
    opened: Callable[[str], Checkpoint],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def said(name: str, *words: str) -> str:
        assert main(["read", str(written(name)), *words]) == 0
        return capsys.readouterr().out

    (found,) = read(opened("bert/labels"), "the cat").labels
    lines = said("bert/labels", "the cat").splitlines()
    assert [line.split() for line in lines] == [
        [label.name, f"{label.probability:.4g}"] for label in found.scores if label.probability is not None
    ]
    facts = json.loads(said("bert/tags", "the cat", "--json"))
    run = read(opened("bert/tags"), "the cat")
    assert [row["labels"][0]["label"] for row in facts["labels"]] == [each.best.name for each in run.labels[1:-1]]
    assert said("bert/tags", "the cat").startswith("the")
    broken = read(opened("roberta/tags"), "the\ncat\n")
    assert json.loads(said("roberta/tags", "the\ncat\n", "--json")) == json.loads(
        json.dumps(analysis.read_facts(opened("roberta/tags"), broken, every_label=True))
    )
    assert "mask at 2  " in said("bert", "the [MASK] ran")
    with monkeypatch.context() as patch:
        patch.setattr(analysis, "read_rows", lambda facts: [("\n", "a\nb 0.5"), ("cat", "c 0.5")])
        assert said("bert/tags", "the cat").splitlines() == ["↵    a↵b 0.5", "cat  c 0.5"]
    made = []
    monkeypatch.setattr(answers, "FIRST", 2)
    monkeypatch.setattr(analysis, "FIRST", 2, raising=False)
    monkeypatch.setattr(labels, "Label", lambda *given: made.append(given) or Label(*given))
    assert len(said("bert/tags", "the cat").splitlines()) * 2 == len(made)


def test_translate_and_read_say_which_of_them_a_model_takes(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    for command, name, text, expected in (
        ("translate", "bert/labels", "the cat", "viz-transformer read"),
        ("read", "gpt2", "the cat", "viz-transformer translate"),
        ("read", "bert", "the cat", "write [MASK]"),
    ):
        assert main([command, str(written(name)), text]) != 0
        assert expected in capsys.readouterr().err


def test_a_run_of_theirs_is_saved_and_opened_again(written: Written, tmp_path: Path) -> None:
    assert main(["trace", str(written("gpt2")), "two", "-o", str(tmp_path / "run.safetensors")]) == 0
    found = Trace.load(tmp_path / "run.safetensors")
    assert found.spec.config is None
    assert found["decoder.1.self.weights"].shape == (1, 4, len(found.tgt), len(found.tgt))


def test_a_folder_that_cannot_be_opened_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mamba"}')
    assert main(["inspect", str(tmp_path)]) != 0
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1 and "no attention" in err
