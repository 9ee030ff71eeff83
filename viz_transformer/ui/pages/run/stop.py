"""What Run says at a stop of the tour: where the tour begins by itself, what is read; of a model that writes nothing,
what it makes of the text."""

from __future__ import annotations

from viz_transformer.analysis.run.filling import filling, fills_masks, masked_positions
from viz_transformer.numerals import exponential, percent
from viz_transformer.ui.frame.questions import cited
from viz_transformer.ui.pages.run import labels_view, reading_view, words
from viz_transformer.ui.session.runs import RunView


def made_of_text(shown: RunView) -> tuple[str, ...]:
    """The labels of the text or of the chosen token, what fills the chosen mask, or how many vectors there are."""
    spec = shown.trace.spec
    if shown.run.labels:
        at = labels_view.chosen(shown).position
        what = words.THIS_TEXT if at is None else cited(shown.trace.src_originals[at])
        return words.gives_labels(spec), words.for_text(what, labels_view.question(shown).answer)
    if fills_masks(spec):
        return words.GIVES[spec.output], _filled(shown)
    why = spec.missing.get("logits")
    first = words.GIVES[spec.output] if why is None else words.writes_nothing(why)
    return first, words.becomes(len(shown.trace.src), spec.d_model)


def _filled(shown: RunView) -> str:
    """What is given at the chosen mask, else at the first; in a text without one, at the chosen token."""
    codec = shown.ckpt.codec("source")
    found, masked = reading_view.chosen(shown)
    masks = masked_positions(shown.trace, codec.mask)
    if masks and not masked:
        found = filling(shown.trace, masks[0], codec.names)
    best = found.candidates[0]
    given = cited(best.token), percent(exponential(best.log_prob))
    if masks:
        return words.fills_mask(found.position, *given)
    return words.gives_at(cited(shown.trace.src_originals[found.position]), *given)


def ringed(shown: RunView) -> tuple[str, ...]:
    """Where the ring is: around the label of the text, or the tokens that labels, masks and vectors are of."""
    tokens = (".st-key-run_strip >>> .chips", ".st-key-question")
    if shown.run.labels and labels_view.chosen(shown).position is None:
        return (".st-key-answer", *tokens)
    return tokens
