"""Attention maps of a trace, ready for a figure: one head, several, combined, or weighted by the norm of the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from viz_transformer import declared
from viz_transformer.analysis.attention.axes import Axes, Texts, attention_axes
from viz_transformer.analysis.attention.picture import (
    ATTENTION_WEIGHT,
    MASK_FILL_NAMES,
    Heads,
    Meta,
    Picture,
    RunNames,
    Spread,
)
from viz_transformer.model.attention import split_heads
from viz_transformer.model.kinds import KINDS, KindName, kinds_of
from viz_transformer.model.watched import rows_in_words
from viz_transformer.running.decoding import Run
from viz_transformer.running.trace import Tokens, Trace, is_watched
from viz_transformer.sentences import capitalised

HeadsCombined = Literal["mean", "max"]
Combined = Literal["mean", "max", "rollout"]

MAX_SHARE = 1.001
"""A weight of 1, rounded."""
_ROWS_AT_ONCE = 64  # queries for which the vectors of all heads are put together in one go
_SCALE_NAMES = {
    "mean": "mean attention weight (derived)",
    "max": "largest attention weight of the heads (derived)",
    "rollout": "attention rollout (derived)",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class AttentionPicture(Picture):
    """The weights of one head, or of several combined, as a picture that records its place in the model.

    Rows of the mean sum to 1 if those of the heads do; rows of the maximum need not.
    """

    kind: KindName
    layer: int
    head: int | None
    """None for a combined map (mean, max, rollout): then it is `derived`, and `combined` says which."""
    n_heads: int
    combined: Combined = "mean"
    module: str = ""
    """The name that a watched module gives this attention."""
    sums: str = ""
    """What rows sum to, where that is not 1."""
    spread: Spread = "shares"
    """The range of the weights of all heads."""

    @property
    def derived(self) -> bool:
        return self.head is None

    @property
    def title(self) -> str:
        """The map's title, in words: "decoder layer 1, head 3, cross-attention"."""
        if self.head is not None:
            return f"{_place(self.kind, self.layer, f'head {self.head}')}{self._module}"
        if self.combined == "rollout":
            share = {"encoder": "encoder", "decoder": "decoder, target share", "cross": "decoder, source share"}
            return f"attention rollout after layer {self.layer} of the {share[self.kind]}"
        combined = "maximum" if self.combined == "max" else "mean"
        return f"{_place(self.kind, self.layer, f'{combined} of {self.n_heads} heads')}{self._module}"

    @property
    def _module(self) -> str:
        return f" ({self.module})" if self.module else ""

    @property
    def scale_name(self) -> str:
        """What a colour means."""
        return _SCALE_NAMES[self.combined] if self.head is None else ATTENTION_WEIGHT

    # ---- the parts by the names that drawing them from arrays has

    @property
    def weights(self) -> NDArray[np.float32]:
        return self.values

    @property
    def query_tokens(self) -> tuple[str, ...]:
        return tuple(self.rows.reads.tokens)

    @property
    def key_tokens(self) -> tuple[str, ...]:
        return tuple(self.columns.reads.tokens)

    @property
    def query_originals(self) -> tuple[str, ...]:
        return self.rows.reads.typed

    @property
    def key_originals(self) -> tuple[str, ...]:
        return self.columns.reads.typed

    @property
    def query_writes(self) -> tuple[str, ...] | None:
        """What each decoder row writes, None in an encoder."""
        return None if self.rows.writes is None else tuple(self.rows.writes.tokens)


@dataclass(frozen=True, eq=False)
class Contribution:
    """Norm of each key's weighted value vector in each query's sub-layer output, with the map of it.

    norms: [Q, K] float32, at least 0, in units of the residual stream; [Q, groups] with groups of keys. value_norms:
    [K] float32, the norm at a weight of 1; None for all heads together and for groups, which have no single weight.
    """

    norms: NDArray[np.float32]
    value_norms: NDArray[np.float32] | None
    view: AttentionPicture

    @property
    def title(self) -> str:
        """The map's title, in words."""
        view = self.view
        heads = f"{view.n_heads} heads together" if view.head is None else f"head {view.head}"
        return f"{_place(view.kind, view.layer, heads)}: norm of what each key adds"

    @property
    def scale_name(self) -> str:
        """What a colour means."""
        return "norm of weight × value × W_O"


