"""What Positions asks of a run: how does the model know where this token stands?"""

from __future__ import annotations

import torch

from viz_transformer.model.kinds import SIDE_OF, StackName
from viz_transformer.numerals import significant
from viz_transformer.running.trace import Trace
from viz_transformer.sentences import capitalised
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.positions import words


def question(trace: Trace, stack: StackName, position: int) -> Question | None:
    """The vector that was added at this position, or what self-attention does with positions.

    Raises Unavailable for a model that does not state its positions.
    """
    read = SIDE_OF[stack].of(trace.src_tokens, trace.tgt_tokens)
    if not 0 <= position < len(read):
        return None
    asks = words.asks(stack, cite(read[position]), position)
    if f"{stack}.embed.position" in trace:
        added, token = (_length(trace, f"{stack}.embed.{part}", position) for part in ("position", "token"))
        return Question(asks, words.lengths(significant(added), significant(token)))
    if trace.spec.config is None:
        acts = trace.spec.missing.get(f"{stack}.embed.position", "").rpartition("; ")[2]
        return Question(asks, f"{capitalised(acts)}.") if acts else None
    if trace.config.encoding.in_attention:
        return Question(asks, words.in_attention(trace.config.encoding.acts))
    return Question(asks, words.ONLY_THE_MASK if stack == "decoder" else words.NOTHING)


def _length(trace: Trace, point: str, position: int) -> float:
    return float(torch.linalg.vector_norm(trace[point][0, position].double()))
