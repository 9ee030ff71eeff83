"""Pure functions of traces, arrays and texts: what a figure or a page shows, computed and testable by numbers.

Importing this package loads neither torch nor plotly: the functions are looked up when they are first used.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
