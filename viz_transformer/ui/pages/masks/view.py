"""Parts of the Masks page: the masks before and after, weights before and after, and what a fill makes of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.attention.picture import MASK_FILL_NAMES, Meta, Picture
from viz_transformer.analysis.masks.parts import (
    Change,
    ClosedIs,
    FilledRow,
    MaskParts,
    RowEffect,
    closed_rows_are,
    even_weights,
    filled_rows,
    row_effects,
    sites,
)
from viz_transformer.figures import labels
from viz_transformer.figures.components.masks import MaskWords, masks_payload
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.components.pictures import last_clicked_token, masks, matrix
from viz_transformer.ui.frame import maps, pictures, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.masks import words
from viz_transformer.ui.pages.masks.explained import leads
from viz_transformer.ui.pages.masks.fields import FIELDS, MAX_CELLS, cells
from viz_transformer.ui.pages.masks.masks_source import Compared, Looked
from viz_transformer.ui.session import state

_WHEN = ("before", "after")


def before_and_after(looked: Looked, own: str = "") -> None:
    """Draw padding and causal mask, and both before and after the changes. own: ends the key of the second of two."""
    parts = looked.parts
    notes = (
        words.CLOSES_NOTHING if parts.padding.all() else words.RULE_NOTES[looked.rule],
        words.LATER_KEYS if KINDS[looked.kind].causal else words.ALL_OF_THE_SOURCE,
        words.BOTH_OPEN,
        words.TO_THE_SOFTMAX,
    )
    said = MaskWords(notes, looked.caption, looked.name)
    data = masks_payload(looked.grids, said, token=last_clicked_token(), why=leads(looked))
    masks(data, key=f"masks_four{own}", on_cells=toggle_cell)


def describe_selection(kind: KindName) -> str:
    """What a projector's caption says: the kind, layer, heads and row of this page."""
    chosen = state.SHARED.now()
    which = chosen.heads if isinstance(chosen.heads, str) else words.heads(chosen.heads)
    queries = KINDS[kind].queries
    row = state.selection()[queries.field]
    return words.scene(KINDS[kind].words, chosen.layer, which, queries.name, row)


def row_controls(looked: Looked, where: str = words.EVERYWHERE) -> None:
    """Buttons that close or open the chosen row and undo all changes, and the changes in words, with where they are
    made."""
    word = Change(looked.kind, looked.query).word
    is_closed = word in FIELDS.now().mask_cells
    with st.container(horizontal=True, vertical_alignment="center", key="masks_beside_tools"):
        st.button(
            words.turn_row(text.literal(looked.token(looked.query)), is_closed),
            on_click=_close_row,
            args=(word, not is_closed),
            key="masks_row",
        )
        undo = {"mask_cells": ()}
        changed = bool(FIELDS.now().mask_cells)
        st.button(words.UNDO, on_click=state.select, kwargs=undo, disabled=not changed, key="masks_undo")
        text.paragraph(changes_in_words(looked, where))


def changes_in_words(looked: Looked, where: str) -> str:
    """What was changed of this kind's mask, where, and which rows have no open key."""
    parts = looked.parts
    said = []
    for change in parts.changes[:4]:
        if change.key is None:
            said.append(words.reads_nothing(change.query))
        else:
            said.append(words.reads(change.query, change.key, bool(parts.changed[change.query, change.key])))
    if len(parts.changes) > 4:
        said.append(words.more(len(parts.changes) - 4))
    sentence = words.changed(said, where) if said else words.NOTHING_CHANGED
    if parts.closed_rows:
        sentence += f" {words.closed_rows(parts.closed_rows, 6, _closed_rows_are(looked))}"
    return sentence


def _closed_rows_are(looked: Looked) -> ClosedIs | None:
    """What the run after the changes, in the layer that is shown, made of the rows that may see nothing."""
    if looked.compared is None:
        return None
    after, rows = looked.compared.after.trace, looked.parts.closed_rows
    return closed_rows_are(after, looked.kind, state.SHARED.now().layer, rows)


def toggle_cell(words: Sequence[str], fields: Mapping[str, Any]) -> None:
    """A click on a cell: all changed cells, and where it was."""
    state.pick(fields)
    known = cells(",".join(words))
    if known is not None:
        state.select(mask_cells=known)


def _close_row(word: str, close: bool) -> None:
    kept = [each for each in FIELDS.now().mask_cells if each.split(".")[0] != word]
    state.select(mask_cells=tuple([*kept, word] if close else kept)[:MAX_CELLS])


# --- weights before and after


