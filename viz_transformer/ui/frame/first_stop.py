"""The first stop of the tour: what the model reads at one position, in words; said on *Input*, and on *Run* where the
tour begins by itself."""

from __future__ import annotations

from viz_transformer.analysis.inputs.embeddings import InputSum, embedding_table, input_sum
from viz_transformer.model.instrument import NotTold
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.numerals import significant
from viz_transformer.sentences import capitalised, listed
from viz_transformer.ui.frame.questions import cited
from viz_transformer.ui.session.runs import Shown


def words(shown: Shown, side: SideName, position: int) -> tuple[str, ...]:
    """The token and its id, and how the vector is made that the first layer reads."""
    read = SIDES[side].of(shown.trace.src, shown.trace.tgt)
    codec, size = shown.ckpt.codecs.get(side), SIDES[side].vocab_size(shown.trace.anatomy)
    token, typed, token_id = read.tokens[position], read.originals[position], read.ids[position]
    of = "" if size is None else f" of {size:,}"
    which = f"token {token_id:,}{of} in the vocabulary (counted from 0)"
    first = f"{cited(token)} is {which}."
    if codec is not None and token_id == codec.unknown and typed != token:
        first = f"{cited(typed)} is not in the vocabulary, so the model reads {cited(token)}: {which}."
    try:
        made = input_sum(shown.trace, embedding_table(shown.ckpt, side), side, position)
    except NotTold:
        return first, f"It becomes a vector of {shown.trace.anatomy.d_model:,} numbers."
    return first, f"The model {listed(_acts(made, position))}.", *_without_position(shown, side, made)


def _acts(made: InputSum, position: int) -> list[str]:
    """What is done with the token's vector, in its order."""
    acts = [f"looks up its vector of {made.embedding.shape[1]:,} numbers"]
    if made.scale != 1:
        acts.append(f"multiplies it by {significant(made.scale, 5)}")
    if made.mapped is not None:
        acts.append(f"maps it to {made.out.shape[1]:,} numbers")
    if made.segment is not None:
        acts.append("adds one for the text it belongs to")
    if made.position is not None:
        acts.append(f"adds one for its position, {position}")
    if made.before_norm is not None:
        acts.append("normalises the sum")
    if made.normed is not None:
        acts.append(f"maps it to {made.out.shape[1]:,} numbers")
    return acts


def _without_position(shown: Shown, side: SideName, made: InputSum) -> tuple[str, ...]:
    """Where its position comes in, of a model that adds none to the embedding."""
    if made.position is not None:
        return ()
    anatomy = shown.trace.anatomy
    if anatomy.config is None:
        missing = anatomy.missing.get(f"{SIDES[side].stack}.embed.position", "")
        return (f"{capitalised(missing)}.",) if missing else ()
    acts = anatomy.config.encoding.acts
    return (f"Its position comes in later: self-attention {acts}.",) if acts else ("Nothing tells its position.",)
