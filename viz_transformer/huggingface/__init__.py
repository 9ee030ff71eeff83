"""Models of transformers, from a folder that `save_pretrained` wrote: the same instrument, recorded exactly.

Lazy: a folder is described without torch and without transformers, which is imported when one is opened.
"""

from __future__ import annotations

from importlib.util import find_spec

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

NEEDED = ("transformers", "tokenizers", "sentencepiece")
INSTALL = 'pip install -e ".[hf]"'


def needs(what: str) -> str:
    """That this needs a library that is not here, in a sentence, with the command that adds it; "" if all are."""
    library = lacking()
    return "" if library is None else f"{what} needs {library}: install it with `{INSTALL}`"


def lacking() -> str | None:
    """The library that has to be installed before a folder can be opened, None if all are there."""
    return next((name for name in NEEDED if find_spec(name) is None), None)
