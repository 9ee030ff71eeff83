"""The text side of a transformers model: its own tokenizer, with readable token names."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal, NamedTuple

import transformers
from msgspec import Meta
from transformers import GenerationConfig, PreTrainedConfig, PreTrainedTokenizerBase
from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

from viz_transformer.checkpoint.files import CheckpointError, explaining, read_bytes, read_json_object
from viz_transformer.checkpoint.importers.pieces import pieces_charsmap
from viz_transformer.declared import Count, CountOrZero
from viz_transformer.huggingface.chat import chat_ids
from viz_transformer.huggingface.folder import GENERATION, PIECES, TOKENIZER, TOKENIZER_CONFIG, HuggingFaceSummary
from viz_transformer.huggingface.hooked_model import HuggingFaceModel, second_text
from viz_transformer.huggingface.numbers import check_setting
from viz_transformer.sentences import join_names, put_on_one_line, quote, shorten
from viz_transformer.text.codec import (
    AS_USUAL,
    PAIR,
    Encoded,
    TokenizerOptions,
    check_choices,
    check_ids,
    is_of_a_word,
)
from viz_transformer.text.growth import Growth, charsmap_growth, growth_of, joining_growth, read_description
from viz_transformer.text.rules import BadWords, BeamSettings, NoRepeatedGram, NotTooShort, Suppressed, TokenRule
from viz_transformer.text.tokenizers import panics_said

_LANGUAGE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")  # NLLB, which has no list of them
_CONTROL = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f\\udc80-\\udcff]")
_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
MAX_TOKENIZER_BYTES = 64 * 2**20
"""Limit for a tokenizer.json: one with 262,000 tokens has 33 MB."""
NAMED = 3
"""Number of tokens to name in a sentence."""
_SAVE_AGAIN = "): save it again with tokenizer.save_pretrained"
NOT_APPLIED: dict[str, tuple[Any, ...]] = {
    "num_beams": (1, None),
    "do_sample": (False, None),
    "repetition_penalty": (1.0, None),
    "encoder_repetition_penalty": (1.0, None),
    "encoder_no_repeat_ngram_size": (0, None),
    "forced_eos_token_id": (None,),
    "sequence_bias": (None, {}),
    "exponential_decay_length_penalty": (None,),
    "guidance_scale": (None, 1, 1.0),
    "watermarking_config": (None,),
    "penalty_alpha": (None,),
    "num_beam_groups": (1, None),
    "diversity_penalty": (0.0, None),
}
"""Ignored settings of a generation_config, with the values that turn each off: the person chooses the strategy."""


def read_tokenizer(folder: Path, summary: HuggingFaceSummary, config: PreTrainedConfig) -> PreTrainedTokenizerBase:
    """The folder's tokenizer. Raises CheckpointError if it is unreadable, empty, or has ids without embeddings.

    Added tokens may lack an embedding if the tokenizer does not put them around every text.
    """
    _check_class(folder, config)
    _check_growth(folder)
    unread = f"{folder} has a tokenizer that transformers does not read ("
    with explaining(unread, _SAVE_AGAIN, Exception), panics_said():  # untrusted files: it may raise anything
        found: PreTrainedTokenizerBase = transformers.AutoTokenizer.from_pretrained(
            folder, config=config, mistral_format=False, local_files_only=True, trust_remote_code=False
        )
    with explaining(unread, _SAVE_AGAIN), _failures_said():
        own = set(found.get_vocab()) - set(found.all_special_tokens)
    if not own:
        raise CheckpointError(f"{folder} has a tokenizer with an empty vocabulary: {_AGAIN}")
    spec = summary.spec
    rows = min(size for size in (spec.source_vocab_size, spec.target_vocab_size) if size is not None)
    rowless = _rowless(found, rows)
    if rowless.keys() - found.added_tokens_decoder:
        raise CheckpointError(
            f"{folder} has a tokenizer with ids up to {max(rowless):,}, the model has embeddings of {rows:,} tokens: it"
            f" is another model's, so {_AGAIN}"
        )
    with explaining(unread, _SAVE_AGAIN, Exception), panics_said():  # steps that fit nothing
        around = found("")["input_ids"] if rowless else []
    if always := next((id for id in around if id in rowless), None):
        raise CheckpointError(
            f"{folder} has a tokenizer that puts {quote(rowless[always])} (id {always:,}) around each text, and the"
            f" model has embeddings of {rows:,} tokens: {_GIVE_ROWS}"
        )
    return found


def _check_growth(folder: Path) -> None:
    """Raise CheckpointError for a tokenizer that could exhaust memory, before reading it.

    Reading already applies its steps to added tokens.
    """
    path = folder / TOKENIZER
    with explaining(f"{folder} {_NOT_USED}"):
        if path.is_file():
            content = read_bytes(path, MAX_TOKENIZER_BYTES + 1)
            if len(content) > MAX_TOKENIZER_BYTES:
                raise ValueError(f"it has more than {MAX_TOKENIZER_BYTES // 2**20} MiB")
            described = read_description(content)
            growth_of(described)
            joining_growth(described)
        _pieces_growth(folder)


def _pieces_growth(folder: Path) -> Growth:
    """The largest growth of the sentencepiece models in a folder."""
    found = Growth()
    for path in (folder / name for name in PIECES):
        if path.is_file():
            found = max(found, charsmap_growth(pieces_charsmap(path)), key=lambda growth: growth.times)
    return found.by(2, 1)


def _growth(tokenizer: PreTrainedTokenizerBase, folder: Path) -> tuple[Growth, Growth]:
    """Growth of tokenizing a text, as transformers configures it, and of joining tokens."""
    backend = _backend(tokenizer)
    if backend is None:
        return _pieces_growth(folder), Growth(2, 2)
    steps = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
    parts = {name: part for name in steps if (part := getattr(backend, name)) is not None}
    described: dict[str, Any] = {name: json.loads(part.__getstate__()) for name, part in parts.items()}
    described["model"] = {"byte_fallback": getattr(backend.model, "byte_fallback", False)}
    return growth_of(described), joining_growth(described)


def _check_class(folder: Path, config: PreTrainedConfig) -> None:
    """Raise CheckpointError if the tokenizer class is not one: transformers would use any class of that name."""
    path = folder / TOKENIZER_CONFIG
    settings = read_json_object(path) if path.is_file() else {}
    for name in (settings.get("tokenizer_class"), getattr(config, "tokenizer_class", None)):
        if name is None:
            continue
        if isinstance(name, str) and _TOKENIZER.fullmatch(name):
            cls = tokenizer_class_from_name(name)
            if cls is None or (isinstance(cls, type) and issubclass(cls, PreTrainedTokenizerBase)):
                continue
        raise CheckpointError(
            f"{folder} names {quote(name)} as the class of its tokenizer, which is not one of transformers': {_AGAIN}"
        )


_TOKENIZER = re.compile(r"\w*Tokenizer(?:Fast)?|TokenizersBackend|SentencePieceBackend|PythonBackend", re.ASCII)


@contextmanager
def _failures_said() -> Iterator[None]:
    """Turn any error from an untrusted tokenizer into a ValueError with one sentence."""
    try:
        with panics_said():
            yield
    except ValueError:
        raise
    except Exception as error:
        said = put_on_one_line(f"{type(error).__name__}: {error}", 200)
        raise ValueError(f"this model's tokenizer fails ({said}): its settings are damaged") from None


def _rowless(tokenizer: PreTrainedTokenizerBase, rows: int) -> dict[int, str]:
    """Tokens without a row among the model's embeddings, by id."""
    return {id: token for token, id in sorted(tokenizer.get_vocab().items(), key=itemgetter(1)) if id >= rows}


