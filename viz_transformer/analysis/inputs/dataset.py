"""The training data of a model: its parts, lengths and unknown words, what a filter keeps, a padded batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from viz_transformer.analysis.inputs.vocabulary import is_known
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.measuring.data import GENERATED, Pair, Split, find_data_file, find_data_folder, fits, read_text
from viz_transformer.measuring.evaluation import choose_pairs
from viz_transformer.model.kinds import SideName
from viz_transformer.text.codec import Codec
from viz_transformer.train.data import EncodedPairs
from viz_transformer.train.tasks import TASKS
from viz_transformer.train.tasks.task import PairTask, TextTask, windows

EXAMPLES = "examples"
MAX_MADE, FIRST_MADE = 20_000, 2_000
"""A generated set with more than MAX_MADE pairs is cut to FIRST_MADE: finding a held-out number takes a millisecond."""
Codecs = tuple[Codec | None, Codec | None]
_Files = dict[Split, tuple[int, list[Pair]]]
"""By split: how many pairs the file has, and the pairs that pass its filter."""


@dataclass(frozen=True)
class Source:
    """The origin of one part of the data."""

    part: str
    files: tuple[str, ...]
    in_files: int | None
    """Items in the files; None for generated data, which have no end."""
    too_long: int
    """Items left out as too long."""
    used: int
    """Items taken."""
    made: int = 0
    """How many of the used items are generated."""
    alike: int = 0
    """Training pairs left out because the task's symmetry turns them into a measured one."""
    varied: str = ""
    """What the task does to pairs in training, as a clause; "" for nothing."""


@dataclass(frozen=True, eq=False)
class Data:
    """One part of a data set."""

    part: str
    items: Sequence[Pair]
    """Pairs of source and target; of a long text its windows, with target ""."""
    whole_text: bool = False
    of: int | None = None
    """The size of a generated set of which these are only the first items; else None."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Lengths and unknown tokens of items, [N, 2]: source and target, start, end and padding tokens not counted.

    A side without a codec has zeros. Tokens without an entry count as unknown, even if the vocabulary has no unknown
    token."""

    lengths: NDArray[np.int64]
    unknown: NDArray[np.int64]

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Items in which every token has an entry, [N]."""
        known: NDArray[np.bool_] = (self.unknown == 0).all(axis=1)
        return known


@dataclass(frozen=True)
class Kept:
    """The counts of a filter: items kept and left out, each of the latter once, under the first reason that applies."""

    kept: int
    source_too_long: int
    target_too_long: int
    unknown_words: int

    @property
    def total(self) -> int:
        return self.kept + self.source_too_long + self.target_too_long + self.unknown_words


@dataclass(frozen=True)
class LengthFacts:
    """Mean, standard deviation (divided by n), least and greatest number of tokens on one side."""

    mean: float
    deviation: float
    shortest: int
    longest: int


@dataclass(frozen=True, eq=False)
class PaddedBatch:
    """Items of a data set as a batch of padded ids. ids: [B, T] of each side that the model has, by its name.

    padding: True where an id only fills up, by side. indices: the items' places in the part that they are from.
    """

    indices: tuple[int, ...]
    ids: Mapping[SideName, NDArray[np.int64]]
    padding: Mapping[SideName, NDArray[np.bool_]]

    @property
    def padding_share(self) -> float:
        """The share of all ids, of both sides, that only fill up."""
        whole = sum(mask.size for mask in self.padding.values())
        return sum(int(mask.sum()) for mask in self.padding.values()) / whole


def parts(ckpt: Checkpoint) -> tuple[str, ...]:
    """The names of the parts that can be read, if their files exist; the examples come with the model."""
    task = TASKS.get(str(ckpt.card.get("task")))
    examples = (EXAMPLES,) if ckpt.examples() else ()
    if task is not None:
        return (
            ("train", "validation", "test", *examples) if isinstance(task, PairTask) else ("train", "test", *examples)
        )
    evaluation = ckpt.card.get("evaluation")
    named = isinstance(evaluation, dict) and evaluation.get("data") and ckpt.spec.kind == "encoder-decoder"
    return ("test", *examples) if named else examples


def list_needed_files(ckpt: Checkpoint, part: str) -> tuple[str, ...]:
    """The files of the data folder that a part is read from; none for generated data and the model's examples."""
    task = TASKS.get(str(ckpt.card.get("task")))
    if part == EXAMPLES:
        return ()
    if isinstance(task, TextTask):
        return (task.train if part == "train" else task.test,)
    if isinstance(task, PairTask):
        splits = _splits(task, part)
        if part == "train" and task.symmetry is not None:  # the held-out pairs decide which are trained on
            splits = (*splits, task.validation, task.test, *task.measured().values())
        return tuple(dict.fromkeys(split.file for split in splits if not split.file.startswith(GENERATED)))
    evaluation: Any = ckpt.card.get("evaluation")
    named = str(evaluation.get("data")) if isinstance(evaluation, dict) else ""
    return (named,) if named and not named.startswith(GENERATED) else ()


