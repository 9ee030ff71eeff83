"""A live module in a notebook: any torch module with attention, recorded while it is called."""

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

CLOSED = -1e4
"""A score from here down whose weight is exactly 0 counts as masked: models write -inf, -1e9 or float32's least."""


@takes(
    module=instance("a torch module", nn.Module),
    call=Accepted(callable, "a function that calls the module, such as lambda: model(ids)"),
    tokens=Accepted(
        lambda value: isinstance(value, Sequence) and not isinstance(value, bytes | bytearray),
        "a list of strings, or two such lists, the source's and the target's",
    ),
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
    """Call the module and record its attention weights and what its modules read and give out, as a partial Trace.

    call: runs the module on one text, such as ``lambda: model(ids)``. It is called twice, unwatched first, and a third
    time with `edits`. tokens: what stands at each position, or the source's and the target's. Attention over the target
    and the source is told apart by their lengths; where these are equal, by the names of modules.

    The trace has `{site}.weights` [1, H, Q, K] and `{site}.mask` of each attention, layer by layer in the order of the
    run: what the values were multiplied with, whether a softmax over the keys made it or not. `spec.modules` has the
    module of each attention, `spec.unseen` why the weights of one were not recorded: it keeps its place among the
    layers, and a warning names it. `trace.attentions()` has a line for each, with what its rows add up to.
    `{stack}.{layer}.residual_in` and `residual_out` [1, T, D] are there where a layer is one of a list of modules,
    `modules.{path}` for what else gives out vectors of each token. `missing` of its spec says why there is no more.
    Ids are the tokens' places in the text. `info["difference"]` is the largest between the outputs of the call
    unwatched and watched; each call draws the same random numbers. An edit changes weights, where its point is
    `{site}.weights`, right before the values are multiplied. A cell is masked where its weight is exactly 0 and its
    score -inf or under -10,000.

    Raises ValueError with one sentence for a module in training mode, for a call in which no attention over these
    tokens is seen, for more than one text at a time, and for an edit that fits nothing.
    """
    sides = _sides(tokens)
    if any(_drops(part) for part in module.modules()):
        raise ValueError("the module is in training mode, in which each call drops other numbers: call module.eval()")
    sizes = {len(names) for names in sides}
    drawing = _random_state()
    with torch.no_grad():
        before = call()
        _draw_from(drawing)  # what a call draws is the same each time, such as a dropout that is always on
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


def _sides(tokens: Names | tuple[Names, Names]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Source and target; a single text is a target until its attention says what it is."""
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
) -> tuple[ModelSpec, dict[str, Tensor]]:
    """What the model is made of, as far as the call showed it, and the points."""
    values: dict[str, Tensor] = {}
    points: list[HookPoint] = []
    lengths = len(sides[0]), len(sides[1])

    def put(name: str, meaning: str, value: Tensor) -> None:
        points.append(watched_point(name, meaning))
        values[name] = trace_value(value)

    layers = {site.name: layer_path(module, site.path) for site in sites}
    first: dict[str, str] = {}  # what a module read and gave is known of its first call: later layers of it have none
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
    """The weights of all heads [1, H, Q, K], and which cells a mask closed, [1, 1, Q, K] if that is so in all heads."""
    own = [maps[number] for number in site.numbers]
    weights = torch.cat([made.weights for made in own])[None]
    closed = torch.cat([_closed(made) for made in own])[None]
    return weights, closed[:, :1] if bool((closed == closed[:, :1]).all()) else closed


def _closed(made: SeenMap) -> Tensor:
    """[H, Q, K]: where the weight is 0 because of its score."""
    closed = made.weights == 0
    if made.scores is None or (len(made.scores) not in (1, len(closed)) or made.scores.shape[1:] != closed.shape[1:]):
        return torch.zeros_like(closed)
    return closed & (made.scores < CLOSED)


def _meaning(made: SeenMap, site: WatchedSite) -> str:
    """How the weights came about, and where."""
    steps = ", ".join(made.steps)
    if made.softmax:
        said = f"softmax over the keys, then {steps}" if steps else "softmax over the keys"
    else:
        said = f"made of the scores by {steps}" if steps else "the scores themselves"
    if site.further:
        said += f"; {site.further} more softmax over the tokens there reaches no product with values"
    return shorten(said, LONGEST_MEANING // 2) + made_in(site.path)


def _drops(part: nn.Module) -> bool:
    """Whether the module drops numbers because it is in training mode."""
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
    """What puts edited weights in the place of a map's: by its number and its heads, as in the call before."""
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
