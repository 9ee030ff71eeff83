"""Valid things damaged in one place: JSON values, and the bytes of files."""

from __future__ import annotations

import json
import struct
from copy import deepcopy
from random import Random
from typing import Any

from attack import texts

_NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 255, 2**15, 2**24, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**18, 10**30, -(2**63)),
    *(0.5, -0.0, 1e-300, 1e300, 1e-7, 0.1, 3.0, float("nan"), float("inf"), float("-inf")),
)


def value(draw: Random) -> Any:
    """Any JSON value, also such as only Python writes (NaN)."""
    kind = draw.randrange(12)
    if kind < 4:
        return draw.choice(_NUMBERS)
    if kind < 7:
        return texts.text(draw)
    if kind == 7:
        return draw.choice((None, True, False, {}, [], "", [[]], [None], {"": ""}))
    if kind == 8:
        return [value(draw) for _ in range(draw.randint(1, 4))]
    if kind == 9:
        return {texts.whole(draw, ("a",)): value(draw) for _ in range(draw.randint(1, 4))}
    if kind == 10:
        return [draw.choice(_NUMBERS)] * draw.choice((2, 100, 10_000))
    deep: Any = 0
    for _ in range(draw.choice((3, 50, 400))):
        deep = [deep] if draw.random() < 0.5 else {"a": deep}
    return deep


def places(found: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside."""
    items = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    return [path, *(inner for key, item in items for inner in places(item, (*path, key)))]


def damaged(valid: Any, draw: Random) -> Any:
    """The JSON value with one of its values replaced, changed a little, removed, renamed, doubled or given more."""
    found = deepcopy(valid)
    every = places(found)
    # Not all of a long list's entries: the few settings beside it would never be met.
    by_depth = draw.choice(sorted({len(path) for path in every}))
    path = draw.choice([path for path in every if len(path) == by_depth])
    if not path:
        return value(draw) if draw.random() < 0.3 else _more(found, draw)
    holder = found
    for key in path[:-1]:
        holder = holder[key]
    last = path[-1]
    how = draw.randrange(6)
    if how == 0:
        del holder[last]
    elif how == 1 and isinstance(holder, dict):
        holder[texts.whole(draw, (str(last).upper(),))] = holder.pop(last)
    elif how == 2:
        holder[last] = _nearly(holder[last], draw)
    elif how == 3:
        holder[last] = _more(holder[last], draw)
    else:
        holder[last] = value(draw)
    return found


def _nearly(old: Any, draw: Random) -> Any:
    """Of the same kind, but another."""
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        return draw.choice((old + 1, old - 1, -old, old * 2, old * 1000, float(old), str(old), old * 2**20, 0))
    if isinstance(old, float):
        return draw.choice((-old, old * 1e10, old + 1, str(old), float("nan")))
    if isinstance(old, str):
        return draw.choice((old.upper(), old + " ", old[:-1], old * 1000, [old], texts.text(draw, (old,))))
    return draw.choice((None, [old], str(old)))


def _more(old: Any, draw: Random) -> Any:
    """A list or an object with something added; else the value in a list."""
    if isinstance(old, dict):
        return {**old, texts.whole(draw, ("name",)): value(draw)}
    if isinstance(old, list):
        extra = old[:1] * draw.choice((1, 2, 1000)) if old and draw.random() < 0.5 else [value(draw)]
        return draw.choice((old + extra, extra + old, old[::-1], old[:-1]))
    return [old, old]


def json_bytes(found: Any) -> bytes:
    """As Python writes it: NaN as NaN, half a surrogate pair as its escape."""
    return json.dumps(found).encode()


def json_object(draw: Random, valid: Any) -> bytes:
    """A file that should hold this JSON value."""
    how = draw.randrange(8)
    if how == 0:
        return bytes_damaged(json_bytes(valid), draw)
    if how == 1:
        opening = draw.choice((b"[", b'{"a":', b'["', b"-", b"1" * 5000, b'"\\u', b"\xef\xbb\xbf", b"\xff\xfe"))
        return opening * draw.choice((1, 1_000, 100_000))
    return json_bytes(damaged(valid, draw))


def bytes_damaged(content: bytes, draw: Random) -> bytes:
    """The bytes with one of them flipped, a piece cut off, put in, left out or said twice; or random ones."""
    a, b = sorted(draw.randint(0, len(content)) for _ in range(2))
    b = min(b, a + draw.choice((1, 8, 100, 10_000)))
    how = draw.randrange(8)
    if how == 0:
        return content[:a]
    if how == 1:
        return content[:a] + content[b:]
    if how == 2:
        return content[:b] + content[a:b] + content[b:]
    if how == 3:
        return content[:a] + draw.randbytes(b - a) + content[b:]
    if how == 4:
        return content + draw.randbytes(draw.choice((1, 100, 10_000)))
    if how == 5:
        return draw.randbytes(draw.choice((0, 1, 8, 9, 100, 5_000)))
    if how == 6:
        return content[:a] + b"\x00" * (b - a) + content[b:]
    changed = bytearray(content or b"\x00")
    changed[min(a, len(changed) - 1)] ^= 1 << draw.randrange(8)
    return bytes(changed)


def safetensors(draw: Random, content: bytes) -> bytes:
    """A safetensors file with a header that lies in one place, or with damaged bytes."""
    length = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    how = draw.randrange(8)
    if how == 0:
        return bytes_damaged(content, draw)
    if how == 1:
        claimed = draw.choice((0, 1, length - 1, length + 1, len(content), 10**8, 2**31, 2**63, 2**64 - 1))
        return struct.pack("<Q", claimed) + content[8:]
    if how == 2:  # what a tensor says of itself
        entry = header[draw.choice([name for name in header if name != "__metadata__"])]
        entry.update(draw.choice((_dtype, _shape, _offsets))(draw, entry))
    elif how == 3:
        header["__metadata__"] = draw.choice((value(draw), {"a": "b" * draw.choice((1, 10**6))}, {"format": 7}))
    elif how == 4:
        header |= {f"more.{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(5_000)}
    else:
        header = damaged(header, draw)
    packed = json_bytes(header)
    return struct.pack("<Q", len(packed)) + packed + data


def _dtype(draw: Random, entry: dict[str, Any]) -> dict[str, Any]:
    return {"dtype": draw.choice(("F16", "F64", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "C64", "F4", "", "X", 7, None))}


def _shape(draw: Random, entry: dict[str, Any]) -> dict[str, Any]:
    shape = entry["shape"]
    return {
        "shape": draw.choice(
            (
                shape[::-1],
                [*shape, 1],
                shape[:-1],
                [0, *shape],
                [2**40, *shape],
                [2**32] * 2,
                [-1],
                [1] * 5_000,
                "4",
                [1.5],
            )
        )
    }


def _offsets(draw: Random, entry: dict[str, Any]) -> dict[str, Any]:
    begin, end = entry["data_offsets"]
    return {
        "data_offsets": draw.choice(
            (
                [end, begin],
                [0, 0],
                [begin, end + 1],
                [begin + 1, end],
                [-1, end],
                [begin, 2**63],
                [begin],
                [0, 2**64],
                None,
            )
        )
    }
