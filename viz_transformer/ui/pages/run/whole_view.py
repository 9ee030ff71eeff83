"""The whole run in one picture; A and B below each other."""

from __future__ import annotations

import pandas as pd

from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.run.whole import WholeRun, story, whole_run
from viz_transformer.figures import labels
from viz_transformer.figures.components.scrubber import steps_of
from viz_transformer.figures.components.whole import whole_payload
from viz_transformer.ui.components.pictures import whole as whole_picture
from viz_transformer.ui.frame import pictures, text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.session import state
from viz_transformer.ui.session.runs import Shown


def show(both: Runs) -> None:
    """The picture of what is looked at, of both where they are compared."""
    shown = (both.a, both.b) if both.compared and both.b is not None else (both.main,)
    for number, each in enumerate(shown):
        try:
            _picture(each, key=f"run_whole_{number}", title=each.name if len(shown) > 1 else "")
        except ValueError as error:
            text.paragraph(f"{error}.", tone="bad")


def _picture(shown: Shown, *, key: str, title: str) -> None:
    run = shown.run
    found = whole_run(run.trace, head=_head(shown))
    first = step_row(run, 0)
    name = labels.file_name(shown.summary.name, "whole run")
    data = whole_payload(
        found,
        steps_of(run),
        first_row=first,
        vocabulary=shown.trace.anatomy.target_vocab_size or 0,
        answer=run.text,
        title=title,
        caption=shown.caption("whole run"),
        name=name,
    )
    row = max(first, min(state.SHARED.now().t or first, first + len(run.steps) - 1))
    whose = "the mean of the heads" if found.head is None else f"head {found.head}"
    asked = pictures.table(
        lambda: _table(found, row),
        note=f"{shown.caption('whole run')}. What each sub-layer does at the last token read, by {whose}.",
        name=f"{name}-row-{row}",
        key=key,
    )
    whole_picture(data, key=key, on_table=asked)


def _head(shown: Shown) -> int | None:
    """The head that is chosen, where every attention of this model has it; else the mean is drawn."""
    heads = state.SHARED.now().heads
    if isinstance(heads, str) or len(heads) > 1:
        return None
    fewest = min(each.query for each in shown.trace.anatomy.attentions.values())
    return heads[0] if heads[0] < fewest else None


def _table(found: WholeRun, row: int) -> pd.DataFrame:
    rows = [(told.title, told.key or "", told.weight, told.share) for told in story(found, row)]
    return pd.DataFrame(rows, columns=["sub-layer", "takes most from", "weight", "share added"])
