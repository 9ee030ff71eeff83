"""Every figure and every analysis once: read it from top to bottom, and copy what you need into a notebook.

    python docs/gallery.py            # writes the figures into a new folder, as HTML files that need no network
    python docs/gallery.py FOLDER     # or into this one

In a notebook a figure is shown by naming it. What an analysis returns is a frozen record of arrays: each is a look at
the run, none changes it. Every argument is explained in the function's own words: `help(vt.figures.head_grid)`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import viz_transformer as vt
from viz_transformer.figures.components.standalone import HtmlFigure
from viz_transformer.numerals import number, percent

CHECKPOINT, TEXT = "numbers-any", "29,284.30"

# A name and a figure, some of them with lines printed in between: of plotly what one reads, HTML that stands alone what
# one touches. Both are shown by a notebook.
Figures = Iterator[tuple[str, Any]]


def one_head(ckpt: vt.Checkpoint, run: vt.Run) -> Figures:
    """Where does one head look? Where do all heads of its layer look?"""
    # The model has up to three kinds of attention: "cross", "decoder" and "encoder". Layers count from 0.
    kind = vt.analysis.attention_kinds(run.trace)[0]
    last = vt.analysis.layer_count(run.trace, kind) - 1

    # One line for what a run holds: one attention, all heads of a kind, the candidates of each step.
    yield "shown", vt.show(run, "decoder.1.cross", head=3)
    yield "steps", vt.show(run, "steps")

    # All of the run as one picture that plays: here with the weights of one head, without it with their mean.
    yield "whole-run", vt.figures.run(run, head=3)

    # The same from arrays and words. A view has the weights, the mask and all words that belong to them. The ring is
    # round the row that wrote token 3.
    view = vt.analysis.head_view(run.trace, kind, last, 1)
    row = vt.analysis.step_row(run, 3)
    key = vt.analysis.strongest_key(run.trace, kind, last, 1, row)
    print(f"row {row} looks most at key {key}")
    yield "one-head", vt.figures.attention_heatmap(view.weights, **words_of(view), selected_query=row)

    # The same as lines, of which the figure says how much weight the hidden ones hold, and as shaded text.
    yield "one-head-as-lines", vt.figures.attention_lines(view.weights, **words_of(view))
    yield "one-head-as-text", vt.figures.attention_text(view.weights, **words_of(view), selected_query=row)

    # All of that in one value, as a page has it: numbers, what stands along their sides, and what is said of them. Its
    # table and CSV have the same numbers, and one less another is a picture again.
    picture = vt.analysis.attention_picture(run.trace, kind, last, 1)
    least = vt.analysis.attention_picture(run.trace, kind, last, 0)
    print(f"{picture.meta.title}: {len(picture.csv()):,} bytes of CSV")
    print(f"{(picture - least).meta.title}: {number(abs((picture - least).values).max())} at most")

    # Several heads beside each other, each in a colour of its own.
    views = vt.analysis.head_views(run.trace, kind, last, [0, 1, 2])
    heads = {"heads": [f"head {view.head}" for view in views], "title": f"decoder layer {last}, cross-attention"}
    weights = np.stack([view.weights for view in views])
    yield "three-heads", vt.figures.attention_lines(weights, **{**words_of(view), **heads})


def all_heads(ckpt: vt.Checkpoint, run: vt.Run) -> Figures:
    """Which heads are worth a look?"""
    # All heads of all layers, [layers, heads, queries, keys], as small maps.
    layers = vt.analysis.layer_count(run.trace, "decoder")
    weights, masks = zip(*(vt.analysis.layer_weights(run.trace, "decoder", i) for i in range(layers)), strict=True)
    title = "All heads, decoder self-attention"
    yield "all-heads", vt.figures.head_grid(np.stack(weights), mask=np.stack(masks), kind="decoder", title=title)

    # Scores say in one number what a head looks at, beside what even attention would give. One text proves nothing.
    scores = vt.analysis.head_scores(
        run.trace,
        "cross",
        source_special=vt.analysis.special_positions(run.trace.src, ckpt.source_codec),
        target_special=vt.analysis.special_positions(run.trace.tgt, ckpt.target_codec),
    )
    for score in scores:
        top = np.unravel_index(np.nanargmax(score.values), score.values.shape)
        numbers = f"{number(score.values[top])}, baseline {number(score.baseline[top])}, from {score.n[top]} rows"
        print(f"{score.name}: highest in layer {top[0]}, head {top[1]}: {numbers}")
    # Sorted by any of them, each number under its head.
    layers = vt.analysis.layer_count(run.trace, "cross")
    weights = [vt.analysis.layer_weights(run.trace, "cross", i)[0] for i in range(layers)]
    yield "scores", vt.figures.head_grid(weights, kind="cross", title="All heads, cross-attention", scores=scores)


def derived(ckpt: vt.Checkpoint, run: vt.Run) -> Figures:
    """What else can be made of the weights? All of it is derived, and drawn in grey."""
    # The mean (or "max") of a layer's heads is no head's attention.
    mean = vt.analysis.head_view(run.trace, "cross", 0, "mean")
    yield "mean", vt.figures.attention_heatmap(mean.weights, **words_of(mean))

    # Rollout multiplies the attention of all layers together; its map has the same words as any other.
    shares = vt.analysis.rollout(run.trace, "cross")
    print(f"rollout: {percent(shares.source_total.mean())} of what the decoder ends with comes from source tokens")
    view = vt.analysis.rollout_view(run.trace, "cross")
    yield "rollout", vt.figures.attention_heatmap(view.weights, **words_of(view))

    # A large weight on a small value moves nothing: the norm of weight x value x W_O, in units of the stream.
    moved = vt.analysis.contribution_norms(run.trace, "cross", 0, 1)
    rows = vt.figures.AxisLabels("query", "queries: target", moved.view.query_tokens, "target")
    columns = vt.figures.AxisLabels("key", "keys: source", moved.view.key_tokens, "source")
    picture = {"scale": "weights", "scale_name": moved.scale_name, "kind": "cross", "derived": True}
    yield "contribution", vt.figures.tensor_heatmap(moved.norms, rows, columns, title=moved.title, **picture)


def other_tokens(ckpt: vt.Checkpoint, run: vt.Run) -> Figures:
    """The same map without special tokens, and by word where tokens are characters."""
    view = vt.analysis.head_view(run.trace, "cross", 1, 1)
    special = {
        "source": vt.analysis.special_positions(run.trace.src, ckpt.source_codec),
        "target": vt.analysis.special_positions(run.trace.tgt, ckpt.target_codec),
    }

    # What is left of a row is rescaled to sum to 1 again, and how much was hidden of it is kept.
    hidden = vt.analysis.hidden_keys(view.weights, special["source"], renormalise=True)
    print(f"special tokens hold {percent(hidden.hidden_mass.mean())} of the weight of {view.title}")
    kept = np.flatnonzero(~hidden.hidden)
    left = {
        "key_tokens": [view.key_tokens[position] for position in kept],
        "key_originals": [view.key_originals[position] for position in kept],
        "mask": view.mask[:, kept],
        "title": f"{view.title}, without special tokens",
        "scale_name": "attention weight, renormalised",
        "hidden": hidden.hidden_share,
    }
    yield "without-specials", vt.figures.attention_heatmap(hidden.weights[:, kept], **{**words_of(view), **left})

    # Characters, and pieces of words, become words: summed over those of the word that is read, averaged over those of
    # the word that reads.
    sides = []
    for tokens, codec, marks in (
        (run.trace.tgt, ckpt.target_codec, special["target"]),
        (run.trace.src, ckpt.source_codec, special["source"]),
    ):
        how = {"characters": codec.splits_characters, "continuations": None}
        if not how["characters"]:
            how["continuations"] = [codec.continuation(token_id) for token_id in tokens.ids]
        sides.append(vt.analysis.word_groups(tokens.tokens, tokens.originals, special=marks, **how))
    by_word = vt.analysis.word_map(view.weights, view.mask, *sides)
    yield (
        "words",
        vt.figures.attention_heatmap(
            by_word.weights,
            by_word.queries.labels,
            by_word.keys.labels,
            mask=by_word.mask,
            kind="cross",
            derived=True,
            title=f"{view.title}, by word",
            query_writes=by_word.queries.joined(view.query_writes),
            scale_name="attention weight, summed and averaged by word (derived)",
        ),
    )


def the_answer(ckpt: vt.Checkpoint, run: vt.Run) -> Figures:
    """What was written, what else could have been, and is it right?"""
    # The candidates of each step, with their probability over the whole vocabulary.
    yield (
        "candidates",
        vt.figures.candidate_bars(
            [[candidate.token for candidate in step.candidates] for step in run.steps],
            [[candidate.log_prob for candidate in step.candidates] for step in run.steps],
            chosen=[[candidate.token_id for candidate in step.candidates].index(step.token_id) for step in run.steps],
            reads=run.trace.tgt_tokens,
            vocabulary=len(ckpt.target_codec.vocabulary),
            title="Candidates of each step",
        ),
    )

    # Pairs that the model was not trained on, beside what it writes for them.
    answers = vt.analysis.greedy_answers(ckpt, ckpt.examples()[:5])
    print(f"{sum(answer.right for answer in answers)} of {len(answers)} answers are as asked for")

    # Two texts word by word: what both have, and what only one has.
    for piece in vt.analysis.aligned_difference("one hundred and two".split(), run.text.split()):
        print(f"  {'both' if piece.same else 'apart'}: {' '.join(piece.wanted)!r}, {' '.join(piece.written)!r}")


def other_answers(ckpt: vt.Checkpoint, run: vt.Run) -> Figures:
    """What if it had gone on in another way? What does it think of an answer of mine? What does the cache save?"""
    # The same beginning, and at step 3 the second choice. Attention is compared where both read the same tokens.
    second = run.steps[3].candidates[1]
    branch = vt.decode(ckpt, TEXT, force={3: second.token_id})
    apart = vt.analysis.compare_runs(run, branch)
    most = apart.largest
    print(
        f"they part at step {apart.first_difference}; before, no row of attention differs by more than {most.value:.1e}"
    )
    a, b = ((each.tokens, numbers) for each, numbers in zip((run, branch), apart.log_probs, strict=True))
    yield "branches", vt.figures.branch_curves(a, b, title="Two branches", parted=apart.first_difference)

    # An answer that somebody else wrote, token by token, beside the model's own. Their lengths may differ.
    given = vt.analysis.target_score(vt.decode(ckpt, TEXT, target="twenty-nine thousand"))
    own = vt.analysis.run_score(run)
    print(f"log-probability {number(given.total, 2)} for {len(given.tokens)} tokens, own answer {number(own.total, 2)}")
    print(f"the model would have written another token at steps {given.missed}")

    # Multiply-adds of each step with the cache of keys and values and without; `cache_use` asks for no run.
    steps = vt.analysis.cache_of_run(run)
    cached, whole = ([getattr(step, name).total for step in steps] for name in ("cached", "whole"))
    yield "cache", vt.figures.work_curves(cached, whole, title="What the cache saves")
    longer = vt.analysis.cache_use(ckpt.config, start=1, source=len(run.trace.src), steps=ckpt.config.max_target)[-1]
    print(f"the last step of the longest answer would save {percent(longer.saved)} of a whole pass")
    without = vt.analysis.uncached_difference(ckpt, run)
    print(f"without the cache no logit differs by more than {without.gap:.1e}")


def numbers(ckpt: vt.Checkpoint, run: vt.Run) -> Figures:
    """Any point of the run: its numbers, and how they change when a head is switched off."""
    # A point with its meaning and its axes; `run.trace.points(derived=True)` lists all of them.
    point = vt.analysis.point_view(run.trace, "decoder.0.cross.query")
    print(f"{point.name} {point.letters} {point.sizes}: {point.meaning}")
    found = vt.analysis.statistics(point.values)
    print(f"  mean {number(found.mean)}, variance {number(found.variance)}, {percent(found.zero_share)} zeros")

    # Two axes of it: here batch 0, head 1. The colours reach as far as the whole point does.
    part = vt.analysis.shown_slice(point, [0, 1])
    rows, columns = (vt.figures.AxisLabels(axis.name, axis.title, axis.labels, axis.side) for axis in axes_of(part))
    title = f"{point.name}[0, 1, :, :]"
    yield "query", vt.figures.tensor_heatmap(part.values, rows, columns, title=title, largest=found.largest)
    bins = vt.analysis.histogram(part.values)
    yield "query-values", vt.figures.value_histogram(bins.counts, bins.edges, title=title, left_out=bins.left_out)
    print(f"  as CSV: {vt.analysis.slice_csv(part).splitlines()[0]}")

    # The same text and answer without a head. Where do the two runs part, and how far?
    plain = vt.trace(ckpt, TEXT, run.text)
    edited = vt.trace(ckpt, TEXT, run.text, edits=[vt.edits.AblateHead("decoder.0.cross", head=1)])
    farthest, size = vt.analysis.compare(plain, edited).differences[0]
    print(f"without head 1 of decoder.0.cross the largest difference is {number(size)}, at {farthest}")
    apart = vt.analysis.difference_view(edited, plain, "decoder.0.residual_after_cross")
    part = vt.analysis.shown_slice(apart, [0])
    rows, columns = (vt.figures.AxisLabels(axis.name, axis.title, axis.labels, axis.side) for axis in axes_of(part))
    title = f"{apart.name}: without the head less with it"
    yield "difference", vt.figures.tensor_heatmap(part.values, rows, columns, title=title, scale_name="difference")


def the_training(ckpt: vt.Checkpoint, run: vt.Run) -> Figures:
    """How was it trained?"""
    # Both losses are plain negative log-likelihood in nats per token, on logarithmic axes.
    curves = vt.analysis.loss_history(ckpt.history())
    yield "loss", vt.figures.loss_curves(curves, title=f"Loss while {ckpt.name} was trained")


def words_of(view: Any) -> dict[str, Any]:
    """What attention_heatmap and attention_lines take of a view, but for its weights."""
    return {
        "query_tokens": view.query_tokens,
        "key_tokens": view.key_tokens,
        "query_writes": view.query_writes,
        "query_originals": view.query_originals,
        "key_originals": view.key_originals,
        "mask": view.mask,
        "kind": view.kind,
        "title": view.title,
        "derived": view.derived,
        "scale_name": view.scale_name,
    }


def axes_of(part: Any) -> tuple[Any, Any]:
    """Rows and columns of a slice."""
    return part.rows, part.columns


SECTIONS = (one_head, all_heads, derived, other_tokens, the_answer, other_answers, numbers, the_training)


def main(arguments: list[str]) -> None:
    folder = Path(arguments[0]) if arguments else Path(tempfile.mkdtemp(prefix="gallery-"))
    folder.mkdir(parents=True, exist_ok=True)
    ckpt = vt.load(CHECKPOINT)
    run = vt.decode(ckpt, TEXT)
    print(f"{TEXT} -> {run.text}")
    for section in SECTIONS:
        print(f"\n{section.__doc__}")
        for name, figure in section(ckpt, run):
            file = folder / f"{name}.html"
            if isinstance(figure, HtmlFigure):
                figure.save(file)
            else:
                figure.write_html(file, include_plotlyjs="directory", config={"displayModeBar": False})
            print(file)


if __name__ == "__main__":
    main(sys.argv[1:])
