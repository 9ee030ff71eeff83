"""The Masks page: the masks or the weights before and after what is changed in them, who reads ahead, and the fills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from viz_transformer.analysis.attention.maps import attention_kinds
from viz_transformer.analysis.masks.parts import Change, ClosedIs, MaskParts, can_pad, closed_row, closed_rows_are
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.figures import labels
from viz_transformer.figures.components.masks import MaskWords, masks_payload
from viz_transformer.model.kinds import KINDS
from viz_transformer.running.trace import Trace
from viz_transformer.ui.components.pictures import last_clicked_token, masks
from viz_transformer.ui.frame import controls, projector, text
from viz_transformer.ui.frame.controls import Control
from viz_transformer.ui.frame.drawn import Button, Columns, Component, Drawn, Group, Heading, Link, Map, Text, Widget
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen, Page, SharedChoice, View
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.masks import masks_source as source
from viz_transformer.ui.pages.masks import recorded_masks_view as recorded
from viz_transformer.ui.pages.masks import words
from viz_transformer.ui.pages.masks.effects import draw_effect, draw_fills, draw_weights, leads
from viz_transformer.ui.pages.masks.fields import FIELDS, LONGEST_BATCH, MAX_CELLS, cells
from viz_transformer.ui.pages.masks.influence_view import draw_influence
from viz_transformer.ui.pages.masks.masks_source import Looked, kind_of
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

# ---- what can be chosen


def is_told(both: Runs, chosen: Chosen | None = None) -> bool:
    """Whether the model tells how it masks; of another one the masks are those that its run recorded."""
    return both.main.trace.spec.config is not None


def is_recorded(both: Runs, chosen: Chosen | None = None) -> bool:
    """Whether it does not."""
    return not is_told(both)


def _with_own(field: str, label: str, names: Mapping[str, str], own: str) -> Control[str]:
    """A choice in which the model's own option is marked, and kept as ""."""
    marked = {option: words.own(name) if option == own else name for option, name in names.items()}
    key = f"masks_{field}"
    return Control(field=field, label=label, options=lambda _: marked, default=lambda _: own, unset="", key=key)


def _draw_shown(both: Runs) -> None:
    if recorded.changes_cells(both.main, source.start_kind(both.main)):
        controls.buttons(words.SHOWN, words.VIEWS, "mask_view", key="masks_view", hidden=True)


def _draw_kind(both: Runs) -> None:
    kind = kind_of(both.main, state.selection())
    names = {each: KINDS[each].label for each in attention_kinds(both.main.trace)}
    controls.buttons(words.KIND, names, "mask_kind", key="masks_kind", value=kind, hidden=True)


def _draw_rule_or_head(both: Runs) -> None:
    """By which padding rule the masks are made, or of which layer and head the weights are."""
    shown, spec, chosen = both.main, both.main.trace.spec, FIELDS.now()
    kind = kind_of(shown, state.selection())
    layers = KINDS[kind].layers(spec)
    if is_recorded(both):
        controls.layer(layers, page="masks")
        if chosen.mask_view == "weights" and recorded.changes_cells(shown, kind):
            count = spec.heads(kind, state.SHARED.now().layer).query
            controls.head(count, page="masks", words=("mean", "max"))
        return
    own = shown.trace.config.padding_mask
    rules: dict[str, str] = {rule: words.RULES[rule] for rule in ("key", "key-or-query", own)}
    if chosen.mask_padding not in ("", *rules):
        state.remark(words.no_such_rule(shown.summary.name))
        state.clamp(mask_padding="")
    if chosen.mask_view == "masks":
        _with_own("mask_padding", words.PADDING, rules, own).draw(shown)
    elif chosen.mask_of == "texts":
        controls.layer_and_head(layers, shown.trace.config.n_heads, page="masks", words=("mean", "max"))


MASKS_OF: Control[str] = Control(
    field="mask_of", label=words.MASKS_OF, options=lambda shown: words.TEXTS_OR_SIZE, unset="texts", key="masks_of"
)


def draw_controls(both: Runs, chosen: Chosen) -> Columns:
    """Masks of which texts, or of which size, and the fill."""
    shown = both.main
    right: list[Drawn] = [_with_own("mask_fill", words.FILL, words.FILL_NAMES, shown.trace.config.mask_fill)]
    if chosen["mask_of"] == "size":
        size = min(max(1, chosen["mask_size"]), source.LARGEST_SIZE)
        boxes = (_box(words.TOKENS, 1, source.LARGEST_SIZE, 140, "size"), _box(words.PADDED, 0, size, 200, "padded"))
        beside: Drawn = Group(parts=boxes, key="masks_beside_size", aligned="bottom")
    elif can_pad(shown.trace.spec):
        beside = Widget(put=partial(_draw_texts, source.list_other_texts(shown, chosen)))
    else:
        beside = Text(said=words.no_padding_token(shown.summary.name))
    if looked := chosen.get("looked"):
        short = [labels.shorten(" ".join(each.split()), 24) for each in looked.texts]
        names = {i: text.literal(words.numbered(i, each)) for i, each in enumerate(short)}
        which = Control(field="mask_text", label=words.TEXT_SHOWN, options=lambda _: names, unset=0, key="masks_text")
        right += [which] if names else []
    return Columns(parts=[[MASKS_OF, beside], right], widths=(5, 7), gap="small")


