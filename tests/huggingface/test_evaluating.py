"""Folders of transformers are measured as transformers measures them: losses with labels, answers of generate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from in_turn import each_once
from pretrained import END, KINDS, LINES, byte_pieces, folder, in_languages

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.command import main as program
from viz_transformer.huggingface.loading import load
from viz_transformer.measuring.answering import answers_of
from viz_transformer.measuring.comparing import compare
from viz_transformer.measuring.evaluation import evaluate, evaluate_checkpoint
from viz_transformer.running.decoding import decode
from viz_transformer.running.strategies import Beam

PAIRS = [
    ("the cat ran over", "a dog"),
    ("two hundred and four", "the green hill and a mat"),
    ("five six", "one"),
    ("a dog", "two hundred and four"),
    ("one", "five"),
]


def ended_once(where: Path, name: str, **changes: Any) -> Path:
    """A folder whose answers end with one token alone, as those that are published do, and have none that the
    tokenizer does not know."""
    folder(where, name, **changes)
    settings = where / "generation_config.json"
    most = json.loads((where / "config.json").read_text())["vocab_size"]
    given = {"eos_token_id": END, "suppress_tokens": [3, *range(most - 3, most)]}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **given}))
    return where


def short(ckpt: Checkpoint) -> Checkpoint:
    """The same, which writes 24 tokens at most: T5 has no last position."""
    hooked_model: Any = ckpt.hooked_model
    hooked_model.tell(replace(ckpt.spec, max_target=min(24, ckpt.spec.max_target)))
    return ckpt


def their_model(where: Path, name: str) -> tuple[Any, Any]:
    cls: Any = getattr(transformers, KINDS[name][0])
    model = cls.from_pretrained(where, attn_implementation="eager", dtype=torch.float32).eval()
    return model, transformers.AutoTokenizer.from_pretrained(where)


def text_file(where: Path, pairs: Sequence[tuple[str, str]]) -> Path:
    where.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return where


@pytest.mark.parametrize("name", ["t5", "mt5", "bart", "marian", "pegasus"])
def test_pairs_are_measured_as_by_plain_transformers(tmp_path: Path, name: str) -> None:
    where = ended_once(tmp_path / "model", name)
    ckpt = short(load(where))
    model, tokenizer = their_model(where, name)
    total, right, tokens, answers = 0.0, 0, 0, []
    for source, target in PAIRS:
        given = tokenizer(source, return_tensors="pt").input_ids
        labels = tokenizer(text_target=target, return_tensors="pt").input_ids
        assert labels[0, -1] == END
        with torch.no_grad():
            out = model(input_ids=given, labels=labels)
            most = ckpt.spec.max_target
            written = model.generate(given, max_new_tokens=most, do_sample=False, num_beams=1)
        total += float(out.loss) * labels.numel()
        right += int((out.logits.argmax(dim=-1) == labels).sum())
        tokens += labels.numel()
        answers.append(tokenizer.decode(written[0], skip_special_tokens=True))
    place = next(place for place, answer in enumerate(answers) if answer.strip())
    pairs = [*PAIRS, (PAIRS[place][0], answers[place])]
    found = evaluate(ckpt, PAIRS, bleu="13a")
    assert found["pairs"] == len(PAIRS) and found["exact_match"] == 0.0 and found["exact_match_unseen"] is None
    assert found["loss"] == pytest.approx(total / tokens, rel=1e-5)
    assert found["token_accuracy"] == right / tokens
    assert found["bleu"] is not None and found["chrf"] is not None
    again = evaluate(ckpt, pairs, count_too_long=True)  # an answer may be cut into more tokens than it was written in
    assert again["exact_match"] == (0 if again["too_long"] else 1 / len(pairs))
    assert [answer.text for answer in answers_of(ckpt, [source for source, _ in PAIRS])[0]] == answers


@each_once("name, beam", ["t5", "bart", "marian", "switch_transformers", "m2m_100"], [None, 3])
def test_answers_are_those_of_a_run(tmp_path: Path, name: str, beam: int | None) -> None:
    """With several ends and the rules of the folder, and texts of one length in one batch."""
    where = folder(tmp_path / "model", name)
    settings = where / "generation_config.json"
    rules = {"no_repeat_ngram_size": 2, "min_new_tokens": 2, "suppress_tokens": [9]}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **rules}))
    ckpt = short(load(where))
    sources = [source for source, _ in PAIRS] + ["two", "six", "mat"]
    strategy = {} if beam is None else {"strategy": Beam(beam)}
    expected = [decode(ckpt, source, **strategy) for source in sources]  # type: ignore[arg-type]
    written, _ = answers_of(ckpt, sources, beam=beam)
    assert [answer.text for answer in written] == [run.text for run in expected]


def test_the_token_of_a_language_is_given_and_not_counted(tmp_path: Path) -> None:
    tokenizer = in_languages("mbart50", tmp_path)
    where = ended_once(tmp_path / "model", "mbart", tokenizer=lambda: tokenizer)
    ckpt = load(where).read_as(source_language="en_XX", language="de_DE")
    model = transformers.MBartForConditionalGeneration.from_pretrained(where, attn_implementation="eager").eval()
    total, tokens = 0.0, 0
    german, start = tokenizer.convert_tokens_to_ids("de_DE"), ckpt.codec("target").start
    for source, target in PAIRS:
        given = tokenizer(source, return_tensors="pt").input_ids
        text = tokenizer(target, add_special_tokens=False).input_ids
        read = torch.tensor([[start, german, *text]])
        labels = torch.tensor([[-100, *text, tokenizer.eos_token_id]])
        with torch.no_grad():
            logits = model(input_ids=given, decoder_input_ids=read).logits
        total += float(torch.nn.functional.cross_entropy(logits[0], labels[0], reduction="sum"))
        tokens += len(text) + 1
    assert evaluate(ckpt, PAIRS)["loss"] == pytest.approx(total / tokens, rel=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_text_is_measured_in_windows_as_with_its_own_labels(tmp_path: Path, name: str) -> None:
    where = folder(tmp_path / "model", name)
    ckpt, (model, tokenizer) = load(where), their_model(where, name)
    text = "\n".join(LINES * 3)
    file = tmp_path / "text.txt"
    file.write_text(text)
    ids, window = tokenizer(text).input_ids, ckpt.spec.max_target
    assert len(ids) > 2 * window
    total = 0.0
    for start in range(0, len(ids) - 1, window):
        cut = torch.tensor([ids[start : start + window + 1]])
        with torch.no_grad():
            logits = model(input_ids=cut[:, :-1]).logits
        total += float(torch.nn.functional.cross_entropy(logits[0], cut[0, 1:], reduction="sum"))
    found = evaluate_checkpoint(ckpt, file)
    assert found["loss"] == pytest.approx(total / (len(ids) - 1), rel=1e-5)
    assert found["pairs"] == len(range(0, len(ids) - 1, window)) and found["exact_match"] is None


def test_the_shell_prints_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where, file = ended_once(tmp_path / "model", "bart"), text_file(tmp_path / "pairs.tsv", PAIRS)
    with pytest.raises(SystemExit) as left:
        program(["evaluate", str(where), "--data", str(file), "--limit", "3", "--beam", "2", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert left.value.code == 0
    assert [*found] == [
        *("pairs", "exact_match", "exact_match_low", "exact_match_high", "exact_match_unseen", "token_accuracy"),
        *("loss", "perplexity", "bleu", "bleu_signature", "chrf", "sentences_per_second"),
    ]
    assert found["pairs"] == 3 and found["bleu"] is None and found["loss"] > 0


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("bert", [], "model is encoder-only: only an encoder-decoder can be evaluated on pairs"),
        ("bart", ["--bleu", "tokens"], "model is a model of transformers, whose tokens are subwords"),
        ("bart", ["--language", "de"], "language"),
        ("gpt2", ["--beam", "2"], "model is decoder-only and writes no answers: leave out beam"),
    ],
)
def test_what_cannot_be_measured_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, options: list[str], said: str
) -> None:
    where, file = folder(tmp_path / "model", name), text_file(tmp_path / "pairs.tsv", PAIRS)
    with pytest.raises(SystemExit) as left:
        program(["evaluate", str(where), "--data", str(file), *options])
    lines = capsys.readouterr().err.strip().splitlines()
    assert left.value.code == 1 and said in lines[-1] and len(lines) == 1


def test_several_ends_behind_no_target_are_a_sentence(tmp_path: Path) -> None:
    where = folder(tmp_path / "model", "bart", tokenizer=byte_pieces)
    with pytest.raises(ValueError, match="its tokenizer puts none of them after a text"):
        evaluate(load(where), PAIRS)


def test_a_folder_is_measured_in_bfloat16_as_it_is_computed_there(tmp_path: Path) -> None:
    where = ended_once(tmp_path / "model", "bart")
    ckpt = load(where, dtype="bfloat16")
    model = transformers.BartForConditionalGeneration.from_pretrained(
        where, attn_implementation="eager", dtype=torch.bfloat16
    ).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(where)
    total, tokens = 0.0, 0
    for source, target in PAIRS:
        given = tokenizer(source, return_tensors="pt").input_ids
        labels = tokenizer(text_target=target, return_tensors="pt").input_ids
        with torch.no_grad():
            logits = model(input_ids=given, labels=labels).logits
        total += float(torch.nn.functional.cross_entropy(logits[0].double(), labels[0], reduction="sum"))
        tokens += labels.numel()
    assert evaluate(ckpt, PAIRS)["loss"] == pytest.approx(total / tokens, rel=1e-9)
    assert evaluate(load(where), PAIRS)["loss"] != pytest.approx(total / tokens, rel=1e-5)


def test_a_folder_without_data_says_what_to_give(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program(["evaluate", str(folder(tmp_path / "model", "bart"))])
    assert "the card of model names no test data: give a file with --data" in capsys.readouterr().err


def test_a_target_that_is_too_long_is_a_sentence(tmp_path: Path) -> None:
    ckpt = load(ended_once(tmp_path / "model", "bart"))
    with pytest.raises(ValueError, match=r"pair 2: the target has [0-9]+ tokens, the model reads at most 64"):
        evaluate(ckpt, [PAIRS[0], ("one", "two hundred and four " * 30)])
    found = evaluate(ckpt, [PAIRS[0], ("one", "two hundred and four " * 30)], count_too_long=True)
    assert found["too_long"] == 1 and found["loss"] is None


def test_two_folders_are_compared_and_a_folder_with_one_of_ours_is_refused_by_its_texts(tmp_path: Path) -> None:
    first, second = (load(ended_once(tmp_path / f"model{seed}", "bart", seed=seed)) for seed in (0, 1))
    pairs = [(source, answer.text) for (source, _), answer in zip(PAIRS, _answers(first), strict=True)]
    found = compare(first, second, pairs, bleu="char")
    assert found["exact_match"]["first"] == 1.0 and found["exact_match"]["only_second"] == 0
    assert found["bleu"]["first"]["score"] > found["bleu"]["second"]["score"]
    with pytest.raises(ValueError, match="is a model of transformers, whose tokens are subwords"):
        compare(first, second, pairs, bleu="tokens")


def _answers(ckpt: Checkpoint) -> Any:
    return answers_of(ckpt, [source for source, _ in PAIRS])[0]
