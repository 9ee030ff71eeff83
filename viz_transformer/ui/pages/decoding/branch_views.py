"""Two branches side by side: their tokens, where they part, what each step cost, and attention on what both read."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any, Literal

import pandas as pd
import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.decoding.branches import (
    DEFINITION,
    ROUNDING,
    Comparison,
    DecoderKind,
    Variation,
    compare_runs,
)
from viz_transformer.figures import labels
from viz_transformer.figures.branches import branch_curves
from viz_transformer.figures.tensors import AxisLabels, tensor_heatmap
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import nth
from viz_transformer.sentences import capitalised
from viz_transformer.ui.components.pictures import Asked
from viz_transformer.ui.frame import frame, pictures, text
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.runs import Shown

Letter = Literal["A", "B"]
LONGEST = 24


def comparison(a: Shown, b: Shown, site: Callable[[], None] = lambda: None) -> None:
    """The first run as A, the second as B; a sentence where the two cannot be compared."""
    try:
        found = compare_runs(a.run, b.run)
    except ValueError as error:
        text.paragraph(f"{capitalised(error)}.", tone="bad")
        return
    with st.container(key="branch_comparison"):
        st.html(answers_html(found, a, b))
        text.paragraph(" ".join(comparison_sentences(found, a, b)))
        _curves(found, a, b)
        text.section("Attention on the common prefix")
        site()
        _attention(found, a, b)


def words_of(shown: Shown, letter: Letter) -> str:
    """What a branch is called beside the other: "A, answer"."""
    return f"{letter}, {shown.how.branch or 'answer'}"


# --- the answers


def answers_html(found: Comparison, a: Shown, b: Shown) -> str:
    """Both token by token with their totals; what stands in one of them only is underlined."""
    rows = []
    for letter, shown in (("A", a), ("B", b)):
        name = text.Html(f"<b>{letter}</b> {html.escape(shown.how.branch or 'answer')}")
        tokens = text.Html(f'<div class="vt-br-tokens">{"".join(_tokens(found, letter))}</div>')
        rows.append((name, tokens, str(len(shown.run.steps)), words.log_probability(shown.run.log_prob)))
    head = ("branch", "tokens written; underlined: not in the other", "steps", "log-probability")
    return text.table(rows, head=head, style="vt-branches")


def _tokens(found: Comparison, letter: str) -> list[str]:
    """The tokens of one run; the step of difference has its number below it."""
    tokens: list[str] = []
    for piece in found.pieces:
        for token in piece.wanted if letter == "A" else piece.written:
            index = len(tokens)
            marks = "" if piece.same else " vt-br-other"
            at = f"<i>step {nth(index)}</i>" if index == found.first_difference else ""
            shown = html.escape(labels.shorten(labels.visible(token), LONGEST))
            title = f"step {nth(index)}" + ("" if piece.same else ", not in the other")
            tokens.append(f'<bdi class="vt-br-token{marks}" title="{title}">{shown}{at}</bdi>')
    return tokens


def comparison_sentences(found: Comparison, a: Shown, b: Shown) -> list[str]:
    """Where the two part, and what their totals are not."""
    counts = len(a.run.steps), len(b.run.steps)
    at = found.first_difference
    if at is None:
        sentences = ["Both write the same tokens."]
    else:
        same = "one token that is the same" if at == 1 else f"{at} tokens that are the same"
        first = "They differ from the first step on" if at == 0 else f"They part at step {nth(at)}, after {same}"
        sentences = [f"{first}: A {_writes(a, at)}, B {_writes(b, at)}."]
    if counts[0] != counts[1]:
        sentences.append(
            f"A has {counts[0]} tokens, B {counts[1]}: log-probabilities of different lengths do not compare, as each"
            " further token can only lower the sum."
        )
    return sentences


def _writes(shown: Shown, index: int) -> str:
    if index >= len(shown.run.steps):
        return "has ended"
    step = shown.run.steps[index]
    token = labels.isolated(labels.shorten(labels.visible(step.token), LONGEST))
    given = "was given" if step.forced else "writes"
    return f"{given} “{token}” (probability {labels.share(numerals.exponential(step.log_prob))})"


# --- the curves


def _curves(found: Comparison, a: Shown, b: Shown) -> None:
    figure = branch_curves(
        (a.run.tokens, found.log_probs[0].tolist()),
        (b.run.tokens, found.log_probs[1].tolist()),
        title="Log-probability under the model, in nats",
        parted=found.first_difference,
        names=(words_of(a, "A"), words_of(b, "B")),
        theme=frame.theme(),
    )
    alt = "Log-probability of each step of A and B, and their sums so far"
    asked = pictures.table(
        lambda: curve_table(found, a, b),
        note=f"{_caption(a, b, 'log-probabilities')}. Natural logarithms, over the whole vocabulary, before the"
        " strategy.",
        name=labels.file_name(a.summary.name, "branches"),
        key="branch_curves",
    )
    frame.chart(figure, key="branch_curves", alt=alt, grows=1.4, on_table=asked)


def curve_table(found: Comparison, a: Shown, b: Shown) -> pd.DataFrame:
    """A row for each step of each run."""
    rows: list[dict[str, Any]] = []
    for letter, shown, log_probs, sums in zip("AB", (a, b), found.log_probs, found.cumulative, strict=True):
        rows += [
            {
                "run": letter,
                "step": nth(step.index),
                "token": labels.visible(step.token),
                "given": step.forced,
                "log-probability": log_prob,
                "sum so far": together,
                "same in both": step.index < found.common,
            }
            for step, log_prob, together in zip(shown.run.steps, log_probs.tolist(), sums.tolist(), strict=True)
        ]
    return pd.DataFrame(rows).set_index(["run", "step"])


# --- attention


def _attention(found: Comparison, a: Shown, b: Shown) -> None:
    """Total variation of the selected attention's heads, and the largest of all with its place."""
    text.paragraph(DEFINITION)
    text.paragraph(" ".join(attention_sentences(found, a)))
    chosen = _selected(found)
    drawn = found.largest.value > ROUNDING
    asked = (pictures.table if drawn else pictures.table_button)(
        lambda: variation_table(found, a),
        note=f"{_caption(a, b, 'attention', rows=True)}. {DEFINITION}",
        name=labels.file_name(a.summary.name, "total-variation"),
        key="branch_variation",
    )
    if drawn:
        _heatmap(found, chosen, a, asked)


