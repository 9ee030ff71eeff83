"""The candidates of decoding steps as bars, moved through step by step: probabilities over the whole vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

from viz_transformer import declared
from viz_transformer.analysis.attention.axes import Texts
from viz_transformer.figures.components.scrubber import CandidateData, StepData, WrittenSteps, scrubber_payload
from viz_transformer.figures.components.standalone import HtmlFigure
from viz_transformer.figures.labels import file_name


def candidate_bars(
    tokens: Sequence[Sequence[str]],
    log_probs: Sequence[Sequence[float]],
    *,
    chosen: Sequence[int],
    reads: Sequence[str],
    vocabulary: int,
    title: str,
    caption: str = "",
) -> HtmlFigure:
    """Bars of each step's candidates, best first, and one for all other tokens; the written one is marked.

    tokens, log_probs: [steps][candidates], which no step has twice; natural logarithms over the whole vocabulary, not
    renormalised. chosen: the candidate that each step wrote. reads: what its row reads. vocabulary: how many tokens
    there are. Raises ValueError for what does not fit together.
    """
    declared.same_count(steps=len(tokens), **{"log-probabilities": len(log_probs)}, chosen=len(chosen))
    ids = {token: place for place, token in enumerate(dict.fromkeys(token for step in tokens for token in step))}
    steps = []
    for place, (words, values, written) in enumerate(zip(tokens, log_probs, chosen, strict=True)):
        with declared.prefixed(f"step {place}: "):
            declared.same_count(tokens=len(words), **{"log-probabilities": len(values)})
            declared.place("candidate", written, len(words))
        candidates = [CandidateData(word, ids[word], value) for word, value in zip(words, values, strict=True)]
        steps.append(StepData(candidates[written], candidates))
    sent = WrittenSteps(steps, Texts(reads), vocabulary)
    data = scrubber_payload(sent, caption=caption or title, name=file_name(title))
    return HtmlFigure("scrubber", data, title, {"t": 0})
