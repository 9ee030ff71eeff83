"""A page with what shows an answer being written: the scrubber, where tokens can be taken, a map and a text that grow.

`test_decoding_components.py` serves it. A token that is taken is forced at its step, and the answer written anew.
"""

from __future__ import annotations

import streamlit as st
from builders import tiny_checkpoint
from showing import shown_of

from viz_transformer.running.strategies import Sampling
from viz_transformer.ui.components.pictures import matrix, scrubber, shading
from viz_transformer.ui.components.selection import hear_picks, tell_chosen
from viz_transformer.ui.frame import maps, steps, style
from viz_transformer.ui.session import state

STRATEGY = Sampling(temperature=1.5, top_k=6, seed=2)
SOURCE, STEPS = "abc", 5

st.set_page_config(layout="wide")
style.apply()
forced: dict[int, int] = st.session_state.setdefault("forced", {})
ckpt = tiny_checkpoint()
shown = shown_of(ckpt, SOURCE, strategy=STRATEGY, force=forced, max_steps=STEPS)
chosen = st.session_state.setdefault("chosen", {"t": 0, "i": 0, "u": 0})
hear_picks(chosen.update, lambda: None)
tell_chosen(chosen)
left, right = st.columns(2)
with right:
    scrubber(steps.scrubber_data(shown, strategy=True, takes=True), key="steps", on_take=forced.__setitem__)
with left:
    cross, own = (
        maps.picture(shown, {**state.DEFAULTS, "kind": kind, "layer": 0, "heads": (0,), "options": ()})
        for kind in ("cross", "decoder")
    )
    shading(own.pack_text(grows=True), key="text")
    matrix(cross.pack(grows=True), key="map")
