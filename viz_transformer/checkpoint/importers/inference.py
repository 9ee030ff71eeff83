"""Infers the roles of tensors in an unknown layout from names and shapes: a proposal, to be corrected.

Evidence: names that repeat with a number, as layers do; words in names, and numbers that count otherwise equal names;
shapes of matrices and their biases. The order in the file means nothing, as files may be sorted by name. Ambiguous
tensors stay unplaced, and become a question if they must be one of a few.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from viz_transformer.checkpoint.importers.mapping import How, Placement
from viz_transformer.checkpoint.importers.name_words import (
    DECODER,
    ENCODER,
    flat,
    in_sequence,
    module_of,
    parts_of,
    words_of,
)
from viz_transformer.checkpoint.importers.outside import outside, place_norm
from viz_transformer.checkpoint.importers.reading import Stored
from viz_transformer.checkpoint.importers.ties import Asks, Tie

_WORDS: Mapping[str, frozenset[str]] = {
    "query": frozenset("q wq query queries toq qproj projq fcq qlin linq lq qw qnet wquery wqs".split()),
    "key": frozenset("k wk key keys tok kproj projk fck klin link lk kw knet wkey wks".split()),
    "value": frozenset("v wv value values tov vproj projv fcv vlin linv lv vw vnet wvalue wvs".split()),
    "out": frozenset(
        "o wo out output outproj oproj proj cproj toout fco fcout olin lino lo ow onet dense merge mix"
        " final wconcat".split()
    ),
}
_FUSED = frozenset("qkv kqv inproj inprojweight inprojbias cattn toqkv wqkv qkvproj attnin fusedqkv".split())
_FUSED_KV = frozenset("kv tokv wkv kvproj".split())
_CROSS = re.compile(r"cross|src|enc|memory|mem|context|multihead|source|other")


@dataclass(frozen=True)
class _Stack:
    """A list of layers. beginning: common prefix of the names. layers: for each layer, remaining name -> name."""

    beginning: str
    layers: Mapping[int, Mapping[str, str]]  # number -> rest of the name -> name

    @property
    def matrices(self) -> int:
        return len(self.layers[min(self.layers)])


def infer_placements(
    tensors: Mapping[str, Stored], told: Mapping[str, str] | None = None
) -> tuple[dict[str, Placement], list[Tie]]:
    """Inferred places of the tensors, and the open ties. told: answers to ties, by place."""
    tensors = {name: tensors[name] for name in sorted(tensors)}
    stacks = _stacks(tensors) or _stacks(tensors, _NUMBERED[1])
    if not stacks:
        return {}, []
    asks = Asks(told or {})
    size = _size(tensors, stacks)
    found: dict[str, Placement] = {}
    decoder = _decoder(stacks)
    inside = {name for stack in stacks for held in stack.layers.values() for name in held.values()}
    names = [name for name in tensors if name not in inside]
    sides = ("encoder", "decoder") if len(stacks) == 2 else ("encoder",) if decoder is None else ("decoder",)
    beside = outside(names, tensors, sides, size, asks)
    if sides == ("decoder",) and _gives_labels(beside, tensors):
        sides, decoder, asks = ("encoder",), None, Asks(told or {})
        beside = outside(names, tensors, sides, size, asks)
    for stack in stacks:
        ours = "decoder" if stack is decoder else "encoder"
        crosses, own = len(stacks) > 1 and stack is decoder, asks.of(ours)
        for number, held in stack.layers.items():
            found |= _layer(held, tensors, f"{ours}.layers.{number}", size, own, crosses=crosses)
    return found | beside, list(asks.met.values())


def _gives_labels(beside: Mapping[str, Placement], tensors: Mapping[str, Stored]) -> bool:
    """Whether the output of a lone stack has a different number of rows than its vocabulary, so it predicts labels."""
    rows = {}
    for name, place in beside.items():
        shape = tensors[name].shape
        rows[place.to[0]] = shape[-1] if place.how == "transposed" else shape[0]
    output, table = rows.get("output.weight"), rows.get("decoder.embedding.token.weight")
    return output is not None and table is not None and output != table


_NUMBERED = re.compile(r"(.*?)\.?\b(\d+)\.(.+)"), re.compile(r"(.*?[^\W\d])_?(\d+)\.(.+)")
"""Names in a list of layers: the number stands alone, or, as in `block0`, at the end of a word."""


def _stacks(tensors: Mapping[str, Stored], numbered: re.Pattern[str] = _NUMBERED[0]) -> list[_Stack]:
    """Lists of layers, at most two: names that repeat with a number and hold at least four matrices each."""
    lists: dict[str, dict[int, dict[str, str]]] = {}
    for name in tensors:
        if match := numbered.match(name):
            lists.setdefault(match[1], {}).setdefault(int(match[2]), {})[match[3]] = name
    found = []
    for beginning, layers in lists.items():
        last = layers[max(layers)]
        if len(layers) > 1 and all(len(tensors[name].shape) < 2 for name in last.values()):
            del layers[max(layers)]  # the last norm, as the last entry of the same list
        matrices = [sum(len(tensors[name].shape) == 2 for name in held.values()) for held in layers.values()]
        if min(matrices) >= 3 and len({frozenset(held) for held in layers.values()}) == 1:
            found.append(_Stack(beginning, dict(sorted(layers.items()))))
    return sorted(found, key=lambda stack: (-stack.matrices, stack.beginning))[:2][::-1]


def _decoder(stacks: Sequence[_Stack]) -> _Stack | None:
    """The generating stack: the one named decoder or with more matrices; a single one unless named encoder."""
    if len(stacks) == 1:
        return None if ENCODER.search(stacks[0].beginning) else stacks[0]
    named = [stack for stack in stacks if DECODER.search(stack.beginning)]
    return named[0] if len(named) == 1 else max(stacks, key=lambda stack: stack.matrices)


def _size(tensors: Mapping[str, Stored], stacks: Sequence[_Stack]) -> int:
    """d_model: the most frequent axis length among the layers' matrices, ties broken by their vectors."""
    shapes = [tensors[name].shape for stack in stacks for held in stack.layers.values() for name in held.values()]
    lengths = Counter(length for shape in shapes if len(shape) == 2 for length in shape)
    vectors = Counter(shape[0] for shape in shapes if len(shape) == 1)
    return max(lengths, key=lambda length: (lengths[length], vectors[length], length))


