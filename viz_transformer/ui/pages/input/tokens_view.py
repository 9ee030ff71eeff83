"""Tokens and their ids on the Input page: typed text, tokens read, and a row of ids at a fixed length."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Literal

import streamlit as st

from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.inputs.embeddings import tells_texts_apart
from viz_transformer.analysis.inputs.vocabulary import fixed_length
from viz_transformer.figures import labels
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.running.trace import Tokens
from viz_transformer.text.codec import TextCodec
from viz_transformer.ui.frame.drawn import Drawn, Entry, Group, Heading, Markup, Text, Widget
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.frame.text import Html
from viz_transformer.ui.frame.token_strip import round_trip_sentence
from viz_transformer.ui.pages.input import words
from viz_transformer.ui.session.runs import RunView

USUAL_LENGTH, LONGEST = 60, 1000
PROJECTED = 1.6
"""The factor of a chart's size on a projector."""


def tokens_of(shown: RunView, side: SideName) -> Tokens:
    """The tokens that the encoder or the decoder reads in this run."""
    return SIDES[side].of(shown.trace.src, shown.trace.tgt)


def draw_tokens(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The text token by token: typed text, the vocabulary's token, and its id; of both runs where both are shown."""
    shown, side = both.main, chosen["side"]
    if side == "source":
        yield Heading(said=words.ENCODER_READS)
    else:
        given = words.READ_ITSELF if shown.target is None else words.READ_TARGET
        read = given if shown.trace.spec.has_encoder else words.READ_ALL
        yield Heading(said=words.decoder_reads(read))
    if not both.compared:
        yield from _draw_cells(shown, side, chosen)
        return
    for each in both.shown:
        yield Text(said=words.run_of(each.name, each.called, each.words()))
        if side not in each.ckpt.codecs or not tokens_of(each, side):
            yield Text(said=words.reads_no_text(each.name, SIDES[side].stack))
        else:
            yield from _draw_cells(each, side, chosen)


def _draw_cells(shown: RunView, side: SideName, chosen: Chosen) -> Iterator[Drawn]:
    """The tokens of one run, with the selected position marked, and the text of an unknown one."""
    codec = shown.ckpt.codec(side)
    read = tokens_of(shown, side)
    yield Markup(html=token_cells(codec, read, selected=chosen[SIDES[side].field]))
    typed = side == ("source" if shown.ckpt.spec.has_encoder else "target") and not shown.recorded
    second = codec.second(read.ids)
    remarks = (
        _unknown_remark(codec, read),
        round_trip_sentence(shown.ckpt, shown.text) if typed else None,
        None if second is None else words.second_text(second, tells_texts_apart(shown.trace)),
    )
    yield from (Text(said=remark) for remark in remarks if remark is not None)


def token_cells(codec: TextCodec, read: Tokens, *, selected: int | None = None) -> Html:
    """Tokens as cells in HTML: the typed text above, the token and its id below; more than three of padding are one
    cell."""
    padding = sum(1 for _ in takewhile(lambda id: id == codec.padding, reversed(read.ids)))
    padding = padding if padding > 3 else 0
    cells = []
    for position in range(len(read) - padding):
        id, token, original = read.ids[position], read.tokens[position], read.originals[position]
        unknown = id == codec.unknown
        special = id in codec.special_ids and not unknown
        kinds = ["vt-token", "vt-token-special" * special, "vt-token-unknown" * unknown]
        kinds.append("vt-token-selected" * (position == selected))
        typed = "" if special else _token(original or token)
        title = html.escape(words.cell(position, labels.visible(token), id), quote=True)
        cells.append(
            f'<span class="{" ".join(filter(None, kinds))}" title="{title}"><i>{typed}</i>'
            f"<b>{_token(token)}</b><small>{id}</small></span>"
        )
    if padding:
        cells.append(
            f'<span class="vt-token vt-token-special"><i></i><b>{_token(read.tokens[-1])} × {padding}</b>'
            f"<small>{read.ids[-1]}</small></span>"
        )
    text_, token_, id_ = words.CELL_HEAD
    head = f'<span class="vt-token-head"><i>{text_}</i><b>{token_}</b><small>{id_}</small></span>'
    return Html(f'<div class="vt-tokens">{head}{"".join(cells)}</div>')


def _token(token: str) -> str:
    return html.escape(labels.isolate(labels.shorten(labels.visible(token), 40)))


def _unknown_remark(codec: TextCodec, read: Tokens) -> str | None:
    unk = codec.unknown
    if unk is None or unk not in read.ids:
        return None
    name = codec.names[unk]
    hidden = [original for id, original in zip(read.ids, read.originals, strict=True) if id == unk and original != name]
    if not hidden:
        return words.wrote_unknown(name)
    different = len(set(hidden))
    if different > 1:
        return words.hidden_words(different, name)
    return words.not_in_vocabulary(labels.shorten(labels.visible(hidden[0]), 40), name)


def draw_ids(shown: RunView, side: SideName) -> Iterator[Drawn]:
    """The ids of the text at a fixed length, with or without start and end token, as the tutorials print them."""
    ckpt, codec = shown.ckpt, shown.ckpt.own_codec(side)
    vocabulary, own, ids = codec.vocabulary, f"{ckpt.name}_{side}", _text_ids(shown, side)
    if vocabulary.pad is None:
        yield _draw_code(ids)
        yield Text(said=words.no_padding_token(len(ids)))
        return
    usual = ckpt.spec.pad_to or max(USUAL_LENGTH, -(-len(ids) // 10) * 10)
    box = partial(st.number_input, words.FIXED_LENGTH, 1, LONGEST, width=160)
    start_box = partial(st.checkbox, words.START_TOKEN, disabled=vocabulary.bos is None)
    end_box = partial(st.checkbox, words.END_TOKEN, disabled=vocabulary.eos is None)
    length = Entry(put=box, key=f"input_length_{own}", unset=usual)
    start = Entry(put=start_box, key=f"input_start_{own}", unset=codec.add_bos)
    end = Entry(put=end_box, key=f"input_end_{own}", unset=codec.add_eos)
    yield Group(parts=[length, start, end], key="input_fixed", aligned="bottom")
    try:
        row = fixed_length(codec, ids, int(length.value()), start=start.value(), end=end.value())
    except ValueError as error:
        yield Text(said=f"{error}.", tone="bad")
        return
    yield _draw_code(row)
    filled = row.count(vocabulary.pad)
    yield Text(said=words.padded(len(row), filled, vocabulary.tokens[vocabulary.pad]))


def _draw_code(ids: Sequence[int]) -> Widget:
    """The ids to copy; many of them scroll."""
    height: int | Literal["content"] = 180 if len(ids) > USUAL_LENGTH * 2 else "content"
    said = f"[{', '.join(map(str, ids))}]"
    return Widget(put=partial(st.code, said, language=None, wrap_lines=True, height=height))


def _text_ids(shown: RunView, side: SideName) -> list[int]:
    """The ids of the whole text of one side; for the target with the last token that was written."""
    if side == "source":
        return [*shown.trace.src.ids]
    return [*shown.trace.tgt.ids[: step_row(shown.run, 0) + 1], *(step.token_id for step in shown.run.steps)]
