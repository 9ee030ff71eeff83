"""What a file of weights does not tell, measured: the loss of its owner's texts under each alternative.

Settings act on each other: those that matter most are tried together first, then each is measured with the others at
what is best so far, and all of them again until nothing changes. What makes too little difference is not told by texts,
and is said so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import torch
from torch.nn import functional as F

from viz_transformer import numerals
from viz_transformer.checkpoint import Checkpoint, CheckpointError
from viz_transformer.checkpoint.importers.importing import Opened, codecs_of, has_names, planned, special_settings
from viz_transformer.checkpoint.importers.mapping import moved
from viz_transformer.checkpoint.store import expected_shapes
from viz_transformer.measuring.answering import TokenScores, readable, target_scores, window_scores
from viz_transformer.measuring.data import Pair, read_pairs, read_text
from viz_transformer.measuring.verifying import FEWEST_TOKENS
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import SideName
from viz_transformer.model.transformer import Transformer
from viz_transformer.text.vocabulary import ROLES

Texts = Sequence[str] | Sequence[Pair]
Said = Callable[[int], None]
"""Called with the runs done."""

FEWEST_TEXTS, MOST_TEXTS = 10, 64
LONGEST = 512
"""Tokens that are read of a text of a decoder alone."""
MOST_ROUNDS = 3
APART_NATS, APART_SHARE = 0.02, 0.02
"""How far the best must be below the next best: in nats per token, and as a share of the next best's loss."""
ORDER = ("norm", "embedding_scale", "positions", "n_heads", "divisor", "activation")
TOGETHER = ("norm", "embedding_scale", "positions")
"""With one of these wrong the others may look worse than they are."""
LAST = ("norm_epsilon", "mask_fill")
MEASURED_ROLES = tuple(f"{side}_{role}" for side in ("source", "target") for role in ROLES)
END = "target_eos"


