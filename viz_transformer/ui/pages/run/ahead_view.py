"""The run of a number that the slider passes, shown ahead of the page, which is not run for it."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from viz_transformer.payload import with_table
from viz_transformer.ui.components.ahead import Ahead, Paragraph, clear_ahead, show_ahead
from viz_transformer.ui.components.pictures import slider_count
from viz_transformer.ui.frame import frame, pictures, problems, questions, steps
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.judging import judgement
from viz_transformer.ui.frame.token_strip import answer_text, chip_data
from viz_transformer.ui.pages.run import passing, whole_view, words
from viz_transformer.ui.pages.run.fields import FIELDS
from viz_transformer.ui.pages.run.places import answer_style
from viz_transformer.ui.pages.run.question import chosen_question
from viz_transformer.ui.session import cached, state
from viz_transformer.ui.session.memory import collect_at_rest
from viz_transformer.ui.session.runs import RunView

QUESTION, ANSWER = ".st-key-question .vt-question", ".st-key-answer .vt-answer"


def can(both: Runs) -> bool:
    """Whether another run can replace this one: not beside a second run, not for a given or branched answer, and not
    where it already replaces a run that failed."""
    chosen = state.SHARED.now()
    alone = both.b is None and not problems.is_there()
    return alone and both.a.ckpt.spec.writes and chosen.target is None and chosen.branch == 0


@st.fragment(key=passing.FRAGMENT)
def place() -> None:
    """The fragment that shows a run ahead of the page. In a run of the page it has caught up; alone it runs the current
    selection, or the page if that cannot be shown ahead."""
    if not passing.passes():
        clear_ahead(state.SHARED.now().text)
        return
    state.preview()
    try:
        both = frame.clamp_runs(Runs(_shown()), rows="last" if _whole() else "chosen", by_step=_whole())
        show_ahead(_ahead(both))
    except ValueError:
        state.select()
        state.set_transient()
        st.rerun()
    collect_at_rest(cached.store().join_steps)


def _whole() -> bool:
    return FIELDS.now().run_view == "whole"


def _shown() -> RunView:
    """The selected run. Raises ValueError where it cannot be made."""
    summary, text, how = frame.select_summary(), state.SHARED.now().text, state.how()
    if isinstance(summary, str):
        raise ValueError(summary)
    run = cached.run(summary, text, None, how, _may_end)
    return RunView("A", summary, text, cached.checkpoint(summary), run, None, how)


def _may_end(done: int, most: int) -> None:
    """Let Streamlit end the fragment's run for a newer number: it does so when the session is read."""
    state.passes_through()


def _ahead(both: Runs) -> Ahead:
    """The content of the page's parts for this run. Raises ValueError where it cannot be drawn."""
    shown, selection, asked = both.main, state.selection(), None
    paragraphs, details, drawn = [], list[bytes](), None
    with suppress(ValueError):
        drawn = pictures.select_picture(both)
        asked = chosen_question(shown, drawn)
    paragraphs.append(Paragraph(QUESTION, *questions.line(asked)))
    if _whole():
        given, details = whole_view.ahead(shown)
        views = {"whole": given}
    elif drawn is None:
        raise ValueError("the map of this run cannot be drawn")
    else:
        lead, written = answer_text(shown.ckpt, shown.run)
        written = written or words.NOTHING
        paragraphs.append(Paragraph(ANSWER, lead, written, answer_style(written, lead)))
        views = {"matrix": drawn.pack(follows=True), "scrubber": steps.scrubber_data(shown)}
    return Ahead(
        text=shown.text,
        count=slider_count(passing.SLIDER),
        chosen=state.picked_fields(),
        rows=chip_data(shown.ckpt, shown.run, shown.text, selection["target"], judgement(shown).mark),
        paragraphs=paragraphs,
        pictures={name: with_table(data) for name, data in views.items()},
        details=details,
    )