def read_part(ckpt: Checkpoint, part: str, folder: str | Path | None = None) -> Data:
    """The items of a part, as the model's task reads them; of a large generated set only the first.

    Raises ValueError for missing or bad files.
    """
    if part == EXAMPLES:
        return Data(part, ckpt.examples())
    task = TASKS.get(str(ckpt.card.get("task")))
    if isinstance(task, TextTask):
        text = read_text(find_data_file(find_data_folder(folder), task.train if part == "train" else task.test))
        used = text[task.held_out :] if part == "train" else text
        return Data(part, [(window, "") for window in windows(used, task.window)], whole_text=True)
    if isinstance(task, PairTask):
        if part == "train" and task.symmetry is not None:
            return Data(part, task.trained_on(folder))
        splits = _splits(task, part)
        made = [split.limit or 0 for split in splits if split.file.startswith(GENERATED)]
        if len(made) == len(splits) and sum(made) > MAX_MADE:
            (first, *_) = splits
            return Data(part, replace(first, limit=FIRST_MADE).read(folder, task.tokenizers), of=sum(made))
        return Data(part, [pair for split in splits for pair in split.read(folder, task.tokenizers)])
    return Data(part, choose_pairs(ckpt, data_folder=folder))


def sources(ckpt: Checkpoint, folder: str | Path | None = None) -> tuple[Source, ...]:
    """The origin of each part, with the counts of left-out items; none for a model without a task of this program.

    Raises ValueError for missing or bad files.
    """
    task = TASKS.get(str(ckpt.card.get("task")))
    if not isinstance(task, PairTask):
        return ()
    files: _Files = {}
    for split in (*task.train, task.validation, task.test):
        whole = replace(split, skip=0, limit=None)
        if whole not in files and not split.file.startswith(GENERATED):
            pairs = replace(whole, longest=None).read(folder)
            longest = split.longest
            fitting = pairs if longest is None else [pair for pair in pairs if fits(pair, task.tokenizers, longest)]
            files[whole] = len(pairs), fitting
    train, *held_out = (_source(part, _splits(task, part), files) for part in ("train", "validation", "test"))
    if task.symmetry is not None:
        used = len(task.trained_on(folder))
        train = replace(train, used=used, alike=train.used - used, varied=task.symmetry.said)
    return train, *held_out


def item_codecs(ckpt: Checkpoint) -> Codecs:
    """The codecs of an item's two columns: source and target, or for a model of one stack its only codec and None."""
    if ckpt.spec.kind == "encoder-decoder":
        return _own(ckpt, "source"), _own(ckpt, "target")
    return _own(ckpt, "source" if ckpt.spec.has_encoder else "target"), None


def _own(ckpt: Checkpoint, side: SideName) -> Codec | None:
    return ckpt.own_codec(side) if side in ckpt.codecs else None


def measure(items: Sequence[Pair], codecs: Codecs) -> Measured:
    """Lengths and unknown tokens of all items."""
    lengths, unknown = np.zeros((len(items), 2), np.int64), np.zeros((len(items), 2), np.int64)
    for side, codec in enumerate(codecs):
        if codec is None:
            continue
        tokenizer, vocabulary = codec.tokenizer, codec.vocabulary
        known: dict[str, bool] = {}
        for index, item in enumerate(items):
            pieces = tokenizer.split(item[side])
            lengths[index, side] = len(pieces)
            for piece in pieces:
                if piece not in known:
                    known[piece] = is_known(vocabulary, tokenizer.normalise(piece))
                if not known[piece]:
                    unknown[index, side] += 1
    return Measured(lengths, unknown)


