"""What every page has: the selected model in the sidebar, the wait for the imports, remarks on the selection."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from time import sleep
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from viz_transformer import analysis, extensions
from viz_transformer.analysis.decoding.doubt import most_doubtful
from viz_transformer.checkpoint.contents import Summary, Unreadable
from viz_transformer.checkpoint.grading import standing_of
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.figures import labels
from viz_transformer.figures.components.model_maps import Looks, locator_data
from viz_transformer.figures.enlarged import enlarged
from viz_transformer.figures.theme import Theme
from viz_transformer.huggingface.folder import HuggingFaceSummary
from viz_transformer.model.hooked_model import ReplayMismatch, Unavailable
from viz_transformer.model.kinds import KINDS, kinds_of
from viz_transformer.sentences import capitalised, quote
from viz_transformer.ui import compat
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.components.every_page import MENU_HEIGHT, keep_back_button, saving, sheet
from viz_transformer.ui.components.keys import keys
from viz_transformer.ui.components.pictures import Asked, chip_rows, locator
from viz_transformer.ui.components.selection import hear_picks, tell_chosen
from viz_transformer.ui.frame import controls, links, opening, problems, projector, text, words
from viz_transformer.ui.session import cached, examples, passes, state
from viz_transformer.ui.session.branches import how_of
from viz_transformer.ui.session.fields import ShownName
from viz_transformer.ui.session.generation_config import GenerationConfig
from viz_transformer.ui.session.memory import collect_at_rest
from viz_transformer.ui.session.runs import ProgressBar, load
from viz_transformer.ui.session.waiting import waiting

if TYPE_CHECKING:
    from pathlib import Path

    from plotly.graph_objects import Figure

    from viz_transformer.ui.session.runs import RunView

Rows = Literal["none", "last", "chosen"]
"""Which decoder rows a page shows."""

_STAGE, _RUN, _MODELS, _UNUSED = "page_stage", "page_run", "page_models", "page_unused"
_CAPTION, _WAIT = "page_caption", "page_wait"
TABLE_ASKED, TABLE_OPEN = "table_asked", "table_open"
"""Where the session keeps the key of the table that was asked for, until it is closed; whether this run shows it."""
LOOKS: Mapping[str, Looks] = {
    "Run": "kind",
    "Decoding": "output",
    "Input": "input_side",
    "Positions": "pos_stack",
    "Attention": "kind",
    "One weight": "kind",
    "Layers": "part",
    "Tensors": "point",
    "Masks": "mask_kind",
}
"""Where in the model each page looks, by its title; pages that are not here look at no part of it."""
LOOKS_OF_RECORDING: Mapping[str, Looks] = {"Attention": "kind", "Layers": "layer", "Tensors": "point"}
"""The same of a recording, which the other pages do not show."""
A_MOMENT = 0.1  # seconds: some frames of the browser


def start_page(files: Mapping[str, Path | st.Page] = links.NOWHERE, title: str = "") -> None:
    """What comes after the heading in each run: the selection as the address has it, and the pages there are.

    title: of the page, which may have an example of its own for a session that begins there.
    """
    compat.patch()
    links.begin(files)
    problems.begin()
    for of_last_run in (_RUN, _STAGE, _CAPTION, TABLE_OPEN, _MODELS, _UNUSED):
        st.session_state.pop(of_last_run, None)
    found = {summary.name: summary for summary in cached.summaries()}
    opens = examples.OPENINGS.get(title, {})
    state.start([*found], lambda name: examples.list_examples(found[name]) if name in found else (), opens)


def title(name: str) -> None:
    """The heading of a page that runs without app.py around it, and so begins for itself; else it is there already.

    Until st.navigation has run once in a server, Streamlit takes the files in pages/ for the navigation and runs the
    one in the address without app.py: then this run is given up for one with it.
    """
    if state.begun():
        return
    if compat.give_up_pages_folder():
        st.rerun()
    opening.heading(name)
    start_page(title=name)


def sidebar(title: str) -> None:
    """Under the pages the choice of the model and the model's parts, marked where the page of this title looks."""
    names, summary = [*models()], select_summary()
    with st.sidebar:
        hear_picks(state.pick, state.keep_after_loss)
        if names:
            st.selectbox(words.MODEL, names, **state.widget_args("checkpoint", key="sidebar_model"))
            if isinstance(summary, HuggingFaceSummary):
                st.session_state[_UNUSED] = st.empty()
                _say_unused(summary)
        if not isinstance(summary, str):
            _standing(summary)
            is_recording = isinstance(summary, RecordingSummary)
            looks = (LOOKS_OF_RECORDING if is_recording else LOOKS).get(title, "") or _looks_of_extension(title)
            locator(locator_data(summary.spec, looks, state.selection()), key="locator")
        projected = state.widget_args(
            "projector", key="sidebar_projector", value=projector.is_on(), taken=lambda on: "on" if on else "off"
        )
        st.toggle(words.PROJECTOR, **projected)
        keep_back_button()


