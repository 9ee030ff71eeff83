"""Bounds how much text a tokenizer can produce, from its description.

A `tokenizer.json` is untrusted, and its library has no limits: a rule that replaces one space with a thousand, applied
three times, exhausts memory and kills the process. Each step multiplies a text's length by at most some factor.
"""

from __future__ import annotations

import unicodedata
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import orjson
from msgspec import Meta, Struct

from viz_transformer.declared import at_most, converted
from viz_transformer.sentences import quote
from viz_transformer.text.patterns import pattern_cost

MAX_TIMES = 2_000
"""Maximum characters from one; published tokenizers reach 650, by Unicode normalisation."""
MAX_GROWN = 2**21
"""Maximum characters of a whole text; each takes some twenty bytes temporarily."""
MAX_SEARCHED = 2**15
"""Maximum characters searched with a pattern that may take quadratic time."""
MAX_ADDED, MAX_PADDING = 2**16, 2**16
"""Maximum characters or tokens put around any text, and tokens of padding."""
LONGEST_WORD, LONGEST_TOKEN = 1_000, 1_000
"""Maximum characters of a word that is segmented by trying all splits (cubic time), and of a token."""
MAX_VALUES = 6_000_000
"""Maximum JSON values: 256,000 tokens and 580,000 merges take some two million."""
MAX_STEPS, MAX_DEPTH = 200, 20
"""Maximum steps of a description, and their nesting."""

_DECOMPOSED, _COMPATIBLE, _LOWERED = 4, 18, 2
"""Maximum characters from one under Unicode NFD and NFKD, and under lower-casing."""


