"""An instrumented transformer: load a trained checkpoint, run it, and look at every number of the run.

The public names are loaded when they are first used (PEP 562), so importing the package loads neither torch nor spaCy.
"""

from __future__ import annotations

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["__version__", *_names]  # noqa: PLE0604 (all of them are strings)
