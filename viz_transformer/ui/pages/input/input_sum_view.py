"""Embedding x scale + position = input, as strips on one scale: of one run, checked number by number, or of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
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
from viz_transformer.ui.frame import frame, projector
from viz_transformer.ui.frame.drawn import Chart, Columns, Drawn, Heading, Numbers, Table, Text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.input import words
from viz_transformer.ui.pages.input.tokens_view import PROJECTED, tokens_of
from viz_transformer.ui.session.memoize import memoize_figure
from viz_transformer.ui.session.runs import RunView

SIZE = frame.ChartSize(grows=PROJECTED, fills=True, room=420)
_input_strips = memoize_figure(input_strips)


def draw_strips(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """Embedding, position and input of one token or of all, as strips on one scale; with two runs also A − B."""
    yield Heading(said=_heading(both.main, chosen["side"]))
    yield from (_draw_two_runs if both.compared else _draw_one_run)(both, chosen["side"], _row(chosen))


def draw_spread(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """Means and variances of what the strips show, and whether the sum is exact; nothing where there are no strips."""
    side, row = chosen["side"], _row(chosen)
    try:
        made = _input_sum(both.a if both.compared else both.main, side, row)
        if both.b is None or not both.compared:
            yield _spread_table(_spread_rows(made))
            yield _draw_verdict(made)
            return
        second = _input_sum(both.b, side, row)
        found = input_difference(made, second)
    except ValueError:
        return  # the strips say why
    rows = [(words.minus(name.lstrip("+= ")), less) for name, _, less in _compared_parts(made, second, found)]
    yield _spread_table([(words.INPUT_OF_A, made.out), (words.INPUT_OF_B, second.out), *rows])
    yield from (Text(said=sentence) for sentence in difference_in_words(found, both.a, both.b, side))


def _row(chosen: Chosen) -> int | None:
    """The position that is shown; None for all."""
    return chosen[SIDES[chosen["side"]].field] if chosen["input_rows"] == "one" else None


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


def _draw_one_run(both: Runs, side: SideName, row: int | None) -> Iterator[Drawn]:
    """The strips of one run, and why they have no position, where they have none."""
    shown = both.main
    made = _input_sum(shown, side, row)
    names = [tokens_of(shown, side).tokens[position] for position in made.rows]
    numbers = None if row is None else _numbers(shown, side, row, lambda: _strip_table(made))
    yield _chart(_list_parts(made), StripRows(names, made.rows, side), row, numbers)
    if made.position is None:
        spec = shown.trace.spec
        if spec.config is None:
            why = spec.missing.get(f"{SIDES[side].stack}.embed.position", words.UNKNOWN_POSITIONS)
            yield Text(said=words.no_known_positions(why))
        else:
            yield Text(said=words.no_positions(spec.config.encoding.acts))


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


def _chart(
    parts: Sequence[tuple[str, NDArray[np.float32]]],
    read: StripRows,
    row: int | None,
    numbers: Numbers | None = None,
    *,
    compared: str | None = None,
    scale: float = 0.0,
    of: str = "",
) -> Chart:
    """The figure with its table. compared: the names of both runs if the strips are A − B; of: the run's name if they
    are beside those of another."""
    where = words.strips_where(row, len(read.positions), bool(compared))
    strips, title = [Strip(*each) for each in parts], words.strips_title(SIDES[read.side].stack, where, of)
    return Chart(
        figure=lambda theme: _input_strips(strips, read, title=title, scale=scale, beside=bool(of), theme=theme),
        alt=words.strips_alt(where),
        numbers=numbers,
        key="input_strips_b" if of == "B" else "input_strips",
        size=SIZE,
        caption=compared or "",
    )


def _numbers(shown: RunView, side: SideName, row: int, numbers: Callable[[], pd.DataFrame], said: str = "") -> Numbers:
    stack = SIDES[side].stack
    return Numbers(
        frame=numbers,
        note=words.table_note(shown.caption(words.table_of(stack, row)), said),
        name=labels.file_name("a-minus-b" if said else "", shown.summary.name, stack, "embed", str(row)),
    )


# --- two runs


def _compared_parts(
    first: InputSum, second: InputSum, found: InputDifference
) -> list[tuple[str, list[NDArray[np.float32]], NDArray[np.float32]]]:
    """The parts that both runs have: their names, those of A, of B and of A − B, and A − B alone."""
    scales = dict.fromkeys((scaled_name(first.scale), scaled_name(second.scale)))
    parts = (
        (words.either([*scales]), (first.scaled, second.scaled, found.scaled)),
        (words.STRIPS["map"], (first.mapped, second.mapped, found.mapped)),
        (words.STRIPS["position"], (first.position, second.position, found.position)),
        (_input_name(first), (first.out, second.out, found.out)),
    )
    return [
        (name, [each for each in three if each is not None], three[2]) for name, three in parts if three[2] is not None
    ]


def _draw_two_runs(both: Runs, side: SideName, row: int | None) -> Iterator[Drawn]:
    """The strips of A, B and A − B; for all positions those of A − B alone, on the scale of both. Without A − B, those
    of A and of B, if they are shown side by side."""
    a, b = both.shown
    first, second = _input_sum(a, side, row), None
    why = words.NO_DIFFERENCE
    try:
        second, why = _input_sum(b, side, row), ""
        found = input_difference(first, second)
    except ValueError as error:
        if both.beside:
            yield _draw_beside(both, side, row, first, second)
        if not both.beside or not projector.is_on():  # a scene is its picture
            yield Text(said=words.no_difference(why, error), tone="plain" if both.beside else "bad")
        return
    parts = _compared_parts(first, second, found)
    tokens = [tokens_of(shown, side).tokens for shown in (a, b)]
    runs = "; ".join(words.run_of(each.name, each.called, each.words()) for each in (a, b))
    if row is not None:
        strips = [(name, np.concatenate(three)) for name, three, _ in parts]
        names = [*(f"{name}:{each[row]}" for name, each in zip("AB", tokens, strict=True)), "A−B"]
        said = words.before_difference(b.caption(words.SAME_POSITION))
        numbers = _numbers(a, side, row, lambda: _difference_table(found), said)
        yield _chart(strips, StripRows(names, [row] * 3, side), row, numbers, compared=runs)
    else:
        differences = [(name, less) for name, _, less in parts]
        names = [x if x == y else f"{x}|{y}" for x, y in zip(*tokens, strict=True)]
        scale = max(first.largest, second.largest)
        yield _chart(differences, StripRows(names, found.a.rows, side), row, compared=runs, scale=scale)


def _draw_beside(both: Runs, side: SideName, row: int | None, first: InputSum, second: InputSum | None) -> Columns:
    """The strips of A and those of B, if it has them, side by side on one scale."""
    runs = [(shown, made) for shown, made in zip(both.shown, (first, second), strict=True) if made is not None]
    scale = max(made.largest for _, made in runs)
    drawn = []
    for shown, made in runs:
        names = [tokens_of(shown, side).tokens[position] for position in made.rows]
        drawn.append([_chart(_list_parts(made), StripRows(names, made.rows, side), row, scale=scale, of=shown.name)])
    return Columns(parts=drawn, widths=(1,) * len(drawn))


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


def _spread_table(rows: Sequence[tuple[str, NDArray[np.float32]]]) -> Table:
    """The mean and the variances of each row."""
    body = []
    for name, values in rows:
        found = measure_spread(values)
        numbers = (found.mean, found.variance, found.sample_variance)
        cells = ["–" if number != number else numerals.number(number) for number in numbers]
        body.append((name, *cells, f"{found.count:,}"))
    return Table(head=words.SPREAD_HEAD, rows=body)


def _draw_verdict(made: InputSum) -> Text:
    """Whether the recorded input is the sum of the strips above it."""
    total = made.out if made.before_norm is None else made.before_norm
    strips = 1 + sum(each is not None for each in (made.segment, made.position))
    what = words.INPUT if made.before_norm is None else words.PARTS_OF_SUM["sum"]
    if made.exact:
        square = significant(made.scale**2, 5) if made.scale != 1 else None
        said = words.exact(total.size, what, made.precision, strips, _around_the_sum(made), square)
        return Text(said=said, tone="ok")
    errors = significant(made.sum_error, 3), significant(made.scale_error, 3)
    return Text(said=words.not_the_sum(what, *errors), tone="bad")


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
