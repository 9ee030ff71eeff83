"""The parts of the pages, a folder for each; no page imports another.

Importing this folder makes the fields of all pages known, which each page declares in its `fields.py`: an address has
fields of every page, whichever is shown. Nothing heavy is imported for that.
"""

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

for _page in iter_modules(__path__, f"{__name__}."):
    if _page.ispkg and find_spec(f"{_page.name}.fields") is not None:
        import_module(f"{_page.name}.fields")
