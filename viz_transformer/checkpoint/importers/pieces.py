"""A sentencepiece model (`.model`, `.spm`): its pieces by id, its special ones, and how it cuts texts.

The file is a protocol buffer, of which what is needed is read here: no length is believed that goes beyond the file,
and nothing is run. How it cuts is described as a `tokenizer.json` of Hugging Face's tokenizers, ids kept.
Source: sentencepiece_model.proto, and the normalizer, unigram and BPE models of sentencepiece 0.2.
"""

from __future__ import annotations

import json
import math
import re
import struct
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.sentences import quoted
from viz_transformer.text.tokenizers import LibraryTokens

SUFFIXES = (".model", ".spm")
MAX_PIECES, LONGEST_PIECE, MAX_BYTES = 500_000, 1_000, 4 * 2**20
"""Of one model: its pieces, the bytes of one, and the bytes of all of them."""
MAX_READ = 64 * 2**20
"""Bytes of a file that is only looked through."""
MAX_OWN = 10_000
"""Symbols of one's own: to find them in a text takes time in proportion to their number."""
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE, WORD, CHAR = range(1, 5)
SPACE = "▁"
_NEVER = "\uffff"
"""What stands before names in the description that a text must not reach: a character that no text has."""
_BYTE = re.compile("<0x[0-9A-F]{2}>")


@dataclass(frozen=True)
class Pieces:
    """A sentencepiece model. names, scores, types: by id. specials: role -> piece, None where there is none."""

    names: tuple[str, ...]
    scores: tuple[float, ...]
    types: tuple[int, ...]
    specials: dict[str, str | None]
    kind: int
    byte_fallback: bool
    space_is_suffix: bool
    charsmap: bytes
    adds_space: bool
    removes_spaces: bool
    escapes_spaces: bool

    def of_type(self, *types: int) -> list[str]:
        """The pieces of these types, by id."""
        return [name for name, type in zip(self.names, self.types, strict=True) if type in types]


def is_pieces(path: Path) -> bool:
    """Whether a file is taken for a sentencepiece model: by its name, for any bytes may be a list of lines."""
    return path.suffix in SUFFIXES


def read_pieces(path: Path) -> Pieces:
    """The model of a file. Raises CheckpointError for any other file, and for a damaged one."""
    return _read(path, _stamp(path))


def piece_tokens(path: Path) -> LibraryTokens:
    """How the model of a file cuts texts. Raises CheckpointError where that cannot be described exactly, and without
    the tokenizers library, which is an extra."""
    return _cutting(path, _stamp(path))


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes when the file does."""
    stat = path.stat() if path.is_file() else None
    return None if stat is None else (stat.st_mtime_ns, stat.st_size)


def pieces_charsmap(path: Path) -> bytes:
    """The table of characters of a file, which changes a text before it is cut; b"" for any other file. Raises
    CheckpointError for more than MAX_READ."""
    if path.stat().st_size > MAX_READ:
        raise CheckpointError(f"{path} has more than {MAX_READ // 2**20} MiB, sentencepiece models are read up to that")
    found = b""
    with suppress(ValueError):
        for number, part in _fields(files.read_bytes(path, MAX_READ)):
            for inner, value in _fields(part) if number == 3 and isinstance(part, bytes) else ():
                found = value if inner == 2 and isinstance(value, bytes) else found
    return found


@lru_cache(maxsize=4)
def _read(path: Path, stamp: tuple[int, int] | None) -> Pieces:
    content = files.read_bytes(path, files.MAX_TEXT_BYTES + 1)
    if len(content) > files.MAX_TEXT_BYTES:
        raise CheckpointError(
            f"{path} has more than {files.MAX_TEXT_BYTES // 2**20} MiB, sentencepiece models are read up to that:"
            " is it a file of weights?"
        )
    try:
        return _model(content)
    except ValueError as error:
        raise CheckpointError(f"{path} is not a sentencepiece model, or a damaged one ({error})") from None


@lru_cache(maxsize=4)
def _cutting(path: Path, stamp: tuple[int, int] | None) -> LibraryTokens:
    model = _read(path, stamp)
    try:
        made = LibraryTokens.of(described(model))
        for name in model.of_type(USER_DEFINED):
            if name not in made.split(name):
                raise ValueError(f"its own symbol {quoted(name)} would be cut or changed")
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}; or cut texts otherwise, with --set tokenizer=words") from None
    return made


# --- the file


def _fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: number, and a whole number or bytes. Raises ValueError for what is none."""
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise ValueError(f"field 0 at byte {at:,}")
        if wire == 0:
            value, at = _varint(content, at)
            yield number, value
            continue
        length = {1: 8, 5: 4}.get(wire)
        if wire == 2:
            length, at = _varint(content, at)
        if length is None:
            raise ValueError(f"field {number} is of no known kind")
        if length > len(content) - at:
            raise ValueError(f"field {number} goes beyond the end")
        yield number, content[at : at + length]
        at += length


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(content[at : at + 10]):
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value, at + place + 1
    raise ValueError("it is cut off" if len(content) - at < 10 else "a number is too long")


