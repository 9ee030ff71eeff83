"""Maps each tensor of a file to our names. Numbers are moved, never computed.

A mapping comes from a known layout, is inferred for an unknown one, and may be corrected by a person; as JSON it is the
file for `viz-transformer import --map`. Fused projections are split into W_Q, W_K and W_V: a weight is stored as
nn.Linear has it, [out, in], a bias is [out], and head h owns rows h*E to (h+1)*E - 1 of each map.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor

from viz_transformer import declared
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.importers.name_words import flat
from viz_transformer.checkpoint.importers.reading import Stored
from viz_transformer.checkpoint.weights import check_finite
from viz_transformer.sentences import quote

How = Literal[
    "as it is",
    "transposed",
    "stacked",
    "stacked, transposed",
    "interleaved",
    "head",
    "rows",
    "flat",
    "repeated",
    "ignored",
]
"""How our parts lie in a tensor of the file.

as it is: unchanged. transposed: stored as [in, out]. stacked: all of one map, then all of the next. interleaved: query,
key and value of each head in turn. head: the part of head `number`. rows: from row `number` on. flat: without axes of
length 1. repeated: one number for all `number` features. ignored: not used in the computation.
"""


MAX_REPEATED = 1_000_000
"""Features that share one number, at most."""


@dataclass(frozen=True)
class Placement:
    """Our names for the parts of a tensor, in order; empty if ignored."""

    to: tuple[str, ...] = ()
    how: How = "as it is"
    number: int = 0

    def __post_init__(self) -> None:
        declared.check(self, rules=self._rules())

    def _rules(self) -> Iterator[str]:
        if self.how == "ignored" and self.to:
            yield f"a tensor that is ignored is not placed at {quote(self.to[0])} too"
        if self.how != "ignored" and not self.to:
            yield "a tensor that is not ignored is placed somewhere: 'to' is empty"
        if self.how == "repeated" and not 0 < self.number <= MAX_REPEATED:
            yield f"a number is repeated 1 to {MAX_REPEATED:,} times: number is {self.number}"

    def to_dict(self) -> dict[str, Any]:
        return {"to": list(self.to), "how": self.how, "number": self.number}

    @classmethod
    def from_dict(cls, d: Any) -> Placement:
        """Inverse of `to_dict`. Raises ValueError for anything else."""
        return declared.read(cls, d, "a place")


Mapped = Mapping[str, Placement]
Progress = Callable[[int, int], None]


def place_shapes(mapping: Mapped, tensors: Mapping[str, Stored]) -> dict[str, tuple[int, ...]]:
    """Our names and shapes of everything placed, without reading numbers.

    Raises CheckpointError if a tensor cannot be split as its place requires.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    heads: dict[str, int] = {}
    for name, place in mapping.items():
        if name not in tensors:
            raise CheckpointError(f"the mapping names {quote(name)}, which the file does not hold")
        shape = tensors[name].shape
        for target, part in zip(place.to, _part_shapes(name, shape, place), strict=True):
            if place.how == "head":
                heads[target] = heads.get(target, 0) + 1
                part = (part[0] * heads[target], *part[1:])
            elif target in shapes:
                raise CheckpointError(f"two tensors of the file are placed at {target}: {quote(name)} is one of them")
            shapes[target] = part
    return shapes


