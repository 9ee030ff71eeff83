"""Models of transformers, from a folder that `save_pretrained` wrote: the same instrument, recorded exactly.

Lazy: a folder is described without torch and without transformers, which is imported when one is opened.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz_transformer.huggingface.hub import fetched
    from viz_transformer.huggingface.loading import check_device, load_in_the_app
    from viz_transformer.huggingface.opening import open_folder
    from viz_transformer.huggingface.parts import layout_of
    from viz_transformer.huggingface.rounding import away

__all__ = ["away", "check_device", "fetched", "layout_of", "load_in_the_app", "open_folder"]

_HOMES = {
    "away": "rounding",
    "check_device": "loading",
    "fetched": "hub",
    "layout_of": "parts",
    "load_in_the_app": "loading",
    "open_folder": "opening",
}
NEEDED = ("transformers", "tokenizers", "sentencepiece")
INSTALL = 'pip install -e ".[hf]"'


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def needs(what: str) -> str:
    """That this needs a library that is not here, in a sentence, with the command that adds it; "" if all are."""
    library = lacking()
    return "" if library is None else f"{what} needs {library}: install it with `{INSTALL}`"


def lacking() -> str | None:
    """The library that has to be installed before a folder can be opened, None if all are there."""
    return next((name for name in NEEDED if find_spec(name) is None), None)
