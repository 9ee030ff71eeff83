"""Values of declared types, from files, addresses and callers: msgspec checks them, one function says what is wrong.

A type says what is accepted: `Annotated[int, Meta(ge=1)]`, a Literal, a dataclass for an object.
`Meta(description=...)` has the words for what bounds alone do not say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from itertools import chain
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta

from viz_transformer.given import Accepted, shown
from viz_transformer.sentences import quote, shorten

T = TypeVar("T")

LARGEST = 2**53
"""Of a whole number: far beyond what can be run, short enough to be said, and exact in JavaScript."""
Whole = Annotated[int, Meta(ge=-LARGEST, le=LARGEST, description="a whole number")]
Count = Annotated[int, Meta(ge=1, le=LARGEST)]
CountOrZero = Annotated[int, Meta(ge=0, le=LARGEST)]

_NOUNS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    list: "a list",
    NoneType: "nothing",
}


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def read(kind: type[T], content: Any, of: str = "") -> T:
    """The dataclass that JSON's `content` describes. Raises ValueError with the sentence of `fault`, before which `of`
    stands, or with that of the dataclass's own check."""
    known = hints(cast(type[_Dataclass], kind))
    if not isinstance(content, Mapping):
        raise ValueError(f"{of}: {fault(kind, content)}" if of else fault(kind, content))
    wrong = (fault(known[name], value, name) for name, value in content.items())
    problems = chain(strange(cast(type[_Dataclass], kind), content), (each for each in wrong if each is not None))
    refuse(f"{of}: {each}" if of else each for each in problems)
    return kind(**{name: msgspec.convert(value, known[name]) for name, value in content.items()})


def check(made: _Dataclass, of: str = "", rules: Iterable[str] = ()) -> None:
    """For `__post_init__`: raise ValueError unless each field is what its annotation says, then as `refuse` does. Lists
    where the annotation says tuples become such."""
    wrong = (fault(hint, getattr(made, name), name) for name, hint in hints(type(made)).items())
    refuse(f"{of}: {each}" if of else each for each in wrong if each is not None)
    for name, hint in hints(type(made)).items():
        if get_origin(_parts(hint)[0]) is tuple:
            object.__setattr__(made, name, msgspec.convert(_plain(getattr(made, name)), hint))
    refuse(rules)


def refuse(rules: Iterable[str]) -> None:
    """Raise ValueError with the first sentence that a generator of rules has; what comes after it is not looked at, so
    a rule may rely on those before it."""
    for sentence in rules:
        raise ValueError(sentence)


def one_of(name: str, value: object, words: Iterable[T]) -> T:
    """The one of the words that is given. Raises ValueError if it is none of them."""
    known = tuple(words)
    if value not in known:  # a tuple, so that what cannot be hashed is looked for too
        raise ValueError(_unknown_word(name, value, known))
    return known[known.index(value)]


def within(name: str, value: object, hint: Any) -> None:
    """Raise ValueError unless the value is of this type."""
    if not fits(hint, value):
        raise ValueError(fault(hint, value, name))


def place(what: str, index: int, count: int) -> int:
    """The index of one of `count` things, which are counted from 0. Raises ValueError for any other."""
    if not 0 <= index < count:
        several = f"{what.removesuffix('y')}ies" if what.endswith("y") else f"{what}s"
        known = f"{several} go from 0 to {count - 1}" if count else "there are none"
        raise ValueError(f"there is no {what} {index}: {known}")
    return index


def same_count(**counts: int) -> None:
    """Raise ValueError unless there are as many of each, called by its name: `tokens`, `log_probabilities`."""
    if len(set(counts.values())) > 1:
        (name, count), *others = counts.items()
        raise ValueError(f"{_each({name: count})} do not fit {_each(dict(others))}")


def shaped(name: str, shape: Sequence[int], **axes: int) -> None:
    """Raise ValueError unless an array has these axes, called by their names (`queries`), and none is empty."""
    if tuple(shape) != tuple(axes.values()) or 0 in axes.values():
        raise ValueError(f"{name} {tuple(shape)} do not fit {_each(axes)}")


def _each(counts: Mapping[str, int]) -> str:
    *some, last = (f"{count} {name.replace('_', ' ')}" for name, count in counts.items())
    return f"{', '.join(some)} and {last}" if some else last


