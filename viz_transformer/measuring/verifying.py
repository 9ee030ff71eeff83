"""Whether a checkpoint is read as it was trained: three grades of evidence, which are never mixed up.

Proved: an owner's sample of ids and logits is reproduced, and could have told a wrong reading. Plausible: the owner's
texts are likelier than the same shuffled. Consistent: a float64 walk, which shares no code with the model, agrees with
a recorded run.
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
from viz_transformer.checkpoint.store import add_to_card
from viz_transformer.given import TEXTS, instance, optional, takes
from viz_transformer.measuring.answering import TokenScores, readable, target_scores, window_scores
from viz_transformer.measuring.data import Pair
from viz_transformer.measuring.sample import Sample, SampleText, read_sample
from viz_transformer.measuring.telling import told_by
from viz_transformer.measuring.walk import walk
from viz_transformer.model.causality import is_causal
from viz_transformer.model.instrument import OF_ANOTHER, Anatomy
from viz_transformer.running.record import Trace
from viz_transformer.running.tracing import CHECKPOINT, trace

Array = NDArray[Any]
Texts = str | Sequence[str] | Sequence[Pair]
Grade = Literal["failed", "proved", "reproduced", "doubtful", "plausible", "consistent", "not verified"]

TOLERANCE = 1e-4
"""Of a difference, relative to the largest absolute number: rounding of float32 makes a twentieth of it."""
LOWER_NATS, LOWER_SHARE = 0.1, 0.05
"""By how much the loss of texts must be below that of the same shuffled, in nats per token and as a share of it."""
FEWEST_PAIRS, MOST_PAIRS = 10, 500
FEWEST_TOKENS, MOST_TOKENS = 50, 20_000
MADE_UP = 9
"""Tokens of the text that is walked through where no sample is given, on each side."""
MOST_WALKED = 64


@dataclass(frozen=True)
class Finding:
    """What was found for one grade. passed: None where it was not tried; figures: what the sentence says, by name."""

    passed: bool | None
    sentence: str
    figures: Mapping[str, float | int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verification:
    """What speaks for a checkpoint being read right, each grade for itself.

    causal: whether no later token changes an earlier row's logits; None for a model without a decoder. left_out: which
    trained tensors of the file were left out by choice, as a sentence; "" for none.
    """

    proved: Finding
    plausible: Finding
    consistent: Finding
    causal: bool | None
    left_out: str = ""

    @property
    def grade(self) -> Grade:
        """The best that was found; "failed" if the sample is not reproduced or the walk differs, whatever else holds,
        and "doubtful" if the texts are not likelier than shuffled ones, unless a sample is reproduced. One that is
        reproduced, but would also be by a model that is read wrong, proves nothing: "reproduced". A model without
        tensors that were left out by choice is "not verified" at best."""
        best = self._best()
        return best if not self.left_out or best in WORSE else "not verified"

    def _best(self) -> Grade:
        """The same, whatever was left out."""
        if False in (self.proved.passed, self.consistent.passed):
            return "failed"
        if self.proved.passed:
            return "reproduced" if self.proved.figures.get(UNTOLD) else "proved"
        if self.plausible.passed is not None:
            return "plausible" if self.plausible.passed else "doubtful"
        return "consistent" if self.consistent.passed else "not verified"

    @property
    def sentence(self) -> str:
        """The sentence of that grade."""
        failed = self.proved if self.proved.passed is False else self.consistent
        named = {"failed": failed, "proved": self.proved, "reproduced": self.proved}
        named |= {"doubtful": self.plausible, "plausible": self.plausible}
        sentence = named.get(self._best(), self.consistent).sentence
        return f"{self.left_out}; {sentence}" if self.left_out else sentence

    @property
    def causality(self) -> str:
        """What is known of the model's causality, in words."""
        if self.causal is None:
            return "an encoder: every row reads the whole text"
        return "yes: no later token changes an earlier row" if self.causal else "no: later tokens change earlier rows"

    def rows(self) -> list[tuple[str, str]]:
        """All of it as names and sentences, for a terminal."""
        found = (("proved", self.proved), ("plausible", self.plausible), ("consistent", self.consistent))
        without = [("left out", self.left_out)] if self.left_out else []
        findings = [(name, each.sentence) for name, each in found]
        return [("verified", self.grade), *without, *findings, ("causal", self.causality)]

    def to_dict(self) -> dict[str, Any]:
        """The grade, its sentence and all findings, as JSON values: None for what is not finite."""
        found = {"grade": self.grade, "sentence": self.sentence, **asdict(self)}
        for each in (found["proved"], found["plausible"], found["consistent"]):
            figures = each["figures"].items()
            each["figures"] = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in figures}
        return found


