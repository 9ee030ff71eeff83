"""Ambiguous tensor places, to be answered by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.importers.name_words import in_sequence
from viz_transformer.sentences import quote


@dataclass(frozen=True)
class Tie:
    """A place that one of several tensors or modules has."""

    place: str  # our name without layer numbers, which identifies the question
    options: tuple[str, ...]
    chosen: str | None  # the answer; None while open


class Asks:
    """The ties found, with a person's answers. stack: the stack in which places are named."""

    def __init__(self, told: Mapping[str, str], stack: str = "", met: dict[str, Tie] | None = None) -> None:
        self._told, self._before = told, f"{stack}." if stack else ""
        self.met: dict[str, Tie] = {} if met is None else met

    def of(self, stack: str) -> Asks:
        """The same for places within a stack."""
        return Asks(self._told, stack, self.met)

    def told(self, place: str, options: Sequence[str]) -> str | None:
        """The answer for a place, or None. Raises CheckpointError if it is not among the options."""
        name = f"{self._before}{place}"
        chosen = self._told.get(name)
        if chosen is None:
            return None
        if chosen not in options:
            listed = ", ".join(map(quote, sorted(options)[:8])) or "nothing of this file"
            raise CheckpointError(f"{quote(chosen)} cannot be {name}: choose one of {listed}")
        self.met[name] = Tie(name, tuple(sorted(options)), chosen)
        return chosen

    def one_of(self, place: str, options: Sequence[str]) -> str | None:
        """The answer for a place, or None after recording a tie. Fewer than two options need no answer."""
        chosen = self.told(place, options) if len(options) > 1 else None
        name = f"{self._before}{place}"
        if chosen is None and len(options) > 1:
            self.met.setdefault(name, Tie(name, tuple(sorted(options)), None))
        return chosen

    def each(
        self,
        places: Sequence[str],
        modules: Sequence[str],
        says: Callable[[str], Collection[str]],
        kind: str,
    ) -> dict[str, str]:
        """The place of each module: by answer, by name, or by numbering; empty, with a tie, if ambiguous.

        kind: name of a place, with {} for its word.
        """
        named = {self.told(kind.format(place), modules): place for place in places}
        allowed = {module: {named[module]} if module in named else set(says(module)) or {*places} for module in modules}
        ways = [dict(zip(modules, order, strict=True)) for order in permutations(places)]
        fits = [way for way in ways if all(place in allowed[module] for module, place in way.items())]
        if len(fits) == 1:
            return fits[0]
        counted = in_sequence(modules)
        if counted is not None and set(named) == {None}:
            by_number = dict(zip(counted, places, strict=True))
            if by_number in fits or not fits:
                return by_number
        for place in places:
            having = sorted({module for way in fits or ways for module, own in way.items() if own == place})
            if len(having) > 1:
                self.one_of(kind.format(place), having)
                break
        return {}
