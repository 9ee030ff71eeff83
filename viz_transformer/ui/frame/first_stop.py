"""The first stop of the tour: what the model reads at one position, in words; said on *Input*, and on *Run* where the
tour begins by itself."""

from __future__ import annotations

from viz_transformer.analysis.inputs.embeddings import InputSum, embedding_table, input_sum
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.numerals import significant
from viz_transformer.ui.frame import words
from viz_transformer.ui.frame.questions import cite
from viz_transformer.ui.session.runs import RunView


def sentences(shown: RunView, side: SideName, position: int) -> tuple[str, ...]:
    """The token and its id, and how the vector is made that the first layer reads."""
    read = SIDES[side].of(shown.trace.src, shown.trace.tgt)
    codec, size = shown.ckpt.codecs.get(side), SIDES[side].vocab_size(shown.trace.spec)
    token, typed, token_id = read.tokens[position], read.originals[position], read.ids[position]
    which = words.in_vocabulary(token_id, size)
    first = words.is_token(cite(token), which)
    if codec is not None and token_id == codec.unknown and typed != token:
        first = words.not_in_vocabulary(cite(typed), cite(token), which)
    try:
        made = input_sum(shown.trace, embedding_table(shown.ckpt, side), side, position)
    except Unavailable:
        return first, words.becomes(shown.trace.spec.d_model)
    return first, words.acts(_acts(made, position)), *_without_position(shown, side, made)


def _acts(made: InputSum, position: int) -> list[str]:
    """What is done with the token's vector, in its order."""
    acts = [words.looks_up(made.embedding.shape[1])]
    if made.scale != 1:
        acts.append(words.multiplies(significant(made.scale, 5)))
    if made.mapped is not None:
        acts.append(words.maps(made.out.shape[1]))
    if made.segment is not None:
        acts.append(words.ADDS_SEGMENT)
    if made.position is not None:
        acts.append(words.adds_position(position))
    if made.before_norm is not None:
        acts.append(words.NORMALISES)
    if made.normed is not None:
        acts.append(words.maps(made.out.shape[1]))
    return acts


def _without_position(shown: RunView, side: SideName, made: InputSum) -> tuple[str, ...]:
    """Where its position comes in, of a model that adds none to the embedding."""
    if made.position is not None:
        return ()
    spec = shown.trace.spec
    if spec.config is None:
        missing = spec.missing.get(f"{SIDES[side].stack}.embed.position", "")
        return (words.sentence(missing),) if missing else ()
    acts = spec.config.encoding.acts
    return (words.position_later(acts),) if acts else (words.NO_POSITION,)
