"""Maps of a run as the components draw them: values with their axes, tokens and words, as a payload or as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from viz_transformer import numerals
from viz_transformer.analysis.attention.hidden_keys import MOSTLY_HIDDEN, HiddenKeys, hidden_keys
from viz_transformer.analysis.attention.maps import (
    HeadsCombined,
    HeadView,
    added_padding,
    contribution_norms,
    head_view,
    lost_rows,
    sides,
    valid_mask,
)
from viz_transformer.analysis.attention.rollout import rollout_view
from viz_transformer.analysis.attention.words import Words, word_groups, word_map
from viz_transformer.figures import labels
from viz_transformer.figures.components.lines import lines_payload
from viz_transformer.figures.components.matrix import FILLS as FILLS
from viz_transformer.figures.components.matrix import HEIGHT, Axis, Scale, Why, attention_axes, matrix_payload
from viz_transformer.figures.components.shading import shading_payload
from viz_transformer.figures.components.tokens import token_data
from viz_transformer.model.kinds import KINDS, SIDES, KindName, SideName
from viz_transformer.sentences import capitalised
from viz_transformer.ui.frame import words
from viz_transformer.ui.session.runs import RunView

WORDS, HIDDEN, CONTRIBUTION = "words", "hidden", "contribution"


@dataclass(frozen=True, eq=False)
class Picture:
    """One map, ready to be drawn. values: [R, C] float32; mask: [R, C], True = may attend. there: [R, C], False where
    the run has no number, which is then NaN in values; None where it has all of them. lost: [R], True where the softmax
    of the row read what is not a number; None where that is not known.

    `heads` are its maps for several chosen heads, [N, R, C], with their names; `hidden` and `heads_hidden` are the
    shares of each row's weight that keys hold which are left out, [R] and [N, R]; `remarks` is what has to be said.
    """

    values: NDArray[np.float32]
    mask: NDArray[np.bool_]
    rows: Axis
    columns: Axis
    writes: Sequence[Mapping[str, Any]] | None
    title: str
    caption: str
    name: str
    scale: Scale
    unit: str
    quantity: str
    fill: str = ""
    bounded: bool = True  # whether the values are shares, of which 1 is the most
    adds_up: bool = True  # whether rows of weights add up to 1
    most: float | None = None  # of a difference, the value that has full colour; None: its own largest
    heads: NDArray[np.float32] | None = None
    head_names: tuple[str, ...] = ()
    hidden: NDArray[np.float64] | None = None
    heads_hidden: NDArray[np.float64] | None = None
    remarks: tuple[str, ...] = ()
    there: NDArray[np.bool_] | None = None
    lost: NDArray[np.bool_] | None = None

    @property
    def _shared(self) -> dict[str, Any]:
        """What every way of drawing the map is told."""
        named = ("caption", "scale", "unit", "mask", "fill", "writes", "there")
        return {name: getattr(self, name) for name in named}

    def matrix(
        self,
        height: int = HEIGHT,
        *,
        grows: bool = False,
        follows: bool = False,
        bare: Sequence[Literal["left", "right"]] = (),
        why: Why = None,
    ) -> bytes:
        """The payload of the matrix; `follows`: it is the page's own map of weights, which a key is chosen by; `bare`:
        sides without labels; `why`: whether a cell leads to the page that explains it."""
        return matrix_payload(
            self.values,
            self.rows,
            self.columns,
            title=self.title,
            name=self.name,
            quantity=self.quantity,
            bounded=self.bounded,
            height=height,
            most=self.most,
            grows=grows,
            follows=follows and self.bounded and not self.rows.starts and not self.columns.starts,
            bare=bare,
            why=why,
            hidden=self.hidden,
            **self._shared,
        )

    def lines(self) -> bytes:
        """The payload of the map as lines; of several heads each has its own. Not for a difference."""
        several = self.heads is not None and self.scale != "derived"
        return lines_payload(
            self.heads if several and self.heads is not None else self.values[None],
            self.rows,
            self.columns,
            heads=self.head_names if several else (self.title,),
            title=words.LINES,
            name=f"{self.name}-lines",
            hidden=self.heads_hidden if several else None if self.hidden is None else self.hidden[None],
            **self._shared,
        )

    def shading(self, title: str, *, grows: bool = False) -> bytes:
        """The payload of the map as shaded text; if it `grows`, tokens behind the selected row stay empty. Not for a
        difference."""
        named: dict[str, Any] = {"title": title, "name": f"{self.name}-text", "grows": grows, "hidden": self.hidden}
        return shading_payload(self.values, self.rows, self.columns, **named, **self._shared)

    @property
    def masked(self) -> NDArray[np.bool_]:
        """[R, C]: True where a mask closed a number of the run."""
        return ~self.mask if self.there is None else self.there & ~self.mask

    @property
    def note(self) -> str:
        """What stands over the table."""
        return words.map_note(
            self.caption,
            self.quantity,
            int(self._not_a_number.sum()),
            self.values.size,
            gaps=self.there is not None,
            masked=bool(self.masked.any()),
        )

    @property
    def _not_a_number(self) -> NDArray[np.bool_]:
        """[R, C]: True where the run has NaN."""
        none: NDArray[np.bool_] = np.isnan(self.values)
        return none if self.there is None else none & self.there

    def table(self) -> pd.DataFrame:
        """The same numbers: a row for each query, a column for each key.

        Where anything is masked, as many columns follow, "..., masked", which are True where it is.
        """

        def named(axis: Axis) -> list[str]:
            places = axis.starts or range(len(axis.tokens))
            return [f"{p} {token.get('note', token['text'])}" for p, token in zip(places, axis.tokens, strict=True)]

        index, columns = pd.Index(named(self.rows), name=self.rows.title), named(self.columns)
        frame = pd.DataFrame(self.values, index=index, columns=columns)
        if self._not_a_number.any():
            frame = frame.astype(object).mask(self._not_a_number, words.NOT_A_NUMBER)
        if not self.masked.any():
            return frame
        marks = pd.DataFrame(self.masked, index=index, columns=[words.masked(name) for name in columns])
        return pd.concat([frame, marks], axis=1)


def picture(shown: RunView, chosen: Mapping[str, Any]) -> Picture:
    """The map of what is selected: kind, layer, heads, and the options.

    Raises ValueError with one sentence for what is undefined in this model.
    """
    made = _made(shown, chosen)
    if made.there is None:
        return made
    values, heads = (None if each is None else np.where(made.there, each, np.nan) for each in (made.values, made.heads))
    assert values is not None
    return replace(made, values=values, heads=heads)


def _made(shown: RunView, chosen: Mapping[str, Any]) -> Picture:
    """The map, with 0 where the run has no number, so that sums over what is there can be made."""
    kind, layer, heads, options = chosen["kind"], chosen["layer"], chosen["heads"], chosen["options"]
    if heads == "rollout":
        return _with_options(shown, _of_view(shown, rollout_view(shown.trace, kind, layer)), kind, options)
    first: int | HeadsCombined = heads if heads in ("mean", "max") else heads[0]
    if CONTRIBUTION in options:
        found = contribution_norms(shown.trace, kind, layer, None if isinstance(first, str) else first)
        made = _of_view(shown, found.view, found.norms, f"{found.title}", found.scale_name)

        def together(groups: Sequence[Sequence[int]]) -> NDArray[np.float32]:
            return contribution_norms(shown.trace, kind, layer, found.view.head, groups=groups).norms

        return _with_options(shown, replace(made, quantity="norm", bounded=False), kind, options, together)
    view = head_view(shown.trace, kind, layer, first)
    made = _of_view(shown, view)
    if not isinstance(heads, str) and len(heads) > 1:
        views = [head_view(shown.trace, kind, layer, head) for head in heads]
        names = tuple(words.head(head) for head in heads)
        weights = np.stack([each.weights for each in views])
        made = replace(made, heads=_or_zero(weights, made.there), head_names=names)
    return _with_options(shown, made, kind, options)


def difference(a: Picture, b: Picture) -> Picture:
    """A - B cell by cell, with A's tokens. Raises ValueError if the two have different sizes."""
    if a.values.shape != b.values.shape:
        sizes = [f"{rows} × {columns}" for rows, columns in (a.values.shape, b.values.shape)]
        raise ValueError(f"A has {sizes[0]} cells and B {sizes[1]}: only maps of one size can be subtracted")
    return replace(
        a,
        values=a.values - b.values,
        mask=a.mask | b.mask,
        title=words.difference_title(a.title),
        caption=words.difference_caption(a.caption, b.caption),
        name=f"a-minus-b-{a.name}",
        scale="diverging",
        unit=words.difference_unit(a.quantity, b.quantity),
        quantity="difference",
        fill="",
        bounded=False,
        there=_both(a.there, b.there),
        lost=None,
        heads=None if a.heads is None or b.heads is None or a.heads.shape != b.heads.shape else a.heads - b.heads,
        hidden=a.hidden if b.hidden is None else b.hidden if a.hidden is None else np.fmax(a.hidden, b.hidden),
        heads_hidden=None,
        remarks=(*a.remarks, *(remark for remark in b.remarks if remark not in a.remarks)),
    )