def _part_shapes(name: str, shape: tuple[int, ...], place: Placement) -> list[tuple[int, ...]]:
    parts = len(place.to)
    if place.how == "ignored":
        return []
    if place.how in ("transposed", "stacked, transposed"):
        shape = shape[::-1]
    if place.how == "flat":
        shape = flat(shape)
    if place.how == "repeated" and flat(shape) == ():
        shape = (place.number,)
    if place.how == "rows":
        shape = (max(shape[0] - place.number, 0), *shape[1:]) if shape else shape
    if parts < 1 or (parts > 1 and (not shape or shape[0] % parts)):
        raise CheckpointError(f"{quote(name)} of shape {list(shape)} cannot be {parts} maps below each other")
    return [(shape[0] // parts, *shape[1:]) if parts > 1 else shape] * parts


def order_fused(mapping: Mapped, order: str) -> dict[str, Placement]:
    """The mapping with fused query, key and value in another order, such as "kqv"."""
    places = {}
    for name, place in mapping.items():
        if len(place.to) == 3:
            parts = {name.partition(".to_")[2][0]: name for name in place.to}  # "q", "k", "v"
            place = Placement(tuple(parts[letter] for letter in order), place.how, place.number)
        places[name] = place
    return places


def pair_neighbours(state: Mapping[str, Tensor], n_heads: int) -> dict[str, Tensor]:
    """Reorder rows of queries and keys from rotary pairs (i, i + E/2) to our (2i, 2i + 1)."""
    found = dict(state)
    for name, rows in state.items():
        if re.search(r"\.self_attention\.to_(query|key)\.(weight|bias)$", name) and len(rows) % (2 * n_heads) == 0:
            apart = rows.reshape(n_heads, 2, -1, *rows.shape[1:])
            found[name] = apart.transpose(1, 2).reshape(rows.shape).contiguous()
    return found


def map_tensors(
    mapping: Mapped, tensors: Mapping[str, Stored], n_heads: int, progress: Progress | None = None
) -> dict[str, Tensor]:
    """Our tensors by our names, converted to float32. Raises CheckpointError for numbers that are not finite.

    progress: called with the bytes read so far and in total.
    """
    total, done = sum(tensors[name].bytes for name, place in mapping.items() if place.how != "ignored"), 0
    state: dict[str, Tensor] = {}
    heads: dict[str, dict[int, Tensor]] = {}
    for name, place in mapping.items():
        if place.how == "ignored":
            continue
        tensor = tensors[name].read().to(torch.float32)
        done += tensors[name].bytes
        if progress is not None:
            progress(done, total)
        check_finite(quote(name), tensor)
        if place.how == "head":
            heads.setdefault(place.to[0], {})[place.number] = tensor
        else:
            state |= dict(zip(place.to, _parts(tensor, place, n_heads), strict=True))
    for target, parts in heads.items():
        state[target] = join_heads([parts[number] for number in sorted(parts)])
    return state


def _parts(tensor: Tensor, place: Placement, n_heads: int) -> tuple[Tensor, ...]:
    if place.how in ("transposed", "stacked, transposed"):
        tensor = tensor.t().contiguous()
    if place.how == "interleaved":
        return split_interleaved(tensor, n_heads, len(place.to))
    if place.how == "flat":
        return (tensor.squeeze(),)
    if place.how == "repeated":
        return (tensor.reshape(1).repeat(place.number),)
    if place.how == "rows":
        return (tensor[place.number :].clone(),)
    return split_stacked(tensor, len(place.to)) if len(place.to) > 1 else (tensor,)


# --- rules: a small language for tables of names


@dataclass(frozen=True)
class NameRule:
    """One line of a layout's table: a pattern of their names, and our names.

    In `theirs`, {s} is encoder or decoder, {i} a layer, {h} a head, {p} weight or bias, {n} weight or bias of a norm
    under any of its names, and a dot is literal; the rest is a regular expression. `ours` uses the same placeholders,
    with {n} as gain or offset; {a,b,c} is one name per part.
    """

    theirs: str
    ours: str
    how: How = "as it is"
    number: int = 0

    def place(self, name: str) -> Placement | None:
        """Place of the tensor with this name; None if the rule does not match."""
        match = _pattern(self.theirs).fullmatch(name)
        if match is None:
            return None
        if self.how == "ignored":
            return Placement((), "ignored")
        words = match.groupdict()
        ours = self.ours
        for key in "sip":
            ours = ours.replace(f"{{{key}}}", words.get(key) or "")
        ours = ours.replace("{n}", _NORM.get(words.get("n") or "", ""))
        return Placement(tuple(_each(ours)), self.how, int(words.get("h") or self.number))


_NORM = {"weight": "gain", "gamma": "gain", "a_2": "gain", "g": "gain", "scale": "gain"}
_NORM |= {"bias": "offset", "beta": "offset", "b_2": "offset", "b": "offset"}
_NAMED = r"\(\?P<\w+>"
_PIECES = {"s": "encoder|decoder", "i": "[0-9]+", "h": "[0-9]+", "p": "weight|bias", "n": "|".join(_NORM)}


@cache
def _pattern(theirs: str) -> re.Pattern[str]:
    return re.compile(_expression(theirs))


@cache
def _any_of(rules: tuple[NameRule, ...]) -> re.Pattern[str]:
    """One pattern for all rules, so that unmatched names are rejected at once."""
    return re.compile("|".join(f"(?:{re.sub(_NAMED, '(?:', _expression(rule.theirs))})" for rule in rules))


def _expression(theirs: str) -> str:
    pattern = theirs.replace(".", r"\.")
    for key, piece in _PIECES.items():
        pattern = pattern.replace(f"{{{key}}}", f"(?P<{key}>{piece})")
    return pattern


def _each(ours: str) -> Iterable[str]:
    """Expand {a,b,c}."""
    match = re.search(r"\{([^}]*)\}", ours)
    if match is None:
        return [ours]
    return [ours[: match.start()] + word + ours[match.end() :] for word in match[1].split(",")]


def place_names(rules: Iterable[NameRule], names: Iterable[str]) -> dict[str, Placement]:
    """Place of each name by the first matching rule; unmatched names are omitted."""
    rules = tuple(rules)
    known = _any_of(rules)
    found = {}
    for name in filter(known.fullmatch, names):
        for rule in rules:
            if (place := rule.place(name)) is not None:
                found[name] = place
                break
    return found


def split_stacked(fused: Tensor, parts: int = 3) -> tuple[Tensor, ...]:
    """Split all of W_Q, then W_K, then W_V, as in `nn.MultiheadAttention.in_proj_weight` and nanoGPT's `c_attn`.

    fused: [parts*D, D] or a bias [parts*D]; parts=2 for keys and values only. Returns parts of [D, D] or [D]. Raises
    ValueError if the rows do not divide evenly.
    """
    _check_rows(fused, parts, f"{parts} maps")
    return tuple(part.clone() for part in fused.chunk(parts, dim=0))


def split_interleaved(fused: Tensor, n_heads: int, parts: int = 3) -> tuple[Tensor, ...]:
    """Split query, key and value of head 0, then of head 1, ...: a projection reshaped to [B, T, H, parts*E].

    fused: [parts*D, D] or a bias [parts*D]; parts=2 for keys and values only. Returns parts of [D, D] or [D]. Raises
    ValueError if the rows do not divide evenly.
    """
    _check_rows(fused, n_heads * parts, f"{parts} maps of {n_heads} heads")
    head_dim = len(fused) // (n_heads * parts)
    by_head = fused.reshape(n_heads, parts, head_dim, *fused.shape[1:])
    return tuple(by_head[:, part].reshape(-1, *fused.shape[1:]).clone() for part in range(parts))


def join_heads(heads: Sequence[Tensor]) -> Tensor:
    """Join one Linear per head into one map: H of [E, D] -> [D, D]; biases H of [E] -> [D].

    Raises ValueError if there are none, or if shapes differ.
    """
    shapes = {tuple(head.shape) for head in heads}
    if len(shapes) != 1:
        given = ", ".join(map(str, sorted(shapes))) or "none"
        raise ValueError(f"the heads of one map must have one shape, not {given}")
    return torch.cat(list(heads))


def _check_rows(fused: Tensor, parts: int, what: str) -> None:
    if parts < 1 or fused.dim() not in (1, 2) or len(fused) % parts:
        raise ValueError(f"a tensor of shape {list(fused.shape)} is not {what} below each other")
