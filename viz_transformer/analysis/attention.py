"""One attention map of a trace, with everything a figure of it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from viz_transformer.decoding import Run
from viz_transformer.record import Tokens, Trace

Kind = Literal["encoder", "decoder", "cross"]

_SITES = {"encoder": "encoder.{}.self", "decoder": "decoder.{}.self", "cross": "decoder.{}.cross"}


@dataclass(frozen=True, eq=False)
class HeadView:
    """The weights of one head, or the mean of a layer's heads, with the tokens of rows and columns.

    weights: [Q, K] float32. mask: [Q, K], True = may attend. `head` is None for the mean, which is no head's
    attention: `derived` is then True. `query_writes` is what each decoder row writes, None in an encoder.
    """

    weights: NDArray[np.float32]
    mask: NDArray[np.bool_]
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    query_originals: tuple[str, ...]
    key_originals: tuple[str, ...]
    query_writes: tuple[str, ...] | None
    kind: Kind
    layer: int
    head: int | None
    n_heads: int

    @property
    def derived(self) -> bool:
        return self.head is None

    @property
    def title(self) -> str:
        """What is seen, in words: "decoder layer 1, head 3, cross-attention"."""
        stack = "encoder" if self.kind == "encoder" else "decoder"
        heads = f"mean of {self.n_heads} heads" if self.head is None else f"head {self.head}"
        return f"{stack} layer {self.layer}, {heads}, {'cross' if self.kind == 'cross' else 'self'}-attention"

    @property
    def scale_name(self) -> str:
        """What a colour stands for."""
        return "mean attention weight (derived)" if self.head is None else "attention weight"


def attention_kinds(trace: Trace) -> tuple[Kind, ...]:
    """The kinds of attention that the trace's model has, the one that joins two texts first."""
    config = trace.config
    if config.has_encoder and config.has_decoder:
        return ("cross", "decoder", "encoder")
    return ("encoder",) if config.has_encoder else ("decoder",)


def head_view(trace: Trace, kind: Kind, layer: int, head: int | None) -> HeadView:
    """The map of one head of the trace; head None gives the mean over the layer's heads.

    Raises ValueError for a kind, layer or head that the trace's model does not have.
    """
    config = trace.config
    kinds = attention_kinds(trace)
    if kind not in kinds:
        raise ValueError(f"a {config.kind} model has no {kind!r} attention: choose {' or '.join(map(repr, kinds))}")
    layers = config.encoder_layers if kind == "encoder" else config.decoder_layers
    if not 0 <= layer < layers:
        raise ValueError(f"there is no layer {layer}: layers go from 0 to {layers - 1}")
    if head is not None and not 0 <= head < config.n_heads:
        raise ValueError(f"there is no head {head}: heads go from 0 to {config.n_heads - 1}")
    site = _SITES[kind].format(layer)
    weights = trace[f"{site}.weights"][0]  # [H, Q, K]
    mask = trace[f"{site}.mask"].expand(1, *weights.shape)[0]  # [H, Q, K]
    queries = trace.src if kind == "encoder" else trace.tgt
    keys = trace.tgt if kind == "decoder" else trace.src
    return HeadView(
        weights=_array(weights.mean(dim=0) if head is None else weights[head]),
        mask=np.asarray(mask.any(dim=0) if head is None else mask[head], dtype=bool),
        query_tokens=queries.tokens,
        key_tokens=keys.tokens,
        query_originals=_originals(queries),
        key_originals=_originals(keys),
        query_writes=None if kind == "encoder" else _written(trace),
        kind=kind,
        layer=layer,
        head=head,
        n_heads=config.n_heads,
    )


def step_row(run: Run, step: int) -> int:
    """The decoder row that writes the token of this step.

    Rows that only read a given text come before the first, rows of padding, which write nothing, after the last.
    """
    rows = sum(token is not None for token in run.trace.next_ids)
    return rows - len(run.steps) + step


def _written(trace: Trace) -> tuple[str, ...]:
    """What each decoder row writes, in words where that is not known, or nobody's next token behind padding."""
    padding = (typed == "" for typed in trace.tgt.originals)
    return tuple(
        token if token is not None else "(unused)" if is_padding else "(not known)"
        for token, is_padding in zip(trace.next_tokens, padding, strict=True)
    )


def _originals(side: Tokens) -> tuple[str, ...]:
    """What was typed; padding, which nobody types, is itself."""
    return tuple(typed or token for typed, token in zip(side.originals, side.tokens, strict=True))


def _array(values: torch.Tensor) -> NDArray[np.float32]:
    return np.asarray(values.detach().cpu().numpy(), dtype=np.float32)
