"""What Run asks of a run: where did the model look when it wrote this token, and how sure was it?"""

from __future__ import annotations

import math

from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.attention.picture import Picture
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import exponential, percent
from viz_transformer.ui.frame import frame
from viz_transformer.ui.frame.questions import Question, cited, where
from viz_transformer.ui.pages.run import words
from viz_transformer.ui.session.runs import RunView


def question(shown: RunView, picture: Picture, position: int, heads: tuple[int, ...] | str) -> Question | None:
    """Where the chosen heads look from this position, and the probability of the token that its step wrote."""
    asked = where(shown, picture, position, heads)
    step = position - step_row(shown.run, 0)
    if asked is None or picture.rows.writes is None or not 0 <= step < len(shown.run.steps):
        return asked
    written = shown.run.steps[step]
    sure = words.gave(cited(written.token), percent(exponential(written.log_prob)))
    if math.isnan(written.log_prob):
        sure = words.gave_no_number(cited(written.token))
    return Question(asked.asks, f"{asked.answer} {sure}")


def chosen_question(shown: RunView, picture: Picture, first_row: int | None = None) -> Question | None:
    """The same of the row that is selected; first_row: as `frame.of_run` has it."""
    chosen = frame.of_run(shown, first_row)
    return question(shown, picture, chosen[KINDS[chosen["kind"]].queries.field], chosen["heads"])
