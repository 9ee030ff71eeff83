"""Runs many texts unrecorded, in batches: the checkpoint's answers, and the likelihood of given texts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_transformer import declared
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.measuring.data import Pair, fits
from viz_transformer.model.causality import padding_matters
from viz_transformer.model.hooked_model import HookedModel
from viz_transformer.model.kinds import SIDES
from viz_transformer.model.stepping import pad_rows
from viz_transformer.model.transformer import Transformer
from viz_transformer.running.search import Constraints, beam_search, decode_batch
from viz_transformer.running.strategies import Beam
from viz_transformer.text.codec import Codec, TextCodec

Progress = Callable[[int, int], None]
"""Called with the number of texts done and in all."""

BATCH = 128
"""Maximum texts per batch; fewer if they are long."""
BATCH_TOKENS = 16_384
BATCH_LOGITS = 2**26
UNKNOWN = "\uffff"
"""Represents an unknown token when texts are compared: a non-character, so no text contains it."""


@dataclass(frozen=True)
class Answer:
    """A checkpoint's answer."""

    text: str  # unknown tokens are <unk>
    tokens: tuple[str, ...]  # without start, end and padding; unknown tokens are UNKNOWN
    complete: bool  # whether nothing is unknown; an incomplete answer is always wrong
    ids: tuple[int, ...]  # without start and end


@dataclass(frozen=True)
class TokenScores:
    """Scores of given target tokens: log-probability in nats, number most probable, and number in all."""

    log_prob: float = 0.0
    right: int = 0
    tokens: int = 0

    def __add__(self, other: TokenScores) -> TokenScores:
        return TokenScores(self.log_prob + other.log_prob, self.right + other.right, self.tokens + other.tokens)


@dataclass(frozen=True)
class Sides:
    """The parts of a checkpoint that translates text, all present."""

    model: HookedModel
    source: TextCodec
    target: TextCodec
    start: tuple[int, ...]  # read before the first step: the start token and, in some models, a language token
    ends: frozenset[int]  # any of these ends an answer
    end: int  # follows a given target

    @property
    def bos(self) -> int:
        return self.start[0]


def sides(ckpt: Checkpoint) -> Sides:
    """Parts of a checkpoint that translates text. Raises ValueError for any other."""
    if ckpt.spec.kind != "encoder-decoder":
        raise ValueError(f"{ckpt.name} is {ckpt.spec.kind}: only an encoder-decoder can be evaluated on pairs")
    for side in SIDES:
        if side not in ckpt.codecs:
            raise ValueError(f"{ckpt.name} has no vocabulary of its {side} side: add it first")
    source, target = ckpt.codec("source"), ckpt.codec("target")
    if target.start is None or not target.ends:
        raise ValueError(
            f"{ckpt.name} has no {'start' if target.start is None else 'end'} token: its config must name one"
        )
    if len(target.ends) > 1 and not target.adds_end:
        raise ValueError(
            f"{ckpt.name} ends its answers with one of {len(target.ends)} tokens, and its tokenizer puts none of them"
            " after a text: which one ends a target is not known"
        )
    start = (target.start, *target.forced_start)
    return Sides(ckpt.hooked_model, source, target, start, frozenset(target.ends), min(target.ends))


def source_ids(ckpt: Checkpoint, sources: Sequence[str]) -> list[tuple[int, ...]]:
    """Sources as ids. Raises ValueError with the index of an unreadable one."""
    side = sides(ckpt)
    return [_source_ids(side, index, source) for index, source in enumerate(sources)]


def answers_of(
    ckpt: Checkpoint, sources: Sequence[str], *, beam: int | None = None, progress: Progress | None = None
) -> tuple[list[Answer], float]:
    """The answer to each source, greedy unless `beam` is a width, and the seconds taken.

    Raises ValueError for a model that is not an encoder-decoder with text, and for unreadable sources.
    """
    side = sides(ckpt)
    items = [_Item(index, ids, ()) for index, ids in enumerate(source_ids(ckpt, sources))]
    answers: dict[int, Answer] = {}
    seconds = 0.0
    for batch in _batches(items, side.model):
        start = time.perf_counter()
        written = _written_for(side, [item.src for item in batch], beam)
        seconds += time.perf_counter() - start
        answers |= {item.index: _answer(side.target, ids) for item, ids in zip(batch, written, strict=True)}
        if progress is not None:
            progress(len(answers), len(items))
    return [answers[index] for index in range(len(items))], seconds


