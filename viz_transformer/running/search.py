"""Search for an answer, on ids: the decoder between steps, beam search, and batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import torch
from torch import Tensor

from viz_transformer.model.causality import begun, is_causal, padding_matters, reads_ahead_edited
from viz_transformer.model.hook import OFF, Recorder, Thin
from viz_transformer.model.hooked_model import HookedModel, Rows
from viz_transformer.running.beam_tree import BeamTree, TreeRecorder
from viz_transformer.running.edits import Edit, Replace
from viz_transformer.running.strategies import Beam, greatest, log_softmax
from viz_transformer.text.rules import TokenRule, removals


def whole_passes_because(
    model: HookedModel, start: Sequence[int], edits: Sequence[Edit] = (), src: Sequence[int] = ()
) -> str | None:
    """Reason why every step has to be a full pass; None if a cache gives the same numbers.

    start: what is read first. src: source used to test the edits.
    """
    if model.spec.pad_to is not None:
        return f"the model reads {model.spec.pad_to} tokens at a time, padding included"
    if because := reads_ahead_because(model, start) or _needs_all_rows(edits):
        return because
    tried = _tried(edits)  # the answer is not known yet, so tests use other tokens
    return reads_ahead_edited(model, src, begun(model, start, _length(tried)), tried) if tried else None


def reads_ahead_because(
    model: HookedModel, start: Sequence[int], edits: Sequence[Edit] = (), src: Sequence[int] = ()
) -> str | None:
    """Reason why a decoder row may depend on later tokens, so that each pass has its own rows; None if none does."""
    if not is_causal(model):
        return "later tokens change earlier rows of this model"
    config = model.spec.config
    if start[0] == model.spec.target_pad and config is not None and config.mask_fill != "zero-rows":
        return "the text begins with padding, which attends to later tokens in this model"
    if because := _needs_all_rows([edit for edit in edits if model.spec.grows(edit.point) != "never"]):
        return because
    if not (tried := _tried(edits)):
        return None
    return reads_ahead_edited(model, src, start if model.spec.pad_to else start[: _length(tried)], tried)


def _tried(edits: Sequence[Edit]) -> list[Edit]:
    """Edits that may open later tokens: of the decoder's masks, biases and weights."""
    return [
        edit
        for edit in edits
        if edit.point.startswith("decoder.") and edit.point.endswith((".mask", ".bias", ".weights"))
    ]


def _length(edits: Sequence[Edit]) -> int:
    """Tokens needed to test these edits: an exact length for full-pass values, else a minimum."""
    exact = [size for edit in edits if isinstance(edit, Replace) and (size := edit.only_length) is not None]
    return min(exact) if exact else max(edit.length for edit in edits)


def _needs_all_rows(edits: Sequence[Edit]) -> str | None:
    for edit in edits:
        if not edit.row_local:
            return f"the edit '{edit.caption()}' needs all rows at once"
    return None


class DecoderState:
    """A decoder between two steps, for a batch.

    edits: recorded with these edits; not recorded if None. thin: as in Recorder.
    """

    def __init__(
        self,
        model: HookedModel,
        src: Rows | None,
        *,
        cached: bool = True,
        edits: Sequence[Edit] | None,
        thin: Thin | None = None,
    ) -> None:
        self.cached = cached
        self.recorder = Recorder(edits or (), grows=model.spec.grows, thin=thin)
        self.decoding = model.begin(src, cached=cached, hook=OFF if edits is None else self.recorder)
        self.values, self.said = self.recorder.values, self.recorder.said  # the encoder's points and their names

    def step(self, new: Sequence[Sequence[int]]) -> tuple[Tensor, dict[str, Tensor]]:
        """Read these new tokens, B rows of equal length: logits [B, V] after the last one, and the recorded points."""
        self.recorder.begin(self.decoding.length)
        logits = self.decoding.step(new)
        return logits, self.recorder.values

    def select(self, rows: Sequence[int]) -> None:
        """Keep these rows of the batch, in this order."""
        self.decoding.select(rows)


