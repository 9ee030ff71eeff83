"""Two branches side by side: their tokens, where they diverge, each step's log-probability, and attention on their
common part."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

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
from viz_transformer.ui.frame import frame, pictures, text
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.runs import RunView

Letter = Literal["A", "B"]
LONGEST = 24


def comparison(a: RunView, b: RunView, site: Callable[[], None] = lambda: None) -> None:
    """Draw the comparison of the first run as A and the second as B, or a sentence if they cannot be compared."""
    try:
        found = compare_runs(a.run, b.run)
    except ValueError as error:
        text.paragraph(f"{capitalised(error)}.", tone="bad")
        return
    with st.container(key="branch_comparison"):
        st.html(answers_html(found, a, b))
        text.paragraph(" ".join(comparison_sentences(found, a, b)))
        _draw_curves(found, a, b)
        text.section(words.PREFIX_ATTENTION)
        site()
        _draw_attention(found, a, b)


def words_of(shown: RunView, letter: Letter) -> str:
    """The name of a branch in a comparison: "A, answer"."""
    return f"{letter}, {shown.how.branch or words.ANSWER}"


# --- the answers


def answers_html(found: Comparison, a: RunView, b: RunView) -> str:
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


def _draw_curves(found: Comparison, a: RunView, b: RunView) -> None:
    figure = branch_curves(
        (a.run.tokens, found.log_probs[0].tolist()),
        (b.run.tokens, found.log_probs[1].tolist()),
        title=words.CURVES_TITLE,
        parted=found.first_difference,
        names=(words_of(a, "A"), words_of(b, "B")),
        theme=frame.theme(),
    )
    asked = pictures.table(
        lambda: curve_table(found, a, b),
        note=words.table_note(_caption(a, b, words.CURVES), words.CURVES_NOTE),
        name=labels.file_name(a.summary.name, "branches"),
        key="branch_curves",
    )
    frame.chart(figure, key="branch_curves", alt=words.CURVES_ALT, size=frame.ChartSize(grows=1.4), on_table=asked)


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


def _draw_attention(found: Comparison, a: RunView, b: RunView) -> None:
    """Draw the total variation of the selected attention's heads, and the largest of all with its place."""
    text.paragraph(DEFINITION)
    text.paragraph(" ".join(attention_sentences(found, a)))
    drawn, caption = found.largest.value > ROUNDING, _caption(a, b, words.ATTENTION, rows=True)
    asked = (pictures.table if drawn else pictures.table_button)(
        lambda: variation_table(found, a),
        note=words.table_note(caption, DEFINITION),
        name=labels.file_name(a.summary.name, "total-variation"),
        key="branch_variation",
    )
    if drawn:
        picture = variation_picture(_find_selected(found), a, caption)
        data = picture.pack(height=160 + 34 * len(picture.rows), exact=True, why=())
        matrix(data, key="branch_variation", on_table=asked)


def attention_sentences(found: Comparison, a: RunView) -> list[str]:
    """Sentences on the largest variation, the selected one, and the reason for them."""
    last = found.rows - 1
    largest, chosen = found.largest, _find_selected(found)
    sentences = []
    if largest.value == 0:
        sentences.append(words.same_attention(last))
    else:
        token = labels.isolate(labels.visible(a.trace.tgt_tokens[largest.row]))
        sentences.append(words.largest(last, number(largest.value), _site(largest), largest.head, largest.row, token))
        heads = _heads(chosen)
        values = chosen.values[heads]
        names = words.ALL_HEADS if len(heads) == len(chosen.values) else words.heads(heads)
        most, mean = number(float(values.max())), number(float(values.mean()))
        sentences.append(words.selected(_site(chosen), names, most, mean))
    if a.trace.non_causal_reason is not None:
        sentences.append(words.OF_LAST_PASS)
    elif largest.value <= ROUNDING:
        sentences.append(words.AS_IT_MUST_BE if largest.value == 0 else words.ONLY_ROUNDING)
    if not KINDS[state.selection()["kind"]].writes:
        sentences.append(words.ONE_SOURCE)
    return sentences


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


def _find_selected(found: Comparison) -> Variation:
    """The selected attention, or the first one where an encoder's is selected."""
    chosen = state.selection()
    kinds: list[DecoderKind] = [each.kind for each in found.variations]
    kind = chosen["kind"] if chosen["kind"] in kinds else kinds[0]
    layers = [each.layer for each in found.variations if each.kind == kind]
    return found.variation(kind, min(chosen["layer"], max(layers)))


def _heads(chosen: Variation) -> list[int]:
    """The selected heads; all for a picture of several heads together."""
    heads, count = state.selection()["heads"], len(chosen.values)
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
