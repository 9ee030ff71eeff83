"""Model names on the Hugging Face hub, which is contacted only with permission. Imports nothing heavy."""

from __future__ import annotations

import os
import re
from pathlib import Path

ALLOW = "--allow-download"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_FILES = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".json", ".gz", ".zip", ".h5", ".gguf")
_allowed_in_the_app = False


def is_name(given: str | Path) -> bool:
    """Whether this could be a name on the hub (gpt2, facebook/bart-base) and is not a local path."""
    name = given.as_posix() if isinstance(given, Path) else given
    if len(name) > 96 or _NAME.fullmatch(name) is None or name.lower().endswith(_FILES):
        return False
    return not os.path.exists(given)


def not_allowed(name: str) -> str:
    """Error message that downloading this model needs permission."""
    return f"a model of the name {name} on the Hugging Face hub is fetched where that is allowed, with {ALLOW}"


def allow_in_the_app(allowed: bool) -> None:
    """Set whether this process' app may download models from the hub."""
    global _allowed_in_the_app
    _allowed_in_the_app = allowed


def allowed_in_the_app() -> bool:
    """Whether this process' app may download models from the hub."""
    return _allowed_in_the_app