def _settings(content: bytes, kinds: dict[int, type], found: dict[int, Any]) -> dict[int, Any]:
    """The fields of a message whose kinds are given, on top of their defaults; the last of several counts."""
    for number, value in _fields(content):
        if number not in kinds:
            continue
        kind = kinds[number]
        if isinstance(value, int) != (kind in (int, bool)) or (kind is float and len(value) != 4):  # type: ignore[arg-type]
            raise ValueError(f"field {number} is of another kind")
        if isinstance(value, int):
            found[number] = bool(value) if kind is bool else (value ^ 1 << 63) - (1 << 63)  # negative ones, 64 bits
        elif kind is float:
            found[number] = struct.unpack("<f", value)[0]
        else:
            found[number] = _text(value) if kind is str else value
    return found


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"the name {quoted(content)} is not UTF-8") from None


def _message(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number where a part should be")
    return value


def _model(content: bytes) -> Pieces:
    names, scores, types = list[str](), list[float](), list[int]()
    trainer: dict[int, Any] = {3: UNIGRAM, 24: False, 35: False, 41: 1, 42: 2, 43: -1}
    normalizer: dict[int, Any] = {2: b"", 3: True, 4: True, 5: True}
    size = 0
    for number, value in _fields(content):
        if number == 1:
            piece = _settings(_message(value), {1: str, 2: float, 3: int}, {1: "", 2: 0.0, 3: NORMAL})
            name, score, type = piece[1], piece[2], piece[3]
            size += (length := len(name.encode()))
            _check_piece(len(names), name, score, type)
            if length > LONGEST_PIECE or size > MAX_BYTES or len(names) >= MAX_PIECES:
                raise ValueError(
                    f"up to {MAX_PIECES:,} pieces are read, of {LONGEST_PIECE:,} bytes each and"
                    f" {MAX_BYTES // 2**20} MiB together"
                )
            names.append(name)
            scores.append(score)
            types.append(type)
        elif number == 2:
            kinds = {3: int, 24: bool, 35: bool, 41: int, 42: int, 43: int}
            trainer = _settings(_message(value), kinds, trainer)
        elif number == 3:
            normalizer = _settings(_message(value), {2: bytes, 3: bool, 4: bool, 5: bool}, normalizer)
    if not names:
        raise ValueError("it has no pieces")
    if len(set(names)) < len(names):
        seen = set[str]()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"it has {quoted(twice)} twice")
    if types.count(UNKNOWN) != 1:
        raise ValueError(f"it has {types.count(UNKNOWN)} pieces for unknown text, not one")
    found = {name for name, type in zip(names, types, strict=True) if type == BYTE}
    if trainer[35] != bool(found) or (found and len(found) != 256):
        raise ValueError(f"it has {len(found)} of the 256 bytes")
    if trainer[3] not in (UNIGRAM, BPE, WORD, CHAR):
        raise ValueError(f"it is of the kind {trainer[3]}, which is not known")
    specials: dict[str, str | None] = {"unk": names[types.index(UNKNOWN)]}
    for role, number in (("bos", 41), ("eos", 42), ("pad", 43)):
        id = trainer[number]
        specials[role] = names[id] if 0 <= id < len(names) and types[id] in (CONTROL, USER_DEFINED) else None
    return Pieces(
        names=tuple(names),
        scores=tuple(scores),
        types=tuple(types),
        specials=specials,
        kind=trainer[3],
        byte_fallback=trainer[35],
        space_is_suffix=trainer[24],
        charsmap=normalizer[2],
        adds_space=normalizer[3],
        removes_spaces=normalizer[4],
        escapes_spaces=normalizer[5],
    )


def _check_piece(id: int, name: str, score: float, type: int) -> None:
    if not name:
        raise ValueError(f"piece {id:,} has no name")
    if not math.isfinite(score):
        raise ValueError(f"the score of {quoted(name)} is not finite")
    if type not in range(NORMAL, BYTE + 1):
        raise ValueError(f"{quoted(name)} is of the type {type}, which is not known")
    if type == BYTE and not _BYTE.fullmatch(name):
        raise ValueError(f"{quoted(name)} is not the name of a byte")


