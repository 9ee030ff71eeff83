"""Tokenizers: characters, regular expressions, spaCy words, subwords. All serialise to JSON.

A tokenizer splits a text into pieces, normalises each into a token, and joins tokens again.
"""

from __future__ import annotations

import re
import zlib
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import regex
from msgspec import Meta

from viz_transformer import declared
from viz_transformer.sentences import quote
from viz_transformer.text.growth import Growth, growth_of, joining_growth, read_description

LONGEST_PATTERN = MAX_REPLACEMENTS = 1000
LONGEST_RUN = 250
"""Maximum run without spaces for spaCy, which takes quadratic time."""
MAX_MERGES = 50_000
LONGEST_PACKED, MAX_DESCRIBED = 3 * 2**20, 64 * 2**20
"""Maximum characters of a compressed tokenizer.json, and bytes after decompression."""
MAX_KNOWN = 50_000
"""Maximum words whose segmentation is cached."""
LONGEST_JOINED = 1_000_000
"""Maximum characters that joining may add: untrusted rules can grow a text without end."""
_Word = Annotated[str, Meta(min_length=1, description="a text that is not empty")]
_TOO_LONG = "this model's rules for joining tokens make a text of millions of characters: choose another model"


@dataclass(frozen=True)
class Tokenizer(ABC):
    """Text -> tokens and back. `tokenize(text)` normalises each piece of `split(text)`."""

    kind: ClassVar[str]
    cuts_words: ClassVar[bool] = False
    """Whether a word may be several tokens, the first with its leading space."""

    @abstractmethod
    def split(self, text: str) -> list[str]:
        """Verbatim pieces of the text; none for a blank text. Never raises."""

    @abstractmethod
    def detokenize(self, tokens: Sequence[str]) -> str:
        """Text of the tokens."""

    def normalise(self, piece: str) -> str:
        """Token of a piece, to be looked up in the vocabulary."""
        return piece

    def tokenize(self, text: str) -> list[str]:
        return [self.normalise(piece) for piece in self.split(text)]

    def to_dict(self) -> dict[str, Any]:
        """JSON values: the kind and all settings."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class Characters(Tokenizer):
    """One token per character (Unicode code point). strip: first remove white space at both ends."""

    kind: ClassVar[str] = "characters"
    lower: bool = False
    strip: bool = True

    def __post_init__(self) -> None:
        declared.check(self, "the tokenizer")

    def split(self, text: str) -> list[str]:
        return list(text.strip() if self.strip else text)

    def normalise(self, piece: str) -> str:
        return piece.lower() if self.lower else piece

    def detokenize(self, tokens: Sequence[str]) -> str:
        return "".join(tokens)


@dataclass(frozen=True)
class RegexTokens(Tokenizer):
    r"""One token per match of the pattern; text between matches, unless blank, becomes tokens too.

    Joining puts `join` between tokens, then applies the `replacements` (old, new) in order. Patterns are untrusted:
    `re` matches simple ones in linear time; all others use `regex` with a time limit (`_seconds`), whose \w follows
    Unicode annex 18. Raises ValueError for an invalid pattern, and for a text that exceeds the limit.
    """

    kind: ClassVar[str] = "regex"
    pattern: str
    join: str = " "
    replacements: Annotated[tuple[tuple[_Word, str], ...], Meta(max_length=MAX_REPLACEMENTS)] = ()

    def __post_init__(self) -> None:
        declared.check(self, "the tokenizer")
        _compiled(self.pattern)

    def split(self, text: str) -> list[str]:
        pieces: list[str] = []
        end = 0
        for start, stop in self._matches(text):
            pieces += text[end:start].split()
            pieces += [text[start:stop]] if stop > start else []
            end = stop
        return pieces + text[end:].split()

    def _matches(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of each match."""
        pattern = _compiled(self.pattern)
        if isinstance(pattern, re.Pattern):
            yield from (match.span() for match in pattern.finditer(text))
            return
        try:  # releases the GIL while matching
            yield from (match.span() for match in pattern.finditer(text, timeout=_seconds(text), concurrent=True))
        except (TimeoutError, MemoryError):
            raise ValueError(
                f"the tokenizer's pattern {quote(self.pattern)} takes too long to split this text: shorten the text, "
                "or choose another model"
            ) from None

    def detokenize(self, tokens: Sequence[str]) -> str:
        most = LONGEST_JOINED + sum(map(len, tokens))
        if len(self.join) * len(tokens) > most:
            raise ValueError(_TOO_LONG)
        text = self.join.join(tokens)
        for what, by in self.replacements:
            if len(text) + text.count(what) * (len(by) - len(what)) > most:
                raise ValueError(_TOO_LONG)
            text = text.replace(what, by)
        return text