def _role(rest: str) -> str | None:
    """The attention map that a matrix is, from the last words of its name."""
    words = [word for word in parts_of(rest) if word not in ("weight", "bias", "linear", "w", "")]
    for word in reversed(words[-2:]):
        if word in _FUSED:
            return "fused"
        if word in _FUSED_KV:
            return "fused kv"
        for role, known in _WORDS.items():
            if word in known:
                return role
    return None


def _layer(
    held: Mapping[str, str], tensors: Mapping[str, Stored], ours: str, size: int, asks: Asks, *, crosses: bool
) -> dict[str, Placement]:
    """Places of one layer's tensors."""
    matrices = {rest: tensors[name].shape for rest, name in held.items() if len(tensors[name].shape) == 2}
    attentions = {_home(rest) for rest in matrices if _role(rest) in ("query", "key", "value", "fused")} - {""}
    wide = {
        rest: shape
        for rest, shape in matrices.items()
        if _home(rest) not in attentions and _is_feed_forward(rest, shape, size)
    }
    attention = {rest: shape for rest, shape in matrices.items() if rest not in wide}
    found = _attentions(attention, held, tensors, ours, size, _kinds([*attention], asks, crosses=crosses))
    turned = any(shape == (size, 3 * size) and size > 1 for shape in attention.values())  # stored as [in, out]
    for part, rest in _feed_forward(wide, held, tensors, size, asks, turned=turned).items():
        first = wide[rest][0] == size if part == "hidden" else wide[rest][1] == size
        how: How = "transposed" if first and wide[rest][0] != wide[rest][1] else "as it is"
        found |= _with_bias(held, tensors, rest, (f"{ours}.feed_forward.to_{part}",), how, 0)
    norms = sorted(
        {module_of(rest) for rest, name in held.items() if name not in found and _is_of_norm(tensors[name], size)}
    )
    parts = ("self", "cross", "ffn") if crosses else ("self", "ffn")
    if len(norms) == len(parts):
        by_module = asks.each(parts, norms, lambda module: _norm_says(module, parts), "{}_residual.norm")
        for rest, name in held.items():
            if module_of(rest) in by_module and name not in found:
                norm = f"{ours}.{by_module[module_of(rest)]}_residual.norm"
                found[name] = place_norm(name, tensors[name], norm, size)
    return found


