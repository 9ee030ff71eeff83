"""Turns a foreign weights file into a checkpoint folder."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from viz_transformer import declared
from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.describe import IMPORTED, LEFT_OUT
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.importers.mapping import Placement, Progress, map_tensors, pair_neighbours
from viz_transformer.checkpoint.importers.names import Weights, weights_of
from viz_transformer.checkpoint.importers.plan import (
    BESIDE,
    FIELDS,
    Fitted,
    Origin,
    Plan,
    Setting,
    is_place,
    plan_import,
)
from viz_transformer.checkpoint.importers.reading import Found, read_file
from viz_transformer.checkpoint.importers.reported import Reported, parse_reported, read_reported
from viz_transformer.checkpoint.importers.vocabularies import (
    COUNTED,
    FIRST_TOKENS,
    MAX_SPECIALS,
    count_tokens,
    fill_rows,
    ids_codec,
    library_tokens,
    name_specials,
    read_tokens,
    specials_of,
    tokenizer_of,
    unnamed,
    unnamed_ids,
    usual_ids,
    usual_specials,
)
from viz_transformer.checkpoint.store import expected_shapes, save_checkpoint
from viz_transformer.model.config import ModelConfig
from viz_transformer.sentences import capitalised, quote
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import RegexTokens
from viz_transformer.text.vocabulary import ROLES, Vocabulary

_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


@dataclass(frozen=True, kw_only=True)
class Answers:
    """A person's answers about a file, beyond what it contains."""

    layout: str | None = None
    mapping: Mapping[str, Placement] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of `ModelConfig` by name, and `causal`."""
    specials: Mapping[str, str | None] = field(default_factory=dict)
    """By role, for both sides or one (`source_bos`): a token, an id, or None for none."""
    tokenizers: Mapping[str, str] = field(default_factory=dict)
    """One of "characters", "words" and "spacy:LANGUAGE"."""
    weights: str | None = None
    """Which copy of the weights."""
    ignore: tuple[str, ...] = ()
    """Patterns of names that are not part of the model."""
    source_vocab: Path | None = None
    """A file; `counted:FILE` builds the vocabulary from that text."""
    target_vocab: Path | None = None
    min_count: int = 1
    """Minimum count in a counted vocabulary."""
    first_tokens: tuple[str, ...] = FIRST_TOKENS
    """First entries of a counted vocabulary."""
    measured: Mapping[str, Fitted] = field(default_factory=dict)
    """Settings and roles (`source_bos`) fitted to texts, used where no answer is given."""
    reported_loss: Reported | None = None
    """The loss of such texts according to the training."""


@dataclass(frozen=True)
class Opened:
    """A file, its weights, and the import plan for the current answers."""

    found: Found
    weights: Weights
    plan: Plan
    answers: Answers

    @property
    def reported_loss(self) -> Reported | None:
        """Loss reported by the training, from a person or from the file."""
        return self.answers.reported_loss or read_reported(self.found)


def open_file(path: str | Path, answers: Answers | None = None) -> Opened:
    """Read a file and plan its import. Raises CheckpointError if it holds no model weights."""
    answers = answers or Answers()
    found = read_file(path)
    return replan(found, answers)


def replan(found: Found, answers: Answers) -> Opened:
    """Plan the import of a file already read, with other answers."""
    weights = weights_of(found, answers.weights)
    plan = plan_import(
        weights,
        layout=answers.layout,
        mapping=answers.mapping,
        given=answers.settings,
        measured=answers.measured,
        ignore=answers.ignore,
    )
    return Opened(found, weights, plan, answers)


def import_file(path: str | Path, out: str | Path, answers: Answers | None = None) -> Path:
    """Import a file into the checkpoint folder `out`, in float32, and return the folder.

    Raises CheckpointError, and writes nothing, if a tensor is unexplained, missing or misshapen.
    """
    return write_import(open_file(path, answers), out)


def write_import(
    opened: Opened,
    out: str | Path,
    measured: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write the checkpoint folder, with `measured` on its card. Raises CheckpointError as `import_file` does.

    progress: called with the bytes read so far and in total.
    """
    plan = opened.plan
    if plan.problems or plan.config is None:
        raise CheckpointError(f"{opened.found.path} cannot be imported: {'; '.join(plan.problems)}")
    if plan.unanswered:
        raise CheckpointError(f"{opened.found.path} cannot be imported: {plan.unanswered}")
    config, codecs = codecs_of(opened)
    state = state_of(plan, config, progress)
    card = {
        "task": "imported",
        "title": f"{'A model' if plan.layout is None else plan.layout.title}, from {opened.found.path.name}",
        "data": "not stated",
        "data_licence": "not stated",
        "weights_terms": "the owner's",
        "notes": [
            *(f"The {said}." for said in without_tokens(codecs).values()),
            *(f"{capitalised(note)}." for note in (without_start(opened), *plan.notes) if note),
        ],
        IMPORTED: _told(opened) | ({} if measured is None else {"measured": measured}),
        "metrics": [],
    }
    return save_checkpoint(
        out,
        state_dict=state,
        config=config,
        source_codec=codecs["source"],
        target_codec=codecs["target"],
        card=card,
        dtype="float32",
    )


