"""Parts of the Playground with editable numbers: attention by hand, the simplex, scaling, and norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from viz_transformer import numerals
from viz_transformer.analysis.playground import by_hand
from viz_transformer.figures import labels
from viz_transformer.figures.enlarged import enlarged
from viz_transformer.figures.playground import Curve, CurveAxis, Dot, attention_row, curves, norm_row
from viz_transformer.figures.playground import simplex as drawn_simplex
from viz_transformer.numerals import significant
from viz_transformer.ui.components.pictures import Asked
from viz_transformer.ui.frame import controls, frame, pictures, projector, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.playground import number_editor, question, words
from viz_transformer.ui.pages.playground.fields import FIELDS, MAX_SIZE, OPTIONS
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize, memoize_figure

_attention_row = memoize_figure(attention_row)

PROJECTED, WIDER = 1.35, 1.25
"""A picture's factors on a projector: of its type and height, and of its width with the numbers in its cells."""
TALLEST = 560
"""The height of a picture on a projector, in pixels, which leaves room for a sentence and the caption."""
ROW_WIDE, SIMPLEX_WIDE = 1000, 620
"""The nominal widths of a row of tables and of a simplex, in pixels: in a wider place their type grows too."""
LARGEST_SEED = 999_999_999


def part_choice() -> str:
    """Draw the choice of the part; returns it."""
    controls.buttons(words.PART, words.PARTS, "play", key="play_part", hidden=True)
    return str(FIELDS.now().play)


def seed_box() -> None:
    """Draw the seed of all numbers, a button for the next one, and one that undoes all edits."""
    bound = state.widget_args("play_seed", key="play_seed_box", value=min(FIELDS.now().play_seed, LARGEST_SEED))
    st.number_input(words.SEED, 0, LARGEST_SEED, step=1, width=180, **bound)
    st.button(words.NEW, key="play_next", on_click=_next_seed, help=words.NEW_HELP)
    if FIELDS.now().play_numbers:
        st.button(words.AS_DRAWN, key="play_drawn", on_click=number_editor.forget, help=words.AS_DRAWN_HELP)


def _next_seed() -> None:
    state.select(play_seed=(FIELDS.now().play_seed + 1) % LARGEST_SEED, play_numbers="")


# --- attention


def attention_controls() -> None:
    """Draw seed, sizes, self-attention, scaling and mask."""
    queries, keys, d_k, d_v = FIELDS.now().play_sizes
    own = "self" in FIELDS.now().play_options
    with st.container(horizontal=True, vertical_alignment="center", key="play_controls"):
        seed_box()
        with st.popover(words.SIZES, key="play_sizes_box"):
            _draw_size(words.VECTORS if own else words.QUERIES, 0, queries)
            if not own:
                _draw_size(words.KEYS, 1, keys)
            _draw_size(words.D_K, 2, d_k)
            if not own:
                _draw_size(words.D_V, 3, d_v)
        controls.buttons(words.MASK, words.MASKS, "play_mask", key="play_mask_kind", hidden=True)
        _draw_self_switch()
        said = words.SCALED_HELP
        controls.switch(words.SCALED, "unscaled", "play_options", OPTIONS, key="play_unscaled", turned=True, help=said)


def _draw_size(label: str, place: int, value: int) -> None:
    def taken(new: int) -> tuple[int, ...]:
        sizes: tuple[int, ...] = FIELDS.now().play_sizes
        return (*sizes[:place], int(new), *sizes[place + 1 :])

    bound = state.widget_args("play_sizes", key=f"play_size_{place}", value=value, taken=taken)
    st.number_input(label, 1, MAX_SIZE, step=1, width=180, **bound)


def _draw_self_switch() -> None:
    controls.switch(words.SELF, "self", "play_options", OPTIONS, key="play_self", help=words.SELF_HELP)


def size_boxes() -> None:
    """Draw the number of queries and their dimension."""
    queries, _, d_k, _ = FIELDS.now().play_sizes
    _draw_size(words.VECTORS, 0, queries)
    _draw_size(words.D_MODEL, 2, d_k)


def project() -> None:
    """Set the scenes of the part for a projector: its picture, or the part below; cells are not editable there."""
    chosen = FIELDS.now()
    below = () if chosen.play in ("attention", "simplex") else ("play_rest",)
    caption = words.scene(chosen.play, chosen.play_seed)
    frame.scenes_of_page(("play_picture", *below), caption)


