"""The names of the package, which are loaded when they are first used."""

from .hub import fetched as fetched
from .loading import check_device as check_device
from .loading import load_in_the_app as load_in_the_app
from .opening import open_folder as open_folder
from .parts import layout_of as layout_of
from .rounding import away as away

NEEDED: tuple[str, ...]
INSTALL: str

def needs(what: str) -> str: ...
def lacking() -> str | None: ...