def state_of(plan: Plan, config: ModelConfig, progress: Progress | None = None) -> dict[str, torch.Tensor]:
    """Our tensors by our names, with zeros for biases missing from the file. Raises CheckpointError as `moved` does."""
    state = map_tensors(plan.mapping, plan.weights.tensors, config.n_heads, progress)
    if plan.setting("rotary_pairs") == "halves":
        state = pair_neighbours(state, config.n_heads)
    shapes = expected_shapes(config)
    return state | {name: torch.zeros(shapes[name]) for name in plan.zeros}


def without_tokens(codecs: Mapping[str, Codec | None]) -> dict[str, str]:
    """By side, how many of the model's ids have no token, and what they are called; empty if all have one."""
    found = {}
    for side, codec in codecs.items():
        if codec is not None and (ids := unnamed_ids(codec.vocabulary.tokens)):
            size, some = len(codec.vocabulary), f"{unnamed(ids[0])} to {unnamed(ids[-1])}"
            named = f"they are called {some}, and no text turns into them"
            named = f"it is called {unnamed(ids[0])}, and no text turns into it" if len(ids) == 1 else named
            found[side] = f"{side} vocabulary has no token for {len(ids):,} of the model's {size:,} ids: {named}"
    return found


def _told(opened: Opened) -> dict[str, Any]:
    """The import's entry in the card: everything guessed and everything done."""
    plan = opened.plan
    return {
        "file": opened.found.path.name,
        "date": datetime.date.today().isoformat(),
        "files_sha256": {path.name: files.sha256(path) for path in opened.found.files},
        "layout": None if plan.layout is None else plan.layout.name,
        "settings": [
            {"name": s.name, "value": s.value, "origin": s.origin} for s in (*plan.settings, *special_settings(opened))
        ],
        "zeros": list(plan.zeros),
        "left": len(opened.weights.left),
        LEFT_OUT: {name: list(plan.weights.tensors[name].shape) for name in plan.left_out},
        "reported_loss": None if opened.reported_loss is None else opened.reported_loss.nats,
        "mapping": {name: place.to_dict() for name, place in plan.mapping.items()},
    }


def codecs_of(opened: Opened) -> tuple[ModelConfig, dict[str, Codec | None]]:
    """Codecs of both sides, and the config with their padding ids.

    Raises CheckpointError for vocabularies that do not fit.
    """
    plan, answers = opened.plan, opened.answers
    config = plan.config
    assert config is not None
    found: dict[str, Codec | None] = {"source": None, "target": None}
    pads: dict[str, int | None] = {}
    for side in ("source", "target"):
        size = getattr(config, f"{side}_vocab_size")
        if size is None or (side == "target" and not config.has_decoder and answers.target_vocab is None):
            continue
        codec = _codec(opened, side, size)
        found[side] = codec
        name = f"{side}_pad"
        has_stack = config.has_encoder if side == "source" else config.has_decoder
        if has_stack and _pad_setting(opened, side) is None:
            pads[name] = codec.vocabulary.pad
    return ModelConfig.from_dict({**config.to_dict(), **pads}), found


