"""The output of a model that generates no text, as plain data: labels with probabilities, or fillings of masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viz_transformer import numerals
from viz_transformer.analysis.run.filling import filling, fills_masks, masked_positions
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.numerals import significant
from viz_transformer.running.decoding import Run

FIRST = 5
"""The most candidates for a mask, or labels of a token, that are printed."""


def read_facts(ckpt: Checkpoint, run: Run, *, every_label: bool = True) -> dict[str, Any]:
    """The data of the run for `read --json`; per token every label, or only the first FIRST.

    Raises ValueError for a model that gives neither labels nor fillings, and for a text without a mask that could be
    filled in.
    """
    trace, codec = run.trace, ckpt.codec("source")
    facts: dict[str, Any] = {"tokens": trace.src_tokens}
    if run.labels:
        special = codec.special_ids - {codec.unknown}
        of_text = run.labels[0].position is None
        found = [
            {
                "position": each.position,
                "token": None if each.position is None else trace.src_tokens[each.position],
                "labels": [
                    {"label": label.name, "probability": label.probability, "logit": label.logit}
                    for label in (each.scores if every_label or of_text else each.first(FIRST))
                ],
            }
            for each in run.labels
            if each.position is None or trace.src_ids[each.position] not in special
        ]
        return {**facts, **(found[0] if of_text else {"labels": found})}
    if not fills_masks(ckpt.spec):
        raise ValueError(
            f"{ckpt.name} has no output layer: it gives a vector for each token, which trace() has, in Python"
        )
    places = masked_positions(trace, codec.mask)
    if not places:
        mask = "" if codec.mask is None else codec.names[codec.mask]
        raise ValueError(f"the text has no mask to be filled in: write {mask} in the place of a word")
    return {
        **facts,
        "masks": [
            {
                "position": place,
                "candidates": [
                    {"token": each.token, "probability": numerals.exponential(each.log_prob)}
                    for each in filling(trace, place, codec.names, count=FIRST).candidates
                ],
            }
            for place in places
        ],
    }


def read_rows(facts: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The same data as table rows: a row for each label of a text, or for each token or mask."""
    if "masks" in facts:
        return [(f"mask at {mask['position']}", _format_list(mask["candidates"], "token")) for mask in facts["masks"]]
    if "position" in facts:
        return [(each["label"], _format_probability(each)) for each in facts["labels"]]
    return [(row["token"], _format_list(row["labels"], "label")) for row in facts["labels"]]


def _format_list(found: list[dict[str, Any]], name: str) -> str:
    return ", ".join(f"{each[name]} {_format_probability(each)}" for each in found)


def _format_probability(each: Mapping[str, Any]) -> str:
    return significant(each["logit"] if each["probability"] is None else each["probability"], 4)
