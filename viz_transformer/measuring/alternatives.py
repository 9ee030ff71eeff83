"""Measures what a weights file does not reveal: the loss of its owner's texts under each alternative.

Settings interact: the most important ones are tried together first, then each is measured with the others at their
best, repeatedly until nothing changes; then the decisive ones in pairs. Settings that a layout names are measured too,
since people change them under the same names. A setting counts as determined only if its second-best value is worse by
a margin, whatever one other setting is, and the whole reading passes: clearly better than counting, in line with the
reported training loss, and better than any model that this program cannot run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from torch.nn import functional as F

from viz_transformer import numerals
from viz_transformer.checkpoint import Checkpoint, CheckpointError
from viz_transformer.checkpoint.importers.importing import (
    Opened,
    codecs_of,
    has_names,
    replan,
    special_settings,
    state_of,
)
from viz_transformer.checkpoint.importers.mapping import map_tensors, order_fused, pair_neighbours
from viz_transformer.checkpoint.importers.plan import BESIDE, OPTIONS, Fitted
from viz_transformer.checkpoint.store import expected_shapes
from viz_transformer.measuring.answering import readable
from viz_transformer.measuring.data import Pair, read_pairs, read_text
from viz_transformer.measuring.own_texts import (
    DecoderText,
    Loss,
    decoder_losses,
    decoder_text,
    fits,
    pair_losses,
    target_text,
)
from viz_transformer.measuring.reported import compare_to_reported
from viz_transformer.measuring.verifying import FEWEST_TOKENS, reading_of
from viz_transformer.measuring.yardsticks import Yardsticks, yardsticks
from viz_transformer.model.attention import Attention
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook import Hook
from viz_transformer.model.kinds import SideName
from viz_transformer.model.layers import DecoderLayer, Embedding, FeedForward
from viz_transformer.model.norms import LayerNorm
from viz_transformer.model.transformer import Transformer, with_weights
from viz_transformer.text.vocabulary import ROLES

Texts = Sequence[str] | Sequence[Pair]
Said = Callable[[int], None]
"""Called with the number of runs done."""

FEWEST_TEXTS, MAX_TEXTS = 10, 64
MAX_STATES = 6
"""Maximum copies of the weights, each split differently, held at once."""
LONGEST = 512
"""Maximum tokens of a text for a decoder-only model."""
MAX_ROUNDS = 3
APART_NATS, APART_SHARE = 0.02, 0.02
"""Margin between the best and the next best: nats per token, and share of the next best's loss."""
CLEARLY_NATS, CLEARLY_SHARE = 0.05, 0.05
"""Larger margins for settings that a layout names: a wrong value may be slightly better than the right one."""
ORDER = ("norm", "embedding_scale", "positions", "qkv_order", "n_heads", "divisor", "activation", "rotary_pairs")
TOGETHER = ("norm", "embedding_scale", "positions")
"""If one of these is wrong, the others may look worse than they are."""
NAMED = ("norm", "embedding_scale", "positions", "qkv_order", "divisor", "activation")
"""Settings measured even where the layout names them."""
PASSES = 4
"""Maximum rounds of measuring settings in pairs, one after each improvement."""
LAST = ("norm_epsilon", "mask_fill")
MEASURED_ROLES = tuple(f"{side}_{role}" for side in ("source", "target") for role in ROLES)
END = "target_eos"


