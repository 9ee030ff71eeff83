"""Prepared pairs: runs that are worth a look beside the selected one, each pinned as B with one click."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from viz_transformer.analysis.models.untrained import UntrainedSummary, recipe_like
from viz_transformer.analysis.positions.orders import removable, reverse_words
from viz_transformer.checkpoint.contents import Summary, Unreadable
from viz_transformer.checkpoint.store import read_codec
from viz_transformer.figures import labels
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import SideName
from viz_transformer.text.codec import Codec
from viz_transformer.ui.session.generation_config import GenerationConfig
from viz_transformer.ui.session.runs import QUOTED, RunView

TWINS = ("tatoeba-en-it", "en-it-slips")
"""Two models of the same sentences, the second with the bugs of a notebook."""
MAX_MODELS = 4
"""Other models that are offered at once."""


@dataclass(frozen=True)
class Pair:
    """`label` says what B is. `fields` pin it; None where there is no such run, `why` says why."""

    key: str
    label: str
    fields: Mapping[str, Any] | None = None
    why: str = ""


def pairs(shown: RunView, summaries: Sequence[Summary | Unreadable]) -> tuple[Pair, ...]:
    """The pairs of a run: other models that read its text, training, order of the words, positions. summaries: the
    models that there are."""
    others = (*_twin(shown, {each.name for each in summaries}), *_models(shown, summaries))
    return *others, _order(shown), _positions(shown), _training(shown)


def _models(shown: RunView, summaries: Sequence[Summary | Unreadable]) -> tuple[Pair, ...]:
    """The other models that divide a text as this one does and know as much of it; of folders of other programs,
    which are not asked unopened, none."""
    side: SideName = "source" if shown.ckpt.spec.has_encoder else "target"
    own = shown.ckpt.codec(side)
    if not isinstance(own, Codec):
        return ()
    named = {shown.summary.name, *_twins(shown)}
    if isinstance(shown.summary, UntrainedSummary):
        named.add(shown.summary.recipe.base)  # which is offered as the trained one
    divided = (shown.summary.codecs[side] or {}).get("tokenizer")
    found = []
    for summary in summaries:
        if type(summary) is not Summary or summary.name in named:
            continue
        if (summary.codecs[side] or {}).get("tokenizer") == divided and _reads(summary, side, shown.text, own):
            how = replace(_how(shown), ban=())  # ids of another vocabulary
            fields = _pinned(shown, pin_checkpoint=summary.name, pin_how=how)
            found.append(Pair(f"model_{summary.name}", f"The same text in {summary.name}", fields))
    return tuple(found[:MAX_MODELS])


def _reads(summary: Summary, side: SideName, text: str, own: Codec) -> bool:
    """Whether a model reads the text with no more unknown tokens than `own`, and whole."""
    spec = summary.spec
    if spec.has_encoder != (side == "source"):
        return False
    try:
        codec = read_codec(summary, side)
        encoded = None if codec is None else codec.encode(text)
    except ValueError:  # and CheckpointError: opening that model says what is wrong
        return False
    if encoded is None:
        return False
    most = spec.max_source if side == "source" else spec.max_target
    return len(encoded.ids) <= most and len(encoded.unknown) <= len(own.encode(text).unknown)


def _training(shown: RunView) -> Pair:
    if isinstance(shown.summary, UntrainedSummary):
        base = shown.summary.recipe.base
        return Pair("training", f"Trained: {base}", _pinned(shown, pin_checkpoint=base))
    label = "Untrained: the same model with random parameters"
    try:
        recipe = recipe_like(shown.summary)
        recipe.config(shown.summary.config)
    except (Unavailable, ValueError) as error:
        return Pair("training", label, why=f"There is none: {error}.")
    return Pair("training", label, _pinned(shown, pin_checkpoint=recipe.name))


def _order(shown: RunView) -> Pair:
    encoder = shown.ckpt.spec.has_encoder
    label = "With the text reversed"
    try:
        other = reverse_words(
            shown.text, shown.ckpt.own_codec("source" if encoder else "target"), keep_last=not encoder
        )
    except Unavailable as error:
        return Pair("order", label, why=f"There is none: {error}.")
    if other is None:
        return Pair("order", label, why="All parts of this text are equal: there is no other order.")
    cut = labels.isolate(labels.shorten(labels.sentence(other), QUOTED))
    return Pair("order", f"{label}: “{cut}”", _pinned(shown, pin_text=other))


def _positions(shown: RunView) -> Pair:
    label = "Without positions"
    try:
        config = shown.trace.config
    except Unavailable as error:
        return Pair("positions", label, why=f"There is no such run: {error}.")
    stacks = removable(config)
    if not stacks:
        why = f"This model has {config.encoding.noun}, which act in attention: there is no vector to leave out."
        return Pair("positions", label, why=why)
    off = stacks[0]
    how = replace(_how(shown), off=off)
    return Pair("positions", f"Without the positions of the {off[0]}", _pinned(shown, pin_how=how))


def _twins(shown: RunView) -> tuple[str, ...]:
    """The name of the model that was trained on the same sentences with the bugs or without them, if it has one."""
    return tuple(each for each in TWINS if each != shown.summary.name) if shown.summary.name in TWINS else ()


def _twin(shown: RunView, names: Collection[str]) -> tuple[Pair, ...]:
    clean, slips = TWINS
    how = replace(_how(shown), ban=())  # ids of another vocabulary
    return tuple(
        Pair(
            "slips",
            f"Without the bugs: {clean}" if other == clean else f"With a notebook’s bugs left in: {slips}",
            _pinned(shown, pin_checkpoint=other, pin_how=how),
        )
        for other in _twins(shown)
        if other in names
    )


def _how(shown: RunView) -> GenerationConfig:
    """As the run is written, a branch's forced tokens left out: they are those of this very text and model."""
    return replace(shown.how, force=(), branch="")


def _pinned(shown: RunView, **changes: Any) -> Mapping[str, Any]:
    fields = {
        "pin_checkpoint": shown.summary.name,
        "pin_text": shown.text,
        "pin_target": shown.target,
        "pin_how": _how(shown),
        "shown": "A|B",
        **changes,
    }
    return {**fields, "pin_how": None if fields["pin_how"] == GenerationConfig() else fields["pin_how"]}
