"""Models of transformers, opened from a `save_pretrained` folder and recorded exactly.

Lazy: folders are described without torch or transformers, which are imported when one is opened.
"""

from __future__ import annotations

from importlib.util import find_spec

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

NEEDED = ("transformers", "tokenizers", "sentencepiece")
INSTALL = 'pip install -e ".[hf]"'


def needs(what: str) -> str:
    """Error message if `what` needs a missing library, with the install command; "" if all are installed."""
    library = lacking()
    return "" if library is None else f"{what} needs {library}: install it with `{INSTALL}`"


def lacking() -> str | None:
    """The library that must be installed to open a folder; None if all are."""
    return next((name for name in NEEDED if find_spec(name) is None), None)
