"""What a card says about its evaluation, files that are given instead, and texts in windows."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from builders import SPECIALS, tiny_checkpoint
from scripted import KEYS, SOURCES, answers, script, writer

import viz_transformer.measuring.answering as answering
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.measuring.data import COPY_LONGEST, COPY_SYMBOLS, generated_pairs
from viz_transformer.measuring.evaluation import evaluate_checkpoint, evaluate_text, wilson
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters
from viz_transformer.text.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def ckpt() -> Checkpoint:
    """A model that answers SOURCES with one to ten characters."""
    return writer(seed=1, ending=2.0)


def test_the_card_says_what_is_evaluated(ckpt: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "sets"
    (folder / "toy").mkdir(parents=True)
    written = answers(ckpt, SOURCES)
    lines = [f"{source}|{target}\n" for source, target in zip(SOURCES, written, strict=True)]
    (folder / "toy" / "test.txt").write_text("".join(lines), encoding="utf-8")
    (folder / "toy" / "train.txt").write_text("abc|u\nzzz|u\n", encoding="utf-8")
    settings = {"data": "toy/test.txt", "limit": 4, "separator": "|", "seen": "toy/train.txt", "bleu": "char"}
    named = replace(ckpt, card={"evaluation": settings})
    result = evaluate_checkpoint(named, data_folder=folder)
    assert (result["pairs"], result["exact_match"], result["exact_match_unseen"]) == (4, 1.0, 1.0)
    assert result["bleu"] is not None
    assert evaluate_checkpoint(named, data_folder=folder, limit=7)["pairs"] == 7
    assert evaluate_checkpoint(named, folder / "toy" / "test.txt")["pairs"] == 10  # a file: all of it
    monkeypatch.setenv("VIZ_TRANSFORMER_DATA", str(folder))
    assert evaluate_checkpoint(named)["pairs"] == 4
    monkeypatch.setenv("VIZ_TRANSFORMER_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match=r"there is no data folder .*nowhere: give the folder that holds"):
        evaluate_checkpoint(named)
    assert evaluate_checkpoint(named, folder / "toy" / "test.txt")["exact_match_unseen"] is None
    with pytest.raises(ValueError, match="the card of tiny names no test data: give a file with --data"):
        evaluate_checkpoint(ckpt)
    (folder / "toy" / "test.txt").unlink()
    with pytest.raises(ValueError, match=r"test\.txt is missing: put the data set's file toy/test\.txt into"):
        evaluate_checkpoint(named, data_folder=folder)


def test_equal_expressions_count_where_the_card_asks_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Of four answers one is the same text, one the same expression, one another one, and one unknown."""
    series = replace(
        tiny_checkpoint(),
        target_codec=Codec(Characters(), Vocabulary((*SPECIALS.values(), *"abx+-*/()2345O6"), SPECIALS)),
    )
    asks = replace(series, card={"evaluation": {"separator": "|", "equivalence": "sympy"}})
    written = {"a": "a+x+O(x**6)", "b": "x+a+O(x**6)", "c": "a-x+O(x**6)", "d": "a+x+O(x**7)"}
    script(monkeypatch, (asks, written))
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("".join(f"{source}|a+x+O(x**6)\n" for source in written), encoding="utf-8")
    result = evaluate_checkpoint(asks, pairs)
    assert list(result) == [*KEYS, "equivalent"]
    assert (result["exact_match"], result["equivalent"]) == (1 / 4, 2 / 4)
    silent = replace(series, card={"evaluation": {"separator": "|"}})
    assert list(evaluate_checkpoint(silent, pairs)) == KEYS
    pairs.write_text("b|a+x\nb|a+x+O(x**6)\nc|x\n", encoding="utf-8")
    assert evaluate_checkpoint(asks, pairs, group=True)["equivalent"] == 1 / 2