def _written_for(side: Sides, sources: Sequence[tuple[int, ...]], beam: int | None) -> list[list[int]]:
    """Ids written for each source, without start and end tokens.

    Other programs' models, which may have several end tokens, bans and rules, decode greedily with a beam of 1.
    """
    if isinstance(side.model, Transformer):
        return decode_batch(side.model, sources, bos=side.bos, eos=side.end, beam=beam)
    found = beam_search(
        side.model,
        sources,
        Beam(beam or 1).filled(side.target.beam_settings),
        Constraints(
            start=side.start,
            ends=side.ends,
            most=side.model.spec.max_target - len(side.start) + 1,
            begun=len(side.start) - 1,
            banned=side.target.banned,
            rules=side.target.rules,
        ),
    )
    return [each.ids[:-1] if each.ids and each.ids[-1] in side.ends else each.ids for each in found]


def readable(ckpt: Checkpoint, pairs: Sequence[Pair], longest: tuple[int, int] | None = None) -> list[Pair]:
    """The pairs that are not too long for the checkpoint, in order.

    longest: limits for source and target tokens, without start and end, in addition to the model's. Raises ValueError
    for a model that is not an encoder-decoder with text, and for texts without tokens.
    """
    side, spec = sides(ckpt), ckpt.spec
    tokenizers = None
    if longest is not None:
        tokenizers = ckpt.own_codec("source").tokenizer, ckpt.own_codec("target").tokenizer
    return [
        (source, target)
        for index, (source, target) in enumerate(pairs)
        if len(_encoded(side.source, index, source)) <= spec.max_source
        and len(_written(side, index, target)) - 1 <= spec.max_target
        and (longest is None or tokenizers is None or fits((source, target), tokenizers, longest))
    ]


def target_scores(ckpt: Checkpoint, pairs: Sequence[Pair]) -> TokenScores:
    """Scores of the targets, end tokens included; an unknown token is never right.

    A forced beginning, such as a language token, is not counted. Raises ValueError for a model that is not an
    encoder-decoder with text, and for unreadable texts.
    """
    return sum(scores_of_each(ckpt, pairs), TokenScores())


def scores_of_each(ckpt: Checkpoint, pairs: Sequence[Pair]) -> list[TokenScores]:
    """`target_scores` for each pair, in order."""
    side = sides(ckpt)
    items = [
        _Item(index, _source_ids(side, index, source), _target_ids(side, index, target))
        for index, (source, target) in enumerate(pairs)
    ]
    pad = side.end if ckpt.spec.target_pad is None else ckpt.spec.target_pad
    found: dict[int, TokenScores] = {}
    for batch in _batches(items, side.model):
        scores = _token_scores(side.model, batch, pad, side.target, given=len(side.start))
        found |= {item.index: each for item, each in zip(batch, scores, strict=True)}
    return [found[index] for index in range(len(items))]