def chart(
    figure: Figure,
    *,
    key: str,
    alt: str,
    fills: bool = False,
    drawn_for: int | None = None,
    on_table: Asked | None = None,
) -> None:
    """Draw a figure; on a projector higher and with larger type. `fills` and `drawn_for` as `frame.chart`."""
    if projector.is_on():
        figure = enlarged(figure, PROJECTED)
        for numbers in figure.select_traces({"type": "scatter", "mode": "text"}):
            numbers.textfont.size *= WIDER
    caption = words.caption(FIELDS.now().play_seed)
    size = frame.ChartSize(room=TALLEST, fills=fills, drawn_for=drawn_for)
    frame.chart(figure, key=key, alt=alt, size=size, caption=caption, on_table=on_table)


def sizes() -> by_hand.Sizes:
    """The chosen sizes; in self-attention there are as many keys as queries, and d_v is d_k."""
    queries, keys, d_k, d_v = FIELDS.now().play_sizes
    if "self" in FIELDS.now().play_options:
        keys, d_v = queries, d_k
    return by_hand.Sizes(queries=queries, keys=keys, d_k=d_k, d_v=d_v)


def own_vectors() -> by_hand.Vectors:
    """The vectors of the seed with the edits on them."""
    chosen = FIELDS.now()
    return by_hand.vectors(
        chosen.play_seed, sizes(), number_editor.edits(), self_attention="self" in chosen.play_options
    )


def attended() -> by_hand.Attended:
    """Attention over the current vectors."""
    chosen = FIELDS.now()
    given = own_vectors()
    mask = by_hand.mask_of(chosen.play_mask, len(given.query), len(given.key), number_editor.edits())
    return by_hand.attend(given, mask, scaled="unscaled" not in chosen.play_options)


def attention() -> Question:
    """Draw the row of tables, a sentence on alignment, and the editors; returns the page's question."""
    attention_controls()
    found = attended()
    own = "self" in FIELDS.now().play_options
    title = words.SELF_TITLE if own else words.ATTENTION_TITLE
    figure = _attention_row(
        found,
        kind="encoder" if own else "cross",
        scaled="unscaled" not in FIELDS.now().play_options,
        title=title,
        theme=frame.theme(),
    )
    asked = pictures.table(
        lambda: attention_table(found),
        note=words.ATTENTION_NOTE,
        name="playground-attention",
        key="play_row",
    )
    with st.container(key="play_picture"):
        alt = words.attention_alt(title)
        chart(figure, key="play_row", alt=alt, fills=True, drawn_for=ROW_WIDE, on_table=asked)
    with st.container(key="play_rest"):
        if own:
            text.paragraph(alignment_sentence(found))
        _draw_attention_editors(own)
    return question.attention(found, name="x" if own else "q")


def alignment_sentence(found: by_hand.Attended) -> str:
    """A sentence on whether a vector of self-attention is more aligned with another than with itself."""
    pairs = by_hand.more_aligned_with_another(found.products)
    if not pairs:
        return words.ALIGNED_WITH_ITSELF
    i, j = pairs[0]
    products = found.products
    return words.aligned_with_another(i, j, labels.number(products[i, j]), labels.number(products[i, i]))


def _draw_attention_editors(own: bool, *, corners: int | None = None) -> None:
    """Draw the editable tables; for the simplex only the keys of its corners, and no values, which it does not use."""
    number_editor.let_the_picture_be_first()
    chosen, size = FIELDS.now(), sizes()
    seed = chosen.play_seed
    tables: list[tuple[Any, str, str, int, int]] = [
        ("q", "x" if own else "q", words.VECTORS_IN_ROWS if own else words.QUERIES, size.queries, size.d_k)
    ]
    if not own:
        tables.append(("k", "k", words.KEYS, size.keys, size.d_k))
    if not own and corners is None:
        tables.append(("v", "v", words.VALUES, size.keys, size.d_v))
    columns = st.columns(len(tables), gap="medium")
    for column, (letter, name, label, rows, width) in zip(columns, tables, strict=True):
        with column:
            shown = min(rows, corners) if letter == "k" and corners is not None else rows
            number_editor.editor(
                letter,
                by_hand.draw_normal(letter, seed, rows, width)[:shown],
                label=label,
                rows=[f"{name}{i}" for i in range(shown)],
                columns=[str(f) for f in range(width)],
                made_of=(seed, rows, width, shown),
            )
    if chosen.play_mask == "own" and corners is None:
        with st.columns(2, gap="medium")[0]:
            number_editor.editor(
                "m",
                by_hand.mask_of("none", size.queries, size.keys).astype(float),
                label=words.MASK_TABLE,
                rows=[f"q{i}" for i in range(size.queries)],
                columns=[f"k{j}" for j in range(size.keys)],
                made_of=(size.queries, size.keys),
                boxes=True,
            )