def test_the_card_names_a_part_of_the_file_and_several_training_sets(
    ckpt: Checkpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Of the sources a, bb, ccc, dd, e, f only those of at most 2 letters count, the first is skipped: bb, dd, e."""
    sources = ["a", "bb", "ccc", "dd", "e", "f"]
    (tmp_path / "test.txt").write_text("".join(f"{s}|uu\n" for s in sources), encoding="utf-8")
    (tmp_path / "train1.tsv").write_text("bb\tu\n", encoding="utf-8")
    (tmp_path / "train2.txt").write_text("x|u\ne|uuu\ndd|u\n", encoding="utf-8")
    seen = [
        {"file": "train1.tsv"},
        {"file": "train2.txt", "separator": "|", "longest": [2, 2]},  # without e: its target is too long
    ]
    settings = {"data": "test.txt", "separator": "|", "longest": [2, 2], "skip": 1, "limit": 3, "seen": seen}
    named = replace(ckpt, card={"evaluation": settings})
    answered = script(monkeypatch, (named, {"bb": "uu", "dd": "v", "e": "uu", "a": "u", "ccc": "u", "f": "u"}))
    result = evaluate_checkpoint(named, data_folder=tmp_path)
    assert sorted(answered) == ["bb", "dd", "e"]
    assert (result["exact_match"], result["exact_match_unseen"]) == (2 / 3, 1.0)  # e alone was not trained on
    assert evaluate_checkpoint(named, data_folder=tmp_path, limit=2)["pairs"] == 2
    # A file that is given: all of it, the separator as the card says; looked for here, then in the data folder.
    assert evaluate_checkpoint(named, "test.txt", data_folder=tmp_path)["pairs"] == 6
    assert evaluate_checkpoint(named, "test.txt", data_folder=tmp_path, limit=4)["pairs"] == 4
    with pytest.raises(ValueError, match=r"there is no file none\.txt, neither here nor in the data folder"):
        evaluate_checkpoint(named, "none.txt", data_folder=tmp_path)
    (tmp_path / "train1.tsv").unlink()
    assert evaluate_checkpoint(named, data_folder=tmp_path)["exact_match_unseen"] is None


def test_pairs_that_are_too_long_are_wrong_without_being_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The card takes 4 letters on both sides, the model reads 12 (start and end included) and writes 11 with its end.

    Of the seven pairs one source and one target are too long for the card, one of each for the model.
    """
    ckpt = tiny_checkpoint(max_source=12, max_target=12)
    settings = {"data": "toy.tsv", "longest": [4, 4], "bleu": "char"}
    named = replace(ckpt, card={"evaluation": settings})
    lines = ["a\tuu", "bbbbb\tuu", "c\tuuuuu", "d\tv", "a" * 11 + "\tu", "f\t" + "u" * 12, "g\tuv"]
    (tmp_path / "toy.tsv").write_text("\n".join(lines), encoding="utf-8")
    answered = script(monkeypatch, (named, {"a": "uu", "d": "u", "g": "uv"}))
    alone = evaluate_checkpoint(named, data_folder=tmp_path)
    assert list(alone) == KEYS and (alone["pairs"], alone["exact_match"]) == (3, 2 / 3)
    errors = tmp_path / "wrong.tsv"
    result = evaluate_checkpoint(named, data_folder=tmp_path, count_too_long=True, errors=errors)
    assert sorted(answered) == ["a", "a", "d", "d", "g", "g"]  # once with the long ones, once without
    assert list(result) == [*KEYS, "too_long"]
    assert (result["pairs"], result["too_long"], result["exact_match"]) == (7, 4, 2 / 7)
    assert (result["exact_match_low"], result["exact_match_high"]) == wilson(2, 7)
    assert result["loss"] is result["perplexity"] is result["token_accuracy"] is None
    assert 0 < result["chrf"] < alone["chrf"]
    assert [line.split("\t")[1] for line in errors.read_text(encoding="utf-8").splitlines()] == ["", "", "u", "", ""]
    # A file that is given is treated alike; what nothing is too long for has its loss.
    assert evaluate_checkpoint(named, tmp_path / "toy.tsv", count_too_long=True)["exact_match"] == 2 / 7
    short = evaluate_checkpoint(named, tmp_path / "toy.tsv", limit=1, count_too_long=True)
    assert (short["too_long"], short["exact_match"]) == (0, 1.0) and short["loss"] > 0
    with pytest.raises(ValueError, match="pair 5: the source has 13 tokens, the model reads at most 12"):
        evaluate_checkpoint(named, tmp_path / "toy.tsv")


def test_of_joined_sources_one_target_that_is_short_enough_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    ckpt = tiny_checkpoint(max_source=6, max_target=6)
    pairs = tmp_path / "toy.tsv"
    pairs.write_text("a\tuuuuuu\na\tu\nb\tuuuuuu\nb\tvvvvvv\naaaaa\tu\n", encoding="utf-8")
    assert script(monkeypatch, (ckpt, {"a": "u"})) == []
    result = evaluate_checkpoint(ckpt, pairs, group=True, count_too_long=True)
    assert (result["pairs"], result["too_long"], result["exact_match"]) == (3, 2, 1 / 3)


def test_where_all_is_too_long_nothing_is_run_and_all_is_wrong(tmp_path: Path):
    ckpt = tiny_checkpoint(max_source=6, max_target=6)
    pairs = tmp_path / "toy.tsv"
    pairs.write_text("aaaaa\tu\n", encoding="utf-8")
    result = evaluate_checkpoint(ckpt, pairs, count_too_long=True)
    assert (result["pairs"], result["too_long"], result["exact_match"]) == (1, 1, 0.0)
    assert result["sentences_per_second"] is result["loss"] is None


def test_a_generated_set_needs_no_data_folder(ckpt: Checkpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("VIZ_TRANSFORMER_DATA", str(tmp_path / "nowhere"))
    vocabulary = Vocabulary((*SPECIALS.values(), *COPY_SYMBOLS), SPECIALS)
    copying = tiny_checkpoint(
        source_vocab_size=len(vocabulary), target_vocab_size=len(vocabulary), max_source=COPY_LONGEST + 2
    )
    copying = replace(
        copying, source_codec=Codec(Characters(), vocabulary), target_codec=Codec(Characters(), vocabulary)
    )
    pairs = generated_pairs("generated:copy/test", 5)
    settings = {
        "data": "generated:copy/test",
        "skip": 1,
        "limit": 4,
        "seen": [{"file": "generated:copy/train", "limit": 9}, {"file": "generated:copy/test", "limit": 2}],
    }
    named = replace(copying, card={"evaluation": settings})
    wrong = {pairs[1][0]: "a", pairs[3][0]: "a"}  # the first of these two is "seen"
    answered = script(monkeypatch, (named, {**dict(pairs), **wrong}))
    result = evaluate_checkpoint(named)
    assert sorted(answered) == sorted(source for source, _ in pairs[1:])
    assert (result["exact_match"], result["exact_match_unseen"]) == (2 / 4, 2 / 3)
    assert evaluate_checkpoint(named, "generated:copy/test", limit=5)["pairs"] == 5
    with pytest.raises(ValueError, match="generated:copy/test has no end: say how many pairs"):
        evaluate_checkpoint(named, "generated:copy/test")


@pytest.mark.parametrize(
    "strange",
    [
        {"limit": "3", "skip": True, "longest": [1], "separator": "", "bleu": 13, "equivalence": None, "window": "8"},
        {"longest": [1, "1"], "seen": 7},
        {"seen": ["toy.tsv"]},
        {"seen": [{"file": "toy.tsv", "limit": "all"}]},
        {"seen": []},
    ],
)
def test_what_has_the_wrong_type_in_a_card_is_ignored(strange: dict[str, Any], ckpt: Checkpoint, tmp_path: Path):
    (tmp_path / "toy.tsv").write_text("a\tu\nb\tv\n", encoding="utf-8")
    result = evaluate_checkpoint(
        replace(ckpt, card={"evaluation": {"data": "toy.tsv", **strange}}), data_folder=tmp_path
    )
    assert list(result) == KEYS
    assert result["pairs"] == 2
    assert result["bleu"] is result["exact_match_unseen"] is None


def test_a_bleu_that_is_asked_for_goes_before_the_cards(ckpt: Checkpoint, tmp_path: Path):
    (tmp_path / "toy.tsv").write_text("a\tu\nb\tv\n", encoding="utf-8")
    named = replace(ckpt, card={"evaluation": {"data": "toy.tsv", "bleu": "tokens"}})
    assert "tok:none|" in evaluate_checkpoint(named, data_folder=tmp_path)["bleu_signature"]
    assert "tok:char|" in evaluate_checkpoint(named, data_folder=tmp_path, bleu="char")["bleu_signature"]


TEXT = "uvwxyz0123456789uuvvwwxx?98"  # 27 characters, one of them unknown


@pytest.mark.parametrize(("window", "sizes"), [(8, [8, 8, 8, 2]), (13, [13, 13]), (1, [1] * 26), (24, [24, 2])])
@pytest.mark.parametrize("batch", [1, 2, 128])
def test_every_character_of_a_text_but_the_first_is_predicted_once(
    window: int, sizes: list[int], batch: int, monkeypatch: pytest.MonkeyPatch
):
    """One window at a time, in float64, without padding."""
    monkeypatch.setattr(answering, "BATCH", batch)
    ckpt = tiny_checkpoint("decoder-only")
    model = tiny_checkpoint("decoder-only").model.double()
    assert ckpt.target_codec is not None
    ids = [ckpt.target_codec.vocabulary.id(character) for character in TEXT]
    total, right, start = 0.0, 0, 0
    for size in sizes:
        with torch.no_grad():
            log_probs = model(torch.tensor([ids[start : start + size]]))[0].log_softmax(dim=-1)
        for row, wanted in enumerate(ids[start + 1 : start + size + 1]):
            total -= float(log_probs[row, wanted])
            right += int(log_probs[row].argmax()) == wanted != 3  # 3: unknown
        start += size
    assert start == 26
    calls: list[tuple[int, int]] = []
    result = evaluate_text(ckpt, TEXT, window, progress=lambda done, all: calls.append((done, all)))
    assert list(result) == KEYS
    assert result["pairs"] == len(sizes)
    assert result["loss"] == pytest.approx(total / 26, rel=1e-5)
    assert result["perplexity"] == pytest.approx(math.exp(total / 26), rel=1e-5)
    assert result["token_accuracy"] == right / 26
    assert calls[-1] == (len(sizes), len(sizes)) and calls == sorted(calls)
    assert all(result[name] is None for name in KEYS if "exact" in name or "bleu" in name)
    assert result["chrf"] is result["sentences_per_second"] is None


def test_a_limit_takes_the_first_windows_of_a_text():
    ckpt = tiny_checkpoint("decoder-only")
    result = evaluate_text(ckpt, TEXT, 8, 2)
    assert result["pairs"] == 2
    assert result["loss"] == pytest.approx(evaluate_text(ckpt, TEXT[:17], 8)["loss"], rel=1e-6)
    assert evaluate_text(ckpt, TEXT, 8, 100)["pairs"] == 4


def test_windows_of_a_model_with_fixed_padding_are_padded_to_its_length():
    """Padding behind a causal model's text changes nothing, and is not counted."""
    plain, padded = (
        tiny_checkpoint("decoder-only", max_source=24, pad_to=pad_to).model.state_dict() for pad_to in (None, 24)
    )
    assert all(torch.equal(plain[name], padded[name]) for name in plain)
    expected = evaluate_text(tiny_checkpoint("decoder-only"), TEXT, 8)
    result = evaluate_text(tiny_checkpoint("decoder-only", max_source=24, pad_to=24), TEXT, 8)
    assert result["loss"] == pytest.approx(expected["loss"], rel=1e-5)
    assert result["token_accuracy"] == expected["token_accuracy"]


def test_a_text_needs_no_padding_token():
    result = evaluate_text(tiny_checkpoint("decoder-only", target_pad=None), TEXT, 8)  # the last window is shorter
    assert result["loss"] == pytest.approx(evaluate_text(tiny_checkpoint("decoder-only"), TEXT, 8)["loss"], rel=1e-6)


def test_texts_that_cannot_be_measured_are_refused(ckpt: Checkpoint):
    decoder = tiny_checkpoint("decoder-only")
    for window in (0, 25):
        with pytest.raises(ValueError, match=f"windows of {window} tokens: tiny reads from 1 to 24 at a time"):
            evaluate_text(decoder, TEXT, window)
    with pytest.raises(ValueError, match="the text has one token"):
        evaluate_text(decoder, "u", 8)
    with pytest.raises(ValueError, match="limit=0 has to be a whole number of at least 1"):
        evaluate_text(decoder, TEXT, 8, 0)
    with pytest.raises(ValueError, match="tiny is encoder-decoder: only a decoder-only model"):
        evaluate_text(ckpt, TEXT, 8)
    with pytest.raises(ValueError, match="tiny has no vocabulary: only"):
        evaluate_text(replace(decoder, target_codec=None), TEXT, 8)


def test_a_decoder_only_checkpoint_is_evaluated_on_the_text_of_its_card(tmp_path: Path):
    (tmp_path / "toy.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "other.txt").write_text("uuuu", encoding="utf-8")
    decoder = tiny_checkpoint("decoder-only")
    settings = {"data": "toy.txt", "window": 8, "limit": 3, "bleu": "13a"}
    named = replace(decoder, card={"evaluation": settings})

    def loss(**options: Any) -> float:
        result = evaluate_checkpoint(named, data_folder=tmp_path, **options)
        return float(result["loss"])

    assert loss() == evaluate_text(decoder, TEXT, 8, 3)["loss"]
    assert loss(limit=1) == evaluate_text(decoder, TEXT, 8, 1)["loss"]
    assert loss(data_file=tmp_path / "toy.txt") == evaluate_text(decoder, TEXT, 8)["loss"]
    assert loss(data_file="other.txt") == evaluate_text(decoder, "uuuu", 8)["loss"]
    unnamed = evaluate_checkpoint(decoder, tmp_path / "toy.txt")
    assert unnamed["loss"] == evaluate_text(decoder, TEXT, 24)["loss"]
    with pytest.raises(ValueError, match="the card of tiny names no test data: give a file with --data"):
        evaluate_checkpoint(decoder, data_folder=tmp_path)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"beam": 4}, "beam"),
        ({"bleu": "13a", "group": True}, "bleu and group"),
        ({"errors": "errors.tsv"}, "errors"),
    ],
)
def test_options_for_answers_are_refused_for_a_model_that_gives_none(options: dict[str, Any], names: str):
    with pytest.raises(ValueError, match=f"tiny is decoder-only and writes no answers: leave out {names}$"):
        evaluate_checkpoint(tiny_checkpoint("decoder-only"), "text.txt", **options)
