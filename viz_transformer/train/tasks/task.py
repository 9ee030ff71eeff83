"""What a task is: data, codecs, model and plan of one training, and how its result is measured."""

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
_Weight = Annotated[
    float, Accepted(lambda value: is_number(value) and 0 <= value < math.inf, "a finite number, 0 or more")
]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long and how fast a model learns; lengths in optimiser steps, raises ValueError for values that cannot be.

    The learning rate rises linearly to `peak_rate` and falls along half a cosine to zero at the last step.
    """

    epochs: Count
    batch_tokens: Count  # padded tokens of source and target together, at most
    peak_rate: float
    warmup: int
    smoothing: Share = 0.1  # share of the target's probability that is spread over the vocabulary
    weight_decay: float = 0.01
    clip: float = 1.0  # largest norm of the gradient
    # R-Drop (Liang et al., 2021): each batch is read twice, with other dropout, and this is the weight of how far the
    # two predictions are apart; 0 reads once
    consistency: _Weight = 0.0
    # Decay of the exponential moving average of the weights at each step, which is then measured and kept; 0: none
    averaging: Share = 0.0
    # Which weights are kept: those of the lowest validation loss, or, if they have more validation pairs exactly right,
    # those of the last step. A model that is ever surer of itself gets a higher loss for the pairs that it has wrong.
    best_by: Literal["loss", "exact"] = "loss"
    # muon: for the matrices of the layers, AdamW for the rest; with its iteration in bfloat16, or in float32
    optimizer: Literal["adamw", "muon", "muon-float32"] = "adamw"
    precision: Literal["bf16-mixed", "32-true"] = "32-true"
    first_rows: tuple[int, ...] = (0, 1, 2, 5, 10, 20, 50)
    row_every: Count = 100  # later rows of the history
    save_every: Count = 200
    sample: Count = 512  # pairs of training and of validation data that the losses are measured on
    snapshots: tuple[int, ...] = ()
    spread: int = 0  # so many more snapshots, from the first step to the last, ever further apart
    watched: int = 0  # validation pairs that are answered at each snapshot, to see how many are right
    threads: int | None = None  # of the processor; small matrices gain nothing from more than one
    seed: int = 1

    def __post_init__(self) -> None:
        declared.check(self)

    def on(self, device: str) -> Plan:
        """The plan as it is followed there: a GPU computes in bfloat16, beside weights in float32."""
        if device != "cuda":
            return self
        optimizer = "muon" if self.optimizer == "muon-float32" else self.optimizer
        return replace(self, precision="bf16-mixed", optimizer=optimizer)

    def with_snapshots(self, length: int, kept: Iterable[int] = ()) -> Plan:
        """The plan with the steps at which a training of this length keeps its weights; `kept`: did so already."""
        spread = (round(length * (i / self.spread) ** 3) for i in range(self.spread + 1)) if self.spread else ()
        return replace(self, snapshots=tuple(sorted({*self.snapshots, *spread, *kept})))


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measurement of the trained model: the options of `viz-transformer evaluate`, and what the pairs are called.

    Without options it is the one that `evaluate` makes by itself.
    """

    split: str
    data: str | None = None
    limit: int | None = None
    beam: int | None = None
    bleu: str | None = None
    group: bool = False
    count_too_long: bool = False

    def options(self) -> dict[str, Any]:
        """The arguments of `evaluate_checkpoint`."""
        named = asdict(self) | {"data_file": self.data}
        return {name: value for name, value in named.items() if value and name not in ("split", "data")}

    def command(self, *checkpoint: str) -> str:
        """The command that measures it again: `checkpoint` is what names it, and maybe where its data are."""
        words = ["viz-transformer", "evaluate", *checkpoint]
        for name in ("data", "limit", "beam", "bleu"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name}", str(value)]
        return shlex.join([*words, *["--group"] * self.group, *["--count-too-long"] * self.count_too_long])


class Symmetry(Protocol):
    """Changes that turn a pair into another that is as true, such as other names for the symbols of a formula."""

    @property
    def said(self) -> str:
        """What it does to a pair of a batch, as a clause."""

    def key(self, source: str) -> str:
        """The same text for all sources that such changes turn into each other."""

    def vary(self, source: Codec, target: Codec) -> Vary:
        """A change of the examples of a batch, drawn anew for each."""