@dataclass
class _Search:
    """Beam search for one text: live hypotheses, all of one length, and the best finished ones."""

    beam: Beam
    ends: Collection[int]
    most: int  # maximum tokens per hypothesis
    begun: int = 0  # forced tokens before the first step, which count as written
    recorder: TreeRecorder | None = None  # records every continuation considered
    alive: list[tuple[list[int], float]] = field(default_factory=lambda: [([], 0.0)])  # (ids, log_prob)
    finished: list[tuple[list[int], float]] = field(default_factory=list)  # (ids, log_prob)

    def grow(self, log_probs: Tensor, forced: int | None) -> list[int]:
        """Take one step and return the parent index of each new hypothesis.

        log_probs: [hypotheses, V] float64 of the next token. forced: the token that all must write.
        """
        width, vocabulary = self.beam.width, log_probs.size(1)
        all_end = self.beam.counts_unfinished and len(self.alive[0][0]) + 1 >= self.most
        total = log_probs + torch.tensor([[p] for _, p in self.alive], dtype=torch.float64, device=log_probs.device)
        total[log_probs == -math.inf] = -math.inf  # stays banned even where the score is NaN
        if forced is None:
            totals = total.flatten()
            flat = greatest(totals, min(max(2, 1 + len(self.ends)) * width, len(totals)))
            best = totals[flat]
        else:
            best, rows = total[:, forced].sort(descending=True, stable=True)
            flat = rows * vocabulary + forced
        grown: list[tuple[list[int], float]] = []
        parents = []
        looked_at = []
        own = log_probs.flatten()[flat].tolist()
        places = []
        for rank, (log_prob, place) in enumerate(zip(best.tolist(), flat.tolist(), strict=True)):
            if log_prob == -math.inf:  # banned
                break
            parent, token = divmod(place, vocabulary)
            hypothesis = ([*self.alive[parent][0], token], log_prob)
            kept = rank < width if all_end or token in self.ends else len(grown) < width
            if kept and token in self.ends:
                self.finished.append(hypothesis)
            elif kept:
                grown.append(hypothesis)
                parents.append(parent)
                places.append(rank)
            looked_at.append((parent, token, own[rank], log_prob, kept))
        if self.recorder is not None:
            self.recorder.grown(looked_at, places, self._best_pruned(total, {each[0] for each in looked_at if each[4]}))
        self.alive = grown
        self.finished = sorted(self.finished, key=self.score_ended, reverse=True)[:width]
        return parents

    def _best_pruned(self, total: Tensor, extended: Collection[int]) -> dict[int, float]:
        """For each hypothesis without an extension, the best total [hypotheses, V] of an unfinished continuation."""
        pruned = [row for row in range(len(total)) if row not in extended]
        if not pruned:
            return {}
        going_on = total[pruned]
        going_on[:, list(self.ends)] = -math.inf
        return dict(zip(pruned, going_on.max(dim=1).values.tolist(), strict=True))

    def score(self, hypothesis: tuple[list[int], float]) -> float:
        ids, log_prob = hypothesis
        return self.beam.score(log_prob, self.begun + len(ids))

    def score_ended(self, hypothesis: tuple[list[int], float]) -> float:
        ids, log_prob = hypothesis
        return self.beam.score(log_prob, self.beam.counted(self.begun + len(ids), ended=True))

    @property
    def is_full(self) -> bool:
        """Whether the live hypotheses have reached the maximum length."""
        return bool(self.alive) and len(self.alive[0][0]) >= self.most

    def is_over(self) -> bool:
        """Whether the beam's stop rule ends the search."""
        stop, width = self.beam.stop, self.beam.width
        if not self.alive or self.is_full:
            return True
        if len(self.finished) < (1 if stop == "first-finished" else width):
            return False
        worst = self.score_ended(self.finished[-1])
        if stop == "none-better":
            return all(self.score(hypothesis) <= worst for hypothesis in self.alive)
        if stop in ("early_stopping=False", "early_stopping=never") and width > 1:  # transformers is greedy here
            return not self._hope() > worst
        return True

    def _hope(self) -> float:
        """Best score that the most probable hypothesis can still reach, by the formula of `generate`."""
        ids, log_prob = self.alive[0]
        longest = self.beam.stop == "early_stopping=never" and (self.beam.length_penalty or 0) > 0
        return self.beam.score(log_prob, self.begun + (self.most if longest else len(ids)))

    def answer(self) -> tuple[list[int], float]:
        """The best hypothesis, end token included, and its score."""
        found = [(ids, self.score_ended((ids, total))) for ids, total in self.finished[:1]]
        if not found or (self.is_full and self.beam.counts_unfinished):
            found += [(ids, self.score((ids, total))) for ids, total in self.alive]
        return max(found, key=itemgetter(1))


Progress = Callable[[int, int], None]
"""Called with the number of steps done and the maximum; an exception in it ends the search."""


@dataclass(frozen=True)
class Found:
    """The best hypothesis for a text: ids with the end token, score, and the tree if requested."""

    ids: list[int]
    score: float
    tree: BeamTree | None = None


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """What an answer may be: it follows on `start`, has at most `most` tokens, and one of `ends` ends it.

    begun: how many tokens at the end of `start` count as written. forced: tokens by step; banned: ids that are never
    written; rules: what else a hypothesis may not write.
    """

    start: Sequence[int]
    ends: Collection[int]
    most: int
    begun: int = 0
    forced: Mapping[int, int] = field(default_factory=dict)
    banned: Collection[int] = ()
    rules: Sequence[TokenRule] = ()


