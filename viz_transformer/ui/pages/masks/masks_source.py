"""Whose masks the Masks page shows: the controls, and the runs that the masks are from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.frame import controls, maps, opening, text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.pages.masks import words
from viz_transformer.ui.pages.masks.fields import FIELDS, LONGEST_BATCH
from viz_transformer.ui.session import cached, examples, state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView
from viz_transformer.ui.session.waiting import waiting

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

    @property
    def grids(self) -> MaskGrids:
        """The masks with the changed cells, as they are drawn."""
        return MaskGrids(self.kind, self.parts.padding, self.parts.causal, self.axes, FIELDS.now().mask_cells)

    @property
    def query(self) -> int:
        """The chosen row."""
        return min(int(state.selection()[self.axes[0].field]), len(self.axes[0]) - 1)

    def token(self, row: int) -> str:
        """The row's position and, of a text, its token, in words."""
        if self.compared is None:
            return words.query(row)
        return words.query_reads(row, labels.isolate(str(self.axes[0].reads.at((row,)).data()[0]["text"])))


def kind_of(shown: RunView) -> KindName:
    """The kind of attention of this page, which is its own: other pages keep theirs.

    A link that a session begins with, from before the page had its own, names it as `kind`. Without one, and from any
    other page, it is the decoder's self-attention, whose mask shows what causality closes.
    """
    kinds, chosen = attention_kinds(shown.trace), FIELDS.now().mask_kind
    if chosen is None:
        begins = opening.SHOWN not in st.session_state and "kind" in st.query_params
        chosen = state.SHARED.now().kind if begins else "decoder"
        state.clamp(mask_kind=chosen)
    elif chosen not in kinds and chosen != "decoder":
        state.remark(words.no_such_kind(chosen, shown.summary.name, kinds[0]))
    kind = chosen if chosen in kinds else kinds[0]
    layers = KINDS[kind].layers(shown.trace.spec)
    state.clamp_index("layer", layers, shown.summary.name)
    return kind


def choices(shown: RunView, kind: KindName) -> None:
    """What is shown of which kind of attention, and by which padding rule or of which layer and head."""
    config = shown.trace.config
    rules = [*dict.fromkeys(["key", "key-or-query", config.padding_mask])]
    if FIELDS.now().mask_padding not in ("", *rules):
        state.remark(words.no_such_rule(shown.summary.name))
        state.clamp(mask_padding="")
    with st.container(horizontal=True, key="choices", vertical_alignment="bottom"):
        controls.buttons(words.SHOWN, words.VIEWS, "mask_view", key="masks_view", hidden=True)
        names = {each: KINDS[each].label for each in attention_kinds(shown.trace)}
        controls.buttons(words.KIND, names, "mask_kind", key="masks_kind", value=kind, hidden=True)
        if FIELDS.now().mask_view == "masks":
            _own_or(words.PADDING, rules, words.RULES, "mask_padding", FIELDS.now().mask_padding, config.padding_mask)
        elif FIELDS.now().mask_of == "texts":
            layers = KINDS[kind].layers(config)
            controls.layer_and_head(layers, config.n_heads, page="masks", words=("mean", "max"))


def _own_or(label: str, options: Sequence[str], names: Mapping[str, str], field: str, chosen: str, own: str) -> None:
    """A choice in which the model's own option is marked, and kept as ""."""
    controls.buttons(
        label,
        {option: words.own(names[option]) if option == own else names[option] for option in options},
        field,
        key=f"masks_{field}",
        value=chosen or own,
        taken=lambda new: "" if new == own else new,
    )


