"""Decoding: writes the answer one step at a time, with a cache, recording as it goes.

A step reads the tokens so far and writes one token. A greedy run is recorded while it decodes; a beam search decodes
unrecorded, then records its best hypothesis in one pass. A non-causal model has no cache: each step is a full pass with
its own rows (`Run.per_step_rows`), the trace is the last pass, and its `info` has `cached` False and the reason.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, TypedDict, Unpack

import torch
from torch import Tensor

from viz_transformer import declared
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.given import CALLABLE, IDS, MAPPING, TEXT_OR_IDS, TOKENS, WHOLE, instance, optional, takes
from viz_transformer.model import hooked_model
from viz_transformer.model.hook import Thin
from viz_transformer.model.hooked_model import NUMBER_BYTES, ModelSpec
from viz_transformer.renamed import Renamed
from viz_transformer.running.beam_tree import BeamTree
from viz_transformer.running.edits import EDITS, Edit, check_edits
from viz_transformer.running.labels import Labels, labels_of
from viz_transformer.running.lazy_activations import LazyActivations, only
from viz_transformer.running.search import Constraints, DecoderState, Found, Progress, beam_search, whole_passes_because
from viz_transformer.running.stacked_steps import StackedSteps, per_step_rows
from viz_transformer.running.step import Choosing, Held, Step, attention_rows, read_for_rows
from viz_transformer.running.strategies import (
    Beam,
    Greedy,
    Sampling,
    Strategy,
    choose_token,
    distribution,
    first_greatest,
)
from viz_transformer.running.trace import Tokens, Trace, each_once
from viz_transformer.running.tracing import (
    CHECKPOINT,
    TextOrIds,
    check_edits_ran,
    decoder_input,
    encode_source,
    make_trace,
    pad_tokens,
    padded_next_ids,
    record,
)
from viz_transformer.sentences import quote
from viz_transformer.text.rules import TokenRule, removals

GREEDY = Greedy()
STRATEGY = instance("a strategy: vt.Greedy(), vt.Sampling() or vt.Beam(4)", Greedy, Sampling, Beam)

Stopped = Literal["end token", "maximum length"]
Force = Mapping[int, int | str]
"""Tokens to force, as ids or vocabulary entries, by step."""


@dataclass(frozen=True, eq=False)
class Run:
    """A finished decode: the answer, its steps and its trace; for a beam search, also the tree."""

    text: str
    steps: tuple[Step, ...]
    trace: Trace
    stopped: Stopped
    tree: BeamTree | None = None
    beam_score: float | None = None

    @property
    def tokens(self) -> tuple[str, ...]:
        """Tokens written, including the end token."""
        return tuple(step.token for step in self.steps)

    @cached_property
    def per_step_rows(self) -> Trace:
        """The run as its steps saw it: row t comes from the pass that wrote next_tokens[t], bit for bit.

        Equals `trace` if rows do not depend on later tokens. Otherwise (see `trace.non_causal_reason`) each step was a
        separate pass, of which its logits and its row of attention weights were kept. The result then has
        `{site}.weights` [B, H, T, K] and `{site}.mask` of the decoder, `logits` [B, T, V], and what no step recomputes:
        the encoder's points, and key and value of cross-attention. Rows without a step (a given beginning, padding) and
        keys that did not exist yet are NaN, and False in the mask. Any other point raises KeyError.
        """
        return per_step_rows(self.trace, self.steps)

    own_rows = Renamed("per_step_rows")

    @cached_property
    def labels(self) -> tuple[Labels, ...]:
        """Labels predicted for the text, or for each token by a tagger; empty for a model without labels."""
        return labels_of(self.trace)

    @property
    def log_prob(self) -> float:
        """Sum of the steps' log-probabilities, forced ones included."""
        return math.fsum(step.log_prob for step in self.steps)

    @property
    def score(self) -> float:
        """The strategy's own score: a beam's score, the log-probability of what was sampled, or else `log_prob`."""
        if self.beam_score is not None:
            return self.beam_score
        if self.steps and isinstance(self.steps[0].choosing.strategy, Sampling):
            return math.fsum(step.strategy_log_prob for step in self.steps if not step.forced)
        return self.log_prob


class Steering(TypedDict, total=False):
    """What else a decode may be given."""

    target: TextOrIds | None
    """The whole answer, forced (teacher forcing); the end token too, unless it fills the model to its maximum."""
    force: Force | None
    """Tokens that single steps must write, overriding the strategy; the end token is allowed."""
    ban: Collection[int | str]
    """Tokens that are never chosen."""
    progress: Progress | None
    """Called after each step, also in a beam search; an exception in it aborts the decode."""


