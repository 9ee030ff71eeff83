"""The text of a component's files: each is one ES module and one style sheet, with what all components share in front.

Streamlit takes the text of a module, which cannot import its neighbours; so the import of shared.js is replaced by it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_FILES = files(__package__)
_IMPORT = re.compile(r'^import \{ \w+(, \w+)* \} from "\./shared\.js"\n', flags=re.MULTILINE)


@cache
def javascript(name: str) -> str:
    """`name`.js with shared.js in the place of its import, which may not rename anything.

    Raises ValueError if it does not import shared.js so.
    """
    own = _read(f"{name}.js")
    if not _IMPORT.search(own):
        raise ValueError(f"{name}.js does not import names from shared.js as they are, in one line")
    shared = re.sub(r"^export ", "", _read("shared.js"), flags=re.MULTILINE)
    return _IMPORT.sub(lambda _: shared, own, count=1)


@cache
def style_sheet(name: str) -> str:
    """shared.css, then `name`.css."""
    return _read("shared.css") + _read(f"{name}.css")


def _read(name: str) -> str:
    return _FILES.joinpath(name).read_text(encoding="utf-8")