@takes(
    ckpt=CHECKPOINT,
    sample=optional(instance("a path, or a sample that was read", str, Path, Sample)),
    texts=optional(TEXTS),
)
def verify(ckpt: Checkpoint, sample: str | Path | Sample | None = None, texts: Texts | None = None) -> Verification:
    """Whether the checkpoint is read as it was trained, as far as what is given can tell.

    sample: a file of ids and logits that its owner's program wrote. texts: the owner's, pairs of source and target, for
    a decoder alone texts or one text. Raises ValueError, one sentence, for a sample or texts that this model cannot
    read, and for too few texts.
    """
    given = read_sample(sample) if isinstance(sample, str | Path) else sample
    held = [] if given is None else given.texts(ckpt.anatomy)
    return Verification(
        proved=_NO_SAMPLE if given is None else weighed(ckpt, held, proof(ckpt, held)),
        plausible=_NO_TEXTS if texts is None else plausibility(ckpt, texts),
        consistent=_consistent(ckpt, held[0] if held else None),
        causal=is_causal(ckpt.instrument) if ckpt.anatomy.has_decoder else None,
        left_out=without_tensors(ckpt.card),
    )


def verify_folder(
    folder: str | Path, ckpt: Checkpoint, sample: Sample | None = None, texts: Texts | None = None
) -> Verification:
    """`verify`, and the result written to the folder's card, as one of these very files."""
    found = verify(ckpt, sample, texts)
    noted = found.to_dict()
    if sample is not None:
        noted |= {"sample": sample.path.name, "sample_sha256": files.sha256(sample.path)}
    add_to_card(Path(folder), {"verified": {**noted, "of": ckpt.card["sha256"]}})
    return found


# --- proved

_NO_SAMPLE = Finding(None, "not tried: it needs a sample of ids and logits from where the model was trained")


def proof(ckpt: Checkpoint, texts: Sequence[SampleText]) -> Finding:
    """Whether the logits of the sample are reproduced; positions of padding are left out.

    Numbers of which every row is a logarithm of probabilities are compared with ours behind a log-softmax.
    """
    logs, scale = _are_log_probs(texts), _scale(texts)
    largest, count, first = 0.0, 0, ""
    for number, text in enumerate(texts):
        places = _compared(ckpt.anatomy, text)
        ours = _traced(ckpt, text.source, text.target)["logits"][0].numpy().astype(float)
        ours = ours[None] if ckpt.anatomy.output == "class" else ours[places]
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


def weighed(ckpt: Checkpoint, texts: Sequence[SampleText], found: Finding) -> Finding:
    """What a sample that is reproduced is worth: up to how many tokens it proves a reading, or which wrong readings it
    could not have told. Only of our own model, whose settings may have been guessed."""
    if not found.passed or ckpt.anatomy.config is None:
        return found
    tolerance = TOLERANCE * _scale(texts)
    told = told_by(ckpt.model, texts, tolerance=tolerance, log_probs=_are_log_probs(texts))
    lengths = {f"{LONGEST}{side}": most for side, most in told.longest.items()}
    if told.untold:
        *most, last = told.untold
        others = f"{', '.join(most)} or {last}" if most else last
        sentence = f"{found.sentence}; but a model with {others} would reproduce it too: give a longer sample"
        return Finding(True, sentence, {**found.figures, **lengths, UNTOLD: "; ".join(told.untold)})
    up_to = texts_up_to(told.longest)
    return Finding(True, f"{found.sentence}; that proves it for {up_to}", {**found.figures, **lengths})


def _are_log_probs(texts: Sequence[SampleText]) -> bool:
    """Whether every row of the sample is the logarithm of probabilities."""
    return all(np.abs(np.logaddexp.reduce(each.logits.astype(float), axis=-1)).max() < 1e-3 for each in texts)


def _scale(texts: Sequence[SampleText]) -> float:
    """The largest absolute number of the sample."""
    return max(float(np.abs(text.logits).max()) for text in texts)


def _compared(anatomy: Anatomy, text: SampleText) -> list[int]:
    """The positions whose logits are compared: those of tokens, or the last one if the sample has no others."""
    read, pad = (text.target, anatomy.target_pad) if anatomy.has_decoder else (text.source, anatomy.source_pad)
    assert read is not None
    places = list(range(len(read))) if len(text.logits) > 1 else [len(read) - 1]
    tokens = [place for place in places if read[place] != pad]
    if not tokens:
        raise ValueError("the sample has logits of padding alone: save those of a text")
    return tokens


def _traced(ckpt: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None) -> Trace:
    both = source is not None and target is not None
    return trace(ckpt, (source if source is not None else target) or (), target if both else None)


# --- plausible

_NO_TEXTS = Finding(None, "not tried: it needs texts of the kind that the model was trained on")