_takes_decode = takes(
    ckpt=CHECKPOINT,
    source=TEXT_OR_IDS,
    strategy=STRATEGY,
    prefix=optional(TEXT_OR_IDS),
    target=optional(TEXT_OR_IDS),
    force=optional(MAPPING),
    ban=TOKENS,
    max_steps=optional(WHOLE),
    edits=EDITS,
    progress=optional(CALLABLE),
)


@_takes_decode
def decode(
    ckpt: Checkpoint,
    source: TextOrIds,
    *,
    strategy: Strategy = GREEDY,
    prefix: TextOrIds | None = None,
    max_steps: int | None = None,
    edits: Sequence[Edit] = (),
    **more: Unpack[Steering],
) -> Run:
    """Decode `source`, greedily by default. A decoder-only model continues it.

    prefix: text or ids without start and end tokens that the answer must begin with, as forced steps.
    max_steps: maximum steps including the prefix; the end token and the model's maximum also end the run.
    more: target, force, ban and progress, as in `Steering`.
    Raises ValueError with one sentence for input that the model cannot read, and if the run ends before a forced step.
    """
    found = decode_stream(ckpt, source, strategy=strategy, prefix=prefix, max_steps=max_steps, edits=edits, **more)
    return found.run_to_the_end()


@_takes_decode
def decode_stream(
    ckpt: Checkpoint,
    source: TextOrIds,
    *,
    strategy: Strategy = GREEDY,
    prefix: TextOrIds | None = None,
    max_steps: int | None = None,
    edits: Sequence[Edit] = (),
    **more: Unpack[Steering],
) -> DecodeStream:
    """`decode` as an iterator over its steps, with `run` available after the last. Input is checked at once."""
    job = _job(ckpt, source, strategy, tuple(edits))
    codec, room, strategy = ckpt.codec("target"), job.most, _filled(strategy, ckpt)
    declared.within("max_steps", max_steps, declared.Count | None)
    most = room if max_steps is None else min(room, max_steps)
    target, given = more.get("target"), _forced_steps(ckpt, more.get("force") or {})
    banned = frozenset(_given_ids(ckpt, more.get("ban", ()), "ban"))
    if target is None:
        forced, banned = _forced(ckpt, "prefix", prefix), banned | codec.banned
    elif prefix is not None or max_steps is not None or strategy != GREEDY or given or banned:
        raise ValueError(
            "a given target leaves nothing to decode: give no prefix, strategy, force, ban or max_steps with it"
        )
    else:
        forced, end = _forced(ckpt, "target", target), min(codec.ends, default=None)
        if end is not None and len(forced) != room:
            forced += _tokens_of(ckpt, [end])
        if not len(forced):
            raise ValueError("the target is empty, and this model has no end token that could be the target")
    if len(forced) > most:
        what = "prefix" if target is None else "target"
        raise ValueError(f"the {what} has {len(forced)} tokens, the answer at most {most}: shorten the {what}")
    if target is not None:
        most = len(forced)
    job = replace(
        job,
        prefix=forced,
        force=_all_forced(forced.ids, given, banned, most, codec.names),
        banned=banned,
        most=most,
        strategy=None if target is not None else strategy,
        progress=more.get("progress"),
    )
    return DecodeStream(_decode_beam(job, strategy) if isinstance(strategy, Beam) else _decode_stepwise(job))


@takes(ckpt=CHECKPOINT, source=TEXT_OR_IDS, ids=IDS, strategy=STRATEGY, forced=WHOLE, ban=TOKENS, edits=EDITS)
def follow(
    ckpt: Checkpoint,
    source: TextOrIds,
    ids: Sequence[int],
    *,
    strategy: Strategy = GREEDY,
    forced: int = 0,
    ban: Collection[int | str] = (),
    edits: Sequence[Edit] = (),
) -> Run:
    """Record the run that writes exactly these ids, such as another hypothesis of a beam search.

    No end token is added. The first `forced` steps are marked as forced; `ban` lists what the search could not write.
    One pass, or step by step for a non-causal model. Raises ValueError for no ids or too many, ids outside the
    vocabulary, and tokens after an end token.
    """
    job = _job(ckpt, source, _filled(strategy, ckpt), tuple(edits))
    written = ckpt.codec("target").encode_ids(ids).ids
    if not 1 <= len(written) <= job.most:
        raise ValueError(f"{len(written)} ids cannot be followed: this model writes 1 to {job.most} tokens here")
    ended = next((place for place, each in enumerate(written[:-1]) if each in job.ends), None)
    if ended is not None:
        raise ValueError(f"the end token is at position {ended}, and more tokens follow: end there")
    marked = replace(
        job,
        force=dict(enumerate(written[: max(forced, 0)])),
        banned=ckpt.codec("target").banned | frozenset(_given_ids(ckpt, ban, "ban")),
    )
    return DecodeStream(_recorded(marked, written)).run_to_the_end()


