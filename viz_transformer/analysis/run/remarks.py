"""Sentences on what is unusual at one place of a run, and on what the run lacks there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from viz_transformer.analysis.attention.sharing import sharing
from viz_transformer.analysis.weight.cell_facts import SWAPPED
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.running.trace import Trace

_WORDS = {
    "in": "input",
    "out": "output",
    "head_out": "output of the head",
    "hidden": "hidden layer",
    "norm_mean": "norm mean",
    "norm_scale": "norm scale",
}


def remark_on_attention(trace: Trace, kind: KindName, layer: int) -> Iterator[str]:
    """Sentences on what is unusual in all heads of an attention: how they are merged, and what they may attend to."""
    config, site = trace.spec.config, KINDS[kind].site(layer)
    if config is not None and config.merge == "raw-reshape":
        yield (
            "This model merges its heads by a raw reshape: a row of the output is made of several queries of one head,"
            " and not of one query of all heads."
        )
    if config is not None and kind == "cross" and config.padding_mask == "key-or-query-swapped-cross":
        yield SWAPPED
    heads = trace.spec.attentions.get(site)
    if heads is not None and (said := sharing(heads)) is not None:
        yield said
    yield from reach(trace, site)
    if f"{site}.sink" in trace.spec.point:
        yield (
            "The softmax has one more number beside the scores in each head, which belongs to no key: what it takes is"
            " missing in the weights, so that a row sums to less than 1."
        )
    yield from remark_on_rounding(trace)
    yield from remark_on_edits(trace, f"{site}.")


def remark_on_rounding(trace: Trace) -> Iterator[str]:
    """A sentence on this run's type, if not float32, and what that means for a row of weights."""
    if trace.spec.rounding:
        yield (
            f"Computed in {trace.spec.precision}: each weight is rounded to 8 bits, so that a row sums to 1 up to"
            " 0.004."
        )


def reach(trace: Trace, site: str) -> Iterator[str]:
    """A sentence on how far back a query of this attention reads, if there is a limit."""
    heads = trace.spec.attentions.get(site)
    if heads is not None and heads.window:
        if site.startswith("encoder."):
            yield f"A query reads keys at most {heads.window} positions before or after it."
        else:
            yield f"A query reads the {heads.window} keys that end at its own place, and none before them."


def remark_on_edits(trace: Trace, place: str) -> Iterator[str]:
    """A sentence if points with this prefix were edited in this run."""
    if edits := [edit.caption() for edit in trace.edits if edit.point.startswith(place)]:
        yield f"This run was edited here: {'; '.join(edits)}."


def remark_on_dropout(trace: Trace) -> Iterator[str]:
    """A sentence if the run was recorded in training mode."""
    if trace.info.get("kind") == "training mode":
        yield "This run was recorded in training mode: dropout acted on what is drawn here."


def remark_on_missing(trace: Trace, place: str, names: Iterable[str], of: str) -> Iterator[str]:
    """Sentences on which of these points below `place` the run lacks, one for each reason."""
    by_reason: dict[str, list[str]] = {}
    for name in names:
        if (point := f"{place}.{name}") not in trace:
            by_reason.setdefault(trace.spec.missing.get(point, ""), []).append(name)
    for reason, lacking in by_reason.items():
        said = _join_words([_WORDS.get(name, name) for name in lacking])
        yield f"The run has no {said} of {of}{reason and f': {reason}'}."


def _join_words(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
