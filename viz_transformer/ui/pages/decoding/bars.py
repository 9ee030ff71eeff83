"""The bars of the page Decoding: tabs and strategy, the strategy's formula and settings, and whose map is shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import streamlit as st

from viz_transformer.analysis.attention.maps import attention_kinds
from viz_transformer.figures import labels
from viz_transformer.model.kinds import KINDS
from viz_transformer.text.codec import TextCodec
from viz_transformer.text.rules import BeamSettings
from viz_transformer.ui.frame import controls, text
from viz_transformer.ui.frame.drawn import Button, Drawn, Text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.pages.decoding.fields import FIELDS
from viz_transformer.ui.session import state
from viz_transformer.ui.session.generation_config import (
    BEAM_BOUNDS,
    BOUNDS,
    OWN,
    STRATEGIES,
    Searched,
    make_default_search,
)

MAX_BANNED = 40


def put_tabs_and_strategy() -> None:
    """Draw the buttons of the tabs, and those of the strategies; with a given target there is no strategy."""
    with st.container(horizontal=True, key="decoding_row", vertical_alignment="center"):
        controls.buttons(words.TABS_LABEL, words.TABS, "dec_tab", key="decoding_tab", hidden=True)
        _put_strategy()


def put_site(both: Runs) -> None:
    """Draw the controls of a map: kind, layer, head, and the pass of the rows."""
    spec, kind = both.main.trace.spec, state.SHARED.now().kind
    with st.container(horizontal=True, key="decoding_site", vertical_alignment="bottom"):
        controls.kind(attention_kinds(both.main.trace), key="decoding_kind")
        heads = spec.heads(kind, state.SHARED.now().layer).query
        controls.layer_and_head(KINDS[kind].layers(spec), heads, page="decoding", words=("mean",))
        controls.rows(both, key="decoding_rows")


def _put_strategy() -> None:
    if state.SHARED.now().target is not None:
        text.paragraph(words.GIVEN)
        st.button(words.WRITE, key="decoding_write", on_click=lambda: state.select(target=None))
        return
    named = {each: each for each in STRATEGIES}
    controls.buttons(words.STRATEGY, named, "strategy", key="decoding_strategy", taken=_take_strategy)


def _take_strategy(chosen: str) -> str:
    """The strategy chosen; beam search opens the tree's tab, any other leaves it."""
    if chosen == "beam":
        state.select(dec_tab="tree")
    elif FIELDS.now().dec_tab == "tree":
        state.select(dec_tab="step")
    return chosen


def draw_formula(codec: TextCodec | None) -> Iterator[Drawn]:
    """The strategy's formula with its symbols. codec: the target's; None before there is one."""
    if state.SHARED.now().target is not None:
        return
    try:
        written = state.how().value(_read_own_settings(codec)).formula()
    except ValueError as error:
        yield Text(said=f"{error}.", tone="bad")
    else:
        yield Text(said=written, style="vt-formula")
        yield from draw_generate(codec)


def draw_generate(codec: TextCodec | None) -> Iterator[Drawn]:
    """Whether a beam search of a transformers model equals `generate` with the folder's settings; if others were
    chosen, with a button that restores these."""
    own, now = _read_own_settings(codec), state.SHARED.now()
    if own is None or now.target is not None or now.strategy != "beam":
        return
    changed = _read_beam(codec)[1:] != make_default_search(own)[1:]
    yield Text(said=words.own_settings(own, changed=changed))
    if changed:
        yield Button(label=words.USE_OWN, key="decoding_beam_own", fields={"beam": OWN}, kind="secondary")


def _read_own_settings(codec: TextCodec | None) -> BeamSettings | None:
    return None if codec is None else codec.beam_settings


def _read_beam(codec: TextCodec | None) -> Searched:
    """The settings of the beam search, by default the model's."""
    return state.SHARED.now().beam or make_default_search(_read_own_settings(codec))


