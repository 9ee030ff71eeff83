"""Two orders, one answer: the part of the Positions page where a text is read in another order, without positions."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.positions.orders import (
    MAX_STEPS,
    Change,
    OrderAnswer,
    TwoOrders,
    removable,
    reverse_words,
    two_orders,
)
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.figures import labels
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import StackName
from viz_transformer.ui.frame import controls, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.positions import words
from viz_transformer.ui.pages.positions.fields import FIELDS
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView
from viz_transformer.ui.session.waiting import waiting

_LISTED = 6


def orders(shown: RunView) -> Question | None:
    """Both texts, whose positions are left out, both answers each time, and the largest change of a logit; returns the
    question of both, None where there is no other order."""
    config = shown.trace.config
    codec = shown.ckpt.own_codec("source" if config.has_encoder else "target")
    other = reverse_words(shown.text, codec, keep_last=not config.has_encoder)
    given = FIELDS.now().pos_order
    with st.container(key="pos_texts"):
        left, right = st.columns(2, gap="medium")
        with left:
            controls.text_box(words.ORDER_A, **state.widget_args("text", key="pos_a"))
        bound = state.widget_args(
            "pos_order",
            key="pos_b",
            value=other or "" if given is None else given,
            taken=lambda new: None if new == other else new,
        )
        with right:
            controls.text_box(words.ORDER_B, **bound)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            removed = _removed(removable(config))
            if given is not None:
                st.button(words.REVERSE, key="pos_again", on_click=_turn_round)
    b = other if given is None else given
    if b is None:
        text.paragraph(words.one_order(_quoted(shown.text)))
        return None
    place = st.empty()
    try:
        with waiting(words.READING, place):
            found = _two_orders(shown.ckpt.weights_sha256, shown.ckpt.name, shown.text, b, removed, shown.ckpt)
    except ValueError as error:
        text.paragraph(str(error), tone="bad")
        return None
    st.html(orders_html(found, shown.text, b))
    for sentence, tone in order_sentences(found, config):
        text.paragraph(sentence, tone=tone)
    on, off = found.with_positions, found.without
    without = None if off is None else number(off.change)
    answer = words.notices(number(on.change), on.matters, without, off is not None and off.matters)
    return Question(words.ASKS_ORDERS, answer)


def _removed(options: Sequence[tuple[StackName, ...]]) -> tuple[StackName, ...]:
    """The stacks whose positions are left out; the control, if there is a choice."""
    named = {"both" if len(stacks) > 1 else stacks[0]: stacks for stacks in options}
    asked = FIELDS.now().pos_off
    if asked and named and asked not in named:
        state.remark(words.not_left_out(asked, next(iter(named))))
    chosen = asked if asked in named else next(iter(named), "")
    if len(named) > 1:
        first = next(iter(named))
        controls.buttons(
            words.POSITIONS_OFF,
            {word: word for word in named},
            "pos_off",
            key="pos_off",
            value=chosen,
            taken=lambda new: "" if new == first else new,
        )
    return named.get(chosen, ())


def _turn_round() -> None:
    state.select(pos_order=None)


@memoize(16)
def _two_orders(
    weights: str, name: str, a: str, b: str, removed: tuple[StackName, ...], _ckpt: Checkpoint
) -> TwoOrders:
    return two_orders(_ckpt, a, b, removed)


def orders_html(found: TwoOrders, a: str, b: str) -> str:
    """A row with positions and one without: both answers, the largest change, and where it is."""
    rows = [(words.POSITIONS_ON, found.with_positions)]
    if found.without is not None:
        rows.append((words.positions_off(found.removed), found.without))
    body = "".join(
        f"<tr><th>{name}</th><td>{_answer(change.a)}</td><td>{_answer(change.b)}</td>"
        f"<td><b>{number(change.change)}</b><br>{html.escape(_where(change))}</td>"
        f"<td>{words.TOLD_APART if change.matters else words.THE_SAME}</td></tr>"
        for name, change in rows
    )
    texts = [
        f"<th>{words.answer_to(name)}<br><q>{html.escape(_quoted(text))}</q></th>"
        for name, text in (("A", a), ("B", b))
    ]
    head = f"<th></th>{''.join(texts)}<th>{words.LARGEST_CHANGE}</th><th></th>"
    return f'<table class="vt-orders"><tr>{head}</tr>{body}</table>'


def order_sentences(found: TwoOrders, config: ModelConfig) -> list[tuple[str, text.Tone]]:
    """What the numbers say, and why."""
    changes = [found.with_positions, *([found.without] if found.without is not None else [])]
    sentences: list[tuple[str, text.Tone]] = []
    if not found.same_tokens:
        parts = [
            words.tokens(what, [labels.visible(token) for token in tokens], _LISTED)
            for what, tokens in ((words.LACKS, found.missing), (words.ADDS, found.added))
            if tokens
        ]
        sentences.append((words.other_tokens(parts), "warning"))
    elif found.without is None:
        sentences.append((_nothing(config), "plain"))
    else:
        sentences.append((_verdict(found, found.without, config), "ok" if not found.without.matters else "plain"))
    where = words.in_rows(found.rows) if config.has_encoder else words.IN_THE_LAST_ROW
    largest = numerals.number(max(change.largest for change in changes), 1)
    sentences.append((words.compared(where, largest), "plain"))
    if any(answer.cut for change in changes for answer in (change.a, change.b)):
        sentences.append((words.cut(MAX_STEPS), "plain"))
    return sentences


def _nothing(config: ModelConfig) -> str:
    """Why no positions can be left out."""
    encoding = config.encoding
    if not encoding.in_attention:
        return words.NONE_TO_LEAVE_OUT
    said = words.cannot_leave_out(encoding.does)
    return f"{said} {words.IN_PYTHON}" if encoding.biased else said


def _verdict(found: TwoOrders, without: Change, config: ModelConfig) -> str:
    """Why the model is blind to order without these positions, or is not."""
    if not config.has_encoder:
        return words.CAUSAL_NOT_BLIND if without.matters else words.LAST_ROW_BLIND
    if "encoder" not in found.removed:
        return words.ENCODER_STILL_ADDS
    if not without.matters:
        return words.ONE_ANSWER
    return words.tells_apart(config.merge == "raw-reshape")


def _where(change: Change) -> str:
    return words.change_at(change.row, labels.shorten(labels.visible(change.token), 20))


def _answer(answer: OrderAnswer) -> str:
    written = "".join(labels.visible(c) if c == "\n" else c for c in answer.text) or words.ONLY_SPECIAL
    return html.escape(written + "…" * answer.cut)


def _quoted(given: str) -> str:
    return labels.shorten(given.replace("\n", labels.SIGNS["\n"]), 60)


def number(value: float) -> str:
    """A change of a logit: two decimals, or a power of ten where these would be zero."""
    return numerals.number(value, 2) if value >= 0.01 else numerals.scientific(value)
