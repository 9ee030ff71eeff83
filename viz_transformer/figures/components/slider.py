"""A slider over numbers that is heard of while it is dragged."""

from __future__ import annotations

from typing import Any


def slider_data(
    value: float | None, text: str, *, label: str, least: float, most: float, step: float, decimals: int, count: int = 0
) -> dict[str, Any]:
    """What the browser draws. `text` is how the number is written now, None stands for one that is out of reach.

    decimals: those of a number that is dragged; count: the place of the thumb that this is the answer to.
    """
    return {
        "label": label,
        "value": value,
        "text": text,
        "least": least,
        "most": most,
        "step": step,
        "decimals": decimals,
        "count": count,
    }
