"""Checkpoint folders: trained weights and everything needed to run and judge them.

Lazy: listing checkpoints only reads JSON; torch is imported when one is opened or saved.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
