"""One line in a notebook: a run or a trace as the picture that a page shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Literal, cast, get_args

import numpy as np

from viz_transformer import declared
from viz_transformer.analysis.attention.axes import Axis
from viz_transformer.analysis.attention.maps import (
    AttentionPicture,
    HeadsCombined,
    attention_picture,
    axes_of,
    describe_spread,
    head_views,
    layer_count,
    layer_weights,
    names_of,
    step_row,
    unseen_layers,
    valid_mask,
)
from viz_transformer.analysis.attention.picture import HEIGHT, Picture
from viz_transformer.figures import labels, whole
from viz_transformer.figures.attention import head_grid
from viz_transformer.figures.components.beam_tree import beam_tree_payload
from viz_transformer.figures.components.scrubber import WrittenSteps, scrubber_payload, steps_of
from viz_transformer.figures.components.standalone import HtmlFigure
from viz_transformer.figures.labels import file_name
from viz_transformer.given import POSITIONS, TEXT, Accepted, is_whole, takes
from viz_transformer.model.kinds import KINDS, KindName, kinds_of
from viz_transformer.running.decoding import Run
from viz_transformer.running.trace import Trace
from viz_transformer.sentences import quote

if HAS_WIDGETS := find_spec("anywidget") is not None:
    from viz_transformer.figures.components.widget import FigureWidget, share_selection

Form = Literal["map", "lines", "text"]
HEADS = Accepted(
    lambda value: value is None or isinstance(value, str) or is_whole(value) or POSITIONS.accepts(value),
    "a head, a list of heads, 'mean' or 'max'",
)


@takes(what=TEXT, head=HEADS, form=TEXT)
def show(
    run: Run | Trace | Picture,
    what: str = "",
    *,
    head: int | Sequence[int] | HeadsCombined | None = None,
    form: Form = "map",
) -> HtmlFigure:
    """A picture of the run: a notebook shows it, and its `save("map.html")` writes it as one file.

    what: an attention, "decoder.1.cross": the map of one head, of the "max" or, without a head, of the mean, which the
    title says; with `form` it is drawn as "lines" or as shaded "text" instead, and several heads are lines in colours.
    A kind of attention, "cross", "decoder" or "encoder": all its heads as thumbnails. "run": all of it as
    one picture, from the text to the answer, with the weights of one head or their mean. Of a decoded run also "steps":
    the candidates of each step; of a beam search "tree": all hypotheses that it considered.
    A `Picture` is drawn as it is, such as one of an array of your own (`Picture.of`).
    Of an imported model it says above how well it is known that it is read right.
    With anywidget (the extra `notebook`) it is a widget as well: `selection` is what is picked in it, and may be set
    and observed (`FigureWidget`); `link` makes several share theirs.
    Raises ValueError with one sentence for what the run does not have, with the nearest names.
    """
    figure = _figure(run, what, head, form)
    return FigureWidget(**vars(figure)) if HAS_WIDGETS else figure


def link(*figures: HtmlFigure) -> None:
    """Link pictures of `show`, so that what is picked in one of them is picked in all.

    Where they differ at first, the first one's selection counts. A picture shows what it has a place for: a map of one
    head marks the query and the key, and not the head.
    Raises ValueError for anything else than two or more such pictures, and where anywidget is not installed.
    """
    if not HAS_WIDGETS:
        raise ValueError("pictures are linked by anywidget: install it with pip install 'viz-transformer[notebook]'")
    widgets = [each for each in figures if isinstance(each, FigureWidget)]
    if len(widgets) != len(figures):
        other = next(each for each in figures if not isinstance(each, FigureWidget))
        raise ValueError(f"link takes pictures that vt.show made, not {quote(other)}")
    if len(widgets) < 2:
        raise ValueError("link takes two pictures or more, such as vt.link(first, second)")
    share_selection(widgets)


def _figure(
    run: Run | Trace | Picture, what: str, head: int | Sequence[int] | HeadsCombined | None, form: Form
) -> HtmlFigure:
    if isinstance(run, Picture):
        axes = (_named_axis(run.rows, "row"), _named_axis(run.columns, "column"))
        return HtmlFigure("matrix", replace(run, axes=axes).pack(exact=True, why=()), run.meta.title)
    if not isinstance(run, Run | Trace):
        raise ValueError(f"show draws a run or a trace, not {quote(run)}: vt.decode and vt.trace make one")
    trace = run.trace if isinstance(run, Run) else run
    figure, standing = _draw(run, trace, what, head, form), trace.standing
    if standing is None:
        return figure
    return replace(figure, note=f"{trace.checkpoint}: {standing.words}", tone=standing.tone)


def _named_axis(axis: Axis, field: Literal["row", "column"]) -> Axis:
    """The axis; one for which the app's selection has no word gets this one."""
    return axis if axis.field else replace(axis, field=field)


