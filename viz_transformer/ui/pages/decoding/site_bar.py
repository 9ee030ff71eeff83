"""Which head's rows the Decoding page shows: the bar of kind, layer and head that stands over each of its maps."""

from __future__ import annotations

import streamlit as st

from viz_transformer.analysis.attention.maps import attention_kinds
from viz_transformer.model.kinds import KINDS
from viz_transformer.ui.frame import controls
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.session import state


def show_site_bar(both: Runs) -> None:
    """Kind, layer and head, and of which pass the rows are."""
    spec, kind = both.main.trace.spec, state.SHARED.now().kind
    with st.container(horizontal=True, key="decoding_site", vertical_alignment="bottom"):
        controls.kind(attention_kinds(both.main.trace), key="decoding_kind")
        heads = spec.heads(kind, state.SHARED.now().layer).query
        controls.layer_and_head(KINDS[kind].layers(spec), heads, page="decoding", words=("mean",))
        controls.rows(both, key="decoding_rows")
