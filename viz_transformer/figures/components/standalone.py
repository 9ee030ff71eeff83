"""A component as self-contained HTML: module, style and payload in one page, without network or server."""

from __future__ import annotations

import os
import zlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

import numpy as np
import orjson

from viz_transformer.checkpoint.grading import Tone
from viz_transformer.checkpoint.writing import write_file
from viz_transformer.figures import theme
from viz_transformer.figures.components.source import standalone_javascript, style_sheet

# The page may run and style what it holds and save pictures; all else, the network above all, the browser refuses.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; {variables} }}
body {{ max-width: 992px; margin: 0; padding: 8px; background: var(--vt-page); }}
{style}</style>{note}
<div id="picture" data-chosen="{chosen}"></div>
<script type="text/plain" id="payload">{payload}</script>
<script type="module">
{script}</script>
</html>
"""


@dataclass(frozen=True, eq=False)
class HtmlFigure:
    """An interactive picture: a notebook shows it, and `save` writes it as one file.

    Every number in it is exact, as in the payload. Light or dark follows the reader's system.
    """

    component: str
    """The component of this folder that draws it."""
    data: bytes = field(repr=False)
    """The component's payload."""
    title: str
    chosen: Mapping[str, int | str | list[int]] = field(default_factory=dict)
    """The initial selection."""
    note: str = ""
    """A line above it, such as how well its model's loading is verified."""
    tone: Tone = "plain"
    """The colour of the note."""

    @property
    def html(self) -> str:
        """The whole page. The data are in it as base64, or escaped: no text becomes markup or script."""
        return _PAGE.format(
            policy=_POLICY,
            title=escape(self.title),
            variables=theme.css_variables(),
            style=style_sheet(self.component),
            note=self._render_note,
            chosen=escape(orjson.dumps(dict(self.chosen)).decode()),
            payload=b64encode(_compress(self.data)).decode(),
            script=standalone_javascript(self.component),
        )

    @property
    def _render_note(self) -> str:
        colour = "muted" if self.tone == "plain" else self.tone
        style = f"margin: 0 0 8px; font: 14px/20px sans-serif; color: var(--vt-{colour})"
        return f'\n<p id="note" style="{style}">{escape(self.note)}</p>' if self.note else ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page as one file, whole or not at all. Raises OutputError if it cannot be written."""
        write_file(path, self.html.encode("utf-8"))

    def _repr_html_(self) -> str:
        """The HTML for a notebook: the page in a frame, so that neither's style affects the other."""
        style = "width: 100%; height: 600px; border: 0"
        return f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}" style="{style}"></iframe>'


def _compress(data: bytes) -> bytes:
    """The data compressed, with the first bytes of all 4-byte numbers first, then the second ones, and so on: similar
    bytes are adjacent, which makes a map of weights a fifth smaller."""
    return zlib.compress(np.frombuffer(data, np.uint8).reshape(-1, 4).T.tobytes(), 9)