def _home(rest: str) -> str:
    """The module whose part a matrix's module is: "attn" of "attn.fc.weight", "" of a part of the layer itself."""
    return module_of(module_of(rest))


def _is_of_norm(stored: Stored, size: int) -> bool:
    """Whether a tensor may be a gain or an offset: a vector, or one number for all features."""
    return stored.shape == (size,) or flat(stored.shape) == ()


def _attentions(
    attention: Mapping[str, tuple[int, ...]],
    held: Mapping[str, str],
    tensors: Mapping[str, Stored],
    ours: str,
    size: int,
    kinds: Mapping[str, str],
) -> dict[str, Placement]:
    """Places of a layer's attention matrices and their biases."""
    found: dict[str, Placement] = {}
    heads: dict[tuple[str, ...], list[str]] = {}
    roles = {rest: _role(rest) for rest in attention} | _left_over(attention, kinds, size)
    for rest, shape in attention.items():
        role, kind = roles[rest], kinds.get(rest)
        site = f"{ours}.{kind}_attention"
        if role is None or kind is None:
            continue
        how: How = "as it is"
        to: tuple[str, ...] = (f"{site}.to_{role}",)
        if role == "fused" or (role != "out" and shape in ((3 * size, size), (size, 3 * size))):
            to, how = tuple(f"{site}.to_{part}" for part in ("query", "key", "value")), "stacked"
            how = "stacked" if shape[0] != size else "stacked, transposed"
        elif role == "fused kv":
            to, how = tuple(f"{site}.to_{part}" for part in ("key", "value")), "stacked"
        elif shape[0] != size and shape[1] == size and role != "out":
            heads.setdefault(to, []).append(rest)
            continue
        found |= _with_bias(held, tensors, rest, to, how, 0)
    for to, rests in heads.items():
        for number, rest in enumerate(in_sequence(rests) or (rests if len(rests) == 1 else ())):
            found |= _with_bias(held, tensors, rest, to, "head", number)
    return found


def _left_over(attention: Mapping[str, tuple[int, ...]], kinds: Mapping[str, str], size: int) -> dict[str, str]:
    """The output map of an attention that has query, key and value, and one more square matrix under another name."""
    found = {}
    for kind in {*kinds.values()}:
        own = {rest: _role(rest) for rest in attention if kinds.get(rest) == kind}
        others = [rest for rest, role in own.items() if role is None and attention[rest] == (size, size)]
        has = {*own.values()}
        if len(others) == 1 and "out" not in has and (has >= {"query", "key", "value"} or "fused" in has):
            found[others[0]] = "out"
    return found


_HIDDEN = frozenset("up in hidden expand inner intermediate fc lift wi widen".split())
_SHUT = frozenset("down out output contract proj cproj wo shrink narrow reduce project".split())


def _feed_forward(
    wide: Mapping[str, tuple[int, ...]],
    held: Mapping[str, str],
    tensors: Mapping[str, Stored],
    size: int,
    asks: Asks,
    *,
    turned: bool,
) -> dict[str, str]:
    """The two matrices of a feed-forward, "hidden" and "out".

    Told apart by the lengths of their biases, by name, by numbering, or by axis where other maps reveal the
    orientation.
    """
    if len(wide) != 2:
        return {}
    modules = sorted(wide)
    biases = {rest: _bias(rest, held, tensors) for rest in modules}
    lengths = {rest: None if bias is None else tensors[bias].shape[0] for rest, bias in biases.items()}

    def says(rest: str) -> Collection[str]:
        if lengths[rest] is not None and wide[rest][0] != wide[rest][1]:
            return {"out"} if lengths[rest] == size else {"hidden"}
        words = {*words_of(rest)[-2:]}
        hidden, out = bool(words & _HIDDEN), bool(words & _SHUT)
        return () if hidden == out else {"hidden" if hidden else "out"}

    if not any(map(says, modules)) and in_sequence(modules) is None and wide[modules[0]] != wide[modules[1]]:
        hidden = next(rest for rest in modules if (wide[rest][1] == size) != turned)
        return {"hidden": hidden, "out": next(rest for rest in modules if rest != hidden)}
    found = asks.each(("hidden", "out"), modules, says, "feed_forward.to_{}")
    return {part: rest for rest, part in found.items()}


