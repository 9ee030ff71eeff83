"""The key-value cache at a step: computed and reused positions, savings, and differences in the logits."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.decoding.caching import (
    CacheStep,
    UncachedDifference,
    Work,
    cache_of_run,
    convention,
    uncached_difference,
)
from viz_transformer.figures import labels
from viz_transformer.figures.caching import work_curves
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.numerals import nth
from viz_transformer.running.decoding import Run
from viz_transformer.running.stacked_steps import is_of_cached_steps
from viz_transformer.ui.frame import frame, pictures, projector, text
from viz_transformer.ui.frame import words as of_frame
from viz_transformer.ui.frame.drawn import Chart, Columns, Drawn, Group, Heading, Markup, Numbers, Text, Widget
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView
from viz_transformer.ui.session.waiting import waiting

MAX_CELLS = 256
_NAMED = 24  # positions whose tokens are above the picture; with more, only some of their numbers
_COMPARED = "cache_compared"


def draw_cache(shown: RunView, chosen: Chosen) -> Iterator[Drawn]:
    """The selected step with the cache, or the reason why there is none, or why its cost is not known."""
    if not shown.trace.info.get("cached"):
        yield Text(said=words.no_cache(shown.trace.info.get("reason", words.IN_ONE_PASS)))
        return
    try:
        parts = [*_draw_step(cache_of_run(shown.run), selected_step(shown.run, chosen["t"]), shown)]
    except Unavailable as error:
        yield Text(said=of_frame.not_told(words.NO_SIZES, error))
        return
    yield Group(parts=[*parts, Widget(put=partial(_put_without_cache, shown))], key="cache_view")


def _draw_step(steps: Sequence[CacheStep], index: int, shown: RunView) -> Iterator[Drawn]:
    """The computed and reused positions of a step, and the work of all steps."""
    counted = convention(shown.trace.config)
    token = labels.isolate(labels.visible(shown.run.steps[index].token))
    yield Heading(said=words.step_heading(index, token))
    yield Text(said=" ".join(step_sentences(steps[index], shown)))
    yield Markup(html=positions_html(steps[index], shown, steps[-1].positions))
    numbers = Numbers(
        frame=lambda: cache_table(steps, shown.run),
        note=words.table_note(shown.caption(words.CACHE), counted),
        name=labels.file_name(shown.summary.name, "cache"),
    )
    curves = Chart(
        figure=lambda theme: work_curves(
            [step.cached.total for step in steps],
            [step.whole.total for step in steps],
            title=words.WORK_TITLE,
            chosen=index,
            theme=theme,
        ),
        alt=words.WORK_ALT,
        numbers=numbers,
        key="cache_curves",
        size=frame.ChartSize(grows=1.4),
    )
    yield Columns(parts=((Markup(html=work_html(steps, index)), Text(said=counted)), (curves,)), widths=(5, 6))


def selected_step(run: Run, row: int) -> int:
    """The step of a row; the nearest one for a row without a step."""
    return min(max(row - step_row(run, 0), 0), len(run.steps) - 1)


# --- in words


def step_sentences(step: CacheStep, shown: RunView) -> list[str]:
    """Sentences on positions and bytes at a step."""
    layers = shown.trace.spec.decoder_layers
    sentences = [words.self_cached(step.self_computed, step.self_reused, step.positions, layers)]
    source = step.cross_computed + step.cross_reused
    if source and step.cross_computed:
        sentences.append(words.cross_computed(source))
    elif source:
        sentences.append(words.cross_reused(source))
    room = shown.trace.spec.max_target
    sentences.append(words.holds(size(step.bytes_held), size(step.bytes_allocated), room))
    if shown.run.tree is not None:
        sentences.append(words.of_one_hypothesis(shown.run.tree.beam.width))
    return sentences


def size(count: int) -> str:
    """The bytes in the largest unit that they fill."""
    if count < 1024:
        return words.in_bytes(count)
    unit, name = (1024, "KiB") if count < 1024**2 else (1024**2, "MiB")
    return f"{numerals.number(count / unit, 1, ',')} {name}"


# --- positions


def positions_html(step: CacheStep, shown: RunView, positions: int) -> text.Html:
    """The grid of layers x positions of self-attention and, below, of cross-attention, as HTML; shape and label show
    which were computed."""
    layers = shown.trace.spec.decoder_layers
    tokens = shown.trace.tgt_tokens[:positions]
    marks = ["old"] * step.self_reused + ["now"] * step.self_computed
    parts = [_grid("target", tokens, marks, layers)]
    if shown.trace.spec.has_encoder:
        marks = ["old"] * step.cross_reused + ["now"] * step.cross_computed
        parts.append(_grid("source", shown.trace.src_tokens, marks, layers))
    legend = "".join(
        f'<span><i class="vt-kv vt-kv-{name}"></i>{said}</span>' for name, said in words.CACHE_STATES.items()
    )
    return text.Html(f'<div class="vt-kv-grids">{"".join(parts)}</div><p class="vt-kv-legend">{legend}</p>')


def _grid(side: str, tokens: Sequence[str], marks: Sequence[str], layers: int) -> str:
    """One kind of attention. tokens: of all positions of the run; marks: of those that the step has."""
    first = max(0, len(tokens) - MAX_CELLS)
    states = [*marks, *["not"] * (len(tokens) - len(marks))][first:]
    shown = range(first, len(tokens))
    head = "".join(_heading(position, tokens[position], len(shown)) for position in shown)
    cells = "".join(
        f'<i class="vt-kv vt-kv-{mark}" title="{position} {html.escape(labels.visible(tokens[position]))}:'
        f' {words.CACHE_STATES[mark]}"></i>'
        for position, mark in zip(shown, states, strict=True)
    )
    rows = "".join(f"<span>{words.layer(layer)}</span>{cells}" for layer in range(layers))
    counts = [(states.count(mark), said) for mark, said in words.CACHE_STATES.items() if mark in states]
    title, note = words.CACHE_SITES[side], words.last_positions(MAX_CELLS, len(tokens)) if first else ""
    close = " vt-kv-close" if len(shown) > 2 * _NAMED else ""
    return (
        f'<figure class="vt-kv-{side}" role="img" aria-label="{words.grid_label(title, counts)}">'
        f"<figcaption>{title}{note}</figcaption>"
        f'<div class="vt-kv-grid{close}" style="grid-template-columns: 64px repeat({len(shown)}, minmax(2px, 72px))">'
        f"<span></span>{head}{rows}</div></figure>"
    )


def _heading(position: int, token: str, count: int) -> str:
    if count <= _NAMED:
        return f"<bdi>{html.escape(labels.shorten(labels.visible(token), 12))}</bdi>"
    every = 5 if count <= 80 else 20
    return f"<b>{position if position % every == 0 else ''}</b>"


# --- work


def work_html(steps: Sequence[CacheStep], index: int) -> text.Html:
    """The table of multiply-adds of the step and of the run so far, with the cache and as whole passes, as HTML."""
    step = steps[index]
    parts = words.WORK_PARTS.items()
    counts = [(said, getattr(step.cached, name), getattr(step.whole, name)) for name, said in parts]
    counts = [row for row in counts if row[2]]
    looks = [*[{}] * len(counts), {"class": "vt-kv-total"}, {"class": "vt-kv-total"}]
    counts.append((words.THIS_STEP, step.cached.total, step.whole.total))
    so_far = steps[: index + 1]
    ours, whole = sum(each.cached.total for each in so_far), sum(each.whole.total for each in so_far)
    counts.append((words.steps_so_far(index), ours, whole))
    rows = [(said, f"{ours:,}", f"{whole:,}", numerals.percent(1 - ours / whole)) for said, ours, whole in counts]
    return text.table(rows, head=words.WORK_HEAD, style="vt-kv-work", attributes=looks)


def cache_table(steps: Sequence[CacheStep], run: Run) -> pd.DataFrame:
    """The table of all numbers of all steps."""

    def parts(work: Work) -> list[int]:
        return [getattr(work, part) for part in words.WORK_PARTS]

    rows = [
        (
            nth(step.index),
            labels.visible(written.token),
            step.self_computed,
            step.self_reused,
            step.cross_computed,
            step.cross_reused,
            step.bytes_held,
            step.bytes_allocated,
            step.cached.total,
            step.whole.total,
            step.saved,
            *parts(step.cached),
            *parts(step.whole),
        )
        for step, written in zip(steps, run.steps, strict=True)
    ]
    return pd.DataFrame(rows, columns=[*words.CACHE_COLUMNS]).set_index(words.STEP)


# --- without the cache


def _put_without_cache(shown: RunView) -> None:
    """Draw the difference of the recorded logits from those of whole passes, computed on demand."""
    name = _name(shown.run)
    compared = st.session_state.get(_COMPARED) == name
    if projector.is_on() and not compared:
        return
    text.section(words.WITHOUT_CACHE)
    if not compared:
        count = len(shown.run.steps)
        st.button(
            words.COMPARE_PASSES,
            key="cache_compare",
            on_click=lambda: st.session_state.update({_COMPARED: name}),
            help=words.passes_help(count),
        )
        text.paragraph(words.passes_take(count))
        return
    with waiting(words.RUNNING_PASSES, st.empty()):
        found = _difference(name, shown)
    text.paragraph(" ".join(difference_sentences(found, shown.run)))
    pictures.table_button(
        lambda: difference_table(found, shown.run),
        note=words.table_note(shown.caption(words.LOGITS_WITHOUT), words.DIFFERENCE_NOTE),
        name=labels.file_name(shown.summary.name, "without-cache"),
        key="cache_without",
    )


def difference_sentences(found: UncachedDifference, run: Run) -> list[str]:
    """Sentences on the largest difference of all steps and its relative size."""
    if found.gap == 0:
        return [words.exactly_equal(found.in_one_pass, len(run.steps))]
    worst, logit = int(np.argmax(found.gaps)), numerals.number(float(found.logits.max()), 2)
    return [
        words.largest_difference(found.in_one_pass, f"{found.gap:.1e}", worst, logit, f"{found.relative:.1e}"),
        words.OTHER_ORDER,
    ]


def difference_table(found: UncachedDifference, run: Run) -> pd.DataFrame:
    """A row for each step."""
    columns = ([labels.visible(step.token) for step in run.steps], found.gaps, found.logits)
    steps = pd.RangeIndex(1, len(run.steps) + 1, name=words.STEP)
    return pd.DataFrame(dict(zip(words.DIFFERENCE_COLUMNS, columns, strict=True)), index=steps)


def _name(run: Run) -> str:
    """The cache key of a run: all its tokens and how it was recorded, since a trace's id has the input only."""
    how = "steps" if is_of_cached_steps(run.trace) else "pass"
    return " ".join((run.trace.id, how, *(str(step.token_id) for step in run.steps)))


@memoize(16)
def _difference(name: str, _shown: RunView) -> UncachedDifference:
    return uncached_difference(_shown.ckpt, _shown.run)
