"""The fields of the page Models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from viz_transformer.ui.pages.models import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import NUMBER, matching, one_of, text_of_at_most, url_field

TABS = ("card", "architecture", "curves", "data", "errors", "doctor", "open", "train", "new", "training")
Answers = Literal["all", "wrong", "right"]
LONGEST_FIND, LONGEST_NAME = 100, 300


@dataclass(frozen=True, kw_only=True)
class Models:
    """The page's fields in the address."""

    model_tab: str = url_field("card", one_of(TABS))
    """The tab."""
    model_answers: Answers = url_field("all", one_of(get_args(Answers)))
    """The kind of answers that is listed."""
    model_find: str = url_field("", text_of_at_most(LONGEST_FIND))
    """Words that these answers contain."""
    model_other: str = url_field("", text_of_at_most(LONGEST_NAME))
    """The name of the model to compare answers with; "" for the pinned run's."""
    model_recipe: str = url_field("", matching(r"(new:[^:]{1,100}:[a-z0-9:-]{1,80})?", words.NEW_MODEL_NAME))
    """The name of the new model that is being configured."""
    model_snapshot: int | None = url_field(None, NUMBER, picked=True)
    """A training step; None for the last."""


FIELDS = state.declare(Models)