@dataclass(frozen=True)
class Losses:
    """The texts' loss under each alternative of one setting, with the others fixed."""

    name: str
    losses: tuple[tuple[Any, float | None], ...]
    """(alternative, nats per token), None for an impossible model; empty if the texts do not depend on it."""
    usual: Any
    """The guess, or the layout's value if `named`."""
    value: Any
    """The chosen value."""
    told: bool
    """Whether the texts determine it."""
    why: str = ""
    """Why not, if not because two are too close."""
    named: bool = False
    per: Literal["token", "text"] = "token"
    """Unit of the loss: "text" for the token that ends one."""

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Each alternative with its loss, in words."""
        unit = "" if self.per == "token" else f" per {self.per}"
        return tuple(
            (describe_alternative(value), "cannot be" if loss is None else f"{numerals.number(loss, 3)}{unit}")
            for value, loss in self.losses
        )

    @property
    def verdict(self) -> str:
        """The conclusion, in words."""
        usual = "the layout's" if self.named else "the usual answer"
        if self.told:
            return f"{describe_alternative(self.value)}: measured"
        if self.why and self.value == self.usual:
            return f"undecided: {self.why}; {usual} stays, {describe_alternative(self.value)}"
        if self.why:
            return f"{describe_alternative(self.value)} is best, not proved: {self.why}"
        near = " or ".join(
            describe_alternative(each) for each in sorted(_near(self.losses), key=lambda each: each != self.usual)
        )
        if not near:
            return f"undecided: none of them can be measured; {describe_alternative(self.value)} stays"
        if self.value == self.usual:
            return f"undecided: {near}; {usual} stays, {describe_alternative(self.value)}"
        worse = f"{usual}, {describe_alternative(self.usual)}, is worse"
        return f"undecided: {near}; {worse}, so it is {describe_alternative(self.value)}"


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The measured settings, with the texts and the number of runs."""

    tables: tuple[Losses, ...]
    loss: float
    reading: str  # the loss next to the yardsticks, in one line
    worse: bool  # whether the loss exceeds the one reported by the training
    doubt: str  # why nothing is determined; "" if the reading passes
    texts: int
    tokens: int
    unknown: float  # share of unknown tokens on the predicted side
    runs: int
    rounds: int
    settled: bool  # whether a last round changed nothing

    @property
    def sentence(self) -> str:
        """What was measured on what, in words."""
        what = f"{self.texts} texts, {self.tokens:,} tokens to predict"
        if self.unknown:
            what += f" ({numerals.percent(self.unknown)} of them unknown to the vocabulary)"
        end = "until nothing changed" if self.settled else "and it was still changing"
        rounds = f"{self.rounds} round{'s' * (self.rounds != 1)}"
        return f"{what}, {self.runs} runs in {rounds}, {end}"

    @property
    def answers(self) -> dict[str, Fitted]:
        """Results by name: what the texts determine, and improvements on usual answers; the layout's values stay."""
        return {
            each.name: Fitted(each.value, each.told)
            for each in self.tables
            if each.value != each.usual or (each.told and not each.named)
        }

    def rows(self) -> list[tuple[str, str, str, str]]:
        """(setting, alternative, loss in nats per token, verdict), with repeated cells blank."""
        return [
            ("" if index else each.name, value, loss, "" if index else each.verdict)
            for each in self.tables
            for index, (value, loss) in enumerate(each.lines or (("", ""),))
        ]

    def to_dict(self) -> dict[str, Any]:
        finite = [
            asdict(each)
            | {"losses": [[v, loss if loss is None or math.isfinite(loss) else None] for v, loss in each.losses]}
            for each in self.tables
        ]
        loss = self.loss if math.isfinite(self.loss) else None
        return asdict(self) | {"loss": loss, "tables": finite, "sentence": self.sentence}


def describe_alternative(value: Any) -> str:
    return "none" if value is None else str(value)


def read_texts(path: str | Path, opened: Opened) -> Texts:
    """Read the owner's texts: tab-separated pairs; for a decoder-only model lines, or prompt and answer with a tab.

    Raises ValueError for any other file, and for a model that predicts no text.
    """
    config = _config(opened)
    if config.kind == "encoder-only" and _as_decoder(opened) is None:
        raise ValueError(
            f"{opened.found.path.name} is encoder-only: it predicts no text, so texts say nothing about it"
        )
    if config.kind != "encoder-decoder":
        return _lines_or_answers(path, opened)
    return read_pairs(path)


def _lines_or_answers(path: str | Path, opened: Opened) -> Texts:
    """Lines or, if each has exactly one tab that is not a token of the model, verbatim prompts and answers."""
    lines = [(number, line) for number, line in enumerate(read_text(path).splitlines(), start=1) if line.strip()]
    codec = codecs_of(_as_decoder(opened) or opened)[1]["target"]
    if not any("\t" in line for _, line in lines) or (codec is not None and "\t" in codec.names):
        return [line for _, line in lines]
    found: list[Pair] = []
    for number, line in lines:
        prompt, *answers = line.split("\t")
        if len(answers) != 1 or not answers[0]:
            raise ValueError(
                f"{path}, line {number} is not prompt<TAB>answer as the others are: write one tab in each line, or in"
                " none"
            )
        found.append((prompt, answers[0]))
    return found