# --- how it cuts


def described(model: Pieces) -> str:
    """The `tokenizer.json` that cuts texts as the model does. Raises ValueError for a model that none can stand for."""
    if model.kind == WORD:
        raise ValueError("a sentencepiece model of words joins unknown words, which is not read here")
    own = model.of_type(USER_DEFINED)
    if len(own) > MAX_OWN:
        raise ValueError(f"a sentencepiece model with {len(own):,} own symbols is not read here, up to {MAX_OWN:,} are")
    if any(" " in name for name in own):
        raise ValueError("a sentencepiece model whose own symbols have blanks is not read here")
    if model.kind == BPE and UNUSED in model.types:
        raise ValueError("a sentencepiece model of pairs with pieces that are switched off is not read here")
    content: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(model)},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": _decoders(model)},
        "model": _unigram(model) if model.kind == UNIGRAM else _pairs(model),
    }
    if model.kind != UNIGRAM and own:  # they are found first, the longest of them, and never merged
        pattern = "|".join(re.escape(name) for name in sorted(own, key=len, reverse=True))
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        content["pre_tokenizer"] = split
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _normalizers(model: Pieces) -> list[dict[str, Any]]:
    space = SPACE if model.escapes_spaces else " "
    found: list[dict[str, Any]] = []
    if model.charsmap:
        found.append({"type": "Precompiled", "precompiled_charsmap": b64encode(model.charsmap).decode("ascii")})
    if model.removes_spaces:
        found.append(_replaced({"Regex": r"\A +|(?<= ) +"}, ""))
    if model.adds_space and not model.space_is_suffix:
        found.append({"type": "Prepend", "prepend": space})
    if model.escapes_spaces:
        found.append(_replaced({"String": " "}, SPACE))
    if model.adds_space and model.space_is_suffix:
        end = rf"(?<=[^{space}]){space}*\z|\A{space}+\z" if model.removes_spaces else r"(?m)(?<=.)\z"
        found.append(_replaced({"Regex": end}, space))
    elif model.removes_spaces:
        found.append(_replaced({"Regex": rf"(?<!{space}){space}+\z"}, ""))
    return found


def _replaced(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _decoders(model: Pieces) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [_replaced({"String": SPACE}, " ")] if model.escapes_spaces else []
    found += [{"type": "ByteFallback"}] if model.byte_fallback else []
    found += [{"type": "Fuse"}]
    if model.removes_spaces or model.adds_space:
        found.append(_replaced({"Regex": r"\A +" if model.removes_spaces else r"\A "}, ""))
    return found


def _unigram(model: Pieces) -> dict[str, Any]:
    """The likeliest pieces. A symbol of one's own has a score that is always chosen; no text is a control symbol."""
    normal = [score for score, type in zip(model.scores, model.types, strict=True) if type == NORMAL]
    least, most = min(normal, default=0.0), max(normal, default=0.0)
    vocab: list[list[Any]] = []
    for name, score, type in zip(model.names, model.scores, model.types, strict=True):
        if type == NORMAL:
            vocab.append([name, score])
        elif type == USER_DEFINED:
            vocab.append([name, len(name.encode()) * most - 0.1])
        elif type == BYTE:  # its name in a text is cheaper sign by sign
            vocab.append([name, 8 * (least - 10)])
        else:
            vocab.append([_NEVER + name, least])
    return {
        "type": "Unigram",
        "vocab": vocab,
        "unk_id": model.types.index(UNKNOWN),
        "byte_fallback": model.byte_fallback,
    }


def _pairs(model: Pieces) -> dict[str, Any]:
    """Two neighbours whose joint piece has the best score are merged first; of characters none are."""
    scores = {
        name: score for name, score, type in zip(model.names, model.scores, model.types, strict=True) if type == NORMAL
    }
    merges = [
        (-score, -at, name[:at], name[at:])
        for name, score in (scores.items() if model.kind == BPE else ())
        for at in range(1, len(name))
        if name[:at] in scores and name[at:] in scores
    ]
    return {
        "type": "BPE",
        "vocab": {
            _NEVER + name if type in (CONTROL, UNUSED) else name: id
            for id, (name, type) in enumerate(zip(model.names, model.types, strict=True))
        },
        "merges": [[left, right] for *_, left, right in sorted(merges)],
        "unk_token": model.specials["unk"],
        "fuse_unk": True,
        "byte_fallback": model.byte_fallback,
        "ignore_merges": USER_DEFINED in model.types,
    }
