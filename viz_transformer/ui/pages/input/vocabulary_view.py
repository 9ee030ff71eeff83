"""The vocabulary of one side on the Input page: its entries with their counts, and the nearest embeddings of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.inputs.dataset import parts
from viz_transformer.analysis.inputs.embeddings import Neighbours, embedding_table, neighbours
from viz_transformer.analysis.inputs.vocabulary import Counts, count_tokens, find_entries
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.figures import labels
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.text.codec import Codec, TextCodec
from viz_transformer.ui.frame import frame, projector
from viz_transformer.ui.frame import words as of_frame
from viz_transformer.ui.frame.drawn import Button, Drawn, Entry, Group, Heading, Table, Text, Widget
from viz_transformer.ui.frame.number_columns import number_column
from viz_transformer.ui.pages.input import words
from viz_transformer.ui.pages.input.fields import FIELDS
from viz_transformer.ui.session import data_files, state
from viz_transformer.ui.session.data_files import data_key, part
from viz_transformer.ui.session.memoize import memoize

MAX_LISTED = 500
NEAREST = 12
MAX_ON_A_PROJECTOR = 8
_ENTRY_AT = "input_entry_at"


# --- how often each entry occurs in the training texts


@dataclass(frozen=True)
class Missing:
    """The reason why there are no counts, as a sentence."""

    sentence: str


def counts(ckpt: Checkpoint, side: SideName) -> Counts | Missing:
    """The counts of the entries in the training texts, or why they are unknown."""
    if "train" not in parts(ckpt):
        return Missing(words.NO_COUNTS)
    try:
        with frame.wait(words.COUNTING):
            return _counts(ckpt, side, data_key())
    except ValueError as error:
        if data_files.is_missing(ckpt, "train", error):
            return Missing(words.COUNTS_NEED_DATA)
        return Missing(f"{error}.")


@memoize(8)
def _counts(ckpt: Checkpoint, side: SideName, folder: str) -> Counts:
    column = 1 if side == "target" and ckpt.spec.has_encoder else 0
    return count_tokens(ckpt.own_codec(side), (item[column] for item in part(ckpt, "train").items))


# --- entries and neighbours


def selected_entry(ckpt: Checkpoint, side: SideName, token_id: int | None) -> int | None:
    """The entry to show: the chosen one, else the selected token's.

    A choice holds until model, side or position change; then the next token's entry is shown.
    """
    chosen, memory = state.selection(), st.session_state
    size = len(ckpt.codec(side).names)
    at = (ckpt.name, side, chosen["text"], chosen["target"], chosen[SIDES[side].field])
    if memory.get(_ENTRY_AT, at) != at:
        state.clamp(input_entry=None)
    memory[_ENTRY_AT] = at
    entry = FIELDS.now().input_entry
    if entry is not None and entry >= size:
        state.remark(words.no_entry(entry, size))
        state.clamp(input_entry=None)
        return token_id
    return token_id if entry is None else entry


def draw_entries(ckpt: Checkpoint, side: SideName, counted: Counts | Missing) -> Iterator[Drawn]:
    """All entries of one side's vocabulary, or those that match the search; a row chooses its entry."""
    codec = ckpt.codec(side)
    yield Heading(said=words.vocabulary(len(codec.names)))
    box = partial(
        st.text_input,
        words.LOOK_UP,
        placeholder=words.LOOK_UP_HINT,
        autocomplete="off",
        label_visibility="collapsed",
    )
    find = Entry(put=box, key="input_find", unset="")
    yield find
    typed = find.value()
    ids = find_entries(codec.names, typed)
    if not ids:
        wanted = labels.shorten(labels.visible(typed.strip()), 40)
        unknown = None
        if isinstance(codec, Codec) and codec.unknown is not None:  # another tokenizer may split it
            unknown = codec.names[codec.unknown], codec.unknown
        yield Text(said=words.none_contains(wanted, unknown))
    else:
        listed, key = ids[:MAX_LISTED], f"input_vocabulary_{ckpt.name}_{side}_{typed}"
        yield Widget(put=partial(_put_entries, codec, listed, counted, key=key))
        if len(ids) > len(listed):
            yield Text(said=words.first_listed(len(listed), len(ids)))
    yield Text(said=_describe_counts(codec.unknown is not None, counted))