def measure_alternative(opened: Opened, texts: Texts, progress: Said | None = None) -> tuple[Opened, Measurement]:
    """The file with the answers that the texts determine, and the measurement. A person's own answers stay.

    Raises ValueError for fewer than ten readable texts, CheckpointError if the file cannot be imported.
    """
    decoder = _as_decoder(opened)
    trial = _Trial(decoder or opened, texts, progress)
    measurement = _settled(trial)
    if decoder is not None:
        measurement = _with_direction(measurement, trial, opened)
    answers = replace(opened.answers, measured={**opened.answers.measured, **measurement.answers})
    return replan(opened.found, answers), measurement


def _as_decoder(opened: Opened) -> Opened | None:
    """The file as a decoder-only model, if its causality is only guessed to be an encoder's; else None."""
    if not any(each.name == "causal" and each.asked for each in opened.plan.settings):
        return None
    other = replan(opened.found, replace(opened.answers, measured={**opened.answers.measured, "causal": Fitted(True)}))
    return None if other.plan.problems else other


def _settled(trial: _Trial) -> Measurement:
    """Measure all settings until nothing changes, then in pairs."""
    _start(trial)
    tables: dict[str, Losses] = {}
    rounds, changed, better = 0, True, True
    for _ in range(PASSES):
        changed, swept = True, 0
        while changed and swept < MAX_ROUNDS:
            rounds, swept, changed = rounds + 1, swept + 1, False
            for name, options in trial.open.items():
                found = _compared(name, options, trial)
                changed = changed or found.value != trial.values[name]
                trial.values[name], tables[name] = found.value, found
        better = _two_by_two(trial)
        if not better:
            break
    last = trial.losses({})
    if last is None:
        raise ValueError(f"{trial.opened.found.path.name} cannot be measured: its settings do not fit together")
    tables |= {name: _with_another(table, trial) for name, table in tables.items() if name in trial.deciding}
    loss, by_counting, reported = Loss.of(last), trial.yardsticks(), trial.opened.reported_loss
    doubt = _doubt(trial, loss, by_counting)
    if doubt:
        speaks = by_counting.speaks(loss.nats)
        tables = {name: _untold(table, keeps=speaks) for name, table in tables.items()}
    if "rotary_pairs" in tables and trial.values.get("positions", "rotary") != "rotary":
        del tables["rotary_pairs"]
    tables |= {each.name: each for each in (*trial.silent, *trial.ending())}
    return Measurement(
        tables=tuple(tables.values()),
        loss=loss.nats,
        reading=reading_of(loss, by_counting, reported),
        worse=reported is not None and compare_to_reported(loss, reported).equal is False,
        doubt=doubt,
        texts=trial.count,
        tokens=loss.tokens,
        unknown=trial.unknown(),
        runs=trial.runs,
        rounds=rounds,
        settled=not changed and not better,
    )


def _doubt(trial: _Trial, loss: Loss, by_counting: Yardsticks) -> str:
    """Why the reading as a whole fails, so that no setting is determined; "" if it passes."""
    said = f"the whole costs {numerals.number(loss.nats, 2)} nats per token"
    if not by_counting.speaks(loss.nats):
        return f"{said}, which counting does as well"
    reported = trial.opened.reported_loss
    if reported is not None and compare_to_reported(loss, reported).equal is False:
        return f"{said}, more than {reported.words}"
    if not (reported is not None and compare_to_reported(loss, reported).equal) and not by_counting.passed_by(
        loss.nats
    ):
        return f"{said}, which counting pairs does as well"
    if (other := trial.outside(loss.nats)) is not None:
        name, cost = other
        return f"{said}, and {numerals.number(cost, 2)} with {name}, which no setting here can express"
    return ""


