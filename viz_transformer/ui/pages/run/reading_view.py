"""Options for reading a text, where the model has any; and for a masked language model the masked tokens and their
predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.run.filling import Filling, filling, fills_masks, masked_positions
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.figures import labels
from viz_transformer.figures.filling import Shares
from viz_transformer.model.hooked_model import ModelSpec
from viz_transformer.model.kinds import SOURCE
from viz_transformer.numerals import percent
from viz_transformer.sentences import shorten
from viz_transformer.ui.frame import text
from viz_transformer.ui.frame.drawn import Drawn, Text
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.run import bars_view, labels_view, words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.runs import RunView

MAX_OFFERED, LONGEST = 64, 16


def choices(ckpt: Checkpoint) -> None:
    """Draw lists of the model's languages, and switches for special tokens and a chat; nothing for a model without
    options."""
    offered = {name: codec for codec in ckpt.codecs.values() for name in codec.choices}
    if not offered:
        return
    for name, label in (("source_language", words.FROM), ("language", words.INTO)):
        if name in offered:
            now = getattr(state.SHARED.now().read_as, name)
            known = ["", *offered[name].languages]
            st.selectbox(
                label,
                known if now in known else [*known, now],
                format_func=lambda code: code or words.USUAL,
                width=170,
                **state.widget_args("read_as", key=f"run_{name}", value=now, taken=_parse_choice(name)),
            )
    switches = (("special_tokens", words.SPECIAL_TOKENS, words.SPECIAL), ("chat", words.CHAT_TEMPLATE, words.CHAT))
    for name, label, help in switches:
        if name in offered:
            on = getattr(state.SHARED.now().read_as, name)
            st.toggle(
                label, help=help, **state.widget_args("read_as", key=f"run_{name}", value=on, taken=_parse_choice(name))
            )


def _parse_choice(name: str) -> Any:
    """A parser that puts the change of one option into all of them."""
    return lambda new: replace(state.SHARED.now().read_as, **{name: new})


def put_masks(shown: RunView) -> None:
    """Draw the tokens of the text, each masked or unmasked by a click; of a longer text only the chosen one. For a
    model that gives labels, its answer; for one that gives neither, a sentence."""
    if shown.run.labels:
        labels_view.put_answer(shown)
        return
    if not fills_masks(shown.trace.spec):
        why = shown.trace.spec.missing.get("logits")
        said = words.GIVES[shown.trace.spec.output] if why is None else words.writes_nothing(why)
        text.paragraph(said)
        return
    now, read = state.SHARED.now(), shown.trace.src
    offered = _list_maskable(shown)
    if len(offered) > MAX_OFFERED:
        _mask_the_chosen(shown, offered)
        return
    key, shown_as = "run_masked", _labels([read.originals[place] for place in offered])
    st.session_state[key] = [place for place in now.masked if place in offered]
    with st.container(horizontal=True, vertical_alignment="center", key="run_masks"):
        text.paragraph(words.CLICK_TO_MASK)
        st.pills(
            words.MASKED_TOKENS,
            offered,
            selection_mode="multi",
            format_func=dict(zip(offered, shown_as, strict=True)).__getitem__,
            key=key,
            on_change=lambda: _take(tuple(sorted(st.session_state[key]))),
            label_visibility="collapsed",
        )


def _labels(tokens: list[str]) -> list[str]:
    """Tokens as unique widget labels: repeated ones get zero-width characters, because the browser identifies pills by
    label."""
    seen: Counter[str] = Counter()
    found = []
    for token in tokens:
        label = text.literal(shorten(labels.visible(token), LONGEST))
        found.append(label + "\u2060" * seen[label])
        seen[label] += 1
    return found


def _mask_the_chosen(shown: RunView, offered: list[int]) -> None:
    now, place = state.SHARED.now(), state.SHARED.now().i
    if place not in offered:
        text.paragraph(words.CHOOSE_TO_MASK)
        return
    masked = place in now.masked
    token = shown.trace.src.originals[place]
    st.button(
        words.mask_button(text.literal(cite(token)), masked),
        key="run_mask",
        on_click=_take,
        args=(tuple(sorted({*now.masked} ^ {place})),),
        type="tertiary",
    )


def _take(masked: tuple[int, ...]) -> None:
    """Mask these positions, and choose a new one."""
    new = sorted(set(masked) - set(state.SHARED.now().masked))
    state.select(masked=masked, **({"i": new[0]} if new else {}))


def _list_maskable(shown: RunView) -> list[int]:
    """The positions that can be masked: tokens of the text, except typed masks."""
    codec, now = shown.ckpt.codec("source"), state.SHARED.now()
    return [
        place
        for place, token_id in enumerate(shown.trace.src_ids)
        if place in now.masked or token_id not in codec.special_ids - {codec.unknown}
    ]


def draw_fillings(shown: RunView) -> Iterator[Drawn]:
    """The output layer's probabilities at the chosen position as bars; nothing for a model without such an output."""
    if shown.run.labels:
        yield from labels_view.draw_labels(shown)
        return
    if not fills_masks(shown.trace.spec):
        return
    found, masked = select_filling(shown)
    tokens = [*found.candidates]
    if found.hidden is not None and found.hidden.token_id not in {each.token_id for each in tokens}:
        tokens.append(found.hidden)
    hidden = next((n for n, each in enumerate(tokens) if found.hidden and each.token_id == found.hidden.token_id), None)
    others = found.others - (numerals.exponential(tokens[-1].log_prob) if len(tokens) > len(found.candidates) else 0.0)
    best = Shares(
        tokens=[each.token for each in tokens],
        log_probs=[each.log_prob for each in tokens],
        others=max(0.0, others),
        vocabulary=len(shown.ckpt.codec("source").names),
        hidden=hidden,
    )
    title = words.filling_title(found.position, masked)
    yield bars_view.draw_bars(
        shown, best, title=title, key="run_filling", table=lambda: _table(found), note=words.OVER_VOCABULARY
    )
    yield Text(said=_sentence(shown, found, masked))


