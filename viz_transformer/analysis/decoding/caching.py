"""The savings of the key-value cache: positions, bytes and multiply-adds by step, and the logits without it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray

from viz_transformer import declared
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.config import ModelConfig
from viz_transformer.running.decoding import Run
from viz_transformer.running.search import DecoderState
from viz_transformer.running.stacked_steps import is_of_cached_steps

Floats = NDArray[np.float64]
FLOAT = 4  # bytes of a float32


def convention(config: ModelConfig) -> str:
    """What is counted for a model of this config, in words."""
    memory = " projects the memory anew," if config.has_encoder else ""
    encoder = " The encoder runs once, before the first step, and is in neither count." if config.has_encoder else ""
    return (
        "Counted: the multiply-adds of all matrix products of the decoder; norms, softmax, biases and activations are"
        f" left out.{encoder} A whole pass reads all tokens so far,{memory} scores all pairs, masked ones too, and"
        " gives logits for every row, as this program does where it has no cache."
    )


@dataclass(frozen=True)
class Work:
    """Multiply-adds of one pass of the decoder, all layers together."""

    projections: int
    scores: int
    weighted_sums: int
    feed_forward: int
    output_layer: int

    @property
    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True)
class CacheStep:
    """One step with a cache: positions by the origin of their keys and values, in each layer, and the step's cost.

    self_computed + self_reused are all positions that the decoder has read; cross_computed + cross_reused those of the
    source (0 in a decoder-only model).
    """

    index: int
    self_computed: int
    self_reused: int
    cross_computed: int
    cross_reused: int
    bytes_held: int
    """Keys and values of all these positions, all layers, float32."""
    bytes_allocated: int
    """[1, H, max_target, head_dim] for each self-attention, plus the keys and values of cross-attention."""
    cached: Work
    """The work of this step with the cache."""
    whole: Work
    """The work of the same step as a whole pass."""

    @property
    def positions(self) -> int:
        """Target positions after this step."""
        return self.self_computed + self.self_reused

    @property
    def saved(self) -> float:
        """The share of a whole pass that the cache saves, 0 to 1."""
        return 1 - self.cached.total / self.whole.total


@dataclass(frozen=True, eq=False)
class UncachedDifference:
    """Differences between the recorded logits and those of a whole pass, by step.

    gaps: [steps], the largest absolute difference of a logit; logits: [steps], the largest absolute logit of both.
    in_one_pass: the run was recorded in one pass after a search, not step by step with a cache.
    """

    gaps: Floats
    logits: Floats
    in_one_pass: bool

    @property
    def gap(self) -> float:
        """The largest difference of all steps."""
        return float(self.gaps.max())

    @property
    def relative(self) -> float:
        """The largest difference as a share of the largest absolute logit."""
        return self.gap / float(self.logits.max())


def cache_use(config: ModelConfig, start: int, source: int, steps: int) -> tuple[CacheStep, ...]:
    """The positions that each step computes and reuses, the bytes it holds and its cost, for one text.

    start: how many tokens the decoder reads before it writes the first; source: how many the encoder reads, 0 without
    one. Step 0 reads all of `start`, each later one the token written last. The multiply-adds are those of all matrix
    products of the decoder: the maps to query, key, value and output, scores, weighted sums, both maps of the
    feed-forward, the output layer. The encoder, which runs once before step 0 either way, is in neither count. The
    whole pass reads all tokens so far, projects the memory again, scores all pairs (masked ones too) and gives logits
    for every row. Norms, softmax, biases and activations are not counted. Raises ValueError for a model without a cache
    and for counts that do not fit.
    """
    if not config.has_decoder:
        raise ValueError("an encoder-only model writes nothing: it has no cache")
    if config.pad_to is not None:
        raise ValueError(f"there is no cache: the model reads {config.pad_to} tokens at a time, padding included")
    if (source > 0) != config.has_encoder or source < 0:
        raise ValueError(f"source={source} does not fit: the model is {config.kind}")
    declared.within("start", start, declared.Count)
    declared.within("steps", steps, declared.Count)
    if start + steps - 1 > config.max_target:
        last = start + steps - 1
        raise ValueError(f"the last step reads {last} tokens, the model at most {config.max_target}")
    return tuple(_step(config, index, start, source) for index in range(steps))


def cache_of_run(run: Run) -> tuple[CacheStep, ...]:
    """`cache_use` of a finished run. Raises ValueError with the reason if its model has no cache."""
    _check_cached(run)
    return cache_use(run.trace.config, step_row(run, 0) + 1, len(run.trace.src), len(run.steps))


@torch.no_grad()
def uncached_difference(ckpt: Checkpoint, run: Run) -> UncachedDifference:
    """The difference of each recorded step from a whole pass over all tokens so far, with the run's edits in both.

    Costs a pass for each step. Raises ValueError with the reason for a run that had no cache, and if `ckpt` is not the
    model of the run.
    """
    _check_cached(run)
    if ckpt.weights_sha256 != run.trace.weights_sha256:
        raise ValueError(
            f"the run was made by {run.trace.checkpoint}, not by the given {ckpt.name}: give its checkpoint"
        )
    src = [list(run.trace.src_ids)] if len(run.trace.src) else None
    state = DecoderState(ckpt.hooked_model, src, cached=False, edits=run.trace.edits or None)
    first = step_row(run, 0)
    fed, gaps, logits = list(run.trace.tgt_ids[: first + 1]), [], []
    for step in run.steps:
        whole = state.step([fed])[0][0].double().cpu()  # [V]
        recorded = step.logits.detach().double().cpu()
        gaps.append(float((whole - recorded).abs().max()))
        logits.append(float(torch.maximum(whole.abs().max(), recorded.abs().max())))
        fed = [step.token_id]
    return UncachedDifference(np.array(gaps), np.array(logits), not is_of_cached_steps(run.trace))


def _check_cached(run: Run) -> None:
    if not run.trace.info.get("cached"):
        raise ValueError(f"there is no cache: {run.trace.info.get('reason', 'this run was recorded in one pass')}")


def _step(config: ModelConfig, index: int, start: int, source: int) -> CacheStep:
    length, new = start + index, start if index == 0 else 1
    projected = source if index == 0 else 0
    values = 2 * config.decoder_layers * config.d_model * FLOAT  # a key and a value of each layer
    return CacheStep(
        index=index,
        self_computed=new,
        self_reused=length - new,
        cross_computed=projected,
        cross_reused=source - projected,
        bytes_held=values * (length + source),
        bytes_allocated=values * (config.max_target + source),
        cached=_work(config, new, length, source, projected),
        whole=_work(config, length, length, source, source),
    )


def _work(config: ModelConfig, rows: int, keys: int, source: int, projected: int) -> Work:
    """The work of a pass of `rows` rows over `keys` keys and the source, `projected` of whose positions are
    projected."""
    layers, d_model = config.decoder_layers, config.d_model
    vocabulary = config.target_vocab_size
    assert vocabulary is not None
    maps = 4 * rows  # query, key, value, output of self-attention
    if config.has_encoder:
        maps += 2 * rows + 2 * projected
    pairs = rows * (keys + source)
    return Work(
        projections=layers * maps * d_model * d_model,
        scores=layers * pairs * d_model,
        weighted_sums=layers * pairs * d_model,
        feed_forward=layers * 2 * rows * d_model * config.d_ff,
        output_layer=rows * d_model * vocabulary,
    )
