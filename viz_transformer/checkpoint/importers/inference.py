"""The roles of tensors in a file that no table knows, inferred from names and shapes: a proposal, to be corrected.

What is looked at: which names repeat with a number, as layers do; the words in a name; the shapes of a layer's
matrices; the order of the file, in which a module's parts stand as they were made. What cannot be told stays unplaced.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from viz_transformer.checkpoint.importers.mapping import How, Place
from viz_transformer.checkpoint.importers.reading import Stored

_WORDS: Mapping[str, frozenset[str]] = {
    "query": frozenset("q wq query queries toq qproj projq fcq qlin linq lq qw qnet".split()),
    "key": frozenset("k wk key keys tok kproj projk fck klin link lk kw knet".split()),
    "value": frozenset("v wv value values tov vproj projv fcv vlin linv lv vw vnet".split()),
    "out": frozenset("o wo out output outproj proj toout fco olin lino dense cproj merge mix lo ow onet final".split()),
}
_FUSED = frozenset("qkv kqv inproj cattn toqkv wqkv qkvproj attnin fusedqkv".split())
_FUSED_KV = frozenset("kv tokv wkv kvproj".split())
_CROSS = re.compile(r"cross|src|enc|memory|mem|context|multihead|source|other")
_DECODER = re.compile(r"(^|[._])(dec|decoder|tgt|target|trg|out|writer)")
_ENCODER = re.compile(r"(^|[._])(enc|encoder|src|source|in|reader)")
_POSITION = re.compile(r"pos|wpe")
_SHIFTS = ("bias", "beta", "b_2", "offset", "shift")


@dataclass(frozen=True)
class _Stack:
    """A list of layers: how its names begin, and what each layer holds, by the rest of the name."""

    beginning: str
    layers: Mapping[int, Mapping[str, str]]  # number -> rest of the name -> name

    @property
    def matrices(self) -> int:
        return len(self.layers[min(self.layers)])


def inferred(tensors: Mapping[str, Stored]) -> dict[str, Place]:
    """Where the tensors seem to belong, by their names; what is not told has no place in it."""
    stacks = _stacks(tensors)
    if not stacks:
        return {}
    size = _size(tensors, stacks)
    found: dict[str, Place] = {}
    decoder = _decoder(stacks)
    for stack in stacks:
        ours = "decoder" if stack is decoder else "encoder"
        for number, held in stack.layers.items():
            found |= _layer(
                held, tensors, f"{ours}.layers.{number}", size, crosses=len(stacks) > 1 and stack is decoder
            )
    inside = {name for stack in stacks for held in stack.layers.values() for name in held.values()}
    found |= _outside([name for name in tensors if name not in inside], tensors, stacks, decoder, size)
    return found


def _stacks(tensors: Mapping[str, Stored]) -> list[_Stack]:
    """The lists of layers, at most two: those names that repeat with a number and hold four matrices or more each."""
    lists: dict[str, dict[int, dict[str, str]]] = {}
    for name in tensors:
        if match := re.match(r"(.*?)\.?\b(\d+)\.(.+)", name):
            lists.setdefault(match[1], {}).setdefault(int(match[2]), {})[match[3]] = name
    found = []
    for beginning, layers in lists.items():
        matrices = [sum(len(tensors[name].shape) == 2 for name in held.values()) for held in layers.values()]
        if min(matrices) >= 3 and len({frozenset(held) for held in layers.values()}) == 1:
            found.append(_Stack(beginning, layers))
    return sorted(found, key=lambda stack: -stack.matrices)[:2][::-1]


def _decoder(stacks: Sequence[_Stack]) -> _Stack | None:
    """The stack that writes: of two the one with more in a layer, or so named; of one, which nothing tells, itself."""
    if len(stacks) == 1:
        return None if _ENCODER.search(stacks[0].beginning) else stacks[0]
    named = [stack for stack in stacks if _DECODER.search(stack.beginning)]
    return named[0] if len(named) == 1 else max(stacks, key=lambda stack: stack.matrices)


def _size(tensors: Mapping[str, Stored], stacks: Sequence[_Stack]) -> int:
    """d_model: the length that is most frequent among the axes of the layers' matrices."""
    lengths = Counter(
        length
        for stack in stacks
        for held in stack.layers.values()
        for name in held.values()
        if len(tensors[name].shape) == 2
        for length in tensors[name].shape
    )
    return lengths.most_common(1)[0][0]


