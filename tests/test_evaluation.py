"""Evaluation against cases worked by hand, plain loops, and sacrebleu's own command."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from builders import tiny_checkpoint

import viz_transformer.evaluation as evaluation
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.evaluation import evaluate, evaluate_checkpoint, read_pairs, wilson
from viz_transformer.search import decode_batch

SOURCES = ["abc", "h", "gfedcba", "aab", "dddddd", "bh", "hb", "hhh", "bad", "face"]
KEYS = (
    "pairs exact_match exact_match_low exact_match_high exact_match_unseen token_accuracy loss perplexity bleu"
    " bleu_signature chrf sentences_per_second"
).split()


def writer(seed: int, ending: float, **changes: Any) -> Checkpoint:
    """A random model that writes no specials; the larger `ending`, the sooner it stops."""
    ckpt = tiny_checkpoint(seed=seed, **changes)
    assert ckpt.model.output is not None and ckpt.model.output.bias is not None
    with torch.no_grad():
        ckpt.model.output.bias += torch.tensor([-9.0, -9.0, ending, -9.0, *[0.0] * 16])
    return ckpt


@pytest.fixture(scope="module")
def ckpt() -> Checkpoint:
    """A model that answers SOURCES with one to ten characters."""
    return writer(seed=1, ending=2.0)


def answers(ckpt: Checkpoint, sources: list[str]) -> list[str]:
    """What the model writes, one source at a time."""
    assert ckpt.source_codec is not None and ckpt.target_codec is not None
    written = [decode_batch(ckpt.model, [ckpt.source_codec.encode(source).ids], bos=1, eos=2)[0] for source in sources]
    return [ckpt.target_codec.decode(ids) for ids in written]


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(1980, 2000, 0.985, 0.994), (563, 593, 0.929, 0.964), (0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0)],
)
def test_wilson_gives_the_published_intervals(k: int, n: int, low: float, high: float):
    assert wilson(k, n) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))


def test_wilson_bounds_are_where_the_normal_score_is_196():
    """The interval's definition: the true shares p at which (k/n - p) / sqrt(p (1 - p) / n) is 1.96 away from 0."""
    for bound in wilson(37, 50):
        assert abs(37 / 50 - bound) / math.sqrt(bound * (1 - bound) / 50) == pytest.approx(1.959964, rel=1e-6)


def test_wilson_ends_exactly_at_none_and_all():
    for n in (1, 7, 2000):
        assert wilson(0, n)[0] == 0.0
        assert wilson(n, n)[1] == 1.0


@pytest.mark.parametrize(("k", "n"), [(0, 0), (3, 2), (-1, 2)])
def test_wilson_refuses_what_is_no_proportion(k: int, n: int):
    with pytest.raises(ValueError, match=f"{k} of {n} is no proportion"):
        wilson(k, n)


def test_exact_matches_are_counted_whatever_the_batches(ckpt: Checkpoint, monkeypatch: pytest.MonkeyPatch):
    targets = answers(ckpt, SOURCES)
    for wrong in (1, 4, 5):
        targets[wrong] = "uuu" if targets[wrong] != "uuu" else "vvv"
    pairs = list(zip(SOURCES, targets, strict=True))
    seen = {SOURCES[0], SOURCES[1]}  # one right, one wrong
    results = []
    for batch in (1, 3, 128):
        monkeypatch.setattr(evaluation, "BATCH", batch)
        results.append(evaluate(ckpt, pairs, seen_sources=seen))
    for result in results:
        assert list(result) == KEYS
        assert (result["pairs"], result["exact_match"], result["exact_match_unseen"]) == (10, 0.7, 6 / 8)
        assert (result["exact_match_low"], result["exact_match_high"]) == wilson(7, 10)
        assert result["loss"] == pytest.approx(results[0]["loss"], rel=1e-5)
        assert result["token_accuracy"] == results[0]["token_accuracy"]
        assert result["bleu"] is result["bleu_signature"] is result["chrf"] is None
        assert result["sentences_per_second"] > 0