def attention_sentences(found: Comparison, a: Shown) -> list[str]:
    """The largest of all, the selected one, and why they are what they are."""
    last = found.rows - 1
    rows = "row 0" if last == 0 else f"rows 0 to {last}"
    largest, chosen = found.largest, _selected(found)
    sentences = []
    if largest.value == 0:
        sentences.append(f"In {rows} every head of every decoder layer attends exactly alike in A and B.")
    else:
        place = f"{_site(largest.kind, largest.layer)}, head {largest.head}, row {largest.row}"
        token = labels.isolated(labels.visible(a.trace.tgt_tokens[largest.row]))
        sentences.append(f"Largest of {rows}: {number(largest.value)}, in {place}, which reads “{token}”.")
        heads = _heads(chosen)
        values = chosen.values[heads]
        names = "all heads" if len(heads) == len(chosen.values) else _named(heads)
        sentences.append(
            f"Selected, {_site(chosen.kind, chosen.layer)}, {names}: largest {number(float(values.max()))},"
            f" mean {number(float(values.mean()))}."
        )
    if a.trace.reads_ahead is not None:
        sentences.append(
            "The rows compared are those of each branch's last pass, which has also read the tokens after them, so"
            " the branches differ also where they read the same."
        )
    elif largest.value <= ROUNDING:
        sentences.append(
            "As it must be: no row sees the tokens after it."
            + ("" if largest.value == 0 else " What is left is float32 rounding, so no picture is drawn of it.")
        )
    if not KINDS[state.selection()["kind"]].writes:
        sentences.append("Encoder self-attention is the same in both, they read one source.")
    return sentences


def _heatmap(found: Comparison, chosen: Variation, a: Shown, asked: Asked | None) -> None:
    heads, rows = chosen.values.shape
    figure = tensor_heatmap(
        chosen.values,
        AxisLabels("head", "heads"),
        AxisLabels("row", "rows, reads", a.trace.tgt_tokens[:rows], "target"),
        title=f"Total variation, {_site(chosen.kind, chosen.layer)}",
        scale="weights",
        scale_name="total variation, 0 to 1 (derived)",
        derived=True,
        theme=frame.theme(),
        height=160 + 34 * heads,
    )
    alt = "Total variation of each head and row, from 0 to 1"
    frame.chart(figure, key="branch_variation", alt=alt, rows=a.whose_rows, grows=1.4, on_table=asked)


def variation_table(found: Comparison, a: Shown) -> pd.DataFrame:
    """A row for each head of each attention, a column for each row that is compared."""
    columns = [f"{row} {labels.visible(token)}" for row, token in enumerate(a.trace.tgt_tokens[: found.rows])]
    parts = []
    for each in found.variations:
        index = pd.MultiIndex.from_tuples(
            [(KINDS[each.kind].words, each.layer, head) for head in range(len(each.values))],
            names=["attention", "layer", "head"],
        )
        parts.append(pd.DataFrame(each.values, index=index, columns=columns))
    return pd.concat(parts)


def _selected(found: Comparison) -> Variation:
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


def _named(heads: list[int]) -> str:
    return f"head{'s' if len(heads) > 1 else ''} {', '.join(map(str, heads))}"


def _site(kind: str, layer: int) -> str:
    return f"{'cross' if kind == 'cross' else 'self'}-attention of decoder layer {layer}"


def number(value: float) -> str:
    """Four decimals, or a power of ten where these would be zero."""
    return numerals.share(value) if value == 0 or value >= 1e-4 else f"{value:.1e}"


def _caption(a: Shown, b: Shown, what: str, *, rows: bool = False) -> str:
    """What a table says of itself: both runs."""
    return f"A: {a.caption(what, rows=rows)}; B: {b.caption(what, rows=rows)}"
