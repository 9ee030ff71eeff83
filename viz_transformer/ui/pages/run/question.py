"""The question of Run: where did the model look when it wrote this token, and how sure was it?

At the last stop of the tour of a model that generates nothing: its output for the text.
"""

from __future__ import annotations

import math

from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.attention.picture import Picture
from viz_transformer.analysis.run.filling import filling, fills_masks, masked_positions
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import exponential, percent
from viz_transformer.ui.frame import frame
from viz_transformer.ui.frame.questions import Question, cite, where
from viz_transformer.ui.pages.run import labels_view, reading_view, words
from viz_transformer.ui.session.runs import RunView


def question(shown: RunView, picture: Picture, position: int, heads: tuple[int, ...] | str) -> Question | None:
    """The question on where the chosen heads look from this position, with the probability of the token that its step
    wrote."""
    asked = where(shown, picture, position, heads)
    step = position - step_row(shown.run, 0)
    if asked is None or picture.rows.writes is None or not 0 <= step < len(shown.run.steps):
        return asked
    written = shown.run.steps[step]
    sure = words.gave(cite(written.token), percent(exponential(written.log_prob)))
    if math.isnan(written.log_prob):
        sure = words.gave_no_number(cite(written.token))
    return Question(asked.asks, f"{asked.answer} {sure}")


def chosen_question(shown: RunView, picture: Picture, first_row: int | None = None) -> Question | None:
    """The question on the selected row; first_row: as in `frame.clamp_to_run`."""
    chosen = frame.clamp_to_run(shown, first_row)
    return question(shown, picture, chosen[KINDS[chosen["kind"]].queries.field], chosen["heads"])


def at_stop(shown: RunView) -> tuple[str, ...]:
    """The sentences at the tour's stop: labels of the text or the chosen token, the filling of the chosen mask, or the
    number of vectors."""
    spec = shown.trace.spec
    if shown.run.labels:
        at = labels_view.select_labels(shown).position
        what = words.THIS_TEXT if at is None else cite(shown.trace.src_originals[at])
        return words.gives_labels(spec), words.for_text(what, labels_view.question(shown).answer)
    if fills_masks(spec):
        return words.GIVES[spec.output], _describe_filling(shown)
    why = spec.missing.get("logits")
    first = words.GIVES[spec.output] if why is None else words.writes_nothing(why)
    return first, words.becomes(len(shown.trace.src), spec.d_model)


def _describe_filling(shown: RunView) -> str:
    """The sentence on the filling at the chosen mask, else at the first; without one, at the chosen token."""
    codec = shown.ckpt.codec("source")
    found, masked = reading_view.select_filling(shown)
    masks = masked_positions(shown.trace, codec.mask)
    if masks and not masked:
        found = filling(shown.trace, masks[0], codec.names)
    best = found.candidates[0]
    given = cite(best.token), percent(exponential(best.log_prob))
    if masks:
        return words.fills_mask(found.position, *given)
    return words.gives_at(cite(shown.trace.src_originals[found.position]), *given)


def ringed(shown: RunView) -> tuple[str, ...]:
    """The selectors to ring: the label of the text, or the tokens of the labels, masks and vectors."""
    tokens = (".st-key-run_strip >>> .chips", ".st-key-question")
    if shown.run.labels and labels_view.select_labels(shown).position is None:
        return (".st-key-answer", *tokens)
    return tokens
