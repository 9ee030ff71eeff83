"""The parts of a task: data, codecs, model, plan, and how its result is measured."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from viz_transformer import declared
from viz_transformer.declared import Count
from viz_transformer.given import Accepted, is_number
from viz_transformer.measuring.data import (
    GENERATED,
    Pair,
    Split,
    Tokenizers,
    find_data_file,
    find_data_folder,
    read_text,
)
from viz_transformer.model.config import ModelConfig, Share
from viz_transformer.text.codec import Codec
from viz_transformer.text.notation import CARD_KEY, Notation
from viz_transformer.train.data import EncodedPairs, EncodedText, Examples, Vary

Codecs = tuple[Codec | None, Codec]
_Rate = Annotated[float, Accepted(lambda value: is_number(value) and 0 < value < math.inf, "a number above 0")]
_Weight = Annotated[
    float, Accepted(lambda value: is_number(value) and 0 <= value < math.inf, "a finite number, 0 or more")
]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Length and speed of a training, in optimizer steps. Raises ValueError for impossible values.

    The learning rate rises linearly to `peak_rate` and falls along half a cosine to zero at the last step.
    """

    epochs: Count
    batch_tokens: Count  # maximum padded tokens, source plus target
    peak_rate: _Rate
    warmup: int
    smoothing: Share = 0.1  # share of the target's probability spread over the vocabulary
    weight_decay: float = 0.01
    clip: float = 1.0  # maximum norm of the gradient
    # R-Drop (Liang et al., 2021): weight of the divergence between two passes with different dropout; 0: one pass
    consistency: _Weight = 0.0
    # Decay per step of the exponential moving average of the weights, which is then measured and kept; 0: none
    averaging: Share = 0.0
    # Which weights are kept: those with the lowest validation loss or, if they have more exact matches, those of the
    # last step. A model that grows ever more confident gets a higher loss on the pairs it has wrong.
    best_by: Literal["loss", "exact"] = "loss"
    # muon: for the layers' matrices, AdamW for the rest; iterated in bfloat16 or float32
    optimizer: Literal["adamw", "muon", "muon-float32"] = "adamw"
    precision: Literal["bf16-mixed", "32-true"] = "32-true"
    first_rows: tuple[int, ...] = (0, 1, 2, 5, 10, 20, 50)
    row_every: Count = 100  # later rows of the history
    save_every: Count = 200
    sample: Count = 512  # training and validation pairs used to measure the losses
    snapshots: tuple[int, ...] = ()
    spread: int = 0  # number of further snapshots, ever further apart
    watched: int = 0  # validation pairs answered at each snapshot
    threads: int | None = None  # CPU threads; small matrices gain nothing from more than one
    seed: int = 1

    def __post_init__(self) -> None:
        declared.check(self)

    def on(self, device: str) -> Plan:
        """The plan for a device: a GPU computes in bfloat16, with float32 weights."""
        if device != "cuda":
            return self
        optimizer = "muon" if self.optimizer == "muon-float32" else self.optimizer
        return replace(self, precision="bf16-mixed", optimizer=optimizer)

    def with_snapshots(self, length: int, kept: Iterable[int] = ()) -> Plan:
        """The plan with the snapshot steps of a training of this length; `kept`: steps already saved."""
        spread = (round(length * (i / self.spread) ** 3) for i in range(self.spread + 1)) if self.spread else ()
        return replace(self, snapshots=tuple(sorted({*self.snapshots, *spread, *kept})))


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measurement of the trained model: options of `viz-transformer evaluate`, and the name of the pairs.

    Without options, it is the default evaluation.
    """

    split: str
    data: str | None = None
    limit: int | None = None
    beam: int | None = None
    bleu: str | None = None
    group: bool = False
    count_too_long: bool = False

    def options(self) -> dict[str, Any]:
        """Arguments of `evaluate_checkpoint`."""
        named = asdict(self) | {"data_file": self.data}
        return {name: value for name, value in named.items() if value and name not in ("split", "data")}

    def command(self, *checkpoint: str) -> str:
        """The command that repeats the measurement. checkpoint: its name, and possibly its data."""
        words = ["viz-transformer", "evaluate", *checkpoint]
        for name in ("data", "limit", "beam", "bleu"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name}", str(value)]
        return shlex.join([*words, *["--group"] * self.group, *["--count-too-long"] * self.count_too_long])


class Symmetry(Protocol):
    """Transformations of a pair into an equally valid one, such as renaming the constants of a formula."""

    @property
    def said(self) -> str:
        """What it does to a pair of a batch, as a clause."""

    def key(self, source: str) -> str:
        """Key shared by all sources that it transforms into each other."""

    def vary(self, source: Codec, target: Codec) -> Vary:
        """The augmentation of batches, drawn anew for each example."""


@dataclass(frozen=True)
class Material:
    """What one training works on: encoded data, codecs, model, and the card's entries on the data."""

    codecs: Codecs
    model: ModelConfig
    train: Examples
    samples: tuple[Examples, Examples]  # of training and validation data, for the losses
    losses_on: dict[str, str]  # size of these samples, in the card's words
    counts: dict[str, int]  # examples per split, which identify the data set
    overlap: dict[str, Any]  # share of the test data that is in the training data
    examples: list[Pair]  # for the app
    vary: Vary | None = None  # augmentation of batches
    held_out: Sequence[Pair] = ()  # validation pairs as text, to choose the weights by


