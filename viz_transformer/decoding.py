"""The answer being written: one step at a time, cached, recorded as it goes.

A step reads the tokens so far and writes one token. A greedy run is recorded while it decodes; a beam search decodes
unrecorded, and its best hypothesis is then recorded in one pass. A model that is not causal has no cache: each of its
steps is a whole pass with rows of its own, and the trace (the last pass) says so in `info`: cached False, and a reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.edits import Edit, check_edits
from viz_transformer.joined import JoinedSteps
from viz_transformer.record import Tokens, Trace
from viz_transformer.search import Beam, DecoderState, Greedy, Strategy, beam_search, whole_passes_because
from viz_transformer.tracing import (
    TextOrIds,
    check_edits_ran,
    decoder_input,
    encode_source,
    make_trace,
    padded_next_ids,
    padded_tokens,
    record,
)

CANDIDATES = 10
GREEDY = Greedy()

Stopped = Literal["end token", "maximum length"]


@dataclass(frozen=True)
class Candidate:
    """A token that could stand at a step, with its log-probability (natural logarithm, over the whole vocabulary)."""

    token: str
    token_id: int
    log_prob: float


@dataclass(frozen=True, eq=False)
class Step:
    """One token written, and what was recorded on the way to it. Numbers are computed when they are looked at."""

    index: int
    token: str
    token_id: int
    forced: bool
    logits: Tensor = field(repr=False)  # [V]
    vocabulary: tuple[str, ...] = field(repr=False)
    recorded: Mapping[str, Tensor] = field(repr=False)  # of the pass that wrote the token, what `rows` needs or more
    row: int = field(repr=False)  # its row in them; -1 is the last

    @cached_property
    def log_probs(self) -> Tensor:
        """Natural logarithm of the probability of each entry of the vocabulary, before the strategy: [V]."""
        return self.logits.detach().float().cpu().log_softmax(dim=-1)

    @property
    def log_prob(self) -> float:
        """That of the token written."""
        return float(self.log_probs[self.token_id])

    @property
    def rows(self) -> Mapping[str, Tensor]:
        """The new row of every attention of the decoder, over the keys it could see: [B, H, 1, K], by point."""
        return _attention_rows(self.recorded, self.row)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The ten most probable tokens, best first."""
        log_probs, ids = self.log_probs.topk(min(CANDIDATES, len(self.vocabulary)))
        pairs = zip(ids.tolist(), log_probs.tolist(), strict=True)
        return tuple(Candidate(self.vocabulary[i], i, log_prob) for i, log_prob in pairs)


def _attention_rows(recorded: Mapping[str, Tensor], row: int) -> dict[str, Tensor]:
    """One row of every attention of the decoder, [B, H, 1, K]; out of a whole pass, self-attention's keys so far."""
    rows = {}
    for name, value in recorded.items():
        if name.startswith("decoder.") and name.endswith(".weights"):
            at = row % value.size(2)
            keys = at + 1 if ".self." in name and value.size(2) == value.size(3) else value.size(3)
            rows[name] = value[:, :, at, None, :keys]
    return rows


@dataclass(frozen=True, eq=False)
class Run:
    """A finished decode: the answer, its steps, and the trace of everything behind it."""

    text: str
    steps: tuple[Step, ...]
    trace: Trace
    stopped: Stopped
    beam_score: float | None = None

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens written, the end token included."""
        return tuple(step.token for step in self.steps)

    @property
    def log_prob(self) -> float:
        """The sum of the steps' log-probabilities, forced ones included."""
        return math.fsum(step.log_prob for step in self.steps)

    @property
    def score(self) -> float:
        """The strategy's own score; for greedy decoding that is the log-probability."""
        return self.log_prob if self.beam_score is None else self.beam_score


def decode(
    ckpt: Checkpoint,
    source: TextOrIds,
    *,
    strategy: Strategy = GREEDY,
    prefix: TextOrIds | None = None,
    target: TextOrIds | None = None,
    max_steps: int | None = None,
    edits: Sequence[Edit] = (),
) -> Run:
    """What the model writes for `source`, greedily unless a strategy is given.

    `prefix` is text or ids, without start and end tokens, that the answer has to begin with; its steps are forced.
    `target` instead is the whole answer: all its steps are forced (teacher forcing), the end token too unless the
    target fills the model to its maximum, and what the model gives each of its tokens stands in the steps.
    A decoder-only model goes on from `source`. Stops at the end token, after `max_steps` steps (the prefix counts),
    or at the model's maximum. Raises ValueError for input that the model cannot read, with one sentence.
    """
    return decode_stream(
        ckpt, source, strategy=strategy, prefix=prefix, target=target, max_steps=max_steps, edits=edits
    ).run_to_the_end()


