"""What a beam's tree says of its hypotheses is true of the search."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from itertools import product
from typing import Any, get_args

import orjson
import pytest
import torch
from builders import tiny_checkpoint
from in_turn import each_once

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.numerals import number
from viz_transformer.running import search
from viz_transformer.running.beam_tree import BeamTree, Fate, Hypothesis
from viz_transformer.running.decoding import decode, follow
from viz_transformer.running.search import Found
from viz_transformer.running.strategies import STOP_RULES, Beam


def ended(seed: int = 0, **changes: Any) -> Checkpoint:
    """A random model that writes the end token now and then: its bias is raised."""
    ckpt = tiny_checkpoint(seed=seed, **changes)
    with torch.no_grad():
        ckpt.model.output.bias[2] += 1.2
    return ckpt


@pytest.fixture(scope="module", params=[1, 3, 6])
def tree(request: pytest.FixtureRequest) -> BeamTree:
    found = decode(tiny_checkpoint(), "abc", strategy=Beam(request.param), max_steps=9).tree
    assert found is not None
    return found


def extensions(tree: BeamTree, node: Hypothesis) -> list[Hypothesis]:
    """All that were kept, found by walking."""
    line = [node]
    for each in line:  # grows while it is walked
        line += [child for child in tree.nodes if child.parent == each.index and child.kept]
    return line[1:]


def test_each_hypothesis_has_a_sentence_with_its_step_and_margin(tree: BeamTree) -> None:
    for node in tree.nodes:
        said = tree.why(node.index)
        assert said.endswith(".")
        if node.index == tree.answer:
            assert said.startswith("The answer: ") and f"{node.score:.2f}" in said
        elif node.margin is not None:
            assert f"by {number(node.margin, 2)}" in said and f"step {node.ended + 1}" in said


def test_a_hypothesis_that_went_on_says_how_far_its_extensions_got(tree: BeamTree) -> None:
    answer = set(tree.path(tree.answer))
    for node in tree.nodes:
        if node.fate != "went on":
            continue
        said, line = tree.why(node.index), extensions(tree, node)
        assert said.endswith("the answer begins with it.") == (node in answer)
        if node in answer:
            continue
        ends = {"finished": "finished", "stopped": "was still going when the search stopped"}
        through = [each for each in line if each.fate in ends]
        step = max(each.ended for each in through or line)
        assert re.search(r"in step (\d+)\.$", said)[1] == str(step + 1)  # type: ignore[index]
        if through:
            assert any(ends[each.fate] in said for each in through if each.ended == step)


def test_an_unknown_hypothesis_is_refused(tree: BeamTree) -> None:
    for index in (-1, len(tree.nodes)):
        with pytest.raises(ValueError, match=f"there is no hypothesis {index}: the tree has 0 to"):
            tree.why(index)


# ---- against a search that is written plainly: lists of ids, a whole pass for each, every continuation sorted


Key = tuple[int, ...]


@dataclass
class Slow:
    """What the plain search found: of each continuation looked at its numbers and fate, by the ids that it wrote."""

    log_prob: dict[Key, float] = field(default_factory=dict)
    total: dict[Key, float] = field(default_factory=dict)
    rank: dict[Key, int] = field(default_factory=dict)
    kept: dict[Key, bool] = field(default_factory=dict)
    fate: dict[Key, str] = field(default_factory=dict)
    ended: dict[Key, int] = field(default_factory=dict)
    margin: dict[Key, float | None] = field(default_factory=dict)
    answer: Key = ()
    finished: list[Key] = field(default_factory=list)


def penalty(beam: Beam, length: int) -> float:
    if beam.penalty == "power":
        return float(max(length, 1) ** beam.length_penalty)
    return ((5 + length) / 6) ** beam.length_penalty


def score_of(beam: Beam, total: float, ids: Key) -> float:
    length = len(ids) - (1 if ids[-1] == 2 and not beam.count_end else 0)
    return total / penalty(beam, length)


def hoped(beam: Beam, total: float, ids: Key, most: int) -> float:
    longest = beam.stop == "early_stopping=never" and beam.length_penalty > 0
    return total / penalty(beam, most if longest else len(ids))


@torch.no_grad()
def slow_search(
    ckpt: Checkpoint, text: str, beam: Beam, most: int, forced: dict[int, int] | None = None, banned: Key = ()
) -> Slow:
    src = torch.tensor([ckpt.source_codec.encode(text).ids])
    beam = beam.filled()
    found, alive = Slow(), [()]
    finished: list[tuple[float, Key]] = []
    for step in range(most):
        every: list[tuple[float, Key, float]] = []
        for ids in alive:
            row = ckpt.model(src, torch.tensor([[1, *ids]]))[0, -1].double().log_softmax(-1).tolist()
            allowed = [forced[step]] if forced and step in forced else [i for i in range(len(row)) if i not in banned]
            every += [(found.total.get(ids, 0.0) + row[i], (*ids, i), row[i]) for i in allowed]
        every.sort(key=lambda each: -each[0])
        looked = every[: 2 * beam.width]
        going: list[Key] = []
        counts_all = beam.counts_unfinished and step == most - 1
        for rank, (total, ids, log_prob) in enumerate(looked):
            ends = ids[-1] == 2
            kept = rank < beam.width if ends or counts_all else len(going) < beam.width
            found.log_prob[ids], found.total[ids], found.rank[ids] = log_prob, total, rank
            found.kept[ids], found.ended[ids], found.margin[ids] = kept, step, None
            found.fate[ids] = ("finished" if kept else "late end") if ends else "pruned"
            if kept and ends:
                finished.append((score_of(beam, total, ids), ids))
            elif kept:
                going.append(ids)
        last_in_width = looked[: beam.width][-1][0]
        lowest = last_in_width if counts_all else found.total[going[-1]] if going else None
        for total, ids, _ in looked:
            if found.fate[ids] == "late end":
                found.margin[ids] = last_in_width - total
            elif ids[-1] != 2 and not found.kept[ids]:
                assert lowest is not None
                found.margin[ids] = lowest - total
        for ids in alive:
            if ids:
                found.ended[ids] = step
                if any(found.kept[each] for _, each, _ in looked if each[:-1] == ids):
                    found.fate[ids], found.margin[ids] = "went on", None
                else:
                    best = max(total for total, each, _ in every if each[:-1] == ids and each[-1] != 2)
                    found.margin[ids] = None if lowest is None else lowest - best
        if counts_all:
            finished += [(score_of(beam, found.total[ids], ids), ids) for ids in going]
        finished.sort(key=lambda pair: -pair[0])
        for lost, ids in finished[beam.width :]:
            if ids in going:
                continue
            found.fate[ids], found.ended[ids] = "displaced", step
            found.margin[ids] = finished[beam.width - 1][0] - lost
        finished = finished[: beam.width]
        alive = going
        enough = len(finished) >= (1 if beam.stop == "first-finished" else beam.width)
        hope = any(hoped(beam, found.total[ids], ids, most) > finished[-1][0] for ids in alive) if finished else True
        hopes = beam.stop in ("none-better", "early_stopping=False", "early_stopping=never")
        if not alive or (enough and (not hopes or not hope)):
            break
    for ids in alive:
        found.fate[ids], found.ended[ids] = "cut off" if counts_all else "stopped", step
    best_going = sorted(((score_of(beam, found.total[ids], ids), ids) for ids in alive), key=lambda pair: -pair[0])
    top, found.answer = (finished or best_going)[0]
    for score, ids in [*finished, *best_going]:
        found.margin[ids] = top - score if ids != found.answer and top >= score else None
    found.finished = [ids for _, ids in finished]
    return found


CASES: list[dict[str, Any]] = [
    {"width": 1},
    {"width": 2, "length_penalty": 0.0},
    {"width": 3},
    {"width": 3, "penalty": "power", "length_penalty": 1.0},
    {"width": 4, "count_end": False, "length_penalty": 2.0, "penalty": "power"},
    {"width": 3, "stop": "width-finished"},
    {"width": 4, "stop": "first-finished", "length_penalty": 1.5},
    {"width": 12, "length_penalty": 0.3},
    {"width": 3, "stop": "early_stopping=False", "penalty": "power", "length_penalty": 1.0},
    {"width": 2, "stop": "early_stopping=True", "penalty": "power", "length_penalty": -1.0},
    {"width": 3, "stop": "early_stopping=never", "penalty": "power", "length_penalty": 2.0},
    {"width": 4, "stop": "early_stopping=never"},
]
GIVEN: list[dict[str, Any]] = [{}, {"forced": {0: 6, 1: 4}}, {"forced": {2: 9}}, {"banned": (5, 7)}, {"banned": (2,)}]


@each_once("case, given, seed", CASES, GIVEN, [1, 2])
def test_the_tree_is_what_a_plain_search_did(case: dict[str, Any], given: dict[str, Any], seed: int) -> None:
    ckpt, beam, most = ended(seed), Beam(**case).filled(), 7
    slow = slow_search(ckpt, "abc", beam, most, **given)
    force, ban = given.get("forced", {}), given.get("banned", ())
    try:
        run = decode(ckpt, "abc", strategy=beam, max_steps=most, force=force, ban=ban)
    except ValueError as error:
        assert "before the forced token" in str(error) and len(slow.answer) <= max(force)
        return
    tree = run.tree
    assert tree is not None
    keys = [tree.ids(node.index) for node in tree.nodes]
    assert set(keys) == set(slow.total) and len(keys) == len(slow.total)
    for ids, node in zip(keys, tree.nodes, strict=True):
        assert (node.fate, node.ended, node.kept, node.rank) == (
            slow.fate[ids],
            slow.ended[ids],
            slow.kept[ids],
            slow.rank[ids],
        ), ids
        # the search's passes are cached: float32 logits of 3 differ by 1e-6, and up to seven are added
        assert node.log_prob == pytest.approx(slow.log_prob[ids], abs=1e-5)
        assert node.total == pytest.approx(slow.total[ids], abs=1e-5)
        assert node.length == len(ids) - (ids[-1] == 2 and not beam.count_end)
        assert node.score == pytest.approx(node.total / penalty(beam, node.length), abs=1e-12)
        expected = slow.margin[ids]
        assert node.margin == (None if expected is None else pytest.approx(expected, abs=2e-5)), ids
        assert node.margin is None or node.margin >= 0
        parent = tree.nodes[node.parent] if node.parent is not None else None
        assert node.total == pytest.approx((parent.total if parent else 0.0) + node.log_prob, abs=1e-12)
        assert node.step == len(ids) - 1 and (parent is None or tree.path(node.index)[-2] is parent)
    assert tree.ids(tree.answer) == slow.answer == tuple(step.token_id for step in run.steps)
    assert [tree.ids(node.index) for node in tree.finished] == slow.finished
    assert run.score == tree.nodes[tree.answer].score
    assert run.log_prob == pytest.approx(tree.nodes[tree.answer].total, abs=1e-5)
    assert tree.steps == 1 + max(node.step for node in tree.nodes)
    for index in (None, *range(len(tree.nodes))):
        assert tree.children(index) == tuple(node for node in tree.nodes if node.parent == index)


def test_these_searches_meet_every_fate() -> None:
    trees = [
        decode(ended(seed), "abc", strategy=Beam(**case), max_steps=7).tree for case, seed in product(CASES, [1, 2])
    ]
    assert {node.fate for tree in trees if tree is not None for node in tree.nodes} == set(get_args(Fate))


def test_a_hypothesis_that_was_stopped_may_be_better_than_the_answer_and_says_so() -> None:
    found = None
    for seed, text in product(range(8), ["a", "abc", "hgf"]):
        tree = decode(ended(seed), text, strategy=Beam(3, stop="first-finished", length_penalty=0.0)).tree
        assert tree is not None
        answer = tree.nodes[tree.answer]
        if better := [n for n in tree.nodes if n.fate == "stopped" and n.score > answer.score]:
            found = better[0]
            assert answer.fate == "finished"
            assert found.margin is None
            assert "its score is better, but the answer has finished" in tree.why(found.index)
            assert "no other finished one scores better" in tree.why(answer.index)
    assert found is not None


def test_as_many_answers_as_asked_for_are_handed_out_best_first() -> None:
    ckpt = ended(1)
    run = decode(ckpt, "abc", strategy=Beam(4, n_best=3))
    assert run.tree is not None
    best = run.tree.best
    assert [node.index for node in best] == [node.index for node in run.tree.finished[:3]]
    assert best[0].index == run.tree.answer and len(best) == 3
    assert [n.score for n in best] == sorted((n.score for n in best), reverse=True)
    assert all(node.token == "</s>" for node in best)
    cut = decode(ckpt, "abc", strategy=Beam(4, n_best=2), ban=["</s>"], max_steps=3).tree  # none can finish
    assert cut is not None and cut.finished == ()
    assert [n.fate for n in cut.best] == ["stopped"] * 2 and cut.best[0].index == cut.answer


def test_a_forced_prefix_is_the_trunk_of_the_tree() -> None:
    run = decode(ended(2), "abc", strategy=Beam(3), prefix="zu", max_steps=6)
    assert run.tree is not None
    trunk = [node for node in run.tree.nodes if node.step < 2]
    assert [node.token for node in trunk] == ["z", "u"]
    assert [(node.fate, node.rank, node.kept) for node in trunk] == [("went on", 0, True)] * 2
    assert len(run.tree.children(1)) == 6 and run.tree.start == (1,)


@pytest.mark.parametrize("changes", [{"merge": "raw-reshape"}, {"norm_kind": "positions-and-features", "norm": "post"}])
def test_the_tree_of_a_model_that_is_not_causal_has_the_numbers_of_whole_passes(changes: dict[str, Any]) -> None:
    ckpt = ended(2, **changes)
    slow, run = slow_search(ckpt, "abcd", Beam(3), 6), decode(ckpt, "abcd", strategy=Beam(3), max_steps=6)
    assert run.tree is not None and run.trace.info["cached"] is False
    assert {run.tree.ids(n.index): n.fate for n in run.tree.nodes} == slow.fate
    for node in run.tree.nodes:
        assert node.total == pytest.approx(slow.total[run.tree.ids(node.index)], abs=1e-5)


def test_the_tree_of_a_decoder_alone_starts_behind_its_text() -> None:
    ckpt = tiny_checkpoint("decoder-only", seed=3)
    run = decode(ckpt, "uvw", strategy=Beam(3), max_steps=4)
    assert run.tree is not None and run.tree.start == (1, 4, 5, 6)
    with torch.no_grad():
        for node in run.tree.nodes:
            ids = run.tree.ids(node.index)
            logits = ckpt.model(torch.tensor([[1, 4, 5, 6, *ids[:-1]]]))[0, 3:].double().log_softmax(-1)
            assert node.total == pytest.approx(sum(logits[t, i].item() for t, i in enumerate(ids)), abs=1e-5)


@pytest.mark.parametrize("changes", [{}, {"merge": "raw-reshape"}])
def test_any_hypothesis_can_be_followed_to_the_numbers_of_the_search(changes: dict[str, Any]) -> None:
    ckpt = ended(1, **changes)
    tree = decode(ckpt, "abc", strategy=Beam(3), ban=["w"], max_steps=6).tree
    assert tree is not None
    for node in tree.nodes[::5]:
        path = tree.path(node.index)
        run = follow(ckpt, "abc", tree.ids(node.index), strategy=tree.beam, forced=1, ban=["w"])
        assert [step.log_prob for step in run.steps] == pytest.approx([each.log_prob for each in path], abs=1e-5)
        assert run.log_prob == pytest.approx(node.total, abs=1e-5)
        assert [step.forced for step in run.steps] == [True, *[False] * (len(path) - 1)]
        assert run.steps[0].candidate(6).removed == "banned" and run.tree is None
        assert run.stopped == ("end token" if node.token == "</s>" else "maximum length")


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([], "is empty"),
        ([5] * 25, "25 ids cannot be followed: this model writes 1 to 24 tokens here"),
        ([77], "id 77 is outside the vocabulary"),
        ([5, 2, 6], "the end token is at position 1, and more tokens follow"),
    ],
)
def test_what_cannot_be_followed_is_refused_in_one_sentence(ids: list[int], sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        follow(ended(), "abc", ids)
    assert sentence in str(error.value)


def test_the_tree_as_plain_data_is_json_and_whole() -> None:
    tree = decode(ended(1), "abc", strategy=Beam(2, penalty="power"), max_steps=5).tree
    assert tree is not None
    told = json.loads(orjson.dumps(tree.to_dict()))
    assert (told["format"], told["answer"], told["start"]) == (1, tree.answer, [1])
    assert (told["formula"], told["settings"]["penalty"]) == (tree.beam.formula(), "power")
    assert [Hypothesis(**each) for each in told["hypotheses"]] == list(tree.nodes)


# ---- by hand: a decoder whose probabilities are written down, and what each rule makes of them


def search_by_table(monkeypatch: pytest.MonkeyPatch, table: dict[Key, list[float]], beam: Beam, most: int) -> Found:
    """The search, with a decoder that reads from a table what may follow each beginning. Token 0 is the end."""

    class State:
        device = torch.device("cpu")

        def __init__(self, *_: object, **__: object) -> None:
            self.read: list[Key] = [()]

        def step(self, new: list[list[int]]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
            self.read = [(*old, *row) for old, row in zip(self.read, new, strict=True)]
            rows = [table.get(ids[1:], [1 / 3, 1 / 3, 1 / 3]) for ids in self.read]
            return torch.tensor(rows, dtype=torch.float64).log(), {}

        def select(self, rows: list[int]) -> None:
            self.read = [self.read[row] for row in rows]

    monkeypatch.setattr(search, "DecoderState", State)
    monkeypatch.setattr(search, "whole_passes_because", lambda *_: None)
    names = ["</s>", "a", "b"]
    constraints = search.Constraints(start=[9], ends={0}, most=most)
    (found,) = search.beam_search(None, None, beam, constraints, vocabulary=names)  # type: ignore[arg-type]
    return found


TABLE: dict[Key, list[float]] = {
    (): [0.1, 0.5, 0.4],
    (1,): [0.4, 0.3, 0.3],  # a: the end is most probable, at .5 * .4 = .20
    (2,): [0.3, 0.6, 0.1],  # b a: .24; b </s>: .12
    (2, 1): [0.8, 0.1, 0.1],  # b a </s>: .192
    (1, 1): [0.5, 0.25, 0.25],
    (1, 2): [0.9, 0.05, 0.05],  # a b </s>: .5 * .3 * .9 = .135
}


@pytest.mark.parametrize(
    ("settings", "answer", "score", "steps"),
    [
        # Step 1: b a .24, a </s> .20 (finishes), a a .15, a b .15: two go on. One has finished: over.
        ({"stop": "first-finished"}, (1, 0), math.log(0.20), 2),
        # Step 2: b a </s> .192 finishes second: over; by probability .20 wins.
        ({"stop": "width-finished", "length_penalty": 0.0}, (1, 0), math.log(0.20), 3),
        # By log p / |Y| it is ln .20 / 2 = -.805 against ln .192 / 3 = -.550.
        ({"stop": "width-finished", "length_penalty": 1.0, "penalty": "power"}, (2, 1, 0), math.log(0.192) / 3, 3),
        # Without the end token |Y| is 1 and 2: -1.609 against -.825.
        (
            {"stop": "width-finished", "length_penalty": 1.0, "penalty": "power", "count_end": False},
            (2, 1, 0),
            math.log(0.192) / 2,
            3,
        ),
        # ((5 + 2) / 6)^1 = 1.167 and ((5 + 3) / 6)^1 = 1.333: -1.380 against -1.238.
        ({"stop": "width-finished", "length_penalty": 1.0}, (2, 1, 0), math.log(0.192) / (8 / 6), 3),
        # Two have finished, and those that go on have .075 and less: none is better than .192.
        ({"stop": "none-better", "length_penalty": 0.0}, (1, 0), math.log(0.20), 3),
    ],
)
def test_each_stop_rule_and_penalty_on_a_case_worked_by_hand(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], answer: Key, score: float, steps: int
) -> None:
    beam = Beam(2, **{"length_penalty": 0.0, **settings})
    found = search_by_table(monkeypatch, TABLE, beam, 6)
    assert found.tree is not None
    assert (tuple(found.ids), found.tree.steps) == (answer, steps)
    assert found.score == pytest.approx(score)


def test_a_beam_that_may_still_be_beaten_goes_on_only_under_the_default_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    # Both ends of the first two steps are poor, the line a a a ... is nearly certain.
    table: dict[Key, list[float]] = {(): [0.05, 0.94, 0.01]}
    table |= {(1,) * n: [0.04, 0.95, 0.01] for n in (1, 2)}
    table[1, 1, 1] = [0.98, 0.01, 0.01]
    answers = {}
    for stop in STOP_RULES:
        found = search_by_table(monkeypatch, table, Beam(2, length_penalty=0.0, stop=stop), 8)
        assert found.tree is not None
        answers[stop] = (tuple(found.ids), found.tree.steps)
    assert answers["first-finished"] == ((0,), 1)
    assert answers["width-finished"] == ((0,), 2)
    assert answers["none-better"][0] == (1, 1, 1, 0)


@pytest.mark.parametrize(
    "settings",
    [{}, {"penalty": "power"}, {"penalty": "power", "length_penalty": 2.0, "count_end": False}, {"count_end": False}],
)
def test_a_beam_as_wide_as_all_answers_finds_the_best_of_them(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    numbers, most = torch.Generator().manual_seed(5), 4
    table = {}
    for length in range(most):
        for body in product((1, 2), repeat=length):
            weights = torch.rand(3, generator=numbers) + 0.1
            table[body] = (weights / weights.sum()).tolist()
    beam, every = Beam(40, **settings).filled(), {}
    for length in range(most):
        for body in product((1, 2), repeat=length):
            ids = (*body, 0)
            total = sum(math.log(table[ids[:t]][i]) for t, i in enumerate(ids))
            counted = len(ids) - (not beam.count_end)
            every[ids] = total / penalty(beam, counted)
    found = search_by_table(monkeypatch, table, beam, most)
    assert found.tree is not None
    assert {found.tree.ids(n.index): pytest.approx(n.score) for n in found.tree.finished} == every
    assert tuple(found.ids) == max(every, key=lambda ids: every[ids])