_GIVE_ROWS = "call model.resize_token_embeddings(len(tokenizer)) where the model was made, and save both again"
_NOT_USED = "has a tokenizer that is not used: "
_AGAIN = "save the tokenizer that the model was trained with, with tokenizer.save_pretrained"


def codecs_of(
    tokenizer: PreTrainedTokenizerBase, model: HuggingFaceModel, summary: HuggingFaceSummary
) -> tuple[HuggingFaceCodec | None, HuggingFaceCodec | None, list[str]]:
    """Codecs of source and target, and notes on deviations from the folder's settings.

    Raises CheckpointError for an encoder-decoder without a start or end token, and for a tokenizer that fails.
    """
    with explaining(f"{summary.path} {_NOT_USED}"), _failures_said():
        return _codecs(tokenizer, model, summary)


def _codecs(
    tokenizer: PreTrainedTokenizerBase, model: HuggingFaceModel, summary: HuggingFaceSummary
) -> tuple[HuggingFaceCodec | None, HuggingFaceCodec | None, list[str]]:
    spec = model.spec
    generation: Any = getattr(model.model, "generation_config", None) or GenerationConfig.from_dict({})
    names = _names(tokenizer, max(filter(None, (spec.source_vocab_size, spec.target_vocab_size))))
    ends = _ids(generation.eos_token_id) or _ids(getattr(model.model.config, "eos_token_id", None))
    if not spec.writes:
        ends = ()
    lock = Lock()
    specials = frozenset(id for id in tokenizer.all_special_ids if id < len(names))
    unknown = tokenizer.unk_token_id
    unknown = None if unknown is None or unknown >= len(names) else unknown  # no embedding: represents no text
    shared: dict[str, Any] = {"tokenizer": tokenizer, "lock": lock, "unknown": unknown}
    shared["growth"], shared["joining"] = _growth(tokenizer, summary.path)
    if languages := _languages(tokenizer, names):
        specials |= {*languages.values()}
        shared |= {"languages": languages, "usual_language": getattr(tokenizer, "src_lang")}  # noqa: B009 (of few)
    shared["marks_continuations"] = type(getattr(_backend(tokenizer), "model", None)).__name__ == "WordPiece"
    template = None if spec.has_encoder else _template(tokenizer)
    source = target = None
    for each in (*ends, *_ids(generation.forced_bos_token_id), *_ids(generation.decoder_start_token_id)):
        if spec.has_decoder and not 0 <= each < (spec.target_vocab_size or 0):
            raise CheckpointError(
                f"{summary.path} names the token {each:,} as one that begins or ends an answer, which is beyond its"
                " vocabulary: correct it in generation_config.json"
            )
    if spec.has_encoder:
        source = HuggingFaceCodec(
            names=names[: spec.source_vocab_size],
            special_ids=specials,
            padding=tokenizer.pad_token_id,
            mask=tokenizer.mask_token_id if spec.output == "masked token" else None,
            reads_specials=spec.output == "masked token",
            choices=("special_tokens", *(["source_language"] if languages else [])),
            reads_pairs=spec.reads_pairs,
            separator=tokenizer.sep_token_id if spec.reads_pairs else None,
            closing=tokenizer.cls_token_id if summary.family.closing_segment else None,
            **shared,
        )
        types = getattr(model.model.config, "type_vocab_size", None) or 0
        if summary.family.segmented and types > 1:
            model.separator = source.separator
        if summary.family.closing_segment:
            model.separator, model.closing = source.separator, source.closing
    if spec.has_decoder:
        start: int | None = None
        forced: tuple[int, ...] = ()
        if spec.has_encoder:
            start = generation.decoder_start_token_id
            if start is None:
                raise CheckpointError(
                    f"{summary.path} names no token that an answer begins with (decoder_start_token_id), so none can be"
                    " written: set it in generation_config.json"
                )
            if not ends:
                raise CheckpointError(
                    f"{summary.path} names no end token (eos_token_id), so no answer would end: set it in"
                    " generation_config.json"
                )
            forced = _ids(generation.forced_bos_token_id)
        target = HuggingFaceCodec(
            names=names[: spec.target_vocab_size],
            special_ids=specials | set(ends) | ({start} if start is not None else set()),
            start=start,
            forced_start=forced,
            ends=frozenset(ends),
            rules=_rules(
                generation,
                frozenset(ends),
                len(forced),
                spec.target_vocab_size or 0,
                str(summary.path / GENERATION),
            ),
            beam_settings=_beam_settings(generation, str(summary.path / GENERATION)) if spec.writes else None,
            is_target=spec.has_encoder,
            choices=("language",) * bool(languages) if spec.has_encoder else _of_decoder(template),
            template=template,
            **shared,
        )
    notes = _notes(generation, names, tokenizer, None if target is None else target.beam_settings)
    if rowless := _rowless(tokenizer, min(len(each.names) for each in (source, target) if each is not None)):
        named = join_names([*map(quote, [*rowless.values()][:NAMED]), *(["others"] if len(rowless) > NAMED else [])])
        notes.append(
            f"The tokenizer has {_tokens(len(rowless))} without a row in the model's embeddings, {named}; a text with"
            f" one is not read. To give them rows, {_GIVE_ROWS}."
        )
    if spec.writes and not ends:
        notes.append("No end token is named (eos_token_id): an answer ends where the model can read no more.")
    return source, target, notes


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count:,} tokens"


