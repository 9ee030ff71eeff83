"""A pickle read without running anything: no name in it is looked up, no class of it made, no function called.

What pickle would do is written down instead: a name stays a `Name`, a call a `Call`. Tensors are among those calls, and
`reading.py` reads them from there. Everything takes memory in proportion to the file. torch's own careful reader
(`weights_only`) refuses files that name other classes, as Lightning's do, and allocates what some names ask for.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viz_transformer.checkpoint.untrusted import MAX_TENSORS, TooMuch

LONGEST = 64 * 2**20
"""Bytes of a pickle: numbers of tensors stand outside of it."""
MAX_STEPS = 3_000_000
"""Of a pickle: what takes some three seconds to go through. A tensor is about thirty, a word of a vocabulary three."""
MORE_TENSORS = f"it holds more than {MAX_TENSORS:,} tensors: give the weights of one model"
_MARK = object()


@dataclass(frozen=True, eq=False)
class Name:
    """A class or function that the pickle names, as `module.name`."""

    full: str


@dataclass(eq=False)
class Call:
    """What the pickle would have called, with what, and what it would have put into the result."""

    function: Any
    arguments: Any
    state: Any = None
    items: Any = None  # a dictionary's or list's contents, of a class that is one


@dataclass(frozen=True, eq=False)
class Persistent:
    """What stands outside of the pickle: torch's storages."""

    key: Any


def read_pickle(content: bytes) -> Any:
    """The plain value, dictionaries and lists as such, everything else as a record of what it names.

    Raises ValueError, one clause without the file's name, for what is no pickle or damaged; TooMuch for one that is
    longer than LONGEST, or has more than MAX_STEPS or MAX_TENSORS.
    """
    if len(content) > LONGEST:
        raise TooMuch(f"it describes its content in {len(content):,} bytes, at most {LONGEST:,} are read")
    machine = _Machine()
    try:
        for step, (opcode, argument, _) in enumerate(pickletools.genops(io.BytesIO(content))):
            if step == MAX_STEPS:
                raise TooMuch(f"it describes its content in more than {MAX_STEPS:,} steps: give the weights alone")
            if opcode.name == "STOP":
                return machine.stack.pop()
            machine.do(opcode.name, argument)
    except (_Unknown, TooMuch):
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, EOFError) as error:
        raise ValueError("its description of the content is damaged") from error
    raise ValueError("its description of the content is cut off")


class _Unknown(ValueError):
    pass


