"""The Attention page: a map of each selected head, lines or text of it, all heads small, and scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import streamlit as st

from viz_transformer.analysis.attention.head_scores import key_shares
from viz_transformer.analysis.attention.maps import (
    attention_kinds,
    explain_recomputation,
    head_view,
    layer_count,
    step_row,
    unseen_layers,
    valid_mask,
)
from viz_transformer.analysis.attention.picture import Picture
from viz_transformer.analysis.attention.sharing import describe_heads, find_sharing_heads, sharing
from viz_transformer.figures import labels
from viz_transformer.figures.theme import MAX_HEADS
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.numerals import percent
from viz_transformer.sentences import capitalised
from viz_transformer.ui.frame import controls, maps, pictures, questions
from viz_transformer.ui.frame import words as of_frame
from viz_transformer.ui.frame.controls import Control
from viz_transformer.ui.frame.drawn import Button, CellLinks, Drawn, Heading, Map, Maps, Table, Text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen, Column, Page, SharedChoice, View
from viz_transformer.ui.frame.questions import EVEN, Question, open_cells, place_of, there, token_at
from viz_transformer.ui.pages.attention import words
from viz_transformer.ui.pages.attention.head_grid import draw_heads, scores_of, specials_of
from viz_transformer.ui.session import state
from viz_transformer.ui.session.fields import OPTIONS
from viz_transformer.ui.session.runs import RunView

# ---- what can be chosen


def _draw_layer_and_head(both: Runs) -> None:
    chosen, spec = state.SHARED.now(), both.main.trace.spec
    kind = KINDS[chosen.kind]
    here = spec.attentions.get(kind.site(chosen.layer))  # None if that layer was not recorded
    heads = max(each.query for each in spec.attentions.values()) if here is None else here.query
    controls.layer_and_head(kind.layers(spec), heads, page="attention", words=(*controls.TOGETHER,))


def _draw_switches(both: Runs) -> None:
    with st.popover(words.options(len(state.SHARED.now().options)), key="switches_box"):
        for option, (label, explained) in words.SWITCHES.items():
            controls.switch(label, option, "options", OPTIONS, key=f"attention_{option}", help=explained)
        controls.rows(both, key="attention_rows")


CHOICES = (
    SharedChoice("kind", lambda both: controls.kind(attention_kinds(both.main.trace), key="attention_kind")),
    SharedChoice("heads", _draw_layer_and_head),
    SharedChoice("options", _draw_switches),
)
PANEL: Control[str] = Control(
    field="panel",
    label=words.BESIDE_THE_MAP,
    options=lambda shown: words.panels(maps.CONTRIBUTION in state.SHARED.now().options),
    unset="lines",
    hidden=True,
    key="attention_panel",
)


# ---- the map


def prepare(both: Runs, chosen: Chosen) -> Chosen:
    """The map of what is selected, which several views are about; None where there is none, as its view says."""
    try:
        return {"map": pictures.select_picture(both)}
    except ValueError:
        return {"map": None}


def has_map(both: Runs, chosen: Chosen) -> bool:
    """Whether there is a map, or two beside each other."""
    return both.beside or chosen["map"] is not None


def _has_several(chosen: Chosen) -> bool:
    return isinstance(chosen["heads"], tuple) and len(chosen["heads"]) > 1


def draw_map(shown: RunView, chosen: Chosen) -> Drawn:
    """The map of what is selected; of several heads that of each."""
    if not _has_several(chosen):
        return draw_one_map(shown, chosen)
    heads = chosen["heads"]
    return Maps(
        pictures=[_make_picture(shown, {**chosen, "heads": (head,)}) for head in heads],
        titles=[of_frame.layer_and_head(chosen["layer"], head) for head in heads],
        key="attention_matrix",
    )


def draw_one_map(shown: RunView, chosen: Chosen) -> Drawn:
    """The map of what is selected, of several heads in one."""
    return Map(picture=_make_picture(shown, chosen), key="attention_matrix", follows=True)


def _make_picture(shown: RunView, chosen: Chosen) -> Picture:
    """The map; of what a model does not tell of its attention the error has the whole sentence."""
    try:
        return maps.picture(shown, chosen)
    except Unavailable as error:
        raise ValueError(str(error)) from None


def place_of_map(both: Runs) -> Column:
    """Maps of two runs, or of several heads, are over the whole width."""
    return "" if both.beside or _has_several(state.selection()) else "left"


def below_map(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """How the weights were computed, if the run itself did not; where the chosen cell leads."""
    found = {each.name: explain_recomputation(each.trace, chosen["kind"]) for each in both.shown}
    made = {name: what for name, what in found.items() if what}
    if made:
        yield Text(said=words.computed_from(next(iter(made.values())), [*made] if both.b is not None else []))
    yield CellLinks(decoding=both.main.summary.spec.writes)


# ---- the same as lines or as shaded text, or contributions beside weights and vice versa


def draw_panel(both: Runs, chosen: Chosen) -> Drawn:
    """The panel below the map."""
    picture: Picture = chosen["map"]
    if chosen["panel"] == "contribution":
        return _draw_other_map(both, chosen)
    if picture.meta.quantity == "weight" and picture.meta.signed:
        return Text(said=words.NEGATIVE_WEIGHTS)
    if picture.meta.signed:
        return Text(said=words.NO_DIFFERENCE)
    if picture.meta.quantity != "weight":
        return Text(said=words.NO_CONTRIBUTIONS)
    if chosen["panel"] == "lines":
        several = picture.heads if picture.meta.scale != "derived" else None
        drawn = replace(picture, heads=several).with_meta(name=f"{picture.meta.name}-lines")
        return Map(picture=drawn, key="attention_lines", drawn_as="lines", title=words.LINES)
    drawn = picture.with_meta(title=words.TEXT, name=f"{picture.meta.name}-text")
    return Map(picture=drawn, key="attention_text", drawn_as="text")


def _draw_other_map(both: Runs, chosen: Chosen) -> Drawn:
    """Contributions beside weights, or weights beside contributions, of the same selection."""
    if chosen["heads"] == "rollout":
        return Text(said=words.ROLLOUT_HAS_NONE)
    switched = tuple({*chosen["options"]} ^ {maps.CONTRIBUTION})
    try:
        other = pictures.select_picture(both, switched)
    except ValueError as error:
        return Text(said=f"{error}.", tone="bad")
    title = words.CONTRIBUTION if maps.CONTRIBUTION in switched else words.WEIGHT
    # in words that a narrow picture has room for
    unit = words.map_unit(other.meta.quantity, other.meta.scale == "derived")
    other = other.with_meta(title=words.map_title(title, other.meta.signed), unit=unit)
    return Map(picture=other, key="attention_beside")


# ---- all heads, of A where two runs are shown


def letter(both: Runs) -> str:
    """Which run the heads and their scores are of, where there are two."""
    return "" if both.b is None else both.main.name


def draw_all_heads(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """All heads small; why rows of unrecorded layers are blank; which heads share keys and values."""
    shown, kind, layer = both.main, chosen["kind"], chosen["layer"]
    unseen = unseen_layers(shown.trace, kind)
    if len(unseen) < layer_count(shown.trace, kind):
        yield draw_heads(shown, kind, letter(both))
    for each, why in unseen.items():
        if each != layer:  # whose map says so
            yield Text(said=capitalised(f"{why}."))
    heads = shown.trace.spec.attentions.get(KINDS[kind].site(layer))
    said = None if heads is None else sharing(heads)
    if heads is None or said is None:
        return
    keys = len(KINDS[kind].sides(shown.trace.src, shown.trace.tgt)[1])
    yield Text(said=words.key_heads(said, keys, heads.size))
    if not isinstance(chosen["heads"], str):
        group = find_sharing_heads(heads, chosen["heads"][0], MAX_HEADS)
        if group != chosen["heads"] and len(group) > 1:
            label = words.beside_each_other(describe_heads(range(group[0], group[-1] + 1)))
            yield Button(label=label, key="attention_shared", fields={"heads": group})


def draw_scores(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The selected head's scores, each with its baseline and number of rows."""
    shown, kind, layer, heads = both.main, chosen["kind"], chosen["layer"], chosen["heads"]
    if layer in unseen_layers(shown.trace, kind):
        return  # the panel beside the heads says why
    if isinstance(heads, str):
        yield Text(said=words.SCORES_NEED_A_HEAD)
        return
    head = heads[0]
    rows = []
    for score in scores_of(shown, kind):
        value, baseline, n = score.values[layer, head], score.baseline[layer, head], int(score.n[layer, head])
        numbers = [labels.number(float(each), 3) if n else words.NO_SCORE for each in (value, baseline)]
        rows.append((score.name, *numbers, str(n)))
    yield Heading(said=words.scores_of(layer, head, letter(both)))
    yield Table(head=words.SCORE_HEAD, rows=rows)
    yield Text(said=words.ABOUT_SCORES)
    unknown = np.isnan(head_view(shown.trace, kind, layer, head).weights)
    valid = valid_mask(shown.trace, kind)
    if lost := int((unknown if valid is None else unknown & valid).any(axis=-1).sum()):
        yield Text(said=words.not_numbers(lost, len(unknown)))
    yield from _draw_special_tokens(shown, chosen, head)


