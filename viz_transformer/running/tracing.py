"""Teacher-forced runs: the target is given, and everything up to the logits is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from viz_transformer import declared
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.grading import standing_of
from viz_transformer.given import TEXT_OR_IDS, instance, optional, takes
from viz_transformer.model import hooked_model
from viz_transformer.model.causality import is_causal
from viz_transformer.model.hook import Recorder, Thin
from viz_transformer.model.hooked_model import ModelSpec
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.running.edits import EDITS, Edit, check_edits
from viz_transformer.running.lazy_activations import LazyActivations, only
from viz_transformer.running.search import reads_ahead_because
from viz_transformer.running.trace import Tokens, Trace, output_maps, trace_values
from viz_transformer.text.codec import TextCodec
from viz_transformer.text.shortening import TooLong

TextOrIds = str | Sequence[int]
CHECKPOINT = instance("a checkpoint: open one with vt.load", Checkpoint)


@takes(ckpt=CHECKPOINT, source=TEXT_OR_IDS, target=optional(TEXT_OR_IDS), edits=EDITS)
def trace(ckpt: Checkpoint, source: TextOrIds, target: TextOrIds | None = None, *, edits: Sequence[Edit] = ()) -> Trace:
    """Record everything that happens when the model reads `source` and is given `target` (teacher forcing).

    Text gets the checkpoint's start and end tokens; the decoder reads all but the end token. Ids are used exactly as
    given; as target they are the decoder's input. A model with one stack takes `source` alone. A model with `pad_to`
    also reads padding, which becomes part of the trace. With a `non_causal_reason`, each row has also seen later
    tokens, unlike in generation; decode() with the same target has such steps.
    Raises ValueError for empty or too long input, a missing or superfluous target, and an edit that fits nothing.
    """
    spec = ckpt.spec
    if spec.kind == "encoder-decoder" and target is None:
        raise ValueError("an encoder-decoder needs a target: give one, or let the model write it with decode()")
    if spec.kind != "encoder-decoder" and target is not None:
        raise ValueError(f"a model of kind {spec.kind} reads one text: leave the target out")
    src, tgt = Tokens(), Tokens()
    next_ids: tuple[int | None, ...] = ()
    if spec.has_encoder:
        src = encode_source(ckpt, source)
    if spec.has_decoder:
        given = target if target is not None else source
        tgt, next_ids = decoder_input(ckpt, given)
        tgt, next_ids = pad_tokens(ckpt, tgt, "target"), padded_next_ids(spec, next_ids)
    return record(ckpt, src, tgt, next_ids, edits=edits, info={"kind": "teacher-forced"})


def encode_source(ckpt: Checkpoint, source: TextOrIds) -> Tokens:
    """What the encoder reads, including padding if the model pads.

    Raises ValueError if it is empty, too long or outside the vocabulary.
    """
    tokens = _encode(ckpt.codec("source"), source, "source")
    check_length(len(tokens), ckpt.spec.max_source, "source")
    return pad_tokens(ckpt, tokens, "source")


def pad_tokens(ckpt: Checkpoint, tokens: Tokens, side: SideName) -> Tokens:
    """The tokens, padded to `pad_to` if the model has it."""
    missing = (ckpt.spec.pad_to or 0) - len(tokens)
    if missing <= 0:
        return tokens
    pad = SIDES[side].pad(ckpt.spec)
    assert pad is not None  # guaranteed by the config
    name = ckpt.codec(side).names[pad]
    return tokens + Tokens((pad,) * missing, (name,) * missing, ("",) * missing)


def padded_next_ids(spec: ModelSpec, next_ids: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Append None for each row of padding, which predicts nothing."""
    return next_ids + (None,) * ((spec.pad_to or 0) - len(next_ids))


def decoder_input(ckpt: Checkpoint, given: TextOrIds) -> tuple[Tokens, tuple[int | None, ...]]:
    """What the decoder reads, and what each row should write next (None if unknown).

    Text: the end token is written but not read. Ids: as given.
    """
    codec = ckpt.codec("target")
    what = "target" if ckpt.spec.has_encoder else "source"
    tokens = _encode(codec, given, what)
    ends = isinstance(given, str) and codec.adds_end
    next_ids: tuple[int | None, ...] = tokens.ids[1:] if ends else (*tokens.ids[1:], None)
    read = tokens.without_last() if ends else tokens
    check_length(len(read), ckpt.spec.max_target, what)
    return read, next_ids