def _template(tokenizer: Any) -> str | None:
    """The default chat template, or None."""
    try:
        found = tokenizer.get_chat_template()
    except ValueError:  # there is none, or none with that name
        return None
    return found if isinstance(found, str) and found.strip() else None


def _of_decoder(template: str | None) -> tuple[str, ...]:
    return ("special_tokens",) if template is None else ("special_tokens", "chat")


class _Piece(NamedTuple):
    """A token of a text, and the characters typed for it: "" if added, None if unknown."""

    id: int
    typed: str | None


@dataclass(frozen=True, kw_only=True, eq=False)
class HuggingFaceCodec:
    """A `TextCodec`. Typed special tokens are read as text unless requested, except a masked language model's mask."""

    tokenizer: PreTrainedTokenizerBase = field(repr=False)
    lock: Lock = field(repr=False)
    growth: Growth
    joining: Growth
    names: tuple[str, ...] = field(repr=False)
    special_ids: frozenset[int]
    start: int | None = None
    forced_start: tuple[int, ...] = ()
    ends: frozenset[int] = frozenset()
    banned: frozenset[int] = frozenset()
    rules: tuple[TokenRule, ...] = ()
    beam_settings: BeamSettings | None = None
    padding: int | None = None
    unknown: int | None = None
    mask: int | None = None
    reads_specials: bool = False
    is_target: bool = False
    splits_characters: bool = False
    reads_pairs: bool = False
    separator: int | None = None
    closing: int | None = None
    marks_continuations: bool = False
    choices: tuple[str, ...] = ()
    languages: Mapping[str, int] = field(default_factory=dict, repr=False)
    usual_language: str = ""
    template: str | None = field(default=None, repr=False)
    how_read: TokenizerOptions = AS_USUAL
    usual: HuggingFaceCodec | None = field(default=None, repr=False)

    def read_as(self, how: TokenizerOptions) -> HuggingFaceCodec:
        """The same codec with other options.

        The token of a chosen answer language follows the start token, or replaces it where that is itself a language
        token.
        """
        check_choices(how, self.choices)
        base = self.usual or self
        if how == AS_USUAL:
            return base
        source, language = base._language(how.source_language), base._language(how.language)
        changed: dict[str, Any] = {"how_read": replace(how, source_language=source, language=language)}
        if language:
            id = self.languages[language]
            if base.start in self.languages.values():
                changed |= {"start": id}
            else:
                more = 1 - len(base.forced_start)
                rules = (
                    replace(rule, least=rule.least - more) if isinstance(rule, NotTooShort) and rule.new else rule
                    for rule in base.rules
                )
                changed |= {"forced_start": (id,), "rules": tuple(rules)}
        return replace(base, usual=base, **changed)

    def _language(self, given: str) -> str:
        """The model's code of a language, given by code or token; "" for "". Raises ValueError."""
        found = next((code for code, id in self.languages.items() if given in (code, self.names[id])), None)
        if given and found is None:
            raise ValueError(
                f"{quote(given)} is not a language of this model: it has {shorten(', '.join(self.languages), 200)}"
            )
        return found or ""

    def second(self, ids: Sequence[int]) -> int | None:
        """Index at which the second of two texts begins, or None."""
        return second_text(ids, self.separator, self.padding, self.closing)

    def continuation(self, id: int) -> str | None:
        """What a token adds to the previous token's word, by the tokenizer's marks; None if it starts a word.

        The mark is "##" in WordPiece, else a missing leading space. A token without a letter, digit or byte of one
        stands alone.
        """
        name = self.names[id]
        if id in self.special_ids or not is_of_a_word(name):
            return None
        if self.marks_continuations:
            return name.removeprefix("##") if name.startswith("##") else None
        return None if name[0].isspace() else name

    @property
    def adds_end(self) -> bool:
        return not self.how_read.chat and bool(self._around) and self._around[-1] in self.ends

    @cached_property
    def _around(self) -> list[int]:
        """Ids that the tokenizer puts around a text."""
        return [token.id for token in self._cut("")]

    def encode(self, text: str) -> Encoded:
        """Ids of a text with the special tokens around it; an answer also gets its forced beginning.

        For a model that reads pairs, `PAIR` separates two texts. Raises ValueError for a text without tokens.
        """
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if self.how_read.chat:
            return self._chat(text)
        found = self._cut(text)
        if not text.strip() or len(found) == len(self._around):
            raise ValueError("the text is empty: type at least one character")
        if self.unknown is not None and not self.how_read.special_tokens:
            stays = {self.unknown, self.mask if self.reads_specials else None}
            typed_specials = {i for i in self.special_ids if i not in stays}
            found = [
                piece._replace(id=self.unknown) if piece.typed and piece.id in typed_specials else piece
                for piece in found
            ]
        self._check_rows(ids := [piece.id for piece in found])
        begins = (self.start, *self.forced_start) if self.start is not None else ()
        if tuple(ids[: len(self.forced_start)]) == self.forced_start:
            begins = begins[:1]
        typed = [self._original(*piece) for piece in found]
        return self._encoded((*begins, *ids), (*(self.names[i] for i in begins), *typed))

    def _chat(self, text: str) -> Encoded:
        if not text.strip():
            raise ValueError("the text is empty: type at least one character")
        assert self.template is not None
        typed_specials = self.how_read.special_tokens
        self.growth.check(text)
        check = self.growth.check
        with _failures_said():
            ids = chat_ids(self.tokenizer, self.lock, self.template, text, check=check, special_tokens=typed_specials)
        if not ids:
            raise ValueError("the chat template of this model leaves nothing of the text")
        self._check_rows(ids)
        return self._encoded(ids, [self.names[i] for i in ids])

    def _check_rows(self, ids: Iterable[int]) -> None:
        """Raise ValueError for ids without an embedding."""
        if (id := next((id for id in ids if id >= len(self.names)), None)) is not None:
            token = quote(str(self.tokenizer.convert_ids_to_tokens(id)))
            raise ValueError(
                f"the text has the token {token} (id {id:,}), for which this model has no embedding: leave it out, or"
                f" {_GIVE_ROWS}"
            )

    def encode_ids(self, ids: Iterable[int]) -> Encoded:
        """The ids exactly as given. Raises ValueError for none, for non-integers, and outside the vocabulary."""
        checked = tuple(check_ids(ids, len(self.names), least=1))
        return self._encoded(checked, tuple(self.names[i] for i in checked))

    def decode(self, ids: Iterable[int]) -> str:
        """Text of the ids, joined by the tokenizer, without special tokens except unknown and mask."""
        shown = {self.unknown, self.mask}
        known = len(self.tokenizer)
        kept = [i for i in check_ids(ids, len(self.names)) if i not in self.special_ids or i in shown]
        self.joining.check("".join(self.names[i] for i in kept))
        with self.lock, _failures_said():
            return "".join(
                str(self.tokenizer.decode(list(part))) if is_known else "".join(self.names[i] for i in part)
                for is_known, part in _runs(kept, known)
            )

    def _cut(self, text: str) -> list[_Piece]:
        """Tokens of a text, or of two, with the characters typed for each where known."""
        told = bool(self.tokenizer.is_fast)
        texts = text.split(PAIR, 1) if self.reads_pairs and PAIR in text else [text]
        if len(texts) == 2 and not all(each.strip() for each in texts):
            texts = ["".join(texts)]
        self.growth.check(text)
        names = ("text", "text_pair") if not self.is_target or self.languages else ("text_target",)
        tokenizer: Any = self.tokenizer
        with self.lock, _failures_said():
            if self.languages:
                tokenizer.src_lang = self.how_read.source_language or self.usual_language
            found: Any = tokenizer(
                **dict(zip(names, texts, strict=False)),
                add_special_tokens=not (self.is_target and self.languages),
                split_special_tokens=not (self.reads_specials or self.how_read.special_tokens),
                return_offsets_mapping=told,
                verbose=False,
            )
        ids = list(found["input_ids"])
        if len(texts) == 2:
            self._check_segments(ids, found.get("token_type_ids"))
        # The language token precedes an answer, and no tokenizer adds it by itself.
        end = [_Piece(tokenizer.eos_token_id, "")] if self.is_target and self.languages else []
        if not told:
            return [_Piece(id, None) for id in ids] + end
        of = found.sequence_ids(0)
        return [
            _Piece(id, "" if which is None else texts[which][slice(*span)])
            for id, which, span in zip(ids, of, found["offset_mapping"], strict=True)
        ] + end

    def _check_segments(self, ids: Sequence[int], theirs: Sequence[int] | None) -> None:
        """Raise ValueError if the tokenizer separates two texts in another way than by the separator."""
        second = self.second(ids)
        ours = [int(second is not None and place >= second) for place in range(len(ids))]
        if self.closing is not None:
            ours = [2 if token == self.closing else own for token, own in zip(ids, ours, strict=True)]
        if self.separator is not None and theirs is not None and any(theirs) and list(theirs) != ours:
            raise ValueError(
                "the tokenizer numbers the tokens of two texts in a way that is not known here: give one text"
            )

    def _original(self, id: int, typed: str | None) -> str:
        """The typed characters, if the token's name does not show them."""
        name = self.names[id]
        return name if not typed or (typed in name and id != self.unknown) else typed

    def _encoded(self, ids: Sequence[int], originals: Sequence[str]) -> Encoded:
        unknown = tuple(place for place, i in enumerate(ids) if i == self.unknown)
        return Encoded(tuple(ids), tuple(self.names[i] for i in ids), tuple(originals), unknown)


