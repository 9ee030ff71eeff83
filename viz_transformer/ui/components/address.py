"""An invisible component that keeps the browser's Back button in step with the address."""

from __future__ import annotations

import streamlit as st

from viz_transformer.figures.components.source import javascript

_address = st.components.v2.component("viz_transformer_address", js=javascript("address"))


def keep_back_button() -> None:
    """Draw nothing; from now on, an address that is only completed does not count as a step back."""
    with st.container(key="address"):
        _address(key="address_component")