def _filled(strategy: Strategy, ckpt: Checkpoint) -> Strategy:
    """The strategy with unset fields filled from the model's own settings."""
    codec = ckpt.target_codec
    if isinstance(strategy, Beam):
        return strategy.filled(None if codec is None else codec.beam_settings)
    return strategy


_GIVES = {
    "masked token": "the token at a masked position",
    "class": "a class",
    "token class": "a label for each token",
    "none": "no logits",
}


def _job(ckpt: Checkpoint, source: TextOrIds, strategy: Strategy | None, edits: tuple[Edit, ...]) -> _Job:
    """A decode of this source with nothing forced. Raises ValueError for what the model cannot read."""
    spec = ckpt.spec
    if spec.output != "next token":
        gives = f"this model gives {_GIVES[spec.output]}, not a next token"
        why = gives if spec.has_decoder else "an encoder-only model does not generate text"
        raise ValueError(f"{why}: record it with trace()")
    check_edits(edits, spec)
    codec = ckpt.codec("target")
    if spec.has_encoder:
        src = encode_source(ckpt, source)
        if codec.start is None:
            raise ValueError(
                "the target vocabulary has no start token, so the decoder has nothing to begin with: name it where the"
                " model is imported, with --set target_bos=TOKEN, or on Models, Open a model"
            )
        start = _tokens_of(ckpt, [codec.start, *codec.forced_start])
    else:
        src, (start, _) = Tokens(), decoder_input(ckpt, source)
    return _Job(ckpt, src, start, spec.max_target - len(start) + 1, edits, strategy)


class DecodeStream:
    """The steps of a decode, one by one; `run` is available after the last."""

    def __init__(self, steps: Iterator[Step | Run]) -> None:
        self._steps = steps
        self._run: Run | None = None

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        with torch.no_grad():  # not across a yield: the caller keeps its own gradient mode
            item = next(self._steps)
        if isinstance(item, Run):
            self._run = item
            raise StopIteration
        return item

    @property
    def run(self) -> Run:
        """The finished run. Raises ValueError before the last step."""
        if self._run is None:
            raise ValueError("the run is not finished: take all its steps first")
        return self._run

    def run_to_the_end(self) -> Run:
        """Take the remaining steps and return the finished run."""
        with torch.no_grad():
            for item in self._steps:
                if isinstance(item, Run):
                    self._run = item
        return self.run


