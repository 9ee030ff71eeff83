"""The lower part of the Input page: the data set, a vocabulary built from sentences, and spaCy's analysis of a text."""

from __future__ import annotations

import html
import random
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.inputs.dataset import (
    Data,
    Measured,
    PaddedBatch,
    Source,
    item_codecs,
    keep,
    length_facts,
    measure,
    parts,
    shuffle_batch,
    sources,
)
from viz_transformer.analysis.inputs.vocabulary import rebuild
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.grading import graded
from viz_transformer.figures import labels
from viz_transformer.figures.lengths import length_histogram
from viz_transformer.model.kinds import SideName
from viz_transformer.running.trace import Tokens
from viz_transformer.text import linguistics
from viz_transformer.text.codec import Codec
from viz_transformer.ui.frame import controls, frame, text
from viz_transformer.ui.pages.input import tokens_view, words
from viz_transformer.ui.pages.input.fields import FIELDS
from viz_transformer.ui.pages.input.tokens_view import PROJECTED
from viz_transformer.ui.session import data_files, state
from viz_transformer.ui.session.memoize import memoize, memoize_figure
from viz_transformer.ui.session.runs import RunView

_length_histogram = memoize_figure(length_histogram)

FIRST = ("test", "train", "validation", "examples")
BATCH = 8
FILLED = 3
"""The most padding ids in a row drawn one by one; more are one cell."""
SENTENCES = 4
LONGEST_SENTENCE = 80
MAX_RARE = 24
PIPELINES = {"en": "en_core_web_sm", "de": "de_core_news_sm", "it": "it_core_news_sm"}
USUAL = "en"


# --- the data set


def data_set(ckpt: Checkpoint) -> None:
    """Draw one part of the data: its items by index, lengths, a filter's counts, and a batch."""
    names = parts(ckpt)
    if not names:
        text.paragraph(words.no_data(ckpt.name))
        return
    data = _chosen_part(ckpt, names)
    if data is None:
        return
    left, right = st.columns([5, 3], gap="medium")
    with left:
        _draw_item(ckpt, data)
    with right:
        facts = st.container()
    with frame.wait(words.MEASURING):
        measured = _measure(ckpt, data.part, data_files.data_key(), data)
    with right:
        limits = _draw_filter(ckpt, data, measured)
    with left:
        _draw_lengths(ckpt, data, measured, limits)
    _draw_batch(ckpt, data)
    with facts:
        _draw_sources(ckpt)


def _chosen_part(ckpt: Checkpoint, names: Sequence[str]) -> Data | None:
    """The items of the chosen part; without its files, the model's examples, with a sentence on how to get the files.

    If nobody chose a part, the examples are shown without that sentence.
    """
    asked: str = FIELDS.now().input_part
    name = asked if asked in names else next(each for each in FIRST if each in names)
    row = st.container(horizontal=True, vertical_alignment="center", key="input_parts")
    has_examples, what = "examples" in names, words.read_from_files(name)
    said: list[str] = []
    files: str | None = None
    data: Data | None
    try:
        with frame.wait(words.READING):
            data = data_files.part(ckpt, name)
    except ValueError as error:
        missing = data_files.missing_data(ckpt, name, error, what)
        if has_examples and data_files.is_missing(ckpt, name, error):
            files = missing
            said = [words.not_here(what)]
        else:
            said = [missing]
        data = data_files.part(ckpt, "examples") if has_examples else None
        if has_examples and files is not None and asked != name:
            name, said = "examples", []
        elif has_examples:
            said.append(words.EXAMPLES_INSTEAD)
    with row:
        offered = {each: words.PART_NAMES[each] for each in sorted(names, key=lambda each: each != "examples")}
        controls.buttons(words.PART, offered, "input_part", key="input_part", hidden=True, value=name)
        if files is not None:
            with st.popover(words.FULL_DATA, type="tertiary", key="input_full"):
                text.paragraph(files)
    if data is not None and data.of is not None:
        said.append(words.first_generated(len(data.items), data.of))
    if said:
        text.paragraph(" ".join(said))
    return data


@memoize(4)
def _measure(ckpt: Checkpoint, part: str, folder: str, _data: Data) -> Measured:
    return measure(_data.items, item_codecs(ckpt))


def _noun(data: Data) -> str:
    return words.WINDOW if data.whole_text else words.PAIR