def _box(label: str, least: int, most: int, width: int, what: str) -> Widget:
    field, key = f"mask_{what}", f"masks_{what}"
    return Widget(
        put=lambda: st.number_input(label, least, most, step=1, width=width, **state.widget_args(field, key=key))
    )


def _draw_texts(typed: str) -> None:
    bound = state.widget_args("mask_batch", key="masks_batch", value=typed)
    controls.text_box(words.OTHER_TEXTS, max_chars=LONGEST_BATCH, **bound)


def load(both: Runs, chosen: Chosen) -> Chosen:
    """The masks that all views draw from. Raises ValueError with one sentence for what cannot be run."""
    return {"looked": (recorded.load_recorded if is_recorded(both) else source.load_masks)(both.main, chosen)}


# ---- masks and weights


def draw_masks(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The four masks, of two runs those of both beside each other; of a long text that was recorded its one."""
    looked: Looked | None = chosen["looked"]
    if looked is None:
        yield Map(picture=recorded.picture_of_mask(both.main, chosen), key="masks_recorded")
        yield _link_from_recorded(both, chosen)
    elif chosen["mask_view"] == "masks" or projector.is_on():  # there masks and weights are scenes of one page
        if is_recorded(both):
            yield _four(recorded.payload_of(both.main, looked))
        elif both.beside:
            yield Columns(parts=[[*_draw_of(name, both, looked)] for name in "AB"], widths=(1, 1))
        else:
            yield _four(payload_of(looked))


def _draw_of(name: str, both: Runs, looked: Looked) -> Iterator[Drawn]:
    try:
        shown = looked if name == "A" else source.load_pinned(both, looked)
    except ValueError as error:
        yield Text(said=f"{error}.", tone="bad")
        return
    run = both.main if shown.compared is None else shown.compared.before
    yield Text(said=words.of_run(name, run.summary.name, run.words()), style="vt-note vt-pinned")
    yield _four(payload_of(shown), "" if name == "A" else "_b")


def _four(data: bytes, own: str = "") -> Component:
    return Component(draw=partial(masks, on_cells=toggle_cell), data=data, key=f"masks_four{own}")


def payload_of(looked: Looked) -> bytes:
    """Padding and causal mask, and both before and after the changes."""
    notes = (
        words.CLOSES_NOTHING if looked.parts.padding.all() else words.RULE_NOTES[looked.rule],
        words.LATER_KEYS if KINDS[looked.kind].causal else words.ALL_OF_THE_SOURCE,
        words.BOTH_OPEN,
        words.TO_THE_SOFTMAX,
    )
    said = MaskWords(notes, looked.caption, looked.name)
    return masks_payload(looked.grids, said, token=last_clicked_token(), why=leads(looked))


def toggle_cell(words: Sequence[str], fields: Mapping[str, Any]) -> None:
    """A click on a cell: all changed cells, and where it was."""
    state.pick(fields)
    known = cells(",".join(words))
    if known is not None:
        state.select(mask_cells=known)


def draw_weights_and_effect(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The weights before and after, what the change of masks did, and where the chosen cell leads."""
    looked: Looked | None = chosen["looked"]
    if looked is None:
        return
    if chosen["mask_view"] == "weights" or projector.is_on():
        yield from draw_weights(Runs(both.main) if is_recorded(both) else both, looked)
    changed = looked.compared is not None and not looked.compared.own
    lead = [_link_from_recorded(both, chosen)] if is_recorded(both) else [*draw_links(both.main, looked)]
    done = [] if is_recorded(both) and not changed else [*draw_effect(looked)]
    yield from (*done, *lead) if changed else (*lead, *done)  # what a change did comes first


def draw_links(shown: RunView, looked: Looked) -> Iterator[Drawn]:
    """Which weight the chosen cell has in the run as it is, and what else its row could have written; nothing for a
    cell that is none of the run, which has no padding."""
    kind, fields, cell = KINDS[looked.kind], leads(looked), looked.cell
    ends = kind.sides(len(shown.trace.src), len(shown.trace.tgt))
    if fields == () or any(place >= end for place, end in zip(cell, ends, strict=True)):
        return
    # In a batch with padding the page has a cell of its own, which the links say.
    row, key = ({name: str(place)} for name, place in zip(fields, cell, strict=True)) if fields else ({}, {})
    is_here = looked.chosen["mask_view"] == "weights" and looked.compared is not None and looked.compared.own
    asks = words.ASKS_HERE if is_here and not fields else words.ASKS
    parts = [Link(page="One weight", label=asks, fields={"kind": looked.kind, **row, **key})]
    if kind.writes and shown.trace.spec.writes:
        parts.append(Link(page="Decoding", label=words.WHAT_ELSE, fields=row))
    yield Group(parts=parts, key="from_cell", aligned="top")


def _link_from_recorded(both: Runs, chosen: Chosen) -> Group:
    link = Link(page="One weight", label=words.ASKS, fields={"kind": kind_of(both.main, chosen)})
    return Group(parts=[link], key="from_cell", aligned="top")


# ---- what was changed


def draw_row_tools(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """Buttons that close or open the chosen row and undo all changes, and the changes in words, with where they are
    made."""
    looked: Looked | None = chosen["looked"]
    if looked is None:
        return
    where = recorded.describe_place(both.main, looked) if is_recorded(both) else words.EVERYWHERE
    word, changed = Change(looked.kind, looked.query).word, chosen["mask_cells"]
    kept = [each for each in changed if each.split(".")[0] != word]
    turn = words.turn_row(text.literal(looked.token(looked.query)), word in changed)
    turned = tuple(kept if word in changed else [*kept, word])[:MAX_CELLS]
    parts = (
        Button(label=turn, key="masks_row", fields={"mask_cells": turned}, kind="secondary"),
        Button(label=words.UNDO, key="masks_undo", fields={"mask_cells": ()}, kind="secondary", disabled=not changed),
        Text(said=changes_in_words(looked, where)),
    )
    yield Group(parts=parts, key="masks_beside_tools", aligned="center")


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
    if rows := parts.closed_rows:
        run, layer = looked.compared, looked.chosen["layer"]
        closed = None if run is None else closed_rows_are(run.after.trace, looked.kind, layer, rows)
        sentence += f" {words.closed_rows(rows, 6, closed)}"
    return sentence


def draw_influence_heading(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """What comes next, and of which run it is."""
    if both.compared:
        yield Text(said=words.INFLUENCE_OF_A)
    yield Heading(said=words.INFLUENCE)


# ---- the question, the caption and how to read it


def ask(both: Runs, chosen: Chosen) -> Question:
    """What the chosen query may read."""
    looked: Looked | None = chosen["looked"]
    if looked is None or is_recorded(both):
        return recorded.ask(both.main, looked, chosen)
    return question(looked.parts, looked.query, looked.token(looked.query))


def question(parts: MaskParts, row: int, name: str) -> Question:
    """How many keys are open to a query, and what closes the others. name: the query in words."""
    open_, keys = int(parts.changed[row].sum()), parts.changed.shape[1]
    later = int((~parts.causal[row] & ~parts.changed[row]).sum())
    padded = int((~parts.padding[row] & parts.causal[row] & ~parts.changed[row]).sum())
    yours = keys - open_ - later - padded
    return Question(words.asks(name), words.may_read(open_, keys, later=later, padded=padded, yours=yours))


def describe_selection(both: Runs, chosen: Chosen) -> str:
    """What a projector's caption says: the kind, layer, heads and row of this page."""
    kind, heads = KINDS[kind_of(both.main, chosen)], chosen["heads"]
    which = heads if isinstance(heads, str) else words.heads(heads)
    return words.scene(kind.words, chosen["layer"], which, kind.queries.name, chosen[kind.queries.field])


def explain(both: Runs, chosen: Chosen) -> tuple[str, str]:
    """How to read it, and what a row is in this model that may see nothing."""
    return words.HOW, words.NOT.format(words.convention(_closed_row(both.main.ckpt, both.main.trace)))


@memoize(8)
def _closed_row(ckpt: Checkpoint, trace: Trace) -> ClosedIs | None:
    found = (closed_row(ckpt, trace, kind, 0) for kind in reversed(attention_kinds(trace)))
    return next((made for made in found if made is not None), None)


PAGE = Page(
    title="Masks",
    how=words.HOW,
    not_to_conclude=words.NOT.format(words.convention(None)),
    controls=(
        SharedChoice("mask_view", _draw_shown),
        SharedChoice("mask_kind", _draw_kind),
        SharedChoice("mask_padding", _draw_rule_or_head),
    ),
    prepare=load,
    needs=words.ITS_MASKS,
    views=(
        View(
            key="masks_whose",
            draw_runs=lambda both, chosen: Text(said=words.MASKS_OF_A),
            is_there=lambda both, chosen: is_recorded(both) and both.compared,
            is_scene=False,
            always=True,
        ),
        View(key="masks_picture", draw_runs=draw_masks),
        View(key="masks_weights", draw_runs=draw_weights_and_effect),
        View(key="masks_beside_row", draw_runs=draw_row_tools, is_scene=False),
        View(key="masks_beside_recorded", draw_runs=recorded.draw_rules, is_there=is_recorded, is_scene=False),
        View(key="masks_beside_controls", draw_runs=draw_controls, is_there=is_told, is_scene=False, always=True),
        View(key="masks_beside_influence", draw_runs=draw_influence_heading, is_there=is_told, is_scene=False),
        View(key="masks_influence", draw_runs=draw_influence, is_open=is_told),
        View(key="masks_beside_fills", draw_runs=draw_fills, is_there=is_told, is_scene=False),
    ),
    ask_runs=ask,
    caption=describe_selection,
    explain=explain,
    looks="mask_kind",
)
