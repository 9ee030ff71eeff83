"""Parts of the Input page: tokens with their ids, the sum that a stack starts from, the vocabulary, neighbours."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import streamlit as st

from viz_transformer.data import DATA_VARIABLE
from viz_transformer.figures import labels
from viz_transformer.ui import cached, frame, maps, pictures, projector, state, text

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure
    from streamlit.delta_generator import DeltaGenerator

    from viz_transformer.analysis.dataset import Data
    from viz_transformer.analysis.embeddings import InputSum, Neighbours
    from viz_transformer.analysis.vocabulary import Counts
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.record import Tokens
    from viz_transformer.text.codec import Codec
    from viz_transformer.ui.frame import Runs
    from viz_transformer.ui.runs import Shown

Side = Literal["source", "target"]
SIDE_NAMES = {"source": "Source, encoder", "target": "Target, decoder"}
POSITION: dict[Side, str] = {"source": "i", "target": "t"}
ROWS = {"one": "One token", "all": "All tokens"}
ROLES = {"bos": "start", "eos": "end", "unk": "unknown", "pad": "padding"}
USUAL_LENGTH, LONGEST = 60, 1000
MOST_LISTED = 500
NEAREST = 12
PROJECTED = 1.6
_ENTRY_AT = "input_entry_at"


def model(both: Runs | None) -> Checkpoint | None:
    """The run's model; without a run the selected one, whose vocabulary and data can be looked at all the same."""
    if both is not None:
        return both.main.ckpt
    summary = frame.selected()
    if isinstance(summary, str):
        return None
    try:
        return cached.checkpoint(summary)
    except ValueError:
        return None  # the status says why


def side_choice(ckpt: Checkpoint) -> Side | None:
    """Which side is looked at: a control where there are two; None for a model without any text."""
    sides: list[Side] = [side for side in ("source", "target") if codec_of(ckpt, side) is not None]
    if not sides:
        text.paragraph(f"{ckpt.name} has no vocabulary: it reads and writes ids alone.")
        return None
    chosen: Side = state.selection()["input_side"]
    side = chosen if chosen in sides else sides[0]
    st.segmented_control(
        "Side",
        sides,
        required=True,
        format_func=SIDE_NAMES.__getitem__,
        label_visibility="collapsed",
        **state.bind("input_side", key="input_side", value=side),
    )
    return side


def codec_of(ckpt: Checkpoint, side: Side) -> Codec | None:
    """The codec of one side, None where the model has none."""
    return ckpt.source_codec if side == "source" else ckpt.target_codec


def tokens_of(shown: Shown, side: Side) -> Tokens:
    """What the encoder or the decoder reads in this run."""
    return shown.trace.src if side == "source" else shown.trace.tgt


# --- tokens and ids


def tokens(shown: Shown, side: Side) -> None:
    """What is read, token by token: what was typed, the vocabulary's name for it, and its id."""
    codec = codec_of(shown.ckpt, side)
    assert codec is not None
    read = tokens_of(shown, side)
    if side == "source":
        text.section("What the encoder reads")
    else:
        given = "the given target" if shown.target is not None else "what it has written itself"
        text.section(
            f"What the decoder reads: {given if shown.trace.config.has_encoder else 'the text and its answer'}"
        )
    st.html(token_cells(codec, read, selected=state.selection()[POSITION[side]]))
    if remark := _unknown_remark(codec, read):
        text.paragraph(remark)


def token_cells(codec: Codec, read: Tokens, *, selected: int | None = None) -> str:
    """Tokens as cells: what was typed above, the token and its id below; more than three of padding are one cell."""
    vocabulary = codec.vocabulary
    padding = 0
    while padding < len(read) and read.ids[len(read) - 1 - padding] == vocabulary.pad:
        padding += 1
    padding = padding if padding > 3 else 0
    cells = []
    for position in range(len(read) - padding):
        id, token, original = read.ids[position], read.tokens[position], read.originals[position]
        unknown = id == vocabulary.unk
        special = id in vocabulary.special_ids and not unknown
        kinds = ["vt-token", "vt-token-special" * special, "vt-token-unknown" * unknown]
        kinds.append("vt-token-selected" * (position == selected))
        typed = "" if special else _token(original or token)
        title = html.escape(f"position {position}: {labels.visible(token)}, id {id}", quote=True)
        cells.append(
            f'<span class="{" ".join(filter(None, kinds))}" title="{title}"><i>{typed}</i>'
            f"<b>{_token(token)}</b><small>{id}</small></span>"
        )
    if padding:
        cells.append(
            f'<span class="vt-token vt-token-special"><i></i><b>{_token(read.tokens[-1])} × {padding}</b>'
            f"<small>{read.ids[-1]}</small></span>"
        )
    head = '<span class="vt-token-head"><i>text</i><b>token</b><small>id</small></span>'
    return f'<div class="vt-tokens">{head}{"".join(cells)}</div>'


