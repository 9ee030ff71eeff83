"""What other packages add: pages and scores of heads, each found by an entry point of an installed package.

    [project.entry-points."viz_transformer.pages"]
    "Row entropy" = "my_package.row_entropy:PAGE"

    [project.entry-points."viz_transformer.scores"]
    "top weight" = "my_package.scores:top_weight"

The name of the entry point is the page's title, or the score's name. Nothing of such a package is imported before it is
needed; one that cannot be used is named with the reason, and everything else works without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

PAGES, SCORES = "viz_transformer.pages", "viz_transformer.scores"


@dataclass(frozen=True)
class Broken:
    """An entry point whose object cannot be used; `why`: a sentence for whoever installed its package."""

    why: str


@cache
def list_extensions(group: str) -> tuple[str, ...]:
    """The names of the entry points of a group, in alphabetical order."""
    return tuple(sorted({found.name for found in entry_points(group=group)}))


@cache
def load_extension(group: str, name: str) -> object:
    """The object of an entry point; `Broken` where there is none of the name, or several, or it cannot be loaded."""
    found = [*entry_points(group=group, name=name)]
    if not found:
        return Broken(f"No package adds {name!r}.")
    whose = _list_packages(found)
    if len(found) > 1:
        return Broken(f"Several packages add {name!r}: {', '.join(whose)}. Uninstall all of them but one.")
    try:
        loaded: object = found[0].load()
    except Exception as error:  # whatever a package does when it is imported
        return Broken(f"{whose[0]} cannot add {name!r}: {type(error).__name__}: {error}")
    return loaded


def refuse_taken_name(group: str, name: str) -> tuple[str, Broken]:
    """How an entry point is listed whose name this program has taken itself, and what is said of it."""
    whose, own = " or ".join(_list_packages(entry_points(group=group, name=name))), group.rpartition(".")[2][:-1]
    return f"{name} (added)", Broken(f"{whose} cannot add {name!r}: there is a {own} of that name already.")


def _list_packages(found: Iterable[EntryPoint]) -> list[str]:
    return sorted({each.dist.name if each.dist is not None else each.module for each in found})


def as_broken(found: object, group: str, name: str, wanted: str) -> Broken:
    """What is said of an entry point that cannot be loaded, or that does not lead to what is `wanted`, "a Page"."""
    if isinstance(found, Broken):
        return found
    return Broken(f"The entry point {name!r} of {group} does not lead to {wanted}.")
