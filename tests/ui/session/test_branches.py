"""Branches of an answer: each is the run that its forced tokens make of its parent, and a person can change them."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders import tiny_checkpoint
from wording import wording

from viz_transformer.checkpoint.contents import Summary
from viz_transformer.running.decoding import decode
from viz_transformer.ui.session import branches, cached, state
from viz_transformer.ui.session.generation_config import MAX_BRANCHES, SEARCHED, Branch, GenerationConfig

CKPT = tiny_checkpoint(seed=1)
SUMMARY = Summary("tiny", Path("tiny"), CKPT.config, {}, {})


@pytest.fixture
def fields(monkeypatch: pytest.MonkeyPatch) -> dict:
    """A selection outside any page, and runs of a tiny model that are kept nowhere."""

    def run(summary, text, target=None, how=cached.GREEDILY, progress=None):
        options = {"strategy": how.value(), "prefix": how.prefix or None, "force": dict(how.force), "ban": how.ban}
        return decode(CKPT, text, **options)

    chosen = {**state.DEFAULTS, "text": "abc"}
    monkeypatch.setattr(cached, "run", run)
    monkeypatch.setattr(state, "selection", lambda: chosen)
    monkeypatch.setattr(state, "select", lambda **changes: chosen.update(changes))
    monkeypatch.setattr(state, "say_next", lambda sentence: chosen.update(said=sentence))
    return chosen


def ids_of(how: GenerationConfig) -> list[int]:
    return [step.token_id for step in cached.run(SUMMARY, "abc", how=how).steps]


def test_the_trunk_is_what_the_strategy_writes(fields):
    fields.update(strategy="sampling", sampling=(2.0, 0, 1.0, 0.0, 1.0, 3), ban=(7,), prefix="uv")
    how = branches.how_of(SUMMARY, fields, 0)
    assert how == GenerationConfig("sampling", (2.0, 0, 1.0, 0.0, 1.0, 3), (7,), "uv")


@pytest.mark.parametrize("strategy", ["greedy", "sampling", "beam"])
def test_a_branch_begins_as_its_parent_and_goes_on_by_itself(fields, strategy):
    fields.update(strategy=strategy, sampling=(2.0, 0, 1.0, 0.0, 1.0, 3), beam=(3, *SEARCHED[1:]))
    trunk = ids_of(branches.how_of(SUMMARY, fields, 0))
    fields["branches"] = (Branch(0, 4, (9,), "one"),)
    one = ids_of(branches.how_of(SUMMARY, fields, 1))
    assert one[:5] == [*trunk[:4], 9]
    fields["branches"] += (Branch(1, 6, (5, 6), "two"), Branch(1, 2, (8,), "early"))
    assert ids_of(branches.how_of(SUMMARY, fields, 2))[:8] == [*one[:6], 5, 6]
    assert ids_of(branches.how_of(SUMMARY, fields, 3))[:3] == [*trunk[:2], 8]  # before the token that its parent forces


def test_only_tokens_that_were_taken_are_forced_where_the_strategy_writes_the_rest_again(fields):
    fields["branches"] = (Branch(0, 4, (9,), "one"), Branch(1, 6, (5,), "two"))
    assert branches.how_of(SUMMARY, fields, 2).force == ((4, 9), (6, 5))
    fields["prefix"] = "uv"
    assert branches.how_of(SUMMARY, fields, 2).prefix == "uv"
    fields["branches"] = (Branch(0, 0, (9,), "anew"),)
    assert branches.how_of(SUMMARY, fields, 1) == GenerationConfig(force=((0, 9),), branch="anew")


def test_a_branch_behind_the_end_of_its_parent_is_refused_with_a_sentence(fields):
    fields["branches"] = (Branch(0, 99, (9,), "late"),)
    with pytest.raises(ValueError, match="the branch 'late' begins at step 100, and what it grows from has"):
        branches.how_of(SUMMARY, fields, 1)


def test_a_token_that_is_taken_grows_a_branch_which_is_then_looked_at(fields):
    branches.grow(3, (9,), "<pin>", first_row=2)
    assert fields["branches"] == (Branch(0, 3, (9,), "pin"),)
    assert (fields["branch"], fields["branch_b"], fields["t"]) == (1, 0, 5)
    branches.grow(5, (4,), "pin", first_row=0)
    assert fields["branches"][1] == Branch(1, 5, (4,), "pin 2")
    branches.look_at(0)
    assert (fields["branch"], fields["branch_b"]) == (0, 2)
    branches.grow(3, (9,), "again", first_row=0)
    assert len(fields["branches"]) == 2 and fields["branch"] == 1  # it was there already


def test_there_are_only_so_many_branches(fields):
    for token in range(MAX_BRANCHES + 1):
        fields["branch"] = 0
        branches.grow(1, (token,), "x", first_row=0)
    assert len(fields["branches"]) == MAX_BRANCHES
    assert fields["said"] == wording("there_are_branches_already_close_one_first", MAX_BRANCHES)


def test_a_branch_is_renamed_to_what_a_name_can_have(fields):
    fields["branches"] = (Branch(0, 1, (9,), "one"), Branch(0, 1, (8,), "two"))
    branches.rename(2, "<i>three;")
    assert fields["branches"][1].name == "ithree"
    branches.rename(2, "…")
    assert fields["branches"][1].name == "ithree"
    branches.rename(2, "one")
    assert fields["branches"][1].name == "one 2"


def test_closing_what_is_looked_at_falls_back_to_its_parent(fields):
    fields["branches"] = (Branch(0, 1, (9,), "one"), Branch(1, 3, (8,), "two"), Branch(2, 5, (7,), "three"))
    fields.update(branch=3, branch_b=2)
    branches.close(2)
    assert fields["branches"] == (Branch(0, 1, (9,), "one"),)
    assert (fields["branch"], fields["branch_b"]) == (1, None)