_ATOM = r"(?:\\.|\[\^?(?:[^\]\[\\]|\\.)+\]|[^\\\[\](){}|?*+^$])"
_PLAIN = re.compile(rf"(?:{_ATOM}+[*+?]?)(?:\|{_ATOM}+[*+?]?)*", re.DOTALL)
"""Alternatives of characters and sets, only the last repeated: backtracks by at most one, so it takes linear time."""


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str] | regex.Pattern[str]:
    """The compiled pattern, matched in bounded time. Raises ValueError if invalid."""
    declared.at_most(len(pattern), LONGEST_PATTERN, "the pattern has {} characters", "read")
    try:
        plain = re.compile(pattern)  # anything it rejects, such as recursion, is rejected
        return plain if _PLAIN.fullmatch(pattern) else regex.compile(pattern, regex.VERSION0)
    except (re.error, regex.error, OverflowError, RecursionError, ValueError) as error:
        raise ValueError(f"the pattern {quote(pattern)} is not a regular expression: {error!s:.200}") from None


def _seconds(text: str) -> float:
    """CPU time limit for matching a text, generous for any useful pattern."""
    return 2.0 + len(text) * 2e-5


def numbers_target_tokenizer() -> RegexTokens:
    """Words, with `,` and `-` as separate tokens: "twenty-nine thousand, two" <-> twenty - nine thousand , two."""
    return RegexTokens(r"[,\-]|[^\s,\-]+", replacements=((" , ", ", "), (" - ", "-")))


@dataclass(frozen=True)
class SpacyWords(Tokenizer):
    """Words of spaCy's rule-based tokenizer for a language ("en", "de", ...), without white-space tokens.

    spaCy splits "don't" into do n't. Joining puts a space between tokens unless the right one is in `glue_left`, the
    left one in `glue_right`, or a `paired` symbol, which alternately opens and closes, forbids it. `learn` counts these
    rules in texts. Tokens in the rules are normalised. Runs without spaces are cut at LONGEST_RUN characters. Raises
    ValueError for a language unknown to spaCy, when a text is first split.
    """

    kind: ClassVar[str] = "spacy"
    language: Annotated[str, Meta(pattern=r"\A[a-z]{2,3}\Z", description="spaCy's letters for one, such as 'en'")]
    lower: bool = False
    glue_left: tuple[str, ...] = (".", ",", "!", "?", ";", ":", ")", "]", "%", "'s", "n't")
    glue_right: tuple[str, ...] = ("(", "[")
    paired: tuple[str, ...] = ('"',)

    def __post_init__(self) -> None:
        declared.check(self, "the tokenizer")

    def split(self, text: str) -> list[str]:
        return [piece for piece in self.all_pieces(text) if not piece.isspace()]

    def all_pieces(self, text: str) -> list[str]:
        """The pieces including spaCy's white-space tokens, such as a second space."""
        text = re.sub(rf"(\S{{{LONGEST_RUN}}})(?=\S)", r"\1 ", text)
        return [token.text for token in _spacy_tokenizer(self.language)(text)]

    def normalise(self, piece: str) -> str:
        return piece.lower() if self.lower else piece

    def detokenize(self, tokens: Sequence[str]) -> str:
        left, right, paired = set(self.glue_left), set(self.glue_right), set(self.paired)
        is_open: dict[str, bool] = defaultdict(bool)
        text = ""
        glued = True  # nothing before the first token
        for token in tokens:
            glued = glued or token in left or (token in paired and is_open[token])
            text += token if glued else " " + token
            is_open[token] = token in paired and not is_open[token]
            glued = token in right or is_open[token]
        return text

    def learn(self, texts: Iterable[str]) -> SpacyWords:
        """The same tokenizer with joining rules learned from texts.

        Starts with a space at every boundary and greedily adds the rule that corrects the most boundaries, until none
        corrects two more than it breaks.
        """
        boundaries: Counter[tuple[str, str]] = Counter()  # (left, right) -> times glued minus times spaced
        for text in texts:
            tokens = [token for token in _spacy_tokenizer(self.language)(text) if not token.is_space]
            for a, b in pairwise(tokens):
                glued = a.idx + len(a.text) == b.idx
                boundaries[self.normalise(a.text), self.normalise(b.text)] += 1 if glued else -1
        for a, b in list(boundaries):
            if a in self.paired or b in self.paired:
                del boundaries[a, b]

        # Side 0: a token left of a boundary glues to the right; side 1: the reverse.
        gains: Counter[tuple[int, str]] = Counter()
        for boundary, gain in boundaries.items():
            for rule in enumerate(boundary):
                gains[rule] += gain
        rules: list[tuple[int, str]] = []
        while gains:
            (side, token), best = max(gains.items(), key=lambda item: item[1])
            if best < 2:
                break
            rules.append((side, token))
            for boundary in [pair for pair in boundaries if pair[side] == token]:
                gain = boundaries.pop(boundary)  # correct from now on, so no other rule can gain it
                for rule in enumerate(boundary):
                    gains[rule] -= gain
        return replace(
            self,
            glue_left=tuple(token for side, token in rules if side == 1),
            glue_right=tuple(token for side, token in rules if side == 0),
        )


