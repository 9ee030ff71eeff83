"""Which forward pass the decoder's rows on a page come from: the sentence that says so, and the words of captions.

Where a row depends on later tokens, every step of a run is a pass of its own, and the rows of the last one are not
those that wrote the tokens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from viz_transformer.figures import labels
from viz_transformer.sentences import capitalised

if TYPE_CHECKING:
    from viz_transformer.running.trace import Trace
    from viz_transformer.ui.session.runs import RunView

ELSEWHERE = (
    "Of its row each step kept attention weights and logits: Run (as one map), Decoding and Attention can show the"
    " weights."
)
LONGEST = 200
"""A reason may come out of a file."""


def sentence(trace: Trace) -> str | None:
    """Whose rows these are; None where no row depends on later tokens, so that there are no others."""
    if trace.non_causal_reason is None:
        return None
    because = capitalised(labels.shorten(labels.sentence(trace.non_causal_reason), LONGEST))
    if "written" not in trace.info:
        return f"{because}: every row is of one pass over the whole text. No step was run, so none has rows of its own."
    wrote = "was given" if trace.info.get("kind") == "teacher-forced" else "wrote"
    begins = f"{because}: every step was a whole pass over the tokens so far, with rows and probabilities of its own."
    if trace.is_per_step:
        return (
            f"{begins} Each decoder row here is that of the step that {wrote} its token; a row without a step, and a"
            " key that came later, is not there."
        )
    return (
        f"{begins} Decoder rows here are those of the last pass: the step that {wrote} a token may have looked"
        " elsewhere."
    )


def describe_passes(shown: RunView, *, elsewhere: bool) -> str | None:
    """The sentence for a run on a page; `elsewhere` adds which pages show each step's own rows, where there are any."""
    said = sentence(shown.trace)
    return f"{said} {ELSEWHERE}" if said and elsewhere and has_per_step_rows(shown) else said


def has_per_step_rows(shown: RunView) -> bool:
    """Whether steps had rows of their own and kept the weights of all of them."""
    own = shown.run.per_step_rows
    sites = own.spec.attentions
    return own.is_per_step and all(f"{site}.weights" in own for site in sites if site.startswith("decoder."))


def with_per_step_rows(shown: RunView) -> RunView:
    """The run with each step's own rows, if they were kept."""
    return replace(shown, own=True) if has_per_step_rows(shown) else shown
