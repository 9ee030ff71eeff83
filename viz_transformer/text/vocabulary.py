"""A vocabulary: the tokens a model knows, indexed by id, and the roles of special ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType

from viz_transformer.sentences import join_names, shorten

ROLES = ("bos", "eos", "unk", "pad")
SPECIALS: Mapping[str, str] = MappingProxyType({"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>"})
MAX_NAMED_WORDS, MAX_NAMED_SIGNS, MAX_LETTERS = 8, 6, 20
"""How many words and symbols a sentence names, and characters of each word."""
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, init=False)
class Vocabulary:
    """Tokens and their ids.

    Raises ValueError for no, invalid or repeated tokens, and for unknown roles or special tokens.
    """

    tokens: tuple[str, ...]
    specials: dict[str, str]  # role ("bos", "eos", "unk", "pad", all optional) -> token
    bos: int | None = field(repr=False, compare=False)
    eos: int | None = field(repr=False, compare=False)
    unk: int | None = field(repr=False, compare=False)
    pad: int | None = field(repr=False, compare=False)
    _ids: dict[str, int] = field(repr=False, compare=False)

    def __init__(self, tokens: Iterable[str], specials: Mapping[str, str] = _NONE) -> None:
        tokens, ids = tuple(tokens), dict[str, int]()
        if not tokens:
            raise ValueError("the vocabulary has no tokens")
        for i, token in enumerate(tokens):
            if not isinstance(token, str):
                raise ValueError(f"entry {i} of the vocabulary is {token!r:.40}, not a text")
            if ids.setdefault(token, i) != i:
                raise ValueError(f"the vocabulary has {token!r:.40} twice, at {ids[token]} and at {i}")
        for role, token in specials.items():
            if role not in ROLES:
                raise ValueError(f"unknown role {role!r:.40} of a special token; the roles are {', '.join(ROLES)}")
            if not isinstance(token, str) or token not in ids:
                raise ValueError(f"the special token {token!r:.40} ({role}) is not in the vocabulary")
        object.__setattr__(self, "tokens", tokens)
        object.__setattr__(self, "specials", dict(specials))
        object.__setattr__(self, "_ids", ids)
        for role in ROLES:
            object.__setattr__(self, role, ids[specials[role]] if role in specials else None)

    @classmethod
    def build(
        cls, token_lists: Iterable[Iterable[str]], specials: Mapping[str, str] = SPECIALS, min_count: int = 1
    ) -> Vocabulary:
        """Build from texts: the specials, then all tokens that occur `min_count` times, by decreasing frequency.

        Ties are in the order of first occurrence.
        """
        counts = Counter(token for tokens in token_lists for token in tokens)
        reserved = dict.fromkeys(specials.values())
        words = [token for token, n in counts.most_common() if n >= min_count and token not in reserved]
        return cls((*reserved, *words), specials)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __hash__(self) -> int:
        return hash((self.tokens, frozenset(self.specials.items())))

    def id(self, token: str) -> int:
        """The token's id, or the unknown token's. Raises KeyError without an unknown token."""
        found = self._ids.get(token, self.unk)
        if found is None:
            raise KeyError(f"{token!r:.40} is not in the vocabulary, and the vocabulary has no token for unknown text")
        return found

    def token(self, id: int) -> str:
        """The token with this id. Raises IndexError outside the vocabulary."""
        if not 0 <= id < len(self.tokens):
            raise IndexError(f"id {id} is outside the vocabulary: ids go from 0 to {len(self.tokens) - 1}")
        return self.tokens[id]

    def in_words(self) -> str:
        """What texts consist of, in a few words: "a to z", "sin, cos, x, 0 to 9 and 7 more"."""
        if self.tokens == tuple(map(str, range(len(self)))):
            return f"whole numbers from 0 to {len(self) - 1:,}"
        names = [token for id, token in enumerate(self.tokens) if id not in self.special_ids]
        words = [name for name in names if len(name) > 1 and name.isalnum()]
        signs = [name for name in names if not name.isalnum()]
        runs = sorted(_runs(sorted({*names} - {*words} - {*signs})), key=lambda run: run[0][0].isdigit())
        if len(words) > MAX_NAMED_WORDS:
            words = words[: MAX_NAMED_WORDS // 2]
        named = [*((shorten(word, MAX_LETTERS), 1) for word in words), *runs[: 2 * MAX_NAMED_WORDS]]
        if not words and len(signs) <= MAX_NAMED_SIGNS:
            named += [(repr(sign), 1) for sign in signs]
        more = len(names) - sum(count for _, count in named)
        return join_names([*(said for said, _ in named), *([f"{more:,} more"] if more else [])]) if names else "nothing"

    @property
    def special_ids(self) -> frozenset[int]:
        return frozenset(self._ids[token] for token in self.specials.values())


def _runs(singles: Sequence[str]) -> list[tuple[str, int]]:
    """Sorted characters with counts; runs of three or more consecutive ones as first and last."""
    found = list[tuple[str, int]]()
    for _, each in groupby(enumerate(singles), key=lambda numbered: ord(numbered[1]) - numbered[0]):
        run = [sign for _, sign in each]
        found += [(f"{run[0]} to {run[-1]}", len(run))] if len(run) > 2 else [(sign, 1) for sign in run]
    return found
