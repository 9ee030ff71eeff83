"""The map of what is selected on a page: analysis makes it, the run that is shown names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.attention.axes import Axes, Axis
from viz_transformer.analysis.attention.maps import (
    AttentionPicture,
    attention_picture,
    axes_of,
    contribution_norms,
    picture_of,
)
from viz_transformer.analysis.attention.picture import Picture
from viz_transformer.analysis.attention.rollout import rollout_view
from viz_transformer.analysis.attention.words import Words, word_groups
from viz_transformer.model.kinds import SIDES, KindName
from viz_transformer.ui.session.runs import RunView

WORDS, HIDDEN, CONTRIBUTION = "words", "hidden", "contribution"


def picture(shown: RunView, chosen: Mapping[str, Any]) -> Picture:
    """The map of what is selected: kind, layer, heads, and the options.

    Raises ValueError with one sentence for what is undefined in this model.
    """
    kind, layer, heads, options = chosen["kind"], chosen["layer"], chosen["heads"], chosen["options"]
    lengths = CONTRIBUTION in options and heads != "rollout"
    if heads == "rollout":
        made = picture_of(shown.trace, rollout_view(shown.trace, kind, layer), shown.names)
    else:
        made = attention_picture(shown.trace, kind, layer, heads, lengths=lengths, names=shown.names)
    if HIDDEN in options:
        made = made.without(made.columns.reads.special)
    if WORDS in options:
        rows, columns = (_words(shown, axis) for axis in made.axes)
        made = made.words(rows, columns, partial(_lengths, shown, made) if lengths else None)
    return made


def axes(shown: RunView, kind: KindName) -> Axes:
    """Queries and keys of a kind of attention of this run."""
    return axes_of(shown.trace, kind, shown.names)


def _lengths(shown: RunView, made: AttentionPicture, groups: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    """[R, groups]: lengths of the sums of the vectors of groups of keys, of which lengths are no sums."""
    return contribution_norms(shown.trace, made.kind, made.layer, made.head, groups=groups).norms


def _words(shown: RunView, axis: Axis) -> Words:
    """The words of the tokens of an axis."""
    assert axis.side is not None  # tokens are those of one of the two texts
    codec = shown.ckpt.codecs.get(axis.side)
    characters = codec is not None and codec.splits_characters
    ids = SIDES[axis.side].of(shown.trace.src, shown.trace.tgt).ids
    pieces = None if codec is None or characters else [codec.continuation(ids[p]) for p in axis.positions]
    reads = axis.reads
    return word_groups(
        reads.tokens,
        ["" if place in reads.padding else typed for place, typed in enumerate(reads.typed)],
        special=[place in reads.special for place in range(len(axis))],
        characters=characters,
        continuations=pieces,
    )
