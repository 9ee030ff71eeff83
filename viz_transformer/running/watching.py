"""Live modules: records any torch module with attention while it is called."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.given import TEXT, Accepted, instance, optional, takes
from viz_transformer.model.hook_point import HookPoint
from viz_transformer.model.hooked_model import ModelSpec
from viz_transformer.model.kinds import KINDS
from viz_transformer.model.points import unknown_point
from viz_transformer.model.watched import (
    LONGEST_MEANING,
    MODULES,
    WATCHED,
    made_in,
    unseen_sentences,
    watched_point,
    watched_spec,
)
from viz_transformer.running.edits import EDITS, Edit, check_edits
from viz_transformer.running.trace import Trace, next_of, tokens_of_names, trace_value
from viz_transformer.running.tracing import check_edits_ran
from viz_transformer.running.watched_call import Change, SeenCall, SeenMap, see
from viz_transformer.running.watched_sites import Names, WatchedSite, layer_path, watched_sites
from viz_transformer.sentences import quote, shorten

TOKENS = Accepted(
    lambda value: isinstance(value, Sequence) and not isinstance(value, bytes | bytearray),
    "a list of strings, or two such lists, the source's and the target's",
)
CLOSED = -1e4
"""Scores from here down with a weight of exactly 0 count as masked: models use -inf, -1e9 or the float32 minimum."""


@takes(
    module=instance("a torch module", nn.Module),
    call=Accepted(callable, "a function that calls the module, such as lambda: model(ids)"),
    tokens=TOKENS,
    edits=EDITS,
    name=optional(TEXT),
)
def watch(
    module: nn.Module,
    call: Callable[[], Any],
    *,
    tokens: Names | tuple[Names, Names],
    edits: Sequence[Edit] = (),
    name: str | None = None,
) -> Trace:
    """Call the module and record its attention weights and its modules' inputs and outputs, as a partial Trace.

    call: runs the module on one text, such as ``lambda: model(ids)``. It is called twice, first unwatched, and a third
    time with `edits`; each call draws the same random numbers.
    tokens: names of the tokens, or of the source's and the target's. Lengths decide which attention is cross-attention;
    if they are equal, module names do.
    edits: change weights right before they multiply the values; their point is `{site}.weights`.

    The trace has `{site}.weights` [1, H, Q, K] (what the values were multiplied with, from a softmax or not) and
    `{site}.mask` of each attention; `{stack}.{layer}.residual_in` and `residual_out` [1, T, D] where layers are entries
    of a module list; and `modules.{path}` for any other output per token. A cell is masked if its weight is exactly 0
    and its score -inf or under -10,000. Ids are positions. `spec.modules` maps attentions to modules; `spec.unseen` has
    the attentions without weights, which keep their place among the layers and cause a warning; `spec.missing` says why
    there is no more. `trace.notes` lists all with their row sums. `info["difference"]` is the largest difference
    between the unwatched and the watched output.
    Raises ValueError with one sentence for a module in training mode, a call without attention over these tokens, more
    than one text at a time, and an edit that fits nothing.
    """
    sides = name_sides(tokens)
    if any(_drops(part) for part in module.modules()):
        raise ValueError("the module is in training mode, in which dropout differs at each call: call module.eval()")
    sizes = {len(names) for names in sides}
    drawing = _random_state()
    with torch.no_grad():
        before = call()
        _draw_from(drawing)  # every call draws the same numbers, such as for a dropout that is always on
        seen, after = see(module, call, sizes)
    sites = watched_sites(seen, sides, module)
    sides = _read(sites, sides)
    spec, values = _told(module, seen, sites, sides)
    if edits:
        _check(edits, spec, sites, seen.maps)
        ran: set[int] = set()
        with torch.no_grad():
            _draw_from(drawing)
            seen, after = see(module, call, sizes, _changes(sites, seen.maps, edits, values, ran))
        check_edits_ran(edits, ran)
        spec, values = _told(module, seen, sites, sides)
    for sentence in unseen_sentences(spec):
        warnings.warn(sentence, stacklevel=2)
    src, tgt = map(tokens_of_names, sides)
    next_ids, next_tokens = next_of(tgt)
    return Trace(
        values=values,
        spec=spec,
        checkpoint=type(module).__name__ if name is None else name,
        weights_sha256=_digest(module, values),
        src=src,
        tgt=tgt,
        next_ids=next_ids,
        next_tokens=next_tokens,
        edits=tuple(edits),
        info={"kind": WATCHED, **({} if edits else {"difference": _difference(before, after)})},
    )


def name_sides(tokens: Names | tuple[Names, Names]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the source's and the target's tokens; a single text counts as target until its attention is known.

    Raises ValueError with one sentence for anything else.
    """
    if isinstance(tokens, str):
        raise ValueError("tokens is a list with the token at each position, not one text: give a list of strings")
    source: tuple[str, ...] = ()
    if _all_text(tokens):
        target = _named(tokens)
    elif len(tokens) == 2 and all(isinstance(side, list | tuple) and _all_text(side) for side in tokens):
        source, target = (_named(side) for side in tokens)
        if not source:
            raise ValueError("the source has no tokens: give the names of all positions")
    else:
        raise ValueError("tokens is a list of strings, or two such lists, the source's and the target's")
    if not target:
        raise ValueError("there are no tokens: give the names of all positions that the module reads")
    return source, target


