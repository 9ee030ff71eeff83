"""Infers the tensors outside layers in an unknown layout: embeddings, positions, final norms, output."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import torch

from viz_transformer.checkpoint.importers.mapping import How, Placement
from viz_transformer.checkpoint.importers.name_words import (
    DECODER,
    ENCODER,
    SHIFTS,
    flat,
    module_of,
    parts_of,
    words_of,
)
from viz_transformer.checkpoint.importers.reading import Stored
from viz_transformer.checkpoint.importers.ties import Asks

NONE = "none"
"""Answer that the output is tied to the embedding."""
_POSITION = re.compile(r"pos|wpe")


def outside(
    names: Sequence[str], tensors: Mapping[str, Stored], sides: Sequence[str], size: int, asks: Asks
) -> dict[str, Placement]:
    """Places of embeddings, positions, final norms and the output."""
    found: dict[str, Placement] = {}
    tables = [name for name in names if len(flat(tensors[name].shape)) == 2 and size in tensors[name].shape]
    positions = [name for name in tables if _POSITION.search(name.lower())]
    rest = [name for name in tables if name not in positions]
    biases = {name.rpartition(".")[0] for name in names if name.endswith(".bias")}
    output = _output(rest, tensors, sides, size, biases, asks)
    asked = asks.met["output.weight"].options if output is None and "output.weight" in asks.met else ()
    asked = () if asked and asks.met["output.weight"].chosen == NONE else asked
    free = [name for name in rest if name not in (output, *asked) and not _only_output(name, tensors, size, biases)]
    rows = None if output is None else max(tensors[output].shape, key=lambda n: (n != size, n))
    for chosen, name in _by_side(free, sides, tensors, asks, rows).items():
        found[name] = Placement((f"{chosen}.embedding.token.weight",))
    for chosen, name in _positions_by_side(positions, sides, asks).items():
        how: How = "as it is" if len(tensors[name].shape) == 2 else "flat"
        found[name] = Placement((f"{chosen}.embedding.position.table",), how)
    if output is not None:
        turned = tensors[output].shape[0] == size and tensors[output].shape[1] != size
        found[output] = Placement(("output.weight",), "transposed" if turned else "as it is")
        if (bias := f"{module_of(output)}.bias") in names:
            found[bias] = Placement(("output.bias",))
    return found | _last_norms(names, tensors, sides, size, asks, {*found})


def unnamed_output(
    names: Sequence[str], tensors: Mapping[str, Stored], placed: Mapping[str, Placement]
) -> dict[str, Placement]:
    """The output where the layout has no name for it: the only unplaced matrix that reads the stream, with its bias.

    A square matrix may be something else and is not taken.
    """
    by_target = {to: name for name, place in placed.items() for to in place.to}
    table = by_target.get("decoder.embedding.token.weight") or by_target.get("encoder.embedding.token.weight")
    matrices = [name for name in names if len(tensors[name].shape) == 2]
    if "output.weight" in by_target or table is None or len(matrices) != 1:
        return {}
    (name,) = matrices
    (rows, size), (tokens, width) = tensors[name].shape, tensors[table].shape
    if size != width or (rows == size and rows != tokens):
        return {}
    bias = f"{module_of(name)}.bias"
    has_bias = bias in names and tensors[bias].shape == (rows,)
    return {name: Placement(("output.weight",))} | ({bias: Placement(("output.bias",))} if has_bias else {})


def _side(name: str, sides: Sequence[str]) -> str | None:
    """The stack that a name refers to, or None."""
    if len(sides) == 1:
        return sides[0]
    return "decoder" if DECODER.search(name.lower()) else "encoder" if ENCODER.search(name.lower()) else None


def _only_output(name: str, tensors: Mapping[str, Stored], size: int, biases: Collection[str]) -> bool:
    """Whether a table cannot be an embedding: it has a bias, or is stored as [in, out]."""
    shape = tensors[name].shape
    return module_of(name) in biases or (shape[0] == size and shape[1] != size)


def _output(
    rest: Sequence[str],
    tensors: Mapping[str, Stored],
    sides: Sequence[str],
    size: int,
    biases: Collection[str],
    asks: Asks,
) -> str | None:
    """The output matrix among the tables outside layers, or None if it is tied or ambiguous.

    It is the one that cannot be anything else, is named so, or is left over when the embeddings are named.
    """
    if (told := asks.told("output.weight", [*rest, NONE])) is not None:
        return None if told == NONE else told
    sure = [name for name in rest if _only_output(name, tensors, size, biases)]
    named = [name for name in rest if {*parts_of(name), *words_of(name)} & _OUTPUT and not _is_embedding(name)]
    named = named or [name for name in rest if {*words_of(name)} & _PROJECTION and "emb" not in name.lower()]
    for candidates in ([name for name in sure if name in named], named, sure):
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            return asks.one_of("output.weight", candidates)
    if len(rest) <= len(sides):
        return None
    candidates = [name for name in rest if not _is_embedding(name)] or list(rest)
    if sides[-1] == "decoder":  # it has as many logits as tokens to read
        rows = Counter(tensors[name].shape[0] for name in rest)
        candidates = [name for name in candidates if rows[tensors[name].shape[0]] > 1] or candidates
    if len(candidates) > 1 and len(rest) == len(sides) + 1 and _all_equal(candidates, tensors):
        return candidates[-1]  # tied: either choice gives the same model
    if len(candidates) == 1:
        return candidates[0]
    asks.one_of("output.weight", [*candidates, NONE])
    return None


def _by_side(
    free: Sequence[str], sides: Sequence[str], tensors: Mapping[str, Stored], asks: Asks, rows: int | None
) -> dict[str, str]:
    """The embedding of each stack: by answer, by name, or for the decoder by the output's number of rows."""
    found: dict[str, str] = {}
    for side in sides:
        if (told := asks.told(f"{side}.embedding.token.weight", free)) is not None:
            found[side] = told
    if len(sides) == 1 and found:
        return found
    if len(sides) == 1:
        named = [name for name in free if _is_embedding(name)] or list(free)
        if len(named) > 1:
            asks.one_of(f"{sides[0]}.embedding.token.weight", named)
            return {}
        return dict.fromkeys(sides, named[0]) if named else {}
    for side in sides:
        mine = [name for name in free if name not in found.values() and _side(name, sides) == side]
        if side not in found and len(mine) == 1:
            found[side] = mine[0]
    left = [name for name in free if name not in found.values()]
    lacking = [side for side in sides if side not in found]
    if len(lacking) == 2 and len(left) == 2 and rows is not None:
        fitting = [name for name in left if tensors[name].shape[0] == rows]
        if len(fitting) == 1:
            found["decoder"], lacking = fitting[0], ["encoder"]
            left = [name for name in left if name != fitting[0]]
    if len(lacking) == len(left) == 2 and _all_equal(left, tensors):
        return found | dict(zip(lacking, left, strict=True))
    if len(lacking) == len(left) == 1 or (len(lacking) == 2 and len(left) == 1):
        return found | {lacking[0]: left[0]}
    if lacking and left:
        asks.one_of(f"{lacking[0]}.embedding.token.weight", left)
    return found