def decode_stream(
    ckpt: Checkpoint,
    source: TextOrIds,
    *,
    strategy: Strategy = GREEDY,
    prefix: TextOrIds | None = None,
    target: TextOrIds | None = None,
    max_steps: int | None = None,
    edits: Sequence[Edit] = (),
) -> DecodeStream:
    """`decode` as an iterator over its steps; its `run` is there when the last step is. Input is checked at once."""
    edits = tuple(edits)
    config = ckpt.config
    if not config.has_decoder:
        raise ValueError("an encoder-only model writes nothing: record it with trace()")
    check_edits(edits, config)
    codec = ckpt.target_codec
    assert codec is not None
    if config.has_encoder:
        src = encode_source(ckpt, source)
        if codec.vocabulary.bos is None:
            raise ValueError("the target vocabulary has no start token, so the decoder has nothing to begin with")
        start = _tokens_of(ckpt, [codec.vocabulary.bos])
    else:
        src, (start, _) = Tokens(), decoder_input(ckpt, source)
    room = config.max_target - len(start) + 1
    if max_steps is not None and max_steps < 1:
        raise ValueError(f"max_steps={max_steps} must be at least 1")
    most = room if max_steps is None else min(room, max_steps)
    if target is None:
        forced = _forced(ckpt, "prefix", prefix)
    elif prefix is not None or max_steps is not None or strategy != GREEDY:
        raise ValueError("a given target leaves nothing to decode: give no prefix, strategy or max_steps with it")
    else:
        forced, end = _forced(ckpt, "target", target), codec.vocabulary.eos
        if end is not None and len(forced) != room:
            forced += _tokens_of(ckpt, [end])
        if not len(forced):
            raise ValueError("the target is empty, and this model knows no end token that could stand there")
    if len(forced) > most:
        what = "prefix" if target is None else "target"
        raise ValueError(f"the {what} has {len(forced)} tokens, the answer at most {most}: shorten the {what}")
    if target is not None:
        most = len(forced)
    job = _Job(ckpt, src, start, forced, most, edits, None if target is not None else strategy)
    return DecodeStream(_decode_beam(job, strategy) if isinstance(strategy, Beam) else _decode_stepwise(job))


class DecodeStream:
    """The steps of a decode, one by one; `run` is the whole, once they are exhausted."""

    def __init__(self, steps: Iterator[Step | Run]) -> None:
        self._steps = steps
        self._run: Run | None = None

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        item = next(self._steps)
        if isinstance(item, Run):
            self._run = item
            raise StopIteration
        return item

    @property
    def run(self) -> Run:
        """The finished run. Raises ValueError while steps are still to come."""
        if self._run is None:
            raise ValueError("the run is not finished: take all its steps first")
        return self._run

    def run_to_the_end(self) -> Run:
        """Take the steps that are left; the finished run."""
        for _ in self:
            pass
        return self.run


@dataclass(frozen=True)
class _Job:
    """A decode with its input checked: `start` is what the decoder reads first, `most` the steps at most.

    Without a strategy there is nothing to choose: the whole target is forced.
    """

    ckpt: Checkpoint
    src: Tokens
    start: Tokens
    forced: Tokens
    most: int
    edits: tuple[Edit, ...]
    strategy: Strategy | None

    @property
    def vocabulary(self) -> tuple[str, ...]:
        assert self.ckpt.target_codec is not None
        return self.ckpt.target_codec.vocabulary.tokens

    @property
    def end(self) -> int | None:
        assert self.ckpt.target_codec is not None
        return self.ckpt.target_codec.vocabulary.eos

    @cached_property
    def whole_passes(self) -> str | None:
        """Why every step is a whole pass; None if the steps are cached."""
        return whole_passes_because(self.ckpt.model, self.start.ids, self.edits)

    def stopped(self, ids: Sequence[int]) -> Stopped:
        return "end token" if ids and ids[-1] == self.end else "maximum length"

    def run(self, steps: Sequence[Step], trace: Trace, beam_score: float | None = None) -> Run:
        ids = [step.token_id for step in steps]
        assert self.ckpt.target_codec is not None
        return Run(self.ckpt.target_codec.decode(ids), tuple(steps), trace, self.stopped(ids), beam_score)

    def info(self, ids: Sequence[int]) -> dict[str, Any]:
        """What the trace says about how it was made."""
        info = {
            "kind": "decoded" if self.strategy else "teacher-forced",
            "strategy": str(self.strategy or "given target"),
            "stopped": self.stopped(ids),
            "forced": len(self.forced),
            "written": len(ids),
            "cached": self.whole_passes is None,
        }
        return info if self.whole_passes is None else {**info, "reason": self.whole_passes}

    def read(self, ids: Sequence[int]) -> Tokens:
        """All that the decoder reads when it writes these ids: the start, all but the last, padding if it pads."""
        names = _tokens_of(self.ckpt, ids[:-1])
        originals = (*self.forced.originals[: len(names)], *names.originals[len(self.forced) :])
        return padded_tokens(self.ckpt, self.start + replace(names, originals=originals), "target")

    def next_ids(self, ids: Sequence[int]) -> tuple[int | None, ...]:
        return padded_next_ids(self.ckpt.config, (*self.start.ids[1:], *ids))


