"""Facts of a cell in words: embedding scales, why it is masked, and the contents of a row of mixed heads."""

from __future__ import annotations

from collections.abc import Sequence

from viz_transformer.analysis.weight.weight_numbers import Cell
from viz_transformer.model.kinds import KINDS, Side
from viz_transformer.numerals import significant
from viz_transformer.running.trace import Trace

SWAPPED = "This model's mask of cross-attention has its two sides swapped: a slip that it was trained with."


def scales(trace: Trace, cell: Cell) -> tuple[str, ...]:
    """Sentences on the factor of each stack's embeddings."""
    found = {stack: trace.scalars[f"{stack}.embed.scale"] for stack in (cell.stack, cell.key_stack)}
    return tuple(f"The {stack} multiplies its embeddings by {significant(scale, 6)}." for stack, scale in found.items())


def why_masked(trace: Trace, cell: Cell) -> tuple[str, ...]:
    """Sentences on why a masked cell is masked, as far as the config's rules explain it."""
    kind, config = KINDS[cell.kind], trace.config
    reasons = []
    if kind.causal and cell.key > cell.query:
        reasons.append("The key comes after the query.")
    swapped = cell.kind == "cross" and config.padding_mask == "key-or-query-swapped-cross"
    if swapped:
        reasons.append(SWAPPED)
    elif _is_padding(trace, kind.keys, cell.key):
        reasons.append("The key is padding.")
    if not swapped and config.padding_mask != "key" and _is_padding(trace, kind.queries, cell.query):
        reasons.append("The query is padding.")
    return tuple(reasons)


def _is_padding(trace: Trace, side: Side, place: int) -> bool:
    return side.of(trace.src, trace.tgt).ids[place] == side.pad(trace.config)


def mixed_heads(row: int, heads: int, queries: int) -> str:
    """A sentence on the contents of this row where heads are merged by a raw reshape."""
    return f"The row holds {_list_places([divmod(row * heads + slot, queries) for slot in range(heads)])}."


def _list_places(places: Sequence[tuple[int, int]]) -> str:
    """Heads and query positions in words: "queries 3 to 6 of head 1, then 0 and 1 of head 2"."""
    parts = []
    for head in dict.fromkeys(head for head, _ in places):
        found = [query for of, query in places if of == head]
        which = f"queries {found[0]} to {found[-1]}" if len(found) > 1 else f"query {found[0]}"
        parts.append(f"{which} of head {head}")
    return ", then ".join(parts)