def window_scores(
    ckpt: Checkpoint,
    codec: TextCodec,
    ids: Sequence[int],
    window: int,
    limit: int | None,
    progress: Progress | None = None,
) -> tuple[TokenScores, int]:
    """Scores of a decoder-only model for the tokens after the first, and the number of windows, at most `limit`.

    Window i reads up to `window` ids from i * window on and predicts the next token of each.
    """
    starts = range(0, len(ids) - 1, window)[:limit]
    vocab_size = len(codec.names)
    rows = max(1, min(BATCH, BATCH_TOKENS // window, BATCH_LOGITS // (window * vocab_size)))
    scores, done = TokenScores(), 0
    while done < len(starts):
        cut = [tuple(ids[start : start + window + 1]) for start in starts[done : done + rows]]
        if len(cut) > 1 and len(cut[-1]) < len(cut[0]):
            cut.pop()  # the short one runs alone, so that nothing needs padding
        items = [_Item(done, (), tgt) for tgt in cut]
        scores = sum(_token_scores(ckpt.hooked_model, items, ckpt.spec.target_pad, codec), scores)
        done += len(cut)
        if progress is not None:
            progress(done, len(starts))
    return scores, len(starts)


@dataclass(frozen=True)
class _Item:
    """One text as ids, and its index; tgt begins with what is read but not written."""

    index: int
    src: tuple[int, ...]
    tgt: tuple[int, ...]

    @property
    def lengths(self) -> tuple[int, int]:
        return len(self.src), len(self.tgt)


def _source_ids(side: Sides, index: int, text: str) -> tuple[int, ...]:
    ids = _encoded(side.source, index, text)
    _check_length(index, "source", len(ids), side.model.spec.max_source)
    return ids


def _target_ids(side: Sides, index: int, text: str) -> tuple[int, ...]:
    ids = _written(side, index, text)
    _check_length(index, "target", len(ids) - 1, side.model.spec.max_target)
    return ids


def _written(side: Sides, index: int, text: str) -> tuple[int, ...]:
    """A target with start and end tokens, whether or not the codec adds them."""
    ids = _encoded(side.target, index, text)
    ids = ids if ids[0] == side.bos else (side.bos, *ids)
    return ids if side.target.adds_end or ids[-1] == side.end else (*ids, side.end)


def _encoded(codec: TextCodec, index: int, text: str) -> tuple[int, ...]:
    with declared.prefixed(f"pair {index + 1}: "):
        return codec.encode(text).ids


def _check_length(index: int, name: str, length: int, most: int) -> None:
    if length > most:
        raise ValueError(f"pair {index + 1}: the {name} has {length} tokens, the model reads at most {most}")


def _answer(codec: TextCodec, ids: Sequence[int]) -> Answer:
    if not isinstance(codec, Codec):
        shown = (UNKNOWN if i == codec.unknown else codec.names[i] for i in ids if i not in codec.special_ids)
        return Answer(codec.decode(ids), tuple(shown), complete=codec.unknown not in ids, ids=tuple(ids))
    vocabulary = codec.vocabulary
    hidden = {vocabulary.bos, vocabulary.eos, vocabulary.pad}
    tokens = tuple(UNKNOWN if i == vocabulary.unk else vocabulary.tokens[i] for i in ids if i not in hidden)
    return Answer(codec.decode(ids), tokens, complete=vocabulary.unk not in ids, ids=tuple(ids))


def _batches(items: Sequence[_Item], model: HookedModel) -> Iterator[list[_Item]]:
    """Batches of similar length.

    Lengths are equal within a batch where padding is not allowed, and for other programs' models, to give each text its
    own numbers.
    """
    another = not isinstance(model, Transformer)
    equal_lengths = another or model.spec.source_pad is None or padding_matters(model)
    most = BATCH_LOGITS // (model.spec.target_vocab_size or 1) if another else BATCH_TOKENS
    batch: list[_Item] = []
    for item in sorted(items, key=lambda item: item.lengths):
        longest = model.spec.pad_to or max(max(other.lengths) for other in [*batch, item])
        other_length = equal_lengths and bool(batch) and batch[0].lengths != item.lengths
        if batch and (len(batch) == BATCH or other_length or longest * (len(batch) + 1) > min(most, BATCH_TOKENS)):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch


def _token_scores(
    model: HookedModel, batch: Sequence[_Item], pad: int | None, codec: TextCodec, *, given: int = 1
) -> list[TokenScores]:
    """Scores of each text in a batch. given: leading tokens that are read but not written."""
    spec = model.spec
    # The last token is written but never read, even in a shorter text of the batch, where a model might see it early.
    read, wanted_rows = [item.tgt[:-1] for item in batch], [item.tgt[1:] for item in batch]
    sources = [item.src for item in batch] if spec.has_encoder else None
    with torch.no_grad():
        if isinstance(model, Transformer):
            given_rows = [(read, pad)] if sources is None else [(sources, spec.source_pad), (read, pad)]
            logits: Tensor = model(*(pad_rows(*each, model.device, length=spec.pad_to) for each in given_rows))
        else:
            logits = model.whole(sources, read)
        device = logits.device
        wanted = pad_rows(wanted_rows, pad, device, length=spec.pad_to)
        losses = F.cross_entropy(logits.double().flatten(0, 1), wanted.flatten(), reduction="none").view_as(wanted)
        best = logits.argmax(dim=-1)
    lengths = torch.tensor([len(item.tgt) - 1 for item in batch], device=device)
    place = torch.arange(best.size(1), device=device)
    counted = (place < lengths[:, None]) & (place >= given - 1)  # [B, T-1]
    hits = counted & (best == wanted)
    if codec.unknown is not None:
        hits = hits & (wanted != codec.unknown)
    totals = -losses.masked_fill(~counted, 0.0).sum(dim=1)
    columns = (totals.tolist(), hits.sum(dim=1).tolist(), counted.sum(dim=1).tolist())
    return [TokenScores(*each) for each in zip(*columns, strict=True)]