def keep(measured: Measured, longest: tuple[int, int], *, known_only: bool) -> Kept:
    """The counts of items with at most `longest` tokens (source, target) and, with `known_only`, no unknown word.

    The reasons are tried in the order source too long, target too long, unknown words.
    """
    source = measured.lengths[:, 0] > longest[0]
    target = ~source & (measured.lengths[:, 1] > longest[1])
    words = ~source & ~target & ~measured.known if known_only else np.zeros(len(source), np.bool_)
    left = len(source) - int(source.sum()) - int(target.sum()) - int(words.sum())
    return Kept(left, int(source.sum()), int(target.sum()), int(words.sum()))


def length_facts(lengths: NDArray[np.int64]) -> LengthFacts:
    """Mean, deviation and range of lengths, [N]. Raises ValueError for none."""
    if not lengths.size:
        raise ValueError("there are no texts to measure")
    return LengthFacts(float(lengths.mean()), float(lengths.std()), int(lengths.min()), int(lengths.max()))


def shuffle_batch(ckpt: Checkpoint, data: Data, size: int, seed: int) -> PaddedBatch:
    """`size` items of a part at random, the same for the same seed, encoded and padded as in training.

    Raises ValueError for a model without text, and for an item that it cannot read.
    """
    generator = torch.Generator().manual_seed(seed)
    indices = tuple(torch.randperm(len(data.items), generator=generator)[:size].tolist())
    items = [data.items[index] for index in indices]
    source, target = _own(ckpt, "source"), _own(ckpt, "target")
    if target is None or (ckpt.spec.has_encoder and source is None):
        raise ValueError(f"{ckpt.name} has no vocabulary of both sides: its batches are ids alone")
    if source is None:
        rows = [target.encode(text).ids for text, _ in items]
        longest = max(map(len, rows))
        if target.padding is None and any(len(row) < longest for row in rows):
            raise ValueError(
                "these texts differ in length, and the vocabulary has no padding token: draw another batch"
            )
        ids = np.array([[*row, *[target.padding or 0] * (longest - len(row))] for row in rows], np.int64)
        lengths = np.array([len(row) for row in rows])
        return PaddedBatch(indices, {"target": ids}, {"target": np.arange(longest) >= lengths[:, None]})
    spec = ckpt.spec
    if source.padding is None or target.padding is None:
        raise ValueError(f"{ckpt.name} has no padding token: its texts are taken one by one")
    # Besides the encoded pairs their true lengths: those of a model with `pad_to` count its padding.
    encoded = EncodedPairs(items, (source, target), (spec.max_source, spec.max_target), "batch", pad_to=spec.pad_to)
    sides: tuple[SideName, ...] = ("source", "target")
    batch = dict(zip(sides, encoded.batch(torch.arange(len(items))), strict=True))
    ids_of, padding = {}, {}
    for place, (side, codec) in enumerate(zip(sides, (source, target), strict=True)):
        values = batch[side]
        assert values is not None
        ids_of[side] = values.numpy()
        true = np.array([len(codec.encode(item[place]).ids) for item in items])
        padding[side] = np.arange(values.shape[1]) >= true[:, None]
    return PaddedBatch(indices, ids_of, padding)


def _splits(task: PairTask, part: str) -> tuple[Split, ...]:
    return {"train": task.train, "validation": (task.validation,), "test": (task.test,)}[part]


def _source(part: str, splits: Sequence[Split], files: _Files) -> Source:
    names = tuple(split.file for split in splits)
    made = sum(split.limit or 0 for split in splits if split.file.startswith(GENERATED))  # as many as are asked for
    if all(name.startswith(GENERATED) for name in names):
        return Source(part, names, None, 0, made, made)
    in_files = too_long = 0
    used = made
    for split in splits:
        if split.file.startswith(GENERATED):
            continue
        count, fitting = files[replace(split, skip=0, limit=None)]
        in_files, too_long = in_files + count, too_long + count - len(fitting)
        used += len(fitting[split.skip : None if split.limit is None else split.skip + split.limit])
    return Source(part, names, in_files, too_long, used, made)
