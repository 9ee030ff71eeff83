"""The cache of keys and values at a step: what was computed, what was reused, what that saves, and what it changes."""

from __future__ import annotations

import html
from collections.abc import Sequence

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
from viz_transformer.numerals import nth
from viz_transformer.running.decoding import Run
from viz_transformer.running.joined import is_of_cached_steps
from viz_transformer.ui.components.pictures import Asked
from viz_transformer.ui.frame import frame, pictures, projector, text
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.kept import kept
from viz_transformer.ui.session.runs import Shown
from viz_transformer.ui.session.waiting import waiting

MOST_CELLS = 256
_NAMED = 24  # positions whose tokens stand over the picture; with more only some of their numbers do
_COMPARED = "cache_compared"
PARTS = {
    "projections": "query, key, value, output",
    "scores": "scores",
    "weighted_sums": "weighted sums",
    "feed_forward": "feed-forward",
    "output_layer": "output layer",
}


def show(shown: Shown) -> None:
    """The selected step with the cache, or the reason why this model has none."""
    if not shown.trace.info.get("cached"):
        text.paragraph(no_cache(shown.run))
        return
    with st.container(key="cache_view"):
        _step(cache_of_run(shown.run), selected_step(shown.run), shown)
        _without(shown)


def _step(steps: Sequence[CacheStep], index: int, shown: Shown) -> None:
    """What was computed in a step and what was reused, and the work of all steps."""
    counted = convention(shown.trace.config)
    token = labels.isolated(labels.visible(shown.run.steps[index].token))
    text.section(f"Step {nth(index)}, which writes “{token}”")
    text.paragraph(" ".join(step_sentences(steps[index], shown)))
    st.html(positions_html(steps[index], shown, steps[-1].positions))
    left, right = st.columns([5, 6], gap="medium")
    with left:
        st.html(work_html(steps, index))
        text.paragraph(counted)
    with right:
        asked = pictures.table(
            lambda: cache_table(steps, shown.run),
            note=f"{shown.caption('cache')}. {counted}",
            name=labels.file_name(shown.summary.name, "cache"),
            key="cache_curves",
        )
        _curves(steps, index, asked)


def no_cache(run: Run) -> str:
    """The sentence for a run whose steps were whole passes."""
    reason = run.trace.info.get("reason", "it was recorded in one pass")
    return f"This run has no cache: {reason}. Every step was a whole pass."


def selected_step(run: Run) -> int:
    """The step whose row is selected; the nearest one for a row without a step."""
    row = state.selection()["t"] or 0
    return min(max(row - step_row(run, 0), 0), len(run.steps) - 1)


# --- in words


def step_sentences(step: CacheStep, shown: Shown) -> list[str]:
    """Positions and bytes at a step."""
    layers = shown.trace.anatomy.decoder_layers
    each = "the one decoder layer" if layers == 1 else f"each of {layers} decoder layers"
    sentences = [
        f"Self-attention: keys and values of {step.self_computed} of {_positions(step.positions)} were computed in this"
        f" step, those of {step.self_reused} reused, in {each}."
    ]
    source = step.cross_computed + step.cross_reused
    if source and step.cross_computed:
        sentences.append(
            f"Cross-attention: keys and values of all {_positions(source, 'source ')} were computed, once for the run."
        )
    elif source:
        sentences.append(f"Cross-attention: none computed, all {_positions(source, 'source ')} reused since step 1.")
    most = shown.trace.anatomy.max_target
    sentences.append(
        f"The cache holds {size(step.bytes_held)} and has room for {most:,} positions: {size(step.bytes_allocated)} are"
        " allocated, float32."
    )
    if shown.run.tree is not None:
        width = shown.run.tree.beam.width
        sentences.append(
            f"This is for one hypothesis; the search kept up to {width} side by side, each with keys and values of its"
            " own."
        )
    return sentences


def _positions(count: int, which: str = "") -> str:
    return f"{count:,} {which}position{'' if count == 1 else 's'}"


