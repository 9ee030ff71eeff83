"""The payload of a component: one bytes value with a JSON header and the arrays that it names.

A 32 bit little-endian length, the header as UTF-8 padded with blanks, then the arrays, each at a multiple of 8 bytes.
`header["arrays"][name]` says encoding, shape, offset and length; parts/payload.js has the other half. Needs numpy only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import orjson
from numpy.typing import ArrayLike, NDArray

EXACT_SIDE = 512
"""Up to this many tokens a side, float32 values are sent exactly."""

Encoding = Literal["float32", "sqrt-uint16", "sqrt-uint8", "base-16", "base-9", "bits", "bytes"]
_LEVELS: Mapping[str, tuple[type[np.unsignedinteger[Any]], int]] = {
    "sqrt-uint16": (np.uint16, 65535),
    "sqrt-uint8": (np.uint8, 255),
}


_DIGITS: Mapping[str, tuple[int, int]] = {"base-16": (16, 4), "base-9": (9, 5)}  # base, digits that 16 bits hold


@dataclass(frozen=True, eq=False)
class Encoded:
    """An array as it is sent: its bytes, what they mean, and its shape."""

    encoding: Encoding
    shape: tuple[int, ...]
    data: bytes


def exact(values: ArrayLike) -> Encoded:
    """The values as float32, bit by bit; too small ones become the smallest float32, never 0, too large ones the
    largest, never infinite."""
    given, ends = np.asarray(values), np.finfo(np.float32)
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(given, dtype="<f4")
    if given.dtype == np.float64:
        for lost, end in (
            ((array == 0) & (given != 0), ends.smallest_subnormal),
            (np.isinf(array) & np.isfinite(given), ends.max),
        ):
            if lost.any():
                array[lost] = np.copysign(end, given[lost])
    return Encoded("float32", array.shape, array.tobytes())


def rounded(values: ArrayLike, encoding: Literal["sqrt-uint16", "sqrt-uint8"]) -> Encoded:
    """Values from 0 to 1 as whole numbers: the nearest of 65536 or 256 square roots.

    The largest error is 1.6e-5 or 4e-3; small weights lose least. Raises ValueError for values outside 0 to 1.
    """
    array = np.asarray(values, dtype=np.float32)
    if not is_share(array):
        raise ValueError("only values from 0 to 1 can be sent as square roots: send these as float32")
    kind, most = _LEVELS[encoding]
    whole = np.ascontiguousarray(np.rint(np.sqrt(array, dtype=np.float32) * np.float32(most)), dtype=kind)
    return Encoded(encoding, array.shape, whole.astype(whole.dtype.newbyteorder("<"), copy=False).tobytes())


def weights(values: ArrayLike) -> Encoded:
    """An encoded map: exact up to 512 tokens a side and for values that are no shares, else 16 bits a cell."""
    array = np.asarray(values, dtype=np.float32)
    if max(array.shape[-2:]) <= EXACT_SIDE or not is_share(array):
        return exact(array)
    return rounded(array, "sqrt-uint16")


def digits(values: ArrayLike, encoding: Literal["base-16", "base-9"]) -> Encoded:
    """Whole numbers from 0 to 15 or to 8: four or five of them are one number of 16 bits, the first its last digit.

    Raises ValueError for larger and for negative ones.
    """
    array = np.asarray(values)
    base, each = _DIGITS[encoding]
    if array.size and not (array.min() >= 0 and array.max() < base):
        raise ValueError(f"only whole numbers from 0 to {base - 1} can be sent as {encoding}")
    groups = np.append(array, np.zeros(-array.size % each)).reshape(-1, each)
    return Encoded(encoding, array.shape, (groups @ base ** np.arange(each)).astype("<u2").tobytes())


def bits(values: ArrayLike) -> Encoded:
    """Booleans, eight in a byte, the first in the lowest bit."""
    array = np.asarray(values, dtype=bool)
    return Encoded("bits", array.shape, np.packbits(array, axis=None, bitorder="little").tobytes())


def raw(data: bytes) -> Encoded:
    """Bytes as they are, such as a payload within a payload."""
    return Encoded("bytes", (len(data),), data)


def marks(**marked: ArrayLike | None) -> dict[str, Encoded]:
    """The encoded Boolean arrays that are False anywhere; the others are left out."""
    return {name: bits(cells) for name, cells in marked.items() if cells is not None and not np.all(cells)}


def pack(header: Mapping[str, Any], **arrays: Encoded) -> bytes:
    """Header and arrays as one value. Raises ValueError if the header has an "arrays" of its own."""
    if "arrays" in header:
        raise ValueError('the header\'s "arrays" is written by pack')
    return _append(header, {}, b"", arrays)


def with_arrays(payload: bytes, **arrays: Encoded) -> bytes:
    """The payload with these arrays appended. Raises ValueError for a name that it has already."""
    start = 4 + int.from_bytes(payload[:4], "little")
    header = orjson.loads(payload[4:start])
    described = header.pop("arrays")
    if known := described.keys() & arrays.keys():
        raise ValueError(f"the payload has an array {min(known)!r} already")
    return _append(header, described, payload[start:], arrays)


def _append(header: Mapping[str, Any], described: dict[str, Any], data: bytes, arrays: Mapping[str, Encoded]) -> bytes:
    """The payload of a header, the arrays described and packed already, and further arrays after them."""
    parts, length = [data], len(data)
    for name, array in arrays.items():
        described[name] = {
            "encoding": array.encoding,
            "shape": array.shape,
            "offset": length,
            "length": len(array.data),
        }
        parts += array.data, bytes(-len(array.data) % 8)
        length += len(array.data) + -len(array.data) % 8
    text = orjson.dumps({**header, "arrays": described}, option=orjson.OPT_SERIALIZE_NUMPY)
    text += b" " * (-(len(text) + 4) % 8)
    return b"".join([len(text).to_bytes(4, "little"), text, *parts])


def with_table(payload: bytes) -> bytes:
    """The payload, marked as having a table of its numbers in Python."""
    start = 4 + int.from_bytes(payload[:4], "little")
    text = payload[4:start].rstrip()[:-1] + b',"table":true}'
    text += b" " * (-(len(text) + 4) % 8)
    return len(text).to_bytes(4, "little") + text + payload[start:]


def unpack(payload: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a payload, as the browser reads them: float32 values, whole numbers, Booleans, or bytes."""
    start = 4 + int.from_bytes(payload[:4], "little")
    header = orjson.loads(payload[4:start])
    arrays = {}
    for name, about in header.pop("arrays").items():
        data = payload[start + about["offset"] : start + about["offset"] + about["length"]]
        arrays[name] = _decode(about["encoding"], data, about["shape"])
    return header, arrays


def _decode(encoding: Encoding, data: bytes, shape: list[int]) -> NDArray[Any]:
    if encoding == "bits":
        flat = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little", count=int(np.prod(shape)))
        return flat.astype(bool).reshape(shape)
    if encoding == "bytes":
        return np.frombuffer(data, np.uint8).reshape(shape)
    if encoding in _DIGITS:
        base, each = _DIGITS[encoding]
        split = np.frombuffer(data, "<u2")[:, None] // base ** np.arange(each) % base
        return split.ravel()[: int(np.prod(shape))].reshape(shape)
    if encoding == "float32":
        return np.frombuffer(data, "<f4").reshape(shape)
    kind, most = _LEVELS[encoding]
    roots = np.frombuffer(data, np.dtype(kind).newbyteorder("<")).astype(np.float32) / np.float32(most)
    return (roots * roots).reshape(shape)


def is_share(array: NDArray[np.float32]) -> bool:
    """Whether all values are from 0 to 1, and there is one."""
    return bool(array.size) and bool(np.min(array) >= 0) and bool(np.max(array) <= 1)  # False for NaN
