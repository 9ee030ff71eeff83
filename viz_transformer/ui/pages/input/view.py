"""Shared by the parts of the Input page: the model, and the chosen side."""

from __future__ import annotations

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.running.trace import Tokens
from viz_transformer.ui.frame import controls, frame, text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.input import words
from viz_transformer.ui.pages.input.fields import FIELDS
from viz_transformer.ui.session import cached, data_files, state
from viz_transformer.ui.session.runs import RunView

PROJECTED = 1.6
"""The factor of a chart's size on a projector."""


def model(both: Runs | None) -> Checkpoint | None:
    """The run's model; without a run the selected one, whose vocabulary and data can still be shown."""
    if both is not None:
        return both.main.ckpt
    summary = frame.select_summary()
    if isinstance(summary, str):
        return None
    try:
        return cached.checkpoint(summary)
    except ValueError:
        return None  # the status says why


def is_missing(ckpt: Checkpoint, part: str, error: ValueError) -> bool:
    """Whether a part of the data cannot be read because its files are missing, rather than wrong."""
    return data_files.missing_data(ckpt, part, error, "") != f"{error}."


def side_choice(ckpt: Checkpoint) -> SideName | None:
    """The chosen side, with a control if there are two; None for a model without text."""
    sides = [*ckpt.codecs]
    if not sides:
        text.paragraph(words.no_vocabulary(ckpt.name))
        return None
    chosen: SideName = FIELDS.now().input_side
    side = chosen if chosen in sides else sides[0]
    names = {side: SIDES[side].label for side in sides}
    controls.buttons(words.SIDE, names, "input_side", key="input_side", hidden=True, value=side)
    return side


def tokens_of(shown: RunView, side: SideName) -> Tokens:
    """The tokens that the encoder or the decoder reads in this run."""
    return SIDES[side].of(shown.trace.src, shown.trace.tgt)


def describe_selection(side: SideName) -> str:
    """The selection in a projector's caption."""
    return words.at_position(side, state.selection()[SIDES[side].field])


def selected_id(both: Runs | None, side: SideName) -> int | None:
    """The id of the token at the selected position; None without a run."""
    if both is None:
        return None
    ids = tokens_of(both.main, side).ids
    return ids[state.selection()[SIDES[side].field]] if ids else None


def question(shown: RunView, side: SideName, position: int) -> Question | None:
    """The question on the token of this position, with its id and the size of its vector."""
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