def attention_table(found: by_hand.Attended) -> pd.DataFrame:
    """The table of all numbers of attention by hand: table, row, column, value."""
    given = found.vectors
    parts = (given.query, given.key, given.value, found.products, found.scores, found.mask.astype(float))
    tables = dict(zip(words.TABLES, (*parts, found.weights, found.output), strict=True))
    rows = [
        (name, row, column, float(value))
        for name, table in tables.items()
        for row, line in enumerate(table)
        for column, value in enumerate(line)
    ]
    return pd.DataFrame(rows, columns=list(words.TABLE_COLUMNS))


# --- simplex


def simplex() -> Question | None:
    """Draw each query's weights over the first two or three keys as a point, with scaling and without; returns the
    page's question."""
    own = "self" in FIELDS.now().play_options
    with st.container(horizontal=True, vertical_alignment="center", key="play_controls"):
        seed_box()
        controls.buttons(words.KEYS, {2: "2", 3: "3"}, "play_keys", key="play_corners")
        with st.popover(words.SIZES, key="play_sizes_box"):
            _draw_size(words.VECTORS if own else words.QUERIES, 0, FIELDS.now().play_sizes[0])
            _draw_size(words.D_K, 2, FIELDS.now().play_sizes[2])
        _draw_self_switch()
    count, given = FIELDS.now().play_keys, own_vectors()
    shape = words.SEGMENT if count == 2 else words.TRIANGLE
    if (there := len(given.key)) < count:
        text.paragraph(words.needs_keys(shape, count, there), tone="warning")
        if not own:
            _draw_size(words.KEYS, 1, FIELDS.now().play_sizes[1])
        return None
    few = by_hand.first_keys(given, count)
    mask = by_hand.mask_of("none", len(few.query), count)
    scaled, plain = by_hand.attend(few, mask), by_hand.attend(few, mask, scaled=False)
    names = [(f"k{j}", vector_words(key)) for j, key in enumerate(few.key)]
    points = words.dots(words.SAME_PLACE if scaled.divisor == 1 else words.FURTHER)
    left, right = st.columns([5, 3], gap="medium")
    with left, st.container(key="play_picture"):
        title = words.simplex_title(len(few.query), count, shape)
        figure = drawn_simplex(_dots(scaled, plain), by_hand.corners(count), names, title=title, theme=frame.theme())
        alt = words.simplex_alt(shape)
        chart(figure, key="play_simplex", alt=alt, fills=count == 3, drawn_for=SIMPLEX_WIDE)
        if projector.is_on():  # the scene is only the picture
            text.paragraph(points)
    with right:
        if not projector.is_on():
            text.paragraph(points)
        _draw_simplex_numbers(scaled, plain)
        if own:
            every = by_hand.mask_of("none", len(given.key), len(given.key))
            text.paragraph(alignment_sentence(by_hand.attend(given, every)))
    with st.container(key="play_rest"):
        _draw_attention_editors(own, corners=count)
    return question.simplex(scaled)


def vector_words(vector: Any) -> str:
    """A vector as a label: its numbers with one decimal."""
    return f"[{', '.join(numerals.number(float(number), 1) for number in vector)}]"


def _dots(scaled: by_hand.Attended, plain: by_hand.Attended) -> list[Dot]:
    def shares(query: int, found: by_hand.Attended, is_scaled: bool) -> str:
        weights = enumerate(found.weights[query])
        each = (words.key_share(j, labels.escape(labels.share(float(weight)))) for j, weight in weights)
        return "<br>".join([words.dot(query, is_scaled), *each])

    places = zip(by_hand.simplex_points(scaled.weights), by_hand.simplex_points(plain.weights), strict=True)
    return [
        Dot(f"q{i}", first, second, shares(i, scaled, True), shares(i, plain, False))
        for i, (first, second) in enumerate(places)
    ]


