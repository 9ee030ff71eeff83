"""What Layers says at its stop of the tour: which sub-layer added most, and what the logit lens reads there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_transformer.analysis.layers.lens import OWN_STEP, Lens
from viz_transformer.analysis.layers.sublayers import Flow
from viz_transformer.model.kinds import StackName
from viz_transformer.model.layout import PART_NAMES
from viz_transformer.numerals import percent
from viz_transformer.ui.frame.questions import cited
from viz_transformer.ui.pages.layers import lens_view, view, words
from viz_transformer.ui.pages.layers.question import most_added
from viz_transformer.ui.session.runs import RunView


def sentences(shown: RunView, flows: Sequence[Flow], found: Lens | None, position: int) -> tuple[str, ...]:
    """The sub-layer that added the largest share at the chosen position; what the lens reads behind its layer, and at
    the end."""
    most = most_added(flows, position)
    if most is None:
        return (words.NO_SHARE,)
    side = shown.trace.src_tokens if most.place.stack == "encoder" else shown.trace.tgt_tokens
    share = percent(float(most.share[position]))
    stack, layer, part = most.place.stack, most.place.layer, PART_NAMES[most.place.part]
    said = [words.adds_most(stack, len(flows), part, layer, cited(side[position]), share)]
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


def ringed(shown: RunView, stack: StackName, position: int) -> tuple[str, ...]:
    """Where the tour puts its ring: the sub-layer that added most, on the rail; else the rail."""
    most = None if view.not_told(shown) is not None else most_added(view.flows_of(shown, stack), position)
    part = () if most is None else (f'.st-key-layers_top >>> .rail [title^="{most.place.title}"]',)
    return (*part, ".st-key-layers_top >>> .rail", ".st-key-question")


def _is_memory(shown: RunView, most: Flow) -> bool:
    return most.place.stack == "encoder" and shown.trace.spec.has_decoder


def _read(shown: RunView, found: Lens, row: int, column: int) -> str:
    """The most probable token of the lens at a station; "" where there is none."""
    token, probability = int(found.top_ids[row, column, 0]), float(found.top_probs[row, column, 0])
    if token < 0 or not np.isfinite(probability):
        return ""
    return words.lens_token(cited(lens_view.names_of(shown)(token)), percent(probability))