def two_weights(looked: Looked, other: Compared | None = None) -> None:
    """The weights before and after, as two maps on one scale; with `other`, those of A less those of B."""
    try:
        if looked.compared is None:
            drawn = _even_pictures(looked)
        elif other is None:
            drawn = _pictures_of(looked, looked.compared)
        else:
            drawn = _difference_pictures(looked, looked.compared, other)
    except ValueError as error:
        text.paragraph(f"{error}.", tone="bad")
        return
    _put(st.columns(2, gap="medium"), drawn, looked)


def weights_beside(looked: Looked, other: Looked) -> None:
    """The weights of A and of B with their masks as they are now, and before that where they were changed."""
    shown = []
    for each, name in ((looked, "A"), (other, "B")):
        assert each.compared is not None
        try:
            before, after = _pictures_of(each, each.compared)
        except ValueError as error:
            raise ValueError(words.cannot_be_shown(name, error)) from None
        if each.compared.own:
            shown.append([after.with_meta(title=words.own_masks(name))])
        else:
            shown.append(
                [p.with_meta(title=words.of_one(name, when)) for p, when in zip((before, after), _WHEN, strict=True)]
            )
    columns = iter(st.columns(sum(map(len, shown)), gap="small"))
    for drawn, own in zip(shown, ("", "_b"), strict=True):
        _put([next(columns) for _ in drawn], drawn, looked, own)


def _put(columns: Sequence[DeltaGenerator], drawn: Sequence[Picture], looked: Looked, own: str = "") -> None:
    """The maps in their columns. A cell leads to *One weight* where it is of the model's own masks."""
    for column, picture, when in zip(columns, drawn, _WHEN[-len(drawn) :], strict=True):
        edited = when == "after" and looked.compared is not None and not looked.compared.own
        with column:
            key = f"masks_{when}{own}"
            data = picture.pack(why=() if edited else leads(looked))
            matrix(data, key=key, on_table=pictures.table_of(picture, key=key))


def _pictures_of(looked: Looked, compared: Compared) -> tuple[Picture, Picture]:
    """Both maps. Raises ValueError for what this model does not have."""
    chosen = state.selection()
    if chosen["heads"] == "rollout":
        raise ValueError(words.NO_ROLLOUT)
    titles = (words.BEFORE, words.AFTER_NOTHING if compared.own else words.AFTER)
    made = []
    for shown, title, when in zip((compared.before, compared.after), titles, _WHEN, strict=True):
        picture = maps.picture(shown, {**chosen, "kind": looked.kind, "options": ()})
        rows, columns = (replace(a, field=b.field) for a, b in zip(picture.axes, looked.axes, strict=True))
        caption = words.with_change(picture.meta.caption, when)
        picture = replace(picture, axes=(rows, columns))
        made.append(picture.with_meta(title=title, caption=caption, name=f"{picture.meta.name}-{when}"))
    return made[0], made[1]


def _difference_pictures(looked: Looked, own: Compared, other: Compared) -> tuple[Picture, Picture]:
    """A − B before and after, full colour for the largest difference of both. Raises ValueError for other sizes."""
    ours = _pictures_of(looked, own)
    try:
        theirs = _pictures_of(looked, other)
    except ValueError as error:
        raise ValueError(words.cannot_be_shown("B", error)) from None
    before, after = (a - b for a, b in zip(ours, theirs, strict=True))
    most = max(float(np.nan_to_num(np.abs(each.values)).max(initial=0.0)) for each in (before, after))
    return before.with_meta(most=most or None), after.with_meta(most=most or None)


def _even_pictures(looked: Looked) -> tuple[Picture, Picture]:
    """Equal scores without and with the mask."""
    mask = looked.parts.changed
    every = np.ones_like(mask)
    titles = (words.BEFORE_EQUAL, words.after_equal(words.FILL_NAMES[looked.fill]))
    made = []
    for allowed, title, when in zip((every, mask), titles, _WHEN, strict=True):
        meta = Meta(
            title,
            f"{looked.caption}: {title}",
            f"{looked.name}-{when}",
            unit=words.EQUAL_SCORES,
            fill=MASK_FILL_NAMES.get(looked.fill, ""),
        )
        made.append(Picture(even_weights(allowed, looked.fill), looked.axes, allowed, meta))
    return made[0], made[1]


def effect(looked: Looked) -> None:
    """What the change of masks did to what is written."""
    compared = looked.compared
    if compared is None:
        text.paragraph(words.PLAIN_SIZE)
        return
    if compared.own:
        text.paragraph(words.OWN_MASKS)
        return
    names = compared.ckpt.codec("target").names
    effects = row_effects(compared.before.trace, compared.after.trace, names)
    text.paragraph(effect_in_words(effects))
    effect_button(looked, effects)


