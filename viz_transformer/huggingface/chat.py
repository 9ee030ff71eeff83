"""Applies a model's chat template: rendered in a limited process, tokenized by the model's tokenizer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from transformers.utils.chat_template_utils import (
    _get_control_token_patterns,
    encode_marked_chat,
    mark_control_tokens,
)

from viz_transformer.huggingface import chat_worker
from viz_transformer.sentences import put_on_one_line

LONGEST_TEMPLATE, PATIENCE = 200_000, 10
"""Maximum characters of a template, and seconds to render it."""


def chat_ids(
    tokenizer: Any, lock: Lock, template: str, text: str, *, check: Callable[[str], None], special_tokens: bool
) -> list[int]:
    """Ids of a chat in which a person says `text` and the model is to answer, as from `apply_chat_template`.

    Special tokens in the text stay text unless `special_tokens`; those of the template are always special. lock: the
    tokenizer's, released during rendering. check: validates text before tokenization. Raises ValueError with one
    sentence if the template cannot be rendered, and as `check` does.
    """
    said: str = text
    with lock:
        if not special_tokens:
            added = tokenizer.added_tokens_decoder.values()
            names = tuple(each.content for each in added if each.special or not each.content.isspace())
            said = mark_control_tokens(text, _get_control_token_patterns(names)[0])
        named = tuple(sorted((name, str(value)) for name, value in tokenizer.special_tokens_map.items()))
    chat = render_chat(template, said, named, date.today())
    check(chat)
    with lock:
        if special_tokens:
            found: list[int] = tokenizer.encode(chat, add_special_tokens=False)
            return found
        return encode_marked_chat(tokenizer, chat)


def render_chat(template: str, text: str, named: tuple[tuple[str, str], ...], day: date) -> str:
    """The chat written by the template. named: special tokens. day: today, which the template may use.

    Raises ValueError with one sentence if it cannot be rendered, or if the process does not run.
    """
    chat, why = _tried(template, text, named, day)
    if why is not None:
        raise ValueError(_PROBLEM.format(why=why))
    return chat


@lru_cache(maxsize=64)
def _tried(template: str, text: str, named: tuple[tuple[str, str], ...], day: date) -> tuple[str, str | None]:
    """The chat, or the reason why there is none. Cached per day, so that a slow template runs once."""
    if len(template) > LONGEST_TEMPLATE:
        return "", f"it has more than {LONGEST_TEMPLATE:,} characters"
    variables = {
        **dict(named),
        "messages": [{"role": "user", "content": text}],
        "tools": None,
        "documents": None,
        "add_generation_prompt": True,
    }
    try:
        ended = subprocess.run(
            [sys.executable, "-I", str(Path(chat_worker.__file__))],
            input=json.dumps({"template": template, "variables": variables}).encode(),
            capture_output=True,
            timeout=PATIENCE,
            env={name: os.environ[name] for name in ("SYSTEMROOT", "TZ") if name in os.environ},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"it takes longer than {PATIENCE} seconds"
    except OSError as error:
        raise ValueError(_NOT_RUN.format(why=put_on_one_line(str(error), 200))) from None
    if ended.returncode == 0:
        said = json.loads(ended.stdout)
        return ("", put_on_one_line(said["error"], 200)) if "error" in said else (said["text"], None)
    if ended.returncode == 1:  # Python crashed (in the worker or a library): a template's own errors are caught
        raise ValueError(_NOT_RUN.format(why=put_on_one_line(ended.stderr.decode(errors="replace")[-200:], 200)))
    if ended.returncode == -getattr(signal, "SIGXCPU", 0):
        return "", f"it takes more than {chat_worker.SECONDS} seconds of the processor"
    return "", f"the system ended the process that rendered it, with status {ended.returncode}"


_PROBLEM = "the chat template of this model cannot be used ({why}): switch “Chat” off, or correct chat_template"
_NOT_RUN = "the process that renders chat templates does not run here ({why}): switch “Chat” off"
