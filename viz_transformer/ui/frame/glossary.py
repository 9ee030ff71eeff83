"""The first words of the field that a newcomer meets, each in one sentence.

docs/glossary.md has all words, in more detail.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

TERMS: Mapping[str, str] = {
    "token": "Token: what a model reads and writes one of at a time, such as a character or a word.",
    "step": "Step: one pass of the model, which writes one token.",
    "layer": "Layer: attention and a small network (ff), one after the other; a model has several layers in sequence.",
    "sub-layer": "Sub-layer: one part of a layer, attention or feed-forward (ff).",
    "feed-forward": "Feed-forward: a small network (ff) that works on the vector of each token by itself.",
    "norm": "Norm: rescales a vector, so that its numbers keep a usual size on their way through the layers.",
    "residual stream": "Residual stream: the vector of each token, to which every sub-layer adds.",
    "attention": "Attention: how each token gathers information from other tokens, in shares.",
    "attention weight": "Attention weight: the share that one token takes from another, from 0 to 1.",
    "head": "Head: one of several attentions that work side by side in a layer, each with its own shares.",
    "query": "Query: the vector by which a token asks; compared with the keys, it decides where a head looks.",
    "key": "Key: the vector by which a token is found; the better it fits a query, the larger its share.",
    "memory": "Memory: what the encoder makes of the text; the decoder reads it by cross-attention.",
    "logits": "Logits: one score for each token of the vocabulary; softmax turns them into probabilities.",
}
"""By each term its sentence; plurals in s are the same term."""
_ANY = re.compile(
    rf"(?<!arrow )(?<![\w-])({'|'.join(sorted(map(re.escape, TERMS), key=len, reverse=True))})(s?)(?![\w-])",
    re.IGNORECASE,
)
_QUOTED = re.compile("(“[^”]*”)")


def explain_terms(text: str) -> str:
    """The sentences for the terms of a text, outside of what it quotes; "" for none."""
    return "\n".join(TERMS[term] for term in _found(text))


def mark_terms(text: str) -> str:
    """The text as markup in which each term has its sentence, where it stands first; all else is set as text."""
    waiting = {*_found(text)}

    def definition(match: re.Match[str]) -> str:
        term = match[1].lower()
        if term not in waiting:
            return match[0]
        waiting.remove(term)
        return f'<dfn tabindex="0" title="{html.escape(TERMS[term])}">{match[0]}</dfn>'

    pieces = _QUOTED.split(html.escape(text, quote=False))
    return "".join(piece if place % 2 else _ANY.sub(definition, piece) for place, piece in enumerate(pieces))


def _found(text: str) -> list[str]:
    unquoted = "".join(_QUOTED.split(text)[::2])
    return list(dict.fromkeys(match[1].lower() for match in _ANY.finditer(unquoted)))
