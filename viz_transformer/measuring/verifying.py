"""Verifies that a checkpoint is read as it was trained, with three separate kinds of evidence.

Proved: an owner's sample of ids and logits is reproduced and could have revealed a wrong reading; nothing else is
proof. Texts: their loss next to counting tokens and to the reported loss. Consistent: an independent float64 walk
agrees with a recorded run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from viz_transformer import numerals
from viz_transformer.checkpoint import Checkpoint, files
from viz_transformer.checkpoint.describe import WORSE, without_tensors
from viz_transformer.checkpoint.files import TOO_LARGE
from viz_transformer.checkpoint.grading import LONGEST, UNTOLD, texts_up_to
from viz_transformer.checkpoint.importers.reported import Reported, parse_reported
from viz_transformer.checkpoint.store import add_to_card
from viz_transformer.given import TEXTS, Accepted, instance, is_number, optional, takes
from viz_transformer.measuring.answering import readable
from viz_transformer.measuring.data import Pair
from viz_transformer.measuring.own_texts import Loss, decoder_losses, decoder_text, fits, pair_losses, target_text
from viz_transformer.measuring.reported import compare_to_reported
from viz_transformer.measuring.sample import Sample, SampleText, read_sample
from viz_transformer.measuring.telling import try_deviations
from viz_transformer.measuring.walk import walk
from viz_transformer.measuring.yardsticks import LOWER_NATS, LOWER_SHARE, Predicted, Yardsticks, yardsticks
from viz_transformer.model.causality import is_causal
from viz_transformer.model.hooked_model import OF_ANOTHER, ModelSpec
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import CHECKPOINT, trace

Array = NDArray[Any]
Texts = str | Sequence[str] | Sequence[Pair]
Grade = Literal["failed", "proved", "reproduced", "doubtful", "not proved", "not verified"]

LOSS = Accepted(lambda value: is_number(value) or isinstance(value, Reported), "a number, in nats per token")
TOLERANCE = 1e-4
"""Tolerance relative to the largest absolute number; float32 rounding takes a twentieth of it."""
FEWEST_PAIRS, MAX_PAIRS = 10, 500
FEWEST_TOKENS, MAX_TOKENS = 50, 20_000
MADE_UP = 9
"""Tokens per side of the text to walk through without a sample."""
MAX_WALKED = 64


@dataclass(frozen=True)
class Finding:
    """The finding for one grade. passed: None if not tried. figures: the sentence's numbers, by name."""

    passed: bool | None
    sentence: str
    figures: Mapping[str, float | int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verification:
    """Evidence that a checkpoint is read right, by grade."""

    proved: Finding
    texts: Finding
    consistent: Finding
    causal: bool | None  # whether no later token changes an earlier row's logits; None without a decoder
    left_out: str = ""  # A sentence on trained tensors left out by choice; "" for none

    @property
    def grade(self) -> Grade:
        """ "failed" if the sample is not reproduced or the walk differs, whatever else holds.

        "proved" by a reproduced sample, only "reproduced" if a misread model would reproduce it too; else "doubtful" if
        the texts cost more than the training reported, or "not proved". At best "not verified" if tensors were left out
        by choice.
        """
        best = self._best()
        return best if not self.left_out or best in WORSE else "not verified"

    def _best(self) -> Grade:
        """The grade, ignoring what was left out."""
        if False in (self.proved.passed, self.consistent.passed):
            return "failed"
        if self.proved.passed:
            return "reproduced" if self.proved.figures.get(UNTOLD) else "proved"
        if self.texts.figures.get("reported_equal") is False:
            return "doubtful"
        return "not verified" if self.texts.passed is self.consistent.passed is None else "not proved"

    @property
    def sentence(self) -> str:
        """The sentence of that grade."""
        failed = self.proved if self.proved.passed is False else self.consistent
        named = {"failed": failed, "proved": self.proved, "reproduced": self.proved}
        found = named.get(self._best(), self.consistent if self.texts.passed is None else self.texts)
        return f"{self.left_out}; {found.sentence}" if self.left_out else found.sentence

    @property
    def causality(self) -> str:
        """Whether the model is causal, in words."""
        if self.causal is None:
            return "an encoder: every row reads the whole text"
        return "yes: no later token changes an earlier row" if self.causal else "no: later tokens change earlier rows"

    def rows(self) -> list[tuple[str, str]]:
        """Everything as names and sentences, for a terminal."""
        found = (("proved", self.proved), ("texts", self.texts), ("consistent", self.consistent))
        without = [("left out", self.left_out)] if self.left_out else []
        findings = [(name, each.sentence) for name, each in found]
        return [("verified", self.grade), *without, *findings, ("causal", self.causality)]

    def to_dict(self) -> dict[str, Any]:
        """The grade, its sentence and all findings as JSON values; None for non-finite numbers."""
        found = {"grade": self.grade, "sentence": self.sentence, **asdict(self)}
        for each in (found["proved"], found["texts"], found["consistent"]):
            figures = each["figures"].items()
            each["figures"] = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in figures}
        return found


