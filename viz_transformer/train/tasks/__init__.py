"""The trainable tasks, by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from viz_transformer.train.tasks import copying, numbers, shakespeare, taylor, translation
from viz_transformer.train.tasks.task import Task

TASKS: Mapping[str, Task] = {
    task.name: task for task in (*numbers.TASKS, *translation.TASKS, *taylor.TASKS, *copying.TASKS, *shakespeare.TASKS)
}


def find_task(name: str) -> Task:
    """The task with this name. Raises ValueError with near matches if there is none."""
    if name not in TASKS:
        near = difflib.get_close_matches(name, TASKS, n=2)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"choose {' or '.join(map(repr, TASKS))}"
        raise ValueError(f"there is no task {name!r:.60}: {hint}")
    return TASKS[name]
