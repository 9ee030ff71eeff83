"""Compares two checkpoints on the same pairs, with tests of significance."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from viz_transformer import declared, numerals
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.writing import check_output, write_file
from viz_transformer.given import CALLABLE, PAIRS, PATH, TEXT, WHOLE, optional, takes
from viz_transformer.measuring.answering import Answer, Progress, answers_of, sides, source_ids
from viz_transformer.measuring.app_links import app_link, both_shown
from viz_transformer.measuring.data import Pair
from viz_transformer.measuring.evaluation import (
    bleu_lines,
    card_bleu,
    choose_pairs,
    exact_matches,
    to_lines,
    tokenizer_of,
    writes_lower_case,
)
from viz_transformer.measuring.scores import check_bleu, overlap_metrics, reference_lists
from viz_transformer.numerals import significant
from viz_transformer.running.tracing import CHECKPOINT

SAMPLES = 1000
"""Bootstrap samples."""
SEED = 12345


@dataclass(frozen=True)
class Difference:
    """A source with different answers. right: which of them is an exact match."""

    source: str
    target: str
    texts: tuple[str, str]
    right: tuple[bool, bool]


@dataclass(frozen=True)
class Both:
    """Two checkpoints' answers to the same pairs, and which are right. lower: compared in lower case."""

    names: tuple[str, str]
    pairs: Sequence[Pair]
    answers: tuple[Sequence[Answer], Sequence[Answer]]
    right: tuple[Sequence[bool], Sequence[bool]]
    lower: bool

    def differences(self) -> list[Difference]:
        """Pairs with different answers, in order."""
        rows = zip(self.pairs, *self.answers, *self.right, strict=True)
        return [
            Difference(source, target, (one.text, other.text), (first, second))
            for (source, target), one, other, first, second in rows
            if one.text != other.text
        ]

    def judged(self) -> dict[str, Any]:
        """Each one's share of exact matches, and McNemar's exact test, as returned by `compare`."""
        count = len(self.pairs)
        exact = {name: sum(right) / count for name, right in zip(("first", "second"), self.right, strict=True)}
        return {
            "pairs": count,
            "first": self.names[0],
            "second": self.names[1],
            "exact_match": {**exact, **mcnemar(*self.right)},
        }


