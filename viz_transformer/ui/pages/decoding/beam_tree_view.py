"""The tab of the beam tree: the tree, the hypothesis chosen in it, and the best ones as a list."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import pandas as pd

from viz_transformer.figures import labels
from viz_transformer.figures.components.beam_tree import beam_tree_payload
from viz_transformer.numerals import nth
from viz_transformer.running.beam_tree import BeamTree, Hypothesis
from viz_transformer.running.decoding import Run, follow
from viz_transformer.ui.components.pictures import beam_tree
from viz_transformer.ui.frame import maps, text
from viz_transformer.ui.frame.drawn import (
    Button,
    Columns,
    Component,
    Drawn,
    Group,
    Heading,
    Map,
    Markup,
    Numbers,
    Table,
    Text,
)
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.pages.decoding.branch_list import grow_from
from viz_transformer.ui.pages.decoding.fields import FIELDS
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

MAX_LISTED, MAX_PARTS, LONGEST = 10, 24, 300
SHARED, LISTED = 40, 120


def draw_tree(shown: RunView, chosen: Chosen, site: Sequence[Drawn] = ()) -> Iterator[Drawn]:
    """The tree of the run, its best hypotheses, and the picked one with its attention. site: the controls of that."""
    tree = shown.run.tree
    if tree is None:
        yield Text(said=words.NO_TREE)
        return
    picked = tree.nodes[_find_picked(tree)]
    answer = tree.nodes[tree.answer]
    yield Text(said=f"{tree.beam.formula()}.", style="vt-note vt-beam-formula")
    score = words.answer_score(_score_in_parts(tree, answer), answer.length)
    yield Text(said=score, lead=words.ANSWER_SCORE, style="vt-beam-sum")
    numbers = Numbers(
        frame=lambda: table(shown, tree),
        note=words.table_note(shown.caption(words.BEAM_TREE), words.TREE_NOTE),
        name=labels.file_name(shown.summary.name, "beam-tree"),
    )
    drawn = Component(draw=beam_tree, data=_pack_tree(shown), key="beam_tree_picture", numbers=numbers)
    yield Group(parts=[drawn], key="beam_tree")
    left = Group(parts=[*_draw_hypothesis(shown, tree, picked)], key="beam_tree_hypothesis")
    right = Group(parts=[*_draw_best(shown, tree, picked)], key="beam_tree_best")
    yield Columns(parts=([left], [right]), widths=(5, 4))
    yield Group(parts=[*site, *_draw_attention(shown, chosen, tree, picked)], key="beam_tree_attention")


def table(shown: RunView, tree: BeamTree) -> pd.DataFrame:
    """A row for each hypothesis, in the order of the tree."""
    rows = [
        (
            node.index,
            node.parent,
            nth(node.step),
            labels.visible(node.token),
            node.log_prob,
            node.total,
            node.length,
            node.score,
            node.rank,
            words.ANSWER if node.index == tree.answer else node.fate,
            nth(node.ended),
            node.margin,
            _text(shown, tree, node),
        )
        for node in tree.nodes
    ]
    found = pd.DataFrame(rows, columns=[*words.TREE_COLUMNS])
    return found.astype({words.PARENT: "Int64", words.MARGIN: "Float64"}).set_index(words.INDEX)


def _find_picked(tree: BeamTree) -> int:
    """The picked hypothesis, by default the answer; if it does not exist, the answer, with a remark."""
    picked = FIELDS.now().dec_node
    if picked is None:
        return tree.answer
    if picked >= len(tree.nodes):
        state.remark(words.no_hypothesis(picked, len(tree.nodes) - 1))
        state.clamp(dec_node=None)
        return tree.answer
    return int(picked)


@memoize(8)
def _pack_tree(shown: RunView) -> bytes:
    """The payload of the tree."""
    tree = shown.run.tree
    assert tree is not None
    codec = shown.ckpt.codec("target")
    return beam_tree_payload(
        tree,
        special=codec.special_ids - {codec.unknown},
        start=codec.names[tree.start[-1]],
        caption=shown.caption(words.BEAM_TREE),
        name=labels.file_name(shown.summary.name, "beam-tree"),
    )


def _score_in_parts(tree: BeamTree, node: Hypothesis) -> str:
    """The score as a formula: total, penalty with its numbers, and the result."""
    total, penalty = words.log_probability(node.total, 4), labels.number(tree.beam.divisor(node.length))
    divisor = tree.beam.divisor_words(node.length)
    return words.score_in_parts(total, divisor, penalty, words.log_probability(node.score, 4))


def _text(shown: RunView, tree: BeamTree, node: Hypothesis) -> str:
    codec = shown.ckpt.codec("target")
    return labels.sentence(codec.decode(tree.ids(node.index)))


def _draw_hypothesis(shown: RunView, tree: BeamTree, node: Hypothesis) -> Iterator[Drawn]:
    """The picked hypothesis: its tokens, its score in parts, why it ended, and the button that continues from it."""
    what = words.THE_ANSWER if node.index == tree.answer else node.fate
    yield Heading(said=words.hypothesis_heading(node.index, node.step, what))
    yield Text(said=labels.shorten(_text(shown, tree, node), LONGEST), style="vt-gold vt-gold-target")
    yield Text(said=tree.why(node.index))
    of_step = len([each for each in tree.nodes if each.step == node.step])
    rows = (
        (words.LOG_PROBABILITY, _write_sum(tree.path(node.index))),
        (words.LENGTH, str(node.length)),
        (words.SCORE, _score_in_parts(tree, node)),
        (words.RANK_IN_STEP, words.rank_in_step(node.rank, of_step, node.kept)),
    )
    yield Table(head=(), rows=rows, style="vt-definitions vt-mono")
    ended = node.token_id in shown.ckpt.codec("target").ends
    yield Button(
        label=words.CONTINUE,
        key="beam_tree_continue",
        does=partial(grow_from, shown, tree.ids(node.index), words.FROM_TREE),
        help=words.CONTINUE_ENDED if ended else words.CONTINUE_HELP,
        disabled=ended,
        kind="secondary",
    )


def _write_sum(path: Sequence[Hypothesis]) -> str:
    """The sum of the tokens' log-probabilities, written out; of very many only the last ones."""
    parts = [
        words.part_of_sum(labels.isolate(labels.visible(node.token)), words.log_probability(node.log_prob))
        for node in path
    ]
    if len(parts) > MAX_PARTS:
        before = words.log_probability(path[-MAX_PARTS - 1].total)
        parts = [words.tokens_before(len(parts) - MAX_PARTS, before), *parts[-MAX_PARTS:]]
    return words.sum_of(parts, words.log_probability(path[-1].total, 4))


