"""Training on a user's own data, pairs or plain text, with settings proposed from the data."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Learner
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

from viz_transformer import declared
from viz_transformer.measuring.columns import AS_TEXT, PairRow, asks_for_columns, remarks
from viz_transformer.measuring.data import Pair, Split, beginning, read_rows, read_text
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.transformer import Transformer
from viz_transformer.model.unfilled import shapes_alone
from viz_transformer.sentences import count_of
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters, SpacyWords, SubWords, Tokenizer
from viz_transformer.text.vocabulary import SPECIALS, Vocabulary
from viz_transformer.train.tasks.task import Measure, PairTask, Plan, Task, TextTask, vocabulary_sizes
from viz_transformer.train.user_data import OwnData

TOKENS = ("chars", "words", "bpe")
LONGEST = 512
"""Default maximum tokens of a text, start and end included: memory grows quadratically."""
ROOM = 10
"""Extra positions beyond the longest text, to try longer ones."""
MAX_HELD_OUT = 1000
MAX_CHARACTERS_HELD_OUT = 50_000
SOME_WORDS = 3000
"""Number of distinct words from which those that occur once become unknown."""
MAX_TOKENS = 30_000
MAX_SUBWORDS = 8000
MAX_READ = 50_000_000
"""Maximum unpacked bytes of a file: plain text takes about 2 GB of memory as characters or 5 as words, and four epochs
take days.
"""
WINDOW = 128
SMALL = 64
"""Largest d_model for which one CPU thread is enough."""
SHORTEST_WINDOW = 8
WATCHED = 50
"""Validation pairs answered at each snapshot."""
OWNER = "the owner's"


@dataclass(frozen=True)
class Fact:
    """A proposed setting, and the options that change it."""

    words: str
    options: str = ""


@dataclass(frozen=True)
class Proposal:
    """A task with its model, the folder of its files, and what will be trained on what."""

    task: Task
    config: ModelConfig
    folder: Path
    facts: tuple[Fact, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The facts as printed by the command."""
        return tuple(f"{fact.words} ({fact.options})" if fact.options else fact.words for fact in self.facts)


@dataclass(frozen=True)
class _Files:
    """The given files, and their names on the card, relative to the common folder."""

    folder: Path
    given: dict[str, str]  # part -> path
    names: dict[str, str]  # part -> name in the folder


def own_task(own: OwnData, *, out: str | Path, epochs: int | None = None, steps: int | None = None) -> Proposal:
    """The task for a file: pairs (`source<TAB>target` per line), or plain text for a decoder-only model.

    A file without tabs is plain text; comma-separated files and JSON lines need their two columns named. Without
    separate files, validation and test data are held out by source checksums, or from the two ends of the text. The
    card names files, not their folders.
    Raises ValueError with the line number for bad files and too long texts, for too large files, too little data, and
    settings that contradict each other.
    """
    if own.tokens is not None:
        declared.one_of("tokens", own.tokens, TOKENS)
    files = _files({"train": own.pairs, "validation": own.valid, "test": own.test})
    for path in files.given.values():
        _check_size(path)
    text = read_text(files.given["train"])
    if own.columns is None and (asked := asks_for_columns(Path(files.given["train"]), text)) is not None:
        raise ValueError(asked)
    in_pairs = "\t" in text if own.columns is None else own.columns != AS_TEXT
    made = _pairs_task if in_pairs else _text_task
    task, config, facts = made(files, text, own)
    if epochs is not None:
        task = replace(task, plan=replace(task.plan, epochs=epochs))
    words = _words(files, own, config, Path(out))
    return Proposal(replace(task, **words), config, files.folder, (*facts, _plan_fact(task.plan, steps)))


def _check_size(path: str) -> None:
    """Raise ValueError for a file of more than MAX_READ bytes, with the number of lines that would fit.

    Reads no more of the file than that.
    """
    if (read := beginning(path, MAX_READ)) is None:
        return
    lines, most = read.count(b"\n"), f"{MAX_READ // 1_000_000} MB"
    part = f"its first {lines:,} line{'s' * (lines > 1)}" if lines else "a part of its first line, which is longer"
    how = f", as `head -n {lines}` writes them" * bool(lines)
    raise ValueError(f"{path} has more than {most} of text, as much as is trained on: give {part}{how}")


def _files(given: dict[str, str | Path | None]) -> _Files:
    paths = {part: os.path.expanduser(path) for part, path in given.items() if path is not None}
    whole = {part: os.path.abspath(path) for part, path in paths.items()}
    try:
        folder = os.path.commonpath([os.path.dirname(path) for path in whole.values()])
    except ValueError:
        raise ValueError("the files lie on different drives: put them into one folder") from None
    names = {part: Path(os.path.relpath(path, folder)).as_posix() for part, path in whole.items()}
    return _Files(Path(folder), paths, names)


