"""What to try first with a model, by its task."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

NUMBER_LIMIT = 100_000.0
NUMBER_STEP = 0.1

_EXAMPLES: Mapping[str, Sequence[str]] = {
    "numbers": ("29,284.30", "-79.42", "1,000,000.00", "0.07", "190,089,265,152.00"),
}
_LABELS: Mapping[str, str] = {"numbers": "A number, written as 29,284.30"}


def family(task: object) -> str:
    """The task without its size: "numbers-tiny" is trained on the same texts as "numbers"."""
    return str(task).split("-", 1)[0]


def examples(task: object) -> tuple[str, ...]:
    """Texts worth trying; none for a task that is not known."""
    return tuple(_EXAMPLES.get(family(task), ()))


def label(task: object) -> str:
    """What to type."""
    return _LABELS.get(family(task), "A text")


def takes_numbers(task: object) -> bool:
    return family(task) == "numbers"


def number_text(value: float) -> str:
    """The number as the numbers data write it: thousands separators, two decimals, no negative zero."""
    return f"{round(value, 1) + 0.0:,.2f}"


def number_of(text: str) -> float | None:
    """The number that a text writes, if the slider reaches it."""
    if not re.fullmatch(r"-?[0-9]{1,3}(,[0-9]{3})*(\.[0-9]{1,2})?|-?[0-9]{1,6}(\.[0-9]{1,2})?", text.strip()):
        return None
    value = float(text.strip().replace(",", ""))
    return value if abs(value) <= NUMBER_LIMIT else None