def _looks_of_extension(title: str) -> Looks:
    """Where in the model a page of another package looks."""
    found: Looks = getattr(extensions.load_extension(extensions.PAGES, title), "looks", "")
    return found


def _say_unused(summary: Summary) -> None:
    """Name the tensors that take no part in a run, beside the model's name; nothing before the model is loaded."""
    if (found := cached.describe_unused(summary)) is not None:
        with st.session_state[_UNUSED]:
            text.paragraph(words.unused(found[0]), tone="warning", detail=found[1])


def _standing(summary: Summary) -> None:
    """How well it is known that an imported model is read as it was trained, below its name."""
    if (standing := standing_of(summary.card)) is not None:
        said, style = capitalised(standing.words), "vt-note vt-standing"
        text.paragraph(said, style=style, tone=standing.tone, detail=standing.sentence)


def finish_page() -> None:
    """What comes last in each run: the selection, as this run has brought it into the model's bounds, goes out."""
    if _UNUSED in st.session_state and not isinstance(summary := select_summary(), str):
        _say_unused(summary)  # which the page may have loaded
    scenes, rows = take_scenes()
    with st.sidebar:
        keys(projector=projector.is_on(), scene=projector.scene(scenes), scenes=len(scenes), rows=rows)
        tell_chosen(state.picked_fields())
        sheet(st.session_state.get(_CAPTION) or _named(st.session_state.get(_RUN, "")))
    state.finish()
    if TABLE_OPEN not in st.session_state:
        st.session_state.pop(TABLE_ASKED, None)
    collect_at_rest(cached.store().join_steps)


def saved_as(title: str, *, of: str | None = None, rows: str = "") -> tuple[str, str]:
    """What a picture says below itself when it is saved, and its file's name: `of` what it is, where that is not the
    run that the page looks at; `rows`, of which pass they are; its title and the version."""
    of = st.session_state.get(_RUN, "") if of is None else of
    return _named(of, title, rows), labels.file_name(of.split(",")[0], title)


def _named(what: str, *more: str) -> str:
    """A caption: what is seen, and the program that made it."""
    return words.by_this_program((what, *more))


def set_scenes(
    both: Runs, scenes: Sequence[str], words: str | None = None, *, rows: tuple[int, int] | None = None
) -> None:
    """Say which containers of the page are scenes, for the projector and its keys; shows one of them if it is on.

    `words` are what the caption says of the selection; without them that is kind, layer, heads and position. rows:
    those that have a step, where these are not all of this run's own.
    """
    shown = both.main
    first = analysis.step_row(shown.run, 0)
    own = KINDS[state.SHARED.now().kind].writes
    said = shown.caption(_in_words(shown, None if rows is None else rows[0]) if words is None else words, rows=own)
    scenes_of_page(scenes, said, rows=rows or (first, first + len(shown.run.steps) - 1))