def _read(sites: Sequence[WatchedSite], sides: tuple[Names, Names]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Source and target in view of the attentions: a lone encoder text is the source."""
    source, target = map(tuple, sides)
    return (source or target, ()) if all(site.kind == "encoder" for site in sites) else (source, target)


def _named(names: Sequence[object]) -> tuple[str, ...]:
    """Token names, with "(empty)" for "", which elsewhere means padding."""
    return tuple(str(name) or "(empty)" for name in names)


def _all_text(names: Sequence[object]) -> bool:
    return all(isinstance(name, str) for name in names)


def _told(
    module: nn.Module, seen: SeenCall, sites: Sequence[WatchedSite], sides: tuple[Names, Names]
) -> tuple[ModelSpec, dict[str, Tensor]]:
    """The model's spec, as far as the call revealed it, and the points."""
    values: dict[str, Tensor] = {}
    points: list[HookPoint] = []
    lengths = len(sides[0]), len(sides[1])

    def put(name: str, meaning: str, value: Tensor) -> None:
        points.append(watched_point(name, meaning))
        values[name] = trace_value(value)

    layers = {site.name: layer_path(module, site.path) for site in sites}
    first: dict[str, str] = {}  # inputs and outputs are known for a module's first call only
    streams: dict[str, Tensor] = {}
    for site in sites:
        kind = KINDS[site.kind]
        place, path = f"{kind.stack}.{site.layer}", layers[site.name]
        begins, ends = f"{place}.residual_in", f"{place}.residual_out"
        own = kind.queries.of(*lengths) if first.setdefault(path, place) == place else None
        if path and path in seen.read and seen.read[path].size(1) == own and begins not in values:
            put(begins, f"what {path} reads", seen.read[path])
        if not site.unseen:
            weights, closed = _weights(seen.maps, site)
            put(f"{site.name}.mask", "True = may attend", ~closed)
            put(f"{site.name}.weights", _meaning(seen.maps[site.numbers[0]], site), weights)
        if path and path in seen.gave and seen.gave[path].size(1) == own:
            streams[ends] = seen.gave[path]
    for name, value in streams.items():
        put(name, "what the layer gives out", value)
    inside = {path for path in layers.values() if path}
    for path, value in seen.gave.items():
        if path and path not in inside and value.size(1) in lengths:
            put(f"{MODULES}{path}", f"what {path} gives out", value)
    spec = watched_spec(
        {site.name: values[f"{site.name}.weights"].size(1) for site in sites if not site.unseen},
        points,
        modules={site.name: site.path for site in sites if site.path},
        unseen={site.name: site.unseen for site in sites if site.unseen},
        d_model=next((value.size(-1) for value in streams.values()), 0),
        source=lengths[0],
        target=lengths[1],
    )
    return spec, values


def _weights(maps: Sequence[SeenMap], site: WatchedSite) -> tuple[Tensor, Tensor]:
    """Weights of all heads [1, H, Q, K], and the masked cells, as [1, 1, Q, K] if equal in all heads."""
    own = [maps[number] for number in site.numbers]
    weights = torch.cat([made.weights for made in own])[None]
    closed = torch.cat([_closed(made) for made in own])[None]
    return weights, closed[:, :1] if bool((closed == closed[:, :1]).all()) else closed


def _closed(made: SeenMap) -> Tensor:
    """[H, Q, K]: True where the weight is 0 because of its score."""
    closed = made.weights == 0
    if made.scores is None or (len(made.scores) not in (1, len(closed)) or made.scores.shape[1:] != closed.shape[1:]):
        return torch.zeros_like(closed)
    return closed & (made.scores < CLOSED)


def _meaning(made: SeenMap, site: WatchedSite) -> str:
    """How and where the weights were computed, in words."""
    steps = ", ".join(made.steps)
    if made.softmax:
        said = f"softmax over the keys, then {steps}" if steps else "softmax over the keys"
    else:
        said = f"made of the scores by {steps}" if steps else "the scores themselves"
    if site.further:
        said += f"; {site.further} more softmax over the tokens there reaches no product with values"
    return shorten(said, LONGEST_MEANING // 2) + made_in(site.path)


def _drops(part: nn.Module) -> bool:
    """Whether the module applies dropout because it is in training mode."""
    is_attention = isinstance(part, nn.MultiheadAttention) and part.dropout > 0
    return part.training and (is_attention or isinstance(part, nn.modules.dropout._DropoutNd))


def _random_state() -> tuple[Tensor, list[Tensor]]:
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


def _draw_from(state: tuple[Tensor, list[Tensor]]) -> None:
    torch.set_rng_state(state[0])
    if state[1]:
        torch.cuda.set_rng_state_all(state[1])


# ---- edits


def _check(edits: Sequence[Edit], spec: ModelSpec, sites: Sequence[WatchedSite], maps: Sequence[SeenMap]) -> None:
    weights = {f"{site.name}.weights": site for site in sites if not site.unseen}
    for edit in edits:
        if edit.point not in weights:
            why = spec.missing.get(edit.point) or unknown_point(edit.point, [*weights])
            raise ValueError(
                f"of a watched module only attention weights can be edited, not {quote(edit.point)}: {why}"
            )
        if any(maps[number].again for number in weights[edit.point].numbers):
            raise ValueError(
                f"{edit.point} go into more than one product, and an edit would reach only one of them: change the"
                " weights in the module itself"
            )
    check_edits(edits, spec)


def _changes(
    sites: Sequence[WatchedSite],
    maps: Sequence[SeenMap],
    edits: Sequence[Edit],
    values: Mapping[str, Tensor],
    ran: set[int],
) -> Change:
    """Replaces a map's weights with the edited ones, by map number and head, as in the previous call."""
    place = {number: (site, index) for site in sites if not site.unseen for index, number in enumerate(site.numbers)}

    def change(number: int, begins: int, heads: Tensor) -> Tensor:
        if number not in place:
            return heads
        site, index = place[number]
        begins += sum(len(maps[each].weights) for each in site.numbers[:index])
        mine = slice(begins, begins + len(heads))
        whole = torch.cat([maps[each].weights for each in site.numbers]).to(heads)[None]
        whole[0, mine] = heads
        for order, edit in enumerate(edits):
            if edit.point == f"{site.name}.weights" and (new := edit.apply(whole, 0, values)) is not None:
                ran.add(order)
                whole = new
        return whole[0, mine].to(heads.dtype)

    return change


# ---- names


def _digest(module: nn.Module, values: Mapping[str, Tensor]) -> str:
    """Digest of the weights and inputs: without ids, nothing else tells two calls apart."""
    digest = hashlib.sha256()
    for name, value in (*module.state_dict().items(), *values.items()):
        if isinstance(value, Tensor):
            digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
            digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _difference(first: Any, second: Any) -> float | None:
    """Largest difference between two outputs; None if they hold no numbers."""
    pairs = [(a, b) for a, b in zip(_tensors(first), _tensors(second), strict=True) if a.is_floating_point()]
    return max((float((a - b).abs().nan_to_num(nan=0.0).max()) for a, b in pairs if a.numel()), default=None)


def _tensors(output: Any) -> list[Tensor]:
    if isinstance(output, Tensor):
        return [output]
    values = output.values() if isinstance(output, Mapping) else output if isinstance(output, tuple | list) else ()
    return [tensor for value in values for tensor in _tensors(value)]
