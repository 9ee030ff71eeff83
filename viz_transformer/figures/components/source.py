"""The text of a component's files: one ES module, with the parts that it imports, and one style sheet.

Streamlit takes the text of a module, which cannot import its neighbours; so each import is replaced by what it names,
and by what that imports, each file once, before the first that needs it. Nothing else is needed: no build, no node.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from posixpath import dirname, join, normpath

_FILES = files(__package__)
_ANY_IMPORT = re.compile(r"^import\b.*", flags=re.MULTILINE)
_IMPORT = re.compile(r'^import \{\s*\w+(?:,\s*\w+)*,?\s*\} from "(\.{1,2}/[\w./]+\.js)";?\n', flags=re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const|let) )", flags=re.MULTILINE)
_ANY_EXPORT = re.compile(r"^export\b(?! default\b).*", flags=re.MULTILINE)


@cache
def javascript(name: str) -> str:
    """The source of `name`.js after everything that it imports, with its default export only.

    Raises ValueError where an import or export cannot be joined so: an import takes names as they are from a file here,
    a file that others import exports no default, and no files import each other in a circle.
    """
    modules: dict[str, str] = {}
    _collect(f"{name}.js", modules, ())
    return "\n".join(modules.values())


@cache
def standalone_javascript(name: str) -> str:
    """The source as the script of a self-contained page, which draws the page's payload (parts/standalone.js)."""
    modules: dict[str, str] = {}
    _collect(f"{name}.js", modules, ())
    modules[f"{name}.js"] = re.sub(r"^export default ", "const component = ", modules[f"{name}.js"], flags=re.MULTILINE)
    _collect("parts/standalone.js", modules, (f"{name}.js",))
    return "\n".join([*modules.values(), "standAlone(component)\n"])


@cache
def style_sheet(name: str) -> str:
    """The style sheets shared.css and `name`.css, joined."""
    return _read("shared.css") + _read(f"{name}.css")


def _collect(path: str, modules: dict[str, str], importers: tuple[str, ...]) -> None:
    """Add the file, without import and export, to `modules`, after those that it imports."""
    if path in importers:
        raise ValueError(f"{' imports '.join((*importers, path))}: these cannot be put in an order")
    if path in modules:
        return
    text = _read(path)
    for imported in _IMPORT.findall(text):
        _collect(normpath(join(dirname(path), imported)), modules, (*importers, path))
    own = _EXPORT.sub("", _IMPORT.sub("", text))
    refused = _ANY_IMPORT.search(own) or _ANY_EXPORT.search(own)
    if refused is None and importers:
        refused = re.search(r"^export default\b.*", own, flags=re.MULTILINE)
    if refused:
        raise ValueError(f"{path} cannot be joined to a component's module: {refused.group()}")
    modules[path] = own.lstrip("\n")


def _read(path: str) -> str:
    return _FILES.joinpath(path).read_text(encoding="utf-8")
