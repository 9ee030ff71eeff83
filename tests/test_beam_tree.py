"""What a beam's tree says of its hypotheses is true of the search."""

from __future__ import annotations

import re

import pytest
from builders import tiny_checkpoint

from viz_transformer.beam_tree import BeamTree, Hypothesis
from viz_transformer.decoding import decode
from viz_transformer.strategies import Beam


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
            assert f"by {node.margin:.2f}" in said and f"step {node.ended}" in said


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
        assert re.search(r"in step (\d+)\.$", said)[1] == str(step)  # type: ignore[index]
        if through:
            assert any(ends[each.fate] in said for each in through if each.ended == step)


def test_an_unknown_hypothesis_is_refused(tree: BeamTree) -> None:
    for index in (-1, len(tree.nodes)):
        with pytest.raises(ValueError, match=f"there is no hypothesis {index}: the tree has 0 to"):
            tree.why(index)
