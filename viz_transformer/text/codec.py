"""The codec of one side of a model: text -> ids with special tokens, and ids -> text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import index
from typing import Any, Protocol

from viz_transformer import declared
from viz_transformer.sentences import quote
from viz_transformer.text.rules import BeamSettings, TokenRule
from viz_transformer.text.tokenizers import Tokenizer, tokenizer_from_dict
from viz_transformer.text.vocabulary import Vocabulary

PAIR = "\t"
"""Separator between two texts that a model reads together."""


def both_of(text: str) -> tuple[str, str]:
    """Split into first and second text; "" if there is no second."""
    first, _, second = text.partition(PAIR)
    return first, second


def join_pair(first: str, second: str) -> str:
    """Join two texts for `both_of`; without a second, the first alone."""
    first = first.replace(PAIR, " ")
    return f"{first}{PAIR}{second}" if second.strip() else first


@dataclass(frozen=True)
class TokenizerOptions:
    """Options of reading texts; defaults as in the model's folder."""

    language: str = ""  # language of the answer, by the model's own code
    source_language: str = ""  # language of the text, by the model's own code
    special_tokens: bool = False  # read a typed special token as such, not as text
    chat: bool = False  # put the text into the model's chat template

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the options that are set."""
        return tuple(name for name, value in asdict(self).items() if value)

    def only(self, names: Collection[str]) -> TokenizerOptions:
        return TokenizerOptions(**{name: value for name, value in asdict(self).items() if name in names})

    def words(self) -> list[str]:
        """The options in words, for a caption."""
        return [
            *([f"from {self.source_language}"] if self.source_language else []),
            *([f"into {self.language}"] if self.language else []),
            *(["special tokens as typed"] if self.special_tokens else []),
            *(["as a chat"] if self.chat else []),
        ]


AS_USUAL = TokenizerOptions()
NO_CHOICE = {
    "language": "this model has no tokens of languages, so none can be chosen",
    "source_language": "this model has no tokens of languages, so none can be chosen",
    "special_tokens": "text of this model never turns into a special token",
    "chat": "this model has no chat template",
}
"""Error message for an unavailable option, by name."""


def check_choices(how: TokenizerOptions, offered: Collection[str]) -> None:
    """Raise ValueError for an option that is not in `offered`."""
    for name in how.chosen:
        if name not in offered:
            raise ValueError(NO_CHOICE[name])


@dataclass(frozen=True)
class Encoded:
    """A text as ids. ids, tokens and originals are equally long."""

    ids: tuple[int, ...]
    tokens: tuple[str, ...]  # vocabulary names ("<unk>" for unknown text)
    originals: tuple[str, ...]  # what was typed; the token itself for special tokens
    unknown: tuple[int, ...]  # positions read as unknown

    def __len__(self) -> int:
        return len(self.ids)


class TextCodec(Protocol):
    """The text side of a model, for runs and pages. Our `Codec` implements it; so do codecs of other programs."""

    @property
    def names(self) -> tuple[str, ...]:
        """Unique raw name of each id."""

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids of the start, end, padding and unknown tokens."""

    @property
    def start(self) -> int | None:
        """Id that begins an answer, or None."""

    @property
    def forced_start(self) -> tuple[int, ...]:
        """Ids forced after `start`, such as a language token."""

    @property
    def ends(self) -> frozenset[int]:
        """Ids that end an answer."""

    @property
    def banned(self) -> frozenset[int]:
        """Ids that an answer must never contain."""

    @property
    def rules(self) -> tuple[TokenRule, ...]:
        """Rules that exclude tokens depending on what was written."""

    @property
    def beam_settings(self) -> BeamSettings | None:
        """The model's own beam search settings, or None."""

    @property
    def padding(self) -> int | None: ...

    @property
    def unknown(self) -> int | None: ...

    @property
    def mask(self) -> int | None:
        """Id of the mask token, or None."""

    @property
    def adds_end(self) -> bool:
        """Whether `encode` appends an end token."""

    @property
    def splits_characters(self) -> bool:
        """Whether tokens are characters, so that words join without marks."""

    @property
    def reads_pairs(self) -> bool:
        """Whether a text may be two, separated by `PAIR`."""

    @property
    def choices(self) -> Collection[str]:
        """Available options: names of `TokenizerOptions` fields."""

    @property
    def languages(self) -> Mapping[str, int]:
        """Supported languages, by the model's own codes, with the ids of their tokens."""

    @property
    def how_read(self) -> TokenizerOptions:
        """The options in use."""

    def read_as(self, how: TokenizerOptions) -> TextCodec:
        """The same codec with these options. Raises ValueError for unavailable ones."""

    def second(self, ids: Sequence[int]) -> int | None:
        """Index at which the second of two texts begins; None for one text."""

    def continuation(self, id: int) -> str | None:
        """What a token adds to the previous token's word; None if it starts a word or is punctuation."""

    def encode(self, text: str) -> Encoded:
        """Ids of a text. Raises ValueError with one sentence for a text that cannot be read."""

    def encode_ids(self, ids: Iterable[int]) -> Encoded:
        """The ids exactly as given. Raises ValueError for none, and outside the vocabulary."""

    def decode(self, ids: Iterable[int]) -> str:
        """Text of the ids, without start, end and padding tokens."""