def _untold(table: Losses, *, keeps: bool) -> Losses:
    """The table without a determined value, since the reading as a whole fails. keeps: keep the best as a guess."""
    return replace(table, told=False, why="the whole does not pass", value=table.value if keeps else table.usual)


def _two_by_two(trial: _Trial) -> bool:
    """Try decisive settings in pairs; adopt the best if it wins by the margin, and return whether it did."""
    present = _loss_of(trial.losses({}))
    best, changes = present, {}
    for first, second in combinations(trial.deciding, 2):
        for values in product(trial.open[first], trial.open[second]):
            tried = dict(zip((first, second), values, strict=True))
            loss = _loss_of(trial.losses(tried))
            if loss < best:
                best, changes = loss, tried
    if not _is_apart(best, present):
        return False
    trial.values |= changes
    return True


def _with_another(table: Losses, trial: _Trial) -> Losses:
    """The table with each alternative at its best over any one other setting.

    Alternatives that tie under another value are not separated.
    """
    losses: list[tuple[Any, float | None]] = []
    for value, loss in table.losses:
        beside = [
            _loss_of(trial.losses({table.name: value, other: option}))
            for other in trial.deciding
            if other != table.name
            for option in trial.open[other]
        ]
        best = min([math.inf if loss is None else loss, *beside])
        losses.append((value, None if loss is None and math.isinf(best) else best))
    losses.sort(key=lambda each: (each[1] is None, each[1]))
    beyond = [(name, cost) for name, cost in trial.beyond(table.name).items() if math.isfinite(cost)]
    margin = (CLEARLY_NATS, CLEARLY_SHARE) if table.name in NAMED else (APART_NATS, APART_SHARE)
    near = _near([*losses, *beyond], *margin)
    if not table.told or near == [table.value]:
        return replace(table, losses=tuple(losses))
    others = " or ".join(describe_alternative(each) for each in near if each != table.value)
    return replace(table, losses=tuple(losses), told=False, why=f"too near, or better: {others}")


def _with_direction(measurement: Measurement, trial: _Trial, encoder: Opened) -> Measurement:
    """The measurement with the causality of the rows.

    Determined only if next tokens are predicted better than by their frequencies; the other results hold for the
    decoder-only reading.
    """
    losses: list[tuple[Any, float | None]] = [(True, measurement.loss), (False, trial.seeing_all(encoder))]
    losses.sort(key=lambda each: (each[1] is None, each[1]))
    near, best = _near(losses), losses[0][1]
    predicts = best is not None and best < trial.yardsticks().single
    told = predicts and len(near) == 1
    why = "" if predicts else "neither predicts a next token better than counting tokens does"
    table = Losses("causal", tuple(losses), False, near[0] if told else False, told, why)
    others = measurement.tables if table.value else ()
    return replace(measurement, tables=(table, *others), runs=trial.runs)


def _start(trial: _Trial) -> None:
    """Try the most important settings together and start from the best."""
    names = [name for name in TOGETHER if name in trial.open]
    tried = [dict(zip(names, values, strict=True)) for values in product(*(trial.open[name] for name in names))]
    losses = [(_loss_of(trial.losses(each)), each) for each in tried]
    if names and losses:
        trial.values |= min(losses, key=lambda each: each[0])[1]


def _compared(name: str, options: Sequence[Any], trial: _Trial) -> Losses:
    """Losses of one setting, best first, and the chosen value."""
    tried = [(option, trial.losses({name: option})) for option in options]
    found = [(option, None if losses is None else _loss_of(losses)) for option, losses in tried]
    losses = tuple(sorted(found, key=lambda each: (each[1] is None, each[1])))
    if name.endswith("_pad") and trial.config.pad_to is None:
        return judge_masked(name, losses, trial.usual[name])
    near, usual, present = _near(losses), trial.usual[name], trial.values[name]
    told = len(near) == 1 and len(losses) > 1
    value = present if not near else near[0] if told or usual not in near else usual
    return Losses(name, losses, usual, value, told, named=name in trial.named)