def load_masks(shown: RunView, kind: KindName, place: DeltaGenerator) -> Looked:
    """The masks that are chosen, with the controls of texts or size, and of the fill. Raises ValueError with one
    sentence."""
    with st.container(key="masks_beside_controls"):
        left, right = st.columns([5, 7])
    with left:
        controls.buttons(words.MASKS_OF, words.TEXTS_OR_SIZE, "mask_of", key="masks_of")
    with right:
        fill, own = FIELDS.now().mask_fill, shown.trace.config.mask_fill
        _own_or(words.FILL, [*words.FILL_NAMES], words.FILL_NAMES, "mask_fill", fill, own)
    if FIELDS.now().mask_of == "size":
        with left:
            return _plain(shown, kind)
    with waiting(words.RUNNING_BATCH, place):
        offered = _offered(shown)
    with left:
        texts = _texts(shown, offered)
    with waiting(words.RUNNING_BATCH, place):
        batch = [shown, *(_another(shown, line) for line in texts)]
    with right:
        index = _text_control(batch)
    return _of_text(shown, kind, batch, index)


def _offered(shown: RunView) -> tuple[str, ...]:
    """The first examples that the model can read, other than its text; none if a person typed the batch."""
    if FIELDS.now().mask_batch is not None or not can_pad(shown.trace.spec):
        return ()
    found: list[str] = []
    for each in examples.list_examples(shown.summary):
        if each == shown.text or "\n" in each or len(found) == OTHER_TEXTS:
            continue
        try:
            cached.run(shown.summary, each)
        except ValueError:
            continue  # not asked for, so not said
        found.append(each)
    return tuple(found)


def _texts(shown: RunView, offered: Sequence[str]) -> tuple[str, ...]:
    """The other texts of the batch, and the box in which they stand; nobody having typed any, those offered."""
    if not can_pad(shown.trace.spec):
        text.paragraph(words.no_padding_token(shown.summary.name))
        return ()
    typed = FIELDS.now().mask_batch
    if typed is None:
        typed = "\n".join(offered)
    controls.text_box(
        words.OTHER_TEXTS,
        max_chars=LONGEST_BATCH,
        **state.widget_args("mask_batch", key="masks_batch", value=typed),
    )
    lines = [line for line in typed.split("\n") if line.strip()]
    if len(lines) > MAX_OTHERS:
        state.remark(words.too_many_texts(MAX_OTHERS))
    return tuple(lines[:MAX_OTHERS])


def _another(shown: RunView, line: str) -> RunView:
    """The model's run of another text of the batch."""
    with declared.prefixed(words.about_line(labels.isolate(labels.shorten(labels.visible(line), 40)))):
        run = cached.run(shown.summary, line)
    return replace(shown, text=line, run=run, target=None)


def _text_control(batch: list[RunView]) -> int:
    """The index of the shown text of the batch."""
    index = min(int(FIELDS.now().mask_text), len(batch) - 1)
    state.clamp(mask_text=index)
    if len(batch) > 1:
        short = [labels.shorten(" ".join(each.text.split()), 24) for each in batch]
        names = {i: text.literal(words.numbered(i, each)) for i, each in enumerate(short)}
        controls.buttons(words.TEXT_SHOWN, names, "mask_text", key="masks_text")
    return index


def _of_text(shown: RunView, kind: KindName, batch: list[RunView], index: int) -> Looked:
    looked = batch[index]
    parts, compared = _two_passes(looked, kind, batch_lengths([each.trace for each in batch]))
    _say_left_out(compared.key[-1], looked)
    before = compared.before.trace
    elsewhere = index > 0 or (before.src_ids, before.tgt_ids) != (shown.trace.src_ids, shown.trace.tgt_ids)
    return _made(looked, kind, parts, replace(compared, elsewhere=elsewhere))


def _made(shown: RunView, kind: KindName, parts: MaskParts, compared: Compared) -> Looked:
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
    )


def _two_passes(looked: RunView, kind: KindName, lengths: tuple[int, int]) -> tuple[MaskParts, Compared]:
    """A run, padded to these lengths, with its model's own masks and with the chosen ones; and those of the kind."""
    view, own = FIELDS.now(), looked.trace.config
    fill, rule = view.mask_fill or own.mask_fill, view.mask_padding or own.padding_mask
    changes = _changes()
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


