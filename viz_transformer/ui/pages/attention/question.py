"""What Attention says at its stop of the tour: where the chosen head looked. Its question is that of all maps."""

from __future__ import annotations

import numpy as np

from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.attention.picture import Picture
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.numerals import percent
from viz_transformer.ui.frame.questions import EVEN, open_cells, place_of, there, token_at, where
from viz_transformer.ui.pages.attention import words
from viz_transformer.ui.session.runs import RunView


def at_stop(
    shown: RunView, picture: Picture, kind: KindName, layer: int, heads: tuple[int, ...] | str, position: int
) -> tuple[str, ...]:
    """The key with most of the chosen row's weight, and the next one; of a map that is not one head's weights, the
    page's question and its answer."""
    row = place_of(picture.rows, position)
    if row is None:
        return (words.LEFT_OUT,)
    values = picture.values[row].astype(np.float64)
    free = open_cells(picture, row)
    strange = there(picture, row) & ~np.isfinite(values)
    meta = picture.meta
    plain = meta.quantity == "weight" and meta.bounded and meta.adds_up and not meta.signed
    if isinstance(heads, str) or len(heads) > 1 or not plain or strange.any() or not (values[free] > 0).any():
        found = where(shown, picture, position, heads)
        return () if found is None else (f"{found.asks} {found.answer}",)
    step = position - step_row(shown.run, 0)
    when = words.reading(token_at(picture.rows.reads, row))
    if picture.rows.writes is not None and 0 <= step < len(shown.run.steps) and not shown.run.steps[step].forced:
        when = words.writing(token_at(picture.rows.writes, row))
    who = words.a_head(heads[0], KINDS[kind].stack, layer)
    best, *others = np.argsort(np.where(free, -values, np.inf), kind="stable")[: max(1, int(free.sum()))]
    key, share = token_at(picture.columns.reads, int(best)), float(values[best])
    if not others:
        return (words.looked_at_one(when, who, key, percent(share)),)
    said = words.looked(when, who, key, percent(share))
    if free.sum() > 2 and share < EVEN / free.sum():
        said = words.looked_evenly(when, who, int(free.sum()), key, percent(share))
    following = int(others[0])
    return said, words.next_came(token_at(picture.columns.reads, following), percent(float(values[following])))
