"""Evaluation against cases worked by hand, plain loops, and sacrebleu's own command."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from builders import tiny_checkpoint
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from scripted import KEYS, SOURCES, answers, script, with_words, writer

import viz_transformer.measuring.answering as answering
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.measuring.evaluation import evaluate, wilson
from viz_transformer.running.search import decode_batch
from viz_transformer.text.tokenizers import RegexTokens


@pytest.fixture(scope="module")
def ckpt() -> Checkpoint:
    """A model that answers SOURCES with one to ten characters."""
    return writer(seed=1, ending=2.0)


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
    with pytest.raises(ValueError, match=f"{k} of {n} is not a proportion"):
        wilson(k, n)


def test_exact_matches_are_counted_whatever_the_batches(ckpt: Checkpoint, monkeypatch: pytest.MonkeyPatch):
    targets = answers(ckpt, SOURCES)
    for wrong in (1, 4, 5):
        targets[wrong] = "uuu" if targets[wrong] != "uuu" else "vvv"
    pairs = list(zip(SOURCES, targets, strict=True))
    seen = {SOURCES[0], SOURCES[1]}  # one right, one wrong
    results = []
    for batch in (1, 3, 128):
        monkeypatch.setattr(answering, "BATCH", batch)
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
    monkeypatch.setattr(answering, "BATCH", 4)
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


def test_equal_sources_are_joined_and_decoded_once(monkeypatch: pytest.MonkeyPatch):
    """By hand: "a" and "c" are right by one of their targets, "b" is wrong. Ungrouped, 2 of 6 pairs are right."""
    ckpt = with_words()
    pairs = [
        ("a", "the cat sat on the mat"),
        ("b", "it ran home"),
        ("a", "a cat sat on a mat"),
        ("c", "it is not a dog"),
        ("b", "the dog ran"),
        ("a", "the cat sat on the mat"),
    ]
    written = {"a": "a cat sat on a mat", "b": "the dog ran home", "c": "it is not a dog"}
    answered = script(monkeypatch, (ckpt, written))
    result = evaluate(ckpt, pairs, group=True, bleu="13a", seen_sources={"a"})
    assert sorted(answered) == ["a", "b", "c"]
    assert (result["pairs"], result["exact_match"], result["exact_match_unseen"]) == (3, 2 / 3, 1 / 2)
    assert (result["exact_match_low"], result["exact_match_high"]) == wilson(2, 3)
    references = [
        ["the cat sat on the mat", "it ran home", "it is not a dog"],
        ["a cat sat on a mat", "the dog ran", None],
    ]
    metric = BLEU(tokenize="13a", lowercase=True)
    assert result["bleu"] == pytest.approx(metric.corpus_score(list(written.values()), references).score)  # type: ignore[arg-type]
    assert result["chrf"] == pytest.approx(CHRF(lowercase=True).corpus_score(list(written.values()), references).score)  # type: ignore[arg-type]
    assert "nrefs:var|" in result["bleu_signature"]
    alone = evaluate(ckpt, pairs, bleu="13a")
    assert (alone["pairs"], alone["exact_match"]) == (6, 2 / 6)
    assert alone["bleu"] < result["bleu"]
    for name in ("loss", "perplexity", "token_accuracy"):  # over all six targets in both
        assert result[name] == pytest.approx(alone[name])


def test_bleu_of_tokens_is_sacrebleus_of_the_models_own_tokens(monkeypatch: pytest.MonkeyPatch):
    """Lower-cased spaCy tokens, computed by hand; an unknown word of a reference stays what it is."""
    ckpt = with_words()
    pairs = [("a", "The cat doesn't sit, it sat."), ("b", "A zebra ran home on it."), ("c", "it is <unk> on the mat")]
    written = {"a": "the cat do n't sat , it sat .", "b": "a zebra ran home on it .", "c": "it is zebra on the mat"}
    script(monkeypatch, (ckpt, written))
    result = evaluate(ckpt, pairs, bleu="tokens")
    answers = [
        "the cat do n't sat , it sat .",
        "a X ran home on it .",
        "it is X on the mat",
    ]  # X: what no reference has
    references = ["the cat does n't sit , it sat .", "a zebra ran home on it .", "it is < unk > on the mat"]
    metric = BLEU(tokenize="none", lowercase=True)
    assert result["bleu"] == pytest.approx(metric.corpus_score(answers, [references]).score)
    assert result["bleu_signature"] == str(metric.get_signature())
    texts = ["the cat don't sat, it sat.", "a <unk> ran home on it.", "it is <unk> on the mat"]  # as people read them
    assert result["chrf"] == pytest.approx(CHRF(lowercase=True).corpus_score(texts, [[t for _, t in pairs]]).score)
    assert result["exact_match"] == 0.0


def test_an_unknown_token_matches_no_reference_that_spells_it(monkeypatch: pytest.MonkeyPatch):
    ckpt = with_words(RegexTokens(r"\S+"))
    script(monkeypatch, (ckpt, {"a": "it ran <unk> home .", "b": "it ran on home ."}))
    pairs = [("a", "it ran <unk> home ."), ("b", "it ran on home .")]
    result = evaluate(ckpt, pairs, bleu="tokens")
    assert result["exact_match"] == 1 / 2
    metric = BLEU(tokenize="none", lowercase=False)
    wanted = metric.corpus_score(["it ran X home .", "it ran on home ."], [[target for _, target in pairs]]).score
    assert result["bleu"] == pytest.approx(wanted)
    assert result["bleu"] < 99


def test_unknown_words_for_scores_are_refused_before_anything_is_run(ckpt: Checkpoint, monkeypatch: pytest.MonkeyPatch):
    answered = script(monkeypatch, (ckpt, {"a": "u"}))
    for options, sentence in (
        ({"bleu": "14a"}, "bleu='14a' is not known"),
        ({"equivalence": "x"}, "equivalence='x' is not known"),
    ):
        with pytest.raises(ValueError, match=sentence):
            evaluate(ckpt, [("a", "u")], **options)
    assert answered == []


def test_wrong_answers_are_written_in_the_order_of_the_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    ckpt = with_words()
    pairs = [("abcdefgh", "the dog"), ("a", "the cat"), ("b", "The  Mat"), ("a", "A\u2028dog"), ("c", "é\tran")]
    script(monkeypatch, (ckpt, {"abcdefgh": "a cat", "a": "the cat", "b": "the mat", "c": "it ran"}))
    file = tmp_path / "errors.tsv"
    evaluate(ckpt, pairs, errors=file)
    lines = ["abcdefgh\ta cat\tthe dog", "a\tthe cat\tA dog", "c\tit ran\té ran"]
    assert file.read_bytes() == "".join(line + "\n" for line in lines).encode()
    evaluate(ckpt, [*pairs, ("c", "ran")], errors=file, group=True)
    assert file.read_bytes() == "abcdefgh\ta cat\tthe dog\nc\tit ran\té ran | ran\n".encode()
    evaluate(ckpt, [("a", "the cat")], errors=file)
    assert file.read_bytes() == b""
    assert [path.name for path in tmp_path.iterdir()] == ["errors.tsv"]


@pytest.mark.parametrize("where", ["folder", "missing/errors.tsv", "file/errors.tsv", "x" * 300])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_run(
    where: str, ckpt: Checkpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    answered = script(monkeypatch, (ckpt, {"a": "u"}))
    with pytest.raises(ValueError, match=r"is a folder: give|cannot be written.*: (give|make)"):
        evaluate(ckpt, [("a", "v")], errors=tmp_path / where)
    assert answered == []


def test_an_evaluation_that_fails_leaves_the_errors_of_the_last_one(
    ckpt: Checkpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "errors.tsv").write_text("old\n", encoding="utf-8")
    (tmp_path / "link.tsv").symlink_to("errors.tsv")
    script(monkeypatch, (ckpt, {"a": "u"}))
    with pytest.raises(KeyError):
        evaluate(ckpt, [("a", "u"), ("b", "u")], errors=tmp_path / "errors.tsv")
    assert (tmp_path / "errors.tsv").read_text(encoding="utf-8") == "old\n"
    evaluate(ckpt, [("a", "v")], errors=tmp_path / "link.tsv")
    assert (tmp_path / "errors.tsv").read_text(encoding="utf-8") == "a\tu\tv\n"
    assert (tmp_path / "link.tsv").is_symlink()
