"""What the pictures have to say about a run, put together from its trace and nothing of the app."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.figures import labels
from viz_transformer.running.decoding import Run
from viz_transformer.running.trace import Tokens

SITES = {"cross": "decoder.{}.cross", "decoder": "decoder.{}.self", "encoder": "encoder.{}.self"}


def weights_of(run: Run, kind: str, layer: int) -> NDArray[np.float32]:
    """[H, Q, K]"""
    return run.trace[f"{SITES[kind].format(layer)}.weights"][0].numpy()


def mask_of(run: Run, kind: str, layer: int) -> NDArray[np.bool_]:
    """[Q, K], True = may attend, of head 0."""
    weights = weights_of(run, kind, layer)
    return run.trace[f"{SITES[kind].format(layer)}.mask"].expand(1, *weights.shape)[0, 0].numpy()


def token_words(side: Tokens, position: int) -> str:
    """A token between quotation marks, with what was typed if the model reads something else."""
    token, original = side.tokens[position], side.originals[position] or side.tokens[position]
    read = f"“{labels.isolate(labels.visible(token))}”"
    typed = f", typed “{labels.isolate(labels.visible(original))}”"
    return read if token.lower() == original.lower() else read + typed


def query_words(run: Run, kind: str, row: int) -> str:
    """The first line of a tooltip."""
    if kind == "encoder":
        return f"query {row}: {token_words(run.trace.src, row)}"
    written = labels.isolate(labels.visible(writes(run, row)))
    return f"query {row}: reads {token_words(run.trace.tgt, row)}, writes “{written}”"


def writes(run: Run, row: int) -> str:
    """What a row of the decoder writes: what was given next, then what the steps wrote, nothing behind padding."""
    tokens = run.trace.tgt
    first = sum(original != "" for original in tokens.originals) - len(run.steps)
    if row < first:
        return tokens.tokens[row + 1]
    return run.steps[row - first].token if row < first + len(run.steps) else "(unused)"


def key_words(run: Run, kind: str, column: int) -> str:
    """The second line of a tooltip."""
    return f"key {column}: {token_words(run.trace.tgt if kind == 'decoder' else run.trace.src, column)}"


def fill(run: Run) -> str:
    """What a masked cell says of what the model puts there."""
    filled = {"-inf": "-inf", "-1e9": "-1e9", "-1e10": "-1e10", "added-1e9": "-1e9 added", "zero-rows": ""}
    sign = filled[run.trace.config.mask_fill]
    return f" ({sign})" if sign else ""


def cells(
    run: Run, kind: str, values: NDArray[np.float32], mask: NDArray[np.bool_], what: str = "weight"
) -> dict[tuple[int, int], list[str]]:
    """What each cell of a map says. values, mask: [Q, K]"""

    def value_words(row: int, column: int) -> str:
        value = float(values[row, column])
        number = labels.share(value) if what == "weight" else labels.number(value)
        return f"{'' if mask[row, column] else f'masked{fill(run)}, '}{what} {number}"

    return {
        (row, column): [query_words(run, kind, row), key_words(run, kind, column), value_words(row, column)]
        for row, column in np.ndindex(*values.shape)
    }


def percent(part: float, whole: float) -> str:
    """Part of a whole, as the lines say it."""
    if part == 0 or whole == 0:
        return "0 %"
    if part == whole:
        return "100 %"
    hundredths = 100 * part / whole
    return "<0.1 %" if hundredths < 0.1 else ">99.9 %" if hundredths > 99.9 else f"{hundredths:.1f} %"


def hidden_lines(weights: Any, mask: NDArray[np.bool_], threshold: float) -> str:
    """What the lines say of a threshold. weights: [N, Q, K] of the chosen heads; mask: [Q, K]"""
    allowed = np.broadcast_to(mask, np.shape(weights))
    shown = allowed & (weights > 0) & (weights >= np.float32(threshold))
    hidden = percent(fsum(weights[allowed & ~shown]), fsum(weights.flat))
    lines, all_lines = int((allowed & ~shown).sum()), int(allowed.sum())
    return f"threshold {threshold:g}: {lines:,} of {all_lines:,} lines hidden, {hidden} of the weight"