@contextmanager
def prefixed(text: str) -> Iterator[None]:
    """A ValueError that is raised within begins with this text, which says what it is about ("pair 3: ")."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{text}{error}") from None


def at_most(count: int, most: int, said: str, what: str) -> None:
    """Raise ValueError for more than `most`: what is `said` of the count, "it holds {} values", and how many of them
    are read, or allowed."""
    if count > most:
        raise ValueError(f"{said.format(f'{count:,}')}, at most {most:,} are {what}")


def converted(kind: type[T], content: object) -> T:
    """What msgspec makes of JSON's `content`: of another program's description, which may say more than is read here.
    Raises ValueError with the sentence of its error: "its a[0] has to be ...", or "it has to be ..."."""
    try:
        return msgspec.convert(content, kind)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except msgspec.ValidationError as error:
        raise ValueError(_in_words(str(error))) from None


def _in_words(message: str) -> str:
    """msgspec's "Expected `str`, got `int` - at `$.a[0]`" in the words of `fault`."""
    problem, _, where = message.partition(" - at ")
    place = where.removeprefix("key in ").strip("`").removeprefix("$").removeprefix(".")
    place = f"its {shorten(place, 100)}" if place else "it"
    if missing := re.fullmatch(r"Object missing required field `(.+)`", problem):
        return f"{place} has no {missing[1]!r}"
    if expected := re.fullmatch(r"Expected `([^`]+)`(?: ([<>]=? [^,]+))?(?:, got `(.+)`)?", problem):
        kinds, bound, found = expected.groups()
        named = " or ".join(_JSON_NOUNS.get(each, each) for each in kinds.split(" | "))
        sign, _, number = (bound or "").partition(" ")
        least = f" {_BOUNDS[sign]} {number}" if bound else ""
        return f"{place} has to be {named}{least}" + (f", not {_JSON_NOUNS.get(found, found)}" if found else "")
    return f"{place} is refused: {shorten(problem, 100)}"


_BOUNDS = {">=": "of at least", "<=": "of at most", ">": "above", "<": "below"}
_JSON_NOUNS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "array": "a list",
    "object": "an object",
    "null": "nothing",
}


def fault(hint: Any, value: object, name: str = "") -> str | None:
    """What does not fit, at the innermost place: its name, what is there, and what is accepted; None if all does."""
    if fits(hint, value):
        return None
    bare, _ = _parts(hint)
    if is_dataclass(bare) and isinstance(value, Mapping):
        for problem in strange(cast(type[_Dataclass], bare), value):
            return f"{name}: {problem}" if name else problem
    inside = (fault(inner, each, within) for inner, each, within in _inner(bare, value, name))
    if (found := next((each for each in inside if each is not None), None)) is not None:
        return found
    if get_origin(bare) is Literal:
        return _unknown_word(name, value, get_args(bare))
    large = isinstance(value, int) and abs(value) > LARGEST
    return f"{name}{'=' * bool(name)}{shown(value)} has to be {'a number of at most 53 bits' if large else noun(hint)}"


def noun(hint: Any) -> str:
    """What a type accepts, as it stands behind "has to be"."""
    bare, metas = _parts(hint)
    words = (meta.what if isinstance(meta, Accepted) else meta.description for meta in metas)
    if described := next((each for each in words if each), None):
        return described
    bounds = [f" {each}" for meta in metas if isinstance(meta, Meta) for each in _bounds(meta)]
    if get_origin(bare) is Literal:
        return " or ".join(map(repr, get_args(bare)))
    if get_origin(bare) in (Union, UnionType):
        return ", or ".join(map(noun, sorted(get_args(bare), key=lambda option: option is NoneType)))
    if get_origin(bare) in (list, tuple, Sequence):
        inner = [each for each in get_args(bare) if each is not Ellipsis]
        each_one = noun(inner[0]) if len(inner) == 1 else f"({', '.join(map(noun, inner))})"
        return f"a list{''.join(bounds)}, each {each_one}" if len(inner) == 1 else f"a list of {len(inner)}: {each_one}"
    if is_dataclass(bare):
        return f"an object with {', '.join(field.name for field in fields(bare))}"
    unit = " characters" if bare is str and bounds else ""
    return f"{_NOUNS.get(bare, 'an object')}{' and'.join(bounds)}{unit}"


