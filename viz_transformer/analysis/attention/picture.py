"""A picture of numbers: its values, the labels of its axes, and its title, caption and legend.

Analysis builds it once; pages, notebooks, tables and CSV files show the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from viz_transformer import __version__, declared, numerals, payload
from viz_transformer.analysis.attention.axes import Axes, Axis, Texts, numbered
from viz_transformer.analysis.attention.specials import MOSTLY_HIDDEN, HiddenKeys, hidden_keys
from viz_transformer.analysis.attention.words import Words, word_map
from viz_transformer.model.kinds import KINDS, KindName, SideName
from viz_transformer.sentences import capitalised
from viz_transformer.text.visible import file_name

Scale = KindName | Literal["derived", "diverging"]
"""The colour scale of a map: by kind of attention, grey for derived maps, or diverging around 0."""
Spread = Literal["shares", "from 0", "signed"]
"""The range of the weights of an attention: from 0 to 1, also above 1, or also below 0."""

Why = tuple[str, str] | tuple[()] | None
"""How a cell links to the page that explains it: by the selection (None), by these fields for its row and column where
the axes have others, or not at all ()."""

HEIGHT = 660
"""The height of a map, in pixels."""
LINES_HEIGHT = 480
"""The height of a picture of lines, in pixels."""
MAX_HEADS = 6
"""How many heads have colours that are told apart."""
MAX_TOKENS = 256
"""Above this many tokens a side there are no lines, only a sentence."""
MAX_LINES = 20_000
"""The strongest lines are drawn, up to this many."""
ATTENTION_WEIGHT = "attention weight"
NOT_A_NUMBER = "not a number"
ONE_TOKEN_A_WORD = "Each word is one token here: nothing is added up or averaged."
MASK_FILL_NAMES: Mapping[str, str] = {"-inf": "-inf", "-1e9": "-1e9", "-1e10": "-1e10", "added-1e9": "-1e9 added"}
"""The words for each mask fill of a config; one not listed leaves masked weights at 0."""


@dataclass(frozen=True)
class Meta:
    """The texts and settings of a picture: title, caption, legend, file name."""

    title: str
    caption: str
    """The caption below a saved picture."""
    name: str
    """The file name, without extension."""
    scale: Scale = "derived"
    unit: str = ATTENTION_WEIGHT
    """The legend's text: what a colour means."""
    quantity: str = "weight"
    """The word for one value."""
    fill: str = ""
    """The name of the value that the model writes into masked scores."""
    bounded: bool = True
    """Whether the values are shares, at most 1."""
    adds_up: bool = True
    """Whether rows of weights sum to 1."""
    most: float | None = None
    """The value with full colour, for maps that share a scale; None: the map's own maximum."""
    remarks: tuple[str, ...] = ()
    """Remarks shown below it."""

    names: tuple[str, str] | None = None
    """The names of False and True, for Boolean values."""
    notes: tuple[str, ...] = ()
    """More lines of the legend."""
    digits: int = 0
    """The most significant digits that a value is written with, nine being all of a float32; 0: four decimals."""

    paired: bool = False
    """Whether it is next to another picture that shows its own tooltip for the cell hovered here."""

    @property
    def signed(self) -> bool:
        return self.scale == "diverging"


