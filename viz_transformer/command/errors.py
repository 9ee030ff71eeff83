"""Decides which errors become a sentence for the user."""

from __future__ import annotations

from viz_transformer.checkpoint.writing import OutputError, reason
from viz_transformer.train.processes import NEEDED, NEEDS


def sentence_for(error: Exception) -> str | None:
    """The sentence for an error caused by input, files or the machine; None for a bug."""
    if isinstance(error, OutputError):
        return str(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return where + reason(error)
    if isinstance(error, KeyError):
        message = str(error.args[0]) if error.args else ""
        return message if " " in message else None  # our KeyErrors are sentences, others are a missing key
    if isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] in NEEDED:
        return NEEDS
    if isinstance(error, ValueError) or type(error).__name__ == "SafetensorError":
        return str(error) or None
    return None