def _both(a: NDArray[np.bool_] | None, b: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    return b if a is None else a if b is None else a & b


def axes(shown: RunView, kind: KindName) -> tuple[Axis, Axis]:
    """Queries and keys of a kind of attention of this run."""
    known = KINDS[kind]
    return attention_axes(kind, _tokens(shown, known.queries.name), _tokens(shown, known.keys.name))


def _of_view(
    shown: RunView,
    view: HeadView,
    values: NDArray[np.float32] | None = None,
    title: str | None = None,
    unit: str | None = None,
) -> Picture:
    rows, columns = axes(shown, view.kind)
    title = title or view.title
    own = shown.trace.spec.config
    there = valid_mask(shown.trace, view.kind)
    return Picture(
        values=_or_zero(view.weights if values is None else values, there),
        mask=view.mask,
        rows=rows,
        columns=columns,
        writes=_writes(shown, view),
        title=capitalised(title),
        caption=shown.caption(title, rows=KINDS[view.kind].writes),
        name=labels.file_name(shown.summary.name, title),
        # grey for what is no head of its own
        scale="diverging" if view.spread == "signed" else "derived" if view.derived else view.kind,
        unit=unit or view.scale_name,
        quantity="weight",
        bounded=view.spread == "shares",
        adds_up=not view.rows,
        remarks=(words.sentence(view.rows),) if view.rows else (),
        fill="" if own is None else FILLS.get(own.mask_fill, ""),  # what another model puts there it does not tell
        there=there,
        lost=lost_rows(shown.trace, view),
    )


def _or_zero(values: NDArray[np.float32], there: NDArray[np.bool_] | None) -> NDArray[np.float32]:
    return values if there is None else np.where(there, values, np.float32(0))


def _with_options(
    shown: RunView,
    made: Picture,
    kind: KindName,
    options: Sequence[str],
    together: Callable[[Sequence[Sequence[int]]], NDArray[np.float32]] | None = None,
) -> Picture:
    """`together` gives the values of groups of keys where they are no sums of the keys' own: [R, groups]."""
    if HIDDEN in options:
        made = _without_specials(shown, made, kind)
    if WORDS in options:
        made = _by_word(shown, made, together)
    return made


def _specials(shown: RunView, side: SideName) -> frozenset[int]:
    return SIDES[side].of(shown.source_special, shown.target_special)


def _without_specials(shown: RunView, made: Picture, kind: KindName) -> Picture:
    """Special keys left out, and what is left of a row of weights rescaled to sum to 1; how much that hid is said."""
    special = _specials(shown, made.columns.side)
    hidden = [position in special for position in range(made.values.shape[1])]
    if all(hidden) or not any(hidden):
        which = words.ALL_SPECIAL if all(hidden) else words.NONE_SPECIAL
        return replace(made, remarks=(*made.remarks, words.none_hidden(which)))
    kept = [position for position, is_hidden in enumerate(hidden) if not is_hidden]
    weighs = made.quantity == "weight"
    found = hidden_keys(made.values, hidden, renormalise=weighs)
    remark = words.SPECIALS_HIDDEN
    if weighs:
        remark = _hidden_in_words(found, added_padding(sides(shown.trace, kind)[0]))
    tokens = [made.columns.tokens[position] for position in kept]
    heads, heads_hidden = made.heads, None
    if heads is not None:
        each = hidden_keys(heads, hidden, renormalise=weighs)
        heads, heads_hidden = np.asarray(each.weights[..., kept], dtype=np.float32), each.hidden_share
    return replace(
        made,
        values=np.asarray(found.weights[:, kept], dtype=np.float32),
        mask=made.mask[:, kept],
        there=None if made.there is None else made.there[:, kept],
        columns=replace(made.columns, tokens=tokens, starts=tuple(kept), ends=tuple(p + 1 for p in kept)),
        unit=words.without_specials(made.unit, renormalised=weighs),
        hidden=found.hidden_share if weighs else None,
        heads=heads,
        heads_hidden=heads_hidden,
        remarks=(*made.remarks, remark),
    )


def _hidden_in_words(found: HiddenKeys, padding: NDArray[np.bool_]) -> str:
    """How much the hidden keys hold in the rows that hold anything and are no padding."""
    counted = ~padding & (found.hidden_mass + found.weights.sum(axis=-1, dtype=np.float64) > 0)
    share, rows = found.hidden_share[counted], int(counted.sum())
    if not rows:
        return words.SPECIALS_HIDDEN_NO_WEIGHT
    mostly = int((share > MOSTLY_HIDDEN).sum()), f"{100 * MOSTLY_HIDDEN:.0f} %"
    alone = int((found.weights[counted] == 0).all(axis=-1).sum())
    held = numerals.percent(float(share.mean()))
    return words.specials_hidden(held, mostly, rows, alone, padding=bool(padding.any()))


def _by_word(
    shown: RunView, made: Picture, together: Callable[[Sequence[Sequence[int]]], NDArray[np.float32]] | None
) -> Picture:
    """Summed over the tokens of the word read, averaged over those of the word that reads.

    Of lengths of vectors it is the vectors that are summed: `together` has the lengths of their sums. Where each word
    is one token the map stays as it is, in its head's colour.
    """
    rows, columns = (_words(shown, axis) for axis in (made.rows, made.columns))
    if len(rows) == made.values.shape[0] and len(columns) == made.values.shape[1]:
        return replace(made, remarks=(*made.remarks, words.ONE_TOKEN_A_WORD))
    merged = word_map(made.values, made.mask, rows, columns)
    values = merged.weights
    if together is not None:
        at = made.columns.starts or range(made.values.shape[1])
        lengths = together([[at[place] for place in places] for places in columns.positions])
        alone = Words(tuple((place,) for place in range(len(columns))), columns.labels)
        values = word_map(lengths, np.ones_like(lengths, dtype=bool), rows, alone).weights
    heads = (
        None
        if made.heads is None
        else word_map(made.heads, np.broadcast_to(made.mask, made.heads.shape), rows, columns).weights
    )
    hidden, heads_hidden = (_by_row(each, rows) for each in (made.hidden, made.heads_hidden))
    writes = None
    if made.writes is not None:
        texts = [str(token["text"]) for token in made.writes]
        writes = token_data(rows.joined(texts))
    return replace(
        made,
        values=values,
        mask=merged.mask,
        there=None if made.there is None else _words_there(made.there, rows, columns),
        rows=_word_axis(made.rows, rows),
        columns=_word_axis(made.columns, columns),
        lost=None,
        writes=writes,
        scale=made.scale if made.scale == "diverging" else "derived",
        unit=words.by_word(made.unit),
        heads=heads,
        hidden=hidden,
        heads_hidden=heads_hidden,
    )


def _words_there(there: NDArray[np.bool_], rows: Words, columns: Words) -> NDArray[np.bool_]:
    """[words, words]: False where a token that reads has no step, and where no piece of what is read was there."""
    steps = np.array([there[list(places)].any(axis=-1).all() for places in rows.positions])
    return np.asarray(word_map(there, there, rows, columns).mask & steps[:, None])


def _by_row(shares: NDArray[np.float64] | None, rows: Words) -> NDArray[np.float64] | None:
    """The mean over the tokens of each word that reads: [..., R] -> [..., words]."""
    if shares is None:
        return None
    return np.stack([shares[..., list(places)].mean(axis=-1) for places in rows.positions], axis=-1)


def _words(shown: RunView, axis: Axis) -> Words:
    """The words of the tokens that stand on an axis."""
    side = SIDES[axis.side].of(shown.trace.src, shown.trace.tgt)
    codec = shown.ckpt.codecs.get(axis.side)
    special = _specials(shown, axis.side)
    at = axis.starts or tuple(range(len(side)))
    characters = codec is not None and codec.splits_characters
    pieces = None if codec is None or characters else [codec.continuation(side.ids[p]) for p in at]
    return word_groups(
        [side.tokens[p] for p in at],
        [side.originals[p] for p in at],
        special=[p in special for p in at],
        characters=characters,
        continuations=pieces,
    )


def _word_axis(axis: Axis, found: Words) -> Axis:
    at = axis.starts or tuple(range(len(axis.tokens)))
    special = [index for index, places in enumerate(found.positions) if axis.tokens[places[0]].get("special")]
    starts, ends = zip(*((at[places[0]], at[places[-1]] + 1) for places in found.positions), strict=True)
    return replace(axis, tokens=token_data(found.labels, special=special), starts=starts, ends=ends)


def _writes(shown: RunView, view: HeadView) -> list[dict[str, Any]] | None:
    """What each decoder row writes."""
    if view.query_writes is None:
        return None
    codec = shown.ckpt.target_codec
    special = frozenset() if codec is None else codec.special_ids - {codec.unknown}
    ids = shown.trace.next_ids
    return token_data(view.query_writes, special=[row for row, token_id in enumerate(ids) if token_id in special])


def _tokens(shown: RunView, side: SideName) -> Sequence[dict[str, Any]]:
    tokens = SIDES[side].of(shown.trace.src, shown.trace.tgt)
    originals = [typed or token for typed, token in zip(tokens.originals, tokens.tokens, strict=True)]
    return token_data(tokens.tokens, originals, special=_specials(shown, side))