def beam_search(
    model: HookedModel,
    src: Sequence[Sequence[int]] | None,
    beam: Beam,
    constraints: Constraints,
    *,
    edits: Sequence[Edit] = (),
    vocabulary: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> list[Found]:
    """The best hypothesis for each text.

    src: texts searched in parallel; None for a decoder-only model, which continues one. vocabulary: token names; if
    given, trees are recorded.
    """
    start, most = constraints.start, constraints.most
    # Edits change the search too, so their passes go through a Recorder.
    because = whole_passes_because(model, start, edits, src[0] if src else ())
    state = DecoderState(model, src, cached=because is None, edits=edits or None)
    beam, recorded = beam.filled(), vocabulary is not None
    ends, begun = constraints.ends, constraints.begun
    searches = [
        _Search(beam, ends, most, begun, TreeRecorder(beam, ends, begun, most) if recorded else None)
        for _ in src or [()]
    ]
    out = torch.tensor(sorted(constraints.banned), dtype=torch.long)
    going = searches
    fed = [list(start) for _ in going]
    for step in range(most):
        log_probs = log_softmax(state.step(fed)[0])  # [all hypotheses, V]
        token = constraints.forced.get(step)
        if len(out):
            log_probs = log_probs.index_fill(1, out.to(log_probs.device), -math.inf)
        rows: list[int] = []
        fed, left, row = [], [], 0
        for search in going:
            count = len(search.alive)
            if token is None:
                _remove(log_probs[row : row + count], constraints.rules, start, search)
            parents = search.grow(log_probs[row : row + count], token)
            if not search.is_over():
                left.append(search)
                rows += [row + parent for parent in parents]
                fed += [[ids[-1]] for ids, _ in search.alive]
            row += count
        if progress is not None:
            progress(step + 1, most)
        going = left
        if not going:
            break
        state.select(rows)
    return [_found(search, vocabulary or (), start) for search in searches]


def _remove(log_probs: Tensor, rules: Sequence[TokenRule], start: Sequence[int], search: _Search) -> None:
    """Set what the rules forbid to -inf, in place: log_probs [hypotheses, V]."""
    for row, (ids, _) in enumerate(search.alive if rules else ()):
        for out in removals(rules, [*start, *ids], len(ids)).values():
            log_probs[row, sorted(out)] = -math.inf


def _found(search: _Search, vocabulary: Sequence[str], start: Sequence[int]) -> Found:
    ids, score = search.answer()
    return Found(ids, score, None if search.recorder is None else search.recorder.tree(vocabulary, start, ids))


def decode_batch(
    model: HookedModel,
    src_ids: Sequence[Sequence[int]],
    *,
    bos: int,
    eos: int,
    max_steps: int | None = None,
    beam: int | None = None,
) -> list[list[int]]:
    """Answers to many sources, unrecorded: ids without start and end tokens, in the given order.

    Greedy unless `beam` is a width; cached, or in full passes for a non-causal model. src_ids: as the encoder reads
    them; sort them by length to save padding.
    """
    most = min(max_steps or model.spec.max_target, model.spec.max_target)
    with torch.no_grad():
        answers: list[list[int]] = [[] for _ in src_ids]
        for places in _batches(model, src_ids):
            sources = [src_ids[i] for i in places]
            if beam is None:
                found = _greedy_batch(model, sources, bos=bos, eos=eos, most=most)
            else:
                best = beam_search(model, sources, Beam(beam), Constraints(start=[bos], ends={eos}, most=most))
                found = [each.ids[:-1] if each.ids and each.ids[-1] == eos else each.ids for each in best]
            for place, answer in zip(places, found, strict=True):
                answers[place] = answer
        return answers


def _batches(model: HookedModel, src_ids: Sequence[Sequence[int]]) -> list[list[int]]:
    """Indices of sources that may share a batch: all, or those of equal length if padding changes numbers."""
    if not padding_matters(model):
        return [list(range(len(src_ids)))]
    by_length: dict[int, list[int]] = {}
    for place, ids in enumerate(src_ids):
        by_length.setdefault(len(ids), []).append(place)
    return list(by_length.values())


def _greedy_batch(
    model: HookedModel, src_ids: Sequence[Sequence[int]], *, bos: int, eos: int, most: int
) -> list[list[int]]:
    state = DecoderState(model, src_ids, cached=not whole_passes_because(model, [bos]), edits=None)
    answers: list[list[int]] = [[] for _ in src_ids]
    going = list(range(len(src_ids)))  # the answer that each row of the state is writing
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