@dataclass(frozen=True, eq=False)
class Heads:
    """The maps of several heads of one picture."""

    names: tuple[str, ...]
    values: NDArray[np.float32]
    """[N, R, C]"""
    hidden: NDArray[np.float64] | None = None
    """[N, R], as in the picture."""
    mask: NDArray[np.bool_] | None = None
    """[N, R, C], where heads have masks of their own."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A matrix of numbers with its axes and texts: a map or a table, ready to be drawn."""

    values: NDArray[Any]
    """[R, C], float32; NaN where the run has no value. A tensor that is no map keeps its dtype."""
    axes: Axes
    mask: NDArray[np.bool_]
    """[R, C], True = may attend."""
    meta: Meta
    valid: NDArray[np.bool_] | None = None
    """[R, C], False where the run has no value; None if it has all."""
    lost: NDArray[np.bool_] | None = None
    """[R], True where the softmax of the row read a non-finite score; None if unknown."""
    hidden: NDArray[np.float64] | None = None
    """[R], the share of each row's weight on keys that are left out."""
    heads: Heads | None = None
    """The maps of several chosen heads; `values` is the first."""

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        *,
        title: str,
        rows: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        quantity: str = "value",
        caption: str = "",
    ) -> Self:
        """A picture of your own numbers, [R, C]: one colour from 0 up, two colours around 0 if any is negative.

        rows, columns: their names; None: numbers. quantity: the word for one value. caption: the text below a saved
        picture, the title if "". Raises ValueError if the names do not fit the shape.
        """
        grid = np.asarray(values, dtype=np.float32)
        if grid.ndim != 2 or 0 in grid.shape:
            raise ValueError(f"a picture has rows and columns, not the shape {grid.shape}")
        sides = (("row", rows, grid.shape[0]), ("column", columns, grid.shape[1]))
        for side, names, count in sides:
            if names is not None:
                declared.same_count(**{f"names of {side}s": len(names), f"{side}s": count})
        first, second = (
            Axis("", side, side, None, numbered(count) if names is None else Texts(tuple(names)))
            for side, names, count in sides
        )
        scale: Scale = "diverging" if np.fmin.reduce(grid, axis=None) < 0 else "derived"
        said = Meta(title, caption or title, file_name(title), scale, unit=quantity, quantity=quantity, bounded=False)
        return cls(grid, (first, second), np.ones(grid.shape, dtype=bool), replace(said, adds_up=False, digits=9))

    @property
    def rows(self) -> Axis:
        return self.axes[0]

    @property
    def columns(self) -> Axis:
        return self.axes[1]

    def with_meta(self, **changes: Any) -> Self:
        """The same picture with these fields of `Meta` changed."""
        return replace(self, meta=replace(self.meta, **changes))

    def with_remarks(self, *remarks: str) -> Self:
        """The same picture with more remarks."""
        return self.with_meta(remarks=(*self.meta.remarks, *remarks))

    # ---- as a component gets it, as a table and as a file

    def pack(
        self,
        *,
        height: int = HEIGHT,
        grows: bool = False,
        follows: bool = False,
        exact: bool = False,
        bare: Sequence[Literal["left", "right"]] = (),
        why: Why = None,
    ) -> bytes:
        """The payload of a map.

        Colours go from 0 to 1, or to the largest value if the values are not bounded by 1, or are centred at 0.
        `grows`: rows after the chosen one are drawn as not written yet, and appear with the step. `follows`: it is the
        page's own map of weights: a key that nobody chose is the one with most weight in the chosen row, and the strip
        is tinted by that row. Rows of which more than 0.9 is hidden are faint. exact: float32, for any number of
        tokens. bare: sides without labels, which the map beside it has. why: whether Enter and a double click open the
        page that explains a cell. Raises ValueError if the shapes and the numbers of tokens do not fit.
        """
        grid, meta = self._fitting("values", ("rows", "columns")), self.meta
        label = f"Map of {meta.title}: {self.rows.title} as rows, {self.columns.title} as columns"
        header: dict[str, Any] = {
            **self._header(label, ("rows", "columns")),
            "scale": meta.scale,
            "signed": meta.signed,
            "quantity": meta.quantity,
            "bounded": meta.bounded and not meta.signed,
            "height": height,
        }
        said_only_where_so = {
            "most": meta.most,
            "names": meta.names and list(meta.names),
            "notes": list(meta.notes) or None,
            "digits": meta.digits or None,
            "paired": meta.paired or None,
            "bare": list(bare) or None,
            "why": why,
            "grows": grows or None,
            "follows": (follows and meta.bounded and not self.rows.starts and not self.columns.starts) or None,
        }
        header |= {name: said for name, said in said_only_where_so.items() if said is not None}
        return self._packed(header, values=payload.exact(grid) if exact else payload.weights(grid))

    def pack_text(self, *, grows: bool = False) -> bytes:
        """The payload of the shaded text: all rows at once, weights at least 0.

        Queries and keys that are the same tokens of the same side are one paragraph, else each has its own. `grows`:
        tokens of the queries' side after the selected query are shown as not written yet. Missing values have no shade;
        shades of rows of which more than 0.9 is hidden are faint.
        Raises ValueError if shapes and tokens do not fit, and for weights below 0.
        """
        grid, (queries, keys) = self._fitting("weights", ("queries", "keys")), self.axes
        if np.any(grid < 0):
            raise ValueError(
                f"shades show weights of at least 0, the smallest is {np.nanmin(grid)}: the matrix shows signed ones"
            )
        said = self._header(f"Text of {self.meta.title}: {queries.title} and {keys.title}", ("queries", "keys"))
        together = queries.side == keys.side and said["queries"]["tokens"] == said["keys"]["tokens"]
        header = {**said, "together": together, "scale": self.meta.scale, **({"grows": True} if grows else {})}
        return self._packed(header, weights=payload.weights(grid))

    def pack_lines(self, *, title: str = "", height: int = LINES_HEIGHT) -> bytes:
        """The payload of the lines of the picture's heads, or of its values, as opaque as the weight.

        Masked pairs get no line, nor do those without a value. The scale is the colour of a single map; two to six have
        the colours of heads. Above 256 tokens a side no weights are sent. Lines of rows of which more than 0.9 is
        hidden are faint. title: replaces the picture's own, which then names its one map.
        Raises ValueError if shapes, names and tokens do not fit, for weights below 0, for more than six maps, and for
        several if they are derived.
        """
        own = None if self.hidden is None else self.hidden[None]
        single = Heads((self.meta.title,), np.asarray(self.values, dtype=np.float32)[None], own)
        drawn, (queries, keys) = self.heads or single, self.axes
        maps, heads = np.asarray(drawn.values, dtype=np.float32), drawn.names
        mask = self.mask if drawn.mask is None else drawn.mask
        declared.shaped("weights", maps.shape, heads=len(heads), queries=len(queries), keys=len(keys))
        if len(heads) > MAX_HEADS:
            raise ValueError(f"colours tell at most {MAX_HEADS} heads apart, {len(heads)} were given: choose fewer")
        if self.meta.scale == "derived" and len(heads) > 1:
            raise ValueError(f"a derived map is drawn alone, in grey, but {len(heads)} were given: choose one")
        if np.any(maps < 0):
            raise ValueError(
                f"lines show weights of at least 0, the smallest is {np.nanmin(maps)}: the matrix shows signed ones"
            )
        if np.shape(mask) not in (maps.shape, maps.shape[1:]):
            raise ValueError(f"mask {np.shape(mask)} does not have the shape of the weights {maps.shape}")
        if self.valid is not None and np.shape(self.valid) != maps.shape[1:]:
            raise ValueError(f"there {np.shape(self.valid)} does not fit the weights {maps.shape}")
        too_long = max(maps.shape[1:]) > MAX_TOKENS
        called = self.with_meta(title=title) if title else self
        label = f"Lines of {called.meta.title}: {queries.title} on the left, {keys.title} on the right"
        header = {
            **called._header(label, ("queries", "keys"), with_tokens=not too_long),
            "heads": heads,
            "colours": [f"heads-{i}" for i in range(len(heads))] if len(heads) > 1 else [f"{self.meta.scale}-5"],
            "most_tokens": MAX_TOKENS,
            "most_lines": MAX_LINES,
            "height": height,
        }
        shown = replace(self, mask=mask, hidden=drawn.hidden)
        return payload.pack(shown._faint(header)) if too_long else shown._packed(header, weights=payload.exact(maps))

    def _header(self, label: str, sides: tuple[str, str], *, with_tokens: bool = True) -> dict[str, Any]:
        """The payload fields that every component gets: texts and axes, under the component's names for the axes.

        label: its description for screen readers. Raises ValueError if the written tokens do not fit the rows.
        """
        rows, columns = sides
        writes = self.rows.written(rows)
        return {
            "title": self.meta.title,
            "name": self.meta.name,
            "caption": self.meta.caption,
            "unit": self.meta.unit,
            "fill": self.meta.fill,
            "label": label,
            rows: self.rows.data(with_tokens=with_tokens),
            columns: self.columns.data(with_tokens=with_tokens),
            "writes": writes if with_tokens else None,
        }

    def _fitting(self, called: str, sides: tuple[str, str]) -> NDArray[np.float32]:
        """The values as float32. Raises ValueError if they or the marks do not fit the sides; both are called so."""
        grid = np.asarray(self.values, dtype=np.float32)
        declared.shaped(called, grid.shape, **dict(zip(sides, map(len, self.axes), strict=True)))
        for what, cells in (("mask", self.mask), ("there", self.valid)):
            if cells is not None and np.shape(cells) != grid.shape:
                raise ValueError(f"{what} {np.shape(cells)} does not have the shape of the {called} {grid.shape}")
        return grid

    def _faint(self, header: dict[str, Any]) -> dict[str, Any]:
        """The header with how much of each row is hidden, if anything is."""
        return header if self.hidden is None else {**header, "hidden": self.hidden.tolist()}

    def _packed(self, header: dict[str, Any], **numbers: payload.Encoded) -> bytes:
        return payload.pack(self._faint(header), **numbers, **payload.marks(mask=self.mask, there=self.valid))

    @property
    def masked(self) -> NDArray[np.bool_]:
        """Mask [R, C]: True where the run's mask closes a valid cell."""
        return ~self.mask if self.valid is None else self.valid & ~self.mask

    @property
    def not_a_number(self) -> NDArray[np.bool_]:
        """Mask [R, C]: True where the run has NaN."""
        none: NDArray[np.bool_] = np.isnan(self.values) if self.values.dtype.kind == "f" else np.zeros_like(self.mask)
        return none if self.valid is None else none & self.valid

    @property
    def note(self) -> str:
        """The note above the table: its quantity, how many values are not a number, gaps, where masked cells are."""
        quantity, none = self.meta.quantity, int(self.not_a_number.sum())
        said = f"{self.meta.caption}. A number is the {quantity}."
        if none:
            said += f" {none:,} of {self.values.size:,} values {'is' if none == 1 else 'are'} not a number."
        if self.valid is not None:
            said += " An empty cell has no number: its row has no step, or its key came after that step."
        if self.masked.any():
            said += (
                f" Masked cells keep their {quantity}: after the numbers, a column “…, masked” for each key says where"
                " they are."
            )
        return said

    def table(self) -> pd.DataFrame:
        """The values as a table: a row for each query, a column for each key.

        If any cell is masked, as many columns "..., masked" follow, True for masked cells.
        """
        index, columns = self.rows.index().rename(self.rows.title), self.columns.index()
        frame = pd.DataFrame(self.values, index=index, columns=columns)
        if self.not_a_number.any():
            frame = frame.astype(object).mask(self.not_a_number, NOT_A_NUMBER)
        if not self.masked.any():
            return frame
        marks = pd.DataFrame(self.masked, index=index, columns=[f"{name}, masked" for name in columns])
        return pd.concat([frame, marks], axis=1)

    def csv(self) -> bytes:
        """The whole table as a CSV file."""
        return self.table().to_csv().encode("utf-8")

    # ---- what is made of it

    def __sub__(self, other: Picture) -> Picture:
        """The difference A - B cell by cell, with A's tokens. Raises ValueError if the shapes differ."""
        if self.values.shape != other.values.shape:
            sizes = [f"{rows} × {columns}" for rows, columns in (self.values.shape, other.values.shape)]
            raise ValueError(f"A has {sizes[0]} cells and B {sizes[1]}: only maps of one size can be subtracted")
        a, b = self.meta, other.meta
        meta = Meta(
            title=f"A − B: {a.title}",
            caption=f"A: {a.caption}; B: {b.caption}",
            name=f"a-minus-b-{a.name}",
            scale="diverging",
            unit=f"{a.quantity} in A less {b.quantity} in B",
            quantity="difference",
            bounded=False,
            adds_up=a.adds_up,
            most=a.most,
            digits=a.digits,
            remarks=(*a.remarks, *(remark for remark in b.remarks if remark not in a.remarks)),
        )
        hidden = self.hidden if other.hidden is None else other.hidden
        if self.hidden is not None and other.hidden is not None:
            hidden = np.fmax(self.hidden, other.hidden)
        return Picture(
            self.values - other.values,
            self.axes,
            self.mask | other.mask,
            meta,
            valid=_join_masks(self.valid, other.valid),
            hidden=hidden,
            heads=_subtract_heads(self.heads, other.heads),
        )

    def without(self, special: Collection[int]) -> Self:
        """The picture without some columns, such as those of special tokens; rows of weights are rescaled to sum to 1,
        and a remark says how much was hidden."""
        hides = [place in special for place in range(len(self.columns))]
        if all(hides):
            return self.with_remarks("All keys here are special tokens: none is hidden.")
        if not any(hides):
            return self.with_remarks("No key here is a special token: none is hidden.")
        kept = [place for place, is_hidden in enumerate(hides) if not is_hidden]
        weighs = self.meta.quantity == "weight"
        found = hidden_keys(_fill_missing(self.values, self.valid), hides, renormalise=weighs)
        padding = np.isin(np.arange(len(self.rows)), list(self.rows.reads.padding))
        remark = _describe_hidden(found, padding) if weighs else "Special keys are hidden."
        heads = self.heads
        if heads is not None:
            each = hidden_keys(_fill_missing(heads.values, self.valid), hides, renormalise=weighs)
            heads = replace(heads, values=each.weights[..., kept].astype(np.float32), hidden=each.hidden_share)
        made = replace(
            self,
            values=found.weights[:, kept].astype(np.float32),
            axes=(self.rows, self.columns.at(kept)),
            mask=self.mask[:, kept],
            valid=None if self.valid is None else self.valid[:, kept],
            hidden=found.hidden_share if weighs else None,
            heads=heads,
        )
        unit = f"{self.meta.unit} without special keys{', renormalised' if weighs else ''}"
        return made.with_meta(unit=unit).with_remarks(remark).with_gaps()

    def words(
        self,
        rows: Words,
        columns: Words,
        together: Callable[[Sequence[Sequence[int]]], NDArray[np.float32]] | None = None,
    ) -> Self:
        """The picture by words: summed over the tokens of the word read, averaged over those of the word that reads.

        rows, columns: the words of each axis. together: the values of groups of key positions, [R, groups], for
        quantities that do not add up over keys, such as norms. Where each word is one token the map stays as it is, in
        its head's colour.
        """
        if (len(rows), len(columns)) == self.values.shape:
            return self.with_remarks(ONE_TOKEN_A_WORD)
        merged = word_map(_fill_missing(self.values, self.valid), self.mask, rows, columns)
        values, at = merged.weights, self.columns.positions
        if together is not None:
            lengths = together([[at[place] for place in places] for places in columns.positions])
            alone = Words(tuple((place,) for place in range(len(columns))), columns.labels)
            values = word_map(lengths, np.ones_like(lengths, dtype=bool), rows, alone).weights
        heads = self.heads
        if heads is not None:
            known = _fill_missing(heads.values, self.valid)
            by_head = word_map(known, np.broadcast_to(self.mask, known.shape), rows, columns).weights
            heads = replace(heads, values=by_head, hidden=_average_by_word(heads.hidden, rows))
        made = replace(
            self,
            values=values,
            axes=(self.rows.by_word(rows), self.columns.by_word(columns)),
            mask=merged.mask,
            valid=None if self.valid is None else _words_valid(self.valid, rows, columns),
            lost=None,
            hidden=_average_by_word(self.hidden, rows),
            heads=heads,
        )
        scale: Scale = "diverging" if self.meta.signed else "derived"
        return made.with_meta(scale=scale, unit=f"{self.meta.unit} by word (derived)").with_gaps()

    def with_gaps(self) -> Self:
        """The picture with NaN in missing cells, which are 0 in computations so that sums work."""
        if self.valid is None:
            return self
        heads = self.heads
        if heads is not None:
            heads = replace(heads, values=np.where(self.valid, heads.values, np.nan))
        return replace(self, values=np.where(self.valid, self.values, np.nan), heads=heads)


