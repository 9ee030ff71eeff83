"""Tokenizers: characters, regular expressions, spaCy words, pieces of words. JSON can hold each.

A tokenizer splits a text into pieces as they stand there, normalises each piece into a token, and joins tokens again.
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
"""Characters without a blank that spaCy is given: a run of signs takes it time in proportion to the run's square."""
MAX_MERGES = 50_000
LONGEST_PACKED, MAX_DESCRIBED = 3 * 2**20, 64 * 2**20
"""Characters of a compressed tokenizer.json, and bytes of what comes out of it."""
MAX_KNOWN = 50_000
"""Words whose pieces a tokenizer remembers."""
LONGEST_JOINED = 1_000_000
"""Characters that joining may add to those of the tokens: the rules may be anybody's, and grow a text without end."""
_Word = Annotated[str, Meta(min_length=1, description="a text that is not empty")]
_TOO_LONG = "this model's rules for joining tokens make a text of millions of characters: choose another model"


@dataclass(frozen=True)
class Tokenizer(ABC):
    """Text -> tokens and back. `tokenize(text)` is `normalise` of each piece of `split(text)`."""

    kind: ClassVar[str]
    cuts_words: ClassVar[bool] = False
    """Whether a word may be several tokens, the first with the blank in front of it."""

    @abstractmethod
    def split(self, text: str) -> list[str]:
        """The pieces of the text, as they stand in it. Blank text gives none; no other text is an error."""

    @abstractmethod
    def detokenize(self, tokens: Sequence[str]) -> str:
        """The text of the tokens."""

    def normalise(self, piece: str) -> str:
        """The token of a piece: what is looked up in the vocabulary."""
        return piece

    def tokenize(self, text: str) -> list[str]:
        """The tokens of the text."""
        return [self.normalise(piece) for piece in self.split(text)]

    def to_dict(self) -> dict[str, Any]:
        """The kind and all settings, ready for JSON."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class Characters(Tokenizer):
    """One token per character (Unicode code point); `strip` removes blanks at both ends first."""

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
    """One token per match of the pattern; text between matches that is not blank is kept, as tokens of its own.

    Joining puts `join` between tokens and then makes the `replacements` (pairs: what, by what) in their order.
    A pattern may be anybody's, and may take for ever. One of plain pieces, repeated at their end alone, cannot: `re`
    matches it. All others are matched by `regex`, whose \\w follows Unicode's annex 18, and no longer than `_seconds`.
    Raises ValueError for a pattern that is not a regular expression, and for a text on which matching takes longer.
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
        """Where the matches begin and end."""
        pattern = _compiled(self.pattern)
        if isinstance(pattern, re.Pattern):
            yield from (match.span() for match in pattern.finditer(text))
            return
        try:  # other sessions go on: nothing is locked while this package matches
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
"""Alternatives of signs and sets, of which the last may be repeated: matching never goes back by more than one of them,
so it takes time in proportion to the text."""


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str] | regex.Pattern[str]:
    """What matches the pattern, in bounded time. Raises ValueError for one that is not a regular expression."""
    declared.at_most(len(pattern), LONGEST_PATTERN, "the pattern has {} characters", "read")
    try:
        plain = re.compile(pattern)  # what it does not read, such as recursion, is read nowhere
        return plain if _PLAIN.fullmatch(pattern) else regex.compile(pattern, regex.VERSION0)
    except (re.error, regex.error, OverflowError, RecursionError, ValueError) as error:
        raise ValueError(f"the pattern {quote(pattern)} is not a regular expression: {error!s:.200}") from None


def _seconds(text: str) -> float:
    """How long the matching of a text may take, of the processor's time: what would be slow for any useful pattern."""
    return 2.0 + len(text) * 2e-5


def numbers_target_tokenizer() -> RegexTokens:
    """Words, with `,` and `-` as tokens of their own: "twenty-nine thousand, two" <-> twenty - nine thousand , two."""
    return RegexTokens(r"[,\-]|[^\s,\-]+", replacements=((" , ", ", "), (" - ", "-")))


