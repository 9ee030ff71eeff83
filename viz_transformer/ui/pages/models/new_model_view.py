"""The tab that configures a new model: sizes, architecture, seed, its drawing, and its parameters."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_transformer.analysis.models import untrained as new
from viz_transformer.analysis.models.untrained import Recipe, recipe_like, recipe_of
from viz_transformer.checkpoint.contents import Summary
from viz_transformer.model.positions import ENCODINGS
from viz_transformer.sentences import capitalised
from viz_transformer.ui.frame import text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.models import architecture_view, question, words
from viz_transformer.ui.pages.models.fields import FIELDS
from viz_transformer.ui.session import cached, state

if TYPE_CHECKING:
    from viz_transformer.model.config import ModelConfig


def new_model(summary: Summary) -> Question:
    """Draw controls at the left, the drawing at the right, parameters below; the model is made when it is opened.
    Returns the page's question."""
    recipe, like = _recipe(summary)
    text.paragraph(words.ABOUT_NEW)
    left, right = st.columns([3, 5], gap="medium")
    with left:
        _draw_controls(recipe, like)
        try:
            config, wrong = recipe.config(like), None
        except ValueError as error:
            config, wrong = None, str(error)
        _draw_buttons(recipe, possible=config is not None)
        if wrong is not None:
            text.paragraph(f"{capitalised(wrong)}.", tone="bad")
    if config is not None:
        with right.container(key="model_drawing"):
            architecture_view.drawing(config, recipe.name, key="new_architecture")
        with right.container(key="model_parameters"):
            architecture_view.parameters(config)
    return question.new(config, recipe.base, like)


def _recipe(summary: Summary) -> tuple[Recipe, ModelConfig]:
    """The current recipe, with the selected model's base, and the base's config."""
    recipe = recipe_like(summary)
    if wanted := FIELDS.now().model_recipe:
        with suppress(ValueError):
            given = recipe_of(wanted)
            recipe = given if given.base == recipe.base else recipe
    found = {each.name: each for each in cached.summaries()}
    base = found.get(recipe.base)
    return recipe, getattr(base, "config", summary.config)


def _draw_controls(recipe: Recipe, like: ModelConfig) -> None:
    """Draw a box for each part of the recipe; a change of one makes another recipe."""

    def bound(field: str) -> dict[str, Any]:
        key = f"new_{field}"
        st.session_state[key] = getattr(recipe, field)

        def changed() -> None:
            value = st.session_state[key]
            if value is not None:
                other = field == "architecture"
                made = recipe.like_architecture(value, like) if other else replace(recipe, **{field: value})
                state.select(model_recipe=made.name)

        return {"key": key, "on_change": changed}

    names = {new.OWN: words.settings_of(recipe.base), new.PAPER: words.OF_THE_PAPER}
    names |= {word: words.settings_of(recipe.base, ENCODINGS[word].noun) for word in new.offered_positions()}
    st.selectbox(
        words.NEW_SETTINGS,
        new.architectures(),
        format_func=lambda name: names.get(name) or words.of_tutorial(name),
        help=words.NEW_SETTINGS_HELP,
        **bound("architecture"),
    )
    first, second = st.columns(2, gap="small")
    if like.has_encoder:
        first.number_input(words.ENCODER_LAYERS, 1, new.MAX_LAYERS, step=1, **bound("encoder_layers"))
    if like.has_decoder:
        second.number_input(words.DECODER_LAYERS, 1, new.MAX_LAYERS, step=1, **bound("decoder_layers"))
    first.number_input(words.NEW_HEADS, 1, new.MAX_HEADS, step=1, **bound("n_heads"))
    second.number_input(words.NEW_D_MODEL, 1, new.MAX_D_MODEL, step=8, **bound("d_model"))
    first.number_input(words.NEW_D_FF, 1, new.MAX_D_FF, step=16, **bound("d_ff"))
    second.number_input(words.NEW_SEED, 0, new.MAX_SEED, step=1, **bound("seed"))
    st.segmented_control(words.NEW_NORM, ["pre", "post"], required=True, format_func=words.norm_kind, **bound("norm"))


def _open_beside(recipe: Recipe) -> None:
    """Select the new model and pin the trained one, whose answer is the target of both."""
    typed = state.SHARED.now().text
    base = next((each for each in cached.summaries() if each.name == recipe.base), None)
    answer = None
    if isinstance(base, Summary) and base.spec.kind == "encoder-decoder":
        with suppress(ValueError):  # then the pages report the problem with the text
            answer = cached.run(base, typed).text
    pinned = {"pin_checkpoint": recipe.base, "pin_text": typed, "pin_target": None, "pin_how": None, "shown": "A"}
    state.select(checkpoint=recipe.name, target=answer, **pinned)


def _draw_buttons(recipe: Recipe, *, possible: bool) -> None:
    """Draw the buttons that open the model, alone or with the trained one as B."""
    chosen = state.SHARED.now()
    opened = recipe.name == chosen.checkpoint
    with st.container(horizontal=True, key="new_buttons"):
        st.button(
            words.OPENED if opened else words.OPEN,
            key="new_open",
            type="primary",
            disabled=opened or not possible,
            on_click=state.select,
            kwargs={"checkpoint": recipe.name},
        )
        st.button(
            words.open_beside(text.literal(recipe.base)),
            key="new_beside",
            disabled=not possible or (opened and chosen.pin_checkpoint == recipe.base),
            on_click=_open_beside,
            args=(recipe,),
            help=words.OPEN_BESIDE_HELP,
        )
    text.paragraph(recipe.name, style="vt-note vt-code")
