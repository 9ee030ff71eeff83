"""The logit lens on the Layers page: a table, token x layer, and the sentences that say what it is and is not."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd

from viz_transformer.analysis.layers.lens import (
    OWN_STEP,
    Lens,
    lens,
    lens_remarks,
    rows_at_a_glance,
    undefined_lens,
)
from viz_transformer.analysis.layers.sublayers import tokens_of
from viz_transformer.figures import labels
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import SIDE_OF, StackName, stacks_of
from viz_transformer.ui.frame import words as of_frame
from viz_transformer.ui.frame.drawn import Button, Drawn, Heading, Markup, Numbers, TableButton, Text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.layers import words
from viz_transformer.ui.pages.layers.fields import LensRows
from viz_transformer.ui.pages.layers.layers_tables import (
    describe_left_out,
    drawn_rows,
    heading,
    row_head,
    scrolled,
    token_html,
    token_index,
)
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView


@memoize(8)
def _lens(shown: RunView, first: int, end: int) -> Lens:
    return lens(shown.trace, shown.ckpt.hooked_model, own=shown.run.per_step_rows, rows=range(first, end))


def lens_of(shown: RunView, stack: StackName, token: int) -> Lens | None:
    """The lens of a stack at the chosen token and as many others as take no time; None where there is none."""
    if undefined_lens(shown.trace.spec, stack):
        return None
    rows = rows_at_a_glance(shown.trace, stack, token)
    return _lens(shown, rows.start, rows.stop)


def _whole(shown: RunView, stack: StackName) -> Lens:
    """The lens at all tokens."""
    return _lens(shown, 0, len(tokens_of(shown.trace, stack)))


def draw_lens(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """What the output layer would say of the stream after each layer, or the sentence why there is no lens."""
    shown, spec = both.main, both.main.trace.spec
    yield Heading(said=heading(words.LENS, both))
    for stack in stacks_of(spec):
        if reason := undefined_lens(spec, stack):
            yield Text(said=reason)
    read = stacks_of(spec)[-1]
    if undefined_lens(spec, read):
        return
    token = chosen[SIDE_OF[read].field]
    try:
        near = lens_of(shown, read, token)
    except Unavailable as error:
        yield Text(said=of_frame.not_told(words.NEEDS_OUTPUT, error))
        return
    assert near is not None
    found = near if chosen["lens_rows"] == "near" else _whole(shown, read)
    yield Text(said=" ".join(lens_remarks(spec)))
    drawn = drawn_rows(shown, read, found.rows)
    yield _draw_table(shown, read, found, drawn, token)
    if len(found.rows) == len(tokens_of(shown.trace, read)):
        yield from describe_left_out(shown, read, drawn)
    yield from _choose_rows(shown, read, near, chosen["lens_rows"])
    last = words.LAST_PASS if _has_own(found) else words.LAST_LAYER
    numbers = Numbers(
        frame=lambda: lens_table(shown, read, _whole(shown, read)),
        note=words.lens_note(shown.caption(words.LENS, rows=read == "decoder"), last),
        name=labels.file_name(shown.summary.name, "logit-lens"),
    )
    yield TableButton(numbers=numbers, key="layers_lens")
    yield Text(said=lens_words(shown, read, found))


def _choose_rows(shown: RunView, stack: StackName, near: Lens, rows: LensRows) -> Iterator[Drawn]:
    """Which tokens are shown, if a lens of all of them takes time, and a button for the others."""
    count = len(tokens_of(shown.trace, stack))
    if len(near.rows) == count:
        return
    if rows == "all":
        yield Button(label=words.ONLY_NEAR, key="lens_near", fields={"lens_rows": "near"})
        return
    yield Text(said=words.some_tokens(near.rows[0], near.rows[-1], count, shown.trace["logits"].shape[-1]))
    yield Button(label=words.all_tokens(count), key="lens_all", fields={"lens_rows": "all"})


def lens_words(shown: RunView, stack: StackName, found: Lens) -> str:
    """A sentence on what a cell shows, and whose logits the last columns are."""
    same = words.equal(f"{found.gap:.1e}" if found.gap else "")
    cell = words.lens_cell(_final(found), writes=stack == "decoder")
    if not _has_own(found):
        return f"{cell} {words.last_column(same)}"
    rows = [at for step in shown.run.steps if (at := step.position - found.rows.start) in range(len(found.rows))]
    other = int((found.top_ids[rows, -1, 0] != found.top_ids[rows, -2, 0]).sum())
    return f"{cell} {words.last_columns(found.stations[-2].name, same, other, len(rows))}"


def _has_own(found: Lens) -> bool:
    """Whether the logits that wrote the tokens have a column of their own."""
    return found.stations[-1] == OWN_STEP


def _final(found: Lens) -> str:
    return words.LAST_PASS if _has_own(found) else words.FINAL


def _draw_table(shown: RunView, stack: StackName, found: Lens, drawn: Sequence[int], token: int) -> Markup:
    """The lens as a table, token x layer, of these rows; token: the row that is marked."""
    trace = shown.trace
    at = [row - found.rows.start for row in drawn]
    writes = stack == "decoder"
    last = len(found.stations) - 1 - _has_own(found)
    names = [station.name for station in found.stations]
    names[0] = words.EMBEDDING if last else names[0]
    names[last] = words.final_station(names[last], _final(found))
    has_step = found.top_ids[at, :, 0] >= 0
    has_step[:, : last + 1] = True  # what is not a number there makes the mean none
    columns = [found.divergence[at, column][has_step[:, column]] for column in range(len(names))]
    means = [labels.number(float(each.mean()), 2) if each.size else words.UNDEFINED for each in columns]
    head = "".join(
        f"<th>{html.escape(name)}<i>{labels.escape(words.mean_divergence(kl))}</i></th>"
        for name, kl in zip(names, means, strict=True)
    )
    body = []
    for row in drawn:
        next_id = trace.next_ids[row] if writes else None
        cells = "".join(_lens_cell(shown, found, row, column, next_id) for column in range(len(names)))
        written = trace.next_tokens[row] if writes else None
        own = f"<td>{token_html(written) if written is not None else words.UNDEFINED}</td>" if writes else ""
        mark = ' class="vt-ly-chosen"' if row == token else ""
        body.append(f"<tr{mark}>{row_head(shown, stack, row)}{own}{cells}</tr>")
    wrote = f"<th>{words.WRITES}</th>" if writes else ""
    return scrolled(
        '<table class="vt-layers vt-lens"><thead><tr>'
        f"<th>{words.READS}</th>{wrote}{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def _lens_cell(shown: RunView, found: Lens, row: int, column: int, next_id: int | None) -> str:
    row -= found.rows.start
    ids, probs = found.top_ids[row, column].tolist(), found.top_probs[row, column].tolist()
    if ids[0] < 0:
        return f"<td>{words.UNDEFINED if found.stations[column] == OWN_STEP else words.NO_NUMBER}</td>"
    best = ", ".join(f"{names_of(shown)(i)} {labels.share(p)}" for i, p in zip(ids, probs, strict=True))
    bold = " vt-ly-written" if ids[0] == next_id else ""
    token = html.escape(labels.shorten(names_of(shown)(ids[0]), 14))
    kl = labels.number(float(found.divergence[row, column]), 2)
    return (
        f'<td class="vt-ly-cell{bold}" style="--p: {60 * probs[0]:.1f}%" title="{html.escape(best)}">'
        f"<strong>{token}</strong><i>{html.escape(_short(probs[0]))} · {html.escape(kl)}</i></td>"
    )


def _short(probability: float) -> str:
    """Two decimals; 0.00 and 1.00 are said only of exactly 0 and 1."""
    return ">0.99" if 0.995 <= probability < 1 else labels.number(probability, 2)


def names_of(shown: RunView) -> Callable[[int], str]:
    """Names of ids as the page shows them; numbers, where an encoder's output has no vocabulary of its own."""
    spec = shown.trace.spec
    codec = shown.ckpt.codecs.get("source" if spec.output == "masked token" else "target")
    tokens = spec.labels or (tuple(map(str, range(spec.target_vocab_size or 0))) if codec is None else codec.names)
    return lambda token_id: labels.visible(tokens[token_id]) if token_id >= 0 else ""


def lens_table(shown: RunView, stack: StackName, found: Lens) -> pd.DataFrame:
    """A row for each token and station: the best token, the divergence, and where the written token stands."""
    name = names_of(shown)
    index = token_index(shown, stack)
    parts = []
    for column, station in enumerate(found.stations):
        values: dict[str, Any] = {
            words.STATION: station.name,
            words.BEST_TOKEN: [name(i) for i in found.top_ids[:, column, 0].tolist()],
            words.PROBABILITY: found.top_probs[:, column, 0],
            words.DIVERGENCE: found.divergence[:, column],
        }
        if stack == "decoder":
            values[words.WRITTEN_TOKEN] = ["" if t is None else labels.visible(t) for t in shown.trace.next_tokens]
            values[words.ITS_PROBABILITY] = found.written[:, column]
            values[words.ITS_RANK] = [rank if rank >= 0 else None for rank in found.rank[:, column].tolist()]
        parts.append(pd.DataFrame(values, index=index))
    return pd.concat(parts)