def scenes_of_page(scenes: Sequence[str], caption: str, *, rows: tuple[int, int] | None = None) -> None:
    """As `stage`, on a page or part without a run: the caption in full, and the rows that have a step, if any."""
    st.session_state[_STAGE] = (tuple(scenes), rows)
    st.session_state[_CAPTION] = caption
    if projector.is_on():
        projector.show_scenes(scenes, caption)


def has_scenes() -> bool:
    """Whether this run's page has stated its scenes already."""
    return _STAGE in st.session_state


def take_scenes() -> tuple[tuple[str, ...], tuple[int, int] | None]:
    """The scenes and the rows with steps that this run's page has stated, and forget them; none for a page without."""
    stated: tuple[tuple[str, ...], tuple[int, int] | None] = st.session_state.pop(_STAGE, ((), None))
    return stated


def _in_words(shown: RunView, first_row: int | None = None) -> str:
    """The selection as a projector's caption says it; first_row: as `clamp_to_run` has it."""
    chosen = clamp_to_run(shown, first_row)
    heads = chosen["heads"]
    which = heads if isinstance(heads, str) else words.of_heads(heads)
    kind = KINDS[chosen["kind"]]
    return words.selection(kind.words, chosen["layer"], which, kind.queries.name, chosen[kind.queries.field])


def theme() -> Theme:
    """The theme that the browser shows; light where there is no browser."""
    return "dark" if st.context.theme.type == "dark" else "light"


def place(key: str) -> DeltaGenerator:
    """A container whose height is kept while it is empty (page.css says which); Streamlit leaves out an empty one."""
    container = st.container(key=key)
    container.html('<i class="vt-anchor"></i>')
    return container


def paint_first(name: str) -> None:
    """Let the browser paint what this page has sent so far, where the page is new on the screen.

    What arrives together is painted together: tables, a second chart, and formulas and a listing, which take a browser
    half a second, would hold up the picture above them. A chart is drawn two frames after it has come, when it knows
    its width. A page that is shown already keeps all of them, so nothing is waited for.
    """
    if st.session_state.get(opening.SHOWN) != name:
        sleep(A_MOMENT)


def models() -> Mapping[str, Summary | Unreadable]:
    """All models by name, as they are when this run first asks for them."""
    if _MODELS not in st.session_state:
        st.session_state[_MODELS] = {summary.name: summary for summary in cached.summaries()}
    found: Mapping[str, Summary | Unreadable] = st.session_state[_MODELS]
    return found


def select_summary() -> Summary | str:
    """The selected model's folder, or a sentence that says why there is none."""
    summary = models().get(state.SHARED.now().checkpoint)
    if summary is None:
        return words.NO_MODELS
    return summary.error if isinstance(summary, Unreadable) else summary


@dataclass(frozen=True, eq=False)
class Runs:
    """The selected run A, the pinned run B if there is one, and which of them is shown."""

    a: RunView
    b: RunView | None = None
    looked_at: ShownName = "A"

    @property
    def main(self) -> RunView:
        """The run whose tokens label the axes."""
        return self.b if self.b is not None and self.looked_at == "B" else self.a

    @property
    def shown(self) -> tuple[RunView, ...]:
        """The run that is shown, or both."""
        return (self.a, self.b) if self.b is not None and self.compared else (self.main,)

    @property
    def difference(self) -> bool:
        """Whether A - B is shown."""
        return self.b is not None and self.looked_at == "A-B"

    @property
    def beside(self) -> bool:
        """Whether A and B are shown side by side."""
        return self.b is not None and self.looked_at == "A|B"

    @property
    def compared(self) -> bool:
        """Whether both are shown: side by side, or one less the other."""
        return self.difference or self.beside


