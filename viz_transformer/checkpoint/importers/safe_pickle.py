"""Reads a pickle without running anything: no name is imported, no object built, no function called.

Operations are recorded instead: a name becomes a `Name`, a call a `Call`, from which `reading.py` reads tensors. Memory
is proportional to the file. torch's `weights_only` reader refuses files that name other classes, such as Lightning's,
and allocates what some names ask for.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viz_transformer.checkpoint.untrusted import MAX_TENSORS, TooMuch

LONGEST = 64 * 2**20
"""Maximum bytes of a pickle; tensor data lies outside."""
MAX_STEPS = 3_000_000
"""Maximum operations of a pickle, about three seconds; a tensor takes about thirty, a vocabulary word three."""
MORE_TENSORS = f"it holds more than {MAX_TENSORS:,} tensors: give the weights of one model"
_MARK = object()


@dataclass(frozen=True, eq=False)
class Name:
    """A class or function named in the pickle, as `module.name`."""

    full: str


@dataclass(eq=False)
class Call:
    """A recorded call: function, arguments, state and items."""

    function: Any
    arguments: Any
    state: Any = None
    items: Any = None  # contents of a dictionary or list subclass


@dataclass(frozen=True, eq=False)
class Persistent:
    """Data outside the pickle: torch's storages."""

    key: Any


def read_pickle(content: bytes) -> Any:
    """Plain values, dictionaries and lists; everything else as a record of what it names.

    Raises ValueError with a clause without the file's name if invalid or damaged; TooMuch beyond LONGEST, MAX_STEPS or
    MAX_TENSORS.
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
    """Stack and memo of a pickle."""

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
        """Items on the stack since the last mark."""
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
        if isinstance(self.stack[-1], Call):  # the state of a dictionary is torch's `_metadata`, not weights
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
        if self.outside > MAX_TENSORS:  # each tensor names its storage
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
    """A plain key or a flat tuple of plain keys, unchanged; any other becomes unequal to everything.

    Hashing tuples of tuples of one tuple would take exponential time.
    """
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
