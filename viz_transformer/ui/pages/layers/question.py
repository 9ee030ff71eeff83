"""What Layers asks of a run: from which layer on is the answer settled, and what changed a token most?

At its stop of the tour: which sub-layer added most, and what the logit lens reads there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_transformer.analysis.layers.lens import OWN_STEP, Lens
from viz_transformer.analysis.layers.sublayers import Flow
from viz_transformer.figures import labels
from viz_transformer.model.layout import PART_NAMES
from viz_transformer.numerals import percent
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.layers import lens_view, words
from viz_transformer.ui.session.runs import RunView

MAX_TIED = 2
"""The most tokens of one probability that the answer names."""


def settled(shown: RunView, found: Lens, position: int) -> Question | None:
    """From which station of the lens on the token that this row wrote is the most probable one; None if it wrote
    none."""
    if not shown.trace.next_tokens:
        return None
    written, at = shown.trace.next_tokens[position], position - found.rows.start
    ranks = found.rank[at]
    stations = [station.name for station in found.stations]
    last = len(ranks) - (found.stations[-1] == OWN_STEP)
    if written is None:
        return None
    asks = words.settles(cite(written))
    if np.isnan(found.written[at, last - 1]):
        return Question(asks, words.NOT_A_NUMBER_AT_THE_END)
    if (ranks < 0).all():
        return None
    behind = np.flatnonzero(ranks[:last] != 0)
    first = 0 if not behind.size else int(behind[-1]) + 1
    end = percent(float(found.written[at, last - 1]))
    name = shown.ckpt.codec("target" if shown.trace.spec.has_decoder else "source").names
    tops = found.top_ids[at, last - 1]
    if first == last:
        return Question(asks, words.never_settles(end, cite(name[int(tops[0])])))
    tied = tops[found.top_probs[at, last - 1] == found.written[at, last - 1]]
    others = [cite(name[int(other)]) for other in tied if other != shown.trace.next_ids[position]]
    ties = words.tied(others, most=MAX_TIED)
    if first == 0:
        return Question(asks, words.settled_from_the_start(stations[0], end, ties))
    before = percent(float(found.written[at, first - 1]))
    return Question(asks, words.settled(stations[first], before, end, ties))


def most_added(flows: Sequence[Flow], position: int) -> Flow | None:
    """What the sub-layer did that added the largest share at this position; None where no share is a number."""
    known = [flow for flow in flows if position < len(flow.share) and np.isfinite(flow.share[position])]
    return max(known, key=lambda flow: float(flow.share[position]), default=None)


def changed_most(shown: RunView, flows: Sequence[Flow], position: int) -> Question | None:
    """Which sub-layer of a stack added the largest share at this position."""
    if (most := most_added(flows, position)) is None:
        return None
    side = shown.trace.src_tokens if most.place.stack == "encoder" else shown.trace.tgt_tokens
    share = labels.share(float(most.share[position]), 2)
    return Question(
        words.changed_most(most.place.stack, cite(side[position])),
        words.added_most(most.place.title, share),
    )


def at_stop(shown: RunView, flows: Sequence[Flow], found: Lens | None, position: int) -> tuple[str, ...]:
    """The sub-layer that added the largest share at the chosen position; what the lens reads after its layer, and at
    the end."""
    most = most_added(flows, position)
    if most is None:
        return (words.NO_SHARE,)
    side = shown.trace.src_tokens if most.place.stack == "encoder" else shown.trace.tgt_tokens
    share = percent(float(most.share[position]))
    stack, layer, part = most.place.stack, most.place.layer, PART_NAMES[most.place.part]
    said = [words.adds_most(stack, len(flows), part, layer, cite(side[position]), share)]
    if found is None:
        return (*said, *([words.IS_MEMORY] if _is_memory(shown, most) else []))
    names = [station.name for station in found.stations if station != OWN_STEP]
    after = f"layer {layer}"
    at = [names.index(after)] if after in names else []
    if at != [len(names) - 1]:
        at.append(len(names) - 1)
    row = position - found.rows.start
    read = [_read(shown, found, row, column) for column in at]
    if all(read):
        said.append(words.lens_reads([(token, names[column]) for token, column in zip(read, at, strict=True)]))
    return tuple(said)


def _is_memory(shown: RunView, most: Flow) -> bool:
    return most.place.stack == "encoder" and shown.trace.spec.has_decoder


def _read(shown: RunView, found: Lens, row: int, column: int) -> str:
    """The most probable token of the lens at a station; "" where there is none."""
    token, probability = int(found.top_ids[row, column, 0]), float(found.top_probs[row, column, 0])
    if token < 0 or not np.isfinite(probability):
        return ""
    return words.lens_token(cite(lens_view.names_of(shown)(token)), percent(probability))
