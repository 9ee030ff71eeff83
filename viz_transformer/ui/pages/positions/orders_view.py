"""Two orders, one answer: the part of the Positions page where a text is read in another order, without positions."""

from __future__ import annotations

import html
from collections.abc import Iterator
from functools import partial

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
from viz_transformer.ui.frame.drawn import Awaited, Drawn, Table, Text, Widget
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.positions import words
from viz_transformer.ui.pages.positions.fields import FIELDS
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

_LISTED = 6


def _list_removable(shown: RunView) -> dict[str, tuple[StackName, ...]]:
    """The stacks whose positions can be left out together, by what the address calls them."""
    found = removable(shown.trace.config)
    return {"both" if len(stacks) > 1 else stacks[0]: stacks for stacks in found}


OFF: controls.Control[str] = controls.Control(
    field="pos_off",
    label=words.POSITIONS_OFF,
    options=lambda shown: {each: each for each in _list_removable(shown)},
    default=lambda shown: next(iter(_list_removable(shown)), ""),
    unset="",
    replaced=words.not_left_out,
)


def _reversed(shown: RunView) -> str | None:
    """The text in another order; None where there is none."""
    config = shown.trace.config
    codec = shown.ckpt.own_codec("source" if config.has_encoder else "target")
    return reverse_words(shown.text, codec, keep_last=not config.has_encoder)


def _second(shown: RunView) -> str | None:
    """The second text: the one that was typed, else the first one in another order."""
    given = FIELDS.now().pos_order
    return _reversed(shown) if given is None else given


def draw_orders(shown: RunView) -> Iterator[Drawn]:
    """Both texts, whose positions are left out, both answers each time, and the largest change of a logit."""
    other = _reversed(shown)
    yield Widget(put=partial(_draw_texts, shown, other))
    if (b := _second(shown)) is None:
        yield Text(said=words.one_order(_quoted(shown.text)))
    else:
        yield Awaited(said=words.READING, make=partial(_draw_answers, shown, b))


def _draw_texts(shown: RunView, other: str | None) -> None:
    """The boxes of both texts, and below them whose positions are left out."""
    with st.container(key="pos_texts"):
        left, right = st.columns(2, gap="medium")
        with left:
            controls.text_box(words.ORDER_A, **state.widget_args("text", key="pos_a"))
        bound = state.widget_args(
            "pos_order",
            key="pos_b",
            value=_second(shown) or "",
            taken=lambda new: None if new == other else new,
        )
        with right:
            controls.text_box(words.ORDER_B, **bound)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if _list_removable(shown):
                OFF.draw(shown)
            if FIELDS.now().pos_order is not None:
                st.button(words.REVERSE, key="pos_again", on_click=_turn_round)


def _draw_answers(shown: RunView, b: str) -> Iterator[Drawn]:
    try:
        found = _find_answers(shown, b)
    except ValueError as error:
        yield Text(said=str(error), tone="bad")
        return
    yield tabulate_answers(found, shown.text, b)
    for sentence, tone in describe_orders(found, shown.trace.config):
        yield Text(said=sentence, tone=tone)


def ask_orders(shown: RunView) -> Question | None:
    """Whether the model notices a change of order; None where there is no other order that it reads."""
    if (b := _second(shown)) is None:
        return None
    try:
        found = _find_answers(shown, b)
    except ValueError:
        return None
    on, off = found.with_positions, found.without
    without = None if off is None else number(off.change)
    answer = words.notices(number(on.change), on.matters, without, off is not None and off.matters)
    return Question(words.ASKS_ORDERS, answer)


def _find_answers(shown: RunView, b: str) -> TwoOrders:
    removed = _list_removable(shown).get(OFF.value(shown), ())
    return _two_orders(shown.ckpt.weights_sha256, shown.ckpt.name, shown.text, b, removed, shown.ckpt)


def _turn_round() -> None:
    state.select(pos_order=None)


@memoize(16)
def _two_orders(
    weights: str, name: str, a: str, b: str, removed: tuple[StackName, ...], _ckpt: Checkpoint
) -> TwoOrders:
    return two_orders(_ckpt, a, b, removed)


def tabulate_answers(found: TwoOrders, a: str, b: str) -> Table:
    """A row with positions and one without: both answers, the largest change, and where it is."""
    changes = [(words.POSITIONS_ON, found.with_positions)]
    if found.without is not None:
        changes.append((words.positions_off(found.removed), found.without))
    rows = [
        (
            name,
            _write(change.a),
            _write(change.b),
            text.Html(f"<b>{number(change.change)}</b><br>{html.escape(_where(change))}"),
            words.TOLD_APART if change.matters else words.THE_SAME,
        )
        for name, change in changes
    ]
    texts = (
        text.Html(f"{words.answer_to(name)}<br><q>{html.escape(_quoted(given))}</q>")
        for name, given in (("A", a), ("B", b))
    )
    return Table(head=("", *texts, words.LARGEST_CHANGE, ""), rows=rows, style="vt-orders")


def describe_orders(found: TwoOrders, config: ModelConfig) -> list[tuple[str, text.Tone]]:
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


def _write(answer: OrderAnswer) -> str:
    written = "".join(labels.visible(c) if c == "\n" else c for c in answer.text) or words.ONLY_SPECIAL
    return written + "…" * answer.cut


def _quoted(given: str) -> str:
    return labels.shorten(given.replace("\n", labels.SIGNS["\n"]), 60)


def number(value: float) -> str:
    """A change of a logit: two decimals, or a power of ten where these would be zero."""
    return numerals.number(value, 2) if value >= 0.01 else numerals.scientific(value)
