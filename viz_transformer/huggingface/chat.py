"""A text within a model's chat template: rendered by a process that may take little, cut by the model's tokenizer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from transformers.utils.chat_template_utils import (
    _get_control_token_patterns,
    encode_marked_chat,
    mark_control_tokens,
)

from viz_transformer.huggingface import chat_worker
from viz_transformer.sentences import in_one_line

LONGEST_TEMPLATE, PATIENCE = 200_000, 10.0
"""Characters of a template, and seconds until a process that renders one is ended."""
TOO_MUCH = f"it takes more than {chat_worker.SECONDS} seconds, or more memory than {chat_worker.MEMORY // 2**20} MiB"


def chat_ids(tokenizer: Any, template: str, text: str, *, special_tokens: bool) -> list[int]:
    """The ids of a chat in which a person says `text` and the model is to answer, as `apply_chat_template` has them.

    Special tokens that are typed stay text, but with `special_tokens`; those of the template are always such. Raises
    ValueError, one sentence, for a template that cannot be rendered.
    """
    said: str = text
    if not special_tokens:
        added = tokenizer.added_tokens_decoder.values()
        names = tuple(each.content for each in added if each.special or not each.content.isspace())
        said = mark_control_tokens(text, _get_control_token_patterns(names)[0])
    named = tuple(sorted((name, str(value)) for name, value in tokenizer.special_tokens_map.items()))
    chat = rendered(template, said, named)
    if special_tokens:
        found: list[int] = tokenizer.encode(chat, add_special_tokens=False)
        return found
    return encode_marked_chat(tokenizer, chat)


@lru_cache(maxsize=64)
def rendered(template: str, text: str, named: tuple[tuple[str, str], ...]) -> str:
    """The chat as the template writes it. named: the special tokens. Raises ValueError."""
    if len(template) > LONGEST_TEMPLATE:
        raise ValueError(_PROBLEM.format(why=f"it has more than {LONGEST_TEMPLATE:,} characters"))
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
        said = json.loads(ended.stdout)
    except (subprocess.TimeoutExpired, ValueError):  # nothing is said by a process that was ended
        raise ValueError(_PROBLEM.format(why=TOO_MUCH)) from None
    if "error" in said:
        raise ValueError(_PROBLEM.format(why=in_one_line(said["error"], 200)))
    text_of_chat: str = said["text"]
    return text_of_chat


_PROBLEM = "the chat template of this model cannot be used ({why}): switch “Chat” off, or correct chat_template"
