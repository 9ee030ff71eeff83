"""The Masks page of a model that is not ours: the masks that its run recorded, drawn and said, with cells to turn.

What makes such a mask is not told, so nothing but its cells can be changed.
"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from viz_transformer.analysis.attention.maps import attention_kinds
from viz_transformer.analysis.attention.picture import Picture
from viz_transformer.analysis.masks.mask_rules import MaskRule, describe_rule, recorded_mask, rules, turned_otherwise
from viz_transformer.analysis.masks.parts import MaskParts, even_weights, row_effects
from viz_transformer.figures import labels
from viz_transformer.figures.components.masks import MaskWords, masks_payload
from viz_transformer.model.hook_point import FUSED_FROM
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.sentences import capitalised, join_names
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.components.pictures import last_clicked_token, masks
from viz_transformer.ui.frame import controls, links, maps, pictures, projector, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.masks import view, words
from viz_transformer.ui.pages.masks.fields import FIELDS
from viz_transformer.ui.pages.masks.masks_source import Compared, Looked, recorded_passes
from viz_transformer.ui.session import state
from viz_transformer.ui.session.runs import RunView


def choices(shown: RunView, kind: KindName) -> None:
    """What is shown of which kind of attention and which layer, of weights of which head."""
    with st.container(horizontal=True, key="choices", vertical_alignment="bottom"):
        if changes_cells(shown, kind):
            controls.buttons(words.SHOWN, words.VIEWS, "mask_view", key="masks_view", hidden=True)
        kinds = {each: KINDS[each].label for each in attention_kinds(shown.trace)}
        controls.buttons(words.KIND, kinds, "mask_kind", key="masks_kind", value=kind, hidden=True)
        controls.layer(KINDS[kind].layers(shown.trace.spec), page="masks")
        if changes_cells(shown, kind) and FIELDS.now().mask_view == "weights":
            count = shown.trace.spec.heads(kind, state.SHARED.now().layer).query
            controls.head(count, page="masks", words=("mean", "max"))


def changes_cells(shown: RunView, kind: KindName) -> bool:
    """Whether the text is so short that its masks can be drawn beside each other, and changed."""
    return max(len(side) for side in KINDS[kind].sides(shown.trace.src, shown.trace.tgt)) < FUSED_FROM


def show_recorded_masks(shown: RunView, kind: KindName, place: DeltaGenerator) -> Question:
    """The mask of the chosen layer before and after what was changed, or the weights, and what the masks of all layers
    close; returns what the page asks. `place` says what is waited for."""
    layer = state.SHARED.now().layer
    if not changes_cells(shown, kind):
        return _drawn_alone(shown, kind, layer)
    parts, compared = recorded_passes(shown, kind, layer, place)
    looked = Looked(
        kind=kind,
        parts=parts,
        axes=maps.axes(shown, kind),
        fill="",
        rule="",
        name=labels.file_name(shown.summary.name, "masks", kind, str(layer)),
        caption=shown.caption(words.masks_of_layer(KINDS[kind].words, layer), rows=KINDS[kind].writes),
        compared=compared,
    )
    found = rules(shown.trace, kind)
    chosen = FIELDS.now().mask_view
    if chosen == "masks" or projector.is_on():
        with st.container(key="masks_picture"):
            _before_and_after(looked, next(rule for rule, layers in found.items() if layer in layers))
    with st.container(key="masks_weights"):
        if chosen == "weights" or projector.is_on():
            view.two_weights(looked)
        if not compared.own:
            _effect(looked, compared)
        with st.container(horizontal=True, key="from_cell"):
            links.link_to("One weight", words.ASKS, kind=kind)
    with st.container(key="masks_beside_row"):
        view.row_controls(looked, _where(shown, kind, layer, parts))
    with st.container(key="masks_beside_recorded"):
        _rules(found, parts.own.shape[1])
        text.paragraph(words.NOT_TOLD)
    return _question(looked, layer)


def _where(shown: RunView, kind: KindName, layer: int, parts: MaskParts) -> str:
    """In which layers the changes are made, and where that is another change than in this one."""
    others = turned_otherwise(shown.trace, kind, layer, parts.changes)
    if not others:
        return words.TURNED
    return words.turned_otherwise(join_names([str(each) for each in others]), several=len(others) > 1)


def _before_and_after(looked: Looked, rule: MaskRule) -> None:
    """The keys that are read at all, which each query reads, and both before and after what was changed."""
    parts, padded = looked.parts, rule.padding == rule.closed
    title, note, reason = _of_a_query(rule, closes=not parts.causal.all())
    first = words.CLOSES_NOTHING if parts.padding.all() else words.UNREAD_KEYS
    said = MaskWords(
        (first, note, words.BOTH_OPEN, words.TO_THE_SOFTMAX),
        looked.caption,
        looked.name,
        parts=(words.KEYS, title),
        reasons=(words.BY_PADDING if padded else words.BY_ALL, reason),
    )
    masks(masks_payload(looked.grids, said, token=last_clicked_token()), key="masks_four", on_cells=view.toggle_cell)


def _of_a_query(rule: MaskRule, *, closes: bool) -> tuple[str, str, str]:
    """What the mask that differs from query to query is called, what it closes, and by what a cell is closed."""
    if not closes:
        return words.PER_QUERY, words.CLOSES_NOTHING, ""
    if not rule.named:
        return words.PER_QUERY, words.NO_NAME, words.BY_QUERY
    if rule.window is not None:
        return words.WINDOW, words.window(rule.window, rule.both), words.BY_WINDOW
    if rule.first:
        return words.PREFIX, words.prefix(rule.first), words.BY_CAUSALITY
    return words.CAUSAL, words.LATER_KEYS, words.BY_CAUSALITY


def _effect(looked: Looked, compared: Compared) -> None:
    """What the change of masks did to what the model gives."""
    spec, ckpt = compared.before.trace.spec, compared.ckpt
    if "logits" not in compared.after.trace:
        text.paragraph(words.GIVES_NO_LOGITS)
        return
    if spec.output not in words.OUTPUTS:
        effects = row_effects(compared.before.trace, compared.after.trace, spec.labels)
        text.paragraph(_of_label(effects[0].before, effects[0].after, effects[0].change, scored=spec.scoring))
        return
    codec = ckpt.codec("target" if spec.has_decoder else "source")
    names = spec.labels if spec.output == "token class" else codec.names
    effects = row_effects(compared.before.trace, compared.after.trace, names)
    rows = words.OUTPUTS[spec.output]
    text.paragraph(view.effect_in_words(effects, rows))
    view.effect_button(looked, effects, rows)


def _of_label(before: str, after: str, change: float, *, scored: str) -> str:
    moved = words.largest_change(labels.number(change))
    if scored == "number":
        return moved
    return f"{moved} {words.largest_label(labels.visible(before), labels.visible(after))}"


def _rules(found: dict[MaskRule, list[int]], keys: int) -> None:
    for rule, layers in found.items():
        text.paragraph(describe_rule(rule, layers, keys))


def _question(looked: Looked, layer: int) -> Question:
    row, parts = looked.query, looked.parts
    open_, keys = int(parts.changed[row].sum()), parts.changed.shape[1]
    closed = int((parts.own[row] & ~parts.changed[row]).sum())
    opened = int((~parts.own[row] & parts.changed[row]).sum())
    return Question(words.asks_in_layer(row, layer), words.may_read_after(open_, keys, closed=closed, opened=opened))


def _drawn_alone(shown: RunView, kind: KindName, layer: int) -> Question:
    """The mask of a long text, without any change."""
    picture = _picture(shown, kind, layer)
    with st.container(key="masks_picture"):
        pictures.matrix_of(picture, key="masks_recorded")
        with st.container(horizontal=True, key="from_cell"):
            links.link_to("One weight", words.ASKS, kind=kind)
    with st.container(key="masks_beside_recorded"):
        _rules(rules(shown.trace, kind), picture.mask.shape[1])
        text.paragraph(words.too_long(FUSED_FROM))
    row = min(int(state.selection()[KINDS[kind].queries.field]), len(picture.mask) - 1)
    open_, keys = int(picture.mask[row].sum()), picture.mask.shape[1]
    return Question(words.asks_in_layer(row, layer), words.may_read_after(open_, keys))


def _picture(shown: RunView, kind: KindName, layer: int) -> Picture:
    """The weights that the mask leaves equal scores: hatched is closed."""
    mask = recorded_mask(shown.trace, KINDS[kind].site(layer))
    said = words.mask_of_layer(KINDS[kind].words, layer)
    base = maps.picture(shown, {**state.selection(), "kind": kind, "layer": layer, "heads": "mean", "options": ()})
    axes = (replace(base.rows, writes=None), base.columns)
    return replace(base, values=even_weights(mask, "zero-rows"), mask=mask, axes=axes).with_meta(
        title=capitalised(said),
        caption=shown.caption(said, rows=KINDS[kind].writes),
        name=f"{base.meta.name}-mask",
        scale="derived",
        unit=words.EQUAL_SCORES_UNIT,
        quantity=words.EQUAL_SCORES,
        fill="",
        remarks=(),
    )