@dataclass(frozen=True)
class _Described:
    """A codec as JSON, without the vocabulary's tokens. specials: role -> token."""

    tokenizer: dict[str, Any]
    specials: dict[str, str]
    add_bos: bool
    add_eos: bool


@dataclass(frozen=True)
class Codec:
    """A tokenizer and a vocabulary. add_bos, add_eos: whether text gets a start and an end token.

    Raises ValueError if the vocabulary lacks a special token to be added.
    """

    tokenizer: Tokenizer
    vocabulary: Vocabulary
    add_bos: bool = True
    add_eos: bool = True

    def __post_init__(self) -> None:
        for role in ("bos", "eos"):
            declared.within(f"add_{role}", getattr(self, f"add_{role}"), bool)
            if getattr(self, f"add_{role}") and role not in self.vocabulary.specials:
                raise ValueError(f"add_{role} is true, but the vocabulary names no {role!r} token")

    @property
    def names(self) -> tuple[str, ...]:
        return self.vocabulary.tokens

    @property
    def special_ids(self) -> frozenset[int]:
        return self.vocabulary.special_ids

    @property
    def start(self) -> int | None:
        return self.vocabulary.bos

    @property
    def padding(self) -> int | None:
        return self.vocabulary.pad

    @property
    def unknown(self) -> int | None:
        return self.vocabulary.unk

    @property
    def mask(self) -> int | None:
        return None

    @property
    def adds_end(self) -> bool:
        return self.add_eos and self.vocabulary.eos is not None

    @property
    def splits_characters(self) -> bool:
        return self.tokenizer.kind == "characters"

    @property
    def reads_pairs(self) -> bool:
        return False

    @property
    def choices(self) -> Collection[str]:
        return ()

    @property
    def languages(self) -> Mapping[str, int]:
        return {}

    @property
    def how_read(self) -> TokenizerOptions:
        return AS_USUAL

    def read_as(self, how: TokenizerOptions) -> Codec:
        """Itself. Raises ValueError for any option."""
        check_choices(how, ())
        return self

    def second(self, ids: Sequence[int]) -> int | None:
        return None

    def continuation(self, id: int) -> str | None:
        """A subword token without a leading space, unless it is a symbol; None for other tokenizers.

        There, tokens are words or characters (`splits_characters`).
        """
        name = self.names[id]
        if not self.tokenizer.cuts_words or id in self.special_ids or not is_of_a_word(name):
            return None
        return None if name[0].isspace() else name

    @property
    def forced_start(self) -> tuple[int, ...]:
        return ()

    @property
    def banned(self) -> frozenset[int]:
        return frozenset()

    @property
    def rules(self) -> tuple[TokenRule, ...]:
        return ()

    @property
    def beam_settings(self) -> None:
        return

    @property
    def ends(self) -> frozenset[int]:
        """Ids that end an answer: the end token, if there is one."""
        return frozenset() if self.vocabulary.eos is None else frozenset({self.vocabulary.eos})

    def encode(self, text: str) -> Encoded:
        """Ids of a text. Unknown tokens get the unknown id and keep their text in `originals`.

        Special tokens typed as text are unknown text, except where tokens are named by their ids. A lone surrogate is
        read as U+FFFD. Raises ValueError for a text without tokens, and for unknown text without an unknown token.
        """
        vocabulary = self.vocabulary
        originals = self.tokenizer.split(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        if not originals:
            raise ValueError("the text is empty: type at least one character")
        ids = [self._text_id(self.tokenizer.normalise(original)) for original in originals]
        if self.add_bos and vocabulary.bos is not None:
            ids.insert(0, vocabulary.bos)
            originals.insert(0, vocabulary.tokens[vocabulary.bos])
        if self.add_eos and vocabulary.eos is not None:
            ids.append(vocabulary.eos)
            originals.append(vocabulary.tokens[vocabulary.eos])
        return self._encoded(ids, originals)

    def encode_ids(self, ids: Iterable[int]) -> Encoded:
        """The ids exactly as given, nothing added or dropped.

        Raises ValueError for no ids, non-integers, and ids outside the vocabulary.
        """
        checked = check_ids(ids, len(self.vocabulary), least=1)
        return self._encoded(checked, [self.vocabulary.tokens[i] for i in checked])

    def decode(self, ids: Iterable[int]) -> str:
        """Text of the ids, without start, end and padding tokens; "<unk>" is shown.

        Raises ValueError for an id outside the vocabulary.
        """
        vocabulary = self.vocabulary
        hidden = {vocabulary.bos, vocabulary.eos, vocabulary.pad}
        checked = check_ids(ids, len(self.vocabulary))
        return self.tokenizer.detokenize([vocabulary.tokens[i] for i in checked if i not in hidden])

    def to_dict(self) -> dict[str, Any]:
        """JSON values, without the vocabulary's tokens."""
        return {
            "tokenizer": self.tokenizer.to_dict(),
            "specials": dict(self.vocabulary.specials),
            "add_bos": self.add_bos,
            "add_eos": self.add_eos,
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any], vocabulary: Vocabulary) -> Codec:
        """Inverse of `to_dict`, with the vocabulary's tokens and the specials of `d`.

        Raises ValueError naming anything missing, unknown or wrong.
        """
        told = declared.read(_Described, d, "the codec")
        return cls(
            tokenizer_from_dict(told.tokenizer),
            Vocabulary(vocabulary.tokens, told.specials),
            add_bos=told.add_bos,
            add_eos=told.add_eos,
        )

    def _text_id(self, token: str) -> int:
        vocabulary = self.vocabulary
        special = token in vocabulary.specials.values() and token != str(vocabulary.id(token))  # typed as an id
        if vocabulary.unk is None and (special or token not in vocabulary):
            if special:
                raise ValueError(
                    f"{token!r:.40} is a special token of this model, which no text can contain: remove it"
                )
            raise ValueError(f"this model does not know {token!r:.40}: it reads {vocabulary.in_words()}")
        return vocabulary.unk if special and vocabulary.unk is not None else vocabulary.id(token)

    def _encoded(self, ids: list[int], originals: list[str]) -> Encoded:
        vocabulary = self.vocabulary
        return Encoded(
            ids=tuple(ids),
            tokens=tuple(vocabulary.tokens[i] for i in ids),
            originals=tuple(originals),
            unknown=tuple(position for position, i in enumerate(ids) if i == vocabulary.unk),
        )


def check_ids(ids: Iterable[int], size: int, least: int = 0) -> list[int]:
    """The ids as ints. Raises ValueError for fewer than `least`, non-integers, and ids outside the vocabulary."""
    checked = []
    for given in ids:
        try:
            checked.append(index(None if isinstance(given, bool) else given))  # type: ignore[arg-type]
        except TypeError:
            raise ValueError(f"{given!r:.40} is not a token id: ids are whole numbers") from None
        if not 0 <= checked[-1] < size:
            raise ValueError(f"id {quote(checked[-1])} is outside the vocabulary: ids go from 0 to {size - 1}")
    if len(checked) < least:
        raise ValueError("the list of ids is empty: give at least one id")
    return checked


def is_of_a_word(name: str) -> bool:
    """Whether a token can be part of a word: it has a letter, a digit, or a byte `‹C3›` of a multi-byte character."""
    without = _BYTE.sub("", name)
    return any(unicodedata.category(sign)[0] in "LMN" for sign in without) or any(
        int(byte, 16) >= 0x80 or chr(int(byte, 16)).isalnum() for byte in _BYTE.findall(name)
    )


_BYTE = re.compile("‹([0-9A-F]{2})›")
