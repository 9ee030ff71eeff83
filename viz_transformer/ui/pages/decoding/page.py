"""The Decoding page: the chosen step with its maps, and tabs with branches, beam tree, cache and a text to score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.inputs.hidden_texts import hidden_texts
from viz_transformer.figures import labels
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.ui.components.pictures import scrubber
from viz_transformer.ui.frame import frame, maps, projector, steps, text
from viz_transformer.ui.frame.drawn import (
    Button,
    CellLinks,
    Columns,
    Component,
    Drawn,
    Group,
    Map,
    Numbers,
    Text,
    Widget,
)
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen, Page, View
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.decoding import bars, question, words
from viz_transformer.ui.pages.decoding.beam_tree_view import draw_tree
from viz_transformer.ui.pages.decoding.branch_list import draw_branch, draw_branches, take
from viz_transformer.ui.pages.decoding.cache_view import draw_cache
from viz_transformer.ui.pages.decoding.score_view import draw_score, score_typed
from viz_transformer.ui.session import examples
from viz_transformer.ui.session.runs import RunView


def is_projected(chosen: Chosen) -> bool:
    return bool(chosen["projector"] == "on")


# ---- the chosen step: what it could write, and how that is chosen


def draw_step(both: Runs, chosen: Chosen) -> Drawn:
    """Each token's probability, before and after the strategy, and other tokens to take; of two runs at the same step
    of both."""
    if not both.beside or both.b is None:
        takes = both.main.target is None and not both.difference and both.main is both.a
        return _draw_candidates(both.main, takes=takes)
    first, takes = step_row(both.a.run, 0), both.a.target is None
    columns = [
        (
            Text(said=words.run_named(shown.name, shown.called, shown.words()), style="vt-note vt-pinned"),
            _draw_candidates(shown, takes=takes and shown is both.a, room=takes, first_row=first),
        )
        for shown in (both.a, both.b)
    ]
    return Columns(parts=columns, widths=(1, 1))


def _draw_candidates(shown: RunView, *, takes: bool, room: bool = False, first_row: int | None = None) -> Component:
    numbers = Numbers(
        frame=lambda: steps.candidate_table(shown),
        note=words.table_note(shown.caption(words.CANDIDATES), words.CANDIDATES_NOTE),
        name=labels.file_name(shown.summary.name, "candidates"),
    )
    return Component(
        draw=partial(scrubber, on_take=partial(take, shown)) if takes else scrubber,
        data=steps.scrubber_data(shown, strategy=True, takes=takes, room=room, first_row=first_row),
        key="decoding_steps_b" if shown.name == "B" and first_row is not None else "decoding_steps",
        numbers=numbers,
    )


def draw_settings(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The settings of the strategy, and texts at which bundled models are in doubt, each as a button that runs it."""
    yield _settings(both, below_each_other=not both.beside)
    there, now = frame.models(), (chosen["checkpoint"], chosen["text"])
    offered = [each for each in examples.DOUBTS if each.checkpoint in there and (each.checkpoint, each.text) != now]
    if not offered or both.beside or both.a.target is not None or is_projected(chosen):
        return
    buttons = [
        Button(
            label=text.literal(each.about),
            key=f"decoding_doubt_{place}",
            fields={"checkpoint": each.checkpoint, "text": each.text},
            help=text.literal(words.doubt_help(each.checkpoint, each.text)),
            kind="secondary",
            width="stretch",
        )
        for place, each in enumerate(offered)
    ]
    yield Group(parts=[Text(said=words.DOUBTS), *buttons], key="decoding_doubts")


def _settings(both: Runs, *, below_each_other: bool = False) -> Widget:
    return Widget(put=partial(bars.put_settings, both.a.ckpt.target_codec, below_each_other=below_each_other))


# ---- what the step read: the chosen branch, and where the chosen head looked, as texts and as a map