def _codec(opened: Opened, side: str, size: int) -> Codec:
    answers = opened.answers
    path = _vocabulary(opened, side)
    given = _specials(answers, side)
    decodes = side == "target" or (opened.plan.config is not None and not opened.plan.config.has_decoder)
    tokens = stored_tokens(opened) if path is None else None
    if path is None and tokens is None:
        return ids_codec(size, given)
    cut = answers.tokenizers.get(side) or answers.tokenizers.get("")
    if path is not None and str(path).startswith(COUNTED):
        read = _counted(answers, str(path).removeprefix(COUNTED), side, cut, size)
    else:
        read = tokens if tokens is not None else read_tokens(path or "", fairseq=_fairseq(opened))
    tokens = fill_rows(read, size, path or opened.found.path)
    if side == "target" and opened.plan.config is not None and not opened.plan.config.has_decoder:  # labels
        return Codec(RegexTokens(r"\S+"), Vocabulary(tokens), add_bos=False, add_eos=False)
    specials = specials_of(tokens, given if path is None else name_specials(path) | given)
    library = None if cut is not None or path is None else library_tokens(path)
    tokenizer = library or tokenizer_of(tokens, specials, cut)
    if _fairseq(opened) and "bos" not in given and "eos" in specials:
        specials["bos"] = specials["eos"]  # its decoder starts with the end token
    if (pad := _pad_setting(opened, side)) is not None and pad.value is not None and pad.value < size:
        specials["pad"] = tokens[pad.value]
    adds_bos = "bos" in specials and (decodes or not _fairseq(opened))
    return Codec(tokenizer, Vocabulary(tokens, specials), add_bos=adds_bos, add_eos="eos" in specials)


def _vocabulary(opened: Opened, side: str) -> Path | None:
    """Vocabulary file of a side; a decoder-only model has one, for whichever side it is given."""
    answers, config = opened.answers, opened.plan.config
    if side == "source":
        return answers.source_vocab
    alone = config is not None and not config.has_encoder
    return answers.target_vocab or (answers.source_vocab if alone else None)


def has_names(opened: Opened, side: str) -> bool:
    """Whether a side has a vocabulary; otherwise tokens are ids."""
    return _vocabulary(opened, side) is not None or stored_tokens(opened) is not None


def _pad_setting(opened: Opened, side: str) -> Setting | None:
    """Padding id of a side according to the layout or a person; None if unknown."""
    return next((each for each in opened.plan.settings if each.name == f"{side}_pad"), None)


def _counted(answers: Answers, path: str, side: str, cut: str | None, size: int) -> tuple[str, ...]:
    """Words of a text, as many as the model has rows: any other number would shift the ids."""
    if cut is None or not cut.startswith("spacy:"):
        raise CheckpointError(
            f"to count the words of {path}, say which language's: --set {side}_tokenizer=spacy:en, for example"
        )
    tokens = count_tokens(path, cut.removeprefix("spacy:"), answers.min_count, answers.first_tokens)
    if len(tokens) != size:
        raise CheckpointError(
            f"{path} gives {len(tokens):,} tokens, the model has {size:,} for the {side}: it was built with"
            f" another text, min_count ({answers.min_count} now) or first_tokens ({' '.join(answers.first_tokens)} now)"
        )
    return tokens


def _specials(answers: Answers, side: str) -> dict[str, str | None]:
    """Special tokens of a side, by role: answers for the side, then for both sides, then measured ones."""
    names = {role: f"{side}_{role}" for role in ROLES}
    said = {role: answers.measured[name].value for role, name in names.items() if name in answers.measured}
    said |= {role: answers.specials[role] for role in ROLES if role in answers.specials}
    return said | {role: answers.specials[name] for role, name in names.items() if name in answers.specials}


def special_settings(opened: Opened) -> list[Setting]:
    """Special tokens of both sides as settings (`source_bos` etc.), with value, origin and options.

    Without a vocabulary they are ids, and there is no unknown token. Raises CheckpointError as `codecs_of` does.
    """
    answers, found = opened.answers, []
    for side, codec in codecs_of(opened)[1].items():
        if codec is None or (side == "target" and not (opened.plan.config and opened.plan.config.has_decoder)):
            continue
        ids = not has_names(opened, side)
        tokens = codec.vocabulary.tokens
        options = (*(usual_ids(len(tokens)) if ids else usual_specials(tokens)), None)
        for role in ROLES:
            name = f"{side}_{role}"
            origin: Origin = "usual answer"
            if role == "pad" and (pad := _pad_setting(opened, side)) is not None:
                if ids:
                    continue  # listed among the model's own settings
                origin = pad.origin
            elif name in answers.specials or role in answers.specials:
                origin = "given"
            elif name in answers.measured:
                origin = answers.measured[name].origin
            elif ids and role == "unk":
                continue
            value = codec.vocabulary.specials.get(role)
            if name == "target_bos" and len(options) == 1 and opened.plan.config is not None and value is None:
                options = (*tokens[:MAX_SPECIALS], None) if opened.plan.config.has_encoder else options
            found.append(Setting(name, value, origin, options if value in options else (value, *options)))
    return found


