"""The one line in a notebook: what a run or a trace holds, as the picture that a page shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Literal, get_args

import numpy as np

from viz_transformer import __version__
from viz_transformer.analysis.attention.maps import (
    HeadsCombined,
    head_views,
    layer_count,
    layer_weights,
    spread,
    step_row,
    unseen_layers,
    valid_mask,
)
from viz_transformer.figures import labels, whole
from viz_transformer.figures.attention import attention_heatmap, attention_lines, attention_text, head_grid
from viz_transformer.figures.components.beam_tree import beam_tree_payload
from viz_transformer.figures.components.matrix import FILLS
from viz_transformer.figures.components.scrubber import scrubber_payload, steps_of
from viz_transformer.figures.components.standalone import HtmlFigure
from viz_transformer.figures.components.tokens import token_data
from viz_transformer.figures.labels import file_name
from viz_transformer.given import POSITIONS, TEXT, Kind, is_whole, takes
from viz_transformer.model.kinds import KINDS, KindName, kinds_of
from viz_transformer.running.decoding import Run
from viz_transformer.running.record import Trace
from viz_transformer.sentences import capitalised, quoted

Form = Literal["map", "lines", "text"]
HEADS = Kind(
    lambda value: value is None or isinstance(value, str) or is_whole(value) or POSITIONS.accepts(value),
    "a head, a list of heads, 'mean' or 'max'",
)


@takes(what=TEXT, head=HEADS, form=TEXT)
def show(
    run: Run | Trace, what: str, *, head: int | Sequence[int] | HeadsCombined | None = None, form: Form = "map"
) -> HtmlFigure:
    """A picture of the run: a notebook shows it, and its `save("map.html")` writes it as one file.

    what: an attention, "decoder.1.cross": the map of one head, of the "max" or, without a head, of the mean, which the
    title says; with `form` it is drawn as "lines" or as shaded "text" instead, and several heads are lines in colours.
    A kind of attention, "cross", "decoder" or "encoder": all its heads as thumbnails. "run": all of it as
    one picture, from the text to the answer, with the weights of one head or their mean. Of a decoded run also "steps":
    the candidates of each step; of a beam search "tree": all that it looked at.
    Of an imported model it says above how well it is known that it is read right.
    Raises ValueError with one sentence for what the run does not have, with the nearest names.
    """
    if not isinstance(run, Run | Trace):
        raise ValueError(f"show draws a run or a trace, not {quoted(run)}: vt.decode and vt.trace make one")
    trace = run.trace if isinstance(run, Run) else run
    figure, standing = _drawn(run, trace, what, head, form), trace.standing
    if standing is None:
        return figure
    return replace(figure, note=f"{trace.checkpoint}: {standing.words}", tone=standing.tone)


def _drawn(
    run: Run | Trace, trace: Trace, what: str, head: int | Sequence[int] | HeadsCombined | None, form: Form
) -> HtmlFigure:
    kinds = {str(kind): KINDS[kind] for kind in kinds_of(trace.spec)}
    sites = {
        kind.site(layer): (kind.name, layer) for kind in kinds.values() for layer in range(kind.layers(trace.spec))
    }
    others, name = [*kinds, "run", *(("steps", "tree") if isinstance(run, Run) else ())], what.removesuffix(".weights")
    if name not in (*sites, *others):
        near = get_close_matches(name, (*sites, *others), n=3) or [next(iter(sites)), *others]
        raise ValueError(f"there is nothing to show named {quoted(what)}: choose {' or '.join(map(repr, near))}")
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
    if form not in get_args(Form):
        raise ValueError(f"form {quoted(form)} is not known: choose {' or '.join(map(repr, get_args(Form)))}")
    heads: Sequence[int | HeadsCombined | None] = [head] if head is None or isinstance(head, int | str) else head
    views = head_views(trace, kind, layer, heads)
    if not views:
        raise ValueError("no head was given: leave head out for the mean of all")
    view, there = views[0], valid_mask(trace, kind)
    module = f" ({view.module})" if view.module else ""
    place = f"{KINDS[kind].stack} layer {layer}, {KINDS[kind].attention}-attention{module}"
    words: dict[str, Any] = {
        "query_tokens": view.query_tokens,
        "key_tokens": view.key_tokens,
        "query_writes": view.query_writes,
        "query_originals": view.query_originals,
        "key_originals": view.key_originals,
        "mask": view.mask,
        "there": there,
        "kind": kind,
        "derived": view.derived,
        "spread": view.spread,
        "scale_name": f"{view.scale_name}; {view.rows}" if view.rows else view.scale_name,
        "fill": FILLS.get(own.mask_fill, "") if (own := trace.spec.config) is not None else "",
    }
    if len(views) > 1:
        weights = np.stack([each.weights for each in views])
        words |= {"mask": np.stack([each.mask for each in views]), "heads": [f"head {each.head}" for each in views]}
        said = f"{place}, heads {', '.join(str(each.head) for each in views)}"
        return attention_lines(weights, title=capitalised(said), **_saved(trace, said, kind), **words)
    draw = attention_heatmap if form == "map" else attention_lines if form == "lines" else attention_text
    return draw(view.weights, title=capitalised(view.title), **_saved(trace, view.title, kind), **words)


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
    signed = any(spread(trace, KINDS[kind].site(layer)) == "signed" for layer in seen)
    title = f"All heads, {KINDS[kind].words}{''.join(f'; layer {layer} was not seen' for layer in unseen)}"
    return head_grid(
        [np.abs(each) if signed else each for each in weights],
        kind=kind,
        title=title,
        mask=np.stack(mask),
        there=None if there is None and not unseen else np.stack(kept),
        scale_name="size of weight" if signed else "attention weight",
        caption=_caption(trace, title, kind),
    )


def _steps(run: Run) -> HtmlFigure:
    if not run.steps:
        raise ValueError("this run has no step: nothing was written")
    vocabulary, title = run.steps[0].vocabulary, f"Candidates of “{labels.sentence(run.text)}”"
    first = step_row(run, 0)
    read = slice(first, first + len(run.steps))
    tokens, typed = run.trace.tgt.tokens[read], run.trace.tgt.originals[read]
    data = scrubber_payload(
        steps_of(run),
        first_row=first,
        vocabulary=len(vocabulary),
        reads=token_data(tokens, [typed or token for typed, token in zip(typed, tokens, strict=True)]),
        caption=_caption(run.trace, "candidates"),
        name=file_name(run.trace.checkpoint, "candidates"),
    )
    return HtmlFigure("scrubber", data, title, {"t": first})


def _tree(run: Run) -> HtmlFigure:
    if run.tree is None:
        raise ValueError("only a beam search has a tree: decode with strategy=vt.Beam(4)")
    name = file_name(run.trace.checkpoint, "beam-tree")
    data = beam_tree_payload(run.tree, caption=_caption(run.trace, "beam tree"), name=name)
    return HtmlFigure("beam_tree", data, "Beam tree")


def _saved(trace: Trace, what: str, kind: KindName) -> dict[str, Any]:
    """Caption and file name of a picture that is saved from this one."""
    return {"caption": _caption(trace, what, kind), "name": file_name(trace.checkpoint, what)}


def _caption(trace: Trace, what: str, kind: KindName | None = None) -> str:
    """What a saved picture says below itself: model, selection, whose rows, version."""
    rows = trace.row_source if kind is not None and KINDS[kind].writes else ""
    return f"{', '.join(filter(None, (trace.called, what, rows)))} (Viz Transformer {__version__})"