def _pairs_task(files: _Files, _: str, own: OwnData) -> tuple[Task, ModelConfig, list[Fact]]:
    tokens = own.tokens or TOKENS[0]
    rows = {part: read_rows(path, columns=own.columns) for part, path in files.given.items()}
    whole = {part: [row.pair for row in found] for part, found in rows.items()}
    splits = _splits(files, whole, own.columns)
    parts = {part: split.of(whole.get(part, whole["train"])) for part, split in splits.items()}
    texts = [[pair[side] for pair in parts["train"]] for side in (0, 1)]
    source, target = (_codec(side, tokens, own.vocabulary) for side in texts)
    longest = _longest(files, rows, (source, target), own.longest or LONGEST)
    learned = sum(len(codec.encode(text)) for codec, side in zip((source, target), texts, strict=True) for text in side)
    size = _Size.of(learned, own)
    is_exact = tokens == "chars"
    config = ModelConfig(
        encoder_layers=size.layers,
        decoder_layers=size.layers,
        **size.settings(dropout=0.0 if is_exact else 0.1),
        tied_output=not is_exact,
        max_source=longest[0] + ROOM,
        max_target=longest[1] + ROOM,
        **vocabulary_sizes(source, target),
    )
    task = PairTask(
        name="own pairs",
        title=f"Pairs of {files.names['train']}",
        train=(splits["train"],),
        validation=splits["validation"],
        test=splits["test"],
        tokenizers=(source.tokenizer, target.tokenizer),
        codecs=lambda *_: (source, target),
        model=lambda *_: config,
        bleu=None if is_exact else "13a",
        plan=size.plan(learned, smoothing=0.0 if is_exact else 0.1, best_by="exact"),
        measures=(Measure(split=f"test, {len(parts['test']):,} pairs of {splits['test'].file}"),),
        **_of_owner(files),
    )
    train, validation, test = (f"{len(parts[part]):,}" for part in ("train", "validation", "test"))
    taken = [part for part in ("validation", "test") if part not in whole]
    by_checksum = f"; {' and '.join(taken)} taken out by checksum, so that no source is in two of these" * bool(taken)
    seen = {source for source, _ in parts["train"]}
    again = sum(source in seen for source, _ in parts["test"])
    of_columns = "" if own.columns is None else f", columns {own.columns}"
    facts = [
        Fact(
            f"{files.given['train']}{of_columns}: {train} pairs to train on, {validation} to choose the weights by,"
            f" {test} to test on{by_checksum}",
            "" if own.columns is None else "--columns",
        ),
        *(Fact(f"{path}: {each}") for part, path in files.given.items() for each in remarks(rows[part], own.columns)),
        *[Fact(f"{again:,} of the test pairs have a source that is also trained on")] * bool(again),
        Fact(
            f"tokens: {tokens}, {len(source.vocabulary):,} for sources and {len(target.vocabulary):,} for targets; the"
            f" longest source has {longest[0]:,}, the longest target {longest[1]:,}, start and end included",
            "--tokens",
        ),
        _model_fact(config),
    ]
    return task, config, facts