def _draw_item(ckpt: Checkpoint, data: Data) -> None:
    """Draw one item by its index: both texts as tokens with ids, and the buttons that open it."""
    count = len(data.items)
    number = state.clamp_index("input_item", count, words.the_part(data.part))
    with st.container(horizontal=True, vertical_alignment="bottom", key="input_item_row"):
        st.number_input(
            words.item_box(_noun(data), count),
            0,
            count - 1,
            step=1,
            width=200,
            **state.widget_args("input_item", key="input_item"),
        )
        st.button(
            words.AT_RANDOM, key="input_random", on_click=lambda: state.select(input_item=random.randrange(count))
        )
    source, target = data.items[number]
    sides: list[tuple[SideName, str]] = [("source" if ckpt.spec.has_encoder else "target", source)]
    if target and ckpt.spec.kind == "encoder-decoder":
        sides.append(("target", target))
    for side, said in sides:
        _draw_item_text(ckpt.own_codec(side) if side in ckpt.codecs else None, said, side)
    if target and ckpt.spec.kind == "decoder-only":
        text.paragraph(target, lead=words.GOES_ON)
    free, gold = partial(state.select, text=source, target=None), partial(state.select, text=source, target=target)
    with st.container(horizontal=True, key="input_open"):
        if len(sides) > 1:
            st.button(words.OPEN_GOLD, key="input_open_gold", on_click=gold, help=words.OPEN_GOLD_HELP)
        st.button(words.OPEN_FREE if len(sides) > 1 else words.OPEN_TEXT, key="input_open_free", on_click=free)


def _draw_item_text(codec: Codec | None, said: str, side: SideName) -> None:
    if codec is None:
        text.paragraph(said)
        return
    text.paragraph(said, style=f"vt-gold vt-gold-{side}")
    try:
        found = codec.encode(said)
    except ValueError as error:
        text.paragraph(f"{error}.", tone="bad")
        return
    st.html(tokens_view.token_cells(codec, Tokens(found.ids, found.tokens, found.originals)))
    count = len(found) - codec.add_bos - codec.add_eos
    text.paragraph(words.encoded(count, len(found.unknown), codec.add_bos, codec.add_eos))


def _draw_sources(ckpt: Checkpoint) -> None:
    """Draw the number of items of each part, their files, and how many were left out as too long."""
    try:
        found = _find_sources(ckpt, data_files.data_key())
    except ValueError:
        return  # the part says which file is missing
    if not found:
        return
    rows = [
        (
            words.PART_NAMES[each.part],
            words.in_the_file(each.in_files, each.made),
            f"{each.too_long:,}",
            f"{each.used:,}",
        )
        for each in found
    ]
    hints = [{"title": ", ".join(each.files)} for each in found]
    text.section(words.PARTS)
    st.html(text.table(rows, head=words.PARTS_HEAD, style="vt-facts vt-numbers", attributes=hints))
    files = list(dict.fromkeys(file for each in found for file in each.files))
    text.paragraph(words.from_files(files))
    for each in found:
        if each.varied:
            text.paragraph(words.varied(each.varied, each.alike))


@memoize(8)
def _find_sources(ckpt: Checkpoint, folder: str) -> tuple[Source, ...]:
    return sources(ckpt)


def _sides(data: Data, ckpt: Checkpoint) -> tuple[SideName, ...]:
    """The sides of an item that have lengths."""
    if ckpt.spec.kind == "encoder-decoder" and not data.whole_text:
        return ("source", "target")
    return ("source",) if ckpt.spec.has_encoder else ("target",)


def _draw_filter(ckpt: Checkpoint, data: Data, measured: Measured) -> Mapping[SideName, int]:
    """Draw length statistics, and the counts of a filter by length and known words; returns the filter's limits."""
    text.section(words.LENGTHS)
    sides = _sides(data, ckpt)
    facts = {side: length_facts(measured.lengths[:, column]) for column, side in enumerate(sides)}
    rows = [
        (side, numerals.number(n.mean, 2), numerals.number(n.deviation, 2), str(n.shortest), str(n.longest))
        for side, n in facts.items()
    ]
    st.html(text.table(rows, head=words.LENGTHS_HEAD, style="vt-facts vt-numbers"))
    limits: dict[SideName, int] = {}
    own = f"{ckpt.name}_{data.part}"
    with st.container(horizontal=True, vertical_alignment="bottom", key="input_filter"):
        for side, n in facts.items():
            key = f"input_most_{side}_{own}"
            limits[side] = int(
                st.number_input(words.most_tokens(side), 0, max(n.longest, 1), n.longest, key=key, width=140)
            )
        known = st.checkbox(words.KNOWN_ONLY, key=f"input_known_{own}")
    given = [limits[side] for side in sides]
    found = keep(measured, (given[0], given[1] if len(given) > 1 else 0), known_only=known)
    stated = [(words.KEPT, words.kept_share(found.kept, found.total))]
    if len(sides) > 1:
        counts = (found.source_too_long, found.target_too_long)
        stated += [(words.side_too_long(side), f"{count:,}") for side, count in zip(sides, counts, strict=True)]
    else:
        stated.append((words.TOO_LONG, f"{found.source_too_long:,}"))
    if known:
        stated.append((words.UNKNOWN_WORD, f"{found.unknown_words:,}"))
    text.definitions(stated)
    if len(stated) > 2:
        text.paragraph(words.COUNTED_ONCE)
    return limits


