"""A sentencepiece model (`.model`, `.spm`): its pieces by id, its special ones, and how it cuts texts.

The file is a protocol buffer, of which what is needed is declared here and read by protobuf: nothing is run. How it
cuts is described as a `tokenizer.json` of Hugging Face's tokenizers, ids kept.
Source: sentencepiece_model.proto, and the normalizer, unigram and BPE models of sentencepiece 0.2.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.declared import refuse
from viz_transformer.sentences import quote
from viz_transformer.text.tokenizers import LibraryTokens

SUFFIXES = (".model", ".spm")
MAX_PIECES, LONGEST_PIECE, MAX_BYTES = 500_000, 1_000, 4 * 2**20
"""Of one model: its pieces, the bytes of one, and the bytes of all of them."""
_LIMITS = f"up to {MAX_PIECES:,} pieces are read, of {LONGEST_PIECE:,} bytes each and {MAX_BYTES // 2**20} MiB together"
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
    with suppress(ValueError):
        return bytes(_parsed(files.read_bytes(path, MAX_READ)).normalizer.charsmap)
    return b""


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
        made = LibraryTokens.of(describe_tokenizer(model))
        for name in model.of_type(USER_DEFINED):
            if name not in made.split(name):
                raise ValueError(f"its own symbol {quote(name)} would be cut or changed")
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}; or cut texts otherwise, with --set tokenizer=words") from None
    return made


# --- the file

_TYPES = {"text": "STRING", "bytes": "BYTES", "float": "FLOAT", "int": "INT32", "bool": "BOOL"}
_MESSAGES = {
    "Piece": (("piece", 1, "text", ""), ("score", 2, "float", ""), ("type", 3, "int", "1")),
    "Trainer": (
        ("model_type", 3, "int", "1"),
        ("suffix", 24, "bool", ""),
        ("byte_fallback", 35, "bool", ""),
        ("bos", 41, "int", "1"),
        ("eos", 42, "int", "2"),
        ("pad", 43, "int", "-1"),
    ),
    "Normalizer": (
        ("charsmap", 2, "bytes", ""),
        ("adds_space", 3, "bool", "true"),
        ("removes_spaces", 4, "bool", "true"),
        ("escapes_spaces", 5, "bool", "true"),
    ),
}
"""What is read of sentencepiece_model.proto: name, number, type and default of each field; all else is left out."""


@cache
def _message() -> Any:
    """The class of a model's message. Its reader, protobuf's own, believes no length that goes beyond the file."""
    file = FileDescriptorProto(name="viz_transformer/pieces.proto", package="viz_transformer", syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, default in fields:
            options = {"default_value": default} if default else {}
            message.field.add(name=field, number=number, type=f"TYPE_{_TYPES[kind]}", label="LABEL_OPTIONAL", **options)
    model = file.message_type.add(name="Model")
    for number, name in enumerate(_MESSAGES, start=1):
        label = "LABEL_REPEATED" if name == "Piece" else "LABEL_OPTIONAL"
        kind = f".viz_transformer.{name}"
        model.field.add(name=name.lower(), number=number, type="TYPE_MESSAGE", type_name=kind, label=label)
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("viz_transformer.Model"))


def _parsed(content: bytes) -> Any:
    """The message of a file. Raises ValueError for what is none, and for one of far more parts than are read, which
    would take much more memory than the file."""
    if content.count(b"\n") > 4 * MAX_PIECES:  # the first byte of a piece, and of its name
        raise ValueError(_LIMITS)
    try:
        return _message().FromString(content)
    except DecodeError:
        raise ValueError("it is cut off, or not a protocol buffer") from None


def _model(content: bytes) -> Pieces:
    """The model of a file's content. Raises ValueError for what is none."""
    message = _parsed(content)
    trainer, normalizer = message.trainer, message.normalizer
    names, types = [each.piece for each in message.piece], [each.type for each in message.piece]
    refuse(_rules(message, names, types))
    specials: dict[str, str | None] = {"unk": names[types.index(UNKNOWN)]}
    for role in ("bos", "eos", "pad"):
        id = getattr(trainer, role)
        specials[role] = names[id] if 0 <= id < len(names) and types[id] in (CONTROL, USER_DEFINED) else None
    return Pieces(
        names=tuple(names),
        scores=tuple(each.score for each in message.piece),
        types=tuple(types),
        specials=specials,
        kind=trainer.model_type,
        byte_fallback=trainer.byte_fallback,
        space_is_suffix=trainer.suffix,
        charsmap=normalizer.charsmap,
        adds_space=normalizer.adds_space,
        removes_spaces=normalizer.removes_spaces,
        escapes_spaces=normalizer.escapes_spaces,
    )


def _rules(message: Any, names: list[Any], types: list[int]) -> Iterator[str]:
    """What is wrong with a model, a sentence each."""
    for name in names:
        if isinstance(name, bytes):  # as protobuf gives a text that is none
            yield f"the name {quote(name)} is not UTF-8"
    if len(names) > MAX_PIECES or sum(len(name.encode()) for name in names) > MAX_BYTES:
        yield _LIMITS
    for part in (message, message.trainer, message.normalizer, *message.piece):
        for field in UnknownFieldSet(part):
            if field.field_number in part.DESCRIPTOR.fields_by_number:
                yield f"field {field.field_number} is of another kind"
    for id, each in enumerate(message.piece):
        if not each.piece:
            yield f"piece {id:,} has no name"
        if len(each.piece.encode()) > LONGEST_PIECE:
            yield _LIMITS
        if not math.isfinite(each.score):
            yield f"the score of {quote(each.piece)} is not finite"
        if each.type not in range(NORMAL, BYTE + 1):
            yield f"{quote(each.piece)} is of the type {each.type}, which is not known"
        if each.type == BYTE and not _BYTE.fullmatch(each.piece):
            yield f"{quote(each.piece)} is not the name of a byte"
    if not names:
        yield "it has no pieces"
    if twice := next((name for name, count in Counter(names).items() if count > 1), None):
        yield f"it has {quote(twice)} twice"
    if types.count(UNKNOWN) != 1:
        yield f"it has {types.count(UNKNOWN)} pieces for unknown text, not one"
    if message.trainer.byte_fallback != (BYTE in types) or types.count(BYTE) not in (0, 256):
        yield f"it has {types.count(BYTE)} of the 256 bytes"
    if message.trainer.model_type not in (UNIGRAM, BPE, WORD, CHAR):
        yield f"it is of the kind {message.trainer.model_type}, which is not known"


# --- how it cuts


def describe_tokenizer(model: Pieces) -> str:
    """The `tokenizer.json` that cuts texts as the model does. Raises ValueError for a model that none can stand for."""
    own = model.of_type(USER_DEFINED)
    refuse(_undescribed(model, own))
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


def _undescribed(model: Pieces, own: list[str]) -> Iterator[str]:
    """Why a model's cutting cannot be described."""
    if model.kind == WORD:
        yield "a sentencepiece model of words joins unknown words, which is not read here"
    if len(own) > MAX_OWN:
        yield f"a sentencepiece model with {len(own):,} own symbols is not read here, up to {MAX_OWN:,} are"
    if any(" " in name for name in own):
        yield "a sentencepiece model whose own symbols have blanks is not read here"
    if model.kind == BPE and UNUSED in model.types:
        yield "a sentencepiece model of pairs with pieces that are switched off is not read here"


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