def _languages(tokenizer: Any, names: Sequence[str]) -> Mapping[str, int]:
    """Languages by code, for a tokenizer that adds a language token to each text."""
    if not isinstance(getattr(tokenizer, "src_lang", None), str):
        return {}
    known: Mapping[str, int] | None = getattr(tokenizer, "lang_code_to_id", None)
    if known is None:
        tokens = (token for token in tokenizer.all_special_tokens if _LANGUAGE.fullmatch(token))
        known = {token: tokenizer.convert_tokens_to_ids(token) for token in tokens}
    return {code: id for code, id in sorted(known.items()) if 0 <= id < len(names) and id != tokenizer.unk_token_id}


def _runs(ids: Sequence[int], known: int) -> list[tuple[bool, list[int]]]:
    """Runs of ids that the tokenizer knows or does not know."""
    runs: list[tuple[bool, list[int]]] = []
    for i in ids:
        if not runs or runs[-1][0] != (i < known):
            runs.append((i < known, []))
        runs[-1][1].append(i)
    return runs


def _ids(given: Any) -> tuple[int, ...]:
    """One id, several or none, as in a generation_config."""
    if given is None:
        return ()
    return tuple(given) if isinstance(given, list | tuple) else (int(given),)


def _rules(generation: Any, ends: frozenset[int], forced: int, vocabulary: int, where: str) -> tuple[TokenRule, ...]:
    """Token rules from the settings, after `forced` tokens. Raises CheckpointError for invalid settings."""

    token_id = Annotated[int, Meta(ge=0, lt=vocabulary, description=f"an id from 0 to {vocabulary - 1}")]

    def setting(name: str, hint: Any) -> Any:
        given = getattr(generation, name, None)
        check_setting(name, given, hint | None, where)
        return given

    def count(name: str) -> int:
        return setting(name, CountOrZero) or 0

    words = map(tuple, setting("bad_words_ids", list[list[token_id]]) or ())
    bad = tuple(word for word in words if word and not (len(word) == 1 and word[0] in ends))
    found: list[TokenRule] = []
    if size := count("no_repeat_ngram_size"):
        found.append(NoRepeatedGram(size))
    if bad:
        found.append(BadWords(bad))
    for name, new in (("min_length", False), ("min_new_tokens", True)):
        if ends and (least := count(name) - (forced if new else 0)) > 0:  # forced tokens count as new
            found.append(NotTooShort(least, ends, new))
    for name, at_first in (("suppress_tokens", False), ("begin_suppress_tokens", True)):
        if given := setting(name, list[token_id]):
            found.append(Suppressed(frozenset(given), at_first))
    return tuple(found)


