"""What Positions asks of a run: how does the model know where this token stands?"""

from __future__ import annotations

import torch

from viz_transformer.model.kinds import SIDE_OF, StackName
from viz_transformer.numerals import significant
from viz_transformer.running.record import Trace
from viz_transformer.sentences import capitalised
from viz_transformer.ui.frame.questions import Question, cited


def question(trace: Trace, stack: StackName, position: int) -> Question | None:
    """The vector that was added at this position, or what self-attention does with positions.

    Raises NotTold for a model that does not state its positions.
    """
    read = SIDE_OF[stack].of(trace.src_tokens, trace.tgt_tokens)
    if not 0 <= position < len(read):
        return None
    asks = f"What tells the {stack} that {cited(read[position])} is at position {position}?"
    if f"{stack}.embed.position" in trace:
        added, token = (_length(trace, f"{stack}.embed.{part}", position) for part in ("position", "token"))
        return Question(
            asks,
            f"A position vector of length {significant(added)}, added to an embedding of length {significant(token)}.",
        )
    if trace.anatomy.config is None:
        acts = trace.anatomy.missing.get(f"{stack}.embed.position", "").rpartition("; ")[2]
        return Question(asks, f"{capitalised(acts)}.") if acts else None
    if trace.config.encoding.in_attention:
        return Question(asks, f"Nothing is added to it: each self-attention {trace.config.encoding.acts}.")
    if stack == "decoder":
        return Question(asks, "Only what it may read: a row sees nothing that comes after it.")
    return Question(asks, "Nothing: no part of this encoder tells one order from another.")


def _length(trace: Trace, point: str, position: int) -> float:
    return float(torch.linalg.vector_norm(trace[point][0, position].double()))
