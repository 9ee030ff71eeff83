"""Links to measured pairs in the app."""

from __future__ import annotations

from urllib.parse import urlencode

APP = "http://127.0.0.1:8501"
"""Default address of the app."""


def both_shown(first: str, second: str, source: str) -> dict[str, str]:
    """Address fields that show both models' runs of a source side by side."""
    return {"checkpoint": first, "text": source, "pin_checkpoint": second, "pin_text": source, "shown": "A|B"}


def app_link(fields: dict[str, str]) -> str:
    """A full link to the app at its default address."""
    return f"{APP}/?{urlencode(fields)}"
