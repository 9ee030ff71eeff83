"""Bounds the matching time of an untrusted tokenizer.json's regular expressions, from their form alone.

Oniguruma matches them by backtracking and cannot be interrupted. One search takes time proportional to the text's
length for each repetition that something after it may shorten: with one, all searches take quadratic time, with two
cubic. Published patterns have at most one, usually with an alternative that consumes the failed repetition, so that no
search restarts there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from viz_transformer.declared import at_most
from viz_transformer.sentences import quote

LONGEST_PATTERN, MAX_NESTED = 10_000, 20
"""Maximum characters of a pattern, and nesting of its brackets."""
MAX_TURNS, FEW = 4_096, 8
"""Maximum paths through the bounded parts, and the largest repetition counted among them."""

_BRACES = re.compile(r"\{(\d*)(?:(,)(\d*))?\}")
_FLAGS = re.compile(r"\?[im-]*:|\?>")
_SWITCH = re.compile(r"\(\?[im-]+\)")
_ESCAPE = re.compile(
    r"\\(?:[pP]\{\^?[\w -]+\}|x\{[0-9a-fA-F]+\}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|0[0-7]{0,2}|[^\dgkKX])"
)
_ANCHORS = frozenset(r"\b \B \A \Z \z \G ^ $".split())


@dataclass(frozen=True)
class Cost:
    """Matching cost of a pattern."""

    least: int = 0
    """Minimum characters matched."""
    open: int = 0
    """Unbounded repetitions that nothing has shortened yet."""
    degree: int = 0
    """Maximum number of repetitions shortened by what follows."""
    turns: int = 1
    """Paths through the rest."""
    fixed: bool = True
    """Whether there is only one path through it."""
    searched: bool = False
    """Whether all searches in a text may take quadratic time; set for whole patterns."""


def pattern_cost(pattern: str) -> Cost:
    """Matching cost of a pattern. Raises ValueError with a sentence if unbounded or of an unknown form."""
    at_most(len(pattern), LONGEST_PATTERN, "the pattern has {} characters", "read")
    try:
        reader = _Reader(pattern)
        found = reader.alternatives(Cost(), 0)
        if reader.at < len(pattern):
            raise _Unknown("a bracket that closes nothing")
    except _Unknown as error:
        raise ValueError(f"the pattern {quote(pattern)} may take forever to match ({error})") from None
    if found.degree > 1:
        raise ValueError(
            f"the pattern {quote(pattern)} may take forever to match ({found.degree} repetitions that each may be"
            " made shorter again)"
        )
    return replace(found, searched=any(not _is_taken_in(reader.begins, place) for place in range(len(reader.begins))))


def _is_taken_in(begins: list[tuple[str, bool]], place: int) -> bool:
    """Whether the next alternative consumes what this one repeats in vain."""
    what, in_vain = begins[place]
    follows = next((each for each in begins[place:] if each != (what, True)), ("", True))
    return not in_vain or (bool(what) and follows == (what, False))


class _Unknown(Exception):
    """What is wrong with a pattern, in a few words."""


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0
        self.first: str | None = None
        self.begins: list[tuple[str, bool]] = []
        """Per alternative: its first repeated character or set ("" if none), and whether the rest may shorten it."""

    def alternatives(self, before: Cost, depth: int) -> Cost:
        """Parse alternatives up to the end or the closing bracket. before: what precedes them."""
        if depth > MAX_NESTED:
            raise _Unknown("brackets within brackets without end")
        found: list[Cost] = []
        while not found or self._take("|"):
            if depth == 0:
                self.first = None
            found.append(self.sequence(before, depth))
            if depth == 0:
                self.begins.append((self.first or "", found[-1].degree > 0))
        if len(found) == 1:
            return found[0]
        return Cost(
            least=min(each.least for each in found),
            open=max(each.open for each in found),
            degree=max(each.degree for each in found),
            turns=_checked(sum(each.turns for each in found)),
            fixed=False,
        )

    def sequence(self, before: Cost, depth: int) -> Cost:
        cost, guard = Cost(0, before.open, before.degree), ""
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            begin = self.at
            found = self.item(cost, depth)
            written = self.pattern[begin : self.at]
            if depth == 0 and self.first is None and not written.endswith("?"):
                self.first = _repeated(written, found.degree)
            if guard and found.open == cost.open + 1 and (guard == r"\A" or written.rstrip("*+?") == guard):
                found = replace(found, open=cost.open)  # it begins at few places, none inside its repetition
            cost, guard = found, _guarded(written)
        return cost

    def item(self, cost: Cost, depth: int) -> Cost:
        """Add the next item and its repetition."""
        begin = self.at
        inner = self.atom(cost, depth)
        written = self.pattern[begin : self.at]
        least, most, repeated = self.times()
        if most == 1 and least == 1:
            if inner is not None:
                turns = _checked(cost.turns * inner.turns)
                return Cost(cost.least + inner.least, inner.open, inner.degree, turns, cost.fixed and inner.fixed)
            width = 0 if written in _ANCHORS else 1
            return Cost(cost.least + width, cost.open, max(cost.degree, cost.open), cost.turns, cost.fixed)
        if inner is not None and most != 1 and (not inner.fixed or inner.open > cost.open):
            raise _Unknown("a repetition of what has several ways through it")
        degree = max(cost.degree, cost.open) if least else cost.degree
        width = 1 if inner is None else inner.least
        if inner is not None:  # skipped where it does not match, so it shortens nothing
            degree = max(degree, inner.degree if least else inner.degree - cost.open)
        if most is None or most - least > FEW:
            more = 1 if repeated == 1 else 2  # a nested repetition: exponentially many paths
            return Cost(cost.least + least * width, cost.open + more, degree, cost.turns, False)
        ways = most - least + 1
        turns = _checked(cost.turns * ways * (1 if inner is None else inner.turns))
        still = cost.open if inner is None else max(cost.open, inner.open)
        return Cost(cost.least + least * width, still, degree, turns, cost.fixed and ways == 1)

    def atom(self, before: Cost, depth: int) -> Cost | None:
        """Cost of a group; None for a character, set or assertion."""
        sign = self.pattern[self.at]
        if (switch := _SWITCH.match(self.pattern, self.at)) is not None:
            self.at = switch.end()
            return before
        if sign == "(":
            self.at += 1
            return self.group(before, depth)
        if sign == "[":
            self.set(0)
        elif sign == "\\":
            found = _ESCAPE.match(self.pattern, self.at)
            if found is None:
                raise _Unknown("a reference to another part, or a sign that is not known here")
            self.at = found.end()
        elif sign in "*+?":
            raise _Unknown("a repetition of nothing")
        else:
            self.at += 1
        return None

    def group(self, before: Cost, depth: int) -> Cost:
        looks = next((each for each in ("?=", "?!", "?<=", "?<!") if self.pattern.startswith(each, self.at)), None)
        if looks is not None:
            self.at += len(looks)
            inner = self.alternatives(Cost(), depth + 1)
            self._close()
            degree = max(before.degree, before.open + max(inner.open, inner.degree))
            return Cost(0, before.open, degree, inner.turns, inner.fixed)
        if self._startswith("?"):
            flags = _FLAGS.match(self.pattern, self.at)
            if flags is None:
                raise _Unknown("a kind of bracket that is not known here")
            self.at = flags.end()
        elif self._startswith("*"):
            raise _Unknown("a kind of bracket that is not known here")
        inner = self.alternatives(Cost(0, before.open, before.degree), depth + 1)
        self._close()
        return inner

    def set(self, depth: int) -> None:
        """Parse a character set, which may be nested."""
        if depth > MAX_NESTED:
            raise _Unknown("brackets within brackets without end")
        self.at += 1
        self._take("^")
        first = True
        while self.at < len(self.pattern):
            sign = self.pattern[self.at]
            if sign == "]" and not first:
                self.at += 1
                return
            first = False
            if sign == "[":
                self.set(depth + 1)
            else:
                self.at += 2 if sign == "\\" else 1
        raise _Unknown("a set that is not closed")

    def times(self) -> tuple[int, int | None, int]:
        """Repetition of the last item: minimum, maximum (None: unbounded), and the length of its notation."""
        found: tuple[int, int | None] = (1, 1)
        signs: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if (sign := next((sign for sign in signs if self._take(sign)), None)) is not None:
            found = signs[sign]
            if not self._take("?"):  # lazy or possessive: assumed as bad as any
                self._take("+")
        elif (braces := _BRACES.match(self.pattern, self.at)) is not None and (braces[1] or braces[3]):
            self.at = braces.end()
            least = int(braces[1] or 0)
            most = least if braces[2] is None else int(braces[3]) if braces[3] else None
            if max(least, most or 0) > LONGEST_PATTERN:
                raise _Unknown("thousands of repetitions")
            if self._take("?"):
                least = 0
            found = (least, most)
            if self._take("+"):
                return least, None, 2
        again = _BRACES.match(self.pattern, self.at) if found != (1, 1) else None
        if again is not None or (self.at < len(self.pattern) and self.pattern[self.at] in "*+?"):
            raise _Unknown("a repetition of a repetition")
        return (*found, 1)

    def _close(self) -> None:
        if not self._take(")"):
            raise _Unknown("a bracket that is not closed")

    def _startswith(self, sign: str) -> bool:
        return self.pattern.startswith(sign, self.at)

    def _take(self, sign: str) -> bool:
        taken = self._startswith(sign)
        self.at += len(sign) if taken else 0
        return taken


def _repeated(written: str, degree: int) -> str:
    """The character or set that an item repeats unboundedly; "" for any other item."""
    found = re.fullmatch(r"(\\?.|\\[pP]\{\w+\}|\[(?:[^\[\]\\]|\\.)+\])[*+]", written, re.DOTALL)
    return found[1] if found is not None and not degree else ""


def _guarded(written: str) -> str:
    """What a lookbehind excludes before it, or the item itself if it anchors to the beginning; else ""."""
    found = re.fullmatch(r"\(\?<!([^()\[\]]+)\)|\(\?<=\[\^([^()\[\]&]+)\]\)|(\\A)", written)
    return (found[1] or found[2] or found[3]) if found is not None else ""


def _checked(turns: int) -> int:
    if turns > MAX_TURNS:
        raise _Unknown(f"more than {MAX_TURNS:,} ways through it")
    return turns
