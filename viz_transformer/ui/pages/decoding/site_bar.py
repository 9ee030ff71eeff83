"""The bar of kind, layer and head above each map of the Decoding page."""

from __future__ import annotations

import streamlit as st

from viz_transformer.analysis.attention.maps import attention_kinds
from viz_transformer.model.kinds import KINDS
from viz_transformer.ui.frame import controls
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.session import state


def show_site_bar(both: Runs) -> None:
    """Draw the controls: kind, layer, head, and the pass of the rows."""
    spec, kind = both.main.trace.spec, state.SHARED.now().kind
    with st.container(horizontal=True, key="decoding_site", vertical_alignment="bottom"):
        controls.kind(attention_kinds(both.main.trace), key="decoding_kind")
        heads = spec.heads(kind, state.SHARED.now().layer).query
        controls.layer_and_head(KINDS[kind].layers(spec), heads, page="decoding", words=("mean",))
        controls.rows(both, key="decoding_rows")
