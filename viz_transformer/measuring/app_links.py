"""Where the app shows what was measured."""

from __future__ import annotations

from urllib.parse import urlencode

APP = "http://127.0.0.1:8501"
"""Where the app usually is."""


def both_shown(first: str, second: str, source: str) -> dict[str, str]:
    """The fields of the app's address with which it shows both models' runs of a source beside each other."""
    return {"checkpoint": first, "text": source, "pin_checkpoint": second, "pin_text": source, "shown": "A|B"}


def app_link(fields: dict[str, str]) -> str:
    """A whole address of the app, where it usually is."""
    return f"{APP}/?{urlencode(fields)}"
