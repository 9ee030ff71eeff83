"""How good a checkpoint is on pairs of texts: exact matches with their interval, loss, accuracy, BLEU, chrF."""

from __future__ import annotations

import gzip
import math
import os
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.causality import padding_matters
from viz_transformer.model.transformer import Transformer
from viz_transformer.search import decode_batch, padded
from viz_transformer.text.codec import Codec

Pair = tuple[str, str]
Progress = Callable[[int, int], None]
"""Called with the pairs done and the pairs in all."""

DATA_VARIABLE = "VIZ_TRANSFORMER_DATA"
BATCH = 128
"""Pairs that are run together, at most; fewer of long texts."""
BATCH_TOKENS = 16_384


def find_data_folder(given: str | Path | None = None) -> Path:
    """The folder of the data sets: the one given, else VIZ_TRANSFORMER_DATA, else ./data.

    Raises ValueError if there is no such folder.
    """
    folder = Path(given or os.environ.get(DATA_VARIABLE) or "data").expanduser()
    if not folder.is_dir():
        raise ValueError(
            f"there is no data folder {folder}: give the folder that holds the data sets"
            f" (numbers/train_full.tsv.gz and so on) with --data, or name it in {DATA_VARIABLE}"
        )
    return folder


def find_data_file(folder: Path, name: str) -> Path:
    """The file `name` of the data folder. Raises ValueError if it is not there."""
    path = folder / name
    if not path.is_file():
        raise ValueError(f"{path} is missing: put the data set's file {name} into the data folder {folder}")
    return path


def read_pairs(path: str | Path, separator: str = "\t", *, limit: int | None = None) -> list[Pair]:
    """The pairs of a UTF-8 file with one `source<separator>target` per line, plain or gzip, at most `limit`.

    Blanks around both texts are dropped. Raises ValueError, with the line number, for a line that is not UTF-8, has
    another number of columns or an empty side, and for a file without pairs.
    """
    path = Path(path)
    if limit is not None and limit < 1:
        raise ValueError(f"limit={limit} must be at least 1")
    pairs: list[Pair] = []
    for number, line in enumerate(_lines(path), start=1):
        if limit is not None and number > limit:
            break
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{path}, line {number} is not UTF-8 text: convert the file to UTF-8") from None
        columns = text.rstrip("\r\n").split(separator)
        shown = "<TAB>" if separator == "\t" else separator
        if len(columns) != 2:
            raise ValueError(
                f"{path}, line {number} has {len(columns)} column{'s' * (len(columns) != 1)},"
                f" each line must be source{shown}target"
            )
        source, target = columns[0].strip(), columns[1].strip()
        if not source or not target:
            raise ValueError(
                f"{path}, line {number} has no {'target' if source else 'source'}: fill it in or remove it"
            )
        pairs.append((source, target))
    if not pairs:
        raise ValueError(f"{path} is empty: it must have one pair of texts per line")
    return pairs


def _lines(path: Path) -> Iterator[bytes]:
    """The raw lines of a plain or gzip file, told apart by their first two bytes."""
    try:
        with path.open("rb") as plain:
            zipped = plain.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if zipped else path.open("rb") as file:
            yield from file
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise ValueError(f"{path} is a damaged gzip file: copy it again") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None