def _splits(files: _Files, whole: dict[str, list[Pair]], columns: str | None) -> dict[str, Split]:
    """Splits: each part's own file, or else some sources of the first file."""
    sources = {source for source, _ in whole["train"]}
    taken = [part for part in ("test", "validation") if part not in whole]
    if len(sources) <= len(taken):
        raise ValueError(
            f"{files.given['train']} has {len(sources)} source{'s' * (len(sources) > 1)} in line"
            f" {'1' if len(whole['train']) == 1 else '1 to ' + str(len(whole['train']))}: give at least"
            f" {len(taken) + 1} different ones, for training, {' and '.join(reversed(taken))}"
        )
    share = min(max(len(sources) // 20, 1), MAX_HELD_OUT)
    file, start = files.names["train"], len(taken) * share
    splits = {part: Split(file=name, columns=columns) for part, name in files.names.items()}
    first = Split(file=file, columns=columns)
    splits |= {part: replace(first, drawn=(i * share, (i + 1) * share)) for i, part in enumerate(taken)}
    return splits | ({"train": replace(first, drawn=(start, len(sources)))} if taken else {})


def _longest(files: _Files, rows: dict[str, list[PairRow]], codecs: tuple[Codec, Codec], most: int) -> tuple[int, int]:
    """Maximum tokens of a source and of a target over all files. Raises ValueError for more than `most`."""
    found = [0, 0]
    for part, path in files.given.items():
        for row in rows[part]:
            for side, (codec, text) in enumerate(zip(codecs, row.pair, strict=True)):
                found[side] = max(found[side], length := len(codec.encode(text)))
                if length > most:
                    raise ValueError(
                        f"{path}, line {row.line}: the {('source', 'target')[side]} has {length:,} tokens, at most"
                        f" {most:,} are read: shorten it, remove it, or give --longest {length}"
                    )
    return found[0], found[1]


def _text_task(files: _Files, text: str, own: OwnData) -> tuple[Task, ModelConfig, list[Fact]]:
    tokens = own.tokens or TOKENS[0]
    file = files.given["train"]
    held = min(len(text) // 10, MAX_CHARACTERS_HELD_OUT)
    held_out = held if "validation" not in files.given else 0
    skip = len(text) - held if "test" not in files.given else 0
    parts = {"train": text[held_out : skip or None], "validation": text[:held_out], "test": text[skip:]}
    parts |= {part: read_text(path) for part, path in files.given.items() if part != "train"}
    too_short = (
        f"{file} has no tab in any line, and as a plain text it is too short ({len(text):,} characters): give a longer"
        " one, or for pairs a tab between source and target in each line"
    )
    if not all(part.strip() for part in parts.values()):
        raise ValueError(too_short)
    codec = _codec([parts["train"]], tokens, own.vocabulary, in_pairs=False)
    counts = {part: len(codec.encode(content)) for part, content in parts.items()}
    window = min(own.longest or WINDOW, min(counts.values()) - 1)
    if window < SHORTEST_WINDOW:
        raise ValueError(too_short)
    size = _Size.of(counts["train"], own)
    config = ModelConfig(
        target_vocab_size=len(codec.vocabulary),
        decoder_layers=size.layers,
        **size.settings(dropout=0.1),
        activation="gelu",
        tied_output=True,
        max_target=window,
    )
    task = TextTask(
        name="own text",
        title=f"Writing on as in {files.names['train']}",
        train=files.names["train"],
        validation=files.names.get("validation"),
        held_out=held_out,
        test=files.names.get("test", files.names["train"]),
        skip=skip,
        codec=lambda _: codec,
        model=lambda _: config,
        window=window,
        plan=size.plan(counts["train"], smoothing=0.0, weight_decay=0.1, sample=256),
        measures=(Measure(split=f"test, windows of {window} tokens"),),
        **_of_owner(files),
    )
    kept = [f"the first {held_out:,} characters are kept to choose the weights by"] * bool(held_out)
    kept += [f"the last {len(text) - skip:,} to test on"] * bool(skip)
    facts = [
        Fact(
            f"{file}: {'no tab in any line, so a plain text' if own.columns is None else 'a plain text, as asked for'},"
            " and a decoder-only model learns to continue it"
        ),
        *[Fact(", ".join(kept))] * bool(kept),
        Fact(
            f"tokens: {tokens}, {len(codec.vocabulary):,} different ones, {counts['train']:,} to train on,"
            f" {window} read at a time",
            "--tokens, --longest",
        ),
        _model_fact(config),
    ]
    return task, config, facts


def learned_subwords(texts: Sequence[str], most: int, *, strip: bool = True) -> SubWords:
    """Learn byte-pair merges from texts, up to `most` distinct pieces. Pairs that occur once are not merged."""
    tokenizer = SubWords((), strip=strip)
    words = (word for text in texts for word in tokenizer.words(text.strip() if strip else text))
    learner = Learner(BPE())  # words are split already
    learner.train_from_iterator(words, BpeTrainer(vocab_size=most, min_frequency=2, show_progress=False))
    return replace(tokenizer, merges=json.loads(learner.to_str())["model"]["merges"])


def _codec(texts: Sequence[str], tokens: str, most: int | None, *, in_pairs: bool = True) -> Codec:
    """Codec for a side's training texts, with start and end tokens for pairs.

    most: maximum distinct words or pieces, if requested.
    """
    tokenizer: Tokenizer = Characters(strip=in_pairs)
    if tokens == "words":
        tokenizer = SpacyWords("xx").learn(texts)
    elif tokens == "bpe":
        tokenizer = learned_subwords(texts, most or min(sum(map(len, texts)) // 100, MAX_SUBWORDS), strip=in_pairs)
    counts = Counter(token for text in texts for token in tokenizer.tokenize(text))
    if isinstance(tokenizer, SubWords):  # what may be left of other words
        counts.update(a + b for a, b in tokenizer.merges)
        counts.update({character for text in texts for character in text})
    least, most = 2 if tokens == "words" and len(counts) > SOME_WORDS else 1, most or MAX_TOKENS
    if tokens != "bpe" and len(counts) > most:
        least = max(least, counts.most_common(most)[-1][1] + 1)
    known = [[token] * count for token, count in counts.items()]
    specials = SPECIALS if in_pairs else {"unk": SPECIALS["unk"]}
    return Codec(tokenizer, Vocabulary.build(known, specials, least), add_bos=in_pairs, add_eos=in_pairs)


@dataclass(frozen=True)
class _Size:
    """Sizes of a model: as requested, or else suited to the amount of data."""

    layers: int
    heads: int
    d_model: int
    d_ff: int
    own: OwnData

    @classmethod
    def of(cls, tokens: int, own: OwnData) -> _Size:
        layers, width = next(size for most, size in _SIZES if tokens < most)
        heads = own.heads or math.gcd(own.d_model or 4, 4)
        d_model = own.d_model or math.ceil(width / (2 * heads)) * 2 * heads
        return cls(own.layers or layers, heads, d_model, own.d_ff or 4 * d_model, own)

    def settings(self, *, dropout: float) -> dict[str, Any]:
        """Sizes as ModelConfig settings, without layers."""
        dropout = dropout if self.own.dropout is None else self.own.dropout
        return {"d_model": self.d_model, "n_heads": self.heads, "d_ff": self.d_ff, "dropout": dropout}

    def plan(self, tokens: int, **settings: Any) -> Plan:
        """A plan with about as many steps as this size needs, at least 4 epochs."""
        batch, steps = next(plan for most, plan in _PLANS if tokens < most)
        return Plan(
            epochs=min(max(round(steps * batch / tokens), 4), 500),
            batch_tokens=batch,
            peak_rate=round(min(0.024 / math.sqrt(self.d_model), 3e-3), 5),
            warmup=100,
            threads=1 if self.d_model <= SMALL else None,
            spread=12 if self.own.snapshots is None else self.own.snapshots,
            watched=WATCHED,
            **settings,
        )


_SIZES = ((300_000, (2, 64)), (3_000_000, (3, 128)), (math.inf, (3, 256)))
"""(fewer training tokens than, (layers, d_model))"""
_PLANS = ((300_000, (1500, 1500)), (3_000_000, (3000, 4000)), (math.inf, (4000, 10_000)))
"""(fewer training tokens than, (tokens per batch, steps))"""


def _of_owner(files: _Files) -> dict[str, Any]:
    """The card's entries on the owner of the data."""
    names = ", ".join(dict.fromkeys(files.names.values()))
    return {"data_name": names, "data_licence": OWNER, "weights_terms": OWNER}


def _words(files: _Files, own: OwnData, config: ModelConfig, out: Path) -> dict[str, Any]:
    """The card's commands for training and testing again."""

    def shown(path: str | Path) -> str:
        """A path as given; only the name of an absolute one, since the rest is private."""
        return Path(path).name if os.path.isabs(path) else Path(path).as_posix()

    given = {part: shown(path) for part, path in files.given.items()}
    options = {
        "--pairs": given["train"],
        "--columns": own.columns,
        "--valid": given.get("validation"),
        "--test": given.get("test"),
        "--tokens": own.tokens or TOKENS[0],
        "--vocabulary": own.vocabulary,
        "--layers": config.decoder_layers,
        "--heads": config.n_heads,
        "--d-model": config.d_model,
        "--d-ff": config.d_ff,
        "--dropout": config.dropout,
        "--longest": own.longest,
        "--snapshots": own.snapshots,
        "--out": shown(out),
    }
    folders = [os.path.dirname(path) for path in given.values()]
    folder = os.path.commonpath(folders) if all(folders) else ""
    return {
        "trained_by": tuple(str(word) for option in options.items() if option[1] is not None for word in option),
        "evaluated_by": (shown(out), "--data", folder or "."),
    }


def _model_fact(config: ModelConfig) -> Fact:
    with shapes_alone():
        weights = sum(parameter.numel() for parameter in Transformer(config).parameters())
    layers = "+".join(str(n) for n in (config.encoder_layers, config.decoder_layers) if n)
    return Fact(
        f"model: {layers} layers, d_model {config.d_model}, {count_of(config.n_heads, 'head')}, d_ff {config.d_ff},"
        f" dropout {config.dropout}: {weights:,} weights",
        "--layers, --d-model, --heads, --d-ff, --dropout",
    )


def _plan_fact(plan: Plan, steps: int | None) -> Fact:
    length = f"{plan.epochs:,} epochs" if steps is None else f"{steps:,} steps"
    return Fact(
        f"training: {length} in batches of {plan.batch_tokens:,} tokens, {plan.spread} snapshots for the replay",
        "--epochs or --steps, --snapshots",
    )