@dataclass(frozen=True)
class Losses:
    """The loss of the texts under each alternative of one setting, the others as they were found.

    losses: alternative and nats per token, None for one that the model cannot have; none at all where the texts have
    nothing to do with it. usual: what was guessed. value: what is taken; told: whether the texts tell it; why: why not,
    where that is not that two are too close. per: what the nats are of, "token", or "text" for what ends one.
    """

    name: str
    losses: tuple[tuple[Any, float | None], ...]
    usual: Any
    value: Any
    told: bool
    why: str = ""
    per: Literal["token", "text"] = "token"

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Each alternative with its loss, in words."""
        unit = "" if self.per == "token" else f" per {self.per}"
        return tuple(
            (shown(value), "cannot be" if loss is None else f"{numerals.number(loss, 3)}{unit}")
            for value, loss in self.losses
        )

    @property
    def verdict(self) -> str:
        """What follows, in words."""
        if self.told:
            return f"{shown(self.value)}: measured"
        if self.why:
            return f"cannot be told: {self.why}; the usual answer stays, {shown(self.value)}"
        near = " or ".join(shown(each) for each in sorted(_near(self.losses), key=lambda each: each != self.usual))
        if not near:
            return f"cannot be told: none of them can be measured; {shown(self.value)} stays"
        if self.value == self.usual:
            return f"cannot be told: {near}; the usual answer stays, {shown(self.value)}"
        return f"cannot be told: {near}; the usual answer, {shown(self.usual)}, is worse, so it is {shown(self.value)}"


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What was measured, on what, and in how many runs of the model. settled: whether a last round changed nothing.

    unknown: the share of the texts' tokens that the vocabulary does not have, on the side that is predicted.
    """

    tables: tuple[Losses, ...]
    loss: float
    texts: int
    tokens: int
    unknown: float
    runs: int
    rounds: int
    settled: bool

    @property
    def sentence(self) -> str:
        """On what and how it was measured, in words."""
        what = f"{self.texts} texts, {self.tokens:,} tokens to predict"
        if self.unknown:
            what += f" ({numerals.percent(self.unknown)} of them unknown to the vocabulary)"
        end = "until nothing changed" if self.settled else "and it was still changing"
        rounds = f"{self.rounds} round{'s' * (self.rounds != 1)}"
        return f"{what}, {self.runs} runs in {rounds}, {end}; loss {numerals.number(self.loss, 3)} nats per token"

    @property
    def answers(self) -> dict[str, Any]:
        """What was found, by name: what the texts tell, and what is better than the usual answer."""
        return {each.name: each.value for each in self.tables if each.told or each.value != each.usual}

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Setting, alternative, loss in nats per token and verdict; what a line repeats is blank in it."""
        return [
            ("" if index else each.name, value, loss, "" if index else each.verdict)
            for each in self.tables
            for index, (value, loss) in enumerate(each.lines or (("", ""),))
        ]

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        finite = [
            asdict(each)
            | {"losses": [[v, loss if loss is None or math.isfinite(loss) else None] for v, loss in each.losses]}
            for each in self.tables
        ]
        loss = self.loss if math.isfinite(self.loss) else None
        return asdict(self) | {"loss": loss, "tables": finite, "sentence": self.sentence}


def shown(value: Any) -> str:
    """An alternative in words."""
    return "none" if value is None else str(value)


def read_texts(path: str | Path, opened: Opened) -> Texts:
    """The owner's texts in a file: a line each for a decoder alone, else pairs with a tab between.

    Raises ValueError for any other file, and for a model that predicts no text.
    """
    config = _config(opened)
    if config.kind == "encoder-only" and _as_decoder(opened) is None:
        raise ValueError(f"{opened.found.path.name} is encoder-only: it predicts no text, so texts tell nothing of it")
    if config.kind != "encoder-decoder":
        return [line for line in read_text(path).splitlines() if line.strip()]
    return read_pairs(path)


def measured(opened: Opened, texts: Texts, progress: Said | None = None) -> tuple[Opened, Measurement]:
    """The same file with the answers that the texts tell, and the measurement. A person's own answers stay.

    Raises ValueError for fewer than ten texts that the model can read, CheckpointError where the file cannot be
    imported.
    """
    decoder = _as_decoder(opened)
    trial = _Trial(decoder or opened, texts, progress)
    measurement = _settled(trial)
    if decoder is not None:
        measurement = _with_direction(measurement, trial, opened)
    answers = replace(opened.answers, measured={**opened.answers.measured, **measurement.answers})
    return planned(opened.found, answers), measurement


def _as_decoder(opened: Opened) -> Opened | None:
    """The same file as a decoder alone, where nothing tells whether its rows read later tokens and the usual answer is
    that they do; None where that is not asked, or cannot be."""
    if not any(each.name == "causal" and each.asked for each in opened.plan.settings):
        return None
    other = planned(opened.found, replace(opened.answers, measured={**opened.answers.measured, "causal": True}))
    return None if other.plan.problems else other


def _settled(trial: _Trial) -> Measurement:
    """All settings, until nothing changes."""
    _start(trial)
    tables: dict[str, Losses] = {}
    rounds, changed = 0, True
    while changed and rounds < MOST_ROUNDS:
        rounds, changed = rounds + 1, False
        for name, options in trial.open.items():
            found = _compared(name, options, trial)
            changed = changed or found.value != trial.values[name]
            trial.values[name], tables[name] = found.value, found
    tables |= {each.name: each for each in (*trial.silent, *trial.ending())}
    last = trial.scores({})
    if last is None:
        raise ValueError(f"{trial.opened.found.path.name} cannot be measured: its settings do not fit together")
    return Measurement(
        tables=tuple(tables.values()),
        loss=_loss(last),
        texts=trial.count,
        tokens=last.tokens,
        unknown=trial.unknown(),
        runs=trial.runs,
        rounds=rounds,
        settled=not changed,
    )


def _with_direction(measurement: Measurement, trial: _Trial, encoder: Opened) -> Measurement:
    """The same with whether rows read earlier tokens alone, told only if a next token is predicted better than the
    texts' own shares of tokens do; what was measured of a decoder holds for a decoder alone."""
    losses: list[tuple[Any, float | None]] = [(True, measurement.loss), (False, trial.seeing_all(encoder))]
    losses.sort(key=lambda each: (each[1] is None, each[1]))
    near, best = _near(losses), losses[0][1]
    predicts = best is not None and best < trial.by_shares()
    told = predicts and len(near) == 1
    why = "" if predicts else "neither predicts a next token better than counting tokens does"
    table = Losses("causal", tuple(losses), False, near[0] if told else False, told, why)
    others = measurement.tables if table.value else ()
    return replace(measurement, tables=(table, *others), runs=trial.runs)