@takes(
    first=CHECKPOINT,
    second=CHECKPOINT,
    pairs=PAIRS,
    beam=optional(WHOLE),
    bleu=optional(TEXT),
    differences=optional(PATH),
    progress=optional(CALLABLE),
)
def compare(
    first: Checkpoint,
    second: Checkpoint,
    pairs: Sequence[Pair],
    *,
    beam: int | None = None,
    bleu: str | None = None,
    differences: str | Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Judge both checkpoints' answers to the same pairs; greedy unless `beam` is a width.

    exact_match: each one's share, and McNemar's exact test: `both`, `only_first`, `only_second` and `neither` count
    right answers, `p` is two-sided.
    bleu, chrf: None without `bleu` (see `evaluate`); else each one's score, mean and half width of the 95 % interval
    over SAMPLES bootstrap samples, `p` of the paired bootstrap, and sacrebleu's signature.
    differences: file for the pairs with different answers (`difference_rows`), tab-separated.
    Everything is lower-cased if one of the models writes lower case. Raises ValueError for models that are not
    encoder-decoders with text, no pairs, sources that one of them cannot read, and `bleu` "tokens" if they split
    targets differently. Sources: McNemar (1947), exact as a sign test; Koehn (2004), by sacrebleu.
    """
    check_bleu(bleu)
    if differences is not None:
        check_output(differences)
    _check_comparable(first, second, pairs)
    if bleu == "tokens":
        _check_same_tokens(first, second, pairs)
    both = both_answers(first, second, pairs, beam=beam, progress=progress)
    if differences is not None:
        write_file(differences, to_lines(difference_rows(both)))
    targets = [[target] for _, target in pairs]
    return both.judged() | _bootstrap(first, both.answers, targets, bleu, lower=both.lower)


def both_answers(
    first: Checkpoint,
    second: Checkpoint,
    pairs: Sequence[Pair],
    *,
    beam: int | None = None,
    progress: Progress | None = None,
) -> Both:
    """Both checkpoints' answers to the pairs. Raises ValueError as `compare`."""
    _check_comparable(first, second, pairs)
    sources, targets = [source for source, _ in pairs], [[target] for _, target in pairs]
    for ckpt in (first, second):  # check both before the first one's answers, which may take long
        _check_readable(ckpt, sources)
    one, other = (
        answers_of(ckpt, sources, beam=beam, progress=_part(progress, part, len(pairs)))[0]
        for part, ckpt in enumerate((first, second))
    )
    lower = writes_lower_case(first) or writes_lower_case(second)
    right = exact_matches(one, targets, lower=lower), exact_matches(other, targets, lower=lower)
    same = first.name == second.name
    names = first.name + " (first)" * same, second.name + " (second)" * same
    return Both(names, pairs, (one, other), right, lower)


def difference_rows(both: Both) -> list[tuple[str, ...]]:
    """Header, then source, target, both answers, which is right, and a link to both in the app."""
    first, second = both.names
    words = {(True, True): "both", (True, False): first, (False, True): second, (False, False): "neither"}
    rows: list[tuple[str, ...]] = [("source", "target", first, second, "right", "in the app")]
    for each in both.differences():
        fields = both_shown(first.removesuffix(" (first)"), second.removesuffix(" (second)"), each.source)
        rows.append((each.source, each.target, *each.texts, words[each.right], app_link(fields)))
    return rows


def _check_comparable(first: Checkpoint, second: Checkpoint, pairs: Sequence[Pair]) -> None:
    for ckpt in (first, second):
        sides(ckpt)
    if not pairs:
        raise ValueError("there are no pairs to compare on: give at least one")


class _How(TypedDict, total=False):
    """What else `compare` takes."""

    beam: int | None
    differences: str | Path | None
    progress: Progress | None


def compare_checkpoints(
    first: Checkpoint,
    second: Checkpoint,
    data_file: str | Path | None = None,
    *,
    limit: int | None = None,
    bleu: str | None = None,
    data_folder: str | Path | None = None,
    **how: Unpack[_How],
) -> dict[str, Any]:
    """`compare` with the pairs and the BLEU tokenizer of the first card, unless given.

    Raises ValueError as `compare` and `choose_pairs`.
    """
    sides(second)
    pairs = choose_pairs(first, data_file, limit=limit, data_folder=data_folder)
    bleu = bleu if bleu is not None else card_bleu(first)
    return compare(first, second, pairs, bleu=bleu, **how)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> dict[str, int | float]:
    """How often both, only one and neither were right, and the two-sided p-value of McNemar's exact test.

    If both are equally good, each pair that only one has right is a coin toss: p is the probability of a result at
    least as uneven, 1 without tosses. Source: McNemar (1947), with the exact binomial distribution.
    """
    counts = [0, 0, 0, 0]
    for a, b in zip(first, second, strict=True):
        counts[2 * (not a) + (not b)] += 1
    both, only_first, only_second, neither = counts
    tosses = only_first + only_second
    ways, tail = 1, 0  # ways: tosses over k
    for k in range(min(only_first, only_second) + 1):
        tail += ways
        ways = ways * (tosses - k) // (k + 1)
    p = min(1.0, 2 * tail / 2**tosses)  # integer division: exact up to the last rounding
    return {"both": both, "only_first": only_first, "only_second": only_second, "neither": neither, "p": p}


def comparison_rows(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The result of `compare` as a table with a header."""
    rows: list[tuple[str, ...]] = [("", result["first"], result["second"], "difference", "p")]
    exact = result["exact_match"]
    points = 100 * (exact["first"] - exact["second"])
    shares = (numerals.percent(exact[name], 2, "%") for name in ("first", "second"))
    rows.append(("exact match", *shares, f"{numerals.number(points, 2, '+')} points", numerals.share(exact["p"])))
    for name, title in (("bleu", "BLEU"), ("chrf", "chrF")):
        if (found := result[name]) is not None:
            scores = [_score(found[who]) for who in ("first", "second")]
            difference = found["first"]["score"] - found["second"]["score"]
            rows.append((title, *scores, numerals.number(difference, 2, "+"), numerals.share(found["p"])))
    return rows


def _score(found: Mapping[str, float]) -> str:
    return f"{numerals.score(found['score'], 2)} (±{numerals.number(found['interval'], 2)})"


def verdicts(result: Mapping[str, Any]) -> list[str]:
    """Conclusions from the result of `compare`, in sentences."""
    exact, first, second = result["exact_match"], result["first"], result["second"]
    sentences = [
        f"Of {result['pairs']:,} pairs both have {exact['both']:,} right, only {first} {exact['only_first']:,},"
        f" only {second} {exact['only_second']:,}, neither {exact['neither']:,}."
    ]
    differences = [("exact match", exact["first"] - exact["second"], exact["p"], "McNemar's exact test")]
    for name, title in (("bleu", "BLEU"), ("chrf", "chrF")):
        if (found := result[name]) is not None:
            difference = found["first"]["score"] - found["second"]["score"]
            differences.append((title, difference, found["p"], f"paired bootstrap, {SAMPLES:,} samples"))
    for title, difference, p, test in differences:
        better = first if difference > 0 else second
        if difference == 0:
            said = "the two are equal"
        elif p < 0.05:
            said = f"{better} is better"
        else:
            said = f"{better} is ahead, and that may be chance"
        sentences.append(f"By {title} {said} (p = {significant(p, 2)}, {test}).")
    return sentences


def _check_same_tokens(first: Checkpoint, second: Checkpoint, pairs: Sequence[Pair]) -> None:
    """Raise ValueError unless both split all targets alike, up to tokens missing from one vocabulary."""
    splits = [tokenizer_of(ckpt).tokenize for ckpt in (first, second)]
    for number, (_, target) in enumerate(pairs, start=1):
        if splits[0](target) != splits[1](target):
            raise ValueError(
                f"{first.name} and {second.name} split the target of pair {number} into different tokens, so their BLEU"
                " of tokens says nothing: compare them on texts with --bleu 13a"
            )


def _check_readable(ckpt: Checkpoint, sources: Sequence[str]) -> None:
    with declared.prefixed(f"{ckpt.name}, "):
        source_ids(ckpt, sources)


def _part(progress: Progress | None, part: int, total: int) -> Progress | None:
    """Progress of one of two equal parts, reported as progress of the whole."""
    return None if progress is None else lambda done, _: progress(part * total + done, 2 * total)


def _bootstrap(
    first: Checkpoint,
    answers: Sequence[Sequence[Answer]],
    targets: Sequence[Sequence[str]],
    bleu: str | None,
    *,
    lower: bool,
) -> dict[str, Any]:
    """sacrebleu's paired bootstrap for BLEU and chrF; None for each without `bleu`."""
    if bleu is None:
        return {"bleu": None, "chrf": None}
    metric, chrf = overlap_metrics(bleu, lower=lower)
    texts = [bleu_lines(first, written, targets, "none") for written in answers]
    lines = [bleu_lines(first, written, targets, bleu) for written in answers]
    return {"bleu": _paired(metric, lines), "chrf": _paired(chrf, texts)}


def _paired(metric: Any, systems: Sequence[tuple[list[str], list[list[str]]]]) -> dict[str, Any]:
    from sacrebleu.significance import PairedTest

    (one, references), (other, _) = systems
    named: list[tuple[str, Sequence[str]]] = [("first", one), ("second", other)]
    with _seed():
        test = PairedTest(named, {"metric": metric}, reference_lists(references), test_type="bs", n_samples=SAMPLES)
        signatures, scores = test()
    ((name, signature),) = signatures.items()
    results: list[Any] = scores[name]
    found = [{"score": float(r.score), "mean": float(r.mean), "interval": float(r.ci)} for r in results]
    # Two-sided: a difference of 0 is always reached. sacrebleu counts only larger ones, and would give p = 1 / 1001.
    p = 1.0 if found[0]["score"] == found[1]["score"] else float(results[1].p_value)
    return {"first": found[0], "second": found[1], "p": p, "signature": str(signature)}


@contextmanager
def _seed() -> Iterator[None]:
    """Fix the seed of sacrebleu's samples, which it takes from the environment."""
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(SEED)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before