def check_length(length: int, most: int, what: str) -> None:
    """Raise TooLong, a ValueError, if the model cannot read that many tokens."""
    if length > most:
        raise TooLong(what, length, most)


def record(
    ckpt: Checkpoint,
    src: Tokens,
    tgt: Tokens,
    next_ids: tuple[int | None, ...],
    *,
    edits: Sequence[Edit] = (),
    info: dict[str, Any],
) -> Trace:
    """The trace of one pass over these tokens. Raises ValueError for an edit that fits nothing or never ran."""
    edits = tuple(edits)
    check_edits(edits, ckpt.spec)

    def recorded(thin: Thin | None) -> Recorder:
        recorder = Recorder(edits, thin=thin)
        with torch.no_grad():
            ckpt.hooked_model.whole(*([side.ids] if len(side) else None for side in (src, tgt)), hook=recorder)
        return recorder

    kept = None
    may_be_large = ckpt.spec.most_bytes > hooked_model.WHOLE_BYTES
    if may_be_large and ckpt.spec.whole_bytes(source=len(src), target=len(tgt)) > hooked_model.WHOLE_BYTES:
        kept = ckpt.spec.kept(source=len(src), target=len(tgt))
    recorder = recorded(None if kept is None else only(kept))
    check_edits_ran(edits, recorder.ran)
    values: Mapping[str, Tensor] = trace_values(recorder.values)
    if kept is not None:
        again = partial(_again, recorded)
        values = LazyActivations(kept, values, recorder.said, again, ckpt.spec, source=len(src), target=len(tgt))
    return make_trace(ckpt, values, src, tgt, next_ids, edits=edits, info=info)


def _again(recorded: Callable[[Thin], Recorder], names: frozenset[str]) -> dict[str, Tensor]:
    return trace_values(recorded(only(names)).values)


def check_edits_ran(edits: Sequence[Edit], ran: set[int]) -> None:
    """Raise ValueError for an edit that changed nothing: it names a position that the run lacks."""
    for index, edit in enumerate(edits):
        if index not in ran:
            raise ValueError(f"the edit '{edit.caption()}' never ran: this run has no such position at {edit.point!r}")


def make_trace(
    ckpt: Checkpoint,
    values: Mapping[str, Tensor],
    src: Tokens,
    tgt: Tokens,
    next_ids: tuple[int | None, ...],
    *,
    edits: Sequence[Edit],
    info: dict[str, Any],
) -> Trace:
    """The frozen record of values already converted by `trace_value`."""
    codec = ckpt.target_codec
    names = codec.names if codec is not None else ()
    if (standing := standing_of(ckpt.card)) is not None:
        info = {**info, "standing": standing.to_dict()}
    if ckpt.spec.has_decoder:
        info = {**info, "causal": is_causal(ckpt.hooked_model)}
        if because := reads_ahead_because(ckpt.hooked_model, tgt.ids, edits, src.ids):
            info["reads_ahead"] = because  # why rows depend on later tokens
    return Trace(
        values=values,
        spec=ckpt.spec,
        checkpoint=ckpt.name,
        weights_sha256=ckpt.weights_sha256,
        src=src,
        tgt=tgt,
        next_ids=next_ids,
        next_tokens=tuple(None if i is None else names[i] for i in next_ids),
        edits=tuple(edits),
        info=info,
        output_maps=output_maps(ckpt.hooked_model),
        scalars=ckpt.hooked_model.scalars(),
    )


def _encode(codec: TextCodec, given: TextOrIds, what: str) -> Tokens:
    with declared.prefixed("" if what == "source" else f"{what}: "):
        encoded = codec.encode(given) if isinstance(given, str) else codec.encode_ids(given)
    return Tokens(encoded.ids, encoded.tokens, encoded.originals)