def _start(trial: _Trial) -> None:
    """Begin with the best of what matters most, tried together."""
    names = [name for name in TOGETHER if name in trial.open]
    tried = [dict(zip(names, values, strict=True)) for values in product(*(trial.open[name] for name in names))]
    losses = [(_loss(scores), each) for each in tried if (scores := trial.scores(each)) is not None]
    if losses:
        trial.values |= min(losses, key=lambda each: each[0])[1]


def _compared(name: str, options: Sequence[Any], trial: _Trial) -> Losses:
    """The losses of one setting, best first; what is taken of it."""
    found = [
        (option, None if (scores := trial.scores({name: option})) is None else _loss(scores)) for option in options
    ]
    losses = tuple(sorted(found, key=lambda each: (each[1] is None, each[1])))
    if name.endswith("_pad") and trial.config.pad_to is None:
        return masked(name, losses, trial.usual[name])
    near, usual, present = _near(losses), trial.usual[name], trial.values[name]
    told = len(near) == 1 and len(losses) > 1
    value = present if not near else near[0] if told or usual not in near else usual
    return Losses(name, losses, usual, value, told)


def masked(name: str, losses: tuple[tuple[Any, float | None], ...], usual: Any) -> Losses:
    """Of padding, which is masked and stands in no text, only that it is none of the tokens that are needed."""
    by_token = dict(losses)
    without, with_usual = by_token[None], by_token[usual]
    assert without is not None
    if with_usual is not None and with_usual - without < max(APART_NATS, APART_SHARE * without):
        return Losses(name, losses, usual, usual, False, "padding is masked, and stands in none of these texts")
    return Losses(name, losses, usual, None, False)


def _near(losses: Iterable[tuple[Any, float | None]]) -> list[Any]:
    """The alternatives that cannot be told from the best one: less than 0.02 nats, or less than 2 %, above it."""
    known = [(value, loss) for value, loss in losses if loss is not None and math.isfinite(loss)]
    if not known:
        return []
    best = min(loss for _, loss in known)
    return [value for value, loss in known if loss - best < max(APART_NATS, APART_SHARE * loss)]


def _loss(scores: TokenScores) -> float:
    loss = -scores.log_prob / scores.tokens
    return loss if math.isfinite(loss) else math.inf


def _config(opened: Opened) -> ModelConfig:
    plan = opened.plan
    if plan.problems or plan.config is None:
        raise CheckpointError(f"{opened.found.path} cannot be imported: {'; '.join(plan.problems)}")
    return plan.config