def _draw_simplex_numbers(scaled: by_hand.Attended, plain: by_hand.Attended) -> None:
    keys = scaled.weights.shape[1]
    bits, bits_plain = by_hand.entropy(scaled.weights), by_hand.entropy(plain.weights)
    head = [words.WEIGHT_OF, *(f"k{j}" for j in range(keys)), words.BITS, words.NOT_SCALED]
    rows = []
    for i, weights in enumerate(scaled.weights):
        entropies = (numerals.number(float(of[i]), 2) for of in (bits, bits_plain))
        rows.append([f"q{i}", *(labels.share(float(w), 3) for w in weights), *entropies])
    facts(head, rows)
    middle = labels.number(math.log2(keys), 2)
    text.paragraph(words.about_bits(middle, scaled.divisor == 1))


def facts(head: list[str], rows: list[list[str]]) -> None:
    """Draw a muted table of short texts, the first column left-aligned."""
    st.html(text.table(rows, head=head, style="vt-play", first="td"))


# --- why scale


_growth = memoize(32)(by_hand.growth)


def scaling() -> Question:
    """Draw products, scores and the entropy of their softmax as d_k grows; returns the page's question."""
    keys = FIELDS.now().play_sizes[1]
    with st.container(horizontal=True, vertical_alignment="center", key="play_controls"):
        seed_box()
        _draw_size(words.KEYS, 1, keys)
    found = _growth(FIELDS.now().play_seed, keys)
    asked = pictures.table(
        lambda: growth_table(found),
        note=words.means_of(found.rows, found.keys),
        name="playground-scaling",
        key="play_growth",
    )
    with st.container(key="play_picture"):
        left, right = st.columns(2, gap="medium")
    with left:
        figure = curves(
            [
                Curve(words.DIVIDED_BY, found.sizes, found.entropy[True], ink=0),
                Curve(words.NOT_DIVIDED, found.sizes, found.entropy[False], ink=1, dash="dash"),
            ],
            CurveAxis(words.D_K, log=True),
            CurveAxis(words.ENTROPY_AXIS, bounds=(-0.05 * max(found.even, 1.0), 1.12 * max(found.even, 1.0))),
            levels=[(found.even, words.uniform(found.even))] if keys > 1 else [],
            title=words.ENTROPY_TITLE,
            theme=frame.theme(),
        )
        chart(
            figure,
            key="play_entropy",
            alt=words.ENTROPY_ALT,
            on_table=asked,
        )
    with right:
        figure = curves(
            [
                Curve(words.SCORE, found.sizes, found.score_variance, ink=0),
                Curve(words.PRODUCT, found.sizes, found.product_variance, ink=1, dash="dash"),
            ],
            CurveAxis(words.D_K, log=True),
            CurveAxis(words.VARIANCE, log=True),
            levels=[(1.0, words.VARIANCE_ONE)],
            title=words.VARIANCE_TITLE,
            theme=frame.theme(),
        )
        chart(figure, key="play_variance", alt=words.VARIANCE_ALT, on_table=asked)
    with st.container(key="play_rest"):
        growth_facts(found)
    return question.scaling(found)


def growth_facts(found: by_hand.Growth) -> None:
    """Draw the numbers of a few sizes."""
    shown = [place for place, size in enumerate(found.sizes) if size in (1, 4, 64, 512, 1024)]
    rows = [
        [words.PRODUCT_VARIANCE, *(significant(found.product_variance[p]) for p in shown)],
        [words.SCORE_VARIANCE, *(significant(found.score_variance[p]) for p in shown)],
    ]
    for scaled, how in ((True, words.DIVIDED), (False, words.NOT_DIVIDED)):
        rows += [
            [words.entropy_row(how), *(numerals.number(found.entropy[scaled][p], 3) for p in shown)],
            [words.largest_weight(how), *(numerals.share(found.largest[scaled][p], 3) for p in shown)],
            [words.response_row(how), *(numerals.share(found.answer[scaled][p], 3) for p in shown)],
        ]
    facts([words.D_K, *(f"{found.sizes[place]:,}" for place in shown)], rows)
    text.paragraph(words.about_rows(found.rows, found.keys))