MAX_EXPONENT = 10
_Exponent = Annotated[float, Meta(ge=-MAX_EXPONENT, le=MAX_EXPONENT)]


def _beam_settings(generation: Any, where: str) -> BeamSettings:
    """Beam settings of `generate`. Raises CheckpointError for invalid ones."""
    alpha = 1.0 if generation.length_penalty is None else generation.length_penalty
    width = generation.num_beams
    check_setting("length_penalty", alpha, _Exponent, where)
    check_setting("num_beams", width, Count | None, where)
    early = generation.early_stopping
    # `generate` only distinguishes True, "never" and everything else.
    stopping: bool | Literal["never"] = "never" if early == "never" else early is True
    return BeamSettings(None if width == 1 else width, float(alpha), stopping)


# --- names


def _names(tokenizer: PreTrainedTokenizerBase, size: int) -> tuple[str, ...]:
    """A unique name for each id: spaces as spaces, non-text bytes by number, unknown ids by id."""
    readable = _byte_text if _is_byte_level(tokenizer) else _piece_text
    specials = set(tokenizer.all_special_tokens)
    known: dict[int, str] = {id: token for token, id in tokenizer.get_vocab().items()}
    names = []
    for id in range(size):
        token = known.get(id)
        names.append(f"‹id {id}›" if token is None else token if token in specials else readable(token))
    counts = Counter(names)
    return tuple(f"{name}‹id {id}›" if counts[name] > 1 else name for id, name in enumerate(names))