@dataclass(frozen=True)
class Growth:
    """A bound: a text of n characters becomes at most times * n + more."""

    times: int = 1
    more: int = 0
    searched: bool = False  # whether a pattern may take quadratic time
    form: int = 1  # part of `times` due to Unicode normalisation, which does not multiply when repeated

    def by(self, times: int = 1, more: int = 0) -> Growth:
        """Add a step. Raises ValueError beyond MAX_TIMES or MAX_ADDED."""
        found = replace(self, times=self.times * times, more=self.more * times + more)
        at_most(found.times, MAX_TIMES, "it may make {} characters of one", "allowed")
        at_most(found.more, MAX_ADDED, "it puts {} characters around a text", "allowed")
        return found

    def chosen(self, content: str, times: int, more: int = 0) -> Growth:
        """Add a step that inserts `content`, which Unicode normalisation may expand again."""
        plain = all(len(unicodedata.normalize("NFKD", sign).lower()) == 1 for sign in content)
        return replace(self, form=self.form if plain else 1).by(times, more)

    def formed(self, times: int) -> Growth:
        """Add a Unicode normalisation."""
        level = max(self.form, times)
        return replace(self.by(-(-level // self.form)), form=level)

    def check(self, text: str) -> None:
        """Raise ValueError with one sentence for a text that may become too long."""
        most = MAX_SEARCHED if self.searched else MAX_GROWN
        if len(text) * self.times + self.more > most:
            raise ValueError(
                f"the text has {len(text):,} characters, this model's tokenizer takes at most"
                f" {max(0, (most - self.more) // self.times):,}: shorten it"
            )


def read_description(content: bytes) -> dict[str, Any]:
    """Parse a tokenizer.json. Raises ValueError if invalid or, before parsing, beyond MAX_VALUES values."""
    at_most(sum(content.count(sign) for sign in (b",", b"[", b"{")), MAX_VALUES, "it holds {} values", "read")
    try:
        found = orjson.loads(content)
    except ValueError as error:
        raise ValueError(f"it is not valid JSON ({error!s:.100})") from None
    return converted(dict[str, Any], found)


class _Pattern(Struct, forbid_unknown_fields=True):
    """One of both: a text as it is, or a regular expression."""

    String: str | None = None
    Regex: str | None = None

    def cost(self) -> tuple[int, bool]:
        """Characters that it matches at least, and whether to search for it may take the square of the text."""
        if self.Regex is not None and self.String is None:
            cost = pattern_cost(self.Regex)
            return cost.least, cost.searched
        if self.String is None or self.Regex is not None:
            raise ValueError("it has a pattern that is not one text or one regular expression")
        return len(self.String), False


class _Ids(Struct):
    ids: list[Any]


class _Named(Struct):
    id: str


class _Piece(Struct):
    """Part of a template: a whole text, or a special token."""

    Sequence: dict[str, Any] | None = None
    SpecialToken: _Named | None = None


class _Step(Struct):
    """A step of a tokenizer, with what any kind of step has that may make more of a text."""

    type: str
    normalizers: list[_Step] | None = None
    pretokenizers: list[_Step] | None = None
    processors: list[_Step] | None = None
    decoders: list[_Step] | None = None
    pattern: _Pattern | None = None
    content: str = ""
    prepend: str = ""
    precompiled_charsmap: str | None = None
    handle_chinese_chars: bool | None = None
    strip_accents: bool | None = None
    lowercase: bool | None = None
    add_prefix_space: bool | None = None
    prepend_scheme: str | None = None
    length: Annotated[int, Meta(ge=1)] = 5
    single: list[_Piece] = []
    pair: list[_Piece] = []
    special_tokens: dict[str, _Ids] | None = None


class _Model(Struct):
    vocab: Any = None
    max_input_chars_per_word: int | None = None
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    byte_fallback: bool | None = None


class _Added(Struct):
    content: str


class _Fixed(Struct):
    Fixed: Annotated[int, Meta(le=MAX_PADDING)]


class _Padding(Struct):
    strategy: str | _Fixed | None = None
    pad_to_multiple_of: Annotated[int, Meta(le=MAX_PADDING)] | None = None


class _Cutting(Struct):
    """What a tokenizer.json says of cutting texts."""

    model: _Model
    normalizer: _Step | None = None
    added_tokens: list[_Added] | None = None
    pre_tokenizer: _Step | None = None
    post_processor: _Step | None = None
    padding: _Padding | None = None


class _Joining(Struct):
    """What it says of joining tokens."""

    decoder: _Step | None = None


def growth_of(described: Mapping[str, Any]) -> Growth:
    """Bound for tokenizing, from the content of a tokenizer.json.

    Raises ValueError with one sentence on the tokenizer beyond the limits and for unknown steps.
    """
    told, walk = converted(_Cutting, described), _Walk()
    growth = walk.along(told.normalizer, _NORMALIZERS, "normalizers", Growth())
    _check_added([each.content for each in told.added_tokens or []], growth)
    growth = walk.along(told.pre_tokenizer, _PRE_TOKENIZERS, "pretokenizers", growth)
    growth = _cut(told.model, growth)
    return walk.along(told.post_processor, _PROCESSORS, "processors", replace(growth, form=1))


def joining_growth(described: Mapping[str, Any]) -> Growth:
    """Bound for joining tokens into a text."""
    return _Walk().along(converted(_Joining, described).decoder, _DECODERS, "decoders", Growth())


class _Walk:
    """Along all steps of a description."""

    def __init__(self) -> None:
        self.steps = 0

    def along(
        self, step: _Step | None, kinds: Mapping[str, _Kind], inner: str, growth: Growth, depth: int = 0
    ) -> Growth:
        """What is made by a step of one of these kinds, or by a sequence of such."""
        if step is None:
            return growth
        self.steps += 1
        if self.steps > MAX_STEPS or depth > MAX_DEPTH:
            raise ValueError(f"it has more than {MAX_STEPS} steps, or steps within steps without end")
        within: list[_Step] | None = getattr(step, inner)
        if step.type == "Sequence":
            if within is None:
                raise ValueError(f"it has a sequence without {inner}")
            for each in within:
                growth = self.along(each, kinds, inner, growth, depth + 1)
            return growth
        if step.type not in kinds:
            raise ValueError(f"it has a step {quote(step.type)}, which is not known here")
        return kinds[step.type](step, growth)


_Kind = Callable[[_Step, Growth], Growth]


def _same(step: _Step, growth: Growth) -> Growth:
    return growth


def _form(times: int) -> _Kind:
    return lambda _, growth: growth.formed(times)


def _times(times: int, more: int = 0) -> _Kind:
    return lambda _, growth: growth.by(times, more)


def _bert(step: _Step, growth: Growth) -> Growth:
    growth = growth.by(3) if step.handle_chinese_chars is not False else growth
    return growth.formed(_DECOMPOSED) if step.strip_accents or step.lowercase else growth


def _replaced(step: _Step, growth: Growth) -> Growth:
    least, searched = (step.pattern or _Pattern()).cost()
    size = len(step.content)
    grown = growth.chosen(step.content, max(1, -(-size // least)) if least else size + 1, size)
    return replace(grown, searched=grown.searched or searched)


def _split(step: _Step, growth: Growth) -> Growth:
    _, searched = (step.pattern or _Pattern()).cost()
    return replace(growth, searched=growth.searched or searched)


def _precompiled(step: _Step, growth: Growth) -> Growth:
    try:
        table = b64decode(step.precompiled_charsmap or "", validate=True)
    except ValueError:
        raise ValueError("it has a table of characters that cannot be read") from None
    return charsmap_growth(table, growth)


def charsmap_growth(table: bytes, growth: Growth | None = None) -> Growth:
    """Add a sentencepiece character map (trie length, trie, replacement texts)."""
    texts = table[4 + int.from_bytes(table[:4], "little") :].decode("utf-8", "replace").split("\0")
    longest = max(texts, key=len)
    return (growth or Growth()).chosen("ﷺ", max(1, len(longest)))


def _prepended(step: _Step, growth: Growth) -> Growth:
    return growth.chosen(step.prepend, 1, len(step.prepend))


def _bytes(step: _Step, growth: Growth) -> Growth:
    """Each byte becomes a character; each earlier piece may get a space."""
    return growth.by(4 if step.add_prefix_space is False else 8, 4)


def _spaces(step: _Step, growth: Growth) -> Growth:
    """Each earlier piece may get a mark."""
    return growth.by(1 if step.prepend_scheme in ("first", "never") else 2, 1)


def _cut(model: _Model, growth: Growth) -> Growth:
    """Bound for a model's pieces with their prefixes and suffixes."""
    tokens = model.vocab or ()
    if isinstance(tokens, list):
        tokens = [each[0] for each in tokens if isinstance(each, list) and each]
    _check_longest(each for each in tokens if isinstance(each, str))
    at_most(model.max_input_chars_per_word or 0, LONGEST_WORD, "it cuts words of up to {} characters", "cut")
    more = len(model.continuing_subword_prefix or "") + len(model.end_of_word_suffix or "")
    at_most(more, MAX_TIMES, "it puts {} characters around each piece", "allowed")
    return growth.by(4 if model.byte_fallback else 1)


def _check_longest(tokens: Iterable[str]) -> None:
    at_most(max(map(len, tokens), default=0), LONGEST_TOKEN, "it has a token of {} characters", "read")


def _check_added(tokens: list[str], growth: Growth) -> None:
    """Raise ValueError for added tokens, which the library passes through all steps on reading."""
    _check_longest(tokens)
    if sum(map(len, tokens)) * growth.times > MAX_GROWN:
        raise ValueError(f"the steps before may make more than {MAX_GROWN:,} characters of its added tokens")


def _template(step: _Step, growth: Growth) -> Growth:
    sizes = {name: len(each.ids) for name, each in (step.special_tokens or {}).items()}
    times, more = 1, 0
    for parts in (step.single, step.pair):
        specials = [part.SpecialToken.id for part in parts if part.SpecialToken is not None]
        times = max(times, sum(part.Sequence is not None for part in parts))
        more = max(more, sum(sizes.get(name, 1) for name in specials))
    return growth.by(times, more)


_NORMALIZERS: Mapping[str, _Kind] = {
    "BertNormalizer": _bert,
    "Strip": _same,
    "StripAccents": _same,
    "Nmt": _same,
    "NFC": _form(_DECOMPOSED),
    "NFD": _form(_DECOMPOSED),
    "NFKC": _form(_COMPATIBLE),
    "NFKD": _form(_COMPATIBLE),
    "Lowercase": _form(_LOWERED),
    "Precompiled": _precompiled,
    "Replace": _replaced,
    "Prepend": _prepended,
    "ByteLevel": _bytes,
}
_PRE_TOKENIZERS: Mapping[str, _Kind] = {
    "ByteLevel": _bytes,
    "Metaspace": _spaces,
    "Split": _split,
    **dict.fromkeys(("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Punctuation", "Digits"), _same),
    **dict.fromkeys(("UnicodeScripts", "CharDelimiterSplit", "Delimiter"), _same),
    "FixedLength": _same,
}
_PROCESSORS: Mapping[str, _Kind] = {
    "TemplateProcessing": _template,
    "BertProcessing": _times(1, 3),
    "RobertaProcessing": _times(1, 4),
    "ByteLevel": _same,
}
_DECODERS: Mapping[str, _Kind] = {
    **dict.fromkeys(("ByteLevel", "ByteFallback", "Fuse", "Strip", "Metaspace"), _same),
    **dict.fromkeys(("WordPiece", "BPEDecoder", "CTC"), _times(2, 2)),
    "Replace": _replaced,
}