def size(count: int) -> str:
    """Bytes in the largest unit that they fill."""
    if count < 1024:
        return f"{count} bytes"
    unit, name = (1024, "KiB") if count < 1024**2 else (1024**2, "MiB")
    return f"{numerals.number(count / unit, 1, ',')} {name}"


# --- positions


def positions_html(step: CacheStep, shown: Shown, positions: int) -> str:
    """Layers x positions of self-attention and, below, of cross-attention; form and word say what was done."""
    layers = shown.trace.anatomy.decoder_layers
    tokens = shown.trace.tgt_tokens[:positions]
    marks = ["old"] * step.self_reused + ["now"] * step.self_computed
    parts = [_grid("self-attention, positions of the target", "target", tokens, marks, layers)]
    if shown.trace.anatomy.has_encoder:
        marks = ["old"] * step.cross_reused + ["now"] * step.cross_computed
        parts.append(_grid("cross-attention, positions of the source", "source", shown.trace.src_tokens, marks, layers))
    legend = "".join(
        f'<span><i class="vt-kv vt-kv-{name}"></i>{said}</span>' for name, said in words.CACHE_STATES.items()
    )
    return f'<div class="vt-kv-grids">{"".join(parts)}</div><p class="vt-kv-legend">{legend}</p>'


def _grid(title: str, side: str, tokens: Sequence[str], marks: Sequence[str], layers: int) -> str:
    """One kind of attention. tokens: of all positions of the run; marks: of those that the step has."""
    first = max(0, len(tokens) - MOST_CELLS)
    states = [*marks, *["not"] * (len(tokens) - len(marks))][first:]
    shown = range(first, len(tokens))
    head = "".join(_heading(position, tokens[position], len(shown)) for position in shown)
    cells = "".join(
        f'<i class="vt-kv vt-kv-{mark}" title="{position} {html.escape(labels.visible(tokens[position]))}:'
        f' {words.CACHE_STATES[mark]}"></i>'
        for position, mark in zip(shown, states, strict=True)
    )
    rows = "".join(f"<span>layer {layer}</span>{cells}" for layer in range(layers))
    counts = ", ".join(f"{states.count(mark)} {said}" for mark, said in words.CACHE_STATES.items() if mark in states)
    note = f", the last {MOST_CELLS} of {len(tokens)}" if first else ""
    columns = f"grid-template-columns: 64px repeat({len(shown)}, minmax(2px, 72px))"
    close = " vt-kv-close" if len(shown) > 2 * _NAMED else ""
    return (
        f'<figure class="vt-kv-{side}" role="img" aria-label="{title}: {counts}, in each layer">'
        f'<figcaption>{title}{note}</figcaption><div class="vt-kv-grid{close}" style="{columns}">'
        f"<span></span>{head}{rows}</div></figure>"
    )


def _heading(position: int, token: str, count: int) -> str:
    if count <= _NAMED:
        return f"<bdi>{html.escape(labels.shorten(labels.visible(token), 12))}</bdi>"
    every = 5 if count <= 80 else 20
    return f"<b>{position if position % every == 0 else ''}</b>"


# --- work


def work_html(steps: Sequence[CacheStep], index: int) -> str:
    """Multiply-adds of the step and of the run so far, with the cache and as whole passes."""
    step = steps[index]
    counts = [(words, getattr(step.cached, name), getattr(step.whole, name)) for name, words in PARTS.items()]
    counts = [row for row in counts if row[2]]
    parts = len(counts)
    counts.append(("this step", step.cached.total, step.whole.total))
    name = "step 1" if index == 0 else f"steps 1 to {nth(index)}"
    so_far = steps[: index + 1]
    counts.append((name, sum(each.cached.total for each in so_far), sum(each.whole.total for each in so_far)))
    rows = [(words, f"{ours:,}", f"{whole:,}", numerals.percent(1 - ours / whole)) for words, ours, whole in counts]
    head = ("multiply-adds", "with cache", "whole pass", "saved")
    return text.table(rows, head=head, style="vt-kv-work", styles=[*[""] * parts, "vt-kv-total", "vt-kv-total"])


