"""Prepared pairs: runs that are worth a look beside the selected one, each pinned as B with one click."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from viz_transformer.analysis.models.untrained import UntrainedSummary, recipe_like
from viz_transformer.analysis.positions.orders import removable, reordered
from viz_transformer.figures import labels
from viz_transformer.model.instrument import NotTold
from viz_transformer.ui.session.how import How
from viz_transformer.ui.session.runs import QUOTED, Shown

TWINS = ("tatoeba-en-it", "en-it-slips")
"""Two models of the same sentences, the second with the slips of a notebook."""


@dataclass(frozen=True)
class Pair:
    """`label` says what B is. `fields` pin it; None where there is no such run, `why` says why."""

    key: str
    label: str
    fields: Mapping[str, Any] | None = None
    why: str = ""


def pairs(shown: Shown, names: Collection[str]) -> tuple[Pair, ...]:
    """The pairs of a run: training, order of the words, positions, slips. names: the models that there are."""
    return _training(shown), _order(shown), _positions(shown), _slips(shown, names)


def _training(shown: Shown) -> Pair:
    if isinstance(shown.summary, UntrainedSummary):
        base = shown.summary.recipe.base
        return Pair("training", f"Trained: {base}", _pinned(shown, pin_checkpoint=base))
    label = "Untrained: the same model with random parameters"
    try:
        recipe = recipe_like(shown.summary)
        recipe.config(shown.summary.config)
    except (NotTold, ValueError) as error:
        return Pair("training", label, why=f"There is none: {error}.")
    return Pair("training", label, _pinned(shown, pin_checkpoint=recipe.name))


def _order(shown: Shown) -> Pair:
    encoder = shown.ckpt.anatomy.has_encoder
    label = "With the text in reverse order"
    try:
        other = reordered(shown.text, shown.ckpt.own_codec("source" if encoder else "target"), keep_last=not encoder)
    except NotTold as error:
        return Pair("order", label, why=f"There is none: {error}.")
    if other is None:
        return Pair("order", label, why="All parts of this text are equal: there is no other order.")
    cut = labels.isolated(labels.shorten(labels.sentence(other), QUOTED))
    return Pair("order", f"{label}: “{cut}”", _pinned(shown, pin_text=other))


def _positions(shown: Shown) -> Pair:
    label = "Without positions"
    try:
        config = shown.trace.config
    except NotTold as error:
        return Pair("positions", label, why=f"There is no such run: {error}.")
    stacks = removable(config)
    if not stacks:
        why = f"This model has {config.encoding.noun}, which act in attention: there is no vector to leave out."
        return Pair("positions", label, why=why)
    off = stacks[0]
    how = replace(_how(shown), off=off)
    return Pair("positions", f"Without the positions of the {off[0]}", _pinned(shown, pin_how=how))


def _slips(shown: Shown, names: Collection[str]) -> Pair:
    clean, slips = TWINS
    name = shown.summary.name
    other = {clean: slips, slips: clean}.get(name)
    label = f"Without the bugs: {clean}" if name == slips else f"With a notebook’s bugs left in: {slips}"
    if other is None:
        return Pair("slips", label, why=f"Only {clean} was trained both ways.")
    if other not in names:
        return Pair("slips", label, why=f"The model {other} is not here.")
    how = replace(_how(shown), ban=())  # ids of another vocabulary
    return Pair("slips", label, _pinned(shown, pin_checkpoint=other, pin_how=how))


def _how(shown: Shown) -> How:
    """As the run is written, a branch's forced tokens left out: they are those of this very text and model."""
    return replace(shown.how, force=(), branch="")


def _pinned(shown: Shown, **changes: Any) -> Mapping[str, Any]:
    fields = {
        "pin_checkpoint": shown.summary.name,
        "pin_text": shown.text,
        "pin_target": shown.target,
        "pin_how": _how(shown),
        "shown": "A|B",
        **changes,
    }
    return {**fields, "pin_how": None if fields["pin_how"] == How() else fields["pin_how"]}
