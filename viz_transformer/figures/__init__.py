"""Arrays and words -> figures: with plotly what is read, as HTML that stands alone what is touched.

No function here opens anything by itself or knows a model; `viz_transformer.show` asks them for what a run holds.

Importing this package does not import plotly: the functions are looked up when they are first used.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