def judge_masked(name: str, losses: tuple[tuple[Any, float | None], ...], usual: Any) -> Losses:
    """For padding, which is masked and occurs in no text: only that it is none of the needed tokens."""
    by_token = dict(losses)
    without, with_usual = by_token[None], by_token[usual]
    assert without is not None
    if with_usual is not None and with_usual - without < max(APART_NATS, APART_SHARE * without):
        return Losses(name, losses, usual, usual, False, "padding is masked, and none of these texts has any")
    return Losses(name, losses, usual, None, False)


def _near(
    losses: Iterable[tuple[Any, float | None]], nats: float = APART_NATS, share: float = APART_SHARE
) -> list[Any]:
    """Alternatives that are within the margin of the best."""
    known = [(value, loss) for value, loss in losses if loss is not None and math.isfinite(loss)]
    if not known:
        return []
    best = min(loss for _, loss in known)
    return [value for value, loss in known if loss - best < max(nats, share * loss)]


def _is_apart(better: float, worse: float) -> bool:
    """Whether one loss is below another by the margin."""
    return worse - better >= max(APART_NATS, APART_SHARE * worse)


def _loss_of(losses: Sequence[tuple[float, int]] | None) -> float:
    """Nats per token; infinite for an impossible model."""
    return math.inf if losses is None else Loss.of(losses).nats


def _config(opened: Opened) -> ModelConfig:
    plan = opened.plan
    if plan.problems or plan.config is None:
        raise CheckpointError(f"{opened.found.path} cannot be imported: {'; '.join(plan.problems)}")
    return plan.config


