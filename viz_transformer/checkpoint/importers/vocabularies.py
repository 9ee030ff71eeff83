"""Reads vocabulary files of other programs: tokens by id, special tokens, and tokenizer.

Formats: JSON list or object, `tokenizer.json` of Hugging Face's tokenizers, sentencepiece, one token per line, or a
plain pickle of two dictionaries such as nanoGPT's `meta.pkl`. No code is run.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.importers.pieces import OR_WORDS, is_pieces, piece_tokens, read_pieces
from viz_transformer.checkpoint.importers.safe_pickle import Call, read_pickle
from viz_transformer.sentences import quote
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters, LibraryTokens, RegexTokens, SpacyWords, Tokenizer
from viz_transformer.text.vocabulary import ROLES, Vocabulary

USUAL_SPECIALS: Mapping[str, tuple[str, ...]] = {
    "bos": ("<s>", "<sos>", "<bos>", "<BOS>", "<SOS>", "<START>", "<start>", "[CLS]", "<|startoftext|>"),
    "eos": ("</s>", "<eos>", "<EOS>", "<END>", "<end>", "[SEP]", "<|endoftext|>"),
    "unk": ("<unk>", "<UNK>", "<UNKNOWN>", "[UNK]"),
    "pad": ("<pad>", "<PAD>", "<PADDING>", "<blank>", "[PAD]"),
}
_SPECIAL = re.compile(r"<\|?[A-Za-z_ ]+\|?>|\[[A-Z]+\]|#[A-Z]+#")
MAX_SPECIALS = 12
MAX_IDS = 2_000_000
FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>")
"""First entries of a fairseq dictionary, which its file omits."""

COUNTED = "counted:"
"""Prefix of a text file from which to count a vocabulary."""
FIRST_TOKENS = ("<s>", "</s>", "<blank>", "<unk>")
"""Default first entries of a counted vocabulary: the special tokens of The Annotated Transformer."""


def read_tokens(path: str | Path, *, fairseq: bool = False) -> tuple[str, ...]:
    """Tokens of a vocabulary file; the index is the id. Raises CheckpointError if unreadable."""
    path = Path(path)
    head = files.read_bytes(path, 2)
    if not head:
        raise CheckpointError(f"{path} is empty: give a vocabulary, a JSON object or list, or one token a line")
    if is_pieces(path):
        if fairseq:
            raise CheckpointError(f"{path}: fairseq numbers tokens anew, by its dict.txt: give that as the vocabulary")
        return checked_tokens(path, read_pieces(path).names)
    if head[:1] == b"\x80":
        return _of_pickle(path)
    if path.suffix == ".json" or head[:1] in (b"{", b"["):
        return _of_json(path, files.read_json(path))
    lines = files.read_text(path).removesuffix("\n").split("\n")
    if fairseq:
        return (*FAIRSEQ, *(line.rsplit(" ", 1)[0] for line in lines))
    return checked_tokens(path, [line.rstrip("\r") for line in lines])


def count_tokens(
    path: str | Path, language: str, min_count: int = 1, first: Sequence[str] = FIRST_TOKENS
) -> tuple[str, ...]:
    """Count a vocabulary from a text with one sentence per line.

    `first`, then spaCy's tokens (spaces included) that occur at least `min_count` times, by decreasing count, then code
    points. Raises CheckpointError for an unreadable text or language. Source: torchtext 0.12 and later,
    `build_vocab_from_iterator`.
    """
    path = Path(path)
    counts = _counts(path, language, files.stamp(path))
    words = (token for token, count in counts if count >= min_count and token not in first)
    return checked_tokens(path, [*first, *words])


@lru_cache(maxsize=4)
def _counts(path: Path, language: str, stamp: tuple[int, ...] | None) -> tuple[tuple[str, int], ...]:
    """spaCy's tokens of a text with counts, sorted. stamp: invalidates the cache when the file changes."""
    lines = files.read_text(path).split("\n")
    with files.explaining(f"the words of {path} cannot be counted: "):
        tokenizer = SpacyWords(language)
        counts = Counter(piece for line in lines for piece in tokenizer.all_pieces(line.strip("\r")))
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _of_json(path: Path, content: Any) -> tuple[str, ...]:
    if isinstance(content, list):
        return checked_tokens(path, content)
    if isinstance(content, dict) and _is_library(content):
        return _of_library(path, content)
    if isinstance(content, dict):
        for key in ("stoi", "token_to_id", "vocab", "itos"):
            if isinstance(content.get(key), dict | list):
                return _of_json(path, content[key])
        return _by_ids(path, content)
    raise CheckpointError(f"{path} is not a vocabulary: give a JSON object (token to id) or a list of tokens")


