"""A sentence that says what is being waited for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from viz_transformer.ui.compat import DeltaGenerator


@contextmanager
def waiting(sentence: str, place: DeltaGenerator) -> Iterator[None]:
    """Say in `place` what is being waited for."""
    try:
        with place.container(), st.spinner(sentence):
            yield
    except ValueError:
        place.empty()
        raise
    place.empty()
