"""Attention between words where tokens are pieces of them: sum over the pieces read, mean over the pieces that read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer import declared
from viz_transformer.text.codec import is_of_a_word
from viz_transformer.text.graphemes import within_graphemes


@dataclass(frozen=True)
class Words:
    """The words of one side: the positions of each word's tokens, in order, and its label."""

    positions: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.positions)

    def joined(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Texts of the tokens, one each, joined by word: the tokens that the rows of a word write, for example."""
        return tuple("".join(texts[i] for i in positions) for positions in self.positions)


@dataclass(frozen=True, eq=False)
class WordMap:
    """weights: [..., words, words] float32. mask: the same shape, True where some piece may attend to some piece."""

    weights: NDArray[np.float32]
    mask: NDArray[np.bool_]
    queries: Words
    keys: Words


def word_groups(
    tokens: Sequence[str],
    originals: Sequence[str],
    *,
    special: Sequence[bool],
    characters: bool,
    continuations: Sequence[str | None] | None = None,
) -> Words:
    """The tokens grouped into words, every token in exactly one group.

    characters: True if a token is a character, as `codec.splits_characters` says; then all characters between
    blanks are one word. continuations: where tokens are pieces of words, what each adds to the word of the
    token before it, None where it begins one, as `codec.continuation` says; after a special token, a blank or a
    character that is no letter or digit, each begins one. With neither a token is a word already. Each special token,
    each blank and each token of padding, whose original is "", is a group of its own. No sign of several code points
    (an accent on its letter, a flag, emoji that are joined) is divided between words: what begins within one goes on
    with it. Labels are what was typed, for specials and padding the tokens; of pieces what they make together, bytes as
    the characters that they are.
    Raises ValueError if the lists are not equally long.
    """
    marks = {"marks of special tokens": len(special), "continuations": len(continuations or tokens)}
    declared.same_count(tokens=len(tokens), originals=len(originals), **marks)
    if continuations is not None:
        return _group_pieces(tokens, originals, special, continuations)
    within = _mark_within_sign(originals, special)
    groups: list[list[int]] = []
    joins = False  # whether the next character goes on with the last group
    for position, (typed, is_special) in enumerate(zip(originals, special, strict=True)):
        in_word = characters and not is_special and typed.strip() != ""
        if (in_word and joins) or within[position]:
            groups[-1].append(position)
        else:
            groups.append([position])
        joins = in_word
    shown = [
        token if is_special else typed or token
        for token, typed, is_special in zip(tokens, originals, special, strict=True)
    ]
    positions = tuple(map(tuple, groups))
    return Words(positions, tuple("".join(shown[i] for i in group) for group in positions))


def _group_pieces(
    tokens: Sequence[str], originals: Sequence[str], special: Sequence[bool], continuations: Sequence[str | None]
) -> Words:
    as_typed = [
        bool(typed) and not is_special and not _BYTES.search(token)
        for token, typed, is_special in zip(tokens, originals, special, strict=True)
    ]
    texts = [
        typed if by_hand and not (typed == token and more is not None) else token if more is None else more
        for token, typed, more, by_hand in zip(tokens, originals, continuations, as_typed, strict=True)
    ]
    within = _mark_within_sign(texts, special)
    groups: list[list[int]] = []
    labels: list[str] = []
    joins = False  # whether a piece would go on with the last group
    for position, (token, text) in enumerate(zip(tokens, texts, strict=True)):
        if within[position] or (joins and continuations[position] is not None):
            groups[-1].append(position)
            labels[-1] += text
        else:
            groups.append([position])
            labels.append(originals[position] if as_typed[position] else token)
        if within[position]:  # a mark or a joiner alone changes nothing
            joins = joins or any(sign.isalnum() for sign in token)
        else:
            joins = not special[position] and is_of_a_word(token)
    shown = (_BYTES.sub(_decode_bytes, label) for label in labels)
    return Words(tuple(map(tuple, groups)), tuple(label.strip() or label for label in shown))


def _mark_within_sign(texts: Sequence[str], special: Sequence[bool]) -> list[bool]:
    """Whether each token begins within a sign of several code points that another began; not after a special token, a
    blank or padding."""
    return within_graphemes(
        [
            b"\n" if is_special or not text.strip() else _BYTE.sub(_parse_byte, text.encode("utf-8", "surrogatepass"))
            for text, is_special in zip(texts, special, strict=True)
        ]
    )


_JOINERS = "\u200c\u200d"
_BYTE = re.compile("‹([0-9A-F]{2})›".encode())


def _parse_byte(found: re.Match[bytes]) -> bytes:
    return bytes.fromhex(found[1].decode())


_BYTES = re.compile("(?:‹[0-9A-F]{2}›)+")


def _decode_bytes(found: re.Match[str]) -> str:
    """The characters that such bytes encode; the bytes as written if they encode none."""
    try:
        made = bytes.fromhex(found[0].replace("‹", "").replace("›", "")).decode()
    except UnicodeDecodeError:
        return found[0]
    return made if all(sign.isprintable() or sign in _JOINERS for sign in made) else found[0]


def word_map(weights: ArrayLike, mask: ArrayLike, queries: Words, keys: Words) -> WordMap:
    """Weights between words: summed over the tokens of the word read, averaged over the tokens of the word that reads.

    weights, mask: [..., Q, K]. Rows that sum to 1 still do if the words hold all keys; a token that may attend to
    nothing, a row of zeros, counts in its word's mean. The result is derived: no head attends from word to word.
    Raises ValueError for a position outside, in two words or in an empty word, and for shapes that do not fit.
    """
    values, allowed = np.asarray(weights, dtype=np.float64), np.asarray(mask, dtype=bool)
    if values.ndim < 2 or values.shape != allowed.shape:
        raise ValueError(f"weights of shape {list(values.shape)} and a mask of {list(allowed.shape)} do not fit")
    for words, size, name in ((queries, values.shape[-2], "query"), (keys, values.shape[-1], "key")):
        _check(words, size, name)
    by_key = np.stack([values[..., list(group)].sum(axis=-1) for group in keys.positions], axis=-1)
    merged = np.stack([by_key[..., list(group), :].mean(axis=-2) for group in queries.positions], axis=-2)
    any_key = np.stack([allowed[..., list(group)].any(axis=-1) for group in keys.positions], axis=-1)
    any_query = np.stack([any_key[..., list(group), :].any(axis=-2) for group in queries.positions], axis=-2)
    return WordMap(merged.astype(np.float32), any_query, queries, keys)


def _check(words: Words, size: int, name: str) -> None:
    flat = [position for group in words.positions for position in group]
    if not words.positions or not all(words.positions):
        raise ValueError(f"a {name} word without tokens: give each word at least one position")
    for position in flat:
        declared.place(f"{name} position", position, size)
    if len(set(flat)) < len(flat):
        raise ValueError(f"a {name} position is in two words, or twice in one")
