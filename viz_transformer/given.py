"""What the public functions take: anything of another type ends in one sentence that says what is expected."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from typing import Any, NamedTuple, ParamSpec, TypeVar

from viz_transformer.sentences import quote

P = ParamSpec("P")
R = TypeVar("R")


class Accepted(NamedTuple):
    """What may be given, and what it is called in "... has to be ..."."""

    accepts: Callable[[Any], bool]
    what: str


def takes(**kinds: Accepted) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The function, whose arguments of these names are checked first. Raises ValueError with one sentence.

    Names that the function takes as entries of a TypedDict (`**more: Unpack[...]`) are keywords of its signature too.
    """

    def checked(function: Callable[P, R]) -> Callable[P, R]:
        signature = _with_keywords(function, kinds)

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            for name, value in signature.bind(*args, **named).arguments.items():
                if name in kinds and not kinds[name].accepts(value):
                    raise ValueError(f"{name}={shown(value)} has to be {kinds[name].what}")
            return function(*args, **named)

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return checked


def takes_named(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which takes no keyword that neither it nor the TypedDict of its `**` names. Raises TypeError."""
    return takes(**dict.fromkeys(_entries(function), ANYTHING))(function)


class _Default:
    """The default of a keyword that need not be given."""

    def __repr__(self) -> str:
        return "..."


def _with_keywords(function: Callable[..., Any], names: Collection[str]) -> inspect.Signature:
    """The signature with a keyword for each name that it lacks in place of `**`, so that another one is a TypeError."""
    signature = inspect.signature(function)
    given = signature.parameters
    named = [each for each in given.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    more = [
        inspect.Parameter(
            each, inspect.Parameter.KEYWORD_ONLY, default=_Default(), annotation=_find_type(function, each)
        )
        for each in names
        if each not in given
    ]
    return signature.replace(parameters=[*named, *more])


def _find_type(function: Callable[..., Any], name: str) -> object:
    """The type of an entry of the TypedDict of the function's `**`, as it is written there."""
    entry = _entries(function)[name]
    return getattr(entry, "__forward_arg__", entry)


def _entries(function: Callable[..., Any]) -> Mapping[str, Any]:
    """The types of the entries of the TypedDict of the function's `**`, by name."""
    written = next(str(each) for each in function.__annotations__.values() if str(each).startswith("Unpack["))
    entries: Mapping[str, Any] = function.__globals__[written.removeprefix("Unpack[").removesuffix("]")].__annotations__
    return entries


def shown(value: object) -> str:
    """A value that does not fit, for a sentence: of a tensor or an array its shape, and not its numbers."""
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is not None and shape is not None:
        what = "a tensor" if type(value).__module__.startswith("torch") else "an array"
        return f"{what} of {str(dtype).removeprefix('torch.')} of shape {tuple(shape)}"
    return quote(value)


def instance(what: str, *classes: type) -> Accepted:
    """A value of one of these classes."""
    return Accepted(lambda value: isinstance(value, classes), what)


def optional(kind: Accepted) -> Accepted:
    """The same, or None."""
    return Accepted(lambda value: value is None or kind.accepts(value), f"{kind.what}, or None")


def is_whole(value: object) -> bool:
    """Whether it is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether it is a number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _are_ids(value: object) -> bool:
    """Whether it is a sequence of ids, as far as its type tells; each of them is checked where it is looked up."""
    if (dtype := getattr(value, "dtype", None)) is not None:  # an array, or a tensor
        return "int" in str(dtype) and len(getattr(value, "shape", ())) == 1
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)


def _is_collection(value: object) -> bool:
    """Whether it holds things, each of them to be looked at: no text, no bytes, no array."""
    bare = isinstance(value, Collection) and not isinstance(value, str | bytes | bytearray | memoryview | Mapping)
    return bare and not hasattr(value, "dtype")


def _are_pairs(value: object) -> bool:
    return isinstance(value, Sequence) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(text, str) for text in pair)
        for pair in value
    )


ANYTHING = Accepted(lambda value: True, "anything")
TEXT = instance("a text", str)
FLAG = instance("True or False", bool)
WHOLE = Accepted(is_whole, "a whole number")
NUMBER = Accepted(is_number, "a number")
PATH = instance("a path", str, os.PathLike)
CALLABLE = Accepted(callable, "a function")
MAPPING = instance("a dictionary", Mapping)
TEXT_OR_IDS = Accepted(lambda value: isinstance(value, str) or _are_ids(value), "a text, or a list of ids")
IDS = Accepted(_are_ids, "a list of ids")
TOKENS = Accepted(_is_collection, "a list of tokens")
POSITIONS = Accepted(
    lambda value: _is_collection(value) and all(map(is_whole, value)), "a list of positions, which are whole numbers"
)
TEXTS = Accepted(
    lambda value: (
        isinstance(value, str)
        or _are_pairs(value)
        or (_are_ids(value) and all(isinstance(each, str) for each in value))
    ),
    "a text, a list of texts, or a list of pairs of them",
)
PATTERNS = Accepted(
    lambda value: isinstance(value, str) or (_is_collection(value) and all(isinstance(each, str) for each in value)),
    "a regular expression, or a list of them",
)
PAIRS = Accepted(_are_pairs, "a list of pairs of texts, source and target")