@dataclass(frozen=True, kw_only=True)
class Task:
    """Fields of all tasks; `prepare` reads the data. The first of `measures` is the main one."""

    name: str
    title: str
    does: str = ""  # what the model does with a text, completing "This network ..."
    language: str = ""  # two-letter code, if the sources are sentences
    plan: Plan
    measures: tuple[Measure, ...]
    data_name: str
    data_licence: str
    weights_terms: str
    notes: tuple[str, ...] = ()
    broken: str = ""  # what is wrong with the model, if that is its purpose
    notation: Notation | None = None  # how the training sources are written
    examples: int = 200
    trained_by: tuple[str, ...] = ()  # arguments of `viz-transformer train`; default: the name
    evaluated_by: tuple[str, ...] = ()  # arguments of `viz-transformer evaluate`; default: the name

    def prepare(self, folder: str | Path | None) -> Material:
        """Read and encode the data. Raises ValueError for missing or bad data."""
        raise AssertionError("a task is a PairTask or a TextTask")

    def evaluation(self) -> dict[str, Any]:
        """The card's entry on evaluation, as `evaluate_checkpoint` reads it."""
        return {"split": self.measures[0].split}

    def card(self) -> dict[str, Any]:
        """The card's entries before training."""
        stated = {
            "task": self.name,
            "title": self.title,
            **{name: said for name, said in (("does", self.does), ("language", self.language)) if said},
            "data": self.data_name,
            "data_licence": self.data_licence,
            "weights_terms": self.weights_terms,
            "notes": list(self.notes),
        }
        broken = {"broken": self.broken} if self.broken else {}
        notation = {} if self.notation is None else {CARD_KEY: self.notation.settings()}
        return stated | broken | notation | {"evaluation": self.evaluation()}


