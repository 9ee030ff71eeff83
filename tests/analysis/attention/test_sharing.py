"""Which heads share keys and values, by cases worked by hand."""

from __future__ import annotations

import pytest

from viz_transformer.analysis.attention.sharing import describe_heads, find_sharing_heads, query_heads, sharing
from viz_transformer.model.hooked_model import Heads


def heads(query: int, key: int) -> Heads:
    return Heads(query, key, 8, 8)


def test_heads_that_follow_each_other_ask_the_same_keys() -> None:
    assert [[*query_heads(heads(6, 2), key)] for key in range(2)] == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="there is no key head 2: key heads go from 0 to 1"):
        query_heads(heads(6, 2), 2)


def test_nothing_is_said_where_each_head_has_its_own_keys() -> None:
    assert sharing(heads(4, 4)) is None


@pytest.mark.parametrize(
    ("query", "key", "end"),
    [
        (4, 2, ": heads 0 and 1 ask key head 0, heads 2 and 3 key head 1."),
        (24, 8, "heads 9 to 11 key head 3, and so on to heads 21 to 23 and key head 7."),
        (8, 1, "All 8 heads ask the same keys and values, each with queries of its own."),
    ],
)
def test_who_shares_is_said_in_a_sentence(query: int, key: int, end: str) -> None:
    assert (sharing(heads(query, key)) or "").endswith(end)


def test_heads_in_words() -> None:
    assert [describe_heads(range(2, stop)) for stop in (3, 4, 6)] == ["head 2", "heads 2 and 3", "heads 2 to 5"]


def test_more_heads_than_can_be_chosen_are_those_that_follow_the_chosen_one() -> None:
    assert find_sharing_heads(heads(4, 2), 3, 6) == (2, 3)
    assert find_sharing_heads(heads(8, 1), 0, 6) == (0, 1, 2, 3, 4, 5)
    assert find_sharing_heads(heads(16, 2), 13, 6) == (10, 11, 12, 13, 14, 15)
    assert find_sharing_heads(heads(4, 4), 2, 6) == (2,)