def put_settings(codec: TextCodec | None, *, below_each_other: bool = False) -> None:
    """Draw the settings of the strategy's formula. codec: the target's; None before there is one."""
    if state.SHARED.now().target is not None:
        return
    with st.container(key="decoding_settings", horizontal=not below_each_other, vertical_alignment="bottom"):
        strategy = state.SHARED.now().strategy
        if strategy in _SETTINGS:
            with st.container(horizontal=True, key="strategy", vertical_alignment="bottom"):
                _SETTINGS[strategy](codec)
        with st.container(horizontal=True, key="strategy_more", vertical_alignment="bottom"):
            controls.text_box(
                words.BEGINS,
                width=200,
                help=words.BEGINS_HELP,
                **state.widget_args("prefix", key="decoding_prefix"),
            )
            if codec is not None:
                _put_banned(codec)


def _put_sampling(_: TextCodec | None) -> None:
    """Draw temperature, repetition penalty, the three cuts, and the seed."""
    steps = {"temperature": 0.1, "top-k": 1, "top-p": 0.05, "min-p": 0.01, "repetition penalty": 0.1, "seed": 1}
    for place, (name, step) in enumerate(steps.items()):
        label = words.SAMPLING[name]
        bound = _part("sampling", place, state.SHARED.now().sampling, label, BOUNDS[name])
        st.number_input(label, step=step, help=words.SAMPLING_HELP[name], width=106, **bound)


def _put_beam(codec: TextCodec | None) -> None:
    """Draw the width and the settings of the score and of the end of the search."""
    now = _read_beam(codec)
    bound = _part("beam", 0, now, words.WIDTH, BEAM_BOUNDS["width"])
    st.number_input(words.WIDTH, step=1, width=106, help=words.WIDTH_HELP, **bound)
    bound = _part("beam", 1, now, words.PENALTY, BEAM_BOUNDS["length penalty"])
    st.number_input(words.PENALTY, step=0.1, width=120, help=words.PENALTY_HELP, **bound)
    for place, (label, names) in enumerate(words.BEAM_CHOICES.items(), start=2):
        st.selectbox(label, [*names], format_func=names.__getitem__, width=148, **_part("beam", place, now))


_SETTINGS = {"sampling": _put_sampling, "beam": _put_beam}


def _part(
    name: str, place: int, settings: tuple[Any, ...], label: str = "", bounds: tuple[float, float] | None = None
) -> dict[str, Any]:
    """The widget arguments for one of the strategy's current settings.

    A number out of range gives a message and leaves the setting: the widget's own check would only mark the box."""

    def taken(new: Any) -> Any:
        if bounds is not None and not bounds[0] <= new <= bounds[1]:
            state.say_next(refusal(label, new, settings[place], bounds))
            return state.selection()[name]
        return (*settings[:place], new, *settings[place + 1 :])

    return state.widget_args(name, key=f"decoding_{name}_{place}", value=settings[place], taken=taken)


def refusal(label: str, new: float, old: float, bounds: tuple[float, float]) -> str:
    """The reason why a setting is unchanged."""
    low, high, given, kept = (f"{value:,.12g}" for value in (*bounds, new, old))
    return words.refusal(label, given, kept, (low, high), whole=isinstance(bounds[0], int))


def _put_banned(codec: TextCodec) -> None:
    """Draw the box for banned tokens, as the vocabulary spells them, separated by blanks."""
    tokens = codec.names
    now = [place for place in state.SHARED.now().ban if place < len(tokens)]
    key, wrong = "decoding_ban", "decoding_ban_wrong"
    if not st.session_state.get(wrong):
        st.session_state[key] = " ".join(labels.visible(tokens[place]) for place in now)

    def changed() -> None:
        typed = str(st.session_state[key]).split()
        wanted = {*typed}  # the whole vocabulary is searched only if something was typed
        places = {said: place for place, token in enumerate(tokens) if (said := labels.visible(token)) in wanted}
        unknown = [word for word in typed if word not in places]
        st.session_state[wrong] = ""
        if unknown:
            st.session_state[wrong] = words.cannot_be_banned(labels.shorten(unknown[0], 40))
        elif len(typed) > MAX_BANNED:
            st.session_state[wrong] = words.most_banned(MAX_BANNED)
        else:
            state.select(ban=tuple(dict.fromkeys(places[word] for word in typed)))

    controls.text_box(
        words.BANNED,
        width=200,
        help=words.BANNED_HELP,
        key=key,
        on_change=changed,
    )
    if said := st.session_state.get(wrong):
        text.paragraph(said, tone="bad")