def _parts(name: str) -> list[str]:
    """The words of a name, small, without signs: "attn.W_q.weight" -> ["attn", "wq", "weight"]."""
    return [re.sub(r"[^a-z]", "", part.lower()) for part in name.split(".")]


def _role(rest: str) -> str | None:
    """Which map of an attention a matrix is by its name's last words."""
    words = [word for word in _parts(rest) if word not in ("weight", "bias", "linear", "w", "")]
    for word in reversed(words[-2:]):
        if word in _FUSED:
            return "fused"
        if word in _FUSED_KV:
            return "fused kv"
        for role, known in _WORDS.items():
            if word in known:
                return role
    return None


def _module(rest: str) -> str:
    return rest.rpartition(".")[0]


def _layer(
    held: Mapping[str, str], tensors: Mapping[str, Stored], ours: str, size: int, *, crosses: bool
) -> dict[str, Place]:
    """The places of one layer's tensors."""
    matrices = {rest: tensors[name].shape for rest, name in held.items() if len(tensors[name].shape) == 2}
    wide = {rest: shape for rest, shape in matrices.items() if _is_feed_forward(rest, shape, size)}
    attention = {rest: shape for rest, shape in matrices.items() if rest not in wide}
    found: dict[str, Place] = {}
    heads: Counter[str] = Counter()
    kinds = _kinds([*attention], crosses=crosses)
    for rest, shape in attention.items():
        role, kind = _role(rest), kinds[rest]
        site = f"{ours}.{kind}_attention"
        if role is None or kind == "":
            continue
        how: How = "as it is"
        to: tuple[str, ...] = (f"{site}.to_{role}",)
        if role == "fused" or (role != "out" and shape in ((3 * size, size), (size, 3 * size))):
            to, how = tuple(f"{site}.to_{part}" for part in ("query", "key", "value")), "stacked"
            how = "stacked" if shape[0] != size else "stacked, transposed"
        elif role == "fused kv":
            to, how = tuple(f"{site}.to_{part}" for part in ("key", "value")), "stacked"
        elif shape[0] != size and shape[1] == size and role != "out":
            how = "head"
        number = heads[to[0]] if how == "head" else 0
        heads[to[0]] += how == "head"
        found |= _with_bias(held, tensors, rest, to, how, number)
    if len(wide) == 2:
        for rest, part in zip(wide, ("hidden", "out"), strict=True):
            turned = wide[rest][0] == size if part == "hidden" else wide[rest][1] == size
            turned = turned and wide[rest][0] != wide[rest][1]
            found |= _with_bias(
                held, tensors, rest, (f"{ours}.feed_forward.to_{part}",), "transposed" if turned else "as it is", 0
            )
    norms = list(
        dict.fromkeys(
            _module(rest) for rest, name in held.items() if name not in found and tensors[name].shape == (size,)
        )
    )
    parts = ("self", "cross", "ffn") if crosses else ("self", "ffn")
    if len(norms) == len(parts):
        for module, part in zip(norms, parts, strict=True):
            for rest, name in held.items():
                if _module(rest) == module and name not in found:
                    what = "offset" if rest.rpartition(".")[2].lower() in _SHIFTS else "gain"
                    found[name] = Place((f"{ours}.{part}_residual.norm.{what}",))
    return found


def _is_feed_forward(rest: str, shape: tuple[int, ...], size: int) -> bool:
    """Whether a matrix is of the feed-forward: between d_model and another length, and no part of an attention."""
    if _role(rest) in ("fused", "fused kv", "query", "key", "value"):
        return False
    other = shape[0] if shape[1] == size else shape[1]
    words = set(_parts(rest))
    named = bool(
        words & {"ff", "ffn", "mlp", "feedforward", "ffwd", "fc", "linear", "lin", "up", "down", "expand", "contract"}
    )
    return size in shape and (other != size or named) and other % size in range(size) and (other != 3 * size or named)


