"""Bounds how much text a tokenizer can produce, from its description.

A `tokenizer.json` is untrusted, and its library has no limits: a rule that replaces one space with a thousand, applied
three times, exhausts memory and kills the process. Each step multiplies a text's length by at most some factor.
"""

from __future__ import annotations

import unicodedata
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import orjson

from viz_transformer.declared import at_most, within
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
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


def growth_of(described: Mapping[str, Any]) -> Growth:
    """Bound for tokenizing, from the content of a tokenizer.json.

    Raises ValueError with one sentence on the tokenizer beyond the limits and for unknown steps.
    """
    with _damage_said():
        return _growth(described)


@contextmanager
def _damage_said() -> Iterator[None]:
    """Turn errors from a damaged description into one sentence."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, StopIteration) as error:
        raise ValueError(f"its description is damaged ({error!s:.100})") from None


def _growth(described: Mapping[str, Any]) -> Growth:
    reader = _Description()
    growth = reader.walked(described.get("normalizer"), _NORMALIZERS, "normalizers", Growth())
    _check_added(described.get("added_tokens"), growth)
    growth = reader.walked(described.get("pre_tokenizer"), _PRE_TOKENIZERS, "pretokenizers", growth)
    growth = _cut(described.get("model"), growth)
    growth = reader.walked(described.get("post_processor"), _PROCESSORS, "processors", replace(growth, form=1))
    _check_padding(described.get("padding"))
    return growth


def joining_growth(described: Mapping[str, Any]) -> Growth:
    """Bound for joining tokens into a text."""
    with _damage_said():
        return _Description().walked(described.get("decoder"), _DECODERS, "decoders", Growth())


class _Description:
    def __init__(self) -> None:
        self.steps = 0

    def walked(self, step: Any, kinds: Mapping[str, _Step], inner: str, growth: Growth, depth: int = 0) -> Growth:
        """Bound after a step of one of these kinds, or a sequence of them."""
        if step is None:
            return growth
        self.steps += 1
        if self.steps > MAX_STEPS or depth > MAX_DEPTH:
            raise ValueError(f"it has more than {MAX_STEPS} steps, or steps within steps without end")
        kind = step.get("type") if isinstance(step, Mapping) else None
        if kind == "Sequence":
            for each in _list(step.get(inner), inner):
                growth = self.walked(each, kinds, inner, growth, depth + 1)
            return growth
        if not isinstance(kind, str) or kind not in kinds:
            raise ValueError(f"it has a step {quote(kind)}, which is not known here")
        return kinds[kind](step, growth)


_Step = Callable[[Mapping[str, Any], Growth], Growth]


def _same(step: Mapping[str, Any], growth: Growth) -> Growth:
    return growth


def _form(times: int) -> _Step:
    return lambda _, growth: growth.formed(times)


def _times(times: int, more: int = 0) -> _Step:
    return lambda _, growth: growth.by(times, more)


def _bert(step: Mapping[str, Any], growth: Growth) -> Growth:
    growth = growth.by(3) if step.get("handle_chinese_chars") is not False else growth
    return growth.formed(_DECOMPOSED) if step.get("strip_accents") or step.get("lowercase") else growth


def _replaced(step: Mapping[str, Any], growth: Growth) -> Growth:
    content = _text(step.get("content"), "content")
    least, searched = _pattern(step.get("pattern"))
    grown = growth.chosen(content, max(1, -(-len(content) // least)) if least else len(content) + 1, len(content))
    return replace(grown, searched=grown.searched or searched)


def _pattern(given: Any) -> tuple[int, bool]:
    """Minimum characters that a pattern matches, and whether searching may take quadratic time."""
    if isinstance(given, Mapping) and len(given) == 1:
        ((kind, pattern),) = given.items()
        if kind == "String":
            return len(_text(pattern, "pattern")), False
        if kind == "Regex":
            cost = pattern_cost(_text(pattern, "pattern"))
            return cost.least, cost.searched
    raise ValueError(f"it has the pattern {quote(given)}, which is not one of a tokenizer")


def _split(step: Mapping[str, Any], growth: Growth) -> Growth:
    _, searched = _pattern(step.get("pattern"))
    return replace(growth, searched=growth.searched or searched)


def _precompiled(step: Mapping[str, Any], growth: Growth) -> Growth:
    given = step.get("precompiled_charsmap")
    try:
        return charsmap_growth(b64decode(given or "", validate=True), growth)
    except (TypeError, ValueError) as error:
        if "allowed" in str(error):
            raise
        raise ValueError("it has a table of characters that cannot be read") from None


def charsmap_growth(table: bytes, growth: Growth | None = None) -> Growth:
    """Add a sentencepiece character map (trie length, trie, replacement texts)."""
    texts = table[4 + int.from_bytes(table[:4], "little") :].decode("utf-8", "replace").split("\0")
    longest = max(texts, key=len)
    return (growth or Growth()).chosen("ﷺ", max(1, len(longest)))


def _prepended(step: Mapping[str, Any], growth: Growth) -> Growth:
    content = _text(step.get("prepend"), "prepend")
    return growth.chosen(content, 1, len(content))


def _bytes(step: Mapping[str, Any], growth: Growth) -> Growth:
    """Each byte becomes a character; each earlier piece may get a space."""
    return growth.by(4 if step.get("add_prefix_space") is False else 8, 4)


def _spaces(step: Mapping[str, Any], growth: Growth) -> Growth:
    """Each earlier piece may get a mark."""
    return growth.by(1 if step.get("prepend_scheme") in ("first", "never") else 2, 1)


def _lengths(step: Mapping[str, Any], growth: Growth) -> Growth:
    length = step.get("length", 5)
    if type(length) is not int or length < 1:
        raise ValueError(f"it cuts pieces of the length {quote(length)}")
    return growth


def _cut(model: Any, growth: Growth) -> Growth:
    """Bound for a model's pieces with their prefixes and suffixes."""
    if not isinstance(model, Mapping):
        raise ValueError("it has no model")
    tokens = model.get("vocab") or ()
    if isinstance(tokens, list):
        tokens = [each[0] for each in tokens if isinstance(each, list) and each]
    _check_longest(each for each in tokens if isinstance(each, str))
    word = model.get("max_input_chars_per_word")
    at_most(word if type(word) is int else 0, LONGEST_WORD, "it cuts words of up to {} characters", "cut")
    around = (model.get(name) for name in ("continuing_subword_prefix", "end_of_word_suffix"))
    more = sum(len(_text(each, "prefix")) for each in around if each is not None)
    at_most(more, MAX_TIMES, "it puts {} characters around each piece", "allowed")
    return growth.by(4 if model.get("byte_fallback") is True else 1)


