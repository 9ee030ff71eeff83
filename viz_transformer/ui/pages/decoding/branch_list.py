"""The branches of an answer as a small tree: look at one, compare it, rename it, close it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.figures import labels
from viz_transformer.numerals import significant
from viz_transformer.running.forks import unsure
from viz_transformer.ui.frame import text
from viz_transformer.ui.frame.drawn import Button, Drawn, Group, Heading, Text, Widget
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.pages.decoding.branch_views import draw_comparison
from viz_transformer.ui.session import branches, cached
from viz_transformer.ui.session.generation_config import LONGEST_NAME, Branch
from viz_transformer.ui.session.runs import ProgressBar, RunView
from viz_transformer.ui.session.waiting import waiting

SHORT = 90


def draw_branches(shown: RunView, chosen: Chosen, site: Sequence[Drawn] = ()) -> Iterator[Drawn]:
    """The tree of branches, the controls for a new one, and the chosen branch compared with another.

    site: the controls of the attention that is compared.
    """
    grown: tuple[Branch, ...] = chosen["branches"]
    with waiting(words.WRITING_BRANCHES, st.empty()):
        found = {number: _find_run(shown, chosen, number) for number in range(len(grown) + 1)}
    rows: list[Drawn] = [_draw_row(number, found[number], chosen) for number in _sort_branches(grown)]
    yield Group(parts=[*rows, Widget(put=partial(_put_name_box, grown, chosen["branch"]))], key="branch_rows")
    yield Widget(put=partial(_put_fork, shown))
    if not grown:
        yield Text(said=words.NO_BRANCHES)
        return
    other = chosen["branch_b"]
    if other is None or other == chosen["branch"]:
        yield Text(said=words.COMPARE_TWO)
        return
    a, b = (found[number] for number in (chosen["branch"], other))
    if isinstance(a, RunView) and isinstance(b, RunView):
        names = [branches.name(grown, number) for number in (chosen["branch"], other)]
        yield Heading(said=words.side_by_side(*names))
        yield from draw_comparison(a, b, chosen, site)


def draw_branch(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The chosen branch beside its steps: its answer, its comparison, and the way back."""
    number = chosen["branch"]
    if not number or both.main is not both.a:
        return
    branch = chosen["branches"][number - 1]
    other = chosen["branch_b"] if chosen["branch_b"] not in (None, number) else 0
    compare = words.COMPARE_WITH_ANSWER
    if other:
        compare = words.compare_with(text.literal(branches.name(chosen["branches"], other)))
    said, begins = labels.sentence(both.a.run.text) or words.NOTHING, labels.isolate(branch.name)
    compared = {"branch_b": other, "dec_tab": "branches"}
    parts = (
        Text(said=said, style="vt-branch", lead=words.branch_begins(begins, branch.step)),
        Button(label=compare, key="branch_here_compare", fields=compared, kind="secondary"),
        Button(label=words.CLOSE, key="branch_here_close", does=partial(branches.close, number), kind="secondary"),
    )
    yield Group(parts=parts, key="branch_here", aligned="center")


def take(shown: RunView, step: int, token_id: int) -> None:
    """Add a branch with another token at a step, named after the token."""
    if step >= len(shown.run.steps):
        return
    written = shown.run.steps[step]
    if token_id < len(written.vocabulary) and token_id != written.token_id:
        branches.grow(step, (token_id,), written.vocabulary[token_id], first_row=step_row(shown.run, 0))


def grow_from(shown: RunView, ids: Sequence[int], called: str) -> None:
    """Add a branch that begins with these ids; it leaves the answer where the two first differ."""
    written = [each.token_id for each in shown.run.steps]
    same = next((place for place, pair in enumerate(zip(ids, written, strict=False)) if pair[0] != pair[1]), None)
    if same is None:
        same = max(0, min(len(ids), len(written)) - 1)
    branches.grow(same, ids[same:], called, first_row=step_row(shown.run, 0))


def _put_fork(shown: RunView) -> None:
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


def _find_run(shown: RunView, chosen: Chosen, number: int) -> RunView | str:
    """The run of a branch, or a sentence on why there is none.

    There is no stop button: the page is complete, and any choice on it ends the wait."""
    watched = ProgressBar(stoppable=False)
    try:
        how = branches.how_of(shown.summary, chosen, number, progress=watched)
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


def _draw_row(number: int, found: RunView | str, chosen: Chosen) -> Group:
    """One branch: where it left its parent, its answer, and its buttons."""
    grown: tuple[Branch, ...] = chosen["branches"]
    depth, looked_at = _depth(grown, number), number == chosen["branch"]
    if isinstance(found, str):
        said = Text(said=f"{found}.", tone="bad")
    else:
        begins = None if number == 0 else grown[number - 1].step
        written = labels.shorten(labels.sentence(found.run.text) if found.run.text else words.NOTHING, SHORT)
        log_prob, count = words.log_probability(found.run.log_prob), len(found.run.steps)
        said = Text(
            said=words.branch_says(begins, written, log_prob, count),
            style="vt-branch vt-branch-shown" if looked_at else "vt-branch",
            lead=f"{'    ' * max(0, depth - 1)}{'└ ' if depth else ''}{branches.name(grown, number)}  ",
        )
    compared = number == chosen["branch_b"] and not looked_at
    # Neither is switched off, or drawn as another one, by being pressed: it would lose the keyboard's focus.
    parts = (
        Group(parts=[said], key=f"branch_words_{number}"),
        Button(
            label=words.SHOWN if looked_at else words.SHOW,
            key=f"branch_show_{number}",
            does=partial(branches.look_at, number),
            kind="secondary",
        ),
        Button(
            label=words.COMPARED if compared else words.COMPARE,
            key=f"branch_compare_{number}",
            fields={"branch_b": number},
            disabled=looked_at,
            kind="secondary",
        ),
        Button(
            label=words.CLOSE,
            key=f"branch_close_{number}",
            does=partial(branches.close, number),
            disabled=number == 0,
            kind="secondary",
        ),
    )
    return Group(parts=parts, key=f"branch_{number}", aligned="center")


def _put_name_box(grown: tuple[Branch, ...], number: int) -> None:
    """Draw the box for the chosen branch's name; the strategy's own answer keeps its name."""
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
