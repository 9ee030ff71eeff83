"""The codec of one side of a model: text -> ids with the specials around them, and ids -> text."""

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
"""Between two texts that a model reads together."""


def both_of(text: str) -> tuple[str, str]:
    """The first and the second of two texts; "" for a second that is not there."""
    first, _, second = text.partition(PAIR)
    return first, second


def join_pair(first: str, second: str) -> str:
    """Two texts as one, as `both_of` parts them; the first alone without a second."""
    first = first.replace(PAIR, " ")
    return f"{first}{PAIR}{second}" if second.strip() else first


@dataclass(frozen=True)
class TokenizerOptions:
    """How a model's texts are read where it leaves a choice; without one, as its folder has it.

    language: what answers are in, source_language: what the text is in, by the model's own codes. special_tokens: a
    special token that is typed is one, instead of text. chat: the text is what a person says to the model, within its
    chat template.
    """

    language: str = ""
    source_language: str = ""
    special_tokens: bool = False
    chat: bool = False

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names of the choices that are made."""
        return tuple(name for name, value in asdict(self).items() if value)

    def only(self, names: Collection[str]) -> TokenizerOptions:
        """These choices alone."""
        return TokenizerOptions(**{name: value for name, value in asdict(self).items() if name in names})

    def words(self) -> list[str]:
        """What a caption says of it."""
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
"""Why a choice of `TokenizerOptions` cannot be made, by its name."""


def check_choices(how: TokenizerOptions, offered: Collection[str]) -> None:
    """Raise ValueError for a choice that is not among those `offered`."""
    for name in how.chosen:
        if name not in offered:
            raise ValueError(NO_CHOICE[name])


@dataclass(frozen=True)
class Encoded:
    """Ids as the model reads them, and beside each what it is called and what stood in the text.

    ids, tokens, originals: equally long. `tokens` are the vocabulary's names ("<unk>" for unknown text), `originals`
    what was typed (the token itself for specials), `unknown` the positions that the model reads as unknown.
    """

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    originals: tuple[str, ...]
    unknown: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ids)


class TextCodec(Protocol):
    """What runs and pages ask of the text side of a model. Our `Codec` is one; other programs have others."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each id is called, raw and each once."""
        ...

    @property
    def special_ids(self) -> frozenset[int]:
        """Start, end, padding and unknown token."""
        ...

    @property
    def start(self) -> int | None:
        """The id that an answer begins with, None without one."""
        ...

    @property
    def forced_start(self) -> tuple[int, ...]:
        """What every answer is made to begin with behind `start`, such as the token of a language."""
        ...

    @property
    def ends(self) -> frozenset[int]:
        """The ids that end an answer."""
        ...

    @property
    def banned(self) -> frozenset[int]:
        """The ids that no answer may have, whatever the model makes of them."""
        ...

    @property
    def rules(self) -> tuple[TokenRule, ...]:
        """What else keeps tokens from being written, by what was written before."""
        ...

    @property
    def beam_settings(self) -> BeamSettings | None:
        """What the model's own settings say of a beam search, None where it has none."""
        ...

    @property
    def padding(self) -> int | None: ...

    @property
    def unknown(self) -> int | None: ...

    @property
    def mask(self) -> int | None:
        """The id that stands where a model is to fill something in, None without one."""
        ...

    @property
    def adds_end(self) -> bool:
        """Whether `encode` puts an end token behind a text."""
        ...

    @property
    def splits_characters(self) -> bool:
        """Whether a token is a character, so that tokens join to words without marks."""
        ...

    @property
    def reads_pairs(self) -> bool:
        """Whether a text may be two, with `PAIR` between them."""
        ...

    @property
    def choices(self) -> Collection[str]:
        """What can be chosen of how texts are read: names of fields of `TokenizerOptions`."""
        ...

    @property
    def languages(self) -> Mapping[str, int]:
        """The languages that texts can be in, by the model's own codes, with the id of each one's token."""
        ...

    @property
    def how_read(self) -> TokenizerOptions:
        """How texts are read, as far as it was chosen."""
        ...

    def read_as(self, how: TokenizerOptions) -> TextCodec:
        """The same codec, whose texts are read so. Raises ValueError for what it does not offer."""
        ...

    def second(self, ids: Sequence[int]) -> int | None:
        """Where the second of two texts begins among these ids; None for one text."""
        ...

    def continuation(self, id: int) -> str | None:
        """What a token adds to the word that the token before it belongs to; None for one that begins a word, and for
        punctuation."""
        ...

    def encode(self, text: str) -> Encoded:
        """The ids of a text. Raises ValueError, in one sentence, for a text that cannot be read."""
        ...

    def encode_ids(self, ids: Iterable[int]) -> Encoded:
        """The ids exactly as given. Raises ValueError for none, and for one outside the vocabulary."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids, without start, end and padding."""
        ...


