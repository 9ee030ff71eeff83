"""Grouped-query attention: which query heads share a key and value head."""

from __future__ import annotations

from viz_transformer import declared
from viz_transformer.model.hooked_model import Heads

MAX_LISTED = 4
"""Groups of heads that a sentence names one by one."""


def query_heads(heads: Heads, key: int) -> range:
    """The query heads that use this key and value head. Raises ValueError for one that there is not."""
    declared.place("key head", key, heads.key)
    return range(key * heads.shared, (key + 1) * heads.shared)


def describe_heads(which: range) -> str:
    """Consecutive heads in words: "head 3", "heads 2 and 3", "heads 0 to 7"."""
    first, last = which[0], which[-1]
    if first == last:
        return f"head {first}"
    return f"heads {first} {'and' if last == first + 1 else 'to'} {last}"


def sharing(heads: Heads) -> str | None:
    """A sentence on which heads share keys and values; None if each head has its own."""
    if heads.shared == 1:
        return None
    if heads.key == 1:
        return f"All {heads.query} heads ask the same keys and values, each with queries of its own."
    named = [*range(min(heads.key, MAX_LISTED))]
    groups = [f"{describe_heads(query_heads(heads, key))}{' ask' * (key == 0)} key head {key}" for key in named]
    last = heads.key - 1
    rest = (
        ""
        if len(named) == heads.key
        else f", and so on to {describe_heads(query_heads(heads, last))} and key head {last}"
    )
    return f"{heads.query} heads of queries share {heads.key} heads of keys and values: {', '.join(groups)}{rest}."


def find_sharing_heads(heads: Heads, head: int, most: int) -> tuple[int, ...]:
    """The heads that share this head's keys, itself included; at most `most`, starting from it if there are more."""
    group = query_heads(heads, head // heads.shared)
    start = max(group.start, min(head, group.stop - most))
    return tuple(range(start, min(start + most, group.stop)))