@dataclass(frozen=True)
class _Job:
    """A decode with checked input."""

    ckpt: Checkpoint
    src: Tokens
    start: Tokens  # what the decoder reads first
    most: int  # maximum steps
    edits: tuple[Edit, ...]
    strategy: Strategy | None  # none if the whole target is given
    prefix: Tokens = field(default_factory=Tokens)  # original text of the forced tokens at the beginning
    force: Mapping[int, int] = field(default_factory=dict)  # all forced ids, by step
    banned: frozenset[int] = frozenset()
    progress: Progress | None = None

    def decoder(self, thin: Thin | None) -> DecoderState:
        """A recording decoder at its first step."""
        src = [self.src.ids] if len(self.src) else None
        cached = self.whole_passes is None
        return DecoderState(self.ckpt.hooked_model, src, cached=cached, edits=self.edits, thin=thin)

    @property
    def rules(self) -> tuple[TokenRule, ...]:
        """The model's own token rules; empty for a given target."""
        return self.ckpt.codec("target").rules if self.strategy is not None else ()

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return self.ckpt.codec("target").names

    @property
    def ends(self) -> frozenset[int]:
        return self.ckpt.codec("target").ends

    @cached_property
    def whole_passes(self) -> str | None:
        """Why every step is a full pass; None if steps are cached."""
        return whole_passes_because(self.ckpt.hooked_model, self.start.ids, self.edits, self.src.ids)

    @cached_property
    def scalars(self) -> Mapping[str, float]:
        return self.ckpt.hooked_model.scalars()

    def stopped(self, ids: Sequence[int]) -> Stopped:
        return "end token" if ids and ids[-1] in self.ends else "maximum length"

    def run(self, steps: Sequence[Step], trace: Trace, found: Found | None = None) -> Run:
        ids = [step.token_id for step in steps]
        if self.force and max(self.force) >= len(ids):
            raise ValueError(
                f"the run ended with step {len(ids) - 1}, before the forced token of step {max(self.force)}"
            )
        beam = (None, None) if found is None else (found.tree, found.score)
        return Run(self.ckpt.codec("target").decode(ids), tuple(steps), trace, self.stopped(ids), *beam)

    def choosing(self, read: Sequence[int]) -> Choosing:
        spec, caches, first, source = self.ckpt.spec, self.whole_passes is None, len(self.start), len(self.src)
        held = partial(_held, spec, first, source) if caches else _holds_nothing  # must not keep the model alive
        return Choosing(self.strategy, self.banned, read, first, self.vocabulary, held, self.scalars, self.rules)

    def info(self, ids: Sequence[int]) -> dict[str, Any]:
        """`Trace.info` of a run that wrote these ids."""
        info = {
            "kind": "decoded" if self.strategy else "teacher-forced",
            "strategy": str(self.strategy or "given target"),
            "stopped": self.stopped(ids),
            "forced": len(self.force),
            "written": len(ids),
            "cached": self.whole_passes is None,
        }
        return info if self.whole_passes is None else {**info, "reason": self.whole_passes}

    def read(self, ids: Sequence[int]) -> Tokens:
        """Everything that the decoder reads to write these ids: the start, all but the last id, and padding if any."""
        names = _tokens_of(self.ckpt, ids[:-1])
        originals = (*self.prefix.originals[: len(names)], *names.originals[len(self.prefix) :])
        return pad_tokens(self.ckpt, self.start + replace(names, originals=originals), "target")

    def next_ids(self, ids: Sequence[int]) -> tuple[int | None, ...]:
        return padded_next_ids(self.ckpt.spec, (*self.start.ids[1:], *ids))


def _held(spec: ModelSpec, first: int, source: int, step: int) -> Held:
    """Size of the cache after a step, in the model's dtype; first: tokens read by the first step."""
    held = {"self": first + step, "cross": source}
    values = 0
    for site, heads in spec.attentions.items():
        if site.startswith("decoder."):
            values += held[site.rpartition(".")[2]] * heads.numbers_cached
    return Held(held["self"], held["cross"], NUMBER_BYTES[spec.precision] * values)


def _holds_nothing(step: int) -> None:
    """No cache: every step is a full pass."""


def _decode_stepwise(job: _Job, answer: Sequence[int] = (), found: Found | None = None) -> Iterator[Step | Run]:
    """Decode token by token, or along a given answer, recording as it goes.

    Where every step is a full pass, the trace is the last one, which read everything written.
    """
    passes: list[dict[str, Tensor]] = []
    steps: list[Step] = []
    read = list(job.start.ids)
    keeping = _Keeping(job, read)
    state = job.decoder(keeping.thin)
    said = state.said
    fed = list(read)
    choosing = job.choosing(read)
    given = dict(enumerate(answer)) or job.force
    while len(steps) < (len(answer) or job.most):
        scored, recorded = state.step([fed])
        if not steps:
            said += state.recorder.said
        logits, index = scored[0].cpu(), len(steps)  # [V]
        if scored.device.type != "cpu":  # a run is read on the CPU, wherever it was computed
            recorded = each_once(recorded, lambda value: value.cpu())
        if state.cached:
            passes.append(recorded)
            recorded = read_for_rows(recorded)  # keep no more, so that `StackedSteps` can release the rest
        else:  # copy only the step's rows: keeping full passes would take memory quadratic in the length
            rows = attention_rows(recorded, len(read) - 1, job.scalars)
            passes, recorded = [recorded], {name: row.clone() for name, row in rows.items()}
            logits = logits.clone()
        keeping.look_at(state.values, passes)
        token = given[index] if index in given else _choose(job, logits, read, index)
        step = Step(index, choosing.vocabulary[token], token, index in job.force, logits, recorded, -1, choosing)
        steps.append(step)
        if job.progress is not None:
            job.progress(len(steps), job.most)
        yield step
        if token in job.ends:
            break
        fed = [token]
        read.append(token)
    ids = [step.token_id for step in steps]
    check_edits_ran(job.edits, state.recorder.ran)
    values: Mapping[str, Tensor] = StackedSteps(state.values, passes, grows=job.ckpt.spec.grows)
    if keeping.kept is not None:
        again = partial(_again, replace(job, progress=None), ids)
        lengths = {"source": len(job.src), "target": len(job.read(ids))}
        values = LazyActivations(keeping.kept, values, said, again, job.ckpt.spec, **lengths)
    trace = make_trace(job.ckpt, values, job.src, job.read(ids), job.next_ids(ids), edits=job.edits, info=job.info(ids))
    yield job.run(steps, trace, found)


