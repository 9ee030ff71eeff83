"""A live module in a notebook: any torch module with attention, recorded while it is called."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.model.instrument import Anatomy
from viz_transformer.model.kinds import KINDS
from viz_transformer.model.point import Point
from viz_transformer.model.points import unknown_point
from viz_transformer.model.watched import MODULES, WATCHED, watched_anatomy, watched_point
from viz_transformer.running.edits import Edit, check_edits
from viz_transformer.running.record import Trace, next_of, tokens_of_names, trace_value
from viz_transformer.running.tracing import check_edits_ran
from viz_transformer.running.watched_call import SeenCall, SeenMap, see
from viz_transformer.running.watched_sites import Names, WatchedSite, watched_sites
from viz_transformer.sentences import quoted

CLOSED = -1e4
"""A score from here down whose weight is exactly 0 counts as masked: models write -inf, -1e9 or float32's least."""


def watch(
    module: nn.Module,
    call: Callable[[], Any],
    *,
    tokens: Names | tuple[Names, Names],
    edits: Sequence[Edit] = (),
    name: str | None = None,
) -> Trace:
    """Call the module and record its attention weights and what its modules read and give out, as a partial Trace.

    call: runs the module on one text, such as ``lambda: model(ids)``. It is called twice, unwatched first, and a third
    time with `edits`. tokens: what stands at each position, or the source's and the target's. Attention over the target
    and the source is told apart by their lengths; where these are equal, by the names of modules.

    The trace has `{site}.weights` [1, H, Q, K] and `{site}.mask` of each attention, layer by layer in the order of the
    run; `{stack}.{layer}.residual_in` and `residual_out` [1, T, D] where a layer is one of a list of modules;
    `modules.{path}` for what else gives out vectors of each token. `missing` of its anatomy says why there is no more.
    Ids are the tokens' places in the text. `info["difference"]` is the largest between the outputs of the call
    unwatched and watched. An edit changes weights, where its point is `{site}.weights`, and takes the place of the
    softmax's result. A cell is masked where its weight is exactly 0 and its score -inf or under -10,000.

    Raises ValueError with one sentence for a module in training mode, for a call in which no attention over these
    tokens is seen, for more than one text at a time, and for an edit that fits nothing.
    """
    sides = _sides(tokens)
    if any(part.training for part in module.modules() if isinstance(part, nn.modules.dropout._DropoutNd)):
        raise ValueError("the module is in training mode, in which each call drops other numbers: call module.eval()")
    sizes = {len(names) for names in sides}
    with torch.no_grad():
        before = call()
        seen, after = see(module, call, sizes)
    sites = watched_sites(seen, sides)
    sides = _read(sites, sides)
    anatomy, values = _told(module, seen, sites, sides)
    if edits:
        _check(edits, anatomy)
        ran: set[int] = set()
        with torch.no_grad():
            seen, after = see(module, call, sizes, _changes(sites, seen.maps, edits, values, ran))
        check_edits_ran(edits, ran)
        anatomy, values = _told(module, seen, sites, sides)
    src, tgt = map(tokens_of_names, sides)
    next_ids, next_tokens = next_of(tgt)
    return Trace(
        values=values,
        anatomy=anatomy,
        checkpoint=type(module).__name__ if name is None else name,
        weights_sha256=_digest(module, values),
        src=src,
        tgt=tgt,
        next_ids=next_ids,
        next_tokens=next_tokens,
        edits=tuple(edits),
        info={"kind": WATCHED, **({} if edits else {"difference": _difference(before, after)})},
    )


