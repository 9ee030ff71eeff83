"""The lower part of the Input page: the data set, a vocabulary built from sentences, and spaCy's analysis of a text."""

from __future__ import annotations

import html
import random
from collections.abc import Iterator, Mapping, Sequence
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
from viz_transformer.ui.frame.drawn import (
    Button,
    Chart,
    Columns,
    Drawn,
    Entry,
    Group,
    Heading,
    Markup,
    Table,
    Text,
    Widget,
)
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.frame.text import Html
from viz_transformer.ui.pages.input import tokens_view, words
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
MAX_SEED = 999_999
DEFINITIONS = "vt-definitions vt-mono"


# --- the data set


def draw_data(ckpt: Checkpoint, chosen: Chosen) -> Iterator[Drawn]:
    """One part of the data: its items by index, lengths, a filter's counts, and a batch. Without its files, the model's
    examples, with a sentence on how to get the files; if nobody chose a part, without that sentence.
    """
    names, asked = parts(ckpt), chosen["input_part"]
    if not names:
        yield Text(said=words.no_data(ckpt.name))
        return
    name = asked if asked in names else next(each for each in FIRST if each in names)
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
    yield Group(parts=[Widget(put=partial(_put_parts, names, name, files))], key="input_parts", aligned="center")
    if data is not None and data.of is not None:
        said.append(words.first_generated(len(data.items), data.of))
    if said:
        yield Text(said=" ".join(said))
    if data is None:
        return
    with frame.wait(words.MEASURING):
        measured = _measure(ckpt, data.part, data_files.data_key(), data)
    limits = _limits(ckpt, data, measured)
    left = (*_draw_item(ckpt, data), _draw_lengths(ckpt, data, measured, limits))
    yield Columns(parts=[left, [*_draw_sources(ckpt), *_draw_filter(ckpt, data, measured, limits)]], widths=(5, 3))
    yield from _draw_batch(ckpt, data, chosen)


def _put_parts(names: Sequence[str], name: str, files: str | None) -> None:
    """The choice of a part, and on a button which files others need."""
    offered = {each: words.PART_NAMES[each] for each in sorted(names, key=lambda each: each != "examples")}
    controls.buttons(words.PART, offered, "input_part", key="input_part", hidden=True, value=name)
    if files is not None:
        with st.popover(words.FULL_DATA, type="tertiary", key="input_full"):
            text.paragraph(files)


@memoize(4)
def _measure(ckpt: Checkpoint, part: str, folder: str, _data: Data) -> Measured:
    return measure(_data.items, item_codecs(ckpt))


def _noun(data: Data) -> str:
    return words.WINDOW if data.whole_text else words.PAIR


def _draw_item(ckpt: Checkpoint, data: Data) -> Iterator[Drawn]:
    """One item by its index: both texts as tokens with ids, and the buttons that open it."""
    count = len(data.items)
    number = state.clamp_index("input_item", count, words.the_part(data.part))
    box = Widget(put=partial(_put_number, words.item_box(_noun(data), count), count - 1, "input_item"))
    at_random = partial(_choose_at_random, count)
    button = Button(label=words.AT_RANDOM, key="input_random", does=at_random, kind="secondary")
    yield Group(parts=[box, button], key="input_item_row", aligned="bottom")
    source, target = data.items[number]
    sides: list[tuple[SideName, str]] = [("source" if ckpt.spec.has_encoder else "target", source)]
    if target and ckpt.spec.kind == "encoder-decoder":
        sides.append(("target", target))
    for side, said in sides:
        yield from _draw_item_text(ckpt.own_codec(side) if side in ckpt.codecs else None, said, side)
    if target and ckpt.spec.kind == "decoder-only":
        yield Text(said=target, lead=words.GOES_ON)
    free = words.OPEN_FREE if len(sides) > 1 else words.OPEN_TEXT
    buttons = [
        Button(
            label=words.OPEN_GOLD,
            key="input_open_gold",
            fields={"text": source, "target": target},
            help=words.OPEN_GOLD_HELP,
            kind="secondary",
        ),
        Button(label=free, key="input_open_free", fields={"text": source, "target": None}, kind="secondary"),
    ]
    yield Group(parts=buttons if len(sides) > 1 else buttons[1:], key="input_open", aligned="top")


