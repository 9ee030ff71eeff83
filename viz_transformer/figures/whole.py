"""The whole run as one self-contained, animated picture: from the text that is read to the answer."""

from __future__ import annotations

from viz_transformer import __version__
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.run.whole import whole_run
from viz_transformer.figures.components.scrubber import steps_of
from viz_transformer.figures.components.standalone import HtmlFigure
from viz_transformer.figures.components.whole import Names, RunText, whole_payload
from viz_transformer.figures.details import details_of, run_id, with_details
from viz_transformer.figures.labels import file_name
from viz_transformer.model.kinds import kinds_of
from viz_transformer.running.decoding import Run
from viz_transformer.running.trace import Trace
from viz_transformer.sentences import quote

HEIGHT_ALONE = 600


def run(run: Run | Trace, *, head: int | None = None) -> HtmlFigure:
    """The run as one picture: what each layer adds, what each token takes from others, what is written, step by step.

    head: the head whose attention weights the ribbons show, in every layer; without it the mean, in grey. The picture
    of a trace, which writes nothing, has no steps. It can be looked into down to the multiplications of one weight;
    where that would be more than 8 MB, only into the layer and the head that are chosen first, and it says so. Every
    number of it is one of the run: samples of the stream as recorded, weights, shares of lengths, probabilities. Raises
    ValueError for a head that not every attention has, and for a trace without the points of the stream.
    """
    if not isinstance(run, Run | Trace):
        raise ValueError(f"the picture is drawn of a run or a trace, not {quote(run)}: vt.decode and vt.trace make one")
    trace, steps = (run.trace, run.steps) if isinstance(run, Run) else (run, ())
    whole = whole_run(trace, head=head)
    first = step_row(run, 0) if isinstance(run, Run) else 0
    title = "The whole run" if head is None else f"The whole run, head {head} of every layer"
    text = RunText(
        steps=steps_of(run) if isinstance(run, Run) else (),
        first_row=first,
        vocabulary=len(steps[0].vocabulary) if steps else 0,
        answer=run.text if isinstance(run, Run) else "",
    )
    names = Names(
        title=title,
        caption=f"{trace.called}, whole run (Viz Transformer {__version__})",
        file=file_name(trace.checkpoint, "whole run"),
    )
    data = whole_payload(whole, text, names, of=run_id(trace), height=HEIGHT_ALONE)
    kind, layer = kinds_of(trace.spec)[0], 0
    data = with_details(data, details_of(trace, kind=kind, layer=layer, head=head))
    chosen = {"kind": kind, "layer": layer, "heads": "mean" if head is None else [head]}
    return HtmlFigure("whole", data, title, {**chosen, "t": first} if steps else chosen)