class _Keeping:
    """Decides which points of a decode's passes are kept: all, until together they are too large."""

    def __init__(self, job: _Job, read: Sequence[int]) -> None:
        self._job, self._read = job, read
        self._may_be_large = job.ckpt.spec.most_bytes > hooked_model.WHOLE_BYTES
        self._done = self._bytes = 0
        self.kept: frozenset[str] | None = None
        if self._may_be_large and (
            job.ckpt.spec.whole_bytes(source=len(job.src), target=len(read)) > hooked_model.WHOLE_BYTES
        ):
            self._be_thin()

    def _be_thin(self) -> None:
        self.kept = self._job.ckpt.spec.kept(source=len(self._job.src), target=len(self._read))

    @property
    def thin(self) -> Thin | None:
        """Keeps the chosen points, and in decoder attention the row that writes the next token."""
        return None if self.kept is None else partial(self._left, only(self.kept))

    def _left(self, kept: Thin, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        row = -1 if self._job.whole_passes is None else len(self._read) - 1  # the one that writes the next token
        rows = attention_rows(values, row, self._job.scalars)
        return {**kept(values), **{name: row.clone() for name, row in rows.items()}}

    def look_at(self, before: dict[str, Tensor], passes: Sequence[dict[str, Tensor]]) -> None:
        """Release what exceeds the limit from these dictionaries, which the steps share."""
        if not self._may_be_large:
            return
        one = len(passes) == 1
        self._bytes = (_bytes(before) if one else self._bytes) + _bytes(passes[-1])
        if self.kept is None and self._bytes > hooked_model.WHOLE_BYTES:
            self._be_thin()
        if (thin := self.thin) is None:
            return
        for values in (*([before] if self._done == 0 else []), *passes[0 if one else self._done :]):
            left = thin(values)
            values.clear()
            values.update(left)
        self._done = len(passes)


def _bytes(values: Mapping[str, Tensor]) -> int:
    return sum({value.data_ptr(): value.numel() * value.element_size() for value in values.values()}.values())


def _again(job: _Job, ids: Sequence[int], names: frozenset[str]) -> dict[str, Tensor]:
    """Rerun the passes that wrote these ids, recording only these points."""
    state = job.decoder(only(names))
    with torch.no_grad():
        if job.whole_passes is None:
            passes = [state.step([new])[1] for new in (job.start.ids, *([each] for each in ids[:-1]))]
        else:
            passes = [state.step([[*job.start.ids, *ids[:-1]]])[1]]
    joined = StackedSteps(state.values, passes, grows=job.ckpt.spec.grows)
    return {name: joined[name] for name in names}


def _choose(job: _Job, logits: Tensor, read: Sequence[int], step: int) -> int:
    """The id chosen by the strategy."""
    by_rule = removals(job.rules, read, step)
    if isinstance(job.strategy, Sampling):
        left = distribution(logits, job.strategy, read, job.banned, by_rule=by_rule)
        return choose_token(left, job.strategy, step)
    if out := sorted(job.banned.union(*by_rule.values())):
        logits = logits.index_fill(0, torch.tensor(out, device=logits.device), -math.inf)
    return first_greatest(logits)


def _decode_beam(job: _Job, beam: Beam) -> Iterator[Step | Run]:
    (found,) = beam_search(
        job.ckpt.hooked_model,
        [job.src.ids] if len(job.src) else None,
        beam,
        Constraints(
            start=job.start.ids,
            ends=job.ends,
            most=job.most,
            begun=len(job.ckpt.codec("target").forced_start),
            forced=job.force,
            banned=job.banned,
            rules=job.rules,
        ),
        edits=job.edits,
        vocabulary=job.vocabulary,
        progress=job.progress,
    )
    yield from _recorded(replace(job, progress=None), found.ids, found)


def _recorded(job: _Job, ids: Sequence[int], found: Found | None = None) -> Iterator[Step | Run]:
    """The steps that write these ids, then the run, from one pass."""
    if job.whole_passes is not None:  # one pass would not have the rows that the steps see
        yield from _decode_stepwise(job, ids, found)
        return
    trace = record(job.ckpt, job.src, job.read(ids), job.next_ids(ids), edits=job.edits, info=job.info(ids))
    first = len(job.start) - 1  # row that writes the first token
    logits = trace["logits"][0, first:]
    choosing = job.choosing((*job.start.ids, *ids))
    steps = [
        Step(index, job.vocabulary[i], i, index in job.force, logits[index], trace.values, first + index, choosing)
        for index, i in enumerate(ids)
    ]
    yield from steps
    yield job.run(steps, trace, found)


def _forced_steps(ckpt: Checkpoint, force: Force) -> dict[int, int]:
    """Forced ids by step. Raises ValueError for an invalid step or a token outside the vocabulary."""
    if bad := [step for step in force if isinstance(step, bool) or not isinstance(step, int) or step < 0]:
        raise ValueError(f"force: {quote(bad[0])} is not a step: give a whole number, 0 or more")
    return dict(zip(force, _given_ids(ckpt, force.values(), "force"), strict=True))


def _given_ids(ckpt: Checkpoint, given: Iterable[int | str], what: str) -> list[int]:
    codec = ckpt.codec("target")
    found: list[int] = []
    for each in given:
        if isinstance(each, str):
            if each not in codec.names:
                raise ValueError(f"{what}: {each!r:.60} is not a token of the target vocabulary")
            each = codec.names.index(each)
        found += codec.encode_ids([each]).ids
    return found


def _all_forced(
    prefix: Sequence[int], given: Mapping[int, int], banned: Collection[int], most: int, names: Sequence[str]
) -> dict[int, int]:
    """Merge prefix and forced tokens. Raises ValueError if they contradict each other or leave no choice."""
    for step in given:
        if step < len(prefix):
            raise ValueError(
                f"step {step} is forced, but belongs to the prefix of {len(prefix)} tokens: give one of the two"
            )
        if step >= most:
            raise ValueError(f"step {step} cannot be forced: the answer has at most {most} steps, 0 to {most - 1}")
    forced = dict(enumerate(prefix)) | dict(given)
    for step, token in forced.items():
        if token in banned:
            raise ValueError(
                f"the token {quote(names[token])} is banned, but forced at step {step}: leave one of them out"
            )
    if len(banned) >= len(names):
        raise ValueError(f"all {len(names)} tokens are banned: leave at least one that can be written")
    return forced


def _forced(ckpt: Checkpoint, name: str, given: TextOrIds | None) -> Tokens:
    """Tokens of a prefix or target, in whose text specials are plain text.

    Raises ValueError for special ids, which it must not contain.
    """
    codec = ckpt.codec("target")
    codec = codec.read_as(codec.how_read.only(["language"]))
    if given is None or len(given) == 0:
        return Tokens()
    specials = {codec.start, codec.padding, *codec.ends}
    if isinstance(given, str):
        with declared.prefixed(f"{name}: "):
            encoded = codec.encode(given)
        specials |= codec.special_ids - {codec.unknown}  # also those that a tokenizer puts before every text
        kept = [place for place, i in enumerate(encoded.ids) if i not in specials]
        if codec.forced_start and encoded.ids[1 : 1 + len(codec.forced_start)] == codec.forced_start:
            kept = [place for place in kept if place > len(codec.forced_start)]
        return _tokens_of(ckpt, [encoded.ids[place] for place in kept], [encoded.originals[place] for place in kept])
    ids = codec.encode_ids(given).ids
    for i in ids:
        if i in specials:
            raise ValueError(f"{name}: id {i} is the special token {quote(codec.names[i])}; leave it out")
    return _tokens_of(ckpt, ids)


def _tokens_of(ckpt: Checkpoint, ids: Sequence[int], originals: Sequence[str] | None = None) -> Tokens:
    names = ckpt.codec("target").names
    tokens = tuple(names[i] for i in ids)
    return Tokens(tuple(ids), tokens, tokens if originals is None else tuple(originals))