def _bounds(meta: Meta) -> Iterator[str]:
    if meta.ge is not None and meta.le is not None and meta.le < LARGEST:
        yield f"from {_number(meta.ge)} to {_number(meta.le)}"
    elif meta.ge is not None:
        yield f"of at least {_number(meta.ge)}"
    elif meta.le is not None and meta.gt is None:
        yield f"of at most {_number(meta.le)}"
    if meta.gt is not None:
        yield f"above {_number(meta.gt)}"
        if meta.le is not None:
            yield f"at most {_number(meta.le)}"
    if meta.lt is not None:
        yield f"below {_number(meta.lt)}"
    if meta.max_length is not None:
        yield f"of {meta.min_length or 0:,} to {meta.max_length:,}"


def _number(value: float) -> str:
    return f"{value:,}"


def _unknown_word(name: str, value: object, words: Sequence[object]) -> str:
    return f"{name}={quote(value, 40)} is not known; choose {' or '.join(map(repr, words))}"


@cache
def hints(kind: type[_Dataclass]) -> dict[str, Any]:
    """The types of a dataclass's fields; to read them out of their texts takes longer than to check a value."""
    found = get_type_hints(kind, include_extras=True)
    return {field.name: found[field.name] for field in fields(kind) if field.init}


def strange(kind: type[_Dataclass], content: Mapping[Any, Any]) -> Iterator[str]:
    """Of each name that is no field of the dataclass, and of each field that is missing, a sentence."""
    known = hints(kind)
    for name in content:
        if name not in known:
            near = get_close_matches(str(name)[:80], known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {shorten(', '.join(known), 200)}"
            yield f"{quote(name)} is not known: {hint}"
    for field in fields(kind):
        if field.init and field.name not in content and field.default is MISSING and field.default_factory is MISSING:
            yield f"{field.name!r} is missing: it has to be {noun(known[field.name])}"


def _parts(hint: Any) -> tuple[Any, tuple[Meta | Accepted, ...]]:
    """A type without what is said of it, and that."""
    if get_origin(hint) is Annotated:
        bare, *metas = get_args(hint)
        return bare, tuple(meta for meta in metas if isinstance(meta, Meta | Accepted))
    return hint, ()


def _inner(hint: Any, value: object, name: str) -> Iterator[tuple[Any, object, str]]:
    """What a value consists of, each with its type and its name."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType) and value is not None:
        options = [option for option in inner if option is not NoneType]
        if len(options) == 1:
            yield from ((options[0], value, name),)
    elif is_dataclass(hint) and isinstance(value, Mapping):
        known = hints(cast(type[_Dataclass], hint))
        yield from ((known[each], value[each], f"{name}.{each}" if name else each) for each in value)
    elif origin in (dict, Mapping) and isinstance(value, dict):
        for key, each in value.items():
            yield inner[0], key, f"a name in {name}" if name else "a name"
            yield inner[1], each, f"{name}[{quote(key)}]"
    elif isinstance(value, list | tuple) and (origin in (list, Sequence) or inner[1:] == (Ellipsis,)):
        yield from ((inner[0], each, f"{name}[{at}]") for at, each in enumerate(value))
    elif isinstance(value, list | tuple) and origin is tuple and len(inner) == len(value):
        yield from ((kind, each, f"{name}[{at}]") for at, (kind, each) in enumerate(zip(inner, value, strict=True)))


def fits(hint: Any, value: object) -> bool:
    """Whether a value is of a type; numbers of numpy are numbers."""
    if own := next((meta for meta in _parts(hint)[1] if isinstance(meta, Accepted)), None):
        return own.accepts(value)
    return _converts(hint, value) or _converts(hint, _plain(value))


def _converts(hint: Any, value: object) -> bool:
    try:
        msgspec.convert(value, hint)
    except (ValueError, OverflowError):
        return False
    return True


def _plain(value: object, levels: int = 8) -> object:
    """The value in Python's own types, lists within lists down to so many levels: one may hold itself."""
    if isinstance(value, list | tuple):
        return tuple(_plain(each, levels - 1) for each in value) if levels else ()
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    return int(value) if isinstance(value, Integral) else float(value) if isinstance(value, Real) else value
