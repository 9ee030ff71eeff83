"""What Input asks of a run: what does the model read at this position?"""

from __future__ import annotations

from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.input import words
from viz_transformer.ui.session.runs import RunView


def question(shown: RunView, side: SideName, position: int) -> Question | None:
    """The token of this position, its id, and how many numbers it becomes."""
    read = SIDES[side].of(shown.trace.src, shown.trace.tgt)
    if not 0 <= position < len(read):
        return None
    codec, size = shown.ckpt.codecs.get(side), SIDES[side].vocab_size(shown.trace.spec)
    token, typed, token_id = read.tokens[position], read.originals[position], read.ids[position]
    what = cite(token)
    if codec is not None and token_id == codec.unknown and typed != token:
        what = words.in_place_of(what, cite(typed))
    answer = words.becomes(what, token_id, size, shown.trace.spec.d_model)
    return Question(words.asks(SIDES[side].stack, position), answer)