def runs(
    status: DeltaGenerator,
    *,
    rows: Rows = "last",
    recording: str | None = None,
    steps: bool = False,
    by_step: bool = False,
) -> Runs | None:
    """The runs to look at, the selection brought into their bounds; None where a sentence in `status` says why.

    rows: which decoder rows the page shows, so that it can remark on their pass: those of the last one, or, if the
    page has `passes.choice`, each step's own where these are chosen. recording: the sentence that says why the page has
    nothing to show of a recording; None if it shows one. steps: the page is about steps, so a pinned run without any is
    left out, and a step that nobody chose is the one in most doubt. by_step: as `clamp_runs` has it.
    """
    summary = select_summary()
    if isinstance(summary, str):
        show_messages(status, error=summary)
        return None
    if isinstance(summary, RecordingSummary):
        if recording is not None:
            show_messages(status, *state.remarks(), refuse_recording(summary, recording))
            return None
        _keep_to(summary)
    elif not summary.spec.writes:
        _only_reads(summary)
    chosen = state.selection()
    try:
        both = Runs(load("A", summary, chosen["text"], chosen["target"], _selected_how(summary, status), status))
        state.keep_good()
    except ValueError as error:
        instead = problems.instead(summary, error, status)
        if instead is None:
            show_messages(status, *state.remarks(), error=str(error))
            return None
        both = Runs(instead)
    if steps and both.a.run.steps:
        state.start_at(analysis.step_row(both.a.run, 0) + most_doubtful(both.a.run.steps))
    if chosen["pin_checkpoint"] is not None:
        both = _with_pinned(both, status, recording, steps=steps)
    both = clamp_runs(both, rows=rows, by_step=by_step, status=status)
    for shown in both.shown:
        if said := _longer_than_proved(shown):
            state.remark(said if both.b is None else words.of_run(shown.name, said))
    if rows != "none":
        remark_on_passes(*both.shown, elsewhere=rows == "last")
    st.session_state[_RUN] = words.run_and_text(both.main.called, both.main.words())
    return both


def _longer_than_proved(shown: RunView) -> str:
    """The remark on a text that is longer than those for which the model's sample proves how it is read."""
    standing = standing_of(shown.summary.card)
    lengths = {"source": len(shown.trace.src), "target": len(shown.trace.tgt)}
    return "" if standing is None else standing.beyond(lengths)


def clamp_runs(both: Runs, *, rows: Rows, by_step: bool = False, status: DeltaGenerator | None = None) -> Runs:
    """The runs with the chosen rows, and the selection clamped to them; rows: as in `runs`. `status` says what is
    waited for.

    by_step: the page shows steps, so t is clamped to a row that has one; where both are shown, to one of the longer
    run, as steps count from A's first on: `clamp_to_run` gives those of each.
    """
    other = both.b if by_step and both.compared else None
    if by_step:
        clamp_step(both.main, other)
    clamp_selection(both.main, other)
    if rows == "chosen" and state.SHARED.now().rows == "own":
        b = None if both.b is None else passes.with_per_step_rows(both.b)
        both = replace(both, a=passes.with_per_step_rows(both.a), b=b)
    if status is not None and state.SHARED.now().heads == "rollout":
        for shown in both.shown:
            _roll_out(shown, status)
    follow(both.main)
    return both


def is_recording() -> bool:
    """Whether a recording of one call is selected, and no model."""
    return isinstance(select_summary(), RecordingSummary)


def refuse_recording(summary: RecordingSummary, why: str) -> str:
    """What a page says that has nothing to show of a recording."""
    return words.is_recording(summary.name, why)


def only_reads(summary: Summary) -> str:
    """What a page says that has nothing to show of a model that writes nothing."""
    return words.only_reads(summary.name)


def _keep_to(summary: RecordingSummary) -> None:
    """The text of a recording in the place of any other, and no way to write an answer."""
    now = state.SHARED.now()
    if now.text != summary.text or now.target is not None:
        state.remark(words.has_its_own_text(summary.name))
    state.clamp(text=summary.text, target=None, branches=(), branch=0, branch_b=None)


def _only_reads(summary: Summary) -> None:
    """No way to write an answer, for a model that writes none."""
    if state.SHARED.now().target is not None:
        state.remark(words.takes_no_answer(summary.name))
    state.clamp(target=None, branches=(), branch=0, branch_b=None)