def test_loss_and_accuracy_are_per_token_with_the_end_token(ckpt: Checkpoint):
    """One pair at a time, in float64, without padding."""
    pairs = [("abc", "uvwx"), ("h", "y"), ("gfedcba", "012345")]
    model = writer(seed=1, ending=2.0).model.double()
    assert ckpt.source_codec is not None and ckpt.target_codec is not None
    total, right, tokens = 0.0, 0, 0
    for source, target in pairs:
        src = torch.tensor([ckpt.source_codec.encode(source).ids])
        tgt = ckpt.target_codec.encode(target).ids
        with torch.no_grad():
            log_probs = model(src, torch.tensor([tgt[:-1]]))[0].log_softmax(dim=-1)
        for row, wanted in enumerate(tgt[1:]):
            total, tokens = total - float(log_probs[row, wanted]), tokens + 1
            right += int(log_probs[row].argmax()) == wanted
    result = evaluate(ckpt, pairs)
    assert tokens == 4 + 1 + 6 + 3
    assert result["loss"] == pytest.approx(total / tokens, rel=1e-5)
    assert result["perplexity"] == pytest.approx(math.exp(total / tokens), rel=1e-5)
    assert result["token_accuracy"] == right / tokens


@pytest.mark.parametrize("pad_to", [None, 12])
def test_a_model_whose_numbers_depend_on_padding_is_evaluated_as_it_runs_alone(pad_to: int | None):
    """In batches of texts of one length, or padded to its own length, never to that of a neighbour."""
    sizes = {"max_source": 12, "max_target": 12, "pad_to": 12} if pad_to else {}
    ckpt = writer(seed=1, ending=2.0, merge="raw-reshape", norm_kind="positions-and-features", **sizes)
    assert ckpt.source_codec is not None and ckpt.target_codec is not None
    pairs = [("abc", "uvwx"), ("h", "y"), ("gfedcba", "012345"), ("cba", "y"), ("b", "0")]
    total, tokens = 0.0, 0
    for source, target in pairs:
        src, tgt = ckpt.source_codec.encode(source).ids, ckpt.target_codec.encode(target).ids
        read = [[*ids, *[0] * ((pad_to or 0) - len(ids))] for ids in (src, tgt[:-1])]
        with torch.no_grad():
            log_probs = ckpt.model(torch.tensor([read[0]]), torch.tensor([read[1]]))[0].log_softmax(dim=-1)
        total -= sum(float(log_probs[row, wanted]) for row, wanted in enumerate(tgt[1:]))
        tokens += len(tgt) - 1
    result = evaluate(ckpt, pairs)
    assert result["loss"] == pytest.approx(total / tokens, rel=1e-4)
    right = [answer == target for answer, (_, target) in zip(answers(ckpt, [s for s, _ in pairs]), pairs, strict=True)]
    assert result["exact_match"] == sum(right) / len(pairs)


def test_a_model_without_padding_is_evaluated_all_the_same():
    unpadded = writer(seed=1, ending=2.0, source_pad=None, target_pad=None)
    pairs = list(zip(SOURCES, answers(unpadded, SOURCES), strict=True))
    result = evaluate(unpadded, pairs)
    assert result["exact_match"] == 1.0
    alone = [evaluate(unpadded, [pair]) for pair in pairs]
    tokens = [len(target) + 1 for _, target in pairs]
    mean = sum(one["loss"] * n for one, n in zip(alone, tokens, strict=True)) / sum(tokens)
    assert result["loss"] == pytest.approx(mean, rel=1e-5)


def test_an_unknown_word_never_counts_as_right():
    """The model is made to say <unk> always: neither the text <unk> nor an unknown letter is then a hit."""
    biased = tiny_checkpoint()
    assert biased.model.output is not None and biased.model.output.bias is not None
    with torch.no_grad():
        biased.model.output.bias[3] = 1e3
    result = evaluate(biased, [("abc", "????"), ("h", "?")])
    assert (result["exact_match"], result["token_accuracy"]) == (0.0, 0.0)


def test_bleu_and_chrf_are_sacrebleus_of_the_answers(ckpt: Checkpoint):
    import sacrebleu

    written = answers(ckpt, SOURCES)
    targets = [text[:3] + "uv" for text in written]
    result = evaluate(ckpt, list(zip(SOURCES, targets, strict=True)), bleu="char")
    assert result["bleu"] == pytest.approx(sacrebleu.corpus_bleu(written, [targets], tokenize="char").score)
    assert result["chrf"] == pytest.approx(sacrebleu.corpus_chrf(written, [targets]).score)
    assert (
        0 < result["bleu"] < 100 and "tok:char" in result["bleu_signature"] and "case:mixed" in result["bleu_signature"]
    )