def _draw_best(shown: RunView, tree: BeamTree, picked: Hypothesis) -> Iterator[Drawn]:
    """The list of finished hypotheses, best first, or of running ones if none has finished; a button picks one."""
    counted = any(node.fate == "cut off" for node in tree.finished)
    finished = words.COUNTED_FINISHED if counted else words.FINISHED
    yield Heading(said=finished if tree.finished else words.NONE_FINISHED)
    going = [node for node in tree.nodes if node.fate == "stopped"]
    found = tree.finished or sorted(going, key=lambda node: node.score, reverse=True)
    yield _draw_line((words.LOG_P, words.LENGTH, words.SCORE), "vt-best vt-best-head", "stretch")
    listed = found[:MAX_LISTED]
    texts = _drop_common_beginning([_text(shown, tree, node) for node in listed])
    for rank, (node, written) in enumerate(zip(listed, texts, strict=True)):
        pick = Button(
            label=text.literal(f"{nth(rank)}  {labels.shorten(written, LISTED)}"),
            key=f"beam_best_pick_{rank}",
            fields={"dec_node": node.index},
            width="stretch",
        )
        numbers = (words.log_probability(node.total), str(node.length), words.log_probability(node.score, 4))
        mark = "_picked" if node.index == picked.index else ""
        parts = (pick, _draw_line(numbers, "vt-best", "content"))
        yield Group(parts=parts, key=f"beam_best{mark}_{rank}", aligned="center")
    if len(found) > MAX_LISTED:
        yield Text(said=words.more_in_table(len(found) - MAX_LISTED))


def _draw_line(cells: Sequence[str], style: str, width: Literal["content", "stretch"]) -> Markup:
    said = "".join(f"<span>{html.escape(each)}</span>" for each in cells)
    return Markup(html=text.Html(f'<div class="{style}">{said}</div>'), width=width)


def _drop_common_beginning(texts: Sequence[str]) -> list[str]:
    """The texts for a list: a long common beginning is replaced by an ellipsis."""
    split = [each.split(" ") for each in texts]
    same = next((n for n, column in enumerate(zip(*split, strict=False)) if len({*column}) > 1), 0)
    shared = len(" ".join(split[0][:same])) if split else 0
    cut = shared if shared > SHARED else 0
    return [f"…{each[cut:]}" if cut else each for each in texts]


def _draw_attention(shown: RunView, chosen: Chosen, tree: BeamTree, node: Hypothesis) -> Iterator[Drawn]:
    """The selected map of a run that writes the picked hypothesis."""
    run = shown.run
    try:
        if node.index != tree.answer:
            run = _force_answer(shown, tree.ids(node.index))
        drawn = maps.picture(replace(shown, run=run), chosen)
    except ValueError as error:
        yield Text(said=f"{error}.", tone="bad")
        return
    yield Heading(said=words.attention_heading(node.index))
    drawn = drawn.with_meta(
        title=words.title_of_hypothesis(drawn.meta.title, node.index),
        caption=words.caption_of_hypothesis(drawn.meta.caption, node.index),
        name=labels.file_name(drawn.meta.name, words.hypothesis(node.index)),
    )
    yield Map(picture=drawn, key="beam_tree_matrix")


@memoize(16)
def _force_answer(shown: RunView, ids: tuple[int, ...]) -> Run:
    """The run that writes these ids instead, recorded in one pass."""
    assert shown.run.tree is not None
    return follow(shown.ckpt, shown.text, ids, strategy=shown.run.tree.beam, edits=shown.trace.edits)