class _Trial:
    """Runs of one file's model under varying answers; each combination runs once.

    open: settings that neither the file nor the layout determines, with alternatives. values: their present answers.
    named: settings of the layout. deciding: settings measured in pairs. silent: settings that these texts do not depend
    on.
    """

    def __init__(self, opened: Opened, texts: Texts, progress: Said | None) -> None:
        self.opened, self.progress, self.runs = opened, progress, 0
        self.config = _config(opened)
        self.open, self.usual = _open(opened)
        origins = {each.name: each.origin for each in opened.plan.settings}
        self.named = frozenset(name for name in self.open if origins.get(name) == "from the layout")
        self.values = dict(self.usual)
        self._states: dict[tuple[Any, ...], Mapping[str, torch.Tensor]] = {}
        self._losses: dict[tuple[Any, ...], list[tuple[float, int]] | None] = {}
        self._beyond: dict[str, float] = {}
        self._texts: dict[tuple[Any, ...], list[DecoderText]] = {}
        self._check(texts)
        self._ends = self.open.pop(END, ()) if self.lines else ()
        self.silent = [
            Losses(name, (), self.usual[name], self.usual[name], False, "these texts have no unknown token")
            for name in self.open
            if name.endswith("_unk") and not self._lacking(name, self.pairs, self.lines)
        ]
        for each in self.silent:
            del self.open[each.name]
        self.deciding = [name for name in ORDER if name in self.open]

    def _check(self, texts: Texts) -> None:
        """Keep at most MAX_TEXTS readable texts. Raises ValueError for too few texts or tokens."""
        alone = self.config.kind == "decoder-only"
        pairs = [] if alone else [text for text in texts if not isinstance(text, str)]
        lines: list[str | Pair] = [text for text in texts if alone or isinstance(text, str)]
        given = self.opened.found.path.name
        if self.config.kind == "encoder-only":
            raise ValueError(f"{given} is encoder-only: it predicts no text, so texts say nothing about it")
        if self.config.kind == "encoder-decoder" and lines:
            raise ValueError(f"{given} is encoder-decoder: give pairs of source and target, a tab between them")
        pairs, lines = pairs[:MAX_TEXTS], lines[:MAX_TEXTS]
        for name, options in self.open.items():
            if name.endswith("_unk") and self.usual[name] is None and self._lacking(name, pairs, lines):
                self.usual[name] = self.values[name] = options[0]
        ckpt = self._made(self.config, self.values)
        self.pairs = readable(ckpt, pairs) if pairs else []
        self.lines = [each for each in lines if fits(ckpt, each, decoder_text(ckpt, each, LONGEST))]
        if self.count < FEWEST_TEXTS:
            raise ValueError(
                f"{self.count} texts that the model can read are too few to measure on: give {FEWEST_TEXTS} or more"
            )
        tokens = sum(decoder_text(ckpt, each, LONGEST).count for each in self.lines)
        if self.lines and tokens < FEWEST_TOKENS:
            raise ValueError(f"texts of {tokens} tokens to predict are too few: give {FEWEST_TOKENS} or more")

    @property
    def count(self) -> int:
        return len(self.pairs) + len(self.lines)

    def losses(self, changes: Mapping[str, Any]) -> list[tuple[float, int]] | None:
        """(nats, tokens) of each text under the present answers with `changes`; None for an impossible model."""
        values = {**self.values, **changes}
        key = tuple(values.items())
        if key not in self._losses:
            self._losses[key] = self._run(values)
        return self._losses[key]

    def _run(self, values: Mapping[str, Any], change: Callable[[Transformer], None] | None = None) -> Any:
        """The same for these values. change: turns the model into one that no settings describe."""
        words = {name: value for name, value in values.items() if name not in (*MEASURED_ROLES, *BESIDE)}
        try:
            config = ModelConfig.from_dict({**self.config.to_dict(), **words})
            ckpt = self._made(config, values)
        except ValueError:  # not combined with the others: such as one token in two roles
            return None
        if change is not None:
            change(ckpt.model)
        self.runs += 1
        if self.progress is not None:
            self.progress(self.runs)
        return pair_losses(ckpt, self.pairs) if config.has_encoder else decoder_losses(ckpt, self._read(ckpt, values))

    def _read(self, ckpt: Checkpoint, values: Mapping[str, Any]) -> list[DecoderText]:
        """A decoder's texts as ids, with these special tokens."""
        key = tuple(value for name, value in values.items() if name in MEASURED_ROLES)
        if key not in self._texts:
            self._texts[key] = [decoder_text(ckpt, text, LONGEST) for text in self.lines]
        return self._texts[key]

    def outside(self, loss: float) -> tuple[str, float] | None:
        """A model outside our settings, such as one with RMS norms, that beats this loss by the margin, with its loss.

        Tried with the best and the usual answers; None if there is none.
        """
        cost, name = min(((cost, name) for name, cost in self.beyond().items()), default=(math.inf, ""))
        return (name, cost) if _is_apart(cost, loss) else None

    def beyond(self, setting: str | None = None) -> dict[str, float]:
        """Loss of decoder-only variants that no setting describes, by name; optionally only those of `setting`."""
        if self.config.has_encoder:
            return {}
        usual = {**self.values, **{each: self.usual[each] for each in self.deciding}}
        scale = {"one": 1.0, "sqrt": math.sqrt(self.config.d_model)}.get(self.values.get("embedding_scale", ""))
        for name, (_, change, factor) in OUTSIDE.items():
            if name not in self._beyond and not (factor and scale and math.isclose(factor, scale)):
                self._beyond[name] = min(_loss_of(self._run(values, change)) for values in (self.values, usual))
        return {name: cost for name, cost in self._beyond.items() if setting in (None, OUTSIDE[name][0])}

    def yardsticks(self) -> Yardsticks:
        """Yardsticks for the same tokens."""
        ckpt = self._made(self.config, self.values)
        if self.pairs:
            return yardsticks([target_text(ckpt, target) for _, target in self.pairs], ckpt.codec("target"))
        return yardsticks([each.predicted for each in self._read(ckpt, self.values)], ckpt.codec("target"))

    def _made(self, config: ModelConfig, values: Mapping[str, Any]) -> Checkpoint:
        """The model with these settings and special tokens."""
        roles = {name: Fitted(value) for name, value in values.items() if name in MEASURED_ROLES}
        answers = replace(self.opened.answers, measured={**self.opened.answers.measured, **roles})
        plan = replace(self.opened.plan, config=config)
        config, codecs = codecs_of(replace(self.opened, plan=plan, answers=answers))
        model, name = with_weights(config, self._state(config, values)), self.opened.found.path.name
        return Checkpoint(name, None, model, codecs["source"], codecs["target"], {}, "")

    def _state(self, config: ModelConfig, values: Mapping[str, Any]) -> Mapping[str, torch.Tensor]:
        """Our tensors, split according to the head count and the order of queries, keys and values."""
        plan = self.opened.plan
        by_head = any(place.how == "interleaved" for place in plan.mapping.values())
        order = values.get("qkv_order")
        key = config.n_heads if by_head else 0, order
        if key not in self._states:
            shapes = expected_shapes(config)
            if len(self._states) >= MAX_STATES:
                self._states.pop(next(iter(self._states)))
            mapping = plan.mapping if order is None else order_fused(plan.mapping, order)
            self._states[key] = map_tensors(mapping, plan.weights.tensors, config.n_heads) | {
                name: torch.zeros(shapes[name]) for name in plan.zeros
            }
        halves = config.positions == "rotary" and values.get("rotary_pairs", plan.setting("rotary_pairs")) == "halves"
        return pair_neighbours(self._states[key], config.n_heads) if halves else self._states[key]

    def seeing_all(self, encoder: Opened) -> float | None:
        """Nats per token in the same windows if each row sees its whole window; None if that model predicts nothing."""
        words = {name: value for name, value in self.values.items() if name not in (*MEASURED_ROLES, *BESIDE)}
        config = ModelConfig.from_dict({**_config(encoder).to_dict(), **words})
        if config.target_vocab_size != self.config.target_vocab_size:
            return None
        model = with_weights(config, state_of(encoder.plan, config))
        self.runs += 1
        total, count = 0.0, 0
        with torch.no_grad():
            for text in self._read(self._made(self.config, self.values), self.values):
                window = min(self.config.max_target, len(text.ids) - 1)
                for start in range(0, len(text.ids) - 1, window):
                    cut = torch.tensor([text.ids[start : start + window + 1]])
                    first = max(text.first - start, 1) - 1
                    logits = model(cut[:, :-1])[0].double()
                    loss = F.cross_entropy(logits[first:], cut[0, first + 1 :], reduction="sum")
                    total, count = total + float(loss), count + max(cut.size(1) - 1 - first, 0)
        return total / count if math.isfinite(total) else math.inf

    def ending(self) -> list[Losses]:
        """Candidates for a decoder's end token, by their probability after each text, and that it is none of them.

        A text may be part of a longer one, so "none" does not prove that there is no end token.
        """
        if not self._ends:
            return []
        ckpt = self._made(self.config, self.values)
        codec, most = ckpt.own_codec("target"), self.config.max_target
        places = {token: codec.vocabulary.id(token) for token in self._ends if token is not None}
        rows = []
        with torch.no_grad():
            for text in self._read(ckpt, self.values):
                read = torch.tensor([text.ids[-most:]])
                rows.append(ckpt.model(read)[0, -1].double().log_softmax(-1))
        self.runs += 1
        log_probs = torch.stack(rows)  # [texts, V]
        others = [i for i in range(log_probs.size(1)) if i not in places.values()]
        losses: list[tuple[Any, float | None]] = [(None, -float(log_probs[:, others].logsumexp(-1).mean()))]
        losses += [(token, -float(log_probs[:, place].mean())) for token, place in places.items()]
        losses.sort(key=lambda each: each[1] or 0.0)
        near, usual = _near(losses), self.usual[END]
        told = len(near) == 1 and near[0] is not None
        why = "" if None not in near else "none of them follows these texts, which may be parts of longer ones"
        return [Losses(END, tuple(losses), usual, near[0] if told else usual, told, why, per="text")]

    def unknown(self) -> float:
        """Share of unknown tokens on the predicted side."""
        codec = self._made(self.config, self.values).own_codec("target")
        texts = (*self.lines, *(target for _, target in self.pairs))
        encoded = [codec.encode(text if isinstance(text, str) else text[1]) for text in texts]
        return sum(len(each.unknown) for each in encoded) / sum(len(each) for each in encoded)

    def _lacking(self, role: str, pairs: Sequence[Pair], lines: Sequence[str | Pair]) -> bool:
        """Whether a text needs a token missing from its vocabulary, which this role would replace."""
        side: SideName = "source" if role.startswith("source") else "target"
        codec = self._made(self.config, {**self.values, role: self.open[role][0]}).own_codec(side)
        own = [part for line in lines for part in ([line] if isinstance(line, str) else line)]
        texts = (*own, *(pair[side == "target"] for pair in pairs))
        return any(codec.encode(text).unknown for text in texts)


