"""The influence matrix on the Masks page: which token moves which logits, and whether anything reads ahead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from viz_transformer.analysis.attention.picture import Meta, Picture
from viz_transformer.analysis.masks.influence import Influence, Plan, influence_plan, verdict
from viz_transformer.analysis.masks.influence import influence as influence_of
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.figures import labels
from viz_transformer.model.kinds import KindName, SideName
from viz_transformer.running.trace import Trace
from viz_transformer.ui.components.pictures import matrix
from viz_transformer.ui.frame import frame, maps
from viz_transformer.ui.frame.controls import Control
from viz_transformer.ui.frame.drawn import Button, Columns, Component, Drawn, Group, Heading, Numbers, Table, Text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.frame.text import Tone
from viz_transformer.ui.pages.masks import words
from viz_transformer.ui.pages.masks.masks_source import Compared, Looked, of_no_run
from viz_transformer.ui.session.memoize import memoize

QUICK = 5_000_000_000
"""Multiplications up to which the influence matrix is computed without being asked for."""
HEIGHT = 480


SWAP: Control[str] = Control(
    field="mask_swap", label=words.SWAP, options=lambda shown: words.SIDES, unset="target", key="masks_swap"
)


def draw_influence(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The influence matrix and its verdict, computed at once if that is quick, else when it is asked for."""
    looked: Looked = chosen["looked"]
    side: SideName = chosen["mask_swap"]
    compared = looked.compared
    if compared is None:
        yield Text(said=words.NO_LOGITS)
        return
    if not compared.after.trace.spec.has_encoder:
        side = "target"
    else:
        yield Group(parts=[SWAP], key="masks_beside_swap")
    try:
        plan = influence_plan(compared.ckpt, compared.after.trace, side=side)
    except ValueError as error:
        yield Text(said=f"{error}.", tone="bad")
        return
    key = (*compared.key, side)
    if plan.work > QUICK and st.session_state.get("masks_asked") != key:
        yield Text(said=words.takes(plan.trials, len(compared.after.trace.tgt)))
        yield Button(label=words.COMPUTE, key="masks_work", does=partial(_ask, key), kind="secondary")
        return
    with frame.wait(words.running(plan.trials)):
        found = _influence(compared.ckpt, compared.after.trace, side)
    picture = influence_picture(compared, found)
    height = min(HEIGHT, 180 + 52 * len(found.rows))
    note = words.influence_note(picture.meta.caption, picture.meta.quantity)
    every = replace(picture, mask=np.ones_like(picture.mask))
    numbers = Numbers(frame=every.table, note=note, name=picture.meta.name)
    data = picture.pack(height=height, why=())
    drawn = Component(draw=matrix, data=data, key="masks_influence_map", numbers=numbers)
    yield Columns(parts=[[drawn], [*_draw_verdict(found, plan, looked)]], widths=(5, 3))


def _ask(key: tuple[Any, ...]) -> None:
    st.session_state["masks_asked"] = key


@memoize(16)
def _influence(ckpt: Checkpoint, trace: Trace, side: SideName) -> Influence:
    return influence_of(ckpt, trace, side=side)


def influence_picture(compared: Compared, found: Influence) -> Picture:
    """The matrix as a map: derived, so grey; places of later tokens are hatched."""
    shown = compared.after
    kind: KindName = "decoder" if found.side == "target" else "cross"
    axes = maps.axes(shown, kind)
    rows, columns = of_no_run(axes) if compared.elsewhere else axes
    rows = replace(rows.at(found.rows), role=words.POSITION, title=words.LOGITS_AT, writes=None)
    columns = replace(columns.at(found.columns), role=words.SWAPPED_TOKEN, title=words.swapped_side(found.side))
    meta = Meta(
        words.INFLUENCE_TITLE,
        shown.caption(words.influence_of(found.side), rows=True),
        labels.file_name(shown.summary.name, "influence", found.side),
        unit=words.CHANGE_OF_A_LOGIT,
        quantity=words.LARGEST_CHANGE,
        fill=words.A_LATER_TOKEN,
        bounded=False,
    )
    return Picture(found.change, (rows, columns), ~found.ahead, meta)


def _draw_verdict(found: Influence, plan: Plan, looked: Looked) -> Iterator[Drawn]:
    compared = looked.compared
    assert compared is not None
    said = verdict(found, changed=not compared.own)
    tone: Tone = "plain" if said.good is None else "ok" if said.good else "bad"
    yield Text(said=said.sentence, style="vt-verdict", tone=tone)
    yield Text(said=said.detail)
    if disagreement := trials_disagree(found, compared):
        yield Text(said=disagreement, tone="warning")
    if found.side == "target":
        yield Text(said=words.HATCHED)
    field = "mask_key" if compared.elsewhere else "u" if found.side == "target" else "i"
    swaps = list_swaps(found, plan, looked.chosen[field])
    parts = (
        Heading(said=words.HOW_FOUND),
        Table(head=(), rows=swaps, style="vt-definitions"),
        Text(said=words.PADDING_NOT_SWAPPED),
    )
    yield Group(parts=parts, key="masks_beside_found")


def trials_disagree(found: Influence, compared: Compared) -> str | None:
    """A sentence where the model's own check, which also writes padding, says something else than this text does."""
    if found.side != "target" or not compared.own or not found.ahead.any():
        return None
    known = compared.after.trace.info.get("causal")
    if known is False and found.causal:
        return words.OTHERS_DEPEND
    return None


def list_swaps(found: Influence, plan: Plan, chosen: int) -> list[tuple[str, str]]:
    """What was swapped for what, as rows of a table."""
    column = found.columns.index(min(found.columns, key=lambda c: abs(c - chosen)))
    others = [labels.isolate(labels.visible(token)) for token in found.swapped[column]]
    return [
        (words.SWAPPED, words.positions(len(found.columns), found.of, found.side)),
        (words.EACH_FOR, words.drawn(max(map(len, found.swapped)))),
        (words.token_for(found.columns[column]), words.named(others)),
        (words.PASSES, f"{plan.trials:,}"),
        (words.LARGEST_LOGIT, labels.number(found.largest, 2)),
    ]