def test_a_beam_is_what_is_evaluated_when_asked_for():
    ckpt = writer(seed=4, ending=1.0)
    sources = ["gfedcba", "face"]
    assert ckpt.source_codec is not None and ckpt.target_codec is not None
    ids = [ckpt.source_codec.encode(source).ids for source in sources]
    beams = [ckpt.target_codec.decode(found) for found in decode_batch(ckpt.model, ids, bos=1, eos=2, beam=4)]
    pairs = list(zip(sources, beams, strict=True))
    assert evaluate(ckpt, pairs, beam=4)["exact_match"] == 1.0
    assert evaluate(ckpt, pairs)["exact_match"] == 0.0


def test_progress_ends_with_all_pairs(ckpt: Checkpoint, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(evaluation, "BATCH", 4)
    calls: list[tuple[int, int]] = []
    evaluate(ckpt, [(source, "u") for source in SOURCES], progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (10, 10) and len(calls) >= 3 and calls == sorted(calls)


@pytest.mark.parametrize("kind", ["encoder-only", "decoder-only"])
def test_only_an_encoder_decoder_is_evaluated(kind: str):
    with pytest.raises(ValueError, match=f"tiny is {kind}: only an encoder-decoder can be evaluated on pairs"):
        evaluate(tiny_checkpoint(kind), [("a", "u")])


def test_texts_that_do_not_fit_are_refused_with_their_number(ckpt: Checkpoint):
    with pytest.raises(ValueError, match="pair 2: the source has 21 tokens, the model reads at most 20"):
        evaluate(ckpt, [("a", "u"), ("a" * 19, "u")])
    with pytest.raises(ValueError, match="pair 1: the target has 25 tokens, the model reads at most 24"):
        evaluate(ckpt, [("a", "u" * 24)])
    with pytest.raises(ValueError, match="there are no pairs"):
        evaluate(ckpt, [])


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


def test_pairs_are_read_plain_and_zipped(tmp_path: Path):
    content = "\ufeffa b\t c\u00e9 \r\nx\ty\n".encode()
    (tmp_path / "plain.tsv").write_bytes(content)
    (tmp_path / "zipped.tsv.gz").write_bytes(gzip.compress(content))
    for name in ("plain.tsv", "zipped.tsv.gz"):
        assert read_pairs(tmp_path / name) == [("a b", "c\u00e9"), ("x", "y")]
        assert read_pairs(tmp_path / name, limit=1) == [("a b", "c\u00e9")]


def test_a_line_break_of_another_alphabet_ends_no_line(tmp_path: Path):
    (tmp_path / "p.tsv").write_bytes("a\u2028b\tc\u0085d\n".encode())
    assert read_pairs(tmp_path / "p.tsv") == [("a\u2028b", "c\u0085d")]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a\tb\none column only\n", r"p\.tsv, line 2 has 1 column, each line must be source<TAB>target"),
        (b"a\tb\tc\n", r"line 1 has 3 columns"),
        (b"a\tb\n\nc\td\n", r"line 2 has 1 column,"),
        (b"a\tb\n1\t\xe9\n", r"line 2 is not UTF-8 text: convert"),
        (b"a\tb\n \tb\n", r"line 2 has no source: fill it in"),
        (b"a\t\n", r"line 1 has no target: fill it in"),
        (b"", r"p\.tsv is empty: it must have one pair"),
        (gzip.compress(b"a\tb\n" * 1000)[:-12], r"p\.tsv is a damaged gzip file: copy it again"),
        (b"\x1f\x8bnothing", r"p\.tsv is a damaged gzip file"),
    ],
)
def test_bad_files_are_refused_with_the_line(content: bytes, sentence: str, tmp_path: Path):
    (tmp_path / "p.tsv").write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read_pairs(tmp_path / "p.tsv")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"there is no file .*nothing"):
        read_pairs(tmp_path / "nothing")
    with pytest.raises(ValueError, match="cannot be read"):
        read_pairs(tmp_path)
    (tmp_path / "p.tsv").write_text("a\tb\n")
    with pytest.raises(ValueError, match="limit=0 must be at least 1"):
        read_pairs(tmp_path / "p.tsv", limit=0)