def _describe_counts(has_unknown: bool, counted: Counts | Missing) -> str:
    if isinstance(counted, Missing):
        return counted.sentence
    return words.counted(counted.tokens, counted.texts, counted.unknown, counted.different_unknown, has_unknown)


def _put_entries(
    codec: TextCodec, ids: Sequence[int], counted: Counts | Missing, *, key: str, cosines: Sequence[float] | None = None
) -> None:
    """Entries with id, count and, for neighbours, cosine; choosing a row selects its entry.

    key: of this list, so that a row chosen in another list is not chosen in it.
    """

    def taken() -> None:
        if rows := st.session_state[key].selection.rows:
            state.select(input_entry=ids[rows[0]])

    columns: dict[str, list[Any]] = {"id": [*ids], "token": [labels.visible(codec.names[id]) for id in ids]}
    if cosines is not None:
        columns["cosine"] = [*cosines]
    if not isinstance(counted, Missing):
        columns["count"] = [_count(codec, counted, id) for id in ids]
    st.dataframe(
        columns,
        hide_index=True,
        height=250,
        key=key,
        on_select=taken,
        selection_mode="single-row",
        column_config={
            "id": st.column_config.NumberColumn(width=56),
            "cosine": number_column(cosines if cosines is not None else [], 4, width=100),
            "count": st.column_config.NumberColumn(format="localized", width=70),
        },
        placeholder="–",
        alt=words.ENTRIES_ALT,
    )


def _count(codec: TextCodec, counted: Counts, id: int) -> int | None:
    """The count of an entry; None for start, end and padding tokens."""
    special = id in codec.special_ids and id != codec.unknown
    return None if special else int(counted.by_id[id])


def draw_nearest(ckpt: Checkpoint, side: SideName, entry: int | None, counted: Counts | Missing) -> Iterator[Drawn]:
    """The entries with the nearest embeddings, with the baseline of all others."""
    if entry is None:
        yield Text(said=words.CHOOSE_AN_ENTRY)
        return
    codec = ckpt.codec(side)
    name = labels.shorten(labels.visible(codec.names[entry]), 30)
    head: list[Drawn] = [Heading(said=words.nearest_to(labels.isolate(name), entry))]
    if FIELDS.now().input_entry is not None:
        head.append(Widget(put=partial(st.space, "stretch")))
        head.append(Button(label=words.OWN_TOKEN, key="input_own", fields={"input_entry": None}))
    yield Group(parts=head, key="input_nearest_head", aligned="center")
    try:
        found = _neighbours(ckpt, side, entry)
    except Unavailable as error:
        yield Text(said=of_frame.not_told(words.NEEDS_NEIGHBOURS, error))
        return
    except ValueError as error:
        yield Text(said=f"{error}.")
        return
    ids, cosines = [each.id for each in found.nearest], [each.cosine for each in found.nearest]
    key = f"input_nearest_{ckpt.name}_{side}_{entry}"
    drawn: Drawn = Widget(put=partial(_put_entries, codec, ids, counted, key=key, cosines=cosines))
    if projector.is_on():  # in large type
        names = (labels.isolate(labels.shorten(labels.visible(codec.names[each]), 30)) for each in ids)
        rows = [*zip(map(str, ids), names, (numerals.number(each, 3) for each in cosines), strict=True)]
        drawn = Table(head=words.NEAREST_HEAD, rows=rows[:MAX_ON_A_PROJECTOR], style="vt-measured")
    yield Group(parts=[drawn], key="input_nearest")
    seen = None if isinstance(counted, Missing) else _count(codec, counted, entry)
    others = len(codec.names) - 1 - found.without_direction
    yield Text(said=words.neighbourhood(others, found.mean, found.deviation, found.length, seen))


@memoize(64)
def _neighbours(ckpt: Checkpoint, side: SideName, entry: int) -> Neighbours:
    return neighbours(embedding_table(ckpt, side), entry, NEAREST)
