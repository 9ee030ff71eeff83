"""Likelihood of an owner's texts, text by text: of a whole text, or of an answer after its prompt."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.measuring.answering import BATCH, BATCH_LOGITS, BATCH_TOKENS, scores_of_each
from viz_transformer.measuring.data import Pair
from viz_transformer.measuring.yardsticks import Predicted
from viz_transformer.model.hooked_model import HookedModel
from viz_transformer.model.transformer import Transformer
from viz_transformer.text.codec import Codec, Encoded


@dataclass(frozen=True)
class DecoderText:
    """A decoder-only text as ids with start token, and the index of the first counted token."""

    ids: tuple[int, ...]
    first: int

    @property
    def count(self) -> int:
        return max(len(self.ids) - self.first, 0)

    @property
    def predicted(self) -> Predicted:
        return Predicted.of(self.ids, self.first)


@dataclass(frozen=True)
class Loss:
    """Nats per token over some texts, with its standard error."""

    nats: float
    error: float
    tokens: int

    @classmethod
    def of(cls, each: Sequence[tuple[float, int]]) -> Loss:
        """Loss from (nats, tokens) of each text."""
        tokens = sum(count for _, count in each)
        nats = sum(total for total, _ in each) / tokens
        if not math.isfinite(nats):
            return cls(math.inf, math.inf, tokens)
        if len(each) < 2:
            return cls(nats, math.inf, tokens)
        apart = sum((total - nats * count) ** 2 for total, count in each)
        return cls(nats, math.sqrt(apart * len(each) / (len(each) - 1)) / tokens, tokens)


def encoded_text(codec: Codec, text: str | Pair) -> Encoded | tuple[Encoded, Encoded]:
    """A text, or prompt and answer separately, encoded."""
    return codec.encode(text) if isinstance(text, str) else (codec.encode(text[0]), codec.encode(text[1]))


def decoder_text(ckpt: Checkpoint, text: str | Pair, longest: int | None = None) -> DecoderText:
    """What a decoder-only model reads and predicts of a text, after its start token if it has one.

    In a text, every token counts except the first without a start token; in prompt and answer, only the answer's.
    longest: maximum ids, without the start token.
    """
    codec = ckpt.own_codec("target")
    start = () if codec.vocabulary.bos is None else (codec.vocabulary.bos,)
    encoded = encoded_text(codec, text)
    parts = [_plain(codec, each) for each in (encoded if isinstance(encoded, tuple) else (encoded,))]
    ids = (*start, *[id for part in parts for id in part][:longest])
    first = len(start) + (1 if len(parts) == 1 else len(parts[0]))
    return DecoderText(ids, max(first, 1))


def _plain(codec: Codec, encoded: Encoded) -> tuple[int, ...]:
    """Ids without the start and end tokens that the codec adds."""
    ids = encoded.ids[codec.add_bos :]
    return ids[: len(ids) - codec.add_eos]


def fits(ckpt: Checkpoint, text: str | Pair, read: DecoderText) -> bool:
    """Whether a text has a counted token; prompt and answer must fit in one piece."""
    return read.count > 0 and (isinstance(text, str) or len(read.ids) - 1 <= ckpt.spec.max_target)


def decoder_losses(ckpt: Checkpoint, texts: Sequence[DecoderText]) -> list[tuple[float, int]]:
    """(nats, number) of each text's counted tokens.

    Longer texts are cut: each piece predicts one token more than it reads.
    """
    nats, counts = [0.0] * len(texts), [0] * len(texts)
    pieces: list[_Piece] = []
    for index, text in enumerate(texts):
        window = min(ckpt.spec.max_target, max(len(text.ids) - 1, 1))
        for start in range(0, len(text.ids) - 1, window):
            cut = text.ids[start : start + window + 1]
            first = max(text.first - start, 1)
            if first < len(cut):
                pieces.append((index, cut, first))
    for batch in _batches(pieces, ckpt.hooked_model, len(ckpt.own_codec("target").names)):
        losses = _losses(ckpt.hooked_model, [cut for _, cut, _ in batch])
        for row, (index, cut, first) in zip(losses, batch, strict=True):
            nats[index] += float(row[first - 1 : len(cut) - 1].sum())
            counts[index] += len(cut) - first
    return [*zip(nats, counts, strict=True)]


def pair_losses(ckpt: Checkpoint, pairs: Sequence[Pair]) -> list[tuple[float, int]]:
    """(nats, tokens) of an encoder-decoder's targets."""
    return [(-each.log_prob, each.tokens) for each in scores_of_each(ckpt, pairs)]


def target_text(ckpt: Checkpoint, target: str) -> Predicted:
    """Predicted tokens of a target: everything after its start token, end included."""
    codec = ckpt.codec("target")
    ids = codec.encode(target).ids
    ids = ids if codec.start is None or ids[:1] == (codec.start,) else (codec.start, *ids)
    end = min(codec.ends, default=None)
    ids = ids if end is None or ids[-1:] == (end,) else (*ids, end)
    return Predicted.of(ids, 1)


_Piece = tuple[int, tuple[int, ...], int]


def _batches(pieces: Sequence[_Piece], model: HookedModel, size: int) -> Iterator[list[_Piece]]:
    """Batches of pieces; of equal length unless the decoder is causal and ours, since padding may change numbers."""
    config = model.config if isinstance(model, Transformer) else None
    apart = config is None or config.norm_kind == "positions-and-features" or config.merge != "concatenate"
    batch: list[_Piece] = []
    for piece in sorted(pieces, key=lambda each: len(each[1])):
        longest, rows = len(piece[1]), len(batch) + 1
        full = rows > BATCH or longest * rows > BATCH_TOKENS or longest * rows * size > BATCH_LOGITS
        if batch and (full or (apart and len(batch[0][1]) != longest)):
            yield batch
            batch = []
        batch.append(piece)
    if batch:
        yield batch


def _losses(model: HookedModel, rows: Sequence[Sequence[int]]) -> Tensor:
    """Nats of each next token: [B, T - 1]; undefined beyond a row's end."""
    longest = max(map(len, rows))
    filled = torch.tensor([[*row, *[row[0]] * (longest - len(row))] for row in rows])
    with torch.no_grad():
        logits = model.whole(None, filled[:, :-1].tolist())
        wanted = filled[:, 1:].to(logits.device)
        losses = F.cross_entropy(logits.double().flatten(0, 1), wanted.flatten(), reduction="none")
    return losses.view(wanted.shape).cpu()