@dataclass(frozen=True)
class RunNames:
    """The names of a picture's run, for titles, captions and file names."""

    name: str
    called: str
    """The model's name, and how well its loading is verified."""
    words: str = ""
    """Its text, and how its answer was generated."""
    row_source: str = ""
    """The pass that its decoder rows are from, where that needs saying."""
    special: Mapping[SideName, Collection[int]] = field(default_factory=dict)
    """The positions of special tokens of each side."""
    special_ids: Collection[int] = ()
    """The special ids of the target vocabulary."""

    def caption(self, what: str, *, rows: bool = False) -> str:
        """The caption below a saved picture: model, text, selection, version; with decoder `rows`, their pass."""
        parts = (self.called, self.words, what, self.row_source if rows else "")
        return f"{', '.join(filter(None, parts))} (Viz Transformer {__version__})"

    def meta(self, what: str, kind: KindName, **more: Any) -> Meta:
        """The `Meta` of a map of a kind of attention; what: its title, such as "decoder layer 1, head 3"."""
        caption = self.caption(what, rows=KINDS[kind].writes)
        return Meta(capitalised(what), caption, file_name(self.name, what), **more)


def _fill_missing(values: NDArray[np.float32], valid: NDArray[np.bool_] | None) -> NDArray[np.float32]:
    return values if valid is None else np.where(valid, values, np.float32(0))


