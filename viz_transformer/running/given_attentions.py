"""Attention weights that another program hands out, as a trace: tensors, arrays, or lists of numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from viz_transformer.given import TEXT, Accepted, takes
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.model.watched import WATCHED, watched_point, watched_spec
from viz_transformer.running.trace import Trace, next_of, tokens_of_names
from viz_transformer.running.watched_sites import Names
from viz_transformer.running.watching import TOKENS, name_sides

START = "(start)"
"""The token that the first row reads, where tokens are those that the rows write."""
HANDED_OVER, NOT_GIVEN = "handed over by another program", "its weights were not handed over"
ARGUMENTS: Mapping[KindName, str] = {"encoder": "attentions", "decoder": "decoder", "cross": "cross"}
"""The argument that has the weights of each kind where there are two texts."""


class _Layer(NamedTuple):
    weights: NDArray[np.float32]
    """[H, Q, K]"""
    mask: NDArray[np.bool_]
    """[Q, K], True = may attend."""


@takes(tokens=TOKENS, rows=Accepted(lambda value: value in ("read", "write"), '"read" or "write"'), name=TEXT)
def from_attentions(
    attentions: Sequence[Any] | None = None,
    *,
    tokens: Names | tuple[Names, Names],
    cross: Sequence[Any] | None = None,
    decoder: Sequence[Any] | None = None,
    rows: Literal["read", "write"] = "read",
    name: str = "attentions",
) -> Trace:
    """The trace of attention weights that another program has computed, for `show`, `open_app` and `Trace.save`.

    attentions: self-attention of the source, or of the only text; the only text is a decoder's where no row has weight
    ahead of itself. decoder, cross: self-attention of the target, and its attention to the source. Each has one entry a
    layer, [1, H, Q, K] or [H, Q, K], of a tensor, an array or lists; or one entry a step, each with one a layer, as
    `generate` returns them, whose rows are joined. tokens: names of the tokens, or of the source's and the target's.
    rows: whether the tokens of a decoder are those that its rows read, of which there may be one more that is only
    written, or those that they write.

    Weights are kept as float32. `trace.notes` says what the rows of each add to where that is not 1. Masked are
    the cells ahead of a decoder's rows where no head of any layer has weight there, and keys that a step did not have.
    Raises ValueError with one sentence for weights that do not fit the tokens or each other, for infinite ones, for
    more than one text at a time, and where nothing is given.
    """
    source, target = name_sides(tokens)
    given: dict[KindName, Sequence[Any] | None] = {"encoder": attentions, "decoder": decoder, "cross": cross}
    made: dict[KindName, list[_Layer]] = {
        kind: _join(layers, ARGUMENTS[kind]) for kind, layers in given.items() if layers is not None
    }
    if not made:
        raise ValueError("there are no attention weights: give attentions, decoder or cross")
    if not source:
        if cross is not None or len(made) > 1:
            raise ValueError(
                "cross-attention has two texts, and so has an encoder with a decoder: tokens is a pair of lists"
            )
        (layers,) = made.values()
        made = {"decoder" if decoder is not None or _looks_back(layers) else "encoder": layers}
        if "encoder" in made:
            source, target = target, ()
    if "decoder" in made and _looks_back(made["decoder"]):
        made["decoder"] = [_Layer(each.weights, np.tril(each.mask)) for each in made["decoder"]]
    return _make_trace(made, source, (START, *target) if rows == "write" and target else target, name)


def _make_trace(made: Mapping[KindName, Sequence[_Layer]], source: Names, target: Names, name: str) -> Trace:
    """target: the tokens that rows read, and one more where the last row's next token is known."""
    rows = {len(layers[0].mask) for kind, layers in made.items() if kind != "encoder"}
    read = tuple(target[:-1] if rows == {len(target) - 1} else target)
    lengths = len(source), len(read)
    values: dict[str, torch.Tensor] = {}
    for kind, layers in made.items():
        fits = tuple(side.of(*lengths) for side in (KINDS[kind].queries, KINDS[kind].keys))
        for number, layer in enumerate(layers):
            if layer.mask.shape != fits:
                raise ValueError(
                    f"{ARGUMENTS[kind]}[{number}] is {list(layer.weights.shape)}, heads by rows by keys, and there are"
                    f" {fits[0]} tokens for the rows and {fits[1]} for the keys"
                )
            site = KINDS[kind].site(number)
            values[f"{site}.mask"] = torch.from_numpy(layer.mask[None, None])
            values[f"{site}.weights"] = torch.from_numpy(layer.weights[None])
    spec = watched_spec(
        {name.removesuffix(".weights"): value.size(1) for name, value in values.items() if name.endswith(".weights")},
        [watched_point(name, HANDED_OVER if name.endswith(".weights") else "True = may attend") for name in values],
        d_model=0,
        source=lengths[0],
        target=lengths[1],
        modules={},
        unseen=dict.fromkeys(_list_lacking({kind: len(layers) for kind, layers in made.items()}), NOT_GIVEN),
    )
    digest = hashlib.sha256()
    for point, value in values.items():
        digest.update(f"{point} {tuple(value.shape)}".encode() + value.numpy().tobytes())
    next_ids, next_tokens = next_of(tokens_of_names(target))
    return Trace(
        values=values,
        spec=spec,
        checkpoint=name,
        weights_sha256=digest.hexdigest(),
        src=tokens_of_names(source),
        tgt=tokens_of_names(read),
        next_ids=next_ids[: len(read)],
        next_tokens=next_tokens[: len(read)],
        edits=(),
        info={"kind": WATCHED, "difference": None},
    )


