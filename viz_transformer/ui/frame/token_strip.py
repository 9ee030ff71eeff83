"""A run as two rows of chips: what was read, and what was written with which probability."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.decoding.difference import aligned_difference
from viz_transformer.analysis.inputs.round_trip import round_trip
from viz_transformer.analysis.models.untrained import UntrainedSummary
from viz_transformer.analysis.positions.table import trained_rows
from viz_transformer.analysis.run.filling import filling, fills_masks, masked_positions
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.figures import labels
from viz_transformer.figures.components.chips import Chip, ChipRow, Editing, RowMark
from viz_transformer.model.kinds import SOURCE, TARGET
from viz_transformer.running.decoding import Run
from viz_transformer.running.labels import holding
from viz_transformer.running.step import Step
from viz_transformer.text.codec import TextCodec
from viz_transformer.text.notation import CARD_KEY
from viz_transformer.ui.frame import text, words
from viz_transformer.ui.session import cached, state
from viz_transformer.ui.session.pairs import pairs
from viz_transformer.ui.session.runs import RunView


def chip_data(
    ckpt: Checkpoint, run: Run, text: str | None = None, target: str | None = None, mark: RowMark | None = None
) -> list[dict[str, Any]]:
    """The rows of chips as the browser gets them: what was read, of two texts a row each, and what was written, with
    what is known of it.

    With a text, the first can be written anew, with a target the second: these are in its box, and are not the run's
    own where it replaces one that cannot be made.
    Of a model that writes nothing the second row is what it would put in the place of masks, if there are any, or the
    labels that it gives.
    """
    encoder = ckpt.spec.has_encoder
    source, answer = ckpt.codecs.get("source"), ckpt.codecs.get("target")
    chips = read_chips(ckpt, run)
    second = None if source is None else source.second(run.trace.src_ids)
    rows = [
        ChipRow(
            label=words.READS if second is None else words.READS_FIRST,
            chips=chips[:second],
            side=SOURCE.name if encoder else TARGET.name,
            field="i" if encoder else "t",
            letters=_letters(source if encoder else answer),
            edit=None if text is None else Editing(field="text", text=text, said=words.EDIT_TEXT),
        ),
    ]
    if second is not None:
        rows.append(
            ChipRow(
                label=words.READS_SECOND, chips=chips[second:], side=SOURCE.name, at=second, field="i", first=second
            )
        )
    if ckpt.spec.writes:
        rows.append(
            ChipRow(
                label=writing(run),
                chips=written_chips(ckpt, run),
                side=TARGET.name,
                at=step_row(run, 0) + 1,
                field="t",
                first=step_row(run, 0),
                letters=_letters(answer),
                edit=None if target is None else Editing(field="target", text=target, said=words.EDIT_ANSWER),
                mark=mark,
            )
        )
    elif answers := label_chips(ckpt, run):
        field: Literal["i"] | None = None if answers[0].position is None else "i"
        rows.append(ChipRow(label=words.ANSWERS, chips=answers, side=TARGET.name, field=field, mark=mark))
    elif fills := filled_chips(ckpt, run):
        rows.append(ChipRow(label=words.FILLS_IN, chips=fills, side=TARGET.name, mark=mark))
    return [row.data() for row in rows]


def recorded_data(run: Run) -> list[dict[str, Any]]:
    """The texts of a recording: nothing was written, and no other can be read."""
    sides = [(side, side.of(run.trace.src, run.trace.tgt)) for side in (SOURCE, TARGET)]
    rows = [
        ChipRow(
            label=f"{side.name}" if len(run.trace.src) and len(run.trace.tgt) else words.READS,
            chips=[
                Chip(token=token, original=token, side=side.name, position=position)
                for position, token in enumerate(tokens.tokens)
            ],
            side=side.name,
            field=side.field,
        )
        for side, tokens in sides
        if len(tokens)
    ]
    return [row.data() for row in rows]


def compared_data(
    a: tuple[Checkpoint, Run],
    b: tuple[Checkpoint, Run],
    text: str,
    *,
    by_step: bool = False,
    known: tuple[RowMark | None, RowMark | None] = (None, None),
) -> list[dict[str, Any]]:
    """The answers of two runs under each other, with the tokens marked that differ; A's text can be written anew. Of a
    model that writes nothing, what it reads.

    by_step: of B the token of the same step is the chosen one, where A's row has another step in B. known: what is
    known of either answer.
    """
    written = [(written_chips if each[0].spec.writes else read_chips)(*each) for each in (a, b)]
    tokens = [[chip.token for chip in chips] for chips in written]
    different: tuple[list[bool], list[bool]] = ([], [])
    for piece in aligned_difference(*tokens):
        different[0].extend([not piece.same] * len(piece.wanted))
        different[1].extend([not piece.same] * len(piece.written))
    rows = []
    for name, (ckpt, run), chips, marks, mark in zip("AB", (a, b), written, different, known, strict=True):
        writes = ckpt.spec.writes
        side = TARGET if writes or not ckpt.spec.has_encoder else SOURCE
        rows.append(
            ChipRow(
                label=words.row_of(name, writing(run) if writes else words.READS),
                chips=[replace(chip, differs=differs) for chip, differs in zip(chips, marks, strict=True)],
                side=side.name,
                at=step_row(run, 0) + 1 if writes else 0,
                field=side.field,
                first=step_row(a[1] if by_step else run, 0) if writes else 0,
                letters=_letters(ckpt.codecs.get(side.name)),
                edit=Editing(field="text", text=text, said=words.EDIT_TEXT_OF_A) if name == "A" else None,
                apart=name == "B",
                mark=mark if writes else None,
            )
        )
    return [row.data() for row in rows]


def _letters(codec: TextCodec | None) -> bool:
    return codec is not None and codec.splits_characters


def writing(run: Run) -> str:
    """The word for what the model does with its target."""
    return words.GIVEN if run.steps and all(step.forced for step in run.steps) else words.WRITES


def answer_text(ckpt: Checkpoint, run: Run) -> tuple[str, str]:
    """The beginning that a decoder alone was given ("" for other models), and what was written after it."""
    if run.trace.spec.has_encoder:
        return "", run.text
    codec = ckpt.codec("target")
    begin = run.trace.tgt.ids[: step_row(run, 0) + 1]
    lead, whole = codec.decode(begin), codec.decode([*begin, *(step.token_id for step in run.steps)])
    return lead, whole.removeprefix(lead) if whole.startswith(lead) else run.text


def read_chips(ckpt: Checkpoint, run: Run) -> list[Chip]:
    """What was given, as the model reads it: the source, or the beginning of the text for a decoder alone.

    Unknown text keeps what was typed, and so does what is masked. Padding, for a model that reads it, is one chip.
    """
    trace = run.trace
    encoder = trace.spec.has_encoder
    side = SOURCE if encoder else TARGET
    codec, read = ckpt.codec(side.name), side.of(trace.src, trace.tgt)
    padding = sum(typed == "" for typed in read.originals) if encoder else 0
    given = len(read) - padding if encoder or not ckpt.spec.writes else step_row(run, 0) + 1
    chips = [
        Chip(
            token=token,
            original=original,
            side=side.name,
            position=position,
            special=token_id in codec.special_ids and token_id not in (codec.unknown, codec.mask),
            unknown=token_id == codec.unknown,
            masked=token_id == codec.mask,
        )
        for position, (token_id, token, original) in enumerate(
            zip(read.ids[:given], read.tokens[:given], read.originals[:given], strict=True)
        )
    ]
    if padding:
        together = words.padding(read.tokens[-1], padding)
        chips.append(Chip(token=together, original=together, side="source", position=given, special=True))
    return chips


def written_chips(ckpt: Checkpoint, run: Run) -> list[Chip]:
    """The tokens that the model wrote or was given, the end token included; unknown ones with what was given."""
    codec = ckpt.codec("target")

    def replaced(step: Step) -> bool:
        return step.forced and step.token_id == codec.unknown

    read = run.trace.tgt.originals[step_row(run, 0) + 1 :]  # all but the last are read by the next row
    return [
        Chip(
            token=step.token,
            original=read[step.index] if step.forced and step.index < len(read) else step.token,
            side="target",
            position=step.index,
            special=step.token_id in codec.special_ids and not replaced(step),
            unknown=replaced(step),
            probability=numerals.exponential(step.log_prob),
        )
        for step in run.steps
    ]


def filled_chips(ckpt: Checkpoint, run: Run) -> list[Chip]:
    """The most probable token for each mask in the text; none of a model that fills in nothing."""
    if not fills_masks(ckpt.spec):
        return []
    codec = ckpt.codec("source")
    chips = []
    for position in masked_positions(run.trace, codec.mask):
        best = filling(run.trace, position, codec.names, count=1).candidates[0]
        chips.append(
            Chip(
                token=best.token,
                original=best.token,
                side=SOURCE.name,
                position=position,
                special=best.token_id in codec.special_ids,
                probability=numerals.exponential(best.log_prob),
            )
        )
    return chips


def label_chips(ckpt: Checkpoint, run: Run) -> list[Chip]:
    """The label that is given to the text, all that hold where each does by itself, or the best label of each token;
    none of a model that gives no labels."""
    special = ckpt.codec("source").special_ids - {ckpt.codec("source").unknown} if run.labels else frozenset()
    src, scoring = run.trace.src, run.trace.spec.scoring
    chips = []
    for found in run.labels:
        place = found.position
        for label in holding(found, scoring):
            name = label.name if label.log_prob is not None else f"{label.name} {labels.number(label.logit, 4)}"
            chips.append(
                Chip(
                    token=name,
                    original=name,
                    side=SOURCE.name,
                    position=place,
                    special=place is not None and src.ids[place] in special,
                    probability=label.probability,
                    of="" if place is None else src.originals[place],
                )
            )
    return chips


def round_trip_sentence(ckpt: Checkpoint, text: str) -> str | None:
    """A sentence on what the tokens decode to; None where it is the text itself, except for unknown tokens."""
    try:
        found = round_trip(ckpt.codec("source" if ckpt.spec.has_encoder else "target"), text)
    except ValueError:  # a run of another text replaces it, with a sentence
        return None
    if found is None:
        return None
    what = words.without(found.lost) if found.lost else words.NOT_AS_TYPED
    return words.reads_another_text(labels.isolate(labels.sentence(found.excerpt)), what)


def length_sentence(ckpt: Checkpoint, run: Run) -> str | None:
    """The remark that the source is longer than nine tenths of the longest of training, if the card tells.

    None for a model whose card states a notation: that has its own sentence on what is too long.
    """
    longest = trained_rows(ckpt.card, "encoder")
    if not longest or not run.trace.spec.has_encoder or CARD_KEY in ckpt.card:
        return None
    read = sum(typed != "" for typed in run.trace.src.originals)  # "" is padding
    if 10 * read <= 9 * longest:
        return None
    return words.nearly_too_long(read, longest)


# ---- by the pin


def what_b_is(a: RunView, b: RunView) -> str:
    """The model, the text and the way of writing of B as far as A has others; all of B if none differ."""
    same_words = (a.text, a.target) == (b.text, b.target)
    parts = [
        (words.UNTRAINED if isinstance(b.summary, UntrainedSummary) else b.called) * (a.summary.name != b.summary.name),
        b.written_words * (same_words and a.how != b.how),
        "" if same_words else b.words(),
    ]
    return ", ".join(filter(None, parts)) or b.words()


def offer(shown: RunView) -> None:
    """The pairs of this run as buttons, in what opens when it is asked for; or why there is none."""
    opened = st.popover(words.COMPARE, key="pairs", on_change="rerun", type="tertiary")
    if not opened.open:
        return
    with opened:
        text.paragraph(words.COMPARE_WITH)
        for pair in pairs(shown, cached.summaries()):
            if pair.fields is None:
                text.paragraph(words.no_pair(pair.label, pair.why))
            else:
                st.button(
                    text.literal(pair.label),
                    key=f"pair_{pair.key}",
                    on_click=state.select,
                    kwargs=dict(pair.fields),
                    width="stretch",
                )