@takes(
    ckpt=CHECKPOINT,
    sample=optional(instance("a path, or a sample that was read", str, Path, Sample)),
    texts=optional(TEXTS),
    reported_loss=optional(LOSS),
)
def verify(
    ckpt: Checkpoint,
    sample: str | Path | Sample | None = None,
    texts: Texts | None = None,
    reported_loss: float | Reported | None = None,
) -> Verification:
    """Verify that the checkpoint is read as it was trained, as far as the evidence goes.

    sample: file of ids and logits from its owner's program. texts: the owner's pairs of source and target; for a
    decoder-only model texts, one text, or pairs of prompt and answer. reported_loss: their loss according to the
    training, in nats per token. Raises ValueError with one sentence for a sample or texts that the model cannot read,
    and for too few texts.
    """
    if not (reported_loss is None or isinstance(reported_loss, Reported)):
        reported_loss = parse_reported(str(reported_loss))
    given = read_sample(sample) if isinstance(sample, str | Path) else sample
    held = [] if given is None else given.texts(ckpt.spec)
    return Verification(
        proved=_NO_SAMPLE if given is None else weigh_finding(ckpt, held, proof(ckpt, held)),
        texts=_NO_TEXTS if texts is None else cost_of(ckpt, texts, reported_loss),
        consistent=_consistent(ckpt, held[0] if held else None),
        causal=is_causal(ckpt.hooked_model) if ckpt.spec.has_decoder else None,
        left_out=without_tensors(ckpt.card),
    )


def verify_folder(
    folder: str | Path,
    ckpt: Checkpoint,
    sample: Sample | None = None,
    texts: Texts | None = None,
    reported_loss: Reported | None = None,
) -> Verification:
    """`verify`, with the result written to the folder's card for its present files."""
    found = verify(ckpt, sample, texts, reported_loss)
    noted = found.to_dict()
    if sample is not None:
        noted |= {"sample": sample.path.name, "sample_sha256": files.sha256(sample.path)}
    add_to_card(Path(folder), {"verified": {**noted, "of": ckpt.card["sha256"]}})
    return found


# --- proved

_NO_SAMPLE = Finding(
    None,
    "not tried: it needs a sample of ids and logits from where the model was trained, which the lines of"
    " `viz-transformer import --sample-script` write; nothing else proves a reading",
)


def proof(ckpt: Checkpoint, texts: Sequence[SampleText]) -> Finding:
    """Whether the sample's logits are reproduced, ignoring padding.

    Log-probabilities are compared with ours after a log-softmax.
    """
    logs, scale = _are_log_probs(texts), _scale(texts)
    largest, count, first = 0.0, 0, ""
    for number, text in enumerate(texts):
        places = _compared(ckpt.spec, text)
        ours = _traced(ckpt, text.source, text.target)["logits"][0].numpy().astype(float)
        ours = ours[None] if ckpt.spec.output == "class" else ours[places]
        theirs = text.logits.astype(float)[places if len(text.logits) > 1 else slice(None)]
        if logs:
            ours = ours - np.logaddexp.reduce(ours, axis=-1, keepdims=True)
        apart = np.nan_to_num(np.abs(ours - theirs), nan=np.inf)
        wrong = np.argwhere(apart > TOLERANCE * scale)
        if len(wrong) and not first:
            row, entry = wrong[0]
            first = (
                f"first at {f'text {number}, ' if len(texts) > 1 else ''}position {places[row]}, entry {entry}: "
                f"{numerals.significant(ours[row, entry])} here, {numerals.significant(theirs[row, entry])} there"
            )
        largest, count = max(largest, float(apart.max())), count + apart.size
    relative = largest / scale if scale else largest
    what = f"{count:,} {'log-probabilities' if logs else 'logits'}"
    how_far = (
        f"largest difference {numerals.scientific(largest)}, relative to the largest of them "
        f"{numerals.scientific(relative)} (tolerance {numerals.scientific(TOLERANCE)})"
    )
    figures: dict[str, float | int | str] = {"difference": largest, "relative": relative, "compared": count}
    if not math.isfinite(largest):
        return Finding(False, f"the owner's sample is NOT reproduced, {what}: {first}; {TOO_LARGE}", figures)
    if first:
        sentence = f"the owner's sample is NOT reproduced, {what}: {how_far}; {first}"
        return Finding(False, sentence, {**figures, "first": first})
    return Finding(True, f"the owner's sample is reproduced, {what}: {how_far}", figures)


