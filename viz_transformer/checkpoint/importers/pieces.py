"""Reads a sentencepiece model (`.model`, `.spm`): pieces, special tokens and segmentation.

The file is a protocol buffer; the needed fields are declared here and read by protobuf, so no code runs. Segmentation
is converted to a `tokenizer.json` of Hugging Face's tokenizers with the same ids.
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
"""Limits of one model: pieces, bytes of one piece, and bytes of all."""
_LIMITS = f"up to {MAX_PIECES:,} pieces are read, of {LONGEST_PIECE:,} bytes each and {MAX_BYTES // 2**20} MiB together"
MAX_READ = 64 * 2**20
"""Limit in bytes for a file that is only scanned."""
MAX_OWN = 10_000
"""Limit for user-defined symbols: matching them takes time proportional to their number."""
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE, WORD, CHAR = range(1, 5)
SPACE = "▁"
OR_WORDS = "; or choose another tokenizer, with --set tokenizer=words"
_NEVER = "\uffff"
"""Prefix of names in the description that no text may match: a character that no text contains."""
_BYTE = re.compile("<0x[0-9A-F]{2}>")


@dataclass(frozen=True)
class Pieces:
    """A sentencepiece model. names, scores and types are indexed by id; specials maps roles to pieces or None."""

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
        return [name for name, type in zip(self.names, self.types, strict=True) if type in types]


def is_pieces(path: Path) -> bool:
    """Whether a file is a sentencepiece model, by its suffix: any bytes could be a list of lines."""
    return path.suffix in SUFFIXES


def read_pieces(path: Path) -> Pieces:
    """The model in a file. Raises CheckpointError if it is invalid or damaged."""
    return _read(path, files.stamp(path))


def piece_tokens(path: Path) -> LibraryTokens:
    """Tokenizer for the model in a file.

    Raises CheckpointError if it cannot be converted exactly, or without the optional tokenizers library.
    """
    return _cutting(path, files.stamp(path))


def pieces_charsmap(path: Path) -> bytes:
    """Character normalisation table of a model file; b"" for any other file.

    Raises CheckpointError for more than MAX_READ bytes.
    """
    if path.stat().st_size > MAX_READ:
        raise CheckpointError(f"{path} has more than {MAX_READ // 2**20} MiB, sentencepiece models are read up to that")
    with suppress(ValueError):
        return bytes(_parsed(files.read_bytes(path, MAX_READ)).normalizer.charsmap)
    return b""


@lru_cache(maxsize=4)
def _read(path: Path, stamp: tuple[int, ...] | None) -> Pieces:
    content = files.read_bytes(path, files.MAX_TEXT_BYTES + 1)
    if len(content) > files.MAX_TEXT_BYTES:
        raise CheckpointError(
            f"{path} has more than {files.MAX_TEXT_BYTES // 2**20} MiB, sentencepiece models are read up to that:"
            " is it a file of weights?"
        )
    with files.explaining(f"{path} is not a sentencepiece model, or a damaged one (", ")"):
        return _model(content)


@lru_cache(maxsize=4)
def _cutting(path: Path, stamp: tuple[int, ...] | None) -> LibraryTokens:
    model = _read(path, stamp)
    with files.explaining(f"{path}: ", OR_WORDS):
        made = LibraryTokens.of(describe_tokenizer(model))
        for name in model.of_type(USER_DEFINED):
            if name not in made.split(name):
                raise ValueError(f"its own symbol {quote(name)} would be cut or changed")
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
"""Fields used from sentencepiece_model.proto: name, number, type and default."""


@cache
def _message() -> Any:
    """Message class of a model. protobuf's reader trusts no length beyond the file."""
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
    """Parse a file. Raises ValueError if it is invalid, or would take far more memory than the file."""
    if content.count(b"\n") > 4 * MAX_PIECES:  # first byte of a piece, and of its name
        raise ValueError(_LIMITS)
    try:
        return _message().FromString(content)
    except DecodeError:
        raise ValueError("it is cut off, or not a protocol buffer") from None


def _model(content: bytes) -> Pieces:
    """The model in a file's content. Raises ValueError if invalid."""
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
    """One sentence for each fault of a model."""
    for name in names:
        if isinstance(name, bytes):  # protobuf returns bytes for invalid text
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


# --- segmentation


def describe_tokenizer(model: Pieces) -> str:
    """The `tokenizer.json` that segments like the model. Raises ValueError if no such conversion exists."""
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
    if model.kind != UNIGRAM and own:  # matched first, longest match, and never merged
        pattern = "|".join(re.escape(name) for name in sorted(own, key=len, reverse=True))
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        content["pre_tokenizer"] = split
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _undescribed(model: Pieces, own: list[str]) -> Iterator[str]:
    """Reasons why a model's segmentation cannot be converted."""
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
    """Unigram model. User-defined symbols get a score that always wins; control symbols never match text."""
    normal = [score for score, type in zip(model.scores, model.types, strict=True) if type == NORMAL]
    least, most = min(normal, default=0.0), max(normal, default=0.0)
    vocab: list[list[Any]] = []
    for name, score, type in zip(model.names, model.scores, model.types, strict=True):
        if type == NORMAL:
            vocab.append([name, score])
        elif type == USER_DEFINED:
            vocab.append([name, len(name.encode()) * most - 0.1])
        elif type == BYTE:  # its name in a text is cheaper character by character
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
    """BPE model: merge the neighbours whose joint piece has the best score; characters are not merged."""
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