def _is_library(content: Any) -> bool:
    """Whether JSON is a `tokenizer.json` of Hugging Face's tokenizers."""
    return isinstance(content, dict) and isinstance(content.get("model"), dict) and "vocab" in content["model"]


def _of_library(path: Path, content: Mapping[str, Any]) -> tuple[str, ...]:
    """Tokens of a `tokenizer.json` by id; unnamed ids get placeholder names."""
    vocab, added = content["model"]["vocab"], content.get("added_tokens")
    if isinstance(vocab, list) and all(isinstance(each, list) and each for each in vocab):
        vocab = {each[0]: id for id, each in enumerate(vocab)}  # unigram model: pieces with log-probabilities
    if not isinstance(vocab, dict):
        raise CheckpointError(f"{path} has no vocabulary of tokens and ids: {files.COPY_AGAIN}")
    ids = dict(vocab)
    for each in added if isinstance(added, list) else []:
        if isinstance(each, dict) and isinstance(each.get("content"), str):
            ids[each["content"]] = each.get("id")
    most = max((id for id in ids.values() if type(id) is int), default=0)
    if most >= MAX_IDS:
        raise CheckpointError(f"{path} has the id {most:,}, vocabularies are read up to {MAX_IDS:,}")
    named = {id for id in ids.values() if type(id) is int}
    return _by_ids(path, ids | {unnamed(id): id for id in range(most) if id not in named})


def library_tokens(path: Path) -> LibraryTokens | None:
    """Tokenizer from a `tokenizer.json` or sentencepiece model; None for any other file.

    Raises CheckpointError without the optional tokenizers library.
    """
    if is_pieces(path):
        return piece_tokens(path)
    if path.suffix != ".json" or not _is_library(content := files.read_json(path)):
        return None
    with files.explaining(f"{path}: ", OR_WORDS):
        return LibraryTokens.of(json.dumps(content, ensure_ascii=False, separators=(",", ":")))


def name_specials(path: Path) -> dict[str, str | None]:
    """Special tokens that a vocabulary file names, by role or None; only sentencepiece models do."""
    return dict(read_pieces(path).specials) if is_pieces(path) else {}


def _of_pickle(path: Path) -> tuple[str, ...]:
    """Vocabulary in a plain pickle's dictionary; its other objects would need code and are skipped."""
    size = path.stat().st_size
    if size > files.MAX_TEXT_BYTES:
        raise CheckpointError(f"{path} has {size:,} bytes, a vocabulary is read up to {files.MAX_TEXT_BYTES:,}")
    with files.explaining(f"{path} cannot be read (", "): write the vocabulary as JSON"):
        content = read_pickle(files.read_bytes(path, files.MAX_TEXT_BYTES))
    for held in (content.get(key) for key in ("stoi", "itos")) if isinstance(content, dict) else ():
        if isinstance(held, dict) and held:
            turned = held if isinstance(next(iter(held)), str) else {token: id for id, token in held.items()}
            return _by_ids(path, turned)
    if isinstance(content, dict) and content and all(isinstance(id, int) for id in content.values()):
        return _by_ids(path, content)
    line = "json.dump(vocab.get_itos(), open('vocab.json', 'w'))"
    if isinstance(content, Call) and "spacy" in str(getattr(content.function, "full", "")):
        line = "json.dump([word.text for word in nlp.vocab], open('vocab.json', 'w'))"
    raise CheckpointError(
        f"{path} is a pickle of objects that need their own code to be opened: where the model was trained, write the "
        f"tokens with `{line}`, and give that file"
    )


def _by_ids(path: Path, ids: Mapping[Any, Any]) -> tuple[str, ...]:
    """Tokens of an object token -> id, whose ids are 0, 1, 2, ..."""
    places: dict[int, str] = {}
    for token, id in ids.items():
        if type(id) is not int:
            raise CheckpointError(f"{path} gives {quote(token)} the id {quote(id)}: ids are whole numbers")
        if id in places:
            raise CheckpointError(f"{path} gives the id {id} twice, to {quote(places[id])} and {quote(token)}")
        places[id] = token
    if places.keys() != set(range(len(places))):
        lacking = next(id for id in range(len(places)) if id not in places)
        raise CheckpointError(f"{path} has {len(places):,} tokens but none with the id {lacking}: ids go from 0 on")
    return checked_tokens(path, [places[id] for id in range(len(places))])


