"""The scrubber: all steps of a decode, moved through in the browser, with the candidates of each step as bars."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from viz_transformer.ui.components import payload
from viz_transformer.ui.components.source import javascript, style_sheet
from viz_transformer.ui.components.tokens import token_data

if TYPE_CHECKING:
    from viz_transformer.decoding import Run

_scrubber = st.components.v2.component(
    "viz_transformer_scrubber", css=style_sheet("scrubber"), js=javascript("scrubber")
)


@dataclass(frozen=True)
class CandidateData:
    """A token that could stand at a step; log_prob is natural, over the whole vocabulary."""

    token: str
    token_id: int
    log_prob: float


@dataclass(frozen=True)
class StepData:
    """One token written, and the most probable ones, best first. `forced`: it was given, not chosen by the model."""

    written: CandidateData
    candidates: Sequence[CandidateData]
    forced: bool = False


def steps_of(run: Run) -> tuple[StepData, ...]:
    """All steps of a run as plain texts and numbers."""
    return tuple(
        StepData(
            CandidateData(step.token, step.token_id, step.log_prob),
            tuple(CandidateData(each.token, each.token_id, each.log_prob) for each in step.candidates),
            step.forced,
        )
        for step in run.steps
    )


def scrubber_payload(
    steps: Sequence[StepData],
    *,
    first_row: int,
    vocabulary: int,
    reads: Sequence[Mapping[str, Any]],
    caption: str,
    name: str,
    special: Collection[int] = (),
) -> bytes:
    """What the browser gets: every step at once. Step s is the decoder row `first_row` + s.

    vocabulary: how many tokens there are. reads: what the row of each step reads, as `token_data` makes it. special:
    the ids of special tokens. A written token that is not among its step's candidates is sent behind them. Arrays:
    log_probs [steps, most candidates], NaN where a step has fewer; rest [steps], 1 minus the candidates' probabilities,
    summed in float64 and never below 0. Raises ValueError for no steps, and for what does not fit together.
    """
    if not steps:
        raise ValueError("a run has at least one step: there is nothing to scrub through")
    if len(reads) != len(steps):
        raise ValueError(f"{len(reads)} tokens read do not fit {len(steps)} steps")
    if first_row < 0:
        raise ValueError(f"first_row={first_row} must be at least 0")
    shown = [_with_written(step) for step in steps]
    most = max(map(len, shown))
    if vocabulary < most:
        raise ValueError(f"{most} candidates do not fit a vocabulary of {vocabulary} tokens")
    log_probs = np.full((len(steps), most), np.nan)
    for row, candidates in zip(log_probs, shown, strict=True):
        row[: len(candidates)] = [each.log_prob for each in candidates]
    different = {each.token_id: each.token for candidates in shown for each in candidates}
    places = {token_id: place for place, token_id in enumerate(different)}
    header = {
        "first_row": first_row,
        "vocabulary": vocabulary,
        "reads": reads,
        "tokens": token_data(
            tuple(different.values()), special={place for token_id, place in places.items() if token_id in special}
        ),
        "candidates": [[places[each.token_id] for each in candidates] for candidates in shown],
        "written": [_place_of_written(step, row) for step, row in zip(steps, shown, strict=True)],
        "unlisted": [s for s, step in enumerate(steps) if len(shown[s]) > len(step.candidates)],
        "forced": [s for s, step in enumerate(steps) if step.forced],
        "caption": caption,
        "name": name,
    }
    rest = [_rest([each.log_prob for each in candidates]) for candidates in shown]
    return payload.pack(header, log_probs=payload.exact(log_probs), rest=payload.exact(rest))


def scrubber(data: bytes, *, key: str) -> None:
    """Draw what `scrubber_payload` made. The step's row goes into the selection of the page as its field `t`."""
    _scrubber(key=key, data=data)


def _with_written(step: StepData) -> list[CandidateData]:
    """The candidates, and behind them the written token if it is none of them.

    Raises ValueError for a token that stands twice.
    """
    ids = [each.token_id for each in step.candidates]
    if len(set(ids)) != len(ids):
        raise ValueError(f"a token stands twice among the candidates: {ids}")
    return [*step.candidates] if step.written.token_id in ids else [*step.candidates, step.written]


def _place_of_written(step: StepData, shown: Sequence[CandidateData]) -> int:
    return [each.token_id for each in shown].index(step.written.token_id)


def _rest(log_probs: Sequence[float]) -> float:
    """1 minus the sum of these probabilities, 0 where rounding makes it negative, NaN if one of them is NaN."""
    left = 1 - math.fsum(map(math.exp, log_probs))
    return 0.0 if left < 0 else left
