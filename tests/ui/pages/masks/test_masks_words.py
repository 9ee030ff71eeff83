"""What the Masks page says of one key, cell, token or text is in the singular."""

from __future__ import annotations

import pytest

from viz_transformer.ui.pages.masks import words


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (words.may_read(1, 1, later=0, padded=0, yours=0), "The only key."),
        (words.may_read(0, 1, later=0, padded=0, yours=1), "None of 1 key: 1 is closed by your change."),
        (words.may_read(1, 3, later=2, padded=0, yours=0), "1 of 3 keys: 2 are closed because they come later."),
        (words.may_read_after(2, 3, closed=1), "2 of 3 keys, 1 closed by your change."),
        (
            words.outside(["d40.2"], "4.20"),
            "The changed cell d40.2 lies outside the masks of “4.20” and changes nothing",
        ),
        (words.outside(["d40.2", "d41"], "4.20"), "The changed cells d40.2, d41 lie outside the masks of “4.20” and"),
        (words.closed_rows([4], 6, "zeros"), "Query 4 has no open key: its weights are all zeros."),
        (words.closed_rows([4, 5, 6], 2, None), "Queries 4, 5, ... have no open key."),
        (words.masks_of_size("cross-attention", 1, 1), "masks of cross-attention for 1 token, 1 of them padding"),
        (words.running(1), "Running 1 text with one token swapped ..."),
        (words.positions(1, 1, "target"), "the only target token"),
        (words.positions(9, 9, "source"), "all 9 source tokens"),
        (words.drawn(1), "1 other token, drawn once from the vocabulary"),
        (words.closed_zero(1, "1.0000"), "0 on 1 closed key, sum 1.0000"),
        (words.window(1, both=False), "1 key up to its own is open"),
        (words.window(3, both=True), "3 keys on each side are open"),
    ],
)
def test_one_is_in_the_singular(said: str, wanted: str) -> None:
    assert said.startswith(wanted)