def remark_on_passes(*shown: RunView | None, elsewhere: bool = True) -> None:
    """Say of which pass the decoder rows on the page are; of two runs, of which of them it is said.

    elsewhere: the page does not show each step's own rows, so it says which pages do.
    """
    found = {each.name: passes.describe_passes(each, elsewhere=elsewhere) for each in shown if each is not None}
    alike = len({*found.values()}) == 1
    for name, sentence in [*found.items()][: 1 if alike else None]:
        if sentence is not None:
            state.remark(sentence if alike else words.of_run(name, sentence))


def _selected_how(summary: Summary, status: DeltaGenerator) -> GenerationConfig:
    """How the branch that is selected is written; a branch that is not there is said, and the answer shown."""
    chosen = state.SHARED.now()
    if chosen.target is not None or not summary.spec.writes:
        return how_of(summary, state.selection(), 0)
    for name, number, instead in (("branch", chosen.branch, 0), ("branch_b", chosen.branch_b, None)):
        if (number or 0) > len(chosen.branches):
            state.remark(words.no_branch(number))
            state.clamp(**{name: instead})
    branch = state.SHARED.now().branch
    if branch == 0:
        return state.how()
    with waiting(words.RUNNING, status), ProgressBar() as progress:
        return how_of(summary, state.selection(), branch, progress=progress)


def _with_pinned(both: Runs, status: DeltaGenerator, recording: str | None, *, steps: bool) -> Runs:
    """The runs with B, or without it and a remark why; recording, steps: as `runs` has them."""
    chosen = state.SHARED.now()
    name = chosen.pin_checkpoint or ""
    summary = models().get(name)
    if isinstance(summary, RecordingSummary) and recording is not None:
        state.remark(words.of_run("B", refuse_recording(summary, recording)))
        return both
    if isinstance(summary, Summary) and steps and not summary.spec.writes:
        state.remark(words.of_run("B", only_reads(summary)))
        return both
    try:
        if summary is None or isinstance(summary, Unreadable):
            raise ValueError(f"the model {quote(name)} cannot be read")
        pinned = load("B", summary, chosen.pin_text or "", chosen.pin_target, chosen.pin_how or cached.GREEDILY, status)
        return Runs(both.a, pinned, chosen.shown or "A|B")
    except ValueError as error:
        state.remark(words.not_pinned(error))
        state.clamp(**state.PIN)
        return both


def _roll_out(shown: RunView, status: DeltaGenerator) -> None:
    """Make the rollout that is selected, which is kept: of a long text it takes seconds. Why there is none is said
    where it would stand."""
    chosen = state.SHARED.now()
    said = words.multiplying(shown.name if shown.name == "B" else "")
    watched = ProgressBar(stoppable=False, words=words.LAYERS_DONE)
    with waiting(said, status), watched as progress, suppress(ValueError):
        analysis.rollout_view(shown.trace, chosen.kind, chosen.layer, progress=progress)


def clamp_model(summary: Summary) -> None:
    """Bring kind, layer and heads into what this model has."""
    spec, name = summary.spec, summary.name
    state.fit_kind(kinds_of(spec), name)
    kind = KINDS[state.SHARED.now().kind]
    state.clamp_index("layer", kind.layers(spec), name)
    if (heads := spec.attentions.get(kind.site(state.SHARED.now().layer))) is not None:  # else it was not seen
        state.fit_heads(heads.query, name)


def clamp_selection(shown: RunView, other: RunView | None = None) -> None:
    """Bring kind, layer and heads into what this run has, and positions into what it has or the other one."""
    clamp_model(shown.summary)
    first, source, target = analysis.step_row(shown.run, 0), len(shown.trace.src), len(shown.trace.tgt)
    if other is not None:
        source = max(source, len(other.trace.src))
        target = max(target, len(other.trace.tgt), first + len(other.run.steps))
    state.fit_positions(source, target, first)


