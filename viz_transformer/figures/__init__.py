"""Figures from arrays and words: charts as plotly figures, interactive pictures as self-contained HTML.

No function here displays anything by itself or knows a model; `viz_transformer.show` calls them with the data of a run.

Importing this package does not import plotly: the functions are looked up when they are first used.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