def _draw_lengths(ckpt: Checkpoint, data: Data, measured: Measured, limits: Mapping[SideName, int]) -> None:
    sides = {side: measured.lengths[:, column] for column, side in enumerate(limits)}
    cut = {side: limit for side, limit in limits.items() if limit < int(sides[side].max())}
    title = words.lengths_title(len(data.items), data.whole_text, data.part)
    figure = _length_histogram(sides, title=title, limits=cut, theme=frame.theme())
    caption = words.data_of(graded(state.SHARED.now().checkpoint, ckpt.card))
    frame.chart(
        figure,
        key="input_lengths",
        alt=words.LENGTHS_ALT,
        caption=caption,
        size=frame.ChartSize(grows=PROJECTED),
    )


def _draw_batch(ckpt: Checkpoint, data: Data) -> None:
    """Draw a shuffled batch of the part as ids, with the padding marked."""
    text.section(words.BATCH)
    with st.container(horizontal=True, vertical_alignment="bottom", key="input_batch_row"):
        st.number_input(
            words.BATCH_SEED, 0, 999_999, step=1, width=200, **state.widget_args("input_batch", key="input_batch")
        )
        size = st.number_input(words.TEXTS, 1, 64, BATCH, key="input_size", width=120)
    try:
        made = shuffle_batch(ckpt, data, int(size), min(FIELDS.now().input_batch, 999_999))
    except ValueError as error:
        text.paragraph(f"{error}.")
        return
    for side, ids in made.ids.items():
        text.paragraph(words.batch_shape(side, *ids.shape))
        st.html(_batch_table(ckpt.own_codec(side), made, side, _noun(data).lower()))
    if not made.padding_share:
        text.paragraph(words.NO_PADDING)
        return
    text.paragraph(words.padding(made.padding_share, ckpt.spec.pad_to))


def _batch_table(codec: Codec, made: PaddedBatch, side: SideName, noun: str) -> str:
    names, rows, filled = codec.vocabulary.tokens, [], ' class="vt-filled"'
    for index, ids, padding in zip(made.indices, made.ids[side].tolist(), made.padding[side].tolist(), strict=True):
        cells = []
        for (id, fills), alike in groupby(zip(ids, padding, strict=True)):
            count = len([*alike])
            name = html.escape(labels.visible(names[id]), quote=True)
            if fills and count > FILLED:
                cells.append(f'<td{filled} colspan="{count}" title="{name} × {count}">{id} ×{count}</td>')
            else:
                cells += [f'<td{filled if fills else ""} title="{name}">{id}</td>'] * count
        rows.append(f"<tr><th>{noun} {index:,}</th>{''.join(cells)}</tr>")
    return f'<div class="vt-wide"><table class="vt-batch vt-batch-{side}">{"".join(rows)}</table></div>'


# --- a vocabulary from sentences


def build(ckpt: Checkpoint, side: SideName) -> None:
    """Draw a vocabulary built from a few sentences, with a minimum count and the special tokens in the chosen order."""
    codec = ckpt.own_codec(side)
    own = f"{ckpt.name}_{side}"
    roles = {token: role for role, token in codec.vocabulary.specials.items()}
    specials = sorted(roles, key=codec.vocabulary.id)
    left, right = st.columns([5, 3], gap="medium")
    with left:
        written = controls.text_box(words.SENTENCES, value=_sentences(ckpt, side), key=f"input_sentences_{own}")
        with st.container(horizontal=True, vertical_alignment="bottom", key="input_build_row"):
            least = st.number_input(words.LEAST, 1, 99, 2, key=f"input_least_{own}", width=140)
            typed, off = " ".join(specials), not specials
            order = controls.text_box(words.SPECIALS, value=typed, key=f"input_specials_{own}", disabled=off)
        looked = st.text_input(words.LOOK_UP_TOKEN, key=f"input_lookup_{own}", autocomplete="off", width=240)
    try:
        made = rebuild(codec.tokenizer, written.split("\n"), _name_roles(order, roles), int(least))
    except ValueError as error:
        with left:
            text.paragraph(f"{error}.", tone="bad")
        return
    names = made.vocabulary.tokens
    with left:
        if looked:
            token = codec.tokenizer.normalise(looked)
            found = made.look_up(token)
            shown = labels.shorten(labels.visible(looked), 40)
            if found is None:
                text.paragraph(words.has_no_id(shown))
            else:
                text.paragraph(words.has_id(shown, found, None if names[found] == token else names[found]))
        for sentence, ids in made.sentences:
            row = words.TOKEN_WITHOUT_ID if ids is None else f"[{', '.join(map(str, ids))}]"
            text.definitions([(labels.shorten(sentence, 60), row)])
    with right:
        text.section(words.built(len(names)))
        listed = [(id, labels.visible(name), made.counts[id]) for id, name in enumerate(names)]
        _put_rows(words.BUILT_COLUMNS, listed, key="input_built", alt=words.BUILT_ALT, height=280, placeholder="–")
        if made.left_out:
            rare = [(labels.visible(token), count) for token, count in made.left_out]
            text.paragraph(words.left_out(rare, int(least), MAX_RARE))