def checked_tokens(path: Path, tokens: Sequence[Any]) -> tuple[str, ...]:
    """The tokens, checked to be distinct strings."""
    with files.explaining(f"{path} cannot be used as a vocabulary: "):
        return Vocabulary(tokens).tokens


def fill_rows(tokens: Sequence[str], size: int, path: Path | str) -> tuple[str, ...]:
    """Fill up to `size` tokens; rows without a token get placeholder names."""
    if len(tokens) > size:
        raise CheckpointError(
            f"{path} has {len(tokens):,} tokens, the model has {size:,}: they do not belong together, or special"
            " tokens were counted twice"
        )
    return (*tokens, *map(unnamed, range(len(tokens), size)))


def unnamed(id: int) -> str:
    """Placeholder name of a row without a token, unlikely in a text: it has rare characters and a space."""
    return f"‹id {id}›"


def unnamed_ids(tokens: Sequence[str]) -> list[int]:
    return [id for id, token in enumerate(tokens) if token == unnamed(id)]


def usual_specials(tokens: Sequence[str]) -> tuple[str, ...]:
    """Tokens that look special, by a usual name or brackets; at most MAX_SPECIALS."""
    usual = {token for each in USUAL_SPECIALS.values() for token in each}
    return tuple(token for token in tokens if token in usual or _SPECIAL.fullmatch(token))[:MAX_SPECIALS]


def usual_ids(size: int) -> tuple[str, ...]:
    """Candidate special ids without a vocabulary: the first ones and the last; at most MAX_SPECIALS."""
    first = tuple(str(id) for id in range(min(size, MAX_SPECIALS - 1)))
    return first if size < MAX_SPECIALS else (*first, str(size - 1))


def specials_of(tokens: Sequence[str], given: Mapping[str, str | None]) -> dict[str, str]:
    """Special tokens by role: the given ones (None: there is none), else the usual ones present.

    A given one is a token or an id. Raises CheckpointError if it is not in the vocabulary.
    """
    known = set(tokens)
    found = {
        role: next(token for token in usual if token in known)
        for role, usual in USUAL_SPECIALS.items()
        if any(token in known for token in usual)
    }
    for role, token in given.items():
        if token is None:
            found.pop(role, None)
        elif token in known:
            found[role] = token
        elif token.isdecimal() and int(token) < len(tokens):
            found[role] = tokens[int(token)]
        else:
            raise CheckpointError(f"the vocabulary has no token {quote(token)} to be {role}: name one, or give its id")
    return found


def tokenizer_of(tokens: Sequence[str], specials: Mapping[str, str], given: str | None = None) -> Tokenizer:
    """Tokenizer: characters if every token is one, else words at spaces.

    given: "characters", "words" (at spaces) or "spacy:LANGUAGE". Raises CheckpointError for anything else.
    """
    if given is not None and given.startswith("spacy:"):
        return SpacyWords(
            given.removeprefix("spacy:"),
            lower=not any(token != token.lower() for token in tokens if token not in specials.values()),
        )
    if given not in (None, "characters", "words"):
        raise CheckpointError(f"{quote(given)} is not a way to cut texts: choose characters, words or spacy:LANGUAGE")
    plain = [
        token
        for id, token in enumerate(tokens)
        if token not in specials.values() and not re.fullmatch("<.+>", token, re.DOTALL) and token != unnamed(id)
    ]
    if given == "characters" or (given is None and plain and all(len(token) == 1 for token in plain)):
        return Characters(lower=False, strip="\n" not in plain)
    return RegexTokens(r"\S+")


def ids_codec(size: int, specials: Mapping[str, str | None]) -> Codec:
    """Codec of a model without a vocabulary: text is space-separated ids, which are also the token names."""
    tokens = tuple(str(id) for id in range(size))
    named = {role: token for role, token in specials.items() if token is not None}
    for role, token in named.items():
        if role not in ROLES or token not in tokens:
            raise CheckpointError(f"{role}={quote(token)} is not an id of a vocabulary of {size:,}")
    return Codec(RegexTokens(r"\S+"), Vocabulary(tokens, named), add_bos="bos" in named, add_eos="eos" in named)
