"""Whose masks the Masks page shows, and the runs that they are from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import streamlit as st

from viz_transformer import declared
from viz_transformer.analysis.attention.axes import Axes, Texts
from viz_transformer.analysis.attention.maps import attention_kinds
from viz_transformer.analysis.masks.mask_rules import recorded_edits, recorded_parts
from viz_transformer.analysis.masks.parts import (
    Change,
    MaskParts,
    batch_lengths,
    can_pad,
    change_of,
    mask_parts,
    parts_of,
    replace_masks,
    run_in_batch,
)
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.figures import labels
from viz_transformer.figures.components.masks import MaskGrids
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.running.decoding import Run
from viz_transformer.running.edits import SetMask
from viz_transformer.running.trace import Trace
from viz_transformer.ui.frame import frame, maps, opening
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.masks import words
from viz_transformer.ui.pages.masks.fields import FIELDS
from viz_transformer.ui.session import cached, examples, state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

LARGEST_SIZE = 64
OTHER_TEXTS, MAX_OTHERS = 2, 5
"""How many examples are in the batch with the text if nobody typed any, and how many lines are read."""


@dataclass(frozen=True, eq=False)
class Compared:
    """One text with the model's own masks and with the chosen ones. `ckpt` is the model with the chosen fill and rule.

    key: names the second run. own: nothing was changed. elsewhere: the text is not the page's run, or has padding that
    the run has not, so that its positions are no positions of the selection.
    """

    before: RunView
    after: RunView
    ckpt: Checkpoint
    key: tuple[Any, ...]
    own: bool
    elsewhere: bool


@dataclass(frozen=True, eq=False)
class Looked:
    """The shown masks of one kind with their tokens, and the runs that they are from, if any."""

    kind: KindName
    parts: MaskParts
    axes: Axes
    fill: str
    rule: str
    name: str
    caption: str
    compared: Compared | None
    chosen: Chosen
    texts: tuple[str, ...] = ()
    """Those of the batch."""

    @property
    def grids(self) -> MaskGrids:
        """The masks with the changed cells, as they are drawn."""
        return MaskGrids(self.kind, self.parts.padding, self.parts.causal, self.axes, self.chosen["mask_cells"])

    @property
    def query(self) -> int:
        """The chosen row."""
        return self.cell[0]

    @property
    def cell(self) -> tuple[int, int]:
        """The chosen row and column."""
        row, column = (min(int(self.chosen[axis.field]), len(axis) - 1) for axis in self.axes)
        return row, column

    def token(self, row: int) -> str:
        """The row's position and, of a text, its token, in words."""
        if self.compared is None:
            return words.query(row)
        return words.query_reads(row, labels.isolate(str(self.axes[0].reads.at((row,)).data()[0]["text"])))


def kind_of(shown: RunView, chosen: Chosen) -> KindName:
    """The kind of attention of this page, which is its own: other pages keep theirs."""
    kinds: tuple[KindName, ...] = attention_kinds(shown.trace)
    kind: KindName | None = chosen["mask_kind"]
    return kind if kind in kinds else kinds[0]


def start_kind(shown: RunView) -> KindName:
    """The same, which is in the address from now on; one that the model does not have is said.

    A link that a session begins with, from before the page had its own, names it as `kind`. Without one, and from any
    other page, it is the decoder's self-attention, whose mask shows what causality closes.
    """
    asked = FIELDS.now().mask_kind
    if asked is None:
        begins = opening.SHOWN not in st.session_state and "kind" in st.query_params
        state.clamp(mask_kind=state.SHARED.now().kind if begins else "decoder")
    kind = kind_of(shown, state.selection())
    if asked not in (None, kind, "decoder"):
        state.remark(words.no_such_kind(asked, shown.summary.name, kind))
    state.clamp_index("layer", KINDS[kind].layers(shown.trace.spec), shown.summary.name)
    return kind