def _name_roles(order: str, roles: Mapping[str, str]) -> dict[str, str]:
    """Role -> token, in the order of the tokens. Raises ValueError for a token without a role."""
    tokens = list(dict.fromkeys(order.split()))
    strange = next((token for token in tokens if token not in roles), None)
    if strange is not None:
        raise ValueError(f"{strange!r:.40} is not one of this model's special tokens: choose from {' '.join(roles)}")
    return {roles[token]: token for token in tokens}


def _sentences(ckpt: Checkpoint, side: SideName) -> str:
    """Some texts of the model's examples to start from; "" if it has none."""
    column = 1 if side == "target" and ckpt.spec.has_encoder else 0
    said = list(dict.fromkeys(pair[column] for pair in ckpt.examples()))
    short = [sentence for sentence in said if len(sentence) <= LONGEST_SENTENCE]
    return "\n".join((short or said)[:SENTENCES])


# --- what spaCy says


def words_and_grammar(shown: RunView, side: SideName) -> None:
    """Draw counts and flags by spaCy's rules, and part of speech and dependencies if a pipeline is installed."""
    codec = shown.ckpt.own_codec(side) if side in shown.ckpt.codecs else None
    language: str = getattr(codec.tokenizer, "language", USUAL) if codec is not None else USUAL
    said = shown.text if side == "source" or not shown.trace.spec.has_encoder else (shown.target or shown.run.text)
    try:
        facts, found, name = _rules(language, said)
    except ValueError as error:
        text.paragraph(f"{error}.", tone="bad")
        return
    left, right = st.columns([3, 5], gap="medium")
    with left:
        text.section(words.by_rules(name))
        values = (
            f"{facts.characters:,}",
            f"{facts.sentences:,}",
            f"{facts.tokens:,}",
            words.different_words(facts.words, facts.different),
            words.on_average(facts.letters_per_word),
            f"{facts.numbers:,}",
            f"{facts.punctuation:,}",
            f"{facts.stop_words:,}",
        )
        text.definitions(list(zip(words.FACTS, values, strict=True)))
        if codec is None or codec.tokenizer.kind != "spacy":
            text.paragraph(words.OTHER_RULES)
    with right:
        told = [
            (labels.visible(each.text), labels.visible(each.shape), each.kind, each.stop, each.blank) for each in found
        ]
        _put_rows(words.RULE_COLUMNS, told, key="input_words", alt=words.RULES_ALT, height=320)
    _draw_grammar(language, name, said, linguistics.installed_pipelines(language))


def _put_rows(names: Sequence[str], rows: Sequence[tuple[Any, ...]], *, key: str, alt: str, **more: Any) -> None:
    """A table to scroll and sort, of columns with these names."""
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    st.dataframe(columns, hide_index=True, key=key, alt=alt, **more)


@memoize(16)
def _rules(language: str, said: str) -> tuple[Any, Any, str]:
    return (
        linguistics.text_facts(language, said),
        linguistics.words(language, said),
        linguistics.language_name(language),
    )


def _draw_grammar(language: str, name: str, said: str, pipelines: Sequence[str]) -> None:
    """Draw part of speech and dependencies by an installed pipeline, or a sentence on how to get one."""
    text.section(words.GRAMMAR)
    if not pipelines:
        text.paragraph(words.no_pipeline(name, PIPELINES.get(language)))
        return
    chosen = pipelines[0]
    if len(pipelines) > 1:
        chosen = st.selectbox(words.PIPELINE, pipelines, key="input_pipeline", width=240)
    try:
        found = linguistics.tag(chosen, said)
    except ValueError as error:
        text.paragraph(f"{error}.", tone="bad")
        return
    told = []
    for each in found:
        text_, lemma, head = map(labels.visible, (each.text, each.lemma, found[each.head].text))
        told.append((text_, lemma, each.part_of_speech, each.tag, each.dependency, head, each.explained))
    _put_rows(words.GRAMMAR_COLUMNS, told, key="input_grammar", alt=words.GRAMMAR_ALT)
    text.paragraph(words.found_by(chosen))
