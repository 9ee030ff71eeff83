"""Which token moves which logits: each token swapped for others, and the largest change at every position.

A leak is a change of the logits at position i when a token j > i is swapped. A changed output alone is none.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from viz_transformer import numerals
from viz_transformer.analysis.attention.maps import added_padding
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.hook import OFF, Hook, Recorder
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.running.trace import Trace
from viz_transformer.text.codec import TextCodec

SWAPS = 3
"""How many other tokens each one is swapped for."""
MAX_COLUMNS = 32
"""The most positions that are tried, evenly spaced in a longer text, with its first and last."""
_NUMBERS_AT_ONCE = 4_000_000  # logits of the passes that run side by side


@dataclass(frozen=True)
class Plan:
    """The plan of an influence matrix: `columns` are the positions whose token is swapped, `trials` the number of runs.

    work: multiplications, roughly; `of`: the number of positions.
    """

    side: SideName
    columns: tuple[int, ...]
    of: int
    trials: int
    work: int


@dataclass(frozen=True, eq=False)
class Influence:
    """The influence matrix: how much swapping a token changes the logits at each position."""

    side: SideName
    change: NDArray[np.float32]
    """[R, C] float32, the largest absolute change of a logit at position rows[r] when the token at columns[c] is
    swapped. 0 is exact: no bit of the row changed. Infinity: NaN appeared or disappeared. NaN: the unchanged text has
    no numbers there."""
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    of: int
    """The number of positions that the columns are chosen from."""
    swapped: tuple[tuple[str, ...], ...]
    """For each column the tokens put in its place."""
    largest: float
    """The largest absolute logit of the unchanged text, to compare changes with; NaN if some are NaN."""

    @property
    def ahead(self) -> NDArray[np.bool_]:
        """Mask [R, C], True where the swapped token comes after the row; never for tokens of the source."""
        if self.side == "source":
            return np.zeros(self.change.shape, dtype=bool)
        return np.array(self.columns)[None, :] > np.array(self.rows)[:, None]

    @property
    def leaks(self) -> NDArray[np.bool_]:
        """Mask [R, C], True where a later token changed an earlier row."""
        return self.ahead & (self.change > 0)

    @property
    def lost(self) -> tuple[int, ...]:
        """Positions whose logits are not numbers."""
        return tuple(row for row, cells in zip(self.rows, self.change, strict=True) if np.isnan(cells).any())

    @property
    def causal(self) -> bool:
        """True if no later token changed an earlier row in any trial."""
        return not self.leaks.any()

    @property
    def worst(self) -> tuple[int, int, float] | None:
        """The largest leak: position of the row, position of the later token, change; None without a leak."""
        if self.causal:
            return None
        r, c = np.unravel_index(np.where(self.leaks, self.change, -1).argmax(), self.change.shape)
        return self.rows[r], self.columns[c], float(self.change[r, c])


def influence_plan(
    ckpt: Checkpoint, trace: Trace, *, side: SideName = "target", swaps: int = SWAPS, most: int = MAX_COLUMNS
) -> Plan:
    """The plan of `influence` with the same arguments; runs nothing.

    Raises ValueError for a model without a decoder, and for tokens of a source where there is none.
    """
    config = trace.config
    if not config.has_decoder:
        raise ValueError("an encoder reads everything at once and writes nothing: there are no logits to watch")
    if side == "source" and not config.has_encoder:
        raise ValueError("a decoder alone has no source: only target tokens can be swapped")
    tokens = SIDES[side].of(trace.src, trace.tgt)
    given = np.flatnonzero(~added_padding(tokens))
    if len(given) > most:
        given = given[np.unique(np.linspace(0, len(given) - 1, most).round().astype(int))]
    columns = tuple(int(position) for position in given)
    swappable = len(_list_ordinary_ids(ckpt, side))
    trials = len(columns) * min(swaps, max(0, swappable - 1))
    parts = filter(None, (ckpt.model.decoder.layers, ckpt.model.output))
    decoder = sum(p.numel() for part in parts for p in part.parameters())
    encoder = sum(p.numel() for p in ckpt.model.encoder.layers.parameters()) if side == "source" else 0
    output = config.d_model * (config.target_vocab_size or 0) if config.tied_output else 0
    work = trials * (len(trace.tgt) * (decoder + output) + len(trace.src) * encoder)
    count = int((~added_padding(tokens)).sum())
    return Plan(side, columns, count, trials, work)


@torch.no_grad()
def influence(
    ckpt: Checkpoint,
    trace: Trace,
    *,
    side: SideName = "target",
    swaps: int = SWAPS,
    most: int = MAX_COLUMNS,
    seed: int = 0,
) -> Influence:
    """The influence matrix of the trace's text, with the trace's edits, in the model that recorded it.

    Each token of the side, padding left out, is swapped for up to `swaps` others, drawn by `seed` from the vocabulary
    without its special tokens; of more than `most` positions some are left out, evenly. Rows are the decoder's rows,
    padding left out. The text as it is runs in batches of the same shape as the swapped ones, so that equal numbers
    are equal bit by bit. Raises ValueError as `influence_plan`, for another model's trace, and for a vocabulary in
    which there is nothing to swap for.
    """
    plan = influence_plan(ckpt, trace, side=side, swaps=swaps, most=most)
    if ckpt.config != trace.config:
        raise ValueError("the trace is of another model: give the checkpoint that recorded it")
    ordinary = _list_ordinary_ids(ckpt, side)
    own = SIDES[side].of(trace.src_ids, trace.tgt_ids)
    choose = random.Random(seed)
    chosen = []
    for position in plan.columns:
        others = [token_id for token_id in ordinary if token_id != own[position]]
        if not others:
            raise ValueError("the vocabulary has no other token to swap for")
        chosen.append(tuple(sorted(choose.sample(others, min(swaps, len(others))))))
    trials = [(c, [*own[:p], new, *own[p + 1 :]]) for c, p in enumerate(plan.columns) for new in chosen[c]]
    rows = np.flatnonzero(~added_padding(trace.tgt))
    change = np.zeros((len(rows), len(plan.columns)), dtype=np.float32)
    run = _Batches(ckpt, trace, side)
    size = max(1, min(len(trials), _NUMBERS_AT_ONCE // (len(trace.tgt) * (trace.spec.target_vocab_size or 1))))
    as_it_is = run([list(own)] * size)[:, rows]  # [B, R, V]
    for first in range(0, len(trials), size):
        part = trials[first : first + size]
        batch = [ids for _, ids in part] + [list(own)] * (size - len(part))
        moved = _measure_change(as_it_is, run(batch)[:, rows])  # [B, R]
        for (column, _), largest in zip(part, moved, strict=False):
            change[:, column] = np.maximum(change[:, column], largest.numpy())
    change[as_it_is[0].isnan().any(dim=-1).numpy()] = np.nan
    codec = ckpt.codecs.get(side)
    return Influence(
        side=side,
        change=change,
        rows=tuple(int(row) for row in rows),
        columns=plan.columns,
        of=plan.of,
        swapped=tuple(tuple(_name(codec, token_id) for token_id in ids) for ids in chosen),
        largest=float(as_it_is[0].abs().max()),
    )


@dataclass(frozen=True)
class Verdict:
    """The conclusion from an influence matrix, in sentences. good: True for a triangle, False for a leak, None for
    neither."""

    good: bool | None
    sentence: str
    detail: str


def verdict(found: Influence, *, changed: bool = False) -> Verdict:
    """The verdict on causality, or for swapped source tokens on which rows they reach.

    changed: the run has other masks than the model's own; then it is the run that is judged, not the decoder.
    """
    who = "with these masks the run" if changed else "this decoder"
    if found.lost and found.causal:
        sentence = f"The logits at position{_list_positions(found.lost)} are not numbers."
        advice = "choose another fill, or open a cell of the row that may see nothing"
        return Verdict(None, sentence, f"Nothing can be said of a row of NaN: {advice}.")
    if found.side == "source":
        return _source_verdict(found)
    pairs = int(found.ahead.sum())
    if not pairs:
        return Verdict(None, "A single position has no later token: choose a longer text.", "")
    if found.worst is None:
        tried = f"{pairs:,} (position, later token) pair{'s' if pairs > 1 else ''}"
        detail = f"Checked {tried}: no earlier logit changed, not by a single bit."
        return Verdict(True, "A triangle: nothing reads ahead.", detail)
    row, column, size = found.worst
    leaks = int(found.leaks.sum())
    much = "to or from something that is not a number" if np.isinf(size) else f"by up to {numerals.number(size, 2)}"
    return Verdict(
        False,
        f"Position {row} changes when token {column} is swapped: {who} reads the future.",
        f"{leaks:,} of {pairs:,} pairs of a position and a later token show a change; there a logit moves {much}, and"
        f" the largest logit of this text is {numerals.number(found.largest, 2)}.",
    )


def _source_verdict(found: Influence) -> Verdict:
    still = [column for c, column in enumerate(found.columns) if not (found.change[:, c] > 0).any()]
    moved = int((found.change > 0).sum())
    if not still:
        sentence = "Every source token that was swapped moves some logits."
    else:
        sentence = f"Swapping source token{_list_positions(still)} changes nothing."
    detail = f"{moved:,} of {found.change.size:,} pairs show a change. The source is there before anything is written:"
    return Verdict(None, sentence, f"{detail} reading all of it is not a leak.")


def _list_positions(positions: Sequence[int]) -> str:
    """The first positions as a list, after the plural s of their noun."""
    return f"{'s' if len(positions) > 1 else ''} {', '.join(map(str, positions[:8]))}" + ", ..." * (len(positions) > 8)


class _Batches:
    """Runs the model on texts of one length that differ on one side, with the trace's edits."""

    def __init__(self, ckpt: Checkpoint, trace: Trace, side: SideName) -> None:
        self.model, self.trace, self.side = ckpt.model, trace, side
        self.device = next(ckpt.model.parameters()).device

    def __call__(self, texts: Sequence[Sequence[int]]) -> Tensor:
        """Logits [B, T, V] on the CPU, float32."""
        hook: Hook = Recorder(self.trace.edits) if self.trace.edits else OFF
        ids = torch.tensor(texts, device=self.device)
        if not self.trace.spec.has_encoder:
            return self.model.decode(ids, hook=hook).float().cpu()
        if self.side == "source":
            memory, keep = self.model.encode(ids, hook)
            ids = torch.tensor([self.trace.tgt_ids], device=self.device).expand(len(texts), -1)
        else:
            memory, keep = self.model.encode(torch.tensor([self.trace.src_ids], device=self.device), hook)
            memory, keep = memory.expand(len(texts), -1, -1), keep.expand(len(texts), -1)
        return self.model.decode(ids, memory, keep, hook=hook).float().cpu()


def _measure_change(before: Tensor, after: Tensor) -> Tensor:
    """The largest absolute difference over the vocabulary: [B, R, V] twice -> [B, R]; infinity where NaN differs."""
    same = (before == after) | (before.isnan() & after.isnan())
    return (before - after).abs().nan_to_num(nan=torch.inf).masked_fill(same, 0.0).amax(dim=-1)


def _list_ordinary_ids(ckpt: Checkpoint, side: SideName) -> list[int]:
    """The ids of the side's vocabulary without special tokens."""
    codec = ckpt.codecs.get(side)
    size = SIDES[side].vocab_size(ckpt.spec) or 0
    special = codec.special_ids if codec is not None else {SIDES[side].pad(ckpt.spec)}
    return [token_id for token_id in range(size) if token_id not in special]


def _name(codec: TextCodec | None, token_id: int) -> str:
    return str(token_id) if codec is None else codec.names[token_id]