def load_masks(shown: RunView, chosen: Chosen) -> Looked:
    """The masks that are chosen. Raises ValueError with one sentence."""
    kind = kind_of(shown, chosen)
    if chosen["mask_of"] == "size":
        return _plain(shown, kind, chosen)
    with frame.wait(words.RUNNING_BATCH):
        typed = list_other_texts(shown, chosen) if can_pad(shown.trace.spec) else ""
        lines = [line for line in typed.split("\n") if line.strip()]
        if len(lines) > MAX_OTHERS:
            state.remark(words.too_many_texts(MAX_OTHERS))
        batch = [shown, *(_another(shown, line) for line in lines[:MAX_OTHERS])]
    index = min(chosen["mask_text"], len(batch) - 1)
    state.clamp(mask_text=index)
    looked, chosen = batch[index], {**chosen, "mask_text": index}
    parts, compared = _two_passes(looked, kind, batch_lengths([each.trace for each in batch]), chosen)
    _say_left_out(compared.key[-1], looked, chosen)
    before = compared.before.trace
    elsewhere = index > 0 or (before.src_ids, before.tgt_ids) != (shown.trace.src_ids, shown.trace.tgt_ids)
    made = _made(looked, kind, parts, replace(compared, elsewhere=elsewhere), chosen)
    return replace(made, texts=tuple(each.text for each in batch))


def list_other_texts(shown: RunView, chosen: Chosen) -> str:
    """The other texts of the batch, one a line: what a person typed, else the first examples that the model can read,
    other than its text."""
    if chosen["mask_batch"] is not None:
        return str(chosen["mask_batch"])
    found: list[str] = []
    for each in examples.list_examples(shown.summary):
        if each == shown.text or "\n" in each or len(found) == OTHER_TEXTS:
            continue
        try:
            cached.run(shown.summary, each)
        except ValueError:
            continue  # not asked for, so not said
        found.append(each)
    return "\n".join(found)


def _another(shown: RunView, line: str) -> RunView:
    """The model's run of another text of the batch."""
    with declared.prefixed(words.about_line(labels.isolate(labels.shorten(labels.visible(line), 40)))):
        run = cached.run(shown.summary, line)
    return replace(shown, text=line, run=run, target=None)


def _made(shown: RunView, kind: KindName, parts: MaskParts, compared: Compared, chosen: Chosen) -> Looked:
    axes = maps.axes(compared.before, kind)
    if compared.elsewhere:
        axes = of_no_run(axes)
    return Looked(
        kind=kind,
        parts=parts,
        axes=axes,
        fill=compared.ckpt.config.mask_fill,
        rule=compared.ckpt.config.padding_mask,
        name=labels.file_name(shown.summary.name, "masks", kind),
        caption=shown.caption(words.masks_of(KINDS[kind].words)),
        compared=compared,
        chosen=chosen,
    )


def _two_passes(
    looked: RunView, kind: KindName, lengths: tuple[int, int], chosen: Chosen
) -> tuple[MaskParts, Compared]:
    """A run, padded to these lengths, with its model's own masks and with the chosen ones; and those of the kind."""
    own, changes = looked.trace.config, _changes(chosen)
    fill, rule = _fill_and_rule(looked, chosen)
    before = _pass(looked.ckpt, looked.trace, lengths, ())
    ckpt = _variant(looked.ckpt, fill, rule)
    parts = parts_of(before, kind, rule=rule, changes=changes)
    kinds = [each for each in attention_kinds(before) if each != kind]
    others = [parts_of(before, each, rule=rule, changes=changes) for each in kinds]
    every = (parts, *others)
    edits = tuple(edit for each in every for edit in each.edits(looked.ckpt.spec))
    cells = tuple(change.word for each in every for change in each.changes)
    same = not cells and (fill, rule) == (own.mask_fill, own.padding_mask)
    after = before if same else _pass(ckpt, looked.trace, lengths, edits)
    first, second = (replace(looked, run=replace(looked.run, trace=trace)) for trace in (before, after))
    return parts, Compared(first, second, ckpt, (before.id, fill, rule, cells), same, elsewhere=False)


def recorded_passes(shown: RunView, kind: KindName, chosen: Chosen) -> tuple[MaskParts, Compared]:
    """The mask that a layer's run recorded, the chosen cells in it, and the run beside one with these changes; both are
    whole passes over its tokens, the run itself where nothing was changed.

    Raises Unavailable where no mask is recorded.
    """
    trace, changes = shown.trace, _changes(chosen)
    parts = recorded_parts(trace, kind, chosen["layer"], changes)
    told = [each for each in attention_kinds(trace) if f"{KINDS[each].site(0)}.mask" in trace]
    edits = tuple(edit for each in told for edit in recorded_edits(trace, each, changes))
    made = [change.word for each in told for change in recorded_parts(trace, each, 0, changes).changes]
    _say_left_out(made, shown, chosen)
    if not edits:
        return parts, Compared(shown, shown, shown.ckpt, (trace.id,), own=True, elsewhere=False)
    lengths = (len(trace.src), len(trace.tgt))

    def run(edits: tuple[SetMask, ...]) -> RunView:
        """The run as one pass, kept among the runs: of a large model it may take a gigabyte."""

        def one_pass() -> Run:
            return replace(shown.run, trace=run_in_batch(shown.ckpt, trace, lengths, edits=edits))

        return replace(shown, run=cached.cache_derived_run(shown.run, ("masks", edits), one_pass), own=False)

    with frame.wait(words.RUNNING_MODEL):
        before, after = run(()), run(edits)
    return parts, Compared(before, after, shown.ckpt, (trace.id, edits), own=False, elsewhere=False)