def _list_lacking(given: Mapping[KindName, int]) -> list[str]:
    """The attentions that a model of these has too; given: the layers of each kind. A lone text has one kind."""
    if given.keys() in ({"encoder"}, {"decoder"}):
        return []
    decoders = max(count for kind, count in given.items() if kind != "encoder")
    wanted: dict[KindName, int] = {"encoder": given.get("encoder", 1), "decoder": decoders, "cross": decoders}
    return [KINDS[kind].site(layer) for kind, count in wanted.items() for layer in range(given.get(kind, 0), count)]


def _looks_back(layers: Sequence[_Layer]) -> bool:
    """Whether no head of any layer has weight ahead of its row."""
    return not any(np.triu(each.weights, 1).any() for each in layers)


# ---- the weights of each layer, from what is given


def _join(given: Sequence[Any], name: str) -> list[_Layer]:
    """The layers; of one entry a step, with the rows of all steps below each other."""
    is_list = (
        len(given.shape)
        if hasattr(given, "shape")
        else isinstance(given, Sequence) and not isinstance(given, str | bytes)
    )
    if not is_list or not len(given):
        raise ValueError(f"{name} is not a list with the weights of each layer")
    if not _has_steps(given):
        return [_only_step(_read(layer, f"{name}[{number}]")) for number, layer in enumerate(given)]
    counts = {len(step) for step in given}
    if len(counts) > 1:
        raise ValueError(f"the steps of {name} have different numbers of layers: {', '.join(map(str, sorted(counts)))}")
    steps = [[_read(layer, f"{name}[{at}][{n}]") for n, layer in enumerate(step)] for at, step in enumerate(given)]
    return [_join_steps([step[layer] for step in steps], f"layer {layer} of {name}") for layer in range(counts.pop())]


def _has_steps(given: Sequence[Any]) -> bool:
    """Whether each entry is a list or tuple of arrays, one a layer."""
    return isinstance(given[0], list | tuple) and all(len(getattr(layer, "shape", ())) >= 3 for layer in given[0])


def _only_step(weights: NDArray[np.float32]) -> _Layer:
    return _Layer(weights, np.ones(weights.shape[1:], dtype=bool))


def _join_steps(steps: Sequence[NDArray[np.float32]], name: str) -> _Layer:
    """[H, Q, K] of the rows of all steps, of which later ones may have more keys."""
    if len({len(step) for step in steps}) > 1:
        raise ValueError(f"the steps of {name} have different numbers of heads")
    keys = max(step.shape[2] for step in steps)
    weights = [np.pad(step, ((0, 0), (0, 0), (0, keys - step.shape[2]))) for step in steps]
    mask = [np.broadcast_to(np.arange(keys) < step.shape[2], (*step.shape[1:2], keys)) for step in steps]
    return _Layer(np.concatenate(weights, axis=1), np.concatenate(mask))


def _read(layer: Any, name: str) -> NDArray[np.float32]:
    """[H, Q, K] of one layer."""
    if isinstance(layer, torch.Tensor):
        layer = layer.detach().float().cpu().numpy()
    try:
        weights = np.array(layer, dtype=np.float32)
    except (TypeError, ValueError):
        raise ValueError(f"{name} holds no numbers for heads, rows and keys: give [1, heads, rows, keys]") from None
    if weights.ndim == 4 and len(weights) != 1:
        raise ValueError(f"{name} has the weights of {len(weights)} texts: give those of one, as in {name}[:1]")
    weights = weights[0] if weights.ndim == 4 else weights
    if weights.ndim != 3 or not weights.size:
        what = list(weights.shape) if weights.ndim else "no list"
        raise ValueError(f"{name} is {what}, and not [1, heads, rows, keys]")
    if np.isinf(weights).any():
        raise ValueError(f"{name} has infinite weights: give the weights that a softmax made, not the scores")
    return weights
