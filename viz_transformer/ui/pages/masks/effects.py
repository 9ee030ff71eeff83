"""What a change of masks does on the Masks page: to the weights, to what is written, and to a row under each fill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from viz_transformer import numerals
from viz_transformer.analysis.attention.picture import MASK_FILL_NAMES, Meta, Picture, Why
from viz_transformer.analysis.masks.parts import FilledRow, RowEffect, even_weights, filled_rows, row_effects, sites
from viz_transformer.figures import labels
from viz_transformer.model.kinds import KINDS
from viz_transformer.ui.components.pictures import matrix
from viz_transformer.ui.frame import maps
from viz_transformer.ui.frame.drawn import Columns, Component, Drawn, Heading, Numbers, Table, TableButton, Text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.masks import words
from viz_transformer.ui.pages.masks.masks_source import Compared, Looked, load_pinned

_WHEN = ("before", "after")

# ---- weights before and after


def draw_weights(both: Runs, looked: Looked) -> Iterator[Drawn]:
    """The weights before and after, of one run, of two beside each other, or as A − B; or why they cannot be shown."""
    if both.difference:
        yield Text(said=words.DIFFERENCE)
    try:
        other = load_pinned(both, looked) if both.compared else None
        if other is not None and both.beside:
            yield draw_beside(looked, other)
        else:
            yield draw_two(looked, None if other is None else other.compared)
    except ValueError as error:
        yield Text(said=f"{error}.", tone="bad")


def draw_two(looked: Looked, other: Compared | None = None) -> Columns:
    """The weights before and after, as two maps on one scale; with `other`, those of A less those of B. Raises
    ValueError for what this model does not have."""
    if looked.compared is None:
        made = _even_pictures(looked)
    elif other is None:
        made = _pictures_of(looked, looked.compared)
    else:
        made = _difference_pictures(looked, looked.compared, other)
    return Columns(parts=[[each] for each in _in_components(made, looked)], widths=(1, 1))


def draw_beside(looked: Looked, other: Looked) -> Columns:
    """The weights of A and of B with their masks as they are now, and before that where they were changed."""
    drawn: list[Component] = []
    for each, name, own in ((looked, "A", ""), (other, "B", "_b")):
        assert each.compared is not None
        try:
            before, after = _pictures_of(each, each.compared)
        except ValueError as error:
            raise ValueError(words.cannot_be_shown(name, error)) from None
        if each.compared.own:
            made = [after.with_meta(title=words.own_masks(name))]
        else:
            made = [p.with_meta(title=words.of_one(name, when)) for p, when in zip((before, after), _WHEN, strict=True)]
        drawn += _in_components(made, looked, own)
    return Columns(parts=[[each] for each in drawn], widths=(1,) * len(drawn), gap="small")


def leads(looked: Looked) -> Why:
    """How a cell that nobody changed leads to its weight; not at all where it is none of the run."""
    compared = looked.compared
    if compared is None or looked.chosen["mask_text"] > 0:
        return ()
    return KINDS[looked.kind].fields if compared.elsewhere else None


def _in_components(made: Sequence[Picture], looked: Looked, own: str = "") -> list[Component]:
    """The maps, as they are drawn. A cell leads to *One weight* where it is of the model's own masks."""
    found = []
    for picture, when in zip(made, _WHEN[-len(made) :], strict=True):
        edited = when == "after" and looked.compared is not None and not looked.compared.own
        numbers = Numbers(frame=picture.table, note=picture.note, name=picture.meta.name)
        data = picture.pack(why=() if edited else leads(looked))
        found.append(Component(draw=matrix, data=data, key=f"masks_{when}{own}", numbers=numbers))
    return found


def _pictures_of(looked: Looked, compared: Compared) -> tuple[Picture, Picture]:
    """Both maps. Raises ValueError for what this model does not have."""
    chosen = looked.chosen
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


# ---- what is written


def draw_effect(looked: Looked) -> Iterator[Drawn]:
    """What the change of masks did to what the model gives."""
    compared = looked.compared
    if compared is None:
        yield Text(said=words.PLAIN_SIZE)
        return
    spec, ckpt = compared.before.trace.spec, compared.ckpt
    if compared.own:
        yield Text(said=words.OWN_MASKS)
    elif "logits" not in compared.after.trace:
        yield Text(said=words.GIVES_NO_LOGITS)
    elif spec.output not in words.OUTPUTS:
        effect, *_ = row_effects(compared.before.trace, compared.after.trace, spec.labels)
        yield Text(said=_of_label(effect.before, effect.after, effect.change, scored=spec.scoring))
    else:
        codec, rows = ckpt.codec("target" if spec.has_decoder else "source"), words.OUTPUTS[spec.output]
        names = spec.labels if spec.output == "token class" else codec.names
        effects = row_effects(compared.before.trace, compared.after.trace, names)
        yield Text(said=effect_in_words(effects, rows))
        note = words.table_note(looked.caption, rows)
        numbers = Numbers(frame=lambda: effect_table(effects), note=note, name=f"{looked.name}-effect")
        yield TableButton(numbers=numbers, key="masks_effect")


def _of_label(before: str, after: str, change: float, *, scored: str) -> str:
    moved = words.largest_change(labels.number(change))
    if scored == "number":
        return moved
    return f"{moved} {words.largest_label(labels.visible(before), labels.visible(after))}"


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


# ---- fills


def draw_fills(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """What each fill makes of the chosen row, as it is masked and with every key closed."""
    looked: Looked = chosen["looked"]
    filled = filled_row(looked)
    n = len(filled[0].weights)
    names, meanings = words.FILL_NAMES, words.FILL_MEANINGS
    made = [(_masked_row_words(each, looked), closed_row_words(each, n)) for each in filled]
    rows = [(names[each.fill], meanings[each.fill], *said) for each, said in zip(filled, made, strict=True)]
    yield Heading(said=words.FILLS)
    scores = words.WITH_EQUAL_SCORES
    if looked.compared is not None:
        scores = words.with_scores(looked.chosen["layer"], _score_head(looked))
    yield Text(said=words.filled(looked.token(looked.query), scores))
    own = [{"class": "vt-own" * (each.fill == looked.fill)} for each in filled]
    yield Table(head=words.FILL_TABLE, rows=rows, style="vt-fill-rows", attributes=own)


def filled_row(looked: Looked) -> tuple[FilledRow, ...]:
    """The chosen row under each fill."""
    row = looked.query
    scores: Any = np.zeros(len(looked.axes[1]), dtype=np.float32)
    if looked.compared is not None:
        trace = looked.compared.before.trace
        site = sites(trace.spec, looked.kind)[looked.chosen["layer"]]
        scores = trace[f"{site}.scores"][0, _score_head(looked), row].numpy()
    return filled_rows(scores, looked.parts.changed[row])


def _score_head(looked: Looked) -> int:
    """The head whose scores are taken: the first of the chosen ones, 0 for a derived picture."""
    heads = looked.chosen["heads"]
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
