"""The influence matrix on the Masks page: which token moves which logits, and whether anything reads ahead."""

from __future__ import annotations

from dataclasses import replace
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
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.components.pictures import matrix
from viz_transformer.ui.frame import controls, maps, pictures, text
from viz_transformer.ui.pages.masks import words
from viz_transformer.ui.pages.masks.fields import FIELDS
from viz_transformer.ui.pages.masks.masks_source import Compared, Looked, of_no_run
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.waiting import waiting

QUICK = 5_000_000_000
"""Multiplications up to which the influence matrix is computed without being asked for."""
HEIGHT = 480


def influence(looked: Looked, place: DeltaGenerator) -> None:
    """The influence matrix and its verdict, computed at once if that is quick, else when it is asked for."""
    compared = looked.compared
    if compared is None:
        text.paragraph(words.NO_LOGITS)
        return
    side = FIELDS.now().mask_swap
    if not compared.after.trace.spec.has_encoder:
        side = "target"
    else:
        with st.container(key="masks_beside_swap"):
            controls.buttons(words.SWAP, words.SIDES, "mask_swap", key="masks_swap")
    plan = influence_plan(compared.ckpt, compared.after.trace, side=side)
    key = (*compared.key, side)
    if plan.work > QUICK and st.session_state.get("masks_asked") != key:
        length = len(compared.after.trace.tgt)
        text.paragraph(words.takes(plan.trials, length))
        st.button(words.COMPUTE, key="masks_work", on_click=_ask, args=(key,))
        return
    with waiting(words.running(plan.trials), place):
        found = _influence(compared.ckpt, compared.after.trace, side)
    left, right = st.columns([5, 3], gap="medium")
    with left:
        picture = influence_picture(compared, found)
        height = min(HEIGHT, 180 + 52 * len(found.rows))
        every = replace(picture, mask=np.ones_like(picture.mask))
        note = words.influence_note(picture.meta.caption, picture.meta.quantity)
        asked = pictures.table(every.table, note=note, name=picture.meta.name, key="masks_influence_map")
        matrix(picture.pack(height=height, why=()), key="masks_influence_map", on_table=asked)
    with right:
        _verdict(found, plan, compared)


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


def _verdict(found: Influence, plan: Plan, compared: Compared) -> None:
    said = verdict(found, changed=not compared.own)
    tone: text.Tone = "plain" if said.good is None else "ok" if said.good else "bad"
    text.paragraph(said.sentence, style="vt-verdict", tone=tone)
    text.paragraph(said.detail)
    disagreement = trials_disagree(found, compared)
    if disagreement:
        text.paragraph(disagreement, tone="warning")
    if found.side == "target":
        text.paragraph(words.HATCHED)
    with st.container(key="masks_beside_found"):
        text.section(words.HOW_FOUND)
        text.definitions(list_swaps(found, plan, _chosen_column(found, compared)), mono=False)
        text.paragraph(words.PADDING_NOT_SWAPPED)


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


def _chosen_column(found: Influence, compared: Compared) -> int:
    """The position whose swaps are named."""
    field = "mask_key" if compared.elsewhere else "u" if found.side == "target" else "i"
    return int(state.selection()[field])