def select_filling(shown: RunView) -> tuple[Filling, bool]:
    """The filling at the chosen position, and whether that is a mask."""
    codec, position = shown.ckpt.codec("source"), state.SHARED.now().i
    return filling(shown.trace, position, codec.names), position in masked_positions(shown.trace, codec.mask)


def _sentence(shown: RunView, found: Filling, masked: bool) -> str:
    if found.hidden is not None and found.rank is not None:
        typed, probability = shown.trace.src.originals[found.position], numerals.exponential(found.hidden.log_prob)
        return words.was_masked(cite(typed), percent(probability), found.rank)
    return words.MASK_OF_TEXT if masked else words.NO_GUESS


def _table(found: Filling) -> pd.DataFrame:
    rows = [
        {
            "token": each.token,
            "probability": numerals.exponential(each.log_prob),
            "log-probability": each.log_prob,
            "masked": found.hidden is not None and each.token_id == found.hidden.token_id,
        }
        for each in found.candidates
    ]
    return pd.DataFrame(rows).rename_axis("rank")


def question(shown: RunView) -> Question | None:
    """The question on the filling of the chosen mask, or on the labels; None for another position, and for a model that
    gives neither."""
    if shown.run.labels:
        return labels_view.question(shown)
    if not fills_masks(shown.trace.spec):
        return None
    found, masked = select_filling(shown)
    if not masked:
        return None
    best = found.candidates[0]
    was = "" if found.hidden is None else cite(found.hidden.token)
    return Question(
        words.asks_replacement(SOURCE.name, found.position),
        words.replacement(cite(best.token), percent(numerals.exponential(best.log_prob)), was),
    )


def remarks(spec: ModelSpec) -> list[str]:
    """Remarks on a model that only reads, unless they are above the texts already."""
    if spec.labels:
        return [words.gives_labels(spec)]
    return [words.GIVES[spec.output]] if fills_masks(spec) else []


def how(spec: ModelSpec) -> str:
    """How to read the map and the picture beside it."""
    return words.how_labels(spec) if spec.labels else words.HOW_READ
