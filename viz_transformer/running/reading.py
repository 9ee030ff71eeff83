"""Runs of models that do not generate: one text is read, optionally with masked tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.given import POSITIONS, TEXT, TEXT_OR_IDS, optional, takes
from viz_transformer.running.decoding import Run
from viz_transformer.running.edits import EDITS, Edit
from viz_transformer.running.trace import Tokens
from viz_transformer.running.tracing import CHECKPOINT, TextOrIds, encode_source, record, trace
from viz_transformer.text.codec import TextCodec, join_pair


@takes(ckpt=CHECKPOINT, source=TEXT_OR_IDS, pair=optional(TEXT), masked=POSITIONS, edits=EDITS)
def read(
    ckpt: Checkpoint,
    source: TextOrIds,
    *,
    pair: str | None = None,
    masked: Sequence[int] = (),
    edits: Sequence[Edit] = (),
) -> Run:
    """Run a model that does not generate on `source`: no steps, recorded in one pass.

    pair: second text, for a model that reads pairs; in one string, a tab separates the two.
    masked: positions where the model reads its mask token. `trace.src_originals` keeps the text there, `info["masked"]`
    the ids by position.
    Raises ValueError for unreadable input, and for a masked position that is out of range or holds a special token.
    """
    if pair is not None:
        source = _both(ckpt, source, pair)
    if not ckpt.spec.has_encoder:
        if masked:
            raise ValueError(_NO_MASK)
        return Run("", (), trace(ckpt, source, edits=edits), "end token")
    if ckpt.spec.has_decoder:
        raise ValueError("an encoder-decoder reads two texts: use decode(), or trace() with a target")
    whole = encode_source(ckpt, source)
    hidden = sorted(set(masked))
    src = _hidden(ckpt.codec("source"), whole, hidden) if hidden else whole
    info = {"kind": "read", "masked": [[place, whole.ids[place]] for place in hidden]}
    return Run("", (), record(ckpt, src, Tokens(), (), edits=edits, info=info), "end token")


def _both(ckpt: Checkpoint, source: TextOrIds, pair: str) -> str:
    if not ckpt.spec.reads_pairs:
        raise ValueError("this model reads one text: leave the second out")
    if not isinstance(source, str):
        raise ValueError("ids are read as they are: append those of the second text to the first")
    for name, text in (("first", source), ("second", pair)):
        if not text.strip():
            raise ValueError(f"the {name} text is empty: type at least one character")
    return join_pair(source, pair)


_NO_MASK = "this model has no mask token, so none of its tokens can be masked"


def _hidden(codec: TextCodec, read: Tokens, places: Sequence[int]) -> Tokens:
    """The tokens with the mask token at these positions."""
    if codec.mask is None:
        raise ValueError(_NO_MASK)
    for place in places:
        if not 0 <= place < len(read):
            raise ValueError(f"position {place} cannot be masked: the text has positions 0 to {len(read) - 1}")
        if read.ids[place] in codec.special_ids - {codec.unknown}:
            raise ValueError(f"position {place} cannot be masked: it is a special token, {read.tokens[place]}")
    ids, tokens = list(read.ids), list(read.tokens)
    originals = [typed or token for typed, token in zip(read.originals, read.tokens, strict=True)]
    for place in places:
        ids[place], tokens[place] = codec.mask, codec.names[codec.mask]
    return replace(read, ids=tuple(ids), tokens=tuple(tokens), originals=tuple(originals))