class _Machine:
    """The stack and the memo of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.outside = 0

    def do(self, name: str, argument: Any) -> None:
        if name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _VALUES:
            self.stack.append(argument)
        elif name in _EMPTY:
            self.stack.append(_EMPTY[name]())
        elif name in _STEPS:
            _STEPS[name](self, argument)
        elif name not in ("PROTO", "FRAME"):
            raise _Unknown(f"its description of the content uses {name}, which no file of tensors does")

    def marked(self) -> list[Any]:
        """What was put on the stack since the last mark."""
        at = next((i for i in range(len(self.stack) - 1, -1, -1) if self.stack[i] is _MARK), None)
        if at is None:
            raise IndexError
        found = self.stack[at + 1 :]
        del self.stack[at:]
        return found

    def put(self, key: int) -> None:
        self.memo[key] = self.stack[-1]

    def call(self, function: Any, arguments: Any) -> None:
        if isinstance(function, Name) and function.full in _ORDERED and not arguments:
            self.stack.append({})
        else:
            self.stack.append(Call(function, arguments))

    def extend(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, list):
            target.extend(items)
        elif isinstance(target, Call):
            target.items = items if target.items is None else target.items

    def update(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, Call) and target.items is None:
            target.items = {}
        entries = target.items if isinstance(target, Call) else target
        if isinstance(entries, dict):
            entries.update({_key(key): value for key, value in zip(items[0::2], items[1::2], strict=True)})

    def build(self, _: Any) -> None:
        state = self.stack.pop()
        if isinstance(self.stack[-1], Call):  # a dictionary's state is torch's `_metadata`: no part of the weights
            self.stack[-1].state = state

    def reduce(self, _: Any) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        self.call(function, arguments)

    def new_with_names(self, _: Any) -> None:
        names, arguments, kind = self.stack.pop(), self.stack.pop(), self.stack.pop()
        self.call(kind, (arguments, names))

    def instance(self, argument: str) -> None:
        arguments = self.marked()
        self.call(Name(argument.replace(" ", ".")), tuple(arguments))

    def object(self, _: Any) -> None:
        kind, *arguments = self.marked()
        self.call(kind, tuple(arguments))

    def stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(Name(f"{module}.{name}"))

    def persistent(self, key: Any) -> None:
        self.outside += 1
        if self.outside > MAX_TENSORS:  # each tensor names the storage outside that it is a view of
            raise TooMuch(MORE_TENSORS)
        self.stack.append(Persistent(key))

    def top(self, count: int) -> tuple[Any, ...]:
        found = tuple(self.stack[len(self.stack) - count :])
        if len(found) < count:
            raise IndexError
        del self.stack[len(self.stack) - count :]
        return found

    def replace_marked(self, kind: Callable[[list[Any]], Any]) -> None:
        self.stack.append(kind(self.marked()))


def _key(key: Any) -> Any:
    """A plain key, or a flat tuple of such, as it is; any other is equal to nothing: to hash tuples of tuples of one
    tuple would take for ever."""
    parts = key if isinstance(key, tuple) else (key,)
    return key if all(isinstance(part, str | bytes | int | float | None) for part in parts) else Persistent(key)


_ORDERED = ("collections.OrderedDict", "collections.Counter", "builtins.dict", "collections.defaultdict")
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "MARK": _MARK}
_VALUES = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 STRING BINSTRING SHORT_BINSTRING BINBYTES SHORT_BINBYTES BINBYTES8"
    " BYTEARRAY8 UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8 FLOAT BINFLOAT".split()
)
_EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict, "EMPTY_SET": list}
_STEPS: dict[str, Callable[[_Machine, Any], Any]] = {
    "POP": lambda m, _: m.stack.pop(),
    "POP_MARK": lambda m, _: m.marked(),
    "DUP": lambda m, _: m.stack.append(m.stack[-1]),
    "PUT": lambda m, a: m.put(a),
    "BINPUT": lambda m, a: m.put(a),
    "LONG_BINPUT": lambda m, a: m.put(a),
    "MEMOIZE": lambda m, _: m.put(len(m.memo)),
    "GET": lambda m, a: m.stack.append(m.memo[a]),
    "BINGET": lambda m, a: m.stack.append(m.memo[a]),
    "LONG_BINGET": lambda m, a: m.stack.append(m.memo[a]),
    "TUPLE": lambda m, _: m.replace_marked(tuple),
    "TUPLE1": lambda m, _: m.stack.append(m.top(1)),
    "TUPLE2": lambda m, _: m.stack.append(m.top(2)),
    "TUPLE3": lambda m, _: m.stack.append(m.top(3)),
    "LIST": lambda m, _: m.replace_marked(list),
    "FROZENSET": lambda m, _: m.replace_marked(list),
    "DICT": lambda m, _: m.replace_marked(lambda items: dict(zip(map(_key, items[0::2]), items[1::2], strict=True))),
    "APPEND": lambda m, _: m.extend([m.stack.pop()]),
    "APPENDS": lambda m, _: m.extend(m.marked()),
    "ADDITEMS": lambda m, _: m.extend(m.marked()),
    "SETITEM": lambda m, _: m.update(list(m.top(2))),
    "SETITEMS": lambda m, _: m.update(m.marked()),
    "GLOBAL": lambda m, a: m.stack.append(Name(a.replace(" ", "."))),
    "STACK_GLOBAL": _Machine.stack_global,
    "REDUCE": _Machine.reduce,
    "NEWOBJ": _Machine.reduce,
    "NEWOBJ_EX": _Machine.new_with_names,
    "INST": _Machine.instance,
    "OBJ": _Machine.object,
    "BUILD": _Machine.build,
    "PERSID": lambda m, a: m.persistent(a),
    "BINPERSID": lambda m, _: m.persistent(m.stack.pop()),
}