def _open(opened: Opened) -> tuple[dict[str, tuple[Any, ...]], dict[str, Any]]:
    """Undetermined settings in measuring order, with their alternatives; and their guesses."""
    asked = {
        each.name: each
        for each in opened.plan.settings
        if each.options and (each.asked or (each.origin == "from the layout" and each.name in NAMED))
    }
    pairs = _config(opened).kind == "encoder-decoder"
    roles = {
        each.name: each  # not for ids, which include all words: a copying model would end with any
        for each in special_settings(opened)
        if each.asked and len(each.options) > 1 and has_names(opened, each.name.split("_")[0])
    }
    options: dict[str, tuple[Any, ...]] = {name: asked[name].options for name in ORDER if name in asked}
    usual: dict[str, Any] = {name: each.value for name, each in {**asked, **roles}.items()}
    for name, each in roles.items():
        needed = pairs and name in ("target_bos", END)
        one = needed or name.endswith("_unk")  # without an unknown token, unknown words cannot be read
        options[name] = tuple(option for option in each.options if option is not None or not one)
        if needed and each.value is None and options[name]:
            usual[name] = options[name][0]  # a target has a start and an end: which tokens is measured
    options |= {name: asked[name].options for name in LAST if name in asked}
    if "positions" in options and "rotary_pairs" not in options:  # in case they are rotary
        options["rotary_pairs"], usual["rotary_pairs"] = OPTIONS["rotary_pairs"], "neighbours"
    return options, {name: usual[name] for name in options}