def weigh_finding(ckpt: Checkpoint, texts: Sequence[SampleText], found: Finding) -> Finding:
    """The value of a reproduced sample: the proved length, or the wrong readings that it would miss.

    Only for our own model, whose settings may be guessed.
    """
    if not found.passed or ckpt.spec.config is None:
        return found
    tolerance = TOLERANCE * _scale(texts)
    told = try_deviations(ckpt.model, texts, tolerance=tolerance, log_probs=_are_log_probs(texts))
    lengths = {f"{LONGEST}{side}": most for side, most in told.longest.items()}
    if told.untold:
        *most, last = told.untold
        others = f"{', '.join(most)} or {last}" if most else last
        sentence = f"{found.sentence}; but a model with {others} would reproduce it too: give a longer sample"
        return Finding(True, sentence, {**found.figures, **lengths, UNTOLD: "; ".join(told.untold)})
    up_to = texts_up_to(told.longest)
    return Finding(True, f"{found.sentence}; that proves it for {up_to}", {**found.figures, **lengths})


def _are_log_probs(texts: Sequence[SampleText]) -> bool:
    """Whether every row of the sample holds log-probabilities."""
    return all(np.abs(np.logaddexp.reduce(each.logits.astype(float), axis=-1)).max() < 1e-3 for each in texts)


def _scale(texts: Sequence[SampleText]) -> float:
    return max(float(np.abs(text.logits).max()) for text in texts)


def _compared(spec: ModelSpec, text: SampleText) -> list[int]:
    """Positions to compare: those of tokens, or only the last one if the sample has no others."""
    read, pad = (text.target, spec.target_pad) if spec.has_decoder else (text.source, spec.source_pad)
    assert read is not None
    places = list(range(len(read))) if len(text.logits) > 1 else [len(read) - 1]
    tokens = [place for place in places if read[place] != pad]
    if not tokens:
        raise ValueError("the sample has logits of padding alone: save those of a text")
    return tokens


def _traced(ckpt: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None) -> Trace:
    both = source is not None and target is not None
    return trace(ckpt, (source if source is not None else target) or (), target if both else None)


# --- texts

_NO_TEXTS = Finding(None, "not tried: it needs texts of the kind that the model was trained on")
NOT_PROVED = "not proved"
SAY_NOTHING = (
    f"these texts say nothing: it is not below counting by {LOWER_NATS} nats and {numerals.percent(LOWER_SHARE, 0)}"
)


def cost_of(ckpt: Checkpoint, texts: Texts, reported: Reported | None = None) -> Finding:
    """Loss of the texts under this reading, in nats per token, next to the yardsticks and the reported loss.

    No proof: a wrong reading may still beat counting. passed: whether the loss is clearly below counting tokens;
    otherwise the texts say nothing. Raises ValueError for texts that cannot be measured, and for fewer than ten pairs
    or fifty tokens.
    """
    if ckpt.spec.kind == "encoder-only":
        raise ValueError(f"{ckpt.name} is encoder-only: it predicts no text, so texts cannot speak for it")
    by_pair = ckpt.spec.has_encoder
    losses, predicted = _of_pairs(ckpt, texts) if by_pair else _of_texts(ckpt, texts)
    loss, by_counting = Loss.of(losses), yardsticks(predicted, ckpt.codec("target"))
    figures: dict[str, Any] = {
        "loss": loss.nats,
        "tokens": loss.tokens,
        **{name: getattr(by_counting, name) for name in ("uniform", "single", "pairs")},
    }
    speaks = by_counting.speaks(loss.nats)
    said = reading_of(loss, by_counting, reported)
    if reported is not None:
        equal = compare_to_reported(loss, reported).equal
        figures |= {"reported": reported.nats, **({} if equal is None else {"reported_equal": equal})}
    return Finding(speaks, said, figures)


def reading_of(loss: Loss, by_counting: Yardsticks, reported: Reported | None) -> str:
    """One line on a reading: its loss, the yardsticks, the reported loss, and that none of it is proof."""
    said = f"reads your texts at {numerals.number(loss.nats, 2)} nats per token ({by_counting.sentence})"
    parts = [said] if reported is None else [said, compare_to_reported(loss, reported).sentence]
    parts += [] if by_counting.speaks(loss.nats) else [SAY_NOTHING]
    return "; ".join([*parts, NOT_PROVED])


def _of_pairs(ckpt: Checkpoint, texts: Texts) -> tuple[list[tuple[float, int]], list[Predicted]]:
    pairs = [] if isinstance(texts, str) else [pair for pair in texts if not isinstance(pair, str)]
    if len(pairs) < len(texts) or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{ckpt.name} is encoder-decoder: give pairs of source and target")
    pairs = readable(ckpt, pairs[:MAX_PAIRS])
    if len(pairs) < FEWEST_PAIRS:
        raise ValueError(f"{len(pairs)} pairs are too few to say anything: give {FEWEST_PAIRS} or more")
    return pair_losses(ckpt, pairs), [target_text(ckpt, target) for _, target in pairs]


