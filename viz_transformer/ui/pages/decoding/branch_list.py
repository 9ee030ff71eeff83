"""The branches of an answer as a small tree: look at one, compare it, rename it, close it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.figures import labels
from viz_transformer.numerals import significant
from viz_transformer.running.forks import unsure
from viz_transformer.ui.frame import text
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.pages.decoding.branch_views import comparison
from viz_transformer.ui.session import branches, cached, state
from viz_transformer.ui.session.generation_config import LONGEST_NAME, Branch
from viz_transformer.ui.session.runs import ProgressBar, RunView
from viz_transformer.ui.session.waiting import waiting

SHORT = 90


def show_branches(shown: RunView, site: Callable[[], None] = lambda: None) -> None:
    """Draw the tree of branches, the controls for a new one, and the chosen branch compared with another.

    site: draws the controls of the attention that is compared.
    """
    chosen = state.SHARED.now()
    grown: tuple[Branch, ...] = chosen.branches
    with waiting(words.WRITING_BRANCHES, st.empty()):
        found = {number: _find_run(shown, number) for number in range(len(grown) + 1)}
    with st.container(key="branch_rows"):
        for number in _sort_branches(grown):
            _draw_row(number, found[number], grown)
        _draw_name_box(grown)
    _draw_fork(shown)
    if not grown:
        text.paragraph(words.NO_BRANCHES)
        return
    other = chosen.branch_b
    if other is None or other == chosen.branch:
        text.paragraph(words.COMPARE_TWO)
        return
    a, b = (found[number] for number in (chosen.branch, other))
    if isinstance(a, RunView) and isinstance(b, RunView):
        names = [branches.name(grown, number) for number in (chosen.branch, other)]
        text.section(words.side_by_side(*names))
        comparison(a, b, site)


def here(shown: RunView) -> None:
    """Draw the chosen branch beside its steps: its answer, its comparison, and the way back."""
    chosen = state.SHARED.now()
    if not chosen.branch:
        return
    branch = chosen.branches[chosen.branch - 1]
    other = chosen.branch_b if chosen.branch_b not in (None, chosen.branch) else 0
    against = branches.name(chosen.branches, other)
    with st.container(horizontal=True, key="branch_here", vertical_alignment="center"):
        written = labels.sentence(shown.run.text) or words.NOTHING
        text.paragraph(written, style="vt-branch", lead=words.branch_begins(labels.isolate(branch.name), branch.step))
        st.button(
            words.COMPARE_WITH_ANSWER if other == 0 else words.compare_with(text.literal(against)),
            key="branch_here_compare",
            on_click=state.select,
            kwargs={"branch_b": other, "dec_tab": "branches"},
        )
        st.button(words.CLOSE, key="branch_here_close", on_click=branches.close, args=(chosen.branch,))


def _draw_fork(shown: RunView) -> None:
    """Draw the button for a branch at the first step where the model is unsure, with its second choice."""
    with st.container(horizontal=True, key="branch_fork", vertical_alignment="bottom"):
        below = st.number_input(
            words.FORK_BELOW, min_value=0.0, max_value=1.0, value=0.5, step=0.05, width=160, key="branch_below"
        )
        found = unsure(shown.run, below)
        if found is None:
            text.paragraph(words.nothing_unsure(significant(below, 6)))
            return
        step, other = found
        st.button(
            text.literal(words.fork_at(step.index, labels.visible(other.token))),
            key="branch_fork_now",
            help=words.FORK_HELP,
            on_click=branches.grow,
            args=(step.index, (other.token_id,), other.token),
            kwargs={"first_row": step_row(shown.run, 0)},
        )
        written = labels.shorten(labels.visible(step.token), 24)
        share, instead = (labels.share(numerals.exponential(each.log_prob)) for each in (other, step))
        text.paragraph(words.fork_shares(share, written, instead))


def _find_run(shown: RunView, number: int) -> RunView | str:
    """The run of a branch, or a sentence on why there is none.

    There is no stop button: the page is complete, and any choice on it ends the wait."""
    watched = ProgressBar(stoppable=False)
    try:
        how = branches.how_of(shown.summary, state.selection(), number, progress=watched)
        run = cached.run(shown.summary, shown.text, how=how, progress=watched)
    except ValueError as error:
        return str(error)
    return RunView(shown.name, shown.summary, shown.text, shown.ckpt, run, how=how)


def _sort_branches(grown: tuple[Branch, ...]) -> list[int]:
    """All branches, each after its parent."""

    def below(number: int) -> list[int]:
        children = [place for place, branch in enumerate(grown, start=1) if branch.parent == number]
        return [number, *(each for child in children for each in below(child))]

    return below(0)


def _depth(grown: tuple[Branch, ...], number: int) -> int:
    return 0 if number == 0 else 1 + _depth(grown, grown[number - 1].parent)


def _draw_row(number: int, found: RunView | str, grown: tuple[Branch, ...]) -> None:
    """Draw one branch: where it left its parent, its answer, and its buttons."""
    chosen = state.SHARED.now()
    called, depth = branches.name(grown, number), _depth(grown, number)
    looked_at = number == chosen.branch
    with st.container(key=f"branch_{number}", horizontal=True, vertical_alignment="center"):
        with st.container(key=f"branch_words_{number}"):
            if isinstance(found, str):
                text.paragraph(f"{found}.", tone="bad")
            else:
                begins = None if number == 0 else grown[number - 1].step
                written = labels.shorten(labels.sentence(found.run.text) if found.run.text else words.NOTHING, SHORT)
                log_prob, count = words.log_probability(found.run.log_prob), len(found.run.steps)
                said = words.branch_says(begins, written, log_prob, count)
                style = "vt-branch vt-branch-shown" if looked_at else "vt-branch"
                lead = f"{'    ' * max(0, depth - 1)}{'└ ' if depth else ''}{called}  "
                text.paragraph(said, style=style, lead=lead)
        # Neither is switched off, or drawn as another one, by being pressed: it would lose the keyboard's focus.
        word = words.SHOWN if looked_at else words.SHOW
        st.button(word, key=f"branch_show_{number}", on_click=branches.look_at, args=(number,))
        compared = number == chosen.branch_b and not looked_at
        st.button(
            words.COMPARED if compared else words.COMPARE,
            key=f"branch_compare_{number}",
            disabled=looked_at,
            on_click=lambda: state.select(branch_b=number),
        )
        st.button(
            words.CLOSE,
            key=f"branch_close_{number}",
            disabled=number == 0,
            on_click=branches.close,
            args=(number,),
        )


def _draw_name_box(grown: tuple[Branch, ...]) -> None:
    """Draw the box for the chosen branch's name; the strategy's own answer keeps its name."""
    number = state.SHARED.now().branch
    if not number:
        return
    key = f"branch_name_{number}"
    st.session_state[key] = branches.name(grown, number)
    st.text_input(
        words.BRANCH_NAME,
        key=key,
        max_chars=LONGEST_NAME,
        width=280,
        autocomplete="off",
        on_change=lambda: branches.rename(number, st.session_state[key]),
    )
