"""The branches of an answer: which run each one is, and what a person does to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from viz_transformer.numerals import nth
from viz_transformer.ui.session import cached, state
from viz_transformer.ui.session.generation_config import (
    MAX_BRANCHES,
    MAX_IDS,
    Branch,
    GenerationConfig,
    drop_branch,
    name_of,
)

if TYPE_CHECKING:
    from viz_transformer.checkpoint.contents import Summary
    from viz_transformer.running.search import Progress

TRUNK_NAME = "answer"


def how_of(
    summary: Summary, fields: Mapping[str, Any], number: int, *, progress: Progress | None = None
) -> GenerationConfig:
    """How branch `number` of these fields of a selection is written; 0 is the strategy's own answer.

    A branch is what the strategy writes when single steps are forced: those of its own, and of its ancestors those
    before its first. A beam would search otherwise, so it is forced to begin with all that the parent wrote up to
    there; so is a branch that leaves the beginning that was given. Raises ValueError for a branch that its parent is
    too short for, and for what cannot be decoded. A model that writes nothing has no branches: it reads.
    """
    if not summary.spec.writes:
        return GenerationConfig(masked=fields["masked"], read=fields["read_as"])
    base = state.how(fields)
    if number == 0:
        return base
    branch: Branch = fields["branches"][number - 1]
    parent = how_of(summary, fields, branch.parent, progress=progress)
    before: Mapping[int, int] = {}
    prefix = ""
    if branch.step:
        run = cached.run(summary, fields["text"], how=parent, progress=progress)
        if branch.step > len(run.steps):
            raise ValueError(
                f"the branch {branch.name!r} begins at step {nth(branch.step)}, and what it grows from has"
                f" {len(run.steps)}"
            )
        given = sum(step.forced for step in run.steps) - len(parent.force) if parent.prefix else 0
        if base.strategy == "beam" or branch.step < given:
            before = {step.index: step.token_id for step in run.steps}
        else:
            before, prefix = dict(parent.force), parent.prefix
    force = {step: token for step, token in before.items() if step < branch.step}
    force |= {branch.step + place: token for place, token in enumerate(branch.ids)}
    return replace(base, prefix=prefix, force=tuple(sorted(force.items())), branch=branch.name)


def name(branches: Sequence[Branch], number: int) -> str:
    """What a branch is called; the strategy's own answer has a name as well."""
    return TRUNK_NAME if number == 0 else branches[number - 1].name


def grow(step: int, ids: Sequence[int], called: str, *, first_row: int) -> None:
    """Add a branch to the chosen one, with these ids from this step on, and choose it."""
    chosen = state.selection()
    branches: tuple[Branch, ...] = chosen["branches"]
    if len(branches) >= MAX_BRANCHES or len(ids) > MAX_IDS:
        state.say_next(
            f"There are {MAX_BRANCHES} branches already: close one first."
            if len(branches) >= MAX_BRANCHES
            else f"A branch begins with at most {MAX_IDS} tokens of its own."
        )
        return
    new = Branch(chosen["branch"], step, tuple(ids), _free(name_of(called) or "branch", branches))
    same = [
        n
        for n, each in enumerate(branches, start=1)
        if (each.parent, each.step, each.ids) == (new.parent, step, new.ids)
    ]
    number = same[0] if same else len(branches) + 1
    state.select(
        branches=branches if same else (*branches, new),
        branch=number,
        branch_b=chosen["branch"],
        t=first_row + step,
    )


def rename(number: int, called: str) -> None:
    """Call a branch by another name; signs that a name cannot have are left out, an empty name changes nothing."""
    branches: list[Branch] = list(state.selection()["branches"])
    if cleaned := name_of(called):
        others = branches[: number - 1] + branches[number:]
        branches[number - 1] = replace(branches[number - 1], name=_free(cleaned, others))
        state.select(branches=tuple(branches))


def close(number: int) -> None:
    """Remove a branch and those that grow from it, and choose its parent."""
    branches: tuple[Branch, ...] = state.selection()["branches"]
    state.select(
        branches=drop_branch(branches, number),
        branch=branches[number - 1].parent if branches[number - 1].parent < number else 0,
        branch_b=None,
    )


def look_at(number: int) -> None:
    """Choose a branch, and compare it with the one chosen before."""
    before = state.selection()["branch"]
    if number != before:
        state.select(branch=number, branch_b=before)


def _free(called: str, branches: Sequence[Branch]) -> str:
    """The name, with a number after it if another branch has it."""
    names = {branch.name for branch in branches} | {TRUNK_NAME}
    if called not in names:
        return called
    return next(f"{called[:20]} {n}" for n in range(2, MAX_BRANCHES + 3) if f"{called[:20]} {n}" not in names)