def without_start(opened: Opened) -> str:
    """A clause that a decoder with an encoder lacks a start token; "" otherwise.

    Raises CheckpointError as `codecs_of` does.
    """
    config, codecs = codecs_of(opened)
    target = codecs["target"]
    if config.kind != "encoder-decoder" or target is None or target.start is not None:
        return ""
    return "the target vocabulary has no start token, so the model writes nothing until one is named"


def all_settings(opened: Opened) -> list[Setting]:
    """Settings of the model, then the special tokens that exist or have options.

    Raises CheckpointError as `codecs_of` does.
    """
    specials = [] if opened.plan.config is None else special_settings(opened)
    return [*opened.plan.settings, *(each for each in specials if each.value is not None or len(each.options) > 1)]


def _fairseq(opened: Opened) -> bool:
    return opened.plan.layout is not None and opened.plan.layout.name == "fairseq"


def stored_tokens(opened: Opened) -> tuple[str, ...] | None:
    """Vocabulary stored with the weights as `stoi`, token -> id; None without one."""
    held = {keys[-1]: value for keys, value in opened.found.values.items() if len(keys) >= 2 and keys[-2] == "stoi"}
    if not held or sorted(held.values()) != list(range(len(held))):
        return None
    return tuple(sorted(held, key=lambda token: held[token]))


def answers_from(words: Mapping[str, str], **more: Any) -> Answers:
    """Answers from `--set key=value`. Raises CheckpointError for an unknown key or invalid value."""
    settings: dict[str, Any] = {}
    specials: dict[str, str | None] = {}
    tokenizers: dict[str, str] = {}
    ignore: list[str] = []
    for key, value in words.items():
        side, _, role = key.rpartition("_")
        if key in FIELDS or key in BESIDE:
            settings[key] = _value(key, value)
        elif is_place(key):
            settings[key] = value
        elif key in ROLES or (role in ROLES and side in ("source", "target")):
            specials[key] = None if value in ("", "none") else value
        elif key in ("tokenizer", "source_tokenizer", "target_tokenizer"):
            tokenizers[key.removesuffix("tokenizer").rstrip("_")] = value
        elif key == "min_count":
            if not value.isdecimal():
                raise CheckpointError(f"min_count={quote(value)} is not a number of occurrences: give a whole number")
            more["min_count"] = int(value)
        elif key == "first_tokens":
            more["first_tokens"] = tuple(value.split())
        elif key == "ignore":
            ignore.append(value)
        elif key == "weights":
            more["weights"] = value
        elif key == "reported_loss":
            more["reported_loss"] = parse_reported(value)
        else:
            others = ("tokenizer", "min_count", "first_tokens", "ignore", "weights", "reported_loss")
            known = (*FIELDS, *BESIDE, *ROLES, *others)
            raise CheckpointError(f"{quote(key)} is not known: choose {', '.join(known)}")
    return Answers(settings=settings, specials=specials, tokenizers=tokenizers, ignore=tuple(ignore), **more)


def _value(key: str, text: str) -> Any:
    """Parse a command-line value of a setting."""
    hint = declared.hints(ModelConfig).get(key, bool if key == "causal" else str)
    if text == "none" and declared.fits(hint, None):
        return None
    if declared.fits(hint, True):
        if text.lower() not in (*_TRUE, *_FALSE):
            raise CheckpointError(f"{key}={quote(text)} is neither true nor false")
        return text.lower() in _TRUE
    try:
        return float(text) if declared.fits(hint, 0.5) else int(text) if declared.fits(hint, 1) else text
    except ValueError:
        raise CheckpointError(f"{key}={quote(text)} is not a number") from None


def read_mapping(path: str | Path) -> dict[str, Placement]:
    """Read a mapping file, JSON with their names -> places. Raises CheckpointError for anything else."""
    content = files.read_json_object(Path(path))
    held = content.get("tensors", content)
    if not isinstance(held, dict):
        raise CheckpointError(f"{path} has no 'tensors': write it with `viz-transformer import --write-map`")
    with files.explaining(f"{path} is not a mapping: "):
        return {str(name): Placement.from_dict(place) for name, place in held.items()}


def mapping_json(plan: Plan) -> str:
    """The mapping in the format of `--map`; unexplained tensors are listed without a place, to be filled in."""
    held = {name: place.to_dict() for name, place in plan.mapping.items()}
    held |= {name: Placement((), "ignored").to_dict() | {"how": ""} for name in plan.unused}
    return json.dumps({"tensors": held}, ensure_ascii=False, indent=1) + "\n"