def _positions_by_side(positions: Sequence[str], sides: Sequence[str], asks: Asks) -> dict[str, str]:
    """The position table of each stack."""
    found: dict[str, str] = {}
    for side in sides:
        told = asks.told(f"{side}.embedding.position.table", positions)
        mine = [name for name in positions if _side(name, sides) == side]
        if told is not None:
            found[side] = told
        elif len(mine) == 1:
            found[side] = mine[0]
        elif len(mine) > 1:
            asks.one_of(f"{side}.embedding.position.table", mine)
    left = [name for name in positions if name not in found.values() and _side(name, sides) is None]
    lacking = [side for side in sides if side not in found]
    if left and lacking:
        if len(left) == 1:
            return found | {lacking[0]: left[0]}
        asks.one_of(f"{lacking[0]}.embedding.position.table", left)
    return found


def _last_norms(
    names: Sequence[str],
    tensors: Mapping[str, Stored],
    sides: Sequence[str],
    size: int,
    asks: Asks,
    found: Collection[str],
) -> dict[str, Placement]:
    """The final norm of each stack, ignoring norms named after an embedding."""
    held: dict[str, list[str]] = {}
    for name in names:
        if name not in found:
            held.setdefault(module_of(name), []).append(name)
    norms = [
        module
        for module, own in held.items()
        if all(tensors[name].shape == (size,) for name in own)
        or (len(own) == 2 and all(flat(tensors[name].shape) == () for name in own))
    ]
    norms = [module for module in norms if not _is_embedding(module)]
    if len(sides) == 1:
        last = norms if len(norms) == 1 else [module for module in norms if {*words_of(module)} & _LAST]
        chosen = last[0] if len(last) == 1 else asks.one_of(f"{sides[0]}.norm", norms) if norms else None
        by_module = {} if chosen is None else {chosen: sides[0]}
    elif len(norms) == 2:
        by_module = asks.each(sides, norms, lambda module: [s for s in [_side(module, sides)] if s], "{}.norm")
    else:
        by_module = {module: side for module in norms if (side := _side(module, sides)) is not None}
        by_module = by_module if len(set(by_module.values())) == len(by_module) else {}
        if len(norms) == 1 and not by_module:
            by_module = {norms[0]: sides[-1]}
    places = {}
    for module, side in by_module.items():
        for name in held[module]:
            places[name] = place_norm(name, tensors[name], f"{side}.norm", size)
    return places


def place_norm(name: str, stored: Stored, norm: str, size: int) -> Placement:
    """The place of a norm's gain or offset, which may be one number for all features."""
    to = (f"{norm}.{'offset' if name.rpartition('.')[2].lower() in SHIFTS else 'gain'}",)
    return Placement(to) if stored.shape == (size,) else Placement(to, "repeated", size)


_LAST = frozenset("final last after end f out output z".split())


def _all_equal(names: Sequence[str], tensors: Mapping[str, Stored]) -> bool:
    return all(same_numbers(tensors[names[0]], tensors[name]) for name in names[1:])


def same_numbers(first: Stored, second: Stored) -> bool:
    """Whether two tensors are the same storage or have equal numbers."""
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    return first.place == second.place or torch.equal(first.read(), second.read())


_OUTPUT = frozenset(
    "head lmhead output out generator logits unembed tovocab fcout classifier classify predict prediction predictor"
    " readout tagger labels scores".split()
)
_PROJECTION = frozenset("prj proj projection".split())
"""These name an output whatever else is in the name, as in "trg_word_prj"."""
_EMBEDDING = frozenset(
    "emb embed embedding embeddings embedder wte lut tok token tokens word words char chars table".split()
)


def _is_embedding(name: str) -> bool:
    """Whether a name refers to an embedding, by a word or a part such as "tokenEmbedding"."""
    return bool({*words_of(name)} & _EMBEDDING) or any("embed" in part for part in parts_of(name))