@dataclass(frozen=True)
class SpacyWords(Tokenizer):
    """The words of spaCy's rule-based tokenizer for a language ("en", "de", ...), without its blank tokens.

    spaCy splits "don't" into do n't. Joining puts a blank between two tokens unless the right one is in `glue_left`
    (sticks to what stands before), the left one in `glue_right` (sticks to what follows), or a `paired` sign, which
    opens and closes in turn, asks for none. `learn` counts these rules in a text. Tokens in the rules are normalised.
    More than LONGEST_RUN characters without a blank are cut there. Raises ValueError for a language that spaCy does not
    know, when a text is first split.
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
        """The pieces with those that spaCy makes of blanks, such as the second of two."""
        text = re.sub(rf"(\S{{{LONGEST_RUN}}})(?=\S)", r"\1 ", text)
        return [token.text for token in _spacy_tokenizer(self.language)(text)]

    def normalise(self, piece: str) -> str:
        return piece.lower() if self.lower else piece

    def detokenize(self, tokens: Sequence[str]) -> str:
        left, right, paired = set(self.glue_left), set(self.glue_right), set(self.paired)
        is_open: dict[str, bool] = defaultdict(bool)
        text = ""
        glued = True  # nothing stands before the first token
        for token in tokens:
            glued = glued or token in left or (token in paired and is_open[token])
            text += token if glued else " " + token
            is_open[token] = token in paired and not is_open[token]
            glued = token in right or is_open[token]
        return text

    def learn(self, texts: Iterable[str], min_gain: int = 2) -> SpacyWords:
        """The same tokenizer with the joining rules that these texts follow.

        Starts with a blank at every boundary and adds, one by one, the rule that makes the most boundaries right,
        until none makes `min_gain` more right than wrong.
        """
        boundaries: Counter[tuple[str, str]] = Counter()  # (left, right) -> times glued minus times with a blank
        for text in texts:
            tokens = [token for token in _spacy_tokenizer(self.language)(text) if not token.is_space]
            for a, b in pairwise(tokens):
                glued = a.idx + len(a.text) == b.idx
                boundaries[self.normalise(a.text), self.normalise(b.text)] += 1 if glued else -1
        for a, b in list(boundaries):
            if a in self.paired or b in self.paired:
                del boundaries[a, b]

        # Side 0: a token on the left of a boundary glues to the right; side 1 the other way round.
        gains: Counter[tuple[int, str]] = Counter()
        for boundary, gain in boundaries.items():
            for rule in enumerate(boundary):
                gains[rule] += gain
        rules: list[tuple[int, str]] = []
        while gains:
            (side, token), best = max(gains.items(), key=lambda item: item[1])
            if best < min_gain:
                break
            rules.append((side, token))
            for boundary in [pair for pair in boundaries if pair[side] == token]:
                gain = boundaries.pop(boundary)  # right from now on, so no other rule can win it
                for rule in enumerate(boundary):
                    gains[rule] -= gain
        return replace(
            self,
            glue_left=tuple(token for side, token in rules if side == 1),
            glue_right=tuple(token for side, token in rules if side == 0),
        )


@cache
def _spacy_tokenizer(language: str) -> Callable[[str], Any]:
    """spaCy's tokenizer without its 1,000,000-character limit. spaCy is loaded here: it takes a second."""
    import spacy

    try:
        tokenizer: Callable[[str], Any] = spacy.blank(language).tokenizer
    except ImportError as error:  # an unknown language, or one whose tokenizer is a package of its own
        reason = " ".join(str(error).split())
        raise ValueError(f"spaCy cannot split words of the language {quote(language)}: {reason}") from None
    return tokenizer


@dataclass(frozen=True)
class SubWords(Tokenizer):
    """Pieces of words by byte-pair encoding: two that stand side by side are merged, in the order of `merges`.

    A word is what stands between blanks, with the one blank before it, cut after LONGEST_RUN characters. Tokens are
    what stands in the text, blanks included: joining gives the text again. `strip` removes blanks at both ends first.
    Source: Sennrich et al. (2016); on characters, not on bytes.
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
        """What is merged within: words with the blank before them, and other blanks."""
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
    """Pieces as Hugging Face's `tokenizers` library cuts them, as a `tokenizer.json` describes.

    packed: that file, compressed, in base 64.

    Pieces have the library's own names, such as "Ġthe" or "##ing". Raises ValueError for what it cannot read, and where
    the library is not installed.
    """

    kind: ClassVar[str] = "tokenizer.json"
    packed: Annotated[str, Meta(min_length=1, max_length=LONGEST_PACKED)]

    def __post_init__(self) -> None:
        declared.check(self, "the tokenizer")

    @classmethod
    def of(cls, described: str) -> LibraryTokens:
        """The tokenizer that the text of a `tokenizer.json` describes."""
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
    """Turns what the tokenizers library raises into a ValueError: a plain Exception, and what is no Exception for a
    fault inside of it. What a file describes may be damaged where the library believes it."""
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise ValueError(
            f"the tokenizers library fails with what this model's tokenizer describes ({error!s:.200}): it is damaged"
        ) from None


@dataclass(frozen=True)
class _Library:
    """The library's tokenizer, and how much it may make of a text, and of tokens."""

    tokenizer: Any
    growth: Growth
    joining: Growth


@lru_cache(maxsize=8)
def _library_tokenizer(packed: str) -> _Library:
    """The library's tokenizer, without its padding and cutting off. Of another program's file nothing is run, and one
    that may make too much of a text is not read."""
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
    except Exception as error:  # the library raises plain ones
        raise ValueError(f"the tokenizers library cannot read this tokenizer.json ({error!s:.200})") from None
    made.no_padding()
    made.no_truncation()
    return _Library(made, growth, joining)


_WORDS = re.compile(rf" ?\S{{1,{LONGEST_RUN}}}|\s+")

TOKENIZERS: Mapping[str, type[Tokenizer]] = {
    cls.kind: cls for cls in (Characters, RegexTokens, SpacyWords, SubWords, LibraryTokens)
}


def tokenizer_from_dict(d: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer that `to_dict` described. Raises ValueError for an unknown kind or setting."""
    kind = declared.one_of("the tokenizer's kind", d.get("kind") if isinstance(d, Mapping) else None, TOKENIZERS)
    return declared.read(TOKENIZERS[kind], {key: d[key] for key in d if key != "kind"}, f"the {kind} tokenizer")
