"""Vocabularies: searching one, counting its entries in texts, building one from sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz_transformer import declared
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Tokenizer
from viz_transformer.text.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Counts:
    """Token counts of some texts by vocabulary entry, without start, end and padding tokens.

    by_id: [V]; tokens without an entry count for the unknown token. texts, tokens: their totals."""

    by_id: NDArray[np.int64]
    texts: int
    tokens: int
    unknown: int
    different_unknown: int


@dataclass(frozen=True)
class Rebuilt:
    """A vocabulary built from sentences. counts: of each entry by id, None for a special token.

    left_out: tokens that occur too rarely, with their counts; a model with this vocabulary reads them as unknown.
    sentences: the ids of each sentence, None where one has a token without an id.
    """

    vocabulary: Vocabulary
    counts: tuple[int | None, ...]
    left_out: tuple[tuple[str, int], ...]
    sentences: tuple[tuple[str, tuple[int, ...] | None], ...]

    def look_up(self, token: str) -> int | None:
        """The id of a token, or of the unknown token; None if there is neither."""
        return self.vocabulary.id(token) if token in self.vocabulary else self.vocabulary.unk


def find_entries(names: Sequence[str], words: str) -> Sequence[int]:
    """The ids of the entries whose names contain the words, ignoring case; all ids for no words.

    Blanks around both do not count. First the token that equals the words, then the id that is the number typed, then
    the tokens that begin with them and those that contain them, each in order of id.
    """
    wanted = words.strip().lower()
    if not wanted:
        return range(len(names))
    number = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else None
    ranked = []
    for id, token in enumerate(names):
        lower = token.lower().strip()
        if lower == wanted:
            ranked.append((0, id))
        elif id == number:
            ranked.append((1, id))
        elif wanted in lower:
            ranked.append((2 if lower.startswith(wanted) else 3, id))
    return [id for _, id in sorted(ranked)]


def count_tokens(codec: Codec, texts: Iterable[str]) -> Counts:
    """The counts of the vocabulary's entries in the texts."""
    vocabulary, tokenizer = codec.vocabulary, codec.tokenizer
    pieces: Counter[str] = Counter()
    number = 0
    for text in texts:
        number += 1
        pieces.update(tokenizer.split(text))
    tokens: Counter[str] = Counter()
    for piece, count in pieces.items():
        tokens[tokenizer.normalise(piece)] += count
    by_id = np.zeros(len(vocabulary), np.int64)
    unknown, different = 0, 0
    for token, count in tokens.items():
        if is_known(vocabulary, token):
            by_id[vocabulary.id(token)] += count
        else:
            unknown, different = unknown + count, different + 1
    if vocabulary.unk is not None:
        by_id[vocabulary.unk] += unknown
    return Counts(by_id, number, sum(tokens.values()), unknown, different)


def is_known(vocabulary: Vocabulary, token: str) -> bool:
    """Whether the text of this token is read as an entry of its own: neither unknown nor a special token."""
    return token in vocabulary and token not in vocabulary.specials.values()


def rebuild(tokenizer: Tokenizer, sentences: Sequence[str], specials: Mapping[str, str], min_count: int) -> Rebuilt:
    """The vocabulary of these sentences, as `Vocabulary.build` makes it: specials in their order, then by frequency.

    Raises ValueError for a minimum count below 1, and if there is neither a token nor a special one.
    """
    declared.within("min_count", min_count, declared.Count)
    texts = [sentence for sentence in sentences if sentence.strip()]
    lists = [tokenizer.tokenize(text) for text in texts]
    counted = Counter(token for tokens in lists for token in tokens)
    if not counted and not specials:
        raise ValueError("there are no tokens: type at least one sentence")
    if not specials and all(count < min_count for count in counted.values()):
        raise ValueError(f"no token occurs {min_count} times, and there is no special one: the vocabulary is empty")
    vocabulary = Vocabulary.build(lists, specials, min_count)
    reserved = set(specials.values())
    counts = tuple(None if token in reserved else counted[token] for token in vocabulary.tokens)
    rare = tuple((token, count) for token, count in counted.most_common() if not is_known(vocabulary, token))

    def ids_of(tokens: Sequence[str]) -> tuple[int, ...] | None:
        ids = [vocabulary.id(token) if is_known(vocabulary, token) else vocabulary.unk for token in tokens]
        whole = tuple(id for id in ids if id is not None)
        return whole if len(whole) == len(ids) else None

    rows = tuple((text, ids_of(tokens)) for text, tokens in zip(texts, lists, strict=True))
    return Rebuilt(vocabulary, counts, rare, rows)


def fixed_length(codec: Codec, ids: Sequence[int], length: int, *, start: bool, end: bool) -> tuple[int, ...]:
    """A text's ids with or without start and end token, filled up with padding: the row that a tutorial prints.

    ids: those of the text; start, end and padding tokens among them are left out first. Raises ValueError if they do
    not fit into `length`, and where the vocabulary has no such token.
    """
    vocabulary = codec.vocabulary
    around = {vocabulary.bos, vocabulary.eos, vocabulary.pad}
    row = [id for id in ids if id not in around]
    for wanted, id, name in ((start, vocabulary.bos, "start"), (end, vocabulary.eos, "end")):
        if wanted and id is None:
            raise ValueError(f"the vocabulary has no {name} token")
    row = [*([vocabulary.bos] if start and vocabulary.bos is not None else []), *row]
    row += [vocabulary.eos] if end and vocabulary.eos is not None else []
    if len(row) > length:
        raise ValueError(f"the text has {len(row)} tokens, which do not fit into {length}")
    missing = length - len(row)
    if missing and vocabulary.pad is None:
        raise ValueError(f"{missing} places are left, and the vocabulary has no padding token to fill them with")
    return tuple(row) + ((vocabulary.pad or 0),) * missing