@dataclass(frozen=True)
class _Described:
    """A codec in JSON, without its vocabulary's tokens. specials: role -> token."""

    tokenizer: dict[str, Any]
    specials: dict[str, str]
    add_bos: bool
    add_eos: bool


@dataclass(frozen=True)
class Codec:
    """A tokenizer and a vocabulary; `add_bos` and `add_eos` say whether text gets a start and an end token.

    Raises ValueError if the vocabulary has no token for a special that is to be added.
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
        """No."""
        return False

    @property
    def choices(self) -> Collection[str]:
        """None."""
        return ()

    @property
    def languages(self) -> Mapping[str, int]:
        """None."""
        return {}

    @property
    def how_read(self) -> TokenizerOptions:
        """As always."""
        return AS_USUAL

    def read_as(self, how: TokenizerOptions) -> Codec:
        """Itself. Raises ValueError for any choice: there is none."""
        check_choices(how, ())
        return self

    def second(self, ids: Sequence[int]) -> int | None:
        """Nowhere."""
        return None

    def continuation(self, id: int) -> str | None:
        """Of a tokenizer that cuts words: what has no blank in front, but a sign without letters and figures. Of others
        nothing: a token is a word, or a character (`splits_characters`)."""
        name = self.names[id]
        if not self.tokenizer.cuts_words or id in self.special_ids or not is_of_a_word(name):
            return None
        return None if name[0].isspace() else name

    @property
    def forced_start(self) -> tuple[int, ...]:
        """Nothing."""
        return ()

    @property
    def banned(self) -> frozenset[int]:
        """None."""
        return frozenset()

    @property
    def rules(self) -> tuple[TokenRule, ...]:
        """None."""
        return ()

    @property
    def beam_settings(self) -> None:
        """None."""
        return

    @property
    def ends(self) -> frozenset[int]:
        """The ids that end an answer; a model of another program may have several."""
        return frozenset() if self.vocabulary.eos is None else frozenset({self.vocabulary.eos})

    def encode(self, text: str) -> Encoded:
        """The ids of a text. Unknown tokens get the unknown token's id and keep their text in `originals`.

        Text never turns into a special token: a typed "</s>" is unknown text. Where tokens are called by their ids, an
        id is no text: each can be typed. Half a surrogate pair, which no file
        and no screen can hold, is read as U+FFFD. Raises ValueError for a text without tokens, and for unknown text if
        the vocabulary has no unknown token.
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

        Raises ValueError for no ids, and for one that is no whole number or outside the vocabulary.
        """
        checked = check_ids(ids, len(self.vocabulary), least=1)
        return self._encoded(checked, [self.vocabulary.tokens[i] for i in checked])

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids, without start, end and padding tokens wherever they stand; "<unk>" is shown as such.

        Raises ValueError for an id outside the vocabulary.
        """
        vocabulary = self.vocabulary
        hidden = {vocabulary.bos, vocabulary.eos, vocabulary.pad}
        checked = check_ids(ids, len(self.vocabulary))
        return self.tokenizer.detokenize([vocabulary.tokens[i] for i in checked if i not in hidden])

    def to_dict(self) -> dict[str, Any]:
        """Everything but the vocabulary's tokens, ready for JSON."""
        return {
            "tokenizer": self.tokenizer.to_dict(),
            "specials": dict(self.vocabulary.specials),
            "add_bos": self.add_bos,
            "add_eos": self.add_eos,
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any], vocabulary: Vocabulary) -> Codec:
        """The codec that `to_dict` described, with this vocabulary's tokens; the specials come from `d`.

        Raises ValueError with the name of whatever is missing, unknown or wrong.
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
        special = token in vocabulary.specials.values() and token != str(vocabulary.id(token))  # its id is meant
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
    """The ids as Python's numbers. Raises ValueError for fewer than `least`, and for one that is no whole number or
    outside a vocabulary of this size."""
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
    """Whether a token of this name may be part of a word: it has a letter, a figure, or a byte `‹C3›` of a character
    that takes several."""
    without = _BYTE.sub("", name)
    return any(unicodedata.category(sign)[0] in "LMN" for sign in without) or any(
        int(byte, 16) >= 0x80 or chr(int(byte, 16)).isalnum() for byte in _BYTE.findall(name)
    )


_BYTE = re.compile("‹([0-9A-F]{2})›")