def _bias(rest: str, held: Mapping[str, str], tensors: Mapping[str, Stored]) -> str | None:
    """Name of the bias that belongs to a matrix; None without one."""
    name = held.get(re.sub(r"weight$", "bias", rest))
    return None if name is None or len(tensors[name].shape) != 1 else name


_OF_SELF = frozenset("self slf attn attention att sa mha".split())
_OF_CROSS = frozenset("cross src enc encoder memory mem context source".split())
_OF_FFN = frozenset("ff ffn mlp ffwd feedforward feed between mid middle final last".split())


def _norm_says(module: str, parts: Collection[str]) -> Collection[str]:
    """Sub-layers that a norm may belong to by its name; empty if the name says nothing."""
    words = {*words_of(module)}
    if "cross" in parts and words & _OF_CROSS:
        return {"cross"}
    found = {"self"} if words & (_OF_SELF | {"input", "before", "pre"}) else set()
    found |= {"ffn"} if words & (_OF_FFN | {"post", "after"}) else set()  # after the attention, or its own after it
    return found


def _is_feed_forward(rest: str, shape: tuple[int, ...], size: int) -> bool:
    """Whether a matrix belongs to a feed-forward: between d_model and another length, and not in an attention."""
    if _role(rest) in ("fused", "fused kv", "query", "key", "value"):
        return False
    other = shape[0] if shape[1] == size else shape[1]
    words = set(parts_of(rest))
    named = bool(
        words & {"ff", "ffn", "mlp", "feedforward", "ffwd", "fc", "linear", "lin", "up", "down", "expand", "contract"}
    )
    return size in shape and (other != size or named) and other % size in range(size) and (other != 3 * size or named)


def _kinds(rests: Sequence[str], asks: Asks, *, crosses: bool) -> dict[str, str]:
    """The attention of each matrix, by the words in its name or by numbering; empty if neither tells."""
    if not crosses:
        return dict.fromkeys(rests, "self")
    modules = sorted({_owner(rest) for rest in rests})
    named = {module: "cross" if _CROSS.search(module.lower()) else "self" for module in modules}
    if len(set(named.values())) == 1 and len(modules) == 2:
        named = asks.each(("self", "cross"), modules, lambda module: (), "{}_attention")
    return {rest: named[_owner(rest)] for rest in rests if _owner(rest) in named}


def _owner(rest: str) -> str:
    """The attention that contains a matrix: the first part of its name, or what precedes the role."""
    first = rest.split(".")[0]
    stripped = re.sub(r"(?i)[_.]?(query|key|value|out|qkv|kv|proj|(?<![a-z]{3})[qkvo])$", "", first)
    return stripped or first


def _with_bias(
    held: Mapping[str, str], tensors: Mapping[str, Stored], rest: str, to: tuple[str, ...], how: How, number: int
) -> dict[str, Placement]:
    """Places of a matrix and its bias."""
    found = {held[rest]: Placement(tuple(f"{name}.weight" for name in to), how, number)}
    if (bias := _bias(rest, held, tensors)) is not None:
        of_bias: How = {"transposed": "as it is", "stacked, transposed": "stacked"}.get(how, how)  # type: ignore[assignment]
        found[bias] = Placement(tuple(f"{name}.bias" for name in to), of_bias, number)
    return found


def gated(unplaced: Sequence[str]) -> str | None:
    """The gate matrix of a gated feed-forward among unplaced tensors, or None."""
    return next((name for name in unplaced if set(parts_of(name)) & {"gate", "gateproj", "wg"}), None)
