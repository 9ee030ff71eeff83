"""What Run says at a stop of the tour: where the tour begins by itself, what is read; of a model that writes nothing,
what it makes of the text."""

from __future__ import annotations

from viz_transformer.analysis.run.filling import filling, fills_masks, masked_positions
from viz_transformer.numerals import exponential, percent
from viz_transformer.ui.frame.questions import cited
from viz_transformer.ui.pages.run import labels_view, reading_view
from viz_transformer.ui.pages.run.words import GIVES
from viz_transformer.ui.session.runs import Shown


def made_of_text(shown: Shown) -> tuple[str, ...]:
    """The labels of the text or of the chosen token, what fills the chosen mask, or how many vectors there are."""
    anatomy = shown.trace.anatomy
    if shown.run.labels:
        at = labels_view.chosen(shown).position
        what = "this text" if at is None else cited(shown.trace.src_originals[at])
        return labels_view.gives(anatomy), f"For {what}: {labels_view.question(shown).answer}"
    if fills_masks(anatomy):
        return GIVES[anatomy.output], _filled(shown)
    count = len(shown.trace.src)
    vectors = f"{count:,} vector{'s' if count > 1 else ''} of {anatomy.d_model:,} numbers"
    why = anatomy.missing.get("logits")
    first = GIVES[anatomy.output] if why is None else f"This model writes nothing: {why}."
    return first, f"This text becomes {vectors}, one for each token."


def _filled(shown: Shown) -> str:
    """What is given at the chosen mask, else at the first; in a text without one, at the chosen token."""
    codec = shown.ckpt.codec("source")
    found, masked = reading_view.chosen(shown)
    masks = masked_positions(shown.trace, codec.mask)
    if masks and not masked:
        found = filling(shown.trace, masks[0], codec.names)
    best = found.candidates[0]
    given = f"it gives {cited(best.token)} {percent(exponential(best.log_prob))}"
    if masks:
        return f"In the place of the mask at position {found.position} {given}."
    read = cited(shown.trace.src_originals[found.position])
    return f"At {read} {given}. It reads that token itself, so this is no guess: mask it to see one."


def ringed(shown: Shown) -> tuple[str, ...]:
    """Where the ring is: around the label of the text, or the tokens that labels, masks and vectors are of."""
    tokens = (".st-key-run_strip >>> .chips", ".st-key-question")
    if shown.run.labels and labels_view.chosen(shown).position is None:
        return (".st-key-answer", *tokens)
    return tokens
