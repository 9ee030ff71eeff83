"""Embedding x scale + position = input, as strips on one scale: of one run, checked number by number, or of two."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from viz_transformer import numerals
from viz_transformer.analysis.inputs.embeddings import (
    InputDifference,
    InputSum,
    embedding_table,
    input_difference,
    input_sum,
    measure_spread,
)
from viz_transformer.figures import labels
from viz_transformer.figures.embeddings import Strip, StripRows, input_strips
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.numerals import significant
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.components.pictures import Asked
from viz_transformer.ui.frame import controls, frame, pictures, projector, text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.pages.input import words
from viz_transformer.ui.pages.input.fields import FIELDS
from viz_transformer.ui.pages.input.view import PROJECTED, tokens_of
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize_figure
from viz_transformer.ui.session.runs import RunView

SIZE = frame.ChartSize(grows=PROJECTED, fills=True, room=420)
_input_strips = memoize_figure(input_strips)


def strips(both: Runs, side: SideName, numbers: DeltaGenerator) -> None:
    """Draw embedding, position and input of one token or of all, as strips on one scale; with two runs also A − B.
    Means and variances, and whether the sum is exact, go into `numbers`."""
    text.section(_heading(both.main, side))
    row = state.selection()[SIDES[side].field] if FIELDS.now().input_rows == "one" else None
    if both.compared and both.b is not None:
        _draw_two_runs(both.a, both.b, side, row, numbers, beside=both.beside)
    else:
        _draw_one_run(both.main, side, row, numbers)


def _heading(shown: RunView, side: SideName) -> str:
    """The sum in words, with the summands that this model adds to the paper's."""
    stack = SIDES[side].stack
    if f"{stack}.embed.token" not in shown.trace:
        return words.MADE_OF
    return words.sum_heading(
        f"{stack}.embed.segment" in shown.trace,
        f"{stack}.embed.position" in shown.trace,
        normed=f"{stack}.embed.sum" in shown.trace,
        mapped=f"{stack}.embed.normed" in shown.trace or f"{stack}.embed.mapped" in shown.trace,
    )


def row_choice(shown: RunView, side: SideName) -> None:
    """Draw the choice of one position or all."""
    read = tokens_of(shown, side)
    controls.buttons(words.ROWS_LABEL, words.ROWS, "input_rows", key="input_rows", hidden=True)
    if FIELDS.now().input_rows == "one":
        st.selectbox(
            words.POSITION,
            [*range(len(read))],
            format_func=lambda position: f"{position}: {labels.shorten(labels.visible(read.tokens[position]), 24)}",
            label_visibility="collapsed",
            width=220,
            **state.widget_args(SIDES[side].field, key="input_position"),
        )


def _draw_one_run(shown: RunView, side: SideName, row: int | None, numbers: DeltaGenerator) -> None:
    """Draw the strips of one run, and whether the recorded input is their sum."""
    made = _input_sum(shown, side, row)
    parts = _list_parts(made)
    names = [tokens_of(shown, side).tokens[position] for position in made.rows]
    asked = None if row is None else _table(shown, side, row, lambda: _strip_table(made))
    _draw(parts, StripRows(names, made.rows, side), row, asked)
    with numbers:
        st.html(_spread_table(_spread_rows(made)))
        _say_verdict(made)
    if made.position is None:
        spec = shown.trace.spec
        if spec.config is None:
            why = spec.missing.get(f"{SIDES[side].stack}.embed.position", words.UNKNOWN_POSITIONS)
            text.paragraph(words.no_known_positions(why))
            return
        acts = spec.config.encoding.acts
        text.paragraph(words.no_positions(acts))


def _list_parts(made: InputSum) -> list[tuple[str, NDArray[np.float32]]]:
    """The summands of an input, and the input, by name."""
    parts = (
        (scaled_name(made.scale), made.scaled),
        (words.STRIPS["map"], made.mapped),
        (words.STRIPS["segment"], made.segment),
        (words.STRIPS["position"], made.position),
        (words.STRIPS["sum"], made.before_norm),
        (words.STRIPS["norm"], made.normed),
        (_input_name(made), made.out),
    )
    return [(name, values) for name, values in parts if values is not None]


def _draw(
    parts: Sequence[tuple[str, NDArray[np.float32]]],
    read: StripRows,
    row: int | None,
    asked: Asked | None = None,
    *,
    compared: str | None = None,
    scale: float = 0.0,
    of: str = "",
) -> None:
    """Draw the figure; its table opens on request (`asked`). compared: the names of both runs if the strips are A − B;
    of: the run's name if they are beside those of another."""
    where = words.strips_where(row, len(read.positions), bool(compared))
    figure = _input_strips(
        [Strip(name, values) for name, values in parts],
        read,
        title=words.strips_title(SIDES[read.side].stack, where, of),
        scale=scale,
        beside=bool(of),
        theme=frame.theme(),
    )
    alt = words.strips_alt(where)
    key = "input_strips_b" if of == "B" else "input_strips"
    frame.chart(figure, key=key, alt=alt, caption=compared, on_table=asked, size=SIZE)