@cache
def _spacy_tokenizer(language: str) -> Callable[[str], Any]:
    """spaCy's tokenizer without its limit of 1,000,000 characters. Loads spaCy, which takes a second."""
    import spacy

    try:
        tokenizer: Callable[[str], Any] = spacy.blank(language).tokenizer
    except ImportError as error:  # an unknown language, or one that needs a separate package
        reason = " ".join(str(error).split())
        raise ValueError(f"spaCy cannot split words of the language {quote(language)}: {reason}") from None
    return tokenizer


@dataclass(frozen=True)
class SubWords(Tokenizer):
    """Byte-pair encoding on characters: adjacent pieces are merged in the order of `merges`.

    Words are separated by spaces, include one leading space, and are cut at LONGEST_RUN characters. Tokens are verbatim
    text, so joining is lossless. strip: first remove white space at both ends. Source: Sennrich et al. (2016).
    """

    kind: ClassVar[str] = "bpe"
    cuts_words: ClassVar[bool] = True
    merges: Annotated[tuple[tuple[_Word, _Word], ...], Meta(max_length=MAX_MERGES)]
    strip: bool = True
    _ranks: dict[tuple[str, ...], int] = field(init=False, repr=False, compare=False)
    _known: dict[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        declared.check(self, "the tokenizer")
        object.__setattr__(self, "_ranks", {pair: rank for rank, pair in reversed(list(enumerate(self.merges)))})
        object.__setattr__(self, "_known", {})

    def split(self, text: str) -> list[str]:
        return [piece for word in self.words(text.strip() if self.strip else text) for piece in self._pieces(word)]

    def detokenize(self, tokens: Sequence[str]) -> str:
        return "".join(tokens)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "merges": [list(pair) for pair in self.merges], "strip": self.strip}

    @staticmethod
    def words(text: str) -> list[str]:
        """Units of merging: words with their leading space, and other spaces."""
        return _WORDS.findall(text)

    def _pieces(self, word: str) -> tuple[str, ...]:
        if (pieces := self._known.get(word)) is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            pieces = self._known[word] = self._merged(word)
        return pieces

    def _merged(self, word: str) -> tuple[str, ...]:
        pieces = list(word)
        while found := [pair for pair in pairwise(pieces) if pair in self._ranks]:
            first = min(found, key=self._ranks.__getitem__)
            merged: list[str] = []
            for piece in pieces:
                if merged and (merged[-1], piece) == first:
                    merged[-1] += piece
                else:
                    merged.append(piece)
            pieces = merged
        return tuple(pieces)