def _sides(tokens: Names | tuple[Names, Names]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Source and target; a single text is a target until its attention says what it is."""
    if isinstance(tokens, str):
        raise ValueError("tokens is a list of what stands at each position, not one text: give a list of strings")
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
    """Source and target as the attentions say: an encoder's one text is the source."""
    source, target = map(tuple, sides)
    return (source or target, ()) if all(site.kind == "encoder" for site in sites) else (source, target)


def _named(names: Sequence[object]) -> tuple[str, ...]:
    """The names of tokens; "", which elsewhere stands for padding that nobody typed, in words."""
    return tuple(str(name) or "(empty)" for name in names)


def _all_text(names: Sequence[object]) -> bool:
    return all(isinstance(name, str) for name in names)


def _told(
    module: nn.Module, seen: SeenCall, sites: Sequence[WatchedSite], sides: tuple[Names, Names]
) -> tuple[Anatomy, dict[str, Tensor]]:
    """What the model is made of, as far as the call showed it, and the points."""
    values: dict[str, Tensor] = {}
    points: list[Point] = []
    lengths = len(sides[0]), len(sides[1])

    def put(name: str, meaning: str, value: Tensor) -> None:
        points.append(watched_point(name, meaning))
        values[name] = trace_value(value)

    layers = {site.name: _layer_path(module, site.path) for site in sites}
    first: dict[str, str] = {}  # what a module read and gave is known of its first call: later layers of it have none
    streams: dict[str, Tensor] = {}
    for site in sites:
        kind = KINDS[site.kind]
        place, path = f"{kind.stack}.{site.layer}", layers[site.name]
        begins, ends = f"{place}.residual_in", f"{place}.residual_out"
        own = kind.queries.of(*lengths) if first.setdefault(path, place) == place else None
        if path and path in seen.read and seen.read[path].size(1) == own and begins not in values:
            put(begins, f"what {path} reads", seen.read[path])
        maps = [seen.maps[number] for number in site.numbers]
        weights = torch.cat([made.weights for made in maps])[None]
        closed = (weights == 0) & (torch.cat([made.scores for made in maps])[None] < CLOSED)
        one = bool((closed == closed[:, :1]).all())
        put(f"{site.name}.mask", "True = may attend", ~closed[:, :1] if one else ~closed)
        put(f"{site.name}.weights", f"softmax over the keys, made in {site.path or 'the module'}", weights)
        if path and path in seen.gave and seen.gave[path].size(1) == own:
            streams[ends] = seen.gave[path]
    for name, value in streams.items():
        put(name, "what the layer gives out", value)
    inside = {path for path in layers.values() if path}
    for path, value in seen.gave.items():
        if path and path not in inside and value.size(1) in lengths:
            put(f"{MODULES}{path}", f"what {path} gives out", value)
    anatomy = watched_anatomy(
        {site.name: values[f"{site.name}.weights"].size(1) for site in sites},
        points,
        d_model=next((value.size(-1) for value in streams.values()), 0),
        source=lengths[0],
        target=lengths[1],
    )
    return anatomy, values


def _layer_path(module: nn.Module, path: str) -> str:
    """The path of the layer around a place: the outermost entry of a list of modules; "" if there is none."""
    parts = path.split(".")
    for end in range(1, len(parts) + 1):
        above = module.get_submodule(".".join(parts[: end - 1]))
        if parts[end - 1].isdigit() and isinstance(above, nn.ModuleList | nn.Sequential):
            return ".".join(parts[:end])
    return ""


# ---- edits


def _check(edits: Sequence[Edit], anatomy: Anatomy) -> None:
    weights = [f"{site}.weights" for site in anatomy.attentions]
    for edit in edits:
        if edit.point not in weights:
            why = anatomy.missing.get(edit.point) or unknown_point(edit.point, weights)
            raise ValueError(
                f"of a watched module only attention weights can be edited, not {quoted(edit.point)}: {why}"
            )
    check_edits(edits, anatomy)


def _changes(
    sites: Sequence[WatchedSite],
    maps: Sequence[SeenMap],
    edits: Sequence[Edit],
    values: Mapping[str, Tensor],
    ran: set[int],
) -> Callable[[int, Tensor], Tensor]:
    """What puts edited weights in the place of a softmax's: by its number, as in the call before."""
    place = {number: (site, index) for site in sites for index, number in enumerate(site.numbers)}

    def change(number: int, heads: Tensor) -> Tensor:
        if number not in place:
            return heads
        site, index = place[number]
        mine = slice(None) if len(site.numbers) == 1 else slice(index, index + 1)
        whole = torch.cat([maps[each].weights for each in site.numbers]).to(heads)[None]
        whole[0, mine] = heads
        for order, edit in enumerate(edits):
            if edit.point == f"{site.name}.weights" and (new := edit.apply(whole, 0, values)) is not None:
                ran.add(order)
                whole = new
        return whole[0, mine].to(heads.dtype)

    return change


# ---- names for what was seen


def _digest(module: nn.Module, values: Mapping[str, Tensor]) -> str:
    """Names weights and what they were called with: without ids nothing else tells two calls apart."""
    digest = hashlib.sha256()
    for name, value in (*module.state_dict().items(), *values.items()):
        if isinstance(value, Tensor):
            digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
            digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _difference(first: Any, second: Any) -> float | None:
    """The largest between two outputs; None where they hold no numbers."""
    pairs = [(a, b) for a, b in zip(_tensors(first), _tensors(second), strict=True) if a.is_floating_point()]
    return max((float((a - b).abs().nan_to_num(nan=0.0).max()) for a, b in pairs if a.numel()), default=None)


def _tensors(output: Any) -> list[Tensor]:
    if isinstance(output, Tensor):
        return [output]
    values = output.values() if isinstance(output, Mapping) else output if isinstance(output, tuple | list) else ()
    return [tensor for value in values for tensor in _tensors(value)]
