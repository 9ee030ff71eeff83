"""Embedding x scale + position = input, as strips on one scale: of one run, checked number by number, or of two."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from viz_transformer import numerals
from viz_transformer.analysis.inputs.embeddings import (
    InputDifference,
    InputSum,
    embedding_table,
    input_difference,
    input_sum,
    spread,
)
from viz_transformer.figures import labels
from viz_transformer.figures.embeddings import Strip, input_strips
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.numerals import significant
from viz_transformer.sentences import capitalised
from viz_transformer.ui.components.pictures import Asked
from viz_transformer.ui.frame import controls, frame, pictures, projector, text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.pages.input.fields import FIELDS
from viz_transformer.ui.pages.input.view import PROJECTED, tokens_of
from viz_transformer.ui.session import state
from viz_transformer.ui.session.kept import drawn
from viz_transformer.ui.session.runs import Shown

_input_strips = drawn(input_strips)

ROWS = {"one": "One token", "all": "All tokens"}


def strips(both: Runs, side: SideName, numbers: DeltaGenerator) -> None:
    """Embedding, position and input of one token or of all, as strips on one scale; of two runs with A − B. Their means
    and variances, and whether the sum is exact, stand in `numbers`."""
    text.section(_heading(both.main, side))
    row = state.selection()[SIDES[side].field] if FIELDS.now().input_rows == "one" else None
    if both.compared and both.b is not None:
        _two_runs(both.a, both.b, side, row, numbers, beside=both.beside)
    else:
        _one_run(both.main, side, row, numbers)


def _heading(shown: Shown, side: SideName) -> str:
    """The sum in words, with what this model's has more than that of the paper."""
    stack = SIDES[side].stack
    if f"{stack}.embed.token" not in shown.trace:
        return "What the input is made of"
    segment = " + segment" if f"{stack}.embed.segment" in shown.trace else ""
    normed = f"{stack}.embed.sum" in shown.trace
    position = " + position" if f"{stack}.embed.position" in shown.trace else ""
    made = "Norm of embedding" if normed else "Embedding"
    if f"{stack}.embed.normed" in shown.trace or f"{stack}.embed.mapped" in shown.trace:
        made = f"Map of {made[0].lower()}{made[1:]}"
    return f"{made} × scale{segment}{position} = input"


def row_choice(shown: Shown, side: SideName) -> None:
    """One position, and which, or all of them."""
    read = tokens_of(shown, side)
    controls.buttons("Rows", ROWS, "input_rows", key="input_rows", hidden=True)
    if FIELDS.now().input_rows == "one":
        st.selectbox(
            "Position",
            [*range(len(read))],
            format_func=lambda position: f"{position}: {labels.shorten(labels.visible(read.tokens[position]), 24)}",
            label_visibility="collapsed",
            width=220,
            **state.bind(SIDES[side].field, key="input_position"),
        )


def _one_run(shown: Shown, side: SideName, row: int | None, numbers: DeltaGenerator) -> None:
    """The strips of one run, and whether the recorded input is their sum."""
    made = _input_sum(shown, side, row)
    parts = _parts_of(made)
    names = [tokens_of(shown, side).tokens[position] for position in made.rows]
    asked = None if row is None else _table(shown, side, row, lambda: _strip_table(made))
    _draw(parts, names, made.rows, side, row, asked)
    with numbers:
        st.html(_spread_table(_spread_rows(made)))
        _verdict(made)
    if made.position is None:
        anatomy = shown.trace.anatomy
        if anatomy.config is None:
            why = anatomy.missing.get(f"{SIDES[side].stack}.embed.position", "this model does not tell its positions")
            text.paragraph(f"{capitalised(why)}.")
            return
        acts = anatomy.config.encoding.acts
        instead = f" Its self-attention {acts}: see Positions." if acts else ""
        text.paragraph(f"This model adds no positions: the scaled embedding is its input.{instead}")


def _parts_of(made: InputSum) -> list[tuple[str, NDArray[np.float32]]]:
    """What is added up to an input, and the input, by name."""
    parts = (
        (scaled_name(made.scale), made.scaled),
        ("map", made.mapped),
        ("+ segment", made.segment),
        ("+ position", made.position),
        ("= sum", made.before_norm),
        ("norm", made.normed),
        (_input_name(made), made.out),
    )
    return [(name, values) for name, values in parts if values is not None]


def _draw(
    parts: Sequence[tuple[str, NDArray[np.float32]]],
    names: Sequence[str],
    rows: Sequence[int],
    side: SideName,
    row: int | None,
    asked: Asked | None = None,
    *,
    compared: str | None = None,
    scale: float = 0.0,
    of: str = "",
) -> None:
    """The figure, whose table opens when it is `asked` for; `compared` names both runs where the strips are A − B, `of`
    the run of which they are where they stand beside those of another."""
    where = f"position {row}" if row is not None else f"{len(rows)} positions"
    where += ", A − B" if compared else ""
    figure = _input_strips(
        [Strip(name, values) for name, values in parts],
        names,
        rows,
        side=side,
        title=f"{f'{of}: ' if of else ''}{SIDES[side].stack}.embed, {where}",
        scale=scale,
        beside=bool(of),
        theme=frame.theme(),
    )
    alt = f"Embedding, position and input of {where} on one scale"
    key = "input_strips_b" if of == "B" else "input_strips"
    frame.chart(figure, key=key, alt=alt, caption=compared, grows=PROJECTED, fills=True, on_table=asked, room=420)


