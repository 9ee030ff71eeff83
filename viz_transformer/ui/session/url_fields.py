"""How a field of the selection is declared: once, as an attribute of a frozen dataclass.

    @dataclass(frozen=True, kw_only=True)
    class Masks:
        mask_size: int = declared(8, NUMBER)  # of a plain mask

The attribute's name is the field's name in the address. Its type is what a page reads; what else there is to know of
it (how an address is read, what it wants in words, when the field is forgotten) is in the same line.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any, TypedDict, TypeVar, Unpack

T = TypeVar("T")


def join_values(value: Any) -> str:
    """A number or a text as an address has it, of several those with commas between them."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@dataclasses.dataclass(frozen=True)
class Codec:
    """How an address is read: `read` gives the value, or None for what cannot be used; `write` is the way back.

    wanted: what can be used, in words, for the sentence that refuses the rest; words: the values, if these are few.
    """

    read: Callable[[str], Any]
    wanted: str
    write: Callable[[Any], str] = join_values
    words: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Field:
    """What there is to know of a field.

    start: its value before a person or an address gives one. always: whether the address states it where it is as it
    starts, too; a link to a model that leaves out any other field means its start.
    in_a_link: what the first link means that names a model and not this field; None for its start.
    picked: whether components know it and may change it.
    forgotten_with: the fields whose change brings this one back to its start. brought_back: whether Stop brings it back
    to what it was in the last run that could be made.
    noun: what a sentence calls it that says that its number is too large; "" for its name.
    follows: whether it is recomputed in each run until a person or a link chooses it; till then no address has it.
    typed: what a sentence calls the text in it that is too long for an address; "" for what never is.
    """

    name: str = ""
    start: Any
    reading: Codec
    always: bool = False
    in_a_link: Any = None
    picked: bool = False
    forgotten_with: tuple[str, ...] = ()
    brought_back: bool = False
    noun: str = ""
    follows: bool = False
    typed: str = ""


class _More(TypedDict, total=False):
    """What a declaration says of a `Field` beside its start and its reading."""

    always: bool
    in_a_link: Any
    picked: bool
    forgotten_with: tuple[str, ...]
    brought_back: bool
    noun: str
    follows: bool
    typed: str


def url_field(start: T, reading: Codec, **more: Unpack[_More]) -> T:
    """The attribute of a dataclass that declares a field; `more` as in `Field`."""
    return dataclasses.field(default=start, metadata={"declared": Field(start=start, reading=reading, **more)})


def fields_of(declaration: type) -> dict[str, Field]:
    """The fields that a frozen dataclass declares, by name."""
    return {
        each.name: dataclasses.replace(each.metadata["declared"], name=each.name)
        for each in dataclasses.fields(declaration)
    }


def number(given: str) -> int | None:
    """A whole number from 0 on, of at most nine digits."""
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else None


def one_of(words: Sequence[str], wanted: str = "") -> Codec:
    """One of these words; "" among them means the usual one, and no sentence names it."""
    named = wanted or f"one of {', '.join(filter(None, words))}"
    return Codec(lambda given: given if given in words else None, named, words=tuple(words))


def some_of(words: Sequence[str]) -> Codec:
    """Some of these words with commas between them, in any order; read in theirs."""

    def read(given: str) -> tuple[str, ...] | None:
        chosen = set(given.split(",")) - {""}
        return tuple(word for word in words if word in chosen) if chosen <= set(words) else None

    return Codec(read, f"some of {', '.join(words)}", words=tuple(words))


def one_number_of(numbers: Sequence[int], wanted: str) -> Codec:
    """One of these numbers."""
    words = tuple(map(str, numbers))
    return Codec(lambda given: int(given) if given in words else None, wanted, words=words)


def text_of_at_most(characters: int) -> Codec:
    """Any text that is not longer."""
    return Codec(
        lambda given: given if len(given) <= characters else None, f"a text of at most {characters} characters"
    )


def matching(pattern: str, wanted: str) -> Codec:
    """A text that the whole of a regular expression fits."""
    return Codec(lambda given: given if re.fullmatch(pattern, given) else None, wanted)


def different_numbers(most: int) -> Codec:
    """Some different whole numbers, in the order in which they are given."""

    def read(given: str) -> tuple[int, ...] | None:
        numbers = [number(part) for part in given.split(",")]
        known = tuple(dict.fromkeys(each for each in numbers if each is not None))
        return known if len(known) == len(numbers) <= most else None

    return Codec(read, f"at most {most} different whole numbers with commas between them")


NUMBER = Codec(number, "a whole number from 0 on")
TEXT = Codec(str, "a text")