def _table(shown: RunView, side: SideName, row: int, numbers: Callable[[], pd.DataFrame], said: str = "") -> Asked:
    stack = SIDES[side].stack
    return pictures.table(
        numbers,
        note=words.table_note(shown.caption(words.table_of(stack, row)), said),
        name=labels.file_name("a-minus-b" if said else "", shown.summary.name, stack, "embed", str(row)),
        key="input_strips",
    )


# --- two runs


def _draw_two_runs(
    a: RunView, b: RunView, side: SideName, row: int | None, numbers: DeltaGenerator, *, beside: bool
) -> None:
    """Draw the strips of A, B and A − B; for all positions those of A − B alone, on the scale of both. Without A − B,
    those of A and of B, if they are shown side by side."""
    first, second = _input_sum(a, side, row), None
    why = words.NO_DIFFERENCE
    try:
        second, why = _input_sum(b, side, row), ""
        found = input_difference(first, second)
    except ValueError as error:
        if beside:
            _draw_beside(a, b, side, row, first, second)
        if not beside or not projector.is_on():  # a scene is its picture
            text.paragraph(words.no_difference(why, error), tone="plain" if beside else "bad")
        return
    scales = dict.fromkeys((scaled_name(first.scale), scaled_name(second.scale)))
    parts = [
        (words.either([*scales]), (first.scaled, second.scaled, found.scaled)),
        (words.STRIPS["map"], (first.mapped, second.mapped, found.mapped)),
        (words.STRIPS["position"], (first.position, second.position, found.position)),
        (_input_name(first), (first.out, second.out, found.out)),
    ]
    strips = [(name, [each for each in three if each is not None]) for name, three in parts if three[2] is not None]
    tokens = [tokens_of(shown, side).tokens for shown in (a, b)]
    runs = "; ".join(words.run_of(each.name, each.called, each.words()) for each in (a, b))
    if row is not None:
        strips_of_all = [(name, np.concatenate(three)) for name, three in strips]
        names = [*(f"{name}:{each[row]}" for name, each in zip("AB", tokens, strict=True)), "A−B"]
        said = words.before_difference(b.caption(words.SAME_POSITION))
        asked = _table(a, side, row, lambda: _difference_table(found), said)
        _draw(strips_of_all, StripRows(names, [row] * 3, side), row, asked, compared=runs)
    else:
        differences = [(name, three[2]) for name, three in strips]
        names = [x if x == y else f"{x}|{y}" for x, y in zip(*tokens, strict=True)]
        scale = max(first.largest, second.largest)
        _draw(differences, StripRows(names, found.a.rows, side), row, compared=runs, scale=scale)
    rows = [(words.minus(name.lstrip("+= ")), three[2]) for name, three in strips]
    with numbers:
        st.html(_spread_table([(words.INPUT_OF_A, first.out), (words.INPUT_OF_B, second.out), *rows]))
        for sentence in difference_in_words(found, a, b, side):
            text.paragraph(sentence)


def _draw_beside(
    a: RunView, b: RunView, side: SideName, row: int | None, first: InputSum, second: InputSum | None
) -> None:
    """Draw the strips of A and those of B, if it has them, side by side on one scale."""
    runs = [(shown, made) for shown, made in ((a, first), (b, second)) if made is not None]
    scale = max(made.largest for _, made in runs)
    for column, (shown, made) in zip(st.columns(len(runs), gap="medium"), runs, strict=True):
        with column:
            names = [tokens_of(shown, side).tokens[position] for position in made.rows]
            _draw(_list_parts(made), StripRows(names, made.rows, side), row, scale=scale, of=shown.name)


def difference_in_words(found: InputDifference, a: RunView, b: RunView, side: SideName) -> list[str]:
    """Sentences on the distance of the two inputs, and on what prevents comparing them by feature."""
    said = []
    tokens = [tokens_of(shown, side) for shown in (a, b)]
    places = [place for place in found.a.rows if tokens[0].tokens[place] != tokens[1].tokens[place]]
    if found.equal:
        said.append(words.EQUAL)
    elif len(found.out) == 1:
        feature = int(np.abs(found.out[0]).argmax())
        parts = (found.out, found.a.out, found.b.out)
        lengths = [significant(float(np.linalg.norm(each[0].astype(np.float64)))) for each in parts]
        said.append(words.difference_length(lengths, significant(found.out[0, feature]), feature))
    else:
        place, at = np.unravel_index(np.abs(found.out).argmax(), found.out.shape)
        said.append(words.largest_difference(significant(found.out[place, at]), int(place), int(at)))
    if len(places) == 1 and len(found.out) == 1:
        read = [labels.isolate(labels.shorten(labels.visible(each.tokens[places[0]]), 40)) for each in tokens]
        said.append(words.two_tokens(*read))
    elif places:
        said.append(words.other_tokens(len(places), len(found.out)))
    if found.position is None and (found.a.position is not None or found.b.position is not None):
        without = "A" if found.a.position is None else "B"
        said.append(words.adds_no_positions(without))
    if a.ckpt.weights_sha256 != b.ckpt.weights_sha256:
        said.append(words.TWO_MODELS)
    return said


