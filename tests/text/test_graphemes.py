"""Signs of several code points, by the examples of Unicode Standard Annex 29 and of its file of tests."""

from __future__ import annotations

import random

import pytest
from signs import SIGNS

from viz_transformer.text.graphemes import graphemes, within_graphemes


@pytest.mark.parametrize("name", SIGNS)
def test_a_sign_is_one_beside_letters_and_beside_itself(name: str) -> None:
    sign = SIGNS[name]
    assert graphemes(f"a{sign}b{sign}{sign}") == ["a", sign, "b", sign, sign]


@pytest.mark.parametrize(
    ("text", "count"),  # of GraphemeBreakTest.txt
    [("\r\n", 1), ("\n\u0308", 2), ("\U0001f1e6\U0001f1e7\U0001f1e8", 2), ("\u1100\u1160", 1), ("a\u200db", 2)],
)
def test_where_unicode_breaks(text: str, count: int) -> None:
    assert len(graphemes(text)) == count


@pytest.mark.parametrize("seed", range(5))
def test_a_piece_begins_within_a_sign_where_no_sign_begins(seed: int) -> None:
    chosen = random.Random(seed).choices([*SIGNS.values(), "a", "日", "\n"], k=30)
    chosen = [sign for first, sign in zip(["", *chosen], chosen, strict=False) if first != sign or len(sign) == 1]
    within = within_graphemes([part.encode() for sign in chosen for part in sign])
    assert within == [place > 0 for sign in chosen for place in range(len(sign))]
    data = "".join(chosen).encode()
    wanted = [place > 0 for sign in chosen for place in range(len(sign.encode()))]
    assert within_graphemes([data[i : i + 1] for i in range(len(data))]) == wanted


def test_bytes_that_are_no_text_begin_signs_of_their_own() -> None:
    assert within_graphemes([b"\xf0", b"\x9f", b"a", "\u0301".encode()]) == [False, False, False, True]
    assert within_graphemes([]) == []
