"""A reader's own text, scored by the model token by token, beside the model's answer."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from functools import partial

import pandas as pd
import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.decoding.scoring import ScoredToken, TargetScore, run_score, target_score
from viz_transformer.figures import labels
from viz_transformer.numerals import nth
from viz_transformer.ui.frame import controls, text
from viz_transformer.ui.frame.drawn import Columns, Drawn, Group, Markup, Numbers, TableButton, Text, Widget
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.pages.decoding.branch_list import grow_from
from viz_transformer.ui.pages.decoding.fields import FIELDS
from viz_transformer.ui.session import cached, state
from viz_transformer.ui.session.generation_config import GenerationConfig
from viz_transformer.ui.session.runs import ProgressBar, RunView

LONGEST = 24
MAX_ROWS = 200
_STEP = "score_step"


def score_typed(shown: RunView, typed: str | None) -> tuple[RunView | None, str]:
    """The run that is given the typed text, None without one, and the reason if it cannot be scored."""
    if not typed:
        return None, ""
    how = GenerationConfig(read=shown.how.read)  # the text is read as it is on all pages
    try:
        with ProgressBar() as progress:
            run = cached.run(shown.summary, shown.text, typed, how, progress)
    except ValueError as error:
        return None, f"{error}."
    return RunView(shown.name, shown.summary, shown.text, shown.ckpt, run, typed, how), ""


def draw_score(shown: RunView, scored: RunView | None, problem: str = "") -> Group:
    """The tokens at the left, the box and the sentences at the right.

    scored: the run that was given the text; without it the model's own answer is scored, that of `shown`. problem: why
    the text cannot be scored.
    """
    right = [Widget(put=partial(_put_box, problem)), *_draw_totals(shown, scored)]
    columns = ([*_draw_tokens(shown, scored)], right)
    return Group(parts=[Columns(parts=columns, widths=(7, 5))], key="score_view")


def _put_box(problem: str) -> None:
    controls.text_box(
        words.SCORE_LABEL,
        placeholder=words.SCORE_PLACEHOLDER,
        **state.widget_args("dec_text", key="decoding_score_text", value=FIELDS.now().dec_text or ""),
    )
    if problem:
        text.paragraph(problem, tone="bad")


def _draw_tokens(shown: RunView, scored: RunView | None) -> Iterator[Drawn]:
    of, found = (shown, run_score(shown.run)) if scored is None else (scored, target_score(scored.run))
    yield Markup(html=tokens_html(found, of))
    if len(found.tokens) > MAX_ROWS:
        yield Text(said=words.first_tokens(MAX_ROWS, len(found.tokens), in_table=scored is not None))
    if scored is not None:
        numbers = Numbers(
            frame=lambda: score_table(found),
            note=words.table_note(scored.caption(words.SCORED), words.SCORE_NOTE),
            name=labels.file_name(scored.summary.name, "scored"),
        )
        yield TableButton(numbers=numbers, key="score_table")


def _draw_totals(shown: RunView, scored: RunView | None) -> Iterator[Drawn]:
    own = run_score(shown.run)
    if scored is None:
        yield Text(said="", screen=words.untyped(own_name(shown)))
        yield Markup(html=totals_html((own_name(shown), own)))
        return
    found = target_score(scored.run)
    yield Markup(html=totals_html((words.YOUR_TEXT, found), (own_name(shown), own)))
    for sentence in score_sentences(found, own):
        yield Text(said=sentence)
    yield Widget(put=partial(_put_continue, found, shown, scored))


# --- tokens


def tokens_html(found: TargetScore, scored: RunView) -> text.Html:
    """The table of tokens as HTML: probability, also as a bar, rank, and the model's choice."""
    body = "".join(_row(token, _find_typed(token, scored)) for token in found.tokens[:MAX_ROWS])
    head = text.cells(words.SCORE_HEAD, "th")
    return text.Html(
        '<div class="vt-ly-scroll" tabindex="0"><table class="vt-layers vt-scored">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(token: ScoredToken, typed: str | None) -> str:
    name = f'<bdi class="vt-ly-token vt-ly-target">{_shown(token.token)}</bdi>'
    if typed is not None:
        name = f'<bdi class="vt-ly-typed">{_shown(typed)}</bdi>{name}'
    best, style = words.SAME, ""
    if token.rank > 0:
        best = f"<b>{_shown(token.best)}</b> ({html.escape(labels.share(token.best_probability))})"
        style = "vt-scored-missed"
    elif token.ties:
        best = f"<b>{_shown(token.best)}</b> ({words.AS_PROBABLE})"
    return (
        f'<tr class="{style}"><th><span class="vt-ly-at">{nth(token.index)}</span>'
        f'{name}</th><td class="vt-ly-bar" style="--p: {token.probability:.4f}">'
        f"{html.escape(labels.share(token.probability))}</td>"
        f"<td>{html.escape(words.log_probability(token.log_prob))}</td><td>{nth(token.rank):,}</td><td>{best}</td></tr>"
    )


def _find_typed(token: ScoredToken, scored: RunView) -> str | None:
    """The typed text, if the model reads something else."""
    row = step_row(scored.run, token.index) + 1
    originals = scored.trace.tgt_originals
    typed = originals[row] if row < len(originals) else ""
    return typed if typed and typed.lower() != token.token.lower() else None


def _shown(token: str) -> str:
    return html.escape(labels.shorten(labels.visible(token), LONGEST))


def score_table(found: TargetScore) -> pd.DataFrame:
    """All numbers of all tokens."""
    rows = [
        (
            nth(token.index),
            labels.visible(token.token),
            token.probability,
            token.log_prob,
            token.rank,
            labels.visible(token.best),
            token.best_probability,
            token.best_log_prob,
        )
        for token in found.tokens
    ]
    return pd.DataFrame(rows, columns=[*words.SCORE_COLUMNS]).set_index(words.STEP)


# --- totals


def own_name(shown: RunView) -> str:
    """The name of the other column."""
    if shown.target is not None:
        return words.GIVEN_ANSWER
    return words.branch(shown.how.branch) if shown.how.branch else words.MODELS_ANSWER


def totals_html(*answers: tuple[str, TargetScore]) -> text.Html:
    """The totals of named answers side by side, as HTML."""
    found = [each for _, each in answers]
    rows = [
        (words.TOKENS, *(f"{len(each.tokens):,}" for each in found)),
        (words.LOG_PROBABILITY, *(words.log_probability(each.total) for each in found)),
        (words.PER_TOKEN, *(words.log_probability(each.mean) for each in found)),
        (words.PERPLEXITY, *(perplexity(each) for each in found)),
        (words.MISSED, *(words.part_of(len(each.missed), len(each.tokens)) for each in found)),
    ]
    return text.table(rows, head=("", *(name for name, _ in answers)), style="vt-kv-work")


def perplexity(score: TargetScore) -> str:
    """The perplexity with two decimals, or as a power of ten from a million on."""
    value = score.perplexity
    if value >= 1e6:
        return words.INFINITE if math.isinf(value) else f"{value:.1e}"
    return numerals.number(value, 2, ",") if value > 2 else numerals.share(value, 2)


def score_sentences(found: TargetScore, own: TargetScore) -> list[str]:
    """Sentences on what is counted, and on what cannot be compared."""
    sentences = [words.what_counts(found.ended)]
    if found.missed:
        first = found.tokens[found.missed[0]]
        sentences.append(words.first_missed(first.index, _plain(first.best), _plain(first.token)))
    elif found.tied:
        first = found.tokens[found.tied[0]]
        sentences.append(words.tied(first.index, _plain(first.token), _plain(first.best)))
    else:
        sentences.append(words.GREEDY_WRITES)
    lengths = len(found.tokens), len(own.tokens)
    if lengths[0] != lengths[1]:
        sentences.append(words.different_lengths(*lengths))
    elif found.total > own.total:
        sentences.append(words.MORE_PROBABLE)
    return sentences


def _plain(token: str) -> str:
    return labels.isolate(labels.shorten(labels.visible(token), LONGEST))


# --- going on


def _put_continue(found: TargetScore, shown: RunView, scored: RunView) -> None:
    """Draw the choice of a step to continue from, at first the one after the first token that is not the model's
    choice, and a button."""
    steps = [token.index for token in found.tokens[1:]]
    if not steps:
        return
    chosen = st.session_state.get(_STEP)
    begin = scored.trace.id
    if st.session_state.get(f"{_STEP}_of") != begin or chosen not in steps:
        st.session_state[f"{_STEP}_of"] = begin
        st.session_state[_STEP] = next((step + 1 for step in found.missed if step + 1 in steps), steps[-1])
    with st.container(key="score_continue", horizontal=True, vertical_alignment="bottom"):
        step = st.selectbox(
            words.CONTINUE_LABEL,
            steps,
            key=_STEP,
            format_func=lambda step: words.after(step, _plain(found.tokens[step - 1].token)),
        )
        st.button(words.continue_from(step), key="score_continue_button", on_click=_go_on, args=(shown, scored, step))


def _go_on(shown: RunView, scored: RunView, step: int) -> None:
    """Add a branch that begins with the tokens of the text before this step; an answer that was given has none."""
    ids = [each.token_id for each in scored.run.steps[:step]]
    if ids and shown.target is None:
        grow_from(shown, ids, words.FROM_TEXT)