@dataclass(frozen=True)
class LibraryTokens(Tokenizer):
    """Subwords of Hugging Face's `tokenizers` library, from a `tokenizer.json`.

    packed: that file, compressed, in base64. Tokens have the library's names, such as "Ġthe" or "##ing". Raises
    ValueError for an unreadable file, and without the library.
    """

    kind: ClassVar[str] = "tokenizer.json"
    packed: Annotated[str, Meta(min_length=1, max_length=LONGEST_PACKED)]

    def __post_init__(self) -> None:
        declared.check(self, "the tokenizer")

    @classmethod
    def of(cls, described: str) -> LibraryTokens:
        """The tokenizer in the text of a `tokenizer.json`."""
        packed = b64encode(zlib.compress(described.encode("utf-8"), 9)).decode("ascii")
        if len(packed) > LONGEST_PACKED:
            raise ValueError(
                f"its vocabulary is too large to be kept in a checkpoint, packed {len(packed):,} of {LONGEST_PACKED:,}"
                " characters"
            )
        made = cls(packed)
        _library_tokenizer(made.packed)
        return made

    def split(self, text: str) -> list[str]:
        library = _library_tokenizer(self.packed)
        library.growth.check(text)
        with panics_said():
            return list(library.tokenizer.encode(text, add_special_tokens=False).tokens)

    def detokenize(self, tokens: Sequence[str]) -> str:
        library = _library_tokenizer(self.packed)
        decoder = library.tokenizer.decoder
        if decoder is None:
            return " ".join(tokens)
        library.joining.check("".join(tokens))
        with panics_said():
            return str(decoder.decode(list(tokens)))


@contextmanager
def panics_said() -> Iterator[None]:
    """Turn errors of the tokenizers library into ValueError, including panics, which are not Exceptions.

    The library trusts files that may be damaged.
    """
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise ValueError(
            f"the tokenizers library fails on this model's tokenizer ({error!s:.200}): it is damaged"
        ) from None


@dataclass(frozen=True)
class _Library:
    """The library's tokenizer, with growth bounds for tokenizing and joining."""

    tokenizer: Any
    growth: Growth
    joining: Growth


@lru_cache(maxsize=8)
def _library_tokenizer(packed: str) -> _Library:
    """The library's tokenizer without padding and truncation; refused if it may produce too much text."""
    if find_spec("tokenizers") is None:
        raise ValueError(
            'a tokenizer.json is read by the tokenizers library: install it with `pip install -e ".[train]"`'
        )
    unpacking = zlib.decompressobj()
    try:
        described = unpacking.decompress(b64decode(packed, validate=True), MAX_DESCRIBED)
        if unpacking.unconsumed_tail:
            raise ValueError("it is too long")
        content = read_description(described)
        growth, joining = growth_of(content), joining_growth(content)
        with panics_said():
            made = import_module("tokenizers").Tokenizer.from_str(described.decode("utf-8"))
    except Exception as error:  # the library raises plain Exceptions
        raise ValueError(f"the tokenizers library cannot read this tokenizer.json ({error!s:.200})") from None
    made.no_padding()
    made.no_truncation()
    return _Library(made, growth, joining)


_WORDS = re.compile(rf" ?\S{{1,{LONGEST_RUN}}}|\s+")

TOKENIZERS: Mapping[str, type[Tokenizer]] = {
    cls.kind: cls for cls in (Characters, RegexTokens, SpacyWords, SubWords, LibraryTokens)
}


def tokenizer_from_dict(d: Mapping[str, Any]) -> Tokenizer:
    """Inverse of `to_dict`. Raises ValueError for an unknown kind or setting."""
    kind = declared.one_of("the tokenizer's kind", d.get("kind") if isinstance(d, Mapping) else None, TOKENIZERS)
    return declared.read(TOKENIZERS[kind], {key: d[key] for key in d if key != "kind"}, f"the {kind} tokenizer")
