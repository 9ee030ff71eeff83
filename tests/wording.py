"""What the app says, as tests expect it: each sentence by its name in `wording.toml`, where alone its words stand."""

from __future__ import annotations

import tomllib
from pathlib import Path

WORDING: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def wording(name: str, *values: object) -> str:
    """The sentence of this name in `wording.toml`, with these values in its places.

    Raises KeyError for a name that is not there, ValueError if there are more or fewer values than places.
    """
    places = WORDING[name].count("{}")
    if places != len(values):
        raise ValueError(f"{name!r} has {places} places for values, and {len(values)} were given")
    return WORDING[name].format(*values)