def _put_number(label: str, most: int, field: str) -> None:
    st.number_input(label, 0, most, step=1, width=200, **state.widget_args(field, key=field))


def _choose_at_random(count: int) -> None:
    state.select(input_item=random.randrange(count))


def _draw_item_text(codec: Codec | None, said: str, side: SideName) -> Iterator[Drawn]:
    if codec is None:
        yield Text(said=said)
        return
    yield Text(said=said, style=f"vt-gold vt-gold-{side}")
    try:
        found = codec.encode(said)
    except ValueError as error:
        yield Text(said=f"{error}.", tone="bad")
        return
    yield Markup(html=tokens_view.token_cells(codec, Tokens(found.ids, found.tokens, found.originals)))
    count = len(found) - codec.add_bos - codec.add_eos
    yield Text(said=words.encoded(count, len(found.unknown), codec.add_bos, codec.add_eos))


def _draw_sources(ckpt: Checkpoint) -> Iterator[Drawn]:
    """The number of items of each part, their files, and how many were left out as too long."""
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
    yield Heading(said=words.PARTS)
    yield Table(head=words.PARTS_HEAD, rows=rows, attributes=[{"title": ", ".join(each.files)} for each in found])
    yield Text(said=words.from_files(list(dict.fromkeys(file for each in found for file in each.files))))
    yield from (Text(said=words.varied(each.varied, each.alike)) for each in found if each.varied)


@memoize(8)
def _find_sources(ckpt: Checkpoint, folder: str) -> tuple[Source, ...]:
    return sources(ckpt)


def _sides(data: Data, ckpt: Checkpoint) -> tuple[SideName, ...]:
    """The sides of an item that have lengths."""
    if ckpt.spec.kind == "encoder-decoder" and not data.whole_text:
        return ("source", "target")
    return ("source",) if ckpt.spec.has_encoder else ("target",)


def _limits(ckpt: Checkpoint, data: Data, measured: Measured) -> Mapping[SideName, Entry]:
    """The longest texts that the filter keeps, of each side."""
    found = {}
    for column, side in enumerate(_sides(data, ckpt)):
        longest = int(measured.lengths[:, column].max(initial=0))
        box = partial(st.number_input, words.most_tokens(side), 0, max(longest, 1), width=140)
        found[side] = Entry(put=box, key=f"input_most_{side}_{ckpt.name}_{data.part}", unset=longest)
    return found


def _draw_filter(ckpt: Checkpoint, data: Data, measured: Measured, limits: Mapping[SideName, Entry]) -> Iterator[Drawn]:
    """Length statistics, and the counts of a filter by length and known words."""
    facts = [(side, length_facts(measured.lengths[:, column])) for column, side in enumerate(limits)]
    rows = [
        (side, numerals.number(n.mean, 2), numerals.number(n.deviation, 2), str(n.shortest), str(n.longest))
        for side, n in facts
    ]
    yield Heading(said=words.LENGTHS)
    yield Table(head=words.LENGTHS_HEAD, rows=rows)
    box = partial(st.checkbox, words.KNOWN_ONLY)
    known = Entry(put=box, key=f"input_known_{ckpt.name}_{data.part}", unset=False)
    yield Group(parts=[*limits.values(), known], key="input_filter", aligned="bottom")
    given = [int(each.value()) for each in limits.values()]
    found = keep(measured, (given[0], given[1] if len(given) > 1 else 0), known_only=known.value())
    stated = [(words.KEPT, words.kept_share(found.kept, found.total))]
    if len(limits) > 1:
        counts = (found.source_too_long, found.target_too_long)
        stated += [(words.side_too_long(side), f"{count:,}") for side, count in zip(limits, counts, strict=True)]
    else:
        stated.append((words.TOO_LONG, f"{found.source_too_long:,}"))
    if known.value():
        stated.append((words.UNKNOWN_WORD, f"{found.unknown_words:,}"))
    yield Table(head=(), rows=stated, style=DEFINITIONS)
    if len(stated) > 2:
        yield Text(said=words.COUNTED_ONCE)