def _check_longest(tokens: Iterable[str]) -> None:
    at_most(max(map(len, tokens), default=0), LONGEST_TOKEN, "it has a token of {} characters", "read")


def _check_added(tokens: Any, growth: Growth) -> None:
    """Raise ValueError for added tokens, which the library passes through all steps on reading."""
    given = [_text(each.get("content"), "content") for each in _list(tokens or [], "added_tokens")]
    _check_longest(given)
    if sum(map(len, given)) * growth.times > MAX_GROWN:
        raise ValueError(f"the steps before may make more than {MAX_GROWN:,} characters of its added tokens")


def _template(step: Mapping[str, Any], growth: Growth) -> Growth:
    specials = step.get("special_tokens")
    sizes = {name: len(_list(each.get("ids"), "ids")) for name, each in (specials or {}).items()}
    times, more = 1, 0
    for which in ("single", "pair"):
        parts = _list(step.get(which), which)
        kinds = [next(iter(part)) if isinstance(part, Mapping) and part else "" for part in parts]
        times = max(times, kinds.count("Sequence"))
        more = max(more, sum(sizes.get(part["SpecialToken"]["id"], 1) for part in parts if "SpecialToken" in part))
    return growth.by(times, more)


def _check_padding(padding: Any) -> None:
    """Raise ValueError for excessive padding."""
    if padding is None:
        return
    strategy = padding.get("strategy")
    sizes = [padding.get("pad_to_multiple_of"), strategy.get("Fixed") if isinstance(strategy, Mapping) else None]
    if any(size is not None and (type(size) is not int or size > MAX_PADDING) for size in sizes):
        raise ValueError(f"it fills texts up to more than {MAX_PADDING:,} tokens")


def _list(given: Any, name: str) -> list[Any]:
    within(f"its {name}", given, list)
    return list(given)


def _text(given: Any, name: str) -> str:
    within(f"its {name}", given, str)
    return str(given)


_NORMALIZERS: Mapping[str, _Step] = {
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
_PRE_TOKENIZERS: Mapping[str, _Step] = {
    "ByteLevel": _bytes,
    "Metaspace": _spaces,
    "Split": _split,
    **dict.fromkeys(("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Punctuation", "Digits"), _same),
    **dict.fromkeys(("UnicodeScripts", "CharDelimiterSplit", "Delimiter"), _same),
    "FixedLength": _lengths,
}
_PROCESSORS: Mapping[str, _Step] = {
    "TemplateProcessing": _template,
    "BertProcessing": _times(1, 3),
    "RobertaProcessing": _times(1, 4),
    "ByteLevel": _same,
}
_DECODERS: Mapping[str, _Step] = {
    **dict.fromkeys(("ByteLevel", "ByteFallback", "Fuse", "Strip", "Metaspace"), _same),
    **dict.fromkeys(("WordPiece", "BPEDecoder", "CTC"), _times(2, 2)),
    "Replace": _replaced,
}