def _curves(steps: Sequence[CacheStep], index: int, asked: Asked) -> None:
    figure = work_curves(
        [step.cached.total for step in steps],
        [step.whole.total for step in steps],
        title="Work of each step",
        chosen=index,
        theme=frame.theme(),
    )
    alt = "Multiply-adds of each step, with the cache and as a whole pass"
    frame.chart(figure, key="cache_curves", alt=alt, grows=1.4, on_table=asked)


def cache_table(steps: Sequence[CacheStep], run: Run) -> pd.DataFrame:
    """All numbers of all steps."""

    def parts(work: Work, name: str) -> dict[str, int]:
        return {f"{name}: {words}": getattr(work, part) for part, words in PARTS.items()}

    rows = [
        {
            "step": nth(step.index),
            "token": labels.visible(written.token),
            "self, computed": step.self_computed,
            "self, reused": step.self_reused,
            "cross, computed": step.cross_computed,
            "cross, reused": step.cross_reused,
            "bytes held": step.bytes_held,
            "bytes allocated": step.bytes_allocated,
            "multiply-adds with cache": step.cached.total,
            "multiply-adds of a whole pass": step.whole.total,
            "saved": step.saved,
            **parts(step.cached, "with cache"),
            **parts(step.whole, "whole pass"),
        }
        for step, written in zip(steps, run.steps, strict=True)
    ]
    return pd.DataFrame(rows).set_index("step")


# --- without the cache


def _without(shown: Shown) -> None:
    """How far the logits of whole passes are from the recorded ones: computed when it is asked for."""
    name = _name(shown.run)
    compared = st.session_state.get(_COMPARED) == name
    if projector.is_on() and not compared:
        return
    text.section("The same run without a cache")
    if not compared:
        count = len(shown.run.steps)
        st.button(
            words.COMPARE_PASSES,
            key="cache_compare",
            on_click=lambda: st.session_state.update({_COMPARED: name}),
            help=f"Runs the decoder once more for each of {count} steps, over all tokens so far",
        )
        text.paragraph(f"Takes {count} whole passes, one for each step.")
        return
    with waiting("Running every step as a whole pass ...", st.empty()):
        found = _difference(name, shown)
    text.paragraph(" ".join(difference_sentences(found, shown.run)))
    pictures.table_button(
        lambda: difference_table(found, shown.run),
        note=f"{shown.caption('logits without a cache')}. Largest absolute difference and largest absolute logit.",
        name=labels.file_name(shown.summary.name, "without-cache"),
        key="cache_without",
    )


def difference_sentences(found: UncachedDifference, run: Run) -> list[str]:
    """The largest difference of all steps, and how much that is."""
    recorded = "recorded in one pass after the search" if found.in_one_pass else "recorded with the cache"
    if found.gap == 0:
        return [f"Every logit {recorded} is exactly that of a whole pass, in all {len(run.steps)} steps."]
    worst = int(np.argmax(found.gaps))
    return [
        f"Largest difference between a logit {recorded} and that of a whole pass: {found.gap:.1e}, at step"
        f" {nth(worst)}. The largest absolute logit is {numerals.number(float(found.logits.max()), 2)}, so that is"
        f" {found.relative:.1e} of it.",
        "Both add up the same float32 numbers, in another order.",
    ]


def difference_table(found: UncachedDifference, run: Run) -> pd.DataFrame:
    """A row for each step."""
    return pd.DataFrame(
        {
            "token": [labels.visible(step.token) for step in run.steps],
            "largest difference": found.gaps,
            "largest absolute logit": found.logits,
        },
        index=pd.RangeIndex(1, len(run.steps) + 1, name="step"),
    )


def _name(run: Run) -> str:
    """Names the run with all its tokens and how it was recorded: a trace's id has only what was read."""
    how = "steps" if is_of_cached_steps(run.trace) else "pass"
    return f"{run.trace.id} {how} {','.join(str(step.token_id) for step in run.steps)}"


@kept(16)
def _difference(name: str, _shown: Shown) -> UncachedDifference:
    return uncached_difference(_shown.ckpt, _shown.run)
