"""Word order: a model's answers to the same tokens in two orders, with its positions and without them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from viz_transformer import declared
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import StackName
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.edits import RemovePositions
from viz_transformer.running.tracing import decoder_input, encode_source, trace
from viz_transformer.text.codec import Codec

MAX_STEPS = 64
"""The most tokens of each answer."""
ROUNDING = 1e-5
"""Changes up to this share of the largest logit are float32 rounding: the same sums in another order."""

_END = re.compile(r"(?<=\w)[.!?…]+$")


@dataclass(frozen=True)
class OrderAnswer:
    """The model's own answer. cut: it was stopped after MAX_STEPS tokens."""

    text: str
    cut: bool


@dataclass(frozen=True)
class Change:
    """Both answers, and the largest change of a logit between the two texts: at which row, for which token.

    largest: the largest absolute logit of both. row: position of the target, None where only the last row is compared.
    """

    a: OrderAnswer
    b: OrderAnswer
    change: float
    largest: float
    row: int | None
    token: str

    @property
    def matters(self) -> bool:
        """Whether the logits differ by more than float32 rounding: the model tells the two texts apart."""
        return self.change > ROUNDING * self.largest


@dataclass(frozen=True)
class TwoOrders:
    """Two texts read with positions and without. removed: the stacks whose positions are left out in `without`.

    rows: how many rows of logits are compared. missing: tokens more frequent in A than in B; added: in B than in A;
    without any, only the order differs.
    """

    removed: tuple[StackName, ...]
    rows: int
    with_positions: Change
    without: Change | None
    missing: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def same_tokens(self) -> bool:
        return not self.missing and not self.added


def two_orders(ckpt: Checkpoint, a: str, b: str, removed: Sequence[StackName]) -> TwoOrders:
    """Both texts read and answered greedily, with all positions and without those of the stacks in `removed`.

    The logits of a model with an encoder are compared row by row on one given target, A's answer with positions; those
    of a decoder alone in the last row, which is to write the next token. `without` is None where nothing is removed.
    Raises ValueError with one sentence for a text that the model cannot read, and for positions that it does not have.
    """
    if not ckpt.spec.has_decoder:
        raise ValueError("an encoder-only model writes no answer that could be compared")
    tokens = []
    for name, text in (("A", a), ("B", b)):
        with declared.prefixed(f"{name}: "):
            tokens.append(_ids(ckpt, text))
    answered = [decode(ckpt, text, max_steps=MAX_STEPS) for text in (a, b)]
    missing, added = (_names(ckpt, more - less) for more, less in (tokens, tokens[::-1]))
    target = answered[0].trace
    rows = [row for row, token_id in enumerate(target.next_ids) if token_id is not None]
    compared = _Compared(ckpt, (a, b), target.tgt_ids if ckpt.spec.has_encoder else None, rows)
    without = None
    if removed:
        edits = _edits(removed)
        again = [decode(ckpt, text, max_steps=MAX_STEPS, edits=edits) for text in (a, b)]
        without = compared.change(removed, again)
    return TwoOrders(
        tuple(removed),
        len(rows) if ckpt.spec.has_encoder else 1,
        compared.change((), answered),
        without,
        missing,
        added,
    )


def removable(config: ModelConfig) -> tuple[tuple[StackName, ...], ...]:
    """Which stacks' positions can be left out, the most telling first; none of a model that adds no positions.

    Only the encoder of an encoder-decoder reads the two orders: without its positions its output is the same set.
    """
    if not config.encoding.adds:  # encodings inside attention are removed by edits of their points
        return ()
    if config.kind == "encoder-decoder":
        return ("encoder",), ("decoder",), ("encoder", "decoder")
    return (("encoder",) if config.has_encoder else ("decoder",),)


def reverse_words(text: str, codec: Codec, *, keep_last: bool = False) -> str | None:
    """The words of the text from the last to the first, of a single word its tokens; None if there is one order only.

    A full stop stays at the end, and with keep_last the last word or token: a decoder alone goes on from that.
    """
    words = text.split()
    end = "" if keep_last else "".join(_END.findall(text.rstrip()))
    if words and (other := _other_order([*words[:-1], words[-1].removesuffix(end)], keep_last=keep_last)):
        return " ".join(other) + end
    tokens = codec.tokenizer.tokenize(text)
    other = _other_order(tokens, keep_last=keep_last)
    return None if other is None else codec.tokenizer.detokenize(other)


def _other_order(parts: Sequence[str], *, keep_last: bool) -> list[str] | None:
    """The parts backwards, of a palindrome from the second on and round; None if all are equal."""
    moved, kept = (list(parts[:-1]), list(parts[-1:])) if keep_last else (list(parts), [])
    if len(set(moved)) < 2:
        return None
    backwards = moved[::-1]
    return (backwards if backwards != moved else [*moved[1:], moved[0]]) + kept


@dataclass(frozen=True)
class _Compared:
    """The comparison of the logits of two texts: on a given target, or in the last row."""

    ckpt: Checkpoint
    texts: tuple[str, str]
    target: tuple[int, ...] | None
    rows: Sequence[int]

    def change(self, removed: Sequence[StackName], answered: Sequence[Run]) -> Change:
        a, b = (self._logits(text, removed) for text in self.texts)
        gap = (a.double() - b.double()).abs()
        row, token_id = divmod(int(gap.argmax()), gap.size(1))
        answers = [
            OrderAnswer(run.text, run.stopped != "end token" and len(run.steps) == MAX_STEPS) for run in answered
        ]
        return Change(
            a=answers[0],
            b=answers[1],
            change=float(gap.max()),
            largest=float(torch.maximum(a.abs().max(), b.abs().max())),
            row=None if self.target is None else self.rows[row],
            token=self.ckpt.codec("target").names[token_id],
        )

    def _logits(self, text: str, removed: Sequence[StackName]) -> Tensor:
        """Rows of logits, [R, V]."""
        recorded = trace(self.ckpt, text, self.target, edits=_edits(removed))
        if self.target is not None:
            return recorded["logits"][0, self.rows]
        pad = self.ckpt.spec.target_pad if self.ckpt.spec.pad_to is not None else None
        last = max(row for row, token_id in enumerate(recorded.tgt_ids) if token_id != pad)
        return recorded["logits"][0, [last]]


def _edits(removed: Sequence[StackName]) -> tuple[RemovePositions, ...]:
    return tuple(RemovePositions(stack) for stack in removed)


def _ids(ckpt: Checkpoint, text: str) -> Counter[int]:
    """The token counts of the text as the model reads it. Raises ValueError if it cannot read it."""
    return Counter((encode_source(ckpt, text) if ckpt.spec.has_encoder else decoder_input(ckpt, text)[0]).ids)


def _names(ckpt: Checkpoint, ids: Counter[int]) -> tuple[str, ...]:
    codec = ckpt.codec("source" if ckpt.spec.has_encoder else "target")
    return tuple(codec.names[token_id] for token_id in ids.elements())