@dataclass(frozen=True, kw_only=True)
class PairTask(Task):
    """Learns to write a target for a source.

    A `symmetry` augments each batch; training pairs that it maps to a validation, test or other measured pair are left
    out.
    """

    train: tuple[Split, ...]
    validation: Split
    test: Split
    tokenizers: Tokenizers
    codecs: Callable[[Tokenizers, Sequence[Pair]], tuple[Codec, Codec]]  # tokenizers and training pairs -> codecs
    model: Callable[[Codec, Codec], ModelConfig]
    bleu: str | None = None
    equivalence: str | None = None
    symmetry: Symmetry | None = None

    def prepare(self, folder: str | Path | None) -> Material:
        train = self.trained_on(folder)
        validation = self.validation.read(folder, self.tokenizers)
        test = self.test.read(folder, self.tokenizers)
        codecs = self.codecs(self.tokenizers, train)
        model = self.model(*codecs)
        seen = {source for source, _ in train}

        def encoded(pairs: Sequence[Pair], *splits: Split) -> EncodedPairs:
            name = " + ".join(split.file for split in splits)
            return EncodedPairs(pairs, codecs, (model.max_source, model.max_target), name, pad_to=model.pad_to)

        sample = self.plan.sample
        return Material(
            codecs=codecs,
            model=model,
            train=encoded(train, *self.train),
            samples=(
                encoded(evenly(train, sample), *self.train),
                encoded(evenly(validation, sample), self.validation),
            ),
            losses_on={
                name: f"{sample:,} of {len(pairs):,} pairs" if sample < len(pairs) else f"all {len(pairs):,} pairs"
                for name, pairs in (("train", train), ("validation", validation))
            },
            counts={"train": len(train), "validation": len(validation), "test": len(test)},
            overlap=_overlap(test, seen) | ({"others": others} if (others := self._others(folder, seen)) else {}),
            examples=evenly(test, self.examples),
            vary=None if self.symmetry is None else self.symmetry.vary(*codecs),
            held_out=evenly(validation, sample),
        )

    def trained_on(self, folder: str | Path | None) -> list[Pair]:
        """The training pairs. Raises ValueError for missing or bad data."""
        train = [pair for split in self.train for pair in split.read(folder, self.tokenizers)]
        if self.symmetry is None:
            return train
        held_out = [pair for split in (self.validation, self.test) for pair in split.read(folder, self.tokenizers)]
        others = [file for file in self.measured().values() if not file.file.startswith(GENERATED)]
        return unlike(self.symmetry, train, [*held_out, *(pair for file in others for pair in file.read(folder))])

    def _others(self, folder: str | Path | None, seen: set[str]) -> list[dict[str, Any]]:
        """Overlap of the other measured files with the training data."""
        return [{"split": split} | _overlap(file.read(folder), seen) for split, file in self.measured().items()]

    def measured(self) -> dict[str, Split]:
        """Other files that the model is measured on, by the name of their pairs."""
        return {
            each.split: Split(file=each.data, separator=self.test.separator, limit=each.limit)
            for each in self.measures
            if each.data is not None
        }

    def evaluation(self) -> dict[str, Any]:
        test = self.test.to_dict()
        settings = {
            "data": test.pop("file"),
            **test,
            "seen": [split.to_dict() for split in self.train],
            "bleu": self.bleu,
            "equivalence": self.equivalence,
        }
        return super().evaluation() | {name: value for name, value in settings.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class TextTask(Task):
    """Learns to continue a text: a decoder-only model, on windows of a long text. Files are in the data folder."""

    train: str
    validation: str | None = None
    held_out: int = 0  # without a validation file: characters at the start of the training text
    test: str
    skip: int = 0  # characters of the test file to skip; if it is the training file, training ends there
    codec: Callable[[str], Codec]  # training text -> codec
    model: Callable[[Codec], ModelConfig]
    window: int

    def prepare(self, folder: str | Path | None) -> Material:
        found = find_data_folder(folder)
        text, test = (read_text(find_data_file(found, name)) for name in (self.train, self.test))
        text, test = text[: self.skip] if self.train == self.test else text, test[self.skip :]
        codec = self.codec(text)
        parts = (text[self.held_out :], text[: self.held_out])
        if self.validation is not None:
            parts = (text, read_text(find_data_file(found, self.validation)))
        train, validation = (EncodedText(codec.encode(part).ids, self.window) for part in parts)
        samples = train.evenly(self.plan.sample), validation.evenly(self.plan.sample)
        tested = windows(test, self.window)
        return Material(
            codecs=(None, codec),
            model=self.model(codec),
            train=train,
            samples=samples,
            losses_on={
                name: f"{len(sample.starts):,} windows of {self.window:,} tokens, from {len(whole.ids):,} tokens"
                for name, sample, whole in zip(("train", "validation"), samples, (train, validation), strict=True)
            },
            counts={"train": len(parts[0]), "validation": len(parts[1]), "test": len(test)},
            overlap={
                "test_windows": len(tested),
                "with_text_in_train": sum(window in text for window in tested),
            },
            examples=evenly(consecutive_lines(test), self.examples),
        )

    def evaluation(self) -> dict[str, Any]:
        skip = {"skip": self.skip} if self.skip else {}
        return super().evaluation() | {"data": self.test, **skip, "window": self.window}


def unlike(symmetry: Symmetry, train: Sequence[Pair], held_out: Sequence[Pair]) -> list[Pair]:
    """The training pairs that the symmetry maps to no held-out pair."""
    keys = {symmetry.key(source) for source, _ in held_out}
    return [pair for pair in train if symmetry.key(pair[0]) not in keys]


def vocabulary_sizes(source: Codec, target: Codec) -> dict[str, Any]:
    """Vocabulary settings of a model."""
    return {
        "source_vocab_size": len(source.vocabulary),
        "target_vocab_size": len(target.vocabulary),
        "source_pad": source.vocabulary.pad,
        "target_pad": target.vocabulary.pad,
    }


def _overlap(pairs: Sequence[Pair], seen: set[str]) -> dict[str, Any]:
    return {"test_pairs": len(pairs), "with_source_in_train": sum(source in seen for source, _ in pairs)}


def evenly(pairs: Sequence[Pair], n: int) -> list[Pair]:
    """n evenly spaced pairs, or all if there are fewer."""
    n = min(n, len(pairs))
    return [pairs[i * len(pairs) // n] for i in range(n)]


def windows(text: str, length: int) -> list[str]:
    """The text in pieces of this length; the last may be shorter."""
    return [text[start : start + length] for start in range(0, len(text), length)]


def consecutive_lines(text: str) -> list[Pair]:
    """(line, next line) for each long enough line: a beginning, and how the original continues."""
    lines = [line.strip() for line in text.splitlines()]
    return [(line, after) for line, after in pairwise(lines) if len(line) > 20 and after]