def _difference_table(found: InputDifference) -> pd.DataFrame:
    columns: dict[str, NDArray[np.float32]] = {}
    for name, first, second, less in (
        (words.SCALED, found.a.scaled, found.b.scaled, found.scaled),
        (words.PARTS_OF_SUM["position"], found.a.position, found.b.position, found.position),
        (words.INPUT, found.a.out, found.b.out, found.out),
    ):
        if first is not None and second is not None and less is not None:
            columns |= {
                words.of_run(name, "A"): first[0],
                words.of_run(name, "B"): second[0],
                words.minus(name): less[0],
            }
    return pd.DataFrame(columns).rename_axis(words.FEATURE)


# --- numbers of both


def scaled_name(scale: float) -> str:
    """ "embedding × 16"; without the factor where it is 1."""
    return words.scaled_name(None if scale == 1 else significant(scale, 5))


def _input_name(made: InputSum) -> str:
    if made.normed is not None:
        return words.MAP_INPUT
    return words.SUM_INPUT if made.before_norm is None else words.NORM_INPUT


def _input_sum(shown: RunView, side: SideName, row: int | None) -> InputSum:
    return input_sum(shown.trace, embedding_table(shown.ckpt, side), side, row)


def _spread_rows(made: InputSum) -> list[tuple[str, NDArray[np.float32]]]:
    """The parts of the sum by name."""
    rows = [(words.EMBEDDING, made.embedding)]
    if made.scale != 1:
        rows.append((scaled_name(made.scale), made.scaled))
    added = (
        (words.PARTS_OF_SUM["map"], made.mapped),
        (words.PARTS_OF_SUM["segment"], made.segment),
        (words.PARTS_OF_SUM["position"], made.position),
        (words.PARTS_OF_SUM["sum"], made.before_norm),
        (words.PARTS_OF_SUM["norm"], made.normed),
    )
    rows += [(name, values) for name, values in added if values is not None]
    return [*rows, (words.INPUT, made.out)]


def _spread_table(rows: Sequence[tuple[str, NDArray[np.float32]]]) -> str:
    """The table of mean and variances of each row, as HTML."""
    body = []
    for name, values in rows:
        found = measure_spread(values)
        numbers = (found.mean, found.variance, found.sample_variance)
        cells = ["–" if number != number else numerals.number(number) for number in numbers]
        body.append((name, *cells, f"{found.count:,}"))
    return text.table(body, head=words.SPREAD_HEAD, style="vt-facts vt-numbers")


def _say_verdict(made: InputSum) -> None:
    """Say whether the recorded input is the sum of the strips above it."""
    total = made.out if made.before_norm is None else made.before_norm
    strips = 1 + sum(each is not None for each in (made.segment, made.position))
    what = words.INPUT if made.before_norm is None else words.PARTS_OF_SUM["sum"]
    if made.exact:
        square = significant(made.scale**2, 5) if made.scale != 1 else None
        exact = words.exact(total.size, what, made.precision, strips, _around_the_sum(made), square)
        text.paragraph(exact, tone="ok")
    else:
        errors = significant(made.sum_error, 3), significant(made.scale_error, 3)
        text.paragraph(words.not_the_sum(what, *errors), tone="bad")


def _around_the_sum(made: InputSum) -> str:
    return words.around_the_sum(
        made.scaled.shape[1],
        made.out.shape[1],
        normed=made.normed is not None,
        mapped=made.mapped is not None,
        before_norm=made.before_norm is not None,
    )


def _strip_table(made: InputSum) -> pd.DataFrame:
    parts = (
        (words.EMBEDDING, made.embedding),
        (words.SCALED, made.scaled),
        (words.PARTS_OF_SUM["map"], made.mapped),
        (words.PARTS_OF_SUM["segment"], made.segment),
        (words.PARTS_OF_SUM["position"], made.position),
        (words.PARTS_OF_SUM["sum"], made.before_norm),
        (words.PARTS_OF_SUM["norm"], made.normed),
        (words.INPUT, made.out),
    )
    columns = {name: pd.Series(values[0]) for name, values in parts if values is not None}  # narrow ones end earlier
    return pd.DataFrame(columns).rename_axis(words.FEATURE)
