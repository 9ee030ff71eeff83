"""The Masks page of a model that is not ours: the masks that its run recorded, drawn and said."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from viz_transformer.analysis.attention.maps import attention_kinds
from viz_transformer.analysis.masks.parts import even_weights
from viz_transformer.analysis.masks.recorded import in_words, recorded_mask, rules
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.ui.frame import controls, links, maps, pictures, text
from viz_transformer.ui.frame.maps import Picture
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.masks import explained
from viz_transformer.ui.session import state
from viz_transformer.ui.session.runs import Shown

NOT_CHANGED = "This model does not tell how it masks, so nothing can be changed here: these are the masks of its run."


def choices(shown: Shown, kind: KindName) -> None:
    """Which kind of attention and which layer."""
    with st.container(horizontal=True, key="choices", vertical_alignment="bottom"):
        names = {each: KINDS[each].label for each in attention_kinds(shown.trace)}
        controls.buttons("Kind", names, "mask_kind", key="masks_kind", value=kind, hidden=True)
        layers = KINDS[kind].layers(shown.trace.anatomy)
        controls.number("Layer", layers, **state.bind("layer", key="masks_layer"))


def recorded(shown: Shown, kind: KindName) -> Question:
    """The mask of the chosen layer, and what the masks of all layers close; returns what the page asks."""
    layer = state.SHARED.now().layer
    picture = _picture(shown, kind, layer)
    with st.container(key="masks_picture"):
        pictures.matrix_of(picture, key="masks_recorded")
        with st.container(horizontal=True, key="from_cell"):
            links.to("One weight", explained.ASKS, kind=kind)
    with st.container(key="masks_beside_recorded"):
        for rule, layers in rules(shown.trace, kind).items():
            text.paragraph(in_words(rule, layers, picture.mask.shape[1]))
        text.paragraph(NOT_CHANGED)
    row = min(int(state.selection()[KINDS[kind].queries.field]), len(picture.mask) - 1)
    open_, keys = int(picture.mask[row].sum()), picture.mask.shape[1]
    answer = f"All {keys} keys." if open_ == keys else f"{open_ or 'None'} of {keys} keys."
    return Question(f"What may query {row} read in layer {layer}?", answer)


def _picture(shown: Shown, kind: KindName, layer: int) -> Picture:
    """The weights that the mask leaves equal scores: hatched is closed."""
    mask = recorded_mask(shown.trace, KINDS[kind].site(layer))
    base = maps.picture(shown, {**state.selection(), "kind": kind, "layer": layer, "heads": "mean", "options": ()})
    return replace(
        base,
        values=even_weights(mask, "zero-rows"),
        mask=mask,
        writes=None,
        title=f"Mask of {KINDS[kind].words}, layer {layer}",
        caption=shown.caption(f"mask of {KINDS[kind].words}, layer {layer}", rows=KINDS[kind].writes),
        name=f"{base.name}-mask",
        scale="derived",
        unit="weight of equal scores, derived",
        quantity="weight of equal scores",
        fill="",
        remarks=(),
    )