def _draw_lengths(ckpt: Checkpoint, data: Data, measured: Measured, limits: Mapping[SideName, Entry]) -> Chart:
    sides = {side: measured.lengths[:, column] for column, side in enumerate(limits)}
    cut = {side: int(each.value()) for side, each in limits.items() if each.value() < int(sides[side].max())}
    title = words.lengths_title(len(data.items), data.whole_text, data.part)
    return Chart(
        figure=lambda theme: _length_histogram(sides, title=title, limits=cut, theme=theme),
        key="input_lengths",
        alt=words.LENGTHS_ALT,
        caption=words.data_of(graded(state.SHARED.now().checkpoint, ckpt.card)),
        size=frame.ChartSize(grows=PROJECTED),
    )


def _draw_batch(ckpt: Checkpoint, data: Data, chosen: Chosen) -> Iterator[Drawn]:
    """A shuffled batch of the part as ids, with the padding marked."""
    yield Heading(said=words.BATCH)
    seed = Widget(put=partial(_put_number, words.BATCH_SEED, MAX_SEED, "input_batch"))
    size = Entry(put=partial(st.number_input, words.TEXTS, 1, 64, width=120), key="input_size", unset=BATCH)
    yield Group(parts=[seed, size], key="input_batch_row", aligned="bottom")
    try:
        made = shuffle_batch(ckpt, data, int(size.value()), min(chosen["input_batch"], MAX_SEED))
    except ValueError as error:
        yield Text(said=f"{error}.")
        return
    for side, ids in made.ids.items():
        yield Text(said=words.batch_shape(side, *ids.shape))
        yield Markup(html=_batch_table(ckpt.own_codec(side), made, side, _noun(data).lower()))
    share = made.padding_share
    yield Text(said=words.padding(share, ckpt.spec.pad_to) if share else words.NO_PADDING)


def _batch_table(codec: Codec, made: PaddedBatch, side: SideName, noun: str) -> Html:
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
    return Html(f'<div class="vt-wide"><table class="vt-batch vt-batch-{side}">{"".join(rows)}</table></div>')


# --- a vocabulary from sentences


def draw_building(ckpt: Checkpoint, side: SideName) -> Columns:
    """A vocabulary built from a few sentences, with a minimum count and the special tokens in the chosen order."""
    codec = ckpt.own_codec(side)
    own = f"{ckpt.name}_{side}"
    roles = {token: role for role, token in codec.vocabulary.specials.items()}
    specials = sorted(roles, key=codec.vocabulary.id)
    sentence_box = partial(controls.text_box, words.SENTENCES)
    written = Entry(put=sentence_box, key=f"input_sentences_{own}", unset=_sentences(ckpt, side))
    count_box = partial(st.number_input, words.LEAST, 1, 99, width=140)
    least = Entry(put=count_box, key=f"input_least_{own}", unset=2)
    order_box = partial(controls.text_box, words.SPECIALS, disabled=not specials)
    order = Entry(put=order_box, key=f"input_specials_{own}", unset=" ".join(specials))
    look_up_box = partial(st.text_input, words.LOOK_UP_TOKEN, autocomplete="off", width=240)
    looked = Entry(put=look_up_box, key=f"input_lookup_{own}", unset="")
    left: list[Drawn] = [written, Group(parts=[least, order], key="input_build_row", aligned="bottom"), looked]
    try:
        named = _name_roles(order.value(), roles)
        made = rebuild(codec.tokenizer, written.value().split("\n"), named, int(least.value()))
    except ValueError as error:
        left.append(Text(said=f"{error}.", tone="bad"))
        return Columns(parts=[left, []], widths=(5, 3))
    names = made.vocabulary.tokens
    if looked.value():
        token = codec.tokenizer.normalise(looked.value())
        found = made.look_up(token)
        shown = labels.shorten(labels.visible(looked.value()), 40)
        if found is None:
            left.append(Text(said=words.has_no_id(shown)))
        else:
            left.append(Text(said=words.has_id(shown, found, None if names[found] == token else names[found])))
    for sentence, ids in made.sentences:
        row = words.TOKEN_WITHOUT_ID if ids is None else f"[{', '.join(map(str, ids))}]"
        left.append(Table(head=(), rows=[(labels.shorten(sentence, 60), row)], style=DEFINITIONS))
    listed = [(id, labels.visible(name), made.counts[id]) for id, name in enumerate(names)]
    rows = _draw_rows(words.BUILT_COLUMNS, listed, key="input_built", alt=words.BUILT_ALT, height=280, placeholder="–")
    right: list[Drawn] = [Heading(said=words.built(len(names))), rows]
    if made.left_out:
        rare = [(labels.visible(token), count) for token, count in made.left_out]
        right.append(Text(said=words.left_out(rare, int(least.value()), MAX_RARE)))
    return Columns(parts=[left, right], widths=(5, 3))


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


