"""What the browser has ahead of *Run*: deeper levels of whole runs, and a run shown while the page itself is not run.

The run comes with everything that pictures and paragraphs would say. It is sent by one invisible component, at one
place of the page. The last message counts: a run, or that the page has caught up; a page without the component has
caught up as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from viz_transformer import payload
from viz_transformer.figures.components.source import javascript
from viz_transformer.ui.components.selection import last_heard_token

_ASKED = "whole_asked"
_detail = st.components.v2.component("viz_transformer_whole_detail", js=javascript("whole_detail"))
_ahead = st.components.v2.component("viz_transformer_ahead", js=javascript("ahead"))


@dataclass(frozen=True)
class Paragraph:
    """The new content of the paragraph that the selector `place` finds, as `text.paragraph` would draw it."""

    place: str
    lead: str
    text: str
    style: str


@dataclass(frozen=True)
class Ahead:
    """A run as it is shown ahead of the page.

    text: what is run. count: the number of the slider's move that asked for it. chosen: the selection, as
    `selection.tell_chosen` tells it. rows: those of the strip. pictures: the payload of each picture, by the name of
    its component. details: deeper levels of the whole run, each several together.
    """

    text: str
    count: int
    chosen: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    paragraphs: Sequence[Paragraph]
    pictures: Mapping[str, bytes]
    details: Sequence[bytes] = ()


def show_ahead(given: Ahead) -> None:
    """Show this run on the page, which has not been run for it."""
    _ahead(key="ahead_component", data=ahead_payload(given, last_heard_token()))


def clear_ahead(text: str) -> None:
    """The page itself shows this text: what was shown ahead of it is over."""
    _ahead(key="ahead_component", data=caught_up_payload(text))


def caught_up_payload(text: str) -> bytes:
    """A value that says that nothing is ahead of the page."""
    return payload.pack({"text": text})


def ahead_payload(given: Ahead, token: str) -> bytes:
    """The run as one value; `token`: of the last pick that Python received."""
    header = {
        "text": given.text,
        "run": {
            "count": given.count,
            "token": token,
            "chosen": given.chosen,
            "rows": given.rows,
            "paragraphs": [
                {"place": each.place, "lead": each.lead, "text": each.text, "style": f"{each.style} vt-plain"}
                for each in given.paragraphs
            ],
        },
    }
    details = {
        f"detail.{number}.{name}": payload.raw(array.tobytes())
        for number, together in enumerate(given.details)
        for name, array in payload.unpack(together)[1].items()
    }
    return payload.pack(header, **{name: payload.raw(data) for name, data in given.pictures.items()}, **details)


def whole_details(details: Sequence[bytes], answer: Callable[[Sequence[Mapping[str, Any]]], bytes]) -> None:
    """Tell the browser details of runs, each value several `together`. It keeps them, so what was visited is there.

    Each value has a component of its own, apart from the picture: Streamlit sends again only what has changed. What the
    browser lacks it asks for, by the places, and gets the answer without a run of the page. What answers stands before
    all of them: Streamlit knows a fragment by its place, and drops what is asked of one that has moved.
    """

    def asked() -> None:
        told = st.session_state.get(_ASKED)
        places = None if told is None else told.ask
        wanted = [each for each in places if isinstance(each, Mapping)] if isinstance(places, list) else []
        _detail(key=_ASKED, data=answer(wanted), on_ask_change=lambda: None)

    with st.container(key="details"):
        st.fragment(asked)()
        for number, data in enumerate(details):
            _detail(key=f"whole_detail_{number}", data=data)
