"""The search for an answer, on ids alone: strategies, the decoder between two steps, beam search, many at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from viz_transformer.edits import Edit
from viz_transformer.model.cache import DecoderCache
from viz_transformer.model.causality import is_causal, padding_matters
from viz_transformer.model.transformer import Transformer
from viz_transformer.tap import OFF, Recorder, Tap


@dataclass(frozen=True)
class Greedy:
    """The most probable token at every step; of equals, the one with the smaller id."""

    def __str__(self) -> str:
        return "greedy"


@dataclass(frozen=True)
class Beam:
    """The `width` best hypotheses go on at every step; the best finished one is the answer.

    Score: log-probability / ((5 + |Y|) / 6)^length_penalty, where |Y| counts the tokens written, end token included.
    Stop rule: `width` hypotheses have finished and none that goes on has a better score than the worst of the best
    `width` finished ones, or the maximum length. With width 1 that is greedy decoding.
    Source: Wu et al. (2016), equation 14, without the coverage term.
    """

    width: int
    length_penalty: float = field(default=0.6, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.width, bool) or not isinstance(self.width, int) or not 1 <= self.width <= 100:
            raise ValueError(f"width={self.width!r} is not a beam width: choose a whole number from 1 to 100")
        if not 0 <= self.length_penalty <= 10:  # also refuses NaN
            raise ValueError(f"length_penalty={self.length_penalty!r} must be a number from 0 to 10")

    def score(self, log_prob: float, length: int) -> float:
        """What hypotheses are compared by; `length` is |Y|."""
        return log_prob / math.pow((5 + length) / 6, self.length_penalty)

    def __str__(self) -> str:
        return f"beam, width {self.width}, length penalty {self.length_penalty:g}"


Strategy = Greedy | Beam


def whole_passes_because(model: Transformer, start: Sequence[int], edits: Sequence[Edit] = ()) -> str | None:
    """Why every step has to read all tokens anew; None if a cache gives the same numbers. `start` is read first."""
    if model.config.pad_to is not None:
        return f"the model reads {model.config.pad_to} tokens at a time, padding included"
    if not is_causal(model):
        return "later tokens change earlier rows of this model"
    if start[0] == model.config.target_pad and model.config.mask_fill != "zero-rows":
        return "the text begins with padding, which attends to later tokens in this model"
    for edit in edits:
        if not edit.row_local:
            return f"the edit '{edit.caption()}' needs all rows at once"
    return None


class DecoderState:
    """A decoder in the middle of its work, for a batch: with a cache each step reads the new tokens only.

    With edits given, every pass is recorded; without (None), none is.
    """

    def __init__(
        self,
        model: Transformer,
        src: Sequence[Sequence[int]] | None,
        *,
        cached: bool = True,
        edits: Sequence[Edit] | None,
    ) -> None:
        config = model.config
        self.model = model
        self.cached = cached
        self.device = next(model.parameters()).device
        self.recorder = Recorder(edits or ())
        self.tap: Tap = OFF if edits is None else self.recorder
        self.memory: Tensor | None = None
        self.keep: Tensor | None = None
        if src is not None:
            self.memory, self.keep = model.encode(self._padded(src, config.source_pad), self.tap)
        self.values = self.recorder.values  # the encoder's points
        self.cache = DecoderCache(config.decoder_layers, config.max_target) if cached else None
        self._read: list[list[int]] = []

    def step(self, new: Sequence[Sequence[int]]) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Read these new tokens, [B] rows of one length: logits [B, V] after the last, and what was recorded."""
        if self.cache is None:
            self._read = [old + list(row) for old, row in zip(self._read or [[] for _ in new], new, strict=True)]
            new = self._read
        self.recorder.begin(self.cache.length if self.cache is not None else 0)
        tgt = self._padded(new, self.model.config.target_pad)
        logits = self.model.decode(tgt, self.memory, self.keep, cache=self.cache, tap=self.tap)
        return logits[:, len(new[0]) - 1], self.recorder.values

    def _padded(self, rows: Sequence[Sequence[int]], pad: int | None) -> Tensor:
        return padded(rows, pad, self.device, length=self.model.config.pad_to)

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows of the batch, in this order."""
        index = torch.tensor(rows, dtype=torch.long, device=self.device)
        if self.memory is not None and self.keep is not None:
            self.memory, self.keep = self.memory.index_select(0, index), self.keep.index_select(0, index)
        if self.cache is not None:
            self.cache.select(index)
        elif self._read:
            self._read = [self._read[row] for row in rows]


@dataclass
class _Search:
    """The search for one text: hypotheses that go on, all of one length, and the best finished ones (ids, log_prob)."""

    beam: Beam
    end: int | None
    alive: list[tuple[list[int], float]] = field(default_factory=lambda: [([], 0.0)])
    finished: list[tuple[list[int], float]] = field(default_factory=list)

    def grow(self, log_probs: Tensor, forced: int | None) -> list[int]:
        """Take one step: log_probs [hypotheses, V] (float64) of the next token, or the one that is forced.

        Returns the place of each new hypothesis' parent.
        """
        if forced is not None:
            ids, log_prob = self.alive[0]
            self.alive = [([*ids, forced], log_prob + float(log_probs[0, forced]))]
            return [0]
        width, vocabulary = self.beam.width, log_probs.size(1)
        total = log_probs + torch.tensor([[p] for _, p in self.alive], dtype=torch.float64, device=log_probs.device)
        best, flat = total.flatten().topk(min(2 * width, total.numel()))
        grown: list[tuple[list[int], float]] = []
        parents = []
        for rank, (log_prob, place) in enumerate(zip(best.tolist(), flat.tolist(), strict=True)):
            parent, token = divmod(place, vocabulary)
            hypothesis = ([*self.alive[parent][0], token], log_prob)
            if token == self.end:
                if rank < width:
                    self.finished.append(hypothesis)
            elif len(grown) < width:
                grown.append(hypothesis)
                parents.append(parent)
        self.alive = grown
        self.finished = sorted(self.finished, key=self.score, reverse=True)[:width]
        return parents

    def score(self, hypothesis: tuple[list[int], float]) -> float:
        ids, log_prob = hypothesis
        return self.beam.score(log_prob, len(ids))

    def is_over(self, most: int) -> bool:
        """The stop rule of `Beam`, for hypotheses of at most `most` tokens."""
        if not self.alive or len(self.alive[0][0]) >= most:
            return True
        if len(self.finished) < self.beam.width:
            return False
        worst = self.score(self.finished[-1])
        return all(self.score(hypothesis) <= worst for hypothesis in self.alive)

    def answer(self) -> tuple[list[int], float]:
        """The best hypothesis, end token included, and its score."""
        score, ids = max(
            ((self.score(hypothesis), hypothesis[0]) for hypothesis in self.finished or self.alive),
            key=lambda pair: pair[0],
        )
        return ids, score


def beam_search(
    model: Transformer,
    src: Sequence[Sequence[int]] | None,
    start: Sequence[int],
    beam: Beam,
    *,
    end: int | None,
    most: int,
    forced: Sequence[int] = (),
    edits: Sequence[Edit] = (),
) -> list[tuple[list[int], float]]:
    """The best hypothesis for each text: its ids, end token included, and its score.

    src: the texts, searched side by side; None for a decoder alone, which writes one.
    """
    # An edit changes the search too, so then its passes go through a Recorder.
    state = DecoderState(model, src, cached=not whole_passes_because(model, start, edits), edits=edits or None)
    searches = [_Search(beam, end) for _ in src or [()]]
    going = searches
    fed = [list(start) for _ in going]
    while True:
        log_probs = state.step(fed)[0].double().log_softmax(dim=-1)  # [all hypotheses, V]
        length = len(going[0].alive[0][0])
        token = forced[length] if length < len(forced) else None
        rows: list[int] = []
        fed, left, row = [], [], 0
        for search in going:
            count = len(search.alive)
            parents = search.grow(log_probs[row : row + count], token)
            if not search.is_over(most):
                left.append(search)
                rows += [row + parent for parent in parents]
                fed += [[ids[-1]] for ids, _ in search.alive]
            row += count
        going = left
        if not going:
            return [search.answer() for search in searches]
        state.select(rows)


def decode_batch(
    model: Transformer,
    src_ids: Sequence[Sequence[int]],
    *,
    bos: int,
    eos: int,
    max_steps: int | None = None,
    beam: int | None = None,
    length_penalty: float = 0.6,
) -> list[list[int]]:
    """The answers to many sources, unrecorded: ids without start and end token, in the order given.

    Cached, or in whole passes for a model that is not causal.

    src_ids: ids as the encoder reads them. Greedy unless `beam` is a width. Sort by length to waste little on padding.
    """
    most = min(max_steps or model.config.max_target, model.config.max_target)
    with torch.no_grad():
        answers: list[list[int]] = [[] for _ in src_ids]
        for places in _batches(model, src_ids):
            sources = [src_ids[i] for i in places]
            if beam is None:
                found = _greedy_batch(model, sources, bos=bos, eos=eos, most=most)
            else:
                strategy = Beam(beam, length_penalty=length_penalty)
                best = beam_search(model, sources, [bos], strategy, end=eos, most=most)
                found = [ids[:-1] if ids and ids[-1] == eos else ids for ids, _ in best]
            for place, answer in zip(places, found, strict=True):
                answers[place] = answer
        return answers


def _batches(model: Transformer, src_ids: Sequence[Sequence[int]]) -> list[list[int]]:
    """The places of the sources that may stand in one batch: all, or those of one length if padding changes numbers."""
    if not padding_matters(model):
        return [list(range(len(src_ids)))]
    by_length: dict[int, list[int]] = {}
    for place, ids in enumerate(src_ids):
        by_length.setdefault(len(ids), []).append(place)
    return list(by_length.values())


def _greedy_batch(
    model: Transformer, src_ids: Sequence[Sequence[int]], *, bos: int, eos: int, most: int
) -> list[list[int]]:
    state = DecoderState(model, src_ids, cached=not whole_passes_because(model, [bos]), edits=None)
    answers: list[list[int]] = [[] for _ in src_ids]
    going = list(range(len(src_ids)))  # the answers that row 0, 1, ... of the state are writing
    fed = [[bos] for _ in src_ids]
    for _ in range(most):
        chosen = state.step(fed)[0].argmax(dim=-1).tolist()
        rows = [row for row, token in enumerate(chosen) if token != eos]
        for row in rows:
            answers[going[row]].append(chosen[row])
        if not rows:
            break
        if len(rows) < len(going):
            state.select(rows)
            going = [going[row] for row in rows]
        fed = [[chosen[row]] for row in rows]
    return answers


def padded(
    rows: Sequence[Sequence[int]], pad: int | None, device: torch.device | None = None, *, length: int | None = None
) -> Tensor:
    """Rows of ids as one int64 tensor [B, length or the longest], the shorter ones filled up at the end with `pad`.

    Raises ValueError if they need padding and there is no id for it.
    """
    longest = max(map(len, rows)) if length is None else length
    if pad is None and any(len(row) < longest for row in rows):
        raise ValueError("texts of different lengths need a pad token: take them one by one")
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], dtype=torch.long, device=device)