def _backend(tokenizer: PreTrainedTokenizerBase) -> Any:
    return getattr(tokenizer, "backend_tokenizer", None)


def _is_byte_level(tokenizer: PreTrainedTokenizerBase) -> bool:
    backend = _backend(tokenizer)
    return backend is not None and "ByteLevel" in f"{backend.decoder}{backend.pre_tokenizer}"


def _piece_text(token: str) -> str:
    """Text of a sentencepiece or WordPiece piece: its space mark as a space, a byte by number."""
    found = _BYTE_TOKEN.fullmatch(token)
    return f"‹{found[1]}›" if found else token.replace("▁", " ")


def _byte_text(token: str) -> str:
    """Text of a byte-level piece (Radford et al. 2019), by number where it is not text.

    Control characters other than tab and newline also go by number.
    """
    if not all(sign in _BYTES for sign in token):
        return token
    content = bytes(_BYTES[sign] for sign in token)
    shown = content.decode("utf-8", "surrogateescape")
    return "".join(f"‹{ord(sign) & 0xFF:02X}›" if _CONTROL.match(sign) else sign for sign in shown)


def _byte_letters() -> dict[str, int]:
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _byte_letters()


# --- notes


def _notes(
    generation: Any, names: Sequence[str], tokenizer: PreTrainedTokenizerBase, settings: BeamSettings | None
) -> list[str]:
    """One sentence for each deviation from the folder's own settings."""
    notes = []
    asked = [
        f"{name}={value!r:.40}"
        for name, off in NOT_APPLIED.items()
        if (value := getattr(generation, name, None)) not in off
    ]
    if asked:
        notes.append(
            f"generation_config.json asks for {', '.join(asked)}; here the strategy that you choose counts alone."
        )
    if settings is not None and settings != BeamSettings():
        notes.append(f"A beam search has the folder's own {settings}, unless you choose others.")
    if len(tokenizer) < len(names):
        without = len(names) - len(tokenizer)
        notes.append(f"The model has {without:,} more tokens than its tokenizer; they are called by their ids.")
    return notes
