"""Comparisons whose counts and p-values are worked by hand, and sacrebleu's paired bootstrap called directly."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from builders import tiny_checkpoint
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest
from scripted import script, with_words

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.command.server import HOST, USUAL_PORT
from viz_transformer.measuring.comparing import (
    both_answers,
    compare,
    compare_checkpoints,
    comparison_rows,
    difference_rows,
    mcnemar,
    verdicts,
)
from viz_transformer.text.tokenizers import RegexTokens, SpacyWords

SOURCES = ["a", "b", "c", "d", "e", "f", "g", "h"]
TARGETS = [
    "The cat sat on the mat.",
    "A dog ran home.",
    "It is not a cat.",
    "The dog sat on it.",
    "It ran, the cat.",
    "A cat is on the mat.",
    "The mat is home.",
    "Do not, do not sit.",
]
PAIRS = list(zip(SOURCES, TARGETS, strict=True))
# Right: a, b, c, d and e here, a and f there; "sit" can be written by none.
FIRST = [*TARGETS[:5], "a cat sat on the mat.", "the dog is home.", "do not, do not ran."]
SECOND = [
    TARGETS[0],
    "a dog sat home.",
    "it is a cat.",
    "the cat sat.",
    "it sat.",
    TARGETS[5],
    "the mat.",
    "do n't sit.",
]


def outcomes(both: int, only_first: int, only_second: int, neither: int) -> tuple[list[bool], list[bool]]:
    cells = [(True, True)] * both + [(True, False)] * only_first + [(False, True)] * only_second
    cells += [(False, False)] * neither
    return [a for a, _ in cells], [b for _, b in cells]


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [
        (5, 1, 2 * (1 + 6) / 64),  # 6 tosses: 1 way for none, 6 for one, of 64; both ends
        (1, 5, 2 * (1 + 6) / 64),
        (10, 0, 2 / 1024),
        (0, 1, 1.0),
        (3, 3, 1.0),  # both ends meet in the middle: never more than 1
        (4, 3, 1.0),
        (0, 0, 1.0),
    ],
)
def test_mcnemars_p_is_that_of_tossed_coins(only_first: int, only_second: int, p: float):
    found = mcnemar(*outcomes(7, only_first, only_second, 2))
    counts = {"both": 7, "only_first": only_first, "only_second": only_second, "neither": 2}
    assert found == {**counts, "p": pytest.approx(p, rel=1e-12)}


def test_mcnemars_p_counts_all_tosses_as_uneven():
    """Every outcome of 11 tosses is listed: those at least as uneven as 9 to 2."""
    uneven = sum(abs(sum(tosses) - 5.5) >= 3.5 for tosses in product((0, 1), repeat=11))
    assert mcnemar(*outcomes(0, 9, 2, 0))["p"] == pytest.approx(uneven / 2**11)


def test_mcnemar_takes_as_many_pairs_as_there_are():
    """A normal distribution with continuity correction is close for 20,000 tosses: z = 199 / sqrt(20000)."""
    assert mcnemar(*outcomes(0, 10_100, 9_900, 0))["p"] == pytest.approx(0.1593, abs=2e-4)
    assert mcnemar(*outcomes(0, 20_000, 0, 0))["p"] == 0.0  # smaller than any float


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> tuple[Checkpoint, Checkpoint]:
    first, second = replace(with_words(), name="one"), replace(with_words(seed=1), name="two")
    script(
        monkeypatch,
        (first, dict(zip(SOURCES, FIRST, strict=True))),
        (second, dict(zip(SOURCES, SECOND, strict=True))),
    )
    return first, second


def test_exact_matches_are_counted_pair_by_pair(two: tuple[Checkpoint, Checkpoint]):
    result = compare(*two, PAIRS)
    assert (result["pairs"], result["first"], result["second"]) == (8, "one", "two")
    assert result["exact_match"] == {
        "first": 5 / 8,
        "second": 2 / 8,
        "both": 1,
        "only_first": 4,
        "only_second": 1,
        "neither": 2,
        "p": pytest.approx(2 * (1 + 5) / 32),
    }
    assert result["bleu"] is result["chrf"] is None
    turned = compare(two[1], two[0], PAIRS)["exact_match"]
    assert (turned["first"], turned["only_first"], turned["p"]) == (2 / 8, 1, result["exact_match"]["p"])


def test_the_pairs_with_different_answers_are_listed_with_both_and_a_link(
    two: tuple[Checkpoint, Checkpoint], tmp_path: Path
):
    both = both_answers(*two, PAIRS)
    head, *rows = difference_rows(both)
    assert head == ("source", "target", "one", "two", "right", "in the app")
    assert [row[0] for row in rows] == [*"bcdefgh"]  # to a both write the same
    assert [row[4] for row in rows] == ["one", "one", "one", "one", "two", "neither", "neither"]
    assert rows[0][1:4] == (TARGETS[1], TARGETS[1].lower(), SECOND[1])
    link = urlsplit(rows[0][5])
    assert link.netloc == f"{HOST}:{USUAL_PORT}" and dict(parse_qsl(link.query)) == {
        "checkpoint": "one",
        "text": "b",
        "pin_checkpoint": "two",
        "pin_text": "b",
        "shown": "A|B",
    }
    compare(*two, PAIRS, differences=tmp_path / "differences.tsv")
    lines = (tmp_path / "differences.tsv").read_text(encoding="utf-8").splitlines()
    assert [tuple(line.split("\t")) for line in lines] == [head, *rows]
    with pytest.raises(ValueError, match="is a folder"):
        compare(*two, PAIRS, differences=tmp_path)


def test_the_bootstrap_is_sacrebleus_with_its_usual_seed(
    two: tuple[Checkpoint, Checkpoint], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    texts = [[text.lower() for text in answers] for answers in (FIRST, SECOND)]  # the models write lower case,
    texts[1][-1] = "don't <unk>."  # join their tokens, and do not know "sit"
    metrics = {"bleu": BLEU(tokenize="13a", lowercase=True), "chrf": CHRF(lowercase=True)}
    systems: list[Any] = [("1", texts[0]), ("2", texts[1])]
    signatures, scores = PairedTest(systems, metrics, [TARGETS], test_type="bs", n_samples=1000)()
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    result = compare(*two, PAIRS, bleu="13a")
    for name, key in (("bleu", "BLEU"), ("chrf", "chrF2")):
        results: list[Any] = list(scores[key])
        one, other = results
        for which, wanted in (("first", one), ("second", other)):
            found = (result[name][which]["score"], result[name][which]["mean"], result[name][which]["interval"])
            assert found == pytest.approx((wanted.score, wanted.mean, wanted.ci))
        assert result[name]["p"] == pytest.approx(other.p_value)
        assert result[name]["signature"] == str(signatures[key])
        assert "seed:12345|" in result[name]["signature"] and "bs:1000|" in result[name]["signature"]
    assert os.environ["SACREBLEU_SEED"] == "7"


def test_bleu_of_tokens_is_that_of_both_models_tokens(two: tuple[Checkpoint, Checkpoint]):
    metric = BLEU(tokenize="none", lowercase=True)
    references = [
        "the cat sat on the mat .",
        "a dog ran home .",
        "it is not a cat .",
        "the dog sat on it .",
        "it ran , the cat .",
        "a cat is on the mat .",
        "the mat is home .",
        "do not , do not sit .",
    ]
    second = [
        references[0],
        "a dog sat home .",
        "it is a cat .",
        "the cat sat .",
        "it sat .",
        references[5],
        "the mat .",
        "do n't X .",
    ]
    result = compare(*two, PAIRS, bleu="tokens")
    assert result["bleu"]["second"]["score"] == pytest.approx(metric.corpus_score(second, [references]).score)
    assert "tok:none|" in result["bleu"]["signature"]
    texts = [*(text.lower() for text in SECOND[:-1]), "don't <unk>."]  # chrF is of these
    assert result["chrf"]["second"]["score"] == pytest.approx(CHRF(lowercase=True).corpus_score(texts, [TARGETS]).score)


def test_a_model_is_no_better_than_itself(two: tuple[Checkpoint, Checkpoint]):
    result = compare(two[0], two[0], PAIRS, bleu="13a")
    assert (result["first"], result["second"]) == ("one (first)", "one (second)")
    assert result["exact_match"]["p"] == result["bleu"]["p"] == result["chrf"]["p"] == 1.0
    assert result["bleu"]["first"]["score"] == result["bleu"]["second"]["score"] > 0
    assert [sentence.count("the two are equal") for sentence in verdicts(result)] == [0, 1, 1, 1]


def test_a_model_of_lower_case_is_compared_in_lower_case(monkeypatch: pytest.MonkeyPatch):
    lower, cased = with_words(), with_words(SpacyWords("en"), seed=1)
    script(monkeypatch, (lower, {"a": "the cat"}), (cased, {"a": "the cat"}))
    for two in ((lower, cased), (cased, lower)):
        assert compare(*two, [("a", "The cat")])["exact_match"]["both"] == 1
    assert compare(cased, cased, [("a", "The cat")])["exact_match"]["both"] == 0


def test_progress_counts_the_answers_of_both(two: tuple[Checkpoint, Checkpoint]):
    calls: list[tuple[int, int]] = []
    compare(*two, PAIRS, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(8, 16), (16, 16)]


def test_what_cannot_be_compared_is_refused(two: tuple[Checkpoint, Checkpoint]):
    for kind in ("decoder-only", "encoder-only"):
        other = replace(tiny_checkpoint(kind), name="other")
        for both in ((two[0], other), (other, two[0])):
            with pytest.raises(ValueError, match=f"other is {kind}: only an encoder-decoder can be evaluated"):
                compare(*both, PAIRS)
            with pytest.raises(ValueError, match=f"other is {kind}: only an encoder-decoder can be evaluated"):
                compare_checkpoints(*both)
    with pytest.raises(ValueError, match="there are no pairs to compare on"):
        compare(*two, [])
    with pytest.raises(ValueError, match="bleu='14a' is not known"):
        compare(*two, PAIRS, bleu="14a")
    short = replace(tiny_checkpoint(max_source=5), name="short")
    with pytest.raises(ValueError, match="short, pair 2: the source has 6 tokens, the model reads at most 5"):
        compare(two[0], short, [("a", "the"), ("abcd", "the")])
    other = replace(with_words(RegexTokens(r"\S+")), name="other")
    with pytest.raises(ValueError, match=r"one and other split the target of pair 2 into different .*--bleu 13a"):
        compare(two[0], other, [("a", "the cat"), ("b", "the cat.")], bleu="tokens")


def test_the_first_ones_card_names_pairs_and_bleu(two: tuple[Checkpoint, Checkpoint], tmp_path: Path):
    (tmp_path / "test.txt").write_text("".join(f"{s}|{t}\n" for s, t in PAIRS), encoding="utf-8")
    card = {"evaluation": {"data": "test.txt", "separator": "|", "skip": 1, "limit": 5, "bleu": "tokens"}}
    first, second = replace(two[0], card=card), replace(two[1], card={"evaluation": {"data": "none.txt"}})
    result = compare_checkpoints(first, second, data_folder=tmp_path)
    assert result == compare(first, second, PAIRS[1:6], bleu="tokens")
    result = compare_checkpoints(first, second, "test.txt", limit=3, bleu="char", data_folder=tmp_path)
    assert result == compare(first, second, PAIRS[:3], bleu="char")


def told(p: float, bleu: float) -> dict[str, Any]:
    score = {"mean": 30.0, "interval": 1.25}
    exact = {"first": 0.5, "second": 0.25, "both": 200, "only_first": 300, "only_second": 50, "neither": 450, "p": p}
    found = {"first": {"score": 30.0, **score}, "second": {"score": bleu, **score}, "p": p, "signature": "s"}
    return {"pairs": 1000, "first": "one", "second": "two", "exact_match": exact, "bleu": found, "chrf": None}


def test_the_table_says_who_is_better_by_how_much():
    assert comparison_rows(told(0.004, 32.5)) == [
        ("", "one", "two", "difference", "p"),
        ("exact match", "50.00%", "25.00%", "+25.00 points", "0.0040"),
        ("BLEU", "30.00 (±1.25)", "32.50 (±1.25)", "-2.50", "0.0040"),
    ]
    assert verdicts(told(0.004, 32.5)) == [
        "Of 1,000 pairs both have 200 right, only one 300, only two 50, neither 450.",
        "By exact match one is better (p = 0.004, McNemar's exact test).",
        "By BLEU two is better (p = 0.004, paired bootstrap, 1,000 samples).",
    ]


def test_a_difference_that_may_be_chance_is_called_so():
    assert verdicts(told(0.06, 32.5))[1:] == [
        "By exact match one is ahead, and that may be chance (p = 0.06, McNemar's exact test).",
        "By BLEU two is ahead, and that may be chance (p = 0.06, paired bootstrap, 1,000 samples).",
    ]
