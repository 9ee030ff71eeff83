"""What the wheel carries besides the package: the app, which is no importable module, and five checkpoints.

They lie inside the package, where `viz-transformer app` finds them. An editable install has them in the checkout.
"""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

APP = ("app.py", "pages", "static", ".streamlit")
CHECKPOINTS = ("numbers-any", "numbers", "numbers-tiny", "copy", "taylor-2terms")


class CustomBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            carried = (*APP, *(f"checkpoints/{name}" for name in CHECKPOINTS))
            build_data["force_include"].update({path: f"viz_transformer/_app/{path}" for path in carried})