@dataclass(frozen=True)
class Material:
    """What one training works on: the data as ids, the codecs, the model, and what the card says about the data."""

    codecs: Codecs
    model: ModelConfig
    train: Examples
    samples: tuple[Examples, Examples]  # of training and validation data, to measure the losses on
    losses_on: dict[str, str]  # how many these are of how many, as the card says it
    counts: dict[str, int]  # examples of each split: they tell one data set from another
    overlap: dict[str, Any]  # how much of the test data is in the training data
    examples: list[Pair]  # for the app
    vary: Vary | None = None  # what is done to the examples of each batch
    held_out: Sequence[Pair] = ()  # validation pairs as text, to choose the weights by


@dataclass(frozen=True, kw_only=True)
class Task:
    """What all tasks have; `prepare` reads the data. `measures` are made after training, the first is the main one."""

    name: str
    title: str
    does: str = ""  # what the model does with a text, as the rest of "This network ..."
    language: str = ""  # of its sources, as a code of two letters, where they are sentences
    plan: Plan
    measures: tuple[Measure, ...]
    data_name: str
    data_licence: str
    weights_terms: str
    notes: tuple[str, ...] = ()
    broken: str = ""  # what is wrong with the model, if that is what it is for
    notation: Notation | None = None  # how the sources of its training are written
    examples: int = 200
    trained_by: tuple[str, ...] = ()  # what follows `viz-transformer train`; without it the name
    evaluated_by: tuple[str, ...] = ()  # what follows `viz-transformer evaluate`; without it the name

    def prepare(self, folder: str | Path | None) -> Material:
        """Read the data and encode them. Raises ValueError for missing or bad data."""
        raise AssertionError("a task is a PairTask or a TextTask")

    def evaluation(self) -> dict[str, Any]:
        """What the card says about measuring the model, as `evaluate_checkpoint` reads it."""
        return {"split": self.measures[0].split}

    def card(self) -> dict[str, Any]:
        """What the card says before anything is trained."""
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

    With a `symmetry`, each batch is varied by it, and a training pair that it turns into one of validation or test, or
    of another file that the model is measured on, is left out.
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
        """The overlap of the other files that the model is measured on."""
        return [{"split": split} | _overlap(file.read(folder), seen) for split, file in self.measured().items()]

    def measured(self) -> dict[str, Split]:
        """The other files that the model is measured on, by what their pairs are called."""
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
    """Learns to go on writing: a decoder alone, on windows of a long text. Files are named as in the data folder."""

    train: str
    validation: str | None = None
    held_out: int = 0  # without such a file: characters at the start of the training text that are for validation
    test: str
    skip: int = 0  # characters of the test file before those that are tested; if it is the training file, it ends there
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
    """The training pairs without those that the symmetry turns into one that is held out."""
    keys = {symmetry.key(source) for source, _ in held_out}
    return [pair for pair in train if symmetry.key(pair[0]) not in keys]


def vocabulary_sizes(source: Codec, target: Codec) -> dict[str, Any]:
    """What a model has to know of its vocabularies."""
    return {
        "source_vocab_size": len(source.vocabulary),
        "target_vocab_size": len(target.vocabulary),
        "source_pad": source.vocabulary.pad,
        "target_pad": target.vocabulary.pad,
    }


def _overlap(pairs: Sequence[Pair], seen: set[str]) -> dict[str, Any]:
    return {"test_pairs": len(pairs), "with_source_in_train": sum(source in seen for source, _ in pairs)}


def evenly(pairs: Sequence[Pair], n: int) -> list[Pair]:
    """n of the pairs at even distances, all if there are fewer."""
    n = min(n, len(pairs))
    return [pairs[i * len(pairs) // n] for i in range(n)]


def windows(text: str, length: int) -> list[str]:
    """The text cut into pieces of this length, the last one maybe shorter."""
    return [text[start : start + length] for start in range(0, len(text), length)]


def consecutive_lines(text: str) -> list[Pair]:
    """Each line of some length with the line after it: something to start from, and how the original goes on."""
    lines = [line.strip() for line in text.splitlines()]
    return [(line, after) for line, after in pairwise(lines) if len(line) > 20 and after]