def plausibility(ckpt: Checkpoint, texts: Texts) -> Finding:
    """Whether the texts are clearly likelier than the same shuffled: targets among sources, of a decoder alone the
    tokens of each text.

    Clearly is a loss lower by 0.1 nats per token and by 5 %. Raises ValueError for texts that the model cannot be
    measured on, and for fewer than ten pairs or fifty tokens.
    """
    if ckpt.anatomy.kind == "encoder-only":
        raise ValueError(f"{ckpt.name} is encoder-only: it predicts no text, so texts cannot speak for it")
    if ckpt.anatomy.has_encoder:
        real, shuffled, what = _pairs_loss(ckpt, texts)
    else:
        real, shuffled, what = _text_loss(ckpt, [texts] if isinstance(texts, str) else texts)
    figures: dict[str, float | int | str] = {"loss": real, "shuffled_loss": shuffled}
    if not (math.isfinite(real) and math.isfinite(shuffled)):
        return Finding(False, f"the loss of {what} is not a finite number, or that of the same shuffled", figures)
    passed = shuffled - real >= max(LOWER_NATS, LOWER_SHARE * shuffled)
    rule = f"clearly is lower by {LOWER_NATS} nats and {numerals.percent(LOWER_SHARE, 0)}"
    sentence = (
        f"the loss of {what} is {numerals.number(real, 3)} nats per token, of the same shuffled "
        f"{numerals.number(shuffled, 3)}: {'clearly lower' if passed else 'NOT clearly lower'} ({rule})"
    )
    return Finding(passed, sentence, figures)


def _pairs_loss(ckpt: Checkpoint, texts: Texts) -> tuple[float, float, str]:
    pairs = [] if isinstance(texts, str) else [pair for pair in texts if not isinstance(pair, str)]
    if len(pairs) < len(texts) or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{ckpt.name} is encoder-decoder: give pairs of source and target")
    pairs = readable(ckpt, pairs[:MOST_PAIRS])
    if len(pairs) < FEWEST_PAIRS:
        raise ValueError(f"{len(pairs)} pairs are too few to be told from shuffled ones: give {FEWEST_PAIRS} or more")
    order = np.random.default_rng(0).permutation(len(pairs))
    moved = [(pairs[a][0], pairs[b][1]) for a, b in zip(order, np.roll(order, 1), strict=True)]  # none with its own
    return _loss(target_scores(ckpt, pairs)), _loss(target_scores(ckpt, moved)), f"{len(pairs):,} pairs"


def _text_loss(ckpt: Checkpoint, texts: Sequence[Any]) -> tuple[float, float, str]:
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{ckpt.name} is decoder-only: give texts, not pairs")
    codec = ckpt.own_codec("target")
    generator = np.random.default_rng(0)
    real = shuffled = TokenScores()
    for text in texts:
        ids = codec.encode(text).ids[codec.add_bos :]
        ids = ids[: len(ids) - codec.add_eos][: MOST_TOKENS - real.tokens]
        if len(ids) > 1:
            moved = [ids[place] for place in generator.permutation(len(ids))]
            window = min(ckpt.anatomy.max_target, len(ids))
            real += window_scores(ckpt, codec, ids, window, None)[0]
            shuffled += window_scores(ckpt, codec, moved, window, None)[0]
    if real.tokens < FEWEST_TOKENS:
        raise ValueError(f"texts of {real.tokens} tokens to predict are too few: give {FEWEST_TOKENS} or more")
    return _loss(real), _loss(shuffled), f"{real.tokens:,} tokens"


def _loss(scores: TokenScores) -> float:
    return -scores.log_prob / scores.tokens


# --- consistent

_GUESSES = "this repeats what was guessed about the model, and confirms none of it"


def _consistent(ckpt: Checkpoint, text: SampleText | None) -> Finding:
    if ckpt.anatomy.config is None:
        return Finding(None, f"not tried: {OF_ANOTHER}")
    sides = ["source"] * ckpt.anatomy.has_encoder + ["target"] * ckpt.anatomy.has_decoder
    if lacking := [side for side in sides if side not in ckpt.codecs]:
        return Finding(None, f"not tried: {ckpt.name} has no {lacking[0]} vocabulary, so it cannot be run")
    ids = {side: made_up_ids(ckpt.anatomy, side) for side in sides}
    if text is not None:
        ids = {side: list(getattr(text, side))[:MOST_WALKED] for side in sides}
    return consistency(ckpt, _traced(ckpt, ids.get("source"), ids.get("target")))


def made_up_ids(anatomy: Anatomy, side: str) -> list[int]:
    """Ids of no text, always the same; the source ends in padding if the model knows that, so that masks act."""
    size, pad, most = (getattr(anatomy, name) for name in (f"{side}_vocab_size", f"{side}_pad", f"max_{side}"))
    drawn = np.random.default_rng(0).integers(size, size=min(MADE_UP, most)).tolist()
    ids = [int(id) if id != pad else (id + 1) % size for id in drawn]
    return [*ids[:-1], pad] if side == "source" and anatomy.has_decoder and pad is not None and len(ids) > 1 else ids


def consistency(ckpt: Checkpoint, run: Trace) -> Finding:
    """Whether a float64 walk from the checkpoint's numbers agrees with this run at every recorded point."""
    numbers = {name: tensor.numpy() for name, tensor in ckpt.model.state_dict().items()}
    anatomy = ckpt.anatomy
    walked = walk(
        numbers,
        ckpt.config.to_dict(),
        run.src_ids if anatomy.has_encoder else None,
        run.tgt_ids if anatomy.has_decoder else None,
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
    """The largest difference of a point, relative to its largest number; infinite for another shape or mask.

    NaN equals NaN. A mean is compared with its norm's scale too: it may be 0 but for rounding.
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
