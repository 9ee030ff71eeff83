"""The fields of the page Playground."""

from __future__ import annotations

import re
from dataclasses import dataclass

from viz_transformer.ui.pages.playground import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import NUMBER, Codec, number, one_number_of, one_of, some_of, url_field

PLAY = ("attention", "simplex", "scaling", "norms", "rebuild", "copy")
OPTIONS = ("self", "unscaled")
MASKS = ("none", "causal", "padding", "own")
MAX_SIZE, MAX_NUMBERS = 8, 60


def _sizes(given: str) -> tuple[int, ...] | None:
    sizes = [number(part) for part in given.split(",")]
    known = tuple(size for size in sizes if size is not None and 1 <= size <= MAX_SIZE)
    return known if len(known) == len(sizes) == 4 else None


def _numbers(given: str) -> str | None:
    cells = given.split(",") if given else []
    known = all(re.fullmatch(r"[qkvmxg][0-7]\.[0-7]=-?\d{1,3}(\.\d{1,4})?", cell) for cell in cells)
    return given if known and len(cells) <= MAX_NUMBERS else None


_SIZES = Codec(_sizes, words.FOUR_SIZES.format(MAX_SIZE))
_NUMBERS = Codec(_numbers, words.EDITED_CELLS.format(MAX_NUMBERS))


@dataclass(frozen=True, kw_only=True)
class Playground:
    """The page's fields in the address."""

    play: str = url_field("attention", one_of(PLAY))
    """The part of the page."""
    play_seed: int = url_field(0, NUMBER)
    """The seed of its numbers."""
    play_sizes: tuple[int, ...] = url_field((5, 4, 4, 3), _SIZES)
    """Queries, keys, d_k, d_v."""
    play_options: tuple[str, ...] = url_field((), some_of(OPTIONS))
    """Some of OPTIONS."""
    play_mask: str = url_field("none", one_of(MASKS))
    """The kind of mask."""
    play_numbers: str = url_field("", _NUMBERS)
    """Edited cells ("q0.1=2.5")."""
    play_keys: int = url_field(3, one_number_of((2, 3), "2 or 3"))
    """Keys of the simplex."""
    play_heads: int = url_field(2, one_number_of((2, 4, 8), "2, 4 or 8"))
    """Heads of the training that reconstructs its input."""


FIELDS = state.declare(Playground)