def _of_texts(ckpt: Checkpoint, texts: Texts) -> tuple[list[tuple[float, int]], list[Predicted]]:
    held, tokens = [], 0
    for text in [texts] if isinstance(texts, str) else texts:
        read = decoder_text(ckpt, text, MAX_TOKENS - tokens)
        if fits(ckpt, text, read):
            held.append(read)
            tokens += read.count
        if tokens >= MAX_TOKENS:
            break
    if tokens < FEWEST_TOKENS:
        raise ValueError(f"texts of {tokens} tokens to predict are too few: give {FEWEST_TOKENS} or more")
    return decoder_losses(ckpt, held), [each.predicted for each in held]


# --- consistent

_GUESSES = "this repeats what was guessed about the model, and confirms none of it"


def _consistent(ckpt: Checkpoint, text: SampleText | None) -> Finding:
    if ckpt.spec.config is None:
        return Finding(None, f"not tried: {OF_ANOTHER}")
    sides = ["source"] * ckpt.spec.has_encoder + ["target"] * ckpt.spec.has_decoder
    if lacking := [side for side in sides if side not in ckpt.codecs]:
        return Finding(None, f"not tried: {ckpt.name} has no {lacking[0]} vocabulary, so it cannot be run")
    ids = {side: made_up_ids(ckpt.spec, side) for side in sides}
    if text is not None:
        ids = {side: list(getattr(text, side))[:MAX_WALKED] for side in sides}
    return consistency(ckpt, _traced(ckpt, ids.get("source"), ids.get("target")))


def made_up_ids(spec: ModelSpec, side: str) -> list[int]:
    """Fixed pseudo-random ids; the source ends in padding if the model has it, so that masks act."""
    size, pad, most = (getattr(spec, name) for name in (f"{side}_vocab_size", f"{side}_pad", f"max_{side}"))
    drawn = np.random.default_rng(0).integers(size, size=min(MADE_UP, most)).tolist()
    ids = [int(id) if id != pad else (id + 1) % size for id in drawn]
    return [*ids[:-1], pad] if side == "source" and spec.has_decoder and pad is not None and len(ids) > 1 else ids


def consistency(ckpt: Checkpoint, run: Trace) -> Finding:
    """Whether an independent float64 walk agrees with this run at every recorded point."""
    numbers = {name: tensor.numpy() for name, tensor in ckpt.model.state_dict().items()}
    spec = ckpt.spec
    walked = walk(
        numbers,
        ckpt.config.to_dict(),
        run.src_ids if spec.has_encoder else None,
        run.tgt_ids if spec.has_decoder else None,
    )
    recorded = run.points()
    largest = 0.0
    for name in [name for name in walked if name in recorded]:
        apart = _apart(name, walked, run[name][0].numpy())
        if not apart <= TOLERANCE:
            sentence = f"a walk in float64 does NOT agree with the run: the first point that differs is {name}"
            figures: dict[str, float | int | str] = {"first": name, "relative": apart}
            if not np.isfinite(run[name].numpy()).all():
                return Finding(False, f"the run has NaN or infinite numbers, first at {name}: {TOO_LARGE}", figures)
            return Finding(False, f"{sentence}, relative difference {numerals.scientific(apart)}", figures)
        largest = max(largest, apart)
    if unknown := [name for name in recorded if name not in walked]:
        return Finding(False, f"a walk in float64 has no such point as {unknown[0]}", {"first": unknown[0]})
    sentence = (
        f"a walk in float64 agrees with the run at {len(recorded)} points, relative difference "
        f"{numerals.scientific(largest)}: {_GUESSES}"
    )
    return Finding(True, sentence, {"relative": largest, "points": len(recorded)})


def _apart(name: str, walked: Mapping[str, Array], found: Array) -> float:
    """Largest difference of a point relative to its largest number; infinite for another shape or mask.

    NaN equals NaN. A mean is also compared with its norm's scale, since it may be 0 up to rounding.
    """
    wanted = walked[name]
    if wanted.dtype == bool:
        same = found.dtype == bool and found.ndim == wanted.ndim and bool((found == wanted).all())
        return 0.0 if same else np.inf
    if found.shape != wanted.shape or not (np.isnan(found) == np.isnan(wanted)).all():
        return np.inf
    beside = walked.get(name.replace("norm_mean", "norm_scale"), wanted)
    most = np.nan_to_num(np.abs(np.concatenate([wanted.ravel(), beside.ravel()]))).max()
    apart = np.nan_to_num(np.abs(found - wanted)).max()
    return float(apart / most) if most else float(apart)
