"""The run in five stops: offered on *Run*; each stop is a page, with a few words of this run beside what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.ui.components.every_page import tour_panel
from viz_transformer.ui.frame import frame, links, projector, words
from viz_transformer.ui.session import state


@dataclass(frozen=True)
class Stop:
    """The title of a stop's page, and what happens there."""

    page: str
    does: str


BEGINS_ON = "Run"
STOPS = (
    Stop("Input", words.INPUT),
    Stop("Attention", words.ATTENTION),
    Stop("One weight", words.ONE_WEIGHT),
    Stop("Layers", words.LAYERS),
    Stop("Decoding", words.DECODING),
)
"""In the order of the forward pass."""
OF_A_READER = Stop("Run", words.OF_A_READER)
"""The last stop of a model that writes nothing."""

_OFFER, _FRESH, _TOLD = "tour_offer", "tour_fresh", "tour_told"


def stops() -> tuple[Stop, ...]:
    """The stops of the selected model's runs; none without a model, and for a recording of one call."""
    summary = frame.select_summary()
    if isinstance(summary, str | RecordingSummary):
        return ()
    return STOPS if summary.spec.writes else (*STOPS[:-1], OF_A_READER)


def begin(title: str) -> None:
    """Before the page of this title is drawn: whoever goes to another page than the next stop has left the tour."""
    memory = st.session_state
    memory.pop(_TOLD, None)
    number, walked = state.SHARED.now().stop, stops()
    if number and (number > len(walked) or walked[number - 1].page != title):
        state.clamp(stop=0)
    first = _FRESH not in memory
    memory[_FRESH] = title == BEGINS_ON and not number and (not st.query_params if first else memory[_FRESH])
    if title != BEGINS_ON and memory.get(_OFFER) == "open":
        memory[_OFFER] = "closed"


def offer() -> None:
    """The way to the first stop, beside the heading: until it is hidden or the page is left."""
    walked = stops()
    if not walked or not links.leads_to(walked[0].page) or st.session_state.setdefault(_OFFER, "open") == "closed":
        return
    with st.container(horizontal=True, vertical_alignment="center", key="tour"):
        links.link_to(walked[0].page, words.OFFER, stop="1")
        st.button(words.HIDE, key="tour_over", on_click=_close_offer, type="tertiary")


def _close_offer() -> None:
    st.session_state[_OFFER] = "closed"


def number() -> int:
    """The stop that this page is, from 1; 0 off the tour. *Run* is the first one for who opened the app without an
    address: the tour begins there by itself."""
    return state.SHARED.now().stop or int(st.session_state.get(_FRESH, False))


def tell(sentences: Callable[[], Sequence[str]], *ring: str, at: int | None = None) -> None:
    """What a page says at its stop; called by the page, and asked for the sentences only there.

    ring: what the sentences are about, as selectors; " >>> " leads into a component. The first that is on the page, and
    has room beside the panel, gets the ring. at: the stop, on a page that is not the same one for all models.
    """
    if not (here := number()) or at not in (None, here):
        return
    try:
        said = tuple(sentence.replace(" %", "\N{NO-BREAK SPACE}%") for sentence in sentences())
    except Unavailable as error:
        said = untold(error)
    st.session_state[_TOLD] = said, ring


def untold(error: Unavailable) -> tuple[str, ...]:
    """What is said at a stop that a model cannot tell of."""
    return (words.tells_nothing(error),)


def show_tour() -> None:
    """The panel of the stop that the page is, with the ways on and back; nothing off the tour."""
    here, walked = number(), stops()
    said, ring = st.session_state.pop(_TOLD, ((), ()))
    invited = state.SHARED.now().stop > 0
    if not here or not walked or not (said or invited):
        return
    onward = walked[here] if here < len(walked) else None
    scene = {"scene": "0"} if projector.is_on() else {}
    if here > 1:
        with st.container(key="stop_back"):
            links.link_to(walked[here - 2].page, words.STOP_BACK, stop=str(here - 1), **scene)
    with st.container(key="stop_next"):
        if onward is None:
            label, page, after = words.back_to(BEGINS_ON), BEGINS_ON, 0
        else:
            label, page, after = words.next_stop(here + 1, len(walked), onward.does), onward.page, here + 1
        links.link_to(page, label, stop=str(after), **scene)
    tour_panel(
        number=here,
        titles=[each.does for each in walked],
        sentences=said or (words.NOTHING_HERE,),
        ring=ring or (".st-key-question",),
        onward=label,
        invited=invited,
        on_leave=lambda: state.select(stop=0),
    )