def _decode_stepwise(job: _Job, answer: Sequence[int] = (), score: float | None = None) -> Iterator[Step | Run]:
    """Greedily, or along an answer that was found already; recorded as it goes.

    Where every step is a whole pass, the trace is the last one: it read all that was written.
    """
    passes: list[Mapping[str, Tensor]] = []
    steps: list[Step] = []
    with torch.no_grad():
        src = [job.src.ids] if len(job.src) else None
        state = DecoderState(job.ckpt.model, src, cached=job.whole_passes is None, edits=job.edits)
    fed = list(job.start.ids)
    given = answer or job.forced.ids
    while len(steps) < (len(answer) or job.most):
        with torch.no_grad():  # not across a yield: the caller's own gradient mode stays as it is
            scored, recorded = state.step([fed])
            logits = scored[0]  # [V]
            best = int(logits.argmax())
        if state.cached:
            passes.append(recorded)
        else:  # the step keeps copies of its rows: whole passes of all steps would take the square of the length
            rows = _attention_rows(recorded, len(job.start) + len(steps) - 1)
            passes, recorded = [recorded], {name: row.clone() for name, row in rows.items()}
            logits = logits.clone()
        forced = len(steps) < len(job.forced)
        chosen = given[len(steps)] if len(steps) < len(given) else best
        step = Step(len(steps), job.vocabulary[chosen], chosen, forced, logits, job.vocabulary, recorded, -1)
        steps.append(step)
        yield step
        if chosen == job.end and not forced:
            break
        fed = [chosen]
    ids = [step.token_id for step in steps]
    check_edits_ran(job.edits, state.recorder.ran)
    trace = make_trace(
        job.ckpt,
        JoinedSteps(state.values, passes),
        job.src,
        job.read(ids),
        job.next_ids(ids),
        edits=job.edits,
        info=job.info(ids),
    )
    yield job.run(steps, trace, score)


def _decode_beam(job: _Job, beam: Beam) -> Iterator[Step | Run]:
    with torch.no_grad():
        src = [job.src.ids] if len(job.src) else None
        ((ids, score),) = beam_search(
            job.ckpt.model, src, job.start.ids, beam, end=job.end, most=job.most, forced=job.forced.ids, edits=job.edits
        )
    if job.whole_passes is not None:  # one pass would not have the rows that the search saw
        yield from _decode_stepwise(job, ids, score)
        return
    trace = record(job.ckpt, job.src, job.read(ids), job.next_ids(ids), edits=job.edits, info=job.info(ids))
    first = len(job.start) - 1  # the row that writes the first token
    logits = trace["logits"][0, first:]
    names, forced = job.vocabulary, len(job.forced)
    steps = [
        Step(index, names[i], i, index < forced, logits[index], names, trace.values, first + index)
        for index, i in enumerate(ids)
    ]
    yield from steps
    yield job.run(steps, trace, score)


def _forced(ckpt: Checkpoint, name: str, given: TextOrIds | None) -> Tokens:
    """The tokens of a prefix or target. Raises ValueError for specials among ids: it has none."""
    codec = ckpt.target_codec
    assert codec is not None
    vocabulary = codec.vocabulary
    if given is None or len(given) == 0:
        return Tokens()
    specials = {vocabulary.bos, vocabulary.eos, vocabulary.pad}
    if isinstance(given, str):
        try:
            encoded = codec.encode(given)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        kept = [place for place, i in enumerate(encoded.ids) if i not in specials]
        return _tokens_of(ckpt, [encoded.ids[place] for place in kept], [encoded.originals[place] for place in kept])
    ids = codec.encode_ids(given).ids
    for i in ids:
        if i in specials:
            raise ValueError(f"{name}: id {i} is the special token {vocabulary.tokens[i]!r}; leave it out")
    return _tokens_of(ckpt, ids)


def _tokens_of(ckpt: Checkpoint, ids: Sequence[int], originals: Sequence[str] | None = None) -> Tokens:
    assert ckpt.target_codec is not None
    names = ckpt.target_codec.vocabulary.tokens
    tokens = tuple(names[i] for i in ids)
    return Tokens(tuple(ids), tokens, tokens if originals is None else tuple(originals))
