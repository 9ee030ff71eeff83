"""The tree of a beam search: each step a column, kept hypotheses as tokens, dropped ones as short lines."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from itertools import groupby
from typing import TYPE_CHECKING, Any

from viz_transformer import payload
from viz_transformer.figures.components.tokens import token_data

if TYPE_CHECKING:
    from viz_transformer.running.beam_tree import BeamTree

HEIGHT = 600


def beam_tree_payload(
    tree: BeamTree,
    *,
    caption: str,
    name: str,
    special: Collection[int] = (),
    start: str = "",
) -> bytes:
    """The payload of a beam tree: the hypotheses as columns of equal length, in the order of the tree, with exact
    numbers.

    special: the ids of special tokens. start: the token that the decoder read before the first step. name: a file name.
    `row` is the row of a kept hypothesis (`rows`), `why` the index of its sentence in `sentences`.
    """
    ids: dict[int, str] = {}
    for node in tree.nodes:
        ids.setdefault(node.token_id, node.token)
    token_at = {token_id: place for place, token_id in enumerate(ids)}
    fates = list(dict.fromkeys(node.fate for node in tree.nodes))
    sentences: dict[str, int] = {}
    lengths = {node.length for node in tree.nodes}
    columns: dict[str, list[Any]] = {
        "parent": [-1 if node.parent is None else node.parent for node in tree.nodes],
        "step": [node.step for node in tree.nodes],
        "token": [token_at[node.token_id] for node in tree.nodes],
        "log_prob": [node.log_prob for node in tree.nodes],
        "total": [node.total for node in tree.nodes],
        "length": [node.length for node in tree.nodes],
        "score": [node.score for node in tree.nodes],
        "rank": [node.rank for node in tree.nodes],
        "fate": [fates.index(node.fate) for node in tree.nodes],
        "row": rows(tree),
        "why": [sentences.setdefault(tree.why(node.index), len(sentences)) for node in tree.nodes],
    }
    header = {
        "title": f"Beam tree, {_count(tree.beam.width, 'beam')} × {_count(tree.steps, 'step')}",
        "caption": caption,
        "name": name,
        "answer": tree.answer,
        "width": tree.beam.width,
        "tokens": token_data(
            list(ids.values()), special=[place for token_id, place in token_at.items() if token_id in special]
        ),
        "start": token_data([start])[0] if start else None,
        "fates": fates,
        "sentences": list(sentences),
        # The text between "score = total / penalty =" and the number: penalty and formula by |Y|.
        "penalties": {str(each): [tree.beam.divisor(each), tree.beam.divisor_words(each)] for each in sorted(lengths)},
        "nodes": columns,
        "height": HEIGHT,
    }
    packed = payload.pack(header)
    return payload.pack({**header, "tree": hashlib.sha256(packed).hexdigest()})


def rows(tree: BeamTree) -> list[int]:
    """The row of each hypothesis in the drawing, 0 = the top one; -1 for dropped ones.

    The answer and its prefixes are in row 0. In each step the rows are filled from the top, in the order of the
    extended hypotheses, extensions of one hypothesis by rank: so no lines of the tree cross.
    """
    found = [-1] * len(tree.nodes)
    on_path = {node.index for node in tree.path(tree.answer)}
    for _, step in groupby(tree.nodes, key=lambda node: node.step):
        kept = [node for node in step if node.kept]
        kept.sort(key=lambda n: (-1 if n.parent is None else found[n.parent], n.index not in on_path, n.rank))
        for row, node in enumerate(kept):
            found[node.index] = row
    return found


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
