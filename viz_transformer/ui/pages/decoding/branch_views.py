"""Two branches side by side: their tokens, where they diverge, each step's log-probability, and attention on their
common part."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from viz_transformer import numerals
from viz_transformer.analysis.attention.axes import Axis, Texts, numbered
from viz_transformer.analysis.attention.picture import Meta, Picture
from viz_transformer.analysis.decoding.branches import (
    DEFINITION,
    ROUNDING,
    Comparison,
    DecoderKind,
    RowDistance,
    Variation,
    compare_runs,
)
from viz_transformer.figures import labels
from viz_transformer.figures.branches import branch_curves
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import nth
from viz_transformer.sentences import capitalised
from viz_transformer.ui.components.pictures import matrix
from viz_transformer.ui.frame import frame, text
from viz_transformer.ui.frame.drawn import Chart, Component, Drawn, Group, Heading, Markup, Numbers, TableButton, Text
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.session.runs import RunView

LONGEST = 24


def draw_comparison(a: RunView, b: RunView, chosen: Chosen, site: Sequence[Drawn] = ()) -> Iterator[Drawn]:
    """The comparison of the first run as A and the second as B, or a sentence if they cannot be compared.

    site: the controls of the attention.
    """
    try:
        found = compare_runs(a.run, b.run)
    except ValueError as error:
        yield Text(said=f"{capitalised(error)}.", tone="bad")
        return
    parts = (
        Markup(html=answers_html(found, a, b)),
        Text(said=" ".join(comparison_sentences(found, a, b))),
        _draw_curves(found, a, b),
        Heading(said=words.PREFIX_ATTENTION),
        *site,
        Text(said=DEFINITION),
        Text(said=" ".join(attention_sentences(found, a, chosen))),
        _draw_variation(found, a, b, chosen),
    )
    yield Group(parts=parts, key="branch_comparison")


# --- the answers


def answers_html(found: Comparison, a: RunView, b: RunView) -> text.Html:
    """Both answers token by token with their totals, as HTML; tokens of one of them only are underlined."""
    rows = []
    for letter, shown in (("A", a), ("B", b)):
        name = text.Html(f"<b>{letter}</b> {html.escape(shown.how.branch or words.ANSWER)}")
        tokens = text.Html(f'<div class="vt-br-tokens">{"".join(_tokens(found, letter))}</div>')
        rows.append((name, tokens, str(len(shown.run.steps)), words.log_probability(shown.run.log_prob)))
    return text.table(rows, head=words.ANSWERS_HEAD, style="vt-branches")


def _tokens(found: Comparison, letter: str) -> list[str]:
    """The tokens of one run; the step of difference has its number below it."""
    tokens: list[str] = []
    for piece in found.pieces:
        for token in piece.wanted if letter == "A" else piece.written:
            index = len(tokens)
            marks = "" if piece.same else " vt-br-other"
            at = f"<i>{words.at_step(index)}</i>" if index == found.first_difference else ""
            shown = html.escape(labels.shorten(labels.visible(token), LONGEST))
            title = words.token_title(index, piece.same)
            tokens.append(f'<bdi class="vt-br-token{marks}" title="{title}">{shown}{at}</bdi>')
    return tokens


def comparison_sentences(found: Comparison, a: RunView, b: RunView) -> list[str]:
    """Sentences on where the two diverge, and on what their totals do not mean."""
    counts = len(a.run.steps), len(b.run.steps)
    at = found.first_difference
    sentences = [words.SAME_TOKENS] if at is None else [words.part_at(at, _writes(a, at), _writes(b, at))]
    if counts[0] != counts[1]:
        sentences.append(words.different_tokens(*counts))
    return sentences


def _writes(shown: RunView, index: int) -> str:
    if index >= len(shown.run.steps):
        return words.HAS_ENDED
    step = shown.run.steps[index]
    token = labels.isolate(labels.shorten(labels.visible(step.token), LONGEST))
    return words.writes(token, labels.share(numerals.exponential(step.log_prob)), step.forced)


# --- the curves


def _draw_curves(found: Comparison, a: RunView, b: RunView) -> Chart:
    numbers = Numbers(
        frame=lambda: curve_table(found, a, b),
        note=words.table_note(_caption(a, b, words.CURVES), words.CURVES_NOTE),
        name=labels.file_name(a.summary.name, "branches"),
    )
    return Chart(
        figure=lambda theme: branch_curves(
            (a.run.tokens, found.log_probs[0].tolist()),
            (b.run.tokens, found.log_probs[1].tolist()),
            title=words.CURVES_TITLE,
            parted=found.first_difference,
            names=(f"A, {a.how.branch or words.ANSWER}", f"B, {b.how.branch or words.ANSWER}"),
            theme=theme,
        ),
        alt=words.CURVES_ALT,
        numbers=numbers,
        key="branch_curves",
        size=frame.ChartSize(grows=1.4),
    )


def curve_table(found: Comparison, a: RunView, b: RunView) -> pd.DataFrame:
    """A row for each step of each run."""
    rows: list[tuple[Any, ...]] = []
    for letter, shown, log_probs, sums in zip("AB", (a, b), found.log_probs, found.cumulative, strict=True):
        rows += [
            (
                letter,
                nth(step.index),
                labels.visible(step.token),
                step.forced,
                log_prob,
                together,
                step.index < found.common,
            )
            for step, log_prob, together in zip(shown.run.steps, log_probs.tolist(), sums.tolist(), strict=True)
        ]
    return pd.DataFrame(rows, columns=[*words.CURVES_COLUMNS]).set_index([words.RUN, words.STEP])


# --- attention


def _draw_variation(found: Comparison, a: RunView, b: RunView, chosen: Chosen) -> Component | TableButton:
    """The total variation of the selected attention's heads; its table alone where there is nothing but rounding."""
    numbers = Numbers(
        frame=lambda: variation_table(found, a),
        note=words.table_note(_caption(a, b, words.ATTENTION, rows=True), DEFINITION),
        name=labels.file_name(a.summary.name, "total-variation"),
    )
    if found.largest.value <= ROUNDING:
        return TableButton(numbers=numbers, key="branch_variation")
    drawn = variation_picture(_find_selected(found, chosen), a, _caption(a, b, words.ATTENTION, rows=True))
    data = drawn.pack(height=160 + 34 * len(drawn.rows), exact=True, why=())
    return Component(draw=matrix, data=data, key="branch_variation", numbers=numbers)