def clamp_step(shown: RunView, other: RunView | None = None) -> None:
    """Bring t to a row with a step, of this run or of the longer of two: padding and what is only read have none."""
    steps = max(len(each.run.steps) for each in (shown, other) if each is not None)
    if steps:
        state.clamp_step(analysis.step_row(shown.run, 0), steps)


def clamp_to_run(shown: RunView, first_row: int | None = None) -> dict[str, Any]:
    """The selection clamped to the positions of this run: the last one for any after its end.

    first_row: the row of the first step of the run by whose rows t is chosen, where that is another one.
    """
    chosen, trace = dict(state.selection()), shown.trace
    if first_row is not None and chosen["t"] is not None:
        chosen["t"] = max(0, chosen["t"] - first_row + analysis.step_row(shown.run, 0))
    for name, count in (("i", len(trace.src)), ("j", len(trace.src)), ("t", len(trace.tgt)), ("u", len(trace.tgt))):
        chosen[name] = min(chosen[name] or 0, max(count - 1, 0))
    return chosen


def status() -> DeltaGenerator:
    """Where the page says what there is to say of the selection, and what it waits for; its height is kept."""
    found = place("status").empty()
    set_waiting_place(found)
    return found


def set_waiting_place(place: DeltaGenerator) -> None:
    """Where the page says what it waits for."""
    st.session_state[_WAIT] = place


def wait(sentence: str) -> AbstractContextManager[None]:
    """Says what is being waited for, in the page's place for that."""
    return waiting(sentence, st.session_state[_WAIT])


def follow(shown: RunView) -> None:
    """Where nobody chose a key, choose the one with most weight in the chosen row."""
    chosen, following = clamp_to_run(shown), state.auto_fields()
    query, key = KINDS[chosen["kind"]].fields
    at = chosen[query]
    if query in following and query == "i" and at == 0:
        at = shown.first_position
    heads = chosen["heads"]
    head = heads if isinstance(heads, str) else heads[0]
    strongest = analysis.strongest_key(shown.trace, chosen["kind"], chosen["layer"], head, at)
    found = {query: at, key: strongest}
    state.clamp(**{name: value for name, value in found.items() if name in following and value is not None})


def strip_columns(*, pinned: bool = False) -> list[DeltaGenerator]:
    """Where the chips stand, and the pin."""
    return st.columns([4, 1.3] if pinned else [9, 1], gap="small")  # the second is as wide as its buttons (page.css)


def take_text(field: str, text: str) -> None:
    """A row of the strip was written anew: the text, or the answer that the model is given."""
    if field == "text":
        state.keep_typed(text)
    state.select(**{field: text})


def token_strip(both: Runs, *, by_step: bool = False, plays: bool = False) -> None:
    """The run as chips, or of two the answers under each other, and the pin that keeps it as B.

    by_step: of B the token of A's step is marked, not that of A's row. plays: the strip has the button that plays the
    steps, on a page whose pictures move with them and have none.
    """
    from viz_transformer.ui.frame import judging, token_strip

    left, right = strip_columns(pinned=both.b is not None)
    with left:
        chosen = state.selection()
        if both.main.recorded:
            rows = token_strip.recorded_data(both.main.run)
        elif both.b is not None and both.compared and not both.b.recorded:
            pair = (both.a.ckpt, both.a.run), (both.b.ckpt, both.b.run)
            known = judging.judgement(both.a).mark, judging.judgement(both.b).mark
            rows = token_strip.compared_data(*pair, chosen["text"], by_step=by_step, known=known)
        else:
            written = {"text": chosen["text"], "target": chosen["target"]} if both.main is both.a else {}
            rows = token_strip.chip_data(
                both.main.ckpt, both.main.run, **written, mark=judging.judgement(both.main).mark
            )
        chip_rows(rows, key="run_strip", on_text=take_text, plays=plays)
    with right.container(key="pin"):
        if both.b is None:
            st.button(
                words.PIN,
                key="pin_set",
                on_click=state.pin,
                args=(both.a.how,),
                help=words.PIN_HELP,
                type="tertiary",
            )
            token_strip.offer(both.a)
            return
        names = words.both_called([words.called(each.name, each.called, each.words()) for each in (both.a, both.b)])
        controls.buttons(
            words.SHOWN_RUN,
            words.SHOWN,
            "shown",
            key="pin_shown",
            value=both.looked_at,
            hidden=True,
            help=text.literal(names),
        )
        with st.container(horizontal=True, vertical_alignment="center", key="pin_what"):
            what = words.of_run("B", token_strip.what_b_is(both.a, both.b))
            text.paragraph(what, style="vt-note vt-pinned", detail=what)  # which may be cut
            st.button(words.UNPIN, key="pin_off", on_click=state.unpin, type="tertiary")