def recorded_passes(shown: RunView, kind: KindName, layer: int, place: DeltaGenerator) -> tuple[MaskParts, Compared]:
    """The mask that a layer's run recorded, the chosen cells in it, and the run beside one with these changes; both are
    whole passes over its tokens, the run itself where nothing was changed.

    Raises Unavailable where no mask is recorded.
    """
    trace, changes = shown.trace, _changes()
    parts = recorded_parts(trace, kind, layer, changes)
    told = [each for each in attention_kinds(trace) if f"{KINDS[each].site(0)}.mask" in trace]
    edits = tuple(edit for each in told for edit in recorded_edits(trace, each, changes))
    _say_left_out([made.word for each in told for made in recorded_parts(trace, each, 0, changes).changes], shown)
    if not edits:
        return parts, Compared(shown, shown, shown.ckpt, (trace.id,), own=True, elsewhere=False)
    lengths = (len(trace.src), len(trace.tgt))

    def run(edits: tuple[SetMask, ...]) -> RunView:
        """The run as one pass, kept among the runs: of a large model it may take a gigabyte."""

        def made() -> Run:
            return replace(shown.run, trace=run_in_batch(shown.ckpt, trace, lengths, edits=edits))

        return replace(shown, run=cached.cache_derived_run(shown.run, ("masks", edits), made), own=False)

    with waiting(words.RUNNING_MODEL, place):
        before, after = run(()), run(edits)
    return parts, Compared(before, after, shown.ckpt, (trace.id, edits), own=False, elsewhere=False)


def load_pinned(both: Runs, looked: Looked, place: DeltaGenerator) -> Looked:
    """B's masks and run, padded as A's is in its batch, with its own masks and with the chosen ones.

    Raises ValueError with one sentence where there is nothing to compare A with.
    """
    assert both.b is not None
    sign = "A − B" if both.difference else "A | B"
    if looked.compared is None:
        raise ValueError(f"A plain size has no runs: {sign} is for texts")
    if FIELDS.now().mask_text > 0:
        raise ValueError(f"{sign} compares the two runs: choose text 0 of the batch to see it")
    trace = looked.compared.before.trace
    try:
        with waiting(words.RUNNING_B, place):
            parts, compared = _two_passes(both.b, looked.kind, (len(trace.src), len(trace.tgt)))
            return _made(both.b, looked.kind, parts, replace(compared, elsewhere=looked.compared.elsewhere))
    except ValueError as error:
        raise ValueError(words.cannot_be_shown("B", error)) from None


def _changes() -> tuple[Change, ...]:
    return tuple(change_of(word) for word in FIELDS.now().mask_cells)


def _say_left_out(there: Sequence[str], looked: RunView) -> None:
    missing = [change.word for change in _changes() if change.word not in there]
    if missing:
        state.remark(words.outside(missing[:8], labels.visible(looked.text)[:40]))


def _plain(shown: RunView, kind: KindName) -> Looked:
    """Masks of a size without any text. Scores are taken as equal, so that a weight is 1/n."""
    own = shown.trace.config
    size = min(max(1, FIELDS.now().mask_size), LARGEST_SIZE)
    padded = min(FIELDS.now().mask_padded, size)
    state.clamp(mask_size=size, mask_padded=padded)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input(
            words.TOKENS, 1, LARGEST_SIZE, step=1, width=140, **state.widget_args("mask_size", key="masks_size")
        )
        st.number_input(
            words.PADDED, 0, size, step=1, width=200, **state.widget_args("mask_padded", key="masks_padded")
        )
    fill = FIELDS.now().mask_fill or own.mask_fill
    rule = FIELDS.now().mask_padding or own.padding_mask
    keep = np.arange(size) < size - padded
    parts = mask_parts(kind, keep, keep, rule=rule, changes=_changes())
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