def attention_kinds(trace: Trace) -> tuple[KindName, ...]:
    """The kinds of attention in the trace's model, cross-attention first."""
    return kinds_of(trace.spec)


def layer_count(trace: Trace, kind: KindName) -> int:
    """The number of layers with this kind of attention. Raises ValueError for a kind that the trace's model lacks."""
    spec, kinds = trace.spec, attention_kinds(trace)
    if kind not in kinds:
        raise ValueError(f"a {spec.kind} model has no {kind!r} attention: choose {' or '.join(map(repr, kinds))}")
    return KINDS[kind].layers(spec)


def layer_weights(trace: Trace, kind: KindName, layer: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """All heads of one layer: weights [H, Q, K] as recorded, and mask [H, Q, K], True = may attend.

    Both are the recorded arrays, not copies: do not write to them. Raises ValueError for a kind or layer that the
    trace's model lacks, and for an attention that was not recorded.
    """
    site = _site(trace, kind, layer)
    weights = trace[f"{site}.weights"][0]
    mask = trace[f"{site}.mask"].expand(1, *weights.shape)[0]
    return _array(weights), np.asarray(mask.numpy(), dtype=bool)


def head_view(trace: Trace, kind: KindName, layer: int, head: int | HeadsCombined | None) -> AttentionPicture:
    """The map of one head of the trace, or the "mean" (also: None) or "max" over the layer's heads.

    A cell of a combined map counts as masked if it is in every head. The mean and the maximum of a single head are that
    head. Raises ValueError for a kind, layer or head that
    the trace's model does not have, and for another combination.
    """
    return head_views(trace, kind, layer, [head])[0]


def head_views(
    trace: Trace, kind: KindName, layer: int, heads: Sequence[int | HeadsCombined | None]
) -> tuple[AttentionPicture, ...]:
    """`head_view` of each of these heads, in their order."""
    whole = layer_weights(trace, kind, layer) if any(type(head) is not int for head in heads) else None
    return tuple(_head_view(trace, kind, layer, head, whole) for head in heads)


def explain_recomputation(trace: Trace, kind: KindName) -> str | None:
    """A sentence on how these weights were recomputed; None if the run itself computed them."""
    site = KINDS[kind].site(0)
    if f"{site}.weights" in trace.values or f"{site}.weights" not in trace:
        return None
    return "the recorded queries and keys"


def contribution_norms(
    trace: Trace, kind: KindName, layer: int, head: int | None, *, groups: Sequence[Sequence[int]] | None = None
) -> Contribution:
    """Norms || weight_ij * (v_j W_O of the head) || for each query i and key j; head None: of the sum over all heads.

    The bias of W_V is included; the bias of W_O, which belongs to no key, is not. For all heads, and for each of the
    `groups` of keys if they are given, it is the norm of the summed vectors, not the sum of norms: they may cancel.
    Computed from recorded weights and values, so an edit of head_out does not show. Residual and norm are left out
    (Kobayashi et al. 2021 include them). Raises ValueError for a model that merges its heads by a raw reshape, where no
    key adds to one position alone, and as `head_view` does.
    Source: Kobayashi et al. (2020).
    """
    moved = _project_values(trace, kind, layer)
    weights, mask = layer_weights(trace, kind, layer)  # [H, Q, K]
    view = _head_view(trace, kind, layer, head, (weights, mask))
    if groups is not None:
        which = slice(None) if head is None else slice(head, head + 1)
        rows, moved = torch.from_numpy(weights[which]).double(), moved[which]
        added = (torch.einsum("hqk,hkd->qd", rows[..., list(group)], moved[:, list(group)]) for group in groups)
        return Contribution(_array(torch.stack([vectors.norm(dim=-1) for vectors in added], dim=-1)), None, view)
    if head is not None:
        value_norms = moved[head].norm(dim=-1)  # [K]
        return Contribution(np.abs(view.weights) * _array(value_norms), _array(value_norms), view)
    # || sum_h w_h u_h ||^2 = sum_gh w_g (u_g . u_h) w_h: the vectors of all cells, [Q, K, D], are never made
    products = torch.einsum("gkd,hkd->kgh", moved, moved)
    squares = []
    for first in range(0, weights.shape[1], _ROWS_AT_ONCE):
        rows = torch.from_numpy(weights[:, first : first + _ROWS_AT_ONCE]).double()
        squares.append(torch.einsum("gqk,kgh,hqk->qk", rows, products, rows))
    return Contribution(_array(torch.cat(squares).clamp(min=0).sqrt()), None, view)


def value_lengths(trace: Trace, kind: KindName, layer: int) -> NDArray[np.float64]:
    """Norms || v_j W_O of the head ||, [H, K]: the length that a weight of 1 on the key adds. Raises ValueError as
    `contribution_norms` does."""
    return np.asarray(_project_values(trace, kind, layer).norm(dim=-1).numpy())


def _project_values(trace: Trace, kind: KindName, layer: int) -> torch.Tensor:
    """Value vectors after each head's part of W_O, v_j W_O: [H, K, D] float64."""
    site = _site(trace, kind, layer)
    if undefined := trace.spec.missing.get(f"{site}.contribution"):
        raise ValueError(undefined)
    if site not in trace.output_maps:
        raise ValueError(f"this trace holds no output map W_O of {site!r}: record the run again to see contributions")
    if f"{site}.value" not in trace:
        raise ValueError("of each step only weights were kept, no values of self-attention: look at the last pass")
    heads = trace.spec.attentions[site]
    by_head = split_heads(trace.output_maps[site][None], heads.query)[0].double()  # [H, D, E]
    value = trace[f"{site}.value"][0].double().repeat_interleave(heads.query // heads.key, dim=0)  # shared by heads
    return value @ by_head.transpose(-2, -1)


def added_padding(side: Tokens) -> NDArray[np.bool_]:
    """True for padding that the run appended to the given tokens."""
    return np.array([typed == "" for typed in side.originals], dtype=bool)


def sides(trace: Trace, kind: KindName) -> tuple[Tokens, Tokens]:
    """The tokens of this kind of attention's rows and columns: queries, keys."""
    return KINDS[kind].sides(trace.src, trace.tgt)


def step_row(run: Run, step: int) -> int:
    """The decoder row that writes the token of this step.

    Rows that only read a given text come before the first, rows of padding, which write nothing, after the last.
    """
    rows = sum(token is not None for token in run.trace.next_ids)
    return rows - len(run.steps) + step


def valid_mask(trace: Trace, kind: KindName) -> NDArray[np.bool_] | None:
    """Mask [Q, K], True where the trace has a weight of this kind of attention; None if everywhere.

    Weights are missing only in `Run.per_step_rows`: rows of no step, and keys after their step. A model that pads read
    padding at those keys: such a cell is valid only if some head gave it weight.
    """
    if not trace.is_per_step or not KINDS[kind].writes:
        return None
    queries, keys = (np.arange(len(side)) for side in sides(trace, kind))
    end = sum(token is not None for token in trace.next_ids)
    has_step = (queries >= end - trace.info["written"]) & (queries < end)
    cells = np.broadcast_to(has_step[:, None], (len(queries), len(keys)))
    if kind == "decoder":
        had = keys <= queries[:, None]
        if trace.spec.pad_to is not None:
            for layer in range(layer_count(trace, kind)):
                had |= (layer_weights(trace, kind, layer)[0] != 0).any(axis=0)
        cells = cells & had
    return cells


def axes_of(trace: Trace, kind: KindName, names: RunNames | None = None) -> Axes:
    """The axes of a kind of attention: queries and keys, with the token each decoder row writes; `names` marks special
    tokens."""
    known = names or names_of(trace)
    queries, keys = (
        Texts(
            side.tokens,
            tuple(typed or token for typed, token in zip(side.originals, side.tokens, strict=True)),
            special=known.special.get(name, ()),
            padding=frozenset(np.flatnonzero(added_padding(side)).tolist()),
        )
        for name, side in zip((KINDS[kind].queries.name, KINDS[kind].keys.name), sides(trace, kind), strict=True)
    )
    if not KINDS[kind].writes:
        return attention_axes(kind, queries, keys)
    special = frozenset(row for row, token_id in enumerate(trace.next_ids) if token_id in known.special_ids)
    return attention_axes(kind, queries, keys, Texts(_list_written_tokens(trace), special=special))


def names_of(trace: Trace) -> RunNames:
    """The caption names of a trace without further information about its run."""
    return RunNames(trace.checkpoint, trace.called, row_source=trace.row_source)


def mask_fill_name(trace: Trace) -> str:
    """The name of the value that the model writes into masked scores; "" for 0, or if a foreign model does not say."""
    own = trace.spec.config
    return "" if own is None else MASK_FILL_NAMES.get(own.mask_fill, "")


def lost_rows(trace: Trace, view: AttentionPicture) -> NDArray[np.bool_] | None:
    """Mask [Q], True for rows whose softmax read a non-finite score in an open cell. Without recorded scores: the NaN
    rows, if an earlier layer has NaN too. None if unknown, or if no weight is NaN."""
    none = np.isnan(view.weights)
    if view.combined == "rollout" or not none.any():
        return None
    point = f"{KINDS[view.kind].site(view.layer)}.scores"
    if point not in trace:
        before = any(np.isnan(layer_weights(trace, view.kind, layer)[0]).any() for layer in range(view.layer))
        return np.asarray(none.any(axis=-1)) if before else None
    scores = _array(trace[point][0] if view.head is None else trace.of_head(point, view.head)[0])
    lost = (~np.isfinite(scores) & view.mask).any(axis=-1)
    return np.asarray(lost.any(axis=0) if view.head is None else lost)


def view_of(
    trace: Trace,
    kind: KindName,
    layer: int,
    weights: NDArray[np.float32],
    mask: NDArray[np.bool_],
    *,
    head: int | None = None,
    combined: Combined = "mean",
) -> AttentionPicture:
    """A picture of the map [Q, K] with the trace's tokens; without a head it is a derived one, and `combined` says
    which."""
    site = _site(trace, kind, layer)
    of_weights = is_watched(trace) and (head is not None or combined == "mean")
    made = AttentionPicture(
        values=weights,
        axes=axes_of(trace, kind),
        mask=mask,
        meta=Meta("", "", ""),
        kind=kind,
        layer=layer,
        head=head,
        n_heads=trace.spec.heads(kind, layer).query,
        combined=combined,
        module=trace.spec.modules.get(site, ""),
        sums=rows_in_words(weights) if of_weights else "",
        spread=describe_spread(trace, site),
    )
    meta = names_of(trace).meta(
        made.title,
        kind,
        # grey for a map of no single head
        scale="diverging" if made.spread == "signed" else "derived" if made.derived else kind,
        unit=made.scale_name,
        bounded=made.spread == "shares",
        adds_up=not made.sums,
        remarks=(f"{capitalised(made.sums)}.",) if made.sums else (),
        fill=mask_fill_name(trace),
    )
    return replace(made, meta=meta)


def attention_picture(
    trace: Trace,
    kind: KindName,
    layer: int,
    heads: int | Sequence[int] | HeadsCombined | None,
    *,
    lengths: bool = False,
    names: RunNames | None = None,
) -> AttentionPicture:
    """The map of one head, or of the first of several with all of them in `heads`, or of all heads combined. Cells that
    the trace lacks are gaps.

    lengths: show `contribution_norms` instead of weights. names: names of the run for captions, where more is known
    than the trace itself says. Raises ValueError as `head_view` and `contribution_norms` do."""
    several = heads if isinstance(heads, Sequence) and not isinstance(heads, str) else ()
    first = several[0] if several else cast("int | HeadsCombined | None", heads)
    if lengths:
        found = contribution_norms(trace, kind, layer, None if isinstance(first, str) else first)
        made = picture_of(trace, found.view, names, found.title)
        made = made.with_meta(unit=found.scale_name, quantity="norm", bounded=False)
        return replace(made, values=found.norms).with_gaps()
    made = picture_of(trace, head_view(trace, kind, layer, first), names)
    if len(several) > 1:
        weights = np.stack([each.values for each in head_views(trace, kind, layer, several)])
        made = replace(made, heads=Heads(tuple(f"head {head}" for head in several), weights))
    return made.with_gaps()


def picture_of(
    trace: Trace, view: AttentionPicture, names: RunNames | None = None, what: str | None = None
) -> AttentionPicture:
    """The view with special tokens, gaps and NaN rows marked, from the trace and its run's `names`. `what`: the title,
    where it is not the view's own."""
    names, what = names or names_of(trace), what or view.title
    made = replace(
        view,
        axes=axes_of(trace, view.kind, names),
        valid=valid_mask(trace, view.kind),
        lost=lost_rows(trace, view),
    )
    said = names.meta(what, view.kind)
    return made.with_meta(title=said.title, caption=said.caption, name=said.name).with_gaps()


def describe_spread(trace: Trace, site: str) -> Spread:
    """The range of an attention's weights; shares, from 0 to 1, in a run of a model of ours."""
    if not is_watched(trace):
        return "shares"
    weights = trace[f"{site}.weights"].nan_to_num(nan=0.0)
    return "signed" if bool((weights < 0).any()) else "from 0" if bool((weights > MAX_SHARE).any()) else "shares"


def unseen_layers(trace: Trace, kind: KindName) -> dict[int, str]:
    """The layers whose attention of this kind was not recorded, each with the reason as a sentence."""
    sites = {layer: KINDS[kind].site(layer) for layer in range(layer_count(trace, kind))}
    missing = trace.spec.missing
    return {layer: missing[f"{site}.weights"] for layer, site in sites.items() if site in trace.spec.unseen}


def _head_view(
    trace: Trace,
    kind: KindName,
    layer: int,
    head: int | HeadsCombined | None,
    whole: tuple[NDArray[np.float32], NDArray[np.bool_]] | None,
) -> AttentionPicture:
    """The map of `head_view`. whole: weights and mask [H, Q, K] of the layer, for combined heads; without it only the
    one head is computed.

    Raises ValueError for a head or a combination that there is not."""
    if head is None or isinstance(head, str):
        combined = head or "mean"
        if combined not in get_args(HeadsCombined):
            raise ValueError(f"heads are not combined as {head!r}: choose 'mean' or 'max', or a head's number")
        weights, mask = whole or layer_weights(trace, kind, layer)
        if len(weights) == 1:
            return _head_view(trace, kind, layer, 0, whole)
        together = weights.max(axis=0) if combined == "max" else weights.mean(axis=0)
        return view_of(trace, kind, layer, together, np.asarray(mask.any(axis=0)), combined=combined)
    site = _site(trace, kind, layer)
    count = trace.spec.attentions[site].query
    declared.place("head", head, count)
    own = _array(trace.of_head(f"{site}.weights", head)[0]) if whole is None else whole[0][head]
    masks = trace[f"{site}.mask"][0]
    mask = np.asarray(masks[head % len(masks)].expand(own.shape).numpy(), dtype=bool)
    return view_of(trace, kind, layer, own, mask, head=head)


def _place(kind: KindName, layer: int, heads: str) -> str:
    """The place in the model, in words: "decoder layer 1, head 3, cross-attention"."""
    return f"{KINDS[kind].stack} layer {layer}, {heads}, {KINDS[kind].attention}-attention"


def _site(trace: Trace, kind: KindName, layer: int) -> str:
    """The site name of the attention. Raises ValueError if the trace's model lacks it, or it was not recorded."""
    layers = layer_count(trace, kind)
    declared.place("layer", layer, layers)
    site = KINDS[kind].site(layer)
    if site in trace.spec.unseen:
        raise ValueError(trace.spec.missing[f"{site}.weights"])
    return site


def _list_written_tokens(trace: Trace) -> tuple[str, ...]:
    """The token that each decoder row writes; a phrase where that is unknown, and for rows of padding."""
    padding = (typed == "" for typed in trace.tgt.originals)
    return tuple(
        token if token is not None else "(unused)" if is_padding else "(not known)"
        for token, is_padding in zip(trace.next_tokens, padding, strict=True)
    )


def _array(values: torch.Tensor) -> NDArray[np.float32]:
    return np.asarray(values.detach().cpu().numpy(), dtype=np.float32)