def _table(shown: Shown, side: SideName, row: int, numbers: Callable[[], pd.DataFrame], said: str = "") -> Asked:
    stack = SIDES[side].stack
    return pictures.table(
        numbers,
        note=f"{said}{shown.caption(f'{stack}.embed, position {row}')}. A row for each feature.",
        name=labels.file_name("a-minus-b" if said else "", shown.summary.name, stack, "embed", str(row)),
        key="input_strips",
    )


# --- two runs


def _two_runs(a: Shown, b: Shown, side: SideName, row: int | None, numbers: DeltaGenerator, *, beside: bool) -> None:
    """The same strips of A, of B and of A − B; of all positions those of A − B alone, on the scale of both. Where there
    is no A − B those of A and of B, if they are looked at beside each other."""
    first, second = _input_sum(a, side, row), None
    why = "There is no A − B here, since B has no such input: "
    try:
        second, why = _input_sum(b, side, row), ""
        found = input_difference(first, second)
    except ValueError as error:
        if beside:
            _beside(a, b, side, row, first, second)
        if not beside or not projector.is_on():  # a scene is its picture
            text.paragraph(f"{why}{error}.", tone="plain" if beside else "bad")
        return
    scales = dict.fromkeys((scaled_name(first.scale), scaled_name(second.scale)))
    parts = [
        (" or ".join(scales), (first.scaled, second.scaled, found.scaled)),
        ("map", (first.mapped, second.mapped, found.mapped)),
        ("+ position", (first.position, second.position, found.position)),
        (_input_name(first), (first.out, second.out, found.out)),
    ]
    drawn = [(name, [each for each in three if each is not None]) for name, three in parts if three[2] is not None]
    tokens = [tokens_of(shown, side).tokens for shown in (a, b)]
    runs = "; ".join(f"{each.name}: {each.called}, {each.words()}" for each in (a, b))
    if row is not None:
        strips_of_all = [(name, np.concatenate(three)) for name, three in drawn]
        names = [*(f"{name}:{each[row]}" for name, each in zip("AB", tokens, strict=True)), "A−B"]
        said = f"A − B. B: {b.caption('the same position')}. A: "
        asked = _table(a, side, row, lambda: _difference_table(found), said)
        _draw(strips_of_all, names, [row] * 3, side, row, asked, compared=runs)
    else:
        differences = [(name, three[2]) for name, three in drawn]
        names = [x if x == y else f"{x}|{y}" for x, y in zip(*tokens, strict=True)]
        scale = max(first.largest, second.largest)
        _draw(differences, names, found.a.rows, side, row, compared=runs, scale=scale)
    rows = [(f"{name.lstrip('+= ')}, A − B", three[2]) for name, three in drawn]
    with numbers:
        st.html(_spread_table([("input of A", first.out), ("input of B", second.out), *rows]))
        for sentence in difference_in_words(found, a, b, side):
            text.paragraph(sentence)


def _beside(a: Shown, b: Shown, side: SideName, row: int | None, first: InputSum, second: InputSum | None) -> None:
    """The strips of A and those of B, if it has them, beside each other on one scale."""
    runs = [(shown, made) for shown, made in ((a, first), (b, second)) if made is not None]
    scale = max(made.largest for _, made in runs)
    for column, (shown, made) in zip(st.columns(len(runs), gap="medium"), runs, strict=True):
        with column:
            names = [tokens_of(shown, side).tokens[position] for position in made.rows]
            _draw(_parts_of(made), names, made.rows, side, row, scale=scale, of=shown.name)


def difference_in_words(found: InputDifference, a: Shown, b: Shown, side: SideName) -> list[str]:
    """How far apart the two inputs are, and what keeps them from being compared feature by feature."""
    said = []
    tokens = [tokens_of(shown, side) for shown in (a, b)]
    places = [place for place in found.a.rows if tokens[0].tokens[place] != tokens[1].tokens[place]]
    if found.equal:
        said.append("Both read the same numbers: A − B is 0 everywhere.")
    elif len(found.out) == 1:
        feature = int(np.abs(found.out[0]).argmax())
        parts = (found.out, found.a.out, found.b.out)
        lengths = [significant(float(np.linalg.norm(each[0].astype(np.float64)))) for each in parts]
        said.append(
            f"A − B is {lengths[0]} long, the inputs are {lengths[1]} and {lengths[2]}; the largest"
            f" difference is {significant(found.out[0, feature])}, in feature {feature}."
        )
    else:
        place, at = np.unravel_index(np.abs(found.out).argmax(), found.out.shape)
        said.append(
            f"The largest difference is {significant(found.out[place, at])}, at position {place} in feature {at}."
        )
    if len(places) == 1 and len(found.out) == 1:
        words = [labels.isolated(labels.shorten(labels.visible(each.tokens[places[0]]), 40)) for each in tokens]
        said.append(f"Two tokens are compared: A reads “{words[0]}” here and B “{words[1]}”.")
    elif places:
        said.append(f"A and B read other tokens at {len(places)} of {len(found.out)} positions.")
    if found.position is None and (found.a.position is not None or found.b.position is not None):
        without = "A" if found.a.position is None else "B"
        said.append(f"The model of {without} adds no positions: there is no difference of positions.")
    if a.ckpt.weights_sha256 != b.ckpt.weights_sha256:
        said.append("These are two models: feature 5 of one need not have anything to do with feature 5 of the other.")
    return said


