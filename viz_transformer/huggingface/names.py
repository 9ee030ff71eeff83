"""Names of models on the Hugging Face hub, which is asked only where that was allowed. Imports nothing heavy."""

from __future__ import annotations

import os
import re
from pathlib import Path

ALLOW = "--allow-download"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_FILES = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".json", ".gz", ".zip", ".h5", ".gguf")
_allowed_in_the_app = False


def is_name(given: str | Path) -> bool:
    """Whether this could be a name on the hub, such as gpt2 or facebook/bart-base, and is nothing that lies here."""
    name = given.as_posix() if isinstance(given, Path) else given
    if len(name) > 96 or _NAME.fullmatch(name) is None or name.lower().endswith(_FILES):
        return False
    return not os.path.exists(given)


def not_allowed(name: str) -> str:
    """That a model of this name is fetched where that is allowed, in a sentence."""
    return f"a model of the name {name} on the Hugging Face hub is fetched where that is allowed, with {ALLOW}"


def allow_in_the_app(allowed: bool) -> None:
    """Have the app of this process fetch models from the hub when that is asked for, or not."""
    global _allowed_in_the_app
    _allowed_in_the_app = allowed


def allowed_in_the_app() -> bool:
    """Whether the app of this process may fetch models from the hub."""
    return _allowed_in_the_app