def wilson(k: int, n: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The Wilson score interval of k successes in n trials, as fractions; z = 1.96 makes it the 95 % interval.

    Raises ValueError unless 0 <= k <= n and n > 0. Source: Wilson (1927); 1,980 of 2,000 gives 0.985 to 0.994.
    """
    if n < 1 or not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no proportion")
    share = k / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # The ends are exact where rounding would leave a hair: no success is 0, no failure is 1.
    return (centre - half) / scale if k else 0.0, (centre + half) / scale if k < n else 1.0


def teacher_forced(model: Transformer, src: Tensor, tgt: Tensor) -> tuple[Tensor, Tensor]:
    """What the model says about given targets: log-likelihood in nats and most probable id of each token but the first.

    src: [B, S], tgt: [B, T], with start and end tokens. Returns log_probs [B, T-1] and ids [B, T-1]; what stands at
    padding means nothing, and the caller leaves it out. No smoothing; dropout only if the model is in training mode.
    """
    return _next_tokens(model, src, tgt[:, :-1], tgt[:, 1:])


def _next_tokens(model: Transformer, src: Tensor, read: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """`teacher_forced` with what the decoder reads and what it should write given apart: [B, T] each."""
    logits = model(src, read).float()
    log_probs = -F.cross_entropy(logits.transpose(1, 2), wanted, reduction="none")
    return log_probs, logits.argmax(dim=-1)


@dataclass(frozen=True)
class _Item:
    """One pair as ids, with start and end tokens on the target, and its place in the given order."""

    index: int
    src: tuple[int, ...]
    tgt: tuple[int, ...]


@dataclass(frozen=True)
class _Side:
    """What evaluation needs of a checkpoint, present for certain."""

    model: Transformer
    source: Codec
    target: Codec
    bos: int
    eos: int


def evaluate(
    ckpt: Checkpoint,
    pairs: Sequence[Pair],
    *,
    beam: int | None = None,
    seen_sources: Collection[str] | None = None,
    bleu: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """How good the checkpoint is on the pairs; greedy unless `beam` is a width.

    exact_match: share of answers that equal the target text (with its 95 % Wilson interval); exact_match_unseen: the
    same over pairs whose source is not in `seen_sources`, None without those. loss: nats per target token, end token
    included, without smoothing, on the given target; perplexity: its exponential, per token; token_accuracy: how often
    the most probable next token is the target's, an unknown word counting as wrong. bleu and chrf: of the detokenised
    answers against the texts, by sacrebleu with the tokenizer `bleu` ("13a", "none", ...), in lower case if the model
    writes lower case; None without `bleu`. sentences_per_second: of decoding alone.
    Raises ValueError for a model that is no encoder-decoder with text, for no pairs, and for texts too long for it.
    """
    side = _side(ckpt)
    if not pairs:
        raise ValueError("there are no pairs to evaluate: give at least one")
    items = [_item(ckpt, side, index, pair) for index, pair in enumerate(pairs)]
    answers = [""] * len(pairs)
    log_prob, right, tokens, seconds, done = 0.0, 0, 0, 0.0, 0
    no_padding = ckpt.config.source_pad is None or padding_matters(ckpt.model)
    for batch in _batches(items, equal_lengths=no_padding, pad_to=ckpt.config.pad_to):
        batch_log_prob, batch_right, batch_tokens = _score(side, batch)
        log_prob, right, tokens = log_prob + batch_log_prob, right + batch_right, tokens + batch_tokens
        start = time.perf_counter()
        written = decode_batch(side.model, [item.src for item in batch], bos=side.bos, eos=side.eos, beam=beam)
        seconds += time.perf_counter() - start
        for item, ids in zip(batch, written, strict=True):
            answers[item.index] = side.target.decode(ids)
        done += len(batch)
        if progress is not None:
            progress(done, len(pairs))
    lower = bool(getattr(side.target.tokenizer, "lower", False))
    references = [_plain(target, lower=lower) for _, target in pairs]
    matches = [_plain(answer, lower=lower) == wanted for answer, wanted in zip(answers, references, strict=True)]
    unseen = (
        None
        if seen_sources is None
        else [match for match, (source, _) in zip(matches, pairs, strict=True) if source not in seen_sources]
    )
    low, high = wilson(sum(matches), len(matches))
    return {
        "pairs": len(pairs),
        "exact_match": sum(matches) / len(matches),
        "exact_match_low": low,
        "exact_match_high": high,
        "exact_match_unseen": sum(unseen) / len(unseen) if unseen else None,
        "token_accuracy": right / tokens,
        "loss": -log_prob / tokens,
        "perplexity": math.exp(-log_prob / tokens) if -log_prob / tokens < 700 else None,  # beyond what a float holds
        **_overlap_scores(answers, [target for _, target in pairs], bleu, lower=lower),
        "sentences_per_second": len(pairs) / seconds,
    }


def evaluate_checkpoint(
    ckpt: Checkpoint,
    data_file: str | Path | None = None,
    *,
    limit: int | None = None,
    beam: int | None = None,
    data_folder: str | Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """`evaluate` on a file, or on the test data and as many pairs as the card names; `limit` replaces that number.

    The card also says how the file's columns are separated, which BLEU belongs to the data, and where the training
    sources are; exact_match_unseen is None if that file is not there. Raises ValueError as `evaluate` and `read_pairs`,
    and if there is neither a file nor a card that names one.
    """
    _side(ckpt)
    settings = _settings(ckpt.card)
    if data_file is None:
        if not settings.get("data"):
            raise ValueError(f"the card of {ckpt.name} names no test data: give a file with --data")
        data_file = find_data_file(find_data_folder(data_folder), settings["data"])
        limit = limit if limit is not None else settings.get("limit")
    separator = settings.get("separator") or "\t"
    pairs = read_pairs(data_file, separator, limit=limit)
    seen = _seen_sources(settings.get("seen"), data_folder, separator)
    return evaluate(ckpt, pairs, beam=beam, seen_sources=seen, bleu=settings.get("bleu"), progress=progress)


def _settings(card: Mapping[str, Any]) -> dict[str, Any]:
    """What a card says about its evaluation: data, limit, separator, seen, bleu; a card may be anybody's."""
    named = card.get("evaluation")
    if not isinstance(named, dict):
        return {}
    kinds = {"data": str, "limit": int, "separator": str, "seen": str, "bleu": str}
    return {name: named[name] for name, kind in kinds.items() if isinstance(named.get(name), kind)}


def _seen_sources(name: str | None, folder: str | Path | None, separator: str) -> set[str] | None:
    """The sources of the training data, None if the file is not at hand."""
    if name is None:
        return None
    try:
        path = find_data_file(find_data_folder(folder), name)
    except ValueError:
        return None
    return {source for source, _ in read_pairs(path, separator)}


def _side(ckpt: Checkpoint) -> _Side:
    """The parts of a checkpoint that translates text. Raises ValueError for any other."""
    source, target = ckpt.source_codec, ckpt.target_codec
    if ckpt.config.kind != "encoder-decoder":
        raise ValueError(f"{ckpt.name} is {ckpt.config.kind}: only an encoder-decoder can be evaluated on pairs")
    if source is None or target is None:
        raise ValueError(f"{ckpt.name} has no vocabulary of its {'target' if source else 'source'} side: add it first")
    bos, eos = target.vocabulary.bos, target.vocabulary.eos
    if bos is None or eos is None:
        raise ValueError(f"{ckpt.name} has no {'start' if bos is None else 'end'} token: its config must name one")
    return _Side(ckpt.model, source, target, bos, eos)


def _item(ckpt: Checkpoint, side: _Side, index: int, pair: Pair) -> _Item:
    try:
        src, tgt = side.source.encode(pair[0]).ids, side.target.encode(pair[1]).ids
    except ValueError as error:
        raise ValueError(f"pair {index + 1}: {error}") from None
    tgt = tgt if tgt[0] == side.bos else (side.bos, *tgt)
    tgt = tgt if tgt[-1] == side.eos else (*tgt, side.eos)
    config = ckpt.config
    for name, length, most in (("source", len(src), config.max_source), ("target", len(tgt) - 1, config.max_target)):
        if length > most:
            raise ValueError(f"pair {index + 1}: the {name} has {length} tokens, the model reads at most {most}")
    return _Item(index, src, tgt)


def _batches(items: Sequence[_Item], *, equal_lengths: bool, pad_to: int | None) -> Iterator[list[_Item]]:
    """The items by length, in batches; of one source and one target length each where nothing may be padded."""
    batch: list[_Item] = []
    for item in sorted(items, key=lambda item: (len(item.src), len(item.tgt))):
        longest = pad_to or max(len(item.src), *(len(other.tgt) for other in [*batch, item]))
        lengths = [(len(other.src), len(other.tgt)) for other in [*batch[:1], item]]
        other_length = equal_lengths and lengths[0] != lengths[-1]
        if batch and (len(batch) == BATCH or other_length or longest * (len(batch) + 1) > BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch


def _score(side: _Side, batch: Sequence[_Item]) -> tuple[float, int, int]:
    """Log-probability of the targets, right guesses, and target tokens, the end tokens included."""
    config = side.model.config
    device = next(side.model.parameters()).device
    tgt_pad = side.eos if config.target_pad is None else config.target_pad
    src = padded([item.src for item in batch], config.source_pad, device, length=config.pad_to)
    # The end token is written and not read, not even behind a shorter text, where a model might see it coming.
    read = padded([item.tgt[:-1] for item in batch], tgt_pad, device, length=config.pad_to)
    wanted = padded([item.tgt[1:] for item in batch], tgt_pad, device, length=config.pad_to)
    with torch.no_grad():
        log_probs, best = _next_tokens(side.model, src, read, wanted)
    lengths = torch.tensor([len(item.tgt) - 1 for item in batch], device=device)
    counted = torch.arange(best.size(1), device=device) < lengths[:, None]  # [B, T-1]
    hits = counted & (best == wanted)
    if side.target.vocabulary.unk is not None:
        hits = hits & (wanted != side.target.vocabulary.unk)
    total = log_probs.double().masked_fill(~counted, 0.0).sum()
    return float(total), int(hits.sum()), int(counted.sum())


def _plain(text: str, *, lower: bool) -> str:
    """The text for comparing: blanks collapsed, in lower case if the model writes that."""
    text = " ".join(text.split())
    return text.lower() if lower else text


def _overlap_scores(answers: list[str], references: list[str], bleu: str | None, *, lower: bool) -> dict[str, Any]:
    """BLEU with its signature and chrF, 0 to 100, of whole corpora; None where BLEU is not asked for."""
    if bleu is None:
        return {"bleu": None, "bleu_signature": None, "chrf": None}
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    metric = BLEU(tokenize=bleu, lowercase=lower)
    score = metric.corpus_score(answers, [references]).score
    chrf = CHRF(lowercase=lower).corpus_score(answers, [references]).score
    return {"bleu": score, "bleu_signature": str(metric.get_signature()), "chrf": chrf}