@contextmanager
def optional_section(what: str) -> Iterator[None]:
    """Around a part of a page that asks a model for `what`: one that does not tell it gets a sentence there instead."""
    try:
        yield
    except Unavailable as error:
        text.paragraph(words.not_told(what, error))


@contextmanager
def guard_replay() -> Iterator[None]:
    """Around a page: where points of a run are not the same when they are recorded anew, that is said in the place of
    the rest."""
    try:
        yield
    except ReplayMismatch as error:
        text.paragraph(words.sentence(error), tone="bad")


def show_messages(place: DeltaGenerator, *sentences: str, error: str | None = None) -> None:
    """What is wrong, if anything, and the sentences, in `place`, which is cleared first."""
    with place.container():
        if error is not None:
            text.paragraph(error, tone="bad")
        for sentence in sentences:
            text.paragraph(sentence)


@dataclass(frozen=True, kw_only=True)
class ChartSize:
    """How large a chart is drawn.

    On a projector it is enlarged so many times as it `grows`, but not to be higher than the `room` for it. One that
    `fills` is its page's picture: elsewhere it is as high as the window leaves it (page.css says how high), and at
    least as its own height says. One that is `drawn_for` a width in pixels is magnified with its letters where there is
    more room (page.css).
    """

    grows: float = 1.0
    room: float = projector.ROOM
    fills: bool = False
    drawn_for: int | None = None


def chart(
    figure: Figure,
    *,
    key: str,
    alt: str,
    size: ChartSize = ChartSize(),
    caption: str | None = None,
    rows: str = "",
    on_table: Asked | None = None,
) -> None:
    """A figure with its own colours, without plotly's tool bar, in a place that keeps its height.

    Under it, but not on a projector, a menu saves it with `caption`, which says of what it is; without one that is the
    run that the page looks at. `rows`, the figure's title (`alt` where it has none) and the version are added. The menu
    leads to its table where there is one: `on_table` is called when it is asked for.

    Streamlit makes a new chart of each new figure; for a moment there is none.
    """
    saved = not projector.is_on()
    fills, drawn_for = size.fills and saved, size.drawn_for if saved else None
    if not saved:
        figure = enlarged(figure, size.grows)
        figure.update_layout(height=min(figure.layout.height, size.room))
    height = int(figure.layout.height) + (MENU_HEIGHT if saved else 0)
    with st.container(key=key, height=height, border=False, gap=None):
        if fills or drawn_for:
            st.html(f'<i class="vt-anchor {"vt-fills" * fills} {"vt-drawn" * bool(drawn_for)}"></i>')
        if drawn_for:
            own = f"--vt-wide: {drawn_for}px; --vt-high: {int(figure.layout.height)}px"
            st.html(f'<style>[data-testid="stLayoutWrapper"]:has(> .st-key-{key}) {{ {own} }}</style>')
        st.plotly_chart(
            figure,
            height="stretch" if fills else "content",
            theme=None,
            key=f"{key}_figure",
            alt=alt,
            config={"displayModeBar": False, "doubleClick": False},
        )
        if saved:
            said, name = saved_as(html.unescape(figure.layout.title.text or alt), of=caption, rows=rows)
            saving(key, caption=said, name=name, on_table=on_table)