def _draw(
    run: Run | Trace, trace: Trace, what: str, head: int | Sequence[int] | HeadsCombined | None, form: Form
) -> HtmlFigure:
    kinds = {str(kind): KINDS[kind] for kind in kinds_of(trace.spec)}
    sites = {
        kind.site(layer): (kind.name, layer) for kind in kinds.values() for layer in range(kind.layers(trace.spec))
    }
    others, name = [*kinds, "run", *(("steps", "tree") if isinstance(run, Run) else ())], what.removesuffix(".weights")
    if name not in (*sites, *others):
        near = get_close_matches(name, (*sites, *others), n=3) or [next(iter(sites)), *others]
        raise ValueError(f"there is nothing to show named {quote(what)}: choose {' or '.join(map(repr, near))}")
    if name in sites:
        return _attention(trace, *sites[name], head, form)
    if name == "run" and form == "map" and (head is None or isinstance(head, int)):
        return whole.run(run, head=head)
    if head is not None or form != "map":
        raise ValueError(f"head and form belong to one attention, such as {next(iter(sites))!r}: {name!r} has neither")
    if name in kinds:
        return _heads(trace, kinds[name].name)
    assert isinstance(run, Run)
    return _steps(run) if name == "steps" else _tree(run)


def _attention(
    trace: Trace, kind: KindName, layer: int, head: int | Sequence[int] | HeadsCombined | None, form: Form
) -> HtmlFigure:
    declared.one_of("form", form, get_args(Form))
    heads = head if head is None or isinstance(head, int | str) else tuple(head)
    if heads == ():
        raise ValueError("no head was given: leave head out for the mean of all")
    made = attention_picture(trace, kind, layer, heads)
    if made.sums:
        made = made.with_meta(unit=f"{made.meta.unit}; {made.sums}")
    if made.heads is not None:
        return _draw_several(trace, made, cast("tuple[int, ...]", heads))
    if form == "map":
        return HtmlFigure("matrix", made.pack(exact=True), made.meta.title)
    made = made.with_meta(scale="derived" if made.derived else kind)  # weights below 0 have neither lines nor shades
    data = made.pack_lines(height=HEIGHT) if form == "lines" else made.pack_text()
    return HtmlFigure("lines" if form == "lines" else "shading", data, made.meta.title)


def _draw_several(trace: Trace, made: AttentionPicture, heads: Sequence[int]) -> HtmlFigure:
    """The lines of several heads, each with a mask of its own."""
    assert made.heads is not None
    module = f" ({made.module})" if made.module else ""
    place = f"{KINDS[made.kind].stack} layer {made.layer}, {KINDS[made.kind].attention}-attention{module}"
    named = names_of(trace).meta(f"{place}, heads {', '.join(map(str, heads))}", made.kind)
    masks = np.stack([each.mask for each in head_views(trace, made.kind, made.layer, heads)])
    made = replace(made, heads=replace(made.heads, mask=masks))
    made = made.with_meta(title=named.title, caption=named.caption, name=named.name, scale=made.kind)
    return HtmlFigure("lines", made.pack_lines(height=HEIGHT), made.meta.title)


def _heads(trace: Trace, kind: KindName) -> HtmlFigure:
    unseen = unseen_layers(trace, kind)
    if len(unseen) == layer_count(trace, kind):
        raise ValueError(next(iter(unseen.values())))
    seen = {
        layer: layer_weights(trace, kind, layer) for layer in range(layer_count(trace, kind)) if layer not in unseen
    }
    spare = next(iter(seen.values()))
    weights, mask = zip(*(seen.get(layer, spare) for layer in range(layer_count(trace, kind))), strict=True)
    there = valid_mask(trace, kind)
    kept = [
        np.broadcast_to((layer in seen) & (np.True_ if there is None else there), mask[0].shape)
        for layer in range(len(weights))
    ]
    signed = any(describe_spread(trace, KINDS[kind].site(layer)) == "signed" for layer in seen)
    title = f"All heads, {KINDS[kind].words}{''.join(f'; layer {layer} was not seen' for layer in unseen)}"
    return head_grid(
        [np.abs(each) if signed else each for each in weights],
        kind=kind,
        title=title,
        mask=np.stack(mask),
        there=None if there is None and not unseen else np.stack(kept),
        scale_name="size of weight" if signed else "attention weight",
        caption=names_of(trace).caption(title, rows=KINDS[kind].writes),
    )


def _steps(run: Run) -> HtmlFigure:
    if not run.steps:
        raise ValueError("this run has no step: nothing was written")
    vocabulary, title = run.steps[0].vocabulary, f"Candidates of “{labels.sentence(run.text)}”"
    first = step_row(run, 0)
    read = slice(first, first + len(run.steps))
    reads = axes_of(run.trace, "decoder")[0].reads.at(range(read.start, read.stop))
    data = scrubber_payload(
        WrittenSteps(steps_of(run), reads, len(vocabulary), first),
        caption=names_of(run.trace).caption("candidates"),
        name=file_name(run.trace.checkpoint, "candidates"),
    )
    return HtmlFigure("scrubber", data, title, {"t": first})


def _tree(run: Run) -> HtmlFigure:
    if run.tree is None:
        raise ValueError("only a beam search has a tree: decode with strategy=vt.Beam(4)")
    name = file_name(run.trace.checkpoint, "beam-tree")
    data = beam_tree_payload(run.tree, caption=names_of(run.trace).caption("beam tree"), name=name)
    return HtmlFigure("beam_tree", data, "Beam tree")
