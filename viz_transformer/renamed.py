"""Old names of public things, which work for one version more, with a DeprecationWarning that says the new one."""

from __future__ import annotations

from typing import Any
from warnings import warn


class Renamed:
    """An attribute under its old name: `anatomy = Renamed("spec")` in a class body."""

    def __init__(self, new: str) -> None:
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = f"{owner.__name__}.{name}"

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        warn(f"{self.old} is now called {self.new}", DeprecationWarning, stacklevel=2)
        return getattr(instance, self.new)