class _Trial:
    """Runs of one file's model under changing answers; each combination is run once.

    open: the settings that nothing tells, and their alternatives. values: the present answers to them. silent: those of
    which these texts can tell nothing.
    """

    def __init__(self, opened: Opened, texts: Texts, progress: Said | None) -> None:
        self.opened, self.progress, self.runs = opened, progress, 0
        self.config = _config(opened)
        self.open, self.usual = _open(opened)
        self.values = dict(self.usual)
        self._states: dict[int, Mapping[str, torch.Tensor]] = {}
        self._scores: dict[tuple[Any, ...], TokenScores | None] = {}
        self._check(texts)
        self._ends = self.open.pop(END, ()) if self.lines else ()
        self.silent = [
            Losses(name, (), self.usual[name], self.usual[name], False, "these texts have no unknown token")
            for name in self.open
            if name.endswith("_unk") and not self._lacking(name, self.pairs, self.lines)
        ]
        for each in self.silent:
            del self.open[each.name]

    def _check(self, texts: Texts) -> None:
        """Keep those that the model can read, at most MOST_TEXTS. Raises ValueError for fewer than FEWEST_TEXTS, and
        for lines of fewer than FEWEST_TOKENS."""
        pairs = [text for text in texts if not isinstance(text, str)]
        lines = [text for text in texts if isinstance(text, str)]
        given = self.opened.found.path.name
        if self.config.kind == "encoder-only":
            raise ValueError(f"{given} is encoder-only: it predicts no text, so texts tell nothing of it")
        if self.config.kind == "decoder-only" and pairs:
            raise ValueError(f"{given} is decoder-only: give texts, a line each, not pairs")
        if self.config.kind == "encoder-decoder" and lines:
            raise ValueError(f"{given} is encoder-decoder: give pairs of source and target, a tab between them")
        pairs, lines = pairs[:MOST_TEXTS], lines[:MOST_TEXTS]
        for name, options in self.open.items():
            if name.endswith("_unk") and self.usual[name] is None and self._lacking(name, pairs, lines):
                self.usual[name] = self.values[name] = options[0]
        ckpt = self._made(self.config, self.values)
        self.pairs = readable(ckpt, pairs) if pairs else []
        self.lines = [each for each in lines if len(_ids(ckpt, each)) > 1]
        if self.count < FEWEST_TEXTS:
            raise ValueError(
                f"{self.count} texts that the model can read are too few to measure by: give {FEWEST_TEXTS} or more"
            )
        tokens = sum(len(_ids(ckpt, each)) - 1 for each in self.lines)
        if self.lines and tokens < FEWEST_TOKENS:
            raise ValueError(f"texts of {tokens} tokens to predict are too few: give {FEWEST_TOKENS} or more")

    @property
    def count(self) -> int:
        """Texts that are measured on."""
        return len(self.pairs) + len(self.lines)

    def scores(self, changes: Mapping[str, Any]) -> TokenScores | None:
        """How likely the texts are with the present answers but for these; None for what the model cannot be."""
        values = {**self.values, **changes}
        key = tuple(values.items())
        if key not in self._scores:
            self._scores[key] = self._run(values)
        return self._scores[key]

    def _run(self, values: Mapping[str, Any]) -> TokenScores | None:
        words = {name: value for name, value in values.items() if name not in MEASURED_ROLES}
        try:
            config = ModelConfig.from_dict({**self.config.to_dict(), **words})
            ckpt = self._made(config, values)
        except ValueError:  # not with the others: such as one token in two roles
            return None
        self.runs += 1
        if self.progress is not None:
            self.progress(self.runs)
        if config.has_encoder:
            return target_scores(ckpt, self.pairs)
        return sum((_line_scores(ckpt, _ids(ckpt, text)) for text in self.lines), TokenScores())

    def _made(self, config: ModelConfig, values: Mapping[str, Any]) -> Checkpoint:
        """The model with these settings and roles."""
        roles = {name: value for name, value in values.items() if name in MEASURED_ROLES}
        answers = replace(self.opened.answers, measured={**self.opened.answers.measured, **roles})
        plan = replace(self.opened.plan, config=config)
        config, codecs = codecs_of(replace(self.opened, plan=plan, answers=answers))
        with torch.random.fork_rng(devices=[]):
            model = Transformer(config)
        model.load_state_dict(self._state(config), assign=True)
        name = self.opened.found.path.name
        return Checkpoint(name, None, model.eval(), codecs["source"], codecs["target"], {}, "")

    def _state(self, config: ModelConfig) -> Mapping[str, torch.Tensor]:
        """Our tensors; how they are cut depends on the heads where they stand by head."""
        plan = self.opened.plan
        by_head = any(place.how == "interleaved" for place in plan.mapping.values())
        key = config.n_heads if by_head else 0
        if key not in self._states:
            shapes = expected_shapes(config)
            self._states.clear()
            self._states[key] = moved(plan.mapping, plan.weights.tensors, config.n_heads) | {
                name: torch.zeros(shapes[name]) for name in plan.zeros
            }
        return self._states[key]

    def seeing_all(self, encoder: Opened) -> float | None:
        """Nats per token of the same texts, in the same windows, where each row reads all of its window; None where
        that model gives out nothing to predict with."""
        words = {name: value for name, value in self.values.items() if name not in MEASURED_ROLES}
        config = ModelConfig.from_dict({**_config(encoder).to_dict(), **words})
        if config.target_vocab_size != self.config.target_vocab_size:
            return None
        plan, shapes = encoder.plan, expected_shapes(config)
        with torch.random.fork_rng(devices=[]):
            model = Transformer(config).eval()
        zeros = {name: torch.zeros(shapes[name]) for name in plan.zeros}
        model.load_state_dict({**moved(plan.mapping, plan.weights.tensors, config.n_heads), **zeros}, assign=True)
        self.runs += 1
        total, count = 0.0, 0
        with torch.no_grad():
            for ids in self._ids_of_lines():
                window = min(self.config.max_target, len(ids))
                for start in range(0, len(ids) - 1, window):
                    cut = torch.tensor([ids[start : start + window + 1]])
                    loss = F.cross_entropy(model(cut[:, :-1])[0].double(), cut[0, 1:], reduction="sum")
                    total, count = total + float(loss), count + cut.size(1) - 1
        return total / count if math.isfinite(total) else math.inf

    def by_shares(self) -> float:
        """Nats per token of the texts' tokens after each first one, if each is as likely as its share of them."""
        counts = Counter(id for ids in self._ids_of_lines() for id in ids[1:])
        total = counts.total()
        return -sum(count / total * math.log(count / total) for count in counts.values())

    def _ids_of_lines(self) -> list[tuple[int, ...]]:
        ckpt = self._made(self.config, self.values)
        return [_ids(ckpt, text) for text in self.lines]

    def ending(self) -> list[Losses]:
        """Of a decoder alone which token ends a text: how likely each is behind the texts' last tokens, and that it is
        none of them. That none is does not tell that there is none: a text may be a part of a longer one."""
        if not self._ends:
            return []
        ckpt = self._made(self.config, self.values)
        codec, most = ckpt.own_codec("target"), self.config.max_target
        places = {token: codec.vocabulary.id(token) for token in self._ends if token is not None}
        rows = []
        with torch.no_grad():
            for ids in self._ids_of_lines():
                read = torch.tensor([(*_start_of(ckpt), *ids)[-most:]])
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
        return [Losses(END, tuple(losses), usual, near[0] if told else usual, told, why, "text")]

    def unknown(self) -> float:
        """The share of the predicted side's tokens that are unknown to the vocabulary."""
        codec = self._made(self.config, self.values).own_codec("target")
        encoded = [codec.encode(text) for text in (*self.lines, *(target for _, target in self.pairs))]
        return sum(len(each.unknown) for each in encoded) / sum(len(each) for each in encoded)

    def _lacking(self, role: str, pairs: Sequence[Pair], lines: Sequence[str]) -> bool:
        """Whether a text has a token that its vocabulary lacks, for which this role would stand."""
        side: SideName = "source" if role.startswith("source") else "target"
        codec = self._made(self.config, {**self.values, role: self.open[role][0]}).own_codec(side)
        texts = (*lines, *(pair[side == "target"] for pair in pairs))
        return any(codec.encode(text).unknown for text in texts)