def effect_button(looked: Looked, effects: Sequence[RowEffect], rows: words.Rows = words.NEXT_TOKENS) -> None:
    """The button that opens the table of the rows."""
    pictures.table_button(
        lambda: effect_table(effects),
        note=words.table_note(looked.caption, rows),
        name=f"{looked.name}-effect",
        key="masks_effect",
    )


def effect_in_words(effects: Sequence[RowEffect], rows: words.Rows = words.NEXT_TOKENS) -> str:
    """In how many rows the answer differs, and how far the logits moved."""
    lost = [each for each in effects if each.after_probability != each.after_probability]
    others = [each for each in effects if each.differs and each not in lost]
    said = []
    if lost:
        said.append(words.lost(len(lost), len(effects)))
    moved = [each for each in effects if each.change == each.change]
    if moved:
        most = max(moved, key=lambda each: each.change)
        if most.change == 0:
            said.append(words.NO_LOGIT_CHANGED)
        else:
            said.append(words.largest_change(labels.number(most.change), most.position))
    if others:
        first = others[0]
        after, before = labels.visible(first.after), labels.visible(first.before)
        said.append(words.others(len(others), len(effects), rows, first.position, after, before))
    elif not lost:
        said.append(rows.same)
    return " ".join(said)


def effect_table(effects: Sequence[RowEffect]) -> pd.DataFrame:
    """The rows as a table."""
    return pd.DataFrame(
        [
            (
                each.position,
                labels.visible(each.reads),
                labels.visible(each.before),
                each.before_probability,
                labels.visible(each.after),
                each.after_probability,
                each.change,
            )
            for each in effects
        ],
        columns=[*words.EFFECT_COLUMNS],
    ).set_index(words.EFFECT_COLUMNS[0])


# --- fills


def fills(looked: Looked) -> None:
    """What each fill makes of the chosen row, as it is masked and with every key closed."""
    filled = filled_row(looked)
    n = len(filled[0].weights)
    rows = [
        (
            words.FILL_NAMES[each.fill],
            words.FILL_MEANINGS[each.fill],
            _masked_row_words(each, looked),
            closed_row_words(each, n),
        )
        for each in filled
    ]
    text.section(words.FILLS)
    scores = words.WITH_EQUAL_SCORES
    if looked.compared is not None:
        scores = words.with_scores(state.SHARED.now().layer, _score_head())
    text.paragraph(words.filled(looked.token(looked.query), scores))
    looks = [{"class": "vt-own" * (each.fill == looked.fill)} for each in filled]
    st.html(text.table(rows, head=words.FILL_TABLE, style="vt-fill-rows", attributes=looks))


def filled_row(looked: Looked) -> tuple[FilledRow, ...]:
    """The chosen row under each fill."""
    row = looked.query
    scores: Any = np.zeros(len(looked.axes[1]), dtype=np.float32)
    if looked.compared is not None:
        trace = looked.compared.before.trace
        site = sites(trace.spec, looked.kind)[state.SHARED.now().layer]
        scores = trace[f"{site}.scores"][0, _score_head(), row].numpy()
    return filled_rows(scores, looked.parts.changed[row])


def _score_head() -> int:
    """The head whose scores are taken: the first of the chosen ones, 0 for a derived picture."""
    heads = state.SHARED.now().heads
    return 0 if isinstance(heads, str) else int(heads[0])


def _masked_row_words(each: FilledRow, looked: Looked) -> str:
    mask = looked.parts.changed[looked.query]
    if not mask.any():
        return words.ALL_CLOSED
    if mask.all():
        return words.NONE_CLOSED
    if np.isnan(each.weights).any():
        return words.NOT_A_NUMBER
    closed = float(each.weights[~mask].max())
    if closed == 0:
        total = numerals.share(float(each.weights.sum(dtype=np.float64)))
        return words.closed_zero(int((~mask).sum()), total)
    return words.closed_up_to(labels.share(closed))


def closed_row_words(each: FilledRow, keys: int) -> str:
    """What a row becomes that may see nothing."""
    if each.closed_is == "zeros":
        return words.ZEROS
    if each.closed_is == "even":
        return words.even(numerals.share(float(each.closed[0])), keys)
    if each.closed_is == "uneven":
        return words.uneven(labels.share(float(each.closed.min())), labels.share(float(each.closed.max())))
    return words.NAN


def question(parts: MaskParts, row: int, name: str) -> Question:
    """How many keys are open to a query, and what closes the others. name: the query in words."""
    open_, keys = int(parts.changed[row].sum()), parts.changed.shape[1]
    later = int((~parts.causal[row] & ~parts.changed[row]).sum())
    padded = int((~parts.padding[row] & parts.causal[row] & ~parts.changed[row]).sum())
    yours = keys - open_ - later - padded
    return Question(words.asks(name), words.may_read(open_, keys, later=later, padded=padded, yours=yours))
