"""The whole run in one picture: the stream of both stacks, what each token takes from others, and what is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from viz_transformer import payload
from viz_transformer.figures.components.scrubber import StepData, candidate_rows, written_places
from viz_transformer.figures.components.strongest_only import strongest
from viz_transformer.figures.components.tokens import token_data
from viz_transformer.model.kinds import SIDE_OF

if TYPE_CHECKING:
    from viz_transformer.analysis.run.whole import WholeRun, WholeStack

HEIGHT = 700
CANDIDATES = 6
"""The number of candidates per step that have a bar."""


@dataclass(frozen=True, kw_only=True)
class RunText:
    """The text of a run, read and written. A model that generates nothing has no steps."""

    steps: Sequence[StepData] = ()
    first_row: int = 0
    """The decoder's row of the first step."""
    vocabulary: int = 0
    """The size of the vocabulary."""
    typed: str = ""
    answer: str = ""
    """The text of all steps."""


@dataclass(frozen=True, kw_only=True)
class Names:
    """The names of the picture: its title, its caption when saved, and its file name."""

    title: str = ""
    caption: str
    file: str


def whole_payload(
    whole: WholeRun,
    text: RunText,
    names: Names,
    *,
    of: str = "",
    height: int = HEIGHT,
    along: Mapping[str, int | bool] | None = None,
) -> bytes:
    """The payload of the run overview.

    of: the id of this run in the details of its deeper levels. along: if two runs move together, the `first_row` of the
    first, the `steps` of the longer one, and whether any `reads` a text first.

    Arrays, all float32 as recorded: token.S, position.S [T, samples] where they were recorded, stream.S
    [points, T, samples], length.S [points, T], and came.S, added.S and share.S [sub-layers, T] of each stack S; of each
    kind K of attention the strongest weights of each row, keys.K, weights.K, starts.K and rest.K [layers, Q]
    (strongest_only.py); log_probs [steps, most candidates], NaN where a step has fewer. Raises ValueError for steps
    that do not fit the decoder's rows.
    """
    steps, first_row = text.steps, text.first_row
    rows = {each.stack: len(each.tokens) for each in whole.stacks}
    if steps and first_row + len(steps) > rows.get("decoder", 0):
        raise ValueError(f"{len(steps)} steps from row {first_row} on do not fit {rows.get('decoder', 0)} rows")
    shown, log_probs, tokens = candidate_rows(
        [replace(step, candidates=step.candidates[:CANDIDATES]) for step in steps]
    )
    places = {token_id: place for place, token_id in enumerate(tokens)}
    header: dict[str, Any] = {
        "of": of,
        "title": names.title,
        "caption": names.caption,
        "name": names.file,
        "height": height,
        "head": whole.head,
        "stacks": [_stack(each, whole) for each in whole.stacks],
        "first_row": first_row,
        "vocabulary": text.vocabulary,
        "tokens": token_data(tuple(tokens.values())),
        "candidates": [[places[each.token_id] for each in row] for row in shown],
        "written": written_places(steps, shown),
        "text": text.typed,
        "answer": text.answer,
        "ends": ends_in(text.answer, [step.written.token for step in steps]),
    }
    if along is not None:
        header["along"] = dict(along)
    arrays: dict[str, payload.Encoded] = {}
    for kind, maps in whole.weights.items():
        arrays |= strongest(maps).arrays(kind)
    for each in whole.stacks:
        if each.token is not None:
            arrays[f"token.{each.stack}"] = payload.exact(each.token)
        arrays |= {
            f"{name}.{each.stack}": payload.exact(getattr(each, name))
            for name in ("stream", "length", "came", "added", "share")
        }
        if each.position is not None:
            arrays[f"position.{each.stack}"] = payload.exact(each.position)
    if steps:
        arrays["log_probs"] = payload.exact(log_probs)
    return payload.pack(header, **arrays)


def ends_in(text: str, tokens: Sequence[str]) -> list[int]:
    """The length of the text written after each of its tokens, in characters; all of it after the last.

    A token that is not in it literally, such as the end token, adds nothing.
    """
    ends, end = [], 0
    for token in tokens:
        found = text.find(token, end)
        if token and found >= 0 and not text[end:found].strip():
            end = found + len(token)
        ends.append(end)
    return [*ends[:-1], len(text)] if ends else []


def _stack(stack: WholeStack, whole: WholeRun) -> dict[str, Any]:
    side, tokens = SIDE_OF[stack.stack], stack.tokens.tokens
    parts = [
        {"layer": place.layer, "part": place.part}
        | ({} if place.kind is None else {"kind": place.kind, "heads": whole.heads[place.kind][place.layer]})
        for place in stack.places
    ]
    return {
        "name": stack.stack,
        "ink": f"{side.name}-ink",
        "field": side.field,
        "tokens": token_data(
            tokens, [typed or token for typed, token in zip(stack.tokens.originals, tokens, strict=True)]
        ),
        "padded": [int(i) for i in np.flatnonzero(stack.padded)],
        "parts": parts,
        "layers": len({place.layer for place in stack.places}),
        "features": stack.size,
        "sums": stack.sums,
        "final": stack.points[-1] == f"{stack.stack}.out",
    }