def variation_picture(selected: Variation, a: RunView, caption: str) -> Picture:
    """The total variation of each head of one attention, [H, R], a column for each row that is compared."""
    heads, rows = selected.values.shape
    axes = (
        Axis("", words.HEAD, words.HEADS, None, numbered(heads)),
        Axis("", words.ROW, words.ROWS_READ, "target", Texts(a.trace.tgt_tokens[:rows])),
    )
    meta = Meta(
        words.variation_title(_site(selected)),
        caption,
        labels.file_name(a.summary.name, "total-variation"),
        unit=words.VARIATION_SCALE,
        quantity=words.VARIATION,
        adds_up=False,
    )
    return Picture(selected.values.astype(np.float32), axes, np.ones((heads, rows), dtype=bool), meta)


def attention_sentences(found: Comparison, a: RunView, chosen: Chosen) -> list[str]:
    """Sentences on the largest variation, the selected one, and the reason for them."""
    last = found.rows - 1
    largest, selected = found.largest, _find_selected(found, chosen)
    sentences = []
    if largest.value == 0:
        sentences.append(words.same_attention(last))
    else:
        token = labels.isolate(labels.visible(a.trace.tgt_tokens[largest.row]))
        sentences.append(words.largest(last, number(largest.value), _site(largest), largest.head, largest.row, token))
        heads = _heads(selected, chosen)
        values = selected.values[heads]
        names = words.ALL_HEADS if len(heads) == len(selected.values) else words.heads(heads)
        most, mean = number(float(values.max())), number(float(values.mean()))
        sentences.append(words.selected(_site(selected), names, most, mean))
    if a.trace.non_causal_reason is not None:
        sentences.append(words.OF_LAST_PASS)
    elif largest.value <= ROUNDING:
        sentences.append(words.AS_IT_MUST_BE if largest.value == 0 else words.ONLY_ROUNDING)
    if not KINDS[chosen["kind"]].writes:
        sentences.append(words.ONE_SOURCE)
    return sentences


def variation_table(found: Comparison, a: RunView) -> pd.DataFrame:
    """A row for each head of each attention, a column for each row that is compared."""
    columns = [f"{row} {labels.visible(token)}" for row, token in enumerate(a.trace.tgt_tokens[: found.rows])]
    parts = []
    for each in found.variations:
        index = pd.MultiIndex.from_tuples(
            [(KINDS[each.kind].words, each.layer, head) for head in range(len(each.values))],
            names=[words.ATTENTION, words.LAYER, words.HEAD],
        )
        parts.append(pd.DataFrame(each.values, index=index, columns=columns))
    return pd.concat(parts)


def _find_selected(found: Comparison, chosen: Chosen) -> Variation:
    """The selected attention, or the first one where an encoder's is selected."""
    kinds: list[DecoderKind] = [each.kind for each in found.variations]
    kind = chosen["kind"] if chosen["kind"] in kinds else kinds[0]
    layers = [each.layer for each in found.variations if each.kind == kind]
    return found.variation(kind, min(chosen["layer"], max(layers)))


def _heads(selected: Variation, chosen: Chosen) -> list[int]:
    """The selected heads; all for a picture of several heads together."""
    heads, count = chosen["heads"], len(selected.values)
    known = [] if isinstance(heads, str) else [head for head in heads if head < count]
    return known or [*range(count)]


def _site(chosen: Variation | RowDistance) -> str:
    return words.site(chosen.kind == "cross", chosen.layer)


def number(value: float) -> str:
    """Four decimals, or a power of ten where these would be zero."""
    return numerals.share(value) if value == 0 or value >= 1e-4 else f"{value:.1e}"


def _caption(a: RunView, b: RunView, what: str, *, rows: bool = False) -> str:
    """The caption of a table of both runs."""
    return words.of_both(a.caption(what, rows=rows), b.caption(what, rows=rows))
