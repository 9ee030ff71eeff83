"""A run that cannot be made: why, what can be done, and the run that stays in view, dimmed, in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_transformer.text.readable import readable
from viz_transformer.text.shortening import TooLong, beginning
from viz_transformer.ui.frame import style, text, words
from viz_transformer.ui.frame.doubts import notation_ways
from viz_transformer.ui.session import cached, examples, state
from viz_transformer.ui.session.branches import how_of
from viz_transformer.ui.session.fields import ASKED
from viz_transformer.ui.session.runs import RunView, load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from viz_transformer.checkpoint.contents import Summary
    from viz_transformer.ui.compat import DeltaGenerator

_PROBLEM, _PLACE = "run_problem", "run_problem_place"


@dataclass(frozen=True)
class Problem:
    """Why the run that is asked for is not shown, and ways out: what a button says, and the fields that it changes."""

    sentence: str
    offers: tuple[tuple[str, Mapping[str, Any]], ...]


def begin() -> None:
    """No problem is known when a run of the app begins."""
    st.session_state.pop(_PROBLEM, None)


def set_problem_place(place: DeltaGenerator) -> None:
    """Where the page says a problem."""
    st.session_state[_PLACE] = place


def is_there() -> bool:
    """Whether this run of the app has met a problem, and said it."""
    return _PROBLEM in st.session_state


def instead(summary: Summary, error: ValueError, status: DeltaGenerator) -> RunView | None:
    """The run to show where the one that is selected cannot be made: the last good one of this model, or else that of
    its first example, or of the first tokens of its vocabulary; None if there is none either."""
    chosen, good = state.selection(), state.last_good()
    ways: tuple[tuple[str, Mapping[str, Any]], ...]
    try:
        if good is not None and good["checkpoint"] == chosen["checkpoint"]:
            how = how_of(summary, good, good["branch"])
            shown = load("A", summary, good["text"], good["target"], how, status)
            same = all(good[name] == chosen[name] for name in ASKED)
            ways = ((words.BACK, {name: value for name, value in good.items() if name not in ASKED or not same}),)
        elif (first := _first_text(summary)) is not None:
            shown = load("A", summary, first, None, cached.GREEDILY, status)
            same = False
            ways = ((words.EXAMPLE, {"text": first, "target": None, "masked": ()}),)
            if good is not None:  # of another model
                ways += ((words.BACK, good),)
        else:
            return None
    except ValueError:
        return None
    whose = words.LAST_ANSWER if same else words.run_of(shown.words())
    problem = Problem(
        words.greyed_out(error, whose),
        (*notation_ways(summary, chosen["text"]), *_shorter(shown, error), *ways),
    )
    st.session_state[_PROBLEM] = problem
    with st.session_state[_PLACE].container():
        show_problem(problem)
    style.dim()
    return shown


def _first_text(summary: Summary) -> str | None:
    """A text that the model can read: of a model that came without any, some of its own tokens. Raises ValueError for a
    model that cannot be loaded."""
    if offered := examples.list_examples(summary):
        return offered[0]
    ckpt = cached.checkpoint(summary)
    codec = ckpt.source_codec or ckpt.target_codec
    return None if codec is None else readable(codec)


def _shorter(shown: RunView, error: ValueError) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The beginning of the text that the model would read."""
    if not isinstance(error, TooLong):
        return ()
    field = "text" if error.what == "source" else "target"
    codec = shown.ckpt.codec("source" if field == "text" and shown.ckpt.spec.has_encoder else "target")
    cut = beginning(codec, state.selection()[field], error.most)
    return ((words.use_first(error.most), {field: cut}),) if cut else ()


def show_problem(problem: Problem) -> None:
    """The sentence, and a button for each way out."""
    with st.container(horizontal=True, vertical_alignment="center", key="problem"):
        text.paragraph(problem.sentence, tone="bad")
        show_ways(problem.offers, key="problem")


def show_ways(ways: Sequence[tuple[str, Mapping[str, Any]]], *, key: str) -> None:
    """A button for each, that changes these fields."""
    typed = state.SHARED.now().text
    for number, (label, fields) in enumerate(ways):
        replaces = bool(typed.strip()) and fields.get("text", typed) != typed
        st.button(
            text.literal(label),
            key=f"{key}_{number}",
            help=words.YOUR_TEXT_STAYS if replaces else None,
            on_click=_take,
            args=(dict(fields),),
        )


def _take(fields: Mapping[str, Any]) -> None:
    state.select(**fields)