def _draw_special_tokens(shown: RunView, chosen: Chosen, head: int) -> Iterator[Drawn]:
    """The contributions of the first and the end token, if one has more than an even share of the weight."""
    try:
        found = key_shares(shown.trace, chosen["kind"], chosen["layer"], head, **specials_of(shown))
    except ValueError:
        return  # contributions are undefined here, which the panel beside the map says
    rows = [
        (each.name, labels.share(each.weight, 3), labels.share(each.contribution, 3), str(each.n))
        for each in found
        if each.weight > each.even
    ]
    if rows:
        yield Heading(said=words.key_shares_of([name for name, *_ in rows]))
        yield Table(head=words.KEY_HEAD, rows=rows)
        yield Text(said=words.ABOUT_KEYS)


# ---- the question, and the stop of the tour


def ask(both: Runs, chosen: Chosen) -> Question | None:
    """Where the chosen heads look from the chosen row; None where there is no map."""
    picture = chosen["map"] or pictures.asked_about(both)
    if picture is None:
        return None
    position = chosen[KINDS[chosen["kind"]].queries.field]
    return questions.ask_of_one(both, picture, questions.where(both.main, picture, position, chosen["heads"]))


def at_stop(both: Runs, chosen: Chosen) -> tuple[str, ...]:
    """The sentences about the chosen row of the map; none without a map."""
    picture = chosen["map"] or pictures.asked_about(both)
    if picture is None:
        return ()
    kind, position = chosen["kind"], chosen[KINDS[chosen["kind"]].queries.field]
    return describe_row(both.main, picture, kind, chosen["layer"], chosen["heads"], position)