def growth_table(found: by_hand.Growth) -> pd.DataFrame:
    """The table of means by size."""
    columns: dict[str, Any] = {
        words.PRODUCT_VARIANCES: found.product_variance,
        words.SCORE_VARIANCES: found.score_variance,
    }
    for scaled, how in ((True, words.DIVIDED), (False, words.NOT_DIVIDED)):
        columns[words.entropy_column(how)] = found.entropy[scaled]
        columns[words.largest_weight(how)] = found.largest[scaled]
        columns[words.response_column(how)] = found.answer[scaled]
    return pd.DataFrame(columns, index=pd.Index(found.sizes, name=words.D_K))


# --- norms


def norms() -> Question:
    """Draw a small table before and after three norms, with frames around numbers that share a mean; returns the page's
    question."""
    seed, edited = FIELDS.now().play_seed, number_editor.edits()
    with st.container(horizontal=True, vertical_alignment="center", key="play_controls"):
        seed_box()
    x, affine = by_hand.table_of(seed, edited), by_hand.gain_and_offset(edited)
    found = [by_hand.normalise(x, norm, affine) for norm in by_hand.AXES]
    with st.container(key="play_picture"):
        figure = norm_row(found, title=words.NORMS_TITLE, theme=frame.theme())
        asked = pictures.table(
            lambda: norm_table(found),
            note=words.NORMS_NOTE,
            name="playground-norms",
            key="play_norms",
        )
        chart(figure, key="play_norms", alt=words.NORMS_ALT, drawn_for=ROW_WIDE, on_table=asked)
    with st.container(key="play_rest"):
        _draw_norm_rest(found, seed)
    return question.norms(found, [words.NORM_NAMES[each.norm] for each in found])


def _draw_norm_rest(found: list[by_hand.Normalised], seed: int) -> None:
    """Draw facts of the norms, all their numbers, and the editors."""
    x, affine = found[0].x, by_hand.gain_and_offset(number_editor.edits())
    head = list(words.NORM_HEAD)
    facts(head, [_norm_facts(each, by_hand.reach(x, each.norm, affine)) for each in found])
    text.paragraph(words.ABOUT_NORMS)
    number_editor.let_the_picture_be_first()
    left, right = st.columns([1, 1], gap="medium")
    rows, features = x.shape[0] * x.shape[1], x.shape[2]
    columns = [str(f) for f in range(features)]
    with left:
        names = [words.text_and_token(b, t) for b in range(x.shape[0]) for t in range(x.shape[1])]
        memoize_figure = by_hand.table_of(seed).reshape(rows, features)
        number_editor.editor("x", memoize_figure, label=words.NUMBERS, rows=names, columns=columns, made_of=seed)
    with right:
        number_editor.editor(
            "g",
            by_hand.gain_and_offset(),
            label=words.GAIN_AND_OFFSET,
            rows=[words.GAIN, words.OFFSET],
            columns=columns,
            made_of="start",
        )


def _norm_facts(found: by_hand.Normalised, moved: Any) -> list[str]:
    def span(values: Any) -> str:
        return words.from_to([numerals.number(float(end), 2) for end in (values.min(), values.max())])

    variances = (span(found.variance), span(found.after()[1]))
    far = (labels.number(each, 3) if each else "0" for each in (moved.feature, moved.token, moved.text))
    return [words.NORM_NAMES[found.norm], str(found.pooled), str(found.groups), *variances, *far]


def norm_table(found: list[by_hand.Normalised]) -> pd.DataFrame:
    """The table of all numbers before and after each norm, one row per number."""
    x = found[0].x
    places = pd.MultiIndex.from_product([range(size) for size in x.shape], names=list(words.PLACE_NAMES))
    columns: dict[str, Any] = {words.BEFORE: x.ravel()}
    for each in found:
        name = words.NORM_NAMES[each.norm]
        columns[words.mean_of(name)] = np.broadcast_to(each.mean, x.shape).ravel()
        columns[words.variance_of(name)] = np.broadcast_to(each.variance, x.shape).ravel()
        columns[words.after_norm(name)] = each.values.ravel()
    return pd.DataFrame(columns, index=places)