def draw_words(shown: RunView, side: SideName) -> Iterator[Drawn]:
    """Counts and flags by spaCy's rules, and part of speech and dependencies if a pipeline is installed."""
    codec = shown.ckpt.own_codec(side) if side in shown.ckpt.codecs else None
    language: str = getattr(codec.tokenizer, "language", USUAL) if codec is not None else USUAL
    said = shown.text if side == "source" or not shown.trace.spec.has_encoder else (shown.target or shown.run.text)
    try:
        facts, found, name = _rules(language, said)
    except ValueError as error:
        yield Text(said=f"{error}.", tone="bad")
        return
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
    stated = Table(head=(), rows=[*zip(words.FACTS, values, strict=True)], style=DEFINITIONS)
    left: list[Drawn] = [Heading(said=words.by_rules(name)), stated]
    if codec is None or codec.tokenizer.kind != "spacy":
        left.append(Text(said=words.OTHER_RULES))
    told = [(labels.visible(w.text), labels.visible(w.shape), w.kind, w.stop, w.blank) for w in found]
    right = _draw_rows(words.RULE_COLUMNS, told, key="input_words", alt=words.RULES_ALT, height=320)
    yield Columns(parts=[left, [right]], widths=(3, 5))
    yield from _draw_grammar(language, name, said, linguistics.installed_pipelines(language))


def _draw_rows(names: Sequence[str], rows: Sequence[tuple[Any, ...]], *, key: str, alt: str, **more: Any) -> Widget:
    """A table to scroll and sort, of columns with these names."""
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return Widget(put=partial(st.dataframe, columns, hide_index=True, key=key, alt=alt, **more))


@memoize(16)
def _rules(language: str, said: str) -> tuple[Any, Any, str]:
    return (
        linguistics.text_facts(language, said),
        linguistics.words(language, said),
        linguistics.language_name(language),
    )


def _draw_grammar(language: str, name: str, said: str, pipelines: Sequence[str]) -> Iterator[Drawn]:
    """Part of speech and dependencies by an installed pipeline, or a sentence on how to get one."""
    yield Heading(said=words.GRAMMAR)
    if not pipelines:
        yield Text(said=words.no_pipeline(name, PIPELINES.get(language)))
        return
    chosen = pipelines[0]
    if len(pipelines) > 1:
        box = Entry(put=partial(_put_pipelines, pipelines), key="input_pipeline", unset=chosen)
        yield box
        chosen = box.value()
    try:
        found = linguistics.tag(chosen, said)
    except ValueError as error:
        yield Text(said=f"{error}.", tone="bad")
        return
    told = []
    for each in found:
        text_, lemma, head = map(labels.visible, (each.text, each.lemma, found[each.head].text))
        told.append((text_, lemma, each.part_of_speech, each.tag, each.dependency, head, each.explained))
    yield _draw_rows(words.GRAMMAR_COLUMNS, told, key="input_grammar", alt=words.GRAMMAR_ALT)
    yield Text(said=words.found_by(chosen))


def _put_pipelines(pipelines: Sequence[str], *, value: str, key: str) -> None:
    st.selectbox(words.PIPELINE, pipelines, pipelines.index(value), key=key, width=240)
