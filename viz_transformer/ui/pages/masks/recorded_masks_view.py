"""The Masks page of a model that is not ours: the masks that its run recorded, drawn and said, with cells to turn.

What makes such a mask is not told, so nothing but its cells can be changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viz_transformer.analysis.attention.picture import Picture
from viz_transformer.analysis.masks.mask_rules import MaskRule, describe_rule, recorded_mask, rules, turned_otherwise
from viz_transformer.analysis.masks.parts import even_weights
from viz_transformer.figures import labels
from viz_transformer.figures.components.masks import MaskWords, masks_payload
from viz_transformer.model.hook_point import FUSED_FROM
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.sentences import capitalised, join_names
from viz_transformer.ui.components.pictures import last_clicked_token
from viz_transformer.ui.frame import maps
from viz_transformer.ui.frame.drawn import Drawn, Text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.masks import words
from viz_transformer.ui.pages.masks.masks_source import Looked, kind_of, recorded_passes
from viz_transformer.ui.session.runs import RunView


def changes_cells(shown: RunView, kind: KindName) -> bool:
    """Whether the text is so short that recorded masks can be drawn beside each other, and changed; ours always can."""
    if shown.trace.spec.config is not None:
        return True
    return max(len(side) for side in KINDS[kind].sides(shown.trace.src, shown.trace.tgt)) < FUSED_FROM


def load_recorded(shown: RunView, chosen: Chosen) -> Looked | None:
    """The masks of the chosen layer before and after what was changed; None of a long text, whose masks stay as they
    are. Raises Unavailable where no mask is recorded."""
    kind, layer = kind_of(shown, chosen), chosen["layer"]
    if not changes_cells(shown, kind):
        recorded_mask(shown.trace, KINDS[kind].site(layer))
        return None
    parts, compared = recorded_passes(shown, kind, chosen)
    return Looked(
        kind=kind,
        parts=parts,
        axes=maps.axes(shown, kind),
        fill="",
        rule="",
        name=labels.file_name(shown.summary.name, "masks", kind, str(layer)),
        caption=shown.caption(words.masks_of_layer(KINDS[kind].words, layer), rows=KINDS[kind].writes),
        compared=compared,
        chosen=chosen,
    )


def draw_rules(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """What the masks of all layers close, and what can be changed of them."""
    shown, kind = both.main, kind_of(both.main, chosen)
    keys = len(KINDS[kind].sides(shown.trace.src, shown.trace.tgt)[1])
    for rule, layers in rules(shown.trace, kind).items():
        yield Text(said=describe_rule(rule, layers, keys))
    yield Text(said=words.NOT_TOLD if changes_cells(shown, kind) else words.too_long(FUSED_FROM))


def describe_place(shown: RunView, looked: Looked) -> str:
    """In which layers the changes are made, and where that is another change than in this one."""
    others = turned_otherwise(shown.trace, looked.kind, looked.chosen["layer"], looked.parts.changes)
    if not others:
        return words.TURNED
    return words.turned_otherwise(join_names([str(each) for each in others]), several=len(others) > 1)


def payload_of(shown: RunView, looked: Looked) -> bytes:
    """The keys that are read at all, which each query reads, and both before and after what was changed."""
    found, parts = rules(shown.trace, looked.kind), looked.parts
    rule = next(rule for rule, layers in found.items() if looked.chosen["layer"] in layers)
    title, note, reason = _of_a_query(rule, closes=not parts.causal.all())
    first = words.CLOSES_NOTHING if parts.padding.all() else words.UNREAD_KEYS
    said = MaskWords(
        (first, note, words.BOTH_OPEN, words.TO_THE_SOFTMAX),
        looked.caption,
        looked.name,
        parts=(words.KEYS, title),
        reasons=(words.BY_PADDING if rule.padding == rule.closed else words.BY_ALL, reason),
    )
    return masks_payload(looked.grids, said, token=last_clicked_token())


def _of_a_query(rule: MaskRule, *, closes: bool) -> tuple[str, str, str]:
    """What the mask that differs from query to query is called, what it closes, and by what a cell is closed."""
    if not closes:
        return words.PER_QUERY, words.CLOSES_NOTHING, ""
    if not rule.named:
        return words.PER_QUERY, words.NO_NAME, words.BY_QUERY
    if rule.window is not None:
        return words.WINDOW, words.window(rule.window, rule.both), words.BY_WINDOW
    if rule.first:
        return words.PREFIX, words.prefix(rule.first), words.BY_CAUSALITY
    return words.CAUSAL, words.LATER_KEYS, words.BY_CAUSALITY


def ask(shown: RunView, looked: Looked | None, chosen: Chosen) -> Question:
    """How many keys are open to the chosen query in the chosen layer."""
    layer = chosen["layer"]
    if looked is None:
        mask = picture_of_mask(shown, chosen).mask
        row = min(chosen[KINDS[kind_of(shown, chosen)].queries.field], len(mask) - 1)
        said = words.may_read_after(int(mask[row].sum()), mask.shape[1])
        return Question(words.asks_in_layer(row, layer), said)
    row, parts = looked.query, looked.parts
    open_, keys = int(parts.changed[row].sum()), parts.changed.shape[1]
    closed = int((parts.own[row] & ~parts.changed[row]).sum())
    opened = int((~parts.own[row] & parts.changed[row]).sum())
    return Question(words.asks_in_layer(row, layer), words.may_read_after(open_, keys, closed=closed, opened=opened))


def picture_of_mask(shown: RunView, chosen: Chosen) -> Picture:
    """The weights that the mask of a long text leaves equal scores: hatched is closed."""
    kind, layer = kind_of(shown, chosen), chosen["layer"]
    mask = recorded_mask(shown.trace, KINDS[kind].site(layer))
    said = words.mask_of_layer(KINDS[kind].words, layer)
    base = maps.picture(shown, {**chosen, "kind": kind, "layer": layer, "heads": "mean", "options": ()})
    axes = (replace(base.rows, writes=None), base.columns)
    return replace(base, values=even_weights(mask, "zero-rows"), mask=mask, axes=axes).with_meta(
        title=capitalised(said),
        caption=shown.caption(said, rows=KINDS[kind].writes),
        name=f"{base.meta.name}-mask",
        scale="derived",
        unit=words.EQUAL_SCORES_UNIT,
        quantity=words.EQUAL_SCORES,
        fill="",
        remarks=(),
    )