def _difference_table(found: InputDifference) -> pd.DataFrame:
    columns: dict[str, NDArray[np.float32]] = {}
    for name, first, second, less in (
        ("embedding x scale", found.a.scaled, found.b.scaled, found.scaled),
        ("position", found.a.position, found.b.position, found.position),
        ("input", found.a.out, found.b.out, found.out),
    ):
        if first is not None and second is not None and less is not None:
            columns |= {f"{name}, A": first[0], f"{name}, B": second[0], f"{name}, A − B": less[0]}
    return pd.DataFrame(columns).rename_axis("feature")


# --- numbers of both


def scaled_name(scale: float) -> str:
    """ "embedding × 16"; without the factor where it is 1."""
    return "embedding" if scale == 1 else f"embedding × {significant(scale, 5)}"


def _input_name(made: InputSum) -> str:
    if made.normed is not None:
        return "map: input"
    return "= input" if made.before_norm is None else "norm: input"


def _input_sum(shown: Shown, side: SideName, row: int | None) -> InputSum:
    return input_sum(shown.trace, embedding_table(shown.ckpt, side), side, row)


def _spread_rows(made: InputSum) -> list[tuple[str, NDArray[np.float32]]]:
    """Each part of the sum by its name."""
    rows = [("embedding", made.embedding)]
    if made.scale != 1:
        rows.append((scaled_name(made.scale), made.scaled))
    added = (
        ("map", made.mapped),
        ("segment", made.segment),
        ("position", made.position),
        ("sum", made.before_norm),
        ("norm", made.normed),
    )
    rows += [(name, values) for name, values in added if values is not None]
    return [*rows, ("input", made.out)]


def _spread_table(rows: Sequence[tuple[str, NDArray[np.float32]]]) -> str:
    """Mean and variances of each of these."""
    body = []
    for name, values in rows:
        found = spread(values)
        numbers = (found.mean, found.variance, found.sample_variance)
        cells = ["–" if number != number else numerals.number(number) for number in numbers]
        body.append((name, *cells, f"{found.count:,}"))
    return text.table(body, head=("", "mean", "variance", "variance, n − 1", "numbers"), style="vt-facts vt-numbers")


def _verdict(made: InputSum) -> None:
    """Whether the recorded input is the sum of what stands above it."""
    total = made.out if made.before_norm is None else made.before_norm
    more = [each for each in (made.segment, made.position) if each is not None]
    added = f"of the {'three' if len(more) > 1 else 'two'} strips above it" if more else "above it"
    what = "input" if made.before_norm is None else "sum"
    if made.exact:
        square = f" The scale multiplies the variance by {significant(made.scale**2, 5)}." if made.scale != 1 else ""
        text.paragraph(
            f"Exact: all {total.size:,} recorded numbers of the {what} are the {made.precision} sums"
            f" {added}.{_around_the_sum(made)}{square}",
            tone="ok",
        )
    else:
        text.paragraph(
            f"Not the sum: the recorded {what} is up to {significant(made.sum_error, 3)} away from it, and the scaled"
            f" embedding up to {significant(made.scale_error, 3)} from the table times the scale.",
            tone="bad",
        )


def _around_the_sum(made: InputSum) -> str:
    """What makes the vectors that are added, or the input of the sum, where that is a norm or a map."""
    narrow, wide = made.scaled.shape[1], made.out.shape[1]
    of = f", from {narrow:,} features to {wide:,}," if narrow != wide else ""
    if made.normed is not None:
        return f" A norm and then a projection{of} turn it into the input."
    if made.mapped is not None:
        return f" A projection{of} comes between the embedding and the sum."
    return "" if made.before_norm is None else " A norm turns it into the input."


def _strip_table(made: InputSum) -> pd.DataFrame:
    parts = (
        ("embedding", made.embedding),
        ("embedding x scale", made.scaled),
        ("map", made.mapped),
        ("segment", made.segment),
        ("position", made.position),
        ("sum", made.before_norm),
        ("norm", made.normed),
        ("input", made.out),
    )
    columns = {name: pd.Series(values[0]) for name, values in parts if values is not None}  # narrow ones end earlier
    return pd.DataFrame(columns).rename_axis("feature")