def load_pinned(both: Runs, looked: Looked) -> Looked:
    """B's masks and run, padded as A's is in its batch, with its own masks and with the chosen ones.

    Raises ValueError with one sentence where there is nothing to compare A with.
    """
    assert both.b is not None
    sign = "A − B" if both.difference else "A | B"
    if looked.compared is None:
        raise ValueError(f"A plain size has no runs: {sign} is for texts")
    if looked.chosen["mask_text"] > 0:
        raise ValueError(f"{sign} compares the two runs: choose text 0 of the batch to see it")
    trace = looked.compared.before.trace
    try:
        with frame.wait(words.RUNNING_B):
            lengths = (len(trace.src), len(trace.tgt))
            parts, compared = _two_passes(both.b, looked.kind, lengths, looked.chosen)
            compared = replace(compared, elsewhere=looked.compared.elsewhere)
            return _made(both.b, looked.kind, parts, compared, looked.chosen)
    except ValueError as error:
        raise ValueError(words.cannot_be_shown("B", error)) from None


def _fill_and_rule(shown: RunView, chosen: Chosen) -> tuple[str, str]:
    own = shown.trace.config
    return chosen["mask_fill"] or own.mask_fill, chosen["mask_padding"] or own.padding_mask


def _changes(chosen: Chosen) -> tuple[Change, ...]:
    return tuple(change_of(word) for word in chosen["mask_cells"])


def _say_left_out(there: Sequence[str], looked: RunView, chosen: Chosen) -> None:
    missing = [change.word for change in _changes(chosen) if change.word not in there]
    if missing:
        state.remark(words.outside(missing[:8], labels.visible(looked.text)[:40]))


def _plain(shown: RunView, kind: KindName, chosen: Chosen) -> Looked:
    """Masks of a size without any text. Scores are taken as equal, so that a weight is 1/n."""
    size = min(max(1, chosen["mask_size"]), LARGEST_SIZE)
    padded = min(chosen["mask_padded"], size)
    state.clamp(mask_size=size, mask_padded=padded)
    fill, rule = _fill_and_rule(shown, chosen)
    keep = np.arange(size) < size - padded
    parts = mask_parts(kind, keep, keep, rule=rule, changes=_changes(chosen))
    names = [str(position) if memoize else words.PAD for position, memoize in enumerate(keep)]
    texts = Texts(names, special=[position for position, memoize in enumerate(keep) if not memoize])
    rows, columns = maps.axes(shown, kind)
    axes = of_no_run((replace(rows, reads=texts, writes=None, title=words.QUERIES), replace(columns, reads=texts)))
    return Looked(
        kind=kind,
        parts=parts,
        axes=axes,
        fill=fill,
        rule=rule,
        name=labels.file_name("masks", kind, str(size)),
        caption=words.masks_of_size(KINDS[kind].words, size, padded),
        compared=None,
        chosen=chosen,
    )


def of_no_run(axes: Axes) -> Axes:
    """The axes with a cell of their own: positions of another text than the run's are no positions of the run."""
    rows, columns = axes
    return replace(rows, field=cast(Any, "mask_query")), replace(columns, field=cast(Any, "mask_key"))


@memoize(24)
def _pass(ckpt: Checkpoint, trace: Trace, lengths: tuple[int, int], edits: tuple[Any, ...]) -> Trace:
    """One pass over the run's tokens, padded as in the batch."""
    return run_in_batch(ckpt, trace, lengths, edits=edits)


@memoize(8)
def _variant(ckpt: Checkpoint, fill: str, rule: str) -> Checkpoint:
    """The model with another fill or rule; kept, because whether it is causal is found out once for each."""
    return replace_masks(ckpt, fill=fill, rule=rule)