def _kinds(rests: Sequence[str], *, crosses: bool) -> dict[str, str]:
    """Which attention each matrix belongs to: by the words of its name, else by the order of its module."""
    if not crosses:
        return dict.fromkeys(rests, "self")
    modules = list(dict.fromkeys(_owner(rest) for rest in rests))
    named = {module: "cross" if _CROSS.search(module.lower()) else "self" for module in modules}
    if len(set(named.values())) == 1 and len(modules) == 2:
        named = dict(zip(modules, ("self", "cross"), strict=True))
    return {rest: named[_owner(rest)] for rest in rests}


def _owner(rest: str) -> str:
    """The attention that a matrix stands in: the first part of its name, or what stands before its role's word."""
    first = rest.split(".")[0]
    stripped = re.sub(r"[_.]?(q|k|v|o|query|key|value|out|qkv|kv|proj)$", "", first, flags=re.IGNORECASE)
    return stripped or first


def _with_bias(
    held: Mapping[str, str], tensors: Mapping[str, Stored], rest: str, to: tuple[str, ...], how: How, number: int
) -> dict[str, Place]:
    """A matrix and the bias beside it."""
    found = {held[rest]: Place(tuple(f"{name}.weight" for name in to), how, number)}
    bias = re.sub(r"weight$", "bias", rest)
    if bias != rest and bias in held and len(tensors[held[bias]].shape) == 1:
        of_bias: How = {"transposed": "as it is", "stacked, transposed": "stacked"}.get(how, how)  # type: ignore[assignment]
        found[held[bias]] = Place(tuple(f"{name}.bias" for name in to), of_bias, number)
    return found


def _outside(
    names: Sequence[str],
    tensors: Mapping[str, Stored],
    stacks: Sequence[_Stack],
    decoder: _Stack | None,
    size: int,
) -> dict[str, Place]:
    """Embeddings, positions, last norms and the output."""
    found: dict[str, Place] = {}
    sides = ("encoder", "decoder") if len(stacks) == 2 else ("decoder",) if decoder is not None else ("encoder",)

    def side(name: str) -> str:
        if len(sides) == 1:
            return sides[0]
        return "decoder" if _DECODER.search(name.lower()) else "encoder" if _ENCODER.search(name.lower()) else ""

    tables = [name for name in names if len(_flat(tensors[name].shape)) == 2 and size in tensors[name].shape]
    positions = [name for name in tables if _POSITION.search(name.lower())]
    rest = [name for name in tables if name not in positions]
    biases = {name.rpartition(".")[0] for name in names if name.endswith(".bias")}
    output = next((name for name in reversed(rest) if _module(name) in biases or _is_output(name)), None)
    free = list(sides)
    for name in rest:
        if name != output and free:
            chosen = side(name) if side(name) in free else free[0]
            free.remove(chosen)
            found[name] = Place((f"{chosen}.embedding.token.weight",))
    for index, name in enumerate(positions):
        chosen = side(name) or sides[min(index, len(sides) - 1)]
        how: How = "as it is" if len(tensors[name].shape) == 2 else "flat"
        found[name] = Place((f"{chosen}.embedding.position.table",), how)
    if output is not None:
        turned = tensors[output].shape[0] == size and tensors[output].shape[1] != size
        found[output] = Place(("output.weight",), "transposed" if turned else "as it is")
        if (bias := f"{_module(output)}.bias") in names:
            found[bias] = Place(("output.bias",))
    norms = list(dict.fromkeys(_module(name) for name in names if tensors[name].shape == (size,) and name not in found))
    for index, module in enumerate(norms[: len(sides)]):
        chosen = side(module) or sides[index if len(norms) == len(sides) else -1]
        for name in names:
            if _module(name) == module and name not in found:
                what = "offset" if name.rpartition(".")[2].lower() in _SHIFTS else "gain"
                found[name] = Place((f"{chosen}.norm.{what}",))
    return found


def gated(unplaced: Sequence[str]) -> str | None:
    """The matrix that makes a feed-forward a gated one, among tensors without a place; None if there is none."""
    return next((name for name in unplaced if set(_parts(name)) & {"gate", "gateproj", "wg"}), None)


def _is_output(name: str) -> bool:
    return any(
        word in ("head", "lmhead", "output", "out", "generator", "logits", "unembed", "tovocab", "fcout", "classifier")
        for word in _parts(name)
    )


def _flat(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(length for length in shape if length != 1)