def describe_row(
    shown: RunView, picture: Picture, kind: KindName, layer: int, heads: tuple[int, ...] | str, position: int
) -> tuple[str, ...]:
    """The key with most of a row's weight, and the next one; for any other map than one head's weights, the page's
    question and answer."""
    row = place_of(picture.rows, position)
    if row is None:
        return (words.LEFT_OUT,)
    values = picture.values[row].astype(np.float64)
    free = open_cells(picture, row)
    strange = there(picture, row) & ~np.isfinite(values)
    meta = picture.meta
    plain = meta.quantity == "weight" and meta.bounded and meta.adds_up and not meta.signed
    if isinstance(heads, str) or len(heads) > 1 or not plain or strange.any() or not (values[free] > 0).any():
        found = questions.where(shown, picture, position, heads)
        return () if found is None else (f"{found.asks} {found.answer}",)
    step = position - step_row(shown.run, 0)
    when = words.reading(token_at(picture.rows.reads, row))
    if picture.rows.writes is not None and 0 <= step < len(shown.run.steps) and not shown.run.steps[step].forced:
        when = words.writing(token_at(picture.rows.writes, row))
    who = words.a_head(heads[0], KINDS[kind].stack, layer)
    best, *others = np.argsort(np.where(free, -values, np.inf), kind="stable")[: max(1, int(free.sum()))]
    key, share = token_at(picture.columns.reads, int(best)), float(values[best])
    if not others:
        return (words.looked_at_one(when, who, key, percent(share)),)
    said = words.looked(when, who, key, percent(share))
    if free.sum() > 2 and share < EVEN / free.sum():
        said = words.looked_evenly(when, who, int(free.sum()), key, percent(share))
    following = int(others[0])
    return said, words.next_came(token_at(picture.columns.reads, following), percent(float(values[following])))


PAGE = Page(
    title="Attention",
    how=words.HOW,
    not_to_conclude=words.NOT,
    controls=CHOICES,
    prepare=prepare,
    views=(
        View(key="picture", draw=draw_map, draw_beside=draw_one_map, below=below_map, column=place_of_map),
        View(
            key="panel",
            draw_runs=draw_panel,
            controls=(PANEL,),
            column="left",
            is_there=lambda both, chosen: has_map(both, chosen) and not both.beside,
        ),
        View(key="heads", draw_runs=draw_all_heads, column=lambda both: "left" if both.beside else "right"),
        View(key="scores", draw_runs=draw_scores, column="right", is_there=has_map),
    ),
    ask_runs=ask,
    at_stop=at_stop,
    ringed=(".st-key-picture >>> .matrix .stage", ".st-key-question"),
    looks="kind",
    plays=True,
)
