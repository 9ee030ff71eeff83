"""The table of a picture: shown up to a size, and as CSV at any."""

import numpy as np
import pytest
from page_driver import drawn, words
from wording import wording


def page(rows, columns):
    import numpy as np
    import pandas as pd
    import streamlit as st

    from viz_transformer.ui.frame import pictures

    st.session_state["table_asked"] = "map"
    pictures.table(lambda: pd.DataFrame(np.eye(rows, columns)), note="", name="map", key="map")


@pytest.mark.parametrize(("rows", "columns", "shown"), [(512, 1024, True), (513, 1, False), (1, 1025, False)])
def test_a_map_of_512_keys_is_shown_with_the_marks_of_its_masked_cells(rows, columns, shown):
    app = drawn(page, rows, columns)
    assert [np.shape(each.value) for each in app.dataframe] == ([(rows, columns)] if shown else [])
    assert (wording("rows_and_columns_are_too_many_to_show_here", f"{rows:,}", f"{columns:,}") in words(app)) != shown