# --- models outside our settings


class _RootMeanSquare(nn.Module):
    """RMS norm: x / root of the mean square * gain, without subtracting the mean."""

    def __init__(self, norm: LayerNorm) -> None:
        super().__init__()
        self.gain, self.offset, self.epsilon = norm.gain, norm.offset, norm.epsilon

    def forward(self, x: torch.Tensor, hook: Hook) -> torch.Tensor:
        scaled: torch.Tensor = x / (x.square().mean(-1, keepdim=True) + self.epsilon).sqrt() * self.gain + self.offset
        return scaled


def _root_mean_square(model: Transformer) -> None:
    for module in [*model.modules()]:
        for name, child in module.named_children():
            if isinstance(child, LayerNorm):
                setattr(module, name, _RootMeanSquare(child))


def _squared(model: Transformer) -> None:
    for module in model.modules():
        if isinstance(module, FeedForward):
            module.activation = lambda x: x.relu().square()


def _undivided(model: Transformer) -> None:
    for module in model.modules():
        if isinstance(module, Attention):
            module.divisor = 1.0


def _side_by_side(model: Transformer) -> None:
    def beside(layer: DecoderLayer, x: torch.Tensor, mask: torch.Tensor, hook: Hook, **_: Any) -> torch.Tensor:
        read = layer.self_residual.norm(x, hook), layer.ffn_residual.norm(x, hook)
        sum_of: torch.Tensor = x + layer.self_attention(read[0], mask, hook) + layer.feed_forward(read[1], hook)
        return sum_of

    for layer in model.modules():
        if isinstance(layer, DecoderLayer):
            layer.forward = partial(beside, layer)  # type: ignore[method-assign]


def _embedding_times(factor: float) -> Callable[[Transformer], None]:
    def change(model: Transformer) -> None:
        for module in model.modules():
            if isinstance(module, Embedding):
                module.scale = factor

    return change


OUTSIDE: Mapping[str, tuple[str, Callable[[Transformer], None], float]] = {
    "RMS norms": ("norm_kind", _root_mean_square, 0.0),
    "a squared ReLU": ("activation", _squared, 0.0),
    "scores that are not divided": ("divisor", _undivided, 0.0),
    "attention and feed-forward side by side": ("norm", _side_by_side, 0.0),
    **{
        f"the embedding times {factor}": ("embedding_scale", _embedding_times(factor), float(factor))
        for factor in (4, 8, 16, 32)
    },
}
"""Models that no config describes, by name: the setting they replace, the change, and the factor of the embedding."""