def draw_choices(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The chosen branch, and the choice of kind, layer and head."""
    yield from draw_branch(both, chosen)
    yield _site(both)


def _site(both: Runs) -> Widget:
    return Widget(put=partial(bars.put_site, both))


def draw_texts(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The chosen head's attention as shaded text of source and answer so far; of two runs in two columns."""
    if not both.beside or both.b is None:
        yield from _draw_texts(both.main, chosen, "" if both.b is None else f" ({both.main.name})")
        return
    begins = step_row(both.b.run, 0)
    if begins != step_row(both.a.run, 0):
        yield Text(said=words.begins_with_row(begins))
    columns = [[*_draw_texts(run, chosen, f" ({run.name})", own)] for run, own in ((both.a, ""), (both.b, "_b"))]
    yield Columns(parts=columns, widths=(1, 1))


def _draw_texts(shown: RunView, chosen: Chosen, which: str, own: str = "") -> Iterator[Drawn]:
    kinds: list[KindName] = ["cross", "decoder"] if shown.trace.spec.has_encoder else ["decoder"]
    for kind in kinds:
        try:
            picture = maps.picture(shown, {**chosen, "kind": kind, "options": ()})
        except ValueError as error:
            yield Text(said=f"{error}.", tone="bad")
            continue
        picture = picture.with_meta(title=words.SHADED[kind] + which, name=f"{picture.meta.name}-text")
        shaded = Map(picture=picture, key=f"decoding_shading_{kind}{own}", drawn_as="text", grows=True)
        yield Group(parts=[shaded], key=f"decoding_text_{kind}{own}")


def draw_map(shown: RunView, chosen: Chosen) -> Drawn:
    """The selected map; rows that are not written yet at the chosen step stay empty."""
    grows = KINDS[chosen["kind"]].writes
    return Map(picture=maps.picture(shown, chosen), key="decoding_matrix", follows=True, grows=grows)


# ---- the other tabs


def draw_tab(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The selected tab; beside the step, on a projector, the branches."""
    if both.compared and not is_projected(chosen):
        yield Text(said=words.A_ALONE)
    yield from TABS.get(chosen["dec_tab"], _draw_branches)(both, chosen)


def _draw_branches(both: Runs, chosen: Chosen) -> Iterable[Drawn]:
    if both.main.target is not None:
        return (Text(said=words.GIVEN_BRANCHES),)
    return draw_branches(both.main, chosen, _site_of_tab(both, chosen))


def _site_of_tab(both: Runs, chosen: Chosen) -> tuple[Drawn, ...]:
    """The bar above the maps of a tab, unless the step has it already."""
    return () if is_projected(chosen) else (_site(both),)


def _draw_tree(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    yield from draw_tree(both.main, chosen, _site_of_tab(both, chosen))
    if not is_projected(chosen):
        yield from bars.draw_generate(both.a.ckpt.target_codec)
        yield _settings(both)


TABS: Mapping[str, Callable[[Runs, Chosen], Iterable[Drawn]]] = {
    "tree": _draw_tree,
    "cache": lambda both, chosen: draw_cache(both.main, chosen),
    "score": lambda both, chosen: (draw_score(both.main, *score_typed(both.main, chosen["dec_text"])),),
}


# ---- where they stand, what the page asks and says


def is_step_open(both: Runs, chosen: Chosen) -> bool:
    """Whether the step is drawn; on a projector step and tab are scenes of one page."""
    return chosen["dec_tab"] == "step" or is_projected(chosen)


def lay_out_step(both: Runs, chosen: Chosen) -> Group | None:
    """Left what the step read, right what it could write; of two runs the bars of both, and below them what both
    read."""
    if not is_step_open(both, chosen):
        return None
    read = Group(parts=("decoding_choices", "decoding_looked", "decoding_growing", "decoding_links"), key="picture")
    if both.beside:
        return Group(parts=("panel", "decoding_formula", "decoding_how", read), key="decoding_step")
    writes: tuple[object, ...] = ("panel",)
    if both.a.target is None:
        writes = (Columns(parts=(("panel",), ("decoding_how",)), widths=(31, 14), gap="small"), "decoding_formula")
    return Group(parts=(Columns(parts=((read,), writes), widths=(45, 55)),), key="decoding_step")


def ask(both: Runs, chosen: Chosen) -> Question | None:
    """The question of the tab, or of the scene, by default the step's; None if that has to say why there is no
    answer."""
    tab, shown = chosen["dec_tab"], both.main
    if is_projected(chosen):
        below = SCENES[projector.scene(SCENES)] == "decoding_below"
        tab = "step" if not below else "branches" if tab == "step" else tab
    if tab == "step" and both.beside and both.b is not None:
        return question.compared(both.a, both.b, chosen["t"])
    if tab == "branches":
        return question.branches(shown, chosen["branches"])
    if tab == "tree":
        return question.tree(shown)
    if tab == "score":
        return question.score(shown, score_typed(shown, chosen["dec_text"])[0])
    try:
        return question.cache(shown) if tab == "cache" else question.question(shown, chosen["t"])
    except Unavailable:
        return None


def list_unread(shown: RunView) -> list[str]:
    """The unknown words of the source and of the answer's forced beginning, in a sentence."""
    sentence = labels.unknown_sentence(hidden_texts(shown.ckpt, shown.run.trace))
    return [f"{sentence}."] if sentence else []


def _of_step(key: str, draw: Callable[[Runs, Chosen], Drawn | Iterable[Drawn]], *, is_scene: bool = False) -> View:
    return View(key=key, draw_runs=draw, is_scene=is_scene, is_open=is_step_open)


# The bars at the right come first: a click on a candidate is about them.
VIEWS = (
    _of_step("panel", draw_step, is_scene=True),
    _of_step("decoding_how", draw_settings),
    _of_step("decoding_formula", lambda both, chosen: bars.draw_formula(both.a.ckpt.target_codec)),
    _of_step("decoding_choices", draw_choices),
    _of_step("decoding_looked", draw_texts, is_scene=True),
    View(key="decoding_growing", draw=draw_map, is_open=is_step_open),
    _of_step("decoding_links", lambda both, chosen: CellLinks(decoding=False)),
    View(
        key="decoding_below",
        draw_runs=draw_tab,
        is_open=lambda both, chosen: chosen["dec_tab"] != "step" or is_projected(chosen),
    ),
)
SCENES = tuple(view.key for view in VIEWS if view.is_scene)

PAGE = Page(
    title="Decoding",
    how=words.HOW,
    not_to_conclude=words.NOT,
    views=VIEWS,
    layout=lay_out_step,
    bar=bars.put_tabs_and_strategy,
    without_run=lambda: (*bars.draw_formula(None), Widget(put=partial(bars.put_settings, None))),
    refuse=lambda both: None if both.main.ckpt.spec.writes else frame.only_reads(both.main.summary),
    remarks=list_unread,
    ask_runs=ask,
    at_stop=lambda both, chosen: question.at_stop(both.main, chosen["t"]),
    ringed=(".st-key-panel >>> .scrubber", ".st-key-panel >>> .scrubber .stage", ".st-key-question"),
    looks="output",
    plays="projected",  # a scene may be without the button beside the bars
)