def _join_masks(a: NDArray[np.bool_] | None, b: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    return b if a is None else a if b is None else a & b


def _subtract_heads(a: Heads | None, b: Heads | None) -> Heads | None:
    if a is None or b is None or a.values.shape != b.values.shape:
        return None
    return Heads(a.names, a.values - b.values)


def _words_valid(valid: NDArray[np.bool_], rows: Words, columns: Words) -> NDArray[np.bool_]:
    """Mask [words, words]: False if a reading token has no step, or no piece of the word read was there."""
    steps = np.array([valid[list(places)].any(axis=-1).all() for places in rows.positions])
    return np.asarray(word_map(valid, valid, rows, columns).mask & steps[:, None])


def _average_by_word(shares: NDArray[np.float64] | None, rows: Words) -> NDArray[np.float64] | None:
    """The mean over the tokens of each word that reads: [..., R] -> [..., words]."""
    if shares is None:
        return None
    return np.stack([shares[..., list(places)].mean(axis=-1) for places in rows.positions], axis=-1)


def _describe_hidden(found: HiddenKeys, padding: NDArray[np.bool_]) -> str:
    """A sentence on how much weight the hidden keys hold on average, over the non-padding rows with any weight, and in
    how many of those they hold nearly all."""
    counted = ~padding & (found.hidden_mass + found.weights.sum(axis=-1, dtype=np.float64) > 0)
    share, rows = found.hidden_share[counted], int(counted.sum())
    if not rows:
        return "Special keys are hidden; no row has weight."
    said = f"Special keys are hidden: they hold {numerals.percent(float(share.mean()))} of the weight on average"
    if most := int((share > MOSTLY_HIDDEN).sum()):
        said += f", and more than {100 * MOSTLY_HIDDEN:.0f} % of it in {most} of {rows} rows; such rows are faint"
    if alone := int((found.weights[counted] == 0).all(axis=-1).sum()):
        said += (
            f". {alone} of them read{'s' if alone == 1 else ''} special keys alone: nothing is left to rescale to a"
            " sum of 1, and the other keys keep their weight of 0"
        )
    return f"{said}.{' Rows of padding are not counted.' if padding.any() else ''}"
