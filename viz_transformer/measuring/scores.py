"""Scores of answers against targets: equality and shared n-grams (BLEU, chrF).

Works on strings; which strings represent a checkpoint's answers is decided in `evaluation`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from viz_transformer import declared

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

BLEU_NAMES = ("tokens", "13a", "intl", "char", "zh", "none")
"""BLEU tokenizers; all but the first are sacrebleu's, without downloads."""
EQUIVALENCES = ("sympy",)


def plain(text: str, *, lower: bool) -> str:
    """Text for comparison: white space collapsed, optionally in lower case."""
    text = " ".join(text.split())
    return text.lower() if lower else text


def check_bleu(name: str | None) -> None:
    """Raise ValueError for an unknown BLEU tokenizer; None is allowed."""
    if name is not None:
        declared.one_of("bleu", name, BLEU_NAMES)


def check_equivalence(name: str | None) -> None:
    """Raise ValueError for an unknown kind of equivalence; None is allowed."""
    if name is not None:
        declared.one_of("equivalence", name, EQUIVALENCES)


def token_line(tokens: Sequence[str]) -> str:
    """Tokens joined by spaces, reversibly: a space inside a token becomes ▁."""
    return " ".join(re.sub(r"\s", "▁", token) for token in tokens)


def overlap_metrics(bleu: str, *, lower: bool) -> tuple[BLEU, CHRF]:
    """sacrebleu's corpus metrics, 0 to 100; "tokens" splits at spaces."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    tokenize = "none" if bleu == "tokens" else bleu
    return BLEU(tokenize=tokenize, lowercase=lower, force=True), CHRF(lowercase=lower)  # force: no warnings


def reference_lists(references: Sequence[Sequence[str]]) -> list[list[str]]:
    """References in sacrebleu's layout: all first ones, all second ones, ..., None where one is missing."""
    columns: list[list[Any]] = [list(column) for column in zip_longest(*references)]
    return columns  # its annotations omit None
