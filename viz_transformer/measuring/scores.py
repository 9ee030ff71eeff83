"""How close answers are to the texts that were wanted: the same text, shared n-grams (BLEU, chrF).

Works on strings alone; which strings belong to a checkpoint's answers is the evaluation's business.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

BLEU_NAMES = ("tokens", "13a", "intl", "char", "zh", "none")
"""Words for how BLEU splits texts; all but the first are sacrebleu's, those of them that need no download."""
EQUIVALENCES = ("sympy",)


def plain(text: str, *, lower: bool) -> str:
    """The text for comparing: blanks collapsed, in lower case if asked for."""
    text = " ".join(text.split())
    return text.lower() if lower else text


def check_bleu(name: str | None) -> None:
    """Raises ValueError for a word that names no BLEU; None asks for none."""
    if name is not None and name not in BLEU_NAMES:
        known = ", ".join(BLEU_NAMES[1:])
        raise ValueError(f"there is no BLEU {name!r:.40}: choose tokens, or one of sacrebleu's {known}")


def check_equivalence(name: str | None) -> None:
    """Raises ValueError for a word that names no kind of equivalence; None asks for none."""
    if name is not None and name not in EQUIVALENCES:
        raise ValueError(f"there is no equivalence {name!r:.40}: choose {', '.join(EQUIVALENCES)}")


def token_line(tokens: Sequence[str]) -> str:
    """The tokens joined by blanks, so that splitting at blanks gives them back; a blank inside a token becomes ▁."""
    return " ".join(re.sub(r"\s", "▁", token) for token in tokens)


def overlap_metrics(bleu: str, *, lower: bool) -> tuple[BLEU, CHRF]:
    """sacrebleu's two metrics; "tokens" counts what stands between blanks. They are for whole corpora, 0 to 100."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    tokenize = "none" if bleu == "tokens" else bleu
    return BLEU(tokenize=tokenize, lowercase=lower, force=True), CHRF(lowercase=lower)  # force: no warnings


def reference_lists(references: Sequence[Sequence[str]]) -> list[list[str]]:
    """The references of each answer as sacrebleu reads them: all first ones, all second ones, None where one lacks."""
    columns: list[list[Any]] = [list(column) for column in zip_longest(*references)]
    return columns  # its annotations forget the None
