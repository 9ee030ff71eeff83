"""How the columns of a table that can be sorted write their numbers: 1 only of 1, and 0 only of 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import ArrayLike

MAX_DIGITS = 17  # all of a float64


def number_column(values: ArrayLike, digits: int = 6, **options: Any) -> Any:
    """A column with so many significant digits, or as many more as its numbers beside 1 need to be told from it."""
    return st.column_config.NumberColumn(format=f"%.{enough(values, digits)}g", **options)


def number_columns(frame: pd.DataFrame) -> dict[str, Any]:
    """The column settings of all columns with fractions."""
    kinds = frame.dtypes.tolist()
    return {
        str(name): number_column(frame.iloc[:, place].to_numpy(dtype="float64", na_value=float("nan")))
        for place, name in enumerate(frame.columns)
        if kinds[place].kind == "f"
    }


def enough(values: ArrayLike, digits: int) -> int:
    """Significant digits, at least those given, at which only 1 is written as 1; no such format writes a wrong 0."""
    off = np.abs(np.abs(np.asarray(values, dtype=np.float64)) - 1)
    near = off[(off > 0) & (off < 0.1)]
    needed = 0 if not near.size else int(np.floor(-np.log10(near.min()))) + 2
    return min(MAX_DIGITS, max(digits, needed))