def _open(opened: Opened) -> tuple[dict[str, tuple[Any, ...]], dict[str, Any]]:
    """The settings that nothing tells, in the order in which they are measured, with their alternatives; and what was
    guessed of them."""
    asked = {each.name: each for each in opened.plan.settings if each.asked and each.options}
    pairs = _config(opened).kind == "encoder-decoder"
    roles = {
        each.name: each  # not of ids, among which all words are too: a model that copies would end with any of them
        for each in special_settings(opened)
        if each.asked and len(each.options) > 1 and has_names(opened, each.name.split("_")[0])
    }
    options: dict[str, tuple[Any, ...]] = {name: asked[name].options for name in ORDER if name in asked}
    usual: dict[str, Any] = {name: each.value for name, each in {**asked, **roles}.items()}
    for name, each in roles.items():
        needed = pairs and name in ("target_bos", END)
        one = needed or name.endswith("_unk")  # without a token for them unknown words cannot be read
        options[name] = tuple(option for option in each.options if option is not None or not one)
        if needed and each.value is None and options[name]:
            usual[name] = options[name][0]  # a target has a start and an end: which ones is measured
    options |= {name: asked[name].options for name in LAST if name in asked}
    return options, {name: usual[name] for name in options}


def _ids(ckpt: Checkpoint, text: str) -> tuple[int, ...]:
    """The ids of a decoder's text without start and end."""
    codec = ckpt.own_codec("target")
    ids = codec.encode(text).ids[codec.add_bos :]
    return ids[: len(ids) - codec.add_eos][:LONGEST]


def _start_of(ckpt: Checkpoint) -> tuple[int, ...]:
    """What a decoder alone reads before a text: its start token, if it has one."""
    start = ckpt.own_codec("target").vocabulary.bos
    return () if start is None else (start,)


def _line_scores(ckpt: Checkpoint, ids: Sequence[int]) -> TokenScores:
    """How likely a decoder alone finds a text's tokens after the first, behind its start token if it has one."""
    codec, start = ckpt.own_codec("target"), _start_of(ckpt)
    read = (*start, *ids)
    scores = window_scores(ckpt, codec, read, min(ckpt.config.max_target, len(read)), None)[0]
    if not start:
        return scores
    first = window_scores(ckpt, codec, read[:2], 1, None)[0]  # without a start token nothing predicts it
    return TokenScores(scores.log_prob - first.log_prob, scores.right - first.right, scores.tokens - first.tokens)