def _token(token: str) -> str:
    return html.escape(labels.isolated(labels.shorten(labels.visible(token), 40)))


def _unknown_remark(codec: Codec, read: Tokens) -> str | None:
    unk = codec.vocabulary.unk
    if unk is None or unk not in read.ids:
        return None
    name = codec.vocabulary.tokens[unk]
    hidden = [original for id, original in zip(read.ids, read.originals, strict=True) if id == unk and original != name]
    if not hidden:
        return f"The model wrote {name} itself: there is no word behind it."
    different = len(set(hidden))
    if different > 1:
        return f"{different} different words are hidden under {name}: to the model they are one and the same vector."
    return (
        f"“{labels.shorten(labels.visible(hidden[0]), 40)}” is not in the vocabulary: the model reads {name} instead."
    )


def padded_row(shown: Shown, side: Side) -> None:
    """The ids of the text at a fixed length, with or without start and end token, as the tutorials print them."""
    from viz_transformer.analysis.vocabulary import fixed_length

    ckpt, codec = shown.ckpt, codec_of(shown.ckpt, side)
    assert codec is not None
    vocabulary, own, ids = codec.vocabulary, f"{ckpt.name}_{side}", _text_ids(shown, side)
    if vocabulary.pad is None:
        st.code(f"[{', '.join(map(str, ids))}]", language=None, wrap_lines=True, height=_code_height(len(ids)))
        text.paragraph(f"{len(ids)} ids. This vocabulary has no padding token: its texts are never filled up.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="input_fixed"):
        length = st.number_input(
            "Ids at a fixed length of",
            1,
            LONGEST,
            ckpt.config.pad_to or max(USUAL_LENGTH, -(-len(ids) // 10) * 10),
            key=f"input_length_{own}",
            width=160,
        )
        start = st.checkbox("Start token", codec.add_bos, key=f"input_start_{own}", disabled=vocabulary.bos is None)
        end = st.checkbox("End token", codec.add_eos, key=f"input_end_{own}", disabled=vocabulary.eos is None)
    try:
        row = fixed_length(codec, ids, int(length), start=start, end=end)
    except ValueError as error:
        text.paragraph(f"{error}.", tone="bad")
        return
    st.code(f"[{', '.join(map(str, row))}]", language=None, wrap_lines=True, height=_code_height(len(row)))
    filled = row.count(vocabulary.pad)
    text.paragraph(f"{len(row)} ids, {filled} of them {vocabulary.tokens[vocabulary.pad]}.")


def _code_height(count: int) -> int | Literal["content"]:
    """A long row of ids scrolls."""
    return 180 if count > USUAL_LENGTH * 2 else "content"


def _text_ids(shown: Shown, side: Side) -> list[int]:
    """The ids of the whole text of one side; for the target with the last token that was written."""
    if side == "source":
        return [*shown.trace.src.ids]
    from viz_transformer.analysis.attention import step_row

    return [*shown.trace.tgt.ids[: step_row(shown.run, 0) + 1], *(step.token_id for step in shown.run.steps)]


# --- embedding x scale + position = input


def strips(shown: Shown, side: Side) -> None:
    """Embedding, position and input of one token or of all, as strips on one scale, with their variances."""
    from viz_transformer.figures.embeddings import Strip, input_strips

    read, field = tokens_of(shown, side), POSITION[side]
    chosen = state.selection()
    text.section("Embedding × scale + position = input")
    with st.container(horizontal=True, vertical_alignment="bottom", key="input_choices"):
        st.segmented_control(
            "Rows",
            [*ROWS],
            required=True,
            format_func=ROWS.__getitem__,
            label_visibility="collapsed",
            **state.bind("input_rows", key="input_rows"),
        )
        if chosen["input_rows"] == "one":
            st.selectbox(
                "Position",
                [*range(len(read))],
                format_func=lambda position: f"{position}: {labels.shorten(labels.visible(read.tokens[position]), 24)}",
                label_visibility="collapsed",
                width=220,
                **state.bind(field, key="input_position"),
            )
    row = chosen[field] if chosen["input_rows"] == "one" else None
    made = _input_sum(shown, side, row)
    parts = [(scaled_name(made.scale), made.scaled)]
    if made.position is not None:
        parts.append(("+ position", made.position))
    parts.append(("= input", made.out))
    names = [read.tokens[position] for position in made.rows]
    where = f"position {row}" if row is not None else f"{len(made.rows)} positions"
    stack = "encoder" if side == "source" else "decoder"
    figure = input_strips(
        [Strip(name, values) for name, values in parts],
        names,
        made.rows,
        side=side,
        title=f"{stack}.embed, {where}",
        theme=frame.theme(),
    )
    chart(figure, key="input_strips", alt=f"Embedding, position and input of {where} on one scale")
    st.html(_spread_table(made))
    _verdict(made)
    if made.position is None:
        text.paragraph("This model adds no positions: the scaled embedding is its input.")
    if row is not None:
        pictures.table(
            lambda: _strip_table(made),
            note=f"{shown.caption(f'{stack}.embed, position {row}')}. A row for each feature.",
            name=maps.file_name(shown.summary.name, stack, "embed", str(row)),
            key="input_table",
        )


def chart(figure: Figure, *, key: str, alt: str) -> None:
    """A figure in its place, enlarged on a projector."""
    from viz_transformer.figures.enlarged import enlarged

    frame.chart(enlarged(figure, PROJECTED) if projector.is_on() else figure, key=key, alt=alt)


def scaled_name(scale: float) -> str:
    """ "embedding × 16"; without the factor where it is 1."""
    return "embedding" if scale == 1 else f"embedding × {scale:.5g}"


def _input_sum(shown: Shown, side: Side, row: int | None) -> InputSum:
    from viz_transformer.analysis.embeddings import embedding_table, input_sum

    return input_sum(shown.trace, embedding_table(shown.ckpt, side), side, row)


def _spread_table(made: InputSum) -> str:
    """Mean and variances of each part of the sum."""
    from viz_transformer.analysis.embeddings import spread

    rows = [("embedding", made.embedding)]
    if made.scale != 1:
        rows.append((scaled_name(made.scale), made.scaled))
    rows += [] if made.position is None else [("position", made.position)]
    rows.append(("input", made.out))
    head = "".join(f"<th>{name}</th>" for name in ("", "mean", "variance", "variance, n − 1", "numbers"))
    body = ""
    for name, values in rows:
        found = spread(values)
        cells = (found.mean, found.variance, found.sample_variance)
        numbers = "".join(f"<td>{'–' if cell != cell else f'{cell:.4f}'}</td>" for cell in cells)
        body += f"<tr><th>{html.escape(name)}</th>{numbers}<td>{found.count:,}</td></tr>"
    return f'<table class="vt-facts vt-numbers"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _verdict(made: InputSum) -> None:
    """Whether the recorded input is the sum of what stands above it."""
    count = made.out.size
    added = "of the two strips above it" if made.position is not None else "above it"
    if made.exact:
        square = f" The scale multiplies the variance by {made.scale**2:.5g}." if made.scale != 1 else ""
        text.paragraph(
            f"Exact: all {count:,} recorded numbers of the input are the float32 sums {added}.{square}", tone="ok"
        )
    else:
        text.paragraph(
            f"Not the sum: the recorded input is up to {made.sum_error:.3g} away from it, and the scaled embedding up"
            f" to {made.scale_error:.3g} from the table times the scale.",
            tone="bad",
        )


def _strip_table(made: InputSum) -> pd.DataFrame:
    import pandas as pd

    columns = {"embedding": made.embedding[0], "embedding x scale": made.scaled[0]}
    if made.position is not None:
        columns["position"] = made.position[0]
    columns["input"] = made.out[0]
    return pd.DataFrame(columns).rename_axis("feature")


# --- the data that counts are from


@dataclass(frozen=True)
class Missing:
    """Why there are no counts: a sentence to show."""

    sentence: str


def data_key() -> str:
    """What names the data folder in a cache: another one has other data."""
    return os.path.abspath(os.path.expanduser(os.environ.get(DATA_VARIABLE) or "data"))


def part(ckpt: Checkpoint, name: str) -> Data:
    """The items of one part of the model's data. Raises ValueError for missing or bad files."""
    return _part(ckpt.name, ckpt.weights_sha256, name, data_key(), ckpt)


@st.cache_resource(max_entries=4, show_spinner=False)
def _part(model: str, weights: str, name: str, folder: str, _ckpt: Checkpoint) -> Data:
    from viz_transformer.analysis.dataset import read_part

    return read_part(_ckpt, name)


def counts(ckpt: Checkpoint, side: Side, place: DeltaGenerator) -> Counts | Missing:
    """How often each entry stands in the training texts, or why that is not known; `place` says what is waited for."""
    from viz_transformer.analysis.dataset import parts

    if "train" not in parts(ckpt):
        return Missing(
            "How often these stand in the training texts is not known: the card names no data of this program."
        )
    try:
        with frame.waiting("Counting the training texts ...", place):
            found = _counts(ckpt.name, ckpt.weights_sha256, side, data_key(), ckpt)
    except ValueError as error:
        return Missing(missing_data(ckpt, "train", error, "Counts need the training data"))
    place.empty()
    return found


@st.cache_resource(max_entries=8, show_spinner=False)
def _counts(model: str, weights: str, side: Side, folder: str, _ckpt: Checkpoint) -> Counts:
    from viz_transformer.analysis.vocabulary import count_tokens

    codec = codec_of(_ckpt, side)
    assert codec is not None
    column = 1 if side == "target" and _ckpt.config.has_encoder else 0
    return count_tokens(codec, (item[column] for item in part(_ckpt, "train").items))


def missing_data(ckpt: Checkpoint, name: str, error: ValueError, what: str) -> str:
    """What to put where, in a sentence; the error itself where the files are there."""
    from viz_transformer.analysis.dataset import needed_files

    files = needed_files(ckpt, name)
    if not files or all(os.path.isfile(os.path.join(data_key(), file)) for file in files):
        return f"{error}."
    listed = " and ".join(files)
    return (
        f"{what}, which are not here: put {listed} into a folder, name that folder in {DATA_VARIABLE} (else ./data is"
        " looked into), and start the app again."
    )


# --- vocabulary and neighbours


def selected_entry(ckpt: Checkpoint, side: Side, token_id: int | None) -> int | None:
    """The entry that is looked at: the chosen one, else that of the selected token.

    A choice holds as long as model, side and position stay: then the next token's entry is looked at.
    """
    chosen, memory = state.selection(), st.session_state
    size = len(_entries_of(ckpt, side))
    at = (ckpt.name, side, chosen["text"], chosen["target"], chosen[POSITION[side]])
    if memory.get(_ENTRY_AT, at) != at:
        chosen["input_entry"] = None
    memory[_ENTRY_AT] = at
    if chosen["input_entry"] is not None and chosen["input_entry"] >= size:
        state.remark(f"There is no entry {chosen['input_entry']}: this vocabulary has the ids 0 to {size - 1}.")
        chosen["input_entry"] = None
    entry: int | None = chosen["input_entry"]
    return token_id if entry is None else entry


def selected_id(both: Runs | None, side: Side) -> int | None:
    """The id of the token at the selected position; None without a run."""
    if both is None:
        return None
    ids = tokens_of(both.main, side).ids
    return ids[state.selection()[POSITION[side]]] if ids else None


def _entries_of(ckpt: Checkpoint, side: Side) -> Sequence[str]:
    codec = codec_of(ckpt, side)
    assert codec is not None
    return codec.vocabulary.tokens


def vocabulary(ckpt: Checkpoint, side: Side, counted: Counts | Missing) -> None:
    """All entries of one side's vocabulary, or those that hold what is looked for; a row chooses its entry."""
    from viz_transformer.analysis.vocabulary import find_entries

    codec = codec_of(ckpt, side)
    assert codec is not None
    entries = codec.vocabulary
    text.section(f"Vocabulary: {len(entries):,} entries")
    words = st.text_input(
        "Look up",
        key="input_find",
        placeholder="A word, a part of one, or an id",
        autocomplete="off",
        label_visibility="collapsed",
    )
    ids = find_entries(entries, words)
    if not ids:
        wanted = labels.shorten(labels.visible(words.strip()), 40)
        unknown = "" if entries.unk is None else f": the model reads {entries.tokens[entries.unk]}, id {entries.unk}"
        text.paragraph(f"No entry holds “{wanted}”{unknown}.")
    else:
        listed = ids[:MOST_LISTED]
        _entry_table(ckpt, side, listed, counted, key=f"input_vocabulary_{ckpt.name}_{side}_{words}", height=250)
        if len(ids) > len(listed):
            text.paragraph(f"The first {len(listed)} of {len(ids):,} are listed: go on typing.")
    _counted_remark(entries.unk is not None, counted)


def _counted_remark(has_unknown: bool, counted: Counts | Missing) -> None:
    if isinstance(counted, Missing):
        text.paragraph(counted.sentence)
        return
    known = f"Counts are of {counted.tokens:,} tokens in {counted.texts:,} training texts"
    if not counted.unknown:
        text.paragraph(f"{known}; each has an entry.")
        return
    share = 100 * counted.unknown / counted.tokens
    read = "are read as unknown" if has_unknown else "have no entry"
    text.paragraph(
        f"{known}; {counted.unknown:,} of them ({share:.1f} %), {counted.different_unknown:,} different ones, {read}."
    )


def _entry_table(
    ckpt: Checkpoint,
    side: Side,
    ids: Sequence[int],
    counted: Counts | Missing,
    *,
    key: str,
    height: int,
    cosines: Sequence[float] | None = None,
) -> None:
    """Entries with id, count and, for neighbours, cosine; choosing a row selects its entry.

    The key names what is listed: a row that was chosen in another list is not chosen in this one.
    """
    codec = codec_of(ckpt, side)
    assert codec is not None
    names = codec.vocabulary.tokens
    columns: dict[str, list[int | float | str | None]] = {
        "id": [*ids],
        "token": [labels.visible(names[id]) for id in ids],
    }
    if cosines is not None:
        columns["cosine"] = [*cosines]
    if not isinstance(counted, Missing):
        columns["count"] = [_count(codec, counted, id) for id in ids]
    st.dataframe(
        columns,
        hide_index=True,
        height=height,
        key=key,
        on_select=lambda: _take(key, ids),
        selection_mode="single-row",
        column_config={
            "id": st.column_config.NumberColumn(width=60),
            "cosine": st.column_config.NumberColumn(format="%.4f", width=70),
            "count": st.column_config.NumberColumn(format="localized", width=70),
        },
        placeholder="–",
        alt="Entries of the vocabulary; choose a row to see its neighbours",
    )


def _count(codec: Codec, counted: Counts, id: int) -> int | None:
    """None for what no text holds: start, end and padding tokens."""
    special = id in codec.vocabulary.special_ids and id != codec.vocabulary.unk
    return None if special else int(counted.by_id[id])


def _take(key: str, ids: Sequence[int]) -> None:
    rows = st.session_state[key].selection.rows
    if rows:
        state.select(input_entry=ids[rows[0]])


def nearest(ckpt: Checkpoint, side: Side, entry: int | None, counted: Counts | Missing) -> None:
    """The entries whose embeddings are nearest to the entry's, with the baseline of all others."""
    if entry is None:
        text.paragraph("Choose an entry above to see what is near it.")
        return
    codec = codec_of(ckpt, side)
    assert codec is not None
    name = labels.shorten(labels.visible(codec.vocabulary.tokens[entry]), 30)
    with st.container(horizontal=True, vertical_alignment="center", key="input_nearest_head"):
        text.section(f"Nearest to “{labels.isolated(name)}”, id {entry}")
        if state.selection()["input_entry"] is not None:
            st.space("stretch")
            st.button("The selected token", key="input_own", type="tertiary", on_click=state.select, kwargs=_OWN)
    try:
        found = _neighbours(ckpt.name, ckpt.weights_sha256, side, entry, ckpt)
    except ValueError as error:
        text.paragraph(f"{error}.")
        return
    ids = [each.id for each in found.nearest]
    cosines = [each.cosine for each in found.nearest]
    with st.container(key="input_nearest"):
        _entry_table(
            ckpt, side, ids, counted, key=f"input_nearest_{ckpt.name}_{side}_{entry}", height=250, cosines=cosines
        )
    seen = None if isinstance(counted, Missing) else _count(codec, counted, entry)
    times = "" if seen is None else f" It stands {seen:,} times in the training texts."
    text.paragraph(
        f"All {len(codec.vocabulary) - 1 - found.without_direction:,} others have a mean cosine of {found.mean:.3f},"
        f" deviation {found.deviation:.3f}. The embedding is {found.length:.3f} long.{times}"
    )


_OWN = {"input_entry": None}


@st.cache_resource(max_entries=64, show_spinner=False)
def _neighbours(model: str, weights: str, side: Side, entry: int, _ckpt: Checkpoint) -> Neighbours:
    from viz_transformer.analysis.embeddings import embedding_table, neighbours

    return neighbours(embedding_table(_ckpt, side), entry, NEAREST)
