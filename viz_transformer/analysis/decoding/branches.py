"""Two branches of one text: where the answers part, what each step cost them, and whether attention differs before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.attention.maps import attention_kinds, layer_count, layer_weights, step_row
from viz_transformer.analysis.decoding.difference import Piece, aligned_difference
from viz_transformer.running.decoding import Run

Floats = NDArray[np.float64]
DecoderKind = Literal["decoder", "cross"]

ROUNDING = 1e-5
"""Total variation up to this is float32 adding up the same numbers in another order."""
DEFINITION = (
    "Total variation of a row: half the sum of the absolute differences of its weights in A and in B, 0 for the same"
    " row, 1 for rows that share no key. Only rows that read the same tokens in both are compared."
)


@dataclass(frozen=True, eq=False)
class Variation:
    """Total variation of each head of one attention between two runs. values: [H, R] float64, a column for each row."""

    kind: DecoderKind
    layer: int
    values: Floats


@dataclass(frozen=True)
class RowDistance:
    """One row of one head, and its total variation."""

    value: float
    kind: DecoderKind
    layer: int
    head: int
    row: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two runs that go on from the same text."""

    pieces: tuple[Piece, ...]
    """Both token sequences, aligned and cut into equal and differing pieces (`wanted` is A's, `written` B's). The
    common beginning is one piece."""
    common: int
    """The number of steps before the first difference."""
    first_difference: int | None
    """The first step that differs; None if the runs write the same."""
    log_probs: tuple[Floats, Floats]
    """Natural log-probabilities of A's steps and of B's, under the model."""
    first_row: int
    """The decoder row of step 0."""
    variations: tuple[Variation, ...]
    """Rows 0 to first_row + common, as far as both runs have them; they read the same tokens in both."""

    @property
    def cumulative(self) -> tuple[Floats, Floats]:
        """Cumulative log-probabilities of A and of B; the last is the total."""
        a, b = self.log_probs
        return a.cumsum(), b.cumsum()

    @property
    def rows(self) -> int:
        """The number of compared rows."""
        return int(self.variations[0].values.shape[1])

    @property
    def largest(self) -> RowDistance:
        """The row of a head with the largest total variation; the first of equals."""
        places = []
        for found in self.variations:
            head, row = np.unravel_index(int(found.values.argmax()), found.values.shape)
            value = float(found.values[head, row])
            places.append(RowDistance(value, found.kind, found.layer, int(head), int(row)))
        return max(places, key=lambda place: place.value)

    def variation(self, kind: DecoderKind, layer: int) -> Variation:
        """The variation of one attention. Raises ValueError if the model does not have it."""
        for found in self.variations:
            if (found.kind, found.layer) == (kind, layer):
                return found
        raise ValueError(f"the decoder has no {kind!r} attention in a layer {layer}")


def compare_runs(a: Run, b: Run) -> Comparison:
    """The comparison of two runs of one model on one text: by token, by step, and by row of every decoder attention.

    Total variation is half the absolute difference of two rows of weights (Levin, Peres and Wilmer 2009, proposition
    4.2), over the keys that both rows have in common: the source, or the target's tokens up to the step at which the
    runs part. After that step rows read different tokens, and are not compared. The weights are those of the trace; in
    a causal model without edits they are the same up to rounding. Raises ValueError with one sentence for runs of
    different models or on different texts.
    """
    if a.trace.weights_sha256 != b.trace.weights_sha256:
        raise ValueError(
            f"the runs are of different models, {a.trace.checkpoint} and {b.trace.checkpoint}: branches have one model"
        )
    first = step_row(a, 0)
    if a.trace.src_ids != b.trace.src_ids or _beginning(a) != _beginning(b):
        raise ValueError("the runs read different texts: branches go on from the same source")
    ids = [[step.token_id for step in run.steps] for run in (a, b)]
    longest, shortest = max(map(len, ids)), min(map(len, ids))
    common = next((step for step in range(shortest) if ids[0][step] != ids[1][step]), shortest)
    rows = first + min(common + 1, shortest)
    return Comparison(
        pieces=_pieces(a.tokens, b.tokens, common),
        common=common,
        first_difference=None if common == longest else common,
        log_probs=(_log_probs(a), _log_probs(b)),
        first_row=first,
        variations=_variations(a, b, rows),
    )


def total_variation(a: NDArray[np.float32], b: NDArray[np.float32]) -> Floats:
    """Half the sum of the absolute differences over the last axis: [..., K] x [..., K] -> [...], in float64."""
    return np.asarray(np.abs(a.astype(np.float64) - b.astype(np.float64)).sum(axis=-1) / 2)


def _pieces(a: Sequence[str], b: Sequence[str], common: int) -> tuple[Piece, ...]:
    """The pieces: the common beginning, then the rest aligned. difflib alone might match blocks across the fork."""
    beginning = (Piece(tuple(a[:common]), tuple(b[:common]), True),) if common else ()
    return (*beginning, *aligned_difference(a[common:], b[common:]))


def _variations(a: Run, b: Run, rows: int) -> tuple[Variation, ...]:
    """Variations of rows 0 to `rows` - 1 of every decoder attention."""
    found = []
    for kind in attention_kinds(a.trace):
        if kind == "encoder":
            continue
        for layer in range(layer_count(a.trace, kind)):
            keys = rows if kind == "decoder" else len(a.trace.src)
            weights = (layer_weights(run.trace, kind, layer)[0][:, :rows, :keys] for run in (a, b))
            found.append(Variation(kind, layer, total_variation(*weights)))
    return tuple(found)


def _beginning(run: Run) -> tuple[int, ...]:
    """The ids that the decoder reads before the first step."""
    return run.trace.tgt_ids[: step_row(run, 0) + 1]


def _log_probs(run: Run) -> Floats:
    return np.array([step.log_prob for step in run.steps], dtype=np.float64)
